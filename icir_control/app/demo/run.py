"""One unattended run: both nodes on a ROS domain of their own, a schedule, pushes, a recording."""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from icir_control.app.demo.plan import CONTROLLER_CHANGES, Phase, Push, schedule_of
from icir_control.app.measurement import TimeSeries
from icir_control.app.processes import BRIDGE, CONTROLLER, Children, ros_arguments
from icir_control.app.robot import Robot
from icir_control.control import Arm
from icir_control.errors import IcirError
from icir_control.nodes.process.discovery import DISCOVERY_RANGE, is_domain_unused
from icir_control.nodes.process.run import init_ros
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.endpoints import JointStateSubscription

STATE_COLUMNS = ('position', 'velocity', 'effort')

_PROGRESS_TIMEOUT = 150.0  # s of wall time without a new state
_START_TIMEOUT = 900.0  # s of wall time until the second state: both nodes may have to compile
_MOST_RUNS = 4
_SHOWN_LINES = 15  # of the nodes' output, where a run has failed
_DOMAINS = range(1, 101)
_POLL_PERIOD = 2e-3  # s between two polls of the topics
# Deep enough for half a second in which this process does not run.
_STATE_QOS = QoSProfile(depth=10_000)
_BRIDGE_PARAMETERS = {
    'viewer': 'none',
    'lockstep': True,
    'real_time_factor': 0.0,
    # Longer than any push: a push is ended by another one of no force.
    'external_wrench_hold': 60.0,
}


class RunError(IcirError):
    """A run did not come to its end."""


