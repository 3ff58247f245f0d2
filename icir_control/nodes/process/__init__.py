"""What makes a node robust as a process: start and stop, discovery, and who else is in the graph.

Next to nothing is imported here: `stop_request` has to be importable before anything slow.
"""

import os


def use_one_blas_thread() -> None:
    """Have numpy compute in the thread that calls it; to be called before numpy is imported.

    OpenBLAS ends its threads before a fork, and a product that waits for one then waits for ever.
    The tracing library that comes with ROS 2 (lttng-ust) forks in threads of its own, and goes on
    doing so where /dev/shm cannot be written to. Our products are too small to gain from threads.
    What the user has chosen stands.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
