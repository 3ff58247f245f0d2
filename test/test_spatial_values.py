"""The values as Python objects: immutable, comparable, printable, cheap to import."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from icir_control.errors import IcirError, InvalidValueError
from icir_control.spatial import (
    SE3,
    Force,
    Inertia,
    Motion,
    ScrewAxis,
    exp6,
    hat,
    log6,
    vee,
)

RNG = np.random.default_rng(7)
VALUES = [cls.random(RNG) for cls in (SE3, Motion, Force, Inertia)]
ARRAYS = {
    SE3: ('rotation', 'translation'),
    Motion: ('vector', 'linear', 'angular'),
    Force: ('vector', 'linear', 'angular'),
    Inertia: ('com', 'rotational'),
}
by_type = pytest.mark.parametrize('value', VALUES, ids=lambda value: type(value).__name__)


@by_type
def test_values_do_not_change(value):
    for name in ARRAYS[type(value)]:
        array = getattr(value, name)
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0
        with pytest.raises(AttributeError):
            setattr(value, name, array)
    with pytest.raises(AttributeError):
        value.note = 'no place for it'


@by_type
def test_results_of_operations_do_not_change_either(value):
    placement = SE3.random(RNG)
    for result in (placement.act(value), placement.act_inv(value)):
        for name in ARRAYS[type(value)]:
            assert not getattr(result, name).flags.writeable


@by_type
@pytest.mark.parametrize(
    'copied', [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_equal_and_as_immutable(value, copied):
    twin = copied(value)
    assert twin == value
    for name in ARRAYS[type(value)]:
        assert not getattr(twin, name).flags.writeable


@by_type
def test_equality_is_exact_and_isclose_is_not(value):
    near = SE3.from_translation([1e-13, 0.0, 0.0]).act(value)
    far = SE3.from_translation([1e-3, 0.0, 0.0]).act(value)
    assert value == copy.copy(value)
    assert near != value
    assert near.isclose(value)
    assert not far.isclose(value)
    assert far.isclose(value, 0.1)
    assert value != 'something else'
    with pytest.raises(TypeError):
        hash(value)


def test_the_constructors_copy_what_they_are_given():
    rotation, translation, linear, rotational = np.eye(3), np.ones(3), np.ones(3), np.eye(3)
    placement = SE3(rotation, translation)
    motion = Motion(linear, linear)
    body = Inertia(1.0, linear, rotational)
    for array in (rotation, translation, linear, rotational):
        array[...] = 5.0
    assert placement == SE3(np.eye(3), np.ones(3))
    assert motion == Motion([1, 1, 1], [1, 1, 1])
    assert body == Inertia(1.0, [1, 1, 1], np.eye(3))


def test_trusted_neither_copies_nor_checks():
    rotation, translation, vector = np.full((3, 3), np.nan), np.ones(3), np.ones(6)
    assert SE3.trusted(rotation, translation).rotation is rotation
    assert Motion.trusted(vector).vector is vector
    assert Inertia.trusted(-1.0, translation, rotation).mass == -1.0
    assert not rotation.flags.writeable


def test_repr_shows_the_parts():
    assert repr(Motion([1.0, 2.0, 3.0])) == 'Motion(linear=[1., 2., 3.], angular=[0., 0., 0.])'
    assert repr(Force(angular=[0.5, 0, 1e-20])) == (
        'Force(linear=[0., 0., 0.], angular=[0.5, 0. , 0.])'
    )
    assert repr(SE3.from_translation([1, 2, 3])) == (
        'SE3(rotation=[[1., 0., 0.], [0., 1., 0.], [0., 0., 1.]], translation=[1., 2., 3.])'
    )
    assert repr(Inertia.point_mass(2.5, [1, 2, 3])).startswith(
        'Inertia(mass=2.5, com=[1., 2., 3.], rotational=[['
    )


@pytest.mark.parametrize(
    ('build', 'message'),
    [
        (lambda: SE3(2.0 * np.eye(3)), 'R = 1 within 1e-06'),
        (lambda: SE3(-np.eye(3)), 'det R = 1'),
        (lambda: SE3(np.eye(3), [1.0, 2.0]), r'translation .*3 finite numbers'),
        (lambda: SE3(np.eye(3), [0.0, np.nan, 0.0]), 'translation'),
        (lambda: SE3.from_matrix(np.eye(3)), r'shape \(4, 4\)'),
        (lambda: SE3.from_matrix(np.ones((4, 4))), 'last row'),
        (lambda: Motion([1.0, 2.0, 3.0, 4.0]), r'linear .*3 finite numbers'),
        (lambda: Motion(angular='abc'), 'angular'),
        (lambda: Force.from_vector(np.zeros(5)), r'6 finite numbers'),
        (lambda: Force.from_angular_first([np.inf] * 6), 'finite'),
        (lambda: SE3.identity().act(np.zeros(4)), r'\(3,\) or \(n, 3\)'),
        (lambda: SE3.identity().act_inv('points'), r'\(3,\) or \(n, 3\)'),
        (lambda: SE3.identity().act(np.zeros((2, 2, 3))), r'\(3,\) or \(n, 3\)'),
        (lambda: hat(np.zeros(6)), 'a Motion'),
        (lambda: vee(np.eye(4)), 'last row is zero'),
        (lambda: vee(np.diag([1.0, 0.0, 0.0, 0.0])), 'skew-symmetric'),
        (lambda: log6(np.eye(3)), r'shape \(4, 4\)'),
        (lambda: exp6([0.0, 0.0, 0.0, 1e200, 0.0, 0.0]), 'none above'),
        (lambda: exp6(Motion(angular=[1e200, 0.0, 0.0])), 'none above'),
        (lambda: Inertia('2', np.zeros(3), np.eye(3)), 'mass'),
        (lambda: SE3.identity().isclose(3), 'an SE3'),
        (lambda: Inertia.zero().isclose(3), 'an Inertia'),
    ],
)
def test_bad_values_are_answered_with_what_is_valid(build, message):
    with pytest.raises(InvalidValueError, match=message) as caught:
        build()
    assert isinstance(caught.value, IcirError)
    assert caught.value.__cause__ is None


def test_composition_is_with_placements_only():
    with pytest.raises(TypeError):
        SE3.identity() @ np.eye(4)
    with pytest.raises(TypeError):
        np.eye(4) @ SE3.identity()


def test_importing_and_composing_values_does_not_load_numba():
    script = (
        'import sys, numpy\n'
        'from icir_control.spatial import SE3, Motion, rotation\n'
        'M = SE3(rotation([0, 0, 1], 0.3), [1, 2, 3])\n'
        '(M @ M.inverse()).act(Motion([1, 2, 3]))\n'
        'loaded = {"numba", "scipy", "mujoco", "rclpy", "yourdfpy"} & set(sys.modules)\n'
        'sys.exit(f"loaded {loaded}" if loaded else 0)\n'
    )
    run = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_screw_of_a_twist_that_hardly_turns_has_a_finite_pitch():
    axis, rate = ScrewAxis.of(Motion((1.0, 0.0, 0.0), (0.0, 0.0, 1e-200)))
    assert rate == pytest.approx(1e-200)
    assert np.isfinite(axis.pitch)
