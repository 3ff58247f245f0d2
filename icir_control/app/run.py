"""One unattended run: both nodes on a ROS domain of their own, a schedule, pushes, a recording."""

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher

from icir_control.app.children import Children
from icir_control.app.plan import Phase, Push, schedule_of
from icir_control.app.recording import Recorder, Recording
from icir_control.app.robot import Robot
from icir_control.app.session import (
    BRIDGE,
    CONTROLLER,
    check_children,
    ros_arguments,
)
from icir_control.errors import IcirError
from icir_control.nodes.process.discovery import DISCOVERY_RANGE, is_domain_unused
from icir_control.nodes.process.run import init_ros
from icir_control.nodes.process.stop_request import StopRequest

_PATIENCE = 150.0  # s of wall time in which something must move on; both nodes may have to compile
_MOST_RUNS = 4
_LAST_WORDS = 15  # lines of the nodes that explain why a run ended
_DOMAINS = range(1, 101)

_PARAMETERS = {
    'viewer': 'none',
    'lockstep': True,
    'real_time_factor': 0.0,
    # Longer than any push: what ends one is another, of nothing.
    'external_wrench_hold': 60.0,
}


class RunError(IcirError):
    """A run did not come to its end."""


def record_run(
    robot: Robot,
    phases: tuple[Phase, ...],
    joint_names: tuple[str, ...],
    end_effector: str,
    tell: Callable[[float], None],
) -> Recording:
    """Run the phases as fast as the machine allows, and record every state.

    On a busy machine states can get lost on their way to whoever only watches; the phases are
    then run again, which gives the same states, until each was seen.

    Args:
        robot: The arm.
        phases: What runs when; the first one is the controller's initial mode.
        joint_names: In the order of the recording's arrays.
        end_effector: The link that is pushed.
        tell: Called again and again with the simulation time [s].

    Raises:
        RunError: A node ended, or nothing moved on; with the nodes' last words.
        DifferentRunsError: The phases were run again and went differently.
        KeyboardInterrupt: A signal asked for the end.
    """
    recording = _record_once(robot, phases, joint_names, end_effector, tell)
    for _ in range(_MOST_RUNS - 1):
        if not recording.lost:
            break
        again = _record_once(robot, phases, joint_names, end_effector, tell)
        recording = recording.united(again)
    return recording


def _record_once(
    robot: Robot,
    phases: tuple[Phase, ...],
    joint_names: tuple[str, ...],
    end_effector: str,
    tell: Callable[[float], None],
) -> Recording:
    """Run the phases once; see `record_run`."""
    os.environ[DISCOVERY_RANGE] = 'LOCALHOST'
    os.environ['ROS_DOMAIN_ID'] = str(_free_domain())
    lines: list[str] = []

    def listen(name: str, line: str) -> None:
        lines.append(f'{name}: {line}')

    with StopRequest() as stop, Children(listen) as children, _node() as node:
        stop.defer()
        try:
            recorder = Recorder(node, joint_names, CONTROLLER)
            pushes = [push for phase in phases for push in phase.pushes]
            # A history that is full asks for its acknowledgement at once (Fast DDS), any other
            # one with the next heartbeat, 3 s later.
            wrenches = node.create_publisher(
                WrenchStamped, f'{BRIDGE}/external_wrench', max(2 * len(pushes), 1)
            )

            def wait_until(condition: Callable[[], bool]) -> None:
                begin = time.monotonic()
                while not condition():
                    recorder.look()
                    check_children(children)
                    if stop:
                        raise KeyboardInterrupt
                    tell(recorder.time)
                    if time.monotonic() - max(begin, recorder.moved) > _PATIENCE:
                        raise RunError(f'nothing has moved on for {_PATIENCE:g} s')

            children.start(BRIDGE, 'bridge', ros_arguments(BRIDGE, robot, _PARAMETERS))
            wait_until(lambda: recorder.has_heard and wrenches.get_subscription_count() > 0)
            _announce_pushes(wrenches, pushes, end_effector)
            # Time stands still until the controller answers: nothing of the run is missed.
            schedule = {'schedule': schedule_of(phases)}
            children.start(CONTROLLER, 'controller', ros_arguments(CONTROLLER, robot, schedule))
            wait_until(lambda: recorder.time >= phases[-1].end)
        except IcirError as error:
            raise RunError('\n'.join([*lines[-_LAST_WORDS:], str(error)])) from error
    return recorder.recording(phases[-1].end)


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


def _announce_pushes(publisher: Publisher, pushes: Sequence[Push], link: str) -> None:
    """Tell the bridge of every push beforehand: its stamp says when it starts."""
    for push in pushes:
        for start, wrench in ((push.start, push.wrench), (push.end, np.zeros(6))):
            message = WrenchStamped()
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(round(start * 1e9), 10**9)
            message.header.frame_id = link
            force = message.wrench.force
            force.x, force.y, force.z = wrench[:3].tolist()
            publisher.publish(message)
    if not publisher.wait_for_all_acked(Duration(seconds=_PATIENCE)):
        raise RunError('the bridge has not taken the pushes')


def _free_domain() -> int:
    """Return a ROS domain that no process of this machine is in.

    Raises:
        RunError: There is none.
    """
    for domain in random.SystemRandom().sample(_DOMAINS, len(_DOMAINS)):
        if is_domain_unused(domain):
            return domain
    raise RunError('every ROS domain of this machine is in use')
