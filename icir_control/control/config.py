"""The controller's configuration: read once, checked as a whole, frozen."""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self, TypeAlias

import numpy as np

from icir_control.collision import CollisionShape
from icir_control.control.arm import Arm
from icir_control.control.clearance import Clearance
from icir_control.control.law import Law, guarded
from icir_control.control.laws import LAWS
from icir_control.control.settings import ControllerParameters, ModeParameters
from icir_control.dynamics import Model
from icir_control.errors import ConfigurationError
from icir_control.parameter import (
    FloatArray,
    Parameter,
    checked,
    parameters_of,
    read,
    replaced,
    subgroup,
)

Shapes: TypeAlias = Callable[[], Sequence[CollisionShape]]

TOKEN = re.compile(r'[A-Za-z](?:_?[A-Za-z0-9])*')
"""A name that may stand in that of a ROS service."""

PAYLOAD_RADIUS = 0.1
"""[m] About the end effector, in which the uncertain mass is."""

SHARE_OF_RANGE = 0.25
"""Of a joint that is near its limits at most: a finger goes no further than others keep off."""

DEFAULT_JOINT_KP = 40000.0
"""[1/s^2], the tutorial's on every joint."""


@dataclass(frozen=True)
class Mode:
    """A law with its parameters, under a name and a key.

    Attributes:
        name: A ROS token.
        key: One character, for the keyboard.
        law: The law, ready to plan.
    """

    name: str
    key: str
    law: Law


@dataclass(frozen=True, order=True)
class ScheduledMode:
    """One line of the schedule.

    Attributes:
        time: Simulation time [s].
        mode: Name of the mode.
    """

    time: float
    mode: str


