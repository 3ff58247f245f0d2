"""What surrounds the robot: floor, neighbours, meshes, pictures."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
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
from icir_control.simulation.drawing import framing, visible_corners

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


def test_a_flat_link_that_rounding_makes_less_than_flat_is_taken():
    """Ixx + Iyy = Izz, turned: MuJoCo finds them 1e-21 off, and refuses the link by itself."""
    flat = '<inertia ixx="9e-6" iyy="1e-6" izz="1e-5" ixy="-1e-6" ixz="0" iyz="0"/>'
    finger = re.sub('<inertia [^>]*>', flat, link('finger'))
    weld = joint('weld', 'fixed', 'arm', 'finger', '0 0 1')
    spin = joint('spin', 'continuous', 'base', 'arm', '0 0 1')
    with pytest.raises(ValueError, match=r'A \+ B >= C'):
        mujoco.MjModel.from_xml_string(robot(link('arm'), finger, spin, weld))
    world = spinning(link('arm'), finger, spin, weld)
    assert world.data.ncon == 0


def three_links(reach, radius=0.05, **options):
    """Return a world in whose zero posture the balls of the first and the last link touch."""
    return World(
        robot(
            link('first', shape=shape('collision', radius)),
            link('middle'),
            link('last', shape=shape('collision', radius)),
            joint('one', 'continuous', 'base', 'first', '0 0 1'),
            joint('two', 'continuous', 'first', 'middle', '0.1 0 0'),
            joint('three', 'continuous', 'middle', 'last', f'{reach} 0 0'),
        ),
        joint_names=('one', 'two', 'three'),
        end_effector_frame='last',
        **options,
    )


def test_links_that_are_no_neighbours_do_touch_and_it_is_said():
    world = three_links(-0.05, initial_configuration=np.zeros(3))
    assert world.data.ncon == 1
    (note,) = world.notes
    assert note.startswith('first and last touch in the initial configuration')


def test_a_robot_starts_next_to_zero_where_it_does_not_touch_itself():
    """They touch within 75.5 deg of the second joint: cos(a) > 1 / 4."""
    world = three_links(-0.05)
    assert world.data.ncon == 0
    angle = abs(np.remainder(world.position[1] + np.pi, 2 * np.pi) - np.pi)
    assert np.arccos(0.25) < angle < np.arccos(0.25) + 0.4
    assert 'first and last touch in the initial configuration; started at' in world.notes[0]
    start = world.position
    world.reset()
    np.testing.assert_array_equal(world.position, start)
    np.testing.assert_array_equal(three_links(-0.05).position, start)


LIMIT = '<limit lower="-3" upper="3" effort="3" velocity="1"/>'
HEAVY = (  # 9.81 N m at zero, where the rod is level
    link('arm', 2.0, com='0.5 0 0'),
    joint('spin', 'revolute', 'base', 'arm', '0 0 2', '0 1 0', LIMIT),
)


def test_a_robot_starts_where_its_motors_hold_its_weight():
    world = spinning(*HEAVY)
    assert abs(world.bias(world.position, np.zeros(1))[0]) < 0.8 * 3.0
    assert world.notes[0].startswith(
        'spin cannot hold the weight, 9.81 N m or N with an effort of 3 in the initial'
    )
    world.step(world.bias(world.position, np.zeros(1)))
    assert abs(state(world)[1][0]) < 1e-12


def test_a_start_that_is_given_is_taken_and_what_is_wrong_with_it_said():
    world = spinning(*HEAVY, initial_configuration=[0.1])
    np.testing.assert_array_equal(world.position, [0.1])
    assert 'spin cannot hold the weight' in world.notes[0]
    assert 'no other start is taken' in world.notes[0]


def test_links_that_overlap_whatever_the_joints_do_do_not_collide():
    world = three_links(-0.05, 0.1)
    np.testing.assert_array_equal(world.position, np.zeros(3))
    assert world.data.ncon == 0
    assert world.notes == (
        'overlap in most postures, so that they do not collide: first and last',
    )


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


def meshed(tmp_path, *shapes, **options):
    path = tmp_path / 'robot.urdf'
    spin = joint('spin', 'continuous', 'base', 'arm', '0 0 1')
    path.write_text(robot(link('arm', shape=''.join(shapes)), spin))
    return World(path, joint_names=('spin',), end_effector_frame='arm', **options)


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


@pytest.mark.parametrize('folder', ['parts', 'parts-main', 'share/parts'])
def test_the_package_of_a_mesh_is_found_above_the_urdf(tmp_path, monkeypatch, folder):
    """Whatever the name of a copy of the package, and without an ament index."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    for inside in ('meshes', 'urdf/arms'):
        (tmp_path / folder / inside).mkdir(parents=True)
    (tmp_path / folder / 'meshes' / 'part.stl').write_bytes(tetrahedron())
    world = meshed(
        tmp_path / folder / 'urdf' / 'arms', mesh('visual', 'package://parts/meshes/part.stl')
    )
    assert world.left_out == ()
    assert len(geoms_of(world, 'arm')) == 1


