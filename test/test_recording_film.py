"""A film shows the recorded poses: its frames beside pictures by MuJoCo's own renderer."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from recorded_run import write_run
from ros_processes import ICIR_CONTROL

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.recording.film import world_of, write_film
from icir_control.app.recording.reader import Recording
from icir_control.app.robot import RobotFiles
from icir_control.share import share_directory

SIZE = (800, 600)
RATE = 15

# Draws the poses of argv[1] (npy) to argv[2], as mujoco.Renderer does it with its free camera.
RENDER = """
import sys, mujoco, numpy as np
from icir_control.share import share_directory
from icir_control.simulation import World
from icir_control.simulation.drawing import framing, visible_corners
names = [f'joint_{i}' for i in range(1, 7)]
urdf = (share_directory() / 'urdf' / 'gen3_6dof.urdf').read_text()
model = World(urdf, joint_names=names, end_effector_frame='end_effector_link').model
model.vis.global_.offwidth, model.vis.global_.offheight = 800, 600
data, camera, pictures = mujoco.MjData(model), mujoco.MjvCamera(), []
mujoco.mjv_defaultFreeCamera(model, camera)
points = []
for q in np.load(sys.argv[3]):
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    points.append(visible_corners(model, data.geom_xmat, data.geom_xpos))
camera.lookat[:], camera.distance = framing(model, np.concatenate(points), 800 / 600)
renderer = mujoco.Renderer(model, 600, 800)
for q in np.load(sys.argv[1]):
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    renderer.update_scene(data, camera)
    renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
    pictures.append(renderer.render())
