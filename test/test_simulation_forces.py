"""Pushes and the mouse: what they do to the accelerations, and when they end."""

import mujoco
import numpy as np
import pytest
from simulation_worlds import HOME, READY, ZERO, gen3, state, wheel

from icir_control.errors import InvalidValueError, UnknownNameError
from icir_control.simulation import Plant

WRENCH = np.array([3.0, -5.0, 7.0, 0.4, -0.3, 0.2])


def body_jacobian(world, name):
    """Return the Jacobian of a link's origin in the link's axes, at the present configuration."""
    jacobian = np.zeros((6, 6))
    body = world.model.body(name).id
    mujoco.mj_kinematics(world.model, world.data)
    mujoco.mj_comPos(world.model, world.data)
    mujoco.mj_jacBody(world.model, world.data, jacobian[:3], jacobian[3:], body)
    rotation = world.data.xmat[body].reshape(3, 3)
    return np.vstack([rotation.T @ jacobian[:3], rotation.T @ jacobian[3:]])


def moving_world(plant=None):
    world = gen3(READY, plant=plant)
    world.data.qvel[:] = [0.5, -0.4, 0.6, 1.0, -0.7, 0.9]
    return world


@pytest.mark.parametrize(
    'link', ['shoulder_link', 'bicep_link', 'spherical_wrist_1_link', 'end_effector_link']
)
@pytest.mark.parametrize('plant', [Plant(), Plant(payload_mass=0.7)])
def test_a_push_is_j_transposed_times_the_wrench(link, plant):
    free, pushed = moving_world(plant), moving_world(plant)
    pushed.push(link, WRENCH)
    torque = free.bias(READY, ZERO)
    for _ in range(30):
        # From the same state: the wrench is the only difference.
        pushed.data.qpos[:], pushed.data.qvel[:] = free.data.qpos, free.data.qvel
        jacobian = body_jacobian(free, link)
        free.step(torque)
        pushed.step(torque)
        mass = np.empty((6, 6))
        for column, unit in zip(mass, np.eye(6), strict=True):
            mujoco.mj_mulM(free.model, free.data, column, unit)
        expected = np.linalg.solve(mass, jacobian.T @ WRENCH)
        np.testing.assert_allclose(
            pushed.data.qacc - free.data.qacc, expected, rtol=1e-9, atol=1e-9
        )
    assert np.abs(expected).max() > 1.0


