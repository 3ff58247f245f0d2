"""Where a number lies in the one buffer of a model's constants and all results, and views of it.

    buffer = [ header | rows | frames | results of the whole tree | watched frame ]

**Rows.** Every degree of freedom of every joint has a row of `STRIDE` numbers: what is constant
first, the results behind. Row 0 is the world. A joint of several degrees of freedom owns several
consecutive rows; its body hangs on the last one, the rows before it carry no mass. So each
recursion walks over rows, whatever the joints are:

- revolute and prismatic joints are one row;
- planar (x, y, theta) and cylindrical joints are a chain of such rows, exactly;
- spherical and floating joints are moved by their first row alone, since a quaternion cannot be
  split; their columns of S are constant in the body, so that the rate of each is a velocity
  cross that column, taken with the rows that `RATE` and `BIAS` name.

The columns PARENT to RATE hold whole numbers, in eight bytes like the floats around them.

**Mimic joints.** A joint that mimics another has a row, and no place in q and v. The rates of the
rows are G v, with one number in each row of G, and the recursions walk over the whole *tree*, as
if no joint mimicked another. What they find is projected then: M = G^T M_tree G,
nle = G^T nle_tree, J = J_tree G. For what is projected there are two blocks, that of the tree
where the header at `TREE + H_...` says; without mimic joints, where row k = 1..nv is that of
v_{k-1}, both are the same block, and there is nothing to project.

All results of a row are in world axes; positions, twists and wrenches are taken at the *reference
point*, which rests in the world: the origin of the first row that can turn. Inertias at a point
grow with the square of the distance to it, so that a robot far from the world's origin would lose
the digits of M and nle there. The world's row 0 holds, as its position, where the world's origin
lies.
"""

from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED, inlined, kernel
from icir_control.dynamics.kernels.vector import Vector

# -- header: sizes, then where the blocks behind the rows begin --------------------------------
H_NV, H_NQ, H_FRAME_COUNT = range(3)
H_WATCHED = 3
"""Index of the watched frame, -1 for none."""
H_GRAVITY = 4
"""The gravity field in world axes (3) [m/s^2]."""
H_FRAMES, H_M, H_NLE, H_G, H_TAU, H_DDQ, H_MINV, H_JCOM, H_AG, H_HG = range(7, 17)
H_WATCH, H_COM, H_EXTERNAL, H_WORK, H_FACTOR = range(17, 22)
H_HAS_EXTERNAL = 22
"""1 while the block at H_EXTERNAL holds external forces."""
H_ENERGY = 23
"""The energy that was computed last [J]."""
H_HAS_QUATERNIONS = 24
"""1 where some joint has a quaternion."""
H_COORDINATES = 25
"""The block of cosines and sines of q, and q: H_WIDTH numbers each, nq rounded up to VECTOR."""
H_WIDTH = 26
H_REFERENCE_ROWS = 27
"""The reference point is the origin of this row; 0 where it is constant."""
H_DTAU_DQ, H_DTAU_DV, H_DDQ_DQ, H_DDQ_DV, H_CORIOLIS, H_SLOPES, H_DAG = range(28, 35)
H_ROWS = 35
"""How many rows there are, the world's included."""
H_MIMICS = 36
"""How many joints mimic others."""
H_MIMIC_TABLE = 37
"""The block of those joints (H_MIMICS, C_STRIDE)."""
H_CHAIN = 38
"""The block of rows (nv + 1, 1), PARENT alone, of a chain: what mimics makes M dense."""
TREE = 40
"""Behind this place of the header, where the blocks of the whole tree begin."""
HEADER = 80
VECTOR = 8
"""How many numbers the widest vector registers hold."""

# -- constants of a row ------------------------------------------------------------------------
PARENT = 0
"""The row before this one: of the same joint, or the last row of the parent joint."""
MOTION = 1
"""How the row moves its frame: REVOLUTE, ... below."""
INDEX_Q = 2
"""Where the row's coordinates begin in q."""
BIAS = 3
"""The row whose twist gives this degree of freedom's share of the bias: a += v_BIAS x J qd."""
RATE = 4
"""The row whose twist gives the rate of this column: dJ = v_RATE x J."""
LINEAR = 5
"""1.0 where the column of S is a translation along the axis, 0.0 where it turns about it."""
AXIS = 6
"""Unit axis in the row's own frame (3)."""
JOINT_POSITION = 9
"""Origin of the row's frame at q = 0, in its parent row's frame (3) [m]."""
JOINT_ROTATION = 12
"""Rotation of the row in its parent row (9 each): this + cos(q) the next + sin(q) the last."""
JOINT_ROTATION_COS = 21
JOINT_ROTATION_SIN = 30
JOINT_SLIDE = 39
"""How far the row's origin moves at unit q, in its parent row's frame (3)."""
NEUTRAL_ROTATION = 42
"""Rotation (9) and origin (3) of a spherical or floating joint's first row at q = neutral."""
NEUTRAL_POSITION = 51
MASS = 54
COM = 55
"""Centre of mass in the row's own frame (3) [m]."""
INERTIA = 58
"""About the centre of mass, in the row's axes: xx, xy, xz, yy, yz, zz [kg m^2]."""

