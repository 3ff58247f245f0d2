"""Postures to go to, for an arm of which no more is known than its URDF."""

import logging

import numpy as np

from icir_control.control import ControllerConfig
from icir_control.control.laws.joint import Joint
from icir_control.nodes.robot import LoadedRobot

APART = 0.3
"""[rad or m] Between the targets of two modes, in one joint at least."""

_log = logging.getLogger(__name__)


def with_targets(config: ControllerConfig, robot: LoadedRobot) -> ControllerConfig:
    """Give a target to each mode that goes to a posture and has none.

    It is the best posture of the arm to which nothing is in the way from where the simulation
    starts; of several modes each has another one.

    Args:
        config: Of the controller.
        robot: The arm.
    """
    laws = {name: mode.law for name, mode in config.modes.items()}
    empty = [
        f'modes.{name}.target_deg'
        for name, law in laws.items()
        if isinstance(law, Joint) and not len(law.target_deg)
    ]
    if not empty:
        return config
    from icir_control.simulation import World  # late: most arms need no MuJoCo here

    arm = config.arm
    simulated = World(
        robot.path,
        joint_names=arm.model.joint_names,
        end_effector_frame=arm.end_effector_frame,
        **robot.options,
    )
    best = arm.rest_postures
    found: list[np.ndarray] = []
    for q in (q for q in best if simulated.is_free(q)):
        if all(np.abs(q - other).max() > APART for other in found):
            found.append(q)
        if len(found) == len(empty):
            break
    if len(found) < len(empty):
        _log.warning('something is in the way to each posture that was tried for %s', empty[-1])
        found += [*best[: len(empty) - len(found)]]
    return config.updated(
        {name: np.degrees(q).tolist() for name, q in zip(empty, found, strict=True)}
    )
