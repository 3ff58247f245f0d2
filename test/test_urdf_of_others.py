"""URDFs as others write them: what is read all the same, and what a message says to do."""

import re
from itertools import pairwise

import numpy as np
import pytest
import trimesh

from icir_control.collision import load_collision_shapes
from icir_control.control import ControllerConfig
from icir_control.dynamics import KinematicTree, load_urdf
from icir_control.errors import ModelError
from icir_control.nodes.panel.shapes import shapes_of
from icir_control.nodes.robot import LoadedRobot, with_targets
from icir_control.simulation import World

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
)
BOX = '<geometry><box size="0.1 0.1 0.1"/></geometry>'
SHAPES = f'<visual>{BOX}</visual><collision>{BOX}</collision>'
LIMIT = '<limit lower="-1" upper="1" effort="50" velocity="2"/>'


def link(name, content=INERTIAL):
    return f'<link name="{name}">{content}</link>'


def joint(name, parent, child, content=LIMIT, kind='revolute'):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 0.3"/><axis xyz="1 0 0"/>{content}</joint>'
    )


def robot(*parts):
    return f'<robot name="other">{"".join(parts)}</robot>'


# --- XML


UNDECLARED = robot(
    link('base'),
    link('arm', INERTIAL + SHAPES),
    joint('hinge', 'base', 'arm', f'<drake:acceleration drake:value="2"/>{LIMIT}').replace(
        'velocity="2"/>', 'velocity="2" drake:jerk="9"><drake:jerk value="9"/></limit>'
    ),
    '<sensor:camera name="eye"/>',
)


def test_a_prefix_that_nothing_declares_is_no_error(tmp_path):
    model = load_urdf(UNDECLARED)
    assert model.joint_names == ('hinge',)
    assert model.effort_limit == 50.0
    world = World(UNDECLARED, joint_names=('hinge',), end_effector_frame='arm')
    assert world.model.nv == 1
    assert len(load_collision_shapes(UNDECLARED)) == 1
    assert len(shapes_of(UNDECLARED, tmp_path, model)) == 1


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (UNDECLARED.replace('</link>', '\n</lnk>', 1), r'lnk \(line 2\)'),
        (UNDECLARED.replace('effort="50"', 'effort="50" effort="60"'), 'effort redefined'),
        (UNDECLARED.replace('</robot>', ''), 'Premature end'),
    ],
)
def test_other_errors_of_xml_are_told_in_spite_of_it(text, words):
    with pytest.raises(ModelError, match=f'not valid XML: .*{words}'):
        load_urdf(text)
    with pytest.raises(ModelError, match='is not XML'):
        World(text, joint_names=('hinge',), end_effector_frame='arm')


# --- several arms


def chain_of(name, parent, joints):
    links = [parent, *(f'{name}_{i}' for i in range(joints))]
    return ''.join(link(b) + joint(f'to_{b}', a, b) for a, b in pairwise(links))


def fixed(parent, child):
    return link(child, '') + joint(f'fix_{child}', parent, child, '', 'fixed')


@pytest.mark.parametrize(
    ('parts', 'ends'),
    [
        # Two arms on a trunk, the one with fingers, the other with a tool.
        (
            (chain_of('trunk', 'base', 2), chain_of('left', 'trunk_1', 5))
            + (fixed('left_4', 'left_hand'), chain_of('thumb', 'left_hand', 1))
            + (chain_of('index', 'left_hand', 2), chain_of('right', 'trunk_1', 5))
            + (fixed('right_4', 'right_flange'), fixed('right_flange', 'right_tcp')),
            'one of left_hand, right_tcp',
        ),
        # One arm on wheels, beside the neck of a camera; sensors are no tools, either.
        (
            (chain_of('wheel', 'base', 1), chain_of('caster', 'base', 2))
            + (chain_of('neck', 'base', 2), fixed('neck_1', 'camera'), chain_of('arm', 'base', 5))
            + (fixed('arm_4', 'arm_camera'), fixed('arm_4', 'arm_force')),
            'arm_4',
        ),
        ((chain_of('a', 'base', 2), chain_of('b', 'base', 1)), 'one of a_1, b_0'),
    ],
)
def test_of_several_arms_the_hands_are_offered(parts, ends):
    tree = KinematicTree(robot(link('base'), *parts))
    with pytest.raises(ModelError, match=f'several arms.* such as {ends}$'):
        tree.chain()
    end = ends.split()[-1]
    assert len(tree.moving) - len(tree.chain(end_effector_frame=end).held) > 0


