"""The hand over ROS topics: modes by key and by schedule, the snap, whole trees."""

from functools import cache

import mujoco
import numpy as np
import pytest
from ros_processes import PATIENCE, RosGraph
from session import Session
from state_record import expect_same
from test_session import expect_mode, press

from icir_control.app.closed_loop import ClosedLoop
from icir_control.control import ControllerConfig
from icir_control.dynamics import KinematicTree, load_urdf
from icir_control.errors import ConfigurationError, IcirError, OutOfReachError, PositionLimitError
from icir_control.share import share_directory
from icir_control.spatial import SE3

URDF = share_directory() / 'urdf' / 'hand.urdf'
SCHEDULE = "schedule:=['0.1 snap']"
END = 1.6  # s
TIP = 10  # finger33


BENT = np.radians([0.0, 0.0, 20.0, 30.0, 20.0, 20.0, 30.0, 20.0, 20.0, 30.0, 20.0, 0.0, 0.0])
"""A posture in which every finger is bent."""


@cache
def mujoco_hand():
    return mujoco.MjModel.from_xml_path(str(URDF))


def tip_of(finger, q):
    """Where a finger's tip is, by MuJoCo [m]."""
    model = mujoco_hand()
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    geom = model.body(f'finger{finger}3').geomadr[0]
    return data.geom_xpos[geom].copy()


def bent_hand(finger, mode, **changes):
    """A closed loop in a mode, its fingers bent; which joints are that finger's, which not."""
    changes = {'end_effector_frame': f'fingertip{finger}', **changes}
    hand = ClosedLoop('hand', start=BENT, changes=changes)
    hand.go(mode, 0.5)
    own = np.arange(3 * finger - 1, 3 * finger + 2)
    return hand, own, np.setdiff1d(np.arange(13), own)


def step_tip(hand, step):
    """Send the tip of the finger elsewhere; return where from."""
    pose = hand.controller.reference_pose
    hand.controller.set_target_pose(SE3(pose.rotation, pose.translation + step))


@pytest.mark.parametrize('finger', [1, 2, 3])
def test_a_finger_tip_goes_where_it_is_sent_and_the_other_joints_stay(finger):
    hand, own, others = bent_hand(finger, 'jog')
    for step in ([-0.005, 0.0, 0.0], [0.005, 0.0, -0.005], [0.0, 0.0, 0.005]):
        before, q = tip_of(finger, hand.q), hand.q.copy()
        step_tip(hand, step)
        hand.run(400)
        np.testing.assert_allclose(tip_of(finger, hand.q) - before, step, rtol=0, atol=1e-8)
        np.testing.assert_allclose(hand.q[others], q[others], rtol=0, atol=1e-8)
        assert np.abs(hand.q[own] - q[own]).max() > 0.01
    with pytest.raises(OutOfReachError):  # sideways
        step_tip(hand, [0.0, 0.005, 0.0])


def test_a_stretched_finger_can_be_bent_by_its_tip():
    """There its Jacobian has no column along the finger."""
    hand = ClosedLoop('hand', start=np.zeros(13))
    hand.go('jog', 0.1)
    before = tip_of(3, hand.q)
    step_tip(hand, [-0.01, 0.0, 0.0])
    hand.run(600)
    moved = tip_of(3, hand.q) - before
    np.testing.assert_allclose(moved, [-0.01, 0.0, 0.0], rtol=0, atol=1e-8)
    with pytest.raises(OutOfReachError):
        step_tip(hand, [0.02, 0.0, 0.0])


def test_a_finger_tip_is_a_spring_and_the_other_joints_stay():
    """A push within the finger's plane; at rest, what the equation says."""
    hand, _, others = bent_hand(2, 'impedance')
    before, q, force = tip_of(2, hand.q), hand.q.copy(), np.array([0.3, 0.0, 0.2])

    def push():
        R = hand.world.data.body('finger23').xmat.reshape(3, 3)
        local = R.T @ force
        hand.world.push('finger23', np.concatenate([local, np.cross([0.01, 0.0, 0.0], local)]))

    pushed = hand.run(3000, push)['position']
    moved = tip_of(2, hand.q) - before
    np.testing.assert_allclose(moved, force / 100.0, rtol=0, atol=1e-6)
    assert np.abs(pushed[:, others] - q[others]).max() < 5e-3
    np.testing.assert_allclose(hand.q[others], q[others], rtol=0, atol=1e-6)
    hand.world.clear_push('finger23')
    hand.run(1000)
    step_tip(hand, [-0.003, 0.0, -0.003])
    hand.run(4000)
    moved = tip_of(2, hand.q) - before
    np.testing.assert_allclose(moved, [-0.003, 0.0, -0.003], rtol=0, atol=1e-6)
    np.testing.assert_allclose(hand.q[others], q[others], rtol=0, atol=1e-6)


def test_a_joint_that_ends_at_its_limit_is_within_it():
    arm = ClosedLoop('hand').controller.config.arm
    upper = arm.model.upper_position_limit
    arm.check_limits('the goal', np.nextafter(upper, np.inf))
    with pytest.raises(PositionLimitError, match='outside its limits'):
        arm.check_limits('the goal', upper + 1e-6)


