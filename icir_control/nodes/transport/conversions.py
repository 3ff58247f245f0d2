"""Messages as numbers, and numbers as messages: stamps, poses, wrenches, pairs of diagnostics."""

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3, Wrench
from numpy.typing import ArrayLike, NDArray
from std_msgs.msg import Header

if TYPE_CHECKING:
    from icir_control.spatial import SE3

NANOSECONDS = 1_000_000_000
_PACE_SPAN = 1.0  # s of wall time, at least, over which the pace is measured


def seconds_of(stamp: Any) -> float:
    """Return a Time or Duration in seconds."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def nanoseconds_of(stamp: Any) -> int:
    """Return a Time or Duration in nanoseconds."""
    return int(stamp.sec * NANOSECONDS + stamp.nanosec)


def stamp_of(nanoseconds: int) -> Time:
    """Return a time [ns] as a stamp."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    return Time(sec=seconds, nanosec=rest)


class Pace:
    """Compares simulation time with the wall's.

    Attributes:
        value: Simulated seconds per second of wall time; NaN until it is known.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.value = self._simulated = math.nan
        self._wall = -math.inf

    def update(self, simulated: float) -> None:
        """Take the present simulation time [s]."""
        wall = time.monotonic()
        if (elapsed := wall - self._wall) >= _PACE_SPAN:
            self.value = (simulated - self._simulated) / elapsed
            self._wall, self._simulated = wall, simulated


def stamp_words(stamp: Time) -> str:
    """Return the stamp of a request in words, by which its sender recognises the answer."""
    return f'{stamp.sec}.{stamp.nanosec:09d}'


def xyz(kind: type, numbers: ArrayLike) -> Any:
    """Return a message of a kind, such as Point or Vector3, from three numbers."""
    x, y, z = np.asarray(numbers, dtype=float).tolist()
    return kind(x=x, y=y, z=z)


def pose_numbers(pose: Pose) -> NDArray[np.float64]:
    """Return the numbers of a Pose: (7,) position [m] and quaternion (x, y, z, w)."""
    p, o = pose.position, pose.orientation
    return np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])


def placement_of(pose: Pose) -> 'SE3':
    """Return a Pose as a placement.

    Raises:
        InvalidValueError: No quaternion, or a number that is not finite.
    """
    from icir_control.spatial import SE3  # here: the keyboard starts sooner without

    numbers = pose_numbers(pose)
    return SE3.from_quaternion(numbers[3:], numbers[:3])


def pose_of(translation: ArrayLike, quaternion: ArrayLike) -> Pose:
    """Return a Pose from a translation (3,) [m] and a quaternion (x, y, z, w)."""
    x, y, z, w = np.asarray(quaternion, dtype=float).tolist()
    orientation = Quaternion(x=x, y=y, z=z, w=w)
    return Pose(position=xyz(Point, translation), orientation=orientation)


def wrench_numbers(wrench: Wrench) -> NDArray[np.float64]:
    """Return the numbers of a Wrench: (6,) force [N] and torque [N m]."""
    f, t = wrench.force, wrench.torque
    return np.array([f.x, f.y, f.z, t.x, t.y, t.z])


def wrench_of(numbers: ArrayLike) -> Wrench:
    """Return a Wrench from (6,) force [N] and torque [N m]."""
    force, torque = np.split(np.asarray(numbers, dtype=float), 2)
    return Wrench(force=xyz(Vector3, force), torque=xyz(Vector3, torque))


def key_values(values: Mapping[str, object]) -> list[KeyValue]:
    """Return values as the pairs of a diagnostic status."""
    return [KeyValue(key=key, value=str(value)) for key, value in values.items()]


def diagnostics(status: DiagnosticStatus, nanoseconds: int) -> DiagnosticArray:
    """Return a status at a time [ns] as `/diagnostics` takes it."""
    return DiagnosticArray(header=Header(stamp=stamp_of(nanoseconds)), status=[status])


def values_of(status: DiagnosticStatus) -> dict[str, str]:
    """Return the pairs of a diagnostic status by key."""
    return {pair.key: pair.value for pair in status.values}
