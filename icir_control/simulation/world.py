"""The MuJoCo world: a robot that is read, stepped and pushed from outside, joints by name."""

import logging
import os
from collections import deque
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.errors import DivergenceError, InvalidValueError, UnknownNameError
from icir_control.simulation.joints import LARGEST_INPUT
from icir_control.simulation.plant import Sensors
from icir_control.simulation.robot import SimulatedRobot

_log = logging.getLogger(__name__)

# MuJoCo prints a warning and writes it to a file in the working directory, unless someone listens.
if mujoco.get_mju_user_warning() is None:
    mujoco.set_mju_user_warning(lambda text: _log.warning('MuJoCo: %s', text))

_POSITION = int(mujoco.mjtWarning.mjWARN_BADQPOS)
_VELOCITY = int(mujoco.mjtWarning.mjWARN_BADQVEL)
_ACCELERATION = int(mujoco.mjtWarning.mjWARN_BADQACC)
"""Warnings that mean divergence: their places among MuJoCo's counters."""

# Cause before effect.
_QUANTITIES = {_POSITION: 'position', _VELOCITY: 'velocity', _ACCELERATION: 'acceleration'}


_step = mujoco.mj_step
_LARGEST_SQUARE = LARGEST_INPUT**2


class ExternalForces:
    """Sums wrenches on links into MuJoCo's `xfrc_applied`, anew before every step.

    MuJoCo wants a force at the link's centre of mass in world axes; ours act at the link's origin
    in the link's axes: `f_world = R f`, `n_world = R n + (origin - com) x f_world`.

    Attributes:
        active: Whether there is anything to apply.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Start without forces.

        Args:
            model: The model that is stepped.
            data: Its state.
        """
        self.active = False
        self._model, self._data = model, data
        self._applied: NDArray[np.float64] = data.xfrc_applied
        self._rotation = data.xmat.reshape(-1, 3, 3)
        self._origin, self._com = data.xpos, data.xipos
        self._pushes: dict[int, NDArray[np.float64]] = {}
        self._mouse: mujoco.MjvPerturb | None = None

    def push(self, body: int, wrench: NDArray[np.float64]) -> None:
        """Hold a wrench on a body until it is cleared or replaced.

        Args:
            body: The body.
            wrench: (6,) force, moment [N, N m] at its origin, in its axes.
        """
        self._pushes[body] = wrench
        self.active = True

    def clear(self, body: int) -> None:
        """Take the wrench off a body; none there is no error."""
        self._pushes.pop(body, None)
        self._settle()

    def clear_all(self) -> None:
        """Take every wrench away, the mouse's too."""
        self._pushes.clear()
        self._mouse = None
        self._settle()

    def drag(self, mouse: mujoco.MjvPerturb | None) -> None:
        """Let the mouse pull at a body, or let go.

        Args:
            mouse: A snapshot of the viewer's perturbation; None where there is no drag.
        """
        dragging = mouse is not None and (mouse.active or mouse.active2) and mouse.select > 0
        self._mouse = mouse if dragging else None
        self._settle()

    def apply(self) -> None:
        """Write the sum for the present configuration, whose poses `mj_step1` has found."""
        self._applied.fill(0.0)
        if self._mouse is not None:
            # Overwrites the row of the body that it drags, so it comes first.
            mujoco.mjv_applyPerturbForce(self._model, self._data, self._mouse)
        moment = np.empty(3)
        for body, wrench in self._pushes.items():
            rotation, row = self._rotation[body], self._applied[body]
            force = rotation.dot(wrench[:3])
            mujoco.mju_cross(moment, self._origin[body] - self._com[body], force)
            row[:3] += force
            row[3:] += rotation.dot(wrench[3:])
            row[3:] += moment

    def _settle(self) -> None:
        active = bool(self._pushes) or self._mouse is not None
        if self.active and not active:
            self._applied.fill(0.0)
        self.active = active


