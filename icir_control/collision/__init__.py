"""Distances between shapes on the frames of a model, and their Jacobians.

Capsules, spheres, boxes, cylinders and half-spaces, from a URDF or given in Python; a list of
pairs; for each the signed distance with its witness points and normal, the gradient, and the
second derivative.
"""

from icir_control.collision.distance import distance as distance
from icir_control.collision.distance import distance_bias as distance_bias
from icir_control.collision.distance import distance_jacobian as distance_jacobian
from icir_control.collision.distance import tangent_jacobian as tangent_jacobian
from icir_control.collision.shapes import Box as Box
from icir_control.collision.shapes import Capsule as Capsule
from icir_control.collision.shapes import CollisionPairs as CollisionPairs
from icir_control.collision.shapes import CollisionShape as CollisionShape
from icir_control.collision.shapes import Cylinder as Cylinder
from icir_control.collision.shapes import HalfSpace as HalfSpace
from icir_control.collision.shapes import Sphere as Sphere
from icir_control.collision.urdf import load_collision_shapes as load_collision_shapes
