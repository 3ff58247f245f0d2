"""The robots' URDFs: every published figure, shapes that fit, and no contact where they work."""

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
import yourdfpy
from simulation_worlds import HOME, HOME_7, READY, URDF, ZERO, gen3, gen3_7

ROBOTS = ('gen3_6dof', 'gen3_7dof')
DATA = Path(__file__).parent / 'data'


def facts(name):
    return yaml.safe_load((DATA / f'{name}_facts.yaml').read_text())


def each(kind):
    return [(name, item) for name in ROBOTS for item in facts(name)[kind]]


@pytest.fixture(scope='module')
def robots():
    return {name: yourdfpy.URDF.load(str(URDF / f'{name}.urdf')).robot for name in ROBOTS}


def named(items, name):
    return next(item for item in items if item.name == name)


@pytest.mark.parametrize(('name', 'link_name'), each('links'))
def test_masses_and_inertias_are_the_published_ones(robots, name, link_name):
    figures = facts(name)['links'][link_name]
    inertial = named(robots[name].links, link_name).inertial
    if figures is None:
        assert inertial is None
        return
    mass, com, (ixx, ixy, ixz, iyy, iyz, izz) = figures
    assert inertial.mass == mass
    np.testing.assert_array_equal(inertial.origin[:3, 3], com)
    np.testing.assert_array_equal(inertial.origin[:3, :3], np.eye(3))
    np.testing.assert_array_equal(
        inertial.inertia, [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]
    )


@pytest.mark.parametrize(('name', 'joint_name'), each('joints'))
def test_joints_are_the_published_ones(robots, name, joint_name):
    kind, parent, child, xyz, turns, limits, effort, velocity = facts(name)['joints'][joint_name]
    joint = named(robots[name].joints, joint_name)
    assert (joint.type, joint.parent, joint.child) == (kind, parent, child)
    np.testing.assert_array_equal(joint.origin[:3, 3], xyz)
    if kind == 'fixed':
        assert joint.limit is None
    else:
        np.testing.assert_array_equal(joint.axis, [0, 0, 1])
        assert (joint.limit.effort, joint.limit.velocity) == (effort, velocity)
        assert (joint.limit.lower, joint.limit.upper) == tuple(limits or (None, None))
    # To the last bit, which a rounded 1.5708 is not.
    tree = ElementTree.parse(URDF / f'{name}.urdf')
    rpy = tree.find(f"joint[@name='{joint_name}']/origin").get('rpy')
    assert [float(angle) for angle in rpy.split()] == [turn * math.pi for turn in turns]


@pytest.mark.parametrize('name', ROBOTS)
def test_files_hold_nothing_else(robots, name):
    figures = facts(name)
    assert robots[name].name == name
    # KDL, and with it robot_state_publisher, warns of a root link that has a mass.
    root, base, *moving = robots[name].links
    assert (root.name, root.inertial, root.visuals, root.collisions) == ('world', None, [], [])
    assert [link.name for link in (base, *moving)] == list(figures['links'])
    first, *others = robots[name].joints
    assert (first.type, first.parent, first.child) == ('fixed', 'world', 'base_link')
    assert first.origin is None
    assert [joint.name for joint in others] == list(figures['joints'])
    masses = [link.inertial.mass for link in moving if link.inertial]
    assert sum(masses) == pytest.approx(figures['total_moving_mass'], abs=1e-12)


@pytest.mark.parametrize('make', [gen3, gen3_7])
def test_mujoco_reads_the_same_figures(make):
    world = make()
    for name, figures in facts(f'gen3_{len(world.joint_names)}dof')['links'].items():
        body = world.model.body(name)
        if figures is None:
            assert body.mass[0] == 0.0
            continue
        mass, com, (ixx, ixy, ixz, iyy, iyz, izz) = figures
        assert body.mass[0] == pytest.approx(mass, abs=1e-15)
        np.testing.assert_allclose(body.ipos, com, atol=1e-15)
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, body.iquat)
        turn = turn.reshape(3, 3)
        np.testing.assert_allclose(
            turn @ np.diag(body.inertia) @ turn.T,
            [[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]],
            atol=1e-14,
        )


