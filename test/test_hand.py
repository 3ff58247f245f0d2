"""The hand over ROS topics: modes by key and by schedule, the snap, whole trees."""

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
from icir_control.errors import ConfigurationError
from icir_control.share import share_directory

URDF = share_directory() / 'urdf' / 'hand.urdf'
SCHEDULE = "schedule:=['0.1 snap']"
END = 1.6  # s
TIP = 10  # finger33


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


def test_modes_by_key(ros_graph):
    session = Session(ros_graph, robot='hand')
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
