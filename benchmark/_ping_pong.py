"""Bare ping-pong of joint states between two processes: what a loop is measured against.

By the client library's executor (`plain`), or serialised and by a wait set (`raw`); through the
middleware as the nodes of this package set it up, or as ROS does by itself (`raw_shared`: Fast DDS
then sends through shared memory).
"""

import time
from collections.abc import Callable
from functools import partial

NAMES = [f'joint_{i}' for i in range(1, 7)]
WARM_UP = 300  # round trips or ticks that are not measured
PATIENCE = 120.0  # s until the other process must have answered


class Meter:
    """Counts round trips after the warm-up, for a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._count = 0
        self._begin = self._end = 0.0

    def tick(self) -> bool:
        """Count one; whether that was the last."""
        self._count += 1
        if self._count == WARM_UP:
            self._begin = time.perf_counter()
            self._end = self._begin + self._seconds
        if self._count <= WARM_UP or (self._count & 15) or time.perf_counter() < self._end:
            return False
        rate = (self._count - WARM_UP) / (time.perf_counter() - self._begin)
        print(f'{rate:.1f}', flush=True)
        return True


def sample_message() -> object:
    """Return a state of the arm."""
    from sensor_msgs.msg import JointState

    message = JointState(name=NAMES)
    message.header.frame_id = '0123456789abcdef'
    message.position = message.velocity = message.effort = [0.1] * len(NAMES)
    return message


def qualities() -> tuple[object, object]:
    """Return how the hot topics are published and subscribed to."""
    from rclpy.qos import QoSProfile, ReliabilityPolicy

    return (
        QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE),
        QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT),
    )


def plain_ask(seconds: float) -> None:
    """Send a message at every answer, through the executor."""
    import rclpy
    from sensor_msgs.msg import JointState

    from icir_control.nodes.process.run import init_ros

    init_ros()
    node = rclpy.create_node('ask')
    published, subscribed = qualities()
    publisher = node.create_publisher(JointState, 'there', published)
    message, meter, done = sample_message(), Meter(seconds), rclpy.Future()

    def answer(_: JointState) -> None:
        if meter.tick():
            done.set_result(True)
        publisher.publish(message)

    node.create_subscription(JointState, 'back', answer, subscribed)
    # The first ones are lost until both have found each other.
    kick = node.create_timer(0.1, lambda: publisher.publish(message))
    _spin_until_answered(node, meter)
    kick.cancel()
    rclpy.spin_until_future_complete(node, done)


def _spin_until_answered(node: object, meter: Meter) -> None:
    import rclpy

    end = time.monotonic() + PATIENCE
    while not meter._count:
        if time.monotonic() > end:
            raise SystemExit('no answer')
        rclpy.spin_once(node, timeout_sec=0.1)


def plain_answer(_: float) -> None:
    """Send every message back, through the executor."""
    import rclpy
    from rclpy.executors import ExternalShutdownException
    from sensor_msgs.msg import JointState

    from icir_control.nodes.process.run import init_ros

    init_ros()
    node = rclpy.create_node('answer')
    published, subscribed = qualities()
    publisher = node.create_publisher(JointState, 'back', published)
    node.create_subscription(JointState, 'there', publisher.publish, subscribed)
    try:
        rclpy.spin(node)
    except ExternalShutdownException:
        return


def raw_side(
    own: str, other: str, react: Callable, kick: Callable | None, *, is_shared: bool
) -> None:
    """Take serialised messages from a wait set and have something done with each."""
    import rclpy
    from rclpy.impl.implementation_singleton import rclpy_implementation
    from sensor_msgs.msg import JointState

    from icir_control.nodes.process.run import init_ros

    rclpy.init(args=[]) if is_shared else init_ros()
    node = rclpy.create_node(own)
    published, subscribed = qualities()
    publisher = node.create_publisher(JointState, own, published)
    subscription = node.create_subscription(
        JointState, other, lambda message: None, subscribed, raw=True
    )
    send, handle = publisher.handle.publish_raw, subscription.handle
    wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
    while rclpy.ok():
        wait_set.clear_entities()
        wait_set.add_subscription(handle)
        wait_set.wait(100_000_000)
        taken = handle.take_message(JointState, True)
        if taken is None:
            if kick is not None:
                kick(send)
        elif react(send, taken[0]):
            return


def raw_ask(seconds: float, *, is_shared: bool = False) -> None:
    """Send bytes at every answer, through a wait set."""
    from rclpy.serialization import serialize_message

    raw, meter = serialize_message(sample_message()), Meter(seconds)

    def react(send: Callable, _: bytes) -> bool:
        send(raw)
        return meter.tick()

    raw_side('there', 'back', react, kick=lambda send: send(raw), is_shared=is_shared)


def raw_answer(_: float, *, is_shared: bool = False) -> None:
    """Send all bytes back, through a wait set."""
    raw_side('back', 'there', lambda send, raw: send(raw), kick=None, is_shared=is_shared)


PARTS: dict[str, Callable[[float], None]] = {
    'plain_ask': plain_ask,
    'plain_answer': plain_answer,
    'raw_ask': raw_ask,
    'raw_answer': raw_answer,
    'raw_shared_ask': partial(raw_ask, is_shared=True),
    'raw_shared_answer': partial(raw_answer, is_shared=True),
}
