"""The topics of states and commands: arrays in and out, one message each per control period.

The fast path keeps messages in serialised form and waits on a wait set of its own; the plain path
uses the public client library alone. Both have the same interface and give the same arrays.
"""

from icir_control.nodes.transport.endpoints import (
    JointStatePublisher,
    JointStateSubscription,
    Link,
)
from icir_control.nodes.transport.messages import FIELDS, read_joint_state
from icir_control.nodes.transport.waiter import Waiter

__all__ = [
    'FIELDS',
    'JointStatePublisher',
    'JointStateSubscription',
    'Link',
    'Waiter',
    'read_joint_state',
]
