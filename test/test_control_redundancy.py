"""Seven joints: the null space, and the same laws on another arm without code."""

import numpy as np
import pytest
from closed_loop import ClosedLoop, changed, model_of, parameters_of

from icir_control.app.promises.accuracy import HOME_7DOF as HOME
from icir_control.control import ControllerConfig
from icir_control.errors import ConfigurationError


@pytest.fixture
def loop():
    return ClosedLoop(robot='gen3_7dof', start=HOME)


def test_elbow_moves_and_the_tool_stays(loop):
    before, q = loop.placement, loop.q.copy()
    loop.controller.select('elbow')
    for _ in range(6000):
        loop.step()
        moved = loop.controller.current_pose.translation - before.translation
        assert np.linalg.norm(moved) < 1e-6
    assert np.degrees(np.abs(loop.q - q)).max() > 20.0
    np.testing.assert_allclose(loop.placement.rotation, before.rotation, atol=1e-9)
    assert np.abs(loop.v).max() < 0.01, 'the posture has come to rest'


def test_tool_motion_leaves_no_drift_in_the_null_space(loop):
    loop.go('down', 2.5)
    q = loop.q.copy()
    loop.run(2000)
    np.testing.assert_allclose(loop.q, q, atol=1e-9)


def test_home_is_tracked_to_round_off():
    loop = ClosedLoop(robot='gen3_7dof', start=np.zeros(7))
    recording = loop.go('home', 5.0)
    assert np.abs(recording['position'] - recording['position_reference']).max() < 1e-12
    np.testing.assert_allclose(loop.q, HOME, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize('axis', [0, 1, 2])
def test_impedance_yields_by_its_stiffness_and_the_elbow_comes_to_rest(loop, axis):
    loop.go('impedance', 0.5)
    wrench = np.zeros(6)
    wrench[axis] = 5.0
    moved = loop.pushed(wrench, 3.0)[:3]
    np.testing.assert_allclose(moved, wrench[:3] / 500.0, atol=0.005 * 0.01)
    loop.run(4000)
    assert np.abs(loop.v).max() < 1e-3


def test_posture_needs_a_null_space():
    parameters = changed(parameters_of(), modes__down__posture_deg=[0.0] * 6)
    with pytest.raises(ConfigurationError, match='no null space'):
        ControllerConfig.from_parameters(parameters, model_of())


def test_posture_outside_the_limits_is_refused():
    posture = [0.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    parameters = changed(parameters_of('gen3_7dof'), modes__elbow__posture_deg=posture)
    with pytest.raises(ConfigurationError, match='posture_deg has joint_2'):
        ControllerConfig.from_parameters(parameters, model_of('gen3_7dof'))
