"""The plans of MoveIt in `data/moveit_plans.yaml`."""

from pathlib import Path

import numpy as np
import yaml

from icir_control.control import Waypoints

PLANS = Path(__file__).parent.parent / 'data' / 'moveit_plans.yaml'


def plans_of_moveit() -> list[Waypoints]:
    """The plans, the state where each starts first."""
    return [plan_of(document) for document in yaml.safe_load_all(PLANS.read_text('utf-8'))]


def plan_of(message) -> Waypoints:
    """A trajectory_msgs/JointTrajectory as a mapping."""
    points = message['points']
    stamps = [point['time_from_start'] for point in points]
    times = [stamp['sec'] + 1e-9 * stamp['nanosec'] for stamp in stamps]
    fields = 'positions', 'velocities', 'accelerations'
    values = (np.array([point[field] for point in points]) for field in fields)
    return Waypoints(tuple(message['joint_names']), times, *values)
