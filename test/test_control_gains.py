"""Gains that change while the arm moves: calm, and never far off."""

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop, model_of

from icir_control.simulation import Plant
from icir_control.spatial import SE3

CENTRES = {
    'joint_gains.kp': np.full(6, 20000.0),
    'joint_gains.kd': np.full(6, 2.0 * np.sqrt(20000.0)),
    'task_gains.kp': np.array([5000.0] * 3 + [25000.0] * 3),
    'task_gains.kd': 2.0 * np.sqrt(np.array([5000.0] * 3 + [25000.0] * 3)),
    'modes.impedance.stiffness': np.array([500.0] * 3 + [20.0] * 3),
}
"""Each gain stays between half and twice these: within a factor of 4."""

TORQUE_RATE = 0.05 * model_of().effort_limit / 1e-3
"""[N m/s] The limit: 5 % of the effort limit in a tick, 2 and 0.45 N m."""

LEG = 2000
"""Ticks that each motion takes; then the next one begins."""


def softest() -> dict[str, list[float]]:
    return {name: (0.5 * centre).tolist() for name, centre in CENTRES.items()}


def next_motion(loop, mode: str, k: int) -> None:
    """Send the arm on, there and back, so that it never rests."""
    if mode == 'home':
        loop.controller.set_target_joints(READY if k % 2 == 0 else HOME)
        return
    way = np.array([0.06, 0.08, 0.10]) * (1.0 if k % 2 == 0 else -1.0)
    goal = loop.controller.reference_pose
    loop.controller.set_target_pose(SE3(goal.rotation, goal.translation + way))


def error_of(loop, mode: str) -> float:
    """Joints off their reference [rad], or the tool off its own [m, rad]."""
    if mode == 'home':
        return np.abs(loop.controller.tracking_error[0]).max()
    return np.linalg.norm(loop.controller.tool_error.vector)


def worst_of(mode: str, legs: int, change: bool) -> float:
    """Greatest error over some motions; no torque may leave the rate limit on the way."""
    loop = ClosedLoop(
        start=HOME,
        plant=Plant(mass_scale=1.1),
        limits__torque_rate=TORQUE_RATE.tolist(),
        modes__impedance__duration=2.0,
        modes__jog__duration=2.0,
    )
    loop.controller.update(softest())
    loop.go('home', 2.0)
    loop.go(mode, 1.0)
    rng = np.random.default_rng(5)
    worst = 0.0
    for k in range(legs * LEG):
        if k % LEG == 0:
            next_motion(loop, mode, k // LEG)
        if change and k % 10 == 0:
            gains = {
                name: (centre * 4.0 ** rng.uniform(-0.5, 0.5, 6)).tolist()
                for name, centre in CENTRES.items()
            }
            loop.controller.update(gains)
        loop.step()
        assert not loop.controller.rate_limited
        worst = max(worst, error_of(loop, mode))
    return worst


@pytest.mark.parametrize('mode', ['home', 'jog', 'impedance'])
@pytest.mark.parametrize('legs', [1, pytest.param(10, marks=pytest.mark.long)])
def test_gains_changed_at_random_while_moving(mode, legs):
    """Every gain, every 10 ms, on an arm 10 % heavier: 6 s of motion, 60 s in the long tests."""
    assert worst_of(mode, legs, change=True) < 3.0 * worst_of(mode, legs, change=False)
