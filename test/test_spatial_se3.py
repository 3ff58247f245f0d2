"""SE(3): the cheat sheet's placements and actions, the rigid-body half of Lynch & Park's table."""

from math import cos, sin

import numpy as np
from hypothesis import strategies as st
from spatial_samples import (
    angles,
    assert_close,
    axes,
    derivative,
    exact_exp,
    forces,
    holds_for,
    motions,
    placements,
    rotations,
    rounded_placement,
    twist_coordinates,
    vectors,
)

from icir_control.spatial import SE3, Force, Motion, exp6, hat, log6, rotation, skew, vee

ZERO = np.zeros((3, 3))


def angular_first(matrix):
    """Reorder a (6, 6) matrix for vectors with the angular part first."""
    return np.roll(matrix, (3, 3), axis=(0, 1))


@holds_for(a=placements, b=placements, c=placements)
def test_placements_are_a_group(a, b, c):
    identity = SE3.identity()
    assert ((a @ b) @ c).isclose(a @ (b @ c), 1e-14)
    assert a @ identity == a
    assert identity @ a == a
    assert (a @ a.inverse()).isclose(identity, 1e-14)
    assert (a.inverse() @ a).isclose(identity, 1e-14)
    assert_close((a @ b).rotation.T @ (a @ b).rotation, np.eye(3))


@holds_for(ab=placements, bc=placements)
def test_composition_is_the_product_of_matrices(ab, bc):
    assert_close((ab @ bc).matrix, ab.matrix @ bc.matrix)
    assert_close((ab @ bc).translation, ab.translation + ab.rotation @ bc.translation)
    assert_close(ab.act(bc).matrix, ab.matrix @ bc.matrix)


@holds_for(ab=placements, ac=placements)
def test_act_inv_on_a_placement(ab, ac):
    bc = ab.act_inv(ac)
    assert_close(bc.rotation, ab.rotation.T @ ac.rotation)
    assert_close(bc.translation, ab.rotation.T @ (ac.translation - ab.translation))
    assert bc.isclose(ab.inverse() @ ac, 1e-14)


@holds_for(ab=placements)
def test_inverse_in_three_forms(ab):
    ba = ab.inverse()
    assert_close(ba.matrix, np.linalg.inv(ab.matrix), 1e-13)
    assert_close(ba.rotation, ab.rotation.T, 0.0)
    assert_close(ba.translation, -ab.rotation.T @ ab.translation)
    # Featherstone: E = bRa and r = a's vector to b
    e, r = ab.rotation.T, ab.translation
    assert_close(ba.matrix[:3], np.column_stack([e, -e @ r]))
    assert_close(ab.matrix[:3], np.column_stack([e.T, r]))


@holds_for(ab=placements, p=vectors, others=st.lists(vectors, max_size=4))
def test_points_change_frame(ab, p, others):
    assert_close(ab.act(p), ab.rotation @ p + ab.translation)
    assert_close(ab.act(p), (ab.matrix @ np.append(p, 1.0))[:3])
    assert_close(ab.act_inv(p), ab.rotation.T @ p - ab.rotation.T @ ab.translation)
    points = np.array([p, *others])
    assert_close(ab.act_inv(ab.act(points)), points)
    for before, after in zip(points, ab.act(points), strict=True):
        assert_close(after, ab.act(before))


@holds_for(ab=placements)
def test_action_matrices(ab):
    r, p = ab.rotation, skew(ab.translation)
    assert_close(ab.action, np.block([[r, p @ r], [ZERO, r]]))
    assert_close(ab.dual_action, np.block([[r, ZERO], [p @ r, r]]))
    assert_close(ab.inverse().action, np.block([[r.T, -r.T @ p], [ZERO, r.T]]))
    assert_close(ab.inverse().dual_action, np.block([[r.T, ZERO], [-r.T @ p, r.T]]))
    assert_close(np.linalg.inv(ab.action), ab.inverse().action, 1e-12)
    assert_close(np.linalg.inv(ab.action).T, ab.dual_action, 1e-12)


@holds_for(ab=placements)
def test_action_matrices_in_featherstones_letters(ab):
    e, r = ab.rotation.T, skew(ab.translation)
    assert_close(ab.inverse().action, np.block([[e, -e @ r], [ZERO, e]]))
    assert_close(ab.action, np.block([[e.T, r @ e.T], [ZERO, e.T]]))
    assert_close(ab.inverse().dual_action, np.block([[e, ZERO], [-e @ r, e]]))
    assert_close(ab.dual_action, np.block([[e.T, ZERO], [r @ e.T, e.T]]))


