"""Derivatives of inverse and forward dynamics by q, v and a or tau, and the Coriolis matrix.

Each fills `data` and returns views into it. Derivatives by q are along the configuration manifold:
the change of the result under q = integrate(q0, d), by d at 0; external forces keep their
coordinates in their joints' frames. All raise what the functions that they differentiate raise.
"""

from typing import Any

from icir_control.dynamics.call import ExternalForces, compute2, compute_with_forces
from icir_control.dynamics.data import Data
from icir_control.dynamics.kernels import derivatives as kernels
from icir_control.dynamics.model import Model
from icir_control.spatial.arrays import Array


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

    Args:
        model: The model.
        data: Its data.
        q: Configuration.
        v: Velocity.
        a: Acceleration.
        external_forces: Forces on the bodies, each in its joint's frame.
    """
    kernel = kernels.inverse_dynamics_derivatives
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
    what `rnea_derivatives` fills is filled too.

    Args:
        model: The model.
        data: Its data.
        q: Configuration.
        v: Velocity.
        tau: Torque.
        external_forces: Forces on the bodies, each in its joint's frame.
    """
    kernel = kernels.forward_dynamics_derivatives
    compute_with_forces(kernel, model, data, external_forces, q, v, tau)
    return data.ddq_dq, data.ddq_dv, data.Minv


def coriolis_matrix(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.C` (nv, nv) with C v = nle - g, and dM/dt - 2 C skew-symmetric."""
    compute2(kernels.coriolis_matrix, model, data, q, v)
    return data.C


def centroidal_map_time_variation(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.dAg` (6, nv), the time derivative of the centroidal map, `data.Ag`.

    The rate of the centroidal momentum is Ag a + dAg v.
    """
    compute2(kernels.centroidal_map_rate, model, data, q, v)
    return data.dAg
