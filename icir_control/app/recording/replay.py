"""`icir_control replay`: what a recording shows, on the topics again, or simulated again.

A second simulation is of the same controller and plant, with the requests at the same ticks. The
controller publishes a command for each tick, and between two commands what became of a request.
Both carry the time at which they were sent, by one clock: so the tick is known before which a
request was accepted. Where the recorder had not found the controller yet and lacks the command,
the states before and after it leave two ticks, of which one gives the trajectory. Pushes are those
that the bridge says it has applied.
"""

import time
from collections import deque
from collections.abc import Callable, Set
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from icir_control.app.measurement import DifferentRunsError
from icir_control.app.recording.reader import Recording, RecordingError, stamp_ns_of
from icir_control.app.recording.topics import (
    COMMANDS,
    CURRENT_POSE,
    DESCRIPTION,
    JOINT_REFERENCE,
    LATCHED,
    MOTION_STATUS,
    PARAMETERS,
    REFERENCE_POSE,
    STATES,
    TOPICS,
)
from icir_control.collision import load_collision_shapes
from icir_control.control import Controller, ControllerConfig
from icir_control.dynamics import load_urdf
from icir_control.errors import ConfigurationError, InvalidValueError
from icir_control.nodes.bridge.config import BridgeConfig
from icir_control.nodes.controller.interface import DERIVED, INTERFACE
from icir_control.nodes.controller.requests import waypoints_of
from icir_control.nodes.process.discovery import stay_on_this_machine
from icir_control.nodes.process.run import ros_node
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.robot import ROBOT
from icir_control.nodes.transport import qos
from icir_control.nodes.transport.client import python_values
from icir_control.nodes.transport.conversions import NANOSECONDS
from icir_control.nodes.transport.outcome import JOINTS, TRAJECTORY, Outcome
from icir_control.parameter import replaced
from icir_control.share import BRIDGE, CONTROLLER
from icir_control.spatial import SE3

_NOT_GIVEN = {*ROBOT, *INTERFACE, *DERIVED}
_OF_ROS = ('use_sim_time', 'start_type_description_service')
_TRAJECTORIES = f'{CONTROLLER}/joint_trajectory'

Request = tuple[int, Callable[[], object]]
"""The wall time at which it was accepted [ns], and what does it again."""

_CLOCK = '/clock'
# None that a node of ours acts on, beside the states.
_SHOWN = (STATES, CURRENT_POSE, REFERENCE_POSE, JOINT_REFERENCE, _CLOCK, *LATCHED)
_DISCOVERY = 1.0  # s of wall time in which the graph and subscriptions are found
_LONGEST_SLEEP = 0.05  # s


def publish(recording: Recording, rate: float) -> None:
    """Publish states, poses, mode, clock and URDF of a recording until its end or a signal.

    Args:
        recording: What is published.
        rate: Simulated seconds per second; 0 is as fast as possible.

    Raises:
        InvalidValueError: The rate is no such number.
        ConfigurationError: A simulation publishes states on this graph.
    """
    if not 0.0 <= rate < float('inf'):
        raise InvalidValueError('rate', rate, 'a finite number, at least 0')
    stay_on_this_machine()
    with StopRequest() as stop, ros_node('replay') as node:
        stop.defer()
        _publish(recording, node, rate, lambda: not stop)


def _publish(recording: Recording, node: Node, rate: float, is_wanted: Callable[[], bool]) -> None:
    """Publish a recording through a node, until `is_wanted` returns False; see `publish`."""
    time.sleep(_DISCOVERY)
    if node.count_publishers(STATES):
        raise ConfigurationError(
            f'{STATES} has a publisher already; end that simulation, or choose another domain'
            ' (ROS_DOMAIN_ID)'
        )
    publishers: dict[str, Any] = {
        topic: node.create_publisher(
            {**TOPICS, **LATCHED}[topic], topic, qos.LATCHED if topic in LATCHED else 1
        )
        for topic in _SHOWN
    }
    time.sleep(_DISCOVERY)
    waiting = [
        (recording.time_of(message), topic, message.raw)
        for topic in _SHOWN
        for message in recording.messages.get(topic, ())
    ]
    waiting.sort(key=lambda one: (one[1] != DESCRIPTION, one[0]))
    begin, start = time.monotonic(), recording.states.time[0]
    for moment, topic, raw in waiting:
        due = begin + (moment - start) / rate if rate else 0.0
        while (left := due - time.monotonic()) > 0.0 and is_wanted():
            time.sleep(min(left, _LONGEST_SLEEP))
        if not is_wanted():
            return
        publishers[topic].publish(raw)


