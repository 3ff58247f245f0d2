"""What the sources print wrongly: each test shows what is true, and that the print is not."""

import numpy as np
import pytest

from icir_control.spatial import SE3, Force, Inertia, Motion, exp6, hat, log3, skew

RNG = np.random.default_rng(2024)
AB = SE3.random(RNG)
NU, OTHER = Motion.random(RNG), Motion.random(RNG)
PHI = Force.random(RNG)
Y = Inertia.random(RNG)
CENTRED = Inertia(Y.mass, np.zeros(3), Y.rotational)
"""A body whose frame lies in its centre of mass, as the article takes it."""

ZERO, ONE = np.zeros((3, 3)), np.eye(3)


def equal(a, b) -> bool:
    return np.abs(np.asarray(a) - np.asarray(b)).max() < 1e-12


def angular_first(matrix):
    return np.roll(matrix, (3, 3), axis=(0, 1))


def test_operand_of_the_force_product():
    """Article: V x F = -[ad V]^T (w, v). True: it acts on F = (m, f)."""
    ad = angular_first(NU.cross_matrix)
    product = NU.cross(PHI).angular_first
    assert equal(product, -ad.T @ PHI.angular_first)
    assert not equal(product, -ad.T @ NU.angular_first)


def test_factors_of_the_motion_product():
    """Article: V_1, V_1 in M6. True: of V_1 and V_2; of one motion with itself it is zero."""
    assert equal(NU.cross(NU).vector, np.zeros(6))
    assert not equal(NU.cross(OTHER).vector, np.zeros(6))


def test_side_on_which_the_rotational_inertia_is_turned():
    """Article: aRb^T I_b aRb. True: aRb I_b aRb^T, as aRb maps from b to a."""
    r, p = AB.rotation, skew(AB.translation)
    about_a = AB.act(CENTRED).rotational_at_origin
    assert equal(about_a, r @ Y.rotational @ r.T + Y.mass * p @ p.T)
    assert not equal(about_a, r.T @ Y.rotational @ r + Y.mass * p @ p.T)


def test_mass_in_the_lower_left_block():
    """Article: S(p)^T. True: m S(p)^T, the transpose of the upper right block."""
    p = skew(AB.translation)
    lower_left = angular_first(AB.act(CENTRED).matrix)[3:, :3]
    assert equal(lower_left, Y.mass * p.T)
    assert not equal(lower_left, p.T)


def test_order_of_the_momentum():
    """Article: P_a = V_a G_a. True: P_a = G_a V_a; as a row, V_a^T G_a is P_a^T."""
    g, v = Y.matrix, NU.vector
    assert equal((Y * NU).vector, g @ v)
    assert equal(v @ g, g @ v)  # G is symmetric: the row has the same numbers
    column = v[:, np.newaxis]
    with pytest.raises(ValueError, match='matmul'):
        column @ g  # but V as a column does not multiply G from the left


def test_composite_inertia_is_the_sum_of_spatial_inertias():
    """Article: a sum of I (its rotational inertia). True: of G, which carries mass and centre."""
    other = Inertia.random(RNG)
    total = Y + other
    assert equal(total.matrix, Y.matrix + other.matrix)
    # Rotational inertias add too, but about the common origin, not about the centres of mass.
    about_origin = Y.rotational_at_origin + other.rotational_at_origin
    assert equal(total.rotational_at_origin, about_origin)
    assert not equal(total.rotational, Y.rotational + other.rotational)


def test_lever_arm_gives_a_linear_velocity():
    """Article: 'angular velocity resulting from linear velocity'. True: the other way round."""
    turning = Motion(angular=NU.angular)
    seen_from_a = AB.act(turning)
    assert not equal(seen_from_a.linear, np.zeros(3))
    sliding = AB.act(Motion(linear=NU.linear))
    assert equal(sliding.angular, np.zeros(3))


def test_point_of_the_world_jacobian():
    """Slides: WORLD is taken at the joint's origin. True: at the body's point in world's origin.

    The column of a WORLD Jacobian is the twist V_s of the joint's motion.
    """
    h = 1e-6

    def velocity_of_the_body_point_at(x):
        fixed = AB.act_inv(x)
        return ((AB @ exp6(NU * h)).act(fixed) - (AB @ exp6(NU * -h)).act(fixed)) / (2 * h)

    world = AB.act(NU)
    assert np.allclose(world.linear, velocity_of_the_body_point_at(np.zeros(3)), atol=1e-8)
    at_joint = velocity_of_the_body_point_at(AB.translation)
    assert not np.allclose(world.linear, at_joint, atol=1e-2)
    # At the joint's origin, in world axes, is what LOCAL_WORLD_ALIGNED gives.
    aligned = SE3(AB.rotation).act(NU)
    assert np.allclose(aligned.linear, at_joint, atol=1e-8)


