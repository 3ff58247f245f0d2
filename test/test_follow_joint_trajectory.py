"""The action FollowJointTrajectory, by an action client, as MoveIt uses it."""

from importlib.util import find_spec

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from moveit_plans import plans_of_moveit
from rclpy.action import ActionClient
from ros_processes import RosGraph
from scipy.interpolate import BPoly
from session import Session
from state_source import HOME, NAMES
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

IS_INSTALLED = find_spec('control_msgs') is not None
pytestmark = pytest.mark.skipif(
    not IS_INSTALLED,
    reason='control_msgs comes with a ROS 2 installation; PyPI has no wheel of it',
)
if IS_INSTALLED:
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance

NANOSECONDS = 10**9
WAY = np.array([0.5, -0.3, 0.4, -0.2, 0.3, 0.6])


class Planner:
    """A session, and an action client."""

    def __init__(self, session):
        self.session, self.observer = session, session.observer
        self._client = ActionClient(
            self.observer, FollowJointTrajectory, 'controller/follow_joint_trajectory'
        )
        self.observer.spin_until(self._client.server_is_ready, what='the action')
        session.controller.wait_for('new start at')
        self.feedback = []

    def send(self, points, names=NAMES, **fields):
        """Send a goal; its handle once it is accepted."""
        trajectory = JointTrajectory(joint_names=list(names))
        for time, *values in points:
            point = JointTrajectoryPoint()
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(
                round(time * NANOSECONDS), NANOSECONDS
            )
            for name, numbers in zip(
                ('positions', 'velocities', 'accelerations'), values, strict=False
            ):
                setattr(point, name, [float(x) for x in numbers])
            trajectory.points.append(point)
        goal = FollowJointTrajectory.Goal(trajectory=trajectory, **fields)
        self.feedback.clear()
        future = self._client.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        handle = self._wait(future, 'the answer to a goal')
        assert handle.accepted
        return handle

    def result(self, handle):
        """The status and the result of a goal, once it has ended."""
        answer = self._wait(handle.get_result_async(), 'a result')
        return answer.status, answer.result

    def cancel(self, handle):
        return self._wait(handle.cancel_goal_async(), 'the answer to a cancel').goals_canceling

    def go(self, q):
        """Go to a posture."""
        status, result = self.result(self.send([(1.5, q)]))
        assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, 0), result

    def push_away(self, hold):
        """Push at the tool for a while of simulation time [s]; return once the arm gives way."""
        self.session.push((0.0, 0.0, -30.0), hold=hold)
        self.observer.spin_until(
            lambda: np.abs(self.session.position - HOME).max() > 1e-4, what='a push'
        )

    def _wait(self, future, what):
        self.observer.spin_until(future.done, what=what)
        return future.result()


@pytest.fixture(scope='module')
def planner(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with RosGraph(tmp_path_factory.mktemp('logs')) as graph:
            start = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
            session = Session(graph, bridge_parameters=('real_time_factor:=0.0', start))
            yield Planner(session)


@pytest.fixture
def at_home(planner):
    planner.go(HOME)
    return planner


def tolerances(**fields):
    return [JointTolerance(name='joint_2', **fields)]


def test_a_plan_of_moveit_is_followed_with_feedback_and_succeeds(at_home):
    """Points every 0.1 s, the start state first, as its controller manager hands them on."""
    plan, _ = plans_of_moveit()
    fields = plan.times, plan.positions, plan.velocities, plan.accelerations
    path = BPoly.from_derivatives(plan.times, np.stack(fields[1:], axis=1))
    points = list(zip(*fields, strict=True))
    handle = at_home.send(
        points,
        plan.joints,
        path_tolerance=[JointTolerance(name=name, position=1e-3) for name in NAMES],
        goal_tolerance=[JointTolerance(name=name, position=1e-4) for name in NAMES],
    )
    status, result = at_home.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, 0), result.error_string
    np.testing.assert_allclose(at_home.session.position, plan.positions[-1], atol=1e-6)
    assert at_home.feedback
    for one in at_home.feedback:
        assert tuple(one.joint_names) == NAMES
        desired, actual, error = (
            np.array(point.positions) for point in (one.desired, one.actual, one.error)
        )
        np.testing.assert_allclose(desired - actual, error, atol=1e-12)
        time = one.desired.time_from_start.sec + 1e-9 * one.desired.time_from_start.nanosec
        np.testing.assert_allclose(desired, path(min(time, plan.times[-1])), atol=5e-3)


