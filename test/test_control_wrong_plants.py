"""Plants that are not the model: never worse than the textbook's law, stable, never lost."""

from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from closed_loop import HOME, READY, UPRIGHT, ClosedLoop, model_of
from example_robots import PANDA, needs_example_robots
from scipy.interpolate import CubicSpline, PPoly

from icir_control.app.measurement import TimeSeries
from icir_control.app.promises.plants import (
    DEVIATIONS,
    DOWN_BOUNDS,
    HOME_BOUNDS,
    TOO_FAST,
    combinations,
    ratio,
    shipped,
    textbook,
)
from icir_control.app.promises.textbook import (
    ComputedTorque,
    joint_error,
    joint_motion_error,
    joint_reference,
)
from icir_control.app.robot import RobotFiles
from icir_control.control import Waypoints
from icir_control.dynamics import forward_kinematics, frame_placement, inverse_kinematics
from icir_control.simulation import Plant
from icir_control.spatial import SE3

NOISE, LOAD = DEVIATIONS['noise'], DEVIATIONS['payload_at_10_cm']
NOISY = 1.01
"""Of the ratios in noise, which both answer alike: torques that differ otherwise leave chance."""
FINER = ('rk4', 'five_substeps', 'implicitfast')
QUICK = ('heavier', 'friction')
OFTEN = ('heavier', 'friction', 'rotors_0.05', 'delay_2', 'encoders', *FINER)


@pytest.mark.parametrize(
    'name',
    [
        *QUICK,
        'noise',
        *(pytest.param(name, marks=pytest.mark.slow) for name in OFTEN if name not in QUICK),
    ],
)
def test_home_is_no_worse_than_the_textbooks(name):
    assert_no_worse('home', Plant(**DEVIATIONS[name]), HOME_BOUNDS.get(name, 1.0))


@pytest.mark.parametrize(
    'name',
    [
        'friction',
        'rk4',
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ('rotors_0.05', 'five_substeps', 'implicitfast')
        ),
    ],
)
def test_down_is_no_worse_than_the_textbooks(name):
    assert_no_worse('down', Plant(**DEVIATIONS[name]))


@pytest.mark.long
@pytest.mark.parametrize('name', DEVIATIONS)
def test_both_motions_are_no_worse_than_the_textbooks(name):
    assert_no_worse('home', Plant(**DEVIATIONS[name]), HOME_BOUNDS.get(name, 1.0))
    assert_no_worse('down', Plant(**DEVIATIONS[name]), DOWN_BOUNDS.get(name, 1.0))


@pytest.mark.parametrize(
    ('name', 'share'),
    [('damping', 0.3), ('friction', 0.4), ('rotors_0.005', 0.7), ('rotors_0.05', 0.1)],
)
def test_a_motion_that_begins_at_once_shows_its_plant(name, share):
    """Anchors: 0.67, 0.67, 0.97, 0.90 where nothing is learnt in the first 0.1 s of noise."""
    ours, theirs = at_once(Plant(**DEVIATIONS[name]))
    assert ours <= share * theirs


def test_noise_that_is_not_yet_known_is_no_inertia():
    """Anchor: stopped at 1.5 times its limit, as one sample showed less inertia than none.

    A load that sags, late, in noise; the textbook's is at 1.26.
    """
    plant = Plant(**LOAD, **NOISE, mass_scale=1.1, delay_steps=2, integrator='rk4')
    loop = ClosedLoop(robot='gen3_7dof', start=SEVEN_HOME, plant=plant)
    loop.go('hold', 0.5)
    assert loop.controller.mode == 'hold', loop.controller.take_events()


def test_a_motion_that_begins_at_once_is_not_stopped():
    """Anchor: left its path by 0.47 rad, stopped; the textbook's has 0.03."""
    late = {'delay_steps': 2, 'integrator': 'implicitfast'}
    plant = Plant(mass_scale=0.9, joint_damping=0.5, rotor_inertia=0.005, **late)
    ours, theirs = at_once(plant)
    assert ours <= 0.7 * theirs


@pytest.mark.long
@pytest.mark.parametrize('plant', [*combinations(51)], ids=str)
def test_home_at_once_is_no_worse_on_plants_with_several_deviations(plant):
    """In noise both begin at the first sample, which is most of their error."""
    ours, theirs = at_once(plant)
    assert ours <= (1.05 if plant.position_noise else 1.0) * theirs


def at_once(plant: Plant) -> tuple[float, float]:
    """Peak errors of `home`, which is the first that the arm is asked for."""
    loop = ClosedLoop(plant=plant)
    ours = joint_motion_error(loop, 'home', 2.5, HOME)
    loop = ClosedLoop(plant=plant)
    world, law = loop.world, ComputedTorque(loop.model)
    world.reset(UPRIGHT)
    q, v, effort = np.zeros((3, 6))
    theirs, times = 0.0, 1e-3 * np.arange(2500)
    world.read(q, v, effort)
    measured = joint_reference(times, q.copy(), HOME, 2.0)
    exact = joint_reference(times, UPRIGHT, HOME, 2.0)[:, 0]
    for path, reference in zip(exact, measured, strict=True):
        world.read(q, v, effort)
        theirs = max(theirs, np.abs(world.position - path).max())
        world.step(law.torque(reference, q, v, 1e-3))
    return ours, theirs


def test_a_rotor_that_becomes_known_throws_no_joint_beyond_its_speed_limit():
    """Anchor: 1.30 of its limit, and the textbook 1.01, where M had the rotor and M^-1 had not."""
    plant = Plant(mass_scale=1.1, joint_friction=1.0, rotor_inertia=0.05, integrator='rk4')
    ours, theirs = shipped('home', plant), textbook('home', plant)
    assert ours.speed_share < TOO_FAST
    assert ours.error < 0.85 * theirs.error


