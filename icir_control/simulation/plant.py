"""What a plant does differently from its URDF: masses, losses, delay, sensors, integration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.parameter import FloatArray, parameter, parameters_of

LARGEST_DELAY = 3

INTEGRATORS: Final = {
    'euler': mujoco.mjtIntegrator.mjINT_EULER,
    'rk4': mujoco.mjtIntegrator.mjINT_RK4,
    'implicitfast': mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
}
"""MuJoCo's integrators by name: semi-implicit Euler, Runge-Kutta, implicit in damping."""

# A point mass is a sphere this small [m]: its own inertia, 4e-7 of its mass, disappears beside the
# inertia that it adds about every joint.
_PAYLOAD_RADIUS = 1e-3


# Joints that mimic others are tied to them by constraints a = -b r' - k r on the error r. MuJoCo
# has b = 2 / T and k = 1 / (T zeta)^2, impedances near 1 aside: with T = 2 h and zeta = 1/2 a step
# of Euler's, r' += h a and r += h r', ends at r = 0.
_DEAD_BEAT = 0.5
_STIFFEST = 0.9999
"""MuJoCo's greatest impedance: the share of the acceleration that the constraint gives."""


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
    rotor_inertia: float = parameter(
        0.0, 'kg m^2', 'of a rotor, added at every joint', lower=0.0, running=False
    )
    payload_mass: float = parameter(
        0.0, 'kg', 'point mass at the end effector', lower=0.0, running=False
    )
    payload_offset: FloatArray = parameter(
        [0.0, 0.0, 0.0],
        'm',
        'where the payload is, in the end-effector frame',
        lower=-10.0,
        upper=10.0,
        length=3,
        running=False,
    )
    position_noise: float = parameter(
        0.0, 'rad', 'standard deviation of the measured position', lower=0.0, running=False
    )
    velocity_noise: float = parameter(
        0.0, 'rad/s', 'standard deviation of the measured velocity', lower=0.0, running=False
    )
    noise_seed: int = parameter(
        0, '', 'the same seed gives the same noise', lower=0, upper=2**31 - 1, running=False
    )
    encoder_bits: int = parameter(
        0,
        '',
        'of the positions, 2^bits counts in a turn (or metre); the velocity is then the '
        'difference of two readings over a control period; 0 for exact sensors',
        lower=0,
        upper=32,
        running=False,
    )
    delay_steps: int = parameter(
        0,
        '',
        'control periods between a command and its effect',
        lower=0,
        upper=LARGEST_DELAY,
        running=False,
    )
    integrator: str = parameter(
        'euler', '', "MuJoCo's, of the motion", choices=tuple(INTEGRATORS), running=False
    )
    substeps: int = parameter(
        1, '', 'steps of the physics in a control period', lower=1, upper=100, running=False
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
    def euler_steps(self) -> int:
        """Steps of Euler's in a control period, as the sensors show it; 0 if continuous.

        A velocity that is a difference of positions is that of one step.
        """
        if self.encoder_bits:
            return 1
        return 0 if self.integrator == 'rk4' else self.substeps

    @property
    def differences(self) -> dict[str, Any]:
        """The parameters that make this plant differ from its URDF, by name.

        A seed alone and the offset of no payload make no difference.
        """
        values = {one.name: getattr(self, one.name) for one in parameters_of(Plant).values()}
        without_effect = {'noise_seed'} | ({'payload_offset'} if not self.payload_mass else set())
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in values.items()
            if name not in without_effect and np.any(value != parameters_of(Plant)[name].default)
        }


