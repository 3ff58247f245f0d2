"""The bridge as a process of its own, commanded and watched over topics."""

import itertools
import signal
import sys
import time

import numpy as np
import pytest
from bridge_client import NAMES, NANOSECONDS, BridgeClient, nanoseconds, rows, start_bridge
from broken_bytes import broken_copies
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from ros_processes import RosGraph
from std_srvs.srv import Trigger
from wall_time import Stopwatch

from icir_control.nodes.bridge.gate import MAX_LAG
from icir_control.share import share_directory
from icir_control.simulation import World

MS = 1_000_000
URDF = share_directory() / 'urdf' / 'gen3_6dof.urdf'


@pytest.fixture(scope='module')
def bridge(tmp_path_factory):
    """A bridge in lockstep, as fast as possible, for all tests that need no other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with RosGraph(tmp_path_factory.mktemp('logs')) as graph:
            process = start_bridge(graph, 'real_time_factor:=0.0', 'external_wrench_hold:=0.05')
            client = BridgeClient(graph)
            client.process, client.graph = process, graph
            yield client.connect(process)
            assert process.running, process.output


@pytest.fixture
def client(bridge):
    """The shared bridge in its first state after a reset, running."""
    bridge.pause(False)
    before = bridge.state.header.frame_id
    bridge.reset()
    # A state from before may still be on its way.
    bridge.node.spin_until(lambda: bridge.state.header.frame_id != before)
    bridge.states[:] = bridge.states[-1:]
    return bridge


def set_parameters(client, **values):
    """Set parameters of the bridge, all or none; the answer."""
    request = SetParametersAtomically.Request(
        parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
    )
    return client.node.call(
        SetParametersAtomically, 'mujoco_bridge/set_parameters_atomically', request
    ).result


def test_time_stands_still_until_the_first_command(client):
    client.expect_standstill()
    stamp = client.stamp
    state = client.step()
    assert nanoseconds(state.header.stamp) - stamp == MS
    client.expect_standstill()


def test_names_count_and_not_their_order(client):
    efforts = dict(zip(NAMES, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True))
    before = client.state
    names = ['joint_4', 'joint_1', 'joint_6', 'joint_2', 'joint_5', 'joint_3']
    client.send(client.command(before, [efforts[name] for name in names], name=names))
    client.node.spin_until(lambda: client.state.header != before.header)
    assert dict(zip(client.state.name, client.state.effort, strict=True)) == efforts


def wrong_commands(client):
    """Commands that answer the present state wrongly, by the kind under which they count."""
    state = client.state
    nan, short = (0, 0, float('nan'), 0, 0, 0), (0.0,) * 5
    future, late = client.command(state), client.command(state)
    future.header.stamp.sec += 1
    late.header.stamp.nanosec -= 2 * MS
    other = client.command(state)
    other.header.frame_id = '0123456789abcdef'
    return {
        'not_finite': client.command(state, nan),
        'wrong_length': client.command(state, short),
        'unknown_name': client.command(state, name=[*NAMES[:5], 'gripper']),
        'missing_name': client.command(state, short, name=NAMES[:5]),
        'repeated_name': client.command(state, name=[*NAMES[:5], 'joint_1']),
        'too_long': client.command(state, name=[*NAMES, 'x' * 200_000]),
        'future': future,
        'late': late,
        'other_run': other,
    }


@pytest.mark.slow
def test_a_wrong_command_is_counted_and_moves_nothing(client):
    for _ in range(5):
        client.step()
    header = client.state.header
    before, missing = client.counts(), wrong_commands(client)
    # Best effort: one that was lost is sent again.
    for _ in range(10):
        for message in missing.values():
            client.send(message)
            client.node.spin_for(0.02)
        counts = client.counts()
        for kind in list(missing):
            if counts.get(f'rejected.{kind}', '0') != before.get(f'rejected.{kind}', '0'):
                del missing[kind]
        if not missing:
            break
    assert not missing
    client.send(client.command(client.state, name=[*NAMES[:5], 'gripper']))
    status = client.wait_for_status(
        "/client does not answer on /joint_commands; rejected: joint 'gr"
    )
    assert status.level == b'\1'
    # So long that the network may lose a part of it.
    client.send(client.command(client.state, name=['x' * 1_000_000]))
    client.expect_standstill(0.15)
    assert client.state.header == header
    state = client.step([1.0] * 6)
    assert list(state.effort) == [1.0] * 6


@pytest.mark.slow
def test_bytes_that_are_no_command_are_counted_and_the_loop_goes_on(client):
    before = int(client.counts().get('rejected.undecodable', 0))
    for raw in broken_copies(client.command(client.state)):
        client.commands.publish(raw)
        client.node.spin_for(0.003)
    client.expect_standstill(0.15)
    assert int(client.counts()['rejected.undecodable']) > before
    assert list(client.step([1.0] * 6).effort) == [1.0] * 6
    # Broken ones between good ones, too: each good one is taken.
    for raw in broken_copies(client.command(client.state))[::5]:
        client.commands.publish(raw)
        client.step()


def test_one_state_takes_one_command(client):
    state = client.state
    client.step([1.0] * 6)
    before = int(client.counts().get('rejected.duplicate', 0))
    # Best effort, and counts that may be those of just before: sent again until it is counted.
    sent = counted = 0
    while not counted and sent < 10:
        client.send(client.command(state, [2.0] * 6))
        sent += 1
        client.expect_standstill(0.15)
        counted = int(client.counts().get('rejected.duplicate', 0)) - before
    assert 1 <= counted <= sent
    assert list(client.step([3.0] * 6).effort) == [3.0] * 6


def test_torques_beyond_the_limits_are_cut_and_counted(client):
    before = int(client.counts()['saturated'])
    assert list(client.step([50.0, -50.0, 39.0, 9.0, -9.5, 9.5]).effort) == [
        39.0,
        -39.0,
        39.0,
        9.0,
        -9.0,
        9.0,
    ]
    client.step([39.0, -39.0, 39.0, 9.0, -9.0, 9.0])
    assert int(client.counts()['saturated']) == before + 1


def law(world, position, velocity):
    """Carry the weight and brake a little: enough to be moved by a push, and to come to rest."""
    return world.bias(position, velocity) - np.array([4, 4, 4, 1, 1, 1]) * np.asarray(velocity)


def lockstep_run(client, world, steps):
    """Answer `steps` states by the law; all states from the present one on."""
    states = [client.state]
    for _ in range(steps):
        states.append(client.step(law(world, states[-1].position, states[-1].velocity)))
    return states


def test_two_runs_are_the_plant_itself_to_the_last_bit(client):
    world = World(URDF, joint_names=NAMES, end_effector_frame='end_effector_link')
    force, first, hold, steps = (3.0, 20.0, -5.0), 40, 50, 150
    runs = []
    for _ in range(2):
        client.reset()
        client.node.spin_until(lambda: not np.any(client.state.velocity))
        client.node.settle()
        begin = client.stamp
        client.push('bracelet_link', force, begin + first * MS)
        client.node.settle()  # time stands still until the wrench has arrived
        runs.append(rows(lockstep_run(client, world, steps)))
    assert np.array_equal(*runs)

    out = np.zeros((3, 6))
    alone = []
    for step in range(steps + 1):
        world.read(*out)
        alone.append(out.reshape(-1).copy())
        if step == first:
            world.push('bracelet_link', [*force, 0, 0, 0])
        if step == first + hold:
            world.clear_push('bracelet_link')
        world.step(law(world, out[0], out[1]))
    assert np.array_equal(runs[0], alone)
    assert np.abs(runs[0][first + hold, 6:12]).max() > 0.1


@pytest.mark.slow
def test_wrenches_that_make_no_sense_are_refused(client):
    before = client.counts()
    for link, force, stamp in (
        ('gripper', (1, 0, 0), 0),
        ('base_link', (1, 0, 0), 0),  # it cannot move
        ('bracelet_link', (float('inf'), 0, 0), 0),
        ('bracelet_link', (1, 0, 0), time.time_ns()),
    ):
        client.push(link, force, stamp)
    refusals = {'unknown_link': 2, 'not_finite': 1, 'wall_clock': 1}
    wanted = {
        key: int(before.get(key, 0)) + count
        for kind, count in refusals.items()
        for key in (f'rejected.wrench.{kind}',)
    }
    client.node.spin_until(
        lambda: {key: int(client.counts().get(key, 0)) for key in wanted} == wanted
    )
    assert 'that moves; valid frame_id: bicep_link, bracelet_link' in client.process.output
    assert 'a stamp of zero means now' in client.process.output


def test_pause_step_and_resume(client):
    client.step()
    assert client.pause(True).message == 'paused'
    assert client.pause(True).message == 'already paused'
    # The answer comes, and waits for the step.
    stamp = client.stamp
    client.send(client.command(client.state, [1.0] * 6))
    client.expect_standstill()
    answer = client.ask_step()
    assert answer.success
    assert 'one control period' in answer.message
    client.node.spin_until(lambda: client.stamp == stamp + MS)
    client.expect_standstill()
    assert client.wait_for_status('paused').level == b'\0'
    # Nobody answers this state.
    watch = Stopwatch()
    refused = client.ask_step()
    assert not refused.success
    assert refused.message == 'no command within 0.5 s'
    assert watch.wall > 0.4
    assert watch.own < 5.0
    assert client.stamp == stamp + MS
    # What is wrong comes first in the sentence; that it is paused has a value of its own.
    client.node.spin_until(lambda: client.counts().get('paused') == 'True')
    client.pause(False)
    client.step()
    client.node.spin_until(lambda: client.counts().get('paused') == 'False')


def test_a_step_needs_a_pause(client):
    answer = client.ask_step()
    assert not answer.success
    assert 'pause' in answer.message


def test_reset_goes_back_in_space_and_not_in_time(client):
    for _ in range(3):
        client.step([5.0] * 6)
    stamp, token = client.stamp, client.state.header.frame_id
    late = client.command(client.state)
    assert client.reset().success
    client.node.spin_until(lambda: client.state.header.frame_id != token)
    assert client.stamp == stamp
    assert list(client.state.position) == [0.0] * 6
    assert list(client.state.velocity) == [0.0] * 6
    client.send(late)
    client.expect_standstill()
    client.step()


def test_the_initial_configuration_counts_at_a_reset(client):
    degrees = [0.0, 45.0, 90.0, 0.0, 45.0, -90.0]
    assert set_parameters(client, initial_configuration_deg=degrees).successful
    client.expect_standstill(0.15)
    assert list(client.state.position) == [0.0] * 6
    client.reset()
    client.node.spin_until(lambda: any(client.state.position))
    assert np.array_equal(client.state.position, np.deg2rad(degrees))
    assert set_parameters(client, initial_configuration_deg=[0] * 6).successful


@pytest.mark.parametrize(
    ('values', 'words'),
    [
        (
            {'real_time_factor': -1.0},
            'real_time_factor = -1.0 is not valid; expected a finite number, at least 0',
        ),
        (
            {'real_time_factor': 2.0, 'external_wrench_hold': -1.0},
            'external_wrench_hold out of range',
        ),
        ({'initial_configuration_deg': [0.0] * 5}, '6 finite numbers'),
        ({'initial_configuration_deg': [0.0, 180.0, 0.0, 0.0, 0.0, 0.0]}, 'at joint_2'),
        ({'lockstep': False}, 'read-only'),
        ({'plant.mass_scale': 1.1}, 'read-only'),
    ],
)
def test_a_wrong_parameter_is_refused_while_running(client, values, words):
    answer = set_parameters(client, **values)
    assert not answer.successful
    assert words in answer.reason
    request = GetParameters.Request(names=['real_time_factor', 'external_wrench_hold'])
    held = client.node.call(GetParameters, 'mujoco_bridge/get_parameters', request).values
    assert [value.double_value for value in held] == [0.0, 0.05]


@pytest.mark.slow
def test_divergence_is_named_and_ends_with_a_reset(client):
    client.push('forearm_link', (1e30, 0, 0))
    client.node.settle()
    client.send(client.command(client.state))
    status = client.wait_for_status('diverged')
    assert status.level == b'\2'
    assert "'joint_" in status.message
    client.expect_standstill()
    client.send(client.command(client.state))
    client.expect_standstill()
    assert np.isfinite(rows([client.state])).all()
    assert int(client.counts()['divergences']) == 1
    token = client.state.header.frame_id
    client.reset()
    client.node.spin_until(lambda: client.state.header.frame_id != token)
    client.step()


@pytest.mark.slow
def test_a_second_commander_is_named_and_time_stands_still(client):
    client.step()
    other = BridgeClient(client.graph, '/other')
    duplicate = other.node.create_publisher(type(client.state), '/joint_commands', 1)
    status = client.wait_for_status('several publishers: /client, /other/client_other;')
    assert status.level == b'\2'
    assert 'namespace:=' in status.message
    assert 'ROS_DOMAIN_ID' in status.message
    for publisher in (client.commands, duplicate):
        publisher.publish(client.command(client.state))
        client.expect_standstill()
    other.node.destroy_publisher(duplicate)
    client.wait_for_status('/client does not answer')
    client.step()


@pytest.mark.slow
def test_a_killed_commander_is_no_duplicate(client):
    code = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('victim')
publisher = node.create_publisher(JointState, '/joint_commands', 1)
rclpy.spin(node)
"""
    victim = client.graph.run([sys.executable, '-c', code])
    client.wait_for_status('several publishers: /client, /victim;')
    victim.stop(signal.SIGKILL)
    watch = Stopwatch()
    client.wait_for_status('/client does not answer')
    assert watch.own < 5.0  # the graph itself takes 20 s to forget it
    client.step()