@pytest.mark.parametrize('given', ['.', 'parts', 'parts-main'])
def test_the_package_of_a_mesh_is_found_where_it_is_said(tmp_path, monkeypatch, given):
    """In a folder that holds it, or is it."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    package = tmp_path / 'elsewhere' / ('parts' if given == '.' else given)
    for folder in (package, tmp_path / 'mine'):
        folder.mkdir(parents=True)
    (package / 'part.stl').write_bytes(tetrahedron())
    visual = mesh('visual', 'package://parts/part.stl')
    assert len(meshed(tmp_path / 'mine', visual).left_out) == 1
    options = {'package_dirs': [str(tmp_path / 'elsewhere' / given)]}
    assert meshed(tmp_path / 'mine', visual, **options).left_out == ()


@pytest.mark.parametrize('suffix', ['dae', 'ply', 'glb', 'off'])
def test_formats_that_mujoco_does_not_read_are_converted_once(tmp_path, monkeypatch, suffix):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    box.visual.face_colors = [204, 51, 0, 255]
    (tmp_path / f'box.{suffix}').write_bytes(as_bytes(box.export(file_type=suffix)))
    worlds = [meshed(tmp_path, mesh('visual', f'box.{suffix}')) for _ in range(2)]
    (kept,) = (tmp_path / 'cache' / 'icir_control_meshes').iterdir()
    assert kept.suffix == '.stl'
    for world in worlds:
        (geom,) = geoms_of(world, 'arm')
        corners = world.model.mesh_vert[: world.model.mesh_vertnum[0]]
        np.testing.assert_allclose(np.sort(np.ptp(corners, axis=0)), [0.1, 0.2, 0.3], atol=1e-6)
        if suffix != 'off':  # it has none
            np.testing.assert_allclose(world.model.geom_rgba[geom], [0.8, 0.2, 0, 1], atol=1e-3)


@pytest.mark.slow
def test_meshes_are_read_without_what_make_sim_leaves_out(tmp_path):
    makefile = Path(__file__).parents[1] / 'Makefile'
    (unused,) = re.findall(r'^UNUSED := (.*)$', makefile.read_text(), re.MULTILINE)
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    box.visual.face_colors = [204, 51, 0, 255]
    paths = [tmp_path / f'box.{suffix}' for suffix in ('dae', 'obj', 'ply', 'glb', 'off', 'stl')]
    for path in paths:
        path.write_bytes(as_bytes(box.export(file_type=path.suffix[1:])))
    program = """
import sys
unused, *paths = sys.argv[1:]
sys.modules |= dict.fromkeys(unused.replace('-', '_').split())
from pathlib import Path
from icir_control.simulation.meshes import read_mesh
for path in paths:
    mesh, _ = read_mesh(Path(path))
    print(*(mesh.vertices.max(axis=0) - mesh.vertices.min(axis=0)))