@dataclass(frozen=True)
class Run:
    """A run as it was seen on the topics.

    Attributes:
        states: A row for each control period: `position` (n, nv) [rad or m], `velocity` (n, nv)
            [rad/s or m/s], `effort` (n, nv) applied in the period before the state [N m or N].
        published_reference: Of the controller's `~/reference_pose`: `translation` (m, 3) of the
            end effector in the base frame [m].
        wall_seconds: How long the run took on the wall clock [s].
        end: Simulation time at which it was over [s]; the last state may be missing.
    """

    states: TimeSeries
    published_reference: TimeSeries
    wall_seconds: float
    end: float

    @property
    def period(self) -> float:
        """The control period [s]: the least step of time."""
        return float(np.min(np.diff(self.states.time)))

    @property
    def steps(self) -> int:
        """How many control periods the run took."""
        return round((self.end - float(self.states.time[0])) / self.period)

    @property
    def lost(self) -> int:
        """How many states were published but not received."""
        return self.steps + 1 - len(self.states)

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds per second of wall time."""
        return (self.end - float(self.states.time[0])) / self.wall_seconds

    def merged(self, other: Self) -> Self:
        """Return the run with the states that were received in it or in another one.

        In lockstep two runs of one schedule are equal to the last bit, so that each fills the
        other's gaps.

        Raises:
            DifferentRunsError: They are not equal.
        """
        return replace(self, states=self.states.merged(other.states))


def record_run(
    robot: Robot, phases: tuple[Phase, ...], arm: Arm, show_time: Callable[[float], None]
) -> Run:
    """Run the phases as fast as the machine allows, and record every state.

    On a busy machine the recorder can lose states; the phases are then run again, which gives
    the same states, until each was received.

    Args:
        robot: The arm, for both nodes.
        phases: What runs when; the first one is the controller's initial mode.
        arm: The same arm; its joints are recorded, its end effector is pushed.
        show_time: Called again and again with the simulation time [s].

    Raises:
        RunError: A node ended, or time stood still; with the last lines of the nodes' output.
        DifferentRunsError: The phases were run again and went differently.
        KeyboardInterrupt: A signal asked for the end.
    """
    run = _record_once(robot, phases, arm, show_time)
    for _ in range(_MOST_RUNS - 1):
        if not run.lost:
            break
        run = run.merged(_record_once(robot, phases, arm, show_time))
    return run


def _record_once(
    robot: Robot, phases: tuple[Phase, ...], arm: Arm, show_time: Callable[[float], None]
) -> Run:
    """Run the phases once; see `record_run`."""
    os.environ[DISCOVERY_RANGE] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(free_domain())
    output: list[str] = []

    def keep(name: str, line: str) -> None:
        output.append(f'{name}: {line}')

    with StopRequest() as stop, Children(keep) as children, _node() as node:
        stop.defer()
        recorder = Recorder(node, arm.model.joint_names)
        pushes = [push for phase in phases for push in phase.pushes]
        # With a full history the writer asks for acknowledgement at once (Fast DDS), else with
        # the next heartbeat, 3 s later.
        wrenches = node.create_publisher(
            WrenchStamped, f'{BRIDGE}/external_wrench', max(2 * len(pushes), 1)
        )

        def wait_until(condition: Callable[[], bool]) -> None:
            begin = time.monotonic()
            while not condition():
                recorder.poll()
                children.check()
                if stop:
                    raise KeyboardInterrupt
                show_time(recorder.time)
                longest = _PROGRESS_TIMEOUT if recorder.time > 0.0 else _START_TIMEOUT
                if time.monotonic() - max(begin, recorder.last_arrival) > longest:
                    raise RunError(f'no new state for {longest:g} s')

        try:
            children.start(BRIDGE, 'bridge', ros_arguments(BRIDGE, robot, _BRIDGE_PARAMETERS))
            wait_until(lambda: recorder.has_state and wrenches.get_subscription_count() > 0)
            _schedule_pushes(wrenches, pushes, arm.end_effector_frame)
            # Time stands still until the controller answers: no state of the run is missed.
            changes = {**CONTROLLER_CHANGES, 'schedule': schedule_of(phases)}
            children.start(CONTROLLER, 'controller', ros_arguments(CONTROLLER, robot, changes))
            wait_until(lambda: recorder.time >= phases[-1].end)
        except IcirError as error:
            raise RunError('\n'.join([*output[-_SHOWN_LINES:], str(error)])) from error
    return recorder.run(phases[-1].end)


class Recorder:
    """Keeps every state that the bridge publishes, from the first one on.

    Attributes:
        time: Simulation time of the newest state [s].
        last_arrival: When that state arrived, on the monotonic clock [s].
    """

    def __init__(self, node: Node, joint_names: tuple[str, ...]) -> None:
        """Subscribe.

        Args:
            node: Spun by `poll`.
            joint_names: In the order of the columns.
        """
        self.time = 0.0
        self.last_arrival = 0.0
        self._begin = 0.0
        self._stamp_ns = -1
        self._rows: list[dict[str, Any]] = []
        self._references: dict[int, dict[str, Any]] = {}
        self._states = JointStateSubscription(
            node, 'joint_states', joint_names, STATE_COLUMNS, qos=_STATE_QOS
        )
        node.create_subscription(
            PoseStamped, f'{CONTROLLER}/reference_pose', self._take_reference, 100
        )
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    @property
    def has_state(self) -> bool:
        """Whether a state has arrived."""
        return bool(self._rows)

    def poll(self) -> None:
        """Take in what has arrived, after a short pause."""
        time.sleep(_POLL_PERIOD)
        self._executor.spin_once(0.0)
        states = self._states
        while states.take():
            if states.stamp_ns == self._stamp_ns:
                continue  # time stands still: the same state once more
            self._stamp_ns = states.stamp_ns
            self.last_arrival = time.monotonic()
            if len(self._rows) == 1:
                self._begin = self.last_arrival
            self.time = states.stamp_ns * 1e-9
            row = {name: getattr(states, name).copy() for name in STATE_COLUMNS}
            self._rows.append({'time': self.time, **row})

    def run(self, end: float) -> Run:
        """Return what was received up to a simulation time [s]."""
        return Run(
            TimeSeries.from_rows(self._rows).until(end),
            TimeSeries.from_rows([row for _, row in sorted(self._references.items())]).until(end),
            self.last_arrival - self._begin,
            end,
        )

    def _take_reference(self, message: PoseStamped) -> None:
        stamp, place = message.header.stamp, message.pose.position
        stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        self._references[stamp_ns] = {
            'time': stamp_ns * 1e-9,
            'translation': [place.x, place.y, place.z],
        }


@contextmanager
def _node() -> Iterator[Node]:
    """Give a node of this process, as long as the context lasts."""
    init_ros()
    try:
        node = rclpy.create_node('demo')
        yield node
        node.destroy_node()
    finally:
        rclpy.try_shutdown()


def _schedule_pushes(
    publisher: 'Publisher[WrenchStamped]', pushes: Sequence[Push], link: str
) -> None:
    """Send every push to the bridge beforehand: its stamp says when it starts."""
    for push in pushes:
        for start, wrench in ((push.start, push.wrench), (push.end, np.zeros(6))):
            message = WrenchStamped()
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(round(start * 1e9), 10**9)
            message.header.frame_id = link
            force = message.wrench.force
            force.x, force.y, force.z = wrench[:3].tolist()
            publisher.publish(message)
    if not publisher.wait_for_all_acked(Duration(seconds=_PROGRESS_TIMEOUT)):
        raise RunError('the bridge has not acknowledged the pushes')


def free_domain() -> int:
    """Return a ROS domain that no process of this machine is in.

    Raises:
        RunError: There is none.
    """
    for domain in random.SystemRandom().sample(_DOMAINS, len(_DOMAINS)):
        if is_domain_unused(domain):
            return domain
    raise RunError('every ROS domain of this machine is in use')
