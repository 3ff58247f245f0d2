"""Times of the states that jitter, repeat, stop, jump, or are none."""

import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop

from icir_control.control import Waypoints
from icir_control.control.period import MANY_STEPS, Period
from icir_control.errors import InvalidValueError
from icir_control.simulation import Plant

PERIOD = 1e-3  # s


class Stamped:
    """A closed loop whose states are stamped otherwise than the simulation's clock says."""

    def __init__(self, **options) -> None:
        self.loop = ClosedLoop(start=HOME, **options)
        self.controller = self.loop.controller
        self.shift = 0.0

    def step(self, steps: int = 1, *, again: int = 0) -> None:
        """Take steps; each state is answered once, and `again` so many times."""
        for _ in range(steps):
            for _ in range(1 + again):
                time = self.loop.time + self.shift
                torque = self.controller.tick(time, *self.loop.world.measured)
            self.loop.world.step(torque)

    @property
    def error(self) -> float:
        return np.abs(self.controller.tracking_error[0]).max()

    @property
    def speed(self) -> float:
        """The greatest of the joints, as a share of their limits."""
        return np.abs(self.loop.world.measured[1] / self.loop.model.velocity_limit).max()


@pytest.mark.parametrize('step', [4e-4, 1e-4, 1e-6, 1e-9])
def test_a_stamp_that_comes_early_does_no_harm(step):
    """1.7 mrad off at rest; after 10 ns a motion of the tool would have needed 72 GB."""
    arm = Stamped(plant=Plant(payload_mass=0.5))
    arm.step(50)
    known = np.abs(arm.controller.disturbance).max()
    arm.shift = step - PERIOD
    arm.controller.select('down')
    arm.step(2300)
    assert arm.controller.mode == 'down'
    assert arm.error < 1e-5
    assert np.abs(arm.controller.disturbance).max() > max(known, 1.0)


@pytest.mark.parametrize('share', [0.05, 0.3, 0.8])
def test_stamps_that_jitter_are_steps_of_the_period(share):
    arm = Stamped(plant=Plant(payload_mass=0.5))
    arm.step(50)
    arm.controller.select('ready')
    rng = np.random.default_rng(0)
    for _ in range(2300):
        arm.shift = share * PERIOD * rng.uniform(-0.5, 0.5)
        arm.step()
    assert arm.error < 1e-5


def test_the_period_of_stamps_that_all_jitter_is_their_mean():
    """Their least would be it else: the reference ran ahead, and the arm was 2 mrad behind."""
    arm, rng = Stamped(), np.random.default_rng(0)
    arm.shift = 1.0
    arm.controller.restart(arm.loop.time + arm.shift, *arm.loop.world.measured, 1)
    errors = []
    for i in range(2600):
        arm.shift = 1.0 + 0.2 * PERIOD * rng.uniform(-1.0, 1.0)
        if i == 300:
            arm.controller.select('ready')
        arm.step()
        errors.append(arm.error)
    assert arm.controller._engine.period == pytest.approx(PERIOD, rel=0.01)
    assert max(errors[300:]) < 1e-5


def test_a_state_that_comes_again_gets_the_answer_that_it_had():
    """Observed twice, it seemed that a torque had changed nothing: 27 urad on an exact model."""
    once, twice = Stamped(), Stamped()
    for arm, again in ((once, 0), (twice, 2)):
        arm.step(20, again=again)
        arm.controller.select('ready')
        arm.step(600, again=again)
    np.testing.assert_array_equal(twice.controller.torque, once.controller.torque)
    np.testing.assert_array_equal(twice.controller.disturbance, once.controller.disturbance)


def period_of(*steps: float) -> float:
    """The period after a start and so many steps of time [s]."""
    period, time = Period(), 7.0
    for step in steps:
        if not abs(step - period.value) < 1e-10:  # also while there is none
            period.note(time, time + step)
        time += step
    return period.value


@pytest.mark.parametrize(
    ('steps', 'period'),
    [
        ([1e-3] * 10 + [5e-4] * 2, 1e-3),
        ([1e-3] * 10 + [5e-4] * 3, 5e-4),
        ([1e-3] * 10 + [5e-4, 6e-4, 5e-4, 7e-4], 1e-3),
        ([1e-4] + [1e-3] * 3, 1e-3),
        ([2e-5, 1.02e-3, 0.98e-3, 1.01e-3], 0.98e-3),
        ([14e-3, 20e-3, 9e-3, 1e-3], 1e-3),
        ([1e-3] * 10 + [2e-4, 1.8e-3] * 100, 1e-3),
        ([1e-3] * 10 + [0.0] * 99 + [7e-4], 1e-3),
        ([1e-3] * 10 + [2e-3] * (MANY_STEPS - 1), 1e-3),
        ([1e-3] * 10 + [2e-3] * MANY_STEPS, 2e-3),
        ([1e-9, 1e-3], 1e-3),
        ([0.6, 1e-3], 1e-3),
        ([1 / 600] * 10, 1 / 600),
    ],
)
def test_another_period_is_found_and_a_single_step_is_none(steps, period):
    assert period_of(*steps) == pytest.approx(period, abs=2e-9)