def test_a_joint_that_shakes_is_not_shaken_the_more_near_its_speed_limit():
    """Anchor: 1.82 of its limit, and the textbook 1.10.

    How an arm shakes is chance: the mean of some whose masses hardly differ. Of 60 the ratio of
    the errors is 0.78 with a deviation of 0.12, and the greatest speed 1.14 with 0.03.
    """
    late = {'delay_steps': 2, 'encoder_bits': 17, 'integrator': 'implicitfast'}
    plants = [Plant(mass_scale=0.9 + 1e-4 * i, **LOAD, **late) for i in range(8)]
    motions = [(shipped('home', plant), textbook('home', plant)) for plant in plants]
    assert np.mean([ours.speed_share for ours, _ in motions]) < TOO_FAST
    assert np.mean([ratio(ours, theirs) for ours, theirs in motions]) < 0.9


@pytest.mark.parametrize(
    ('mode', 'deviations'),
    [
        ('home', {'encoder_bits': 17}),
        pytest.param('down', {'encoder_bits': 17}, marks=pytest.mark.slow),
        pytest.param('down', {'encoder_bits': 17} | LOAD, marks=pytest.mark.slow),
    ],
)
def test_feedback_that_shakes_an_arm_becomes_softer(mode, deviations):
    """Anchor: stopped beside its way, 20 to 330 times off the textbook's, which only shakes."""
    plant = Plant(mass_scale=0.9, delay_steps=2, integrator='rk4', **deviations)
    ours, theirs = shipped(mode, plant), textbook(mode, plant)
    assert ours.speed_share < max(TOO_FAST, theirs.speed_share)
    assert ours.error < 0.8 * theirs.error


@pytest.mark.slow
def test_feedback_that_shakes_a_loaded_arm_becomes_softer():
    """Anchor: stopped. How an arm shakes is chance: a mean of some whose masses hardly differ."""
    late = {'delay_steps': 2, 'integrator': 'rk4', 'encoder_bits': 17}
    plants = [Plant(mass_scale=0.9 + 1e-4 * i, **LOAD, **late) for i in range(6)]
    motions = [(shipped('home', plant), textbook('home', plant)) for plant in plants]
    assert max(ours.speed_share for ours, _ in motions) < TOO_FAST
    assert np.mean([ratio(ours, theirs) for ours, theirs in motions]) < 0.8


@pytest.mark.slow
def test_feedback_that_shakes_an_arm_in_noise_is_no_worse_than_the_textbooks():
    """Anchor: 1.56 times its speed limit, and the textbook 1.25: of one draw they are chance."""
    late = {'mass_scale': 0.9, 'delay_steps': 2, 'integrator': 'rk4'}
    plants = [Plant(**late, **NOISE | LOAD | {'noise_seed': seed}) for seed in range(8)]
    motions = [(shipped('home', plant), textbook('home', plant)) for plant in plants]
    fastest = np.mean([[motion.speed_share for motion in both] for both in motions], axis=0)
    assert fastest[0] < NOISY * fastest[1]
    assert np.mean([ratio(ours, theirs) for ours, theirs in motions]) < 0.6


@pytest.mark.parametrize('late', [0, 1])
def test_a_pushed_arm_is_not_made_softer(late):
    """What a push leaves dies away, and what saturates is no shaking."""
    loop = ClosedLoop(start=HOME, plant=Plant(delay_steps=late))
    for force in (10.0, -20.0, 40.0):
        loop.go('home', 0.2)
        loop.run(30, lambda push=force: loop.world.push(loop.tool, [0.0, push, push, 0, 0, 0]))
        loop.world.clear_push(loop.tool)
        loop.run(1500)
    assert loop.controller.bandwidth == 1.0


@pytest.mark.long
@pytest.mark.parametrize('plant', [*combinations(51)], ids=str)
def test_both_motions_are_no_worse_on_plants_with_several_deviations(plant):
    assert_no_worse('home', plant)
    assert_no_worse('down', plant, NOISY if plant.position_noise else 1.0)


@pytest.mark.parametrize(
    ('deviations', 'most', 'worst'),
    [
        pytest.param({}, 1.003, NOISY, marks=pytest.mark.slow),
        pytest.param({'delay_steps': 1, 'substeps': 5}, 1.008, 1.015, marks=pytest.mark.long),
    ],
    ids=['noise', 'noise, delay and substeps'],
)
def test_down_in_noise_is_the_textbooks_in_the_mean(deviations, most, worst):
    """Without the second lag of what is cancelled it is 1.007 and 1.018.

    With the observer off, single draws are 0.996 to 1.0035; as shipped to 1.006 and 1.011.
    """
    plants = [Plant(**NOISE, **deviations, noise_seed=seed) for seed in range(8)]
    ratios = [ratio(shipped('down', plant), textbook('down', plant)) for plant in plants]
    assert np.mean(ratios) < most
    assert max(ratios) < worst


@pytest.mark.long
def test_down_with_encoders_is_the_textbooks_in_the_mean():
    """Each error is a third of a count, and chance: some arms whose masses hardly differ.

    The bound is the mean of 128 arms, 1.016, and twice the deviation of a mean of 32.
    """
    plants = [Plant(encoder_bits=17, mass_scale=1.0 + 1e-4 * i) for i in range(-16, 16)]
    ratios = [ratio(shipped('down', plant), textbook('down', plant)) for plant in plants]
    assert np.exp(np.mean(np.log(ratios))) < 1.06


@pytest.mark.parametrize('seed', range(3))
def test_the_counts_of_an_encoder_are_no_oscillation(seed):
    """While the noise was being learnt the estimate was backed off: its arm left by 4 counts."""
    q = np.random.default_rng(seed).uniform(-0.3, 0.3, 6)  # upright, where inertia is greatest
    loop = ClosedLoop(start=q, plant=Plant(encoder_bits=17))
    position = loop.go('hold', 1.0)['position']
    assert np.abs(position - q).max() < 1.5 * 2.0 * np.pi / 2**17


