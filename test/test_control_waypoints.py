"""Motions through waypoints: splines against SciPy's, tracked to round-off, or refused whole."""

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from moveit_plans import plans_of_moveit
from scipy.interpolate import BPoly, CubicHermiteSpline, CubicSpline

from icir_control.control import Waypoints
from icir_control.errors import RefusedError
from icir_control.simulation import Plant
from icir_control.trajectory import smooth_velocities, spline

JOINTS = tuple(f'joint_{i}' for i in range(1, 7))
TIMES = np.array([0.5, 1.1, 1.6013, 2.4, 3.0])  # one of them between two ticks
RNG = np.random.default_rng(7)
POSITIONS = HOME + np.cumsum(RNG.uniform(-0.15, 0.15, (5, 6)), axis=0)
VELOCITIES = np.vstack([RNG.uniform(-0.2, 0.2, (4, 6)), np.zeros(6)])
ACCELERATIONS = np.vstack([RNG.uniform(-0.5, 0.5, (4, 6)), np.zeros(6)])


@pytest.fixture(scope='module')
def loop():
    return ClosedLoop(start=HOME)


@pytest.fixture
def at_home(loop):
    """The loop, at rest at home, after the torque of the present state."""
    loop.restart(HOME)
    loop.clear_log()
    return loop


