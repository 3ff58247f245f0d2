"""The MuJoCo world: built from a URDF, read, stepped and pushed, joints by name."""

import logging
import math
import os
from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.errors import DivergenceError, InvalidValueError, UnknownNameError
from icir_control.simulation.forces import ExternalForces
from icir_control.simulation.joints import Joints, check_joint_names
from icir_control.simulation.oracle import Dynamics
from icir_control.simulation.plant import Plant, compile_plant
from icir_control.simulation.scene import build_scene, settle_floor
from icir_control.simulation.signals import DelayLine, Noise
from icir_control.simulation.urdf import read_urdf

LONGEST_TIMESTEP = 0.02

# MuJoCo takes a larger command for a fault and puts zero in its place [N m or N].
_LARGEST_INPUT = 1e9

_log = logging.getLogger(__name__)

# MuJoCo prints a warning and writes it to a file in the working directory, unless someone listens.
if mujoco.get_mju_user_warning() is None:
    mujoco.set_mju_user_warning(lambda text: _log.warning('MuJoCo: %s', text))

# MuJoCo's warnings that mean divergence, and the quantity each one is about, cause before effect.
# Their counters are all that is read in a step.
_POSITION = int(mujoco.mjtWarning.mjWARN_BADQPOS)
_VELOCITY = int(mujoco.mjtWarning.mjWARN_BADQVEL)
_ACCELERATION = int(mujoco.mjtWarning.mjWARN_BADQACC)
_QUANTITIES = {_POSITION: 'position', _VELOCITY: 'velocity', _ACCELERATION: 'acceleration'}


