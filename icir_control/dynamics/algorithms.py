"""The equation of motion, M(q) a + nle(q, v) = tau: its terms, both ways, and its derivatives.

Then centre of mass, momentum and energy of the whole model.

Each function fills `data` and returns its main result, a view into `data`: the next call
overwrites it. Configurations q are (nq,) [rad or m]; velocities v, accelerations a and torques
tau are (nv,). External forces act on bodies, each in its joint's frame. Derivatives by q are along
the configuration manifold: the change of the result under q = integrate(q0, d), by d at 0;
external forces keep their coordinates in their joints' frames then.

All raise `InvalidValueError` for a vector of the wrong length or with a number that is not finite,
and for data of another model.
"""

from typing import Any

import numpy as np

from icir_control.dynamics.call import (
    NOT_TAKEN,
    ExternalForces,
    check_model,
    compute,
    compute2,
    compute3,
    compute_with_forces,
)
from icir_control.dynamics.data import Data
from icir_control.dynamics.frames import joint_index, joint_jacobian
from icir_control.dynamics.kernels import (
    articulated,
    centroidal,
    composite,
    derivatives,
    forward,
    inverse,
)
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.forward import placements
from icir_control.dynamics.kernels.inverse import all_terms
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import Array, cross, cross_matrix


def compute_all_terms(model: Model, data: Data, q: Any, v: Any) -> None:
    """Compute all that M(q) ddq + nle(q, v) = tau holds, in one pass.

    Fills `data.oMi`, `.oMf`, `.v`, `.J`, `.M`, `.nle`, `.g`, the watched frame's terms, and the
    accelerations at ddq = 0 (`data.a`) that `frame_classical_acceleration` reads.
    """
    # `compute2`, spelled out: the one call of every tick.
    try:
        if data.model is model and all_terms.call(data.buffer, q, v) == 0:
            return
    except NOT_TAKEN:
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
        try:
            if data.model is model and placements.call(data.buffer, q) == 0:
                return
        except NOT_TAKEN:
            pass
        compute(placements, model, data, q)
    elif a is None:
        compute2(forward.velocities, model, data, q, v)
    else:
        compute3(forward.accelerations, model, data, q, v, a)


def crba(model: Model, data: Data, q: Any) -> Array:
    """Return the mass matrix `data.M` (nv, nv), symmetric, by composite inertias."""
    compute(composite.mass_matrix, model, data, q)
    return data.M


def minverse(model: Model, data: Data, q: Any) -> Array:
    """Return the inverse of the mass matrix, `data.Minv` (nv, nv); `data.M` is filled too."""
    compute(composite.inverse_mass_matrix, model, data, q)
    return data.Minv


def gravity_torque(model: Model, data: Data, q: Any) -> Array:
    """Return the torque `data.g` (nv,) that holds the model still at q."""
    compute(composite.gravity_torque, model, data, q)
    return data.g


