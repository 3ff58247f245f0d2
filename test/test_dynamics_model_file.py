"""Models that are written and read again, and models made one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from agreement import assert_equal
from random_trees import SIZES, random_tree
from spatial_samples import rounded_placement

from icir_control import dynamics as icir
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.share import share_directory
from icir_control.spatial import SE3, Inertia

ARM = share_directory() / 'urdf/gen3_6dof.urdf'


@pytest.mark.parametrize('model', [*range(0, len(SIZES), 3), 'arm', 'flying arm', 'lossy arm'])
def test_a_model_is_read_as_it_was_written(model, tmp_path):
    if isinstance(model, int):
        model = random_tree(model)
    else:
        root = 'floating' if model == 'flying arm' else 'fixed'
        losses = '<dynamics damping="0.5" friction="0.2"/>' if model == 'lossy arm' else ''
        urdf = tmp_path / 'arm.urdf'
        urdf.write_text(ARM.read_text().replace('</joint>', f'{losses}</joint>'))
        model = icir.load_urdf(urdf, root_joint=root)
        assert model.joint_damping.any() == bool(losses)
    model.save(tmp_path / 'model.json')
    again = icir.Model.load(tmp_path / 'model.json')
    assert again == model
    assert np.array_equal(again.buffer, model.buffer, equal_nan=True)
    with pytest.raises(ValueError, match='read-only'):
        again.upper_position_limit[0] = 0.0


def test_placements_of_few_digits_and_numpys_bools_are_read_as_they_were_written(tmp_path):
    """Products of two such placements were no rotations, and a bool of numpy's is none of JSON."""
    rng = np.random.default_rng(0)
    for flag in (np.bool_(True), np.bool_(False)):
        builder, parent = icir.ModelBuilder(), 'universe'
        for i in range(4):
            joint, body = f'joint_{i}', f'body_{i}'
            builder.add_joint(joint, 'revolute', parent, rounded_placement(rng), actuated=flag)
            inertia = Inertia(1.0, (0.0, 0.0, 0.1), 0.01 * np.eye(3))
            builder.add_body(body, joint, inertia, rounded_placement(rng))
            builder.add_frame(f'frame_{i}', body, rounded_placement(rng))
            parent = f'frame_{i}'
        model = builder.build()
        model.save(tmp_path / 'model.json')
        assert icir.Model.load(tmp_path / 'model.json') == model
        assert model.na == 4 * flag
    with pytest.raises(InvalidValueError, match='actuated of joint j = .*True or False'):
        icir.ModelBuilder().add_joint('j', 'revolute', 'universe', actuated='no')


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda one: one.pop('gravity'), "'gravity' is missing"),
        (lambda one: one.update(format='urdf'), "format is 'urdf'"),
        (lambda one: one['joints'].pop(), r'6 joints, 7 inertias'),
        (lambda one: one['joints'][2].update(kind='screw'), "'screw' is not a valid JointKind"),
        (lambda one: one['joints'][2].update(kind='universe'), 'the first alone may be'),
        (lambda one: one['joints'][2].update(parent=2), "parent of 'joint_2' is 2"),
        (lambda one: one['frames'][2].update(parent=True), 'is True; it must come before'),
        (lambda one: one['joints'][2].update(lower=[1, 2]), 'lower of joint joint_2'),
        (lambda one: one['joints'][2].update(axis=['x', 0, 0]), 'axis'),
        (lambda one: one['joints'][2].update(axis=[0, 0, 2]), "'joint_2' has the axis .*length 1"),
        (lambda one: one['joints'][2].update(axis=[0, 0, 0]), "'joint_2' has the axis .*length 1"),
        (lambda one: one['joints'][2].update(lower=[3], upper=[2]), 'limit above its upper one'),
        (
            lambda one: one['joints'][0].update(damping='x'),
            "is 'x'; expected 0 numbers",
        ),
        (lambda one: one['inertias'][1].update(mass=-1), 'mass = -1'),
        (lambda one: one['frames'][1]['placement'][0].__setitem__(0, 7), 'a rotation'),
    ],
)
def test_a_file_that_is_no_model_is_refused(change, message, tmp_path):
    path = tmp_path / 'model.json'
    icir.load_urdf(ARM).save(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ModelError, match=message) as caught:
        icir.Model.load(path)
    assert str(path) in str(caught.value)


