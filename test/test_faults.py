"""What goes wrong in a laboratory: nodes die or hang, other nodes publish, nothing can be written.

Each fault happens to real processes. `make test` lets it happen once, `make test-long` 20 times.
"""

import os
import signal
import socket
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from bridge_client import nanoseconds
from broken_bytes import broken_copies
from diagnostic_msgs.msg import DiagnosticArray
from ros_processes import Process
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from session import Session
from state_source import HOME, stamp_of
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from wall_time import Stopwatch

from icir_control.dynamics import compute_all_terms, load_urdf
from icir_control.share import share_directory

URDF = share_directory() / 'urdf' / 'gen3_6dof.urdf'
LIMITS = np.array([39.0, 39.0, 39.0, 9.0, 9.0, 9.0])  # N m
DAMPING_RATE = 2.0  # 1/s, of the mode gravity as it is shipped
PACED = ('real_time_factor:=3.0',)
HOMEWARD = 2.0  # s: the motion home takes so long
TIMEOUT = 0.2  # s, of commands when free-running: short, so that the arm stays off its limits
FREE_RUNNING = ('real_time_factor:=1.0', 'lockstep:=false', f'command_timeout:={TIMEOUT}')
# Gains that stand commands which come late, as they do on a busy machine.
SOFT = 'joint_gains.kp:=[400.0, 400.0, 400.0, 400.0, 400.0, 400.0]'
TIMES = [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 20))]
# How long a process hangs [s].
HANGS = [1.2, pytest.param(5.0, marks=pytest.mark.long)]


@pytest.fixture(autouse=True, params=TIMES)
def time_of_20(request) -> int:
    """Have every test run once, or 20 times."""
    return request.param


def moving(graph, bridge_parameters: tuple[str, ...], *parameters: str) -> Session:
    """A session in the middle of the motion home, at full speed."""
    gains = [SOFT] if bridge_parameters is FREE_RUNNING else []
    session = Session(
        graph, *gains, *parameters, bridge_parameters=bridge_parameters, recorded=True
    )
    session.wait(0.05)
    for _ in range(3):
        assert session.observer.call(Trigger, 'controller/modes/home').success
        asked = session.time
        session.wait(0.9)
        # One who sees few states may see the end only, and a controller that is late has hardly
        # begun: on a busy machine both are.
        while session.time < asked + 0.9 * HOMEWARD:
            if np.abs(session.state.velocity).max() > 0.5:
                return session
            session.wait(0.0)
        assert session.observer.call(Trigger, 'controller/modes/ready').success
        session.wait(2.5)
    raise AssertionError('the motion home was never seen')


def expect_home(session: Session, tries: int = 1) -> None:
    """Check that the session can still be worked with.

    Args:
        session: Of two nodes.
        tries: How often the arm is sent home: against the clock, a machine that holds a node up
            for longer than the timeout ends a motion.
    """
    while True:
        # The service of a controller that was killed is there for a while, and answers nobody.
        try:
            answer = session.observer.call(Trigger, 'controller/modes/home', timeout=3.0)
        except AssertionError:
            continue
        break
    assert answer.success
    session.wait(2.5)
    if tries > 1 and np.abs(session.position - HOME).max() > 0.01:
        expect_home(session, tries - 1)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=0.01)


def expect_standstill(session: Session, seconds: float = 0.4) -> None:
    session.observer.settle()
    before = session.state
    session.observer.spin_for(seconds)
    assert session.state == before


def expect_continuation(session: Session, tolerance: float = 1e-4) -> None:
    """Check that the motion ends where it is meant to end: nothing of it was lost."""
    session.wait(1.5)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=tolerance)


def expect_braked(session: Session, stopped_at: float) -> None:
    """Check the brake: calm half a second after the timeout, within the limits all the time."""
    states = session.states_until(stopped_at + TIMEOUT + 0.7).since(stopped_at)
    session.bridge.wait_for('no command for 0.2 s: .*; the arm is braked')
    calm = states.since(stopped_at + TIMEOUT + 0.5)
    assert len(calm.stamp) >= 200
    assert (np.abs(states.effort) <= LIMITS).all()
    assert np.abs(calm.velocity).max() < 0.05