@pytest.mark.parametrize('make', [gen3, gen3_7])
def test_shapes_fill_the_published_outlines(make):
    world = make()
    model, data = world.model, world.data
    for name, (low, high) in facts(f'gen3_{len(world.joint_names)}dof')['outlines'].items():
        body = model.body(name).id
        for collides in (False, True):
            boxes = [
                box_of(model, data, geom, body)
                for geom in np.flatnonzero(model.geom_bodyid == body)
                if bool(model.geom_contype[geom]) is collides
            ]
            assert boxes
            lowest = np.min([box[0] for box in boxes], axis=0)
            highest = np.max([box[1] for box in boxes], axis=0)
            # Shells end at the joint, where the next link's shape takes over: up to 17 mm short,
            # a collision shape rounds a flat link up by 10 mm.
            assert np.all(lowest > np.array(low) - 0.0101), name
            assert np.all(highest < np.array(high) + 0.0101), name
            assert np.all(lowest < np.array(low) + 0.0171), name
            assert np.all(highest > np.array(high) - 0.0171), name


def box_of(model, data, geom, body):
    """Return the corners of a geom's box along the axes of its body."""
    rotation = data.xmat[body].reshape(3, 3).T @ data.geom_xmat[geom].reshape(3, 3)
    position = data.xmat[body].reshape(3, 3).T @ (data.geom_xpos[geom] - data.xpos[body])
    middle = position + rotation @ model.geom_aabb[geom, :3]
    half = np.abs(rotation) @ model.geom_aabb[geom, 3:]
    return middle - half, middle + half


# --- contacts


def contacts(world):
    names = [
        tuple(world.model.body(world.model.geom_bodyid[geom]).name for geom in contact.geom)
        for contact in world.data.contact
    ]
    assert len(names) == world.data.ncon
    return names


def lowered_home(world, drop):
    """Return the configuration that lowers the tool from home, found by Newton steps."""
    world.reset(HOME)
    tool = world.data.body('end_effector_link')
    goal, rotation = tool.xpos - [0, 0, drop], tool.xmat.reshape(3, 3).copy()
    q = HOME.copy()
    for _ in range(20):
        turn = rotation @ tool.xmat.reshape(3, 3).T
        # For the small turns that are left, the vector of the skew part is the rotation vector.
        skew = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        error = np.concatenate([goal - tool.xpos, 0.5 * np.array(skew)])
        if np.abs(error).max() < 1e-12:
            break
        q = q + np.linalg.solve(world.frame_jacobian(q), error)
        world.reset(q)
    assert np.abs(error).max() < 1e-12
    return q


@pytest.mark.parametrize('q', [ZERO, HOME, READY], ids=['zero', 'home', 'ready'])
def test_nothing_touches_at_a_configured_pose(q):
    world = gen3(q)
    assert contacts(world) == []
    assert world.notes == ()


def test_nothing_touches_below_home():
    world = gen3()
    for drop in np.arange(0.0, 0.1501, 0.005):
        world.reset(lowered_home(world, drop))
        assert contacts(world) == [], drop


@pytest.mark.parametrize(
    ('start', 'goal'),
    [(ZERO, HOME), (ZERO, READY), (HOME, READY)],
    ids=['zero-home', 'zero-ready', 'home-ready'],
)
def test_nothing_touches_along_the_motions(start, goal):
    world = gen3()
    for share in np.linspace(0.0, 1.0, 201):
        world.reset(start + share * (goal - start))
        assert contacts(world) == [], share


def test_nothing_touches_between_the_lowered_pose_and_the_others():
    world = gen3()
    low = lowered_home(world, 0.05)
    for goal in (ZERO, HOME, READY):
        for share in np.linspace(0.0, 1.0, 101):
            world.reset(low + share * (goal - low))
            assert contacts(world) == [], share


def test_nothing_touches_at_the_poses_of_the_seven_joint_arm():
    world = gen3_7()
    for share in np.linspace(0.0, 1.0, 201):
        world.reset(share * HOME_7)
        assert contacts(world) == [], share


def test_the_floor_and_far_links_do_collide():
    world = gen3()
    world.reset(np.deg2rad([0, 125, 0, 0, 0, 0]))
    assert {pair[0] for pair in contacts(world)} == {'world'}
    world.reset(np.deg2rad([0, 0, 147, 0, 119, 0]))
    pairs = contacts(world)
    assert pairs
    assert all('world' not in pair for pair in pairs)


@pytest.mark.parametrize('name', ROBOTS)
def test_a_link_has_the_colour_of_its_first_visual_in_rviz(name):
    """rviz paints all visuals of a link with the material of the first one: the shell's."""
    root = ElementTree.parse(URDF / f'{name}.urdf').getroot()
    materials = [
        [material.get('name') for material in link.iterfind('visual/material')]
        for link in root.iter('link')
    ]
    assert sum('shell' in of_link for of_link in materials) >= 6
    assert all(of_link[0] == 'shell' for of_link in materials if 'shell' in of_link)
