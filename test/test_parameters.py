"""Parameters as users write them: integers for numbers, empty lists, typos, wrong values."""

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from icir_control.control import replaced
from icir_control.control.figure import Figure
from icir_control.errors import ConfigurationError
from icir_control.nodes.model_file import find_model_file
from icir_control.nodes.parameter_files import readable_parameters
from icir_control.nodes.parameters import Parameters, flatten

KP = Figure('kp', 'float_array', [1.0, 1.0, 1.0], '1/s^2', 'stiffness', lower=0.0, length='nv')
KD = Figure('kd', 'float_array', [], '1/s', 'damping', lower=0.0, length='nv', may_be_empty=True)
DURATION = Figure('duration', 'float', 2.0, 's', 'time of the move', lower=0.01)
SEED = Figure('seed', 'int', 0, '', 'of the noise', lower=0.0, running=False)
KEY = Figure('key', 'string', 'x', '', 'on the keyboard', running=False)
SCHEDULE = Figure('schedule', 'string_array', [], '', 'what runs when', running=False)
TARGET = Figure('target_deg', 'float_array', None, 'deg', 'where to', length='nv')
FIGURES = (KP, KD, DURATION, SEED, KEY, SCHEDULE)


@pytest.fixture
def parameters_of(ros_graph):
    """Return a function: command line arguments to a node and its parameters."""
    contexts = []

    def build(*arguments: str, shipped: dict | None = None) -> tuple[Node, Parameters]:
        context = Context()
        with readable_parameters(['--ros-args', *arguments]) as readable:
            rclpy.init(
                args=readable,
                context=context,
                domain_id=ros_graph.domain,
                signal_handler_options=SignalHandlerOptions.NO,
            )
        contexts.append(context)
        node = Node('controller', context=context)
        parameters = Parameters(node)
        parameters.ship(shipped or {})
        return node, parameters

    yield build
    for context in contexts:
        rclpy.shutdown(context=context)


def declare_all(parameters: Parameters) -> None:
    for figure in FIGURES:
        parameters.declare(figure, nv=3)


def test_defaults_stand_and_have_the_right_ros_type(parameters_of):
    node, parameters = parameters_of()
    declare_all(parameters)
    parameters.refuse_unknown()
    types = {name: node.get_parameter(name).type_ for name in parameters.values}
    assert types == {
        'kp': Parameter.Type.DOUBLE_ARRAY,
        'kd': Parameter.Type.DOUBLE_ARRAY,
        'duration': Parameter.Type.DOUBLE,
        'seed': Parameter.Type.INTEGER,
        'key': Parameter.Type.STRING,
        'schedule': Parameter.Type.STRING_ARRAY,
    }
    np.testing.assert_array_equal(parameters.values['kp'], [1.0, 1.0, 1.0])
    assert parameters.values['schedule'] == ()


