"""How fast the lockstep loop is beside bare ping-pong of the same messages, in one run.

Every way but `composed` runs as two processes, each on a ROS graph of its own:

- `plain`: JointState through `rclpy.spin`, best effort, nothing else done;
- `raw`: serialised bytes through a wait set, best effort, sent back as they came;
- `raw_shared`: the same through shared memory, as ROS sets it up by itself;
- `plain_loop`: bridge and controller in lockstep on the public client library alone, messages
  built and spun as it does;
- `loop`: bridge and controller in lockstep, as fast as possible: the physics and the control law
  are done in between;
- `composed`: the same two nodes and topics in one process;
- `raw, one processor` and `loop, one processor`: two processes again, both kept to one processor,
  as by `taskset`: they take turns anyway, and no sleeping processor has to be woken.

The ways take turns, so that a change of the machine's speed meets all of them.
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

from _ping_pong import PARTS as PING_PONG
from _ping_pong import PATIENCE, Meter

WAYS = {
    'plain': 'bare ping-pong, rclpy.spin',
    'raw': 'bare ping-pong, wait set and raw messages',
    'raw_shared': 'the same through shared memory',
    'plain_loop': 'lockstep loop, rclpy.spin',
    'loop': 'lockstep loop, physics and control',
    'composed': 'the same in one process',
    'raw, one processor': 'bare ping-pong, raw, on one processor',
    'loop, one processor': 'lockstep loop on one processor',
}
QUIET = ('--ros-args', '--log-level', 'error')
BRIDGE = 'mujoco_bridge'
FAST = (
    *('--ros-args', '-p', f'{BRIDGE}:viewer:=none'),
    *('-p', f'{BRIDGE}:real_time_factor:=0.0'),
)
_FIRST_DOMAIN = 90


def main() -> None:
    """Measure and print the table, or play one part of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=5, help='how often each way is measured')
    parser.add_argument('--seconds', type=float, default=2.0, help='length of one measurement')
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
    ratios = {way: median['loop'] / median[way] for way in ('plain', 'raw', 'raw_shared')}
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
        out, _ = asker.communicate(timeout=PATIENCE + 10 * seconds)
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


class StopAfter:
    """Stands for a request to stop: made when enough steps were taken."""

    def __init__(self, seconds: float, steps: Callable[[], int]) -> None:
        self._meter = Meter(seconds)
        self._steps = steps
        self._seen = 0
        self._patience = time.monotonic() + PATIENCE

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
    from icir_control.nodes.bridge.node import MujocoBridge
    from icir_control.nodes.process.run import init_ros

    init_ros(['bridge', *FAST])
    bridge = MujocoBridge()
    bridge.run(StopAfter(seconds, lambda: bridge.world.steps))
    bridge.close()


def loop_answer(_: float) -> None:
    """Run the controller."""
    from icir_control.nodes.__main__ import controller

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
    from icir_control.nodes.composed import ComposedNodes
    from icir_control.nodes.process.run import init_ros

    init_ros(['composed', *FAST, '--log-level', 'error'])
    nodes = ComposedNodes()
    nodes.run(StopAfter(seconds, lambda: nodes.bridge.world.steps))
    nodes.close()


PARTS: dict[str, Callable[[float], None]] = {
    **PING_PONG,
    'plain_loop_ask': plain_loop_ask,
    'plain_loop_answer': plain_loop_answer,
    'loop_ask': loop_ask,
    'loop_answer': loop_answer,
    'composed_ask': composed_ask,
}

if __name__ == '__main__':
    main()
