"""The services that control simulation time: pause, step, reset."""

from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.transport import Waiter


class Stepper:
    """Takes control periods on request while the simulation is paused, one request at a time.

    No service is checked between two steps: many steps are as fast as a running loop.
    """

    def __init__(self, loop: Loop, waiter: Waiter, command_timeout: float) -> None:
        """Prepare.

        Args:
            loop: Takes the steps.
            waiter: Runs the callbacks that wait for steps.
            command_timeout: How long a step waits for its command [s of wall time].
        """
        self._loop = loop
        self._waiter = waiter
        self._timeout = command_timeout
        self._is_answering = False

    async def step(self, count: int) -> str:
        """Take steps, as soon as their commands come.

        Args:
            count: How many, at least 0.

        Returns:
            Why not all of them were taken; empty when they were.
        """
        loop = self._loop
        if not loop.hold.is_paused:
            return 'not paused'
        taken = 0
        over: Future[Any] = Future()

        def finish(reason: str) -> None:
            over.set_result(reason)
            # The answer goes out before anything else happens to the simulation.
            self._waiter.serve_until(lambda: not self._is_answering)

        def go_on(is_taken: bool) -> None:
            nonlocal taken
            taken += is_taken
            if not is_taken:
                finish(loop.blocked_by or f'no command within {self._timeout:g} s')
            elif taken == count:
                finish('')
            elif not loop.hold.is_paused:
                finish('not paused any more')
            else:
                loop.hold.request_step(self._timeout, go_on)

        if count == 0:
            return ''
        if not loop.hold.request_step(self._timeout, go_on):
            return 'another step is waiting for its command'
        self._is_answering = True
        reason = str(await over)
        self._is_answering = False
        return f'{reason}; {taken} of {count} steps taken' if reason and count > 1 else reason


class SimulationServices:
    """`~/pause`, `~/step` and `~/reset`."""

    def __init__(self, node: Node, loop: Loop, stepper: Stepper) -> None:
        """Offer the services.

        Args:
            node: The bridge.
            loop: The loop to control.
            stepper: Takes steps while the loop is paused.
        """
        self._loop = loop
        self._stepper = stepper
        # A step waits for its command; the other services answer meanwhile.
        group = ReentrantCallbackGroup()
        node.create_service(SetBool, '~/pause', self._pause, callback_group=group)
        node.create_service(Trigger, '~/step', self._step, callback_group=group)
        node.create_service(Trigger, '~/reset', self._reset, callback_group=group)

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
        if not self._loop.hold.is_paused:
            response.message = 'not paused; call ~/pause with true first'
            return response
        reason = await self._stepper.step(1)
        response.success = not reason
        response.message = reason or f'one control period, {self._time}'
        return response

    @property
    def _time(self) -> str:
        return f'time {self._loop.world.time_ns * 1e-9:.9g} s'
