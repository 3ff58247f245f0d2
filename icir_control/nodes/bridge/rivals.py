"""Who else publishes on the two hot topics: found in the ROS graph, not in the messages."""

from rclpy.node import Node

_OURS = 1


class RivalWatch:
    """Looks for a second publisher of commands or of states.

    With two controllers the arm would follow now one, now the other; with two bridges the
    controller would answer now one, now the other. Neither can be told from the messages alone.
    """

    def __init__(self, node: Node, *, commands: str, states: str) -> None:
        """Keep what to look at.

        Args:
            node: The bridge.
            commands: Full name of the topic on which one controller publishes.
            states: Full name of the topic on which the bridge alone publishes.
        """
        self._node = node
        self._commands = commands
        self._states = states

    def find(self) -> str:
        """Return who publishes where only one may, in words; empty when all is well."""
        for topic in (self._commands, self._states):
            if self._node.count_publishers(topic) > _OURS:
                return f'{topic} has several publishers: {", ".join(self._publishers(topic))}'
        return ''

    def commanders(self) -> list[str]:
        """Return the names of the nodes that publish commands."""
        return self._publishers(self._commands)

    def _publishers(self, topic: str) -> list[str]:
        ends = self._node.get_publishers_info_by_topic(topic)
        return sorted(f'{end.node_namespace.rstrip("/")}/{end.node_name}' for end in ends)