def test_a_cancelled_goal_stops_the_arm(at_home):
    handle = at_home.send([(500.0, HOME + WAY)])
    at_home.observer.spin_until(lambda: at_home.feedback)
    assert at_home.cancel(handle)
    status, _ = at_home.result(handle)
    assert status == GoalStatus.STATUS_CANCELED
    at_home.session.wait(1.0)
    assert np.abs(at_home.session.state.velocity).max() < 1e-6
    assert np.abs(at_home.session.position - HOME).max() < 0.5 * np.abs(WAY).max()


@pytest.mark.parametrize('by', ['goal', 'mode'])
def test_a_goal_is_aborted_by_what_replaces_it(at_home, by):
    first = at_home.send([(500.0, HOME + WAY)])
    at_home.observer.spin_until(lambda: at_home.feedback)
    if by == 'goal':
        second = at_home.send([(1.0, HOME)])
        assert at_home.result(second)[0] == GoalStatus.STATUS_SUCCEEDED
    else:
        assert at_home.observer.call(Trigger, 'controller/modes/home').success
    status, result = at_home.result(first)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert 'replaced by' in result.error_string
    assert not at_home.cancel(first)


def test_a_push_beyond_the_path_tolerance_aborts(at_home):
    handle = at_home.send([(500.0, HOME + WAY)], path_tolerance=tolerances(position=1e-4))
    at_home.observer.spin_until(lambda: at_home.feedback)
    at_home.session.push((0.0, 0.0, -30.0), hold=0.5)
    status, result = at_home.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
    assert 'position of joint_2' in result.error_string
    at_home.session.wait(2.0)


def test_an_arm_that_is_held_away_from_the_goal_aborts(at_home):
    at_home.push_away(hold=4.0)
    handle = at_home.send([(1.0, HOME)], goal_tolerance=tolerances(position=1e-9, velocity=1e-12))
    status, result = at_home.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED
    assert 'joint_2' in result.error_string
    at_home.session.wait(4.0)


def test_there_is_time_to_come_within_the_goal_tolerance(at_home):
    goal = FollowJointTrajectory.Goal()
    goal.goal_time_tolerance.sec = 20
    at_home.push_away(hold=4.0)
    handle = at_home.send(
        [(1.0, HOME)],
        goal_tolerance=tolerances(position=1e-5),
        goal_time_tolerance=goal.goal_time_tolerance,
    )
    assert at_home.result(handle)[0] == GoalStatus.STATUS_SUCCEEDED
    at_home.session.wait(5.0)


@pytest.mark.parametrize(
    ('points', 'names', 'fields', 'code'),
    [
        ([(1.0, HOME)], ('elbow',) * 6, {}, 'INVALID_JOINTS'),
        ([(1.0, HOME), (0.5, HOME)], NAMES, {}, 'INVALID_GOAL'),
        ([], NAMES, {}, 'INVALID_GOAL'),
        ([(0.0, HOME)], NAMES, {}, 'OLD_HEADER_TIMESTAMP'),
        ([(1.0, HOME)], NAMES, {'position': -2.0}, 'INVALID_GOAL'),
        ([(1.0, HOME)], NAMES, {'velocity': np.nan}, 'INVALID_GOAL'),
    ],
)
def test_what_cannot_be_is_aborted_with_the_standard_code(planner, points, names, fields, code):
    path_tolerance = tolerances(**fields) if fields else []
    before = planner.session.position
    status, result = planner.result(planner.send(points, names, path_tolerance=path_tolerance))
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == getattr(FollowJointTrajectory.Result, code)
    assert result.error_string
    np.testing.assert_allclose(planner.session.position, before, atol=1e-6)
