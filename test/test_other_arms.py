"""Other arms than the one with six joints, by configuration alone; most over real topics."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from closed_loop import ClosedLoop
from example_robots import PANDA, XARM, needs_example_robots
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import GetParameters
from ros_processes import ICIR_CONTROL, Newest
from sensor_msgs.msg import JointState
from session import PAUSE, Session
from std_srvs.srv import Trigger

from icir_control.app.robot import RobotFiles
from icir_control.dynamics import KinematicTree, load_urdf, root_link, tip_link
from icir_control.errors import ModelError
from icir_control.share import share_directory
from icir_control.simulation import Plant

DATA = Path(__file__).resolve().parent / 'data'


@pytest.mark.slow
def test_the_elbow_of_seven_joints_moves_and_the_tool_stays(ros_graph):
    session = Session(
        ros_graph,
        'schedule:=[0.1 home]',
        robot='gen3_7dof',
        recorded=True,
        composed=True,
    )
    home = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])
    session.observer.spin_until(lambda: np.abs(session.position - home).max() < 1e-9)
    tool = session.tool_at(home)
    answer = session.observer.call(Trigger, 'controller/modes/elbow')
    assert answer.success, answer.message
    begin = session.time
    positions = session.states_until(begin + 4.5).since(begin).position
    for q in positions[:: len(positions) // 100]:
        assert np.linalg.norm(session.tool_at(q).translation - tool.translation) < 1e-6
    assert np.degrees(np.abs(positions[-1] - home)).max() > 20.0


@pytest.mark.long
def test_the_command_line_runs_seven_joints(ros_graph):
    sim = ros_graph.run(
        [*ICIR_CONTROL, 'sim', '--robot', 'gen3_7dof', '--viewer', 'none'], terminal=True
    )
    sim.wait_for(r'(?s)e +elbow.*q +quit')
    sim.wait_for('nv = 7')
    sim.wait_for('in mode gravity')
    sim.type('h')
    sim.wait_for('(?m)^home$')
    sim.type('q')
    assert sim.wait(3.0) == 0


HAND = DATA / 'arm_with_hand.urdf'


@pytest.mark.slow
def test_an_arm_within_a_robot_runs_by_its_urdf_alone(ros_graph, tmp_path):
    """Fingers and a camera are held, limits of effort that the URDF lacks are given."""
    text = HAND.read_text().replace('iyy="0.04" izz="0.005"', 'iyy="0.01" izz="0.1"')
    (tmp_path / 'impossible.urdf').write_text(text)
    options = ['--model', 'package://arms/impossible.urdf', '--package-dir', str(tmp_path)]
    options += ['--viewer', 'none', '--real-time-factor', '3']
    refused = ros_graph.run([*ICIR_CONTROL, 'sim', *options, '--lock', 'pan=0.5'], terminal=True)
    refused.wait_for(
        'gives swivel .line [0-9]+., shoulder .line [0-9]+. an effort of 0.*--default-effort'
    )
    assert refused.wait(20.0) != 0
    sim = ros_graph.run(
        [*ICIR_CONTROL, 'sim', *options, '--lock', 'pan=0.5', '--lock', 'finger_1=0.02']
        + ['--default-effort', '80', '--base-frame', 'stand', '--repair'],
        terminal=True,
    )
    sim.wait_for("'shoulder' moves .*: repaired to 0.035, 0.065, 0.1 kg m")
    sim.wait_for('held, because .*pan=0.5, finger_1=0.02, finger_2=-0.1')
    sim.wait_for(r'(?s)home +joint.*q +quit')
    observer = ros_graph.observer()
    observer.pause = PAUSE
    states = Newest(observer, JointState, 'joint_states')
    poses = Newest(observer, PoseStamped, 'controller/current_pose')
    observer.spin_until(lambda: states.has_arrived() and poses.has_arrived())
    assert list(states.message.name) == ['swivel', 'shoulder', 'elbow', 'roll', 'bend', 'turn']
    assert poses.message.header.frame_id == 'stand'

    def press(keys: str, words: str) -> None:
        start = len(sim.output)
        sim.type(keys)
        sim.wait_for(f'(?m)^{words}', start=start)

    # The arm is stretched upwards, where no step of the tool is possible.
    press('j', 'jog$')
    press('z', 'single joints may still move: select one by 1 to 9')
    press('9', 'there is no joint 9; the last is 6, turn')
    press('3', 'joint 3 is elbow')
    for key, sign in ('.', ''), (',', '-'):
        goal = states.message.position[2] + np.radians(float(f'{sign}5'))
        press(key, f'elbow moves by {sign}5 deg')
        # A step begins at the newest reference, which is to be at rest.
        observer.spin_until(
            lambda goal=goal: (
                abs(states.message.position[2] - goal) < 1e-4
                and np.abs(states.message.velocity).max() < 1e-9
            )
        )
        observer.settle()
    press('h', 'home$')
    sim.type('q')
    assert sim.wait(3.0) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ('urdf', 'options', 'base'),
    [
        pytest.param(DATA / 'six_axis.urdf', (), 'pedestal', id='six axes'),
        pytest.param(
            DATA / 'coupled_arm.urdf', (), 'pedestal', id='mimic joints', marks=pytest.mark.long
        ),
        pytest.param(
            XARM,
            ('--end-effector-frame', 'link7'),
            'world',
            id='xarm7',
            marks=needs_example_robots,
        ),
    ],
)
def test_any_serial_arm_runs_by_its_urdf_alone(ros_graph, urdf, options, base):
    """Home is in the middle of the limits; there the tool is jogged, held softly and stopped."""
    sim = ros_graph.run(
        [*ICIR_CONTROL, 'sim', '--model', str(urdf), '--viewer', 'none', *options]
        + ['--real-time-factor', '3'],
        terminal=True,
    )
    sim.wait_for(r'(?s)home +joint.*q +quit')
    observer = ros_graph.observer()
    observer.pause = PAUSE
    states = Newest(observer, JointState, 'joint_states')
    poses: list[PoseStamped] = []
    observer.create_subscription(PoseStamped, 'controller/current_pose', poses.append, 1)
    observer.spin_until(lambda: states.has_arrived() and poses)

    def press(key: str, words: str) -> None:
        start = len(sim.output)
        sim.type(key)
        sim.wait_for(f'(?m)^{words}', start=start)

    def position() -> np.ndarray:
        p = poses[-1].pose.position
        return np.array([p.x, p.y, p.z])

    chain = KinematicTree(urdf).chain(end_effector_frame=options[1] if options else '')
    model = load_urdf(urdf, locked=chain.held)
    limits = np.array([model.lower_position_limit, model.upper_position_limit])
    middle = np.where(np.isfinite(limits).all(axis=0), limits, 0.0).mean(axis=0)
    press('h', 'home$')
    observer.spin_until(
        lambda: np.abs(np.array(states.message.position) - middle).max() < 1e-9, 60.0
    )
    assert tuple(states.message.name) == model.joint_names
    assert poses[-1].header.frame_id == base
    press('j', 'jog$')
    poses.clear()
    observer.spin_until(lambda: len(poses) > 2)
    before = position()
    press('x', r'the tool moves along \+x by 10 mm')
    goal = before + [0.01, 0.0, 0.0]
    observer.spin_until(lambda: np.abs(position() - goal).max() < 1e-6, 20.0)
    for key, mode in {'i': 'impedance', 'v': 'float', 's': 'hold'}.items():
        press(key, f'{mode}$')
    observer.spin_until(lambda: np.abs(np.array(states.message.velocity)).max() < 1e-6, 20.0)
    np.testing.assert_allclose(position(), goal, rtol=0, atol=0.01)
    sim.type('q')
    assert sim.wait(3.0) == 0


ANY_ARM_MODES = ['gravity', 'home', 'ready', 'down', 'float', 'impedance', 'jog', 'hold']


@pytest.mark.slow
@pytest.mark.parametrize(
    ('urdf', 'modes'),
    [
        (DATA / 'six_axis.urdf', ANY_ARM_MODES),
        (share_directory() / 'urdf' / 'gen3_7dof.urdf', None),
    ],
    ids=['any arm', 'one that ships'],
)
def test_the_nodes_take_what_ships_for_a_model_that_is_given_alone(ros_graph, urdf, modes):
    arguments = ('--ros-args', '-p', f'model:={urdf}')
    controller = ros_graph.start('controller', *arguments)
    bridge = ros_graph.start('bridge', *arguments, '-p', 'viewer:=none')
    controller.wait_for('new start at .*in mode gravity')
    observer = ros_graph.observer()
    request = GetParameters.Request(names=['mode_names'])
    answer = observer.call(GetParameters, 'controller/get_parameters', request)
    shipped = yaml.safe_load((share_directory() / 'config' / 'gen3_7dof.yaml').read_text())
    expected = modes or shipped['/**/controller']['ros__parameters']['mode_names']
    assert list(answer.values[0].string_array_value) == expected
    assert observer.call(Trigger, 'controller/modes/home').success
    assert bridge.running


def test_the_ends_of_an_arm_are_found_where_it_has_two():
    arm = load_urdf(DATA / 'six_axis.urdf')
    assert (root_link(arm), tip_link(arm)) == ('pedestal', 'nozzle')
    with pytest.raises(ModelError, match='name one as end_effector_frame: .*right_tool'):
        tip_link(load_urdf(DATA / 'branching.urdf'))


@needs_example_robots
@pytest.mark.parametrize('seed', [0, 2])
def test_noise_is_no_friction(seed):
    """Where joints are coupled more, the estimate of one has the noise of all in it."""
    panda = RobotFiles.of(model=str(PANDA), end_effector_frame='panda_hand', default_effort=100.0)
    plant = Plant(velocity_noise=5e-3, noise_seed=seed)
    gains, duration = [2500.0] * 7, 1.5
    loop = ClosedLoop(
        robot=panda,
        start=None,
        plant=plant,
        joint_gains__kp=gains,
        modes__home__duration=duration,
    )
    loop.go('home', 2.5)
    way = [-0.41, -0.26, 0.3, 0.08, -0.4, -0.07, -0.02]
    loop.controller.set_target_joints(loop.controller.position_reference + way)
    log = loop.run(2000)
    assert np.abs(log['position_reference'] - log['position']).max() < 1.5e-4
