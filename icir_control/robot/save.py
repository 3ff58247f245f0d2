"""A log as a recording: an MCAP file with the topics that bridge and controller publish."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from icir_control.app.measurement import Array, TimeSeries
from icir_control.app.recording.topics import (
    COMMANDS,
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
from icir_control.control import Arm
from icir_control.nodes.robot import LoadedRobot
from icir_control.nodes.transport.conversions import pose_of
from icir_control.share import CONTROLLER
from icir_control.spatial import SE3

_POSE_PERIOD = 0.01  # s, as the controller publishes them


def write_recording(
    path: Path,
    series: TimeSeries,
    modes: Sequence[tuple[float, str]],
    robot: LoadedRobot,
    arm: Arm,
    references: Array | None,
) -> None:
    """Write a log; arrival in the file is simulation time, from now on.

    Args:
        path: A new file.
        series: Columns as of `TickLog`.
        modes: Which ran from when on, as (time [s], name).
        robot: The files of the arm; the parameters that name them are written, for its meshes.
        arm: The arm.
        references: (n, 4, 3) T_base_tool that the tool should have; None where not known.

    Raises:
        ConfigurationError: The file exists, or cannot be written.
    """
    begin = time.time_ns()
    names = list(arm.model.joint_names)
    T_base_world = arm.T_world_base.inverse()
    file = RecordingFile(path)
    try:
        for topic, kind in {**TOPICS, **LATCHED}.items():
            file.open_topic(_full(topic), kind)

        def write(topic: str, moment: float, message: Any) -> None:
            now = begin + round(moment * 1e9)
            if hasattr(message, 'header'):
                message.header.stamp = Time(nanoseconds=round(moment * 1e9)).to_msg()
            file.write_message(_full(topic), message, now)

        def joints(**values: Array) -> JointState:
            return JointState(name=names, **{name: row.tolist() for name, row in values.items()})

        start = series.time[0] if len(series) else 0.0
        write(DESCRIPTION, start, String(data=robot.path.read_text()))
        given = [Parameter(n, value=v).to_parameter_msg() for n, v in vars(robot.own).items() if v]
        write(PARAMETERS, start, ParameterEvent(node=f'/{CONTROLLER}', new_parameters=given))
        waiting = list(modes)
        applied = np.zeros(arm.nv)
        due = -np.inf
        for row, moment in enumerate(series.time):
            while waiting and waiting[0][0] <= moment:
                write(MODE, moment, String(data=waiting.pop(0)[1]))
            q, v, torque = (series[name][row] for name in ('position', 'velocity', 'torque'))
            write(STATES, moment, joints(position=q, velocity=v, effort=applied))
            write(COMMANDS, moment, joints(effort=torque))
            applied = torque
            if moment >= due and references is not None:
                due = moment + _POSE_PERIOD * (1.0 - 1e-6)
                write(CURRENT_POSE, moment, _pose(T_base_world @ arm.placement(q)))
                write(REFERENCE_POSE, moment, _pose(SE3(references[row, :3], references[row, 3])))
                unsaturated = series['torque_unsaturated'][row]
                q, v = series['position_reference'][row], series['velocity_reference'][row]
                write(JOINT_REFERENCE, moment, joints(position=q, velocity=v, effort=unsaturated))
        file.finish()
    finally:
        file.close()


def _full(topic: str) -> str:
    return topic if topic.startswith('/') else f'/{topic}'


def _pose(placement: SE3) -> PoseStamped:
    return PoseStamped(pose=pose_of(placement.translation, placement.quaternion))
