"""Derivatives of the dynamics: against complex steps, differences, and Pinocchio where it is."""

import numpy as np
import pytest
from agreement import assert_equal
from random_trees import SIZES, random_tree

from icir_control import dynamics as icir
from icir_control.errors import InvalidValueError, ModelError
from icir_control.share import share_directory
from icir_control.spatial import SE3, Force, Inertia

LENGTH = 1e-6
KINDS = icir.JointKind.REVOLUTE, icir.JointKind.CONTINUOUS, icir.JointKind.PRISMATIC


def skew(a):
    """Also of complex numbers."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def cross(v, x, dual=False):
    """v x of a motion, or v x* of a force: linear part first."""
    u, w = skew(v[:3]), skew(v[3:])
    zero = np.zeros((3, 3))
    return np.block([[w, zero], [u, w]] if dual else [[w, u], [zero, w]]) @ x


def textbook_rnea(model, q, v, a):
    """Featherstone, table 5.3, in plain numpy, also of complex numbers; joints of one freedom."""
    kind = np.result_type(q, v, a)
    twists, accelerations, forces, maps, axes = [], [], [], [], []
    for i, joint in enumerate(model.joints):
        if i == 0:
            twists.append(np.zeros(6, kind))
            accelerations.append(np.concatenate([-model.gravity, np.zeros(3)]).astype(kind))
            forces.append(np.zeros(6, kind))
            maps.append(None)
            axes.append(None)
            continue
        k, slides = joint.index_v, joint.kind is icir.JointKind.PRISMATIC
        s, turn = skew(joint.axis), 0 if slides else q[k]
        R = np.eye(3) + np.sin(turn) * s + (1 - np.cos(turn)) * s @ s
        p = joint.placement.translation + joint.placement.rotation @ (
            joint.axis * (q[k] if slides else 0)
        )
        R = joint.placement.rotation @ R
        X = np.block([[R.T, -R.T @ skew(p)], [np.zeros((3, 3)), R.T]])
        S = np.concatenate([joint.axis * slides, joint.axis * (not slides)])
        twist = X @ twists[joint.parent] + S * v[k]
        acceleration = X @ accelerations[joint.parent] + S * a[k] + cross(twist, S * v[k])
        Y = model.inertias[i].matrix
        twists.append(twist)
        accelerations.append(acceleration)
        forces.append(Y @ acceleration + cross(twist, Y @ twist, dual=True))
        maps.append(X)
        axes.append(S)
    tau = np.zeros(model.nv, kind)
    for i in range(model.njoints - 1, 0, -1):
        tau[model.joints[i].index_v] = axes[i] @ forces[i]
        parent = model.joints[i].parent
        forces[parent] = forces[parent] + maps[i].T @ forces[i]
    return tau


def textbook_aba(model, q, v, tau):
    zero = np.zeros(model.nv)
    bias = textbook_rnea(model, q, v, zero)
    columns = [textbook_rnea(model, q, zero, one) for one in np.eye(model.nv)]
    M = np.array(columns) - textbook_rnea(model, q, zero, zero)
    return np.linalg.solve(M.T, tau - bias)


def by_complex_steps(function, arguments, which):
    """d function / d arguments[which], to rounding: Im f(x + ih) / h."""
    columns = []
    for i in range(len(arguments[which])):
        moved = [np.array(x, dtype=complex) for x in arguments]
        moved[which][i] += 1e-40j
        columns.append(function(*moved).imag / 1e-40)
    return np.array(columns).T


def tree_of_single_joints(seed):
    rng = np.random.default_rng(seed)
    builder, frames = icir.ModelBuilder(f'single_{seed}', rng.normal(size=3)), ['universe']
    for i in range(3 + seed):
        parent = frames[-1] if rng.uniform() < 0.6 else rng.choice(frames)
        place, axis = SE3.random(rng), rng.normal(size=3)
        builder.add_joint(f'j{i}', KINDS[(i + seed) % 3], parent, place, axis=axis)
        builder.add_body(f'b{i}', f'j{i}', Inertia.random(rng))
        frames.append(f'b{i}')
    return builder.build()


def models_of_single_joints():
    for name in ('gen3_6dof', 'gen3_7dof'):
        yield icir.load_urdf(share_directory() / f'urdf/{name}.urdf')
    for seed in range(6):
        yield tree_of_single_joints(seed)


@pytest.mark.parametrize('model', list(models_of_single_joints()), ids=lambda model: model.name)
def test_they_are_those_of_complex_steps(model):
    data, rng = model.create_data(), np.random.default_rng(model.nv)
    for _ in range(1 if model.nv > 5 else 3):
        q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))

        def inverse(q, v, a):
            return textbook_rnea(model, q, v, a)

        def forward(q, v, tau):
            return textbook_aba(model, q, v, tau)

        for function, compute in (
            (inverse, icir.rnea_derivatives),
            (forward, icir.aba_derivatives),
        ):
            for which, ours in enumerate(compute(model, data, q, v, a)):
                assert_equal(ours, by_complex_steps(function, (q, v, a), which), 1e-11)


def by_differences(model, function, q, v, x):
    """Central differences along the manifold, by q, v and x."""
    results = []
    for which in range(3):
        columns = []
        for unit in np.eye(model.nv) * LENGTH:
            pair = []
            for step in (unit, -unit):
                moved = [q, v, x]
                moved[which] = (
                    icir.integrate(model, q, step) if which == 0 else moved[which] + step
                )
                pair.append(function(*moved).copy())
            columns.append((pair[0] - pair[1]) / (2 * LENGTH))
        results.append(np.array(columns).T)
    return results


@pytest.mark.parametrize('seed', range(0, len(SIZES), 2))
def test_they_are_those_of_differences_for_every_joint_and_with_forces(seed):
    model, rng = random_tree(seed), np.random.default_rng(seed)
    data, other = model.create_data(), model.create_data()
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    for forces in (None, {i: Force(*rng.normal(size=(2, 3))) for i in range(1, model.njoints)}):
        for function, compute, result in (
            (icir.rnea, icir.rnea_derivatives, 'tau'),
            (icir.aba, icir.aba_derivatives, 'ddq'),
        ):
            ours = compute(model, data, q, v, a, forces)

            def at(q, v, x):
                return function(model, other, q, v, x, forces)  # noqa: B023

            assert_equal(getattr(data, result), at(q, v, a), 1e-11)
            for one, reference in zip(ours, by_differences(model, at, q, v, a), strict=True):
                assert_equal(one, reference, 1e-7)


@pytest.mark.parametrize('fill', [icir.coriolis_matrix, icir.centroidal_map_time_variation])
def test_frames_accelerate_as_at_ddq_0_afterwards(fill):
    model = random_tree(3)
    rng = np.random.default_rng(3)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    data, other = model.create_data(), model.create_data()
    icir.compute_all_terms(model, other, q, v)
    fill(model, data, q, v)
    for frame in range(len(model.frames)):
        expected = icir.frame_classical_acceleration(model, other, frame).vector
        found = icir.frame_classical_acceleration(model, data, frame).vector
        assert_equal(found, expected, 1e-12)


@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_the_coriolis_matrix_is_that_of_christoffel(seed):
    """C v = nle - g, and dM/dt = C + C^T, which a matrix with the first alone has not."""
    model, rng, h = random_tree(seed), np.random.default_rng(seed), LENGTH
    data = model.create_data()
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    C = icir.coriolis_matrix(model, data, q, v)
    nle = icir.nonlinear_effects(model, data, q, v)
    assert_equal(C @ v, nle - icir.gravity_torque(model, data, q))
    ahead, behind = (
        icir.crba(model, data, icir.integrate(model, q, step * v)).copy() for step in (h, -h)
    )
    assert_equal(C + C.T, (ahead - behind) / (2 * h), 1e-7)


def test_what_was_computed_along_the_way_is_right_too():
    model, rng = random_tree(9), np.random.default_rng(9)
    data, other = model.create_data(), model.create_data()
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    for compute in (icir.rnea_derivatives, icir.aba_derivatives):
        compute(model, data, q, v, a)
        x = data.ddq if compute is icir.aba_derivatives else a
        icir.forward_kinematics(model, other, q, v, x)
        frame = model.frame_id('tool_2')
        for ask in (icir.frame_placement, icir.frame_velocity, icir.frame_acceleration):
            ours, theirs = ask(model, data, frame), ask(model, other, frame)
            assert ours.isclose(theirs, 1e-11)
        assert_equal(data.M, icir.crba(model, other, q))
        assert_equal(data.tau, icir.rnea(model, other, q, v, x))
    assert_equal(data.Minv, icir.minverse(model, other, q))
    # Twice gives the same: nothing is left over.
    kept = [one.copy() for one in icir.aba_derivatives(model, data, q, v, a)]
    for one, before in zip(icir.aba_derivatives(model, data, q, v, a), kept, strict=True):
        assert np.array_equal(one, before)


def test_bad_arguments_are_named():
    builder = icir.ModelBuilder().add_joint('spin', 'revolute', axis=(1, 0, 0))
    model = builder.add_body('dot', 'spin', Inertia.point_mass(1.0, (0.5, 0, 0))).build()
    data = model.create_data()
    with pytest.raises(ModelError, match="joint 'spin' moves has no inertia"):
        icir.aba_derivatives(model, data, [0], [0], [1])
    with pytest.raises(InvalidValueError, match=r'^a = .*1 finite numbers'):
        icir.rnea_derivatives(model, data, [0], [0], [1, 2])
    with pytest.raises(InvalidValueError, match=r'^tau = '):
        icir.aba_derivatives(model, data, [0], [0], None)
    with pytest.raises(InvalidValueError, match=r'^v = '):
        icir.coriolis_matrix(model, data, [0], [np.nan])
