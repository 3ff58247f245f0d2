"""The parts of a run: each phase with its states, and where the arm should have been.

Where a mode follows a path, the reference is that path itself, planned here once more from the
state at the switch, with the curves of `icir_control.trajectory` alone: what the controller made
of it in the run is not asked. Where a mode holds a pose, the pose is the controller's.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from icir_control.app.plan import Phase
from icir_control.app.recording import Recording
from icir_control.app.replay import Replay
from icir_control.control import Arm, ControllerConfig, Mode
from icir_control.control.laws import Hold, Joint, Task
from icir_control.dynamics import forward_kinematics, frame_placement, frame_velocity
from icir_control.spatial import SE3, log3
from icir_control.trajectory import JointTrajectory, SE3Trajectory, stop


@dataclass(frozen=True)
class Part:
    """A phase of the run with the rows that belong to it.

    Attributes:
        phase: The phase.
        mode: Its mode, as configured.
        arm: The arm.
        rows: Which rows of the recording and the replay are of it.
        recording: The whole run.
        replay: The controller's view of it.
    """

    phase: Phase
    mode: Mode
    arm: Arm
    rows: slice
    recording: Recording
    replay: Replay

    @property
    def has_run(self) -> bool:
        """Whether its mode ran, all the time."""
        return self.rows.start < self.rows.stop

    @property
    def time(self) -> NDArray[np.float64]:
        """(n,) simulation time [s]."""
        return self.recording.time[self.rows]

    @property
    def position(self) -> NDArray[np.float64]:
        """(n, nv) of the joints [rad or m]."""
        return self.recording.position[self.rows]

    @property
    def translation(self) -> NDArray[np.float64]:
        """(n, 3) of the end effector in the base frame [m]."""
        return self.replay.translation[self.rows]

    @cached_property
    def position_reference(self) -> NDArray[np.float64]:
        """(n, nv) where the joints should have been [rad or m]."""
        first, figures = self.rows.start, self.mode.law.figures
        time = self.recording.time[first]
        q, v = self.replay.position_reference[first], self.replay.velocity_reference[first]
        if isinstance(self.mode.law, Joint):
            goal, seconds = np.deg2rad(figures['target_deg']), figures['duration']
            path = JointTrajectory.to_rest(time, seconds, q, v, goal, profile=figures['profile'])
        elif isinstance(self.mode.law, Hold):
            seconds = figures['stop_time']
            path = JointTrajectory(time, seconds, stop(q, v, seconds))
        else:
            return self.replay.position_reference[self.rows]
        return np.array([path.position(time) for time in self.time])

    @cached_property
    def pose_reference(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n, 3) [m] and (n, 3, 3), where the end effector should have been in the base frame."""
        replay, first, figures = self.replay, self.rows.start, self.mode.law.figures
        if not isinstance(self.mode.law, Task):
            return replay.translation_reference[self.rows], replay.rotation_reference[self.rows]
        model = self.arm.model
        data = model.create_data()
        q, v = replay.position_reference[first], replay.velocity_reference[first]
        forward_kinematics(model, data, q, v)
        T_base_world = self.arm.T_world_base.inverse()
        start = T_base_world @ frame_placement(model, data, self.arm.frame)
        goal = SE3(start.rotation, start.translation + np.array(figures['translation']))
        path = SE3Trajectory.to_rest(
            self.recording.time[first],
            figures['duration'],
            start,
            frame_velocity(model, data, self.arm.frame),
            goal,
            profile=figures['profile'],
        )
        placements = [path.placement(time) for time in self.time]
        return (
            np.array([placement.translation for placement in placements]),
            np.array([placement.rotation for placement in placements]),
        )

    @cached_property
    def joint_error(self) -> NDArray[np.float64]:
        """(n, nv) measured minus reference position [rad or m]."""
        return self.position - self.position_reference

    @cached_property
    def pose_error(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) distance [m] and (n,) angle [rad] from the reference to the end effector."""
        translation, rotation = self.pose_reference
        distance = np.linalg.norm(self.translation - translation, axis=1)
        turns = zip(rotation, self.replay.rotation[self.rows], strict=True)
        return distance, np.array([angle_between(*turn) for turn in turns])


def parts_of(
    phases: tuple[Phase, ...], config: ControllerConfig, recording: Recording, replay: Replay
) -> list[Part]:
    """Return the phases with their rows; one whose mode did not run has none."""
    parts = []
    for phase in phases:
        first, last = (row_at(recording.time, moment) for moment in (phase.start, phase.end))
        ran = bool(np.all(replay.mode[first:last] == phase.mode))
        rows = slice(first, last if ran else first)
        mode = config.modes[phase.mode]
        parts.append(Part(phase, mode, config.arm, rows, recording, replay))
    return parts


def row_at(time: NDArray[np.float64], moment: float) -> int:
    """Return the first row at or after a moment [s], which round-off does not move."""
    return int(np.searchsorted(time, moment - 1e-9))


def angle_between(R_a: NDArray[np.float64], R_b: NDArray[np.float64]) -> float:
    """Return the angle between two orientations (3, 3) [rad]."""
    return float(np.linalg.norm(log3(R_a.T @ R_b)))
