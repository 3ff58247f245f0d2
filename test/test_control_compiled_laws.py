"""A user's compiled law: what it may return, what it sees of the law, and when it is compiled."""

import subprocess
import sys

import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop, parameters_of

from icir_control.compiled import JIT_DISABLED
from icir_control.control import Law
from icir_control.errors import ConfigurationError, LawError

HEAD = """
from __future__ import annotations

import numpy as np
from icir_control.compiled import kernel
from icir_control.control import Law, compiled, parameter
from icir_control.trajectory import JointTrajectory
"""
only_compiled = pytest.mark.skipif(JIT_DISABLED, reason='the compiler is switched off')


@pytest.fixture
def loop_with(tmp_path, monkeypatch, request):
    """A loop with a mode `own` whose law is `Own` of a module with this text."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text):
        name = f'own_{abs(hash(request.node.name))}'
        (tmp_path / f'{name}.py').write_text(HEAD + text)
        parameters = parameters_of()
        parameters['mode_names'].append('own')
        parameters['modes']['own'] = {'key': 'o', 'law': f'{name}:Own'}
        return ClosedLoop(start=HOME, **parameters)

    return make


@pytest.mark.slow
@only_compiled
@pytest.mark.parametrize(
    ('answer', 'words'),
    [
        ('3', r'returns .*int'),
        ('np.ones(6, np.float32)', 'float32'),
        ('np.zeros(6, np.int64)', 'int64'),
        ('tick.v[::-1]', '1d, A'),
        ('tick.M[:, 0]', '1d, A'),
        ('tick.M @ tick.M', '2d'),
        ('[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]', 'list'),
        ('None', 'none'),
        ('self.nothing * tick.v', "attribute 'nothing'.*sees gain of the law"),
    ],
)
def test_a_compiled_law_that_returns_no_vector_is_refused_before_it_runs(loop_with, answer, words):
    text = f"""
class Own(Law):
    gain: float = parameter(1.0, '1/s', 'of nothing')

    @compiled
    def acceleration(self, tick):
        damping = -self.gain * tick.v
        return {answer}
"""
    with pytest.raises(LawError, match=words) as refused:
        loop_with(text).controller.select('own')
    assert ':Own failed in acceleration' in str(refused.value)
    assert '\n' not in str(refused.value)


def test_a_compiled_law_sees_numbers_of_every_kind(loop_with):
    loop = loop_with("""
class Own(Law):
    SCALE = 2.0
    weights: np.ndarray = parameter([1.0, 2.0], '1', 'of nothing', length=2)

    def __post_init__(self):
        self.is_on = np.any(self.weights > 0.0)
        self.counts = np.array([1, 2])
        self.single = np.float32(0.5)

    @compiled
    def acceleration(self, tick):
        total = 0.0
        for count in [self.counts[i] for i in range(2)]:
            total += count
        if self.is_on:
            return np.full(tick.q.shape[0], self.SCALE * total * self.single * self.weights[1])
        return np.zeros_like(tick.q)
""")
    loop.go('own', 0.001)
    assert loop.controller.mode == 'own'
    np.testing.assert_array_equal(
        loop.controller._engine.memory.acceleration, 2.0 * 3.0 * 0.5 * 2.0
    )


def test_a_compiled_law_whose_wrench_is_not_a_number_is_left(loop_with):
    loop = loop_with("""
class Own(Law):
    @compiled
    def acceleration(self, tick):
        tick.wrench[5] = 1.0 if tick.time < 0.0055 else np.nan
        return -tick.v
""")
    loop.go('own', 0.005)
    assert loop.controller.mode == 'own'
    loop.run(2)
    assert loop.controller.mode == ''
    (said,) = [event for event in loop.controller.take_events() if event.level == 'error']
    assert 'wrote tick.wrench = [0.0, 0.0, 0.0, 0.0, 0.0, nan]; expected 6 fin' in said.text
    np.testing.assert_array_equal(np.isfinite(loop.controller.torque), True)
    loop.go('home', 0.01)
    assert loop.controller.mode == 'home'


def test_a_helper_that_names_a_reference_gets_it(loop_with):
    """What a tick works out only where it is named is named in a kernel that the law calls."""
    loop = loop_with("""
from icir_control.control import Plan
from icir_control.spatial import Motion, SE3
from icir_control.trajectory import SE3Trajectory


@kernel
def forward(tick):
    return tick.twist_reference[2]


class Own(Law):
    TRACKS = True
    FOLLOWS = 'pose'

    def plan(self, start):
        goal = SE3(start.pose.rotation, start.pose.translation + np.array([0.0, 0.0, 0.02]))
        return Plan(SE3Trajectory.to_rest(start.time, 1.0, start.pose, Motion(), goal))

    @compiled
    def acceleration(self, tick):
        return np.full(tick.q.shape[0], forward(tick))
""")
    loop.go('own', 0.005)
    tick = loop.controller._engine.tick_record
    assert tick.twist_reference.any()
    assert loop.controller._engine.memory.acceleration[0] == tick.twist_reference[2]


@pytest.mark.slow
@only_compiled
@pytest.mark.parametrize('changed', ['helper.py', 'numbers_of_mine.py'])
def test_a_law_is_compiled_anew_when_what_it_calls_or_names_elsewhere_changes(changed, tmp_path):
    texts = {
        'numbers_of_mine.py': 'FACTOR = 2.0\n',
        'helper.py': HEAD + '\n\n@kernel\ndef scaled(x):\n    return 0.125 * x\n',
        'law_of_mine.py': HEAD
        + """
import numbers_of_mine
from helper import scaled


class Own(Law):
    @compiled
    def acceleration(self, tick):
        return np.full(tick.q.shape[0], numbers_of_mine.FACTOR * scaled(1.0))
""",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    script = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, *{sys.path!r}]
from closed_loop import HOME, ClosedLoop, parameters_of
parameters = parameters_of()
parameters['mode_names'].append('own')
parameters['modes']['own'] = {{'key': 'o', 'law': 'law_of_mine:Own'}}
loop = ClosedLoop(start=HOME, **parameters)
loop.go('own', 0.001)
print(loop.controller._engine.memory.acceleration[0])
"""

    def answer():
        command = [sys.executable, '-P', '-c', script]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert answer() == 0.25
    assert answer() == 0.25
    text = texts[changed].replace('0.125', '0.5').replace('2.0', '8.0')
    (tmp_path / changed).write_text(text)
    assert answer() == 1.0


def test_a_parameter_of_no_kind_and_a_path_of_no_kind_are_refused(loop_with):
    with pytest.raises(ConfigurationError, match=r'parameter names of .*Own is of type .*valid:'):
        loop_with("""
class Own(Law):
    names: list = parameter('a', '1', 'of nothing')
""")
    with pytest.raises(ConfigurationError, match="FOLLOWS = 'pos'; valid: nothing, joints, pose"):

        class Wrong(Law):
            FOLLOWS = 'pos'
