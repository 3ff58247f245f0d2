"""Plants that are not the model: never worse than the textbook's law, stable, never lost."""

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop

from icir_control.app.measurement import TimeSeries
from icir_control.app.promises.path import joint_motion_error
from icir_control.app.promises.plants import (
    DEVIATIONS,
    TOO_FAST,
    Outcome,
    combinations,
    ratio,
    shipped,
    textbook,
)
from icir_control.simulation import Plant

# Noise looks like a disturbance to the observer.
WORSE = {'noise': 1.1}
# The tool is measured as coarsely by both; which is nearer to the line is chance.
WORSE_AT_TOOL = {'noise': 1.1, 'encoders': 1.1}
FINER = ('rk4', 'five_substeps', 'implicitfast')
OFTEN = ('heavier', 'friction', 'rotors_0.05', 'delay_2', 'encoders', *FINER)


@pytest.mark.parametrize('name', [*OFTEN, *WORSE])
def test_home_is_no_worse_than_the_textbooks(name):
    assert_no_worse('home', Plant(**DEVIATIONS[name]), WORSE.get(name, 1.0))


@pytest.mark.parametrize('name', ['friction', 'rotors_0.05', *FINER])
def test_down_is_no_worse_than_the_textbooks(name):
    assert_no_worse('down', Plant(**DEVIATIONS[name]))


@pytest.mark.long
@pytest.mark.parametrize('name', DEVIATIONS)
def test_both_motions_are_no_worse_than_the_textbooks(name):
    assert_no_worse('home', Plant(**DEVIATIONS[name]), WORSE.get(name, 1.0))
    assert_no_worse('down', Plant(**DEVIATIONS[name]), WORSE_AT_TOOL.get(name, 1.0))


@pytest.mark.long
@pytest.mark.parametrize('plant', [*combinations(51)], ids=str)
def test_home_is_no_worse_on_plants_with_several_deviations(plant):
    assert_no_worse('home', plant, WORSE['noise'] if plant.position_noise else 1.0)


def assert_no_worse(mode: str, plant: Plant, most: float = 1.0) -> None:
    ours, theirs = shipped(mode, plant), textbook(mode, plant)
    assert ratio(ours, theirs) <= most
    assert ours.speed_share <= max(TOO_FAST, theirs.speed_share)


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


def test_an_observer_that_trusts_its_model_swings_on_light_joints():
    """What the declared uncertainty is for."""
    trusting = {'observer__uncertain_inertia': 0.0, 'observer__uncertain_mass': 0.0}
    plant = Plant(rotor_inertia=0.05)
    loop = ClosedLoop(plant=plant, observer__gain=200.0, **trusting)
    loop.go('hold', 0.3)
    trusted = Outcome(joint_motion_error(loop, 'home', 2.5, HOME), 0.0)
    assert ratio(trusted, shipped('home', plant)) > 2.0


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
