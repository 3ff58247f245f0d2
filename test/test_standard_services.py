"""The standard services of `simulation_interfaces`, asked as any tool would ask them."""

import re
from importlib.util import find_spec

import numpy as np
import pytest
from bridge_client import BridgeClient, start_bridge
from session import Session
from std_srvs.srv import SetBool, Trigger
from wall_time import Stopwatch

NAMES = {
    '/get_simulation_state',
    '/get_simulator_features',
    '/reset_simulation',
    '/set_simulation_state',
    '/step_simulation',
}
IS_INSTALLED = find_spec('simulation_interfaces') is not None
needs_package = pytest.mark.skipif(
    not IS_INSTALLED,
    reason='simulation_interfaces comes with a ROS 2 installation; PyPI has no wheel of it',
)
if IS_INSTALLED:
    from simulation_interfaces.msg import Result, SimulationState, SimulatorFeatures
    from simulation_interfaces.srv import (
        GetSimulationState,
        GetSimulatorFeatures,
        ResetSimulation,
        SetSimulationState,
        StepSimulation,
    )


class Tool:
    """Whoever controls a simulator by the standard."""

    def __init__(self, observer, namespace=''):
        self._call, self._namespace = observer.call, namespace

    def _ask(self, kind, name, request=None):
        return self._call(kind, f'{self._namespace}{name}', request)

    @property
    def features(self):
        return set(self._ask(GetSimulatorFeatures, 'get_simulator_features').features.features)

    @property
    def state(self):
        answer = self._ask(GetSimulationState, 'get_simulation_state')
        assert answer.result.result == Result.RESULT_OK
        return answer.state.state

    def set_state(self, state):
        request = SetSimulationState.Request(state=SimulationState(state=state))
        return self._ask(SetSimulationState, 'set_simulation_state', request).result

    def step(self, steps=1):
        request = StepSimulation.Request(steps=steps)
        return self._ask(StepSimulation, 'step_simulation', request).result

    def reset(self, scope=0):
        request = ResetSimulation.Request(scope=scope)
        return self._ask(ResetSimulation, 'reset_simulation', request).result


@pytest.fixture
def session(ros_graph):
    """Bridge and controller, and a tool for them."""
    session = Session(ros_graph, composed=True)
    session.standard = Tool(session.observer)
    session.wait(0.01)
    return session


def settled_time(session):
    """Simulation time once it stands still [s]."""
    session.observer.settle()
    before = session.time
    session.observer.spin_for(0.3)
    assert session.time == before
    return before


def test_they_are_there_where_the_package_is(ros_graph):
    start_bridge(ros_graph)
    observer = ros_graph.observer()
    observer.call(SetBool, 'mujoco_bridge/pause')
    found = {name for name, _ in observer.get_service_names_and_types()} & NAMES
    assert found == (NAMES if IS_INSTALLED else set())


@needs_package
def test_what_is_said_to_be_supported(session):
    of = SimulatorFeatures
    assert session.standard.features == {
        of.SIMULATION_RESET,
        of.SIMULATION_RESET_STATE,
        of.SIMULATION_STATE_GETTING,
        of.SIMULATION_STATE_SETTING,
        of.SIMULATION_STATE_PAUSE,
        of.STEP_SIMULATION_SINGLE,
        of.STEP_SIMULATION_MULTIPLE,
    }


@needs_package
def test_it_plays_pauses_and_stops(session):
    tool, of = session.standard, SimulationState
    assert session.observer.call(Trigger, 'controller/modes/home').success
    session.wait(1.0)
    assert np.abs(session.position).max() > 0.1
    assert tool.state == of.STATE_PLAYING
    assert tool.set_state(of.STATE_PAUSED).result == Result.RESULT_OK
    assert tool.state == of.STATE_PAUSED
    paused = settled_time(session)
    again = tool.set_state(of.STATE_PAUSED)
    assert again.result == SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    assert tool.set_state(of.STATE_PLAYING).result == Result.RESULT_OK
    session.wait(0.1)
    assert session.time > paused
    assert tool.set_state(of.STATE_STOPPED).result == Result.RESULT_OK
    assert tool.state == of.STATE_STOPPED
    settled_time(session)
    np.testing.assert_array_equal(session.position, 0.0)
    # Out of stopped both ways: paused without going on, and by what our own services do.
    assert tool.set_state(of.STATE_PAUSED).result == Result.RESULT_OK
    assert tool.state == of.STATE_PAUSED
    assert tool.set_state(of.STATE_STOPPED).result == Result.RESULT_OK
    assert session.observer.call(SetBool, 'mujoco_bridge/pause').message == 'running'
    session.wait(0.01)
    assert tool.state == of.STATE_PLAYING