@pytest.mark.slow
def test_what_is_cancelled_has_little_of_the_estimates_noise():
    """And all of a weight that the model lacks."""

    def estimated_and_cancelled(**deviation: float) -> tuple[np.ndarray, np.ndarray]:
        loop = ClosedLoop(start=HOME, plant=Plant(**deviation))
        loop.go('hold', 2.0)
        memory, rows = loop.controller._engine.memory, []
        for _ in range(1000):
            loop.run(1)
            rows.append((memory.disturbance.copy(), memory.compensation.copy()))
        estimated, cancelled = np.swapaxes(rows, 0, 1)
        return estimated, cancelled

    estimated, cancelled = estimated_and_cancelled(**NOISE)
    assert (cancelled.std(axis=0) < 0.35 * estimated.std(axis=0)).all()
    weight = estimated_and_cancelled(mass_scale=1.1)[1].mean(axis=0)
    noisy = estimated_and_cancelled(mass_scale=1.1, **NOISE)[1].mean(axis=0)
    assert noisy[1:3] == pytest.approx(weight[1:3], rel=0.05)


def assert_no_worse(mode: str, plant: Plant, most: float = 1.0) -> None:
    ours, theirs = shipped(mode, plant), textbook(mode, plant)
    assert ratio(ours, theirs) <= most
    assert ours.speed_share <= max(TOO_FAST, theirs.speed_share)


SEVEN_HOME = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])


@cache
def eight(robot: str, start: tuple[float, ...]) -> PPoly:
    """The joints (nv,) over 8 s while the tool goes round an eight of 8 by 4 cm twice."""
    model, q = model_of(robot), np.array(start)
    data, tool = model.create_data(), model.frame_id('end_effector_link')
    forward_kinematics(model, data, q)
    first, rows = frame_placement(model, data, tool), []
    times = np.arange(0.0, 8.01, 0.02)
    u = times / 8.0
    for angle in 4.0 * np.pi * (10.0 * u**3 - 15.0 * u**4 + 6.0 * u**5):
        way = np.array([0.02 * np.sin(2.0 * angle), 0.0, 0.04 * np.sin(angle)])
        goal = SE3(first.rotation, first.translation + way)
        q = inverse_kinematics(model, data, tool, goal, q)
        rows.append(q)
    return CubicSpline(times, rows, bc_type='clamped')


def on_the_eight(
    plant: Plant, robot: str = 'gen3_6dof', start: np.ndarray = HOME
) -> tuple[float, float]:
    """Peak errors of the joints by the shipped law, and by the textbook's."""
    path = eight(robot, tuple(start))
    loop = ClosedLoop(robot=robot, start=start, plant=plant)
    loop.go('hold', 0.3)
    times, begin = path.x[1:], loop.time
    loop.controller.follow(Waypoints(loop.model.joint_names, times, path(times)))
    log = loop.run(8200)
    ours = np.abs(log['position'] - path(np.clip(log.time - begin, 0.0, 8.0))).max()
    loop = ClosedLoop(robot=robot, start=start, plant=plant)
    world, law = loop.world, ComputedTorque(loop.model)
    world.reset(start)
    q, v, effort = np.zeros((3, loop.model.nv))
    theirs = 0.0
    for time in np.clip(np.arange(-300, 8200) * 1e-3, 0.0, 8.0):
        world.read(q, v, effort)
        reference = path(time), path(time, 1), path(time, 2) * (0.0 < time < 8.0)
        theirs = max(theirs, np.abs(world.position - reference[0]).max())
        world.step(law.torque(np.array(reference), q, v, 1e-3))
    return ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ('deviations', 'share'),
    [
        ({'joint_friction': 1.0}, 0.4),
        ({'joint_friction': 1.0, 'rotor_inertia': 0.005, 'delay_steps': 1, **NOISE}, 0.75),
        ({'mass_scale': 1.1}, 0.2),
        ({'joint_friction': 1.0, 'encoder_bits': 17}, 0.9),
        (NOISE, 1.0),
    ],
    ids=['friction', 'friction, delay and noise', 'mass', 'friction and encoders', 'noise'],
)
def test_joints_that_reverse_are_no_worse_than_the_textbooks(deviations, share):
    """Anchors: 0.92, 1.29, 0.06 where friction is not turned with the reference.

    0.49 where friction is not limited to what leaps at a turn. 1.35 where friction is what changes
    within 0.1 s, however slow the estimate is; 1.64 where the arm is held at the first sample. The
    second one 0.88 where the observer corrects torques.
    """
    ours, theirs = on_the_eight(Plant(**deviations))
    assert ours <= share * theirs


@pytest.mark.slow
def test_friction_that_holds_joints_on_an_eight_does_not_grow():
    """Anchor: 2.8; two heavy joints that hardly move learnt 3.2 N m, and were thrown by 15 mrad.

    What the light joints lack came into their estimates, and turned with each small reversal.
    """
    plant = Plant(
        mass_scale=0.9,
        joint_friction=1.0,
        rotor_inertia=0.05,
        encoder_bits=17,
        delay_steps=2,
        substeps=5,
    )
    ours, theirs = on_the_eight(plant, 'gen3_7dof', SEVEN_HOME)
    assert ours <= 0.7 * theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ('robot', 'start'),
    [
        ('gen3_6dof', (-0.06, 1.03, 1.61, 0.05, 0.6, -1.56)),
        ('gen3_7dof', (-0.04, 0.26, 3.43, -1.58, -0.11, 0.82, 1.79)),
    ],
)
def test_friction_that_holds_a_light_joint_is_known_before_it_turns(robot, start):
    """Anchors: 1.17 and 1.00 where a joint that sticks is as slowly observed as a heavy one.

    The last joint creeps half of the way, and friction that was known by 0.12 N m of 0.8 turned.
    """
    plant = Plant(mass_scale=0.9, joint_friction=1.0, rotor_inertia=0.05, delay_steps=2)
    ours, theirs = on_the_eight(plant, robot, start)
    assert ours <= 0.85 * theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ('deviations', 'share'),
    [
        pytest.param({'mass_scale': 0.9, 'delay_steps': 1} | LOAD, 0.8, id='load'),
        pytest.param({'integrator': 'implicitfast', 'joint_friction': 1.0}, 1.0, id='friction'),
    ],
)
def test_what_leaps_as_a_joint_turns_is_its_friction_behind_encoders_too(deviations, share):
    """Anchors: 1.25 and 1.28, where all that a slow estimate learns after a turn is turned back.

    0.18 N m of a load did so in the last joint, and kicked it at each of its reversals.
    """
    start = np.array([0.04, 1.01, -1.12, 1.15, -0.59, -0.16, 1.03])
    ours, theirs = on_the_eight(Plant(**deviations, encoder_bits=17), 'gen3_7dof', start)
    assert ours <= share * theirs


