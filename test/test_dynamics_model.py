"""The model, its builder and its data; configurations; what the public functions refuse."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mujoco_oracle import MujocoOracle
from random_trees import SIZES, random_tree

from icir_control.compiled import JIT_DISABLED
from icir_control.dynamics import (
    FrameType,
    JointKind,
    ModelBuilder,
    ReferenceFrame,
    aba,
    center_of_mass,
    compute_all_terms,
    crba,
    difference,
    forward_kinematics,
    frame_jacobian,
    frame_jacobian_time_variation,
    frame_placement,
    frame_velocity,
    integrate,
    joint_jacobian,
    minverse,
    rnea,
)
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.spatial import SE3, Force, Inertia, log6

BODY = Inertia(2.0, (0.1, 0.0, 0.2), np.diag((0.02, 0.03, 0.04)))


def two_links():
    return (
        ModelBuilder('two_links')
        .add_joint('first', 'revolute', axis=(0, 0, 3), lower=-1, upper=2, velocity=4, effort=5)
        .add_body('upper', 'first', BODY)
        .add_joint('second', JointKind.PRISMATIC, 'upper', SE3.from_translation((0, 0, 1)))
        .add_body('lower', 'second', BODY)
    )


@pytest.fixture
def model():
    return two_links().build()


def test_a_builder_gives_what_was_put_in(model):
    assert model.name == 'two_links'
    assert model.joint_names == ('first', 'second')
    assert (model.nq, model.nv, model.na, model.njoints, model.nframes) == (2, 2, 2, 3, 5)
    assert [joint.parent for joint in model.joints] == [0, 0, 1]
    assert np.array_equal(model.joints[1].axis, (0, 0, 1))
    assert np.array_equal(model.lower_position_limit, (-1, -np.inf))
    assert np.array_equal(model.upper_position_limit, (2, np.inf))
    assert np.array_equal(model.velocity_limit, (4, np.inf))
    assert np.array_equal(model.effort_limit, (5, np.inf))
    assert np.array_equal(model.gravity, (0, 0, -9.81))
    assert model.inertias[2].isclose(BODY)
    assert np.array_equal(model.joint_placements[2].translation, (0, 0, 1))


def test_a_model_does_not_change(model):
    with pytest.raises(AttributeError):
        model.name = 'other'
    for array in (model.gravity, model.effort_limit, model.actuated, model.joints[1].lower):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 0.0
    extended = model.with_frame('tool', 'lower', SE3.from_translation((0, 0, 0.3)))
    assert model.nframes + 1 == extended.nframes
    assert extended.frames[-1].type is FrameType.OP_FRAME


def test_unknown_names_come_with_the_known_ones(model):
    with pytest.raises(UnknownNameError, match="joint 'third'; valid: universe, first, second"):
        model.joint_id('third')
    with pytest.raises(UnknownNameError, match="frame 'tool'; valid: universe, first, upper"):
        model.frame_id('tool')
    with pytest.raises(UnknownNameError, match="frame of type SENSOR 'first'; valid: \\(none\\)"):
        model.frame_id('first', FrameType.SENSOR)
    with pytest.raises(UnknownNameError, match='tool'):
        model.create_data(watch='tool')
    with pytest.raises(UnknownNameError, match='tool'):
        model.with_frame('grip', 'tool', SE3.identity())
    with pytest.raises(UnknownNameError, match='unknown joint'):
        model.joint_id(['first'])


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda b: b.add_joint('first', 'revolute'), "name = 'first'"),
        (lambda b: b.add_joint('', 'revolute'), "name = ''"),
        (lambda b: b.add_joint('x', 'screw'), "'screw'; valid: revolute, .*floating"),
        (lambda b: b.add_joint('x', 'universe'), "'universe'; valid: revolute"),
        (lambda b: b.add_joint('x', 'revolute', 'nowhere'), "'nowhere'; valid: universe, first"),
        (lambda b: b.add_joint('x', 'revolute', axis=(0, 0, 0)), 'axis of joint x'),
        (lambda b: b.add_joint('x', 'revolute', axis=(0, np.nan, 0)), 'axis of joint x'),
        (lambda b: b.add_joint('x', 'revolute', axis='z'), 'axis of joint x'),
        (lambda b: b.add_joint('x', 'revolute', placement=np.eye(4)), 'placement'),
        (lambda b: b.add_joint('x', 'planar', lower=(1, 2)), 'lower of joint x.*3'),
        (lambda b: b.add_joint('x', 'revolute', lower=2, upper=1), 'lower of joint x'),
        (lambda b: b.add_joint('x', 'revolute', upper=np.nan), 'upper of joint x'),
        (lambda b: b.add_joint('x', 'revolute', effort=-1), 'effort of joint x.*negative'),
        (lambda b: b.add_joint('x', 'revolute', velocity='fast'), 'velocity of joint x'),
        (lambda b: b.add_body('upper', 'first'), "name = 'upper'"),
        (lambda b: b.add_body('x', 'first', 2.0), 'inertia of body x.*an Inertia'),
        (lambda b: b.add_frame('x', 'first', 'here'), 'placement'),
        (lambda b: ModelBuilder(gravity=(0, 1)), 'gravity'),
    ],
)
def test_a_builder_refuses_what_makes_no_sense(change, message):
    with pytest.raises((InvalidValueError, UnknownNameError), match=message):
        change(two_links())


def test_only_possible_bodies_move():
    with pytest.raises(ModelError, match='no moving joint'):
        ModelBuilder().add_body('rock', 'universe', BODY).build()
    with pytest.raises(ModelError, match=r"joint 'x' moves a body \(links: none\) of mass 0 kg"):
        two_links().add_joint('x', 'revolute').build()
    flat = Inertia.trusted(1.0, np.zeros(3), np.diag((0.1, 0.1, 0.3)))
    with pytest.raises(ModelError, match=r"'x' moves a body \(links: plate\).*0\.1, 0\.1, 0\.3"):
        two_links().add_joint('x', 'revolute').add_body('plate', 'x', flat).build()


def test_a_body_without_inertia_against_the_motion_is_named():
    builder = ModelBuilder().add_joint('spin', 'revolute', axis=(1, 0, 0))
    model = builder.add_body('point', 'spin', Inertia.point_mass(1.0, (0.5, 0, 0))).build()
    data = model.create_data()
    for compute in (lambda: aba(model, data, [0], [0], [1]), lambda: minverse(model, data, [0])):
        with pytest.raises(ModelError, match="joint 'spin' moves has no inertia"):
            compute()


@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_integrate_and_difference_are_inverse(seed):
    model, rng = random_tree(seed), np.random.default_rng(seed)
    for _ in range(20):
        q, v = model.random_configuration(rng), rng.uniform(-1.5, 1.5, model.nv)
        reached = integrate(model, q, v)
        assert np.allclose(difference(model, q, reached), v, atol=1e-12)
        other = model.random_configuration(rng)
        back = integrate(model, q, difference(model, q, other))
        assert np.allclose(difference(model, other, back), 0.0, atol=1e-12)
        # From the identity of a quaternion to itself, however often.
        assert np.array_equal(difference(model, q, q) == 0.0, np.ones(model.nv, dtype=bool))


@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_integrate_moves_each_body_along_its_twist(seed):
    model, rng = random_tree(seed), np.random.default_rng(seed)
    data, h = model.create_data(), 1e-6
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    forward_kinematics(model, data, q, v)
    before, twists = data.oMi[:], data.v[:]
    forward_kinematics(model, data, integrate(model, q, h * v))
    for placement, twist, after in zip(before, twists, data.oMi, strict=True):
        moved = log6(placement.act_inv(after)).vector / h
        assert np.abs(moved - twist.vector).max() < 1e-4 * max(1.0, np.abs(twist.vector).max())


def test_configurations_stay_within_limits_and_on_the_manifold():
    builder = ModelBuilder()
    for i, kind in enumerate(JointKind):
        if kind is not JointKind.UNIVERSE:
            bounds = {'lower': 0.5, 'upper': 0.7} if kind.nq == 1 else {}
            builder.add_joint(f'j{i}', kind, **bounds).add_body(f'b{i}', f'j{i}', BODY)
    model, rng = builder.build(), np.random.default_rng(0)
    neutral = model.neutral()
    assert np.array_equal(neutral[neutral != 0.0], (1.0, 1.0))
    drawn = np.array([model.random_configuration(rng) for _ in range(500)])
    free = model.joints[-1]
    for joint in model.joints[1:]:
        q = drawn[:, joint.index_q : joint.index_q + joint.nq]
        if joint.kind.has_quaternion:
            assert np.allclose(np.linalg.norm(q[:, -4:], axis=1), 1.0)
            assert (np.abs(q[:, -4:].mean(axis=0)) < 0.1).all()
        elif joint.nq == 1:
            assert q.min() >= 0.5
            assert q.max() <= 0.7
            assert q.max() - q.min() > 0.15
        else:
            assert np.abs(q).max() <= np.pi
    assert np.abs(drawn[:, free.index_q : free.index_q + 3]).max() <= 1.0


def test_one_sided_limits_are_kept():
    builder = ModelBuilder().add_joint('a', 'prismatic', lower=3.0).add_body('x', 'a', BODY)
    model = builder.add_joint('b', 'prismatic', upper=-3.0).add_body('y', 'b', BODY).build()
    rng = np.random.default_rng(0)
    drawn = np.array([model.random_configuration(rng) for _ in range(100)])
    assert drawn[:, 0].min() >= 3.0
    assert drawn[:, 0].max() <= 5.0
    assert drawn[:, 1].max() <= -3.0
    assert drawn[:, 1].min() >= -5.0


def wrong_vectors(model):
    good = np.zeros(model.nv)
    return [
        np.zeros(3),
        [0.0],
        'text',
        None,
        np.full(2, np.nan),
        [np.inf, 0],
        good[:, None],
        [[0]],
    ]


def test_bad_vectors_are_named(model):
    data = model.create_data()
    compute_all_terms(model, data, [0, 0], [0, 0])
    for bad in wrong_vectors(model):
        with pytest.raises(InvalidValueError, match=r'(?s)^q = .*expected 2 finite numbers'):
            compute_all_terms(model, data, bad, [0, 0])
        with pytest.raises(InvalidValueError, match=r'(?s)^v = .*expected 2 finite numbers'):
            compute_all_terms(model, data, [0, 0], bad)
        with pytest.raises(InvalidValueError, match=r'^a = '):
            rnea(model, data, [0, 0], [0, 0], bad)
        with pytest.raises(InvalidValueError, match=r'^tau = '):
            aba(model, data, [0, 0], [0, 0], bad)
        with pytest.raises(InvalidValueError, match=r'^q = '):
            integrate(model, bad, [0, 0])
        with pytest.raises(InvalidValueError, match=r'^q1 = '):
            difference(model, [0, 0], bad)
    with pytest.raises(InvalidValueError, match=r'^v = None.*acceleration'):
        forward_kinematics(model, data, [0, 0], a=[0, 0])


def test_quaternions_must_be_unit():
    model = ModelBuilder().add_joint('ball', 'spherical').add_body('b', 'ball', BODY).build()
    with pytest.raises(InvalidValueError, match='unit length'):
        crba(model, model.create_data(), [0, 0, 0, 2])


def test_any_numbers_do(model):
    """Integers, lists, strided and read-only arrays, also before anything is compiled."""
    expected = crba(model, model.create_data(), np.array([1.0, 2.0])).copy()
    read_only = np.array([1.0, 2.0])
    read_only.flags.writeable = False
    wide = np.array([1.0, 9.0, 2.0])[::2]
    for q in ([1, 2], (1.0, 2.0), np.array([1, 2]), wide, read_only, np.float32([1, 2])):
        assert np.array_equal(crba(model, model.create_data(), q), expected)


def test_data_of_another_model_are_refused(model):
    other = two_links().add_frame('tool', 'lower').build().create_data()
    for call in (
        lambda: crba(model, other, [0, 0]),
        lambda: frame_placement(model, other, 0),
        lambda: frame_velocity(model, other, 0),
        lambda: rnea(model, other, [0, 0], [0, 0], [0, 0], {1: Force.zero()}),
    ):
        with pytest.raises(InvalidValueError, match=r"data.*'two_links' created"):
            call()


def test_bad_frames_references_and_outputs_are_named(model):
    data = model.create_data()
    forward_kinematics(model, data, [0, 0], [0, 0])
    for bad in (-1, 5, 2**70, None, 1.5):
        with pytest.raises(InvalidValueError, match=r'frame_id = .*0 to 4'):
            frame_placement(model, data, bad)
        with pytest.raises(InvalidValueError, match=r'frame_id = .*0 to 4'):
            frame_jacobian(model, data, bad)
    for bad in (-1, 3, None):
        with pytest.raises(InvalidValueError, match=r'joint_id = .*0 to 2'):
            joint_jacobian(model, data, bad)
    for bad in (3, 'LOCAL', None):
        with pytest.raises(InvalidValueError, match='reference'):
            frame_velocity(model, data, 1, bad)
    integers, transposed = np.zeros((6, 2), dtype=int), np.zeros((2, 6)).T
    for bad in (np.zeros(6), np.zeros((6, 3)), integers, [1], transposed):
        for ask in (frame_jacobian, frame_jacobian_time_variation):
            with pytest.raises(InvalidValueError, match=r'^out = '):
                ask(model, data, 1, out=bad)


def test_a_jacobian_is_fresh_or_written_where_asked(model):
    model = model.with_frame('tool', 'lower', SE3(np.eye(3), (0.1, 0.2, 0.3)))
    data = model.create_data()
    forward_kinematics(model, data, [0.3, 0.4])
    first = frame_jacobian(model, data, model.frame_id('lower'))
    kept = first.copy()
    frame_jacobian(model, data, model.frame_id('upper'))
    assert np.array_equal(first, kept)
    for frame in range(model.nframes):
        for reference in ReferenceFrame:
            out = np.full((6, 2), np.nan)
            assert frame_jacobian(model, data, frame, reference, out) is out
            assert np.array_equal(out, frame_jacobian(model, data, frame, reference))


def test_external_forces_are_checked(model):
    data, zeros = model.create_data(), [0, 0]
    for bad in ([Force.zero()], {7: Force.zero()}, {1: 3.0}, 4.0, [Force.zero(), 1, 2]):
        with pytest.raises(InvalidValueError, match='external_forces.*joint index, 0 to 2,'):
            rnea(model, data, zeros, zeros, zeros, bad)
    still = rnea(model, data, zeros, zeros, zeros).copy()
    lifted = rnea(model, data, zeros, zeros, zeros, {2: Force((0, 0, 7.0))}).copy()
    assert np.allclose(lifted - still, (0.0, -7.0))
    # A force acts in the call that names it alone.
    assert np.array_equal(rnea(model, data, zeros, zeros, zeros), still)


def test_results_of_two_data_do_not_mix(model):
    one, two = model.create_data(), model.create_data()
    compute_all_terms(model, one, [0, 0], [0, 0])
    kept = one.J.copy()
    compute_all_terms(model, two, [1, 1], [1, 1])
    assert np.array_equal(one.J, kept)
    assert not np.array_equal(two.oMi[2].translation, one.oMi[2].translation)


def test_all_results_lie_in_one_buffer(model):
    data = model.create_data(watch='lower')
    for name in ('M', 'nle', 'g', 'tau', 'ddq', 'Minv', 'Jcom', 'Ag', 'hg'):
        assert np.shares_memory(getattr(data, name), data.buffer), name
    for view in data.watched:
        assert np.shares_memory(view, data.buffer)
    assert data.buffer.flags.c_contiguous
    assert data.buffer.dtype == np.float64


def test_sequences_of_values_show_the_newest_results(model):
    data = model.create_data()
    forward_kinematics(model, data, [0.0, 0.0], [1.0, 2.0])
    old = data.oMi[2]
    assert len(data.oMi) == model.njoints
    assert len(data.oMf) == model.nframes
    assert np.allclose(old.translation, (0, 0, 1))
    assert np.allclose(data.v[-1].vector, (0, 0, 2, 0, 0, 1))
    forward_kinematics(model, data, [0.0, 0.5])
    assert np.allclose(data.oMi[2].translation, (0, 0, 1.5))
    assert np.allclose(old.translation, (0, 0, 1))
    assert [m.translation[2] for m in data.oMi[1:]] == [0.0, 1.5]
    with pytest.raises(IndexError):
        data.oMi[3]
    assert np.shape(center_of_mass(model, data, [0, 0])) == (3,)


def test_importing_the_dynamics_loads_neither_ros_nor_mujoco():
    script = 'import sys, icir_control.dynamics; print(*sys.modules)'
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, check=True
    )
    loaded = {name.split('.')[0] for name in done.stdout.split()}
    assert not loaded & {'rclpy', 'mujoco', 'yourdfpy', 'pinocchio', 'matplotlib'}
    assert 'icir_control' in loaded


def mobile_manipulator():
    """The example of docs/dynamics.md."""
    text = (Path(__file__).resolve().parent.parent / 'docs/dynamics.md').read_text()
    source = text[text.index('def mobile_manipulator') : text.index('robot = mobile_manipulator')]
    names = {'np': np, 'SE3': SE3, 'Inertia': Inertia, 'ModelBuilder': ModelBuilder}
    exec(source, names)
    return names['mobile_manipulator']()


def test_the_mobile_manipulator_of_the_slides():
    model = mobile_manipulator()
    assert (model.nq, model.nv, model.na) == (12, 12, 9)
    oracle, data = MujocoOracle(model), model.create_data()
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        # Odometry far from where it began, the heading unwrapped.
        q[:3] = 10.0 * rng.normal(size=3)
        oracle.set_state(q, v)
        compute_all_terms(model, data, q, v)
        for ours, theirs in ((data.M, oracle.mass_matrix()), (data.nle, oracle.nle())):
            assert np.abs(ours - theirs).max() < 1e-10 * max(1.0, np.abs(theirs).max())
    # Gravity asks nothing of a base on level ground.
    assert np.abs(data.g[:3]).max() < 1e-12


@pytest.mark.slow
@pytest.mark.skipif(JIT_DISABLED, reason='is the run without the compiler already')
def test_all_of_this_holds_without_the_compiler():
    environment = os.environ | {'NUMBA_DISABLE_JIT': '1'}
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-m', '', __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert '1 skipped' in done.stdout
