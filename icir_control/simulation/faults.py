"""What MuJoCo warns of: for the log, or because the state has left the finite."""

import logging

import mujoco

_log = logging.getLogger(__name__)

# MuJoCo prints a warning and writes it to a file in the working directory, unless someone listens.
if mujoco.get_mju_user_warning() is None:
    mujoco.set_mju_user_warning(lambda text: _log.warning('MuJoCo: %s', text))

POSITION = int(mujoco.mjtWarning.mjWARN_BADQPOS)
VELOCITY = int(mujoco.mjtWarning.mjWARN_BADQVEL)
ACCELERATION = int(mujoco.mjtWarning.mjWARN_BADQACC)
"""Warnings that mean divergence: their places among MuJoCo's counters."""

# Cause before effect.
_QUANTITIES = {POSITION: 'position', VELOCITY: 'velocity', ACCELERATION: 'acceleration'}


def what_diverged(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[str, str]:
    """Return joint and quantity that left the finite, where one of the counters says so.

    Args:
        model: The model, whose joints have one degree of freedom each.
        data: Its state.
    """
    kind = next(kind for kind in _QUANTITIES if data.warning[kind].number)
    degree = int(data.warning[kind].lastinfo)
    return model.joint(model.dof_jntid[degree]).name, _QUANTITIES[kind]
