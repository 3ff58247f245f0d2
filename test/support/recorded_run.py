"""A recording made in one process: the controller on the simulated arm, messages to a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.recording.topics import (
    CURRENT_POSE,
    DESCRIPTION,
    JOINT_REFERENCE,
    LATCHED,
    MODE,
    PARAMETERS,
    REFERENCE_POSE,
    STATES,
    TOPICS,
)
from icir_control.app.recording.writer import RecordingFile
from icir_control.app.robot import RobotFiles
from icir_control.share import share_directory
from icir_control.spatial import SE3

EVERY = 10  # steps between two poses
RESET = 'reset'  # in the place of a mode: the arm is back where it began, under another token


def pose_message(stamp, placement: SE3) -> PoseStamped:
    message = PoseStamped()
    message.header.stamp = stamp
    p, o = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = placement.translation.tolist()
    o.x, o.y, o.z, o.w = placement.quaternion.tolist()
    return message


def write_run(
    path: Path,
    modes: Sequence[tuple[str, int]] = (('gravity', 50), ('home', 450)),
    *,
    robot: str | RobotFiles = 'gen3_6dof',
    joint_offset: float = 0.0,
    tool_offset: float = 0.0,
    states: bool = True,
    urdf: str = '',
    parameters: Mapping[str, Any] | None = None,
) -> list[np.ndarray]:
    """Run each mode for some steps, record it, and return position and velocity of each step.

    Args:
        path: The file.
        modes: Each with a number of steps; or `RESET`, with 0.
        robot: One that ships, by name, or any with its `urdf`.
        joint_offset: Of the first joint's recorded reference from what it was [rad].
        tool_offset: Of the tool's recorded reference in z from what it was [m].
        states: Whether the file has states.
        urdf: The recorded description; by default the robot's.
        parameters: What is recorded as the controller's.
    """
    loop = ClosedLoop(robot)
    file = RecordingFile(path)
    for topic, kind in {**TOPICS, **LATCHED}.items():
        if topic != STATES or states:
            file.open_topic(topic if topic.startswith('/') else f'/{topic}', kind)
    urdf = urdf or (share_directory() / 'urdf' / f'{robot}.urdf').read_text()
    file.write_message(f'/{DESCRIPTION}', String(data=urdf))
    event = ParameterEvent(node='/controller')
    for name, value in (parameters or {}).items():
        event.new_parameters.append(Parameter(name, value=value).to_parameter_msg())
    file.write_message(PARAMETERS, event)
    names = list(loop.model.joint_names)
    rows, run, offset_ns, state = [], 0, 0, JointState()
    for mode, steps in modes:
        if mode == RESET:
            # The last state of a run has the stamp of the first one of the next.
            state.header.stamp = Time(nanoseconds=loop.world.time_ns + offset_ns).to_msg()
            file.write_message(f'/{STATES}', state)
            before_ns, loop, run = loop.world.time_ns + offset_ns, ClosedLoop(robot), run + 1
            offset_ns = before_ns - loop.world.time_ns
            continue
        loop.controller.select(mode)
        for step in range(steps):
            stamp = Time(nanoseconds=loop.world.time_ns + offset_ns).to_msg()
            loop.step()
            row = loop.log
            position, velocity = row['position'][-1], row['velocity'][-1]
            rows.append(np.array([position, velocity]))
            state = JointState(name=names, position=position, velocity=velocity)
            state.header.stamp, state.header.frame_id = stamp, f'run {run}'
            state.effort = row['torque'][-1]
            if states:
                file.write_message(f'/{STATES}', state)
            if step == 0:
                file.write_message(f'/{MODE}', String(data=mode))
            if len(rows) % EVERY == 1:
                reference = loop.controller.reference_pose
                current = loop.controller.current_pose
                file.write_message(f'/{CURRENT_POSE}', pose_message(stamp, current))
                moved = SE3(reference.rotation, reference.translation + [0, 0, tool_offset])
                file.write_message(f'/{REFERENCE_POSE}', pose_message(stamp, moved))
                wanted = row['position_reference'][-1].copy()
                wanted[0] += joint_offset
                joints = JointState(name=names, position=wanted, velocity=velocity)
                joints.header = state.header
                joints.effort = state.effort
                file.write_message(f'/{JOINT_REFERENCE}', joints)
            loop.clear_log()
    file.finish()
    file.close()
    return rows
