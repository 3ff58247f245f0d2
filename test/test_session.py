"""The tutorial's session: keys typed at a terminal, the arm watched over its topics."""

import re
import subprocess
import sys
from collections import deque

import numpy as np
import pytest
from geometry_msgs.msg import Pose, PoseStamped
from rcl_interfaces.srv import GetParameters
from ros_processes import PATIENCE, Process, RosGraph
from session import Session
from state_record import States, expect_same
from state_source import HOME, stamp_of
from std_msgs.msg import String
from std_srvs.srv import Trigger

from icir_control.nodes.transport.qos import LATCHED
from icir_control.spatial import SE3, log3

STIFFNESS = 500.0  # N/m, of the mode impedance as it is shipped
SCHEDULE = "schedule:=['0.1 home', '1.0 ready', '2.0 down', '2.6 float', '3.0 impedance']"
END = 3.4  # s, of a scheduled run
BUSY = 'while True: pass'
PACED = ('real_time_factor:=4.0',)


def press(keyboard: Process, key: str, expected: str) -> None:
    """Type a key and wait for what the keyboard says."""
    start = len(keyboard.output)
    keyboard.type(key)
    keyboard.wait_for(rf'(?m)^{expected}', start=start)


def expect_mode(session: Session, mode: str) -> None:
    """Wait until everybody can know the running mode."""
    heard: list[str] = []
    subscription = session.observer.create_subscription(
        String, 'controller/mode', lambda message: heard.append(message.data), LATCHED
    )
    session.observer.spin_until(lambda: heard and heard[-1] == mode, what=f'mode {mode}')
    session.observer.destroy_subscription(subscription)


def turned(before: SE3, after: SE3) -> float:
    """The angle between two orientations [rad]."""
    return float(np.linalg.norm(log3(before.rotation.T @ after.rotation)))


@pytest.mark.slow
def test_the_typed_session(ros_graph):
    session = Session(ros_graph, bridge_parameters=PACED)
    keyboard = session.start_keyboard()

    press(keyboard, 'k', 'down refused: .*singular')
    upright = session.position
    session.wait(0.5)
    np.testing.assert_allclose(session.position, upright, rtol=0, atol=1e-12)
    np.testing.assert_allclose(upright, 0.0, rtol=0, atol=1e-12)

    press(keyboard, 'h', 'home')
    session.wait(4.0)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-4)

    before = session.tool
    press(keyboard, 'k', 'down')
    session.wait(2.5)
    moved = session.tool.translation - before.translation
    np.testing.assert_allclose(moved, [0.0, 0.0, -0.05], rtol=0, atol=5e-5)
    assert turned(before, session.tool) < 1e-4

    before = session.tool
    press(keyboard, 'v', 'float')
    session.push((0.0, 0.0, 10.0), hold=1.0)
    session.wait(2.5)
    assert 0.015 <= np.linalg.norm(session.tool.translation - before.translation) <= 0.25
    assert turned(before, session.tool) < 5e-3

    press(keyboard, 'h', 'home')
    session.wait(2.5)
    press(keyboard, 'i', 'impedance')
    rest = session.tool
    for axis in np.eye(3):
        session.push(tuple(5.0 * axis), hold=60.0)  # a newer push takes the place of an older one
        session.wait(2.5)
        deflection = session.tool.translation - rest.translation
        expected = session.tool.rotation @ (5.0 * axis) / STIFFNESS
        np.testing.assert_allclose(deflection, expected, rtol=0, atol=0.05 * 5.0 / STIFFNESS)
    keyboard.type('q')
    assert keyboard.wait(3.0) == 0


def vector_of(pose: Pose) -> np.ndarray:
    """Position and quaternion of a pose, (7,)."""
    p, o = pose.position, pose.orientation
    return np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])