@pytest.mark.long
@pytest.mark.parametrize(
    'plant', [*(Plant(**one) for one in DEVIATIONS.values()), *combinations(51)], ids=str
)
def test_seven_joints_on_an_eight_are_no_worse_than_the_textbooks(plant):
    ours, theirs = on_the_eight(plant, 'gen3_7dof', SEVEN_HOME)
    assert ours <= (NOISY if plant.position_noise else 1.0) * theirs


@pytest.mark.long
@pytest.mark.parametrize(
    'plant', [*(Plant(**one) for one in DEVIATIONS.values()), *combinations(51)], ids=str
)
def test_an_eight_is_no_worse_than_the_textbooks_on_any_plant(plant):
    ours, theirs = on_the_eight(plant)
    assert ours <= (NOISY if plant.position_noise else 1.0) * theirs


WAY = np.array([-0.208, 0.585, -0.218, 0.346, 0.444, -0.131, -0.075])  # rad


STRETCHED = np.zeros(7)
SAGGING = (
    (0.037, 1.009, -0.915, 1.409, -0.393, -0.241),
    (0.561, 0.864, -0.835, 0.654, 0.012, -0.18),
)
"""Of the arm with six joints: where it starts, and where it goes to."""


def cubic_error(
    plant: Plant,
    kp: float,
    goal: np.ndarray,
    start: np.ndarray = STRETCHED,
    robot: str | RobotFiles = 'gen3_7dof',
) -> float:
    """Peak error of a cubic."""
    loop = ClosedLoop(
        robot=robot,
        start=start,
        plant=plant,
        joint_gains__kp=[kp] * len(start),
        modes__home__target_deg=np.degrees(goal).tolist(),
        modes__home__duration=2.0,
        modes__home__profile='cubic',
    )
    loop.go('hold', 0.3)
    begin = loop.time
    return joint_error(loop.go('home', 2.5), begin, start, goal, 2.0)


def textbooks_cubic_error(
    plant: Plant,
    kp: float,
    goal: np.ndarray,
    start: np.ndarray = STRETCHED,
    robot: str | RobotFiles = 'gen3_7dof',
) -> float:
    """The same of the textbook's law."""
    loop = ClosedLoop(robot=robot, start=start, plant=plant)
    world, law = loop.world, ComputedTorque(loop.model, kp)
    world.reset(start)
    q, v, effort = np.zeros((3, len(start)))
    error, times = 0.0, 1e-3 * np.arange(-300, 2500)
    world.read(q, v, effort)
    measured = joint_reference(times, q.copy(), goal, 2.0)
    exact = joint_reference(times, start, goal, 2.0)[:, 0]
    for time, path, reference in zip(times, exact, measured, strict=True):
        world.read(q, v, effort)
        if time >= 0.0:
            error = max(error, np.abs(world.position - path).max())
        world.step(law.torque(reference, q, v, 1e-3))
    return error


@pytest.mark.slow
@pytest.mark.parametrize(
    ('deviations', 'seed', 'nth', 'share'),
    [
        (
            {'mass_scale': 0.9, 'joint_friction': 1.0, 'integrator': 'implicitfast'}
            | DEVIATIONS['payload_at_5_cm'],
            1,
            1,
            0.7,
        ),
        (
            {'mass_scale': 1.1, 'joint_damping': 0.5, 'joint_friction': 1.0, 'substeps': 5}
            | {'rotor_inertia': 0.05, 'delay_steps': 2, **LOAD},
            6,
            1,
            0.9,
        ),
        ({'mass_scale': 0.9, 'delay_steps': 2, **LOAD}, 5, 1, 0.3),
        ({'mass_scale': 0.9, 'delay_steps': 2, **LOAD}, 0, 12, 0.5),
        ({'mass_scale': 0.9, 'delay_steps': 2, **LOAD}, 35, 1, 0.7),
        ({'mass_scale': 0.9, 'delay_steps': 2, **LOAD}, 42, 1, 0.5),
    ],
    ids=[
        'friction that is in doubt',
        'friction that turns',
        'a light joint that swings',
        'a load that is no rotor',
        'a load that is no friction',
        'a load that is no friction, on another path',
    ],
)
def test_fast_paths_with_a_load_are_no_worse_than_the_textbooks(
    monkeypatch, deviations, seed, nth, share
):
    """Anchors: 5.2 and 3.3, since a contact was felt in free air; 4.8; stopped at 62 times.

    Where what a load changes by passed for friction: 1.94; 1.47.
    """
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    from benchmark import wrong_plants

    rng, limit = np.random.default_rng(seed), model_of('gen3_7dof').velocity_limit
    path = [wrong_plants.random_path(rng, limit) for _ in range(nth)][-1]
    plant = Plant(**deviations)
    ours, said = wrong_plants.shipped('gen3_7dof', plant, path)
    assert not said
    assert ours <= share * wrong_plants.textbook('gen3_7dof', plant, path)


