"""The textbook law that the shipped controller is compared with."""

import mujoco
import numpy as np
import pytest
from closed_loop import HOME, READY, UPRIGHT, ClosedLoop, model_of, urdf_of
from mujoco_oracle import MujocoOracle

from icir_control.app.promises.plants import (
    DEVIATIONS,
    DOWN_BOUNDS,
    HOME_BOUNDS,
    combinations,
    ratio,
    shipped,
    textbook,
)
from icir_control.app.promises.textbook import (
    KP,
    ComputedTorque,
    joint_reference,
    tool_reference,
)
from icir_control.simulation import Plant


@pytest.fixture(params=['mujoco', 'pinocchio'])
def terms(request):
    """Another implementation's M and nle of the arm, as a function of q and v."""
    if request.param == 'mujoco':
        oracle = MujocoOracle(model_of())

        def by_mujoco(q, v):
            oracle.set_state(q, v)
            return oracle.mass_matrix(), oracle.nle()

        return by_mujoco
    pin = pytest.importorskip(
        'pinocchio', reason='the optional oracle `pin` is not installed (extra `bench`)'
    )
    model = pin.buildModelFromXML(urdf_of().read_text().replace('"continuous"', '"revolute"'))
    data = model.createData()

    def by_pinocchio(q, v):
        pin.computeAllTerms(model, data, q, v)
        return data.M, data.nle

    return by_pinocchio


def test_it_is_computed_torque(terms):
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v, *reference = rng.uniform(-1.0, 1.0, (5, 6))
        M, nle = terms(q, v)
        ddq = reference[2] + KP * (reference[0] - q) + 2.0 * np.sqrt(KP) * (reference[1] - v)
        torque = ComputedTorque(model_of()).torque(np.array(reference), q, v, 1e-3)
        np.testing.assert_allclose(torque, M @ ddq + nle, rtol=1e-9, atol=1e-7)


def test_its_integral_adds_up():
    law, plain = ComputedTorque(model_of(), ki=100.0), ComputedTorque(model_of())
    reference, rest = np.array([HOME, np.zeros(6), np.zeros(6)]), np.zeros(6)
    for k in (1, 2):
        more = law.torque(reference, READY, rest, 0.1) - plain.torque(reference, READY, rest, 0.1)
        once = ComputedTorque(model_of(), ki=100.0).torque(reference, READY, rest, 0.1 * k)
        once -= plain.torque(reference, READY, rest, 0.1)
        np.testing.assert_allclose(more, once, atol=1e-8)


@pytest.mark.parametrize('motion', ['home', 'down'])
def test_its_references_are_the_path_and_its_derivatives(motion):
    h = 1e-3
    times = np.arange(200, 260) * h
    if motion == 'home':
        reference = joint_reference(times, UPRIGHT, HOME, 2.0)
    else:
        way = np.array([0.0, 0.0, -0.05])
        reference = tool_reference(model_of(), 'end_effector_link', times, HOME, way, 2.0)
        world = ClosedLoop(start=HOME).world
        share = 3.0 * (times / 2.0) ** 2 - 2.0 * (times / 2.0) ** 3
        places = np.array([world.frame_placement(q) for q in reference[:, 0]])
        first = world.frame_placement(HOME)
        line = first[:, 3] + np.outer(share, way)
        np.testing.assert_allclose(places[:, :, 3], line, atol=1e-12)
        assert np.abs(places[:, :, :3] - first[:, :3]).max() < 1e-12
    for order in (1, 2):
        slope = (reference[2:, order - 1] - reference[:-2, order - 1]) / (2.0 * h)
        np.testing.assert_allclose(reference[1:-1, order], slope, atol=1e-6)


@pytest.mark.slow
def test_on_the_exact_plant_it_leaves_what_the_documents_say():
    assert textbook('home', Plant()).error == pytest.approx(11.8e-6, rel=0.02)
    assert textbook('down', Plant()).error < 1e-6
    assert ratio(shipped('home', Plant()), textbook('home', Plant())) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize('name', ['heavier', 'payload_at_10_cm'])
@pytest.mark.parametrize('mode', ['home', 'down'])
def test_the_shipped_controller_is_better_on_other_plants(mode, name):
    """`make demo` measures all of them."""
    plant = Plant(**DEVIATIONS[name])
    bounds = HOME_BOUNDS if mode == 'home' else DOWN_BOUNDS
    assert ratio(shipped(mode, plant), textbook(mode, plant)) < bounds.get(name, 0.5)


def test_combinations_are_the_same_each_time_and_differ():
    first, again = (list(combinations(8)) for _ in range(2))
    assert [repr(plant) for plant in first] == [repr(plant) for plant in again]
    assert len({repr(plant) for plant in first}) == 8
    assert all(len(plant.differences) > 1 for plant in first)


def test_mujoco_says_where_the_tool_is():
    """The pose of the closed loop is that of the simulator, not the controller's own."""
    loop = ClosedLoop(start=HOME)
    data = mujoco.MjData(loop.world.model)
    data.qpos[:] = HOME
    mujoco.mj_forward(loop.world.model, data)
    np.testing.assert_allclose(
        loop.placement.translation, data.body('end_effector_link').xpos, atol=1e-12
    )
