"""The bridge as ros2_control's joint_state_topic_hardware_interface sees it."""

import tempfile
from importlib.util import find_spec
from runpy import run_path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from bridge_client import NAMES, BridgeClient, nanoseconds, start_bridge
from closed_loop import HOME
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from icir_control.share import share_directory

AT_HOME = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
ANY = ('lockstep:=false', 'command_source:=any', AT_HOME)
PERIOD = 0.01  # s, of a controller manager
TIMELY = 0.003  # s of simulation time, from a state to the command that comes of it
AMPLITUDE, FREQUENCY = 0.3, 0.5  # rad, Hz
DIRECTIONS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])


class Hardware:
    """Sends commands as the hardware interface does: stamps of its own, no frame_id."""

    def __init__(self, graph, process):
        self.node = graph.observer('hardware')
        self.states: list[JointState] = []
        # The newest alone, so that a busy machine does not make it answer old ones.
        self.node.create_subscription(JointState, 'joint_states', self.states.append, 1)
        self._commands = self.node.create_publisher(JointState, 'joint_commands', 1)

        def is_there():
            assert process.running, process.output
            return self.states and self._commands.get_subscription_count()

        self.node.spin_until(is_there, what='the bridge')

    @property
    def state(self):
        return self.states[-1]

    @property
    def time(self):
        return time_of(self.state)

    def read(self, state):
        return np.array([state.position[state.name.index(name)] for name in NAMES])

    def set_pace(self, factor):
        """Change how much simulation time goes by in a second."""
        parameter = Parameter('real_time_factor', value=factor).to_parameter_msg()
        request = SetParameters.Request(parameters=[parameter])
        answer = self.node.call(SetParameters, 'mujoco_bridge/set_parameters', request)
        assert answer.results[0].successful, answer.results[0].reason

    def write(self, **fields):
        message = JointState(name=NAMES[::-1])
        message.header.stamp = self.state.header.stamp
        for field, values in fields.items():
            setattr(message, field, np.asarray(values, dtype=float)[::-1].tolist())
        self._commands.publish(message)

    def keep_writing(self, seconds, **fields):
        """Send the same again and again, for a while of simulation time."""
        end = self.time + seconds
        while self.time < end:
            self.write(**fields)
            count = len(self.states)
            self.node.spin_until(lambda count=count: len(self.states) > count)


@pytest.fixture
def hardware(ros_graph):
    return Hardware(ros_graph, start_bridge(ros_graph, *ANY, 'real_time_factor:=0.25'))


def time_of(state):
    return 1e-9 * nanoseconds(state.header.stamp)


def sine(time):
    return HOME + np.outer(np.sin(2.0 * np.pi * FREQUENCY * time), AMPLITUDE * DIRECTIONS)


@pytest.mark.slow
def test_it_is_held_up_until_the_first_command_while_time_goes_on(hardware):
    hardware.node.spin_until(lambda: hardware.time > 0.7)
    np.testing.assert_allclose(hardware.read(hardware.state), HOME, atol=1e-3)


def errors_along_a_sine(hardware, seconds):
    """Errors of the states before which no command was late, as far as the topics show it."""
    hardware.node.spin_until(lambda: hardware.time > 0.01)
    hardware.states.clear()
    hardware.node.spin_until(lambda: hardware.states)
    begin, late = hardware.time, []
    while hardware.time < begin + seconds:
        due = hardware.time + PERIOD
        hardware.node.spin_until(lambda due=due: hardware.time >= due)
        if hardware.time > due + TIMELY:
            late.append(hardware.time)
        hardware.write(position=sine(np.array([hardware.time]))[0])
    times = np.array([time_of(state) for state in hardware.states])
    is_good = times > begin + 0.3
    for disturbance in (*late, *times[1:][np.diff(times) > TIMELY]):
        is_good &= (times < disturbance - 2.0 * PERIOD) | (times > disturbance + 0.2)
    good = np.flatnonzero(is_good)
    positions = [hardware.read(hardware.states[i]) for i in good]
    return np.abs(np.reshape(positions, (-1, 6)) - sine(times[good]))


@pytest.mark.slow
def test_positions_of_a_sine_are_followed(hardware):
    """Where commands are late, in wall time, the world's time goes more slowly."""
    for pace in (0.25, 0.1, 0.04, 0.015):
        hardware.set_pace(pace)
        errors = errors_along_a_sine(hardware, 1.3)
        if len(errors) >= 500 and errors.max() < 5e-3:
            return
    assert len(errors) >= 500
    assert errors.max() < 5e-3