@dataclass(frozen=True)
class ControllerConfig:
    """Everything that a user can set of the controller.

    Attributes:
        values: The parameters beside those of the modes.
        arm: The model and the frames that were named.
        modes: By name, in the order of `mode_names`.
        schedule: By time.
        given: What it was made from, for `updated`; it may describe modes that are not named.
    """

    values: ControllerParameters
    arm: Arm
    modes: Mapping[str, Mode]
    schedule: tuple[ScheduledMode, ...]
    given: Mapping[str, Any]

    def modes_for(self, goal: str) -> tuple[str, ...]:
        """Return the modes that take a goal, `joints` or `pose`, while they run."""
        return tuple(name for name, mode in self.modes.items() if goal in mode.law.accepts)

    @classmethod
    def from_parameters(
        cls, parameters: Mapping[str, Any], model: Model, shapes: Shapes | None = None
    ) -> Self:
        """Read and check everything.

        Args:
            parameters: Nested by the dots of the parameters' names, as in the YAML file.
            model: Of the arm.
            shapes: Returns those of its links; asked where `clearance` is above 0. Without it
                no clearance can be watched.

        Raises:
            ConfigurationError: Names the parameter, its value and what would be valid.
            UnknownNameError: A frame that the model lacks.
        """
        return cls._read(replaced(parameters, {}), model, None, shapes)

    @classmethod
    def _read(
        cls,
        given: dict[str, Any],
        model: Model,
        arm: Arm | None,
        shapes: Shapes | None = None,
    ) -> Self:
        """Read parameters that nobody else changes; the arm is made where it is not given."""
        own = {name: value for name, value in given.items() if name != 'modes'}
        values = read(ControllerParameters, own, model.nv, also=('modes',))
        if arm is None:
            clearance = None
            if shapes is not None and values.clearance:
                height = values.floor_height
                floor = float(height[0]) if len(height) else None
                clearance = Clearance(model, shapes(), floor, values.clearance)
            arm = Arm(model, values.base_frame, values.end_effector_frame, clearance)
        arm = arm.with_clearance(values.clearance)
        modes = _read_modes(given, values.mode_names, arm)
        if values.initial_mode not in modes:
            raise ConfigurationError(
                f'initial_mode = {values.initial_mode!r} is not valid; '
                f'expected one of {", ".join(modes)}'
            )
        return cls(values, arm, modes, _read_schedule(values.schedule, modes), given)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle it by what it was made from."""
        return self._read, (self.given, self.arm.model, self.arm)

    @property
    def initial_mode(self) -> str:
        """Name of the mode that every new start begins with."""
        return self.values.initial_mode

    @property
    def unused_modes(self) -> tuple[str, ...]:
        """Names of the modes that are described, but not in `mode_names`."""
        return tuple(name for name in subgroup(self.given, 'modes') if name not in self.modes)

    @property
    def joint_gains(self) -> tuple[FloatArray, FloatArray]:
        """Stiffness [1/s^2] and damping [1/s], each (nv,)."""
        kp = self.values.joint_gains.kp
        kp = kp if len(kp) else np.full(self.arm.nv, DEFAULT_JOINT_KP)
        return kp, _damping(self.values.joint_gains.kd, kp)

    @property
    def task_gains(self) -> tuple[FloatArray, FloatArray]:
        """Stiffness [1/s^2] and damping [1/s] of the end effector, each (6,), linear first."""
        gains = self.values.task_gains
        return gains.kp, _damping(gains.kd, gains.kp)

    def check_stability(self, period: float) -> None:
        """Refuse gains that cannot be stable at a control period, with an exact model.

        v' = v - h (kp q + kd v), q' = q + h v' is stable while 2 h kd + h^2 kp < 4 (Jury's
        criterion); with critical damping that is kp < 686000 1/s^2 at 1 ms.

        Args:
            period: h [s].

        Raises:
            ConfigurationError: Names the gains and the bound.
        """
        for name, gains in (('joint_gains', self.joint_gains), ('task_gains', self.task_gains)):
            for kp, kd in zip(*gains, strict=True):
                if not 2.0 * period * kd + period**2 * kp < 4.0:
                    bound = (2.0 * (np.sqrt(2.0) - 1.0) / period) ** 2
                    raise ConfigurationError(
                        f'{name} kp = {kp:g} 1/s^2, kd = {kd:g} 1/s are unstable at a control '
                        f'period of {period:g} s; expected 2 h kd + h^2 kp below 4: with critical '
                        f'damping kp below {bound:.3g} 1/s^2'
                    )

    @property
    def joint_rate(self) -> FloatArray:
        """(nv,) w, with w^2 the stiffness of a joint [1/s]."""
        return np.asarray(np.sqrt(self.joint_gains[0]))

    @property
    def uncertain_inertia(self) -> FloatArray:
        """(nv,) that a joint may have beyond the model [kg m^2 or kg]."""
        observer = self.values.observer
        beyond = observer.uncertain_inertia + observer.uncertain_mass * PAYLOAD_RADIUS**2
        return np.maximum(np.where(self.arm.translates, observer.uncertain_mass, beyond), 1e-9)

    @property
    def position_margin(self) -> FloatArray:
        """(nv,) from a position limit within which a yielding arm is pushed back [rad, m]."""
        model = self.arm.model
        reach = model.upper_position_limit - model.lower_position_limit
        return np.minimum(self.values.limits.position_margin, SHARE_OF_RANGE * reach)

    @property
    def torque_rate_limit(self) -> FloatArray:
        """(nv,) [N m/s or N/s], infinite where there is none."""
        rate = self.values.limits.torque_rate
        return rate if len(rate) else np.full(self.arm.nv, np.inf)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Every parameter that there is, by full name."""
        found = parameters_of(ControllerParameters)
        for mode in self.modes.values():
            for declaring in (ModeParameters, type(mode.law)):
                for one in parameters_of(declaring).values():
                    found[f'modes.{mode.name}.{one.name}'] = one
        return found

    def value(self, name: str) -> Any:
        """Return the value of a parameter by its full name, in its own type."""
        if name.startswith('modes.'):
            _, mode_name, last = name.split('.')
            mode = self.modes[mode_name]
            if last == 'law':
                return self.given['modes'][mode_name]['law']
            return mode.key if last == 'key' else getattr(mode.law, last)
        place: Any = self.values
        for part in name.split('.'):
            place = getattr(place, part)
        return place

    def updated(self, changes: Mapping[str, Any]) -> Self:
        """Return the configuration with some parameters changed, all of them or none.

        Args:
            changes: By full name with dots, such as `modes.home.duration`.

        Raises:
            ConfigurationError: As `from_parameters`, or a parameter that cannot change while
                the controller runs.
        """
        known = self.parameters
        running = [name for name, one in known.items() if one.running]
        for name in changes:
            if name not in known:
                raise ConfigurationError(
                    f'unknown parameter {name!r}; valid: {", ".join(running)}'
                )
            if name not in running:
                raise ConfigurationError(
                    f'{name} cannot change while the controller runs; '
                    f'expected one of {", ".join(running)}'
                )
        if changes.get('clearance') and self.arm.clearance is None:
            raise ConfigurationError(
                'clearance cannot be switched on while the controller runs: the shapes of the '
                'links are read at its start, where it is above 0; expected 0'
            )
        # No frame can change while the controller runs, so the arm stays the same.
        return self._read(replaced(self.given, changes), self.arm.model, self.arm)