def test_lockstep_stands_while_the_controller_is_dead_and_goes_on_without_a_jump(ros_graph):
    # Below the speed at which the drag at the velocity limits begins.
    session = moving(ros_graph, PACED, 'speed_scale:=0.8')
    session.controller.send(signal.SIGKILL)
    expect_standstill(session)
    session.bridge.wait_for('no command for 0.5 s: .*; time stands still')
    pause = SetBool.Request(data=True)
    assert session.observer.call(SetBool, 'mujoco_bridge/pause', pause).success
    stopped = session.state

    session.start_controller()
    session.controller.wait_for('new start at .*the first state.*in mode gravity')
    session.bridge.wait_for('commands are back')
    assert session.observer.call(Trigger, 'mujoco_bridge/step').success
    session.observer.spin_until(lambda: stamp_of(session.state) > stamp_of(stopped))
    assert stamp_of(session.state) == stamp_of(stopped) + 1_000_000
    # The state is the same, and so are weight and Coriolis forces: of the torque, only the part
    # goes that accelerated the arm along the motion, and the one comes that brings it to rest.
    model = load_urdf(URDF)
    data = model.create_data()
    velocity = np.array(stopped.velocity)
    compute_all_terms(model, data, np.array(stopped.position), velocity)
    expected = data.nle - DAMPING_RATE * data.M @ velocity
    np.testing.assert_allclose(session.state.effort, expected, rtol=0, atol=1e-6)
    # The greatest acceleration of a cubic of 2 s.
    fastest = 6.0 * np.abs(HOME) / 2.0**2  # rad/s^2
    jump = np.abs(np.array(session.state.effort) - stopped.effort)
    assert (jump <= np.abs(data.M) @ (fastest + DAMPING_RATE * np.abs(velocity)) + 1e-6).all()

    assert session.observer.call(SetBool, 'mujoco_bridge/pause').success
    expect_home(session)


@pytest.mark.slow
def test_free_running_brakes_while_the_controller_is_dead(ros_graph):
    session = moving(ros_graph, FREE_RUNNING)
    session.controller.send(signal.SIGKILL)
    session.controller.wait()
    session.wait(0.0)
    expect_braked(session, session.time)
    session.start_controller()
    session.controller.wait_for('new start at .*the first state.*in mode gravity')
    session.bridge.wait_for('commands are back')
    expect_home(session, tries=3)


