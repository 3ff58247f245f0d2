"""A second publisher on one of the two hot topics."""

from rclpy.node import Node

from icir_control.nodes.publishers import Publishers

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
        self._counts = {commands: 0, states: 0}
        self._publishers = Publishers(node, states)

    def find(self) -> str:
        """Return who publishes where only one may, in words; empty when all is well."""
        for topic, before in self._counts.items():
            count = self._node.count_publishers(topic)
            if count > _OURS or count != before:
                self._counts[topic] = count
                names = self._publishers.on(topic)
                if len(names) > _OURS:
                    return (
                        f'{topic} has several publishers: {", ".join(names)}; only one may be'
                        ' there (a killed one is forgotten within 20 s)'
                    )
        return ''

    def commanders(self) -> list[str]:
        """Return the full names of the nodes that publish commands."""
        return self._publishers.on(self._commands)

    def new_strangers(self) -> list[str]:
        """Return who publishes what is no command on their topic; see `Publishers`."""
        return self._publishers.new_strangers(self._commands)
