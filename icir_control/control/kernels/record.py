"""The record: everything a compiled tick reads and writes, in one block of memory.

numba passes one structured array as fast as a plain one, and its fields keep their names in the
kernels: `record.kp`. With a sixth of the call's cost per further array, that decides the layout.
"""

import numpy as np
from numpy.typing import NDArray

from icir_control.spatial import SE3
from icir_control.trajectory import JointTrajectory, SE3Trajectory

GRAVITY, JOINT, TASK, FLOAT, IMPEDANCE, CUSTOM = range(6)
"""What the law's kernel is; CUSTOM is a law in Python."""

TICK, PREPARE, SENSE, ACTUATE, ADVANCE, START_PATH, STEP, REHEARSE = range(8)
"""What a call of the compiled function does; see `kernels.run`."""

NO_PATH, JOINT_PATH, POSE_PATH = range(3)
"""What the reference follows."""

FEED_FORWARD = ('none', 'velocity', 'acceleration', 'matched')
"""What of the reference's motion a tracking law uses, by its place in this tuple.

`none` is the tutorial's in task space; `matched` takes the differences that the plant's own
integrator makes.
"""

LONGEST_DELAY = 3
"""Control periods from a command to its effect that a prediction can bridge."""


def gain_sizes(nv: int) -> tuple[tuple[str, int], ...]:
    """Return the names and lengths of the gains, which never jump while a law runs."""
    return (
        ('joint_kp', nv),
        ('joint_kd', nv),
        ('task_kp', 6),
        ('task_kd', 6),
        ('stiffness', 6),
        ('damping_rate', 1),
    )


def record_dtype(nv: int) -> np.dtype:
    """Return the layout for an arm of nv degrees of freedom; lengths are fixed by it."""
    joints = (nv,)
    return np.dtype(
        (
            np.record,
            [
                # What runs.
                ('operation', 'i8'),
                ('law', 'i8'),
                ('feed_forward', 'i8'),
                ('frame', 'i8'),
                ('period', 'f8'),
                # Where the reference goes.
                ('path', 'i8'),
                ('start_time', 'f8'),
                ('duration', 'f8'),
                ('joint_coefficients', 'f8', (nv, 6)),
                ('pose_start', 'f8', (4, 3)),
                ('pose_coefficients', 'f8', (6, 6)),
                ('path_time', 'f8'),
                ('path_rate', 'f8'),
                ('path_time_now', 'f8'),
                ('rate_now', 'f8'),
                ('speed_scale', 'f8'),
                ('posture', 'f8', joints),
                ('posture_rate', 'f8'),
                ('lowest', 'f8', joints),
                ('highest', 'f8', joints),
                ('outcome', 'f8', (6,)),
                ('limited', 'i8'),
                ('off_path', 'f8'),
                # Figures of the laws; the first go to their goals little by little.
                *((name, 'f8', (n,)) for name, n in gain_sizes(nv)),
                *((f'{name}_goal', 'f8', (n,)) for name, n in gain_sizes(nv)),
                ('damping_ratio', 'f8'),
                ('has_damping', 'i8'),
                ('damping', 'f8', (6, 6)),
                ('reference_wrench', 'f8', (6,)),
                ('shapes_inertia', 'i8'),
                ('desired_inertia', 'f8', (6,)),
                ('measured_wrench', 'f8', (6,)),
                ('base_axes', 'i8'),
                ('axes', 'f8', (3, 3)),
                ('singularity', 'f8'),
                ('singularity_damping', 'f8'),
                ('effort_limit', 'f8', joints),
                ('torque_rate_limit', 'f8', joints),
                ('velocity_limit', 'f8', joints),
                ('acceleration_limit', 'f8', joints),
                ('lower_position_limit', 'f8', joints),
                ('upper_position_limit', 'f8', joints),
                ('position_margin', 'f8'),
                # What the model does not know.
                ('delay', 'i8'),
                ('pending', 'f8', (LONGEST_DELAY, nv)),
                ('observer_gain', 'f8'),
                ('observing', 'i8'),
                ('feeds_back', 'i8'),
                ('disturbance', 'f8', joints),
                ('compensation', 'f8', joints),
                ('learnt_at_rest', 'f8', joints),
                ('M_before', 'f8', (nv, nv)),
                ('nle_before', 'f8', joints),
                ('v_before', 'f8', joints),
                ('torque_applied', 'f8', joints),
                # The reference: three positions a period apart, and what follows from them.
                ('reference_time', 'f8'),
                ('q_before', 'f8', joints),
                ('q_reference', 'f8', joints),
                ('q_after', 'f8', joints),
                ('v_reference', 'f8', joints),
                ('a_reference', 'f8', joints),
                ('pose_reference', 'f8', (4, 3)),
                ('twist_reference', 'f8', (6,)),
                ('acceleration_reference', 'f8', (6,)),
                # The arm at this tick.
                ('pose', 'f8', (4, 3)),
                ('twist', 'f8', (6,)),
                ('jacobian', 'f8', (6, nv)),
                ('drift', 'f8', (6,)),
                ('smallest_singular_value', 'f8'),
                ('singular_direction', 'f8', (6,)),
                # The answer.
                ('posture_acceleration', 'f8', joints),
                ('acceleration', 'f8', joints),
                ('wrench', 'f8', (6,)),
                ('torque_unsaturated', 'f8', joints),
                ('torque', 'f8', joints),
                ('has_torque', 'i8'),
                ('effort_share', 'f8'),
                ('rate_limited', 'i8'),
                # Scratch.
                ('six', 'f8', (6,)),
                ('six_more', 'f8', (6,)),
                ('rate', 'f8', (6,)),
                ('joints', 'f8', joints),
                ('square', 'f8', (6, 6)),
                ('vectors', 'f8', (6, 6)),
                ('rows', 'f8', (6, nv)),
                ('inertia', 'f8', (nv, nv)),
                ('turn', 'f8', (3, 3)),
                ('other_pose', 'f8', (4, 3)),
                ('other_jacobian', 'f8', (6, nv)),
                ('goal_pose', 'f8', (4, 3)),
                ('reference_jacobian', 'f8', (6, nv)),
                ('reference_direction', 'f8', (6,)),
                ('reference_singular_value', 'f8'),
            ],
        )
    )