@needs_package
def test_a_state_that_cannot_be_set_is_refused_by_name(session):
    for state in (3, 4, 5, 200):
        answer = session.standard.set_state(state)
        assert answer.result == Result.RESULT_FEATURE_UNSUPPORTED
        assert f'state {state} cannot be set; valid: stopped (0), pl' in answer.error_message
    assert session.standard.state == SimulationState.STATE_PLAYING


@needs_package
def test_many_steps_are_taken_and_no_more(session):
    tool = session.standard
    refused = tool.step()
    assert refused.result == Result.RESULT_OPERATION_FAILED
    assert refused.error_message == 'not paused'
    tool.set_state(SimulationState.STATE_STOPPED)
    before = settled_time(session)
    for steps in (1, 0, 250):
        answer = tool.step(steps)
        assert (answer.result, answer.error_message) == (Result.RESULT_OK, '')
        after = settled_time(session)
        assert after == pytest.approx(before + steps * 1e-3, abs=1e-9)
        before = after
    assert tool.state == SimulationState.STATE_PAUSED


@needs_package
def test_steps_end_with_the_pause(session):
    tool = session.standard
    tool.set_state(SimulationState.STATE_PAUSED)
    before = settled_time(session)
    client = session.observer.create_client(StepSimulation, 'step_simulation')
    session.observer.spin_until(client.service_is_ready)
    steps = client.call_async(StepSimulation.Request(steps=10**9))
    session.wait(0.1)
    assert tool.step().error_message == 'another step is waiting for its command'
    assert tool.set_state(SimulationState.STATE_PLAYING).result == Result.RESULT_OK
    session.observer.spin_until(steps.done)
    result = steps.result().result
    assert result.result == Result.RESULT_OPERATION_FAILED
    words = r'not paused any more; (\d+) of 1000000000 steps taken'
    assert int(re.fullmatch(words, result.error_message).group(1)) > 100
    session.wait(0.1)
    assert session.time > before


@needs_package
def test_steps_that_nobody_answers_are_counted(ros_graph):
    process = start_bridge(ros_graph, 'real_time_factor:=0.0', remap=('-r', '__ns:=/arm'))
    client = BridgeClient(ros_graph, '/arm').connect(process)
    tool = Tool(client.node, '/arm/')
    assert tool.set_state(SimulationState.STATE_PAUSED).result == Result.RESULT_OK
    client.send(client.command(client.state))
    client.expect_standstill()
    watch = Stopwatch()
    answer = tool.step(5)
    assert answer.result == Result.RESULT_OPERATION_FAILED
    assert answer.error_message == 'no command within 0.5 s; 1 of 5 steps taken'
    assert watch.wall > 0.4
    assert watch.own < 5.0
    client.node.spin_until(lambda: client.stamp == 1_000_000)


@needs_package
def test_a_reset_goes_back_in_space_and_says_so_of_time(session):
    tool, of = session.standard, ResetSimulation.Request
    assert session.observer.call(Trigger, 'controller/modes/home').success
    session.wait(1.0)
    before = session.time
    for scope in (of.SCOPE_TIME, of.SCOPE_SPAWNED, of.SCOPE_ALL, of.SCOPE_STATE | of.SCOPE_TIME):
        answer = tool.reset(scope)
        assert answer.result == Result.RESULT_FEATURE_UNSUPPORTED
        assert f'scope {scope} is not supported' in answer.error_message
    assert session.bridge.output.count('new start') == 1
    for scope, words in ((of.SCOPE_STATE, ''), (of.SCOPE_DEFAULT, 'time goes on')):
        answer = tool.reset(scope)
        assert answer.result == Result.RESULT_OK
        assert words in answer.error_message
        session.wait(0.1)
        np.testing.assert_allclose(session.position, 0.0, atol=1e-9)
        assert session.time > before
    assert session.bridge.output.count('new start') == 3