def test_direction_of_a_frame_placement():
    """Slides: placement, and so Ad, go from joint to frame. True: they map frame to joint."""
    joint_to_frame = AB  # lies at AB.translation in the joint's frame
    origin_of_frame = np.zeros(3)
    assert equal(joint_to_frame.act(origin_of_frame), AB.translation)  # frame -> joint coordinates
    # hence the joint's twist reaches the frame by actInv, as the slide's code does
    v_frame = joint_to_frame.act_inv(NU)
    assert equal(v_frame.vector, np.linalg.solve(AB.action, NU.vector))
    assert not equal(v_frame.vector, AB.action @ NU.vector)


def test_error_placement_takes_the_inverse():
    """Slides: T_err = T_current^T T_des. True: T_current^-1 T_des, as their code has it."""
    goal = SE3.random(RNG)
    error = AB.act_inv(goal)
    assert equal(AB.matrix @ error.matrix, goal.matrix)
    assert not equal(error.matrix, AB.matrix.T @ goal.matrix)
    assert equal(log3(error.rotation), log3(AB.rotation.T @ goal.rotation))


def test_world_aligned_twist_is_turned_by_the_rotation_alone():
    """Slides: m_wMi with its translation set. True: without, as their own comment asks."""
    body = NU
    aligned = SE3(AB.rotation).act(body)  # velocity of the tool's origin, in world axes
    assert equal(SE3(AB.rotation).act_inv(aligned).vector, body.vector)
    assert not equal(AB.act_inv(aligned).vector, body.vector)


def test_jacobian_drift_is_classical_in_world_axes():
    """Slides: a = J ddq + J dq. True: dJ/dt dq, with J at the frame's origin in world axes.

    Along a constant body twist ddq and the spatial acceleration are zero; the origin accelerates.
    """
    h = 1e-4
    spatial = Motion.zero()

    def velocity(t):
        return (AB @ exp6(NU * t)).rotation @ NU.linear

    acceleration = (velocity(h) - velocity(-h)) / (2 * h)
    assert np.allclose(AB.rotation @ spatial.classical(NU).linear, acceleration, atol=1e-6)
    assert not np.allclose(AB.rotation @ NU.linear, acceleration, atol=1e-2)


def test_pairing_of_force_and_motion():
    """Cheat sheets: phi dnu/dt = phi^T nu. True: phi . nu, a power; the dot is a product sign."""
    turned = AB.act(PHI).vector @ AB.act(NU).vector
    assert equal(PHI.vector @ NU.vector, turned)
    assert equal(PHI.dot(NU), turned)


def test_force_on_both_sides_of_the_inertias_change_of_frame():
    """Cheat sheets: b phi = bX*a b phi = bX*a aI aXb b nu. True: bX*a a phi, and Y for I."""
    in_a = AB.act(Y)
    momentum = AB.inverse().dual_action @ in_a.matrix @ AB.action @ NU.vector
    assert equal((Y * NU).vector, momentum)
    momentum_in_a = AB.act(Y * NU).vector
    assert equal((Y * NU).vector, AB.inverse().dual_action @ momentum_in_a)
    assert not equal((Y * NU).vector, AB.inverse().dual_action @ (Y * NU).vector)


def test_inertia_at_the_centre_of_mass_is_the_whole_matrix():
    """Cheat sheets: aY = aX*c cI cX^-1. True: with cY = diag(m 1, cI), and cI turned into a."""
    c_in_a = SE3(AB.rotation, Y.com)  # axes of the body, at its centre of mass
    canonical = np.block([[Y.mass * ONE, ZERO], [ZERO, Y.rotational]])
    in_a = c_in_a.dual_action @ canonical @ np.linalg.inv(c_in_a.action)
    c, r = skew(Y.com), AB.rotation
    assert equal(in_a[3:, 3:], r @ Y.rotational @ r.T + Y.mass * c @ c.T)
    assert not equal(in_a[3:, 3:], Y.rotational + Y.mass * c @ c.T)


def test_unit_screw_needs_a_unit_axis_in_the_tables_exponential():
    """The table's * holds for |w| = 1 or w = 0, not for a twist (its w is used for both)."""

    def star(motion, t):
        w = skew(motion.angular)
        return (ONE * t + (1 - np.cos(t)) * w + (t - np.sin(t)) * w @ w) @ motion.linear

    rate = float(np.linalg.norm(NU.angular))
    assert equal(exp6(NU).translation, star(NU / rate, rate))
    assert not equal(exp6(NU).translation, star(NU, 1.0))
    assert equal(hat(NU / rate)[:3, :3], skew(NU.angular) / rate)
