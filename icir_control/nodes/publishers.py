"""Who publishes on a hot topic: found in the ROS graph, not in the messages."""

import os
from pathlib import Path

from rclpy.node import Node

JOINT_STATE = 'sensor_msgs/msg/JointState'

# What the client library calls a node that it has discovered in part; the name follows.
_UNKNOWN = '_NODE_NAME_UNKNOWN_'

# How Fast DDS builds the identity of an endpoint: vendor, host, low half of the process id, ...
_VENDOR = b'\x01\x0f'
_HOST, _PROCESS = slice(2, 4), slice(4, 6)
_LOW_HALF = 0xFFFF
_DEAD = (b'Z', b'X')


class Publishers:
    """Tells the publishers of JointState on a topic from others, and from those that are dead.

    A process that was killed stays in the graph for some 20 s. One that was seen to run on this
    machine, and does not any more, does not count.
    """

    def __init__(self, node: Node, own_topic: str) -> None:
        """Keep where to look.

        Args:
            node: The node that asks.
            own_topic: Full name of a topic on which it publishes itself.
        """
        self._node = node
        self._own_topic = own_topic
        self._seen_running: set[bytes] = set()
        self._strangers: set[tuple[str, str]] = set()

    def on(self, topic: str) -> list[str]:
        """Return the full names of the nodes that publish JointState and have not been killed.

        Args:
            topic: Full name of the topic.
        """
        names = []
        host = self._own_host()
        for end in self._node.get_publishers_info_by_topic(topic):
            if end.topic_type != JOINT_STATE:
                continue
            identity = bytes(end.endpoint_gid)
            if identity[: len(_VENDOR)] == _VENDOR and identity[_HOST] == host:
                if _is_running(int.from_bytes(identity[_PROCESS], 'little')):
                    self._seen_running.add(identity)
                elif identity in self._seen_running:
                    continue
            names.append(_name_of(end))
        return sorted(names)

    def new_strangers(self, topic: str) -> list[str]:
        """Return in words who publishes another type there, each the first time it is seen.

        The middleware keeps their messages from whoever expects a JointState.

        Args:
            topic: Full name of the topic.
        """
        found = {
            (_name_of(end), end.topic_type)
            for end in self._node.get_publishers_info_by_topic(topic)
            if end.topic_type != JOINT_STATE
        }
        new, self._strangers = found - self._strangers, found
        return [
            f'{name} publishes {kind} on {topic} instead of {JOINT_STATE}; nobody hears it'
            for name, kind in sorted(new)
        ]

    def _own_host(self) -> bytes | None:
        """Return what Fast DDS calls this machine; None where it is not Fast DDS."""
        own = (os.getpid() & _LOW_HALF).to_bytes(2, 'little')
        for end in self._node.get_publishers_info_by_topic(self._own_topic):
            identity = bytes(end.endpoint_gid)
            if identity[: len(_VENDOR)] == _VENDOR and identity[_PROCESS] == own:
                return identity[_HOST]
        return None


def _name_of(end: object) -> str:
    if end.node_name == _UNKNOWN:
        return 'a node whose name is not known yet'
    return f'{end.node_namespace.rstrip("/")}/{end.node_name}'


def _is_running(low_half: int) -> bool:
    """Return whether a process runs whose id has this low half."""
    for folder in Path('/proc').glob('[0-9]*'):
        if int(folder.name) & _LOW_HALF == low_half:
            try:
                state = (folder / 'stat').read_bytes().rpartition(b') ')[2][:1]
            except OSError:  # it has ended meanwhile
                continue
            # One that was killed stays a zombie until its parent takes note.
            if state not in _DEAD:
                return True
    return False