def test_integers_are_taken_for_numbers_also_mixed_with_decimals(parameters_of, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text(
        '/**/controller:\n  ros__parameters:\n    kp: [1, 2.5, -0]  # mixed\n'
        '    kd: []\n    duration: 3\n'
    )
    node, parameters = parameters_of('--params-file', str(file))
    declare_all(parameters)
    assert parameters.values['kp'].tolist() == [1.0, 2.5, 0.0]
    assert parameters.values['kd'].tolist() == []
    assert parameters.values['duration'] == 3.0
    assert node.get_parameter('duration').type_ == Parameter.Type.DOUBLE
    _, other = parameters_of('-p', 'kp:=[4, 5.5, 6]')
    assert other.declare(KP, nv=3).tolist() == [4.0, 5.5, 6.0]


def test_what_is_given_goes_before_what_is_shipped_before_the_default(parameters_of):
    _, parameters = parameters_of('-p', 'duration:=3.0', shipped={'duration': 5.0, 'seed': 7})
    declare_all(parameters)
    assert parameters.values['duration'] == 3.0
    assert parameters.values['seed'] == 7
    assert parameters.values['key'] == 'x'
    assert parameters.is_given('duration')
    assert not parameters.is_given('seed')


@pytest.mark.parametrize(
    ('argument', 'message'),
    [
        ('kp:=[1.0, 2.0]', r'kp = \[1.0, 2.0\] .*3 finite numbers.*1/s\^2'),
        ('kp:=[1.0, -2.0, 3.0]', r'kp = .*-2.0.* at least 0'),
        ('kp:=[.nan, 1.0, 1.0]', 'kp = .*finite'),
        ('kp:=stiff', "kp = 'stiff' .*3 finite numbers"),
        ('duration:=-1', 'duration = -1 .*at least 0.01'),
        ('duration:=true', 'duration = True .*a finite number'),
        ('seed:=2.5', 'seed = 2.5 .*an integer'),
        ('seed:=-1', 'seed = -1 .*at least 0'),
        ('key:=y', 'key = True .*a string.*quotes'),
        ('schedule:=[1, 2]', r'schedule = \[1, 2\] .*strings'),
        ('durations:=2.0', "unknown parameter 'durations'; did you mean 'duration'.*valid: kp"),
    ],
)
def test_what_is_wrong_is_refused_with_the_name_and_what_is_valid(
    parameters_of, argument, message
):
    _, parameters = parameters_of('-p', argument)
    with pytest.raises(ConfigurationError, match=message):  # noqa: PT012 (one of two raises)
        declare_all(parameters)
        parameters.refuse_unknown()


def test_what_must_be_given_is_asked_for(parameters_of):
    _, parameters = parameters_of()
    with pytest.raises(ConfigurationError, match=r'modes\.home\.target_deg is missing.*3 finite'):
        parameters.declare(TARGET, prefix='modes.home.', nv=3)


def test_what_nobody_declared_is_told_and_refused(parameters_of):
    _, parameters = parameters_of('-p', 'modes.wave.key:=w', '-p', 'modes.home.key:=h')
    parameters.declare(KEY, prefix='modes.home.')
    assert replaced({}, parameters.undeclared()) == {'modes': {'wave': {'key': 'w'}}}
    with pytest.raises(ConfigurationError, match=r'modes\.wave\.key.*modes\.home\.key'):
        parameters.refuse_unknown()


def test_names_with_dots_nest_and_flatten_again():
    flat = {'a.b.c': 1, 'a.d': [2.0], 'e': 'f'}
    assert replaced({}, flat) == {'a': {'b': {'c': 1}, 'd': [2.0]}, 'e': 'f'}
    assert flatten(replaced({}, flat)) == flat


def test_changes_while_running_are_taken_together_or_not_at_all(parameters_of):
    node, parameters = parameters_of()
    declare_all(parameters)
    taken = []

    def take_over(changes: dict) -> None:
        if changes.get('duration') == 13.0:
            raise ConfigurationError('an unlucky number')
        taken.append(changes)

    parameters.watch(take_over)
    assert node.set_parameters([Parameter('duration', value=3)])[0].successful
    assert taken == [{'duration': 3.0}]
    assert node.get_parameter('duration').value == 3.0
    assert node.get_parameter('duration').type_ == Parameter.Type.DOUBLE
    group = [Parameter('duration', value=4.0), Parameter('kp', value=[1.0])]
    result = node.set_parameters_atomically(group)
    assert not result.successful
    assert 'kp = [1.0] is not valid; expected 3 finite numbers' in result.reason
    refused = node.set_parameters([Parameter('duration', value=13.0)])[0]
    assert refused.reason == 'an unlucky number'
    assert 'seed' in node.set_parameters([Parameter('seed', value=1)])[0].reason
    assert not node.set_parameters([Parameter('duration')])[0].successful
    assert len(taken) == 1
    assert parameters.values['duration'] == node.get_parameter('duration').value == 3.0


def test_a_parameter_tells_its_unit_range_and_meaning(parameters_of):
    node, parameters = parameters_of()
    declare_all(parameters)
    duration = node.describe_parameter('duration')
    assert duration.description == 'time of the move [s]'
    assert duration.floating_point_range[0].from_value == 0.01
    assert not duration.read_only
    seed = node.describe_parameter('seed')
    assert seed.read_only
    assert seed.integer_range[0].from_value == 0


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (None, 'mine.yaml cannot be read: No such file'),
        ('a: [1, 2\nb: 3', 'mine.yaml is not YAML at line 2'),
        (
            'controller:\n  ros__parameters:\n    modes:\n      home: {key: h}\n'
            '      ready: {key: a}\n      home: {key: j}\n',
            "mine.yaml has 'home' twice in one place, at lines 4 and 6",
        ),
    ],
)
def test_a_parameter_file_that_cannot_be_read_is_named(tmp_path, text, message):
    file = tmp_path / 'mine.yaml'
    if text is not None:
        file.write_text(text)
    with (
        pytest.raises(ConfigurationError, match=message),
        readable_parameters(['--ros-args', '--params-file', str(file)]),
    ):
        pass


def test_a_file_that_ros_reads_as_it_is_stays_the_one(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('controller:\n  ros__parameters:\n    a: [1, 2]\n    b: [1.0, 2.5]\n')
    arguments = ['--ros-args', '--params-file', str(file), '-r', '__ns:=/left']
    with readable_parameters(arguments) as readable:
        assert readable == arguments


def test_the_model_is_found_by_path_and_by_package(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text('<robot/>')
    assert find_model_file(str(path)) == path
    assert find_model_file('package://icir_control/urdf/gen3_6dof.urdf').is_file()
    with pytest.raises(ConfigurationError, match=r'model = .*nowhere.urdf.*there is no file'):
        find_model_file(str(tmp_path / 'nowhere.urdf'))
    with pytest.raises(ConfigurationError, match="the package 'no_such_arm' is not installed"):
        find_model_file('package://no_such_arm/arm.urdf')
