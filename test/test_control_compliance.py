"""The modes that yield: gravity, float and impedance under pushes."""

import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop

from icir_control.app.promises.compliance import released, stiffness_errors
from icir_control.control.laws.impedance import mode_damping
from icir_control.dynamics import ReferenceFrame, compute_all_terms, frame_jacobian
from icir_control.simulation import Plant
from icir_control.spatial import SE3, log3

TOOL = 'end_effector_link'


@pytest.mark.parametrize(
    'axis', [0, 3, *(pytest.param(axis, marks=pytest.mark.slow) for axis in (1, 2, 4, 5))]
)
def test_impedance_yields_by_its_stiffness_along_one_axis_alone(axis):
    """To a force or a moment, with a spring that differs from axis to axis."""
    error, coupling = stiffness_errors(axis)
    assert error < 0.005
    assert coupling < 0.02


@pytest.mark.slow
@pytest.mark.parametrize('ratio', [0.4, 1.0])
@pytest.mark.parametrize('mode', range(6))
def test_every_mode_of_the_impedance_has_the_damping_ratio(mode, ratio):
    """A step of wrench along a mode overshoots as in any system of second order."""
    loop = ClosedLoop(start=HOME, modes__impedance__damping_ratio=ratio)
    model, K = loop.model, loop.controller.config.modes['impedance'].law.stiffness
    data = model.create_data()
    compute_all_terms(model, data, HOME, np.zeros(6))
    tool = [frame.name for frame in model.frames].index(TOOL)
    J = frame_jacobian(model, data, tool, ReferenceFrame.LOCAL_WORLD_ALIGNED)
    # Lambda^-1 K phi = omega^2 phi, made symmetric by K^1/2.
    root = np.diag(np.sqrt(K))
    squares, vectors = np.linalg.eigh(root @ J @ np.linalg.inv(data.M) @ J.T @ root)
    phi = vectors[:, mode] / np.sqrt(K)
    goal = 2e-3 * phi / np.abs(phi).max()
    loop.go('impedance', 0.05)
    start, ways = loop.placement, []

    def push() -> None:
        R = loop.placement.rotation
        turn = start.rotation @ log3(start.rotation.T @ R)
        moved = np.concatenate([loop.placement.translation - start.translation, turn])
        ways.append(goal @ (K * moved) / (goal @ (K * goal)))
        wrench = K * goal
        loop.world.push(TOOL, np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]]))

    loop.run(50 + round(12.0 / np.sqrt(squares[mode]) / 1e-3), push)
    overshoot = 0.0 if ratio == 1.0 else np.exp(-np.pi * ratio / np.sqrt(1.0 - ratio**2))
    assert max(ways) == pytest.approx(1.0 + overshoot, abs=0.002 + 0.06 * overshoot)


@pytest.mark.slow
def test_impedance_axes_are_the_tools_where_asked():
    """Soft along the tool's z alone: a push along it moves, one across it hardly."""
    loop = ClosedLoop(
        start=HOME,
        modes__impedance__stiffness=[2000.0, 2000.0, 200.0, 50.0, 50.0, 50.0],
        modes__impedance__axes='tool',
    )
    loop.go('impedance', 0.5)
    R = loop.placement.rotation
    moved = loop.pushed(np.concatenate([5.0 * R[:, 2], np.zeros(3)]), 4.0)[:3]
    np.testing.assert_allclose(R.T @ moved, [0.0, 0.0, 5.0 / 200.0], atol=2e-4)


def test_impedance_comes_back():
    loop = ClosedLoop(start=HOME)
    loop.go('impedance', 0.5)
    before = loop.placement
    loop.pushed(np.array([5.0, 3.0, -4.0, 0.1, 0.0, 0.2]), 1.0)
    loop.run(4000)
    assert np.linalg.norm(loop.placement.translation - before.translation) < 1e-6


