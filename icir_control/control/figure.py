"""A figure: one value that a user may set, with its unit, its range and what it means."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from icir_control.errors import ConfigurationError

PER_JOINT = 'nv'
"""As a length: one entry for each degree of freedom of the arm."""


@dataclass(frozen=True)
class Figure:
    """Description of one settable value; the nodes declare their parameters from it.

    Attributes:
        name: Last part of the parameter's name, dots allowed.
        kind: `float`, `int`, `float_array`, `string`, `string_array` or `bool`.
        default: Value where none is given; None where one must be given.
        unit: Empty for a pure number or a word.
        description: What it does, in a few words.
        lower: Least valid number.
        upper: Greatest valid number.
        length: Entries of an array; `nv` for one per joint, None for any number.
        choices: The valid words, where only some are valid.
        running: Whether it may change while the controller runs.
        may_be_empty: Whether an empty array stands for "choose for me".
    """

    name: str
    kind: str
    default: Any
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
        bounds = []
        if np.isfinite(self.lower):
            bounds.append(f'at least {self.lower:g}')
        if np.isfinite(self.upper):
            bounds.append(f'at most {self.upper:g}')
        numbers = 'an integer' if self.kind == 'int' else 'a finite number'
        if self.kind == 'float_array':
            size = self._size(nv)
            numbers = f'{size} finite numbers' if size is not None else 'finite numbers'
            if self.may_be_empty:
                numbers += ' or none'
        unit = f' [{self.unit}]' if self.unit else ''
        return ', '.join([numbers, *bounds]) + unit

    def check(self, value: Any, parameter: str, nv: int) -> Any:
        """Return the value in its own type, or say what is wrong with it.

        Args:
            value: What was given; an integer counts as a number.
            parameter: Full name for the message.
            nv: Degrees of freedom of the arm.

        Returns:
            A float, an int, a (n,) array, a string, a tuple of strings or a bool.

        Raises:
            ConfigurationError: Wrong type, length, sign, size or word.
        """
        if value is None:
            value = self.default
        if value is None:
            raise ConfigurationError(f'{parameter} is missing; expected {self.expected(nv)}')
        checked = self._converted(value)
        if checked is None or not self._in_range(checked, nv):
            raise ConfigurationError(
                f'{parameter} = {value!r} is not valid; expected {self.expected(nv)}'
            )
        return checked

    def _size(self, nv: int) -> int | None:
        return nv if self.length == PER_JOINT else self.length  # type: ignore[return-value]

    def _converted(self, value: Any) -> Any:
        """Return the value as this figure's type, or None where it has another one."""
        if self.kind == 'bool':
            return value if isinstance(value, bool) else None
        if self.kind == 'string':
            return value if isinstance(value, str) else None
        if isinstance(value, str):
            return None
        if self.kind == 'int':
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            return value if is_whole and -(2**63) <= value < 2**63 else None
        if self.kind == 'string_array':
            if not isinstance(value, list | tuple):
                return None
            return tuple(value) if all(isinstance(word, str) for word in value) else None
        numbers = value if self.kind == 'float_array' else [value]
        try:
            if any(isinstance(number, bool | str) for number in numbers):
                return None
            array = np.array(numbers, dtype=float)
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
            if self._size(nv) not in (None, len(numbers)):
                return False
        inside = (numbers >= self.lower) & (numbers <= self.upper)
        return bool(np.all(np.isfinite(numbers) & inside))
