"""Commands as ros2_control sends them: targets of position and velocity, and torques.

The bridge then does what the drives of a robot do: it turns the targets into torques.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState

from icir_control.nodes.bridge.config import ServoGains
from icir_control.nodes.bridge.loop import BRAKE_RATE, FreeRunningLoop
from icir_control.nodes.transport.conversions import NANOSECONDS
from icir_control.nodes.transport.endpoints import JointStateSubscription
from icir_control.nodes.transport.messages import (
    FIELDS,
    LARGEST,
    RejectedMessageError,
)
from icir_control.parameter import FloatArray
from icir_control.simulation import World

LONGEST_PERIOD_NS = 100_000_000
"""[ns] Between two positions of one motion."""


class AnyCommands(JointStateSubscription):
    """Commands that fill any of position, velocity and effort; what they leave out is NaN."""

    def __init__(self, node: Node, topic: str, names: Sequence[str]) -> None:
        """Create the subscription to a topic of joints with these names."""
        super().__init__(node, topic, names, FIELDS)
        self._required = ()

    def _values_of(self, message: JointState, order: NDArray[np.intp]) -> NDArray[np.float64]:
        rows = [getattr(message, field) or np.full(len(order), np.nan) for field in FIELDS]
        values = np.array([np.asarray(row)[order] for row in rows])
        if np.isinf(values).any() or np.isnan(values).all():
            raise RejectedMessageError('not_finite', 'a number is infinite, or there is none')
        if (np.abs(values) > LARGEST).any():
            raise RejectedMessageError('too_large', f'a number is beyond {LARGEST:g}')
        return values

    def _keep_layout(self, *_: object) -> None:
        """Keep none: what one message fills, the next one may leave out."""


class Servo:
    """Turns the newest targets into torques.

    A joint with a position target gets M (kp (q_d - q) + kd (v_d - v)) + bias; without a velocity
    target, v_d is the rate of the last two positions, and q_d goes on by it until the next one is
    overdue by a period. One with a velocity target alone gets M kd (v_d - v) + bias. A torque is
    added to these, or is all that acts on the joint. A joint that is not commanded is held
    against gravity and comes to rest.
    """

    def __init__(self, world: World, velocity_limit: FloatArray) -> None:
        """Begin without targets.

        Args:
            world: The plant.
            velocity_limit: (n,) of the rates of positions [rad/s or m/s].
        """
        self._world, self._limit = world, velocity_limit
        self._q, self._v, self._effort = np.full((3, len(velocity_limit)), np.nan)
        self._rate = np.zeros(len(velocity_limit))
        self._stamp_ns = self._arrived_ns = self._period_ns = 0

    def take(self, commands: JointStateSubscription, now_ns: int) -> None:
        """Take new targets at a simulation time [ns]."""
        period_ns = commands.stamp_ns - self._stamp_ns
        self._period_ns = period_ns if 0 < period_ns <= LONGEST_PERIOD_NS else 0
        self._rate[:] = 0.0
        if self._period_ns:
            rate = (commands.position - self._q) / (period_ns / NANOSECONDS)
            self._rate[:] = np.clip(np.nan_to_num(rate), -self._limit, self._limit)
        self._q[:], self._v[:] = commands.position, commands.velocity
        self._effort[:] = commands.effort
        self._stamp_ns, self._arrived_ns = commands.stamp_ns, now_ns

    def torque(self, gains: ServoGains, now_ns: int) -> FloatArray:
        """Return the torque (n,) at a simulation time [ns], before the limits."""
        world = self._world
        age_ns = now_ns - self._arrived_ns
        is_current = age_ns <= 2 * self._period_ns
        rate = self._rate if is_current else np.zeros_like(self._rate)
        q = self._q + self._rate * (min(age_ns, 2 * self._period_ns) / NANOSECONDS)
        v = np.where(np.isnan(self._v), rate, self._v)
        acceleration = gains.kd * (v - world.velocity)
        acceleration += gains.kp * np.nan_to_num(q - world.position)
        is_effort = np.isnan(self._q) & np.isnan(self._v) & ~np.isnan(self._effort)
        acceleration[is_effort] = 0.0
        torque = world.inverse_dynamics(acceleration)
        return np.where(is_effort, 0.0, torque) + np.nan_to_num(self._effort)


class ServoLoop(FreeRunningLoop):
    """Steps by the wall clock, and turns what ros2_control commands into torques.

    Time goes on before the first command, too: a controller manager waits for `/clock`.
    """

    def open_run(self) -> None:
        """Begin a run, without targets."""
        self._servo = Servo(self.world, self.config.model.velocity_limit)
        super().open_run()

    @property
    def _may_begin(self) -> bool:
        return True

    def _keep_command(self) -> None:
        self._servo.take(self.commands, self.world.time_ns)

    def _choose_torque(self) -> FloatArray:
        """Return the torque for the newest targets, or that of the brake when they are too old."""
        now_ns = self.world.time_ns
        if now_ns - self.gate.admitted_ns > self._timeout * NANOSECONDS:
            self._report_timeout('the arm is held against gravity')
        elif self.gate.has_admitted and not self.duplicate:
            self._torque[:] = self._servo.torque(self.config.servo, now_ns)
            self._is_unchecked = True
            return self._torque
        return self.world.brake_torque(BRAKE_RATE)
