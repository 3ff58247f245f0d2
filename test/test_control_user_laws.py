"""Laws of a user's own: called as they are written, compiled or not, and left without a spike."""

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop, parameters_of

from icir_control.app.measurement import TimeSeries
from icir_control.control import Law, Plan, compiled, parameter
from icir_control.control.laws import Joint
from icir_control.dynamics import crba
from icir_control.spatial import SE3
from icir_control.trajectory import JointTrajectory, SE3Trajectory


class Heavier(Joint):
    """A shipped law with an acceleration of its own, and nothing else."""

    calls = 0

    def acceleration(self, tick):
        type(self).calls += 1
        return super().acceleration(tick)


class OnJoints(Law):
    """Tracks a joint path, in Python."""

    TRACKS = True

    def plan(self, start):
        goal = start.q + 0.3 * (READY - HOME)
        return Plan(JointTrajectory.to_rest(start.time, 1.0, start.q, start.v, goal))

    def acceleration(self, tick):
        error = tick.position_reference - tick.q
        rate = tick.velocity_reference - tick.v
        return tick.acceleration_reference + 2500.0 * error + 100.0 * rate


class OnPose(Law):
    """Tracks a pose path, in Python."""

    TRACKS = True

    def plan(self, start):
        goal = SE3(start.pose.rotation, start.pose.translation + [0.03, 0.04, -0.08])
        return Plan(SE3Trajectory.to_rest(start.time, 1.0, start.pose, start.twist, goal))

    def acceleration(self, tick):
        J = tick.jacobian
        turn = tick.pose[:3].T @ tick.pose_reference[:3]
        way = tick.pose[:3].T @ (tick.pose_reference[3] - tick.pose[3])
        error = np.concatenate([way, np.zeros(3)])
        nu_r = np.concatenate([turn @ tick.twist_reference[:3], turn @ tick.twist_reference[3:]])
        goal = 2500.0 * error + 100.0 * (nu_r - J @ tick.v) - tick.drift
        return np.linalg.solve(J, goal)


class CompiledSpring(Law):
    """Yields on springs about its start, compiled."""

    stiffness: float = parameter(100.0, '1/s^2', 'of each joint', lower=0.0, upper=1e4)

    def plan(self, start):
        return Plan(JointTrajectory.to_rest(start.time, 1.0, start.q, start.v, start.q))

    @compiled
    def acceleration(self, tick):
        error = tick.position_reference - tick.q
        rate = tick.velocity_reference - tick.v
        return self.stiffness * error + 2.0 * np.sqrt(self.stiffness) * rate


class PlainSpring(CompiledSpring):
    """The same text without the compiler."""

    def acceleration(self, tick):
        error = tick.position_reference - tick.q
        rate = tick.velocity_reference - tick.v
        return self.stiffness * error + 2.0 * np.sqrt(self.stiffness) * rate


class Lost(Law):
    """Compiled, and not a number from the first second on."""

    @compiled
    def acceleration(self, tick):
        return np.sqrt(1.0 - tick.time) * tick.v


OWN = ('OnJoints', 'OnPose', 'CompiledSpring')
SHIPPED = ('gravity', 'ready', 'down', 'float', 'impedance', 'hold')


def loop_with(*laws: str, **changes) -> ClosedLoop:
    parameters = parameters_of()
    for key, law in zip('wertyu', laws, strict=False):
        parameters['mode_names'].append(law)
        parameters['modes'][law] = {'key': key, 'law': f'{__name__}:{law}'}
    return ClosedLoop(start=HOME, **parameters, **changes)


def test_an_acceleration_of_ones_own_is_called_in_a_subclass_of_a_shipped_law():
    parameters = parameters_of()
    parameters['modes']['ready']['law'] = f'{__name__}:Heavier'
    loop = ClosedLoop(start=HOME, **parameters)
    Heavier.calls = 0
    log = loop.go('ready', 0.5)
    assert Heavier.calls == len(log.time)
    assert log.joint_error() < 1e-12, 'what it calls is the shipped law'