class World:
    """A robot in MuJoCo, stepped by one control period at a time.

    Every array follows `joint_names`. The integrator is MuJoCo's default, semi-implicit Euler:
    `v += dt ddq; q += dt v`, where joint damping acts implicitly: (M + dt D) ddq = ....

    Attributes:
        model: MuJoCo's model, with the plant's changes applied.
        data: MuJoCo's state of it.
        joint_names: The moving joints.
        end_effector_frame: The link of the tool.
        plant: How the robot departs from its URDF.
        timestep_ns: Length of a step [ns].
        steps: Steps taken since the world was built; a reset does not turn it back.
        notes: What had to be left out or adapted, for the user to read.
        joint_damping: (nv,) of the URDF [N m s/rad; N s/m].
        joint_friction: (nv,) Coulomb friction of the URDF [N m; N].
        armature: (nv,) rotor inertia, all zero [kg m^2; kg].
        effort_limit: (nv,) infinite where the URDF gives none [N m; N].
    """

    def __init__(
        self,
        urdf: str | os.PathLike[str],
        *,
        joint_names: Sequence[str],
        end_effector_frame: str,
        timestep: float = 1e-3,
        initial_configuration: ArrayLike | None = None,
        plant: Plant | None = None,
        lossless: bool = False,
    ) -> None:
        """Build the world and place the robot, at rest, in its initial configuration.

        Args:
            urdf: Path or text of the URDF.
            joint_names: All moving joints, in the order of every array.
            end_effector_frame: The link of the tool.
            timestep: Length of a step [s], a whole number of nanoseconds.
            initial_configuration: (nv,) [rad or m]; by default zero, or the limit next to it.
            plant: How the robot departs from its URDF; by default not at all.
            lossless: Whether damping and friction of the URDF are left out, so that there is no
                other than the plant's.

        Raises:
            ModelError: The URDF cannot be simulated.
            UnknownNameError: A joint or the end-effector frame is not in the URDF.
            InvalidValueError: The timestep or the configuration is not valid.
        """
        self.plant = plant or Plant()
        self.timestep_ns = _nanoseconds(timestep)
        self.joint_names = tuple(joint_names)
        self.end_effector_frame = end_effector_frame
        self.steps = 0

        description = read_urdf(urdf)
        check_joint_names(self.joint_names, description.moving_joints)
        if end_effector_frame not in description.links:
            raise UnknownNameError('end-effector frame', end_effector_frame, description.links)
        spec, notes = build_scene(
            description, joint_names=self.joint_names, timestep=self.timestep_ns * 1e-9
        )
        self.notes: tuple[str, ...] = notes
        nominal = spec.compile()
        self._joints = joints = Joints(self.joint_names, nominal)
        self.joint_damping, self.joint_friction = joints.damping, joints.friction
        self.armature, self.effort_limit = joints.armature, joints.effort_limit
        self._initial = joints.configuration(initial_configuration)
        self.notes += settle_floor(spec, nominal, self._initial[joints.inverse])
        self.model = compile_plant(spec, self.plant, end_effector_frame, lossless=lossless)
        self.data = mujoco.MjData(self.model)

        self._links = {name: self.model.body(name).id for name in description.links}
        self._nominal = Dynamics(nominal, joints.order)
        self._actual = Dynamics(self.model, joints.order)
        self._end_effector = nominal.body(end_effector_frame).id
        self._cache_views()
        self._forces = ExternalForces(self.model, self.data)
        self.reset()
        self._note_contacts()

    def _cache_views(self) -> None:
        """Keep what a step touches: an attribute of MuJoCo's structures costs a lookup in C++."""
        data, self._shape, self._order = self.data, self._joints.shape, self._joints.order
        self._qpos, self._qvel, self._ctrl = data.qpos, data.qvel, data.ctrl
        self._qfrc_actuator = data.qfrc_actuator
        self._warnings = memoryview(data.warning.number)
        self._good_position = data.qpos.copy()
        self._good_velocity = data.qvel.copy()
        self._is_prepared = False
        self._diverged: tuple[str, float, str] | None = None
        plant, size = self.plant, len(self.joint_names)
        self._delay = DelayLine(plant.delay_steps, size) if plant.delay_steps else None
        self._noise = (
            Noise(plant.velocity_noise, plant.noise_seed, size) if plant.velocity_noise else None
        )

    # --- time

    @property
    def time_ns(self) -> int:
        """Simulation time [ns]."""
        return self.steps * self.timestep_ns

    # --- state

    def read(
        self,
        position_out: NDArray[np.float64],
        velocity_out: NDArray[np.float64],
        effort_out: NDArray[np.float64],
    ) -> None:
        """Fill arrays with the measured state; reading twice gives the same.

        Args:
            position_out: (nv,) [rad or m].
            velocity_out: (nv,) [rad/s or m/s], with the plant's noise.
            effort_out: (nv,) what the motors gave in the last step, after the limits [N m or N].
        """
        order = self._order
        # `clip` spares the copy that `take` makes in order to raise on a bad index.
        self._qpos.take(order, out=position_out, mode='clip')
        self._qvel.take(order, out=velocity_out, mode='clip')
        self._qfrc_actuator.take(order, out=effort_out, mode='clip')
        if self._noise is not None:
            velocity_out += self._noise.values

    def reset(self, configuration: ArrayLike | None = None) -> None:
        """Place the robot at rest, without pushes; time goes on from where it is.

        The noise starts again, and the delay line holds the torque that carries the robot's
        weight, so that a delayed plant does not fall before its first command arrives.

        Args:
            configuration: (nv,) [rad or m]; by default the initial one.

        Raises:
            InvalidValueError: A wrong length, a value that is not finite or outside the limits.
        """
        q = self._initial if configuration is None else self._joints.configuration(configuration)
        self._forces.clear_all()
        mujoco.mj_resetData(self.model, self.data)
        self._diverged = None
        self._is_prepared = False
        self._qpos[:] = q[self._joints.inverse]
        self.data.time = self.time_ns * 1e-9
        # Poses and contacts belong to the new configuration from now on, also for who looks.
        mujoco.mj_forward(self.model, self.data)
        if self._delay is not None:
            self._delay.fill(self._joints.bounded(self._actual.bias(q, np.zeros(self._shape))))
        if self._noise is not None:
            self._noise.restart()

    # --- motion

    def step(self, torque: NDArray[np.float64]) -> None:
        """Go on by one control period.

        Args:
            torque: (nv,) command [N m or N]; bounded by the plant's effort limits, and applied
                `delay_steps` steps later.

        Raises:
            InvalidValueError: A wrong shape, or a torque that is not finite; nothing was stepped.
            DivergenceError: The state left the finite. It stays as it was before the step, and
                every further step raises again, until a reset.
        """
        self.prepare()
        # The square sum is small only where every torque is: one call, and false for NaN.
        if torque.shape != self._shape or not torque.dot(torque) < _LARGEST_INPUT**2:
            torque = self._check_torque(torque)
        if self._diverged is not None:
            raise DivergenceError(*self._diverged)
        if self._delay is None:
            self._ctrl[:] = torque
        else:
            self._delay.exchange(torque, self._ctrl)
        if self._forces.active:
            self._forces.apply()
        mujoco.mj_step2(self.model, self.data)
        self._is_prepared = False
        warnings = self._warnings
        if warnings[_ACCELERATION] or warnings[_VELOCITY] or warnings[_POSITION]:
            self._report_divergence()
        self.steps += 1
        if self._noise is not None:
            self._noise.draw()

    def prepare(self) -> None:
        """Do what of the next step needs no torque: most of it; `step` does it where it is due.

        Whoever waits for a torque has the time for it. The step is the same to the last bit.
        """
        if self._is_prepared or self._diverged is not None:
            return
        self._good_position[:] = self._qpos
        self._good_velocity[:] = self._qvel
        mujoco.mj_step1(self.model, self.data)
        self._is_prepared = True

    def brake_torque(self, damping: float) -> NDArray[np.float64]:
        """Return the torque that brings the plant to rest: its own bias plus joint damping.

        The damping is weighted with the plant's mass matrix, `bias - damping M v`, so that one
        rate suits a shoulder and a wrist: every joint speed decays as exp(-damping t).

        Args:
            damping: Rate of the decay [1/s].

        Returns:
            (nv,) torque within the effort limits [N m or N].
        """
        order = self._order
        torque = self._actual.damped_bias(self._qpos[order], self._qvel[order], damping)
        return self._joints.bounded(torque)

    # --- forces from outside

    def push(self, link: str, wrench: ArrayLike) -> None:
        """Hold a wrench on a link until it is cleared, replaced, or the world is reset.

        Args:
            link: A link of the URDF.
            wrench: (6,) force, moment [N, N m] at the link's origin, in axes that turn with it.

        Raises:
            UnknownNameError: There is no such link.
            InvalidValueError: Not six finite numbers.
        """
        values = np.array(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.isfinite(values).all():
            raise InvalidValueError('wrench', wrench, 'six finite numbers: force, then moment')
        self._forces.push(self._require_link(link), values)

    def clear_push(self, link: str) -> None:
        """Take the wrench off a link; none there is no error.

        Raises:
            UnknownNameError: There is no such link.
        """
        self._forces.clear(self._require_link(link))

    def drag(self, mouse: mujoco.MjvPerturb | None) -> None:
        """Let a viewer's mouse pull at a body, beside any push, until told otherwise.

        Args:
            mouse: A snapshot of the viewer's perturbation; None lets go.
        """
        self._forces.drag(mouse)

    # --- the model before the plant

    def mass_matrix(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return MuJoCo's M(q) of the URDF, before the plant's changes: (nv, nv)."""
        return self._nominal.mass_matrix(self._joints.vector('q', q))

    def bias(self, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
        """Return MuJoCo's Coriolis, centrifugal and gravity torques of the URDF: (nv,)."""
        return self._nominal.bias(self._joints.vector('q', q), self._joints.vector('v', v))

    def frame_jacobian(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return MuJoCo's end-effector Jacobian in world axes: (6, nv), linear rows first."""
        return self._nominal.frame_jacobian(self._joints.vector('q', q), self._end_effector)

    # --- inside

    def _report_divergence(self) -> None:
        """Put the last good state back and raise.

        Raises:
            DivergenceError: Always.
        """
        kind = next(kind for kind in _QUANTITIES if self._warnings[kind])
        degree = int(self.data.warning[kind].lastinfo)
        joint = self.model.joint(self.model.dof_jntid[degree]).name
        self._qpos[:], self._qvel[:] = self._good_position, self._good_velocity
        self._forces.clear_all()
        self._diverged = (joint, self.time_ns * 1e-9, _QUANTITIES[kind])
        raise DivergenceError(*self._diverged)

    def _check_torque(self, torque: NDArray[np.float64]) -> NDArray[np.float64]:
        """Say what is wrong with a torque, or return it within MuJoCo's bounds.

        Raises:
            InvalidValueError: A wrong shape, or a value that is not finite.
        """
        if torque.shape != self._shape:
            raise InvalidValueError('torque', torque.tolist(), f'{self._shape[0]} numbers')
        for name, value in zip(self.joint_names, torque.tolist(), strict=True):
            if not math.isfinite(value):
                raise InvalidValueError(f'torque of joint {name!r}', value, 'a finite number')
        return np.clip(torque, -_LARGEST_INPUT, _LARGEST_INPUT)

    def _require_link(self, link: str) -> int:
        if link not in self._links:
            raise UnknownNameError('link', link, self._links)
        return self._links[link]

    def _note_contacts(self) -> None:
        bodies = self.model.geom_bodyid
        for contact in self.data.contact:
            first, second = (self.model.body(bodies[geom]).name for geom in contact.geom)
            self.notes += (f'{first} and {second} touch in the initial configuration',)


def _nanoseconds(timestep: float) -> int:
    valid = isinstance(timestep, (int, float)) and not isinstance(timestep, bool)
    if not valid or not 0.0 < timestep <= LONGEST_TIMESTEP:
        raise InvalidValueError('timestep', timestep, f'above 0 and up to {LONGEST_TIMESTEP} s')
    whole = round(timestep * 1e9)
    if whole < 1 or abs(timestep * 1e9 - whole) > 1e-6:
        raise InvalidValueError('timestep', timestep, 'a whole number of nanoseconds')
    return whole