def test_the_first_counts_of_an_encoder_are_no_friction():
    """Anchor: 0.62 mrad; what the counts change an estimate by while a joint turns was turned."""
    goal = np.array([0.08, -0.083, -0.487, -0.182, 0.146, -0.574, 0.45])
    error = cubic_error(Plant(encoder_bits=17), 2500.0, goal)
    assert error <= 1.5 * 2.0 * np.pi / 2**17


@pytest.mark.parametrize(
    ('name', 'kp', 'share'),
    [
        ('delay_2', 40000.0, 0.8),
        ('heavier', 2500.0, 0.7),
        ('lighter', 2500.0, 0.7),
        ('delay_1', 2500.0, 1.0),
        ('delay_2', 2500.0, 1.0),
        ('encoders', 2500.0, 1.0),
    ],
)
def test_seven_joints_are_no_worse_than_the_textbooks(name, kp, share):
    """Anchors: 2.1, 1.9, 1.5, 3.0, 3.6 and 1.7, where the observer corrects torques.

    What it cancels in the heavy joints then pushes the light ones, whose gains are lower.
    """
    plant = Plant(**DEVIATIONS[name])
    ours = cubic_error(plant, kp, WAY)
    assert ours <= share * textbooks_cubic_error(plant, kp, WAY)


@pytest.mark.parametrize(
    ('deviations', 'share'),
    [
        pytest.param({'delay_steps': 1} | NOISE, 0.9, id='noise'),
        pytest.param({'delay_steps': 1, 'substeps': 5, 'encoder_bits': 17}, 0.95, id='encoders'),
    ],
)
def test_an_estimate_begins_anew_where_the_disturbance_turns(deviations, share):
    """Anchors: 1.03 and 1.04; what a slow estimate had learnt was left where damping turned."""
    plant = Plant(joint_damping=0.5, **LOAD, **deviations)
    ours = cubic_error(plant, 40000.0, WAY)
    assert ours <= share * textbooks_cubic_error(plant, 40000.0, WAY)


def test_the_joint_that_feedback_shakes_becomes_the_softest():
    """Anchor: 1.12, where all joints are as soft as it, so that the load pushes them aside."""
    late = {'delay_steps': 2, 'encoder_bits': 17, 'integrator': 'rk4'}
    plant = Plant(mass_scale=0.9, joint_damping=0.5, **LOAD, **late)
    ours = cubic_error(plant, 40000.0, WAY)
    assert ours <= textbooks_cubic_error(plant, 40000.0, WAY)


def test_friction_that_holds_a_light_joint_does_not_turn_with_the_arm():
    """Anchor: 2.17; turned with M, it grew in the heavy joints until it drove the light ones."""
    losses = {'joint_damping': 0.5, 'joint_friction': 1.0, 'rotor_inertia': 0.05}
    plant = Plant(**losses, encoder_bits=17, delay_steps=2, integrator='rk4')
    start = np.array([0.54, -0.711, -0.183, 0.097, 0.193, -0.4, -0.161])
    goal = np.array([1.076, -0.532, -0.081, -0.425, -0.345, -0.746, -0.596])
    ours = cubic_error(plant, 40000.0, goal, start)
    assert ours <= 0.9 * textbooks_cubic_error(plant, 40000.0, goal, start)


def test_noise_that_feedback_amplifies_does_not_make_it_softer():
    """Anchors: 1.50 and 1.62; softer, feedback let the load through."""
    late = {'delay_steps': 1, 'integrator': 'implicitfast'}
    load = {'payload_mass': 1.0, 'payload_offset': [0.05, 0.0, 0.0]}
    plant = Plant(mass_scale=0.9, **load, **late, **NOISE)
    for start, goal in (
        (
            (0.6, -0.77, 0.33, -0.8, 0.01, -0.1, -0.47),
            (0.39, -0.4, 0.11, -1.22, 0.24, -0.16, -0.12),
        ),
        (
            (-0.03, -0.18, 0.72, -0.2, 0.61, -0.13, -0.2),
            (-0.19, -0.71, 0.45, -0.53, 0.08, -0.08, -0.27),
        ),
    ):
        ours = cubic_error(plant, 40000.0, np.array(goal), np.array(start))
        assert ours <= textbooks_cubic_error(plant, 40000.0, np.array(goal), np.array(start))


def test_an_estimate_that_is_wrong_again_and_again_is_trusted_less():
    """Anchor: 1.25; late torque leaves a joint with a rotor little damping, the observer none."""
    plant = Plant(rotor_inertia=0.05, mass_scale=1.1, delay_steps=2, integrator='rk4', **NOISE)
    ours = cubic_error(plant, 40000.0, WAY)
    assert ours <= textbooks_cubic_error(plant, 40000.0, WAY)


def test_an_inertia_that_the_model_loses_kicks_no_joint():
    """Anchor: 1.62, where what is left out of an estimate grew 900 times with the new M^-1.

    A load passed for a rotor until then; what the kick left unexplained passed for a contact.
    """
    deviations = {'mass_scale': 1.1, 'joint_damping': 0.5, 'joint_friction': 1.0}
    plant = Plant(**deviations, **LOAD, rotor_inertia=0.05, delay_steps=2, substeps=5)
    ours = cubic_error(plant, 40000.0, WAY)
    assert ours <= 0.7 * textbooks_cubic_error(plant, 40000.0, WAY)


@pytest.mark.long
@pytest.mark.parametrize('goal', [WAY, -WAY], ids=['there', 'the other way'])
@pytest.mark.parametrize('plant', [*combinations(51)], ids=str)
def test_seven_joints_are_no_worse_on_plants_with_several_deviations(plant, goal):
    """As the arm sets off nothing is known of it: with rotors and late torque 3 % are chance."""
    ours = cubic_error(plant, 40000.0, goal)
    assert ours <= 1.04 * textbooks_cubic_error(plant, 40000.0, goal)


