"""What page and recorder cost the simulation, and how soon the page shows what was asked for.

The browser draws without a graphics card, at the lowest priority, on the same processors. One
simulation runs on, and is measured without a page, with one whose plots run, and without it again;
the ratio is to the mean of the two, so that a slow change of the machine's speed cancels. The same
with a recorder of all topics instead of a page.

- loop: steps per second of the lockstep loop at full speed, two processes; the arm holds still, or
  moves;
- age 0: share of the ticks of a free-running simulation, 1 kHz in real time, that have the answer
  to the newest state;
- messages missing: of all states and commands that the recorder should have kept;
- click: from the press of a mode's button to the first picture that differs, 1 kHz in real time.

It needs the extras `panel` and `record`, selenium, Chromium and its driver.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import real_time
from loop import FAST

sys.path.insert(0, str(Path(__file__).parents[1] / 'test' / 'support'))
from browser import Browser, chromium, program

REAL_TIME = (
    *('--ros-args', '-p', 'mujoco_bridge:viewer:=none'),
    *('-p', 'mujoco_bridge:real_time_factor:=1.0'),
)
PARAMETERS = {
    'loop': FAST,
    'age': (*REAL_TIME, '-p', 'mujoco_bridge:lockstep:=false'),
    'click': REAL_TIME,
}
NODES = (sys.executable, '-P', '-m', 'icir_control.nodes')
SCHEDULE = [f'{2 * i} {("home", "ready")[i % 2]}' for i in range(1, 2000)]
"""Of an arm that never rests: each motion takes 2 s of simulation."""
SETTLE = 4.0
"""[s] Before each measurement."""
OPENING = 8.0
"""[s] A page that was opened is busy for so long: shaders are compiled, plots drawn first."""
ASKED = {'loop': 0.8, 'age': 0.99}
ASKED_CLICK = 0.3
LOWEST = 19
CLICKS = 10
KEEP = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function(kind, options) {
  return original.call(this, kind, {...options, preserveDrawingBuffer: true});
};
"""
"""Lets a script read what was drawn."""
CLICK = """
const [name, done] = arguments;
const scene = [...document.querySelectorAll('canvas')].sort(
  (a, b) => b.width * b.height - a.width * a.height)[0];
const small = document.createElement('canvas');
[small.width, small.height] = [scene.width / 2, scene.height / 2];
const context = small.getContext('2d', {willReadFrequently: true});
function picture() {
  context.clearRect(0, 0, small.width, small.height);
  context.drawImage(scene, 0, 0, small.width, small.height);
  return context.getImageData(0, 0, small.width, small.height).data;
}
const before = picture();
function differs() {
  const now = picture();
  let n = 0;
  for (let i = 0; i < now.length; i += 4) n += Math.abs(now[i] - before[i]) > 24;
  return n > 3;
}
let begin = 0;
const rest = performance.now() + 1500;
function look() {
  const now = performance.now();
  if (differs()) return done(begin ? now - begin : -1);
  if (!begin && now > rest) {
    begin = now;
    [...document.querySelectorAll('button')].find(e => e.innerText.trim() === name).click();
  }
  requestAnimationFrame(look);
}
requestAnimationFrame(look);
"""
"""Milliseconds from the click to a picture that differs from one at rest; -1 where none rests."""


