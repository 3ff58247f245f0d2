"""What a study varies and runs: a YAML file, checked as a whole, and the samples it asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
import yaml

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.robot import DEFAULT_ROBOT, robot_names
from icir_control.control import ControllerConfig
from icir_control.errors import ConfigurationError
from icir_control.parameter import Parameter, parameters_of
from icir_control.simulation import Plant

PLANT = 'plant.'
SAMPLINGS = ('sobol', 'random')
KEYS = ('run', 'vary', 'robot', 'number', 'sampling', 'seed')
"""Of a file; it needs the first two."""
_WAYS = {'grid': 1, 'uniform': 2, 'normal': 2}
"""How many numbers each needs at least."""

Sample = dict[str, float]


@dataclass(frozen=True)
class Study:
    """Runs that differ in some numbers.

    Attributes:
        robot: Name of a robot that ships with the package.
        run: What happens one after the other: the name of a mode, or `push` (3,) [N] with
            `seconds`.
        vary: By full name, of the plant (`plant.payload_mass`) or the controller: `grid` with
            values, `uniform` with two ends, or `normal` with mean and standard deviation.
        number: Samples of what is not a grid, at each place of the grid.
        sampling: `sobol`, which fills the space evenly, or `random`.
        seed: Of the samples.
    """

    robot: str
    run: tuple[Any, ...]
    vary: Mapping[str, Mapping[str, list[float]]]
    number: int
    sampling: str
    seed: int

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and check a file.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        return cls.of(read_file(path, KEYS))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Check what a file says.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        run, vary = given['run'] or [], given['vary'] or {}
        if not isinstance(run, list):
            raise invalid('run', run, 'a list of modes and pushes')
        if not isinstance(vary, dict):
            raise invalid('vary', vary, 'parameters by name')
        study = cls(
            given.get('robot', DEFAULT_ROBOT),
            tuple(run),
            vary,
            given.get('number', 1),
            given.get('sampling', 'sobol'),
            given.get('seed', 0),
        )
        study.check()
        return study

    def check(self) -> None:
        """Refuse what cannot be run.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        for name, least in (('number', 1), ('seed', 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise invalid(name, value, f'a whole number, at least {least}')
        if self.sampling not in SAMPLINGS:
            raise invalid('sampling', self.sampling, f'one of {", ".join(SAMPLINGS)}')
        if self.robot not in robot_names():
            raise invalid('robot', self.robot, f'one of {", ".join(robot_names())}')
        config = config_of(self.robot)
        if not self.run:
            raise invalid('run', list(self.run), 'at least one mode or push')
        for one in self.run:
            if isinstance(one, dict):
                force, seconds = one.get('push'), one.get('seconds')
                numbers = [*force, seconds] if isinstance(force, list) else []
                if set(one) != {'push', 'seconds'} or not are_numbers(numbers, 4):
                    raise invalid('run', one, 'push: [x, y, z] in N and seconds')
            elif not isinstance(one, str) or one not in config.modes:
                raise invalid('run', one, f'a push, or a mode: {", ".join(config.modes)}')
        valid = variable(self.robot)
        for name, how in self.vary.items():
            if name not in valid:
                raise ConfigurationError(f'vary has {name!r}; expected one of {", ".join(valid)}')
            ways = list(how) if isinstance(how, dict) else []
            if len(ways) != 1 or ways[0] not in _WAYS or not isinstance(how[ways[0]], list):
                raise invalid(f'vary.{name}', how, 'one of grid, uniform, normal, with a list')
            way, numbers = ways[0], how[ways[0]]
            count = len(numbers) if way == 'grid' else _WAYS[way]
            if not numbers or not are_numbers(numbers, count):
                raise invalid(f'vary.{name}.{way}', numbers, f'{count or 1} finite numbers')
            if way == 'normal' and numbers[1] <= 0.0:
                raise invalid(f'vary.{name}.normal', numbers, 'a mean and a positive deviation')

    def samples(self) -> list[Sample]:
        """Return what varies, for each run: the same list for the same file."""
        from scipy.stats import norm, qmc

        grids = {name: how['grid'] for name, how in self.vary.items() if 'grid' in how}
        others = [name for name in self.vary if name not in grids]
        if not others:
            unit = np.zeros((1, 0))
        elif self.sampling == 'sobol':
            # A power of two fills the space evenly; what is beyond the number is left out.
            sobol = qmc.Sobol(len(others), rng=np.random.default_rng(self.seed))
            unit = sobol.random_base2(int(np.ceil(np.log2(self.number))))[: self.number]
        else:
            unit = np.random.default_rng(self.seed).random((self.number, len(others)))
        drawn = []
        for row in unit:
            values = {}
            for name, share in zip(others, row, strict=True):
                ((way, (first, second)),) = self.vary[name].items()
                if way == 'uniform':
                    values[name] = first + share * (second - first)
                else:
                    values[name] = float(norm.ppf(np.clip(share, 1e-12, 1 - 1e-12), first, second))
            drawn.append(values)
        places = [dict(zip(grids, place, strict=True)) for place in product(*grids.values())]
        return [
            {name: float((place | values)[name]) for name in self.vary}
            for place in places
            for values in drawn
        ]


def read_file(path: Path, keys: tuple[str, ...], also: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read a file with the keys of a study.

    Args:
        path: YAML.
        keys: It may have; the first two it needs.
        also: Further keys that it needs.

    Raises:
        ConfigurationError: It is not readable, or lacks a key, or has others.
    """
    try:
        given = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f'{path} cannot be read as a study: {error}') from error
    needed = (*keys[:2], *also)
    if not isinstance(given, dict) or not {*needed} <= set(given) <= {*keys, *also}:
        others = ', '.join(sorted({*keys} - {*needed}))
        raise ConfigurationError(
            f'{path} is no study; expected {", ".join(needed)}, and of the others some of {others}'
        )
    return given


@cache
def config_of(robot: str) -> ControllerConfig:
    """Return the controller's configuration of a robot that ships."""
    return ClosedLoop(robot).controller.config


def variable(robot: str) -> dict[str, Parameter]:
    """Return the numbers of plant and controller that can be varied, by full name."""
    found = {f'{PLANT}{name}': one for name, one in parameters_of(Plant).items()}
    found |= config_of(robot).parameters
    return {
        name: one for name, one in found.items() if one.kind in ('int', 'float', 'float_array')
    }


def are_numbers(values: list[Any], count: int) -> bool:
    """Return whether these are so many finite numbers."""
    plain = [one for one in values if type(one) in (int, float) and np.isfinite(one)]
    return len(plain) == len(values) == count


def invalid(name: str, value: Any, expected: str) -> ConfigurationError:
    """Return the error that says what would be valid."""
    return ConfigurationError(f'{name} = {value!r} is not valid; expected {expected}')
