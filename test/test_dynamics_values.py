"""Models and data as values: copies, pickles, equality, what was never computed, odd arguments."""

import copy
import pickle

import numpy as np
import pytest
from random_trees import random_tree

from icir_control import dynamics as icir
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.spatial import SE3, Force, Inertia, Motion, ScrewAxis

COPIES = {
    'copy': copy.copy,
    'deepcopy': copy.deepcopy,
    'pickle': lambda value: pickle.loads(pickle.dumps(value)),
}


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), *rng.normal(size=(2, model.nv))


@pytest.mark.parametrize('how', COPIES)
def test_a_copy_of_data_computes_and_keeps_its_own(how):
    model = random_tree(7)
    data = model.create_data(watch='tool_2')
    q, v, a = state(model)
    icir.compute_all_terms(model, data, q, v)
    expected = icir.rnea(model, data, q, v, a).copy()
    M, twist = data.M.copy(), data.watched.twist.copy()

    twin = COPIES[how](data)
    assert np.array_equal(twin.tau, expected)
    assert np.array_equal(twin.oMi[3].matrix, data.oMi[3].matrix)
    other = state(model, 1)
    assert not np.array_equal(icir.rnea(model, twin, *other), expected)
    icir.compute_all_terms(model, twin, *other[:2])
    assert np.array_equal(data.tau, expected)
    assert np.array_equal(data.M, M)
    assert np.array_equal(data.watched.twist, twist)
    # The views of the copy are its own, too.
    icir.compute_all_terms(model, twin, q, v)
    assert np.array_equal(twin.M, M)
    assert np.array_equal(twin.watched.twist, twist)


@pytest.mark.parametrize('how', COPIES)
def test_a_copy_of_a_model_is_equal_and_read_only(how):
    model = random_tree(7)
    twin = COPIES[how](model)
    assert twin == model
    assert hash(twin) == hash(model)
    joint, frame = twin.joints[2], twin.frames[3]
    arrays = [twin.gravity, twin.effort_limit, joint.axis, joint.lower, joint.velocity]
    arrays += [joint.placement.rotation, frame.placement.translation, twin.inertias[2].com]
    for array in arrays:
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0
    q, v, a = state(model)
    # The data of one serve the other.
    data = model.create_data()
    assert np.array_equal(
        icir.rnea(twin, data, q, v, a), icir.rnea(twin, twin.create_data(), q, v, a)
    )
    line = COPIES[how](ScrewAxis((1, 2, 3), (0, 0, 1)))
    assert line == ScrewAxis((1, 2, 3), (0, 0, 1))
    with pytest.raises(ValueError, match='read-only'):
        line.point[0] = 0.0


def test_models_are_compared_by_value():
    model = random_tree(7)
    assert model == random_tree(7)
    assert model != random_tree(8)
    assert model != 'tree_7'
    tool = model.with_frame('tool', 'link_0', SE3.identity())
    assert model != tool
    assert tool != model.with_frame('tool', 'link_0', SE3.from_translation((0, 0, 1e-9)))
    heavier = icir.ModelBuilder('pendulum').add_joint('a', 'revolute')
    lighter = icir.ModelBuilder('pendulum').add_joint('a', 'revolute')
    heavier.add_body('b', 'a', Inertia.point_mass(2.0, (1, 0, 0)))
    lighter.add_body('b', 'a', Inertia.point_mass(1.0, (1, 0, 0)))
    assert heavier.build() != lighter.build()


def test_a_repr_is_one_line():
    model = random_tree(19)
    text = f'nq={model.nq}, nv={model.nv}, njoints={model.njoints}, nframes={model.nframes}'
    assert repr(model) == f"Model('tree_19', {text})"
    assert repr(model.create_data()) == f'Data({model!r})'