def test_the_clock_is_slow_and_never_goes_back(client):
    client.clocks.clear()
    client.clocks_published.clear()
    watch = Stopwatch()
    steps = 0
    while watch.wall < 1.0 or steps <= 150 or len(client.clocks) <= 20:
        assert not watch.is_over(10.0), (steps, len(client.clocks))
        client.step()
        steps += 1
    client.reset()
    client.step()
    client.node.spin_until(lambda: client.clocks[-1] == client.stamp)
    # By when they were sent: on a busy machine many arrive at once.
    wall = (client.clocks_published[-1] - client.clocks_published[0]) / NANOSECONDS
    assert len(client.clocks) <= 100 * wall + 2
    assert all(a <= b for a, b in itertools.pairwise(client.clocks))


@pytest.mark.slow
def test_who_is_missing_is_said(ros_graph):
    process = start_bridge(ros_graph, 'command_timeout:=0.3', 'plant.mass_scale:=1.1')
    process.wait_for(r'gen3_6dof: nq 6, timestep 0.001 s, in lockstep, 1 times real time')
    process.wait_for(r'the plant differs from the model: plant.mass_scale = 1.1')
    process.wait_for(r'no command for 0.3 s: no node publishes /joint_commands')
    client = BridgeClient(ros_graph).connect(process)
    assert client.wait_for_status('/client does not answer on /joint_commands').level == b'\1'
    assert client.counts()['plant.mass_scale'] == '1.1'
    client.step()
    process.wait_for('commands are back')
    assert process.stop(timeout=3.0) == 0
    assert 'Traceback' not in process.output


