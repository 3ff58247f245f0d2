"""The services that control simulation time: pause, step, reset."""

from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.transport.waiter import Waiter


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
        reason = await self.take_steps(1)
        response.success = not reason
        hint = '; call ~/pause with true first' if reason == 'not paused' else ''
        response.message = f'{reason}{hint}' if reason else f'one control period, {self._time}'
        return response

    @property
    def _time(self) -> str:
        return f'time {self._loop.world.time_ns * 1e-9:.9g} s'