def test_what_was_never_computed_is_refused():
    model = random_tree(7)
    q, v, a = state(model)
    tool, data = model.frame_id('tool_2'), model.create_data()
    icir.aba(model, data, q, v, a)  # places nothing
    at_places = (icir.frame_placement, icir.frame_jacobian)
    of_twists = (icir.frame_velocity, icir.frame_jacobian_time_variation)
    of_motion = (icir.frame_acceleration, icir.frame_classical_acceleration)
    for ask in at_places + of_twists + of_motion:
        with pytest.raises(InvalidValueError, match=r'placements: call forward_kinematics'):
            ask(model, data, tool)
    for values in (data.oMi, data.oMf, data.v, data.a, data.f):
        with pytest.raises(InvalidValueError, match=r'data = Data.*: call '):
            values[-1]
    assert icir.frame_placement(model, data, 0) == SE3.identity()
    assert data.oMi[0] == SE3.identity()

    icir.forward_kinematics(model, data, q)
    for ask in at_places:
        ask(model, data, tool)
    for ask in of_twists:
        with pytest.raises(InvalidValueError, match=r'twists: call forward_kinematics'):
            ask(model, data, tool)
    for ask in of_motion:
        with pytest.raises(InvalidValueError, match=r'accelerations: call forward_kinematics'):
            ask(model, data, tool)
    icir.compute_all_terms(model, data, q, v)
    for ask in at_places + of_twists + of_motion:
        ask(model, data, tool)
    data.v[-1], data.a[-1]
    icir.rnea(model, data, q, v, a)
    data.f[-1]


def test_frames_and_joints_by_name():
    model = random_tree(7)
    q, v, a = state(model)
    data, frame, joint = model.create_data(), model.frame_id('tool_3'), model.joint_id('joint_3')
    icir.forward_kinematics(model, data, q, v, a)
    for ask in (icir.frame_jacobian, icir.frame_jacobian_time_variation):
        assert np.array_equal(ask(model, data, 'tool_3'), ask(model, data, frame))
    for ask in (
        icir.frame_placement,
        icir.frame_velocity,
        icir.frame_acceleration,
        icir.frame_classical_acceleration,
    ):
        assert ask(model, data, 'tool_3') == ask(model, data, frame)
        with pytest.raises(UnknownNameError, match="frame 'nowhere'; valid: universe, joint_0"):
            ask(model, data, 'nowhere')
    by_name = icir.joint_jacobian(model, data, 'joint_3')
    assert np.array_equal(by_name, icir.joint_jacobian(model, data, joint))
    with pytest.raises(UnknownNameError, match="joint 'nowhere'; valid: universe, joint_0"):
        icir.joint_jacobian(model, data, 'nowhere')


def test_none_for_a_model_or_data_is_named():
    model = random_tree(2)
    q, v, a = state(model)
    data = model.create_data()
    for compute in (
        lambda m, d: icir.compute_all_terms(m, d, q, v),
        lambda m, d: icir.forward_kinematics(m, d, q),
        lambda m, d: icir.crba(m, d, q),
        lambda m, d: icir.nonlinear_effects(m, d, q, v),
        lambda m, d: icir.rnea(m, d, q, v, a),
        lambda m, d: icir.frame_placement(m, d, 0),
        lambda m, d: icir.frame_velocity(m, d, 0),
        lambda m, d: icir.joint_jacobian(m, d, 0),
    ):
        with pytest.raises(InvalidValueError, match=r'^model = None.*expected a Model'):
            compute(None, data)
        with pytest.raises(InvalidValueError, match=r"^data = None .* 'tree_2' created"):
            compute(model, None)
    for compute in (icir.integrate, icir.difference):
        with pytest.raises(InvalidValueError, match=r'^model = None'):
            compute(None, q, q)


def test_numbers_that_cannot_be_computed_with_are_named():
    model = random_tree(6)
    q, v, a = state(model)
    data = model.create_data()
    for huge in (1e101, 1e160, 1e308):
        for compute in (icir.compute_all_terms, icir.nonlinear_effects, icir.kinetic_energy):
            with pytest.raises(InvalidValueError, match=r'(?s)^v = .*sum is below 1e\+100'):
                compute(model, data, q, np.full(model.nv, huge))
        with pytest.raises(InvalidValueError, match=r'(?s)^q = .*sum is below 1e\+100'):
            icir.crba(model, data, np.full(model.nq, huge))
    for odd in (v + 1j, v.astype(str), 1j * v):
        with pytest.raises(InvalidValueError, match=r'(?s)^v = '):
            icir.nonlinear_effects(model, data, q, odd)
    with pytest.raises(InvalidValueError, match='joint index'):
        icir.rnea(model, data, q, v, a, {1.0: Force.zero()})


