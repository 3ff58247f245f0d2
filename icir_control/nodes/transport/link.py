"""A short cut for a topic whose two ends are in the same process."""

from icir_control.nodes.transport.publisher import JointStatePublisher
from icir_control.nodes.transport.subscription import JointStateSubscription


class Link:
    """Hands messages over from a publisher to a subscription while nobody else subscribes.

    Within a process the middleware still takes a few microseconds for a message. What is handed
    over is the message itself, in the same bytes; as soon as somebody else subscribes, all goes
    through the middleware again.
    """

    def __init__(
        self, publisher: JointStatePublisher, subscription: JointStateSubscription
    ) -> None:
        """Hand nothing over yet.

        Args:
            publisher: One end.
            subscription: The other one; without the fast path, or on another topic, nothing is
                ever handed over.
        """
        self._publisher = publisher
        self._subscription = subscription
        self._is_possible = (
            subscription.is_native and subscription.topic_name == publisher.topic_name
        )

    def look(self) -> None:
        """Find out whether somebody else subscribes; to be called every few milliseconds."""
        is_alone = self._is_possible and self._publisher.subscribers == 1
        self._publisher.divert(self._subscription.hand_over if is_alone else None)