def there_and_back(plant: Plant, way: np.ndarray) -> tuple[float, float]:
    """Peak errors while the joints go two cubics, from home to a posture and beyond home."""
    goals = [HOME, HOME + way, HOME - way]
    loop = ClosedLoop(start=HOME, plant=plant, modes__home__profile='cubic')
    loop.go('home', 2.5)
    ours = 0.0
    for before, goal in pairwise(goals):
        loop.controller.set_target_joints(goal)
        path = joint_reference(np.arange(2500) * 1e-3, before, goal, 2.0)[:, 0]
        ours = max(ours, np.abs(loop.run(2500)['position'] - path).max())
    loop = ClosedLoop(start=HOME, plant=plant)
    world, law = loop.world, ComputedTorque(loop.model)
    world.reset(HOME)
    q, v, effort = np.zeros((3, 6))
    theirs = 0.0
    for before, goal in pairwise(goals):
        for reference in joint_reference(np.arange(2500) * 1e-3, before, goal, 2.0):
            world.read(q, v, effort)
            theirs = max(theirs, np.abs(q - reference[0]).max())
            world.step(law.torque(reference, q, v, 1e-3))
    return ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize('rotor', [0.005, 0.05])
@pytest.mark.parametrize(
    'seed', [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))]
)
def test_an_inertia_that_the_motion_has_shown_is_known_before_it_acts(rotor, seed):
    """Anchor: up to 1.4 times the error where the estimate only follows, a lag later."""
    way = np.random.default_rng(seed).uniform(-0.6, 0.6, 6)
    ours, theirs = there_and_back(Plant(rotor_inertia=rotor), way)
    assert ours <= 0.2 * theirs


@pytest.mark.parametrize(('rotor', 'share'), [(0.005, 0.15), (0.05, 0.025)])
def test_the_first_ticks_of_a_motion_show_its_rotors(rotor, share):
    """Anchors: 0.28 and 0.047 where 10 samples have to agree, however exactly."""
    plant, run = Plant(rotor_inertia=rotor), (40000.0, WAY)
    assert cubic_error(plant, *run) <= share * textbooks_cubic_error(plant, *run)


@needs_example_robots
@pytest.mark.parametrize(('rotor', 'share'), [(0.005, 0.5), (0.05, 0.3)])
def test_the_first_ticks_of_a_motion_show_the_rotors_of_another_arm(rotor, share):
    """Anchors: 0.99 and 0.35; its error is greatest within 20 ms."""
    start = np.array([0.06, 1.41, -1.92, -0.4, -1.02, 1.29, 1.77])
    goal = start + [-0.11, 0.06, -0.57, 0.13, 0.05, -0.2, 0.35]
    run = 40000.0, goal, start, RobotFiles.of(model=str(PANDA), end_effector_frame='panda_hand')
    plant = Plant(rotor_inertia=rotor)
    assert cubic_error(plant, *run) <= share * textbooks_cubic_error(plant, *run)


def test_a_joint_that_sticks_is_not_taken_for_a_heavy_one():
    """Anchor: 0.84; it creeps as one of 1 kg m^2 would, and its estimate was slow accordingly."""
    start = np.array([0.15, -0.45, 0.42, 0.36, 0.21, -0.21, -0.18])
    goal = start + [0.18, 0.01, 0.43, -0.58, -0.06, -0.39, -0.47]
    plant = Plant(mass_scale=0.9, joint_friction=1.0, rotor_inertia=0.05, delay_steps=2)
    ours = cubic_error(plant, 40000.0, goal, start)
    assert ours <= 0.78 * textbooks_cubic_error(plant, 40000.0, goal, start)


@pytest.mark.parametrize(
    'seed', [5, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20) if seed != 5)]
)
def test_rotors_that_stick_are_no_worse_than_the_textbooks(seed):
    """Anchor: up to 1.28, where friction is what changes within a fixed time after a turn."""
    way = np.random.default_rng(seed).uniform(-0.6, 0.6, 6)
    ours, theirs = there_and_back(Plant(rotor_inertia=0.05, joint_friction=1.0), way)
    assert ours <= 0.9 * theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    'seed', [5, *(pytest.param(s, marks=pytest.mark.long) for s in (0, 1, 2, 3, 4, 6, 7))]
)
def test_a_joint_that_hardly_moves_is_no_worse_than_the_textbooks(seed):
    """Anchor: 1.53 to 1.95; it sticks all the way, and what changes slowly is friction, too.

    1.01 (seed 5; the others 0.66 to 0.72) where it is observed as slowly as a heavy one.
    """
    way = np.random.default_rng(seed).uniform(-0.6, 0.6, 6)
    way[5] = 0.02 * (-1) ** seed
    ours, theirs = there_and_back(Plant(rotor_inertia=0.05, joint_friction=1.0), way)
    assert ours <= 0.85 * theirs


@pytest.mark.parametrize('ticks', [2, 10])
def test_an_inertia_that_is_known_does_not_push_an_arm_that_yields(ticks):
    """Anchor: 0.23 rad/s where what it took of the path's acceleration fades afterwards."""
    loop = ClosedLoop(start=HOME, plant=Plant(rotor_inertia=0.05))
    loop.go('hold', 0.3)
    loop.go('ready', 2.5)
    loop.controller.select('home')
    loop.run(ticks)
    assert np.abs(loop.go('gravity', 1.0)['velocity'][-1]).max() < 0.05


AT_TOOL = [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, -0.07, 0.07)]


def random_places(count: int) -> list[tuple[float, ...]]:
    """In a ball of 0.1 m."""
    rng = np.random.default_rng(4)
    ways = rng.normal(size=(count, 3))
    ways *= 0.1 * (rng.uniform(size=count) ** (1 / 3) / np.linalg.norm(ways, axis=1))[:, None]
    return [tuple(way) for way in ways.tolist()]


