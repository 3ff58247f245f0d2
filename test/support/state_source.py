"""The bridge's side of the two hot topics, played by a test message by message."""

from collections.abc import Sequence

import numpy as np
from ros_processes import Observer
from sensor_msgs.msg import JointState

HOME = np.deg2rad([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
NAMES = tuple(f'joint_{i}' for i in range(1, 7))
MILLISECOND = 1_000_000


def joint_state(
    stamp_ns: int,
    token: str,
    position: Sequence[float],
    velocity: Sequence[float] = (0.0,) * 6,
    names: Sequence[str] = NAMES,
) -> JointState:
    message = JointState()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
    message.header.frame_id = token
    message.name = list(names)
    message.position = [float(x) for x in position]
    message.velocity = [float(x) for x in velocity]
    return message


def stamp_of(message: JointState) -> int:
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


class StateSource:
    """Publishes states, and waits for the command that answers each."""

    def __init__(self, observer: Observer, token: str) -> None:
        self.observer = observer
        self.token = token
        self.stamp_ns = 0
        self.commands: list[JointState] = []
        self._publisher = observer.create_publisher(JointState, 'joint_states', 1)
        self._subscription = observer.create_subscription(
            JointState, 'joint_commands', self.commands.append, 10
        )
        observer.spin_until(
            lambda: (
                observer.count_subscribers('joint_states')
                and observer.count_publishers('joint_commands')
            )
        )

    def restart(self, token: str) -> None:
        """Begin a new run: its states have another token, and its time begins again."""
        self.token, self.stamp_ns = token, 0
        self.commands.clear()

    def publish(self, message: JointState) -> None:
        self._publisher.publish(message)

    def answer_to(self, message: JointState, timeout: float = 10.0) -> JointState:
        """Publish a state until it is answered, as the bridge does; the command."""
        self.commands.clear()

        def is_answered() -> bool:
            if any(command.header == message.header for command in self.commands):
                return True
            self._publisher.publish(message)
            return False

        self.observer.spin_until(is_answered, timeout, what='the answer to a state')
        return self.commands[-1]

    def hold(self, position: Sequence[float], ticks: int = 1) -> JointState:
        """Send states of an arm at rest, one per millisecond; the last command."""
        for _ in range(ticks):
            self.stamp_ns += MILLISECOND
            command = self.answer_to(joint_state(self.stamp_ns, self.token, position))
        return command

    def skip(self, position: Sequence[float], seconds: float) -> None:
        """Let time go by, with states so far apart that they just do not mean a new start."""
        end = self.stamp_ns + round(seconds * 10**9)
        while self.stamp_ns < end:
            self.stamp_ns = min(self.stamp_ns + 499 * MILLISECOND, end - MILLISECOND)
            self.hold(position)
