"""Damping and friction of the joints, as a URDF gives them: the feed-forward bears both."""

import numpy as np
import pytest
from closed_loop import HOME, TwoUrdfs, with_losses

from icir_control.errors import RefusedError
from icir_control.spatial import SE3

NONE, DAMPED, ROUGH = '', 'damping="2"', 'friction="1"'


class Loop(TwoUrdfs):
    """The shipped arm with losses in every joint, and its controller."""

    def __init__(self, losses, start):
        super().__init__(with_losses(losses), with_losses(losses), start)
        assert self.model.joint_damping.any() or self.model.joint_friction.any()


@pytest.mark.parametrize(
    ('losses', 'bound'), [(DAMPED, 1e-12), (ROUGH, 1e-9), (f'{DAMPED} {ROUGH}', 1e-9)]
)
def test_a_lossy_arm_is_tracked_to_round_off(losses, bound):
    """Friction is a constraint in MuJoCo, solved to a tolerance."""
    loop = Loop(losses, np.zeros(6))
    assert loop.go('home', 2.5)[0] < bound
    assert loop.go('down', 2.2)[0] < bound


@pytest.mark.parametrize('mode', ['home', 'float'])
def test_the_parts_of_the_torque_add_up_beside_the_path(mode):
    loop = Loop(f'{DAMPED} {ROUGH}', HOME)
    loop.controller.select(mode)
    loop.push(0.05)
    assert np.abs(loop.v).max() > 1e-3
    parts = sum(loop.controller.torque_terms.values())
    np.testing.assert_allclose(parts, loop.controller.torque, rtol=0.0, atol=1e-10)


def test_a_damped_joint_need_not_wait_for_what_it_may_lack():
    """Its damping keeps a fast observer stable: friction that no URDF has is soon cancelled."""
    damped, rough = with_losses('damping="0.5"'), with_losses('damping="0.5" friction="1"')
    loop = TwoUrdfs(damped, rough, HOME, joint_gains__kp=[2500.0] * 6)
    loop.go('hold', 0.3)
    assert loop.go('ready', 3.2)[0] < 0.015


def test_friction_does_not_chatter_at_rest():
    loop = Loop(f'{DAMPED} {ROUGH}', HOME)
    loop.go('home', 0.1)
    _, torques = loop.go('hold', 0.3)
    assert np.abs(np.diff(torques, axis=0)).max() < 1e-9


def test_a_damped_arm_yields_as_if_it_were_not_damped():
    """The law says how the arm moves under a hand, whatever the joints lose."""
    placements = []
    for losses in (DAMPED, 'damping="1e-9"'):
        loop = Loop(losses, HOME)
        loop.controller.select('float')
        loop.world.push('end_effector_link', [0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
        loop.go('float', 0.5)
        placements.append(loop.controller.current_pose.translation)
    np.testing.assert_allclose(*placements, atol=1e-4)
    assert np.linalg.norm(placements[0]) > 0.1


def test_a_joint_that_its_friction_holds_is_refused_a_motion():
    loop = Loop('friction="60"', HOME)
    for request in (
        lambda: loop.go('ready', 0.1),
        lambda: loop.controller.set_target_pose(turned(loop.controller.current_pose)),
    ):
        with pytest.raises(RefusedError, match='friction of 60 N m or N its motor') as refusal:
            request()
        assert (refusal.value.reason, refusal.value.value) == ('effort_limit', 60.0)
        assert refusal.value.upper < 60.0
        # Which moves none of these joints.
        loop.go('down', 0.1)


def turned(pose):
    return pose @ SE3.from_xyz_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.2))


def test_friction_does_not_shrink_with_the_speed():
    """More time is no help against it, and none is asked for on a way that takes little else."""
    loop = Loop('friction="7"', HOME)
    plan = loop.controller.select('ready')
    assert plan is None or plan.duration < 10.0
    assert loop.controller.motion_left < 10.0
