"""Where a number lies in the one buffer that holds a model's constants and all results.

    buffer = [ header | rows | frames | results of the whole tree | watched frame ]

**Rows.** Every degree of freedom k = 1..nv has a row of `STRIDE` numbers: what is constant first,
the results behind. Row 0 is the world. A joint of several degrees of freedom owns several
consecutive rows; its body hangs on the last one, the rows before it carry no mass. So each
recursion walks over rows, whatever the joints are:

- revolute and prismatic joints are one row;
- planar (x, y, theta) and cylindrical joints are a chain of such rows, exactly;
- spherical and floating joints are moved by their first row alone, since a quaternion cannot be
  split; their columns of S are constant in the body, so that the rate of each is a velocity
  cross that column, taken with the rows that `RATE` and `BIAS` name.

The columns PARENT to RATE hold whole numbers, in eight bytes like the floats around them.

All results of a row are in world axes; twists and wrenches are taken at the world's origin.
"""

# -- header: sizes, then where the blocks behind the rows begin --------------------------------
H_NV = 0
H_NQ = 1
H_FRAME_COUNT = 2
H_WATCHED = 3
"""Index of the watched frame, -1 for none."""
H_GRAVITY = 4
"""The gravity field in world axes (3) [m/s^2]."""
H_FRAMES = 7
H_M = 8
H_NLE = 9
H_G = 10
H_TAU = 11
H_DDQ = 12
H_MINV = 13
H_JCOM = 14
H_AG = 15
H_HG = 16
H_WATCH = 17
H_COM = 18
H_EXTERNAL = 19
H_WORK = 20
H_FACTOR = 21
H_PUSHED = 22
"""1 while the block at H_EXTERNAL holds external forces."""
H_ENERGY = 23
"""The energy that was computed last [J]."""
H_FREE = 24
"""1 where some joint has a quaternion."""
H_CIRCLE = 25
"""The block of angles, cosines and sines, H_WIDTH numbers each: nq, rounded up to VECTOR."""
H_WIDTH = 26
HEADER = 32
VECTOR = 8
"""How many numbers the widest vector registers hold."""

# -- constants of a row ------------------------------------------------------------------------
PARENT = 0
"""The row before this one: of the same joint, or the last row of the parent joint."""
MOTION = 1
"""How the row moves its frame: one of the codes below."""
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
OFFSET = 9
"""Origin of the row's frame at q = 0, in its parent row's frame (3) [m]."""
TURN = 12
"""Rotation of the row in its parent: TURN + cos(q) TURN_COS + sin(q) TURN_SIN (9 each)."""
TURN_COS = 21
TURN_SIN = 30
SLIDE = 39
"""How far the row's origin moves at unit q, in its parent row's frame (3)."""
BASE_TURN = 42
"""TURN (9) and, behind it, OFFSET (3) of a free joint's first row at q = neutral."""
BASE_OFFSET = 51
MASS = 54
COM = 55
"""Centre of mass in the row's own frame (3) [m]."""
INERTIA = 58
"""About the centre of mass, in the row's axes: xx, xy, xz, yy, yz, zz [kg m^2]."""

# -- results of a row --------------------------------------------------------------------------
ROTATION = 64
"""Rotation of the row's frame to the world: 3x3, by rows."""
POSITION = 73
COLUMN = 76
"""This degree of freedom's column of J (6): linear part first, as in all twists."""
TWIST = 82
ACCELERATION = 88
"""Spatial acceleration (6); what it includes depends on the algorithm that ran last."""
COMPOSITE = 94
"""Inertia of all that lies beyond the row: mass, first moment (3), about the origin (6)."""
WRENCH = 104
"""Force that all beyond the row asks for (6)."""
STRIDE = 112

# -- how a row moves ---------------------------------------------------------------------------
TURNS = 0
"""About its axis, by one angle."""
SLIDES = 1
"""Along its axis."""
TURNS_FREELY = 2
"""By a quaternion."""
MOVES_FREELY = 3
"""By a position and a quaternion."""
FOLLOWS = 4
"""Not by itself: a further degree of freedom of the free row before it."""

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
B_STRIDE = 72

# -- the watched frame -------------------------------------------------------------------------
W_POSE = 0
W_TWIST = 12
W_DRIFT = 18
W_JACOBIAN = 24
