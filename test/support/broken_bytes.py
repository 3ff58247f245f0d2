"""What a network, a bug or a joker may put where a JointState is expected."""

import struct

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

ENCAPSULATION = bytes([0, 1, 0, 0])  # of a message in little-endian CDR
TOKEN_LENGTH = 12  # where it stands: behind the encapsulation and the stamp
HUGE = struct.pack('<I', 0xFFFFFFFF)


def broken_copies(message: JointState) -> list[bytes]:
    """Serialised messages none of which is one: cut short, with impossible lengths, noise,
    padding behind nothing."""
    whole = serialize_message(message)
    cut = [whole[:length] for length in range(0, len(whole) - 1, 5)]
    (size,) = struct.unpack_from('<I', whole, TOKEN_LENGTH)
    name_count = (TOKEN_LENGTH + 4 + size + 3) // 4 * 4
    oversized = [whole[:place] + HUGE + whole[place + 4 :] for place in (TOKEN_LENGTH, name_count)]
    random = np.random.default_rng(len(whole))
    noise = [random.bytes(length) for length in (1, 3, 4, 5, 60, 300, 4000)]
    promised = [bytes([0, 1, 0, padding]) for padding in range(3, 256, 36)]
    return [*promised, *cut, *oversized, *noise, *(ENCAPSULATION + piece for piece in noise)]