# -- results of a row --------------------------------------------------------------------------
ROTATION = 64
"""Rotation of the row's frame to the world: 3x3, by rows."""
POSITION = 73
"""Origin of the row's frame, from the reference point (3) [m]."""
COLUMN = 76
"""This degree of freedom's column of J (6): linear part first, as in all twists."""
TWIST = 82
ACCELERATION = 88
"""Spatial acceleration (6); what it includes depends on the algorithm that ran last."""
COMPOSITE = 94
"""Inertia of all that lies beyond the row: mass, first moment (3), about the origin (6)."""
WRENCH = 104
"""Force that all beyond the row asks for (6)."""
INDEX_V = 110
"""Which number of v moves the row: a whole number, and a constant, as the next."""
MULTIPLIER = 111
"""By how much: 1, but for the row of a joint that mimics another."""
ARMATURE = 112
"""Inertia of what turns with the motor alone, as the joint feels it [kg m^2 or kg]."""
STRIDE = 120

# -- a joint that mimics another ----------------------------------------------------------------
C_FROM, C_TO = range(2)
"""Whole numbers: from which place in the block at H_COORDINATES its value comes, and its own."""
C_MULTIPLIER, C_OFFSET = 2, 3
C_ROUNDING = 4
"""What rounding took from its value; written."""
C_STRIDE = 5

# -- coordinates of all joints ------------------------------------------------------------------
COS, SIN, VALUE = range(3)
"""Rows of the block at H_COORDINATES; those of cosine and sine serve angles alone."""

# -- how a row moves ---------------------------------------------------------------------------
REVOLUTE = 0
"""About its axis, by one angle."""
PRISMATIC = 1
"""Along its axis."""
SPHERICAL = 2
"""By a quaternion."""
FLOATING = 3
"""By a position and a quaternion."""
FOLLOWS = 4
"""Not by itself: a further degree of freedom of the spherical or floating row before it."""

# -- a frame -----------------------------------------------------------------------------------
F_ROW = 0
"""A whole number, as the first columns of a row."""
F_ROTATION = 1
F_POSITION = 10
F_STRIDE = 16

# -- work of the articulated-body algorithm, by row, in the row's own frame ---------------------
B_ROTATION = 0
"""Rotation of the row in its parent (9), and below its origin (3)."""
B_POSITION = 9
B_CARRIED = 12
"""Twist of the joint's parent (6)."""
B_TWIST = 18
B_BIAS = 24
"""c = v_carried x S qd (6)."""
B_LINEAR = 30
"""Articulated inertia [[A, B], [B^T, C]]: A and C symmetric (6), B by rows (9)."""
B_MIXED = 36
B_ANGULAR = 45
B_WRENCH = 51
"""Articulated bias force p (6)."""
B_U = 57
"""U = I S (6), behind it D = S . U and u = tau - S . p."""
B_D = 63
B_RATIO = 64
B_ACCELERATION = 65
B_MASS = 71
"""Mass, first moment (3) and trace of the inertia of all beyond the row, as if it were rigid."""
B_MOMENT = 72
B_TRACE = 75
B_STRIDE = 80

# -- work of the derivatives, by row -----------------------------------------------------------
D_MOMENTUM = 0
"""Twice the Coriolis matrix of all beyond the row: momentum (6) and symmetric part (6)."""
D_SYMMETRIC = 6
D_TURN = 12
"""How the column changes as what carries the row turns: v_carried x J (6)."""
D_TURN_RATE = 18
"""a_carried x J + v_carried x (v_carried x J) (6)."""
D_RATE = 24
"""The rate of the column (6)."""
D_STRIDE = 32

NEGLIGIBLE = 1e-9
"""An inertia is none that is smaller, relative to the whole one: rounding leaves up to 4e-11."""

# -- the watched frame -------------------------------------------------------------------------
W_POSE = 0
W_TWIST = 12
W_DRIFT = 18
W_JACOBIAN = 24

# -- views -------------------------------------------------------------------------------------
if JIT_DISABLED:

    def block(buffer: np.ndarray, start: int, height: int, width: int) -> np.ndarray:
        """Return a part of the buffer as a matrix."""
        return buffer[start : start + height * width].reshape(height, width)

    def integer(rows: np.ndarray, k: int, column: int) -> int:
        """Return the whole number that lies in row k at `column`."""
        return int(rows[k, column].view(np.int64))