@pytest.mark.long
def test_a_controller_that_compiles_is_starting_and_a_killed_one_is_not(ros_graph, tmp_path):
    names = ('-r', '__ns:=/left', '-r', 'joint_commands:=torques')
    process = start_bridge(ros_graph, 'command_timeout:=0.3', remap=names)
    process.wait_for('no command for 0.3 s: no node publishes /left/torques; time stands still')
    controller = ros_graph.start(
        'controller',
        *('--ros-args', *names, '-r', '__node:=renamed'),
        # A cache of its own is empty: the kernels of the laws take many seconds.
        environment={'NUMBA_CACHE_DIR': str(tmp_path)},
    )
    controller.wait_for(r'compiling .*first start on this machine only.*1 of')
    process.wait_for(
        'no command for 0.3 s: /left/renamed is starting, and does not subscribe to'
        ' /left/joint_states yet .* compiles'
    )
    assert 'ready' not in controller.output
    start = len(process.output)
    controller.send(signal.SIGKILL)
    process.wait_for('no node publishes /left/torques', start=start)


def answer_for(client, seconds, effort=(0.0,) * 6):
    """Answer every state for a while; how much simulated time went by [s], and a watch for it."""
    watch, first = Stopwatch(), client.stamp
    answered = None
    while watch.wall < seconds:
        if client.state.header != answered:
            answered = client.state.header
            client.send(client.command(client.state, effort))
        client.node.spin_until(lambda header=answered: client.state.header != header, timeout=5.0)
    return (client.stamp - first) * 1e-9, watch