@pytest.mark.parametrize('robot', ['gen3_6dof', 'gen3_7dof'])
def test_a_moving_spring_takes_the_tool_along_its_line(robot):
    """The arm's own inertia does not hold it back: 0.1 m in 2 s by an independent cubic."""
    loop = ClosedLoop(robot=robot, start=np.zeros(int(robot[5])))
    loop.go('home', 6.0)
    loop.go('impedance', 0.5)
    start, way = loop.placement, np.array([0.0, 0.1, 0.0])
    loop.controller.set_target_pose(SE3(start.rotation, start.translation + way))
    times, places = [], []
    loop.run(2500, lambda: (times.append(loop.time), places.append(loop.placement.translation)))
    share = np.clip((np.array(times) - times[0]) / 2.0, 0.0, 1.0)
    line = start.translation + np.outer(3.0 * share**2 - 2.0 * share**3, way)
    assert np.abs(np.array(places) - line).max() < 3e-4
    assert np.abs(places[-1] - line[-1]).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize('robot', ['gen3_6dof', 'gen3_7dof'])
def test_a_spring_that_a_hand_holds_off_takes_a_target(robot):
    """The path is the reference's: it takes its time, and the arm stays off by K^-1 f."""
    loop = ClosedLoop(robot=robot, start=np.zeros(int(robot[5])))
    loop.go('home', 6.0)
    loop.go('impedance', 0.5)
    start, ramp = loop.placement, iter([*np.linspace(0.0, 20.0, 2000), *[20.0] * 12000])

    def push() -> None:
        force = loop.placement.rotation.T @ [0.0, next(ramp), 0.0]
        loop.world.push(TOOL, np.concatenate([force, np.zeros(3)]))

    loop.run(6000, push)
    assert loop.placement.translation[1] - start.translation[1] == pytest.approx(0.04, rel=0.01)
    goal = SE3(start.rotation, start.translation + [0.0, 0.0, 0.05])
    loop.controller.set_target_pose(goal)
    loop.run(1, push)
    assert loop.controller.motion_left == pytest.approx(2.0, abs=2e-3)
    loop.run(6000, push)
    off = loop.placement.translation - goal.translation
    np.testing.assert_allclose(off, [0.0, 0.04, 0.0], atol=4e-4)


def test_speed_scale_slows_a_moving_spring_down():
    loop = ClosedLoop(start=HOME, speed_scale=0.5)
    loop.go('impedance', 0.5)
    start, way = loop.placement, np.array([0.0, 0.0, -0.05])
    loop.controller.set_target_pose(SE3(start.rotation, start.translation + way))
    loop.run(2000)
    assert loop.placement.translation[2] - start.translation[2] == pytest.approx(-0.025, abs=1e-3)
    loop.run(2500)
    np.testing.assert_allclose(loop.placement.translation, start.translation + way, atol=1e-5)


@pytest.mark.parametrize('axis', range(3))
def test_float_follows_a_hand_and_keeps_its_orientation(axis):
    """10 N, then release: at rest within 2 s, and all the time within 0.5 deg."""
    way, turned, rest = released(axis)
    assert 0.015 < way < 0.250
    assert np.degrees(turned) < 0.5
    assert 0.0 < rest < 2.0


@pytest.mark.slow
@pytest.mark.parametrize('robot', ['gen3_6dof', 'gen3_7dof'])
def test_an_arm_with_friction_that_was_pushed_in_float_comes_to_rest(robot):
    """Anchor: asked for as an acceleration, the orientation kept 11 of 24 such arms moving."""
    rng = np.random.default_rng(5)
    loop = ClosedLoop(robot=robot, start=np.zeros(int(robot[5])), plant=Plant(joint_friction=1.0))
    lower, upper = loop.model.lower_position_limit, loop.model.upper_position_limit
    home = loop.controller.config.modes['home'].law.target
    for _ in range(12):
        q = home + 0.4 * rng.normal(size=home.size)
        loop.restart(np.clip(q, lower + 0.15, upper - 0.15))
        loop.go('hold', 0.2)
        loop.go('float', 0.2)
        push = rng.normal(size=3)
        loop.pushed(np.concatenate([30.0 * push / np.linalg.norm(push), np.zeros(3)]), 0.3)
        loop.run(3000)
        before = loop.placement.translation
        loop.run(100)
        assert loop.controller.mode == 'float'
        assert np.linalg.norm(loop.placement.translation - before) < 1e-3, '10 mm/s'


