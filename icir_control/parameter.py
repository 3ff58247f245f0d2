"""Parameters as typed fields: the value that a user sets, with its unit, range and meaning.

A class declares each of its parameters once, as a field:

    duration: float = parameter(2.0, 's', 'time that the motion takes', lower=0.01)

What YAML or ROS gives is checked against that declaration by `read`, and only there; the nodes
take types, ranges and descriptions of their ROS parameters from it.
"""

import dataclasses
import difflib
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from icir_control.errors import ConfigurationError

FloatArray: TypeAlias = NDArray[np.float64]

PER_JOINT = 'nv'
"""As a length: one entry for each degree of freedom of the arm."""

KINDS: dict[Any, str] = {
    bool: 'bool',
    int: 'int',
    float: 'float',
    str: 'string',
    FloatArray: 'float_array',
    np.ndarray: 'float_array',
    tuple[str, ...]: 'string_array',
}
"""The kind of a parameter by the annotation of its field."""

Declared = TypeVar('Declared')


@dataclass(frozen=True)
class Parameter:
    """Description of one parameter.

    Attributes:
        name: Its name; a parameter of a group has the group's name and a dot before it.
        kind: `bool`, `int`, `float`, `string`, `float_array` or `string_array`.
        default: Value where none is given; None where one must be given.
        unit: Empty for a pure number or a word.
        description: What it does, in a few words.
        lower: Least valid number.
        upper: Greatest valid number.
        length: Entries of an array; PER_JOINT for one per joint, None for any number.
        choices: The valid words, where only some are valid.
        running: Whether it may change while the node runs.
        may_be_empty: Whether an empty array stands for "choose for me".
    """

    name: str
    kind: str
    default: Any = None
    unit: str = ''
    description: str = ''
    lower: float = -np.inf
    upper: float = np.inf
    length: int | str | None = None
    choices: tuple[str, ...] = ()
    running: bool = True
    may_be_empty: bool = False

    def expected(self, nv: int) -> str:
        """Return in words what would be valid for an arm of nv degrees of freedom."""
        if self.choices:
            return 'one of ' + ', '.join(self.choices)
        if self.kind in ('bool', 'string', 'string_array'):
            return {'bool': 'true or false', 'string': 'a string'}.get(self.kind, 'strings')
        numbers = 'an integer' if self.kind == 'int' else 'a finite number'
        if self.kind == 'float_array':
            size = self.size(nv)
            numbers = f'{size} finite numbers' if size is not None else 'finite numbers'
            if self.may_be_empty:
                numbers += ' or none'
        bounds = []
        if np.isfinite(self.lower):
            bounds.append(f'at least {self.lower:g}')
        if np.isfinite(self.upper):
            bounds.append(f'at most {self.upper:g}')
        unit = f' [{self.unit}]' if self.unit else ''
        return ', '.join([numbers, *bounds]) + unit

    def size(self, nv: int) -> int | None:
        """Return how many entries an array has for an arm of nv joints; None for any number."""
        if isinstance(self.length, str):
            return nv
        return self.length

    def check(self, value: Any, nv: int, prefix: str = '') -> Any:
        """Return a value in the parameter's own type, or say what is wrong with it.

        Args:
            value: What was given, None for nothing; an integer counts as a number.
            nv: Degrees of freedom of the arm.
            prefix: What stands before the name in messages, with its dot.

        Returns:
            A bool, an int, a float, a string, a (n,) array or a tuple of strings.

        Raises:
            ConfigurationError: Wrong type, length, sign, size or word.
        """
        name = prefix + self.name
        if value is None:
            value = self.default
        if value is None:
            raise ConfigurationError(f'{name} is missing; expected {self.expected(nv)}')
        checked = self._converted(value)
        if checked is None or not self._in_range(checked, nv):
            hint = ''
            if self.kind == 'string' and not isinstance(value, str):
                hint = f' (in quotes, or YAML reads it as {type(value).__name__})'
            raise ConfigurationError(
                f'{name} = {value!r} is not valid; expected {self.expected(nv)}{hint}'
            )
        return checked

    def _converted(self, value: Any) -> Any:
        """Return the value as this parameter's type, or None where it has another one."""
        if self.kind == 'bool':
            return value if isinstance(value, bool | np.bool_) else None
        if self.kind == 'string':
            return value if isinstance(value, str) else None
        if isinstance(value, str):
            return None
        if self.kind == 'int':
            is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            return int(value) if is_whole and -(2**63) <= value < 2**63 else None
        if self.kind == 'string_array':
            if not isinstance(value, list | tuple):
                return None
            return tuple(value) if all(isinstance(word, str) for word in value) else None
        numbers = value if self.kind == 'float_array' else [value]
        try:
            if any(isinstance(number, bool | str) for number in numbers):
                return None
            array = _frozen(numbers)
        except (TypeError, ValueError, OverflowError):
            return None
        if array.ndim != 1:
            return None
        return array if self.kind == 'float_array' else float(array[0])

    def _in_range(self, value: Any, nv: int) -> bool:
        if self.kind == 'bool':
            return True
        if self.kind in ('string', 'string_array'):
            words = (value,) if self.kind == 'string' else value
            return not self.choices or all(word in self.choices for word in words)
        numbers = np.atleast_1d(value)
        if self.kind == 'float_array':
            if self.may_be_empty and len(numbers) == 0:
                return True
            if self.size(nv) not in (None, len(numbers)):
                return False
        inside = (numbers >= self.lower) & (numbers <= self.upper)
        return bool(np.all(np.isfinite(numbers) & inside))


