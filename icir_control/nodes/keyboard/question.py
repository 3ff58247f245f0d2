"""A question to the controller: sent when it can be, given up when no answer comes."""

import time
from collections.abc import Callable
from typing import Any

from rclpy.client import Client
from rclpy.task import Future

ANSWER_TIMEOUT = 2.0  # s until an answer counts as lost


class Question:
    """A request to a service, from the key to the answer."""

    def __init__(
        self,
        client: Client,
        request: Any,
        answered: Callable[[Any], None],
        lost: Callable[[], None],
    ) -> None:
        """Prepare to ask.

        Args:
            client: Of the service.
            request: What it is asked.
            answered: Called with the response.
            lost: Called when there is none in time.
        """
        self._client = client
        self._request = request
        self._answered = answered
        self._lost = lost
        self._future: Future | None = None
        self._due = time.monotonic() + ANSWER_TIMEOUT

    def tend(self) -> bool:
        """Send it, or give it up, if it is time to; return whether it is settled."""
        if self._future is None and self._client.service_is_ready():
            # A request that is sent before both ends have found each other is lost.
            self._future = self._client.call_async(self._request)
        if self._future is not None and self._future.done():
            self._answered(self._future.result())
            return True
        if time.monotonic() <= self._due:
            return False
        if self._future is not None:
            self._client.remove_pending_request(self._future)
        self._lost()
        return True
