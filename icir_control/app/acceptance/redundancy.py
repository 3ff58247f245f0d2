"""Seven joints: the elbow moves, the tool stays."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from icir_control.app.acceptance.closed_loop import ClosedLoop
from icir_control.app.figure import Figure

HOME_7DOF: Final = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])


def null_space() -> Iterator[Figure]:
    """Give how far the tool moves while the elbow goes to another posture, and how far that is."""
    loop = ClosedLoop('gen3_7dof', start=HOME_7DOF)
    before, q = loop.placement, loop.q.copy()
    loop.controller.select('elbow')
    moved = 0.0
    for _ in range(6000):
        loop.step()
        way = loop.placement.translation - before.translation
        moved = np.maximum(moved, np.linalg.norm(way))
    yield Figure('tool_m', float(moved), 1e-6)
    yield Figure('elbow_rad', float(np.abs(loop.q - q).max()), lower=np.radians(20.0))
