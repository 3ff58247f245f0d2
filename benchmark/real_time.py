"""How punctual a free-running simulation is at 1 kHz and real time, two processes.

Free-running, a tick does not wait for the answer to the newest state: it takes the newest command
that has come. Its age is how many states have come since the one that it answers: 0 is the answer
to the newest. A tick is late by the time from when it was due until its state is out, the step of
the physics included.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

LOOP = Path(__file__).with_name('loop.py')
ASKED = 99.0
"""Per cent of the ticks on a quiet machine that must have the answer to the newest state."""
WARM_UP = 1000  # ticks that are not measured
PATIENCE = 120.0  # s until the controller must have answered
PARAMETERS = ('viewer:=none', 'lockstep:=false', 'real_time_factor:=1.0')


class Diary:
    """Stands for a request to stop; looked at between any two turns, it notes every tick."""

    def __init__(self, bridge: object, seconds: float) -> None:
        """Watch a bridge for so long, after the warm-up."""
        self._world, self._loop = bridge.world, bridge._loop
        self._ticks = WARM_UP + round(seconds / (self._world.timestep_ns * 1e-9))
        self._seen = 0
        self._due = 0.0
        self._patience = time.monotonic() + PATIENCE
        self.ages: list[int] = []
        self.lateness: list[float] = []

    def defer(self) -> None:
        """Nothing interrupts."""

    def __bool__(self) -> bool:
        """Note a tick that was taken since the last look; whether that was the last."""
        world, loop = self._world, self._loop
        if world.steps == self._seen:
            if not self._seen and time.monotonic() > self._patience:
                raise SystemExit('the controller does not answer')
            return False
        self._seen = world.steps
        if self._seen > WARM_UP:
            newest = world.time_ns - world.timestep_ns
            self.ages.append((newest - loop.gate.admitted_ns) // world.timestep_ns)
            self.lateness.append(loop._states.published_at - self._due)
        self._due = loop.pacer.due
        return self._seen >= self._ticks


def measure(seconds: float) -> Diary:
    """Run bridge and controller for a while."""
    from icir_control.nodes.bridge.node import MujocoBridge
    from icir_control.nodes.process.run import init_ros

    controller = subprocess.Popen(
        [sys.executable, str(LOOP), '--part', 'loop_answer'], stdout=subprocess.DEVNULL
    )
    try:
        parameters = (part for one in PARAMETERS for part in ('-p', f'mujoco_bridge:{one}'))
        init_ros(['bridge', '--ros-args', '--log-level', 'error', *parameters])
        bridge = MujocoBridge()
        diary = Diary(bridge, seconds)
        bridge.run(diary)
        bridge.close()
    finally:
        controller.kill()
        controller.wait()
    return diary


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=20.0, help='length of the measurement')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    options = parser.parse_args()
    os.environ |= {'ROS_DOMAIN_ID': '89', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    diary = measure(options.seconds)
    ages, late = np.array(diary.ages), 1e6 * np.array(diary.lateness)
    shares = {str(age): 100.0 * float((ages == age).mean()) for age in (0, 1, 2)}
    shares['more'] = 100.0 * float((ages > 2).mean())
    points = {'50 %': 50.0, '99 %': 99.0, '99.9 %': 99.9, 'all': 100.0}
    lateness = {words: float(np.percentile(late, point)) for words, point in points.items()}
    if options.json:
        print(json.dumps({'age_per_cent': shares, 'lateness_us': lateness}))
        return
    print(f'{len(ages)} ticks, free-running at 1 kHz')
    print('age of the command [ticks]  ', *(f'{age:>9}' for age in shares))
    print('share of the ticks [%]      ', *(f'{share:9.2f}' for share in shares.values()))
    print(f'asked of age 0 on a quiet machine: {ASKED:g} %')
    print('ticks                       ', *(f'{words:>9}' for words in lateness))
    print('late by at most [us]        ', *(f'{value:9.0f}' for value in lateness.values()))


if __name__ == '__main__':
    main()