SLOWED = 0.7  # what the client's own work may leave of the pace


@pytest.mark.slow
def test_the_pace_holds_and_can_be_changed(ros_graph):
    # Steps long enough for a client that goes through an executor, on a busy machine.
    process = start_bridge(ros_graph, 'timestep:=0.01', 'real_time_factor:=0.5')
    client = BridgeClient(ros_graph).connect(process)
    answer_for(client, 0.1)
    simulated, watch = answer_for(client, 1.5)
    # Slower by as much as the client is late; never faster, but to catch up with a little.
    assert 0.5 * SLOWED * watch.own < simulated < 0.5 * (watch.wall + MAX_LAG) + 0.02
    assert set_parameters(client, real_time_factor=1).successful
    simulated, watch = answer_for(client, 1.5)
    assert 1.0 * SLOWED * watch.own < simulated < watch.wall + MAX_LAG + 0.02
    # A controller that comes late: time stands still, and what was lost is not hurried after.
    client.node.spin_for(0.5)
    simulated, watch = answer_for(client, 0.5)
    assert simulated < watch.wall + MAX_LAG + 0.02


@pytest.mark.slow
def test_free_running_brakes_without_commands_and_goes_on_with_them(ros_graph):
    options = ('lockstep:=false', 'timestep:=0.005', 'command_timeout:=0.2')
    # Slow at first: on a busy machine commands come late.
    process = start_bridge(ros_graph, *options, 'real_time_factor:=0.25')
    client = BridgeClient(ros_graph).connect(process)
    client.expect_standstill()
    # Swing the arm, then send nothing.
    while client.stamp < 400 * MS:
        answer_for(client, 0.1, (10.0, 5.0, 5.0, 2.0, 2.0, 2.0))
    last = client.stamp
    assert np.abs(client.state.velocity).max() > 0.5
    assert set_parameters(client, real_time_factor=1.0).successful
    process.wait_for('no command for 0.2 s: /client does not answer .*; the arm is braked')
    client.node.spin_until(lambda: client.stamp > last + 1200 * MS)
    after = {nanoseconds(s.header.stamp) - last: s for s in client.states}
    held = [s for age, s in after.items() if 20 * MS < age <= 190 * MS]
    assert {tuple(state.effort) for state in held} == {(10.0, 5.0, 5.0, 2.0, 2.0, 2.0)}
    braked = [s for age, s in after.items() if age > 260 * MS]
    limits = np.array([39, 39, 39, 9, 9, 9])
    assert (np.abs(rows(braked)[:, 12:]) <= limits).all()
    calm = [s for age, s in after.items() if age > 720 * MS]
    assert np.abs(rows(calm)[:, 6:12]).max() < 0.05
    assert set_parameters(client, real_time_factor=0.25).successful
    count, watch = len(client.states), Stopwatch()
    while (1.0, 0.0, 0.0, 0.0, 0.0, 0.0) not in {tuple(s.effort) for s in client.states[count:]}:
        assert not watch.is_over(5.0)
        answer_for(client, 0.2, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    process.wait_for('commands are back')
    counts = client.counts()
    assert int(counts['missed']) > 100
    # A second commander: the newest command does not count any more.
    other = BridgeClient(ros_graph, '/other')
    duplicate = other.node.create_publisher(type(client.state), '/joint_commands', 1)
    client.wait_for_status('several publishers')
    assert set_parameters(client, real_time_factor=1.0).successful
    stamp = client.stamp
    while client.stamp <= stamp + 200 * MS:
        answer_for(client, 0.3, (10.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert (10.0, 0.0, 0.0, 0.0, 0.0, 0.0) not in {tuple(s.effort) for s in client.states[-20:]}
    other.node.destroy_publisher(duplicate)


@pytest.mark.slow
def test_a_namespace_moves_everything_but_the_clock(ros_graph):
    process = start_bridge(ros_graph, 'publish_clock:=false', remap=('-r', '__ns:=/left'))
    client = BridgeClient(ros_graph, '/left').connect(process)
    for _ in range(3):
        client.step()
    assert client.reset().success
    assert client.counts()['simulation_time'] == '0.003'
    assert not client.clocks


@pytest.mark.slow
def test_a_diverged_world_resets_itself_where_that_is_asked_for(ros_graph):
    process = start_bridge(ros_graph, 'on_divergence:=reset', 'real_time_factor:=0')
    client = BridgeClient(ros_graph).connect(process)
    token = client.state.header.frame_id
    client.push('forearm_link', (1e30, 0, 0), 3 * MS)
    client.node.settle()
    for _ in range(3):
        client.step()
    client.send(client.command(client.state))
    client.node.spin_until(lambda: client.state.header.frame_id != token)
    assert list(client.state.position) == [0.0] * 6
    assert client.stamp == 3 * MS
    client.step()


@pytest.mark.slow
def test_a_start_that_compiles_is_stopped_in_time(ros_graph, tmp_path):
    # A cache of its own is empty: the kernels of the comparison take seconds.
    cache = {'NUMBA_CACHE_DIR': str(tmp_path)}
    process = ros_graph.start('bridge', '--ros-args', environment=cache)
    watch = Stopwatch()
    while not any(tmp_path.rglob('*.nbi')):
        assert process.running, process.output
        assert not watch.is_over(60.0)
        time.sleep(0.02)
    assert process.stop(signal.SIGTERM, timeout=3.0) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ('parameters', 'words'),
    [
        (('timestep:=-0.001',), 'timestep = -0.001 is not valid; expected a finite number'),
        (('lockstep:=false', 'real_time_factor:=0'), 'real_time_factor = 0.0 is not valid with'),
        (('model:=nowhere.urdf',), "model = 'nowhere.urdf' is not valid"),
        (('end_effector_frame:=tool',), "end_effector_frame = 'tool' is not a frame"),
        (('plant.delay_stepps:=1',), 'did you mean plant.delay_steps?'),
    ],
)
def test_wrong_parameters_end_the_process_with_one_line(ros_graph, parameters, words):
    process = start_bridge(ros_graph, *parameters)
    assert process.wait() == 2
    *_, last = process.output.strip().splitlines()
    assert last.startswith('mujoco_bridge: ')
    assert words in last
    assert 'Traceback' not in process.output


def test_damping_of_the_urdf_is_in_model_and_plant(ros_graph, tmp_path):
    urdf = tmp_path / 'damped.urdf'
    text = URDF.read_text()
    place = text.index('<limit', text.index('name="joint_3"'))
    urdf.write_text(text[:place] + '<dynamics damping="0.25"/>' + text[place:])
    process = start_bridge(ros_graph, f'model:={urdf}')
    process.wait_for('dynamics model and MuJoCo agree')
    assert process.stop() == 0


def test_the_services_are_those_that_were_promised(client):
    names = dict(client.node.get_service_names_and_types())
    assert names['/mujoco_bridge/pause'] == ['std_srvs/srv/SetBool']
    assert names['/mujoco_bridge/step'] == ['std_srvs/srv/Trigger']
    assert names['/mujoco_bridge/reset'] == ['std_srvs/srv/Trigger']
    assert client.node.call(Trigger, 'mujoco_bridge/reset').success


@pytest.mark.slow
def test_a_tiny_pace_makes_the_bridge_neither_deaf_nor_dead(ros_graph):
    process = start_bridge(ros_graph, 'real_time_factor:=1e-13')
    client = BridgeClient(ros_graph).connect(process)
    for _ in range(3):
        client.counts()  # each once a second, of wall time
    assert process.stop() == 0
