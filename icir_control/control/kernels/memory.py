"""The memory of a tick: what a law may see of it, and what the controller keeps for itself."""

import numpy as np

from icir_control.control.kernels.structs import JOINTS as n
from icir_control.control.kernels.structs import Layout
from icir_control.spatial import SE3

TICK, PREPARE, SENSE, ACTUATE, ADVANCE, STEP, BRAKE = range(7)
"""What a call of the compiled function does; see `kernels.tick.run`."""

DONE, NO_ANSWER, ALARMED, SHAKEN, CONTACT_CHANGED, NEAR = range(6)
"""What it returns: a torque; or none, since the law's answer is not one finite number for each
joint; a torque while the alarm is raised, where feedback shakes the arm, or as a contact has begun
or ended; or none yet, since links may be near to each other: once they have been looked at it is
to be called again."""

NO_PATH, JOINT_PATH, POSE_PATH = range(3)
"""What the reference follows."""

CALM, TOO_FAST, TOO_FAR, TOO_LONG = range(4)
"""What `alarm` is: nothing, speed, distance from the reference, time beyond the torque limits."""

FAR, WATCHES, LOOKS = range(3)
"""What `keeps_apart` is: nothing to be kept apart, watches how far the joints go, looks."""

LONGEST_DELAY = 3
"""Control periods from a command to its effect that a prediction can bridge."""

TICK_LAYOUT = Layout(
    {
        'time': (),
        'period': (),
        'smallest_singular_value': (),
        # The end effector and its reference.
        'pose': (4, 3),
        'twist': (6,),
        'drift': (6,),
        'pose_reference': (4, 3),
        'twist_reference': (6,),
        'frame_acceleration_reference': (6,),
        'task_kp': (6,),
        'task_kd': (6,),
        'measured_wrench': (6,),
        'wrench': (6,),
        # The joints and their reference; q and v side by side.
        'q': (n,),
        'v': (n,),
        'nle': (n,),
        'position_reference': (n,),
        'velocity_reference': (n,),
        'acceleration_reference': (n,),
        'joint_kp': (n,),
        'joint_kd': (n,),
        'jacobian': (6, n),
        'M': (n, n),
    },
    ('on_joint_path', 'has_joint_reference'),
)
"""What a law sees; `icir_control.control.law.Tick` says what each field is."""

