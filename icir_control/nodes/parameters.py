"""The parameters of one node: what is given to it, declared as ROS parameters, and watched."""

import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rcl_interfaces import msg
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from icir_control.errors import ConfigurationError, IcirError
from icir_control.nodes.robot import ROBOT, LoadedRobot
from icir_control.parameter import Parameter

_INTEGER = re.compile(r'[-+]?[0-9]+')
_INTEGER_TAG = 'tag:yaml.org,2002:int'
_FLOAT_TAG = 'tag:yaml.org,2002:float'
_FILE_FLAG = '--params-file'
_VALUE_FLAGS = ('-p', '--param')

_TYPES = {
    'bool': RosParameter.Type.BOOL,
    'int': RosParameter.Type.INTEGER,
    'float': RosParameter.Type.DOUBLE,
    'string': RosParameter.Type.STRING,
    'float_array': RosParameter.Type.DOUBLE_ARRAY,
    'string_array': RosParameter.Type.STRING_ARRAY,
}


class Parameters:
    """Takes what is given to a node, and declares it once it is checked.

    ROS parameters are statically typed: a file that says `duration: 2` gives an integer, and
    declaring a double then fails. Here the given values are taken first; a configuration checks
    them and brings them into the type that is meant, and only then they are declared, so that
    tools see the right type.

    Attributes:
        given: What files and the command line give, by full name, unchecked.
    """

    def __init__(self, node: Node) -> None:
        """Read what parameter files and the command line give to the node.

        Args:
            node: The node, without parameters of ours as yet.
        """
        self._node = node
        self.given = _given_values(node)
        self._declared: dict[str, Parameter] = {}
        self._joints = 0

    def read_robot(self, node: str) -> LoadedRobot:
        """Read the robot that is given to a node, and declare the parameters that tell which.

        Args:
            node: Its name.

        Raises:
            IcirError: A parameter or the model is not valid.
        """
        robot = LoadedRobot.of(self.given, node)
        self.declare(ROBOT, partial(getattr, robot.own), 0)
        return robot

    def declare(
        self, parameters: Mapping[str, Parameter], value: Callable[[str], Any], joints: int
    ) -> None:
        """Declare parameters with their checked values.

        Args:
            parameters: By full name.
            value: Gives the value by full name.
            joints: Degrees of freedom of the arm.
        """
        self._joints = joints
        for name, parameter in parameters.items():
            # Declared by type and set afterwards, because an empty list alone says nothing of its
            # type; described last, because what is read-only could not be set any more.
            kind = _TYPES[parameter.kind]
            self._node.declare_parameter(name, kind, ignore_override=True)
            self._node.set_parameters([RosParameter(name, kind, _ros_value(value(name)))])
            self._node.set_descriptor(name, descriptor_of(parameter, name, joints))
        self._declared.update(parameters)

    def watch(self, take_over: Callable[[dict[str, Any]], None]) -> None:
        """From now on, hand every group of changes to a function that may refuse it.

        Args:
            take_over: Called with the new values by full name, all of one request at once; an
                `IcirError` that it raises refuses them all, and its message is the reason.
        """

        def check(changed: 'list[RosParameter[Any]]') -> msg.SetParametersResult:
            changes = {one.name: one.value for one in changed if one.name in self._declared}
            try:
                for name, value in changes.items():
                    if value is None:
                        expected = self._declared[name].expected(self._joints)
                        raise ConfigurationError(f'{name} cannot be unset; expected {expected}')
                if changes:
                    take_over(changes)
            except IcirError as error:
                return msg.SetParametersResult(successful=False, reason=str(error))
            return msg.SetParametersResult(successful=True)

        self._node.add_pre_set_parameters_callback(
            lambda changed: [self._with_decimals(one) for one in changed]
        )
        self._node.add_on_set_parameters_callback(check)

    def _with_decimals(self, given: 'RosParameter[Any]') -> 'RosParameter[Any]':
        """Return a parameter in which integers are decimals where decimals are meant."""
        declared = self._declared.get(given.name)
        whole = {
            'float': RosParameter.Type.INTEGER,
            'float_array': RosParameter.Type.INTEGER_ARRAY,
        }
        if declared is None or given.type_ != whole.get(declared.kind):
            return given
        value = np.asarray(given.value, dtype=float).tolist()
        return RosParameter(given.name, _TYPES[declared.kind], value)