FEW_PLANTS = [(0.005, 0.0, AT_TOOL[0]), (0.05, 0.0, AT_TOOL[0]), (0.05, 2.0, AT_TOOL[1])]
MANY_PLANTS = [
    *[(rotor, 0.0, AT_TOOL[0]) for rotor in np.linspace(0.0, 0.05, 11).tolist()],
    *[(rotor, 2.0, place) for rotor in (0.0, 0.05) for place in AT_TOOL + random_places(20)],
]


@pytest.mark.parametrize(
    ('rotor', 'mass', 'place'),
    [*FEW_PLANTS, *[pytest.param(*plant, marks=pytest.mark.long) for plant in MANY_PLANTS]],
)
def test_observer_is_stable_for_inertia_that_the_model_lacks(rotor, mass, place):
    """As far as declared: 0.05 kg m^2 a joint, 2 kg within 0.1 m of the tool."""
    plant = Plant(rotor_inertia=rotor, payload_mass=mass, payload_offset=list(place))
    loop = ClosedLoop(plant=plant)
    loop.go('hold', 0.3)
    error = joint_motion_error(loop, 'home', 2.5, HOME)
    assert (np.abs(loop.log['torque_unsaturated']) <= loop.model.effort_limit).all()
    assert error <= max(textbook('home', plant).error, 1e-12)
    swings = [np.abs(loop.run(1000)['velocity'][-300:]).max() for _ in range(3)]
    assert swings[2] < max(0.8 * swings[0], 1e-3)


def test_inertia_that_joints_gain_after_they_have_shown_none_is_noticed():
    """Anchor: braked at 1.4 times the speed limits where nothing that was seen is forgotten."""
    loop = ClosedLoop()
    loop.go('hold', 0.3)
    loop.go('home', 2.5)
    loop.go('ready', 2.5)
    loop.world.model.dof_armature[:] = 0.05
    for mode, goal in (('home', HOME), ('ready', READY), ('home', HOME)):
        assert joint_motion_error(loop, mode, 2.5, goal) < 0.02
    assert np.abs(loop.log['velocity'] / loop.model.velocity_limit).max() < 1.1


def test_an_observer_that_trusts_its_model_notices_inertia_that_is_not_declared():
    """Anchor: more than 2 times the error where the motion does not show the inertia."""
    trusting = {f'observer__uncertain_{what}': 0 for what in ('inertia', 'mass', 'delay_steps')}
    plant = Plant(rotor_inertia=0.05)
    loop = ClosedLoop(plant=plant, observer__gain=200.0, **trusting)
    loop.go('hold', 0.3)
    trusted = joint_motion_error(loop, 'home', 2.5, HOME)
    assert trusted <= textbook('home', plant).error


@pytest.mark.parametrize('gain', [100.0, 200.0])
@pytest.mark.parametrize(
    'deviations',
    [
        {},
        {'mass_scale': 0.9, 'rotor_inertia': 0.005, 'substeps': 5},
        pytest.param({'mass_scale': 0.9} | LOAD, marks=pytest.mark.slow),
        pytest.param(
            {'mass_scale': 0.9, 'joint_friction': 1.0, 'rotor_inertia': 0.05},
            marks=pytest.mark.slow,
        ),
    ],
    ids=['late', 'and lighter, rotors', 'and lighter, loaded', 'and lighter, rotors, friction'],
)
def test_a_fast_observer_is_stable_where_torque_is_late(deviations, gain):
    """Anchors: up to 1.6 rad off the path, stopped; 0.4 mrad beside the textbook's 23 urad."""
    plant = Plant(delay_steps=2, **deviations)
    ours, theirs = shipped('home', plant, {'observer': {'gain': gain}}), textbook('home', plant)
    assert ours.speed_share < max(TOO_FAST, theirs.speed_share)
    assert ours.error <= theirs.error


def lateness_of(loop: ClosedLoop) -> int:
    """By how many periods the controller has found the torque to be late."""
    memory, _ = loop.controller.arrays
    return int(memory['lateness'][0])


@pytest.mark.parametrize('delay', range(3))
@pytest.mark.parametrize(
    'name',
    [name for name in DEVIATIONS if name not in ('delay_1', 'delay_2', 'noise', 'encoders')],
)
def test_how_late_the_torque_is_is_learnt_where_nothing_is_noisy(name, delay):
    """Anchors: wrong with 1 kg, which swings, where smooth changes are compared as well."""
    loop = ClosedLoop(plant=Plant(**DEVIATIONS[name], delay_steps=delay))
    loop.go('hold', 0.3)
    loop.go('home', 0.1)
    assert lateness_of(loop) == delay
    loop.restart(UPRIGHT)
    assert lateness_of(loop) == 0


@pytest.mark.parametrize('sensors', ['noise', 'encoders'])
def test_how_late_the_torque_is_is_not_guessed_in_noise(sensors):
    loop = ClosedLoop(plant=Plant(**DEVIATIONS[sensors], delay_steps=2))
    loop.go('hold', 0.3)
    loop.go('home', 2.5)
    assert lateness_of(loop) == 0


def test_torque_that_is_declared_late_is_not_learnt_to_be():
    loop = ClosedLoop(plant=Plant(delay_steps=2), predictor__delay_steps=2)
    loop.go('hold', 0.3)
    loop.go('home', 0.3)
    assert lateness_of(loop) == 0


@pytest.mark.parametrize(
    ('deviations', 'share'),
    [({'delay_steps': 1}, 0.8), ({'delay_steps': 2, 'substeps': 5}, 0.8)],
    ids=['1', '2'],
)
def test_torque_that_is_late_does_not_pass_for_inertia(deviations, share):
    """Anchors: 1.53 and 3.33, where the path stops, and an inertia that is none was known to."""
    plant = Plant(mass_scale=0.9, rotor_inertia=0.005, **deviations)
    run = 40000.0, np.array(SAGGING[1]), np.array(SAGGING[0])
    ours = cubic_error(plant, *run, robot='gen3_6dof')
    assert ours <= share * textbooks_cubic_error(plant, *run, robot='gen3_6dof')


