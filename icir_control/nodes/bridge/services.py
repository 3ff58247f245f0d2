"""The services that control simulation time: pause, step, reset."""

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.bridge.stepper import Stepper


class SimulationServices:
    """`~/pause`, `~/step` and `~/reset`."""

    def __init__(self, node: Node, loop: Loop, stepper: Stepper) -> None:
        """Offer the services.

        Args:
            node: The bridge.
            loop: What they control.
            stepper: Takes steps while the loop is paused.
        """
        self._loop = loop
        self._stepper = stepper
        # A step waits for its command; the other services answer meanwhile.
        group = ReentrantCallbackGroup()
        node.create_service(SetBool, '~/pause', self._pause, callback_group=group)
        node.create_service(Trigger, '~/step', self._step, callback_group=group)
        node.create_service(Trigger, '~/reset', self._reset, callback_group=group)

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        was_paused = self._loop.hold.is_paused
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
