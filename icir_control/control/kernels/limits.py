"""What joints and motors allow: a distance from position limits, effort, and its rate."""

import numpy as np

from icir_control.compiled import part

LIMIT_STIFFNESS = 1000.0
"""[1/s^2] Of the repulsion at a position limit; it grows from nothing at the margin's edge."""


@part
def keep_off_limits(record: np.record, state: np.ndarray) -> None:
    """Add to the acceleration what keeps a yielding arm off its position limits.

    Within the margin m of a limit, at a depth x: ddq -= (x / m) (k x + 2 sqrt(k) v), the second
    part only on the way to the limit.

    Args:
        record: Holds the acceleration, the limits and the margin.
        state: (1 + 2 nv,): time, q, v.
    """
    margin = record.position_margin
    if margin <= 0.0:
        return
    n = record.acceleration.shape[0]
    damping = 2.0 * np.sqrt(LIMIT_STIFFNESS)
    for i in range(n):
        q, v = state[1 + i], state[1 + n + i]
        above = q - (record.upper_position_limit[i] - margin)
        below = (record.lower_position_limit[i] + margin) - q
        if above > 0.0:
            record.acceleration[i] -= (
                above / margin * (LIMIT_STIFFNESS * above + damping * max(v, 0.0))
            )
        elif below > 0.0:
            record.acceleration[i] += (
                below / margin * (LIMIT_STIFFNESS * below + damping * max(-v, 0.0))
            )


@part
def limit_torque(record: np.record, nle: np.ndarray) -> None:
    """Write the torque that is within the effort and rate limits.

    The law's part is scaled as a whole, tau = nle + s (tau_law - nle) with the greatest s in
    [0, 1] that every joint allows: the arm then accelerates where it was meant to, only less. A
    bias beyond the limit itself is cut off joint by joint.

    Args:
        record: Holds the torque before limits and the limits.
        nle: (nv,) bias torque [N m or N].
    """
    n = nle.shape[0]
    share = 1.0
    for i in range(n):
        limit = record.effort_limit[i]
        wanted = record.torque_unsaturated[i]
        part = wanted - nle[i]
        if wanted > limit:
            share = min(share, max(limit - nle[i], 0.0) / part)
        elif wanted < -limit:
            share = min(share, min(-limit - nle[i], 0.0) / part)
    record.effort_share = share
    record.rate_limited = 0
    for i in range(n):
        limit = record.effort_limit[i]
        wanted = record.torque_unsaturated[i]
        tau = wanted if share == 1.0 else nle[i] + share * (wanted - nle[i])
        if record.has_torque:
            step = record.torque_rate_limit[i] * record.period
            if abs(tau - record.torque[i]) > step:
                tau = min(max(tau, record.torque[i] - step), record.torque[i] + step)
                record.rate_limited = 1
        record.torque[i] = min(max(tau, -limit), limit)
    record.has_torque = 1
