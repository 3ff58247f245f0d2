"""`icir_control replay`: what a recording shows of the arm, on the topics again."""

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from icir_control.app.recording.reader import Recording
from icir_control.app.recording.topics import (
    CURRENT_POSE,
    DESCRIPTION,
    JOINT_REFERENCE,
    LATCHED,
    REFERENCE_POSE,
    STATES,
    TOPICS,
)
from icir_control.errors import ConfigurationError

_CLOCK = '/clock'
# None that a node of ours acts on, beside the states.
_SHOWN = (STATES, CURRENT_POSE, REFERENCE_POSE, JOINT_REFERENCE, _CLOCK, *LATCHED)
_DISCOVERY = 1.0  # s of wall time in which the graph and subscriptions are found
_LONGEST_SLEEP = 0.05  # s


def publish(recording: Recording, node: Node, rate: float, is_wanted: Callable[[], bool]) -> None:
    """Publish the states, poses, mode, clock and URDF of a recording.

    Args:
        recording: What is published.
        node: The node that publishes.
        rate: Simulated seconds per second; 0 is as fast as possible.
        is_wanted: Called again and again; False ends it.

    Raises:
        ConfigurationError: A simulation publishes states on this graph.
    """
    time.sleep(_DISCOVERY)
    if node.count_publishers(STATES):
        raise ConfigurationError(
            f'{STATES} has a publisher already; end that simulation, or choose another domain'
            ' (ROS_DOMAIN_ID)'
        )
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publishers: dict[str, Any] = {
        topic: node.create_publisher(
            {**TOPICS, **LATCHED}[topic], topic, latched if topic in LATCHED else 1
        )
        for topic in _SHOWN
    }
    time.sleep(_DISCOVERY)
    waiting = [
        (recording.time_of(message), topic, message.raw)
        for topic in _SHOWN
        for message in recording.messages.get(topic, ())
    ]
    waiting.sort(key=lambda one: (one[1] != DESCRIPTION, one[0]))
    begin, start = time.monotonic(), recording.states.time[0]
    for moment, topic, raw in waiting:
        due = begin + (moment - start) / rate if rate else 0.0
        while (left := due - time.monotonic()) > 0.0 and is_wanted():
            time.sleep(min(left, _LONGEST_SLEEP))
        if not is_wanted():
            return
        publishers[topic].publish(raw)