class World(SimulatedRobot):
    """A robot in MuJoCo, stepped by one control period at a time.

    Unless the plant says otherwise, the integrator is MuJoCo's default, semi-implicit Euler:
    `v += dt ddq; q += dt v`, where joint damping acts implicitly: (M + dt D) ddq = ....

    Attributes:
        data: MuJoCo's state.
        steps: Steps taken since the world was built; a reset does not turn it back.
        time_ns: Simulation time, that of the steps taken [ns].
    """

    def __init__(self, urdf: str | os.PathLike[str], **robot: Any) -> None:
        """Build the world and place the robot, at rest, in its initial configuration.

        Args:
            urdf: Path or text of the URDF.
            robot: Joints, tool, timestep, plant: the keywords of `SimulatedRobot`.

        Raises:
            ModelError: The URDF cannot be simulated.
            UnknownNameError: A joint or the end-effector frame is not in the URDF.
            InvalidValueError: The timestep or the configuration is not valid.
        """
        super().__init__(urdf, **robot)
        self.steps = self.time_ns = 0
        self.data = mujoco.MjData(self.model)
        self._cache_views()
        self._forces = ExternalForces(self.model, self.data)
        self.reset()

    def _cache_views(self) -> None:
        """Keep what a step touches: an attribute of MuJoCo's structures costs a lookup in C++."""
        data, self._shape, self._order = self.data, self._joints.shape, self._joints.order
        self._qpos, self._qvel, self._ctrl = data.qpos, data.qvel, data.ctrl
        self._qfrc_actuator = data.qfrc_actuator
        self._warnings = memoryview(data.warning.number)
        self._good_position = data.qpos.copy()
        self._good_velocity = data.qvel.copy()
        # As memory: copied three times as fast as arrays are.
        self._state = memoryview(data.qpos), memoryview(data.qvel)
        self._good_state = memoryview(self._good_position), memoryview(self._good_velocity)
        self._is_plain = self.plant.substeps == 1
        self._is_ordered = np.array_equal(self._order, np.arange(self.model.nv))
        self._is_prepared = False
        self._diverged: tuple[str, float, str] | None = None
        plant = self.plant
        self._delayed: deque[NDArray[np.float64]] = deque()
        self._sensors = None
        if plant.velocity_noise or plant.position_noise or plant.encoder_bits:
            slides = self.model.jnt_type[self._order] == mujoco.mjtJoint.mjJNT_SLIDE
            turn = np.where(slides, 1.0, 2.0 * np.pi)
            self._sensors = Sensors(plant, turn, self.timestep_ns * 1e-9)
        # Half a step of Runge-Kutta's cannot be prepared: MuJoCo would take Euler's in its place.
        self._integrate = mujoco.mj_step if plant.integrator == 'rk4' else mujoco.mj_step2

    # --- state

    def read(
        self,
        position_out: NDArray[np.float64],
        velocity_out: NDArray[np.float64],
        effort_out: NDArray[np.float64],
    ) -> None:
        """Fill arrays with the measured state; reading twice gives the same.

        Args:
            position_out: (nv,) as the plant's sensors tell it [rad or m].
            velocity_out: (nv,) the same [rad/s or m/s].
            effort_out: (nv,) what the motors gave in the last step, after the limits [N m or N].
        """
        order = self._order
        # `clip` spares the copy that `take` makes in order to raise on a bad index.
        self._qpos.take(order, out=position_out, mode='clip')
        self._qvel.take(order, out=velocity_out, mode='clip')
        self._qfrc_actuator.take(order, out=effort_out, mode='clip')
        if self._sensors is not None:
            position_out[:] = self._sensors.position
            velocity_out[:] = self._sensors.velocity

    @property
    def has_views(self) -> bool:
        """Whether the arrays of `measured` are the state itself, and go on with it."""
        return self._is_ordered and self._sensors is None

    @property
    def measured(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position and velocity, each (nv,), as `read` tells them; valid until the next step."""
        if self._sensors is not None:
            return self._sensors.position, self._sensors.velocity
        return (self._qpos, self._qvel) if self._is_ordered else (self.position, self.velocity)

    @property
    def position(self) -> NDArray[np.float64]:
        """(nv,) where the joints are, whatever the sensors tell [rad or m]."""
        return self._qpos[self._order]

    @property
    def velocity(self) -> NDArray[np.float64]:
        """(nv,) how they move, whatever the sensors tell [rad/s or m/s]."""
        return self._qvel[self._order]

    def reset(
        self, configuration: ArrayLike | None = None, velocity: ArrayLike | None = None
    ) -> None:
        """Place the robot, at rest or moving, without pushes; time goes on from where it is.

        The noise starts again, and the delay line holds the torque that carries the robot's
        weight, so that a delayed plant does not fall before its first command arrives.

        Args:
            configuration: (nv,) [rad or m]; by default the initial one.
            velocity: (nv,) [rad/s or m/s]; by default the robot rests.

        Raises:
            InvalidValueError: A wrong length, a value that is not finite or outside the limits.
        """
        joints = self._joints
        q = self._initial if configuration is None else joints.configuration(configuration)
        v = np.zeros(self._shape) if velocity is None else joints.vector('velocity', velocity)
        self._forces.clear_all()
        mujoco.mj_resetData(self.model, self.data)
        self._diverged = None
        self._is_prepared = False
        self._qpos[:] = joints.positions(q)
        self._qvel[:] = joints.coupling @ v
        self.data.time = self.time_ns * 1e-9
        # Poses and contacts belong to the new configuration from now on, also for who looks.
        mujoco.mj_forward(self.model, self.data)
        if self.plant.delay_steps:
            holding = joints.bounded(self._actual.bias(q, v))
            self._delayed = deque([holding] * self.plant.delay_steps)
        if self._sensors is not None:
            self._sensors.restart(q, v)

    # --- motion

    def step(self, torque: NDArray[np.float64]) -> None:
        """Go on by one control period.

        Args:
            torque: (nv,) command [N m or N]; bounded by the plant's effort limits, and applied
                `delay_steps` steps later.

        Raises:
            InvalidValueError: A wrong shape, or a torque that is not finite; nothing was stepped.
            DivergenceError: The state became huge or NaN. It stays as it was before the step, and
                every further step raises again, until a reset.
        """
        # The square sum is small only where every torque is: one call, and false for NaN.
        if torque.shape != self._shape or not torque.dot(torque) < _LARGEST_SQUARE:
            torque = self._joints.input(torque)
        if self._diverged is not None:
            raise DivergenceError(*self._diverged)
        if self._delayed:
            self._delayed.append(torque.copy())
            torque = self._delayed.popleft()
        self._ctrl[:] = torque
        if self._is_plain and not (self._is_prepared or self._forces.active):
            position, velocity = self._state
            self._good_state[0][:] = position
            self._good_state[1][:] = velocity
            _step(self.model, self.data)
        else:
            self._step_in_parts()
        warnings = self._warnings
        if warnings[_ACCELERATION] or warnings[_VELOCITY] or warnings[_POSITION]:
            self._diverge()
        self.steps += 1
        self.time_ns += self.timestep_ns
        if self._sensors is not None:
            self._sensors.measure(self.position, self.velocity)

    def _step_in_parts(self) -> None:
        """Step, with pushes and substeps; what `prepare` has done is not done again."""
        self.prepare()
        for substep in range(self.plant.substeps):
            if substep:
                mujoco.mj_step1(self.model, self.data)
            if self._forces.active:
                self._forces.apply()
            self._integrate(self.model, self.data)
        self._is_prepared = False

    def prepare(self) -> None:
        """Do what of the next step needs no torque: most of it; `step` does it where it is due.

        Whoever waits for a torque has the time for it. The step is the same to the last bit.
        """
        if self._is_prepared or self._diverged is not None:
            return
        self._good_state[0][:], self._good_state[1][:] = self._state
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
        return self._joints.bounded(self.inverse_dynamics(-damping * self.velocity))

    def inverse_dynamics(self, acceleration: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the torque that gives the plant an acceleration, beyond its limits if need be.

        Args:
            acceleration: (nv,) [rad/s^2 or m/s^2].

        Returns:
            (nv,) M a + bias [N m or N].
        """
        return self._actual.torque(self.position, self.velocity, acceleration)

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

    # --- inside

    def _diverge(self) -> None:
        """Put the last good state back and raise.

        Raises:
            DivergenceError: Always.
        """
        warnings = self.data.warning
        kind = next(kind for kind in _QUANTITIES if warnings[kind].number)
        degree = int(warnings[kind].lastinfo)
        joint = self.model.joint(self.model.dof_jntid[degree]).name
        self._qpos[:], self._qvel[:] = self._good_position, self._good_velocity
        self._forces.clear_all()
        self._diverged = (joint, self.time_ns * 1e-9, _QUANTITIES[kind])
        raise DivergenceError(*self._diverged)

    def _require_link(self, link: str) -> int:
        if link not in self._links:
            raise UnknownNameError('link', link, self._links)
        return self._links[link]
