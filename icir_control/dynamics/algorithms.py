"""The dynamics of a whole model: functions of a model, its data and a state.

Each fills `data` and returns its main result, which is a view into `data`: the next call
overwrites it. Configurations q are (nq,) [rad or m]; velocities v, accelerations a and torques
tau are (nv,). All raise `InvalidValueError` for a vector of the wrong length or with a number
that is not finite, and for data of another model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icir_control.dynamics import kernels
from icir_control.dynamics.call import check_pair, compute, compute2, compute3
from icir_control.dynamics.data import Data
from icir_control.dynamics.kernels import all_terms, placements
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.entrance import Entry
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError
from icir_control.spatial import Force

ExternalForces = Sequence[Force] | Mapping[int, Force]
"""Forces on joints' bodies, each in its joint's frame: one for every joint, the universe first,
or by joint index."""


def compute_all_terms(model: Model, data: Data, q: Any, v: Any) -> None:
    """Compute all that M(q) ddq + nle(q, v) = tau holds, in one pass.

    Fills `data.oMi`, `.oMf`, `.v`, `.J`, `.M`, `.nle`, `.g`, the watched frame's terms, and the
    accelerations at ddq = 0 (`data.a`) that `frame_classical_acceleration` reads.
    """
    # `compute2`, spelled out: the one call of every tick.
    if data.model is model:
        try:
            if all_terms.call(data.buffer, q, v) == 0:
                return
        except TypeError:
            pass
    compute2(all_terms, model, data, q, v)


def forward_kinematics(model: Model, data: Data, q: Any, v: Any = None, a: Any = None) -> None:
    """Place all joints and frames; with v, compute twists too, with a, accelerations.

    Fills `data.oMi`, `.oMf`, `.J`; `.v` and `.a` with v, where without a the accelerations are
    those at ddq = 0. Accelerations are spatial, and without gravity.
    """
    if v is None:
        if a is not None:
            raise InvalidValueError('v', None, 'a velocity, since there is an acceleration')
        # `compute`, spelled out: for an arm the call itself is a good part of the time.
        if data.model is model:
            try:
                if placements.call(data.buffer, q) == 0:
                    return
            except TypeError:
                pass
        compute(placements, model, data, q)
    elif a is None:
        compute2(kernels.velocities, model, data, q, v)
    else:
        compute3(kernels.accelerations, model, data, q, v, a)


def crba(model: Model, data: Data, q: Any) -> np.ndarray:
    """Return the mass matrix `data.M` (nv, nv), symmetric, by composite inertias."""
    compute(kernels.mass_matrix, model, data, q)
    return data.M


def minverse(model: Model, data: Data, q: Any) -> np.ndarray:
    """Return the inverse of the mass matrix, `data.Minv` (nv, nv); `data.M` is filled too."""
    compute(kernels.inverse_mass_matrix, model, data, q)
    return data.Minv


def gravity_torque(model: Model, data: Data, q: Any) -> np.ndarray:
    """Return the torque `data.g` (nv,) that holds the model still at q."""
    compute(kernels.gravity_torque, model, data, q)
    return data.g


def nonlinear_effects(model: Model, data: Data, q: Any, v: Any) -> np.ndarray:
    """Return `data.nle` = C(q, v) v + g(q), (nv,): the torque at ddq = 0."""
    compute2(kernels.nonlinear_effects, model, data, q, v)
    return data.nle


def rnea(
    model: Model,
    data: Data,
    q: Any,
    v: Any,
    a: Any,
    external_forces: ExternalForces | None = None,
) -> np.ndarray:
    """Return the torque `data.tau` (nv,) for an acceleration: tau = M a + nle - J^T f.

    Fills `data.f` too, the force through each joint. Recursive Newton-Euler algorithm.

    Args:
        model: The model.
        data: Its data.
        q: Configuration.
        v: Velocity.
        a: Acceleration.
        external_forces: Forces on the bodies, each in its joint's frame.
    """
    if external_forces is None:
        compute3(kernels.inverse_dynamics, model, data, q, v, a)
    else:
        _compute_pushed(kernels.inverse_dynamics, model, data, external_forces, q, v, a)
    return data.tau


def aba(
    model: Model,
    data: Data,
    q: Any,
    v: Any,
    tau: Any,
    external_forces: ExternalForces | None = None,
) -> np.ndarray:
    """Return the acceleration `data.ddq` (nv,) under a torque: M ddq = tau - nle + J^T f.

    Articulated-body algorithm; it fills nothing but `data.ddq`.

    Args:
        model: The model.
        data: Its data.
        q: Configuration.
        v: Velocity.
        tau: Torque.
        external_forces: Forces on the bodies, each in its joint's frame.

    Raises:
        ModelError: What a joint moves has no inertia about its axis.
    """
    if external_forces is None:
        compute3(kernels.forward_dynamics, model, data, q, v, tau)
    else:
        _compute_pushed(kernels.forward_dynamics, model, data, external_forces, q, v, tau)
    return data.ddq


def _compute_pushed(
    kernel: Entry,
    model: Model,
    data: Data,
    external_forces: ExternalForces,
    q: Any,
    v: Any,
    x: Any,
) -> None:
    """Run a kernel that takes external forces from the buffer, with them in place."""
    check_pair(model, data)
    data.external[:] = 0.0
    for joint_id, force in _by_joint(model, external_forces):
        data.external[model.joints[joint_id].row] = force.vector
    data.buffer[at.H_PUSHED] = 1.0
    try:
        compute3(kernel, model, data, q, v, x)
    finally:
        data.buffer[at.H_PUSHED] = 0.0


def _by_joint(model: Model, external_forces: ExternalForces) -> list[tuple[int, Force]]:
    """Return the forces with the index of the joint that each acts on."""
    expected = f'{model.njoints} values of type Force, or a mapping from joint index to Force'
    if isinstance(external_forces, Mapping):
        pairs = list(external_forces.items())
    elif isinstance(external_forces, Sequence) and len(external_forces) == model.njoints:
        pairs = list(enumerate(external_forces))
    else:
        raise InvalidValueError('external_forces', external_forces, expected)
    for joint_id, force in pairs:
        if joint_id not in range(model.njoints) or not isinstance(force, Force):
            raise InvalidValueError('external_forces', external_forces, expected)
    return pairs
