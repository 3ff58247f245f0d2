"""From a model to the one buffer that its kernels read and write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from icir_control.dynamics.joints import Frame, Joint, JointKind
from icir_control.dynamics.kernels import layout as at
from icir_control.spatial import Inertia
from icir_control.spatial.arrays import Array, cross_matrix

_X, _Y, _Z = np.eye(3)


@dataclass(frozen=True)
class Block:
    """A block of the buffer behind the rows: its place in the header, and its shape."""

    header: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers it takes."""
        return int(np.prod(self.shape))


def blocks(nq: int, nv: int, rows: int) -> dict[str, Block]:
    """Return the blocks behind the frames: results by the names in `Data`, and work space.

    Args:
        nq: Length of q.
        nv: Length of v.
        rows: How many rows the kernels walk over, the world's included.
    """
    mimics = rows - 1 - nv
    return {
        'M': Block(at.H_M, (nv, nv)),
        'nle': Block(at.H_NLE, (nv,)),
        'g': Block(at.H_G, (nv,)),
        'tau': Block(at.H_TAU, (nv,)),
        'ddq': Block(at.H_DDQ, (nv,)),
        'Minv': Block(at.H_MINV, (nv, nv)),
        'Jcom': Block(at.H_JCOM, (3, nv)),
        'Ag': Block(at.H_AG, (6, nv)),
        'hg': Block(at.H_HG, (6,)),
        'com': Block(at.H_COM, (rows, 3)),
        'external': Block(at.H_EXTERNAL, (rows, 6)),
        'work': Block(at.H_WORK, (rows, at.B_STRIDE)),
        'factor': Block(at.H_FACTOR, (nv, nv)),
        'coordinates': Block(at.H_COORDINATES, (3, _width(nq + mimics))),
        'watch': Block(at.H_WATCH, (at.W_JACOBIAN + 6 * nv,)),
        'dtau_dq': Block(at.H_DTAU_DQ, (nv, nv)),
        'dtau_dv': Block(at.H_DTAU_DV, (nv, nv)),
        'ddq_dq': Block(at.H_DDQ_DQ, (nv, nv)),
        'ddq_dv': Block(at.H_DDQ_DV, (nv, nv)),
        'C': Block(at.H_CORIOLIS, (nv, nv)),
        'dAg': Block(at.H_DAG, (6, nv)),
        'slopes': Block(at.H_SLOPES, (rows, at.D_STRIDE)),
        'mimics': Block(at.H_MIMIC_TABLE, (mimics, at.C_STRIDE)),
        'chain': Block(at.H_CHAIN, (nv + 1 if mimics else 0, 1)),
    }


_PROJECTED = 'M', 'nle', 'g', 'tau', 'ddq', 'Jcom', 'Ag', 'dtau_dq', 'dtau_dv', 'C', 'dAg'
"""Blocks that the kernels find for the whole tree; see `kernels.layout`."""


def _tree_blocks(nv: int, rows: int) -> list[Block]:
    """Return those of the whole tree, where there are mimic joints."""
    n = rows - 1
    if n == nv:
        return []
    theirs = blocks(n, n, rows)
    return [replace(theirs[name], header=at.TREE + theirs[name].header) for name in _PROJECTED]


