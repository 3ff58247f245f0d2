"""A film shows the recorded poses: its frames beside pictures by MuJoCo's own renderer."""

import os
import subprocess
import sys

import numpy as np
import pytest
from recorded_run import write_run
from ros_processes import ICIR_CONTROL

SIZE = (800, 600)
RATE = 15

# Draws the poses of argv[1] (npy) to argv[2], as mujoco.Renderer does it with its free camera.
RENDER = """
import sys, mujoco, numpy as np
from icir_control.share import share_directory
from icir_control.simulation import World
names = [f'joint_{i}' for i in range(1, 7)]
urdf = (share_directory() / 'urdf' / 'gen3_6dof.urdf').read_text()
model = World(urdf, joint_names=names, end_effector_frame='end_effector_link').model
model.vis.global_.offwidth, model.vis.global_.offheight = 800, 600
data, camera, pictures = mujoco.MjData(model), mujoco.MjvCamera(), []
mujoco.mjv_defaultFreeCamera(model, camera)
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
    poses, pictures = tmp_path / 'poses.npy', tmp_path / 'pictures.npy'
    np.save(poses, [rows[round(moment / RATE * 1e3)][0] for moment in moments])
    command = [sys.executable, '-c', RENDER, poses, pictures]
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
def test_bad_input_is_one_sentence(tmp_path):
    write_run(tmp_path / 'stateless.mcap', (('gravity', 5),), states=False)
    write_run(tmp_path / 'run.mcap', (('gravity', 5),))
    refused = film_of(tmp_path / 'stateless.mcap', tmp_path / 'film.mp4')
    assert refused.returncode == 2
    assert 'has no joint_states' in refused.stderr
    lost = film_of(tmp_path / 'run.mcap', tmp_path / 'nowhere' / 'film.mp4')
    assert lost.returncode == 2
    assert 'film.mp4 cannot be written to' in lost.stderr
    assert 'Traceback' not in refused.stderr + lost.stderr
