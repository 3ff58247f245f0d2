"""Parameters as users write them: integers for numbers, empty lists, typos, wrong values."""

from dataclasses import dataclass

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.signals import SignalHandlerOptions

from icir_control.errors import ConfigurationError
from icir_control.nodes.parameters import Parameters, readable_parameters
from icir_control.parameter import (
    PER_JOINT,
    FloatArray,
    flatten,
    parameter,
    read,
    replaced,
)
from icir_control.parameter import (
    parameters_of as declared_by,
)
from icir_control.share import find_model_file


@dataclass
class Example:
    kp: FloatArray = parameter(
        [1.0, 1.0, 1.0], '1/s^2', 'stiffness', lower=0.0, upper=1e6, length=PER_JOINT
    )
    kd: FloatArray = parameter(
        [], '1/s', 'damping', lower=0.0, length=PER_JOINT, may_be_empty=True
    )
    duration: float = parameter(2.0, 's', 'time of the move', lower=0.01, upper=600.0)
    pace: float = parameter(1.0, '', 'how fast', lower=0.0)
    seed: int = parameter(0, '', 'of the noise', lower=0, upper=2**31 - 1, running=False)
    key: str = parameter('x', '', 'on the keyboard', running=False)
    schedule: tuple[str, ...] = parameter((), '', 'what runs when', running=False)


@dataclass
class Target:
    target_deg: FloatArray = parameter(None, 'deg', 'where to', length=PER_JOINT)


@pytest.fixture
def parameters_of(ros_graph):
    """Return a function: command line arguments to a node and its parameters."""
    contexts = []

    def build(*arguments: str) -> tuple[Node, Parameters]:
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
        return node, Parameters(node)

    yield build
    for context in contexts:
        rclpy.shutdown(context=context)


def declare_all(parameters: Parameters, shipped: dict | None = None) -> Example:
    """Check what was given, and declare it, as the nodes do."""
    example = read(Example, replaced({}, (shipped or {}) | parameters.given), nv=3)
    parameters.declare(declared_by(Example), lambda name: getattr(example, name), 3)
    return example


def test_defaults_stand_and_have_the_right_ros_type(parameters_of):
    node, parameters = parameters_of()
    example = declare_all(parameters)
    types = {name: node.get_parameter(name).type_ for name in declared_by(Example)}
    assert types == {
        'kp': RosParameter.Type.DOUBLE_ARRAY,
        'kd': RosParameter.Type.DOUBLE_ARRAY,
        'duration': RosParameter.Type.DOUBLE,
        'pace': RosParameter.Type.DOUBLE,
        'seed': RosParameter.Type.INTEGER,
        'key': RosParameter.Type.STRING,
        'schedule': RosParameter.Type.STRING_ARRAY,
    }
    np.testing.assert_array_equal(example.kp, [1.0, 1.0, 1.0])
    assert list(node.get_parameter('kp').value) == [1.0, 1.0, 1.0]
    assert example.schedule == ()


def test_integers_are_taken_for_numbers_also_mixed_with_decimals(parameters_of, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text(
        '/**/controller:\n  ros__parameters:\n    kp: [1, 2.5, -0]  # mixed\n'
        '    kd: []\n    duration: 3\n'
    )
    node, parameters = parameters_of('--params-file', str(file))
    example = declare_all(parameters)
    assert example.kp.tolist() == [1.0, 2.5, 0.0]
    assert example.kd.tolist() == []
    assert example.duration == 3.0
    assert node.get_parameter('duration').type_ == RosParameter.Type.DOUBLE
    _, other = parameters_of('-p', 'kp:=[4, 5.5, 6]')
    assert declare_all(other).kp.tolist() == [4.0, 5.5, 6.0]


def test_what_is_given_goes_before_what_is_shipped_before_the_default(parameters_of):
    _, parameters = parameters_of('-p', 'duration:=3.0')
    example = declare_all(parameters, shipped={'duration': 5.0, 'seed': 7})
    assert example.duration == 3.0
    assert example.seed == 7
    assert example.key == 'x'
    assert 'duration' in parameters.given
    assert 'seed' not in parameters.given


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
        ('durations:=2.0', 'unknown parameter durations; did you mean duration.*valid: .*kp'),
    ],
)
def test_what_is_wrong_is_refused_with_the_name_and_what_is_valid(
    parameters_of, argument, message
):
    _, parameters = parameters_of('-p', argument)
    with pytest.raises(ConfigurationError, match=message):
        declare_all(parameters)


def test_what_must_be_given_is_asked_for():
    with pytest.raises(ConfigurationError, match=r'modes\.home\.target_deg is missing.*3 finite'):
        read(Target, {}, 3, 'modes.home.')


def test_names_with_dots_nest_and_flatten_again():
    flat = {'a.b.c': 1, 'a.d': [2.0], 'e': 'f'}
    assert replaced({}, flat) == {'a': {'b': {'c': 1}, 'd': [2.0]}, 'e': 'f'}
    assert flatten(replaced({}, flat)) == flat


def test_changes_while_running_are_taken_together_or_not_at_all(parameters_of):
    node, parameters = parameters_of()
    declare_all(parameters)
    taken = []

    def take_over(changes: dict) -> None:
        read(Example, changes, nv=3)
        if changes.get('duration') == 13.0:
            raise ConfigurationError('an unlucky number')
        taken.append(changes)

    parameters.watch(take_over)
    assert node.set_parameters([RosParameter('duration', value=3)])[0].successful
    assert taken == [{'duration': 3.0}]
    assert node.get_parameter('duration').value == 3.0
    assert node.get_parameter('duration').type_ == RosParameter.Type.DOUBLE
    group = [RosParameter('duration', value=4.0), RosParameter('kp', value=[1.0])]
    result = node.set_parameters_atomically(group)
    assert not result.successful
    assert 'kp = [1.0] is not valid; expected 3 finite numbers' in result.reason
    refused = node.set_parameters([RosParameter('duration', value=13.0)])[0]
    assert refused.reason == 'an unlucky number'
    assert 'seed' in node.set_parameters([RosParameter('seed', value=1)])[0].reason
    assert not node.set_parameters([RosParameter('duration')])[0].successful
    assert len(taken) == 1
    assert node.get_parameter('duration').value == 3.0


def test_a_parameter_tells_its_unit_range_and_meaning(parameters_of):
    node, parameters = parameters_of()
    declare_all(parameters)
    duration = node.describe_parameter('duration')
    assert duration.description == 'time of the move [s]'
    assert duration.floating_point_range[0].from_value == 0.01
    assert duration.floating_point_range[0].to_value == 600.0
    assert not duration.read_only
    assert not node.describe_parameter('pace').floating_point_range, 'no end to slide to'
    seed = node.describe_parameter('seed')
    assert seed.read_only
    assert seed.integer_range[0].from_value == 0
    assert seed.integer_range[0].to_value < 2**31, 'as rqt_reconfigure wants it'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (None, 'mine.yaml cannot be read: No such file'),
        ('a: [1, 2\nb: 3', 'mine.yaml is not YAML at line 2'),
        ('a: 1\nmodel: {{ robot }}\n', 'line 2 has no name before its colon'),
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
    assert find_model_file('package://arms/arm.urdf', [str(tmp_path)]) == path
    with pytest.raises(ConfigurationError, match=r'model = .*nowhere.urdf.*there is no file'):
        find_model_file(str(tmp_path / 'nowhere.urdf'))
    with pytest.raises(ConfigurationError, match="the package 'no_such_arm' is not installed"):
        find_model_file('package://no_such_arm/arm.urdf')
