"""The bridge's parameters, read once into one object; the check of its world against the model.

With a model that differs from its plant a controller tracks badly, and nothing says why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Self

import numpy as np

from icir_control.dynamics import (
    Model,
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
    frame_placement,
    root_link,
    tip_link,
)
from icir_control.errors import ConfigurationError, ModelMismatchError
from icir_control.parameter import (
    PER_JOINT,
    FloatArray,
    checked,
    group,
    parameter,
    replaced,
)
from icir_control.simulation import Plant, World


@dataclass(frozen=True)
class ServoGains:
    """Gains of the targets, weighted with the plant's mass matrix."""

    kp: float = parameter(10000.0, '1/s^2', 'stiffness of a position target', lower=0.0, upper=1e6)
    kd: float = parameter(200.0, '1/s', 'damping of a velocity target', lower=0.0, upper=1000.0)


@dataclass(frozen=True)
class BridgeConfig:
    """What the bridge runs with: its parameters, and the model that they were checked for."""

    base_frame: str = parameter(
        'base_link', '', 'root frame; empty for the root link', running=False
    )
    end_effector_frame: str = parameter(
        'end_effector_link',
        '',
        'frame that is controlled, and that carries a payload; empty for the last link of a '
        'serial arm',
        running=False,
    )
    timestep: float = parameter(
        0.001, 's', 'control period and step of the physics', lower=1e-5, upper=0.02, running=False
    )
    initial_configuration_deg: FloatArray = parameter(
        [],
        'deg',
        'joint angles at the start and after a reset; empty for zero, moved into the limits and '
        'out of collision where necessary; a change takes effect at the next reset',
        length=PER_JOINT,
        may_be_empty=True,
    )
    lockstep: bool = parameter(
        True, '', 'step only with the command that answers the present state', running=False
    )
    real_time_factor: float = parameter(
        1.0, '', 'simulated seconds per second of wall time, 0 is as fast as possible', lower=0.0
    )
    command_timeout: float = parameter(
        0.5,
        's',
        'time without a command after which the controller is reported as missing: wall time in '
        'lockstep, simulation time when free-running',
        lower=1e-3,
        running=False,
    )
    command_source: str = parameter(
        'answer',
        '',
        'answer: torques that repeat the header of a state; any (free-running only): what '
        'ros2_control sends, with any stamp, as position, velocity or effort',
        choices=('answer', 'any'),
        running=False,
    )
    viewer: str = parameter(
        'auto',
        '',
        "MuJoCo's window; auto opens it where there is a display",
        choices=('none', 'window', 'auto'),
        running=False,
    )
    external_wrench_hold: float = parameter(
        0.1, 's', 'simulation time for which an external wrench acts', lower=1e-6, upper=3600.0
    )
    on_divergence: str = parameter(
        'hold',
        '',
        'what happens when the physics diverges',
        choices=('hold', 'reset'),
        running=False,
    )
    publish_clock: bool = parameter(
        True, '', 'publish /clock; false where two bridges share a graph', running=False
    )
    servo: ServoGains = group(ServoGains)
    plant: Plant = group(Plant)
    model: Model = field(kw_only=True, repr=False)
    given: Mapping[str, Any] = field(kw_only=True, repr=False)

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any], model: Model) -> Self:
        """Read and check everything.

        Args:
            given: Nested by the dots of the parameters' names, as in the YAML file.
            model: The model that `model` names.

        Raises:
            ConfigurationError: Names the parameter, its value and what would be valid.
        """
        return cls(**checked(cls, given, model.nv), model=model, given=given)

    def __post_init__(self) -> None:
        """Fill in what may be left out, and refuse what is valid alone but not together.

        Raises:
            ConfigurationError: Names the parameter, its value and what would be valid.
        """
        if not self.base_frame:
            object.__setattr__(self, 'base_frame', root_link(self.model))
        if not self.end_effector_frame:
            object.__setattr__(self, 'end_effector_frame', tip_link(self.model))
        frames = [frame.name for frame in self.model.frames]
        for name in ('base_frame', 'end_effector_frame'):
            if getattr(self, name) not in frames:
                raise ConfigurationError(
                    f'{name} = {getattr(self, name)!r} is not a frame of {self.model.name}; '
                    f'valid: {", ".join(frames)}'
                )
        if not self.lockstep and self.real_time_factor == 0.0:
            raise ConfigurationError(
                'real_time_factor = 0.0 is not valid with lockstep = False, where simulation time'
                ' follows the wall clock; expected a number above 0'
            )
        if self.lockstep and self.command_source == 'any':
            raise ConfigurationError(
                "command_source = 'any' is not valid with lockstep = True, where a command answers"
                ' a state; expected lockstep = False'
            )
        model, start = self.model, self.initial_configuration
        if start is None:
            return
        limits = model.lower_position_limit, model.upper_position_limit
        for name, value, lower, upper in zip(model.joint_names, start, *limits, strict=True):
            if not lower <= value <= upper:
                low, value, high = np.rad2deg([lower, value, upper])
                raise ConfigurationError(
                    f'initial_configuration_deg = {value:g} at {name} is not valid; expected'
                    f' {low:g} to {high:g}'
                )

    @property
    def initial_configuration(self) -> FloatArray | None:
        """(nq,) of a start or a reset [rad or m]; None leaves it to the world."""
        degrees = self.initial_configuration_deg
        return np.deg2rad(degrees) if len(degrees) else None

    def world(self, urdf: str | PathLike[str], options: Mapping[str, Any], **others: Any) -> World:
        """Return the plant, in its initial configuration.

        Args:
            urdf: Path or text of the URDF.
            options: Those of the robot; see `nodes.robot`.
            others: Keywords of `World` that stand above these parameters.

        Raises:
            IcirError: As `World`.
        """
        keywords: dict[str, Any] = {
            'joint_names': self.model.joint_names,
            'end_effector_frame': self.end_effector_frame,
            'timestep': self.timestep,
            'initial_configuration': self.initial_configuration,
            'plant': self.plant,
        }
        return World(urdf, **keywords | dict(options) | others)

    def updated(self, changes: Mapping[str, Any]) -> Self:
        """Return the configuration with some parameters changed, by full name, all or none.

        Raises:
            ConfigurationError: They are not valid, or not together.
        """
        return self.from_parameters(replaced(self.given, changes), self.model)

    def value(self, name: str) -> Any:
        """Return the value of a parameter by its full name, in its own type."""
        place: Any = self
        for part in name.split('.'):
            place = getattr(place, part)
        return place


