"""Plants that are integrated finer than the control period: plain MuJoCo, and two processes."""

import mujoco
import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop, changed, model_of, parameters_of, urdf_of
from session import Session

from icir_control.app.measurement import angle_between
from icir_control.control import Controller, ControllerConfig
from icir_control.errors import InvalidValueError
from icir_control.nodes.run_token import euler_steps_of, new_token
from icir_control.simulation import Plant

DURATION, AFTER = 2.0, 0.5  # s
WAY = np.array([0.0, 0.0, -0.05])  # m, of `down`
TOOL = 'bracelet_link'  # the link that MuJoCo makes of the last one and the tool
ELBOW = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])

RK4, EULER = mujoco.mjtIntegrator.mjINT_RK4, mujoco.mjtIntegrator.mjINT_EULER
PLANTS = {
    'rk4': (RK4, 1, 0),
    'rk4, 5': (RK4, 5, 0),
    'euler, 5': (EULER, 5, 5),
    'euler, 2': (EULER, 2, 2),
}


def cubic(time):
    u = np.clip(time / DURATION, 0.0, 1.0)
    return u * u * (3.0 - 2.0 * u)


class Run:
    """A controller on plain MuJoCo: integrator, steps in a control period of 1 ms."""

    def __init__(self, integrator, steps, told, start, robot='gen3_6dof', **changes):
        spec = mujoco.MjSpec.from_file(str(urdf_of(robot)))
        for geom in spec.geoms:
            geom.contype = geom.conaffinity = 0
        self.plant = spec.compile()
        self.plant.opt.integrator = integrator
        self.plant.opt.timestep = 1e-3 / steps
        self.steps = steps
        self.data = mujoco.MjData(self.plant)
        self.data.qpos = start
        mujoco.mj_forward(self.plant, self.data)
        model = model_of(robot)
        parameters = changed(parameters_of(robot), **changes)
        self.controller = Controller(model, ControllerConfig.from_parameters(parameters, model))
        self.ticks = 0
        self.controller.restart(0.0, start, np.zeros(model.nv), told)

    def go(self, mode, seconds):
        """Positions of the joints, and positions and axes of the tool, at every tick."""
        if mode is not None:
            self.controller.select(mode)
        data, rows = self.data, []
        for _ in range(round(seconds * 1e3)):
            q, v = data.qpos.copy(), data.qvel.copy()
            rows.append(
                (q, data.body(TOOL).xpos.copy(), data.body(TOOL).xmat.reshape(3, 3).copy())
            )
            data.qfrc_applied = self.controller.tick(self.ticks * 1e-3, q, v)
            for _ in range(self.steps):
                mujoco.mj_step(self.plant, data)
            mujoco.mj_kinematics(self.plant, data)
            self.ticks += 1
        return [np.array(column) for column in zip(*rows, strict=True)]


TIMES = 1e-3 * np.arange(round((DURATION + AFTER) * 1e3))


def off_line(places, axes):
    """How far the tool was from its line [m], and how far it turned [rad]."""
    off = places - places[0] - np.outer(cubic(TIMES), WAY)
    return np.linalg.norm(off, axis=1).max(), angle_between(axes, axes[0]).max()


@pytest.mark.parametrize('integration', ['auto', 'sampled'])
@pytest.mark.parametrize(('integrator', 'steps', 'told'), PLANTS.values(), ids=PLANTS)
def test_home_and_down_are_matched_to_the_plant_that_is_told(integrator, steps, told, integration):
    """Anchors: with Euler's feed-forward 3.9e-6 to 4.9e-6 rad, and 1.2e-7 to 1.6e-7 m."""
    run = Run(integrator, steps, told, np.zeros(6), initial_mode='hold', integration=integration)
    run.go(None, 0.3)
    joints, _, _ = run.go('home', DURATION + AFTER)
    assert np.abs(joints - np.outer(cubic(TIMES), HOME)).max() < 2e-7
    _, places, axes = run.go('down', DURATION + AFTER)
    distance, turn = off_line(places, axes)
    assert distance < 2e-8
    assert turn < 2e-8


@pytest.mark.parametrize('told', [1, None])
def test_the_matched_plant_stays_exact(told):
    """Where nobody tells, rounding alone does not let it pass for a finer one."""
    run = Run(EULER, 1, told, np.zeros(6), initial_mode='hold')
    run.go(None, 0.3)
    joints, _, _ = run.go('home', DURATION + AFTER)
    assert np.abs(joints - np.outer(cubic(TIMES), HOME)).max() < 1e-12
    _, places, axes = run.go('down', DURATION + AFTER)
    assert off_line(places, axes)[0] < 1e-10
    assert run.controller._engine.memory.euler_share == 1.0


def test_a_redundant_arm_is_matched_too():
    """Anchor: 1.2e-7 m where the joints' velocity is a difference of positions."""
    run = Run(RK4, 1, 0, ELBOW, 'gen3_7dof', initial_mode='hold')
    run.go(None, 0.3)
    _, places, axes = run.go('down', DURATION + AFTER)
    assert off_line(places, axes)[0] < 2e-8


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['ready', 'down'])
def test_a_motion_that_begins_in_motion_is_matched_too(mode):
    loop = ClosedLoop(start=HOME, plant=Plant(integrator='rk4'), initial_mode='hold')
    loop.go('ready' if mode == 'down' else 'down', 0.8)
    log = loop.go(mode, 2.5)
    assert log.joint_error() < 2e-7


def test_a_number_of_steps_below_0_is_refused():
    loop = ClosedLoop()
    with pytest.raises(InvalidValueError, match='euler_steps'):
        loop.controller.restart(loop.time, loop.q, loop.v, -1)


@pytest.mark.parametrize('steps', [0, 1, 5, 100])
def test_a_token_tells_the_steps_of_the_plant(steps):
    token = new_token(steps)
    assert euler_steps_of(token) == steps
    assert token != new_token(steps)
    for other in ('', 'base_link', token[1:], f'{token}0000', token.replace('-', ' ')):
        assert euler_steps_of(other) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    'plant',
    [('plant.integrator:=rk4',), ('plant.substeps:=5',)],
    ids=['rk4', 'euler, 5'],
)
def test_the_bridge_tells_the_controller(ros_graph, plant):
    """Two processes with the shipped parameters; the first motion and the one after it."""
    session = Session(
        ros_graph,
        'initial_mode:=hold',
        "schedule:=['0.3 home', '3.0 down']",
        bridge_parameters=('real_time_factor:=0.0', *plant),
        recorded=True,
    )
    states = session.states_until(3.0 + DURATION)
    home = states.since(0.3).until(2.7)
    way = np.outer(cubic(1e-9 * home.stamp - 0.3), HOME)
    assert np.abs(home.position - way).max() < 2e-7
    down = states.since(3.0)
    first, *tools = (session.tool_at(q) for q in (HOME, *down.position))
    line = first.translation + np.outer(cubic(1e-9 * down.stamp - 3.0), WAY)
    assert np.linalg.norm([tool.translation for tool in tools] - line, axis=1).max() < 2e-8
