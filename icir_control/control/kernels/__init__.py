"""The compiled half of the controller: plain arrays and one record, in and out."""

from icir_control.control.kernels.reference import advance_reference
from icir_control.control.kernels.tick import (
    actuate,
    sense,
    start_pose_path,
    tick,
    try_pose_path,
)

__all__ = ['actuate', 'advance_reference', 'sense', 'start_pose_path', 'tick', 'try_pose_path']
