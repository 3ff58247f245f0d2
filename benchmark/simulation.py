"""How fast a simulation in one process is, beside bare `mj_step` and bare ticks of the controller.

Both go through the same motion; short stretches of each take turns, and the best of each counts.
"""

import time

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table

from icir_control import Robot
from icir_control.app.closed_loop import HOME, UPRIGHT, ClosedLoop

STEPS, ROUNDS, SETTLED = 100, 150, 20
ASKED = 0.8
"""Of the bare speed, at least."""
MODES = {'home': UPRIGHT, 'down': HOME, 'impedance': HOME}


def simulated(loop: ClosedLoop) -> float:
    """Return the seconds of a step of the simulation, with its log."""
    begin = time.perf_counter()
    loop.step(STEPS)
    return (time.perf_counter() - begin) / STEPS


def bare(loop: ClosedLoop) -> float:
    """Return the seconds of a tick and an `mj_step`, with nothing around them."""
    model, data, tick = loop.world.model, loop.world.data, loop.controller.tick
    q, v, control, step, first = data.qpos, data.qvel, data.ctrl, mujoco.mj_step, loop.time
    begin = time.perf_counter()
    for i in range(STEPS):
        control[:] = tick(first + i * 1e-3, q, v)
        step(model, data)
    return (time.perf_counter() - begin) / STEPS


def main() -> None:
    """Measure, and print."""
    loop = Robot.simulate().session.loop
    table = Table(title='us per step, without anybody who looks')
    for column in ('', 'Robot.simulate', 'mj_step + tick', f'speed (asked: {ASKED:g})'):
        table.add_column(column, justify='right')
    for mode, start in MODES.items():
        times: dict = {simulated: [], bare: []}
        for _ in range(ROUNDS):
            for way, measured in times.items():
                loop.restart(start)
                loop.controller.select(mode)
                loop.step(SETTLED)
                measured.append(way(loop))
        ours, theirs = (min(times[way]) * 1e6 for way in (simulated, bare))
        table.add_row(mode, f'{ours:.2f}', f'{theirs:.2f}', f'{theirs / ours:.2f}')
    Console(width=100).print(table)
    assert np.isfinite(loop.log['position']).all()


if __name__ == '__main__':
    main()