np.save(sys.argv[2], pictures)
"""


def film_of(recording, output):
    command = [*ICIR_CONTROL, 'film', str(recording), '-o', str(output)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    if 'no picture can be drawn' in done.stderr:
        pytest.skip('neither EGL nor OSMesa here: apt install libegl1 libgl1-mesa-dri')
    return done


def frames_of(film) -> np.ndarray:
    imageio_ffmpeg = pytest.importorskip('imageio_ffmpeg')
    frames = imageio_ffmpeg.read_frames(str(film))
    assert next(frames)['size'] == SIZE
    return np.array([np.frombuffer(frame, np.uint8) for frame in frames]).reshape(-1, 600, 800, 3)


@pytest.mark.slow
def test_frames_show_the_recorded_pose_and_the_ghost_stands_apart(tmp_path):
    recording, film, plain = (tmp_path / name for name in ('run.mcap', 'run.mp4', 'plain.mp4'))
    modes = (('gravity', 50), ('home', 450))
    rows = write_run(recording, modes, joint_offset=0.5)
    done = film_of(recording, film)
    assert done.returncode == 0, done.stderr
    assert str(film) in done.stdout
    write_run(tmp_path / 'plain.mcap', modes)
    assert film_of(tmp_path / 'plain.mcap', plain).returncode == 0
    ghostly, frames = frames_of(film), frames_of(plain)
    assert abs(len(frames) - RATE * len(rows) * 1e-3) <= 1

    moments = [0, 4, 7]
    poses, pictures, way = (tmp_path / f'{name}.npy' for name in ('poses', 'pictures', 'way'))
    at = [rows[min(round(i / RATE * 1e3), len(rows) - 1)][0] for i in range(len(frames))]
    np.save(poses, [at[moment] for moment in moments])
    np.save(way, at)
    command = [sys.executable, '-c', RENDER, poses, pictures, way]
    subprocess.run(command, check=True, env={**os.environ, 'MUJOCO_GL': 'egl'})
    shown = frames[moments].astype(float)[:, 100:]  # below the caption
    expected = np.load(pictures).astype(float)[:, 100:]
    distance = np.abs(shown[:, None] - expected[None]).mean(axis=(2, 3, 4))
    assert (distance.argmin(axis=1) == [0, 1, 2]).all(), distance
    # The film is compressed; nothing as large as a link differs.
    for one, other in zip(shown, expected, strict=True):
        assert (np.abs(one - other).max(axis=-1) > 80.0).mean() < 2e-3
    # The ghost is green, and the arm is not covered by it.
    red, green, blue = np.moveaxis(ghostly[7].astype(int), -1, 0)
    assert np.count_nonzero(green > np.maximum(red, blue) + 25) > 500
    red, green, blue = np.moveaxis(frames[7].astype(int), -1, 0)
    assert np.count_nonzero(green > np.maximum(red, blue) + 25) < 50


@pytest.mark.slow
def test_an_interrupted_film_leaves_the_one_before(tmp_path):
    write_run(tmp_path / 'run.mcap', (('gravity', 300),))
    recording, film = Recording(tmp_path / 'run.mcap'), tmp_path / 'run.MP4'
    done = film_of(recording.path, film)
    assert done.returncode == 0, done.stderr
    before = film.read_bytes()
    assert frames_of(film).size

    def interrupt(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_film(recording, film, interrupt)
    assert film.read_bytes() == before
    assert {*tmp_path.iterdir()} == {recording.path, film}


@pytest.mark.slow
def test_bad_input_is_one_sentence(tmp_path):
    write_run(tmp_path / 'stateless.mcap', (('gravity', 5),), states=False)
    write_run(tmp_path / 'run.mcap', (('gravity', 5),))
    refused = film_of(tmp_path / 'stateless.mcap', tmp_path / 'film.mp4')
    assert refused.returncode == 2
    assert 'has no joint_states' in refused.stderr
    lost = film_of(tmp_path / 'run.mcap', tmp_path / 'nowhere' / 'film.mp4')
    assert lost.returncode == 2
    assert 'film.mp4 cannot be written to' in lost.stderr
    nameless = film_of(tmp_path / 'run.mcap', tmp_path / 'film.txt')
    assert nameless.returncode == 2
    assert 'expected one that ends in .mp4, .mkv, .mov, .avi, .webp' in nameless.stderr
    folder = subprocess.run([*ICIR_CONTROL, 'film', '.'], capture_output=True, text=True)
    assert folder.returncode == 2
    assert '. cannot be read: Is a directory' in folder.stderr
    environment = os.environ | {'MUJOCO_GL': 'nonsense'}
    command = [*ICIR_CONTROL, 'film', str(tmp_path / 'run.mcap')]
    blind = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert blind.returncode == 2
    assert 'MuJoCo does not start with MUJOCO_GL=nonsense' in blind.stderr
    for done in (refused, lost, nameless, folder, blind):
        assert 'Traceback' not in done.stderr


@pytest.mark.slow
def test_meshes_that_lie_above_the_urdf_are_in_the_film(tmp_path):
    """A recording holds the URDF's text; its meshes are found from where the file is."""
    package = tmp_path / 'some_arm_description'
    (package / 'urdf').mkdir(parents=True)
    (package / 'meshes').mkdir()
    trimesh = pytest.importorskip('trimesh')
    trimesh.creation.box((0.1, 0.1, 0.4)).export(package / 'meshes' / 'rod.stl')
    shape = '<geometry><mesh filename="package://some_arm_description/meshes/rod.stl"/></geometry>'
    source = (share_directory() / 'urdf' / 'gen3_6dof.urdf').read_text()
    urdf, count = re.subn(r'<geometry>.*?</geometry>', shape, source, count=1, flags=re.DOTALL)
    assert count == 1
    (package / 'urdf' / 'arm.urdf').write_text(urdf)
    where = {'model': str(package / 'urdf' / 'arm.urdf')}
    recording = recorded(tmp_path / 'run.mcap', urdf, where)
    assert world_of(recording).model.nmesh == 1
    # Another file of that name has other meshes, if any.
    (package / 'urdf' / 'arm.urdf').write_text(source)
    assert world_of(recording).left_out


def test_a_film_is_of_the_joints_of_the_run(tmp_path):
    """What mimics a joint moves with it; another one is held within its limits."""
    urdf = (Path(__file__).resolve().parent / 'data' / 'coupled_arm.urdf').read_text()
    before, grip, after = urdf.partition('<joint name="grip"')
    urdf = before + grip + after.replace('lower="-1.5"', 'lower="0.1"', 1)
    (tmp_path / 'arm.urdf').write_text(urdf)
    robot, file = RobotFiles.of(model=str(tmp_path / 'arm.urdf')), tmp_path / 'run.mcap'
    write_run(file, (('gravity', 5),), robot=robot, urdf=urdf)
    loop, world = ClosedLoop(robot), world_of(Recording(file))
    assert world.joint_names == loop.model.joint_names
    q = np.array([0.1, 0.2, 1.3, 0.4, 0.5, 0.6])
    np.testing.assert_array_equal(world.positions(q), loop.world.positions(q))


def recorded(path, urdf, parameters):
    write_run(path, (('gravity', 5),), urdf=urdf, parameters=parameters)
    return Recording(path)
