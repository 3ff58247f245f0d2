"""Who else publishes on the two hot topics: found in the ROS graph, not in the messages."""

import os
from pathlib import Path

from rclpy.node import Node

_OURS = 1
# How Fast DDS builds the identity of an endpoint: vendor, host, low half of the process id, ...
_VENDOR = b'\x01\x0f'
_HOST, _PROCESS = slice(2, 4), slice(4, 6)
_LOW_HALF = 0xFFFF


class RivalWatch:
    """Looks for a second publisher of commands or of states.

    With two controllers the arm would follow now one, now the other; with two bridges the
    controller would answer now one, now the other. Neither can be told from the messages alone.

    A process that was killed stays in the graph for some 20 s. One that was seen to run on this
    machine, and does not any more, does not count.
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
        self._counts = {commands: 0, states: 0}
        self._seen_running: set[bytes] = set()

    def find(self) -> str:
        """Return who publishes where only one may, in words; empty when all is well."""
        for topic, before in self._counts.items():
            count = self._node.count_publishers(topic)
            if count > _OURS or count != before:
                self._counts[topic] = count
                names = self._publishers(topic)
                if len(names) > _OURS:
                    return (
                        f'{topic} has several publishers: {", ".join(names)}; only one may be'
                        ' there (a killed one is forgotten within 20 s)'
                    )
        return ''

    def commanders(self) -> list[str]:
        """Return the full names of the nodes that publish commands."""
        return self._publishers(self._commands)

    def _publishers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that publish on a topic and have not been killed."""
        names = []
        host = self._own_host()
        for end in self._node.get_publishers_info_by_topic(topic):
            identity = bytes(end.endpoint_gid)
            if identity[: len(_VENDOR)] == _VENDOR and identity[_HOST] == host:
                if int.from_bytes(identity[_PROCESS], 'little') in _running_processes():
                    self._seen_running.add(identity)
                elif identity in self._seen_running:
                    continue
            names.append(f'{end.node_namespace.rstrip("/")}/{end.node_name}')
        return sorted(names)

    def _own_host(self) -> bytes | None:
        """Return what Fast DDS calls this machine; None where it is not Fast DDS."""
        own = (os.getpid() & _LOW_HALF).to_bytes(2, 'little')
        for end in self._node.get_publishers_info_by_topic(self._states):
            identity = bytes(end.endpoint_gid)
            if identity[: len(_VENDOR)] == _VENDOR and identity[_PROCESS] == own:
                return identity[_HOST]
        return None


def _running_processes() -> set[int]:
    """Return the low halves of the ids of all processes that can be seen from here."""
    return {int(path.name) & _LOW_HALF for path in Path('/proc').glob('[0-9]*')}