def descriptor_of(parameter: Parameter, name: str, joints: int) -> msg.ParameterDescriptor:
    """Return what `ros2 param describe` and rqt show of a parameter.

    What may be set while the node runs is typed dynamically, so that a wrong type reaches our own
    check and is refused with the name and what would be valid. A range is there only where both
    of its ends are, and an integer's within 32 bits: rqt makes sliders of ranges.

    Args:
        parameter: The parameter.
        name: Its full name.
        joints: Degrees of freedom of the arm.
    """
    unit = f' [{parameter.unit}]' if parameter.unit else ''
    fixed = '' if parameter.running else '; fixed once the node runs'
    descriptor = msg.ParameterDescriptor(
        name=name,
        type=_TYPES[parameter.kind].value,
        description=parameter.description + unit + fixed,
        additional_constraints=parameter.expected(joints),
        read_only=not parameter.running,
        dynamic_typing=parameter.running,
    )
    lower, upper = parameter.lower, parameter.upper
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return descriptor
    if parameter.kind == 'float':
        descriptor.floating_point_range = [
            msg.FloatingPointRange(from_value=lower, to_value=upper)
        ]
    elif parameter.kind == 'int':
        descriptor.integer_range = [msg.IntegerRange(from_value=int(lower), to_value=int(upper))]
    return descriptor


def _ros_value(value: Any) -> Any:
    """Return a value as ROS parameters hold it: arrays and tuples become lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _given_values(node: Node) -> dict[str, Any]:
    """Return what parameter files and the command line give to the node, by name.

    Parameters that every node has, such as `use_sim_time`, are left to the client library. An
    empty list, which has no type, comes from ROS as no value at all.

    rclpy lets a name be declared first and read afterwards; which names were given at all only
    the node's handle tells.
    """
    with node.handle:
        given = node.handle.get_parameters(RosParameter)
    return {
        name: [] if one.value is None else one.value
        for name, one in given.items()
        if not node.has_parameter(name)
    }


@contextmanager
def readable_parameters(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give command line arguments whose parameters ROS reads as they are meant.

    The parser of ROS names no file in some of its messages, lets the second of two equal keys win
    without a word, and refuses a list such as `[0, 45.5]` that mixes integers and decimals.
    Files that need no change are named as they were; the others are written anew to a folder that
    is gone when the context ends, which must be after ROS was initialised.

    Args:
        arguments: The process's arguments, with or without `--ros-args`.

    Raises:
        ConfigurationError: A file is missing, not YAML, or has one key twice; names it.
    """
    changed = list(arguments)
    with ExitStack() as folders:
        for i, (flag, value) in enumerate(pairwise(arguments), start=1):
            if flag == _FILE_FLAG:
                text = _read(Path(value))
                readable = _with_equal_types(text, value)
                if readable != text:
                    changed[i] = str(_write(readable, folders))
            elif flag in _VALUE_FLAGS and ':=' in value:
                name, _, text = value.partition(':=')
                with suppress(ConfigurationError):  # ROS says itself which rule it cannot read
                    changed[i] = f'{name}:={_with_equal_types(text, value)}'
        yield changed


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else 'not a text file'
        raise ConfigurationError(f'parameter file {path} cannot be read: {reason}') from error


def _write(text: str, folders: ExitStack) -> Path:
    """Write a file into a folder that is gone when the stack is closed."""
    try:
        folder = folders.enter_context(tempfile.TemporaryDirectory(prefix='parameters_'))
        path = Path(folder) / 'parameters.yaml'
        path.write_text(text)
    except OSError as error:
        raise ConfigurationError(
            f'no temporary file can be written: {error.strerror}; make room, or name a folder with'
            ' room in TMPDIR'
        ) from error
    return path


def _with_equal_types(text: str, source: str) -> str:
    """Return YAML in which the integers of a list that also holds decimals are decimals too."""
    loader = _Loader(text)
    try:
        loader.get_single_node()
    except _RepeatedKeyError as error:
        raise ConfigurationError(f'{source} has {error}') from error
    except yaml.YAMLError as error:
        place = getattr(error, 'problem_mark', None)
        line = f' at line {place.line + 1}' if place else ''
        problem = getattr(error, 'problem', None) or 'cannot be parsed'
        raise ConfigurationError(f'{source} is not YAML{line}: {problem}') from error
    for end in sorted(loader.integer_ends, reverse=True):
        text = text[:end] + '.0' + text[end:]
    return text


class _RepeatedKeyError(Exception):
    """One key twice in one place."""


class _Loader(yaml.SafeLoader):
    """Notes where the integers end that stand beside decimals, and refuses repeated keys."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.integer_ends: set[int] = set()

    def compose_sequence_node(self, anchor: str | None) -> yaml.SequenceNode:
        node = super().compose_sequence_node(anchor)
        if {entry.tag for entry in node.value} == {_INTEGER_TAG, _FLOAT_TAG}:
            self.integer_ends |= {
                entry.end_mark.index
                for entry in node.value
                if entry.tag == _INTEGER_TAG and _INTEGER.fullmatch(entry.value)
            }
        return node

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise _RepeatedKeyError(
                    f'line {line} has no name before its colon, but a list or a mapping;'
                    ' is it a template that was not filled in?'
                )
            if key.value in seen:
                raise _RepeatedKeyError(
                    f'{key.value!r} twice in one place, at lines {seen[key.value]} and {line};'
                    ' each name may stand there once'
                )
            seen[key.value] = line
        return node