def oracle(times, positions, velocities, accelerations):
    """SciPy's spline from rest at home."""
    t, q = np.append(0.0, times), np.vstack([HOME, positions])
    if velocities is None:
        return CubicSpline(t, q, bc_type='clamped')
    v = np.vstack([np.zeros(6), velocities])
    if accelerations is None:
        return CubicHermiteSpline(t, q, v)
    a = np.vstack([np.zeros(6), accelerations])
    return BPoly.from_derivatives(t, np.stack([q, v, a], axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ('velocities', 'accelerations'),
    [(None, None), (VELOCITIES, None), (VELOCITIES, ACCELERATIONS)],
    ids=['positions', 'velocities', 'accelerations'],
)
def test_the_arm_is_on_the_spline_to_round_off(at_home, velocities, accelerations):
    loop = at_home
    begin = loop.time  # the next tick's
    loop.controller.follow(Waypoints(JOINTS, TIMES, POSITIONS, velocities, accelerations))
    assert loop.controller.mode == 'joint trajectory'
    assert loop.controller.motion_left == pytest.approx(3.0, abs=0.002)
    log = loop.run(3300)
    wanted = oracle(TIMES, POSITIONS, velocities, accelerations)
    elapsed = np.clip(log.time - begin, 0.0, 3.0)
    assert np.abs(log['position'] - wanted(elapsed)).max() < 1e-9
    assert loop.controller.motion_left == 0.0
    assert np.abs(loop.v).max() < 1e-9


@pytest.mark.slow
def test_plans_of_moveit_are_followed_to_round_off(at_home):
    """The second one moves joint 1 at its limit, rounded up by its sixth digit."""
    loop, start = at_home, HOME
    for plan in plans_of_moveit():
        begin = loop.time
        loop.controller.follow(plan)
        log = loop.run(round(plan.times[-1] * 1e3) + 100)
        q, v, a = plan.positions.copy(), plan.velocities.copy(), plan.accelerations.copy()
        q[0], v[0], a[0] = start, 0.0, 0.0
        wanted = BPoly.from_derivatives(plan.times, np.stack([q, v, a], axis=1))
        elapsed = np.clip(log.time - begin, 0.0, plan.times[-1])
        assert np.abs(log['position'] - wanted(elapsed)).max() < 1e-9
        start = plan.positions[-1]


@pytest.mark.parametrize(
    ('velocities', 'accelerations', 'bound'),
    [(None, None, 1e-7), (VELOCITIES, None, 1.5e-6), (VELOCITIES, ACCELERATIONS, 2e-7)],
    ids=['positions', 'velocities', 'accelerations'],
)
def test_a_continuous_plant_is_on_the_spline_too(velocities, accelerations, bound):
    """Anchor: 2.2, 4.3, 0.6 urad with the derivatives of the wrong polynomial at each point."""
    loop = ClosedLoop(start=HOME, plant=Plant(integrator='rk4'))
    begin = loop.time
    loop.controller.follow(Waypoints(JOINTS, TIMES, POSITIONS, velocities, accelerations))
    log = loop.run(3300)
    wanted = oracle(TIMES, POSITIONS, velocities, accelerations)
    elapsed = np.clip(log.time - begin, 0.0, 3.0)
    assert np.abs(log['position'] - wanted(elapsed)).max() < bound


@given(
    ways=arrays.arrays(float, (3, 2), elements=st.floats(-2.0, 2.0)),
    gaps=arrays.arrays(float, 3, elements=st.floats(0.1, 3.0)),
)
def test_the_spline_through_positions_is_scipys(ways, gaps):
    times, q = np.append(0.0, np.cumsum(gaps)), np.vstack([np.zeros(2), np.cumsum(ways, axis=0)])
    v = smooth_velocities(times, q, np.full(2, 0.3), np.zeros(2))
    wanted = CubicSpline(times, q, bc_type=((1, np.full(2, 0.3)), (1, np.zeros(2))))
    for segment in spline(times, q, v):
        for share in (0.1, 0.5, 0.9):
            time = segment.start_time + share * segment.duration
            for got, order in zip(segment.sample(time), (0, 1, 2), strict=True):
                np.testing.assert_allclose(got, wanted(time, order), rtol=1e-7, atol=1e-7)


@pytest.mark.slow
def test_a_new_one_replaces_the_old_without_a_jump(at_home):
    loop, rng = at_home, np.random.default_rng(3)
    limit = loop.model.effort_limit
    loop.run(1)
    for k in range(20):
        goals = HOME + rng.uniform(-0.2, 0.2, (3, 6))
        v = np.vstack([rng.uniform(-0.1, 0.1, (2, 6)), np.zeros(6)])
        a = np.zeros((3, 6)) if k % 2 else None
        loop.controller.follow(Waypoints(JOINTS, np.array([1.2, 2.4, 3.5]), goals, v, a))
        loop.run(37 * (k + 1))
    log = loop.log
    assert (np.abs(np.diff(log['torque_unsaturated'], axis=0)) < 0.5 * limit).all()
    steps = np.abs(np.diff(log['position_reference'], axis=0))
    assert (steps < 1.1e-3 * loop.model.velocity_limit).all()
    assert np.abs(log['position'] - log['position_reference']).max() < 1e-9


def test_some_joints_move_and_the_others_rest(at_home):
    loop = at_home
    goal = np.array([[READY[3], READY[0]]])
    loop.controller.follow(Waypoints(('joint_4', 'joint_1'), np.array([1.5]), goal))
    log = loop.run(1600)
    np.testing.assert_allclose(loop.q[[3, 0]], goal[0], atol=1e-9)
    assert np.abs(log['position'][:, [1, 2, 4, 5]] - HOME[[1, 2, 4, 5]]).max() < 1e-9


def test_joints_that_are_left_out_stop_soon_also_when_the_first_point_is_far(at_home):
    loop = at_home
    loop.controller.select('ready')
    loop.run(1000)
    assert np.abs(loop.v[[0, 4]]).min() > 0.05
    where = loop.q.copy()
    for accelerations in (None, np.zeros((2, 1))):
        goal = np.tile(loop.q[2], (2, 1))
        loop.controller.follow(
            Waypoints(('joint_3',), np.array([4.5, 5.0]), goal, np.zeros((2, 1)), accelerations)
        )
        loop.run(10)
    log = loop.run(4000)
    others = [0, 1, 3, 4, 5]
    assert np.abs(log['velocity'][520:, others]).max() < 1e-6
    assert np.abs(loop.q - where)[others].max() < 0.3 * loop.model.velocity_limit.max()


def test_it_starts_in_the_future_and_leaves_out_what_is_past(at_home):
    loop = at_home
    begin = loop.time
    loop.controller.follow(
        Waypoints(JOINTS, [0.0, 2.5], [HOME, READY], np.zeros((2, 6)), start_time=begin + 0.5)
    )
    log = loop.run(3200)
    assert np.abs(log['position'][:490] - HOME).max() < 1e-9
    np.testing.assert_allclose(loop.q, READY, atol=1e-9)
    loop.controller.follow(
        Waypoints(
            JOINTS, np.array([0.5, 4.0]), np.array([READY + 1.0, HOME]), start_time=loop.time - 1.0
        )
    )
    log = loop.run(3100)
    np.testing.assert_allclose(loop.q, HOME, atol=1e-9)
    assert log['position'].max(axis=0)[0] <= READY[0] + 1e-9, 'the point that is past'


def test_an_empty_one_stops_the_arm(at_home):
    loop = at_home
    loop.controller.follow(Waypoints(JOINTS, TIMES, POSITIONS))
    loop.run(800)
    moving = loop.q.copy()
    loop.controller.follow(None)
    loop.run(600)
    assert np.abs(loop.v).max() < 1e-9
    assert np.abs(loop.q - moving).max() < 0.2


def test_speed_scale_stretches_time(at_home):
    loop = at_home
    loop.controller.update({'speed_scale': 0.5})
    loop.controller.follow(Waypoints(JOINTS, TIMES, POSITIONS, VELOCITIES))
    log = loop.run(6100)
    loop.controller.update({'speed_scale': 1.0})
    np.testing.assert_allclose(loop.q, POSITIONS[-1], atol=1e-9)
    assert np.abs(log['position'] - log['position_reference']).max() < 1e-9


FAR = np.array([[0.0, 3.0, 0.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ('make', 'reason', 'words'),
    [
        (lambda t: Waypoints(('elbow',), [1.0], [[0.0]]), 'invalid_joints', 'joint_1, joint_2'),
        (lambda t: Waypoints(('joint_1',) * 2, [1.0], [[0.0] * 2]), 'invalid_joints', 'once'),
        (lambda t: Waypoints((), [1.0], [[]]), 'invalid_joints', 'joint_6'),
        (lambda t: Waypoints(JOINTS, [], np.empty((0, 6))), 'invalid_trajectory', '0 points'),
        (lambda t: Waypoints(JOINTS, 2.0, [HOME]), 'invalid_trajectory', r'shape \(\)'),
        (lambda t: Waypoints(JOINTS, [1.0], [HOME, 0.0]), 'invalid_trajectory', 'no array'),
        (lambda t: Waypoints(JOINTS, ['soon'], [HOME]), 'invalid_trajectory', 'times are no'),
        (
            lambda t: Waypoints(JOINTS, 0.01 * np.arange(1, 5001), np.tile(HOME, (5000, 1))),
            'invalid_trajectory',
            '5000 points; expected 1 to 1000',
        ),
        (
            lambda t: Waypoints(JOINTS, [1.0], [HOME], start_time=1.8e9),
            'invalid_trajectory',
            'ahead of simulation time.*zero for now',
        ),
        (lambda t: Waypoints(JOINTS, [9.0], FAR), 'position_limit', 'joint_2'),
        (
            lambda t: Waypoints(JOINTS, [0.1], [READY]),
            'velocity_limit',
            r'0\.05 s from now, moves joint_. at -?\S+ rad/s, its limit is \S+ rad/s; \S+ times',
        ),
        # Too fast before it is outside; what is asked for cannot be, however slow.
        (
            lambda t: Waypoints(JOINTS, [0.1], [[0, 45, 90, 0, 45, -90]]),
            'position_limit',
            'joint_. at .* outside its limits',
        ),
        (
            lambda t: Waypoints(JOINTS, [1.0], [HOME], start_time=t - 2.0),
            'old_trajectory',
            'ends in the past',
        ),
        (
            lambda t: Waypoints(JOINTS, [1.0], [HOME], [np.ones(6)]),
            'invalid_trajectory',
            'expected rest',
        ),
        (
            lambda t: Waypoints(JOINTS, [0.08], [HOME + 0.05 * np.eye(6)[1]]),
            'effort_limit',
            'times slower',
        ),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_moves(at_home, make, reason, words):
    loop = at_home
    mode = loop.controller.mode
    with pytest.raises(RefusedError, match=words) as caught:
        loop.controller.follow(make(loop.time))
    assert caught.value.reason == reason
    assert loop.controller.mode == mode
    assert np.abs(loop.run(50)['position'] - HOME).max() < 1e-9


anything = st.one_of(st.floats(), st.sampled_from([0.0, 0.5, 1.0, 2.0]))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_malformed_one_gets_through(loop, data):
    count = data.draw(st.integers(0, 3))
    values = [
        data.draw(st.one_of(st.none(), arrays.arrays(float, (count, 6), elements=anything)))
        for _ in range(2)
    ]
    times = data.draw(arrays.arrays(float, count, elements=anything))
    positions = data.draw(arrays.arrays(float, (count, 6), elements=anything))
    loop.restart(HOME)
    mode = loop.controller.mode
    try:
        loop.controller.follow(Waypoints(JOINTS, times, positions, *values))
    except RefusedError:
        assert loop.controller.mode == mode
    else:
        limits = loop.model.lower_position_limit, loop.model.upper_position_limit
        assert ((positions >= limits[0]) & (positions <= limits[1])).all()
        assert (np.diff(times) > 0.0).all()


@pytest.mark.slow
def test_a_plan_for_as_many_points_as_there_may_be_is_followed_to_its_end(at_home):
    """1000 points without velocities, whose spline is one system of equations."""
    count = 1000
    times = 0.01 * np.arange(1, count + 1)
    way = 0.5 - 0.5 * np.cos(np.pi * times / times[-1])
    positions = HOME + np.outer(way, READY - HOME)
    loop = at_home
    loop.controller.follow(Waypoints(JOINTS, times, positions))
    log = loop.run(1000 * 10 + 200)
    assert np.abs(log['position'] - log['position_reference']).max() < 1e-9
    np.testing.assert_allclose(loop.q, READY, atol=1e-6)