def motion_of(loop: ClosedLoop, mode: str, seconds: float) -> TimeSeries:
    """Run a mode from home; its log."""
    loop.restart(HOME)
    return loop.go(mode, seconds)


def repeat(loop: ClosedLoop, mode: str, log: TimeSeries, steps: int) -> None:
    """Bring controller and plant to where they were after some steps of a motion from home.

    The controller sees what it saw; the plant, which keeps no more than its state, is put there.
    """
    loop.restart(HOME)
    loop.controller.select(mode)
    world = loop.world
    for row in range(steps):
        if row:
            world.time_ns += world.timestep_ns
        q, v = log['position'][row], log['velocity'][row]
        torque = loop.controller.tick(loop.time, q, v)
        assert (torque == log['torque'][row]).all()
    world.reset(q, v)
    world.step(torque)


@pytest.mark.slow
@pytest.mark.parametrize('first', [*OWN, *SHIPPED])
@pytest.mark.parametrize('second', OWN)
@pytest.mark.parametrize('instants', [4, pytest.param(20, marks=pytest.mark.long)])
def test_no_switch_between_laws_asks_for_a_spike(first, second, instants):
    """At instants of the first law's motion, to the second; and the other way round."""
    # Of two user laws each is once the first.
    others = {(second, first)} if first in SHIPPED else set()
    for before, after in {(first, second)} | others:
        loop = loop_with(*OWN)
        limit = 0.5 * loop.model.effort_limit
        log = motion_of(loop, before, 0.97)
        for instant in np.linspace(0.02, 0.97, instants):
            repeat(loop, before, log, round(instant / 1e-3))
            torque = [loop.controller.torque_unsaturated.copy()]
            loop.controller.select(after)
            loop.run(3)
            torque += [*loop.log['torque_unsaturated']]
            jumps = np.abs(np.diff(torque, axis=0)).max(axis=0)
            assert (jumps < limit).all(), (before, after, instant, jumps)


def test_the_joints_follow_the_pose_path_of_a_law_that_tracks():
    loop = loop_with('OnPose')
    loop.go('OnPose', 0.5)
    arm = loop.controller.config.arm
    pose = arm.placement(loop.controller.position_reference)
    np.testing.assert_allclose(
        pose.translation, loop.controller.reference_pose.translation, atol=1e-9
    )
    assert np.abs(loop.controller.tracking_error[0]).max() < 1e-3
    loop.controller.select('hold')
    loop.run(1500)
    assert np.abs(loop.v).max() < 1e-6


def test_a_compiled_law_gives_the_torque_of_its_text_in_python():
    torques = []
    for law in ('CompiledSpring', 'PlainSpring'):
        loop = loop_with(law)
        loop.go('ready', 0.4)
        torques.append(loop.go(law, 0.5)['torque_unsaturated'])
    np.testing.assert_allclose(torques[0], torques[1], rtol=0.0, atol=1e-9)


def test_a_parameter_of_a_compiled_law_changes_without_a_jump():
    loop = loop_with('CompiledSpring')
    loop.go('CompiledSpring', 0.5)
    loop.world.push('end_effector_link', np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0]))
    loop.run(500)
    torque = [loop.controller.torque_unsaturated.copy()]
    M = crba(loop.model, loop.model.create_data(), loop.q)
    at_once = np.abs(M @ (900.0 * (HOME - loop.q))).max()
    loop.controller.update({'modes.CompiledSpring.stiffness': 1000.0})
    torque += [*loop.run(300)['torque_unsaturated']]
    assert np.abs(np.diff(torque, axis=0)).max() < 0.1 * at_once
    assert loop.controller.config.modes['CompiledSpring'].law.stiffness == 1000.0


def test_a_compiled_law_that_is_not_a_number_is_left():
    loop = loop_with('Lost')
    loop.go('Lost', 1.5)
    assert loop.controller.mode == ''
    (event,) = [event for event in loop.controller.take_events() if event.level == 'error']
    assert event.mode == 'Lost'
    assert event.error.reason == 'law_failed'
    assert 'expected 6 finite numbers' in event.text
    assert np.isfinite(loop.controller.torque).all()
