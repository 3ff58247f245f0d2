"""A recorded run once more: the same controller and plant, with the requests at the same ticks.

The controller publishes a command for each tick, and between two commands what became of a
request. Both carry the time at which they were sent, by one clock: so the tick is known before
which a request was accepted. Where the recorder had not found the controller yet and lacks the
command, the states before and after it leave two ticks, of which one gives the trajectory. When a
push began is not published; it began at the first step that is another one without it.
"""

from collections import deque
from collections.abc import Callable, Set
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from icir_control.app.measurement import DifferentRunsError
from icir_control.app.processes import BRIDGE, CONTROLLER
from icir_control.app.recording.reader import Message, Recording, RecordingError, stamp_ns_of
from icir_control.app.recording.topics import (
    COMMANDS,
    MOTION_STATUS,
    PARAMETERS,
    STATES,
    WRENCH,
)
from icir_control.collision import load_collision_shapes
from icir_control.control import Controller, ControllerConfig
from icir_control.dynamics import KinematicTree, load_urdf
from icir_control.nodes.bridge.config import BridgeConfig
from icir_control.nodes.bridge.wrench import Push, PushSchedule
from icir_control.nodes.controller.interface import INTERFACE
from icir_control.nodes.controller.node import POSE_MODES, TRANSLATING_JOINTS
from icir_control.nodes.controller.trajectories import waypoints_of
from icir_control.nodes.robot import LOCKED, ROBOT, positions_of, robot_options
from icir_control.nodes.transport.messages import NANOSECONDS, read_joint_state
from icir_control.spatial import SE3

_NOT_GIVEN = {*ROBOT, *INTERFACE, POSE_MODES.name, TRANSLATING_JOINTS.name}
_HOLD = 'external_wrench_hold'
_OF_ROS = ('use_sim_time', 'start_type_description_service')
_TARGETS: dict[str, str] = {
    'target pose': f'{CONTROLLER}/target_pose',
    'target joints': f'{CONTROLLER}/target_joints',
    'joint trajectory': f'{CONTROLLER}/joint_trajectory',
}