def test_forces_are_no_motions():
    inertia, force = Inertia.random(np.random.default_rng(0)), Force((1, 2, 3))
    for wrong in (inertia.bias_force, inertia.kinetic_energy, Motion.zero().classical):
        with pytest.raises(InvalidValueError, match=r'^twist = Force.*expected a Motion'):
            wrong(force)


@pytest.mark.parametrize('seed', range(40))
def test_a_singular_mass_matrix_is_refused(seed):
    """Two joints on one axis, with nothing between them that resists turning about it."""
    rng = np.random.default_rng(seed)
    builder, parent = icir.ModelBuilder(), 'universe'
    for i in range(seed % 4):
        builder.add_joint(f'j{i}', 'revolute', parent, SE3.random(rng), axis=rng.normal(size=3))
        builder.add_body(f'l{i}', f'j{i}', Inertia.random(rng))
        parent = f'l{i}'
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    builder.add_joint('first', 'revolute', parent, SE3.random(rng), axis=axis)
    builder.add_body('bead', 'first', Inertia.point_mass(1.0, axis))
    builder.add_joint('second', 'revolute', 'bead', SE3.from_translation(0.5 * axis), axis=axis)
    builder.add_body('link', 'second', Inertia.random(rng))
    model = builder.build()
    data, (q, v, a) = model.create_data(), state(model, seed)
    for compute in (
        lambda: icir.minverse(model, data, q),
        lambda: icir.aba(model, data, q, v, a),
    ):
        with pytest.raises(ModelError, match="joint 'first' moves has no inertia"):
            compute()


def balls(kind):
    """Bodies that give way in some direction without any inertia."""
    rng, builder = np.random.default_rng(0), icir.ModelBuilder()
    bead = Inertia.point_mass(1.0, (0.1, 0.2, 0.3))
    if kind in ('spherical', 'floating'):
        return builder.add_joint('a', kind).add_body('bead', 'a', bead)
    if kind == 'wrist':
        parent = 'universe'
        for i, name in enumerate('abc'):
            place = SE3(SE3.random(rng).rotation, np.zeros(3))
            builder.add_joint(name, 'revolute', parent, place, axis=(0.0, 0.0, 1.0))
            parent = f'link {name}'
            builder.add_body(parent, name, bead if i == 2 else Inertia.zero())
        return builder
    if kind == 'on its axis':
        builder.add_joint('a', 'revolute', placement=SE3.random(rng), axis=(0.0, 1.0, 0.0))
        builder.add_body('arm', 'a', Inertia.random(rng))
        builder.add_joint('b', 'revolute', 'arm', SE3.random(rng), axis=(1.0, 0.0, 0.0))
        return builder.add_body('bead', 'b', Inertia.point_mass(1.0, (0.0, 0.0, 0.0)))
    # A root without mass, which floats.
    builder.add_joint('root', 'floating').add_body('base', 'root', Inertia.zero())
    parent = 'base'
    for i in range(7):
        builder.add_joint(f'j{i}', kind, parent, SE3.random(rng), axis=rng.normal(size=3))
        parent = f'l{i}'
        builder.add_body(parent, f'j{i}', Inertia.random(rng))
        if i == 0 and kind == 'prismatic':
            break
    return builder


@pytest.mark.parametrize('kind', ['spherical', 'floating', 'wrist', 'on its axis', 'prismatic'])
def test_what_gives_way_without_inertia_is_refused_in_every_posture(kind):
    model = balls(kind).build()
    data = model.create_data()
    for seed in range(30):
        q, v, a = state(model, seed)
        for compute in (
            lambda q=q: icir.minverse(model, data, q),
            lambda q=q, v=v, a=a: icir.aba(model, data, q, v, a),
            lambda q=q, v=v, a=a: icir.aba_derivatives(model, data, q, v, a),
        ):
            with pytest.raises(ModelError, match='has no inertia'):
                compute()


def test_what_is_fixed_to_the_world_has_no_part_in_the_mass_that_moves():
    builder = icir.ModelBuilder().add_body('rock', 'universe', Inertia.point_mass(9.0, (1, 0, 0)))
    builder.add_joint('a', 'revolute').add_body('b', 'a', Inertia.point_mass(2.0, (1, 0, 0)))
    assert icir.total_mass(builder.build()) == 2.0