@pytest.mark.slow
def test_the_controller_stops_with_the_bridge_and_takes_no_old_reference_up(ros_graph):
    session = moving(ros_graph, PACED)
    commands: list[JointState] = []
    session.observer.create_subscription(JointState, 'joint_commands', commands.append, 10)
    session.observer.spin_until(lambda: commands, what='commands')
    session.bridge.send(signal.SIGKILL)
    session.controller.wait_for('no states')

    def is_quiet():
        commands.clear()
        session.observer.spin_for(0.5)
        return not commands

    # What was on its way may arrive late; a controller that goes on is never quiet.
    session.observer.spin_until(is_quiet, what='silence')

    seen = len(session.controller.output)
    session.start_bridge()
    session.controller.wait_for('new start at 0.000 s .*another run.*in mode gravity', start=seen)
    session.controller.wait_for('states on /joint_states are back', start=seen)
    session.wait(0.5)
    # The arm stands upright, where the new bridge begins: nothing draws it home.
    np.testing.assert_allclose(session.position, 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(session.state.velocity, 0.0, rtol=0, atol=1e-9)
    expect_home(session)


@pytest.mark.slow
@pytest.mark.parametrize('victim', ['bridge', 'controller'])
@pytest.mark.parametrize('seconds', HANGS)
def test_lockstep_loses_nothing_while_a_process_hangs(ros_graph, victim, seconds):
    session = moving(ros_graph, PACED)
    process: Process = getattr(session, victim)
    timeouts = session.bridge.output.count('no command for')
    process.send(signal.SIGSTOP)
    expect_standstill(session, seconds)
    process.send(signal.SIGCONT)
    if victim == 'bridge':
        session.controller.wait_for('no states')
        session.controller.wait_for('states on /joint_states are back')
        assert session.bridge.output.count('no command for') == timeouts
    else:
        session.bridge.wait_for('no command for 0.5 s')
        session.bridge.wait_for('commands are back')
    expect_continuation(session)
    assert session.controller.output.count('new start') == 1


@pytest.mark.slow
def test_the_time_for_which_the_bridge_hangs_does_not_count_as_the_controllers(ros_graph):
    # A timeout long enough for this process to be late with the controller on a busy machine.
    session = moving(ros_graph, (*PACED, 'command_timeout:=3.0'))
    for process in (session.controller, session.bridge):
        process.send(signal.SIGSTOP)
    expect_standstill(session, 3.2)
    heard: list[JointState] = []
    session.observer.create_subscription(JointState, 'joint_states', heard.append, 1)
    session.bridge.send(signal.SIGCONT)
    session.observer.spin_until(lambda: heard, what='the state again')
    session.controller.send(signal.SIGCONT)
    expect_continuation(session)
    assert 'no command for 3 s' not in session.bridge.output


@pytest.mark.slow
@pytest.mark.parametrize('seconds', HANGS)
def test_free_running_brakes_while_the_controller_hangs(ros_graph, seconds):
    session = moving(ros_graph, FREE_RUNNING)
    session.controller.send(signal.SIGSTOP)
    session.observer.spin_for(0.05)
    session.wait(0.0)
    stopped = session.time
    expect_braked(session, stopped)
    session.observer.spin_until(lambda: session.time > stopped + seconds)
    session.controller.send(signal.SIGCONT)
    session.controller.wait_for('new start at .* s without a state.*in mode gravity')
    session.bridge.wait_for('commands are back')
    back = session.time
    states = session.states_until(back + 0.5).since(back)
    # Weight alone: no reference that has gone on without the arm, no old command.
    assert np.abs(states.velocity).max() < 0.05
    assert np.ptp(states.effort, axis=0).max() < 1.0
    expect_home(session, tries=3)


@pytest.mark.parametrize('seconds', HANGS)
@pytest.mark.long
def test_free_running_does_not_hurry_after_a_bridge_that_hung(ros_graph, seconds):
    session = moving(ros_graph, FREE_RUNNING)
    session.bridge.send(signal.SIGSTOP)
    expect_standstill(session, seconds)
    stopped, watch = session.time, Stopwatch()
    session.bridge.send(signal.SIGCONT)
    session.wait(0.5)
    assert session.time - stopped < 1.3 * watch.wall + 0.2
    expect_continuation(session, 0.01)


@pytest.mark.slow
def test_another_type_on_the_hot_topics_is_named_and_harms_nobody(ros_graph):
    session = moving(ros_graph, PACED)
    other_node = ros_graph.observer('other_node')
    for topic in ('joint_states', 'joint_commands'):
        other_node.create_publisher(String, topic, 1).publish(String(data='3.0 2.0 1.0'))
    words = 'other_node publishes std_msgs/msg/String on'
    session.bridge.wait_for(f'{words} /joint_commands instead of sensor_msgs/msg/JointState')
    session.controller.wait_for(f'{words} /joint_states instead of sensor_msgs/msg/JointState')
    expect_continuation(session)
    assert 'several publishers' not in session.bridge.output


@pytest.mark.long
def test_bytes_that_are_no_message_harm_nobody(ros_graph):
    session = moving(ros_graph, PACED)
    # Beside the topics of ours, whatever else a node listens to.
    other_node = ros_graph.observer('other_node')
    random = np.random.default_rng(1)
    wrenches = other_node.create_publisher(String, 'mujoco_bridge/external_wrench', 1)
    modes = other_node.create_publisher(String, 'controller/select_mode', 1)
    other_node.spin_until(modes.get_subscription_count)
    for size in (0, 1, 3, 4, 8, 100, 10_000):
        for publisher in (wrenches, modes):
            publisher.publish(random.bytes(size))
            other_node.spin_for(0.01)
    targets = other_node.create_publisher(JointState, 'controller/target_joints', 1)
    other_node.spin_until(targets.get_subscription_count)
    for raw in broken_copies(session.state):
        targets.publish(raw)
        other_node.spin_for(0.01)
    session.controller.wait_for('target joints.*a serialised JointState')
    modes.publish(String(data='nan'))
    session.controller.wait_for("'nan'")
    expect_continuation(session)


@pytest.mark.slow
def test_broken_bytes_on_both_hot_topics_are_counted_and_move_nothing(ros_graph):
    session = moving(ros_graph, PACED)
    found: dict[str, str] = {}

    def note(array: DiagnosticArray) -> None:
        for status in array.status:
            found.update({pair.key: pair.value for pair in status.values})

    session.observer.create_subscription(DiagnosticArray, '/diagnostics', note, 10)
    other_node = ros_graph.observer('other_node')
    broken = broken_copies(session.state)
    publishers = [
        other_node.create_publisher(JointState, topic, 1)
        for topic in ('joint_states', 'joint_commands')
    ]
    for publisher in publishers:
        other_node.spin_until(publisher.get_subscription_count)
    # Whoever publishes JointState beside the bridge or the controller also stops time.
    session.bridge.wait_for('has several publishers: .*/other_node')

    def are_counted() -> bool:
        for raw in broken:
            for publisher in publishers:
                publisher.publish(raw)
            session.observer.spin_for(0.003)
        counts = found.get('rejected.undecodable', '0'), found.get('states rejected', '')
        return int(counts[0]) > 20 and 'undecodable' in counts[1]

    session.observer.spin_until(are_counted)
    for publisher in publishers:
        other_node.destroy_publisher(publisher)
    session.bridge.wait_for('every topic has one publisher again')
    expect_continuation(session)
    assert session.controller.output.count('new start') == 1


@pytest.mark.parametrize(
    'topic',
    [
        pytest.param('joint_states', marks=pytest.mark.slow),
        pytest.param('joint_commands', marks=pytest.mark.long),
    ],
)
def test_a_second_publisher_stops_time_until_it_is_gone(ros_graph, topic):
    session = moving(ros_graph, PACED)
    duplicate = ros_graph.observer('duplicate')
    publisher = duplicate.create_publisher(JointState, topic, 1)
    session.bridge.wait_for(f'/{topic} has several publishers: .*/duplicate.*; only one may')
    session.observer.settle()
    message = session.state
    message.effort = [9.0] * 6
    if topic == 'joint_states':
        message.header.frame_id = 'of the duplicate'
    stopped = session.states().stamp[-1]
    for _ in range(20):
        publisher.publish(message)
        duplicate.spin_for(0.01)
    assert session.states().stamp[-1] == stopped
    duplicate.destroy_publisher(publisher)
    session.bridge.wait_for('every topic has one publisher again')
    if topic == 'joint_commands':
        expect_continuation(session)
    else:
        # The controller may have taken the duplicate's state for a new start.
        session.wait(0.1)
        expect_home(session)


def in_own_mounts(script: str, command: list[str]) -> list[str]:
    """Return a command that runs another one where only it sees what a script mounts."""
    namespace = ['unshare', '--mount', 'sh', '-c']
    if os.system('unshare --mount true 2>/dev/null'):
        namespace = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c']
        if os.system('unshare --user --map-root-user --mount true 2>/dev/null'):
            pytest.skip('mount namespaces are not permitted here')
    return [*namespace, f'set -e; {script}; exec "$@"', 'sh', *command]


def composed() -> list[str]:
    options = ['--ros-args', '-p', 'mujoco_bridge:viewer:=none']
    return [sys.executable, '-m', 'icir_control.nodes', 'composed', *options]


def expect_run(graph, command: list[str], environment: dict[str, str]) -> Process:
    """Start bridge and controller by a command; check that they work and end."""
    process = graph.run(command, environment=environment)
    times: list[int] = []
    observer = graph.observer()
    observer.create_subscription(Clock, '/clock', lambda m: times.append(nanoseconds(m.clock)), 1)
    process.wait_for('new start at 0.000 s .*in mode gravity')
    observer.spin_until(lambda: times and times[-1] > 0, what='time that goes on')
    assert process.stop(signal.SIGTERM) == 0
    assert 'Traceback' not in process.output
    return process


ONE_THREAD = """
import ctypes, sys
from icir_control.nodes.__main__ import bridge
assert bridge(['bridge', '--ros-args', '-p', 'unknown:=1']) == 2
import numpy
libraries = {line.split()[-1] for line in open('/proc/self/maps') if 'openblas' in line}
counts = [1]  # of BLAS itself, which has no threads
for library in map(ctypes.CDLL, libraries):
    for name in ('scipy_openblas_get_num_threads64_', 'openblas_get_num_threads'):
        if hasattr(library, name):
            counts.append(getattr(library, name)())
print('threads:', max(counts))
"""


@pytest.mark.slow
def test_a_node_has_no_thread_of_blas_that_a_fork_could_end(ros_graph):
    """lttng-ust forks, over and over without shared memory: 1 start in 100 never ended."""
    process = ros_graph.run([sys.executable, '-c', ONE_THREAD])
    process.wait_for('threads: 1')
    assert process.wait() == 0


@pytest.mark.slow
def test_without_shared_memory_everything_works(ros_graph):
    command = in_own_mounts('mount -t tmpfs -o ro tmpfs /dev/shm', composed())
    expect_run(ros_graph, command, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ('disk', 'is_compiled'),
    [
        ('none', True),
        pytest.param('none', False, marks=pytest.mark.long),
        pytest.param('full', False, marks=pytest.mark.long),
        pytest.param('read-only', False, marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_written_is_done_without(ros_graph, tmp_path, disk, is_compiled):
    """Neither home nor logs can be written to, nor compiled code where there is none yet."""
    home = tmp_path / 'home'
    command = composed()
    if disk == 'none':
        home.write_text('no folder')
    else:
        home.mkdir()
        script = f'mount -t tmpfs -o size=64k tmpfs {home}; mkdir {home}/logs'
        script += {
            'full': f'; cat /dev/zero > {home}/all 2> /dev/null || true',
            'read-only': f'; mount -o remount,ro {home}',
        }[disk]
        command = in_own_mounts(script, command)
    cache = cache_folder() if is_compiled else home / 'cache'
    environment = {'HOME': str(home), 'NUMBA_CACHE_DIR': str(cache)}
    process = expect_run(ros_graph, command, environment | {'ROS_LOG_DIR': f'{home}/logs'})
    if disk != 'full':
        assert f'no log files: {home}/logs cannot be written to' in process.output


def cache_folder() -> Path:
    """Return where compiled code is kept otherwise."""
    chosen = os.environ.get('NUMBA_CACHE_DIR') or os.environ.get('XDG_CACHE_HOME')
    return Path(chosen) if chosen else Path.home() / '.cache'


@contextmanager
def ports_taken(graph, processes: range):
    """Hold the ports of a domain that these processes of it would get, by their number."""
    held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2 * len(processes))]
    first = 7400 + 250 * graph.domain + 10 + 2 * processes.start
    for i, holder in enumerate(held):
        holder.bind(('', first + i))
    try:
        yield
    finally:
        for holder in held:
            holder.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ('reach', 'count'), [('LOCALHOST', 32), pytest.param('SUBNET', 100, marks=pytest.mark.long)]
)
def test_without_a_free_port_it_says_so_and_ends(ros_graph, reach, count):
    environment = {'ROS_AUTOMATIC_DISCOVERY_RANGE': reach}
    with ports_taken(ros_graph, range(count)):
        for node in ('bridge', 'controller', 'composed'):
            process = ros_graph.start(node, environment=environment)
            assert process.wait(10.0) == 2
            last = process.output.strip().splitlines()[-1]
            assert (
                f'no free UDP port for one more process in ROS domain {ros_graph.domain}' in last
            )
            assert 'Traceback' not in process.output
    expect_run(ros_graph, composed(), environment)


@pytest.mark.slow
def test_ports_that_others_hold_are_left_out(ros_graph):
    with ports_taken(ros_graph, range(5)), ports_taken(ros_graph, range(9, 32)):
        session = Session(ros_graph)  # bridge, controller and who watches them
        session.wait(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    'node',
    ['bridge', *(n for n in ('controller', 'keyboard'))],
)
def test_without_a_socket_it_says_so_and_ends(ros_graph, node):
    command = [sys.executable, '-m', 'icir_control.nodes', node]
    limited = ['sh', '-c', 'ulimit -n 20; exec "$@"', 'sh', *command]
    process = ros_graph.run(limited, terminal=node == 'keyboard')
    assert process.wait(10.0) == 2
    assert 'Traceback' not in process.output
    last = process.output.strip().splitlines()[-1]
    assert 'only 20 files and sockets may be open; a node needs 64' in last


# By the library that the process has loaded last.
PHASES = ['_rclpy_pybind11', 'llvmlite', 'lxml', 'libmujoco']
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def has_loaded(process: Process, library: str) -> bool:
    assert process.running, process.output
    return library in Path(f'/proc/{process.pid}/maps').read_text()


@pytest.mark.slow
def test_many_requests_to_end_are_one(ros_graph):
    process = ros_graph.start(
        'composed', '--ros-args', '-p', 'mujoco_bridge:viewer:=none', fresh=True
    )
    process.wait_for('new start at')
    watch = Stopwatch()
    with suppress(ProcessLookupError):  # it may end between the two
        while process.running and not watch.is_over(10.0):
            process.send(signal.SIGINT)
    assert process.wait() == 0
    assert 'Traceback' not in process.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ('node', 'phase'),
    [
        pytest.param(node, phase, marks=() if node == 'composed' else pytest.mark.long)
        for node in ('composed', 'bridge', 'controller')
        for phase in PHASES
        if (node, phase) != ('controller', 'libmujoco')  # which it never loads
    ],
)
def test_it_ends_in_time_and_quietly_in_every_phase_of_its_start(
    ros_graph, time_of_20, node, phase
):
    number = SIGNALS[(PHASES.index(phase) + time_of_20) % len(SIGNALS)]
    process = ros_graph.start(node, fresh=True)
    watch = Stopwatch()
    while not has_loaded(process, phase):
        assert not watch.is_over(60.0)
        time.sleep(0.005)
    status = process.stop(number, timeout=3.0)
    if phase == PHASES[0]:
        # Before any code of ours: Python ends as it always does.
        assert status in (0, -number)
    else:
        assert status == 0
        assert 'Traceback' not in process.output