def test_a_load_that_sags_where_torque_is_late_is_held():
    """Anchor: stopped, 0.24 rad off, where the observer is as fast as if torque were on time."""
    loop = ClosedLoop(
        plant=Plant(mass_scale=0.9, delay_steps=2, **LOAD), start=np.array(SAGGING[0])
    )
    log = loop.go('hold', 1.0)
    assert loop.controller.mode == 'hold'
    assert np.abs(log['position'] - SAGGING[0]).max() < 0.07  # the textbook's law: 0.064


def test_how_the_plant_integrates_is_learnt_where_it_is_not_said():
    loop = ClosedLoop(plant=Plant(integrator='rk4'), integration='euler')
    loop.go('hold', 0.3)
    loop.go('home', 2.5)
    assert joint_motion_error(loop, 'ready', 2.5, READY) < 2e-7


@pytest.mark.parametrize('before', ['gravity', 'hold'])
def test_a_mode_entered_from_noise_starts_at_rest(before):
    """Anchor: 4.9 mrad where the raw velocity is taken for the arm's."""
    loop = ClosedLoop(plant=Plant(velocity_noise=1e-2))
    loop.run(500)
    loop.go(before, 1.0)
    assert joint_motion_error(loop, 'home', 2.5, HOME) < 3e-4


def test_an_arm_that_is_held_before_its_noise_is_known_stays_where_it_is():
    """Anchor: 1.7 mrad where the velocity of the second sample is taken for the arm's."""
    loop = ClosedLoop(start=HOME, plant=Plant(velocity_noise=1e-2))
    log = loop.go('hold', 1.0)
    assert np.abs(log['position'] - HOME).max() < 2e-4


@pytest.mark.slow
def test_an_arm_that_is_held_from_the_start_on_is_where_it_was_in_the_mean():
    """Anchors: 1e-4 rad by the first sample, 5e-5 by a mean that goes along with the arm."""
    off = []
    for seed in range(24):
        plant = Plant(**NOISE, noise_seed=seed)
        log = ClosedLoop(start=HOME, plant=plant).go('hold', 0.6)
        assert np.ptp(log['position_reference'][500:], axis=0).max() < 1e-12
        off.append(log['position_reference'][-1] - HOME)
    assert np.sqrt(np.mean(np.square(off))) < 4.3e-5
    assert np.abs(off).max() < 1.2e-4


def assert_predictor_does_no_harm(plant: Plant, most: float) -> None:
    """Beside the textbook's law, which predicts nothing; two counts of an encoder are no error.

    A joint that breaks away from friction may be faster than without, for a moment.
    """
    ours = shipped('home', plant, {'predictor.delay_steps': plant.delay_steps})
    theirs = textbook('home', plant)
    counts = 2.0 * 2.0 * np.pi / 2**17 if plant.encoder_bits else 0.0
    assert ours.error <= max(most * theirs.error, counts)
    assert ours.speed_share <= (1.3 if plant.joint_friction else TOO_FAST)


@pytest.mark.parametrize(
    'deviations',
    [
        {'joint_damping': 0.5, 'delay_steps': 2} | NOISE,
        LOAD | {'encoder_bits': 17, 'delay_steps': 2},
        LOAD | {'rotor_inertia': 0.05, 'delay_steps': 2, 'integrator': 'rk4'},
        {'joint_friction': 1.0, 'rotor_inertia': 0.05, 'delay_steps': 2},
    ],
    ids=['damping, noise', 'load, encoders', 'load, rotors', 'friction, rotors'],
)
def test_predictor_does_no_harm_where_the_model_is_wrong(deviations):
    """Anchors: stopped 1.3 to 2 rad off its path, since the slow estimate foretold the motion.

    The textbook's law has 0.03 to 0.07 rad.
    """
    assert_predictor_does_no_harm(Plant(**deviations), 1.0)


@pytest.mark.long
@pytest.mark.parametrize('plant', [p for p in combinations(51) if p.delay_steps], ids=str)
def test_predictor_does_no_harm_on_plants_with_several_deviations(plant):
    """An arm with friction, rotors and encoders is shaken, softened twice, and 1.25 to 1.49."""
    is_shaken = plant.joint_friction and plant.rotor_inertia and plant.encoder_bits
    assert_predictor_does_no_harm(plant, 1.5 if is_shaken else 1.2)


@pytest.mark.slow
def test_predictor_and_observer_are_stable_for_inertia_that_the_model_lacks():
    """Anchor: the last of seven joints, which has 180 times its inertia, swung ever wider."""
    load = {'payload_mass': 2.0, 'payload_offset': [0.1, 0.0, 0.0]}
    plant = Plant(rotor_inertia=0.05, delay_steps=2, **load, **NOISE)
    loop = ClosedLoop(robot='gen3_7dof', start=np.zeros(7), plant=plant, predictor__delay_steps=2)
    loop.go('home', 4.0)
    swings = [loop.run(1000).joint_error() for _ in range(8)]
    assert swings[-1] < 0.5 * swings[0]


@pytest.mark.slow
@pytest.mark.parametrize('delay', [1, 2])
def test_predictor_in_a_motion_that_begins_in_motion(delay):
    """Never worse than without."""

    def motion(predicted: int) -> TimeSeries:
        plant = Plant(delay_steps=delay)
        loop = ClosedLoop(start=READY, plant=plant, predictor__delay_steps=predicted)
        loop.go('home', 0.8)
        return loop.go('ready', 2.5)

    # The reference is that of the time at which the torque will act.
    log = motion(delay)
    with_it = np.abs(log['position'][delay:] - log['position_reference'][:-delay]).max()
    assert with_it < motion(0).joint_error()
    assert with_it < 2e-5
