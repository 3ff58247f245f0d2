"""The two hot topics: arrays in and out, one message each way per control period.

The fast path keeps messages in serialised form and waits on a wait set of its own; the plain path
goes through the public client library alone. Both stand behind the same names and give the same
arrays.
"""

from icir_control.nodes.transport.joint_state import read_joint_state
from icir_control.nodes.transport.layout import FIELDS
from icir_control.nodes.transport.link import Link
from icir_control.nodes.transport.publisher import JointStatePublisher
from icir_control.nodes.transport.subscription import JointStateSubscription
from icir_control.nodes.transport.waiter import Waiter

__all__ = [
    'FIELDS',
    'JointStatePublisher',
    'JointStateSubscription',
    'Link',
    'Waiter',
    'read_joint_state',
]
