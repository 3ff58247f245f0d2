"""One unattended run: both nodes on a ROS domain of their own, a schedule, pushes, a recording."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Header
from std_srvs.srv import SetBool

from icir_control.app.demo.plan import DemoPlan, Push
from icir_control.app.environment import writing
from icir_control.app.measurement import TimeSeries
from icir_control.app.recording.reader import Recording
from icir_control.app.recording.recorder import Recorder
from icir_control.app.recording.topics import REFERENCE_POSE
from icir_control.app.robot import START_TIMEOUT, RobotFiles, ros_arguments
from icir_control.errors import IcirError
from icir_control.nodes.process.children import Children
from icir_control.nodes.process.discovery import DISCOVERY_RANGE, free_domain
from icir_control.nodes.process.run import ros_node
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.client import NodeClient, until_answered
from icir_control.nodes.transport.conversions import stamp_of, wrench_of
from icir_control.share import BRIDGE, CONTROLLER

_PROGRESS_TIMEOUT = 150.0  # s of wall time without a new state
_MOST_RUNS = 4
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
    robot: RobotFiles,
    plan: DemoPlan,
    tool: str,
    path: Path,
    show_time: Callable[[float], None],
) -> Run:
    """Run the phases as fast as the machine allows, and record every state.

    On a busy machine the recorder can lose states; the phases are then run again, which gives
    the same states, until each was received.

    Args:
        robot: The arm, for both nodes.
        plan: What runs when.
        tool: The link that is pushed.
        path: MCAP file of the (last) run, made anew.
        show_time: Called again and again with the simulation time [s].

    Raises:
        RunError: A node ended, or time stood still; with the last lines of the nodes' output.
        ConfigurationError: The file cannot be written.
        DifferentRunsError: The phases were run again and went differently.
        KeyboardInterrupt: A signal asked for the end.
    """
    once = partial(_record_once, robot, plan, tool, path, show_time)
    run = once()
    for _ in range(_MOST_RUNS - 1):
        if not run.lost:
            break
        run = run.merged(once())
    return run


def _record_once(
    robot: RobotFiles,
    plan: DemoPlan,
    tool: str,
    path: Path,
    show_time: Callable[[float], None],
) -> Run:
    """Run the phases once; see `record_run`."""
    os.environ[DISCOVERY_RANGE] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(free_domain())
    with (
        StopRequest() as stop,
        Children() as children,
        ros_node('demo') as node,
        writing(path),
        closing(_new_recorder(node, path)) as recorder,
    ):
        stop.defer()
        pushes = plan.pushes
        # With a full history the writer asks for acknowledgement at once (Fast DDS), else with
        # the next heartbeat, 3 s later.
        wrenches = node.create_publisher(
            WrenchStamped, f'{BRIDGE}/external_wrench', max(2 * len(pushes), 1)
        )

        bridge = NodeClient(node, BRIDGE)

        def wait_until(condition: Callable[[], bool]) -> None:
            newest, since = recorder.time, time.monotonic()
            while not condition():
                recorder.poll()
                children.check()
                if stop:
                    raise KeyboardInterrupt
                show_time(recorder.time)
                if recorder.time > newest:
                    newest, since = recorder.time, time.monotonic()
                longest = _PROGRESS_TIMEOUT if recorder.time > 0.0 else START_TIMEOUT
                if time.monotonic() - since > longest:
                    raise RunError(f'no new state for {longest:g} s')

        def set_paused(is_paused: bool) -> None:
            async def ask() -> None:
                await until_answered(bridge.call, SetBool, 'pause', data=is_paused)

            wait_until(bridge.start(ask).done)

        try:
            children.start(BRIDGE, 'bridge', ros_arguments(BRIDGE, robot, _BRIDGE_PARAMETERS))
            # The recorder subscribes, too.
            wait_until(lambda: recorder.has_state and wrenches.get_subscription_count() > 1)
            _schedule_pushes(wrenches, pushes, tool)
            # Time stands still until the recorder has found the controller, and the controller it:
            # no state and no reference of the run is missed.
            set_paused(True)
            arguments = ros_arguments(CONTROLLER, robot, plan.parameters)
            children.start(CONTROLLER, 'controller', arguments)
            wait_until(
                lambda: recorder.has_parameters and node.count_publishers(REFERENCE_POSE) > 0
            )
            set_paused(False)
            wait_until(lambda: recorder.time >= plan.end)
        except IcirError as error:
            raise RunError(children.report(error)) from error
        recorder.finish()
    return _run_in(Recording(path), plan.end)


def _new_recorder(node: Node, path: Path) -> Recorder:
    path.unlink(missing_ok=True)
    return Recorder(node, path)


def _run_in(recording: Recording, end: float) -> Run:
    """Return what was recorded up to a simulation time [s]."""
    states = recording.states.until(end)
    # Time stands still at the first state, until the controller is there.
    begin, last = recording.arrivals[[1, len(states) - 1]]
    return Run(states, recording.poses(REFERENCE_POSE).until(end), (last - begin) * 1e-9, end)


def _schedule_pushes(
    publisher: 'Publisher[WrenchStamped]', pushes: Sequence[Push], link: str
) -> None:
    """Send every push to the bridge beforehand: its stamp says when it starts."""
    for push in pushes:
        for start, wrench in ((push.start, push.wrench), (push.end, np.zeros(6))):
            header = Header(stamp=stamp_of(round(start * 1e9)), frame_id=link)
            publisher.publish(WrenchStamped(header=header, wrench=wrench_of(wrench)))
    if not publisher.wait_for_all_acked(Duration(seconds=_PROGRESS_TIMEOUT)):
        raise RunError('the bridge has not acknowledged the pushes')