def new_record(nv: int) -> NDArray[np.void]:
    """Return a record at rest: an array of one, for the kernels; its fields are at `[0]`."""
    array = np.zeros(1, record_dtype(nv))
    record = array[0]
    record.law = GRAVITY
    record.period = 1e-3
    record.effort_share = 1.0
    record.torque_rate_limit[:] = np.inf
    record.singular_direction[:] = record.reference_direction[:] = 1.0 / np.sqrt(6.0)
    record.speed_scale = record.path_rate = 1.0
    record.lower_position_limit[:] = -np.inf
    record.upper_position_limit[:] = np.inf
    record.velocity_limit[:] = record.acceleration_limit[:] = np.inf
    for pose in (record.pose, record.pose_reference, record.pose_start):
        pose[:3] = np.eye(3)
    record.axes[:] = np.eye(3)
    return array


def settle_gains(record: np.record) -> None:
    """Take the gains over at once, at the start of a law."""
    for name, _ in gain_sizes(len(record.torque)):
        record[name][:] = record[f'{name}_goal']


def as_pose(placement: SE3) -> NDArray[np.float64]:
    """Return a placement as the kernels have it: (4, 3), rows 0-2 rotation, row 3 position."""
    return np.vstack([placement.rotation, placement.translation])


def as_placement(pose: NDArray[np.float64]) -> SE3:
    """Return the placement of a (4, 3) pose, on memory of its own."""
    return SE3(pose[:3].copy(), pose[3].copy())


def install_path(record: np.record, path: JointTrajectory | SE3Trajectory | None) -> None:
    """Write the path that the reference is to follow."""
    if path is None:
        record.path = NO_PATH
        return
    record.start_time = path.start_time
    record.duration = path.duration
    if isinstance(path, JointTrajectory):
        record.path = JOINT_PATH
        record.joint_coefficients[:] = path.coefficients
    else:
        record.path = POSE_PATH
        record.pose_start[:] = as_pose(path.start)
        record.pose_coefficients[:] = path.coefficients


def install_start(record: np.record, time: float, q: NDArray, v: NDArray) -> None:
    """Let the reference start at q (nv,), moving at v (nv,).

    A motion from rest begins at the speed that is set; a moving arm is brought to it.
    """
    record.reference_time = time
    record.path_time = record.path_time_now = 0.0
    at_rest = np.abs(v).max(initial=0.0) < 1e-6
    record.path_rate = record.rate_now = record.speed_scale if at_rest else 1.0
    record.q_reference[:] = q
    record.q_before[:] = q - record.period * v
    record.q_after[:] = q + record.period * v
    record.v_reference[:] = v
    record.a_reference[:] = 0.0


def change_period(record: np.record, period: float) -> None:
    """Take another control period [s], and bring the reference to it.

    Its three positions are a period apart; on the parabola through them, q + v s + a s^2 / 2,
    they stay. Divided by the new period alone their differences would be velocities and
    accelerations that nobody wants.
    """
    old, ratio = record.period, period / record.period
    forward = record.q_after - record.q_reference
    backward = record.q_reference - record.q_before
    v, a = (forward + backward) / (2.0 * old), (forward - backward) / old**2
    record.q_before[:] = record.q_reference - period * v + 0.5 * period**2 * a
    record.q_after[:] = record.q_reference + period * v + 0.5 * period**2 * a
    record.path_time = record.path_time_now + ratio * (record.path_time - record.path_time_now)
    record.period = period
