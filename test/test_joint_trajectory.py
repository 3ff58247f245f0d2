"""Trajectories as planners send them, over topics, and what becomes of them."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point
from hypothesis import given, settings
from hypothesis import strategies as st
from moveit_plans import plans_of_moveit
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
        # Both sides have found each other, and the controller has a state, once one without
        # points has come to its end: known by its stamp, since earlier ones may be answered late.
        self._stops = 0
        self.observer.spin_until(self._has_stopped, what='a controller that accepts trajectories')

    def send(self, points, names=NAMES, stamp=0.0):
        message = JointTrajectory(joint_names=list(names))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(stamp * 1e9), 10**9)
        for time, *fields in points:
            point = JointTrajectoryPoint()
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(
                round(time * 1e9), 10**9
            )
            for name, values in zip(
                ('positions', 'velocities', 'accelerations', 'effort'), fields, strict=False
            ):
                setattr(point, name, [float(x) for x in values])
            message.points.append(point)
        self.heard.clear()
        self._publisher.publish(message)

    def _has_stopped(self):
        self._stops += 1
        self.send([], stamp=self._stops * 1e-9)
        self.observer.settle()
        return self._outcomes('arrived', stamp=f'0.{self._stops:09d}')

    def _outcomes(self, wanted, request='joint trajectory', **values):
        wanted = {'request': request, 'outcome': wanted, **values}.items()
        return [status for status in self.heard if wanted <= pairs(status)]

    def outcome(self, wanted, request='joint trajectory'):
        """Wait for an outcome of a request; its values."""

        def decided():
            others = self._outcomes('refused', request) or self._outcomes('accepted', request)
            return self._outcomes(wanted, request) or (
                others if wanted in ('accepted', 'refused') else self._outcomes('refused', request)
            )

        self.observer.spin_until(decided, what=wanted)
        values = dict(pairs(decided()[0]))
        assert values['outcome'] == wanted, values
        return decided()[0], values

    def is_at(self, q):
        """Look at a state from after the outcome: the newest that was heard may be older."""
        self.session.wait(0.01)
        np.testing.assert_allclose(self.session.position, q, atol=1e-6)


def pairs(status):
    return {one.key: one.value for one in status.values}.items()


@pytest.fixture(scope='module')
def planner(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with RosGraph(tmp_path_factory.mktemp('logs')) as graph:
            start = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
            slow = 'modes.ready.duration:=500.0'
            session = Session(graph, slow, bridge_parameters=('real_time_factor:=0.0', start))
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
    planner.is_at(HOME)
    planner.send([(1.0, WAY[[4]])], [NAMES[4]])
    planner.outcome('arrived')
    wanted = HOME.copy()
    wanted[4] = WAY[4]
    planner.is_at(wanted)


@pytest.mark.slow
def test_a_plan_of_moveit_is_followed_and_arrives(planner):
    plan, _ = plans_of_moveit()
    fields = plan.times, plan.positions, plan.velocities, plan.accelerations
    planner.send([(1.0, HOME)])
    planner.outcome('arrived')
    planner.send(list(zip(*fields, strict=True)), plan.joints)
    planner.outcome('accepted')
    planner.outcome('arrived')
    planner.is_at(plan.positions[-1])


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


@pytest.mark.slow
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
    planner.is_at(HOME)
    planner.observer.spin_until(targets.get_subscription_count)
    target(WAY)
    planner.outcome('arrived', 'target joints')
    planner.is_at(WAY)
    planner.send([(500.0, HOME)])
    planner.outcome('accepted')
    select('ready')  # which takes longer than any machine needs to send a target
    planner.heard.clear()
    target(WAY)
    status, _ = planner.outcome('aborted', 'mode ready')
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


@st.composite
def malformed(draw):
    """A trajectory that is valid but for one fault: points, names, stamp; reason and code."""
    count = draw(st.integers(1, 4))
    times = 2.0 + np.cumsum(draw(st.lists(st.floats(0.5, 5.0), min_size=count, max_size=count)))
    q = HOME + np.outer(draw(st.lists(st.floats(-0.2, 0.2), min_size=count, max_size=count)), WAY)
    points = [[time, list(one), [0.0] * 6, [], []] for time, one in zip(times, q, strict=True)]
    names, stamp = list(NAMES), 0.0
    point = points[draw(st.integers(0, count - 1))]
    joint = draw(st.integers(0, 5))
    reason, code = 'invalid_trajectory', -1
    faults = ['time', 'number', 'name', 'length', 'rest', 'effort', 'past', 'position', 'speed']
    fault = draw(st.sampled_from(faults))
    match fault:
        case 'time':
            points.append([draw(st.floats(-5.0, points[-1][0])), *points[-1][1:]])
        case 'number':
            point[draw(st.sampled_from((1, 2)))][joint] = draw(
                st.sampled_from((np.nan, np.inf, -np.inf, 1e300))
            )
        case 'name':
            names[joint] = draw(st.sampled_from(('', 'elbow', names[joint - 1])))
            reason, code = 'invalid_joints', -2
        case 'length':
            field = draw(st.sampled_from((1, 2)))
            point[field] = point[field][: draw(st.integers(int(field == 2 and count == 1), 5))]
        case 'rest':
            points[-1][2][joint] = draw(st.sampled_from((-0.3, 1e-6, 0.3)))
        case 'effort':
            point[4] = [draw(st.floats(-9.0, 9.0))] * 6
        case 'past':
            stamp, points[:] = 1e-9, [[0.0, *point[1:]]]
            reason, code = 'old_trajectory', -3
        case 'position':
            points[:] = [[500.0, list(HOME + 9.0 * np.eye(6)[1]), [0.0] * 6]]
            reason = 'position_limit'
        case 'speed':
            points[:] = [[draw(st.floats(0.01, 0.1)), list(HOME + 0.9), [0.0] * 6]]
            reason = 'velocity_limit'
    return points, names, stamp, reason, code


@pytest.mark.slow
def test_200_malformed_ones_are_refused_with_the_standard_code_and_nothing_moves(planner):
    """Those of the action `follow_joint_trajectory`, which is served by the same function."""
    planner.send([(1.5, HOME)])
    planner.outcome('arrived')
    before = planner.session.position

    @settings(max_examples=200)
    @given(one=malformed())
    def is_refused(one):
        points, names, stamp, reason, code = one
        planner.send(points, names, stamp)
        _, values = planner.outcome('refused')
        assert (values['reason'], values['error_code']) == (reason, str(code))
        assert values['mode'] == 'joint trajectory'

    is_refused()
    np.testing.assert_allclose(planner.session.position, before, atol=1e-9)


def test_what_plotters_see_has_no_stamp(planner):
    heard = []
    planner.observer.create_subscription(Point, 'controller/plot/position', heard.append, 1)
    planner.observer.spin_until(lambda: heard)
    assert 0.1 < heard[-1].z < 1.3
