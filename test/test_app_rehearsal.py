"""The demo's plan for an arm of which no more is known than its files."""

from pathlib import Path

import numpy as np
import pytest
from example_robots import PANDA, ROBOTS, UR5, XARM, needs_example_robots

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.demo.metrics import phase_metrics, replay, split
from icir_control.app.demo.plan import DemoPlan
from icir_control.app.demo.rehearsal import rehearsed
from icir_control.app.measurement import TimeSeries, have_passed
from icir_control.app.robot import RobotFiles
from icir_control.control import Controller

DATA = Path(__file__).resolve().parent / 'data'
OTHERS = {
    UR5: '',
    PANDA: '',
    XARM: 'link7',
    ROBOTS / 'double_pendulum_description' / 'urdf' / 'double_pendulum.urdf': '',
    ROBOTS / 'anymal_b_simple_description' / 'robots' / 'anymal.urdf': 'LF_FOOT',
}


def scara() -> RobotFiles:
    return RobotFiles.of(model=str(DATA / 'scara.urdf'), params_file=str(DATA / 'scara.yaml'))


def run_of(robot: RobotFiles, plan: DemoPlan):
    """Run a plan by its schedule in one process; return metrics by mode."""
    loop = ClosedLoop(robot, changes=plan.parameters)
    world, controller = loop.world, loop.controller
    world.reset()
    controller.restart(0.0, *world.measured, world.plant.euler_steps)
    begins = {round(push.start * 1e9): push.wrench for push in plan.pushes}
    ends = {round(push.end * 1e9) for push in plan.pushes}
    rows = []
    while world.time_ns <= round(plan.end * 1e9):
        q, v = world.position, world.velocity
        rows.append({'time': world.time_ns * 1e-9, 'position': q, 'velocity': v})
        if world.time_ns in begins:
            world.push(loop.tool, begins[world.time_ns])
        elif world.time_ns in ends:
            world.clear_push(loop.tool)
        world.step(controller.tick(world.time_ns * 1e-9, q, v))
    config = controller.config
    series = replay(TimeSeries.from_rows(rows), Controller(loop.model, config))
    return {name: phase_metrics(part) for name, part in split(series, plan.phases, config).items()}


@pytest.mark.slow
def test_every_mode_runs_or_is_told_why_it_cannot():
    robot = scara()
    loop = ClosedLoop(robot)
    plan = rehearsed(loop)
    names = [phase.mode for phase in plan.phases]
    assert names == ['gravity', 'raise', 'home', 'spring', 'step', 'float', 'hold']
    assert plan.notes.keys() == {'far'}
    assert 'out of reach' in plan.notes['far']
    for phase, after in zip(plan.phases, plan.phases[1:], strict=False):
        assert phase.end == after.start
    # A mode that would stand takes a step.
    assert np.linalg.norm(plan.changes['modes.step.translation']) == pytest.approx(0.01)
    pushed = {phase.mode: phase.pushes for phase in plan.phases if phase.pushes}
    assert pushed.keys() == {'spring', 'float'}
    assert pushed['float'][-1].end == plan.phases[-1].start
    metrics = run_of(robot, plan)
    assert have_passed(metrics), metrics
    keys = [metric.key for metric in metrics['home']]
    assert 'peak_joint_error_rad' in keys
    assert 'peak_joint_error_m' in keys
    spring = {metric.name: metric.value for metric in metrics['spring']}
    assert spring['stiffness_error'] < 0.01
    assert 1e-3 < spring['displacement'] < 0.02
    # The quill's weight is 0.08 of what its joint can bear; a push takes 0.05 of the rest.
    assert spring['peak_torque_fraction'] < 0.08 + 0.06


@pytest.mark.slow
def test_what_touches_is_shown_without_bounds():
    plan = rehearsed(ClosedLoop('hand'))
    touching = {phase.mode for phase in plan.phases if phase.touches}
    assert {'close', 'pinch', 'snap'} <= touching
    assert touching.isdisjoint({'gravity', 'open'})
    left_out = plan.notes.keys() - touching
    assert touching <= plan.notes.keys()
    assert all(plan.notes[mode].startswith('left out: ') for mode in left_out)
    assert {phase.mode for phase in plan.phases}.isdisjoint(left_out)
    assert [phase.mode for phase in plan.phases][-1] == 'hold'


@pytest.mark.long
def test_the_bounds_are_those_of_an_arm_that_does_what_it_should():
    """A push of another strength than the plan's is out of them."""
    robot = RobotFiles.of('gen3_7dof')
    plan = rehearsed(ClosedLoop(robot))
    assert not plan.notes
    (guided,) = [phase for phase in plan.phases if phase.mode == 'float']
    lower, upper = guided.bounds['displacement']
    assert 0.0 < lower < upper < 0.3
    metrics = run_of(robot, plan)
    assert have_passed(metrics), metrics
    (displacement,) = [one for one in metrics['float'] if one.name == 'displacement']
    assert (displacement.lower, displacement.upper) == (lower, upper)


@pytest.mark.long
@needs_example_robots
@pytest.mark.parametrize('urdf', OTHERS, ids=lambda urdf: urdf.stem)
def test_arms_of_others_pass(urdf):
    robot = RobotFiles.of(model=str(urdf), end_effector_frame=OTHERS[urdf], default_effort=100.0)
    plan = rehearsed(ClosedLoop(robot))
    assert have_passed(run_of(robot, plan))
    ran = {phase.mode for phase in plan.phases}
    assert {'gravity', 'home', 'ready', 'hold'} <= ran
    assert all(words.startswith('left out: ') for words in plan.notes.values())
