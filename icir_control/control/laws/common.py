"""Figures that several laws share, and what a stiff task needs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from icir_control.control.figure import Figure
from icir_control.control.kernels.record import FEED_FORWARD
from icir_control.control.law import Law, Plan, Start
from icir_control.control.motion import plan_pose_motion
from icir_control.spatial import SE3
from icir_control.trajectory import PROFILES

DURATION = Figure(
    'duration',
    'float',
    2.0,
    's',
    'time that the motion takes; more where a joint would be too fast',
    lower=0.01,
    upper=600.0,
)
PROFILE = Figure(
    'profile',
    'string',
    'cubic',
    '',
    'shape of the motion over time',
    choices=tuple(PROFILES),
)
FEED_FORWARD_FIGURE = Figure(
    'feed_forward',
    'string',
    'matched',
    '',
    "what of the reference's motion is used: none of it (the tutorial's task law), its velocity, "
    "its acceleration too, or the differences that match the plant's integrator",
    choices=FEED_FORWARD,
)
SINGULARITY = Figure(
    'singularity_threshold',
    'float',
    0.02,
    '',
    'smallest singular value of the end-effector Jacobian below which it is damped, and at which '
    'no motion of the tool starts',
    lower=1e-6,
    upper=1.0,
)
SINGULARITY_DAMPING = Figure(
    'singularity_damping',
    'float',
    0.1,
    '',
    'damping of the inverse at a singularity; exactly 0 above the threshold',
    lower=0.0,
    upper=10.0,
)
STOP_TIME = Figure(
    'stop_time',
    'float',
    0.5,
    's',
    'time in which a motion that the mode is entered with comes to rest',
    lower=0.01,
    upper=10.0,
)


def write_singularity(record: np.record, figures: Mapping[str, Any]) -> None:
    """Write how a law of these figures treats singularities."""
    record.singularity = figures['singularity_threshold']
    record.singularity_damping = figures['singularity_damping']


def plan_to_pose(law: Law, start: Start, goal: SE3) -> Plan:
    """Plan a straight motion of the end effector to a pose, T_world_tool, by a law's figures.

    Raises:
        RefusedError: As `plan_pose_motion`.
    """
    figures = law.figures
    return plan_pose_motion(
        law.arm,
        start,
        goal,
        figures['duration'],
        figures['profile'],
        figures['singularity_threshold'],
        figures['singularity_damping'],
    )