@pytest.mark.slow
def test_the_tool_is_jogged_and_stopped(ros_graph):
    session = Session(ros_graph, bridge_parameters=PACED, composed=True)
    keyboard = session.start_keyboard()
    press(keyboard, 'h', 'home')
    session.wait(2.2)
    press(keyboard, 'x', r'home takes no jog steps; first press one of: k \(down\), .* j \(jog\)')
    press(keyboard, 'j', 'jog')
    expect_mode(session, 'jog')

    references: deque[np.ndarray] = deque(maxlen=20)
    session.observer.create_subscription(
        PoseStamped,
        'controller/reference_pose',
        lambda message: references.append(vector_of(message.pose)),
        10,
    )

    def is_at_rest() -> bool:
        """Whether the reference has been still for long enough to be known to the keyboard."""
        return len(references) == 20 and np.ptp(references, axis=0).max() < 1e-9

    def step(key: str, expected: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Press a key; way of the tool in base axes and in its own, and turn in its own."""
        session.observer.spin_until(is_at_rest)
        before, reference = session.tool, references[-1]
        press(keyboard, key, expected)
        session.observer.spin_until(
            lambda: is_at_rest() and np.abs(references[-1] - reference).max() > 1e-4
        )
        way = session.tool.translation - before.translation
        turn = log3(before.rotation.T @ session.tool.rotation)
        return way, before.rotation.T @ way, turn

    near = {'rtol': 0, 'atol': 1e-6}
    way, _, turn = step('x', r'the tool moves along \+x by 10 mm \(base axes\)')
    np.testing.assert_allclose(way, [0.01, 0.0, 0.0], **near)
    np.testing.assert_allclose(turn, 0.0, **near)
    before = session.tool
    way, _, turn = step('W', r'the tool turns about -z by 5 deg \(base axes\)')
    np.testing.assert_allclose(way, 0.0, **near)
    np.testing.assert_allclose(before.rotation @ turn, [0.0, 0.0, -np.radians(5.0)], **near)
    press(keyboard, 't', 'jog in tool axes')
    press(keyboard, '[', 'jog steps of 5 mm, 2 deg')
    _, way, turn = step('Z', r'the tool moves along -z by 5 mm \(tool axes\)')
    np.testing.assert_allclose(way, [0.0, 0.0, -0.005], **near)
    way, _, turn = step('p', r'the tool turns about \+y by 2 deg \(tool axes\)')
    np.testing.assert_allclose(way, 0.0, **near)
    np.testing.assert_allclose(turn, [0.0, np.radians(2.0), 0.0], **near)

    start = len(keyboard.output)
    keyboard.type('-')
    keyboard.type('-')
    keyboard.wait_for('speed scale 0.5', start=start)
    press(keyboard, '+', 'speed scale 0.7')
    request = GetParameters.Request(names=['speed_scale'])
    answer = session.observer.call(GetParameters, 'controller/get_parameters', request)
    assert answer.values[0].double_value == 0.7
    press(keyboard, '+', 'speed scale 1')
    press(keyboard, '+', 'speed scale 1, its limit')

    press(keyboard, 't', 'jog in base axes')
    for _ in range(3):
        keyboard.type(']')
    keyboard.wait_for('jog steps of 50 mm')
    start = len(keyboard.output)
    for _ in range(12):
        keyboard.type('Z')
        session.wait(1.0)
        if 'is refused' in keyboard.output[start:]:
            break
    keyboard.wait_for(r'the step is refused: the (path|goal)\b', start=start)

    press(keyboard, 'h', 'home')
    press(keyboard, 's', 'hold')
    expect_mode(session, 'hold')
    session.wait(1.0)
    assert np.abs(session.state.velocity).max() < 1e-9
    press(keyboard, 'y', 'hold takes no jog steps')
    keyboard.type('q')
    assert keyboard.wait(3.0) == 0


@pytest.mark.slow
def test_down_is_refused_at_the_limit_and_nothing_moves(ros_graph):
    session = Session(ros_graph, bridge_parameters=PACED, composed=True)
    keyboard = session.start_keyboard()
    press(keyboard, 'h', 'home')
    session.wait(2.2)
    start = session.tool.translation[2]
    count, refusal = 0, None
    while not refusal and count < 10:
        seen = len(keyboard.output)
        keyboard.type('k')
        refusal = keyboard.wait_for(r'(?m)^down( refused: .*)?$', start=seen).group(1)
        if not refusal:
            count += 1
            session.wait(2.2)
    assert 3 <= count <= 8
    assert re.search('joint_3|singular', refusal), refusal
    assert session.tool.translation[2] == pytest.approx(start - 0.05 * count, abs=1e-4)
    held = session.position
    session.wait(1.0)
    np.testing.assert_allclose(session.position, held, rtol=0, atol=1e-6)


def scheduled_run(graph, *, under_load: bool = False) -> States:
    """Every state of one scheduled run."""
    session = Session(graph, SCHEDULE, recorded=True)
    load = [subprocess.Popen([sys.executable, '-c', BUSY]) for _ in range(3 * under_load)]
    try:
        states = session.states_until(END)
        seen = session.state
    finally:
        for process in load:
            process.kill()
            process.wait()
    session.bridge.stop(timeout=PATIENCE)
    session.controller.stop(timeout=PATIENCE)
    # What was kept is what was published.
    kept = session.states()
    (index,) = np.flatnonzero(kept.stamp == stamp_of(seen))
    for name in ('position', 'velocity', 'effort'):
        assert getattr(kept, name)[index].tobytes() == getattr(seen, name).tobytes()
    return states


@pytest.mark.slow
def test_two_runs_of_one_schedule_are_the_same_to_the_last_bit(ros_graph, tmp_path):
    quiet = scheduled_run(ros_graph)
    with RosGraph(tmp_path / 'logs') as graph:
        loaded = scheduled_run(graph, under_load=True)
    states = expect_same(quiet, loaded, END)
    # The runs went through every mode: they did not stand still for most of the time.
    assert len(np.unique(states.position, axis=0)) > 0.9 * len(states.stamp)


@pytest.mark.slow
def test_a_controller_that_dies_in_a_motion_leaves_time_standing_and_can_come_back(ros_graph):
    session = Session(ros_graph)
    keyboard = session.start_keyboard()
    press(keyboard, 'h', 'home')
    session.wait(0.8)
    session.controller.close()
    session.observer.settle()
    stopped, effort = session.time, np.array(session.state.effort)
    session.observer.spin_for(0.5)
    assert session.time == stopped

    session.start_controller()
    session.controller.wait_for('new start at .*the first state.*in mode gravity')
    session.observer.spin_until(lambda: session.time > stopped)
    session.wait(0.001)
    # The weight and the speed are the same; only the acceleration of the motion is gone.
    assert np.abs(np.array(session.state.effort) - effort).max() < 10.0
    session.wait(3.0)
    assert np.abs(session.state.velocity).max() < 0.05
    keyboard.wait_for('(?s)has ended|does not answer|quit.*quit')
    press(keyboard, 'h', 'home')
    session.wait(4.0)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_a_reset_is_a_new_start(ros_graph):
    session = Session(ros_graph, "schedule:=['0.1 home']")
    session.wait(3.0)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-4)
    seen = len(session.controller.output)
    answer = session.observer.call(Trigger, 'mujoco_bridge/reset')
    assert answer.success
    session.controller.wait_for('new start at .*another run.*in mode gravity', start=seen)
    before = session.time
    session.wait(1.0)
    assert session.time > before  # time goes on, and the old schedule is not run again
    np.testing.assert_allclose(session.position, 0.0, atol=1e-9)
