"""What other kernels use of the dynamics, and the cosines and sines that all of them rest on."""

import math

import numpy as np
import pytest
from random_trees import random_tree

from icir_control.dynamics import (
    ModelBuilder,
    compute_all_terms,
    forward_kinematics,
    frame_classical_acceleration,
    frame_jacobian,
    frame_placement,
    frame_velocity,
    kernels,
)
from icir_control.dynamics.kernels.forward import LARGEST_ANGLE, cos_sin
from icir_control.spatial import Inertia, rotation

ULP = 2.0**-53


@pytest.mark.parametrize('reach', [1e-8, 0.8, 4.0, 100.0, LARGEST_ANGLE])
def test_cosine_and_sine_are_as_exact_as_the_library(reach):
    rng = np.random.default_rng(0)
    angles = rng.uniform(-reach, reach, 4096)
    angles[:400] = np.pi / 4 * np.round(angles[:400] / (np.pi / 4))
    out = np.empty((2, angles.size))
    cos_sin(angles, out)
    assert np.abs(out[0] - [math.cos(x) for x in angles]).max() <= 2.0 * ULP
    assert np.abs(out[1] - [math.sin(x) for x in angles]).max() <= 2.0 * ULP


@pytest.mark.parametrize('angle', [0.5 * LARGEST_ANGLE, 2.0 * LARGEST_ANGLE, 1e12])
def test_a_wheel_may_turn_as_far_as_it_likes(angle):
    body = Inertia(1.0, (0.1, 0.0, 0.0), np.diag((0.01, 0.01, 0.01)))
    builder = ModelBuilder().add_joint('wheel', 'continuous').add_body('tyre', 'wheel', body)
    model = builder.add_joint('slide', 'prismatic', 'tyre').add_body('box', 'slide', body).build()
    data = model.create_data()
    forward_kinematics(model, data, [angle, 0.1])
    expected = rotation([0, 0, 1], math.atan2(math.sin(angle), math.cos(angle)))
    assert np.abs(data.oMi[2].rotation - expected).max() <= 4.0 * ULP


def same(ours, theirs):
    """Equal but for the last bits, which depend on how the compiler fused products and sums."""
    return np.abs(ours - theirs).max() <= 1e-13 * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize('seed', [5, 12, 19])
def test_kernels_give_what_the_functions_give(seed):
    model, rng = random_tree(seed), np.random.default_rng(seed)
    data, buffer = model.create_data(), model.create_data().buffer
    pose, twist = np.empty((4, 3)), np.empty(6)
    jacobian, drift = np.empty((6, model.nv)), np.empty(6)
    for _ in range(5):
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        frame = int(rng.integers(model.nframes))
        compute_all_terms(model, data, q, v)
        placement = frame_placement(model, data, frame)

        # Every number is written, whatever was there.
        for array in (pose, twist, jacobian, drift):
            array[:] = np.nan
        kernels.placement_terms(buffer, q, frame, pose, jacobian)
        assert same(pose[:3], placement.rotation)
        assert same(pose[3], placement.translation)
        assert same(jacobian, frame_jacobian(model, data, frame))

        jacobian[:] = np.nan
        kernels.terms(buffer, q, v)
        kernels.frame_terms(buffer, frame, pose, twist, jacobian, drift)
        assert same(pose[:3], placement.rotation)
        assert same(jacobian, frame_jacobian(model, data, frame))
        assert same(twist, frame_velocity(model, data, frame).vector)
        classical = frame_classical_acceleration(model, data, frame)
        assert same(drift, classical.vector)
        assert same(kernels.mass_matrix_of(buffer), data.M)
        assert same(kernels.nle_of(buffer), data.nle)
        assert same(kernels.gravity_of(buffer), data.g)