def test_float_at_the_singular_upright_pose_stays_calm():
    loop = ClosedLoop()
    loop.go('float', 0.5)
    loop.pushed(np.array([3.0, 2.0, 0.0, 0.0, 0.0, 0.0]), 1.0)
    recording = loop.run(2000)
    assert np.isfinite(recording['position']).all()
    assert np.abs(recording['velocity'][-1]).max() < 0.05


def test_gravity_holds_the_arm_up_and_lets_motion_die():
    loop = ClosedLoop(start=HOME)
    loop.go('gravity', 1.0)
    np.testing.assert_allclose(loop.q, HOME, atol=1e-9)
    loop.pushed(np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0]), 0.2)
    speed = np.abs(loop.v).max()
    assert speed > 0.05
    loop.run(1000)
    assert np.abs(loop.v).max() < 2.0 * np.exp(-2.0) * speed


def test_without_damping_gravity_never_stops_the_arm():
    """The tutorial's: the acceleration is zero, so a speed within the limits stays."""
    loop = ClosedLoop(start=HOME, modes__gravity__damping_rate=0.0)
    loop.pushed(np.array([0.0, 0.5, 0.0, 0.0, 0.0, 0.0]), 0.1)
    loop.run(1)
    before = loop.v.copy()
    loop.run(200)
    np.testing.assert_allclose(loop.v, before, atol=1e-6)


@pytest.mark.parametrize(
    ('mode', 'timestep', 'values'),
    [
        ('impedance', 1e-3, {'damping_ratio': 10.0}),
        ('impedance', 2e-3, {'damping_ratio': 3.0}),
        ('impedance', 1e-3, {'damping_ratio': 2.5, 'stiffness': [1e4] * 6}),
        ('impedance', 1e-3, {'inertia': [1e-3] * 6, 'stiffness': [1e5] * 6}),
        ('impedance', 1e-3, {'inertia': [0.1] * 6, 'damping_ratio': 10.0}),
        ('float', 2e-3, {'damping_rate': 1000.0}),
        ('gravity', 5e-3, {'damping_rate': 500.0}),
    ],
)
def test_the_fastest_damping_that_may_be_asked_for_shakes_no_arm(mode, timestep, values):
    gains = {f'{of}__kp': [5000.0] * 6 for of in ('joint_gains', 'task_gains')}
    changes = {f'modes__{mode}__{name}': value for name, value in values.items()}
    loop = ClosedLoop(start=HOME, timestep=timestep, **gains, **changes)
    loop.go(mode, 0.05)
    loop.pushed(np.array([5.0, 0.0, 3.0, 0.1, 0.0, 0.0]), 0.1)
    log = loop.run(loop.steps(0.4))
    assert loop.controller.mode == mode
    assert (np.abs(log['velocity']) < loop.model.velocity_limit).all()
    assert np.abs(np.diff(log['velocity'][-20:], axis=0)).max() < 1e-4


def test_a_spring_with_much_damping_is_as_stiff_as_asked():
    """Modes that cannot have as much of it keep their stiffness."""
    K = np.array([2e4, 2e4, 2e4, 100.0, 100.0, 100.0])
    loop = ClosedLoop(
        start=HOME,
        modes__impedance__damping_ratio=7.0,
        modes__impedance__stiffness=K.tolist(),
    )
    loop.go('impedance', 0.05)
    wrench = np.array([30.0, 0.0, 10.0, 0.3, 0.2, 0.0])
    error = K * loop.pushed(wrench, 3.0) - wrench
    assert (np.abs(error) < 1e-3 * np.repeat([30.0, 0.3], 3)).all()


def test_a_mode_too_fast_for_the_control_period_is_softer_and_comes_to_rest():
    """A light tool: 20 N m/rad at 1e-6 kg m^2 have 4.5 krad/s, which 1 ms cannot follow."""
    h, K = 1e-3, np.array([500.0, 500.0, 500.0, 20.0, 20.0, 20.0])
    m = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 1e-6])
    e, rate = np.full(6, 0.01), np.zeros(6)
    first = K * e + mode_damping(K, np.diag(1.0 / m), 1.0, e, rate, h)
    np.testing.assert_allclose(first[:5], (K * e)[:5])
    for _ in range(3000):
        f = K * e + mode_damping(K, np.diag(1.0 / m), 1.0, e, rate, h)
        rate = rate - h * f / m
        e = e + h * rate
    assert np.abs(e).max() < 1e-6
