"""What surrounds the robot: floor, neighbours, meshes, pictures."""

import struct

import mujoco
import numpy as np
import pytest
from simulation_worlds import (
    DOUBLE_PENDULUM,
    double_pendulum,
    gen3,
    joint,
    link,
    robot,
    state,
)

from icir_control.simulation import World

BALL = '<{0}><geometry><sphere radius="{1}"/></geometry></{0}>'


def shape(kind, radius=0.1):
    return BALL.format(kind, radius)


def spinning(*parts, **options):
    return World(robot(*parts), joint_names=('spin',), end_effector_frame='arm', **options)


def geoms_of(world, name):
    return np.flatnonzero(world.model.geom_bodyid == world.model.body(name).id)


# --- neighbours


def test_the_first_link_does_not_touch_what_stands_still():
    # The arm's ball lies inside those of its base and of a stand fixed to the base.
    world = spinning(
        link('stand', shape=shape('collision', 0.3)),
        link('arm', shape=shape('collision', 0.2)),
        joint('weld', 'fixed', 'base', 'stand', '0 0 1'),
        joint('spin', 'continuous', 'stand', 'arm', '0 0 1'),
    )
    assert world.data.ncon == 0
    assert world.notes == ()


def test_links_that_are_no_neighbours_do_touch_and_it_is_said():
    world = World(
        robot(
            link('first', shape=shape('collision', 0.2)),
            link('middle'),
            link('last', shape=shape('collision', 0.2)),
            joint('one', 'continuous', 'base', 'first', '0 0 1'),
            joint('two', 'continuous', 'first', 'middle', '0.1 0 0'),
            joint('three', 'continuous', 'middle', 'last', '0.1 0 0'),
        ),
        joint_names=('one', 'two', 'three'),
        end_effector_frame='last',
    )
    assert world.data.ncon == 1
    assert world.notes == ('first and last touch in the initial configuration',)


def test_visual_shapes_do_not_collide_and_weigh_nothing():
    parts = (
        link('arm', shape=shape('visual', 0.9)),
        joint('spin', 'continuous', 'base', 'arm', '0 0 0.2'),
        '<link name="hand">' + shape('visual', 0.5) + shape('collision', 0.01) + '</link>',
        joint('weld', 'fixed', 'arm', 'hand', '0.3 0 0'),
    )
    world = spinning(*parts)
    assert world.data.ncon == 0
    assert world.mass_matrix([0.0])[0, 0] == pytest.approx(0.1, rel=1e-12)
    model = world.model
    assert [model.geom_group[geom] for geom in geoms_of(world, 'hand')].count(2) == 1
    # Where there is a visual shape, the collision shape is hidden.
    assert sorted(model.geom_group[geoms_of(world, 'hand')]) == [2, 3]
    assert list(model.geom_group[geoms_of(world, 'arm')]) == [2]


def test_shapes_of_one_name_are_no_fault():
    named = '<visual name="v"><geometry><box size="1 1 1"/></geometry></visual>'
    world = spinning(link('arm', shape=named + named), joint('spin', 'continuous', 'base', 'arm'))
    assert len(geoms_of(world, 'arm')) == 2


# --- floor


def test_the_floor_lies_beneath_the_robot():
    assert gen3().model.geom('floor').pos[2] == 0.0
    hanging = spinning(
        link('arm', com='0 0 -0.5', shape=shape('collision', 0.4)),
        joint('spin', 'continuous', 'base', 'arm', '0 0 0.1', '0 1 0'),
    )
    assert hanging.model.geom('floor').pos[2] == pytest.approx(-0.301)
    assert 'floor lowered to -0.300' in hanging.notes[0]
    assert hanging.data.ncon == 0


def test_the_floor_holds_what_falls_on_it():
    world = World(
        robot(
            link('ball', 2.0, shape=shape('collision', 0.1)),
            joint('fall', 'prismatic', 'base', 'ball', '0 0 0.3', '0 0 1'),
        ),
        joint_names=('fall',),
        end_effector_frame='ball',
    )
    for _ in range(3000):
        world.step(np.zeros(1))
    position, velocity, _ = state(world)
    assert position[0] == pytest.approx(-0.2, abs=2e-3)
    assert abs(velocity[0]) < 1e-3


