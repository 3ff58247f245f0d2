"""Where a number lies in the tables of shapes, pairs and distances."""

# -- a shape ------------------------------------------------------------------------------------
ROW = 0
"""Row of the `Data`'s buffer that carries the shape; 0 is the world."""
KIND = 1
RADIUS = 2
"""A capsule or sphere is all that lies within the radius of its core, a box its core alone."""
HALF = 3
"""Half sizes of the core (3) [m]; a capsule's is a segment along z, a sphere's its centre."""
ROTATION = 6
"""Rotation (9) and origin (3) of the shape in the row's frame."""
POSITION = 15
SEGMENT = 18
"""Half vector (3) and radius of the capsule that contains the shape; its own for a capsule."""
SEGMENT_RADIUS = 21
PLACED_ROTATION = 22
"""Rotation (9) to the world and origin (3) from the reference point; written."""
PLACED_POSITION = 31
S_STRIDE = 34

CAPSULE, BOX, CYLINDER, HALF_SPACE = range(4)
"""A half-space is all with z <= 0 in its own frame. A sphere is a capsule of length 0.

Of a cylinder along z, the core is the box around it.
"""

# -- a distance ---------------------------------------------------------------------------------
DISTANCE = 0
WITNESS_A, WITNESS_B = 1, 4
"""Points of the two surfaces (3 each), from the reference point."""
NORMAL = 7
"""Unit vector (3) from b to a: distance = n . (w_a - w_b)."""
RADIUS_A, RADIUS_B = 10, 11
"""From the core's point to the witness point."""
FEATURE_A, DIRECTION_A = 12, 13
"""On what the core's point may slide, and along which direction (3) where that is an edge."""
FEATURE_B, DIRECTION_B = 16, 17
WORLD_A, WORLD_B = 20, 23
"""The witness points in the world."""
D_STRIDE = 26

VERTEX, EDGE, FACE = range(3)
