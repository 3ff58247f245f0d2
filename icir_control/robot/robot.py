"""`Robot`: one arm, with verbs that return when it has arrived."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.environment import require
from icir_control.app.measurement import Array
from icir_control.app.robot import DEFAULT_ROBOT, RobotFiles, robot_names
from icir_control.control import Law, Tick, Waypoints
from icir_control.dynamics import Model
from icir_control.errors import (
    ConfigurationError,
    IcirError,
    InvalidValueError,
    RefusedError,
    UnknownNameError,
)
from icir_control.parameter import read
from icir_control.robot.in_process import InProcess, law_of
from icir_control.robot.log import Log
from icir_control.robot.session import LOOK, Parameters, Session
from icir_control.robot.shown import MotionBar, page
from icir_control.simulation import Plant
from icir_control.spatial import SE3, exp3
from icir_control.spatial.arrays import checked_scalar

_log = logging.getLogger(__name__)

JOG, HOLD, IMPEDANCE = 'jog', 'hold', 'impedance'
"""Modes that some verbs need."""


class Robot:
    """An arm that runs: in this process (`simulate`), or over ROS 2 (`connect`, `launch`).

    Every verb returns when its motion has arrived. A motion that cannot be is refused before
    anything moves, a `RefusedError` with the reason; one that is broken off raises a
    `MotionError`. Each configured mode is a verb by its name: `robot.home()`, `robot.ready()`.
    As a context manager it holds the arm at the end, whatever has happened, and ends what it has
    started.

    Lengths are in metres, angles in radians, times in seconds of the arm; poses are of the tool
    in the base frame.

    Attributes:
        timeout: After so much of the arm's time, beyond the duration that was asked for, a motion
            is given up [s].
        progress: Whether a bar shows motions that take longer than a second of wall time; None:
            in a terminal and, with ipywidgets, in a notebook.
        callbacks: Functions that are called with the robot about every 0.05 s of its time, and
            at the end, while a verb lets time pass; what one raises ends the verb.
        session: What it runs on; of a simulation, `session.loop` has `controller` and `world`.
    """

    def __init__(self, session: Session) -> None:
        """Use a session; see `simulate`, `connect` and `launch`."""
        self.session = session
        self._is_open = True
        self.timeout = 60.0
        self.progress: bool | None = None
        self.callbacks: list[Callable[[Robot], object]] = []
        self._is_called = False

    @classmethod
    def simulate(
        cls,
        robot: str | Path = DEFAULT_ROBOT,
        *,
        start: ArrayLike | None = None,
        plant: Plant | Mapping[str, Any] | None = None,
        timestep: float | None = None,
        params_file: str | Path = '',
        parameters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Simulate an arm in this process, as fast as the machine allows, without ROS.

        The trajectory is the same to the last bit as that of `icir_control sim` in lockstep. What
        is not as it was asked for, such as a start where motors cannot hold the arm, is logged.

        Args:
            robot: Name of a robot that ships with the package, or path of a URDF.
            start: (nv,) initial configuration [rad or m]; by default that of the parameters.
            plant: How the plant differs from its model, such as `Plant(payload_mass=0.5)`, or
                the same by name, `{'payload_mass': 0.5}`.
            timestep: Control period [s].
            params_file: Parameter file, in place of the robot's own.
            parameters: Parameters of the controller that differ, by their full names with dots.
            options: Other parameters that tell which arm runs: `end_effector_frame`, ...

        Raises:
            IcirError: The URDF or a parameter is not valid; the message says what is.
        """
        if isinstance(plant, Mapping):
            plant = read(Plant, plant, 0, 'plant.')
        elif not isinstance(plant, Plant | None):
            raise InvalidValueError('plant', plant, 'a Plant, or its parameters by name')
        arm: str | RobotFiles = str(robot)
        if arm not in robot_names() or params_file or options:
            arm = RobotFiles.named(robot, params_file=str(params_file), **options)
        loop = ClosedLoop(arm, start=start, plant=plant, timestep=timestep, changes=parameters)
        for note in filter(None, (loop.arm.note, *loop.world.notes)):
            _log.warning(note)
        return cls(InProcess(loop))

    @classmethod
    def connect(cls, namespace: str = '', *, timeout: float = 10.0) -> Self:
        """Use what runs on this ROS domain: `icir_control sim`, a launch, or a real arm.

        Args:
            namespace: Of the nodes.
            timeout: How long to look for the controller [s of wall time].

        Raises:
            ConfigurationError: Nobody answers.
        """
        require('sim', 'rclpy')
        from icir_control.robot.over_ros import OverRos

        return cls(OverRos(namespace, timeout))

    @classmethod
    def launch(
        cls,
        robot: str | Path = DEFAULT_ROBOT,
        *,
        params_file: str | Path = '',
        real_time_factor: float = 1.0,
        viewer: str = 'auto',
        **options: Any,
    ) -> Self:
        """Start bridge and controller as two processes of a ROS domain that nobody else is in.

        Args:
            robot: Name of a robot that ships with the package, or path of a URDF.
            params_file: Parameter file, in place of the robot's own.
            real_time_factor: Simulated seconds per second; 0: as fast as possible.
            viewer: `none`, `window` or `auto`: a window where there is a display.
            options: As in `simulate`.

        Raises:
            IcirError: Something is not valid, or a process has ended.
        """
        require('sim', 'rclpy')
        from icir_control.robot.launched import launched

        parameters = {'real_time_factor': float(real_time_factor), 'viewer': viewer}
        arm = RobotFiles.named(robot, params_file=str(params_file), **options)
        return cls(launched(arm, parameters))

    # --- Motions

    def go(self, mode: str) -> None:
        """Switch to a configured mode, and wait until its motion has arrived.

        Raises:
            RefusedError: Unknown mode, or a motion that cannot be; nothing changes.
            MotionError: The motion was broken off.
        """
        self.session.select(mode)
        self._wait(mode, self.session.finish, self.timeout)

    def __reduce_ex__(self, protocol: object) -> Any:
        """Refuse to be copied: both would move one arm.

        Raises:
            RefusedError: Always; says what to do instead.
        """
        raise RefusedError(
            'a Robot cannot be copied or pickled; start another one where this one is, as by '
            'Robot.simulate(start=robot.q)'
        )

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Return the verb of a configured mode."""
        if name != 'session' and name in self.session.modes:
            return partial(self.go, name)
        modes = '' if name == 'session' else f'; modes: {", ".join(self.session.modes)}'
        raise AttributeError(
            f'{type(self).__name__} has no {name!r}, nor a mode of this name{modes}'
        )

    def __dir__(self) -> list[str]:
        """Return the modes, too."""
        return [*super().__dir__(), *self.session.modes]

    def move_to(self, pose: SE3 | ArrayLike, *, duration: float = 2.0) -> None:
        """Move the tool straight to a pose; in `impedance`, move the spring's centre there.

        Args:
            pose: T_base_tool, or a position (3,) [m] with the present orientation.
            duration: Of the motion [s]; longer where the limits of the joints ask for it.

        Raises:
            RefusedError: It is out of reach, or the way leaves the limits or meets a singularity.
            MotionError: The motion was broken off.
        """
        if not isinstance(pose, SE3):
            expected = 'an SE3, or 3 finite numbers for the position'
            position = _vector('pose', pose, 3, expected)
            pose = SE3(self.session.reference_pose.rotation, position)
        mode = self.session.mode if self.session.mode == IMPEDANCE else self._pose_mode()
        with self.parameters.changed({f'modes.{mode}.duration': float(duration)}):
            if mode != IMPEDANCE:
                self.session.select(mode)
            self.session.set_target_pose(pose)
            self._wait('target pose', self.session.finish, self.timeout + duration)

    def move_by(
        self,
        translation: ArrayLike,
        rotation: ArrayLike = (0.0, 0.0, 0.0),
        *,
        duration: float = 2.0,
    ) -> None:
        """Move the tool straight, from where its reference is.

        Args:
            translation: (3,) in the axes of the base [m].
            rotation: (3,) rotation vector in the axes of the base [rad].
            duration: Of the motion [s].

        Raises:
            RefusedError: As `move_to`.
        """
        start = self.session.reference_pose
        turn = exp3(_vector('rotation', rotation, 3))
        position = start.translation + _vector('translation', translation, 3)
        self.move_to(SE3(turn @ start.rotation, position), duration=duration)

    def move_joints(self, q: ArrayLike, *, duration: float = 2.0) -> None:
        """Move the joints to a configuration by cubics.

        Args:
            q: (nv,) [rad or m].
            duration: Of the motion [s].

        Raises:
            RefusedError: It is outside the limits, or too fast.
            MotionError: The motion was broken off.
        """
        self.follow([duration], [_vector('q', q, self.model.nv)])

    def follow(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        joints: Sequence[str] | None = None,
    ) -> None:
        """Go through points by splines, from where the reference is, and rest in the last one.

        Args:
            times: (k,) from now on, increasing [s].
            positions: (k, m) [rad or m].
            velocities: (k, m); by default those of the cubic spline whose acceleration is
                continuous.
            accelerations: (k, m), which make it a spline of quintics.
            joints: (m) names; by default all, in the order of `model.joint_names`.

        Raises:
            RefusedError: It leaves the limits of position, velocity or effort.
            MotionError: The motion was broken off.
        """
        names = tuple(joints or self.model.joint_names)
        waypoints = Waypoints(names, times, positions, velocities, accelerations)
        self.session.follow(waypoints)
        self._wait('trajectory', self.session.finish, self.timeout + float(waypoints.times[-1]))

    def hold(self) -> None:
        """Bring the arm to rest where it is; one that is being braked comes to rest first."""
        end = self.time + self.timeout
        while True:
            try:
                if HOLD in self.session.modes:
                    self.go(HOLD)
                else:
                    self.move_joints(self.q, duration=0.5)
                return
            except RefusedError as error:
                if error.reason != 'braking' or self.time > end:
                    raise
            self.run(LOOK)

    def impedance(self, **parameters: Any) -> 'Impedance':
        """Make the tool a spring about its present pose.

        As `with robot.impedance(...):` only for the block: then the arm is held, and the
        parameters are as before.

        Args:
            parameters: Of the mode `impedance`: `stiffness` (6,) [N/m, N m/rad], `damping_ratio`
                [-], ...; `print(robot.parameters.modes.impedance)` shows all of them.

        Raises:
            ConfigurationError: There is no such parameter, or its value is not valid.
        """
        prefix = f'modes.{IMPEDANCE}.'
        known = [name.removeprefix(prefix) for name in self.session.describe(prefix)]
        for name in parameters:
            if name not in known:
                raise ConfigurationError(
                    str(UnknownNameError(f'{prefix[:-1]} parameter', name, known))
                )
        changes = {prefix + name: value for name, value in parameters.items()}
        before = self.parameters.change(changes)
        try:
            self.go(IMPEDANCE)
        except BaseException:
            self.session.update(before)
            raise
        return Impedance(self, before)

    def law(self, law: type[Law] | Callable[[Tick], ArrayLike], **parameters: Any) -> None:
        """Let a law of your own run from now on; `run` lets time pass. In a simulation alone.

        Args:
            law: A subclass of `icir_control.control.Law`, or a function of the tick that returns
                the acceleration of the joints (nv,) [rad/s^2 or m/s^2].
            parameters: Of the law.

        Raises:
            RefusedError: It cannot start, or there is no simulation in this process.
        """
        self.session.run_law(law_of(law), parameters)

    def push(
        self,
        force: ArrayLike,
        moment: ArrayLike = (0.0, 0.0, 0.0),
        *,
        seconds: float = 0.1,
        link: str = '',
    ) -> None:
        """Push a link of the simulated arm, and return when the push ends.

        The wrench acts at the link's origin. It is given in the axes of the base, and turns with
        the link while it acts.

        Args:
            force: (3,) at the begin of the push, in the axes of the base [N].
            moment: (3,) likewise [N m].
            seconds: How long.
            link: Its name; by default the tool.
        """
        arm, q = self.session.arm, self.q
        link = link or arm.end_effector_frame
        seconds = _duration(seconds)
        R_link_base = (arm.T_world_base.inverse() @ arm.placement_of(link, q)).rotation.T
        parts = [_vector('force', force, 3), _vector('moment', moment, 3)]
        wrench = np.concatenate([R_link_base @ part for part in parts])
        self._wait(f'push on {link}', self.session.push, link, wrench, seconds)

    def run(self, seconds: float) -> None:
        """Let time pass [s]."""
        self._wait(self.mode, self.session.run, _duration(seconds))

    def step(self, steps: int = 1) -> None:
        """Let control periods pass; in a simulation alone."""
        self.session.step(steps)

    # --- State

    @property
    def q(self) -> Array:
        """(nv,) position of the joints [rad or m]."""
        return self.session.state[0]

    @property
    def v(self) -> Array:
        """(nv,) velocity of the joints [rad/s or m/s]."""
        return self.session.state[1]

    @property
    def torque(self) -> Array:
        """(nv,) of the motors, within the limits [N m or N]."""
        return self.session.state[2]

    @property
    def pose(self) -> SE3:
        """T_base_tool of the end effector."""
        arm = self.session.arm
        return arm.T_world_base.inverse() @ arm.placement(self.q)

    @property
    def mode(self) -> str:
        """Name of the running mode."""
        return self.session.mode

    @property
    def time(self) -> float:
        """Time of the arm [s]."""
        return self.session.time

    @property
    def model(self) -> Model:
        """The arm's model, for `icir_control.dynamics`."""
        return self.session.arm.model

    @property
    def parameters(self) -> Parameters:
        """Parameters of the controller as attributes; printed, with units and meaning."""
        return Parameters(self.session)

    @property
    def log(self) -> Log:
        """Named series since the start, every state of it; time that goes back empties them."""
        return self.session.log

    def __repr__(self) -> str:
        """Return what runs where."""
        state = f'mode {self.mode}, {self.time:.3f} s' if self._is_open else 'closed'
        return f'<Robot {self.model.name} {self.session.words}: {state}>'

    def _repr_html_(self) -> str:
        """Return what runs where, with a picture of the arm."""
        return page(repr(self), self.session.world, self.q)

    # --- End

    def close(self) -> None:
        """Hold the arm, and end what was started."""
        if self._is_open:
            self._is_open = False
            self.callbacks.clear()
            try:
                with suppress(IcirError):
                    self.hold()
            finally:
                self.session.close()

    def __enter__(self) -> Self:
        """Give the robot to a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hold the arm, and end what was started."""
        self.close()

    def _wait(self, words: str, act: Callable[..., None], *arguments: Any) -> None:
        """Let time pass, with a bar and the callbacks."""
        with MotionBar(words, self.progress) as bar:

            def look(left: float | None) -> None:
                bar.tell(left)
                if not self._is_called:  # by a callback that lets time pass itself
                    self._is_called = True
                    try:
                        for function in self.callbacks:
                            function(self)
                    finally:
                        self._is_called = False

            before, self.session.look = self.session.look, look
            try:
                act(*arguments)
            finally:
                self.session.look = before

    def _pose_mode(self) -> str:
        modes = self.session.pose_modes
        if not modes:
            raise RefusedError('no mode of this arm takes poses', reason='no_target')
        return JOG if JOG in modes else modes[0]


class Impedance:
    """The mode `impedance`, running already; a `with` block holds the arm at its end."""

    def __init__(self, robot: Robot, before: Mapping[str, Any]) -> None:
        """Keep what is to be restored.

        Args:
            robot: Whose mode it is.
            before: Parameters as they were, by full name.
        """
        self._robot, self._before = robot, before

    def __enter__(self) -> Robot:
        """Give the robot to the block."""
        return self._robot

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Hold the arm and restore the parameters; an error of the block's own comes first."""
        robot = self._robot
        try:
            with ExitStack() as stack:  # each of these, whatever becomes of the others
                stack.callback(robot.session.update, self._before)
                stack.callback(robot.hold)
                robot.run(0.0)  # raises where nobody has heard yet that the mode has ended
        except IcirError as own:
            if error is None:
                raise
            _log.warning('%s', own)


def _duration(seconds: float) -> float:
    return checked_scalar('seconds', seconds, 'a number, 0 or more', lowest=0.0)


def _vector(name: str, value: ArrayLike, size: int, expected: str = '') -> Array:
    try:
        vector = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        vector = np.array(np.nan)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise InvalidValueError(name, value, expected or f'{size} finite numbers')
    return vector
