"""Our controller on a robot that is not our bridge: see `robot_stand_in`."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from robot_stand_in import HOME
from ros_processes import Newest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from icir_control.nodes.controller.interface import RobotClock
from icir_control.share import share_directory

STAND_IN = Path(__file__).parent / 'support' / 'robot_stand_in.py'
URDF = str(share_directory() / 'urdf' / 'gen3_6dof.urdf')
PARAMETERS = str(share_directory() / 'config' / 'real_robot.yaml')
ORDER = ('joint_2', 'joint_1', 'joint_3', 'joint_4', 'joint_6', 'joint_5')
NAMES = tuple(f'joint_{i}' for i in range(1, 7))
PEAK = 3e-3  # rad
MODES = ('ready', 'home', 'down')


class Robot:
    """The stand-in, our controller, and somebody who watches both."""

    def __init__(self, graph):
        self._graph = graph
        self.start()
        joints = ', '.join(ORDER)
        self.controller = graph.start(
            'controller',
            *('--ros-args', '--params-file', PARAMETERS),
            *('-p', f'command_joints:=[{joints}]', '-p', 'state_topic:=robot/joint_states'),
            *(word for mode in MODES for word in ('-p', f'modes.{mode}.duration:=1.5')),
        )
        self.observer = observer = graph.observer()
        self.errors: list[JointState] = []
        observer.create_subscription(
            JointState, 'controller/tracking_error', self.errors.append, 10
        )
        self.states = Newest(observer, JointState, 'robot/joint_states')
        self.commands = Newest(observer, Float64MultiArray, 'effort_controller/commands')
        self.trajectories = observer.create_publisher(
            JointTrajectory, 'controller/joint_trajectory', 1
        )
        observer.spin_until(lambda: self.commands.has_arrived() and self.states.has_arrived())

    def start(self):
        self.process = self._graph.run([sys.executable, str(STAND_IN), URDF, *ORDER])
        self.process.wait_for('up')

    @property
    def position(self):
        newest = self.states.message
        return np.array([newest.position[newest.name.index(name)] for name in NAMES])

    def select(self, mode):
        assert self.observer.call(Trigger, f'controller/modes/{mode}').success

    def run(self, seconds):
        """Watch for so long of the robot's time."""
        begin = stamp(self.states.message)
        self.observer.spin_until(lambda: stamp(self.states.message) > begin + seconds)
        assert self.process.running, self.process.output

    def peak_error(self):
        return max(np.abs(error.position).max() for error in self.errors)


def stamp(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


@pytest.fixture
def robot(ros_graph):
    return Robot(ros_graph)


@pytest.mark.slow
def test_it_runs_every_mode_and_a_trajectory_on_a_robot_with_delay_noise_and_losses(robot):
    robot.run(0.6)
    np.testing.assert_allclose(robot.position, HOME, atol=0.01)
    robot.errors.clear()
    for mode in MODES:
        robot.select(mode)
        robot.run(1.7)
    message = JointTrajectory(joint_names=NAMES)
    for when, goal in ((1.0, HOME + 0.1), (2.0, HOME)):
        point = JointTrajectoryPoint(positions=goal.tolist())
        point.time_from_start.sec = int(when)
        message.points.append(point)
    robot.trajectories.publish(message)
    robot.controller.wait_for('joint trajectory arrived')
    robot.run(0.1)
    assert robot.errors
    assert robot.peak_error() < PEAK
    np.testing.assert_allclose(robot.position, HOME, atol=PEAK)
    for mode in ('float', 'impedance'):
        robot.select(mode)
        robot.run(0.5)
    np.testing.assert_allclose(robot.position, HOME, atol=0.1)
    assert 'braked' not in robot.controller.output


@pytest.mark.slow
def test_a_robot_that_was_away_is_taken_over_without_a_jump(robot):
    robot.run(0.6)
    robot.process.stop(signal.SIGKILL)
    robot.observer.settle()
    robot.commands.forget()
    robot.observer.spin_for(1.0)
    assert not robot.commands.has_arrived(), 'nothing is commanded without states'
    robot.states.forget()
    robot.start()
    # It begins with the torque that the robot had.
    assert float(robot.process.wait_for(r'a step of (\S+)\n').group(1)) < 0.2
    robot.observer.spin_until(robot.states.has_arrived)
    robot.run(1.0)
    said = robot.controller.output
    assert said.count('in mode hold') == 2, said
    np.testing.assert_allclose(robot.position, HOME, atol=0.01, err_msg=said)


def test_states_that_jitter_are_counted_and_lost_ones_too():
    clock, rng = RobotClock(1000.0), np.random.default_rng(1)
    assert clock.restart(10**18) == 0.0
    for k in range(1, 2000):
        if rng.uniform() < 0.05:
            continue
        stamp_ns = 10**18 + k * 10**6 + round(2e5 * rng.uniform(-1.0, 1.0))
        assert clock.advance(stamp_ns) == pytest.approx(k * 1e-3, abs=1e-12)
        assert clock.advance(stamp_ns) is None, 'the same period once more'


@pytest.mark.slow
@pytest.mark.parametrize(
    ('parameter', 'words'),
    [
        ('command_joints:=[joint_1]', 'command_joints.*expected each of joint_1, joint_2'),
        ('command_interface:=position', 'command_interface.*joint_state, effort_array'),
        ('update_rate:=0', 'update_rate.*at least 10'),
    ],
)
def test_a_wrong_interface_is_refused(ros_graph, parameter, words):
    controller = ros_graph.start('controller', '--ros-args', '-p', parameter)
    controller.wait_for(words)
    assert controller.wait() == 2
