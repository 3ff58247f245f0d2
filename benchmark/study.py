"""What a study costs beside its simulations.

A study and the same loop by hand, each in two processes, take turns. Then runs that are refused at
once go through the scheduler of `dask.distributed`: the time that its process needs for one, with
that of the client, divides the length of a run into the number of workers that it can keep busy.
That number is computed, not tried.
"""

import argparse
import statistics
import time
from multiprocessing import get_context
from resource import RUSAGE_SELF, getrusage
from typing import Any

from icir_control.app.study import engine
from icir_control.app.study.plan import Sample, Study
from icir_control.app.study.run import run_one

PROCESSES = 2
ASKED_SPEED, ASKED_OVERHEAD = 0.9, 5.0  # -, ms
STUDY = Study(
    'gen3_6dof',
    ('home', {'wait': 3.0}),  # 5 s
    {'plant.payload_mass': {'uniform': [0.0, 2.0]}},
    1,
    'sobol',
    0,
)
REFUSED = {'plant.payload_mass': -1.0}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--runs', type=int, default=60, help='simulations of a turn')
    parser.add_argument('--turns', type=int, default=3, help='of each')
    parser.add_argument('--empty', type=int, default=1000, help='runs that are refused at once')
    given = parser.parse_args()
    samples = [{'plant.payload_mass': 2.0 * i / given.runs} for i in range(given.runs)]
    with (
        engine.cluster(PROCESSES, '') as client,
        get_context('spawn').Pool(PROCESSES) as pool,
    ):
        client.run(run_one, STUDY, 0, samples[0])  # loads what is compiled
        pool.map(by_hand, [samples[:1]] * PROCESSES, chunksize=1)
        ours, theirs, needed, memory = [], [], [], []
        for _ in range(given.turns):
            begin = time.perf_counter()
            list(engine.run_all(client, STUDY, range(given.runs), samples))
            middle = time.perf_counter()
            shares = [samples[i::PROCESSES] for i in range(PROCESSES)]
            needed.append(sum(pool.map(by_hand, shares, chunksize=1)) / given.runs)
            ours.append((middle - begin) / given.runs)
            theirs.append((time.perf_counter() - middle) / given.runs)
            memory.append(max(client.run(peak_memory).values()))
        ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
        print(f'{given.runs} runs of 5 s, {PROCESSES} processes, {given.turns} turns each')
        print(f'  study    {statistics.median(ours) * 1e3:7.1f} ms a run')
        print(f'  by hand  {statistics.median(theirs) * 1e3:7.1f} ms a run')
        print(
            f'  speed of the study beside the loop {statistics.median(ratios):.2f}'
            f' ({min(ratios):.2f} to {max(ratios):.2f}); asked: {ASKED_SPEED:g}'
        )
        print(f'  peak memory of a worker by turn: {", ".join(f"{m:.0f}" for m in memory)} MB')
        length = statistics.median(needed)
        print(f'  processor time of a run {length * 1e3:.1f} ms')
        for size in (1, engine.LARGEST_TASK):
            seconds = overhead(client, given.empty, size)
            print(
                f'{size:2} runs a task at most: scheduler and client {seconds * 1e3:.2f} ms a run,'
                f' asked: less than {ASKED_OVERHEAD:g}; enough for {length / seconds:.0f} workers'
            )


def overhead(client: Any, count: int, size: int) -> float:
    """Return the processor time of this process, with client and scheduler, for a run [s]."""
    largest, engine.LARGEST_TASK = engine.LARGEST_TASK, size
    try:
        begin = time.process_time()
        rows = sum(1 for _ in engine.run_all(client, STUDY, range(count), [REFUSED] * count))
        assert rows == count
        return (time.process_time() - begin) / count
    finally:
        engine.LARGEST_TASK = largest


def by_hand(samples: list[Sample]) -> float:
    """Run samples in a loop, and return the processor time that they take [s]."""
    begin = time.process_time()
    for index, sample in enumerate(samples):
        run_one(STUDY, index, sample)
    return time.process_time() - begin


def peak_memory() -> float:
    """Return that of this process [MB]."""
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024.0


if __name__ == '__main__':
    main()