def compile_plant(spec: mujoco.MjSpec, plant: Plant, end_effector: str) -> mujoco.MjModel:
    """Compile a scene with the plant's own masses, losses and steps.

    Args:
        spec: The scene; a payload is added to it.
        plant: What differs.
        end_effector: Name of the link that carries the payload.

    Returns:
        The model that is stepped.
    """
    model = spec.compile()
    moving = model.body_weldid != 0
    masses: NDArray[np.float64] = model.body_mass[moving] * plant.mass_scale
    inertias: NDArray[np.float64] = model.body_inertia[moving] * plant.mass_scale
    moving_names = [model.body(index).name for index in np.flatnonzero(moving)]
    if plant.payload_mass > 0.0:
        _add_payload(spec.body(end_effector), plant.payload_mass, plant.payload_offset)
        model = spec.compile()
    indices = [model.body(name).id for name in moving_names]
    model.body_mass[indices] = masses
    model.body_inertia[indices] = inertias
    joints = model.actuator_trnid[:, 0]  # those that mimic others have no motors
    model.dof_damping[joints] += plant.joint_damping
    model.dof_frictionloss[joints] += plant.joint_friction
    model.dof_armature[joints] += plant.rotor_inertia
    model.opt.integrator = INTEGRATORS[plant.integrator]
    model.opt.timestep /= plant.substeps
    if model.neq:
        _tie(model)
    # Derived constants (subtree masses, the scale of constraints) follow the new values.
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _tie(model: mujoco.MjModel) -> None:
    """Tie joints that mimic others to them as stiffly as a step allows.

    MuJoCo's solver of constraints does not know that damping acts implicitly afterwards: by that a
    light joint with much damping would leave its constraint, and the simulation diverge. The same
    (M + h D) a = tau - D v is explicit damping with an armature h D, of which the solver knows.
    """
    model.eq_solref[:] = 2.0 * model.opt.timestep, _DEAD_BEAT
    model.eq_solimp[:, :2] = _STIFFEST
    if model.opt.integrator != INTEGRATORS['rk4']:
        model.opt.integrator = INTEGRATORS['euler']
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
        model.dof_armature[:] += model.opt.timestep * model.dof_damping


def _add_payload(parent: mujoco.MjsBody, mass: float, offset: FloatArray) -> None:
    sphere = 0.4 * mass * _PAYLOAD_RADIUS**2
    # Nameless, because a link of the robot may bear any name.
    parent.add_body(
        pos=offset,
        ipos=[0.0, 0.0, 0.0],  # else MuJoCo takes `pos` for it
        mass=mass,
        inertia=[sphere, sphere, sphere],
        explicitinertial=True,
    )


class Noise:
    """White, normally distributed noise that is the same after every restart.

    Attributes:
        values: (size,) the noise of the present step.
    """

    def __init__(self, deviation: float, seed: int | Sequence[int], size: int) -> None:
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


class Sensors:
    """What a plant's encoders and noise make of its state.

    Attributes:
        position: (nv,) as measured in the present step [rad or m].
        velocity: (nv,) [rad/s or m/s].
    """

    def __init__(self, plant: Plant, turn: FloatArray, period: float) -> None:
        """Start at zero; `restart` comes next.

        Args:
            plant: Its noise and its encoders.
            turn: (nv,) what an encoder divides: 2 pi rad, or 1 m of a sliding joint.
            period: Between two readings [s].
        """
        size, seed = len(turn), plant.noise_seed
        self.position, self.velocity = np.zeros((2, size))
        self._noise = Noise(plant.velocity_noise, seed, size)
        self._position_noise = Noise(plant.position_noise, [seed, 1], size)
        self._count = turn / 2**plant.encoder_bits if plant.encoder_bits else None
        self._period = period

    def restart(self, q: FloatArray, v: FloatArray) -> None:
        """Measure the first state q, v (nv,), as if the arm had come there at v."""
        self._noise.restart()
        self._position_noise.restart()
        self._read(q - self._period * v, v)
        self._read(q, v)

    def measure(self, q: FloatArray, v: FloatArray) -> None:
        """Measure the state q, v (nv,) of the next step."""
        self._noise.draw()
        self._position_noise.draw()
        self._read(q, v)

    def _read(self, q: FloatArray, v: FloatArray) -> None:
        position = q + self._position_noise.values
        if self._count is not None:
            position = np.round(position / self._count) * self._count
            v = (position - self.position) / self._period
        self.position[:] = position
        self.velocity[:] = v
        self.velocity += self._noise.values