@pytest.mark.parametrize(('changes', 'said'), [
    ({'modes.jog.held_link': 'fist'}, 'fist.*finger11'),
    ({'modes.jog.held_link': 'finger33'}, "modes.jog: held_link = 'finger33' holds the end"),
    ({'modes.impedance.inertia': [1.0] * 6}, 'modes.impedance: inertia is given beside held_link'),
])  # fmt: skip
def test_a_link_that_cannot_be_held_is_refused(changes, said):
    with pytest.raises(IcirError, match=said):
        ClosedLoop('hand', start=np.zeros(13), changes=changes)


def touching(world):
    names = [
        tuple(sorted(world.model.body(world.model.geom_bodyid[g]).name for g in c.geom))
        for c in world.data.contact
    ]
    return set(names)


@pytest.fixture
def hand():
    return ClosedLoop('hand', start=np.zeros(13))


def run_mode(hand, mode, seconds):
    hand.controller.select(mode)
    seen = []
    hand.run(round(seconds * 1000), lambda: seen.append((touching(hand.world), hand.v.copy())))
    return seen


def test_the_modes_touch_what_they_say(hand):
    run_mode(hand, 'open', 0.3)
    assert not touching(hand.world)
    run_mode(hand, 'pinch', 1.3)
    assert touching(hand.world) == {('finger33', 'thumb2')}
    run_mode(hand, 'open', 0.8)
    run_mode(hand, 'close', 1.2)
    tips = {(f'finger{i}3', 'wrist') for i in (1, 2, 3)}
    assert tips <= touching(hand.world)
    run_mode(hand, 'point', 1.0)
    assert touching(hand.world) >= tips - {('finger33', 'wrist')}
    assert np.abs(hand.q[8:11]).max() < 0.1


def test_a_snap_presses_slips_and_hits_the_palm(hand):
    seen = run_mode(hand, 'snap', 1.6)
    pressed = [k for k, (pairs, _) in enumerate(seen) if ('finger33', 'thumb2') in pairs]
    hit = next(k for k, (pairs, _) in enumerate(seen) if ('finger33', 'wrist') in pairs)
    assert len(pressed) > 200
    assert pressed[-1] < hit
    assert abs(seen[hit][1][TIP]) > 3.0


def scheduled_run(graph):
    """Every state of one scheduled run."""
    session = Session(graph, SCHEDULE, recorded=True, robot='hand')
    states = session.states_until(END)
    session.bridge.stop(timeout=PATIENCE)
    session.controller.stop(timeout=PATIENCE)
    return states


@pytest.mark.slow
def test_a_snap_over_topics_is_the_same_to_the_last_bit(ros_graph, tmp_path):
    first = scheduled_run(ros_graph)
    with RosGraph(tmp_path / 'logs') as graph:
        run = expect_same(first, scheduled_run(graph), END)
    world = mujoco.MjModel.from_xml_path(str(URDF))
    data, speed = mujoco.MjData(world), 0.0
    for q, v in zip(run.position, run.velocity, strict=True):
        data.qpos[:] = q
        mujoco.mj_forward(world, data)
        names = {world.body(world.geom_bodyid[c.geom[0]]).name for c in data.contact}
        names |= {world.body(world.geom_bodyid[c.geom[1]]).name for c in data.contact}
        if {'finger33', 'wrist'} <= names:
            break
        speed = abs(v[TIP])
    assert speed > 3.0


@pytest.mark.slow
def test_modes_by_key(ros_graph):
    session = Session(ros_graph, bridge_parameters=('real_time_factor:=1.0',), robot='hand')
    keyboard = session.start_keyboard()
    for key, mode in (('c', 'close'), ('o', 'open'), ('t', 'pinch'), ('f', 'free'), ('s', 'hold')):
        press(keyboard, key, mode)
        expect_mode(session, mode)


def test_a_whole_tree_is_controlled_or_the_chain_alone():
    tree = KinematicTree(URDF)
    assert not tree.chain('', 'finger33', whole_tree=True).held
    held = tree.chain('', 'finger33', {'thumb1': 0.5}, whole_tree=True).held
    assert held == {'thumb1': 0.5}
    assert 'thumb1' in tree.chain('', 'finger33').held


@pytest.mark.parametrize(('targets', 'times', 'said'), [
    ([0.0] * 13, [0.5, 1.0], 'expected 13 for each of 2 times'),
    ([0.0] * 26, [1.0, 0.5], 'do not increase'),
    ([0.0] * 25 + [200.0], [0.5, 1.0], 'targets_deg at 1 s has thumb2'),
])  # fmt: skip
def test_a_sequence_that_cannot_be_is_refused(targets, times, said):
    modes = {'both': {'key': 'b', 'law': 'sequence', 'targets_deg': targets, 'times': times}}
    parameters = {
        'base_frame': '', 'end_effector_frame': 'finger33', 'mode_names': ['both'],
        'initial_mode': 'both', 'modes': modes,
    }  # fmt: skip
    with pytest.raises(ConfigurationError, match=said):
        ControllerConfig.from_parameters(parameters, load_urdf(URDF))