def _frozen(numbers: Any) -> FloatArray:
    """Return an array of its own that cannot be changed: whoever has checked it relies on it."""
    array = np.array(numbers, dtype=float)
    array.setflags(write=False)
    return array


def parameter(default: Any, unit: str = '', description: str = '', **about: Any) -> Any:
    """Declare a parameter as the field of a dataclass.

    Args:
        default: Value where none is given; None where one must be given.
        unit: Empty for a pure number or a word.
        description: What it does, in a few words.
        about: Further attributes of `Parameter`: `lower`, `upper`, `length`, `choices`, `running`,
            `may_be_empty`.
    """
    declaration = Parameter('', '', default, unit, description, **about)
    metadata = {'parameter': declaration}
    if isinstance(default, list):
        return dataclasses.field(
            default_factory=lambda: _frozen(default), metadata=metadata, kw_only=True
        )
    if default is None:
        return dataclasses.field(metadata=metadata, kw_only=True)
    return dataclasses.field(default=default, metadata=metadata, kw_only=True)


def group(declaring: type[Declared]) -> Declared:
    """Declare a group of parameters as a field: a dataclass of parameters of its own."""
    field: Any = dataclasses.field(metadata={'group': declaring}, kw_only=True)
    return field


def _kind(declaring: type, field: dataclasses.Field[Any]) -> str:
    """Return the kind of a field, also where its annotation is the text of a type.

    Raises:
        ConfigurationError: A parameter is of none of the kinds.
    """
    try:
        if isinstance(field.type, str):  # from __future__ import annotations
            return KINDS[typing.get_type_hints(declaring)[field.name]]
        return KINDS[field.type]
    except (KeyError, NameError, TypeError):
        raise ConfigurationError(
            f'parameter {field.name} of {declaring.__module__}:{declaring.__qualname__} is of '
            f'type {field.type}; valid: bool, int, float, str, numpy.ndarray, tuple[str, ...]'
        ) from None


