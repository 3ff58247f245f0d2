"""Which nodes publish on a topic, read from the ROS graph and not from the messages."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclpy.node import Node

from icir_control.nodes.transport.endpoints import JointStateSubscription

JOINT_STATE = 'sensor_msgs/msg/JointState'

# A topic on which every node publishes, the one that asks among them.
_OF_EVERY_NODE = '/parameter_events'

# What the client library calls a node that is not discovered completely; the name follows later.
_UNKNOWN = '_NODE_NAME_UNKNOWN_'

# How Fast DDS builds the identity of an endpoint: vendor, host, low half of the process id, ...
_VENDOR = b'\x01\x0f'
_HOST, _PROCESS = slice(2, 4), slice(4, 6)
_LOW_HALF = 0xFFFF
_DEAD = (b'Z', b'X')


class Publishers:
    """The publishers of JointState on a topic, and those of any other type.

    The graph keeps a killed process for about 20 s. One that was seen to run on this machine and
    does not run any more is left out.
    """

    def __init__(self, node: Node) -> None:
        """Prepare to ask.

        Args:
            node: The node that asks.
        """
        self._node = node
        self._seen_running: set[bytes] = set()
        self._wrong_types: set[tuple[str, str]] = set()
        self._counts: dict[str, int] = {}

    def on(self, topic: str) -> list[str]:
        """Return the full names of the running nodes that publish JointState.

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

    def duplicates(self, *topics: str) -> str:
        """Return which topic has more than one publisher, and whose; empty when none has.

        With two controllers the arm would follow each in turn; with two bridges the controller
        would answer each in turn. The messages alone do not show it.

        Args:
            topics: Full names.
        """
        for topic in topics:
            count = self._node.count_publishers(topic)  # quick; the names take longer
            if count > 1 or count != self._counts.get(topic):
                self._counts[topic] = count
                names = self.on(topic)
                if len(names) > 1:
                    return (
                        f'{topic} has several publishers: {", ".join(names)}; only one may publish'
                        ' it (the graph forgets a killed one within 20 s). A second simulation'
                        ' needs its own namespace (ros2 launch icir_control simulation.launch.py'
                        ' namespace:=second) or its own ROS domain (export ROS_DOMAIN_ID=1)'
                    )
        return ''

    def count_wrong_types(self, subscription: JointStateSubscription) -> None:
        """Count and log each node that publishes another type on a topic, once.

        The middleware does not deliver their messages to a subscription of JointState.

        Args:
            subscription: To the topic; they count as rejected by it.
        """
        topic = subscription.topic_name
        found = {
            (_name_of(end), end.topic_type)
            for end in self._node.get_publishers_info_by_topic(topic)
            if end.topic_type != JOINT_STATE
        }
        new, self._wrong_types = found - self._wrong_types, found
        for name, kind in sorted(new):
            subscription.rejected['wrong_type'] += 1
            self._node.get_logger().warning(
                f'{name} publishes {kind} on {topic} instead of {JOINT_STATE}; it is not received'
            )

    def starting(self, names: Sequence[str], topic: str) -> list[str]:
        """Return those nodes that do not subscribe to a topic yet, as ours do when they are ready.

        Args:
            names: Full names of nodes.
            topic: Full name of the topic.
        """
        ready = {_name_of(end) for end in self._node.get_subscriptions_info_by_topic(topic)}
        return [name for name in names if name not in ready]

    def _own_host(self) -> bytes | None:
        """Return what Fast DDS calls this machine; None where it is not Fast DDS."""
        own = (os.getpid() & _LOW_HALF).to_bytes(2, 'little')
        for end in self._node.get_publishers_info_by_topic(_OF_EVERY_NODE):
            identity = bytes(end.endpoint_gid)
            if identity[: len(_VENDOR)] == _VENDOR and identity[_PROCESS] == own:
                return identity[_HOST]
        return None


def _name_of(end: Any) -> str:
    """Return the full name of the node of an endpoint."""
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
            # A killed process stays a zombie until its parent waits for it.
            if state not in _DEAD:
                return True
    return False
