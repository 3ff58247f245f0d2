"""What a plant does differently from its URDF: masses, losses, a payload, delay and noise."""

from dataclasses import dataclass, fields, replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.parameter import parameter, parameters_of

LARGEST_DELAY = 3

# A point mass is a sphere this small [m]: its own inertia, 4e-7 of its mass, disappears beside the
# inertia that it adds about every joint.
_PAYLOAD_RADIUS = 1e-3


@dataclass(frozen=True)
class Plant:
    """How the simulated arm departs, on purpose, from its URDF."""

    mass_scale: float = parameter(
        1.0, '', 'factor on mass and inertia of every moving link', lower=1e-3, running=False
    )
    joint_damping: float = parameter(
        0.0, 'N m s/rad', 'viscous friction added at every joint', lower=0.0, running=False
    )
    joint_friction: float = parameter(
        0.0, 'N m', 'Coulomb friction added at every joint', lower=0.0, running=False
    )
    payload_mass: float = parameter(
        0.0, 'kg', 'point mass at the end effector', lower=0.0, running=False
    )
    velocity_noise: float = parameter(
        0.0, 'rad/s', 'standard deviation of the measured velocity', lower=0.0, running=False
    )
    noise_seed: int = parameter(
        0, '', 'the same seed gives the same noise', lower=0, upper=2**31 - 1, running=False
    )
    delay_steps: int = parameter(
        0,
        '',
        'control periods between a command and its effect',
        lower=0,
        upper=LARGEST_DELAY,
        running=False,
    )

    def __post_init__(self) -> None:
        """Refuse what no plant could be; an integer where a double is meant is accepted.

        Raises:
            ConfigurationError: A parameter has the wrong type, sign or size.
        """
        for one in parameters_of(Plant).values():
            value = replace(one, default=None).check(getattr(self, one.name), 0, 'plant.')
            object.__setattr__(self, one.name, value)

    @property
    def differences(self) -> dict[str, float]:
        """The parameters that make this plant differ from its URDF, by name."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != 'noise_seed' and getattr(self, field.name) != field.default
        }


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
