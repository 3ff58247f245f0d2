"""What a study varies and runs: a YAML file, checked as a whole, and the samples it asks for."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
import yaml

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.robot import DEFAULT_ROBOT, robot_names
from icir_control.control import ControllerConfig
from icir_control.errors import ConfigurationError
from icir_control.parameter import Parameter, checked, parameter, parameters_of, subgroup
from icir_control.robot.log import Log
from icir_control.simulation import Plant

PLANT, START, GOAL = 'plant.', 'start.', 'goal.'
SAMPLINGS = ('sobol', 'random')
_WAYS = {'grid': 1, 'uniform': 2, 'normal': 2}
"""How many numbers each needs at least."""

METRICS = {
    'joint_error': 'rad',
    'overshoot': 'rad',
    'position_error': 'm',
    'rotation_error': 'rad',
    'torque_fraction': '',
}
"""The greatest of a run, by name, with units. `overshoot` is how far a joint goes beyond the range
of its reference while a mode runs."""

STEPS = {
    'push': 'push: [x, y, z] in N and seconds',
    'move_to': 'move_to: [x, y, z] in m',
    'move_by': 'move_by: [x, y, z] in m',
    'move_joints': 'move_joints: a number in rad or m for each joint',
    'wait': 'wait: seconds',
}
"""What a run may do besides modes, with what each needs."""

TARGET_SECONDS = 2.0
"""That a motion to a target takes where a step does not say."""

Sample = dict[str, float]


@dataclass(frozen=True)
class Study:
    """Runs that differ in some numbers.

    Attributes:
        run: What happens one after the other: the name of a mode; `push` (3,) [N] with `seconds`;
            a target, `move_to` or `move_by` (3,) [m], or `move_joints` (nv,) [rad or m], which
            takes 2 s or so many `seconds`; or `wait` [s].
        vary: By full name, of the plant (`plant.payload_mass`), the controller, the start
            (`start.joint_1` [rad or m], of a joint) or the goal (`goal.x` [m], added to each
            `move_to` and `move_by`): `grid` with values, `uniform` with two ends, or `normal`
            with mean and standard deviation.
        metrics: Beside those that every study has, by name: `module:function` of the log.
        folder: Where Python finds these modules, too; no part of what is asked.
    """

    run: tuple[Any, ...]
    vary: Mapping[str, Mapping[str, list[float]]]
    robot: str = parameter(
        DEFAULT_ROBOT, '', 'a robot that ships with the package', choices=tuple(robot_names())
    )
    number: int = parameter(
        1, '', 'samples of what is not a grid, at each place of the grid', lower=1
    )
    sampling: str = parameter(
        'sobol', '', '`sobol`, which fills the space evenly, or `random`', choices=SAMPLINGS
    )
    seed: int = parameter(0, '', 'of the samples', lower=0)
    metrics: Mapping[str, str] = field(default_factory=dict)
    folder: str = field(default='', repr=False, compare=False)

    @property
    def units(self) -> dict[str, str]:
        """Return the unit of each metric, empty where it has none that is known."""
        return METRICS | dict.fromkeys(self.metrics, '')

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and check a file.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        return cls.of(read_file(path), path.absolute().parent)

    @classmethod
    def of(cls, given: Mapping[str, Any], folder: Path) -> Self:
        """Check what a file says.

        Args:
            given: Its content.
            folder: Where the file is.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        parameters = checked(cls, given, 0, also=('run', 'vary', 'metrics'))
        run, metrics = given.get('run') or [], given.get('metrics') or {}
        if not isinstance(run, list):
            raise invalid('run', run, 'a list of modes and pushes')
        vary = subgroup(given, 'vary')
        study = cls(tuple(run), vary, metrics=metrics, folder=str(folder), **parameters)
        study.check()
        return study

    def check(self) -> None:
        """Refuse what cannot be run.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        config = config_of(self.robot)
        if not self.run:
            raise invalid('run', list(self.run), 'at least one mode or push')
        for one in self.run:
            if isinstance(one, dict):
                _check_step(one, config.arm.nv)
            elif not isinstance(one, str) or one not in config.modes:
                raise invalid(
                    'run', one, f'a push, a target, or a mode: {", ".join(config.modes)}'
                )
        if not isinstance(self.metrics, dict):
            raise invalid('metrics', self.metrics, 'module:function by name')
        for name, function in self.metrics.items():
            if not str(name).isidentifier() or name in (*METRICS, 'run', 'outcome', 'time'):
                raise invalid(f'metrics.{name}', function, 'a name that no column has')
            metric_of(function, self.folder)
        joints = config.arm.model.joint_names
        valid = [
            *variable(self.robot),
            *(f'{START}{joint}' for joint in joints),
            *(f'{GOAL}{axis}' for axis in 'xyz'),
        ]
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
            if way != 'normal' and self._is_integer(name) and any(x % 1 for x in numbers):
                raise invalid(f'vary.{name}.{way}', numbers, 'integers')

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
                if way == 'uniform' and self._is_integer(name):
                    low, high = sorted((first, second))
                    value = low + np.floor(share * (high - low + 1.0))
                elif way == 'uniform':
                    value = first + share * (second - first)
                else:
                    value = norm.ppf(np.clip(share, 1e-12, 1 - 1e-12), first, second)
                    value = np.round(value) if self._is_integer(name) else value
                values[name] = value
            drawn.append(values)
        places = [dict(zip(grids, place, strict=True)) for place in product(*grids.values())]
        return [
            {name: float((place | values)[name]) for name in self.vary}
            for place in places
            for values in drawn
        ]

    def _is_integer(self, name: str) -> bool:
        known = variable(self.robot)
        return name in known and known[name].kind == 'int'


def read_file(path: Path) -> dict[str, Any]:
    """Read the YAML of a study or a tuning.

    Raises:
        ConfigurationError: It is not readable, or has no keys.
    """
    try:
        given = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f'{path} cannot be read as a study: {error}') from error
    if not isinstance(given, dict):
        raise ConfigurationError(f'{path} is no study; expected keys such as run and vary')
    return given


@cache
def loop_of(robot: str) -> ClosedLoop:
    """Return a robot that ships, in its initial configuration; not to be moved."""
    return ClosedLoop(robot)


def config_of(robot: str) -> ControllerConfig:
    """Return the controller's configuration of a robot that ships."""
    return loop_of(robot).controller.config


