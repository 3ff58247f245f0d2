"""The bridge's parts that know nothing of ROS: gate, pacer, periodic tasks, pushes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icir_control.nodes.bridge.gate import MAX_LAG, CommandGate, Pacer, PeriodicTasks
from icir_control.nodes.bridge.wrench import Push, PushSchedule

MS = 1_000_000


def test_lockstep_admits_the_answer_to_the_present_state_alone_and_once():
    gate = CommandGate(lockstep=True)
    gate.open_run('a', 5 * MS)
    assert not gate.is_answered
    assert not gate.has_admitted
    assert not gate.admits(4 * MS, 'a')
    assert not gate.admits(6 * MS, 'a')
    assert not gate.admits(5 * MS, 'b')
    assert gate.refused == {'late': 1, 'future': 1, 'other_run': 1}
    assert gate.admits(5 * MS, 'a')
    assert gate.is_answered
    assert not gate.admits(5 * MS, 'a')
    assert gate.refused['duplicate'] == 1
    gate.advance(6 * MS)
    assert not gate.is_answered
    assert not gate.admits(5 * MS, 'a')
    assert gate.admits(6 * MS, 'a')


def test_a_new_run_begins_with_nothing_admitted():
    gate = CommandGate(lockstep=True)
    gate.open_run('a', 0)
    assert gate.admits(0, 'a')
    gate.open_run('b', 0)
    assert not gate.has_admitted
    assert not gate.admits(0, 'a')
    assert gate.admits(0, 'b')


def test_a_withdrawn_answer_can_be_given_again():
    gate = CommandGate(lockstep=True)
    gate.open_run('a', 0)
    assert gate.admits(0, 'a')
    gate.withdraw()
    assert not gate.is_answered
    assert gate.admits(0, 'a')


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from('ab'), st.booleans())))
def test_free_running_never_goes_back_and_never_ahead(commands):
    gate = CommandGate(lockstep=False)
    gate.open_run('a', 0)
    state = 0
    admitted = []
    for stamp, token, goes_on in commands:
        if goes_on:
            state += 1
            gate.advance(state)
        if gate.admits(stamp, token):
            assert token == 'a'
            assert stamp <= state
            admitted.append(stamp)
    assert all(a < b for a, b in itertools.pairwise(admitted))
    assert gate.refused.total() + len(admitted) == len(commands)


def run_pacer(pacer, wall, ticks, cost=0.0):
    """Run ticks that each take `cost` s of wall time; return when they began."""
    begins = []
    for _ in range(ticks):
        wall = max(wall, pacer.due)
        begins.append(wall)
        pacer.begin_tick(wall)
        wall += cost
    return begins


def test_the_pace_holds_on_average_with_late_ticks():
    pacer = Pacer(1e-3, 2.0)
    pacer.restart(10.0)
    wall, begins = 10.0, []
    generator = np.random.default_rng(3)
    for _ in range(4000):
        # Every wake-up is late, a few by several periods.
        late = generator.exponential(80e-6) + (generator.random() < 0.01) * 3e-3
        wall = max(wall, pacer.due) + late
        begins.append(wall)
        pacer.begin_tick(wall)
    assert begins[-1] - 10.0 == pytest.approx(3999 * 0.5e-3, abs=4e-3)
    assert 20 <= pacer.late <= 80
    assert pacer.lost == 0.0


def test_after_a_late_tick_the_loop_hurries_at_most_twice_as_fast():
    pacer = Pacer(1e-3, 1.0)
    pacer.restart(0.0)
    assert run_pacer(pacer, 0.0, 3) == pytest.approx([0.0, 1e-3, 2e-3])
    begins = run_pacer(pacer, 0.05, 200)
    assert np.diff(begins).min() >= 0.5e-3 * (1 - 1e-9)
    assert begins[-1] == pytest.approx(202e-3)  # back on the old grid
    assert pacer.late == 1


def test_what_is_far_behind_is_given_up():
    pacer = Pacer(1e-3, 1.0)
    pacer.restart(0.0)
    late = 20 * MAX_LAG
    begins = run_pacer(pacer, late, 100)
    assert np.diff(begins) == pytest.approx(np.full(99, 1e-3))
    assert pacer.lost == pytest.approx(late)


def test_a_machine_too_slow_for_the_pace_runs_at_its_own():
    pacer = Pacer(1e-3, 100.0)
    pacer.restart(0.0)
    begins = run_pacer(pacer, 0.0, 1000, cost=1e-4)
    assert np.diff(begins) == pytest.approx(np.full(999, 1e-4))
    assert pacer.due < begins[-1] + 1e-4


def test_factor_zero_never_waits_and_a_new_factor_starts_a_new_grid():
    pacer = Pacer(1e-3, 0.0)
    pacer.restart(5.0)
    assert pacer.due == -math.inf
    pacer.begin_tick(5.0)
    assert pacer.due == -math.inf
    pacer.set_factor(0.5, 7.0)
    assert run_pacer(pacer, 7.0, 3) == pytest.approx([7.0, 7.002, 7.004])


class Plant:
    """Notes which wrench acts on which link."""

    def __init__(self):
        self.acting = {}

    def push(self, link, wrench):
        self.acting[link] = float(wrench[0])

    def clear(self, link):
        del self.acting[link]


@pytest.fixture
def plant():
    return Plant()


@pytest.fixture
def schedule(plant):
    return PushSchedule(plant.push, plant.clear)


def push(start_ms, hold_ms, force, link='tool'):
    return Push(int(start_ms * MS), int(hold_ms * MS), link, np.array([force, 0, 0, 0, 0, 0.0]))


def history(schedule, plant, first, last):
    """What acts in each step from `first` to `last` ms, asked as the loop asks."""
    seen = []
    for step in range(first, last + 1):
        if step * MS >= schedule.next_change_ns:
            schedule.update(step * MS)
        seen.append(dict(plant.acting))
    return seen


def test_a_push_acts_from_its_stamp_for_its_hold(schedule, plant):
    schedule.add(push(3, 2, 7.0))
    seen = history(schedule, plant, 0, 7)
    assert seen == [{}] * 3 + [{'tool': 7.0}] * 2 + [{}] * 3


@pytest.mark.parametrize('offset', [-0.9, -0.5, -0.1])
@pytest.mark.parametrize('hold', [0.3, 1.0, 2.0])
def test_a_push_between_two_steps_lasts_as_long_as_on_one(schedule, plant, offset, hold):
    schedule.add(push(3 + offset, hold, 7.0))
    seen = history(schedule, plant, 0, 8)
    assert seen == [{}] * 3 + [{'tool': 7.0}] * math.ceil(hold) + [{}] * (6 - math.ceil(hold))


def test_a_push_of_the_past_starts_now(schedule, plant):
    schedule.add(push(0, 2, 7.0))
    assert history(schedule, plant, 5, 8) == [{'tool': 7.0}] * 2 + [{}] * 2


def test_a_newer_push_replaces_the_one_on_its_link_when_it_starts(schedule, plant):
    schedule.add(push(0, 10, 1.0))
    schedule.add(push(2, 3, 2.0))
    schedule.add(push(1, 9, 5.0, link='elbow'))
    seen = history(schedule, plant, 0, 11)
    assert [one.get('tool') for one in seen] == [1.0] * 2 + [2.0] * 3 + [None] * 7
    assert [one.get('elbow') for one in seen] == [None] + [5.0] * 9 + [None] * 2


def test_of_two_pushes_that_start_together_the_later_message_counts(schedule, plant):
    schedule.add(push(2, 2, 1.0))
    schedule.add(push(2, 1, 2.0))
    seen = history(schedule, plant, 2, 4)
    assert seen == [{'tool': 2.0}, {}, {}]


def test_each_change_of_what_acts_is_told_at_its_time(schedule):
    told = []
    schedule.changed = lambda now, link, wrench: told.append((now // MS, link, wrench[0]))
    schedule.add(push(0, 3, 1.0))
    schedule.add(push(2, 2, 1.0))  # the same again: it acts for longer
    schedule.add(push(5, 9, 4.0, link='elbow'))
    history(schedule, Plant(), 0, 6)
    schedule.clear(7 * MS)
    pushes = [(0, 'tool', 1.0), (2, 'tool', 1.0), (4, 'tool', 0.0)]
    assert told == [*pushes, (5, 'elbow', 4.0), (7, 'elbow', 0.0)]


def test_cleared_pushes_are_gone(schedule, plant):
    schedule.add(push(0, 100, 1.0))
    schedule.add(push(50, 100, 2.0))
    schedule.update(0)
    schedule.clear(1 * MS)
    assert history(schedule, plant, 1, 60) == [{}] * 60
    assert plant.acting == {}


def test_tasks_run_at_their_own_periods():
    tasks, first, second = PeriodicTasks(), [], []
    tasks.every(0.1, first.append)
    tasks.every(0.25, second.append)
    now = 100.0
    for _ in range(1000):
        now += 1e-3
        if now >= tasks.due:
            tasks.run(now)
    assert len(first) == 10
    assert len(second) == 4
    assert np.diff(first) == pytest.approx(np.full(9, 0.1), abs=2e-3)


def test_a_task_that_was_missed_is_not_made_up_for():
    tasks, runs = PeriodicTasks(), []
    tasks.every(0.1, runs.append)
    for now in (0.0, 5.0, 5.05, 5.099, 5.11):
        if now >= tasks.due:
            tasks.run(now)
    assert runs == [0.0, 5.0, 5.11]
