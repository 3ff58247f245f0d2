"""Inertias that MuJoCo would refuse although the body that moves has a valid one.

MuJoCo checks every link by itself. What counts for the motion is the sum over the links that are
rigidly connected: a flange without a moment about one axis, or a link without mass that a joint
holds to a heavy one, is no fault.
"""

from collections.abc import Iterator, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.errors import ModelError

# What MuJoCo takes for the least mass and inertia that moves, with some room [kg, kg m^2].
LEAST = 1e-14
_LEAST_DRAWN, _LARGEST_DRAWN = 5e-3, 1.0  # m
_SHARE_DRAWN = 0.1  # of the robot's length, which any link may be drawn as large as
_SLACK = 1e-9  # relative, of what rounding may cost the triangle inequality


def lump_refused_inertias(spec: mujoco.MjSpec, *, repair: bool) -> None:
    """Give the inertia of rigidly connected links to the topmost, where MuJoCo refuses one.

    Args:
        spec: The robot.
        repair: Whether a sum that no body has, either, is replaced by the nearest possible one.

    Raises:
        ModelError: No body has the sum, and it is not to be repaired.
    """
    for links in _rigid_groups(spec):
        top = links[0]
        stands = top.parent.name == spec.worldbody.name and not top.joints
        if any(link.mass for link in links) and any(_is_refused(link) for link in links):
            whole = _sum(links)
            for link in links:
                _set_inertia(link, 0.0, np.zeros(3), np.zeros((3, 3)), repair=False)
            if not stands:
                _set_inertia(top, *whole, repair=repair)
        elif not any(link.explicitinertial for link in links) and _mass_below(top) and not stands:
            # A joint with several axes is often written as links without mass in between.
            _set_inertia(top, LEAST, np.zeros(3), LEAST * np.eye(3), repair=False)


def ellipsoid_axes(
    mass: float,
    moments: NDArray[np.float64],
    ends: Sequence[NDArray[np.float64]],
    length: float,
) -> NDArray[np.float64]:
    """Return the semi-axes (3,) of an ellipsoid that shows the inertia of a link [m].

    A uniform ellipsoid of mass m and semi-axes a, b, c has moments m (b^2 + c^2) / 5 and so on.
    It is scaled down where it is larger than the link: many URDFs have moments that are.

    Args:
        mass: Of the link [kg].
        moments: (3,) principal moments about its centre of mass [kg m^2].
        ends: (3,) places of the link: its centre of mass, and where the next ones begin [m].
        length: Of the robot [m]; zero where it has one link.
    """
    axes = np.sqrt(np.maximum(2.5 * (moments.sum() - 2.0 * moments) / mass, 0.0))
    reach = max(float(np.linalg.norm(end)) for end in ends)
    longest = max(reach, _SHARE_DRAWN * length) if length else _LARGEST_DRAWN
    axes *= min(1.0, longest / max(float(axes.max()), _LEAST_DRAWN))
    return np.maximum(axes, _LEAST_DRAWN)


def _rigid_groups(spec: mujoco.MjSpec) -> Iterator[list[mujoco.MjsBody]]:
    """Yield the links that no joint separates, the topmost first."""
    groups: dict[str, list[mujoco.MjsBody]] = {}
    leader: dict[str, str] = {}
    for body in spec.bodies[1:]:  # a parent comes before its children
        above = leader.get(body.parent.name)
        first = body.name if body.joints or above is None else above
        leader[body.name] = first
        groups.setdefault(first, []).append(body)
    yield from groups.values()


def _mass_below(link: mujoco.MjsBody) -> float:
    return sum(float(child.mass) + _mass_below(child) for child in link.bodies)


def _moments(link: mujoco.MjsBody) -> NDArray[np.float64]:
    """Return the (3, 3) inertia about the centre of mass, in the axes of the link."""
    xx, yy, zz, xy, xz, yz = np.nan_to_num(link.fullinertia)
    rotation = _matrix(link.iquat)
    full: NDArray[np.float64] = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return rotation @ full @ rotation.T


def _is_refused(link: mujoco.MjsBody) -> bool:
    if not link.explicitinertial:
        return False
    low, middle, high = np.linalg.eigvalsh(_moments(link))
    # A flat link has low + middle = high, but for what rounding makes of it in MuJoCo.
    is_pointed = low + middle < high * (1.0 + _SLACK)
    return bool(link.mass < LEAST or low < LEAST or is_pointed)


def _sum(
    links: list[mujoco.MjsBody],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return mass, centre of mass and inertia about it, in the axes of the first link."""
    poses = {links[0].name: (np.eye(3), np.zeros(3))}
    masses, centres, inertias = [], [], []
    for link in links:
        if link.name not in poses:
            rotation, position = poses[link.parent.name]
            poses[link.name] = rotation @ _matrix(link.quat), position + rotation @ link.pos
        rotation, position = poses[link.name]
        masses.append(float(link.mass))
        centres.append(position + rotation @ np.nan_to_num(link.ipos))
        inertias.append(rotation @ _moments(link) @ rotation.T)
    mass = sum(masses)
    com = np.average(centres, axis=0, weights=masses)
    total = np.zeros((3, 3))
    for m, centre, inertia in zip(masses, centres, inertias, strict=True):
        r = centre - com
        total += inertia + m * (r @ r * np.eye(3) - np.outer(r, r))
    return mass, com, total


def _set_inertia(
    link: mujoco.MjsBody,
    mass: float,
    com: NDArray[np.float64],
    inertia: NDArray[np.float64],
    *,
    repair: bool,
) -> None:
    """Give a link an inertia (3, 3) about its centre of mass, or none where the mass is zero.

    Repaired are the second moments of mass, tr / 2 - I, which no mass makes negative.

    Raises:
        ModelError: No body has it.
    """
    link.fullinertia = np.full(6, np.nan)
    link.explicitinertial = mass > 0.0
    link.mass, link.ipos, link.iquat, link.inertia = mass, com, [1, 0, 0, 0], np.zeros(3)
    if not mass:
        return
    moments, axes = np.linalg.eigh(inertia)
    if repair:
        spread = np.maximum(0.5 * moments.sum() - moments, 0.0)
        moments = spread.sum() - spread
    low, middle, high = moments
    if low < -_SLACK * high or low + middle < high - _SLACK * high:
        shown = ', '.join(f'{moment:.6g}' for moment in moments)
        raise ModelError(
            f'link {link.name!r}, with what is fixed to it, has principal moments of inertia '
            f'{shown} kg m^2; no body has one that is negative, or larger than the other two '
            'together'
        )
    low, middle, high = np.maximum(moments, LEAST)
    axes *= np.sign(np.linalg.det(axes))
    mujoco.mju_mat2Quat(quaternion := np.empty(4), axes.ravel())
    link.iquat, link.inertia = quaternion, [low, middle, min(high, low + middle)]


def _matrix(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    mujoco.mju_quat2Mat(matrix := np.empty(9), quaternion)
    return matrix.reshape(3, 3)