else:
    from numba.core import types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    from icir_control.scratch import point

    @intrinsic
    def block(typing: Any, buffer: Any, start: Any, height: Any, width: Any) -> tuple[Any, Any]:
        """Return a part of the buffer as a matrix.

        A slice and `reshape` count references and call into the runtime, some 20 ns a view: as
        much as two joints' placements. This is a pointer, valid as long as the buffer lives.
        """
        matrix = types.Array(types.float64, 2, 'C')

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            whole = make_array(signature.args[0])(context, builder, arguments[0])
            result = make_array(matrix)(context, builder)
            point(builder, result, builder.gep(whole.data, [arguments[1]]), arguments[2:])
            return result._getvalue()

        return matrix(buffer, types.intp, types.intp, types.intp), generate

    @intrinsic
    def integer(typing: Any, rows: Any, k: Any, column: Any) -> tuple[Any, Any]:
        """Return the whole number that lies in row k at `column`.

        The walk from leaf to root is one such look-up after the other; as a float, each would
        cost a conversion on top.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            matrix = make_array(signature.args[0])(context, builder, arguments[0])
            width = builder.extract_value(matrix.shape, 1)
            place = builder.add(builder.mul(arguments[1], width), arguments[2])
            integers = builder.bitcast(
                matrix.data, context.get_value_type(types.intp).as_pointer()
            )
            return builder.load(builder.gep(integers, [place]))

        return types.intp(rows, types.intp, types.intp), generate


@inlined
def rows_of(buffer: np.ndarray) -> np.ndarray:
    """Return the rows as a view, (rows, STRIDE)."""
    return block(buffer, HEADER, int(buffer[H_ROWS]), STRIDE)


@inlined
def frames_of(buffer: np.ndarray) -> np.ndarray:
    """Return the frames as a view, (nframes, F_STRIDE)."""
    return block(buffer, int(buffer[H_FRAMES]), int(buffer[H_FRAME_COUNT]), F_STRIDE)


@inlined
def matrix_of(buffer: np.ndarray, header: int, height: int, width: int) -> np.ndarray:
    """Return a block as a view (height, width); `header` says where its place is noted."""
    return block(buffer, int(buffer[header]), height, width)


@inlined
def vector_of(buffer: np.ndarray, header: int) -> np.ndarray:
    """Return a block of nv numbers as a view."""
    return block(buffer, int(buffer[header]), 1, int(buffer[H_NV]))[0]


@inlined
def tree_matrix(buffer: np.ndarray, header: int, height: int) -> np.ndarray:
    """Return the tree's own block as a view, with a column for each row but the world's."""
    return block(buffer, int(buffer[TREE + header]), height, int(buffer[H_ROWS]) - 1)


@inlined
def tree_square(buffer: np.ndarray, header: int) -> np.ndarray:
    """Return the tree's own block of a matrix of (nv, nv) as a view."""
    n = int(buffer[H_ROWS]) - 1
    return block(buffer, int(buffer[TREE + header]), n, n)


@inlined
def empty_tree_square(buffer: np.ndarray, header: int) -> np.ndarray:
    """Return the same with zeros in it: joints of different branches have nothing else there.

    A caller may have changed in place what an earlier call returned.
    """
    X = tree_square(buffer, header)
    X[:] = 0.0
    return X


@inlined
def square_of(buffer: np.ndarray, header: int) -> np.ndarray:
    """Return a block (nv, nv) as a view."""
    nv = int(buffer[H_NV])
    return matrix_of(buffer, header, nv, nv)


@inlined
def links_of(buffer: np.ndarray) -> np.ndarray:
    """Return rows whose PARENT tells where M is zero: those of the tree, or of one chain."""
    if buffer[H_MIMICS] == 0.0:
        return rows_of(buffer)
    return matrix_of(buffer, H_CHAIN, int(buffer[H_NV]) + 1, 1)


@inlined
def rate_of(rows: np.ndarray, k: int, v: np.ndarray) -> float:
    """Return the rate of row k, which is v_{k-1} unless there are mimic joints."""
    return rows[k, MULTIPLIER] * v[integer(rows, k, INDEX_V)]


@inlined
def gravity_field(buffer: np.ndarray) -> Vector:
    """Return the gravity field in world axes."""
    return buffer[H_GRAVITY], buffer[H_GRAVITY + 1], buffer[H_GRAVITY + 2]


@kernel
def mass_matrix_of(buffer: np.ndarray) -> np.ndarray:
    """Return M as a view, (nv, nv), symmetric."""
    return square_of(buffer, H_M)


@kernel
def nle_of(buffer: np.ndarray) -> np.ndarray:
    """Return the nonlinear effects C(q, v) v + g(q) as a view, (nv,)."""
    return vector_of(buffer, H_NLE)


@kernel
def gravity_of(buffer: np.ndarray) -> np.ndarray:
    """Return the gravity torque g(q) as a view, (nv,)."""
    return vector_of(buffer, H_G)