def _width(nq: int) -> int:
    """Return nq, rounded up to whole vectors."""
    return -(-nq // at.VECTOR) * at.VECTOR


def coupling(joints: Sequence[Joint]) -> Array:
    """Return G (n, nv) with the rates of the n rows = G v; without mimic joints the identity."""
    nv = sum(joint.nv for joint in joints)
    G = np.zeros((joints[-1].row, nv))
    for joint in joints:
        for i in range(joint.kind.nv):
            multiplier = 1.0 if joint.mimic is None else joint.mimic.multiplier
            G[joint.first_row - 1 + i, joint.index_v + i] = multiplier
    return G


def build_buffer(
    joints: Sequence[Joint],
    inertias: Sequence[Inertia],
    frames: Sequence[Frame],
    gravity: Array,
) -> Array:
    """Return a buffer with the model's constants in place and zeros where results will be."""
    nq, nv = sum(joint.nq for joint in joints), sum(joint.nv for joint in joints)
    count = joints[-1].row + 1
    behind, trees = blocks(nq, nv, count), _tree_blocks(nv, count)
    frames_at = at.HEADER + count * at.STRIDE
    end = frames_at + len(frames) * at.F_STRIDE
    buffer = np.zeros(end + sum(block.size for block in [*behind.values(), *trees]))

    buffer[at.H_NV] = nv
    buffer[at.H_NQ] = nq
    buffer[at.H_HAS_QUATERNIONS] = nq > nv
    buffer[at.H_WIDTH] = behind['coordinates'].shape[1]
    buffer[at.H_ROWS] = count
    buffer[at.H_MIMICS] = count - 1 - nv
    buffer[at.H_FRAME_COUNT] = len(frames)
    buffer[at.H_WATCHED] = -1.0
    buffer[at.H_GRAVITY : at.H_GRAVITY + 3] = gravity
    buffer[at.H_FRAMES] = frames_at
    for block in behind.values():
        buffer[block.header] = buffer[at.TREE + block.header] = end
        end += block.size
    for block in trees:
        buffer[block.header] = end
        end += block.size

    rows = buffer[at.HEADER : frames_at].reshape(count, at.STRIDE)
    _write(rows[0], at.ROTATION, np.eye(3))
    rows[1:, at.ROTATION :] = np.nan  # not computed yet
    mimics = _block(buffer, behind['mimics'])
    for joint, inertia in zip(joints[1:], inertias[1:], strict=True):
        parent = joints[joint.parent].row
        for i, constants in enumerate(_rows_of_joint(joint, parent)):
            row = rows[joint.first_row + i]
            row[: at.ROTATION] = constants
            row.view(np.int64)[at.INDEX_V] = joint.index_v + i
            row[at.MULTIPLIER] = 1.0
            row[at.ARMATURE] = joint.armature[i] if joint.mimic is None else 0.0
        _write_inertia(rows[joint.row], inertia)
        if joint.mimic is not None:
            mimic, mimics = mimics[0], mimics[1:]
            place = nq + int(buffer[at.H_MIMICS]) - len(mimics) - 1
            rows[joint.row].view(np.int64)[at.INDEX_Q] = place
            rows[joint.row, at.MULTIPLIER] = joint.mimic.multiplier
            mimic.view(np.int64)[[at.C_FROM, at.C_TO]] = joint.index_q, place
            mimic[[at.C_MULTIPLIER, at.C_OFFSET]] = joint.mimic.multiplier, joint.mimic.offset
    _set_reference_point(buffer, rows)
    chain = _block(buffer, behind['chain'])
    chain.view(np.int64)[1:, 0] = np.arange(len(chain) - 1)

    table = buffer[frames_at : frames_at + len(frames) * at.F_STRIDE].reshape(-1, at.F_STRIDE)
    for entry, frame in zip(table, frames, strict=True):
        entry.view(np.int64)[at.F_ROW] = joints[frame.parent].row
        _write(entry, at.F_ROTATION, frame.placement.rotation)
        _write(entry, at.F_POSITION, frame.placement.translation)
    return buffer


def _block(buffer: Array, block: Block) -> Array:
    start = int(buffer[block.header])
    return buffer[start : start + block.size].reshape(block.shape)


def _set_reference_point(buffer: Array, rows: Array) -> None:
    """Write which row's origin is the reference point: the first on which all others turn."""
    links, row = rows.view(np.int64), 1
    while (
        links[row, at.MOTION] == at.PRISMATIC
        and row + 1 < len(rows)
        and links[row + 1, at.PARENT] == row
    ):
        row += 1
    if row == 1 and links[1, at.MOTION] in (at.REVOLUTE, at.SPHERICAL):
        _write(rows[0], at.POSITION, -rows[1, at.JOINT_POSITION : at.JOINT_POSITION + 3])
    else:
        buffer[at.H_REFERENCE_ROWS] = row


def _rows_of_joint(joint: Joint, parent: int) -> Iterator[Array]:
    """Yield the constants of each of a joint's rows; `parent` is the row that carries it."""
    first = joint.first_row
    quaternion = joint.kind.has_quaternion
    for i, (motion, linear, axis) in enumerate(_degrees_of_freedom(joint)):
        row = np.zeros(at.ROTATION)
        before = parent if i == 0 else first + i - 1
        links = row.view(np.int64)
        links[at.PARENT] = before
        links[at.MOTION] = motion
        links[at.INDEX_Q] = joint.index_q if quaternion else joint.index_q + i
        # S of such a joint is constant in the body: v_J turns with the body, by v_parent x v_J.
        links[at.BIAS] = parent if quaternion else before
        links[at.RATE] = joint.row if quaternion else first + i
        row[at.LINEAR] = linear
        _write(row, at.AXIS, axis)
        if i == 0:
            _write(row, at.JOINT_POSITION, joint.placement.translation)
            _write(row, at.NEUTRAL_POSITION, joint.placement.translation)
        rotation = joint.placement.rotation if i == 0 else np.eye(3)
        _write_motion(row, motion, rotation, axis)
        yield row


def _degrees_of_freedom(joint: Joint) -> list[tuple[int, bool, Array]]:
    """Return a joint's rows: how each moves, whether its column is linear, and its axis."""
    slide, turn = (at.PRISMATIC, True), (at.REVOLUTE, False)
    match joint.kind:
        case JointKind.PRISMATIC:
            return [(*slide, joint.axis)]
        case JointKind.CYLINDRICAL:
            return [(*slide, joint.axis), (*turn, joint.axis)]
        case JointKind.PLANAR:
            return [(*slide, _X), (*slide, _Y), (*turn, _Z)]
        case JointKind.SPHERICAL:
            follows = [(at.FOLLOWS, False, axis) for axis in (_Y, _Z)]
            return [(at.SPHERICAL, False, _X), *follows]
        case JointKind.FLOATING:
            columns = [(True, _X), (True, _Y), (True, _Z), (False, _X), (False, _Y), (False, _Z)]
            return [(at.FOLLOWS if i else at.FLOATING, *c) for i, c in enumerate(columns)]
    return [(*turn, joint.axis)]


def _write_motion(
    row: Array,
    motion: int,
    rotation: Array,
    axis: Array,
) -> None:
    """Write what the row's placement is linear in: 1, cos(q), sin(q) and q."""
    if motion != at.REVOLUTE:
        _write(row, at.JOINT_ROTATION, rotation)
        _write(row, at.NEUTRAL_ROTATION, rotation)
        if motion == at.PRISMATIC:
            _write(row, at.JOINT_SLIDE, rotation.dot(axis))
        return
    # Rot(a, q) = a a^T + cos(q) (1 - a a^T) + sin(q) [a]
    along = np.outer(axis, axis)
    _write(row, at.JOINT_ROTATION, rotation.dot(along))
    _write(row, at.JOINT_ROTATION_COS, rotation.dot(np.eye(3) - along))
    _write(row, at.JOINT_ROTATION_SIN, rotation.dot(cross_matrix(axis)))


def _write(row: Array, column: int, values: Array) -> None:
    """Write numbers into a row from a column on."""
    row[column : column + values.size] = values.ravel()


def _write_inertia(row: Array, inertia: Inertia) -> None:
    row[at.MASS] = inertia.mass
    _write(row, at.COM, inertia.com)
    _write(row, at.INERTIA, inertia.rotational[np.triu_indices(3)])
