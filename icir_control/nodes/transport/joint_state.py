"""Reads a serialised JointState of any publisher by the client library, whatever the bytes are."""

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from icir_control.errors import InvalidValueError
from icir_control.nodes.transport.layout import JointStateLayout

# What is shorter than the shortest message is none, and the middleware of the wheels (Fast CDR
# 2.3) reads beyond the end of four bytes that promise padding.
_SHORTEST = JointStateLayout((), '', ()).size


def read_joint_state(raw: bytes) -> JointState:
    """Return the message that the bytes stand for.

    Args:
        raw: As they came from the network.

    Raises:
        InvalidValueError: They stand for none.
    """
    expected = f'a serialised JointState, {_SHORTEST} bytes or more'
    if len(raw) < _SHORTEST:
        raise InvalidValueError('message', f'{len(raw)} bytes', expected)
    try:
        return deserialize_message(raw, JointState)
    except (RuntimeError, MemoryError) as error:
        raise InvalidValueError('message', f'{len(raw)} bytes', f'{expected}: {error}') from error
