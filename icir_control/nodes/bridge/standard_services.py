"""The standard services of the package `simulation_interfaces`, for tools that know any simulator.

The package is optional: this module is imported where it is installed.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from simulation_interfaces import srv
from simulation_interfaces.msg import Result, SimulationState, SimulatorFeatures

from icir_control.nodes.bridge.loop import Loop

_FEATURES = (
    SimulatorFeatures.SIMULATION_RESET,
    SimulatorFeatures.SIMULATION_RESET_STATE,
    SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING,
    SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE,
    SimulatorFeatures.STEP_SIMULATION_MULTIPLE,
)
_SETTABLE = {
    SimulationState.STATE_STOPPED: 'stopped',
    SimulationState.STATE_PLAYING: 'playing',
    SimulationState.STATE_PAUSED: 'paused',
}
_TIME_GOES_ON = 'simulation time goes on, a reset does not turn it back'


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
        response.features.features = list(_FEATURES)
        response.features.custom_info = f'icir_control on MuJoCo; {_TIME_GOES_ON}'
        return response

    def _get_state(self, _: Any, response: Any) -> Any:
        response.state.state = self._state
        response.result.result = Result.RESULT_OK
        return response

    def _set_state(self, request: Any, response: Any) -> Any:
        target = request.state.state
        result = response.result
        if target not in _SETTABLE:
            result.result = Result.RESULT_FEATURE_UNSUPPORTED
            names = ', '.join(f'{name} ({number})' for number, name in _SETTABLE.items())
            result.error_message = f'state {target} cannot be set; valid: {names}'
        elif target == self._state:
            result.result = srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE
            result.error_message = f'already {_SETTABLE[target]}'
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
