"""Reads messages whose byte layout has been learnt, in one compiled call."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icir_control.compiled import bound, kernel
from icir_control.nodes.transport.layout import (
    NANOSECONDS,
    NUMBER_SIZE,
    SHIFT,
    STAMP_OFFSET,
    JointStateLayout,
)

REFUSED = -1

_STAMP_WORD = (SHIFT + STAMP_OFFSET) // NUMBER_SIZE


class KnownLayout:
    """Where to find what is wanted in the messages of one layout.

    Attributes:
        token: The `frame_id` of all messages of the layout.
        length: Of every message of the publisher, with what it appends [bytes].
        place: Where a message is written, to be read.
        arrays: What `read` takes.
    """

    __slots__ = ('arrays', 'length', 'place', 'token')

    def __init__(
        self,
        layout: JointStateLayout,
        raw: bytes,
        offsets: Sequence[int],
        order: NDArray[np.intp],
        accepted: NDArray[np.float64],
    ) -> None:
        """Prepare to read messages like one that was read already.

        Args:
            layout: Of that message.
            raw: The message; others must be as long, with what its publisher appends.
            offsets: Where the first number of each wanted field lies [bytes].
            order: (n,) where each of our joints stands in the message.
            accepted: (fields, n) to be overwritten by each message.
        """
        self.token = layout.token
        self.length = len(raw)
        words = -(-(SHIFT + len(raw)) // NUMBER_SIZE)
        content, mask, expected = np.zeros((3, words), np.int64)
        self.place = memoryview(content).cast('B')[SHIFT : SHIFT + len(raw)]
        end = SHIFT + layout.size
        mask.view(np.uint8)[SHIFT:end] = np.frombuffer(layout.meaning, np.uint8)
        expected.view(np.uint8)[SHIFT:end] = np.frombuffer(layout.template, np.uint8)
        expected &= mask
        starts = (np.array(offsets) + SHIFT) // NUMBER_SIZE
        self.arrays = (
            content,
            content.view(np.float64),
            mask,
            expected,
            np.add.outer(starts, order).ravel(),
            accepted.reshape(-1),
        )


@cache
def reader() -> Callable[..., Any]:
    """Return `read`, compiled: at the first call, which nobody should wait for."""
    words, numbers = np.zeros(2, np.int64), np.zeros(2)
    return bound(read, words, numbers, words, words, words, numbers)


@kernel
def read(words, numbers, mask, expected, places, accepted):  # noqa: ANN001, ANN201
    """Check a message and copy its numbers.

    Args:
        words: (k,) int64, the message.
        numbers: (k,) float64, the same memory.
        mask: (k,) int64, the bits that must be as expected.
        expected: (k,) int64.
        places: (m,) int64, which of the numbers are wanted.
        accepted: (m,) float64 to be overwritten.

    Returns:
        The stamp [ns]; `REFUSED`, and nothing is overwritten, if the message has another layout, a
        number that is not finite, or an impossible stamp.
    """
    for i in range(words.shape[0]):
        if words[i] & mask[i] != expected[i]:
            return REFUSED
    for i in range(places.shape[0]):
        if not np.isfinite(numbers[places[i]]):
            return REFUSED
    stamp = int(words[_STAMP_WORD])
    seconds, nanoseconds = stamp & 0xFFFFFFFF, (stamp >> 32) & 0xFFFFFFFF
    if seconds > 0x7FFFFFFF or nanoseconds >= NANOSECONDS:
        return REFUSED
    for i in range(places.shape[0]):
        accepted[i] = numbers[places[i]]
    return seconds * NANOSECONDS + nanoseconds
