"""SO(3), SE(3), motions, forces and inertias as immutable values; no robot."""