@pytest.mark.parametrize(
    ('frame', 'carrier', 'end', 'told'),
    [
        ('gripper_frame_link', 'arm_1', '', True),
        ('left_EE', 'arm_1', '', True),
        ('my_tcp', 'arm_1', 'my_tcp', False),
        ('tool0', 'arm_2', '', False),
        ('tool_rack', 'base', '', False),
        ('knee', 'arm_1', '', False),
    ],
)
def test_a_tool_before_the_last_joint_is_hinted_at(caplog, frame, carrier, end, told):
    """Anchor: the jaw of the SO-101 became its sixth joint, and its tool, without a word."""
    tree = KinematicTree(robot(link('base'), chain_of('arm', 'base', 3), fixed(carrier, frame)))
    chain = tree.chain(end_effector_frame=end)
    assert chain.end_effector_frame == end
    hint = f'--end-effector-frame {frame}): the arm then has 2 joints in place of 3'
    assert (hint in caplog.text) == told == bool(caplog.text)


@pytest.mark.parametrize('kind', ['planar', 'floating'])
@pytest.mark.parametrize('node', ['controller', 'mujoco_bridge'])
def test_a_base_that_moves_freely_has_one_answer(tmp_path, kind, node):
    axis = joint('drive', 'world', 'base', '', kind).replace('1 0 0', '0 0 1')
    path = tmp_path / 'mobile.urdf'
    path.write_text(robot(link('world', ''), axis, link('base'), chain_of('arm', 'base', 3)))
    words = f"'drive' is {kind}, and an arm stands on a fixed base; .*--lock drive=0"
    with pytest.raises(ModelError, match=words):
        LoadedRobot.of({'model': str(path)}, node)
    loaded = LoadedRobot.of({'model': str(path), 'locked_joints': ('drive=0',)}, node)
    assert loaded.model.nq == loaded.model.nv == 3


# --- limits and masses


NO_LIMIT = ''
ZEROS = '<limit lower="-1" upper="1" effort="50" velocity="0"/>'


def three_joints(limit, effort=None):
    """Load an arm of three joints, twice; return its model."""
    text = robot(link('base'), chain_of('arm', 'base', 3)).replace(LIMIT, limit)
    load_urdf(text, default_effort=effort)
    return load_urdf(text, default_effort=effort)


@pytest.mark.parametrize(
    ('limit', 'effort', 'remarks'),
    [
        (LIMIT, None, []),
        (ZEROS, None, ['have a velocity limit of 0, which is taken for none']),
        (
            NO_LIMIT,
            None,
            [
                'have no <limit>: velocity and effort are unlimited',
                'have no position limits, or 0 for both, and may turn or slide without end',
            ],
        ),
        (
            NO_LIMIT,
            9.0,
            ['have no <limit>: an effort of 9 N m or N is taken, the velocity is', ''],
        ),
    ],
)
def test_what_is_taken_for_none_is_told_once_for_all_joints(caplog, limit, effort, remarks):
    model = three_joints(limit, effort)
    for record, words in zip(caplog.records, remarks, strict=True):
        names = "'to_arm_0', 'to_arm_1', 'to_arm_2'"
        assert f'the robot description: joints {names} {words}' in record.getMessage()
    assert np.isinf(model.velocity_limit).all() == (limit != LIMIT)
    expected = effort or (np.inf if limit == NO_LIMIT else 50.0)
    np.testing.assert_array_equal(model.effort_limit, expected)


def test_links_without_mass_are_told(caplog):
    massless = ''.join(link(f'l{i}', SHAPES if i != 1 else '') for i in range(4))
    joints = ''.join(joint(f'j{i}', f'l{i}', f'l{i + 1}') for i in range(3))
    with pytest.raises(ModelError, match="'j2' .*mass 0 kg.*no link has an <inertial>"):
        load_urdf(robot(massless, joints))
    last = link('l3', SHAPES)
    model = load_urdf(robot(massless, joints).replace(last, link('l3')))
    assert [inertia.mass for inertia in model.inertias] == [0.0, 0.0, 0.0, 1.0]
    (record,) = caplog.records
    # The base does not move, and of what has no shape there may be nothing.
    assert 'with a shape, but without mass: l2; give them' in record.getMessage()