class Rerun:
    """Controller and plant of a recording, at its first state."""

    def __init__(self, recording: Recording) -> None:
        """Build both from the recorded parameters.

        Raises:
            RecordingError: The recording lacks what a run needs.
            IcirError: The robot or the parameters are not valid here.
        """
        self._recording = recording
        if recording.states.time[0] != 0.0:
            raise RecordingError(
                recording.path,
                f'begins at {recording.states.time[0]:.3f} s, not at the start of the run, from'
                ' which a simulation begins',
                'a recording from the start on, as of `icir_control sim --record`',
            )
        for node in (BRIDGE, CONTROLLER):
            if node not in recording.given:
                raise RecordingError(recording.path, f'has no parameters of the {node}')
        own, robot = recording.robot, recording.options()
        model = load_urdf(recording.description, **robot)
        if model.joint_names != recording.joint_names:
            raise RecordingError(
                recording.path,
                f'has states of {", ".join(recording.joint_names)}',
                f'those of its URDF: {", ".join(model.joint_names)}',
            )
        self._config = BridgeConfig.from_parameters(_own(recording.given[BRIDGE]), model)
        self._model, self._robot = model, robot
        self._source = own.source_of(recording.description)
        self._given = (
            _own(recording.given[CONTROLLER]),
            partial(load_collision_shapes, self._source, package_dirs=own.package_dirs),
        )
        self._begin()

    def _begin(self) -> None:
        """Make controller and plant."""
        parameters, shapes = self._given
        config = ControllerConfig.from_parameters(parameters, self._model, shapes)
        self._controller = Controller(self._model, config)
        self._world = self._config.world(self._source, self._robot)

    def run(self) -> DifferentRunsError | None:
        """Simulate all of the recording; return where it first differs, if it does.

        Raises:
            RecordingError: It is the same up to a reset, which a simulation does not know.
        """
        delayed: set[int] = set()
        differences = []
        while True:
            difference, doubtful = self._run(delayed)
            if difference is None:
                return None
            resets = self._recording.resets
            if resets and difference.time >= resets[0]:
                raise RecordingError(
                    self._recording.path,
                    f'is identical to the last bit up to its reset at {resets[0]:.3f} s, which a'
                    ' simulation does not know',
                    'a recording without a reset',
                )
            differences.append(difference)
            if doubtful is None:
                return max(differences, key=lambda one: one.time)
            delayed.add(doubtful)
            self._begin()

    def _run(self, delayed: Set[int]) -> tuple[DifferentRunsError | None, int | None]:
        """Simulate once.

        Args:
            delayed: Requests, by their number, that come at the second of two possible ticks.

        Returns:
            Where the trajectory first differs, if it does, and the newest request before that of
            which the second possible tick was not tried.
        """
        world, states = self._world, self._recording.states
        requests, pushes = self._requests(), deque(self._recording.wrenches)
        number, doubtful = 0, None
        sent, shown = (self._sent(topic) for topic in (COMMANDS, STATES))
        q, v, effort = np.zeros((3, len(self._recording.joint_names)))
        for row, instant in enumerate(states.time):
            world.read(q, v, effort)
            if names := self._differences(row, q, v, effort):
                return DifferentRunsError(names[0], float(instant)), doubtful
            if row == 0:
                self._controller.restart(float(instant), q, v, world.plant.euler_steps)
            seen = shown.get(world.time_ns, 0)
            following = states.time[min(row + 1, len(states) - 1)]
            answered = sent.get(world.time_ns, shown[round(following * NANOSECONDS)])
            while requests and requests[0][0] < answered:
                if world.time_ns not in sent and requests[0][0] >= seen:
                    if number in delayed:
                        break
                    doubtful = number
                requests.popleft()[1]()
                number += 1
            torque = self._controller.tick(world.time_ns * 1e-9, q, v)
            while pushes and pushes[0][0] <= world.time_ns:
                _, link, wrench = pushes.popleft()
                if wrench.any():
                    world.push(link, wrench)
                else:
                    world.clear_push(link)
            world.step(torque)
        return None, None

    def _sent(self, topic: str) -> dict[int, int]:
        """Return when a state or command was sent first [ns], by its stamp [ns].

        While a state waits for its answer both are repeated.
        """
        sent: dict[int, int] = {}
        for message in self._recording.messages.get(topic, ()):
            sent.setdefault(stamp_ns_of(message), message.sent_ns)
        return sent

    def _differences(self, row: int, *arrays: Any) -> list[str]:
        """Return the columns in which a recorded state is not this one."""
        states = self._recording.states
        pairs = zip(states.columns.items(), arrays, strict=True)
        return [name for (name, column), ours in pairs if column[row].tobytes() != ours.tobytes()]

    def _requests(self) -> deque[Request]:
        """Return what was accepted, in its order."""
        found: list[Request] = []
        for message in self._recording.messages.get(MOTION_STATUS, ()):
            status = deserialize_message(message.raw, DiagnosticStatus)
            outcome = Outcome.of(status)
            if outcome.kind == Outcome.ACCEPTED:
                found.append((message.sent_ns, self._action(outcome)))
        for message in self._recording.messages.get(PARAMETERS, ()):
            event = deserialize_message(message.raw, ParameterEvent)
            changes = python_values(event.changed_parameters)
            if changes and event.node.endswith(f'/{CONTROLLER}'):
                found.append((message.sent_ns, partial(self._controller.update, changes)))
        return deque(sorted(found, key=lambda one: one[0]))

    def _action(self, accepted: Outcome) -> Callable[[], object]:
        """Return what a request asked of the controller.

        Args:
            accepted: What the controller said of it.
        """
        controller, request = self._controller, accepted.request
        if request.mode is not None:
            return partial(controller.select, request.mode)
        if request == TRAJECTORY:
            waypoints = waypoints_of(self._trajectory(accepted))
            return lambda: controller.follow(waypoints)
        goal = np.array([float(word) for word in accepted.data.get('goal', '').split()])
        if request == JOINTS:
            return lambda: controller.set_target_joints(goal)
        pose = SE3.from_quaternion(goal[3:], goal[:3])
        return lambda: controller.set_target_pose(pose)

    def _trajectory(self, accepted: Outcome) -> JointTrajectory:
        """Return the trajectory that was accepted, by when its sender published it.

        Raises:
            RecordingError: It is not recorded, as that of an action is not.
        """
        sent = accepted.data.get('sent')
        for message in self._recording.messages.get(_TRAJECTORIES, ()):
            if str(message.sent_ns) == sent:
                return deserialize_message(message.raw, JointTrajectory)
        raise RecordingError(self._recording.path, f'has no message of an accepted {TRAJECTORY}')


def _own(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a node that its configuration reads, nested by their dots."""
    return replaced(
        {},
        {
            name: value
            for name, value in values.items()
            if name not in _NOT_GIVEN and not name.startswith(_OF_ROS) and value is not None
        },
    )