MEMORY_LAYOUT = Layout(
    {
        # The path, and how far along it the reference is.
        'start_time': (),
        'duration': (),
        'path_time': (),
        'path_rate': (),
        'rate_limit': (),
        'path_time_now': (),
        'rate_now': (),
        'speed_scale': (),
        'pose_start': (4, 3),
        'pose_coefficients': (6, 6),
        'joint_coefficients': (n, 6),
        # The joint reference: three positions, a period apart; the middle one is the tick's.
        'reference_time': (),
        'q_before': (n,),
        'q_after': (n,),
        # How far an arm has gone that is held from its start on.
        'way_from_start': (n,),
        # Derivatives of the path in the joints, at the reference and a period ahead.
        'slope': (n,),
        'slope_after': (n,),
        # How the joints follow a pose path.
        'singularity_threshold': (),
        'singularity_damping': (),
        'posture_rate': (),
        'posture': (n,),
        'off_path': (),
        'reference_singular_value': (),
        'reference_direction': (6,),
        'lowest': (n,),
        'highest': (n,),
        'outcome': (8,),
        # Limits of the arm.
        'position_margin': (n,),
        'yielding_margin': (n,),
        'effort_limit': (n,),
        'torque_rate_limit': (n,),
        'velocity_limit': (n,),
        'acceleration_limit': (n,),
        'lower_position_limit': (n,),
        'upper_position_limit': (n,),
        # Losses in its joints.
        'joint_damping': (n,),
        'joint_friction': (n,),
        'friction_softness': (n,),
        # What the model does not know.
        'observer_gain': (),
        'joint_rate': (n,),
        'uncertain_delay': (),
        # Of the gains and the observer of a joint, a share of what is configured.
        'bandwidth': (n,),
        'observer_trust': (n,),
        # Inertia of a joint beyond the model: what is declared, and what its motion shows.
        'uncertain_inertia': (n,),
        'extra_inertia': (n,),
        'inertia_information': (n,),
        # Samples in a row that it foretold, the direction of the first, and how surely no chance
        # is in those in others, -log10 of it.
        'agreeing_samples': (n,),
        'inertia_direction': (n, n),
        'other_decades': (n,),
        # Of it, what is a part of the model by now, samples that show none of that since a row of
        # them agreed (-1 where others do), and whether it has just changed.
        'adopted_inertia': (n,),
        'samples_without': (n,),
        'adopts': (),
        'inertia_residual': (n,),
        'inertia_doubt': (),
        'unexplained': (n,),
        'acceleration_before': (n,),
        'followed_acceleration': (n,),
        # M^-1, and 1 / (M^-1)_ii.
        'inverse_inertia': (n, n),
        'shown_inertia': (n,),
        'disturbance_mean': (n,),
        'disturbance_side': (n,),
        'side_time': (n,),
        'disturbance': (n,),
        # Whether its gains differ, which couples the joints, and M^-1 times it.
        'couples': (),
        'disturbing_acceleration': (n,),
        # Whose acceleration is corrected, what inertia these show while the others are free, and
        # whether that is of another M^-1 or of other joints.
        'is_slow': (n,),
        'slow_inertia': (n, n),
        'slow_inertia_is_old': (),
        # Of it, friction: its size, how much of that noise may be, direction, and time since that
        # changed (1: all is learnt).
        'friction': (n,),
        'friction_doubt': (n,),
        # The greatest torque that was unexplained lately, which fades.
        'resistance': (n,),
        'friction_direction': (n,),
        # Whether one that is known has turned since signs were looked at.
        'friction_turns': (),
        'friction_time': (n,),
        # What was unexplained as it turned, what that has leapt by since, for which share of the
        # time that shows it the joint has moved, and by how much the direction changed (2: it
        # turned).
        'residual_at_turn': (n,),
        'leap': (n,),
        'leap_share': (n,),
        'turned_by': (n,),
        'compensation': (n,),
        # A faster estimate, of what it takes of the acceleration, for the state over a delay.
        'fast_acceleration': (n,),
        'foreseen_acceleration': (n,),
        'foreseen_disturbance': (n,),
        # Of the disturbance, what is cancelled: none while its sign is wrong; and for how long it
        # has not been.
        'is_wrong': (n,),
        'right_time': (n,),
        'cancelled_share': (n,),
        'cancelled': (n,),
        # What was learnt at rest: weight of a load and of a heavier arm, and what is left.
        'disturbance_at_rest': (n,),
        'rest_position': (n,),
        'gravity': (3,),
        'load': (4,),
        'weight_share': (),
        'weight': (n,),
        # What the arm touches; how a path waits, and comes back.
        'contact_torque': (),
        'largest_friction': (),
        'contact_friction': (n,),
        'contact_inertia': (n,),
        'position_count': (n,),
        'residual': (n,),
        'smooth_residual': (n,),
        'residual_mean': (n,),
        'residual_spread': (n,),
        'smooth_spread': (n,),
        'residual_error': (n,),
        'pressing_rate': (),
        'pressed': (),
        'contact_share': (),
        # Where it is sent on in a contact: what was unexplained before, and what the contact adds.
        'residual_before': (n,),
        'pressed_by': (n,),
        'time_apart': (),
        # Since a motion has begun free; in a contact, since it is over.
        'time_over': (),
        'time_free': (),
        # Since the reference has moved.
        'time_still': (),
        'off_joint_path': (n,),
        'off_path_rate': (n,),
        'measured_M': (n, n),
        'measured_nle': (n,),
        'measured_q': (n,),
        'measured_v': (n,),
        'bias_change': (n,),
        # How the plant integrates, and the noise of the velocity.
        'euler_share': (),
        'euler_variance': (),
        'euler_noise': (),
        'velocity_noise': (n,),
        'velocity_deviation': (n,),
        'independent_noise': (n,),
        'quiet_gain': (n,),
        'stable_gain': (n,),
        'velocity_change': (n,),
        'second_difference': (n,),
        'filtered_velocity': (n,),
        'mean_velocity': (n,),
        'filtered_position': (n,),
        'torque_applied': (n,),
        # What was sent, the newest first, and its greatest change; since it has leapt, how the
        # motion's changes match it, for each number of periods that it may be late by.
        'sent_torque': (LONGEST_DELAY + 2, n),
        'explained': (n,),
        'torque_change': (n,),
        'leap_ticks': (),
        'lateness_score': (LONGEST_DELAY + 1,),
        'explained_power': (n,),
        'torque_power': (LONGEST_DELAY + 1, n),
        'torque_match': (LONGEST_DELAY + 1, n),
        # The watchdog's bounds, and how long they have been exceeded.
        'largest_speed': (),
        'largest_error': (),
        'beyond_time': (),
        'saturation_time': (),
        'time_beyond': (),
        'time_saturated': (),
        # The joint that shakes, and which way; since that changed, and how often.
        'shaking_side': (),
        'turning_time': (),
        'shaking_turns': (),
        # Its greatest speed since it turned, the sum of those, and that of the turns before.
        'swing': (),
        'swings': (),
        'swings_before': (),
        # The answer.
        'singular_direction': (6,),
        'effort_share': (),
        'acceleration': (n,),
        'drag': (),
        'drag_share': (),
        'drag_side': (),
        'drag_time': (),
        # Each with the direction of its joint.
        'brake_rate': (n,),
        'repulsion': (n,),
        # Of the distances between links: what `may_be_near` looks at.
        'distance_watch': (3, n),
        'torque_base': (n,),
        'torque_unsaturated': (n,),
        'torque': (n,),
    },
    (
        'operation',
        'alarm',
        'contact',
        'contact_changed',
        'presses',
        'settles',
        'gives_in',
        'shaken',
        'ticks_touching',
        'ticks',
        'prepared',
        'frame',
        'path',
        'needs_twist',
        'needs_singular_value',
        'tracks',
        'limited',
        'lossy',
        'delay',
        'lateness',
        'observing',
        'steady_ticks',
        'has_torque',
        'rate_limited',
        'keeps_apart',
        'repels',
        # Addresses of machine code, and of the law's struct.
        'prepare_code',
        'terms_code',
        'reference_code',
        'path_code',
        'sense_code',
        'actuate_code',
        'law_code',
        'law',
    ),
)
"""What the controller keeps from tick to tick."""


def as_pose(placement: SE3) -> np.ndarray:
    """Return a placement as the kernels have it: (4, 3), rows 0-2 rotation, row 3 position."""
    return np.vstack([placement.rotation, placement.translation])


def as_placement(pose: np.ndarray) -> SE3:
    """Return the placement of a (4, 3) pose, on memory of its own."""
    return SE3.trusted(pose[:3].copy(), pose[3].copy())
