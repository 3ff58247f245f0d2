"""Trajectories as messages: what planners send, read as waypoints."""

from trajectory_msgs.msg import JointTrajectory

from icir_control.control import Waypoints
from icir_control.errors import IcirError, RefusedError

INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = -1, -2, -3
"""Error codes of control_msgs/action/FollowJointTrajectory, which need not be installed."""

_CODES = {'invalid_joints': INVALID_JOINTS, 'old_trajectory': OLD_HEADER_TIMESTAMP}
_FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


def waypoints_of(message: JointTrajectory) -> Waypoints | None:
    """Return the waypoints of a trajectory; None of one without points, which asks to stop.

    Raises:
        RefusedError: Fields that do not match the joints, or that differ from point to point.
    """
    points, joints = message.points, tuple(message.joint_names)
    if not points:
        return None
    columns = {}
    for name in _FIELDS:
        rows = [getattr(point, name) for point in points]
        lengths = {len(row) for row in rows}
        if lengths not in ({0}, {len(joints)}):
            raise RefusedError(
                f'the trajectory is not valid: {name} of {sorted(lengths)} numbers; expected'
                f' {len(joints)} in every point, as there are joint names, or none',
                reason='invalid_trajectory',
            )
        columns[name] = [row.tolist() for row in rows] if lengths != {0} else None
    if columns['positions'] is None or columns.pop('effort') is not None:
        raise RefusedError(
            'the trajectory is not valid: expected positions, and no effort, in every point',
            reason='invalid_trajectory',
        )
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
    stamp = message.header.stamp
    start_time = stamp.sec + 1e-9 * stamp.nanosec
    return Waypoints(joints, times, **columns, start_time=start_time or None)


def error_code_of(error: IcirError) -> int:
    """Return the standard error code of a refusal."""
    return _CODES.get(getattr(error, 'reason', ''), INVALID_GOAL)