"""
    done = subprocess.run(
        [sys.executable, '-c', program, unused, *map(str, paths)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    sizes = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    np.testing.assert_allclose(sizes, [[0.1, 0.2, 0.3]] * len(paths), atol=1e-6)


def as_bytes(exported):
    return exported if isinstance(exported, bytes) else exported.encode()


def test_a_collada_file_in_millimetres_is_brought_to_metres(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    text = as_bytes(trimesh.creation.box((100, 200, 300)).export(file_type='dae')).decode()
    assert '<unit' not in text  # metres then
    unit = '<unit name="millimeter" meter="0.001"/></asset>'
    (tmp_path / 'box.dae').write_text(text.replace('</asset>', unit))
    world = meshed(tmp_path, mesh('visual', 'box.dae'))
    corners = world.model.mesh_vert[: world.model.mesh_vertnum[0]]
    np.testing.assert_allclose(np.sort(np.ptp(corners, axis=0)), [0.1, 0.2, 0.3], atol=1e-6)


@pytest.mark.parametrize(
    ('uri', 'reason'),
    [
        (
            'package://parts/meshes/part.stl',
            'no such file above the URDF, in a --package-dir, or on',
        ),
        ('broken.dae', 'XML Parsing Error'),
        ('part.xyzzy', 'no mesh format that is known; valid: '),
        ('lost.stl', 'no such file'),
        ('', 'no such file'),
    ],
)
def test_a_mesh_that_cannot_be_had_is_left_out_and_named(tmp_path, monkeypatch, uri, reason):
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    for name in ('broken.dae', 'part.xyzzy'):
        (tmp_path / name).write_text('nonsense')
    world = meshed(tmp_path, mesh('visual', uri), shape('visual'))
    assert len(geoms_of(world, 'arm')) == 1
    (note,) = world.notes
    assert note.startswith('1 shape left out')
    assert f"visual of link 'arm': {uri}" in note
    assert reason in note
    assert len(world.left_out) == 1


def test_a_mesh_that_is_broken_does_not_take_the_arm_with_it(tmp_path, monkeypatch):
    """MuJoCo refuses one of them, and tells no name: both are read by trimesh then."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    (tmp_path / 'broken.stl').write_bytes(bytes(80) + struct.pack('<I', 4))
    (tmp_path / 'good.stl').write_bytes(tetrahedron())
    (tmp_path / 'text.stl').write_text(
        trimesh.creation.box().export(file_type='stl_ascii')  # which MuJoCo does not read
    )
    world = meshed(tmp_path, *(mesh('visual', f'{n}.stl') for n in ('broken', 'good', 'text')))
    assert len(geoms_of(world, 'arm')) == 2
    assert len(world.left_out) == 1
    assert 'broken.stl' in world.left_out[0]
    world.step(np.zeros(1))


def test_a_flat_mesh_is_drawn(tmp_path):
    (tmp_path / 'flat.stl').write_bytes(
        trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).export(file_type='stl')
    )
    assert len(geoms_of(meshed(tmp_path, mesh('visual', 'flat.stl')), 'arm')) == 1


def test_a_link_without_any_shape_is_drawn_by_its_inertia(tmp_path):
    """A uniform box of the same inertia is as large as the ellipsoid, but for sqrt(5 / 3)."""
    size = np.array([0.3, 0.2, 0.1])
    x, y, z = size**2
    ixx, iyy, izz = np.array([y + z, x + z, x + y]) / 12.0
    inertia = f'ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"'
    inertial = f'<inertial><mass value="1"/><inertia {inertia}/></inertial>'
    spin = joint('spin', 'continuous', 'base', 'arm', '0 0 1')
    world = World(
        robot(f'<link name="arm">{inertial}</link>', spin),
        joint_names=('spin',),
        end_effector_frame='arm',
    )
    (geom,) = geoms_of(world, 'arm')
    expected = np.sqrt(5.0 / 3.0) * size / 2.0
    np.testing.assert_allclose(np.sort(world.model.geom_size[geom]), np.sort(expected), rtol=1e-9)
    assert world.model.geom_contype[geom] == 0
    assert world.mass_matrix([0.0])[0, 0] == pytest.approx(izz)