@holds_for(a=placements, b=placements)
def test_adjoint_is_a_homomorphism(a, b):
    assert_close(a.action @ b.action, (a @ b).action)
    assert_close(a.dual_action @ b.dual_action, (a @ b).dual_action)


@holds_for(ab=placements, nu=motions, phi=forces)
def test_act_on_motion_and_force_is_the_matrix(ab, nu, phi):
    assert_close(ab.act(nu).vector, ab.action @ nu.vector)
    assert_close(ab.act(phi).vector, ab.dual_action @ phi.vector)
    assert_close(ab.act_inv(nu).vector, ab.inverse().action @ nu.vector)
    assert_close(ab.act_inv(phi).vector, ab.inverse().dual_action @ phi.vector)
    assert_close(ab.act_inv(ab.act(nu)).vector, nu.vector)
    assert_close(ab.act_inv(ab.act(phi)).vector, phi.vector)


@holds_for(ab=placements, nu=motions, phi=forces)
def test_power_does_not_depend_on_the_frame(ab, nu, phi):
    assert_close(ab.act(phi).dot(ab.act(nu)), phi.dot(nu), 1e-13)
    assert nu.dot(phi) == phi.dot(nu)


@holds_for(ab=placements, nu=motions, phi=forces)
def test_slides_write_the_angular_part_first(ab, nu, phi):
    """The slides' four matrices of act and actInv, on vectors (angular, linear)."""
    r, p = ab.rotation, skew(ab.translation)
    on_motion = np.block([[r, ZERO], [p @ r, r]])
    on_force = np.block([[r, p @ r], [ZERO, r]])
    inverse_on_motion = np.block([[r.T, ZERO], [-r.T @ p, r.T]])
    inverse_on_force = np.block([[r.T, -r.T @ p], [ZERO, r.T]])
    assert_close(ab.act(nu).angular_first, on_motion @ nu.angular_first)
    assert_close(ab.act(phi).angular_first, on_force @ phi.angular_first)
    assert_close(ab.act_inv(nu).angular_first, inverse_on_motion @ nu.angular_first)
    assert_close(ab.act_inv(phi).angular_first, inverse_on_force @ phi.angular_first)
    assert_close(angular_first(ab.action), on_motion)


@holds_for(nu=motions, phi=forces)
def test_order_conversion_goes_both_ways(nu, phi):
    assert nu.angular_first.tolist() == [*nu.angular, *nu.linear]
    assert Motion.from_angular_first(nu.angular_first) == nu
    assert phi.angular_first.tolist() == [*phi.angular, *phi.linear]
    assert Force.from_angular_first(phi.angular_first) == phi


@holds_for(ab=placements, nu=motions)
def test_adjoint_is_conjugation(ab, nu):
    """T [V] T^-1 = [Ad_T V], and so exp([Ad_T V]) = T exp([V]) T^-1."""
    assert_close(ab.matrix @ hat(nu) @ ab.inverse().matrix, hat(ab.act(nu)), 1e-13)
    assert exp6(ab.act(nu)).isclose(ab @ exp6(nu) @ ab.inverse(), 1e-13)


@holds_for(nu=motions)
def test_hat_and_vee(nu):
    matrix = hat(nu)
    assert_close(matrix[:3, :3], skew(nu.angular), 0.0)
    assert_close(matrix[:3, 3], nu.linear, 0.0)
    assert not matrix[3].any()
    assert vee(matrix) == nu


@holds_for(xi=twist_coordinates)
def test_exp6_is_the_matrix_exponential(xi):
    assert_close(exp6(xi).matrix, exact_exp(hat(Motion.from_vector(xi))), 2e-15)


@holds_for(axis=axes, v=vectors, angle=angles)
def test_exp6_in_the_tables_form(axis, v, angle):
    """(I t + (1 - cos t) [w] + (t - sin t) [w]^2) v, which asks for |w| = 1."""
    w = skew(axis)
    star = np.eye(3) * angle + (1 - cos(angle)) * w + (angle - sin(angle)) * w @ w
    reached = exp6(Motion(v, axis) * angle)
    assert_close(reached.translation, star @ v)
    assert_close(reached.rotation, rotation(axis, angle))


