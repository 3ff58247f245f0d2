"""The controller's configuration: read once, checked as a whole, frozen."""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.figure import Figure
from icir_control.control.gains import Gains
from icir_control.control.global_figures import GLOBAL_FIGURES
from icir_control.control.guard import guarded
from icir_control.control.law import Law
from icir_control.control.laws import find_law
from icir_control.control.schedule import Entry, read_schedule
from icir_control.dynamics import Model
from icir_control.errors import ConfigurationError

TOKEN = re.compile(r'[A-Za-z](?:_?[A-Za-z0-9])*')
"""A name that may stand in that of a ROS service."""


def replaced(parameters: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with some of them changed or added.

    Args:
        parameters: As `ControllerConfig.from_parameters` takes them, nested.
        changes: By full name with dots, such as `modes.home.duration`.

    Raises:
        ConfigurationError: One name is that of a parameter and of a group.
    """
    tree = deepcopy(dict(parameters))
    for name, value in changes.items():
        *groups, last = name.split('.')
        place = tree
        for group in groups:
            if place.get(group) is None:  # left out, or left empty
                place[group] = {}
            place = place[group]
            if not isinstance(place, dict):
                raise ConfigurationError(f'{name} is no parameter: {group} is one, and no group')
        place[last] = value
    return tree


@dataclass(frozen=True)
class Mode:
    """A law with its figures, under a name and a key.

    Attributes:
        name: A ROS token.
        key: One character, for the keyboard.
        law: The law, ready to plan.
    """

    name: str
    key: str
    law: Law


@dataclass(frozen=True)
class ControllerConfig:
    """Everything that a user can set of the controller.

    Attributes:
        arm: The model and the frames that were named.
        modes: By name, in the order of `mode_names`.
        initial_mode: Name of the mode that every new start begins with.
        gains: Of the tracking laws.
        schedule: By time.
        observer_gain: [1/s]; 0 is off.
        delay_steps: Control periods that the predictor looks ahead.
        speed_scale: Share of their own speed at which motions run.
        position_margin: From a position limit [rad or m].
        torque_rate_limit: (nv,) [N m/s or N/s], infinite where there is none.
        parameters: What it was made from, for `updated`.
    """

    arm: Arm
    modes: Mapping[str, Mode]
    initial_mode: str
    gains: Gains
    schedule: tuple[Entry, ...]
    observer_gain: float
    delay_steps: int
    speed_scale: float
    position_margin: float
    torque_rate_limit: NDArray[np.float64]
    parameters: Mapping[str, Any]

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], model: Model) -> Self:
        """Read and check everything.

        Args:
            parameters: Nested by the dots of the parameters' names, as in the YAML file.
            model: Of the arm.

        Raises:
            ConfigurationError: Names the parameter, its value and what would be valid.
            UnknownNameError: A frame that the model lacks.
        """
        return cls._read(deepcopy(dict(parameters)), model, None)

    @classmethod
    def _read(cls, parameters: dict[str, Any], model: Model, arm: Arm | None) -> Self:
        """Read parameters that nobody else changes; the arm is made where it is not given."""
        figures = {
            figure.name: figure.check(_at(parameters, figure.name), figure.name, model.nv)
            for figure in GLOBAL_FIGURES
        }
        _refuse_unknown(parameters)
        if arm is None:
            arm = Arm(model, figures['base_frame'], figures['end_effector_frame'])
        modes = _read_modes(parameters, figures['mode_names'], arm)
        initial = figures['initial_mode']
        rate = figures['limits.torque_rate']
        if initial not in modes:
            raise ConfigurationError(
                f'initial_mode = {initial!r} is not valid; expected one of {", ".join(modes)}'
            )
        return cls(
            arm,
            modes,
            initial,
            Gains.from_figures(figures, model.nv),
            read_schedule(figures['schedule'], modes),
            figures['observer.gain'],
            figures['predictor.delay_steps'],
            figures['speed_scale'],
            figures['limits.position_margin'],
            rate if len(rate) else np.full(model.nv, np.inf),
            parameters,
        )

    def updated(self, changes: Mapping[str, Any]) -> Self:
        """Return the configuration with some parameters changed, all of them or none.

        Args:
            changes: By full name with dots, such as `modes.home.duration`.

        Raises:
            ConfigurationError: As `from_parameters`, or a parameter that cannot change while
                the controller runs.
        """
        for name in changes:
            self._check_running(name)
        # No frame can change while the controller runs, so the arm stays the same.
        return self._read(replaced(self.parameters, changes), self.arm.model, self.arm)

    def _check_running(self, name: str) -> None:
        figure = self.running_figures().get(name)
        if figure is None:
            raise ConfigurationError(
                f'{name} cannot change while the controller runs; '
                f'expected one of {", ".join(self.running_figures())}'
            )

    def running_figures(self) -> dict[str, Figure]:
        """Return the figures that may change while the controller runs, by full name."""
        running = {figure.name: figure for figure in GLOBAL_FIGURES if figure.running}
        for mode in self.modes.values():
            for figure in mode.law.FIGURES:
                if figure.running:
                    running[f'modes.{mode.name}.{figure.name}'] = figure
        return running


def _at(parameters: Mapping[str, Any], name: str) -> Any:
    """Return the value at a name with dots, None where there is none."""
    place: Any = parameters
    for part in name.split('.'):
        if not isinstance(place, Mapping):
            return None
        place = place.get(part)
    return place


def _group(parameters: Mapping[str, Any], name: str, place: str = '') -> Mapping[str, Any]:
    """Return the parameters of a group by name; none where it is left out, or left empty.

    Raises:
        ConfigurationError: Something else stands in its place.
    """
    group = parameters.get(name)
    if group is None:
        return {}
    if not isinstance(group, Mapping) or not all(isinstance(key, str) for key in group):
        raise ConfigurationError(
            f'{place}{name} = {group!r} is not valid; expected parameters by name'
        )
    return group


def _refuse_unknown(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that nothing reads: a typing error would otherwise go unnoticed."""
    known = {figure.name for figure in GLOBAL_FIGURES}
    groups = {name.split('.')[0] for name in known} | {'modes'}
    names = set(parameters) - groups
    for group in {name.split('.')[0] for name in known if '.' in name}:
        given = _group(parameters, group)
        names |= {f'{group}.{name}' for name in given} - known
    if names:
        valid = ', '.join(sorted(known | {'modes'}))
        raise ConfigurationError(f'unknown parameter {sorted(names)[0]}; valid: {valid}')


def _read_modes(
    parameters: Mapping[str, Any], names: tuple[str, ...], arm: Arm
) -> dict[str, Mode]:
    described = _group(parameters, 'modes')
    if not names:
        raise ConfigurationError('mode_names is empty; expected at least one mode')
    extra = sorted(set(described) - set(names))
    if extra:
        raise ConfigurationError(
            f'modes.{extra[0]} is described but not in mode_names; valid: {", ".join(names)}'
        )
    modes: dict[str, Mode] = {}
    keys: dict[str, str] = {}
    for name in names:
        if name in modes:
            raise ConfigurationError(f'mode_names has {name!r} twice; expected distinct names')
        if not TOKEN.fullmatch(name):
            raise ConfigurationError(
                f'mode_names has {name!r}, which is no ROS token; expected a letter, then '
                'letters, digits and single underscores'
            )
        mode = _read_mode(name, _group(described, name, 'modes.'), arm)
        if mode.key in keys:
            raise ConfigurationError(
                f'modes.{name}.key = {mode.key!r} is already the key of {keys[mode.key]!r}; '
                'expected distinct keys'
            )
        keys[mode.key] = name
        modes[name] = mode
    return modes


def _read_mode(name: str, described: Mapping[str, Any], arm: Arm) -> Mode:
    place = f'modes.{name}'
    key, law_name = described.get('key'), described.get('law')
    if isinstance(key, bool):
        raise ConfigurationError(
            f'{place}.key was read by YAML as the boolean {str(key).lower()}; '
            "put it in quotes, for example 'y'"
        )
    if not (isinstance(key, str) and len(key) == 1 and key.isprintable() and key != ' '):
        raise ConfigurationError(f'{place}.key = {key!r} is not valid; expected one character')
    if not isinstance(law_name, str):
        raise ConfigurationError(f'{place}.law = {law_name!r} is not valid; expected a name')
    try:
        law = find_law(law_name)
    except ConfigurationError as error:
        raise ConfigurationError(f'{place}.law: {error}') from error
    known = {figure.name for figure in law.FIGURES}
    unknown = sorted(set(described) - known - {'key', 'law'})
    if unknown:
        raise ConfigurationError(
            f'unknown parameter {place}.{unknown[0]}; valid: key, law, {", ".join(sorted(known))}'
        )
    figures = {
        figure.name: figure.check(described.get(figure.name), f'{place}.{figure.name}', arm.nv)
        for figure in law.FIGURES
    }
    try:
        with guarded(law, '__init__'):
            return Mode(name, key, law(arm, figures))
    except ConfigurationError as error:
        raise ConfigurationError(f'{place}: {error}') from error