def test_a_push_turns_with_its_link():
    # A force at the rim of a wheel keeps turning it; in world axes it would swing back.
    world = wheel()
    world.push('wheel', [0, 0, 0, 0, 0, 0.1])
    for _ in range(1000):
        world.step(np.zeros(1))
    assert state(world)[1][0] == pytest.approx(0.1 / 0.2, rel=1e-9)
    arm = gen3()
    arm.push('shoulder_link', [0, 0, 0, 1.0, 0, 0])
    arm.step(arm.bias(HOME, ZERO))
    force = arm.data.xfrc_applied[arm.model.body('shoulder_link').id, 3:].copy()
    arm.reset([np.pi / 2, *HOME[1:]])
    arm.push('shoulder_link', [0, 0, 0, 1.0, 0, 0])
    arm.step(arm.bias(HOME, ZERO))
    turned = arm.data.xfrc_applied[arm.model.body('shoulder_link').id, 3:]
    np.testing.assert_allclose(force, [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(turned, [0, -1, 0], atol=1e-12)


@pytest.mark.slow
def test_pushes_add_up_are_replaced_and_end():
    def acceleration(*pushes):
        world = gen3()
        for link, wrench in pushes:
            world.push(link, wrench)
        world.step(world.bias(HOME, ZERO))
        return world.data.qacc.copy()

    none = acceleration()
    first = acceleration(('bicep_link', WRENCH)) - none
    second = acceleration(('bracelet_link', WRENCH)) - none
    both = acceleration(('bicep_link', WRENCH), ('bracelet_link', WRENCH)) - none
    np.testing.assert_allclose(both, first + second, rtol=1e-9, atol=1e-9)
    replaced = acceleration(('bicep_link', 9 * WRENCH), ('bicep_link', WRENCH)) - none
    np.testing.assert_array_equal(replaced, first)

    world, quiet = gen3(), gen3()
    torque = quiet.bias(HOME, ZERO)
    for act in (lambda: world.clear_push('bicep_link'), world.reset):
        world.push('bicep_link', WRENCH)
        act()
        world.clear_push('bracelet_link')
        world.step(torque)
        quiet.step(torque)
        np.testing.assert_array_equal(world.data.qacc, quiet.data.qacc)
        np.testing.assert_array_equal(world.data.xfrc_applied, 0.0)
        quiet.reset()


def test_a_push_ends_after_it_has_acted():
    world = gen3()
    world.push('bracelet_link', WRENCH)
    world.step(ZERO)
    assert np.abs(world.data.xfrc_applied).max() > 1.0
    world.clear_push('bracelet_link')
    world.step(ZERO)
    np.testing.assert_array_equal(world.data.xfrc_applied, 0.0)


def test_the_caller_keeps_its_array():
    world = gen3()
    wrench = WRENCH.copy()
    world.push('bracelet_link', wrench)
    wrench[:] = np.nan
    world.step(ZERO)
    assert np.isfinite(world.data.qacc).all()


def test_a_push_on_the_base_moves_nothing():
    world, quiet = gen3(), gen3()
    world.push('base_link', [1000, 0, 0, 0, 0, 0])
    for each in (world, quiet):
        each.step(ZERO)
    np.testing.assert_array_equal(world.data.qacc, quiet.data.qacc)


@pytest.mark.slow
@pytest.mark.parametrize('link', ['', 'elbow', 'joint_1', 'payload', 'floor'])
def test_an_unknown_link_is_named_with_the_known_ones(link):
    world = gen3(plant=Plant(payload_mass=1.0))
    for act in (lambda: world.push(link, WRENCH), lambda: world.clear_push(link)):
        with pytest.raises(UnknownNameError, match=f'link {link!r}; valid: world, base_link'):
            act()


@pytest.mark.parametrize('wrench', [np.zeros(5), [0, 0, 0, 0, 0, np.nan], [np.inf] * 6])
def test_a_wrench_that_is_none_is_refused(wrench):
    with pytest.raises(InvalidValueError, match='wrench = .* six finite numbers'):
        gen3().push('bracelet_link', wrench)


# --- the mouse, as the viewer reports it


def drag_at(world, name, offset):
    """Return what the viewer reports of a mouse that pulls a link's centre by an offset."""
    body = world.model.body(name).id
    mouse = mujoco.MjvPerturb()
    mouse.select, mouse.active = body, int(mujoco.mjtPertBit.mjPERT_TRANSLATE)
    mouse.localmass = 1.0
    mouse.refselpos[:] = world.data.xpos[body] + offset
    return mouse


def test_the_mouse_pulls_beside_a_push_and_lets_go():
    def acceleration(push, mouse):
        world = gen3()
        if push:
            world.push('bracelet_link', WRENCH)
        if mouse:
            world.drag(drag_at(world, 'bracelet_link', [0.1, 0.0, 0.2]))
        world.step(world.bias(HOME, ZERO))
        return world.data.qacc.copy()

    none = acceleration(push=False, mouse=False)
    push = acceleration(push=True, mouse=False) - none
    mouse = acceleration(push=False, mouse=True) - none
    both = acceleration(push=True, mouse=True) - none
    assert np.abs(mouse).max() > 0.1
    np.testing.assert_allclose(both, push + mouse, rtol=1e-9, atol=1e-9)


def test_the_mouse_leaves_nothing_behind():
    world = gen3()
    torque = world.bias(HOME, ZERO)
    world.push('bicep_link', WRENCH)
    world.drag(drag_at(world, 'bracelet_link', [0, 0, 0.3]))
    world.step(torque)
    row = world.data.xfrc_applied[world.model.body('bracelet_link').id]
    assert row[2] > 1.0
    idle = mujoco.MjvPerturb()
    idle.select = world.model.body('bracelet_link').id
    world.drag(idle)
    world.step(torque)
    np.testing.assert_array_equal(row, 0.0)
    # The push outlives the mouse.
    assert np.abs(world.data.xfrc_applied[world.model.body('bicep_link').id]).max() > 1.0
    world.clear_push('bicep_link')
    world.drag(drag_at(world, 'bracelet_link', [0, 0, 0.3]))
    world.step(torque)
    world.drag(None)
    np.testing.assert_array_equal(world.data.xfrc_applied, 0.0)