STATES = 5
_SEED = 0
_SPEED = 1.0  # [rad/s or m/s], largest joint speed of a state
# Both compute in double precision; formulas that differ lose a few digits more than one does.
_TOLERANCE = 1e-9


def check_model(model: Model, world: World) -> None:
    """Compare the model with MuJoCo's of the same URDF, before the plant's own changes.

    Args:
        model: What the controller computes with.
        world: What will be simulated.

    Raises:
        ModelMismatchError: They differ; names quantity, joint or link, and both values.
    """
    names = world.joint_names
    _compare('effort limit', model.effort_limit, world.effort_limit, names)
    _compare('damping', model.joint_damping, world.joint_damping, names)
    _compare('friction', model.joint_friction, world.joint_friction, names)
    _compare('armature', model.armature, world.armature, names)
    frame = model.frame_id(world.end_effector_frame)
    data = model.create_data()
    generator = np.random.default_rng(_SEED)
    for _ in range(STATES):
        q = model.random_configuration(generator)
        v = generator.uniform(-_SPEED, _SPEED, model.nv)
        compute_all_terms(model, data, q, v)
        jacobian = frame_jacobian(model, data, frame, ReferenceFrame.LOCAL_WORLD_ALIGNED)
        _compare('mass matrix', data.M, world.mass_matrix(q), names)
        _compare('bias torque', data.nle, world.bias(q, v), names)
        # Transposed, so that each row belongs to a joint.
        _compare('end-effector Jacobian', jacobian.T, world.frame_jacobian(q).T, names)
        # The Jacobian does not tell how the tool is turned, nor where the base stands.
        for link in world.links:
            place = frame_placement(model, data, model.frame_id(link))
            ours = np.column_stack([place.rotation, place.translation])
            theirs = world.frame_placement(q, link)
            _compare('placement', ours[None], theirs[None], (link,))


def _compare(quantity: str, ours: np.ndarray, theirs: np.ndarray, names: tuple[str, ...]) -> None:
    """Compare arrays whose first axis is that of the joints, or of the links.

    Raises:
        ModelMismatchError: They differ by more than round-off.
    """
    # Equal infinities are equal limits; their difference would not be a number.
    differs = ours != theirs
    distance = np.zeros(np.shape(ours))
    distance[differs] = np.abs(ours[differs] - theirs[differs])
    scale = max(1.0, float(np.abs(ours[np.isfinite(ours)]).max(initial=0.0)))
    if (distance <= _TOLERANCE * scale).all():
        return
    worst = np.unravel_index(np.argmax(distance), distance.shape)
    raise ModelMismatchError(quantity, names[worst[0]], float(ours[worst]), float(theirs[worst]))