@pytest.mark.slow
def test_velocities_and_efforts_are_taken_too_and_nan_means_none(hardware):
    nan = np.full(6, np.nan)
    velocity = 0.2 * DIRECTIONS
    hardware.keep_writing(0.5, velocity=velocity, position=nan)
    np.testing.assert_allclose(hardware.state.velocity, velocity, atol=5e-3)
    hardware.keep_writing(0.1, effort=np.full(6, 1.5))
    np.testing.assert_allclose(hardware.state.effort, 1.5)
    where = hardware.read(hardware.state)
    hardware.keep_writing(0.6, position=where, velocity=nan, effort=np.zeros(6))
    np.testing.assert_allclose(hardware.read(hardware.state), where, atol=2e-3)


@pytest.mark.slow
def test_what_is_no_command_is_counted(hardware, ros_graph):
    onlooker = BridgeClient(ros_graph)
    hardware.write(position=np.full(6, np.nan))
    onlooker.node.spin_until(lambda: onlooker.counts().get('rejected.not_finite') == '1')
    hardware.write(position=np.zeros(5))
    onlooker.node.spin_until(lambda: onlooker.counts().get('rejected.wrong_length') == '1')
    hardware.write(position=np.full(6, 1e308))
    onlooker.node.spin_until(lambda: onlooker.counts().get('rejected.too_large') == '1')
    np.testing.assert_allclose(hardware.read(hardware.state), HOME, atol=1e-3)


def test_it_is_refused_in_lockstep(ros_graph):
    process = start_bridge(ros_graph, 'command_source:=any')
    process.wait_for("command_source = 'any' is not valid with lockstep = True")
    assert process.wait() == 2


def test_the_ros2_control_files_belong_to_the_robot_and_to_the_bridge(ros_graph):
    share = share_directory()
    description = (share / 'urdf/gen3_6dof.ros2_control.xml').read_text()
    control = ElementTree.fromstring(description)
    assert [joint.get('name') for joint in control.findall('joint')] == NAMES
    for joint in control.findall('joint'):
        assert [one.get('name') for one in joint.findall('command_interface')] == ['position']
    topics = {one.get('name'): one.text for one in control.findall('hardware/param')}
    parameters = share / 'config/ros2_control.yaml'
    written = yaml.safe_load(parameters.read_text())
    joints = written['/joint_trajectory_controller']['ros__parameters']['joints']
    assert joints == NAMES
    # The hardware's node stamps the commands, and has a clock of its own.
    assert written[f'/{control.get("name").lower()}']['ros__parameters']['use_sim_time'] is True
    remap = [f'{topic}:=simulation/{topic}' for topic in ('joint_states', 'joint_commands')]
    process = ros_graph.start(
        'bridge',
        *('--ros-args', '--params-file', str(parameters), '-p', 'viewer:=none'),
        *(word for one in remap for word in ('-r', one)),
    )
    process.wait_for('commands from any source are accepted')
    observer = ros_graph.observer()
    observer.spin_until(lambda: observer.count_publishers(topics['joint_states_topic']))
    observer.spin_until(lambda: observer.count_subscribers(topics['joint_commands_topic']))


@pytest.mark.skipif(
    find_spec('launch_ros') is None,
    reason='launch_ros comes with a ROS 2 installation; PyPI has no wheel of it',
)
def test_the_launch_file_of_ros2_control_starts_the_robot_with_its_hardware(tmp_path, monkeypatch):
    from launch import LaunchDescription, LaunchService
    from launch.actions import Shutdown
    from launch_ros.actions import Node

    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    module = run_path(str(share_directory() / 'launch/ros2_control.launch.py'))
    entities = module['generate_launch_description']().entities
    assert sum(isinstance(entity, Node) for entity in entities) == 4
    robot = ElementTree.fromstring(module['robot_description']())
    assert robot.find('ros2_control/hardware/plugin').text.startswith('joint_state_topic_hardware')
    (path,) = tmp_path.rglob('*.yaml')
    written = yaml.safe_load(path.read_text())['/**']['ros__parameters']['robot_description']
    assert written == module['robot_description']()
    # Nothing is left behind.
    service = LaunchService()
    others = [entity for entity in entities if not isinstance(entity, Node)]
    service.include_launch_description(LaunchDescription([*others, Shutdown()]))
    assert service.run() == 0
    assert not list(tmp_path.iterdir())
