"""Structs: named numbers and arrays in one block of memory, alike for Python and for kernels.

Python sees a numpy record, a kernel takes its address. In both, `struct.kp` is a number or a plain
float64 array. A length may be that of the arm, so one compiled kernel serves every arm, and the
compiler's name for the type is made of the fields alone: it is the same in every process.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from icir_control.compiled import JIT_DISABLED

Shape = tuple[int | str, ...]

Struct: TypeAlias = Any
"""A struct as a kernel has it."""

JOINTS = 'n'
"""As a length: one entry for each degree of freedom of the arm."""

COUNT = 'joints'
"""The first field of every struct: the degrees of freedom of the arm."""


class Layout:
    """The fields of a kind of struct, every one of them made of 64-bit numbers.

    Attributes:
        shapes: Of the float64 fields, by name; `()` for a number.
        integers: Names of the int64 fields.
        fields: Shapes of all, in the order of memory: integers, then what has the same size for
            every arm, then the rest.
        name: A short name that two layouts share only if they are the same.
    """

    def __init__(self, shapes: Mapping[str, Shape], integers: tuple[str, ...] = ()) -> None:
        """Put the fields in order."""
        fixed = {name: shape for name, shape in shapes.items() if JOINTS not in shape}
        self.shapes = fixed | {name: shape for name, shape in shapes.items() if JOINTS in shape}
        self.integers = (COUNT, *integers)
        numbers: dict[str, Shape] = dict.fromkeys(self.integers, ())
        self.fields = numbers | self.shapes
        text = f'{self.integers} {self.shapes}'
        self.name = 'Struct' + hashlib.sha256(text.encode()).hexdigest()[:24]

    def new(self, joints: int) -> Any:
        """Return a struct of zeros for an arm of so many joints: an array of one numpy record."""
        dtype = [
            (
                name,
                'i8' if name in self.integers else 'f8',
                tuple(joints if length == JOINTS else length for length in shape),
            )
            for name, shape in self.fields.items()
        ]
        array = np.zeros(1, np.dtype((np.record, dtype)))
        array[COUNT] = joints
        return array

    def place(self, field: str) -> tuple[int, int, int]:
        """Return a, b, c: a field begins a + b n + c n^2 numbers into the struct of n joints."""
        place = [0, 0, 0]
        for name, shape in self.fields.items():
            if name == field:
                break
            size = 1
            for length in shape:
                size *= 1 if length == JOINTS else int(length)
            place[shape.count(JOINTS)] += size
        return place[0], place[1], place[2]


def argument(array: Any) -> Any:
    """Return what a kernel takes for a struct: the address of its array, which must stay alive."""
    return array[0] if JIT_DISABLED else array.ctypes.data
