"""An arm over ROS 2: whatever answers as `controller`, and a bridge if there is one."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, cast

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import ArrayLike
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from icir_control.app.measurement import Array, TimeSeries
from icir_control.control import Arm, Law, Waypoints
from icir_control.errors import ConfigurationError, RefusedError
from icir_control.nodes.process.children import Children
from icir_control.nodes.process.discovery import stay_on_this_machine
from icir_control.nodes.process.run import end_ros, init_ros
from icir_control.nodes.robot import LoadedRobot
from icir_control.nodes.transport.client import NoAnswerError, NodeClient
from icir_control.nodes.transport.conversions import (
    placement_of,
    pose_of,
    seconds_of,
    wrench_of,
)
from icir_control.nodes.transport.endpoints import JointStateSubscription
from icir_control.nodes.transport.messages import FIELDS
from icir_control.nodes.transport.outcome import POSE, TRAJECTORY, Outcome, Request
from icir_control.nodes.transport.qos import LATCHED
from icir_control.robot.log import Log
from icir_control.robot.session import LOOK, MotionError, broken_off
from icir_control.share import BRIDGE, CONTROLLER
from icir_control.simulation import World
from icir_control.spatial import SE3

STANDSTILL = 20.0
"""[s] of wall time without a new state, after which nobody waits any longer."""

_ANSWER_TIMEOUT = 5.0  # s of wall time until a request counts as lost
_PERIOD = 2e-3  # s of wall time between two looks at what has arrived
_STATES = QoSProfile(depth=10_000)
_NO_REFERENCE = 'no reference of the controller'
_REFERENCE_TIMEOUT = 0.5  # s of wall time; while time stands still none comes
_ENDED_TIMEOUT = 0.5  # s of wall time between the topics that say that a mode has ended, and why


class OverRos:
    """A `Session` over topics, services and parameters; a thread takes what arrives."""

    def __init__(self, namespace: str, timeout: float, children: Children | None = None) -> None:
        """Find the controller and read what it runs.

        Args:
            namespace: Of the nodes.
            timeout: How long to look for them, and for a state [s of wall time].
            children: Processes that end with this session.

        Raises:
            ConfigurationError: Nobody is there, or the URDF is not on this machine.
        """
        self._children = children
        self.look: Callable[[float | None], object] = lambda _: None
        self._owns_ros = not rclpy.ok()
        if self._owns_ros:
            stay_on_this_machine()
            init_ros()
        self._node = node = rclpy.create_node('robot', namespace=namespace)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._lock = threading.Lock()
        self._states: JointStateSubscription | None = None
        self._rows: list[tuple[int, Array]] = []
        self._reference: PoseStamped | None = None
        self._outcomes: list[Outcome] = []
        self._newest_outcomes: list[Outcome] = []
        self._spans: list[tuple[float, str]] = []
        self._pushes: list[WrenchStamped] = []
        self._controller = NodeClient(node, CONTROLLER, _ANSWER_TIMEOUT)
        self._bridge = NodeClient(node, BRIDGE, _ANSWER_TIMEOUT)
        self._request = Request()
        self._mode_known = ''  # of which the caller would hear that it has ended
        self._arrived = 0.0  # when the last motion had, at the latest [s]
        self._runs = 1  # how often time has begun
        self._is_open = True
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()
        try:
            self._open(timeout)
        except BaseException:
            self.close()
            raise

    def _open(self, timeout: float) -> None:
        node = self._node
        given = self._configuration(timeout)
        robot = LoadedRobot.of(given, CONTROLLER)
        self.arm = Arm(robot.model, given['base_frame'], given['end_effector_frame'])
        self._robot = robot
        self.modes = tuple(given['mode_names'])
        self.pose_modes = tuple(given['pose_modes'])
        self.words = f'over ROS 2, controller {node.get_namespace().rstrip("/")}/{CONTROLLER}'
        self._publishers = {
            'target_pose': node.create_publisher(PoseStamped, f'{CONTROLLER}/target_pose', 1),
            'joint_trajectory': node.create_publisher(
                JointTrajectory, f'{CONTROLLER}/joint_trajectory', 1
            ),
        }
        self._wrenches = node.create_publisher(WrenchStamped, f'{BRIDGE}/external_wrench', 1)
        self._applied = node.create_subscription(
            WrenchStamped, f'{BRIDGE}/applied_wrench', self._pushes.append, 50
        )
        node.create_subscription(PoseStamped, f'{CONTROLLER}/reference_pose', self._take_pose, 1)
        # Volatile: what came of requests of the past does not concern us.
        node.create_subscription(
            DiagnosticStatus, f'{CONTROLLER}/motion_status', self._take_status, 50
        )
        node.create_subscription(String, f'{CONTROLLER}/mode', self._take_mode, LATCHED)
        self._states = JointStateSubscription(
            node,
            given['state_topic'],
            self.arm.model.joint_names,
            FIELDS,
            has_others=True,
            qos=_STATES,
        )
        self._wait(lambda: self._rows and self._spans, timeout, 'no state of the arm')
        self._wait(lambda: self._reference, timeout, _NO_REFERENCE)

    def _configuration(self, timeout: float) -> dict[str, Any]:
        """Return all parameters of the controller, once they are declared."""
        end = time.monotonic() + timeout
        while True:
            names = self._answer(self._controller.parameter_names, timeout)
            values = self._answer(self._controller.parameters, names)
            if 'pose_modes' in values:
                return {name: value for name, value in values.items() if value is not None}
            if time.monotonic() > end:
                raise ConfigurationError(f'the {CONTROLLER} does not declare its modes')
            time.sleep(0.1)

    # --- What arrives, in the thread

    def _take(self) -> None:
        while self._is_open:
            time.sleep(_PERIOD)
            # What a request fails with is raised by the task, where it is waited for.
            with suppress(rclpy.executors.ExternalShutdownException, NoAnswerError):
                self._executor.spin_once(0.0)
            states = self._states
            while states is not None and states.take():
                self._keep(states)
            # An outcome is told once all states that came before it are there.
            while self._newest_outcomes:
                self._outcomes.append(self._newest_outcomes.pop(0))

    def _keep(self, states: JointStateSubscription) -> None:
        """Keep a state; where time has gone back, forget all before it: a bridge that is new."""
        last_ns = self._rows[-1][0] if self._rows else -1
        if states.stamp_ns == last_ns:
            return
        row = states.stamp_ns, np.array([states.position, states.velocity, states.effort])
        if states.stamp_ns > last_ns:
            self._rows.append(row)
            return
        # Each list is replaced as a whole: another thread reads them.
        self._spans = [(states.stamp_ns * 1e-9, mode) for _, mode in self._spans[-1:]]
        self._rows = [row]
        self._reference, self._arrived = None, 0.0
        self._runs += 1

    def _take_pose(self, message: PoseStamped) -> None:
        self._reference = message

    def _take_mode(self, message: String) -> None:
        self._spans.append((self.time if self._rows else 0.0, message.data))

    def _take_status(self, message: DiagnosticStatus) -> None:
        self._newest_outcomes.append(Outcome.of(message))

    # --- State

    @property
    def time(self) -> float:
        """Of the newest state [s]."""
        return self._rows[-1][0] * 1e-9

    @property
    def mode(self) -> str:
        """The running mode."""
        return self._spans[-1][1]

    @property
    def state(self) -> tuple[Array, Array, Array]:
        """Newest q, v and applied torque, each (nv,)."""
        q, v, effort = self._rows[-1][1]
        return q, v, effort

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the tool should have, by a message since the last motion arrived.

        They come at a bounded rate: one from before would not be the path's end.
        """

        def found() -> PoseStamped | None:
            newest = self._reference
            is_new = newest and seconds_of(newest.header.stamp) >= self._arrived
            return newest if is_new else None

        with suppress(ConfigurationError):
            self._wait(found, _REFERENCE_TIMEOUT, '')
        # Where time stands still, or has gone back, it is the newest or the next one.
        reference = self._wait(lambda: self._reference, _ANSWER_TIMEOUT, _NO_REFERENCE)
        return placement_of(reference.pose)

    @cached_property
    def world(self) -> World:
        """The arm as MuJoCo draws it; its state is not the arm's."""
        return World(
            self._robot.path,
            joint_names=self.arm.model.joint_names,
            end_effector_frame=self.arm.end_effector_frame,
            **self._robot.options,
        )

    @property
    def log(self) -> Log:
        """Every state since time last went back; the torque is that applied until the next one."""
        rows = self._rows[:]
        times = np.array([stamp_ns for stamp_ns, _ in rows]) * 1e-9
        q, v, effort = np.stack([values for _, values in rows], axis=1)
        columns = {'position': q[:-1], 'velocity': v[:-1], 'torque': effort[1:]}
        return Log(TimeSeries(times[:-1], columns), self._spans, self.arm, self._robot)

    # --- Requests

    def select(self, mode: str) -> None:
        """Switch to a configured mode."""
        self._begin(Request(mode=mode))
        answer = self._answer(self._controller.call, Trigger, f'modes/{mode}')
        if not answer.success:
            # The service says why in words alone; the topic, in a moment, as data.
            with suppress(ConfigurationError):
                self._wait(lambda: self._outcome(Outcome.REFUSED), _ANSWER_TIMEOUT, '')
            self._raise_refusal()
            raise RefusedError(answer.message)

    def set_target_pose(self, T_base_tool: SE3) -> None:
        """Send the running mode to a pose."""
        message = PoseStamped(pose=pose_of(T_base_tool.translation, T_base_tool.quaternion))
        self._publish('target_pose', POSE, message)

    def follow(self, waypoints: Waypoints) -> None:
        """Go through waypoints."""
        message = JointTrajectory(joint_names=list(waypoints.joints))
        for i, moment in enumerate(waypoints.times):
            point = JointTrajectoryPoint(positions=waypoints.positions[i].tolist())
            if waypoints.velocities is not None:
                point.velocities = waypoints.velocities[i].tolist()
            if waypoints.accelerations is not None:
                point.accelerations = waypoints.accelerations[i].tolist()
            point.time_from_start = Duration(seconds=float(moment)).to_msg()
            message.points.append(point)
        self._publish('joint_trajectory', TRAJECTORY, message)

    def run_law(self, law: type[Law], parameters: Mapping[str, Any]) -> None:
        """Refuse: the controller is another process.

        Raises:
            RefusedError: Always.
        """
        raise RefusedError(
            f'{law.__name__} would have to run in the process of the controller: use '
            'Robot.simulate, or name it in the parameter file as my_package.my_module:MyLaw'
        )

    def push(self, link: str, wrench: ArrayLike, seconds: float) -> None:
        """Hold a wrench (6,) at a link's origin, in its axes, and wait until it ends."""
        hold = 'external_wrench_hold'
        held = self._answer(self._bridge.parameters, [hold])
        self._set(self._bridge, {hold: float(seconds)})
        try:
            acting = self._push(link, wrench)
        finally:
            # The bridge has read it with the push; others push, too.
            self._set(self._bridge, held)
        self.run(seconds_of(acting.header.stamp) + seconds - self.time)

    def _push(self, link: str, wrench: ArrayLike) -> WrenchStamped:
        """Push a link, and return the message by which the bridge says that the push acts."""
        message = WrenchStamped(wrench=wrench_of(wrench))
        message.header.frame_id = link
        for find in (self._wrenches.get_subscription_count, self._applied.get_publisher_count):
            self._wait(find, _ANSWER_TIMEOUT, 'nobody takes pushes')
        before = len(self._pushes)
        self._wrenches.publish(message)

        def found() -> list[WrenchStamped]:
            new = self._pushes[before:]
            return [
                one for one in new if one.header.frame_id == link and one.wrench == message.wrench
            ]

        # Time may pass before the bridge has taken it.
        acting = self._wait(found, _ANSWER_TIMEOUT, f'the push on {link!r} does not act')
        return cast(WrenchStamped, acting[0])

    def finish(self, timeout: float) -> None:
        """Wait until the motion of the last request has arrived."""
        end = self.time + timeout
        self._wait_moving(
            self._request,
            lambda: bool(self._outcome(Outcome.ARRIVED, Outcome.ABORTED)) or self.time > end,
        )
        self._mode_known = self.mode
        found = self._outcome(Outcome.ARRIVED, Outcome.ABORTED)
        if found is None:
            raise MotionError(self._request, f'it takes longer than {timeout:g} s')
        if found.kind == Outcome.ABORTED:
            if not found.data.get('mode'):  # nobody needs to hear of that again
                with suppress(ConfigurationError):
                    self._wait(lambda: not self.mode, _ENDED_TIMEOUT, '')
                self._mode_known = ''
            raise MotionError(self._request, found.words)
        self._arrived = self.time

    def run(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            MotionError: No state comes, time goes back, or the mode has been ended by the
                watchdog or because its law failed.
        """
        end, known = self.time + seconds, self._mode_known or self.mode

        def left() -> float:
            return max(0.0, end - self.time)

        def is_over() -> bool:
            return left() == 0.0 or self._has_ended(known)

        self._wait_moving(f'the end of {seconds:g} s', is_over, left)
        self._mode_known = self.mode
        if self._has_ended(known):
            raise broken_off(known, self._reason())

    def step(self, steps: int) -> None:
        """Refuse: time passes by itself.

        Raises:
            RefusedError: Always.
        """
        raise RefusedError(f'{steps} steps cannot be counted over ROS 2; use run(seconds)')

    # --- Parameters

    def describe(self, prefix: str) -> dict[str, str]:
        """Return what each parameter below a name means, with its unit, by full name."""
        names = self._answer(self._controller.parameter_names)
        below = [name for name in names if name.startswith(prefix)]
        found = self._answer(self._controller.describe, below)
        return {name: one.description for name, one in found.items()}

    def value(self, name: str) -> Any:
        """Return a parameter."""
        return self._answer(self._controller.parameters, [name])[name]

    def update(self, changes: Mapping[str, Any]) -> None:
        """Change parameters, all or none."""
        self._set(self._controller, changes)

    # --- Inside

    def _has_ended(self, known: str) -> bool:
        """Return whether a mode has ended by itself: none runs instead."""
        return bool(known) and not self.mode

    def _reason(self) -> str:
        """Return why the last mode has ended."""

        def found() -> list[str]:
            return [one.words for one in self._outcomes if one.kind == Outcome.ABORTED]

        with suppress(ConfigurationError):
            return cast(str, self._wait(found, _ENDED_TIMEOUT, '')[-1])
        return 'the log of the controller says why'

    def _begin(self, request: Request) -> None:
        self._outcomes.clear()
        self._mode_known = ''
        self._request = request

    def _publish(self, topic: str, request: Request, message: Any) -> None:
        """Publish a request and wait until it is decided."""
        publisher, wait = self._publishers[topic], self._wait
        wait(publisher.get_subscription_count, _ANSWER_TIMEOUT, f'nobody takes a {request}')
        self._begin(request)
        publisher.publish(message)
        wait(
            lambda: self._outcome(Outcome.ACCEPTED, Outcome.REFUSED),
            _ANSWER_TIMEOUT,
            f'the {request} is not answered',
        )
        self._raise_refusal()

    def _raise_refusal(self) -> None:
        """Raise what the controller would have raised here, if it has refused the request."""
        found = self._outcome(Outcome.REFUSED)
        if found is None:
            return
        data = found.data
        numbers = {key: float(data[key]) for key in ('value', 'lower', 'upper') if key in data}
        reason, joint = data.get('reason', 'refused'), data.get('joint', '')
        raise RefusedError(found.words, reason=reason, joint=joint, **numbers)

    def _outcome(self, *kinds: str) -> Outcome | None:
        """Return the first outcome of some kinds that the newest request has had, if any."""
        own = (one for one in self._outcomes[:] if one.request == self._request)
        return next((one for one in own if one.kind in kinds), None)

    def _answer(self, ask: Callable[..., Any], *args: Any) -> Any:
        """Return what another node answers to a question of a `NodeClient`.

        Raises:
            ConfigurationError: It does not answer.
        """
        task = self._controller.start(ask, *args)
        while not task.done():
            self._check()
            time.sleep(_PERIOD)
        try:
            return task.result()
        except NoAnswerError as error:
            raise ConfigurationError(str(error)) from None

    def _set(self, node: NodeClient, changes: Mapping[str, Any]) -> None:
        """Change parameters of a node, all or none.

        Raises:
            ConfigurationError: The node refuses; with its reason.
        """
        if not changes:
            return  # rclpy refuses an empty list
        values = {name: np.asarray(value).tolist() for name, value in changes.items()}
        parameters = [Parameter(name, value=value) for name, value in values.items()]
        if reason := self._answer(node.set_parameters, *parameters):
            raise ConfigurationError(reason)

    def _wait(self, condition: Callable[[], Any], timeout: float, otherwise: str) -> Any:
        """Wait until a condition holds, and return what it gives.

        Args:
            condition: Called again and again, until it gives something that is true.
            timeout: [s] of wall time.
            otherwise: What is wrong where it does not hold in time.
        """
        end = time.monotonic() + timeout
        while not (found := condition()):
            if time.monotonic() > end:
                raise ConfigurationError(f'{otherwise} within {timeout:g} s')
            self._check()
            time.sleep(_PERIOD)
        return found

    def _check(self) -> None:
        """Raise when a process that was started for this session has ended."""
        if self._children is not None:
            self._children.check()

    def _wait_moving(
        self,
        motion: object,
        condition: Callable[[], bool],
        left: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Wait for as long as new states come, one after the other.

        Args:
            motion: What is waited for, in words.
            condition: Called again and again, until it holds.
            left: Returns how long that will take [s]; None where it is not known.
        """
        runs, rows, since, due = self._runs, len(self._rows), time.monotonic(), self.time
        while not condition():
            time.sleep(_PERIOD)
            if self._runs != runs:
                raise MotionError(motion, f'time went back to {self.time:.3f} s')
            if self.time >= due:
                due = self.time + LOOK
                self.look(left())
            self._check()
            if len(self._rows) != rows:
                rows, since = len(self._rows), time.monotonic()
            elif time.monotonic() - since > STANDSTILL:
                raise MotionError(motion, f'no new state for {STANDSTILL:g} s')

    def close(self) -> None:
        """Leave the graph, and end the processes that were started."""
        self._is_open = False
        if threading.current_thread() is not self._thread:
            self._thread.join(1.0)
        with suppress(Exception):
            self._node.destroy_node()
        if self._children is not None:
            self._children.stop()
        if self._owns_ros:
            end_ros()
