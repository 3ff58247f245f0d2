"""What a plant does differently from its URDF: masses, losses, a payload, delay and noise."""

import math
from dataclasses import dataclass, fields

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.errors import InvalidValueError

LARGEST_DELAY = 3

# A point mass is a sphere this small [m]: its own inertia, 4e-7 of its mass, disappears beside the
# inertia that it adds about every joint.
_PAYLOAD_RADIUS = 1e-3


@dataclass(frozen=True, slots=True)
class Plant:
    """How the simulated arm departs, on purpose, from its URDF.

    Attributes:
        mass_scale: Factor on the mass and the inertia of every moving link.
        joint_damping: Viscous damping added to that of the URDF at every joint [N m s/rad; N s/m].
        joint_friction: Coulomb friction added to that of the URDF at every joint [N m; N].
        payload_mass: Point mass held at the origin of the end-effector frame [kg].
        velocity_noise: Standard deviation of the measured joint velocity [rad/s; m/s].
        noise_seed: Seed of that noise; a reset starts the same noise again.
        delay_steps: Control periods between a command and its torque, 0 to 3.
    """

    mass_scale: float = 1.0
    joint_damping: float = 0.0
    joint_friction: float = 0.0
    payload_mass: float = 0.0
    velocity_noise: float = 0.0
    noise_seed: int = 0
    delay_steps: int = 0

    def __post_init__(self) -> None:
        """Refuse what no plant could be.

        Raises:
            InvalidValueError: A value has the wrong type, sign or size.
        """
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if field.type is int:
                _check_integer(name, value)
            else:
                _check_number(name, value)
                # An integer where a double is meant is accepted.
                object.__setattr__(self, name, float(value))

    @property
    def differences(self) -> dict[str, float]:
        """The values that make this plant differ from its URDF, by name; empty when none does."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != 'noise_seed' and getattr(self, field.name) != field.default
        }


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidValueError(f'plant.{name}', value, 'a finite number')
    if name == 'mass_scale' and value <= 0.0:
        raise InvalidValueError(f'plant.{name}', value, 'a factor above 0')
    if value < 0.0:
        raise InvalidValueError(f'plant.{name}', value, 'a number that is not negative')


def _check_integer(name: str, value: object) -> None:
    largest = LARGEST_DELAY if name == 'delay_steps' else None
    expected = f'an integer from 0 to {largest}' if largest else 'an integer that is not negative'
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidValueError(f'plant.{name}', value, expected)
    if value < 0 or (largest is not None and value > largest):
        raise InvalidValueError(f'plant.{name}', value, expected)


def compile_plant(
    spec: mujoco.MjSpec, plant: Plant, end_effector: str, *, lossless: bool = False
) -> mujoco.MjModel:
    """Compile a scene with the plant's own masses, damping and friction.

    Args:
        spec: The scene; a payload is added to it.
        plant: What differs.
        end_effector: Name of the link that carries the payload.
        lossless: Whether damping and friction of the URDF are left out.

    Returns:
        The model that is stepped.
    """
    model = spec.compile()
    moving = model.body_weldid != 0
    masses: NDArray[np.float64] = model.body_mass[moving] * plant.mass_scale
    inertias: NDArray[np.float64] = model.body_inertia[moving] * plant.mass_scale
    moving_names = [model.body(index).name for index in np.flatnonzero(moving)]
    if plant.payload_mass > 0.0:
        _add_payload(spec.body(end_effector), plant.payload_mass)
        model = spec.compile()
    indices = [model.body(name).id for name in moving_names]
    model.body_mass[indices] = masses
    model.body_inertia[indices] = inertias
    if lossless:
        model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    model.dof_damping[:] += plant.joint_damping
    model.dof_frictionloss[:] += plant.joint_friction
    # Derived constants (subtree masses, the scale of constraints) follow the new values.
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _add_payload(parent: mujoco.MjsBody, mass: float) -> None:
    sphere = 0.4 * mass * _PAYLOAD_RADIUS**2
    # Nameless, because a link of the robot may bear any name.
    parent.add_body(mass=mass, inertia=[sphere, sphere, sphere], explicitinertial=True)


class DelayLine:
    """Hands out what was put in a fixed number of steps ago."""

    def __init__(self, steps: int, size: int) -> None:
        """Make a line of zeros.

        Args:
            steps: Its length, at least 1.
            size: Numbers per entry.
        """
        self._ring = np.zeros((steps, size))
        self._oldest = 0

    def fill(self, entry: NDArray[np.float64]) -> None:
        """Let every entry that is under way be this one: (size,)."""
        self._ring[:] = entry
        self._oldest = 0

    def exchange(self, entry: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """Take the oldest entry out, put a new one in.

        Args:
            entry: (size,) the new one.
            out: (size,) filled with the oldest.
        """
        slot = self._ring[self._oldest]
        out[:] = slot
        slot[:] = entry
        self._oldest = (self._oldest + 1) % len(self._ring)


class Noise:
    """White, normally distributed noise that is the same after every restart.

    Attributes:
        values: (size,) the noise of the present step.
    """

    def __init__(self, deviation: float, seed: int, size: int) -> None:
        """Make the noise of the first step.

        Args:
            deviation: Standard deviation, in the unit of what it is added to.
            seed: Of the random numbers.
            size: Numbers per step.
        """
        self._deviation, self._seed = deviation, seed
        self.values = np.zeros(size)
        self.restart()

    def restart(self) -> None:
        """Start the same sequence again."""
        self._random = np.random.default_rng(self._seed)
        self.draw()

    def draw(self) -> None:
        """Go on to the next step."""
        self._random.standard_normal(out=self.values)
        self.values *= self._deviation
