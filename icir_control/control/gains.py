"""Feedback gains of the tracking laws, with the damping that they imply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from icir_control.control.figure import PER_JOINT, Figure

GAIN_FIGURES: tuple[Figure, ...] = (
    Figure(
        'joint_gains.kp',
        'float_array',
        [],
        '1/s^2',
        'joint stiffness by inertia; empty for 40000 on every joint',
        lower=0.0,
        upper=1e6,
        length=PER_JOINT,
        may_be_empty=True,
    ),
    Figure(
        'joint_gains.kd',
        'float_array',
        [],
        '1/s',
        'joint damping by inertia; empty for critical, 2 sqrt(kp)',
        lower=0.0,
        upper=1e4,
        length=PER_JOINT,
        may_be_empty=True,
    ),
    Figure(
        'task_gains.kp',
        'float_array',
        [5000.0, 5000.0, 5000.0, 50000.0, 50000.0, 50000.0],
        '1/s^2',
        'end-effector stiffness by inertia, linear then angular',
        lower=0.0,
        upper=1e6,
        length=6,
    ),
    Figure(
        'task_gains.kd',
        'float_array',
        [],
        '1/s',
        'end-effector damping by inertia; empty for critical, 2 sqrt(kp)',
        lower=0.0,
        upper=1e4,
        length=6,
        may_be_empty=True,
    ),
)
"""What a user may set of them; the defaults are the tutorial's."""

DEFAULT_JOINT_KP = 40000.0
"""[1/s^2], the tutorial's on every joint."""


@dataclass(frozen=True)
class Gains:
    """Stiffness and damping, both divided by inertia.

    Attributes:
        joint_kp: (nv,) [1/s^2].
        joint_kd: (nv,) [1/s].
        task_kp: (6,) [1/s^2], linear first.
        task_kd: (6,) [1/s].
    """

    joint_kp: NDArray[np.float64]
    joint_kd: NDArray[np.float64]
    task_kp: NDArray[np.float64]
    task_kd: NDArray[np.float64]

    @classmethod
    def from_figures(cls, figures: Mapping[str, Any], nv: int) -> Self:
        """Return the gains of checked figures; an empty kd becomes 2 sqrt(kp)."""
        joint_kp = figures['joint_gains.kp']
        if len(joint_kp) == 0:
            joint_kp = np.full(nv, DEFAULT_JOINT_KP)
        task_kp = figures['task_gains.kp']
        return cls(
            joint_kp,
            _damping(figures['joint_gains.kd'], joint_kp),
            task_kp,
            _damping(figures['task_gains.kd'], task_kp),
        )

    def write(self, record: np.record) -> None:
        """Write the gains into the record, as goals."""
        record.joint_kp_goal[:], record.joint_kd_goal[:] = self.joint_kp, self.joint_kd
        record.task_kp_goal[:], record.task_kd_goal[:] = self.task_kp, self.task_kd


def _damping(kd: NDArray[np.float64], kp: NDArray[np.float64]) -> NDArray[np.float64]:
    return kd if len(kd) else 2.0 * np.sqrt(kp)