def parameters_of(declaring: type) -> dict[str, Parameter]:
    """Return the parameters that a dataclass declares, by name, in the order of their fields."""
    found: dict[str, Parameter] = {}
    for field in dataclasses.fields(declaring):
        if 'parameter' in field.metadata:
            found[field.name] = dataclasses.replace(
                field.metadata['parameter'], name=field.name, kind=_kind(declaring, field)
            )
        elif 'group' in field.metadata:
            for one in parameters_of(field.metadata['group']).values():
                name = f'{field.name}.{one.name}'
                found[name] = dataclasses.replace(one, name=name)
    return found


def read(
    declaring: type[Declared],
    given: Mapping[str, Any],
    nv: int,
    prefix: str = '',
    also: tuple[str, ...] = (),
) -> Declared:
    """Make an instance of a dataclass of parameters from what was given; see `checked`."""
    return declaring(**checked(declaring, given, nv, prefix, also))


def read_own(declaring: type[Declared], given: Mapping[str, Any], nv: int) -> Declared:
    """Make an instance from what was given to it and to others; see `checked`."""
    own = {name: given[name] for name in parameters_of(declaring) if name in given}
    return read(declaring, own, nv)


def checked(
    declaring: type,
    given: Mapping[str, Any],
    nv: int,
    prefix: str = '',
    also: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the checked values of the parameters and groups that a dataclass declares, by name.

    Args:
        declaring: The dataclass.
        given: Values by name, groups nested; what is left out takes its default.
        nv: Degrees of freedom of the arm.
        prefix: What stands before the names in messages, with its dot.
        also: Names that are valid here although somebody else reads them.

    Raises:
        ConfigurationError: A value that is not valid, or a name that nothing reads: a typing error
            would otherwise go unnoticed.
    """
    fields = [field for field in dataclasses.fields(declaring) if field.metadata]
    names = {field.name for field in fields}
    unknown = sorted(str(name) for name in set(given) - names - set(also))
    own = parameters_of(declaring)
    if unknown:
        valid = ', '.join(prefix + name for name in sorted({*own, *also}))
        near = difflib.get_close_matches(unknown[0], [*own, *also], n=1)
        hint = f'did you mean {prefix}{near[0]}? ' if near else ''
        raise ConfigurationError(f'unknown parameter {prefix}{unknown[0]}; {hint}valid: {valid}')
    values: dict[str, Any] = {}
    for field in fields:
        if 'group' in field.metadata:
            inner = subgroup(given, field.name, prefix)
            values[field.name] = read(field.metadata['group'], inner, nv, f'{prefix}{field.name}.')
        else:
            values[field.name] = own[field.name].check(given.get(field.name), nv, prefix)
    return values


def subgroup(given: Mapping[str, Any], name: str, prefix: str = '') -> Mapping[str, Any]:
    """Return the values of a group; none where the group is left out, or left empty.

    Raises:
        ConfigurationError: Something else stands in its place.
    """
    values = given.get(name)
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise ConfigurationError(
            f'{prefix}{name} = {values!r} is not valid; expected parameters by name'
        )
    return values


def replaced(parameters: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested parameters with some of them changed or added.

    Args:
        parameters: Nested by the dots of their names, as in a YAML file; they stay as they are.
        changes: By full name with dots, such as `modes.home.duration`.

    Raises:
        ConfigurationError: One name is that of a parameter and of a group.
    """
    tree = _copied(parameters)
    for name, value in changes.items():
        *groups, last = name.split('.')
        place = tree
        for one in groups:
            if place.get(one) is None:  # left out, or left empty
                place[one] = {}
            place = place[one]
            if not isinstance(place, dict):
                raise ConfigurationError(f'{name} is no parameter: {one} is one, and no group')
        place[last] = value
    return tree


def flatten(tree: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
    """Return nested parameters by full name with dots."""
    values: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            values.update(flatten(value, f'{prefix}{name}.'))
        else:
            values[prefix + name] = value
    return values


def _copied(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of nested dictionaries, down to the values."""
    return {
        name: _copied(value) if isinstance(value, Mapping) else value
        for name, value in tree.items()
    }
