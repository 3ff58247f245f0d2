"""A run as it was seen on the topics: every state of the arm, and what the controller told."""

import time
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile

from icir_control.errors import IcirError
from icir_control.nodes.transport import JointStateSubscription

# Deep enough for half a second in which this process gets no time at all.
_EVERY_ONE = QoSProfile(depth=10_000)
_PAUSE = 2e-3  # s between two looks at the topics


@dataclass(frozen=True)
class Recording:
    """The states of a run, one for each control period, in the order of time.

    Attributes:
        time: (n,) simulation time [s].
        position: (n, nv) [rad or m].
        velocity: (n, nv) [rad/s or m/s].
        effort: (n, nv) applied in the period before the state [N m or N].
        told_reference: End-effector position in the base frame (3,) [m] by simulation time [s],
            of the controller's `~/reference_pose`.
        wall_seconds: How long the run took on the wall clock [s].
        end: Simulation time at which it was over [s]; the last state may be missing.
    """

    time: NDArray[np.float64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]
    told_reference: dict[float, NDArray[np.float64]]
    wall_seconds: float
    end: float

    @property
    def period(self) -> float:
        """The control period [s]: the least step of time."""
        return float(np.min(np.diff(self.time)))

    @property
    def steps(self) -> int:
        """How many control periods the run took."""
        return round((self.end - float(self.time[0])) / self.period)

    @property
    def lost(self) -> int:
        """How many states were published but not seen."""
        return self.steps + 1 - len(self.time)

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds per second of wall time."""
        return (self.end - float(self.time[0])) / self.wall_seconds

    def united(self, other: Self) -> Self:
        """Return the states that were seen in this run or in another one of the same schedule.

        In lockstep the two are the same to the last bit, so that each fills the other's gaps.

        Raises:
            DifferentRunsError: They are not.
        """
        time, index = np.unique(np.concatenate([self.time, other.time]), return_index=True)
        common, ours, theirs = np.intersect1d(self.time, other.time, return_indices=True)
        united = {'time': time}
        for name in ('position', 'velocity', 'effort'):
            here, there = getattr(self, name), getattr(other, name)
            different = np.any(here[ours] != there[theirs], axis=1)
            if different.any():
                raise DifferentRunsError(name, float(common[np.argmax(different)]))
            united[name] = np.concatenate([here, there])[index]
        return replace(self, **united)


class DifferentRunsError(IcirError):
    """Two runs of one schedule in lockstep that should have been the same are not."""

    def __init__(self, name: str, time: float) -> None:
        """Say where.

        Args:
            name: Of what differs.
            time: Simulation time of the first difference [s].
        """
        super().__init__(f'two runs of one schedule differ in {name} at {time:.3f} s')


class Recorder:
    """Keeps every state that the bridge publishes, from the first one on.

    Attributes:
        time: Simulation time of the newest state [s].
        moved: When it last moved on, on the monotonic clock [s].
        has_heard: Whether there was a state at all.
    """

    def __init__(self, node: Node, joint_names: tuple[str, ...], controller: str) -> None:
        """Subscribe.

        Args:
            node: Spun here.
            joint_names: In the order of the arrays.
            controller: The controller's name.
        """
        self.time = 0.0
        self.moved = 0.0
        self.has_heard = False
        self._begin = 0.0
        self._stamps: list[int] = []
        self._rows: list[NDArray[np.float64]] = []
        self._told: dict[float, NDArray[np.float64]] = {}
        fields = ('position', 'velocity', 'effort')
        self._states = JointStateSubscription(
            node, 'joint_states', joint_names, fields, qos=_EVERY_ONE
        )
        node.create_subscription(PoseStamped, f'{controller}/reference_pose', self._hear, 100)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    def look(self) -> None:
        """Take in what has arrived, after a short pause."""
        time.sleep(_PAUSE)
        self._executor.spin_once(0.0)
        states = self._states
        while states.take():
            if self._stamps and states.stamp_ns == self._stamps[-1]:
                continue  # time stands still: the same state once more
            self.has_heard = True
            self.moved = time.monotonic()
            if len(self._stamps) == 1:
                self._begin = self.moved
            self._stamps.append(states.stamp_ns)
            self._rows.append(np.concatenate([states.position, states.velocity, states.effort]))
            self.time = states.stamp_ns * 1e-9

    def recording(self, end: float) -> Recording:
        """Return what was seen up to a simulation time [s]."""
        time_seen = np.array(self._stamps) * 1e-9
        kept = np.searchsorted(time_seen, end, side='right')
        position, velocity, effort = np.split(np.array(self._rows[:kept]), 3, axis=1)
        return Recording(
            time_seen[:kept],
            position,
            velocity,
            effort,
            {stamp: told for stamp, told in self._told.items() if stamp <= end},
            self.moved - self._begin,
            end,
        )

    def _hear(self, message: PoseStamped) -> None:
        stamp, position = message.header.stamp, message.pose.position
        seconds = (stamp.sec * 1_000_000_000 + stamp.nanosec) * 1e-9
        self._told[seconds] = np.array([position.x, position.y, position.z])