def nonlinear_effects(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.nle` = C(q, v) v + g(q), (nv,): the torque at ddq = 0, without joint losses."""
    compute2(inverse.nonlinear_effects, model, data, q, v)
    return data.nle


def static_torque(
    model: Model, data: Data, q: Any, external_forces: ExternalForces | None = None
) -> Array:
    """Return the torque `data.tau` (nv,) that holds the model still at q against forces.

    As `rnea` at rest: g - J^T f.
    """
    check_model(model)
    still = np.zeros(model.nv)
    return rnea(model, data, q, still, still, external_forces)


def rnea(
    model: Model,
    data: Data,
    q: Any,
    v: Any,
    a: Any,
    external_forces: ExternalForces | None = None,
) -> Array:
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
        compute3(inverse.inverse_dynamics, model, data, q, v, a)
    else:
        compute_with_forces(inverse.inverse_dynamics, model, data, external_forces, q, v, a)
    return data.tau


def aba(
    model: Model,
    data: Data,
    q: Any,
    v: Any,
    tau: Any,
    external_forces: ExternalForces | None = None,
) -> Array:
    """Return the acceleration `data.ddq` (nv,) under a torque: M ddq = tau - nle + J^T f.

    Articulated-body algorithm; it fills nothing but `data.ddq`: placements and twists stay what
    they were. With mimic joints, where that does not hold, by M, which is filled too, as are
    placements and twists.

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
        compute3(articulated.forward_dynamics, model, data, q, v, tau)
    else:
        compute_with_forces(articulated.forward_dynamics, model, data, external_forces, q, v, tau)
    return data.ddq


def rnea_derivatives(
    model: Model,
    data: Data,
    q: Any,
    v: Any,
    a: Any,
    external_forces: ExternalForces | None = None,
) -> tuple[Array, Array, Array]:
    """Return the derivatives of `rnea` by q, v and a: `data.dtau_dq`, `.dtau_dv`, `.M`, (nv, nv).

    `data.tau` is filled too. In closed form, after Singh, Russell & Wensing (2022).
    Arguments and errors as for `rnea`.
    """
    kernel = derivatives.inverse_dynamics_derivatives
    compute_with_forces(kernel, model, data, external_forces, q, v, a)
    return data.dtau_dq, data.dtau_dv, data.M


def aba_derivatives(
    model: Model,
    data: Data,
    q: Any,
    v: Any,
    tau: Any,
    external_forces: ExternalForces | None = None,
) -> tuple[Array, Array, Array]:
    """Return the derivatives of `aba` by q, v, tau: `data.ddq_dq`, `.ddq_dv`, `.Minv`, (nv, nv).

    Those of `rnea` at the acceleration, times -M^-1 (Carpentier & Mansard 2018). `data.ddq` and
    what `rnea_derivatives` fills is filled too. Arguments and errors as for `aba`.
    """
    kernel = derivatives.forward_dynamics_derivatives
    compute_with_forces(kernel, model, data, external_forces, q, v, tau)
    return data.ddq_dq, data.ddq_dv, data.Minv


def coriolis_matrix(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.C` (nv, nv) with C v = nle - g, and dM/dt - 2 C skew-symmetric."""
    compute2(derivatives.coriolis_matrix, model, data, q, v)
    return data.C


def joint_torque_regressor(model: Model, data: Data, q: Any, v: Any, a: Any) -> Array:
    """Return Y (nv, 10 (njoints - 1)) with `rnea` = Y pi, for the identification of inertias.

    pi holds the ten `Inertia.parameters` of each moving joint's body, one joint after the other.
    Placements, twists and accelerations are filled, as by `forward_kinematics`.
    Arguments and errors as for `rnea`.
    """
    compute3(forward.accelerations, model, data, q, v, a)
    out = np.empty((model.nv, 10 * (model.njoints - 1)))
    for i in range(1, model.njoints):
        twist, acceleration = data.v[i], data.a[i]
        w, alpha = twist.angular, acceleration.angular
        # The classical acceleration of the joint's origin; at rest in a field, one against it.
        a_point = acceleration.linear + cross(w, twist.linear)
        a_point = a_point - data.oMi[i].rotation.T @ model.gravity
        W = cross_matrix(w)
        # f = m a + (alpha x + w x w x) m c,  n = m c x a + I alpha + w x I w
        forces = np.zeros((6, 10))
        forces[:3, 0] = a_point
        forces[:3, 1:4] = cross_matrix(alpha) + W @ W
        forces[3:, 1:4] = -cross_matrix(a_point)
        forces[3:, 4:] = _moments_times(alpha) + W @ _moments_times(w)
        out[:, 10 * (i - 1) : 10 * i] = joint_jacobian(model, data, i).T @ forces
    return out


def _moments_times(x: Array) -> Array:
    """Return L (3, 6) with I x = L (xx, xy, yy, xz, yz, zz) of a symmetric I."""
    a, b, c = x.tolist()
    return np.array(((a, b, 0, c, 0, 0), (0, a, b, 0, c, 0), (0, 0, 0, a, b, c)))


def center_of_mass(model: Model, data: Data, q: Any) -> Array:
    """Return the centre of mass of the whole in the world, `data.com[0]` (3,) [m].

    `data.com[i]` is that of the subtree beyond joint i, in the joint's frame. The links that are
    fixed to the world do not count.
    """
    compute(centroidal.centers_of_mass, model, data, q)
    return data.whole_com


def center_of_mass_jacobian(model: Model, data: Data, q: Any, joint_id: int | str = 0) -> Array:
    """Return J (3, nv): the velocity of a centre of mass in the world is J v.

    Args:
        model: The model.
        data: Its data; `data.Jcom`, that of the whole, is filled.
        q: Configuration.
        joint_id: Name or index of the joint beyond which the subtree lies; 0 for the whole.
    """
    compute(centroidal.com_jacobian, model, data, q)
    index = joint_index(model, joint_id)
    if index == 0:
        return data.Jcom
    # The composite inertia that each degree of freedom moves of the subtree; 0 for none.
    top, beyond, moved = model.joints[index], {index}, np.zeros(len(data.rows) - 1, dtype=int)
    for i, joint in enumerate(model.joints):
        if i and joint.parent in beyond:
            beyond.add(i)
            moved[joint.first_row - 1 : joint.row] = range(joint.first_row, joint.row + 1)
    joint = top
    while joint.row:
        moved[joint.first_row - 1 : joint.row] = top.row
        joint = model.joints[joint.parent]
    columns = data.rows[1:, at.COLUMN : at.COLUMN + 6]
    m, s = data.rows[moved, at.COMPOSITE], data.rows[moved, at.COMPOSITE + 1 : at.COMPOSITE + 4]
    # Linear momentum of what moves at unit speed: m v + w x s
    momentum = m[:, None] * columns[:, :3] + np.cross(columns[:, 3:], s)
    J = (momentum * (moved > 0)[:, None]).T / data.rows[top.row, at.COMPOSITE]
    return J if len(moved) == model.nv else J @ model.coupling


def center_of_mass_velocity(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return the velocity of the whole's centre of mass in the world, (3,) [m/s].

    `data.Ag` and `.hg` are filled too.
    """
    return centroidal_momentum(model, data, q, v)[:3] / total_mass(model)


def center_of_mass_acceleration(model: Model, data: Data, q: Any, v: Any, a: Any) -> Array:
    """Return the acceleration of the whole's centre of mass in the world, (3,) [m/s^2].

    From Newton's law: m c'' is the force through the ground, which `rnea` finds, and the weight.
    `data.tau` and `.f` are filled too.
    """
    rnea(model, data, q, v, a)
    return data.rows[0, at.WRENCH : at.WRENCH + 3] / total_mass(model) + model.gravity


def total_mass(model: Model) -> float:
    """Return the mass [kg] of all that moves."""
    check_model(model)
    return sum(inertia.mass for inertia in model.inertias[1:])


def centroidal_map(model: Model, data: Data, q: Any) -> Array:
    """Return `data.Ag` (6, nv): the centroidal momentum is Ag v (CCRBA)."""
    compute(centroidal.centroidal_map, model, data, q)
    return data.Ag


def centroidal_map_time_variation(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.dAg` (6, nv), the time derivative of the centroidal map, `data.Ag`.

    The rate of the centroidal momentum is Ag a + dAg v.
    """
    compute2(derivatives.centroidal_map_rate, model, data, q, v)
    return data.dAg


def centroidal_momentum(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.hg` (6,): linear momentum, and angular about the centre of mass.

    In world axes; `data.Ag` is filled too.
    """
    compute2(centroidal.centroidal_momentum, model, data, q, v)
    return data.hg


def kinetic_energy(model: Model, data: Data, q: Any, v: Any) -> float:
    """Return v . M v / 2 [J]."""
    compute2(centroidal.kinetic_energy, model, data, q, v)
    return data.buffer.item(at.H_ENERGY)


def potential_energy(model: Model, data: Data, q: Any) -> float:
    """Return the energy in the field of gravity [J], 0 with all mass at the world's origin."""
    compute(centroidal.potential_energy, model, data, q)
    return data.buffer.item(at.H_ENERGY)