Request = tuple[int, Callable[[], object]]
"""The wall time at which it was accepted [ns], and what does it again."""


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
                f'begins at {recording.states.time[0]:.3f} s; only a run from its start on, as of'
                ' `icir_control sim --record`, can be simulated again',
            )
        for node in (BRIDGE, CONTROLLER):
            if node not in recording.given:
                raise RecordingError(recording.path, f'has no parameters of the {node}')
        given = recording.given[CONTROLLER]
        tree = KinematicTree(recording.description)
        chain = tree.chain(
            given['base_frame'], given['end_effector_frame'], positions_of(given[LOCKED.name])
        )
        robot = robot_options(given, chain.held)
        model = load_urdf(recording.description, **robot)
        if model.joint_names != recording.joint_names:
            raise RecordingError(recording.path, 'is of another robot than its URDF')
        self._config = BridgeConfig.from_parameters(_own(recording.given[BRIDGE]), model)
        self._model, self._robot = model, robot
        self._given = _own(given), partial(load_collision_shapes, recording.description)
        self._begin()

    def _begin(self) -> None:
        """Make controller and plant."""
        parameters, shapes = self._given
        config = ControllerConfig.from_parameters(parameters, self._model, shapes)
        self._controller = Controller(self._model, config)
        self._world = self._config.world(self._recording.description, self._robot)
        self._pushes = PushSchedule(self._world.push, self._world.clear_push)
        self._waiting: deque[Push] = deque()

    def run(self) -> DifferentRunsError | None:
        """Simulate all of the recording; return where it first differs, if it does."""
        delayed: set[int] = set()
        differences = []
        while True:
            difference, doubtful = self._run(delayed)
            if difference is None:
                return None
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
        requests = self._requests()
        number, doubtful = 0, None
        sent, shown = (self._sent(topic) for topic in (COMMANDS, STATES))
        q, v, effort = np.zeros((3, len(self._recording.joint_names)))
        torque = np.zeros_like(q)
        for row, time in enumerate(states.time):
            world.read(q, v, effort)
            first = names = self._differences(row, q, v, effort)
            while names and self._waiting:
                # The push that waits longest began with this step.
                self._pushes.add(self._waiting.popleft())
                world.restore()
                self._step(torque)
                world.read(q, v, effort)
                names = self._differences(row, q, v, effort)
            if names:
                return DifferentRunsError(first[0], float(time)), doubtful
            if row == 0:
                self._controller.restart(float(time), q, v, world.plant.euler_steps)
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
            world.save()
            self._step(torque)
        return None, None

    def _sent(self, topic: str) -> dict[int, int]:
        """Return when a state or command was sent first [ns], by its stamp [ns].

        While a state waits for its answer both are repeated.
        """
        sent: dict[int, int] = {}
        for message in self._recording.messages.get(topic, ()):
            sent.setdefault(stamp_ns_of(message), message.sent_ns)
        return sent

    def _step(self, torque: Any) -> None:
        if self._world.time_ns >= self._pushes.next_change_ns:
            self._pushes.update(self._world.time_ns)
        self._world.step(torque)

    def _differences(self, row: int, *arrays: Any) -> list[str]:
        """Return the columns in which a recorded state is not this one."""
        states = self._recording.states
        pairs = zip(states.columns.items(), arrays, strict=True)
        return [name for (name, column), ours in pairs if column[row].tobytes() != ours.tobytes()]

    def _requests(self) -> deque[Request]:
        """Return what was accepted, in its order."""
        found: list[Request] = []
        holds = [(0, self._config.external_wrench_hold)]
        targets = {
            request: deque(self._recording.messages.get(topic, ()))
            for request, topic in _TARGETS.items()
        }
        for message in self._recording.messages.get(MOTION_STATUS, ()):
            status = deserialize_message(message.raw, DiagnosticStatus)
            values = {pair.key: pair.value for pair in status.values}
            request, outcome = values.get('request', ''), values.get('outcome')
            if outcome not in ('accepted', 'refused'):
                continue
            target = targets[request].popleft() if targets.get(request) else None
            if outcome == 'accepted':
                found.append((message.sent_ns, self._action(request, target)))
        for message in self._recording.messages.get(PARAMETERS, ()):
            event = deserialize_message(message.raw, ParameterEvent)
            changes = self._recording.values_of(event.changed_parameters)
            if event.node.endswith(f'/{BRIDGE}') and _HOLD in changes:
                holds.append((message.sent_ns, changes[_HOLD]))
            elif changes and event.node.endswith(f'/{CONTROLLER}'):
                found.append((message.sent_ns, partial(self._controller.update, changes)))
        for message in self._recording.messages.get(WRENCH, ()):
            wrench = deserialize_message(message.raw, WrenchStamped)
            stamp = wrench.header.stamp
            start_ns = stamp.sec * 10**9 + stamp.nanosec
            hold = [hold for sent_ns, hold in holds if sent_ns <= message.sent_ns][-1]
            push = _push_of(wrench, start_ns, hold)
            if start_ns:
                self._pushes.add(push)
            else:
                self._waiting.append(push)
        return deque(sorted(found, key=lambda one: one[0]))

    def _action(self, request: str, target: Message | None) -> Callable[[], object]:
        """Return what a request asked of the controller."""
        controller = self._controller
        if request.startswith('mode '):
            return lambda: controller.select(request.removeprefix('mode '))
        if target is None:
            raise RecordingError(self._recording.path, f'has no message for an accepted {request}')
        raw = target.raw
        if request == 'target joints':
            message = read_joint_state(raw)
            order = [list(message.name).index(name) for name in self._recording.joint_names]
            return lambda: controller.set_target_joints(np.array(message.position)[order])
        if request == 'joint trajectory':
            waypoints = waypoints_of(deserialize_message(raw, JointTrajectory))
            return lambda: controller.follow(waypoints)
        pose = deserialize_message(raw, PoseStamped).pose
        p, o = pose.position, pose.orientation
        goal = SE3.from_quaternion((o.x, o.y, o.z, o.w), (p.x, p.y, p.z))
        return lambda: controller.set_target_pose(goal)


def _push_of(message: WrenchStamped, start_ns: int, hold: float) -> Push:
    f, t = message.wrench.force, message.wrench.torque
    wrench = np.array([f.x, f.y, f.z, t.x, t.y, t.z])
    return Push(start_ns, round(hold * 1e9), message.header.frame_id, wrench)


def _own(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a node that its configuration reads, nested by their dots."""
    nested: dict[str, Any] = {}
    for name, value in values.items():
        if name in _NOT_GIVEN or name.startswith(_OF_ROS) or value is None:
            continue
        *groups, last = name.split('.')
        of_group = nested
        for group in groups:
            of_group = of_group.setdefault(group, {})
        of_group[last] = value
    return nested
