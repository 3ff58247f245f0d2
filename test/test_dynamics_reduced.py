"""Models some joints of which are held, and arms within a model."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import assert_equal
from random_trees import KINDS, SIZES, random_inertia, random_placement, random_tree

from icir_control import dynamics as icir
from icir_control.dynamics import FrameType, ModelBuilder
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.share import share_directory
from icir_control.spatial import SE3

DATA = Path(__file__).resolve().parent / 'data'
HAND, COUPLED = DATA / 'arm_with_hand.urdf', DATA / 'coupled_arm.urdf'
GEN3, GEN3_7 = (share_directory() / f'urdf/gen3_{n}dof.urdf' for n in (6, 7))
NUMBERS = 'lower', 'upper', 'velocity', 'effort', 'damping', 'friction', 'armature'


def coupled_tree(seed):
    """Random joints of one coordinate; leaders before, behind and beside their followers."""
    rng = np.random.default_rng(seed)
    mimics = {
        'joint_1': ('joint_4', -0.7, 0.2),
        'joint_3': ('joint_1', 0.5, -0.1),
        'joint_6': ('joint_2', 1.5, 0.3),
    }
    builder, frames = ModelBuilder('coupled', gravity=rng.normal(size=3) * 6.0), ['universe']
    for i in range(8):
        name, parent = f'joint_{i}', frames[-1] if rng.uniform() < 0.6 else rng.choice(frames)
        kind = ('revolute', 'prismatic', 'continuous')[rng.integers(3)]
        builder.add_joint(
            name, kind, parent, random_placement(rng), axis=rng.normal(size=3),
            mimic=mimics.get(name),
        )  # fmt: skip
        builder.add_body(f'link_{i}', name, random_inertia(rng), random_placement(rng))
        frames.append(f'link_{i}')
    return builder.build()


def led(model, names):
    """The joints with these names, and all that share the coordinates of one of them."""
    leaders = {model.joint_id(name) for name in names}
    return [j.name for j in model.joints if j.mimic and j.mimic.leader in leaders] + [*names]


def positions(model, q, names):
    """Where joints are in a configuration, as `locked` has it."""
    found = {}
    for name in names:
        joint = model.joints[model.joint_id(name)]
        part = q[joint.index_q : joint.index_q + joint.nq]
        found[name] = part.item() if joint.nq == 1 else part.copy()
    return found


def columns_of(model, names):
    """The places of joints in v."""
    joints = [model.joints[model.joint_id(name)] for name in names]
    return [j.index_v + i for j in joints for i in range(j.nv)]


def places_of(model, names):
    """The places of joints in q."""
    joints = [model.joints[model.joint_id(name)] for name in names]
    return [j.index_q + i for j in joints for i in range(j.nq)]


def assert_moves_as_a_part(part, model, q, rng):
    """A model is what another one is while joints that it lacks stand still at q."""
    kept = part.joint_names
    q_part, columns = q[places_of(model, kept)], columns_of(model, kept)
    v_part, a_part = rng.normal(size=(2, part.nv))
    v, a = np.zeros((2, model.nv))
    v[columns], a[columns] = v_part, a_part
    data, whole = part.create_data(), model.create_data()
    icir.compute_all_terms(part, data, q_part, v_part)
    icir.compute_all_terms(model, whole, q, v)
    assert_equal(data.M, whole.M[np.ix_(columns, columns)])
    assert_equal(data.nle, whole.nle[columns])
    assert_equal(data.g, whole.g[columns])
    tau = icir.rnea(model, whole, q, v, a)[columns]
    assert_equal(icir.rnea(part, data, q_part, v_part, a_part), tau)
    icir.forward_kinematics(part, data, q_part, v_part, a_part)
    icir.forward_kinematics(model, whole, q, v, a)
    assert part.nframes == model.nframes
    for i, (frame, one) in enumerate(zip(part.frames, model.frames, strict=True)):
        assert frame.name == one.name
        is_held = one.type is FrameType.JOINT and frame.name not in part._joint_ids
        assert frame.type is (FrameType.FIXED_JOINT if is_held else one.type)
        assert data.oMf[i].isclose(whole.oMf[i], 1e-11)
        for quantity in (icir.frame_velocity, icir.frame_acceleration):
            ours, theirs = quantity(part, data, i), quantity(model, whole, i)
            assert_equal(ours.vector, theirs.vector)
    assert_equal(
        sum(one.mass for one in part.inertias), sum(one.mass for one in model.inertias), 1e-13
    )


def assert_alike(ours, theirs):
    """Two models are equal but for rounding."""
    assert (ours.name, ours.njoints, ours.nframes) == (theirs.name, theirs.njoints, theirs.nframes)
    assert np.array_equal(ours.gravity, theirs.gravity)
    for one, other in zip(ours.joints, theirs.joints, strict=True):
        assert one.placement.isclose(other.placement, 1e-13)
        np.testing.assert_allclose(one.axis, other.axis, atol=1e-15)
        assert replace(one, placement=other.placement, axis=other.axis) == other
    for one, other in zip(ours.frames, theirs.frames, strict=True):
        assert one.placement.isclose(other.placement, 1e-13)
        assert replace(one, placement=other.placement) == other
    for one, other in zip(ours.inertias, theirs.inertias, strict=True):
        assert one.isclose(other, 1e-13)
    assert icir.total_mass(ours) == pytest.approx(icir.total_mass(theirs), rel=1e-14)
    rng = np.random.default_rng(3)
    q, v = theirs.random_configuration(rng), rng.normal(size=theirs.nv)
    data, expected = ours.create_data(), theirs.create_data()
    icir.compute_all_terms(ours, data, q, v)
    icir.compute_all_terms(theirs, expected, q, v)
    assert_equal(data.M, expected.M, 1e-12)
    assert_equal(data.nle, expected.nle, 1e-12)


@pytest.mark.parametrize('held', ['even', 'odd', 'most'])
@pytest.mark.parametrize('tree', range(2, len(SIZES), 3))
def test_a_reduced_model_moves_as_the_whole_one_with_joints_at_rest(tree, held):
    model, rng = random_tree(tree), np.random.default_rng(tree)
    names = {'even': model.joint_names[::2], 'odd': model.joint_names[1::2]}.get(held)
    names = names or [n for i, n in enumerate(model.joint_names) if i != model.njoints // 2]
    q = model.random_configuration(rng)
    part = icir.build_reduced_model(model, positions(model, q, names))
    assert part.joint_names == tuple(n for n in model.joint_names if n not in names)
    assert_moves_as_a_part(part, model, q, rng)


@pytest.mark.parametrize('kind', KINDS)
def test_joints_of_each_kind_are_held_wherever_they_are(kind):
    """Below, between and beyond the joints that stay; one of them is on the world."""
    rng = np.random.default_rng(KINDS.index(kind))
    builder, parent = ModelBuilder(), 'universe'
    for i, one in enumerate((kind, 'revolute', kind, 'prismatic', kind)):
        place, axis = random_placement(rng), rng.normal(size=3)
        builder.add_joint(f'joint_{i}', one, parent, place, axis=axis)
        parent = f'link_{i}'
        builder.add_body(parent, f'joint_{i}', random_inertia(rng), random_placement(rng))
    model = builder.build()
    q = model.random_configuration(rng)
    locked = positions(model, q, ['joint_0', 'joint_2', 'joint_4'])
    part = icir.build_reduced_model(model, locked)
    assert part.joint_names == ('joint_1', 'joint_3')
    assert_moves_as_a_part(part, model, q, rng)
    assert part.inertias[0].mass == model.inertias[1].mass
    # What one call did is nothing to the next.
    assert icir.build_reduced_model(model, locked) == part
    assert pickle.loads(pickle.dumps(part)) == part


@pytest.mark.parametrize('seed', range(4))
def test_joints_that_mimic_are_held_with_those_that_lead(seed):
    model, rng = coupled_tree(seed), np.random.default_rng(seed)
    q = model.random_configuration(rng)
    pairs = ['joint_2', 'joint_0'], ['joint_5', 'joint_7']
    for names in (['joint_4'], *pairs, model.joint_names[1:]):
        part = icir.build_reduced_model(model, positions(model, q, names))
        assert {*part._joint_ids} == {*model._joint_ids}.difference(led(model, names))
        assert_moves_as_a_part(part, model, q, rng)


@pytest.mark.parametrize(
    ('urdf', 'locked'),
    [
        (GEN3, {'joint_1': 0.4, 'joint_3': -1.0, 'joint_6': 2.0}),
        (GEN3_7, {'joint_3': 0.0}),
        (GEN3_7, {'joint_7': 1.0, 'joint_1': -3.0}),
        (HAND, {'pan': 0.3, 'finger_1': 0.02}),
        (HAND, {'finger_1': 0.02, 'finger_2': -0.05, 'elbow': 0.7}),
        (COUPLED, {'elbow': 0.9, 'swivel': -7.0}),
        (COUPLED, {'grip': 0.4, 'spin': 1.0}),
        (DATA / 'branching.urdf', {}),
        (DATA / 'gantry.urdf', {'rail_x': 0.2, 'lift': 0.1}),
        (DATA / 'scara.urdf', {}),
    ],
)
@pytest.mark.parametrize('root_joint', ['fixed', 'floating'])
def test_a_reduced_model_is_that_of_a_urdf_with_locked_joints(urdf, locked, root_joint):
    whole = icir.load_urdf(urdf, root_joint=root_joint)
    expected = icir.load_urdf(urdf, root_joint=root_joint, locked=locked)
    assert_alike(icir.build_reduced_model(whole, locked), expected)


@pytest.mark.parametrize('model', [random_tree(9), coupled_tree(0), icir.load_urdf(GEN3)])
def test_without_held_joints_the_model_is_equal(model):
    assert icir.build_reduced_model(model, {}) == model


def test_joints_are_held_at_once_or_one_after_the_other():
    model, rng = random_tree(11), np.random.default_rng(1)
    locked = positions(model, model.random_configuration(rng), model.joint_names[2:9])
    found = model
    for name, value in locked.items():
        found = icir.build_reduced_model(found, {name: value})
    assert_alike(found, icir.build_reduced_model(model, locked))


def test_a_model_that_is_reduced_stays_as_it_is(tmp_path):
    model = icir.load_urdf(COUPLED)
    before = model.buffer.copy()
    part = icir.build_reduced_model(model, {'grip': 0.3, 'shoulder': 1.0})
    assert np.array_equal(model.buffer, before, equal_nan=True)
    assert model == icir.load_urdf(COUPLED)
    part.save(tmp_path / 'part.json')
    assert icir.Model.load(tmp_path / 'part.json') == part
    kinds = {one.name: one.type for one in part.frames if one.type is not FrameType.BODY}
    assert kinds['grip'] is kinds['left_pad'] is FrameType.FIXED_JOINT
    assert kinds['elbow'] is FrameType.JOINT


def test_limits_losses_and_motors_of_what_stays_are_kept():
    numbers = {'velocity': 2.0, 'effort': 3.0, 'damping': 0.1, 'friction': 0.2, 'armature': 0.3}
    builder = ModelBuilder().add_joint('turret', 'continuous', effort=9.0, damping=4.0)
    builder.add_body('mast', 'turret', random_inertia(np.random.default_rng(0)))
    builder.add_joint('boom', 'revolute', 'mast', lower=-1.0, upper=2.0, **numbers)
    builder.add_body('end', 'boom', random_inertia(np.random.default_rng(1)))
    part = icir.build_reduced_model(builder.build(), {'turret': 100.0})
    values = {'lower': -1.0, 'upper': 2.0, **numbers}
    assert {name: getattr(part.joints[1], name).item() for name in NUMBERS} == values
    assert part.actuated.tolist() == [True]


def limited_base():
    """A planar joint with limits, an arm with a quaternion."""
    body = random_inertia(np.random.default_rng(0))
    builder = ModelBuilder().add_joint('base', 'planar', lower=-1.0, upper=(1.0, 2.0, 3.0))
    builder.add_body('trunk', 'base', body).add_joint('hip', 'spherical', 'trunk')
    builder.add_body('thigh', 'hip', body).add_joint('knee', 'revolute', 'thigh')
    return builder.add_body('shank', 'knee', body).build()


@pytest.mark.parametrize(
    ('model', 'locked', 'error', 'words'),
    [
        (GEN3, {'joint_9': 0.0}, UnknownNameError, "joint 'joint_9'; valid: joint_1"),
        (GEN3, {'universe': 0.0}, UnknownNameError, "joint 'universe'; valid: joint_1"),
        (GEN3, {'joint_2': 2.6}, InvalidValueError, "'joint_2' = 2.6 .* -2.24 to 2.24"),
        (GEN3, {'joint_2': -2.6}, InvalidValueError, "'joint_2' = -2.6 .* -2.24 to 2.24"),
        (GEN3, {'joint_2': np.nan}, InvalidValueError, "'joint_2' = nan .* a finite number"),
        (GEN3, {'joint_1': np.inf}, InvalidValueError, "'joint_1' = inf .* a finite number"),
        (GEN3, {'joint_1': (1.0, 2.0)}, InvalidValueError, "'joint_1' .* a finite number"),
        (GEN3, {'joint_1': None}, InvalidValueError, "'joint_1' = None .* a finite number"),
        (GEN3, [('joint_1', 0.0)], InvalidValueError, 'locked .* positions by the names'),
        (GEN3, None, InvalidValueError, 'locked = None'),
        (GEN3, {f'joint_{i}': 0.0 for i in range(1, 7)}, ModelError, 'leave one free'),
        (HAND, {'finger_2': 0.0}, InvalidValueError, "'finger_2' .* alone; lock 'finger_1'"),
        (HAND, {'finger_1': 0.0, 'finger_2': np.nan}, InvalidValueError, "'finger_2' = nan"),
        ('limited', {'base': 0.0}, InvalidValueError, "'base' = 0.0 .* 3 finite numbers"),
        ('limited', {'base': (0, 0)}, InvalidValueError, "'base' .* 3 finite numbers"),
        ('limited', {'base': (0, 2.5, 0)}, InvalidValueError, '-1 to 1, -1 to 2, -1 to 3'),
        ('limited', {'hip': (0, 0, 0)}, InvalidValueError, "'hip' .* 4 finite numbers"),
        ('limited', {'hip': (0, 0, 0, 2)}, InvalidValueError, 'a unit quaternion'),
        (None, {}, InvalidValueError, 'model = None .* a Model'),
    ],
)  # fmt: skip
def test_what_cannot_be_held_is_refused(model, locked, error, words):
    if model is not None:
        model = limited_base() if model == 'limited' else icir.load_urdf(model)
    with pytest.raises(error, match=words):
        icir.build_reduced_model(model, locked)
    if locked is not None and error is not ModelError:
        with pytest.raises(error, match=words):
            icir.subchain(model, '', model.frames[-1].name if model else '', locked)


def test_a_held_joint_does_not_hide_a_fixed_one():
    builder = ModelBuilder().add_joint('mount', 'revolute')
    builder.add_frame('mount', 'mount', SE3.from_translation((0, 0, 1)), FrameType.FIXED_JOINT)
    builder.add_body('link', 'mount', random_inertia(np.random.default_rng(0)))
    builder.add_joint('turn', 'revolute', 'link')
    builder.add_body('end', 'turn', random_inertia(np.random.default_rng(0)))
    with pytest.raises(InvalidValueError, match="'mount' .* name no FIXED_JOINT frame has"):
        icir.build_reduced_model(builder.build(), {'mount': 0.0})


@pytest.mark.parametrize('tree', range(4, len(SIZES), 3))
def test_a_subchain_is_the_part_of_the_whole_model_between_two_frames(tree):
    model, rng = random_tree(tree), np.random.default_rng(tree)
    tips = [i for i in range(1, model.njoints) if model.joints[i].parent]
    for end in rng.choice(tips, 3):
        path = [int(end)]
        while model.joints[path[0]].parent:
            path.insert(0, model.joints[path[0]].parent)
        start = int(rng.integers(len(path)))
        base = f'tool_{path[start - 1] - 1}' if start else 'universe'
        arm = tuple(model.joints[i].name for i in path[start:])
        q = model.random_configuration(rng)
        others = [name for name in model.joint_names if name not in arm]
        locked = positions(model, q, others)
        part = icir.subchain(model, base, f'lump_{end - 1}', locked)
        assert part.joint_names == arm
        assert_moves_as_a_part(part, model, q, rng)
        q = model.neutral()
        q[places_of(model, arm)] = part.random_configuration(rng)
        assert_moves_as_a_part(icir.subchain(model, base, f'tool_{end - 1}'), model, q, rng)


@pytest.mark.parametrize(
    ('urdf', 'base', 'tip', 'locked'),
    [
        (GEN3, '', 'end_effector_link', {}),
        (GEN3, 'shoulder_link', 'bracelet_link', {}),
        (GEN3, 'joint_2', 'forearm_link', {'joint_1': 1.0, 'joint_5': -0.5}),
        (GEN3_7, '', 'end_effector_link', {'joint_3': 0.5}),
        (HAND, '', 'hand', {}),
        (HAND, '', 'hand', {'pan': 0.4, 'finger_1': 0.03}),
        (HAND, 'swivel', 'turn', {}),
        (HAND, 'hand', 'finger_1', {}),
        (HAND, 'hand', 'finger_2', {}),
        (HAND, '', 'finger_2', {}),
        (COUPLED, '', 'nozzle', {}),
        (COUPLED, 'fore', 'nozzle', {}),
        (COUPLED, 'upper', 'fore', {'spin': 2.0}),
        (COUPLED, 'hand', 'left_pad', {'grip': 0.3}),
        (COUPLED, '', 'right_pad', {}),
    ],
)
def test_a_subchain_is_the_chain_of_the_urdf(urdf, base, tip, locked):
    tree = icir.KinematicTree(urdf)
    held = tree.chain(base, tip, locked).held
    part = icir.subchain(icir.load_urdf(urdf), base, tip, locked)
    assert_alike(part, icir.load_urdf(urdf, locked=held))


@pytest.mark.parametrize('seed', range(4))
def test_a_leader_beside_the_arm_stays_with_what_mimics_it(seed):
    """M of the arm is that of the whole tree, whose leaders and followers lie anywhere."""
    model, rng = coupled_tree(seed), np.random.default_rng(seed)
    for tip in range(8):
        part = icir.subchain(model, '', f'link_{tip}')
        q = np.zeros(model.nq)
        q[places_of(model, part.joint_names)] = part.random_configuration(rng)
        assert_moves_as_a_part(part, model, q, rng)
        assert f'joint_{tip}' in part._joint_ids


def test_a_floating_base_belongs_to_the_arm_from_the_world():
    model = icir.load_urdf(GEN3, root_joint='floating')
    whole, arm = (icir.subchain(model, base, 'forearm_link') for base in ('', 'base_link'))
    assert whole.joint_names == ('root_joint', 'joint_1', 'joint_2', 'joint_3')
    assert arm.joint_names == ('joint_1', 'joint_2', 'joint_3')
    assert arm == icir.subchain(model, 'root_joint', 'joint_3')
    q = np.concatenate((np.arange(3.0), SE3.random(np.random.default_rng(0)).quaternion))
    raised = icir.subchain(model, 'base_link', 'forearm_link', {'root_joint': q})
    data = raised.create_data()
    icir.forward_kinematics(raised, data, raised.neutral())
    base = icir.frame_placement(raised, data, 'base_link')
    assert base.isclose(SE3.from_quaternion(q[3:], q[:3]))


def test_what_is_not_told_is_held_at_the_limit_next_to_neutral():
    part = icir.subchain(icir.load_urdf(COUPLED), 'beam', 'flange')
    held = icir.load_urdf(
        COUPLED, locked={'swivel': 0.0, 'shoulder': 0.0, 'elbow': 0.2, 'grip': 0.0}
    )
    assert_alike(part, held)
    assert part.joint_names == ('roll', 'bend', 'spin')


@pytest.mark.parametrize(
    ('base', 'tip', 'error', 'words'),
    [
        ('forearm_link', 'shoulder_link', InvalidValueError,
         "tip = 'shoulder_link' .* base 'forearm_link': joint_4, spherical_wrist_1_link"),
        ('joint_3', 'forearm_link', InvalidValueError, "beyond the base 'joint_3': joint_4"),
        ('', 'base_link', InvalidValueError, "beyond the base '': joint_1"),
        ('universe', 'universe', InvalidValueError, "beyond the base 'universe': joint_1"),
        ('end_effector_link', 'joint_1', InvalidValueError, r': \(none\)'),
        ('flange', 'joint_1', UnknownNameError, "frame 'flange'"),
        ('joint_1', 'flange', UnknownNameError, "frame 'flange'"),
        (None, 'joint_1', UnknownNameError, 'frame None'),
    ],
)  # fmt: skip
def test_a_tip_that_is_not_beyond_the_base_is_refused(base, tip, error, words):
    with pytest.raises(error, match=words) as caught:
        icir.subchain(icir.load_urdf(GEN3), base, tip)
    assert 'beyond' not in words or 'base_link' not in str(caught.value).rpartition(':')[2]


def test_an_arm_of_locked_joints_is_none():
    with pytest.raises(ModelError, match='leave one free'):
        icir.subchain(icir.load_urdf(GEN3), '', 'joint_1', {'joint_1': 0.1})


def test_a_tip_on_another_branch_is_not_beyond_the_base():
    hand = icir.load_urdf(HAND)
    with pytest.raises(InvalidValueError, match=r"'finger_1': \(none\)"):
        icir.subchain(hand, 'finger_1', 'finger_2')
