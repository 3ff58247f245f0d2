"""Trajectories as planners send them, over topics, and what becomes of them."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_processes import RosGraph
from sensor_msgs.msg import JointState
from session import Session
from state_source import HOME, NAMES
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

LATCHED = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ORDER = [3, 1, 5, 0, 2, 4]
WAY = HOME + 0.2


class Planner:
    """A session, and somebody who sends it trajectories."""

    def __init__(self, session):
        self.session, self.observer = session, session.observer
        self.heard = []
        self.observer.create_subscription(
            DiagnosticStatus, 'controller/motion_status', self.heard.append, LATCHED
        )
        self._publisher = self.observer.create_publisher(
            JointTrajectory, 'controller/joint_trajectory', 1
        )
        # Both sides have found each other, and the controller has a state, once it accepts one
        # without points.
        self.observer.spin_until(self._stops, what='a controller that accepts trajectories')

    def send(self, points, names=NAMES, stamp=0.0):
        message = JointTrajectory(joint_names=list(names))
        message.header.stamp.sec = int(stamp)
        message.header.stamp.nanosec = round((stamp - int(stamp)) * 1e9)
        for time, *fields in points:
            point = JointTrajectoryPoint()
            point.time_from_start.sec = int(time)
            point.time_from_start.nanosec = round((time - int(time)) * 1e9)
            for name, values in zip(
                ('positions', 'velocities', 'accelerations', 'effort'), fields, strict=False
            ):
                setattr(point, name, [float(x) for x in values])
            message.points.append(point)
        self.heard.clear()
        self._publisher.publish(message)

    def _stops(self):
        self.send([])
        self.observer.settle()
        return self._outcomes('accepted')

    def _outcomes(self, wanted, request='joint trajectory'):
        wanted = {'request': request, 'outcome': wanted}.items()
        return [status for status in self.heard if wanted <= pairs(status)]

    def outcome(self, wanted, request='joint trajectory'):
        """Wait for an outcome of a request; its values."""

        def decided():
            return self._outcomes(wanted, request) or self._outcomes('refused', request)

        self.observer.spin_until(decided, what=wanted)
        values = dict(pairs(decided()[0]))
        assert values['outcome'] == wanted, values
        return decided()[0], values


def pairs(status):
    return {one.key: one.value for one in status.values}.items()


@pytest.fixture(scope='module')
def planner(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with RosGraph(tmp_path_factory.mktemp('logs')) as graph:
            start = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
            session = Session(graph, bridge_parameters=('real_time_factor:=0.0', start))
            yield Planner(session)


def test_a_trajectory_is_accepted_followed_and_arrives(planner):
    rest = np.zeros(6)
    points = [(1.0, WAY[ORDER], 0.1 * np.ones(6)), (2.5, HOME[ORDER], rest)]
    planner.send(points, [NAMES[i] for i in ORDER])
    status, values = planner.outcome('accepted')
    assert status.level == DiagnosticStatus.OK
    assert values['mode'] == 'joint trajectory'
    status, _ = planner.outcome('arrived')
    assert status.level == DiagnosticStatus.OK
    np.testing.assert_allclose(planner.session.state.position, HOME, atol=1e-6)
    planner.send([(1.0, WAY[[4]])], [NAMES[4]])
    planner.outcome('arrived')
    wanted = HOME.copy()
    wanted[4] = WAY[4]
    np.testing.assert_allclose(planner.session.state.position, wanted, atol=1e-6)


def test_a_mode_aborts_it_and_an_empty_one_stops_it(planner):
    planner.send([(500.0, HOME)])
    planner.outcome('accepted')
    planner.send([])
    status, _ = planner.outcome('aborted')
    assert 'replaced by joint trajectory' in status.message
    planner.outcome('arrived')
    planner.send([(500.0, HOME)])
    planner.outcome('accepted')
    assert planner.observer.call(Trigger, 'controller/modes/gravity').success
    status, _ = planner.outcome('aborted')
    assert status.level == DiagnosticStatus.WARN
    assert 'gravity' in status.message


def test_modes_and_targets_say_when_they_have_arrived_or_why_not(planner):
    def select(mode):
        assert planner.observer.call(Trigger, f'controller/modes/{mode}').success

    def target(q):
        targets.publish(JointState(name=list(NAMES), position=q.tolist()))

    targets = planner.observer.create_publisher(JointState, 'controller/target_joints', 1)
    planner.heard.clear()
    select('gravity')
    planner.outcome('arrived', 'mode gravity')
    select('home')
    _, values = planner.outcome('arrived', 'mode home')
    assert values['mode'] == 'home'
    np.testing.assert_allclose(planner.session.position, HOME, atol=1e-6)
    planner.observer.spin_until(targets.get_subscription_count)
    target(WAY)
    planner.outcome('arrived', 'target joints')
    np.testing.assert_allclose(planner.session.position, WAY, atol=1e-6)
    planner.send([(500.0, HOME)])
    planner.outcome('accepted')
    select('home')
    planner.heard.clear()
    target(WAY)
    status, _ = planner.outcome('aborted', 'mode home')
    assert status.message == 'replaced by target joints'
    planner.outcome('arrived', 'target joints')


@pytest.mark.parametrize(
    ('points', 'names', 'reason'),
    [
        ([(1.0, HOME)], ('elbow',) * 6, 'invalid_joints'),
        ([(1.0, HOME[:5])], NAMES, 'invalid_trajectory'),
        ([(1.0, HOME), (0.5, HOME)], NAMES, 'invalid_trajectory'),
        ([(1.0, np.full(6, np.nan))], NAMES, 'invalid_trajectory'),
        ([(1.0, [])], NAMES, 'invalid_trajectory'),
        ([(1.0, HOME, [], [], HOME)], NAMES, 'invalid_trajectory'),
        ([(1.0, HOME, HOME * 0.0), (2.0, HOME)], NAMES, 'invalid_trajectory'),
        ([(9.0, HOME + 9.0 * np.eye(6)[1])], NAMES, 'position_limit'),
    ],
)
def test_what_is_malformed_is_refused_with_the_reason(planner, points, names, reason):
    planner.send(points, names)
    status, values = planner.outcome('refused')
    assert status.level == DiagnosticStatus.WARN
    assert values['reason'] == reason
    assert status.message


def test_what_plotters_see_has_no_stamp(planner):
    heard = []
    planner.observer.create_subscription(Point, 'controller/plot/position', heard.append, 1)
    planner.observer.spin_until(lambda: heard)
    assert 0.1 < heard[-1].z < 1.3
