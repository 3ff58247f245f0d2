"""Bridge and controller in one process, for batch work: the same nodes, topics and trajectory.

The two take turns in one thread, so that no thread has to be woken. Messages without another
subscription are handed over past the middleware.
"""

import time
from functools import partial

from icir_control.nodes.bridge.node import MujocoBridge
from icir_control.nodes.controller.node import ControllerNode
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.endpoints import JointStatePublisher, JointStateSubscription
from icir_control.nodes.transport.waiter import Waiter


class ComposedNodes:
    """A bridge in whose waits a controller answers.

    Attributes:
        bridge: The bridge.
    """

    def __init__(self) -> None:
        """Start both nodes; see `ControllerNode` and `MujocoBridge`.

        Raises:
            IcirError: The parameters or the model of one of them are not valid.
        """
        self._controller = ControllerNode()
        self.bridge = MujocoBridge(partial(_ComposedWaiter, self._controller))

    def run(self, stop: StopRequest) -> None:
        """Run both until asked to stop; see `NodeProcess`."""
        self._controller.log_ready()
        self.bridge.run(stop)

    def close(self) -> None:
        """Leave the graph."""
        self.bridge.close()
        self._controller.close()


class _ComposedWaiter(Waiter):
    """The waiter of the bridge: a state that has come is answered first."""

    def __init__(self, controller: ControllerNode, bridge: MujocoBridge) -> None:
        super().__init__(bridge.node, [bridge.commands], beside=controller.waiter)
        self._controller = controller
        self._links = [Link(bridge.states, controller.states)]
        if isinstance(controller.commands, JointStatePublisher):
            self._links.append(Link(controller.commands, bridge.commands))

    def wait(self, now: float, until: float) -> None:
        """Have the controller answer, else wait for either node's topics; see `Waiter.wait`."""
        if self._controller.spin_once():
            now = until = time.monotonic()
            if now < self.slow_due:
                return
        if now >= self.slow_due:
            for link in self._links:
                link.update()
        super().wait(now, until)


class Link:
    """Hands messages from a publisher to a subscription of the same process, past the middleware.

    The same bytes are handed over, which saves a few microseconds for a message. As soon as there
    is another subscription, messages go through the middleware again.
    """

    def __init__(
        self, publisher: JointStatePublisher, subscription: JointStateSubscription
    ) -> None:
        """Prepare; nothing is handed over before the first `update`.

        Args:
            publisher: One end.
            subscription: The other one. Without the fast path, or on another topic, nothing is
                ever handed over.
        """
        self._publisher = publisher
        self._subscription = subscription
        self._is_possible = (
            subscription.is_native and subscription.topic_name == publisher.topic_name
        )

    def update(self) -> None:
        """Check for other subscriptions; to be called every few milliseconds."""
        is_alone = self._is_possible and self._publisher.subscribers == 1
        self._publisher.divert(self._subscription.hand_over if is_alone else None)
