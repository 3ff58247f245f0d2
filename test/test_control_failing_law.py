"""A user's law that fails: the arm is held up, everything else goes on."""

import re

import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop, model_of, parameters_of

from icir_control.control import ControllerConfig, Law, Plan
from icir_control.errors import ConfigurationError, LawError, RefusedError
from icir_control.trajectory import JointTrajectory


class Failing(Law):
    """Runs well until it is told how to fail."""

    failure = None

    def __post_init__(self):
        if self.failure == '__init__':
            raise KeyError('of the test')

    def plan(self, start):
        if self.failure == 'plan':
            return 1.0 / 0.0
        return self.failure[1] if self.failure and self.failure[0] == 'plan' else Plan()

    def acceleration(self, tick):
        if self.failure is None:
            return -2.0 * tick.v
        if self.failure == 'raise':
            return [][0]
        if self.failure[0] == 'wrench':
            tick.wrench[3] = self.failure[1]
            return -2.0 * tick.v
        return self.failure[1]


@pytest.fixture
def loop(monkeypatch):
    monkeypatch.setattr(Failing, 'failure', None)
    parameters = parameters_of()
    parameters['mode_names'].append('own')
    parameters['modes']['own'] = {'key': 'o', 'law': f'{__name__}:Failing'}
    return ClosedLoop(start=HOME, **parameters)


def own_words(loop) -> list[str]:
    return [event.text for event in loop.controller.take_events() if event.level == 'error']


@pytest.mark.parametrize(
    ('failure', 'words'),
    [
        ('raise', 'IndexError: list index out of range .*test_control_failing_law.py, line'),
        (('return', None), 'expected 6 finite numbers'),
        (('return', np.zeros(5)), r'returned \[0.0, .*expected 6 finite numbers'),
        (('return', np.zeros((6, 1))), 'expected 6 finite numbers'),
        (('return', [0.0, 0.0, 0.0, 0.0, 0.0, np.nan]), 'nan.*expected 6 finite numbers'),
        (('return', [1e300] + 5 * [0.0]), r'1e\+300, .*expected 6 finite numbers, each below 1e'),
        (('return', 'fast'), 'ValueError: could not convert'),
        (('wrench', np.nan), r'wrote tick.wrench = \[0.0, 0.0, 0.0, nan.*expected 6 finite'),
        (('wrench', -np.inf), 'wrote tick.wrench = .* -inf.*expected 6 finite numbers'),
    ],
)
def test_a_law_that_fails_in_a_tick_is_left_for_bias_compensation(
    loop, monkeypatch, failure, words
):
    loop.go('ready', 1.0)
    loop.go('own', 0.1)
    speed = np.abs(loop.v).max()
    assert speed > 0.1
    monkeypatch.setattr(Failing, 'failure', failure)
    loop.run(1)
    assert loop.controller.mode == ''
    bias = loop.controller.torque_terms
    np.testing.assert_allclose(
        loop.controller.torque, bias['gravity'] + bias['coriolis'] + bias['feedback'], atol=1e-9
    )
    loop.run(3000)
    (said,) = own_words(loop)
    assert said.startswith('mode own has ended, the arm is only held up: the law test_control_f')
    assert re.search(words, said), said
    assert np.abs(loop.v).max() < 0.02 * speed, 'its motion has died away'
    loop.go('home', 3.0)
    np.testing.assert_allclose(loop.q, HOME, atol=1e-9)


@pytest.mark.parametrize('failure', ['plan', ('plan', None), ('plan', 'a plan')])
def test_a_law_that_fails_at_its_start_is_refused(loop, monkeypatch, failure):
    loop.go('home', 0.1)
    monkeypatch.setattr(Failing, 'failure', failure)
    with pytest.raises(RefusedError, match='the law test_control_failing_law:Failing failed in'):
        loop.controller.select('own')
    assert loop.controller.mode == 'home'
    loop.run(10)
    assert np.isfinite(loop.controller.torque).all()


def test_a_path_of_other_joints_is_refused(loop, monkeypatch):
    loop.go('home', 0.1)
    one = JointTrajectory.to_rest(loop.time, 1.0, [0.0], [0.0], [1.0])
    six = JointTrajectory.to_rest(loop.time, 1.0, loop.q, np.zeros(6), HOME)
    zero = np.zeros(1)
    for plan in (Plan(one), Plan(six, then=(one,)), Plan(joints=(zero, zero))):
        monkeypatch.setattr(Failing, 'failure', ('plan', plan))
        with pytest.raises(LawError, match='plan: ValueError: it is of 1 joints; expected 6'):
            loop.controller.select('own')
    assert loop.controller.mode == 'home'


def test_a_scheduled_law_that_fails_does_not_stop_the_schedule(monkeypatch):
    monkeypatch.setattr(Failing, 'failure', 'plan')
    parameters = parameters_of()
    parameters['mode_names'].append('own')
    parameters['modes']['own'] = {'key': 'o', 'law': f'{__name__}:Failing'}
    parameters['schedule'] = ['0.1 own', '0.2 home']
    loop = ClosedLoop(start=HOME, **parameters)
    loop.run(300)
    assert loop.controller.mode == 'home'
    assert 'ZeroDivisionError' in ' '.join(own_words(loop))


def test_a_law_that_cannot_be_built_refuses_the_configuration(loop, monkeypatch):
    monkeypatch.setattr(Failing, 'failure', '__init__')
    with pytest.raises(LawError, match='__init__: KeyError'):
        loop.controller.update({'joint_gains.kp': [100.0] * 6})
    assert loop.controller.mode == 'gravity'
    with pytest.raises(ConfigurationError, match='cannot be loaded'):
        ControllerConfig.from_parameters(
            {'mode_names': ['own'], 'modes': {'own': {'key': 'o', 'law': 'no_such:Law'}}},
            model_of(),
        )
