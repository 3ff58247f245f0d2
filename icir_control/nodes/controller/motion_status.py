"""What becomes of each request for a motion: decided, followed to its end, and published."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from icir_control.control import Controller
from icir_control.errors import BrakedError, IcirError
from icir_control.nodes.transport.outcome import TRAJECTORY, Outcome, Request
from icir_control.nodes.transport.qos import OUTCOMES

INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = -1, -2, -3
"""Error codes of control_msgs/action/FollowJointTrajectory, which need not be installed."""

_CODES = {'invalid_joints': INVALID_JOINTS, 'old_trajectory': OLD_HEADER_TIMESTAMP}


class Goal(Protocol):
    """What somebody asks of a motion beyond that its reference comes to its end."""

    def violation(self, stamp_ns: int, *, at_end: bool) -> str:
        """Return why the motion has to end now, a sentence; empty where it may go on."""

    def is_reached(self) -> bool:
        """Return whether the arm is where the motion ends."""

    def ended(self, outcome: str, words: str) -> None:
        """Hear that the motion has `arrived` or is `aborted`, and why."""


@dataclass(frozen=True)
class AcceptedRequest:
    """A request that was accepted.

    Attributes:
        request: The request.
        stamp: Of the request, if it has one: its sender recognises the answer by it.
        mode: The mode that runs it.
        goal: What is asked of it; None where it ends with its reference.
    """

    request: Request
    stamp: str
    mode: str
    goal: Goal | None


class MotionStatus:
    """Decides requests, and publishes on `~/motion_status` what becomes of them.

    Attributes:
        motion: What is under way; None where everything has ended.
    """

    def __init__(self, node: Node, controller: Controller, done: Callable[[], None]) -> None:
        """Create the publisher.

        Args:
            node: The node that publishes and logs.
            controller: Receives the requests.
            done: Called after an accepted request.
        """
        self._node = node
        self._controller = controller
        self._done = done
        self._publisher = node.create_publisher(DiagnosticStatus, '~/motion_status', OUTCOMES)
        self.motion: AcceptedRequest | None = None
        self._braked_by: BrakedError | None = None
        self._check_ns = 0  # when the motion can be at its end

    def serve(
        self,
        request: Request,
        stamp: str,
        act: Callable[[], Iterable[float] | None],
        goal: Goal | None = None,
        sent_ns: int | None = None,
    ) -> IcirError | None:
        """Decide a request and report its outcome.

        Args:
            request: What is requested.
            stamp: That of the request, if it has one.
            act: Does it, and returns the numbers of a target; an `IcirError` refuses it.
            goal: What is asked of the motion.
            sent_ns: When its sender published it, by which its message is told from others with
                the same stamp [ns].

        Returns:
            Why it is refused; None where it is accepted.
        """
        log = self._node.get_logger()
        try:
            target = act()
        except IcirError as error:
            log.warning(f'{request} refused: {error}')
            why = {name: value for name, value in vars(error).items() if value is not None}
            if request == TRAJECTORY:
                why['error_code'] = error_code_of(error)
            self._report(Outcome(request, stamp, Outcome.REFUSED, str(error), why))
            return error
        log.info(str(request))
        self.end(Outcome.ABORTED, f'replaced by {request}')
        self.motion = AcceptedRequest(request, stamp, self._controller.mode, goal)
        self._check_ns = 0
        data: dict[str, Any] = {} if sent_ns is None else {'sent': sent_ns}
        if target is not None:
            data['goal'] = ' '.join(repr(float(one)) for one in target)
        accepted = Outcome.ACCEPTED
        self._report(Outcome(request, stamp, accepted, accepted, data))
        self._done()
        return None

    def watch(self, stamp_ns: int, restarted: bool) -> None:
        """Report the end of the motion that is under way, if it has one now.

        Args:
            stamp_ns: Of the tick [ns].
            restarted: Whether the tick began anew.
        """
        motion, controller = self.motion, self._controller
        braked = controller.braked_by
        if braked is not None and braked is not self._braked_by:
            self._braked_by = braked
            self._end_braked(braked)
            return
        if motion is None:
            return
        if restarted:
            self.end(Outcome.ABORTED, 'the controller has started anew')
            return
        if controller.mode != motion.mode:
            self.end(Outcome.ABORTED, f'mode {controller.mode or "(none)"} runs instead')
            return
        at_end = False
        if stamp_ns >= self._check_ns:
            # A path's own time is never faster than the clock: no need to ask any sooner again.
            left = controller.motion_left
            at_end, self._check_ns = left == 0.0, stamp_ns + round(left * 1e9)
        if motion.goal is not None and (words := motion.goal.violation(stamp_ns, at_end=at_end)):
            self.stop(words)
        elif at_end and (motion.goal is None or motion.goal.is_reached()):
            self.end(Outcome.ARRIVED, Outcome.ARRIVED)

    def _end_braked(self, error: BrakedError) -> None:
        """Report that the watchdog has ended a mode, and with it what is under way."""
        if self.motion is None:
            self.motion = AcceptedRequest(Request(mode=error.mode), '', error.mode, None)
        self.end(Outcome.ABORTED, str(error), vars(error))

    def stop(self, words: str) -> None:
        """Abort the trajectory that is under way, and bring the arm to rest."""
        self.end(Outcome.ABORTED, words)
        self._controller.follow(None)

    def end(self, outcome: str, words: str, data: dict[str, Any] | None = None) -> None:
        """Report how the motion that is under way has ended, if there is one.

        Args:
            outcome: `arrived` or `aborted`.
            words: A sentence.
            data: More of it, by key.
        """
        motion, self.motion = self.motion, None
        if motion is None:
            return
        if motion.request == TRAJECTORY:
            self._node.get_logger().info(f'{motion.request} {outcome}: {words}')
        self._report(Outcome(motion.request, motion.stamp, outcome, words, data or {}))
        if motion.goal is not None:
            motion.goal.ended(outcome, words)

    def _report(self, outcome: Outcome) -> None:
        answer = replace(outcome, data={**outcome.data, 'mode': self._controller.mode})
        self._publisher.publish(answer.status(f'{self._node.get_fully_qualified_name()}: motion'))


def error_code_of(error: IcirError) -> int:
    """Return the standard error code of a refusal."""
    return _CODES.get(getattr(error, 'reason', ''), INVALID_GOAL)
