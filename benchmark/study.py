"""What a study costs beside its simulations.

A study and the same loop by hand, each in two processes, take turns. Then runs that are refused at
once go through the scheduler of `dask.distributed`: the time that its process needs for one, with
that of the client, divides the length of a run into the number of workers that it can keep busy.
With that time and the measured lengths of runs, a queue with one server is simulated for up to
1,000 workers. Last, a real scheduler serves up to 100 workers that sleep as long as a run takes.
They are threads of its process, which so has more to do than that of a cluster.
"""

import argparse
import logging
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import chain, pairwise
from multiprocessing import get_context
from resource import RUSAGE_SELF, getrusage
from typing import Any

from icir_control.app.study import engine
from icir_control.app.study.plan import Sample, Study
from icir_control.app.study.run import Row, run_one

PROCESSES = 2
WORKERS = (1, 10, 30, 100, 300, 1000)
SLEEPERS = 100
"""Largest number of workers in the scheduler's process: beyond it they take most of its time."""
RUNS_EACH = 40
"""Runs of each worker, so that begin and end of a study weigh little."""
ASKED_SPEED, ASKED_OVERHEAD = 0.9, 5.0  # -, ms
STUDY = Study(('home', {'wait': 3.0}), {'plant.payload_mass': {'uniform': [0.0, 2.0]}})  # 5 s
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
            needed += chain(*pool.map(by_hand, shares, chunksize=1))
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
        length, cost = statistics.median(needed), {}
        print(f'  processor time of a run {length * 1e3:.1f} ms')
        for size in (1, engine.LARGEST_TASK):
            seconds = cost[size] = overhead(client, given.empty, size)
            print(
                f'{size:2} runs a task at most: scheduler and client {seconds * 1e3:.2f} ms a run,'
                f' asked: less than {ASKED_OVERHEAD:g}; enough for {length / seconds:.0f} workers'
            )
    print('of what as many processors would do: simulated with tasks of one run and of several,')
    print('and by real workers that sleep')
    for count in WORKERS:
        shares = [simulated_share(count, needed, seconds) for seconds in cost.values()]
        shares += [share_of_sleepers(count, length)] if count <= SLEEPERS else []
        print(f'{count:4} workers', *(f'{share:6.2f}' for share in shares), flush=True)


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


def simulated_share(count: int, lengths: list[float], cost: float) -> float:
    """Return the share of their time that workers run, where one server serves them in turn.

    Args:
        count: Workers.
        lengths: Of runs [s], from which is drawn.
        cost: Time of the server before each run [s].
    """
    draw = random.Random(0)
    idle, served, running = [0.0] * count, 0.0, 0.0
    for _ in range(RUNS_EACH * count):
        served = max(served, heappop(idle)) + cost
        length = draw.choice(lengths)
        running += length
        heappush(idle, served + length)
    return running / (count * max(idle))


def share_of_sleepers(count: int, length: float) -> float:
    """Return the share of their time that real workers sleep for the length of a run [s]."""
    from distributed import Client, LocalCluster

    runs = RUNS_EACH * count
    with (
        sleeping_runs(length),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=False,
            memory_limit=0,  # all share one process
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as local,
        Client(local) as client,
    ):
        client.wait_for_workers(count)
        begin = time.perf_counter()
        rows = sum(1 for _ in engine.run_all(client, STUDY, range(runs), [REFUSED] * runs))
        assert rows == runs
        return runs * length / (count * (time.perf_counter() - begin))


@contextmanager
def sleeping_runs(length: float) -> Iterator[None]:
    """Let a run of this process sleep for its length [s]."""

    def sleep(_study: Study, index: int, _sample: Sample) -> Row:
        time.sleep(length)
        return {'run': index}

    usual, engine.run_one = engine.run_one, sleep
    try:
        yield
    finally:
        engine.run_one = usual


def by_hand(samples: list[Sample]) -> list[float]:
    """Run samples in a loop, and return the processor time of each [s]."""
    times = [time.process_time()]
    for index, sample in enumerate(samples):
        run_one(STUDY, index, sample)
        times.append(time.process_time())
    return [end - begin for begin, end in pairwise(times)]


def peak_memory() -> float:
    """Return that of this process [MB]."""
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024.0


if __name__ == '__main__':
    main()
