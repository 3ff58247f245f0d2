"""How fast the lockstep loop is beside bare ping-pong of the same messages, in one run.

Every way but `composed` runs as two processes, each on a ROS graph of its own:

- `plain`: JointState through `rclpy.spin`, best effort, nothing else done;
- `raw`: serialised bytes through a wait set, best effort, sent back as they came;
- `plain_loop`: bridge and controller in lockstep on the public client library alone, messages
  built and spun as it does;
- `loop`: bridge and controller in lockstep, as fast as possible: the physics and the control law
  are done in between;
- `composed`: the same two nodes and topics in one process;
- `raw, one processor` and `loop, one processor`: two processes again, both kept to one processor,
  as by `taskset`: they take turns anyway, and no sleeping processor has to be woken.

The ways take turns, so that a change of the machine's mood meets all of them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

WAYS = {
    'plain': 'bare ping-pong, rclpy.spin',
    'raw': 'bare ping-pong, wait set and raw messages',
    'plain_loop': 'lockstep loop, rclpy.spin',
    'loop': 'lockstep loop, physics and control',
    'composed': 'the same in one process',
    'raw, one processor': 'bare ping-pong, raw, on one processor',
    'loop, one processor': 'lockstep loop on one processor',
}
NAMES = [f'joint_{i}' for i in range(1, 7)]
QUIET = ('--ros-args', '--log-level', 'error')
BRIDGE = 'mujoco_bridge'
FAST = (
    *('--ros-args', '-p', f'{BRIDGE}:viewer:=none'),
    *('-p', f'{BRIDGE}:real_time_factor:=0.0'),
)
WARM_UP = 300  # round trips or ticks that are not measured
_FIRST_DOMAIN = 90
_PATIENCE = 120.0  # s until the other process must have answered


def main() -> None:
    """Measure and print the table, or play one part of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=3, help='how often each way is measured')
    parser.add_argument('--seconds', type=float, default=3.0, help='length of one measurement')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    parser.add_argument('--part', choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        PARTS[options.part](options.seconds)
        return
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way in WAYS:
            rates[way].append(measure(way, options.seconds))
    report(rates, as_json=options.json)


def report(rates: dict[str, list[float]], *, as_json: bool) -> None:
    """Print the median rates and the ratios that have bounds."""
    median = {way: statistics.median(values) for way, values in rates.items()}
    ratios = {way: median['loop'] / median[way] for way in ('plain', 'raw')}
    composed = median['composed'] / median['loop']
    if as_json:
        result = {'rates_hz': median, 'loop_ratio_to': ratios, 'composed_ratio_to_loop': composed}
        print(json.dumps(result))
        return
    print(f'{"two processes, and one":44}{"per second":>11}{"median us":>11}{"loop / it":>11}')
    for way, words in WAYS.items():
        ratio = median['loop'] / median[way]
        print(f'{words:44}{median[way]:11.0f}{1e6 / median[way]:11.1f}{ratio:11.2f}')
    print(f'in one process {composed:.1f} times as fast as in two')


def measure(way: str, seconds: float) -> float:
    """Run one way in processes of its own; its round trips per second."""
    kind, _, place = way.partition(', ')
    environment = os.environ | {
        'ROS_DOMAIN_ID': str(_FIRST_DOMAIN + list(WAYS).index(way)),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }

    def start(part: str, stdout: int) -> subprocess.Popen:
        command = [sys.executable, __file__, '--part', part, '--seconds', str(seconds)]
        return subprocess.Popen(command, env=environment, stdout=stdout, text=True)

    with kept_to_one_processor(bool(place)):
        answerers = [start(part, subprocess.DEVNULL) for part in PARTS if part == f'{kind}_answer']
        asker = start(f'{kind}_ask', subprocess.PIPE)
    try:
        out, _ = asker.communicate(timeout=_PATIENCE + 10 * seconds)
    finally:
        for answerer in answerers:
            answerer.kill()  # it holds nothing, and must not keep the others waiting
            answerer.wait()
    if asker.returncode:
        raise SystemExit(f'{way}: the measuring process ended with status {asker.returncode}')
    return float(out.strip().splitlines()[-1])


@contextmanager
def kept_to_one_processor(is_kept: bool) -> Iterator[None]:
    """Keep all processes that are started meanwhile to one of the processors."""
    allowed = os.sched_getaffinity(0)
    if is_kept:
        os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


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

    rclpy.init(args=[])
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

    end = time.monotonic() + _PATIENCE
    while not meter._count:
        if time.monotonic() > end:
            raise SystemExit('no answer')
        rclpy.spin_once(node, timeout_sec=0.1)


def plain_answer(_: float) -> None:
    """Send every message back, through the executor."""
    import rclpy
    from rclpy.executors import ExternalShutdownException
    from sensor_msgs.msg import JointState

    rclpy.init(args=[])
    node = rclpy.create_node('answer')
    published, subscribed = qualities()
    publisher = node.create_publisher(JointState, 'back', published)
    node.create_subscription(JointState, 'there', publisher.publish, subscribed)
    try:
        rclpy.spin(node)
    except ExternalShutdownException:
        return


def raw_side(own: str, other: str, react: Callable, kick: Callable | None) -> None:
    """Take serialised messages from a wait set and have something done with each."""
    import rclpy
    from rclpy.impl.implementation_singleton import rclpy_implementation
    from sensor_msgs.msg import JointState

    rclpy.init(args=[])
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


def raw_ask(seconds: float) -> None:
    """Send bytes at every answer, through a wait set."""
    from rclpy.serialization import serialize_message

    raw, meter = serialize_message(sample_message()), Meter(seconds)

    def react(send: Callable, _: bytes) -> bool:
        send(raw)
        return meter.tick()

    raw_side('there', 'back', react, kick=lambda send: send(raw))


def raw_answer(_: float) -> None:
    """Send all bytes back, through a wait set."""
    raw_side('back', 'there', lambda send, raw: send(raw), kick=None)


class StopAfter:
    """Stands for a request to stop: made when enough steps were taken."""

    def __init__(self, seconds: float, steps: Callable[[], int]) -> None:
        self._meter = Meter(seconds)
        self._steps = steps
        self._seen = 0
        self._patience = time.monotonic() + _PATIENCE

    def defer(self) -> None:
        """Nothing interrupts."""

    def __bool__(self) -> bool:
        steps = self._steps()
        if steps != self._seen:
            self._seen = steps
            return self._meter.tick()
        if not steps and time.monotonic() > self._patience:
            raise SystemExit('the controller does not answer')
        return False


def loop_ask(seconds: float) -> None:
    """Run the bridge for a while."""
    import rclpy

    from icir_control.nodes.bridge.node import MujocoBridge

    rclpy.init(args=['bridge', *FAST])
    bridge = MujocoBridge()
    bridge.run(StopAfter(seconds, lambda: bridge.steps))
    bridge.close()


def loop_answer(_: float) -> None:
    """Run the controller."""
    from icir_control.nodes.controller import main as controller

    sys.exit(controller(['controller', *QUIET]))


def use_the_public_library_alone() -> None:
    """Let nodes that are made from now on do without the fast path."""
    from icir_control.nodes.bridge import node as bridge
    from icir_control.nodes.controller import node as controller

    for module in (bridge, controller):
        for kind in (module.JointStatePublisher, module.JointStateSubscription):
            setattr(module, kind.__name__, partial(kind, plain=True))


def plain_loop_ask(seconds: float) -> None:
    """Run the bridge without the fast path."""
    use_the_public_library_alone()
    loop_ask(seconds)


def plain_loop_answer(seconds: float) -> None:
    """Run the controller without the fast path."""
    use_the_public_library_alone()
    loop_answer(seconds)


def composed_ask(seconds: float) -> None:
    """Run bridge and controller in this process for a while."""
    import rclpy

    from icir_control.nodes.composed.nodes import ComposedNodes

    rclpy.init(args=['composed', *FAST, '--log-level', 'error'])
    nodes = ComposedNodes()
    nodes.run(StopAfter(seconds, lambda: nodes.steps))
    nodes.close()


PARTS: dict[str, Callable[[float], None]] = {
    'plain_ask': plain_ask,
    'plain_answer': plain_answer,
    'raw_ask': raw_ask,
    'raw_answer': raw_answer,
    'plain_loop_ask': plain_loop_ask,
    'plain_loop_answer': plain_loop_answer,
    'loop_ask': loop_ask,
    'loop_answer': loop_answer,
    'composed_ask': composed_ask,
}

if __name__ == '__main__':
    main()