def test_textures_are_ignored(tmp_path):
    paint = '<material name="m"><texture filename="lost.png"/></material></visual>'
    world = meshed(tmp_path, shape('visual').replace('</visual>', paint))
    assert len(geoms_of(world, 'arm')) == 1


def in_picture(world, camera, points):
    """Return where points are in a picture of 4:3, its edges at -1 and 1, as MuJoCo draws it."""
    scene = mujoco.MjvScene(world.model, 1000)
    every, nothing = mujoco.mjtCatBit.mjCAT_ALL, mujoco.MjvPerturb()
    options = mujoco.MjvOption()
    mujoco.mjv_updateScene(world.model, world.data, options, nothing, camera, every, scene)
    eye = scene.camera[0]  # the left one, a little beside the middle
    forward, up = np.array(eye.forward), np.array(eye.up)
    way = points - 0.5 * (scene.camera[0].pos + scene.camera[1].pos)
    half = (eye.frustum_top - eye.frustum_bottom) / 2.0 / eye.frustum_near
    depth = way @ forward
    assert (depth > eye.frustum_near).all()
    return np.column_stack([way @ np.cross(forward, up) / (4.0 / 3.0), way @ up]) / (
        half * depth[:, None]
    )


@pytest.mark.parametrize('make', [gen3, double_pendulum])
def test_the_window_shows_all_that_the_robot_can_reach(make):
    world, camera, rng, points = make(), mujoco.MjvCamera(), np.random.default_rng(1), []
    mujoco.mjv_defaultFreeCamera(world.model, camera)
    for _ in range(500):
        limited = world.model.jnt_limited.astype(bool)[:, None]
        world.data.qpos[:] = rng.uniform(*np.where(limited, world.model.jnt_range, [-3, 3]).T)
        mujoco.mj_kinematics(world.model, world.data)
        points.append(world.data.xpos[world.data.xpos[:, 2] > 0.0])
    shown = np.abs(in_picture(world, camera, np.concatenate(points)))
    assert shown.max() < 1.0
    assert shown.max() > 0.7
    assert camera.elevation == pytest.approx(-18)


def test_a_camera_looks_at_a_motion_no_farther_than_it_must():
    world, camera = gen3(), mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(world.model, camera)
    data, points = world.data, []
    for angle in np.linspace(0.3, 1.2, 10):
        data.qpos[:] = [0.5 * angle, angle, -angle, 0, angle, 0]
        mujoco.mj_kinematics(world.model, data)
        points.append(visible_corners(world.model, data.geom_xmat, data.geom_xpos))
    corners = np.concatenate(points)
    camera.lookat[:], camera.distance = framing(world.model, corners, 4.0 / 3.0)
    shown = np.abs(in_picture(world, camera, corners))
    assert shown.max() == pytest.approx(0.9, abs=0.01)


def test_an_inertia_larger_than_its_link_is_drawn_as_large_as_the_robot_allows():
    """The wrists of a well-known URDF of a UR5 have moments of spheres of half a metre."""
    world = World(
        robot(
            link('upper', mass=8.0, com='0 0 0.28', inertia=(0.22, 0.22, 0.015)),
            link('wrist', mass=1.2, inertia=(0.11, 0.11, 0.11)),
            joint('one', 'continuous', 'base', 'upper', '0 0 0.1', '0 1 0'),
            joint('two', 'continuous', 'upper', 'wrist', '0 0 0.6', '0 1 0'),
        ),
        joint_names=('one', 'two'),
        end_effector_frame='wrist',
    )
    (upper,), (wrist,) = geoms_of(world, 'upper'), geoms_of(world, 'wrist')
    assert world.model.geom_size[wrist] == pytest.approx([0.06] * 3)
    moments = np.array([0.22, 0.22, 0.015])
    uniform = np.sqrt(2.5 * (moments.sum() - 2.0 * moments) / 8.0)
    assert np.sort(world.model.geom_size[upper]) == pytest.approx(np.sort(uniform))
