"""Arms with joints that mimic others: in the chain, and as a gripper with one motor."""

from pathlib import Path

import numpy as np
import pytest

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.robot import RobotFiles
from icir_control.dynamics import aba
from icir_control.errors import ModelError, ModelMismatchError
from icir_control.nodes.bridge.config import check_model
from icir_control.simulation import Plant, World
from icir_control.spatial import SE3

ARM = Path(__file__).resolve().parent / 'data' / 'coupled_arm.urdf'


@pytest.fixture(scope='module', params=['chain', 'whole_tree'])
def loop(request):
    """The arm with its gripper held, and with the gripper."""
    options = {'whole_tree': True, 'end_effector_frame': 'nozzle'}
    options = options if request.param == 'whole_tree' else {}
    return ClosedLoop(RobotFiles.of(model=str(ARM), **options))


def world_of(loop, urdf, **options):
    return World(
        urdf,
        joint_names=loop.model.joint_names,
        end_effector_frame=loop.tool,
        locked=loop.arm.options['locked'],
        **options,
    )


def off_coupling(loop):
    """How far MuJoCo's joints are from where those that they mimic put them [rad]."""
    return np.abs(loop.world.data.qpos - loop.world.positions(loop.world.position)).max()


@pytest.mark.slow
def test_it_moves_home_and_the_coupling_holds(loop):
    names = ('swivel', 'shoulder', 'elbow', 'roll', 'bend', 'spin')
    has_gripper = loop.model.nv == 7
    assert loop.model.joint_names == (*names, *(('grip',) if has_gripper else ()))
    # One joint of MuJoCo's for each that moves.
    assert loop.world.model.nv == (13 if has_gripper else 7)
    log = loop.go('home', 6.0)
    error = log['position'] - log['position_reference']
    assert np.abs(error).max() < 1e-6
    assert np.abs(log['position'][-1] - log['position'][0]).max() > 0.4
    # MuJoCo's own state: the constraint is as stiff as a step allows.
    assert 0.0 < off_coupling(loop) < 1e-7
    tool = loop.world.data.body(loop.tool).xpos
    np.testing.assert_allclose(tool, loop.placement.translation, atol=1e-7)


@pytest.mark.slow
def test_it_is_jogged(loop):
    loop.go('home', 6.0)
    loop.go('jog', 0.2)
    before = loop.world.data.body(loop.tool).xpos.copy()
    pose = loop.controller.reference_pose
    loop.controller.set_target_pose(SE3(pose.rotation, pose.translation + [0.02, -0.03, 0.01]))
    loop.run(800)
    moved = loop.world.data.body(loop.tool).xpos - before
    np.testing.assert_allclose(moved, [0.02, -0.03, 0.01], atol=1e-6)


@pytest.mark.slow
def test_it_floats_and_is_pushed(loop):
    loop.go('home', 6.0)
    loop.go('float', 0.5)
    before = loop.q
    assert np.abs(loop.v).max() < 1e-4
    way = loop.pushed([0.0, 6.0, 0.0, 0.0, 0.0, 0.0], 0.3)
    assert way[1] > 0.01
    assert loop.controller.mode == 'float'
    assert np.abs(loop.q - before).max() > 0.01
    assert off_coupling(loop) < 1e-6


def test_the_plant_is_that_of_the_model(loop):
    """The self-check holds; a wrong ratio in the plant is found."""
    check_model(loop.model, loop.world)
    text = ARM.read_text()
    for ratio in ('-0.5"', '1"') if 'grip' in loop.model.joint_names else ('-0.5"',):
        wrong = world_of(loop, text.replace(f'multiplier="{ratio}', 'multiplier="0.9"', 1))
        with pytest.raises(ModelMismatchError):
            check_model(loop.model, wrong)


@pytest.mark.parametrize(
    'plant',
    [
        Plant(),
        Plant(integrator='rk4'),
        Plant(integrator='implicitfast', substeps=2),
        Plant(rotor_inertia=0.05, joint_friction=0.3),
        Plant(joint_damping=2.0),
    ],
    ids=lambda plant: '-'.join(plant.differences) or 'nominal',
)
def test_couplings_hold_whatever_the_plant(loop, plant):
    """A rotor with a hundred times the gripper's own inertia; damping that stops it in a step."""
    world = world_of(loop, ARM, plant=plant)
    phase, worst = np.arange(loop.model.nv), 0.0
    for k in range(500):
        world.step(world.inverse_dynamics(5.0 * np.sin(0.02 * k + phase) - 2.0 * world.velocity))
        off = world.data.qpos - world.positions(world.position)
        worst = max(worst, np.abs(off).max())
    assert np.abs(world.velocity).max() > 0.05
    assert worst < 1e-7


def test_the_plant_accelerates_as_the_model_does(loop):
    """Inertia and effort of what is coupled, by a step of MuJoCo's."""
    model, world = loop.model, loop.world
    rng, data = np.random.default_rng(0), model.create_data()
    for _ in range(5):
        q = 0.5 * (model.random_configuration(rng) + loop.controller.config.arm.middle)
        v, tau = rng.normal(size=(2, model.nv))
        world.reset(np.clip(q, model.lower_position_limit, model.upper_position_limit), v)
        expected = aba(model, data, world.position, v, tau)
        world.step(tau)
        found = (world.velocity - v) * 1e9 / world.timestep_ns
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    loop.restart()


def finger(rotor=''):
    """Three joints in a row, the two beyond mimicking the first; only the tip has a mass."""
    light = (
        '<mass value="0.02"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/>'
    )
    text = '<link name="palm"/><link name="one"/><link name="two"/>'
    text += f'<link name="tip"><inertial><origin xyz="0.01 0 0"/>{light}</inertial></link>'
    chain = (('a', 'palm', 'one', ''), ('b', 'one', 'two', '1.0'), ('c', 'two', 'tip', '1.4'))
    for name, parent, child, multiplier in chain:
        mimic = f'<mimic joint="a" multiplier="{multiplier}"/>' if multiplier else ''
        text += (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{child}"/><origin xyz="0.01 0 0"/><axis xyz="0 0 1"/>{mimic}{rotor}'
            '<limit lower="-1" upper="1" effort="2" velocity="5"/></joint>'
        )
    return f'<robot name="finger">{text}</robot>'


def test_links_too_light_to_be_held_to_each_other_are_refused():
    """Anchor: the simulation of such a hand diverged after 3 ms."""
    with pytest.raises(ModelError, match='mimics others.*so little mass.*--armature [bc]=1e-6'):
        World(finger(), joint_names=('a',), end_effector_frame='tip')
    world = World(
        finger('<dynamics armature="1e-5"/>'), joint_names=('a',), end_effector_frame='tip'
    )
    for _ in range(200):
        world.step(np.array([0.01]))
    assert np.isfinite(world.position).all()