# --- the root link called world


def test_a_root_called_world_is_the_world():
    text = DOUBLE_PENDULUM.replace('"base"', '"world"')
    world = World(text, joint_names=('swing', 'elbow'), end_effector_frame='tip')
    q = [0.3, -0.5]
    np.testing.assert_array_equal(world.mass_matrix(q), double_pendulum().mass_matrix(q))
    world.push('world', [1, 0, 0, 0, 0, 0])
    world.step(np.zeros(2))


# --- meshes


def tetrahedron():
    """Return a binary STL of a tetrahedron with edges along the axes."""
    corners = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    data = bytes(80) + struct.pack('<I', len(faces))
    for face in faces:
        data += struct.pack('<12fH', 0, 0, 0, *corners[list(face)].ravel(), 0)
    return data


def mesh(kind, uri, scale='1 1 1'):
    return f'<{kind}><geometry><mesh filename="{uri}" scale="{scale}"/></geometry></{kind}>'


def meshed(tmp_path, *shapes):
    path = tmp_path / 'robot.urdf'
    spin = joint('spin', 'continuous', 'base', 'arm', '0 0 1')
    path.write_text(robot(link('arm', shape=''.join(shapes)), spin))
    return World(path, joint_names=('spin',), end_effector_frame='arm')


def test_meshes_are_found_beside_the_file_and_in_packages(tmp_path, monkeypatch):
    share = tmp_path / 'install' / 'share' / 'parts' / 'meshes'
    share.mkdir(parents=True)
    (share / 'part.stl').write_bytes(tetrahedron())
    (tmp_path / 'part.STL').write_bytes(tetrahedron())
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path / "install"}')
    world = meshed(
        tmp_path,
        mesh('visual', 'package://parts/meshes/part.stl'),
        mesh('visual', 'part.STL', '2 2 2'),
        mesh('visual', f'file://{tmp_path}/part.STL'),
        mesh('collision', f'{tmp_path}/part.STL'),
    )
    assert world.notes == ()
    assert len(geoms_of(world, 'arm')) == 4
    assert world.mass_matrix([0.0])[0, 0] == pytest.approx(0.1)
    sizes = sorted(world.model.geom_rbound[geoms_of(world, 'arm')])
    assert sizes[-1] == pytest.approx(2 * sizes[0], rel=1e-6)


@pytest.mark.parametrize(
    ('uri', 'reason'),
    [
        ('package://parts/meshes/part.stl', "package 'parts' is not on AMENT_PREFIX_PATH"),
        ('part.dae', '.stl and .obj alone'),
        ('lost.stl', 'no such file'),
        ('', '.stl and .obj alone'),
    ],
)
def test_a_mesh_that_cannot_be_had_is_left_out_and_named(tmp_path, monkeypatch, uri, reason):
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    world = meshed(tmp_path, mesh('visual', uri), shape('visual'))
    assert len(geoms_of(world, 'arm')) == 1
    assert len(world.notes) == 1
    assert "visual of link 'arm' left out" in world.notes[0]
    assert reason in world.notes[0]


def test_a_mesh_that_is_broken_does_not_take_the_arm_with_it(tmp_path):
    (tmp_path / 'broken.stl').write_bytes(b'solid nonsense')
    (tmp_path / 'good.stl').write_bytes(tetrahedron())
    world = meshed(tmp_path, mesh('visual', 'broken.stl'), mesh('visual', 'good.stl'))
    assert len(geoms_of(world, 'arm')) == 0
    assert 'all meshes left out' in world.notes[0]
    assert 'STL' in world.notes[0]
    world.step(np.zeros(1))


def test_textures_are_ignored(tmp_path):
    paint = '<material name="m"><texture filename="lost.png"/></material></visual>'
    world = meshed(tmp_path, shape('visual').replace('</visual>', paint))
    assert len(geoms_of(world, 'arm')) == 1


def test_the_camera_of_the_window_sees_the_robot():
    world = gen3()
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(world.model, camera)
    assert np.linalg.norm(camera.lookat - [0, 0, 0.59]) < 0.1
    assert 1.5 < camera.distance < 2.5
    assert camera.elevation == pytest.approx(-18)
