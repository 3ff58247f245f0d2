"""Our terms of robots in URDF against MuJoCo, which reads the same files by itself."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from agreement import assert_equal

from icir_control.dynamics import (
    ReferenceFrame,
    compute_all_terms,
    frame_classical_acceleration,
    frame_jacobian,
    frame_placement,
    frame_velocity,
    load_urdf,
)

ROOT = Path(__file__).resolve().parent.parent
ROBOTS = {
    ROOT / 'urdf/gen3_6dof.urdf': 'end_effector_link',
    ROOT / 'urdf/gen3_7dof.urdf': 'end_effector_link',
    ROOT / 'test/data/branching.urdf': 'right_tool',
    ROOT / 'test/data/gantry.urdf': 'finger',
    ROOT / 'test/data/chain.urdf': 'l4',
}
STATES = 50


def mujoco_model(path):
    """What MuJoCo makes of a URDF by itself, all links kept."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    return spec.compile()


@pytest.fixture(params=ROBOTS, ids=lambda path: path.stem)
def robot(request):
    path = request.param
    model = load_urdf(path)
    oracle = mujoco_model(path)
    joints = [oracle.joint(i).name for i in range(oracle.njnt)]
    assert list(model.joint_names) == joints
    return model, oracle, ROBOTS[path]


def test_terms_and_frames_agree_with_mujoco(robot):
    model, oracle, tip = robot
    data, theirs = model.create_data(watch=tip), mujoco.MjData(oracle)
    frame = model.frame_id(tip)
    body = oracle.body(tip).id
    rng = np.random.default_rng(1)
    M = np.zeros((model.nv, model.nv))
    point, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    for _ in range(STATES):
        q, v = model.random_configuration(rng), rng.uniform(-3, 3, model.nv)
        compute_all_terms(model, data, q, v)
        theirs.qpos[:], theirs.qvel[:] = q, v
        mujoco.mj_forward(oracle, theirs)
        mujoco.mj_fullM(oracle, theirs, M)
        assert_equal(data.M, M)
        assert_equal(data.nle, theirs.qfrc_bias)
        pose = frame_placement(model, data, frame)
        R = theirs.xmat[body].reshape(3, 3)
        assert_equal(pose.rotation, R)
        assert_equal(pose.translation, theirs.xpos[body])

        mujoco.mj_jacBody(oracle, theirs, point, turn, body)
        local = np.vstack([R.T @ point, R.T @ turn])
        assert_equal(frame_jacobian(model, data, frame), local)
        assert_equal(
            frame_jacobian(model, data, frame, ReferenceFrame.LOCAL_WORLD_ALIGNED),
            np.vstack([point, turn]),
        )
        assert_equal(frame_velocity(model, data, frame).vector, local @ v)
        mujoco.mj_jacDot(oracle, theirs, point, turn, theirs.xpos[body], body)
        drift = np.concatenate([R.T @ point @ v, R.T @ turn @ v])
        assert_equal(frame_classical_acceleration(model, data, frame).vector, drift)

        watched = data.watched
        assert_equal(watched.rotation, pose.rotation)
        assert_equal(watched.position, pose.translation)
        assert_equal(watched.jacobian, local)
        assert_equal(watched.twist, local @ v)
        assert_equal(watched.drift, drift)

        theirs.qvel[:] = 0.0
        mujoco.mj_forward(oracle, theirs)
        assert_equal(data.g, theirs.qfrc_bias)
