"""The parameters of one node: declared, checked as a whole, and watched while the node runs."""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from icir_control.control.figure import Figure
from icir_control.errors import ConfigurationError, IcirError
from icir_control.nodes.descriptor import TYPES, descriptor_of, ros_value

MODEL = Figure(
    'model',
    'string',
    'package://icir_control/urdf/gen3_6dof.urdf',
    description='path or package:// URI of the URDF',
    running=False,
)
"""The parameter that both nodes have."""


class Parameters:
    """Declares figures as parameters of a node and keeps their values.

    ROS parameters are statically typed: a file that says `duration: 2` gives an integer, and
    declaring a double then fails. Here the given value is taken first, turned into the meant type
    where that loses nothing, and only then declared, so that tools see the right type.

    Attributes:
        values: The present value of every declared parameter by its full name: a float, an int, a
            bool, a string, a tuple of strings or a (n,) array.
    """

    def __init__(self, node: Node) -> None:
        """Read what parameter files and the command line give to the node.

        Args:
            node: The node, without parameters of ours as yet.
        """
        self.values: dict[str, Any] = {}
        self._node = node
        self._figures: dict[str, tuple[Figure, int]] = {}
        self._given = _given_values(node)
        self._shipped: dict[str, Any] = {}

    def ship(self, values: Mapping[str, Any]) -> None:
        """Set values by full name that stand where nothing is given, before a default."""
        self._shipped.update(values)

    def declare(self, figure: Figure, *, prefix: str = '', nv: int = 0) -> Any:
        """Declare one parameter; its value: as given, else as shipped, else the default.

        Args:
            figure: What the parameter is; its kind may also be `int`.
            prefix: What stands before the figure's name, with its dot, such as `modes.home.`.
            nv: Degrees of freedom of the arm, for a figure with one entry per joint.

        Raises:
            ConfigurationError: The value that was given is not valid, or there is none.
        """
        name = prefix + figure.name
        value = {**self._shipped, **self._given}.get(name, figure.default)
        value = _check(figure, value, name, nv)
        # Declared by type and set afterwards, because an empty list alone says nothing of its
        # type; described last, because what is read-only could not be set any more.
        kind = TYPES[figure.kind]
        self._node.declare_parameter(name, kind, ignore_override=True)
        self._node.set_parameters([Parameter(name, kind, ros_value(value))])
        self._node.set_descriptor(name, descriptor_of(figure, name, nv))
        self._figures[name] = (figure, nv)
        self.values[name] = value
        return value

    def is_given(self, name: str) -> bool:
        """Tell whether a file or the command line gives this very parameter a value."""
        return name in self._given

    def undeclared(self) -> dict[str, Any]:
        """Return what is given or shipped and declared by nobody yet, unchecked, by full name."""
        values = {**self._shipped, **self._given}
        return {name: one for name, one in values.items() if not self._node.has_parameter(name)}

    def refuse_unknown(self) -> None:
        """Refuse what was given but declared by nobody: a misspelt name would act like none.

        Raises:
            ConfigurationError: Names such a parameter and the valid names near it.
        """
        for name in self._given:
            if not self._node.has_parameter(name):
                raise ConfigurationError(self._unknown(name))

    def watch(self, take_over: Callable[[dict[str, Any]], None]) -> None:
        """From now on, hand every group of changes to a function that may refuse it.

        Args:
            take_over: Called with the new values by full name, all of one request at once; an
                `IcirError` that it raises refuses them all, and its message is the reason.
        """

        def convert(parameters: list[Parameter]) -> list[Parameter]:
            return [self._converted(parameter) for parameter in parameters]

        def check(parameters: list[Parameter]) -> SetParametersResult:
            changes: dict[str, Any] = {}
            try:
                for parameter in parameters:
                    if parameter.name in self._figures:
                        figure, nv = self._figures[parameter.name]
                        changes[parameter.name] = _check(
                            figure, parameter.value, parameter.name, nv
                        )
                if changes:
                    take_over(changes)
            except IcirError as error:
                return SetParametersResult(successful=False, reason=str(error))
            self.values.update(changes)
            return SetParametersResult(successful=True)

        self._node.add_pre_set_parameters_callback(convert)
        self._node.add_on_set_parameters_callback(check)

    def _converted(self, parameter: Parameter) -> Parameter:
        """Return the parameter in its meant type; unchanged where it has none, to be refused."""
        if parameter.name not in self._figures or parameter.value is None:
            return parameter
        figure, nv = self._figures[parameter.name]
        try:
            value = _check(figure, parameter.value, parameter.name, nv)
        except ConfigurationError:
            return parameter
        return Parameter(parameter.name, TYPES[figure.kind], ros_value(value))

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._figures, n=1)
        group = name.rpartition('.')[0]
        valid = [known for known in self._figures if known.rpartition('.')[0] == group]
        hint = f'did you mean {near[0]!r}? ' if near else ''
        return f'unknown parameter {name!r}; {hint}valid: {", ".join(valid or self._figures)}'


def flatten(tree: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    """Return nested dictionaries as values with dotted names."""
    values: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            values.update(flatten(value, f'{prefix}{name}.'))
        else:
            values[prefix + name] = value
    return values


def _check(figure: Figure, value: Any, name: str, nv: int) -> Any:
    """Return a valid value in the figure's own type.

    Raises:
        ConfigurationError: It is not valid; names the parameter and what would be valid.
    """
    if value is None and figure.default is not None:
        raise ConfigurationError(f'{name} cannot be unset; expected {figure.expected(nv)}')
    if figure.kind == 'int':
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigurationError(f'{name} = {value!r} is not valid; expected an integer')
        return int(figure.check(value, name, nv))
    if figure.kind == 'string' and not isinstance(value, str | None):
        raise ConfigurationError(
            f'{name} = {value!r} is not valid; expected {figure.expected(nv)}'
            f' (in quotes, or YAML reads it as {type(value).__name__})'
        )
    return figure.check(value, name, nv)


def _given_values(node: Node) -> dict[str, Any]:
    """Return what parameter files and the command line give to the node, by name.

    An empty list, which has no type, comes from ROS as no value at all.

    rclpy lets a name be declared first and read afterwards; which names were given at all only
    the node's handle tells.
    """
    with node.handle:
        given = node.handle.get_parameters(Parameter)
    return {name: [] if one.value is None else one.value for name, one in given.items()}