def find_law(name: str) -> type[Law]:
    """Return the law of a name, or a user's class named as `my_package.my_module:MyLaw`.

    Raises:
        ConfigurationError: A name that is neither; the message lists the laws.
    """
    if name in LAWS:
        return LAWS[name]
    valid = f'expected one of {", ".join(LAWS)}, or my_package.my_module:MyLaw'
    module_name, colon, class_name = name.partition(':')
    if not colon:
        raise ConfigurationError(f'unknown law {name!r}; {valid}')
    try:
        law = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ConfigurationError(f'law {name!r} cannot be loaded: {error}; {valid}') from error
    if not (isinstance(law, type) and issubclass(law, Law)):
        raise ConfigurationError(
            f'law {name!r} is not a class derived from icir_control.control.Law; {valid}'
        )
    return law


def _damping(kd: FloatArray, kp: FloatArray) -> FloatArray:
    return kd if len(kd) else 2.0 * np.sqrt(kp)


def _read_modes(given: Mapping[str, Any], names: tuple[str, ...], arm: Arm) -> dict[str, Mode]:
    described = subgroup(given, 'modes')
    if not names:
        raise ConfigurationError('mode_names is empty; expected at least one mode')
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
        mode = _read_mode(name, subgroup(described, name, 'modes.'), arm)
        if mode.key in keys:
            raise ConfigurationError(
                f'modes.{name}.key = {mode.key!r} is already the key of {keys[mode.key]!r}; '
                'expected distinct keys'
            )
        keys[mode.key] = name
        modes[name] = mode
    return modes


def _read_mode(name: str, given: Mapping[str, Any], arm: Arm) -> Mode:
    prefix = f'modes.{name}.'
    key, law_name = given.get('key'), given.get('law')
    if isinstance(key, bool):
        raise ConfigurationError(
            f'{prefix}key was read by YAML as the boolean {str(key).lower()}; '
            "put it in quotes, for example 'y'"
        )
    if not (isinstance(key, str) and len(key) == 1 and key.isprintable() and key != ' '):
        raise ConfigurationError(f'{prefix}key = {key!r} is not valid; expected one character')
    if not isinstance(law_name, str):
        raise ConfigurationError(f'{prefix}law = {law_name!r} is not valid; expected a name')
    try:
        law = find_law(law_name)
    except ConfigurationError as error:
        raise ConfigurationError(f'{prefix}law: {error}') from error
    own = {name: value for name, value in given.items() if name not in ('key', 'law')}
    values = checked(law, own, arm.nv, prefix, also=('key', 'law'))
    try:
        with guarded(law, '__init__'):
            return Mode(name, key, law(arm, **values))
    except ConfigurationError as error:
        raise ConfigurationError(f'modes.{name}: {error}') from error


def _read_schedule(lines: Iterable[str], modes: Container[str]) -> tuple[ScheduledMode, ...]:
    """Return lines such as `2.0 home` by time.

    Raises:
        ConfigurationError: A line that is not a time and a mode.
    """
    expected = 'expected a simulation time [s], at least 0, and a mode, such as "2.0 home"'
    entries = []
    for line in lines:
        words = line.split()
        try:
            time, mode = float(words[0]), words[1]
        except (ValueError, IndexError):
            raise ConfigurationError(f'schedule has {line!r}; {expected}') from None
        if len(words) != 2 or not (np.isfinite(time) and time >= 0.0):
            raise ConfigurationError(f'schedule has {line!r}; {expected}')
        if mode not in modes:
            raise ConfigurationError(f'schedule has {line!r}, but there is no mode {mode!r}')
        entries.append(ScheduledMode(time, mode))
    return tuple(sorted(entries))