def test_what_is_no_json_is_refused(tmp_path):
    path = tmp_path / 'model.json'
    for text in ('', '[]', '{"format": ', '7'):
        path.write_text(text)
        with pytest.raises(ModelError, match='is no model'):
            icir.Model.load(path)
    with pytest.raises(FileNotFoundError):
        icir.Model.load(tmp_path / 'none.json')


def hand_of(model):
    """The model with other names."""
    joints = [replace(joint, name=f'hand_{joint.name}') for joint in model.joints]
    frames = [replace(frame, name=f'hand_{frame.name}') for frame in model.frames]
    return replace(model, joints=tuple(joints), frames=tuple(frames))


def test_a_model_on_another_moves_as_built_in_one():
    rng = np.random.default_rng(0)
    arm, hand, place = icir.load_urdf(ARM), hand_of(random_tree(9)), SE3.random(rng)
    both = icir.append_model(arm, hand, 'end_effector_link', place)
    assert (both.nq, both.nv) == (arm.nq + hand.nq, arm.nv + hand.nv)
    q_arm, q_hand = arm.random_configuration(rng), hand.random_configuration(rng)
    v = rng.normal(size=both.nv)
    a = rng.normal(size=both.nv)
    data, alone = both.create_data(), arm.create_data()
    icir.forward_kinematics(both, data, [*q_arm, *q_hand], v, a)
    icir.forward_kinematics(arm, alone, q_arm, v[: arm.nv], a[: arm.nv])
    moved = hand.create_data()
    icir.forward_kinematics(hand, moved, q_hand)
    flange = icir.frame_placement(arm, alone, 'end_effector_link') @ place
    for frame in hand.frames[1:]:
        there = icir.frame_placement(hand, moved, frame.name)
        assert icir.frame_placement(both, data, frame.name).isclose(flange @ there, 1e-12)
    # What the hand asks of the arm is a force on the flange: the hand's own, on a moving base.
    tau = icir.rnea(both, data, [*q_arm, *q_hand], v, a).copy()
    roots = [i for i, joint in enumerate(hand.joints[1:], 1) if joint.parent == 0]
    weight = sum(
        (data.oMi[i + arm.njoints - 1].act(data.f[i + arm.njoints - 1]).vector for i in roots),
        np.zeros(6),
    )
    J = icir.frame_jacobian(arm, alone, 'end_effector_link', icir.ReferenceFrame.WORLD)
    own = icir.rnea(arm, alone, q_arm, v[: arm.nv], a[: arm.nv])
    assert_equal(tau[: arm.nv], own + J.T @ weight)
    assert icir.total_mass(both) == pytest.approx(icir.total_mass(arm) + icir.total_mass(hand))


def test_what_does_not_fit_is_named():
    arm, tree = icir.load_urdf(ARM), random_tree(1)
    with pytest.raises(UnknownNameError, match='end_effector_link'):
        icir.append_model(arm, tree, 'flange')
    with pytest.raises(InvalidValueError, match='other names than joint_0'):
        icir.append_model(tree, tree, 'link_0')
    with pytest.raises(InvalidValueError, match='placement'):
        icir.append_model(arm, tree, 'end_effector_link', np.eye(4))
    with pytest.raises(InvalidValueError, match='a Model'):
        icir.append_model(arm, None, 'end_effector_link')


def test_a_model_is_read_with_the_inertias_that_it_was_built_with(tmp_path):
    """What stands in the world, and what has no mass, need none that a body can have."""
    strange = Inertia.trusted(1.0, np.zeros(3), np.diag((1.0, 1.0, 5.0)))
    builder = icir.ModelBuilder()
    builder.add_body('stand', 'universe', strange)
    builder.add_joint('one', 'revolute').add_joint('two', 'revolute', 'one')
    builder.add_body('between', 'one', Inertia.trusted(0.0, np.zeros(3), -1e-16 * np.eye(3)))
    builder.add_body('tool', 'two', Inertia(1.0, (0.1, 0.0, 0.0), 0.1 * np.eye(3)))
    model = builder.build()
    model.save(tmp_path / 'model.json')
    assert icir.Model.load(tmp_path / 'model.json') == model