def main() -> None:
    """Measure and print the table, or play the bridge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=5, help='how often each is measured')
    parser.add_argument('--seconds', type=float, default=5.0, help='length of one measurement')
    parser.add_argument('--json', action='store_true', help='print one JSON object instead')
    parser.add_argument('--part', choices=PARAMETERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        run_bridge(options.part, options.seconds)
        return
    if missing := [name for name in ('chromium', 'chromedriver') if program(name) is None]:
        print(f'not measured: there is no {" and no ".join(missing)}; see test/support/browser.py')
        return
    os.environ |= {'ROS_DOMAIN_ID': '88', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    found: dict[str, list[float]] = {}
    for part, asked in ASKED.items():
        for motion in ('still', 'moving'):
            name = f'{part}, arm {motion}'
            found[name] = compare(part, motion == 'moving', open_page, options)
            if not options.json:
                report(f'{name}, with a page / without', asked, found[name])
    missing: list[float] = []
    found['loop, recorded'] = compare('loop', True, lambda: record_all(missing), options)
    found['messages missing'] = missing
    if not options.json:
        report('loop, arm moving, recorded / not', ASKED['loop'], found['loop, recorded'])
        report('messages missing', 0, missing)
    found['click [s]'] = measure_clicks()
    if options.json:
        print(json.dumps(found))
    else:
        report('from a click to a picture [s]', ASKED_CLICK, found['click [s]'])


def report(name: str, asked: float, values: list[float]) -> None:
    """Print one row."""
    each = ' '.join(f'{value:.3f}' for value in values)
    median = statistics.median(values)
    print(f'{name:38} median {median:.3f} (asked {asked}) of {each}', flush=True)


def compare(
    part: str,
    is_moving: bool,
    other: Callable[[], AbstractContextManager],
    options: argparse.Namespace,
) -> list[float]:
    """Return the ratios with another program that runs to without, one for each round."""
    column = list(PARAMETERS).index(part)
    with simulation(part, options.seconds, SCHEDULE if is_moving else []) as bridge:

        def measure() -> float:
            time.sleep(SETTLE)
            bridge.stdin.write('measure\n')
            bridge.stdin.flush()
            return float(bridge.stdout.readline().split()[column])

        measure()  # the first steps
        without = [measure()]
        ratios = []
        for _ in range(options.rounds):
            with other():
                value = measure()
            without.append(measure())
            ratios.append(value / statistics.mean(without[-2:]))
    return ratios


@contextmanager
def simulation(part: str, seconds: float, schedule: list[str]) -> Iterator[subprocess.Popen]:
    """Run bridge and controller; the bridge measures for each line that it gets."""
    modes = ['-p', f'schedule:={json.dumps(schedule)}'] if schedule else []
    controller = subprocess.Popen(
        [*NODES, 'controller', '--ros-args', '--log-level', 'error', *modes],
        stdout=subprocess.DEVNULL,
    )
    bridge = subprocess.Popen(
        [sys.executable, __file__, '--part', part, '--seconds', str(seconds)],
        **{'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True},
    )
    try:
        yield bridge
    finally:
        for process in (bridge, controller):
            process.kill()
            process.wait()


@contextmanager
def open_page(*, keeps_pictures: bool = False) -> Iterator[Browser]:
    """Start the panel and a browser that shows its plots.

    Args:
        keeps_pictures: Whether scripts can read what was drawn, which takes longer to draw.
    """
    panel = subprocess.Popen(
        [*NODES, 'panel', '--ros-args', '-p', 'port:=0'],
        **{'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT, 'text': True},
    )
    try:
        found = next(filter(None, (re.search(r'page is at (\S+)', line) for line in panel.stdout)))
        threading.Thread(target=panel.stdout.read, daemon=True).start()
        with chromium() as page:
            if keeps_pictures:
                script = {'source': KEEP}
                page.driver.execute_cdp_cmd('Page.addScriptToEvaluateOnNewDocument', script)
            give_way(page.driver.service.process.pid)
            page.open(found.group(1))
            page.wait_for('Run')
            page.press('Plots')
            # As root, Chromium gives the process of a new page its usual priority.
            give_way(page.driver.service.process.pid)
            time.sleep(OPENING)
            yield page
    finally:
        panel.terminate()
        panel.wait()


@contextmanager
def record_all(missing: list[float]) -> Iterator[None]:
    """Run the recorder; append how many messages it has lost."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = subprocess.Popen(
            [sys.executable, '-P', '-m', 'icir_control.app.main', 'record', f'{folder}/all.mcap'],
            **{'stderr': subprocess.PIPE, 'text': True},
        )
        next(filter(lambda line: 'recording to' in line, recorder.stderr))
        yield
        recorder.terminate()
        said = recorder.stderr.read()
        recorder.wait()
    states, commands = re.findall(r'\((\d+) missing\)', said)
    missing.append(float(states) + float(commands))


def give_way(pid: int) -> None:
    """Give a process, all below it and all their threads the lowest priority."""
    for task in Path(f'/proc/{pid}/task').iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), LOWEST)
        for child in (task / 'children').read_text().split():
            give_way(int(child))


def measure_clicks() -> list[float]:
    """Ask for modes by the page's buttons; the times until it shows a motion [s]."""
    times = []
    with simulation('click', 0.0, []), open_page(keeps_pictures=True) as page:
        page.press('Run')
        page.driver.set_script_timeout(60.0)
        while len(times) < CLICKS:
            name = ('home', 'ready')[len(times) % 2]
            page.button(name)
            found = page.driver.execute_async_script(CLICK, name)
            if found < 0.0:  # still in motion
                continue
            times.append(1e-3 * found)
            page.wait_for(f'mode {name} arrived')
    return times


class Meter(real_time.Diary):
    """Lets the bridge run until it is killed; it measures for each line of the standard input."""

    def __init__(self, bridge: object, seconds: float) -> None:
        """Wait for lines."""
        super().__init__(bridge, 1e9)
        self._seconds = seconds
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for _ in sys.stdin:
            begin, first = time.monotonic(), len(self.ages)
            time.sleep(self._seconds)
            ages = self.ages[first:]
            rate = len(ages) / (time.monotonic() - begin)
            print(rate, 100.0 * ages.count(0) / len(ages), flush=True)


def run_bridge(part: str, seconds: float) -> None:
    """Run the bridge; for each line, print steps per second and the share of age 0 [%]."""
    from icir_control.nodes.bridge.node import MujocoBridge
    from icir_control.nodes.process.run import init_ros

    init_ros(['bridge', *PARAMETERS[part], '--log-level', 'error'])
    bridge = MujocoBridge()
    bridge.run(Meter(bridge, seconds))


if __name__ == '__main__':
    main()