@cache
def metric_of(function: str, folder: str) -> Callable[[Log], float]:
    """Return the function of a log that is named as `module:function`.

    Args:
        function: The name.
        folder: Where the module may be, beside where Python finds others. It comes last: a file
            in it hides no library.

    Raises:
        ConfigurationError: There is none.
    """
    module, _, name = str(function).partition(':')
    if folder and folder not in sys.path:
        sys.path.append(folder)
    try:
        found: Callable[[Log], float] = getattr(import_module(module), name)
    except Exception as error:  # what an import runs may raise anything
        raise ConfigurationError(
            f'metric {function!r} cannot be loaded: {error}; expected module:function of the log'
        ) from error
    return found


def _check_step(step: Mapping[str, Any], nv: int) -> None:
    """Refuse a step of a run that is not one of `STEPS`.

    Raises:
        ConfigurationError: Says what would be valid.
    """
    kinds = [kind for kind in STEPS if kind in step]
    expected = STEPS[kinds[0]] if len(kinds) == 1 else f'one of {"; ".join(STEPS.values())}'
    if len(kinds) == 1:
        (kind,) = kinds
        size = {'wait': 1, 'move_joints': nv}.get(kind, 3)
        given = [step[kind]] if kind == 'wait' else step[kind]
        seconds = step[kind] if kind == 'wait' else step.get('seconds', TARGET_SECONDS)
        may_have = {kind} if kind == 'wait' else {kind, 'seconds'}
        if (
            may_have >= set(step) >= (may_have if kind == 'push' else {kind})
            and isinstance(given, list)
            and are_numbers([*given, seconds], size + 1)
            and seconds > 0.0
        ):
            return
    raise invalid('run', dict(step), expected)


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
