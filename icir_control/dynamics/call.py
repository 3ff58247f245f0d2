"""From a public function to its compiled kernel: the check of what only Python can see.

The kernels check types, lengths, finite values and indices themselves. Only when a type is another
than they take, and at the first call, are the arguments converted, so that the usual call pays
nothing. There is one function for each number of vectors, since a variable number costs a tenth of
a microsecond.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icir_control.dynamics.data import Data
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.checked import LARGEST
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError, ModelError
from icir_control.spatial import Force
from icir_control.spatial.arrays import Array, checked

ExternalForces = Sequence[Force] | Mapping[int, Force]
"""Forces on joints' bodies, each in its joint's frame: one for every joint, the universe first,
or by joint index."""

NOT_TAKEN = (TypeError, AttributeError, OverflowError)
"""Errors of a kernel that takes other types, or is not compiled yet."""


def compute(kernel: CheckedKernel, model: Model, data: Data, q: Any) -> None:
    """Run a checked kernel of (buffer, q) on the data of a model; see `run_carefully`."""
    try:
        if data.model is model and kernel.call(data.buffer, q) == 0:
            return
    except NOT_TAKEN:
        # Not compiled yet, or other types than it takes.
        pass
    _compute_carefully(kernel, model, data, q)


def compute2(kernel: CheckedKernel, model: Model, data: Data, q: Any, v: Any) -> None:
    """Run a checked kernel of (buffer, q, v); as `compute`."""
    try:
        if data.model is model and kernel.call(data.buffer, q, v) == 0:
            return
    except NOT_TAKEN:
        pass
    _compute_carefully(kernel, model, data, q, v)


def compute3(kernel: CheckedKernel, model: Model, data: Data, q: Any, v: Any, x: Any) -> None:
    """Run a checked kernel of (buffer, q, v, x); as `compute`."""
    try:
        if data.model is model and kernel.call(data.buffer, q, v, x) == 0:
            return
    except NOT_TAKEN:
        pass
    _compute_carefully(kernel, model, data, q, v, x)


def compute_with_forces(
    kernel: CheckedKernel,
    model: Model,
    data: Data,
    external_forces: ExternalForces | None,
    q: Any,
    v: Any,
    x: Any,
) -> None:
    """Run a kernel that takes external forces from the buffer, with them in place."""
    if external_forces is None:
        return compute3(kernel, model, data, q, v, x)
    check_pair(model, data)
    data.external[:] = 0.0
    for joint_id, force in _by_joint(model, external_forces):
        data.external[model.joints[joint_id].row] = force.vector
    data.buffer[at.H_HAS_EXTERNAL] = 1.0
    try:
        compute3(kernel, model, data, q, v, x)
    finally:
        data.buffer[at.H_HAS_EXTERNAL] = 0.0


def check_pair(model: Model, data: Data) -> None:
    """Refuse a `Data` of another model; it belongs to each that is equal to its own.

    Raises:
        InvalidValueError: They are no model and its data.
    """
    check_model(model)
    if not isinstance(data, Data) or (data.model is not model and data.model != model):
        raise InvalidValueError('data', data, f'one that model {model.name!r} created')
    data.model = model


def check_model(model: Any) -> None:
    """Refuse what is no `Model`.

    Raises:
        InvalidValueError: It is none.
    """
    if not isinstance(model, Model):
        raise InvalidValueError('model', model, 'a Model')


def check_out(out: Any, shape: tuple[int, ...]) -> None:
    """Refuse what a kernel cannot write a result to.

    Raises:
        InvalidValueError: It is no contiguous, writable float64 array of that shape.
    """
    usable = type(out) is np.ndarray and out.dtype == np.float64 and out.flags.carray
    if not usable or out.shape != shape:
        expected = f'a contiguous, writable float64 array of shape {shape}'
        raise InvalidValueError('out', out, expected)


def _compute_carefully(kernel: CheckedKernel, model: Model, data: Data, *vectors: Any) -> None:
    check_pair(model, data)
    run_carefully(kernel, model, data.buffer, *vectors)


def run_carefully(kernel: CheckedKernel, model: Model, buffer: Array, *arguments: Any) -> None:
    """Convert and check the arguments of a checked kernel, compile it if need be, and run it.

    Args:
        kernel: A kernel of (buffer, vectors, out) that returns 0, or -k if v_{k-1} has no
            inertia to move, or above 0 what is wrong; see `kernels.checked`. Its parameters have
            the names that errors name; those of configurations begin with q.
        model: The model.
        buffer: The buffer of its data.
        arguments: The vectors, and what the kernel writes as `out`.

    Raises:
        InvalidValueError: A vector is of the wrong length or not finite.
        ModelError: Something that is to be accelerated has no inertia.
    """
    names = kernel.names[1:]
    arguments = tuple(
        value
        if name == 'out'
        else checked(name, value, (model.nq if name.startswith('q') else model.nv,))
        for name, value in zip(names, arguments, strict=True)
    )
    wrong = kernel.run(buffer, *arguments)
    if wrong < 0:
        joints = [joint.name for joint in model.joints for _ in range(joint.nv)]
        raise ModelError(
            f'what joint {joints[-wrong - 1]!r} moves has no inertia against its motion; give the '
            'links on it an inertia, or take the joint away'
        )
    if wrong > 0:
        for name, value in zip(names, arguments, strict=True):
            if name != 'out' and not np.abs(value / LARGEST).sum() < 1.0:
                raise InvalidValueError(name, value, f'numbers whose sum is below {LARGEST:g}')
        expected = 'quaternions of unit length where joints have them'
        raise InvalidValueError(names[wrong - 1], arguments[wrong - 1], expected)


def _by_joint(model: Model, external_forces: ExternalForces) -> list[tuple[int, Force]]:
    """Return the forces with the index of the joint that each acts on."""
    expected = (
        f'{model.njoints} values of type Force, or a mapping from joint index, 0 to '
        f'{model.njoints - 1}, to Force'
    )
    if isinstance(external_forces, Mapping):
        pairs = list(external_forces.items())
    elif isinstance(external_forces, Sequence) and len(external_forces) == model.njoints:
        pairs = list(enumerate(external_forces))
    else:
        raise InvalidValueError('external_forces', external_forces, expected)
    for joint_id, force in pairs:
        is_joint = isinstance(joint_id, int | np.integer) and 0 <= joint_id < model.njoints
        if not is_joint or not isinstance(force, Force):
            raise InvalidValueError('external_forces', external_forces, expected)
    return pairs