@pytest.mark.parametrize('gap', [0.05, 0.3])
def test_an_arm_that_stood_still_through_a_gap_is_not_thrown(gap):
    """It was 0.2 rad off its path, at 1.8 to 2.8 times the velocity limit."""
    arm = Stamped()
    arm.controller.select('ready')
    arm.step(900)
    before, fastest = arm.speed, 0.0
    arm.shift = gap
    for _ in range(1500):
        arm.step()
        fastest = max(fastest, arm.speed)
    assert before > 0.8
    assert fastest < 1.1
    assert arm.controller.mode == 'ready'
    assert arm.error < 1e-9
    assert arm.controller.motion_left == 0.0


def test_an_arm_that_stood_still_goes_on_along_its_waypoints():
    """Those of the gap are not left out; it was stopped, 0.2 rad off."""
    arm, times = Stamped(), 0.05 * np.arange(1, 41)
    swing = 0.2 * np.sin(np.pi * times)[:, None] * [1.0, -0.5, 0.5, 1.0, 1.0, 1.0]
    names = arm.loop.model.joint_names
    arm.controller.follow(Waypoints(names, times + 0.2, HOME + swing))
    arm.step(900)
    arm.shift, worst = 0.12, 0.0
    for _ in range(1500):
        arm.step()
        worst = max(worst, arm.error)
    assert worst < 1e-3
    np.testing.assert_allclose(arm.loop.world.measured[0], HOME + swing[-1], atol=1e-9)


def test_an_arm_that_moved_on_through_a_gap_is_on_its_path():
    arm = Stamped()
    arm.controller.select('ready')
    arm.step(900)
    for _ in range(50):
        arm.loop.world.step(arm.controller.torque)
    before = arm.controller.position_reference.copy()
    arm.step()
    way = np.abs(arm.controller.position_reference - before).max()
    assert way == pytest.approx(0.051 * arm.speed * arm.loop.model.velocity_limit[0], rel=0.2)
    assert arm.error < 5e-3


@pytest.mark.parametrize('jump', [0.6, 1e6, -0.1])
def test_a_jump_of_time_is_a_new_start(jump):
    """One of 1e6 s took half a minute."""
    arm = Stamped()
    arm.controller.select('ready')
    arm.step(900)
    arm.controller.take_events()
    arm.shift = jump
    arm.step()
    (event,) = arm.controller.take_events()
    assert 'new start' in event.text
    assert arm.controller.mode == 'gravity'
    arm.step(100)
    assert not arm.controller.take_events()
    assert arm.speed < 1.0


def test_states_half_a_second_apart_go_on():
    """That is the longest gap, also where the difference of two times is rounded."""
    arm = Stamped()
    arm.controller.select('impedance')
    arm.step(10)
    arm.controller.take_events()
    start = arm.loop.time - PERIOD
    for i in range(1, 40):
        arm.controller.tick(start + 0.5 * i, *arm.loop.world.measured)
    assert not arm.controller.take_events()
    assert arm.controller.mode == 'impedance'


@pytest.mark.parametrize(
    ('time', 'steps', 'wrong'),
    [
        (np.nan, None, 'time'),
        (np.inf, None, 'time'),
        (1e300, None, 'time'),
        ('0', None, 'time'),
        (0.0, np.nan, 'euler_steps'),
        (0.0, 1.5, 'euler_steps'),
        (0.0, '1', 'euler_steps'),
    ],
)
def test_a_start_with_what_is_no_time_changes_nothing(time, steps, wrong):
    arm, other = Stamped(), Stamped()
    for one in (arm, other):
        one.controller.select('ready')
        one.step(100)
    with pytest.raises(InvalidValueError, match=wrong):
        arm.controller.restart(time, *arm.loop.world.measured, steps)
    with pytest.raises(InvalidValueError, match='q ='):
        arm.controller.restart(9.0, np.full(6, np.nan), np.zeros(6))
    for one in (arm, other):
        one.step(100)
    np.testing.assert_array_equal(arm.controller.torque, other.controller.torque)


@pytest.mark.parametrize('time', [np.nan, np.inf, -1e300])
def test_a_state_with_what_is_no_time_is_lost(time):
    arm = Stamped()
    arm.controller.select('ready')
    arm.step(100)
    with pytest.raises(InvalidValueError, match='time'):
        arm.controller.tick(time, *arm.loop.world.measured)
    arm.step(500)
    assert arm.error < 1e-9
