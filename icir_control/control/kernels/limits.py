"""What the motors may give: effort with the direction of acceleration kept, and its rate."""

import numpy as np

from icir_control.compiled import kernel


@kernel
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