@holds_for(v=vectors)
def test_exp6_of_a_pure_translation(v):
    assert exp6(Motion(linear=v)) == SE3.from_translation(v)
    assert log6(SE3.from_translation(v)) == Motion(linear=v)
    assert log6(SE3.from_translation(v).matrix) == Motion(linear=v)


@holds_for(xi=twist_coordinates)
def test_log6_undoes_exp6(xi):
    placement = exp6(xi)
    back = log6(placement)
    if np.linalg.norm(xi[3:]) > np.pi - 1e-13:  # at a half turn two twists lead there
        assert exp6(back).isclose(placement, 1e-14)
    else:
        assert_close(back.vector, xi, 1e-14)


@holds_for(ab=placements)
def test_exp6_undoes_log6(ab):
    assert exp6(log6(ab)).isclose(ab, 1e-14)


@holds_for(ab=placements, nu=motions)
def test_twist_in_space_and_in_the_body(ab, nu):
    """T^-1 dT/dt = [V_b] and dT/dt T^-1 = [V_s], with V_s = Ad_T V_b."""
    rate = derivative(lambda t: (ab @ exp6(nu * t)).matrix)
    assert_close(ab.inverse().matrix @ rate, hat(nu), 1e-11)
    assert_close(rate @ ab.inverse().matrix, hat(ab.act(nu)), 1e-11)


@holds_for(axis=axes, angle=angles, p=vectors, sb=placements)
def test_left_multiplication_moves_in_space(axis, angle, p, sb):
    """T T_sb: turn about the axis through {s}'s origin, which moves b, then shift by p in {s}."""
    moved = SE3(rotation(axis, angle), p) @ sb
    assert_close(moved.rotation, rotation(axis, angle) @ sb.rotation)
    assert_close(moved.translation, rotation(axis, angle) @ sb.translation + p)
    stepwise = SE3.from_translation(p) @ (SE3(rotation(axis, angle)) @ sb)
    assert moved.isclose(stepwise, 1e-14)


@holds_for(axis=axes, angle=angles, p=vectors, sb=placements)
def test_right_multiplication_moves_in_the_body(axis, angle, p, sb):
    """T_sb T: shift by p in {b}, then turn about the axis through the new origin."""
    moved = sb @ SE3(rotation(axis, angle), p)
    assert_close(moved.translation, sb.act(p))
    assert_close(moved.rotation, sb.rotation @ rotation(axis, angle))
    stepwise = (sb @ SE3.from_translation(p)) @ SE3(rotation(axis, angle))
    assert moved.isclose(stepwise, 1e-14)


@holds_for(ab=placements, phi=forces)
def test_wrench_changes_frame_by_the_transposed_adjoint(ab, phi):
    """F_a = [Ad_T_ba]^T F_b, angular part first."""
    adjoint_ba = angular_first(ab.inverse().action)
    assert_close(ab.act(phi).angular_first, adjoint_ba.T @ phi.angular_first)


@holds_for(r=rotations, phi=forces)
def test_moment_about_one_point_only_turns(r, phi):
    """m_a = R_ab m_b: the table's row for rotations, where both origins are the same point."""
    assert_close(SE3(r).act(phi).angular, r @ phi.angular)
    assert_close(SE3(r).act(phi).linear, r @ phi.linear)


@holds_for(ab=placements)
def test_conversions_give_the_placement_back(ab):
    assert SE3.from_matrix(ab.matrix) == ab
    assert SE3.from_quaternion(ab.quaternion, ab.translation).isclose(ab, 1e-14)
    assert SE3.from_xyz_rpy(ab.translation, ab.rpy).isclose(ab, 1e-14)


def test_a_rotation_of_few_digits_is_taken_for_the_nearest_one():
    """Products of rotations that were rounded were refused as none."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        a, b = rounded_placement(rng), rounded_placement(rng)
        assert_close(SE3.from_xyz_rpy((a @ b).translation, (a @ b).rpy).matrix, (a @ b).matrix)
        assert_close((a @ a.inverse()).matrix, np.eye(4))
        again = SE3(np.round(a.rotation, 6), a.translation)
        assert np.abs(again.rotation - a.rotation).max() < 1e-6


@holds_for(a=placements)
def test_a_rotation_of_all_digits_is_taken_as_it_is(a):
    np.testing.assert_array_equal(SE3(a.rotation, a.translation).matrix, a.matrix)
