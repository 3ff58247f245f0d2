"""Centre of mass, momentum and energy of the whole tree, from composite inertias."""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.dynamics.kernels.composite import (
    add_composite_to_parent,
    composite_momentum,
    inertia_in_world,
    place_with_inertia,
)
from icir_control.dynamics.kernels.forward import move, place, take_configuration
from icir_control.dynamics.kernels.mimic import project
from icir_control.dynamics.kernels.vector import Vector


@inlined
def _collect(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Place all rows, collect the composite inertias, and return the rows."""
    rows = place_with_inertia(buffer, q)
    for k in range(rows.shape[0] - 1, 0, -1):
        add_composite_to_parent(rows, k)
    return rows


@inlined
def _write_center(buffer: np.ndarray, rows: np.ndarray) -> Vector:
    """Fill the centre of mass of the whole; return it from the reference point."""
    c = vec.scale(1.0 / rows[0, at.COMPOSITE], vec.load(rows, 0, at.COMPOSITE + 1))
    world = vec.subtract(c, vec.load(rows, 0, at.POSITION))
    vec.store(at.matrix_of(buffer, at.H_COM, rows.shape[0], 3), 0, 0, world)
    return c


@CheckedKernel
def centers_of_mass(buffer: np.ndarray, q: np.ndarray) -> int:
    """Fill the centre of mass of all beyond each row, in the row's frame."""
    if not is_configuration(buffer, q):
        return 1
    rows = _collect(buffer, q)
    com = at.matrix_of(buffer, at.H_COM, rows.shape[0], 3)
    for k in range(rows.shape[0]):
        # c = s / m, then oM_k^-1 c
        c = vec.scale(1.0 / rows[k, at.COMPOSITE], vec.load(rows, k, at.COMPOSITE + 1))
        arm = vec.subtract(c, vec.load(rows, k, at.POSITION))
        vec.store(com, k, 0, vec.apply_transposed(vec.load_matrix(rows, k, at.ROTATION), arm))
    return 0


@CheckedKernel
def com_jacobian(buffer: np.ndarray, q: np.ndarray) -> int:
    """Fill Jcom, with dc/dt = Jcom v, and the centre of mass of the whole."""
    if not is_configuration(buffer, q):
        return 1
    rows = _collect(buffer, q)
    jacobian = at.tree_matrix(buffer, at.H_JCOM, 3)
    share = 1.0 / rows[0, at.COMPOSITE]
    _write_center(buffer, rows)
    for k in range(1, rows.shape[0]):
        # m dc/dt is the linear momentum: the linear part of F_k
        linear, _ = composite_momentum(rows, k)
        jacobian[0, k - 1], jacobian[1, k - 1], jacobian[2, k - 1] = vec.scale(share, linear)
    project(buffer, at.H_JCOM, 3)
    return 0


@inlined
def write_map(buffer: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Fill the centroidal map, and return it: F_k at the centre of mass, world axes."""
    Ag = at.tree_matrix(buffer, at.H_AG, 6)
    c = _write_center(buffer, rows)
    for k in range(1, rows.shape[0]):
        linear, angular = composite_momentum(rows, k)
        Ag[0, k - 1], Ag[1, k - 1], Ag[2, k - 1] = linear
        # cX*_o: the moment about c
        Ag[3, k - 1], Ag[4, k - 1], Ag[5, k - 1] = vec.subtract(angular, vec.cross(c, linear))
    project(buffer, at.H_AG, 6)
    return at.matrix_of(buffer, at.H_AG, 6, int(buffer[at.H_NV]))


@CheckedKernel
def centroidal_map(buffer: np.ndarray, q: np.ndarray) -> int:
    """Fill Ag (Orin, Goswami & Lee 2013) and the centre of mass of the whole."""
    if not is_configuration(buffer, q):
        return 1
    write_map(buffer, _collect(buffer, q))
    return 0


@CheckedKernel
def centroidal_momentum(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Fill Ag and hg = Ag v."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    Ag = write_map(buffer, _collect(buffer, q))
    hg = at.matrix_of(buffer, at.H_HG, 6, 1)
    for i in range(6):
        total = 0.0
        for k in range(v.size):
            total += Ag[i, k] * v[k]
        hg[i, 0] = total
    return 0


@CheckedKernel
def kinetic_energy(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Write the kinetic energy of bodies and rotors into the header: the sum of v . Y v / 2."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    rows, coordinates = take_configuration(buffer, q)
    energy = 0.0
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, coordinates)
        rate = at.rate_of(rows, k, v)
        twist, _ = move(rows, k, rate)
        energy += 0.5 * sp.dot(twist, sp.momentum(inertia_in_world(rows, k, R, p), twist))
        energy += 0.5 * rows[k, at.ARMATURE] * rate * rate
    buffer[at.H_ENERGY] = energy
    return 0


@CheckedKernel
def potential_energy(buffer: np.ndarray, q: np.ndarray) -> int:
    """Write the potential energy, minus the sum of m c . field, into the header."""
    if not is_configuration(buffer, q):
        return 1
    rows, coordinates = take_configuration(buffer, q)
    field = at.gravity_field(buffer)
    energy = 0.0
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, coordinates)
        m, s, _ = inertia_in_world(rows, k, R, p)
        energy -= vec.dot(vec.subtract(s, vec.scale(m, vec.load(rows, 0, at.POSITION))), field)
    buffer[at.H_ENERGY] = energy
    return 0
