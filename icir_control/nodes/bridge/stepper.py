"""Control periods on request, while the simulation is paused."""

from rclpy.task import Future

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.transport import Waiter


class Stepper:
    """Has the loop take steps, for one who asks at a time.

    From one step to the next no service is looked at: many steps are as fast as a running loop.
    """

    def __init__(self, loop: Loop, waiter: Waiter, command_timeout: float) -> None:
        """Keep what steps.

        Args:
            loop: What steps.
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
        over: Future[str] = Future()

        def finish(reason: str) -> None:
            over.set_result(reason)
            # Who asked is answered before anything else happens to the simulation.
            self._waiter.serve_until(lambda: not self._is_answering)

        def go_on(is_taken: bool) -> None:
            nonlocal taken
            taken += is_taken
            if not is_taken:
                finish(loop.obstacle or f'no command within {self._timeout:g} s')
            elif taken == count:
                finish('')
            elif not loop.hold.is_paused:
                finish('not paused any more')
            else:
                loop.hold.ask_step(self._timeout, go_on)

        if count == 0:
            return ''
        if not loop.hold.ask_step(self._timeout, go_on):
            return 'another step is waiting for its command'
        self._is_answering = True
        reason = await over
        self._is_answering = False
        return f'{reason}; {taken} of {count} steps taken' if reason and count > 1 else reason