def arm_file(folder, *, effort=50.0):
    """Write an arm of three joints."""
    path = folder / 'arm.urdf'
    limits = LIMIT.replace('effort="50"', f'effort="{effort}"')
    text = robot(link('base'), chain_of('arm', 'base', 3)).replace(LIMIT, limits)
    path.write_text(text)
    return path


@pytest.mark.slow
def test_an_effort_that_bears_the_arm_nowhere_is_named(tmp_path, caplog):
    for effort, words in ((50.0, ''), (0.05, 'limit of to_arm_0, 0.05 N m.*arm.urdf')):
        given = {'model': str(arm_file(tmp_path, effort=effort))}
        loaded = LoadedRobot.of(given, 'controller')
        config = ControllerConfig.from_parameters(loaded.parameters, loaded.model)
        caplog.clear()
        with_targets(config, loaded)
        assert re.search(words, caplog.text)
        assert 'collision' not in caplog.text
        assert bool(words) == ('in which the motors bear' in caplog.text)


# --- meshes


@pytest.mark.parametrize('uri', ['far/{}', 'package://gone/x/{}', 'part/{}', '/{}'])
@pytest.mark.parametrize('attribute', ['meshdir', 'assetdir'])
def test_meshes_lie_where_the_element_of_mujoco_says(tmp_path, uri, attribute):
    (tmp_path / 'urdf').mkdir()
    mesh = tmp_path / 'assets' / ('part' if 'part' in uri else '') / 'cube.stl'
    mesh.parent.mkdir(parents=True)
    trimesh.creation.box((0.2, 0.2, 0.2)).export(mesh)
    geometry = f'<geometry><mesh filename="{uri.format("cube.stl")}"/></geometry>'
    shapes = f'<visual>{geometry}</visual><collision>{geometry}</collision>'
    path = tmp_path / 'urdf' / 'arm.urdf'
    compiler = f'<mujoco><compiler {attribute}="../assets" discardvisual="false"/></mujoco>'
    text = robot(
        compiler, link('base'), link('arm', INERTIAL + shapes), joint('hinge', 'base', 'arm')
    )
    path.write_text(text)
    world = World(path, joint_names=('hinge',), end_effector_frame='arm')
    assert world.notes == ()
    assert world.model.nmesh == 1
    assert len(load_collision_shapes(path)) == 1
    (shape,) = shapes_of(text, path.parent, load_urdf(path))
    assert len(shape.vertices) == 8


def test_a_package_is_found_by_the_name_in_its_package_xml(tmp_path):
    """A clone of a repository seldom has the name of the package in it."""
    package = tmp_path / 'ws' / 'arm_ros'
    (package / 'urdf').mkdir(parents=True)
    trimesh.creation.box((0.2, 0.2, 0.2)).export(package / 'cube.stl')
    uri = 'package://arm_description/{}'
    geometry = f'<geometry><mesh filename="{uri.format("cube.stl")}"/></geometry>'
    text = robot(
        link('base'), link('arm', f'{INERTIAL}<visual>{geometry}</visual>'),
        joint('hinge', 'base', 'arm'),
    )  # fmt: skip
    (package / 'urdf' / 'arm.urdf').write_text(text)
    beside = tmp_path / 'ws' / 'robots' / 'arm.urdf'
    beside.parent.mkdir()
    beside.write_text(text)
    for name, found in (('other', 0), ('<arm', 0), (' arm_description ', 1)):
        (package / 'package.xml').write_text(f'<package><name>{name}</name></package>')
        world = World(beside, joint_names=('hinge',), end_effector_frame='arm')
        assert world.model.nmesh == found
        if found:
            assert load_urdf(uri.format('urdf/arm.urdf'), package_dirs=[tmp_path / 'ws']).nv == 1
        else:
            with pytest.raises(ModelError, match='none of the folders'):
                load_urdf(uri.format('urdf/arm.urdf'), package_dirs=[tmp_path / 'ws'])
