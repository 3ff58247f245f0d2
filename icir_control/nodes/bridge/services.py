"""The services that control simulation time: our own, and those of `simulation_interfaces`.

The package `simulation_interfaces` is for tools that know any simulator. It is optional: without
it its services are not offered.
"""

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.transport.waiter import Waiter

HAS_STANDARD_SERVICES = find_spec('simulation_interfaces') is not None
if HAS_STANDARD_SERVICES:
    from simulation_interfaces import srv
    from simulation_interfaces.msg import Result, SimulationState, SimulatorFeatures

_TIME_GOES_ON = 'simulation time goes on, a reset does not turn it back'


class SimulationServices:
    """`~/pause`, `~/step` and `~/reset`."""

    def __init__(self, node: Node, loop: Loop, waiter: Waiter) -> None:
        """Offer the services.

        Args:
            node: The bridge.
            loop: The loop to control.
            waiter: Runs the callbacks that wait for steps.
        """
        self._loop = loop
        self._waiter = waiter
        self._is_answering = False
        # A step waits for its command; the other services answer meanwhile.
        group = ReentrantCallbackGroup()
        node.create_service(SetBool, '~/pause', self._pause, callback_group=group)
        node.create_service(Trigger, '~/step', self._step, callback_group=group)
        node.create_service(Trigger, '~/reset', self._reset, callback_group=group)
        if HAS_STANDARD_SERVICES:
            StandardServices(node, loop, self.take_steps)

    async def take_steps(self, count: int) -> str:
        """Take control periods while paused, as soon as their commands come.

        No service is checked between two of them: many are as fast as a running loop.

        Args:
            count: How many, at least 0.

        Returns:
            Why not all of them were taken; empty when they were.
        """
        if not self._loop.hold.is_paused:
            return 'not paused'
        if count == 0:
            return ''
        over: Future[str] = Future()

        def finish(reason: str) -> None:
            over.set_result(reason)
            # The answer goes out before anything else happens to the simulation.
            self._waiter.serve_until(lambda: not self._is_answering)

        if not self._loop.hold.request_steps(count, finish):
            return 'another step is waiting for its command'
        self._is_answering = True
        reason = str(await over)
        self._is_answering = False
        return reason

    def _pause(self, request: Any, response: Any) -> Any:
        was_paused = self._loop.hold.is_paused
        self._loop.pause(request.data)
        response.success = True
        word = 'paused' if request.data else 'running'
        response.message = f'already {word}' if was_paused == request.data else word
        return response

    def _reset(self, _: Any, response: Any) -> Any:
        self._loop.reset()
        response.success = True
        response.message = f'at the initial configuration, {self._time}'
        return response

    async def _step(self, _: Any, response: Any) -> Any:
        hint = '' if self._loop.hold.is_paused else '; call ~/pause with true first'
        reason = await self.take_steps(1)
        response.success = not reason
        response.message = f'{reason}{hint}' if reason else f'one control period, {self._time}'
        return response

    @property
    def _time(self) -> str:
        return f'time {self._loop.world.time_ns * 1e-9:.9g} s'


class StandardServices:
    """Features, state, reset and steps of the simulation, in the node's namespace.

    They are `get_simulator_features`, `get_simulation_state`, `set_simulation_state`,
    `reset_simulation` and `step_simulation`. Stopped is paused right after a reset.
    """

    def __init__(
        self, node: Node, loop: Loop, take_steps: Callable[[int], Awaitable[str]]
    ) -> None:
        """Offer the services.

        Args:
            node: The bridge.
            loop: The loop to control.
            take_steps: Takes steps while the loop is paused; returns why not all, if so.
        """
        self._loop = loop
        self._take_steps = take_steps
        self._stopped_ns: int | None = None
        self._settable = {
            SimulationState.STATE_STOPPED: 'stopped',
            SimulationState.STATE_PLAYING: 'playing',
            SimulationState.STATE_PAUSED: 'paused',
        }
        # Many steps take their time; the other services answer meanwhile.
        group = ReentrantCallbackGroup()
        for kind, name, callback in (
            (srv.GetSimulatorFeatures, 'get_simulator_features', self._get_features),
            (srv.GetSimulationState, 'get_simulation_state', self._get_state),
            (srv.SetSimulationState, 'set_simulation_state', self._set_state),
            (srv.ResetSimulation, 'reset_simulation', self._reset),
            (srv.StepSimulation, 'step_simulation', self._step),
        ):
            node.create_service(kind, name, callback, callback_group=group)

    @property
    def _state(self) -> int:
        if not self._loop.hold.is_paused:
            return SimulationState.STATE_PLAYING
        if self._stopped_ns == self._loop.world.time_ns:
            return SimulationState.STATE_STOPPED
        return SimulationState.STATE_PAUSED

    def _get_features(self, _: Any, response: Any) -> Any:
        response.features.features = [
            SimulatorFeatures.SIMULATION_RESET,
            SimulatorFeatures.SIMULATION_RESET_STATE,
            SimulatorFeatures.SIMULATION_STATE_GETTING,
            SimulatorFeatures.SIMULATION_STATE_SETTING,
            SimulatorFeatures.SIMULATION_STATE_PAUSE,
            SimulatorFeatures.STEP_SIMULATION_SINGLE,
            SimulatorFeatures.STEP_SIMULATION_MULTIPLE,
        ]
        response.features.custom_info = f'icir_control on MuJoCo; {_TIME_GOES_ON}'
        return response

    def _get_state(self, _: Any, response: Any) -> Any:
        response.state.state = self._state
        response.result.result = Result.RESULT_OK
        return response

    def _set_state(self, request: Any, response: Any) -> Any:
        target = request.state.state
        result = response.result
        if target not in self._settable:
            result.result = Result.RESULT_FEATURE_UNSUPPORTED
            names = ', '.join(f'{name} ({number})' for number, name in self._settable.items())
            result.error_message = f'state {target} cannot be set; valid: {names}'
        elif target == self._state:
            result.result = srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE
            result.error_message = f'already {self._settable[target]}'
        else:
            self._stopped_ns = None
            self._loop.pause(target != SimulationState.STATE_PLAYING)
            if target == SimulationState.STATE_STOPPED:
                self._loop.reset()
                self._stopped_ns = self._loop.world.time_ns
            result.result = Result.RESULT_OK
        return response

    def _reset(self, request: Any, response: Any) -> Any:
        result = response.result
        if request.scope in (request.SCOPE_DEFAULT, request.SCOPE_STATE):
            self._loop.reset()
            result.result = Result.RESULT_OK
            # The default asks for all; what it gets is all that there is to be had.
            if request.scope == request.SCOPE_DEFAULT:
                result.error_message = _TIME_GOES_ON
        else:
            result.result = Result.RESULT_FEATURE_UNSUPPORTED
            result.error_message = (
                f'scope {request.scope} is not supported: {_TIME_GOES_ON}, and nothing is spawned;'
                f' valid: {request.SCOPE_STATE} (state) and {request.SCOPE_DEFAULT} (default)'
            )
        return response

    async def _step(self, request: Any, response: Any) -> Any:
        reason = await self._take_steps(request.steps)
        response.result.result = Result.RESULT_OPERATION_FAILED if reason else Result.RESULT_OK
        response.result.error_message = reason
        return response
