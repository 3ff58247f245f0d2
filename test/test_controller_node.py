"""The controller as a process of its own, with a test in the place of the bridge."""

import itertools
import math
import signal
import time

import numpy as np
import pytest
import yaml
from broken_bytes import broken_copies
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_processes import PATIENCE, Observer, Process, RosGraph
from sensor_msgs.msg import JointState
from state_source import HOME, MILLISECOND, NAMES, StateSource, joint_state, stamp_of
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from wall_time import Stopwatch

from icir_control.control import TERMS
from icir_control.dynamics import (
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
    gravity_torque,
    load_urdf,
)
from icir_control.share import share_directory
from icir_control.spatial import SE3

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CONFIG = str(share_directory() / 'config' / 'gen3_6dof.yaml')
SETTLED = 300  # ticks, after which new gains are taken over in full
READY = 'ready; waiting for /joint_states'


@pytest.fixture(scope='module')
def graph(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with RosGraph(tmp_path_factory.mktemp('ros_logs')) as graph:
            yield graph


@pytest.fixture(scope='module')
def controller(graph) -> Process:
    """Without the observer, which would take an arm that is held off its reference for pushed."""
    arguments = ('--ros-args', '--params-file', CONFIG, '-p', 'observer.gain:=0.0')
    process = graph.start('controller', *arguments)
    process.wait_for(READY)
    return process


@pytest.fixture(scope='module')
def observer(graph, controller) -> Observer:
    return graph.observer()


@pytest.fixture(scope='module')
def states(observer) -> StateSource:
    return StateSource(observer, token='first')


@pytest.fixture
def source(states, request) -> StateSource:
    """A run of its own for each test: another token is a new start."""
    states.restart(request.node.name)
    return states


@pytest.fixture
def mode(observer):
    """The running mode as it is published."""
    heard: list[str] = []
    subscription = observer.create_subscription(
        String, 'controller/mode', lambda message: heard.append(message.data), LATCHED
    )
    yield heard
    observer.destroy_subscription(subscription)


def select(observer: Observer, mode: str) -> Trigger.Response:
    return observer.call(Trigger, f'controller/modes/{mode}')


def set_parameters(observer: Observer, node: str = 'controller', /, **values: object):
    """Set parameters as one group; dots are written as two underscores."""
    request = SetParametersAtomically.Request()
    request.parameters = [
        Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
        for name, value in values.items()
    ]
    name = f'{node}/set_parameters_atomically'
    return observer.call(SetParametersAtomically, name, request).result


def test_it_says_what_the_model_is(controller):
    controller.wait_for('nq = 6, nv = 6, na = 6')
    controller.wait_for(r'id +frame +parent joint +type\n')
    controller.wait_for(r'\d+ +end_effector_link +joint_6 +BODY\n')


def test_a_mode_is_refused_before_the_first_state(graph):
    own = graph.start('controller', '--ros-args', '-r', '__ns:=/alone')
    observer = graph.observer('first', '/alone')
    answer = select(observer, 'home')
    assert not answer.success
    assert 'no state' in answer.message
    assert own.stop(signal.SIGTERM) == 0


def test_the_command_carries_the_weight_and_repeats_the_header(source):
    model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
    data = model.create_data()
    compute_all_terms(model, data, HOME, np.zeros(6))
    state = joint_state(7 * MILLISECOND, source.token, HOME)
    command = source.answer_to(state)
    assert command.header == state.header
    assert tuple(command.name) == NAMES
    np.testing.assert_allclose(command.effort, data.nle, rtol=0, atol=1e-9)
    assert not command.position
    assert not command.velocity


def test_joints_are_matched_by_name(source):
    order = [3, 0, 5, 1, 4, 2]
    straight = source.answer_to(joint_state(MILLISECOND, source.token, HOME))
    shuffled = joint_state(
        2 * MILLISECOND, source.token, HOME[order], names=[NAMES[i] for i in order]
    )
    command = source.answer_to(shuffled)
    assert tuple(command.name) == NAMES
    assert command.effort == straight.effort


def test_a_repeated_state_gets_the_stored_command_whatever_was_asked_since(source):
    source.hold(HOME)
    assert select(source.observer, 'home').success
    moved = HOME + 1e-3
    state = joint_state(source.stamp_ns + MILLISECOND, source.token, moved)
    first = source.answer_to(state)
    assert select(source.observer, 'gravity').success
    assert source.answer_to(state).effort == first.effort
    later = source.answer_to(joint_state(source.stamp_ns + 2 * MILLISECOND, source.token, moved))
    assert later.effort != first.effort


@pytest.mark.parametrize('what', ['another run', 'time went back', 'the arm jumped'])
def test_a_new_start_goes_to_the_initial_mode(controller, source, mode, what):
    source.hold(HOME, 3)
    assert select(source.observer, 'home').success
    source.observer.spin_until(lambda: mode and mode[-1] == 'home')
    token, stamp_ns, position = {
        'another run': ('new', source.stamp_ns + MILLISECOND, HOME),
        'time went back': (source.token, MILLISECOND, HOME),
        'the arm jumped': (source.token, source.stamp_ns + MILLISECOND, HOME + 0.1),
    }[what]
    source.answer_to(
        joint_state(stamp_ns, token + what, position)
        if what == 'another run'
        else joint_state(stamp_ns, token, position)
    )
    source.observer.spin_until(lambda: mode[-1] == 'gravity')
    controller.wait_for(rf'new start at .*\({what}\), in mode gravity')


def test_a_fast_arm_is_no_new_start(source, mode):
    velocity = np.full(6, 3.0)
    source.answer_to(joint_state(MILLISECOND, source.token, HOME, velocity))
    assert select(source.observer, 'float').success
    for k in range(2, 20):
        position = HOME + velocity * k * 1e-3
        source.answer_to(joint_state(k * MILLISECOND, source.token, position, velocity))
    source.observer.spin_until(lambda: mode and mode[-1] == 'float')


def test_the_modes_have_services_and_a_topic(source, mode):
    source.hold(HOME)
    for name in ('home', 'ready', 'down', 'float', 'impedance', 'gravity'):
        answer = select(source.observer, name)
        assert answer.success, answer.message
        source.observer.spin_until(lambda name=name: mode and mode[-1] == name)
    publisher = source.observer.create_publisher(String, 'controller/select_mode', 1)
    source.observer.spin_until(publisher.get_subscription_count)
    publisher.publish(String(data='impedance'))
    source.observer.spin_until(lambda: mode[-1] == 'impedance')


def test_a_late_listener_hears_the_mode(source, graph):
    source.hold(HOME)
    assert select(source.observer, 'home').success
    heard = []
    late = graph.observer('late')
    late.create_subscription(String, 'controller/mode', heard.append, LATCHED)
    late.spin_until(lambda: heard and heard[-1].data == 'home')


def test_what_cannot_be_is_refused_with_the_reason(controller, source, mode):
    source.hold(np.zeros(6))
    answer = select(source.observer, 'down')
    assert not answer.success
    assert 'singular' in answer.message
    publisher = source.observer.create_publisher(String, 'controller/select_mode', 1)
    source.observer.spin_until(publisher.get_subscription_count)
    publisher.publish(String(data='hom'))
    controller.wait_for("mode hom refused: unknown mode 'hom'; valid: gravity, home, ready")
    source.hold(np.zeros(6), 3)
    assert mode[-1] == 'gravity'


def test_a_joint_target_moves_the_reference(controller, source):
    source.hold(HOME)
    assert select(source.observer, 'home').success
    references: list[JointState] = []
    source.observer.create_subscription(
        JointState, 'controller/joint_reference', references.append, 10
    )
    publisher = source.observer.create_publisher(JointState, 'controller/target_joints', 1)
    source.observer.spin_until(publisher.get_subscription_count)
    goal = HOME + 0.01
    order = [5, 4, 3, 2, 1, 0]
    start = len(controller.output)
    publisher.publish(joint_state(0, '', goal[order], names=[NAMES[i] for i in order]))
    controller.wait_for('target joints', start=start)
    source.skip(HOME, 10.0)
    source.observer.spin_until(
        lambda: (
            source.hold(goal) and references and stamp_of(references[-1]) > 10_010 * MILLISECOND
        )
    )
    np.testing.assert_allclose(references[-1].position, goal, atol=1e-12)
    assert tuple(references[-1].name) == NAMES

    start = len(controller.output)
    publisher.publish(joint_state(0, '', goal[:5], names=NAMES[:5]))
    controller.wait_for('target joints refused: name = .*each of joint_1, .* once', start=start)
    publisher.publish(joint_state(0, '', [9.0] * 6))
    controller.wait_for('target joints refused: .*joint_2', start=start)


def test_a_pose_target_is_in_the_base_frame(controller, source):
    source.hold(HOME)
    poses: list[PoseStamped] = []
    source.observer.create_subscription(PoseStamped, 'controller/reference_pose', poses.append, 10)
    source.observer.spin_until(lambda: source.hold(HOME) and poses)
    assert select(source.observer, 'impedance').success
    publisher = source.observer.create_publisher(PoseStamped, 'controller/target_pose', 1)
    source.observer.spin_until(publisher.get_subscription_count)
    target = poses[-1]
    target.header.frame_id = 'world'
    publisher.publish(target)
    controller.wait_for("target pose refused: header.frame_id = 'world' .*'base_link'")
    target.header.frame_id = 'base_link'
    target.pose.orientation.w = math.nan
    publisher.publish(target)
    controller.wait_for('target pose refused: quaternion')

    poses.clear()
    source.observer.spin_until(lambda: source.hold(HOME) and poses)
    target = poses[-1]
    goal = target.pose.position.z = target.pose.position.z + 0.02
    target.header.frame_id = ''
    start = len(controller.output)
    publisher.publish(target)
    controller.wait_for('target pose\n', start=start)
    poses.clear()
    source.skip(HOME, 10.0)
    poses.clear()
    source.observer.spin_until(lambda: source.hold(HOME) and poses)
    assert poses[-1].pose.position.z == pytest.approx(goal, abs=1e-9)


def test_the_outcome_of_each_request_is_published(source):
    outcomes: list[DiagnosticStatus] = []
    source.observer.create_subscription(
        DiagnosticStatus, 'controller/motion_status', outcomes.append, LATCHED
    )

    def outcome(request: str, stamp: str = '') -> tuple[bytes, str, dict[str, str]]:
        # The topic is latched: the stamp tells the answer from that of an earlier test's target.
        wanted = [request, stamp]

        def found() -> list[DiagnosticStatus]:
            return [
                one
                for one in outcomes
                if [v.value for v in one.values[:2]] == wanted
                and one.values[2].value in ('accepted', 'refused')
            ]

        source.observer.spin_until(found, what=f'the outcome of {request}')
        status = found()[-1]
        return status.level, status.message, {pair.key: pair.value for pair in status.values}

    source.hold(np.zeros(6))
    assert select(source.observer, 'impedance').success
    level, message, values = outcome('mode impedance')
    assert (level, message, values['outcome']) == (DiagnosticStatus.OK, 'accepted', 'accepted')
    answer = select(source.observer, 'down')
    assert values['mode_requested'] == 'impedance'
    level, message, values = outcome('mode down')
    assert (level, message) == (DiagnosticStatus.WARN, answer.message)
    assert (values['outcome'], values['mode']) == ('refused', 'impedance')
    publisher = source.observer.create_publisher(PoseStamped, 'controller/target_pose', 1)
    source.observer.spin_until(publisher.get_subscription_count)
    target = PoseStamped()
    target.header.frame_id = 'world'
    target.header.stamp.sec, target.header.stamp.nanosec = 12, 34
    publisher.publish(target)
    level, message, values = outcome('target pose', '12.000000034')
    assert level == DiagnosticStatus.WARN
    assert "header.frame_id = 'world'" in message
    assert (values['stamp'], values['outcome']) == ('12.000000034', 'refused')


def test_poses_come_every_ten_milliseconds_and_not_faster_than_the_eye(source):
    poses: list[PoseStamped] = []
    source.observer.create_subscription(PoseStamped, 'controller/current_pose', poses.append, 50)
    source.observer.spin_until(lambda: source.hold(HOME) and poses)
    poses.clear()
    begin = time.monotonic()
    source.hold(HOME, 300)
    elapsed = time.monotonic() - begin
    source.observer.spin_for(0.1)
    assert 2 <= len(poses) <= 30
    assert len(poses) <= elapsed * 100 + 2
    stamps = [stamp_of(pose) for pose in poses]
    assert all(
        later // (10 * MILLISECOND) > earlier // (10 * MILLISECOND)
        for earlier, later in itertools.pairwise(stamps)
    )
    assert {pose.header.frame_id for pose in poses} == {'base_link'}


def listen(source: StateSource, position, kinds: dict[str, type]) -> dict[str, object]:
    """One message of each topic, all of the same tick; at rest at a position."""
    heard: dict[str, dict[int, object]] = {topic: {} for topic in kinds}
    subscriptions = [
        source.observer.create_subscription(
            kind,
            f'controller/{topic}',
            lambda message, topic=topic: heard[topic].setdefault(stamp_of(message), message),
            10,
        )
        for topic, kind in kinds.items()
    ]

    def of_one_tick() -> set[int]:
        return set.intersection(*map(set, heard.values()))

    source.observer.spin_until(lambda: of_one_tick() or not source.hold(position))
    for subscription in subscriptions:
        source.observer.destroy_subscription(subscription)
    stamp = max(of_one_tick())
    return {topic: messages[stamp] for topic, messages in heard.items()}


def vector(message) -> np.ndarray:
    return np.array([message.x, message.y, message.z])


def test_the_parts_of_the_torque_add_up_to_the_command(source):
    source.hold(HOME)
    assert select(source.observer, 'home').success
    moved = HOME + 1e-4
    source.hold(moved, SETTLED)
    topics = {f'torque_terms/{name}': JointState for name in TERMS}
    parts = listen(source, moved, topics)
    total = sum(np.array(part.effort) for part in parts.values())
    np.testing.assert_allclose(total, source.hold(moved).effort, rtol=0, atol=1e-6)
    model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
    weight = gravity_torque(model, model.create_data(), moved)
    np.testing.assert_allclose(parts['torque_terms/gravity'].effort, weight, rtol=0, atol=1e-9)
    assert np.abs(parts['torque_terms/feedback'].effort).max() > 1.0
    assert tuple(parts['torque_terms/feedback'].name) == NAMES


def test_errors_are_reference_minus_state(source):
    errors: list[JointState] = []
    source.observer.create_subscription(JointState, 'controller/tracking_error', errors.append, 10)
    source.hold(HOME)
    listen(source, HOME, {'tool_error': TwistStamped})
    assert not errors, 'gravity has no reference'
    assert select(source.observer, 'home').success
    moved = HOME + 1e-4
    source.hold(moved, 5)
    heard = listen(source, moved, {'tracking_error': JointState, 'tool_error': TwistStamped})
    np.testing.assert_allclose(heard['tracking_error'].position, -1e-4, rtol=0, atol=1e-9)
    np.testing.assert_allclose(heard['tracking_error'].velocity, 0.0, atol=1e-9)
    error = heard['tool_error']
    assert error.header.frame_id == 'base_link'
    model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
    data = model.create_data()
    compute_all_terms(model, data, moved, np.zeros(6))
    J = frame_jacobian(
        model, data, model.frame_id('end_effector_link'), ReferenceFrame.LOCAL_WORLD_ALIGNED
    )
    way = np.concatenate([vector(error.twist.linear), vector(error.twist.angular)])
    np.testing.assert_allclose(way, J @ np.full(6, -1e-4), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_the_estimated_wrench_is_that_which_holds_a_spring(source):
    """An arm that stays off its rest pose is held there by minus the spring's wrench."""
    source.hold(HOME)
    # With nothing uncertain every joint has the full gain.
    exact = {'observer__uncertain_inertia': 0.0, 'observer__uncertain_mass': 0.0}
    assert set_parameters(source.observer, observer__gain=200.0, **exact).successful
    try:
        assert select(source.observer, 'impedance').success
        source.hold(HOME, 5)
        moved = HOME + 5e-4
        source.hold(moved, SETTLED)
        heard = listen(
            source,
            moved,
            {
                'external_torque': JointState,
                'estimated_wrench': WrenchStamped,
                'torque_terms/compliance': JointState,
                'tool_error': TwistStamped,
                'current_pose': PoseStamped,
            },
        )
    finally:
        shipped = {'observer__uncertain_inertia': 0.05, 'observer__uncertain_mass': 2.0}
        assert set_parameters(source.observer, observer__gain=0.0, **shipped).successful
    spring = np.array(heard['torque_terms/compliance'].effort)
    assert np.abs(spring).max() > 0.02
    np.testing.assert_allclose(heard['external_torque'].effort, -spring, rtol=0, atol=1e-6)
    held = heard['estimated_wrench']
    assert held.header.frame_id == 'end_effector_link'
    orientation = heard['current_pose'].pose.orientation
    quaternion = (orientation.x, orientation.y, orientation.z, orientation.w)
    R = SE3.from_quaternion(quaternion, np.zeros(3)).rotation
    twist = heard['tool_error'].twist
    for wrench, stiffness, error in (
        (held.wrench.force, 500.0, twist.linear),
        (held.wrench.torque, 20.0, twist.angular),
    ):
        np.testing.assert_allclose(
            vector(wrench), -stiffness * R.T @ vector(error), rtol=1e-3, atol=1e-5
        )


def test_status_names_what_is_saturated(source):
    heard: list[DiagnosticStatus] = []
    values: list[Float64] = []
    observer = source.observer
    observer.create_subscription(DiagnosticStatus, 'controller/status', heard.append, 10)
    observer.create_subscription(Float64, 'controller/smallest_singular_value', values.append, 10)
    observer.spin_until(lambda: source.hold(HOME) and heard and values)
    assert values[-1].data == pytest.approx(0.034, abs=1e-3)
    assert heard[-1].level == DiagnosticStatus.OK
    assert heard[-1].name == '/controller: control'
    words = {pair.key: pair.value for pair in heard[-1].values}
    assert words['saturated joints'] == 'none'
    assert words['rate limited'] == words['path limited'] == 'no'
    assert (words['observer'], words['mode'], words['speed scale']) == ('off', 'gravity', '1')

    assert select(observer, 'home').success
    assert set_parameters(observer, observer__gain=100.0).successful
    try:
        for k in range(30):
            source.hold(HOME + 1e-3 * k * np.eye(6)[1])
        heard.clear()
        far = HOME + 0.029 * np.eye(6)[1]
        observer.spin_until(lambda: source.hold(far) and heard)
    finally:
        assert set_parameters(observer, observer__gain=0.0).successful
    assert heard[-1].level == DiagnosticStatus.WARN
    assert 'saturated: joint_2' in heard[-1].message
    words = {pair.key: pair.value for pair in heard[-1].values}
    assert words['observer'] == 'cancels'


def test_gains_change_while_it_runs_all_or_none(source):
    observer = source.observer
    moved = HOME + 1e-4
    source.hold(HOME)
    assert select(observer, 'home').success
    weight = np.array(source.hold(HOME, 2).effort)
    stiff = np.array(source.hold(moved, SETTLED).effort) - weight
    assert set_parameters(observer, joint_gains__kp=[10000] * 6).successful
    soft = np.array(source.hold(moved, SETTLED).effort) - weight
    np.testing.assert_allclose(soft, stiff / 4, rtol=0.05)  # the weight differs a little too

    refused = set_parameters(observer, joint_gains__kp=[100.0] * 6, joint_gains__kd=[1.0])
    assert not refused.successful
    assert refused.reason.startswith('joint_gains.kd = ')
    assert '6 finite numbers' in refused.reason
    request = GetParameters.Request(names=['joint_gains.kp'])
    values = observer.call(GetParameters, 'controller/get_parameters', request).values
    assert list(values[0].double_array_value) == [10000.0] * 6
    still = np.array(source.hold(moved, SETTLED).effort) - weight
    np.testing.assert_allclose(still, soft, rtol=1e-6)

    for name, value in {
        'joint_gains__kp': [-1.0] * 6,
        'modes__home__duration': 'long',
        'modes__home__target_deg': [0.0, 180.0, 0.0, 0.0, 0.0, 0.0],
        'modes__home__law': 'task',
        'schedule': ['1.0 home'],
    }.items():
        refused = set_parameters(observer, **{name: value})
        assert not refused.successful
        assert name.rpartition('__')[2] in refused.reason
    assert set_parameters(observer, joint_gains__kp=[40000.0] * 6).successful


def test_a_controller_starts_with_what_another_one_dumps(graph, observer, tmp_path):
    """As `ros2 param dump` writes it: every parameter that there is, read-only ones too."""
    listed = observer.call(ListParameters, 'controller/list_parameters').result.names
    request = GetParameters.Request(names=listed)
    values = observer.call(GetParameters, 'controller/get_parameters', request).values
    dump: dict[str, object] = {}
    for name, value in zip(listed, map(parameter_value_to_python, values), strict=True):
        *groups, last = name.split('.')
        place = dump
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = list(value) if hasattr(value, '__len__') and value != str(value) else value
    assert dump['joint_modes']
    file = tmp_path / 'controller.yaml'
    file.write_text(yaml.safe_dump({'/**/controller': {'ros__parameters': dump}}))
    arguments = ('--ros-args', '--params-file', str(file), '-r', '__ns:=/again')
    process = graph.start('controller', *arguments)
    process.wait_for('ready; waiting for /again/joint_states')
    # No state has come yet.
    assert set_parameters(observer, '/again/controller', joint_gains__kp=[2500.0] * 6).successful
    assert process.stop() == 0


def test_a_group_of_gains_is_taken_or_refused_as_a_whole(source):
    group = {
        'joint_gains.kp': [10000.0] * 6,
        'joint_gains.kd': [150.0] * 6,
        'task_gains.kp': [2000.0] * 6,
        'modes.impedance.stiffness': [300.0] * 3 + [10.0] * 3,
        'observer.gain': 50.0,
        'speed_scale': 0.5,
    }
    names = list(group)

    def present() -> dict[str, object]:
        request = GetParameters.Request(names=names)
        answer = source.observer.call(GetParameters, 'controller/get_parameters', request)
        values = map(parameter_value_to_python, answer.values)
        return {
            name: list(value) if hasattr(value, '__len__') else value
            for name, value in zip(names, values, strict=True)
        }

    before = present()
    refused = set_parameters(source.observer, **group | {'modes.impedance.stiffness': [-1.0] * 6})
    assert not refused.successful
    assert 'modes.impedance.stiffness = ' in refused.reason
    assert 'at least 0' in refused.reason
    assert present() == before
    assert set_parameters(source.observer, **group).successful
    assert present() == group
    assert set_parameters(source.observer, **before).successful
    assert present() == before


def test_every_gain_says_unit_range_and_meaning(source):
    units = {
        'joint_gains.kp': '[1/s^2]',
        'task_gains.kd': '[1/s]',
        'modes.impedance.stiffness': '[N/m, N m/rad]',
        'modes.home.duration': '[s]',
        'observer.gain': '[1/s]',
        'limits.torque_rate': '[N m/s]',
    }
    request = DescribeParameters.Request(names=list(units))
    answer = source.observer.call(DescribeParameters, 'controller/describe_parameters', request)
    for descriptor, unit in zip(answer.descriptors, units.values(), strict=True):
        assert descriptor.description.endswith(unit)
        assert len(descriptor.description) > len(unit) + 10
        assert 'at least' in descriptor.additional_constraints
        assert 'at most' in descriptor.additional_constraints
        if descriptor.type == ParameterType.PARAMETER_DOUBLE:
            (limits,) = descriptor.floating_point_range
            assert limits.from_value < limits.to_value


@pytest.mark.slow
def test_invalid_states_are_not_answered_and_the_loop_goes_on(source):
    def stamps() -> set[int]:
        """Of the answers to this run; one to the run before may come late."""
        answers = [one for one in source.commands if one.header.frame_id == source.token]
        return {stamp_of(command) for command in answers}

    source.hold(HOME)
    bad = [
        joint_state(2 * MILLISECOND, source.token, [math.nan] * 6),
        joint_state(3 * MILLISECOND, source.token, [math.inf] * 6),
        joint_state(4 * MILLISECOND, source.token, HOME[:5]),
        joint_state(5 * MILLISECOND, source.token, HOME, names=[*NAMES[:5], 'elbow']),
        joint_state(6 * MILLISECOND, source.token, HOME, names=[*NAMES[:5], NAMES[0]]),
    ]
    for message in bad:
        source.publish(message)
        source.observer.spin_for(0.02)
    assert stamps() == {MILLISECOND}
    source.stamp_ns = 10 * MILLISECOND
    assert source.hold(HOME)
    broken = broken_copies(joint_state(11 * MILLISECOND, source.token, HOME))
    for raw in broken:
        source.publish(raw)
        source.observer.spin_for(0.003)
    assert stamps() == {11 * MILLISECOND}
    assert source.hold(HOME)
    heard: list[DiagnosticArray] = []
    source.observer.create_subscription(DiagnosticArray, '/diagnostics', heard.append, 10)

    def rejected() -> str:
        values = {pair.key: pair.value for array in heard for pair in array.status[0].values}
        return values.get('states rejected', '')

    kinds = {'not_finite', 'unknown_name', 'undecodable'}
    watch = Stopwatch()
    # A queue of one: where the controller waits for a processor, some get lost.
    while not all(kind in rejected() for kind in kinds):
        assert not watch.is_over(PATIENCE), rejected()
        for message in (*bad, *broken):
            source.publish(message)
            source.observer.spin_for(0.02)


@pytest.mark.slow
def test_missing_states_are_logged_once_and_so_is_their_return(controller, source):
    start = len(controller.output)
    source.hold(HOME)
    controller.wait_for('no states on /joint_states from /observer', 5.0, start=start)
    source.observer.spin_for(1.2)
    assert controller.output.count('no states', start) == 1
    source.hold(HOME)
    controller.wait_for('states on /joint_states are back', 5.0, start=start)


@pytest.mark.slow
def test_the_diagnostics_say_that_the_arm_is_braked(controller, source):
    source.hold(HOME, 3)
    told: list[str] = []

    def take(array: DiagnosticArray) -> None:
        told.extend(one.message for one in array.status if one.name == '/controller: states')

    source.observer.create_subscription(DiagnosticArray, '/diagnostics', take, 10)
    watch = Stopwatch()
    outcomes: list[dict[str, str]] = []

    def take_outcome(status: DiagnosticStatus) -> None:
        outcomes.append({pair.key: pair.value for pair in status.values})

    source.observer.create_subscription(
        DiagnosticStatus, 'controller/motion_status', take_outcome, 10
    )
    while not any('braked and held' in one for one in told):
        assert not watch.is_over(PATIENCE), told
        source.stamp_ns += MILLISECOND
        too_fast = joint_state(source.stamp_ns, source.token, HOME, (10.0,) * 6)
        source.answer_to(too_fast)
    source.observer.spin_until(lambda: any(one.get('reason') == 'speed' for one in outcomes))
    aborted = next(one for one in outcomes if one.get('reason') == 'speed')
    assert aborted['outcome'] == 'aborted'
    assert aborted['joint'].startswith('joint_')
    assert float(aborted['value']) == 10.0
    assert 0.0 < float(aborted['upper']) < 10.0


@pytest.mark.slow
def test_the_status_says_that_feedback_is_softer_until_the_next_start(source):
    heard: list[DiagnosticStatus] = []
    source.observer.create_subscription(DiagnosticStatus, 'controller/status', heard.append, 10)

    def bandwidth() -> str:
        return next(pair.value for pair in heard[-1].values if pair.key == 'feedback bandwidth')

    def run(speed: float, ticks: int) -> None:
        for _ in range(ticks):
            source.stamp_ns += MILLISECOND
            source.answer_to(joint_state(source.stamp_ns, source.token, HOME, (speed,) * 6))

    for _ in range(2):  # stopped, held, and stopped again
        run(10.0, 60)
        run(0.0, 200)
    source.observer.spin_until(lambda: source.hold(HOME) and heard and bandwidth() == '0.25')
    assert 'feedback is softer' in heard[-1].message
    source.restart('another run')
    source.observer.spin_until(lambda: source.hold(HOME) and bandwidth() == '1')


@pytest.mark.slow
def test_two_sources_of_states_are_named_and_not_answered(controller, graph, source):
    other_node = graph.observer('other_node')
    other = StateSource(other_node, token=source.token + ' other')
    start = len(controller.output)
    source.hold(HOME)
    told: list[DiagnosticArray] = []
    source.observer.create_subscription(DiagnosticArray, '/diagnostics', told.append, 10)
    source.observer.spin_until(lambda: '/other_node' in str(told), what='the other_node by name')
    for k in range(1, 30):
        other.publish(joint_state(k * MILLISECOND, other.token, HOME))
        other_node.spin_for(0.01)
        source.publish(joint_state(k * MILLISECOND, source.token, HOME))
        source.observer.spin_for(0.01)
    said = controller.wait_for('more than one node sends states on /joint_states: .*', start=start)
    assert '/observer' in said.group()
    assert '/other_node' in said.group()
    source.commands.clear()
    for k in range(500, 505):
        other.publish(joint_state(k * MILLISECOND, other.token, HOME))
        source.publish(joint_state(k * MILLISECOND, source.token, HOME))
        source.observer.spin_for(0.04)
    assert not source.commands
    source.stamp_ns = 1000 * MILLISECOND
    assert source.hold(HOME)  # answered again once the other one has stopped for a while


@pytest.mark.slow
@pytest.mark.parametrize(
    ('phase', 'number'),
    [
        ('starting', signal.SIGTERM),
        ('running', signal.SIGINT),
        pytest.param('starting', signal.SIGINT, marks=pytest.mark.long),
        pytest.param('starting', signal.SIGHUP, marks=pytest.mark.long),
        pytest.param('running', signal.SIGTERM, marks=pytest.mark.long),
        pytest.param('running', signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_it_ends_quietly_when_asked(ros_graph, number, phase):
    process = ros_graph.start('controller', fresh=True)
    if phase == 'running':
        process.wait_for(READY)
    else:
        process.wait_for('nq = 6')
    assert process.stop(number, timeout=3.0) == 0
    assert 'Traceback' not in process.output


@pytest.mark.slow
def test_a_measured_wrench_counts_where_an_inertia_is_wished_for(observer, controller, source):
    """5 kg in front of the arm's own inertia: the torque changes with the wrench, for 0.1 s."""
    source.hold(HOME)
    assert set_parameters(observer, modes__impedance__inertia=[5.0] * 3 + [0.1] * 3).successful
    assert select(observer, 'impedance').success
    resting = np.array(source.hold(HOME, SETTLED).effort)
    publisher = observer.create_publisher(WrenchStamped, 'controller/measured_wrench', 1)
    observer.spin_until(publisher.get_subscription_count)
    wrench = WrenchStamped()
    wrench.header.frame_id = 'end_effector_link'
    wrench.wrench.force.z = 5.0

    def is_felt() -> bool:
        publisher.publish(wrench)
        return np.abs(np.array(source.hold(HOME).effort) - resting).max() > 0.1

    observer.spin_until(is_felt, what='a torque that knows of the wrench')
    np.testing.assert_allclose(source.hold(HOME, 120).effort, resting, atol=1e-6)
    wrench.header.frame_id = 'base_link'
    publisher.publish(wrench)
    controller.wait_for('measured wrench .* refused')
