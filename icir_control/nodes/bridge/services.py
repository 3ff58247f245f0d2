"""The services that control simulation time: pause, step, reset."""

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.transport import Waiter


class SimulationServices:
    """`~/pause`, `~/step` and `~/reset`."""

    def __init__(self, node: Node, loop: Loop, waiter: Waiter, command_timeout: float) -> None:
        """Offer the services.

        Args:
            node: The bridge.
            loop: What they control.
            waiter: Runs their callbacks.
            command_timeout: How long a step waits for its command [s of wall time].
        """
        self._loop = loop
        self._waiter = waiter
        self._timeout = command_timeout
        self._is_stepping = False
        # A step waits for its command; the other services answer meanwhile.
        group = ReentrantCallbackGroup()
        node.create_service(SetBool, '~/pause', self._pause, callback_group=group)
        node.create_service(Trigger, '~/step', self._step, callback_group=group)
        node.create_service(Trigger, '~/reset', self._reset, callback_group=group)

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        was_paused = self._loop.is_paused
        self._loop.pause(request.data)
        response.success = True
        word = 'paused' if request.data else 'running'
        response.message = f'already {word}' if was_paused == request.data else word
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._loop.reset()
        response.success = True
        response.message = f'at the initial configuration, {self._time}'
        return response

    async def _step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._loop.is_paused:
            response.message = 'not paused; call ~/pause with true first'
            return response
        taken: Future[bool] = Future()

        def finish(is_taken: bool) -> None:
            taken.set_result(is_taken)
            self._waiter.serve_until(lambda: not self._is_stepping)

        if not self._loop.ask_step(self._timeout, finish):
            response.message = 'another step is waiting for its command'
            return response
        self._is_stepping = True
        response.success = bool(await taken)
        self._is_stepping = False
        if response.success:
            response.message = f'one control period, {self._time}'
        else:
            response.message = self._loop.obstacle or f'no command within {self._timeout:g} s'
        return response

    @property
    def _time(self) -> str:
        return f'time {self._loop.world.time_ns * 1e-9:.9g} s'
