"""The controller on the simulated arm in one process, without ROS, and a log of its ticks."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.app.measurement import Array, TimeSeries
from icir_control.app.robot import DEFAULT_ROBOT, RobotFiles
from icir_control.control import Controller, ControllerConfig, replaced
from icir_control.control.kernels.memory import POSE_PATH
from icir_control.control.readout import Readout
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.nodes.bridge.config import BridgeConfig
from icir_control.nodes.robot import LoadedRobot, with_targets
from icir_control.parameter import flatten
from icir_control.share import BRIDGE, CONTROLLER
from icir_control.simulation import Plant
from icir_control.spatial import SE3, log3

FIELDS: Final = (
    'position_reference',
    'velocity_reference',
    'has_joint_reference',
    'pose_reference',
)
"""Of the tick's record."""
MEMORY_FIELDS: Final = ('torque', 'torque_unsaturated', 'path')
"""Of the controller's memory."""

_ROWS = 4096


def _keep(
    rows: np.ndarray,
    row: int,
    q: np.ndarray,
    v: np.ndarray,
    tick: np.ndarray,
    tick_places: np.ndarray,
    memory: np.ndarray,
    memory_places: np.ndarray,
) -> int:
    """Copy q, v and what lies at the places of two records into a row, after its time."""
    nv = q.shape[0]
    for i in range(nv):
        rows[row, 1 + i] = q[i]
        rows[row, 1 + nv + i] = v[i]
    begin = 1 + 2 * nv
    for i in range(tick_places.shape[0]):
        rows[row, begin + i] = tick[int(tick_places[i])]
    begin += tick_places.shape[0]
    for i in range(memory_places.shape[0]):
        rows[row, begin + i] = memory[int(memory_places[i])]
    return 0


_KEEP = CheckedKernel(_keep)


class TickLog:
    """Keeps a row for each tick of a controller.

    Attributes:
        q: (nv,) position of the last row [rad or m].
        v: (nv,) its velocity [rad/s or m/s].
    """

    def __init__(self, controller: Readout) -> None:
        """Begin a log without rows."""
        memory, tick = controller.arrays
        self._nv = int(tick['joints'][0])
        self._records: list[NDArray[np.float64]] = []
        for record, names in ((tick, FIELDS), (memory, MEMORY_FIELDS)):
            numbers = np.arange(record.nbytes // 8).view(record.dtype)[0]
            places = [np.ravel(numbers[name]).view(np.int64) for name in names]
            self._records += [record.view(np.float64), np.concatenate(places).astype(float)]
        self._width = 1 + 2 * self._nv + self._records[1].size + self._records[3].size
        self._before, self._count = np.zeros(self._width), 0
        self.clear()
        _KEEP.run(self._rows, 0, *np.zeros((2, self._nv)), *self._records)
        self._call = _KEEP.call  # compiled now

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def clear(self) -> None:
        """Begin anew."""
        self._before, self._count = self._last.copy(), 0
        self._rows = np.empty((_ROWS, self._width))

    def keep(self, time: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """Add the tick that was just computed.

        Args:
            time: Of the measured state [s]; the tick's own is ahead of it by the delay.
            q: (nv,) where the plant is [rad or m].
            v: (nv,) how it moves [rad/s or m/s].
        """
        row = self._count
        if row == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[row, 0] = time
        self._call(self._rows, row, q, v, *self._records)
        self._count = row + 1

    @property
    def q(self) -> NDArray[np.float64]:
        """(nv,) position of the last row [rad or m]."""
        return self._last[1 : 1 + self._nv]

    @property
    def v(self) -> NDArray[np.float64]:
        """(nv,) velocity of the last row [rad/s or m/s]."""
        return self._last[1 + self._nv : 1 + 2 * self._nv]

    @property
    def _last(self) -> NDArray[np.float64]:
        """The last row, also where the log was begun anew since."""
        return self._rows[self._count - 1] if self._count else self._before

    @property
    def columns(self) -> dict[str, NDArray[np.float64]]:
        """A copy of the rows by name.

        `time` (n,) [s]; each (n, nv): `position` and `velocity`, `position_reference` and
        `velocity_reference`, the state where the law has none [rad or m, per s], `torque` and,
        before the limits, `torque_unsaturated` [N m or N]; `pose_reference` (n, 4, 3) of the tool
        in the world, rows 0-2 rotation, row 3 position [m], not a number where the law follows no
        pose.
        """
        nv = self._nv
        sizes = [1, nv, nv, nv, nv, 1, 12, nv, nv, 1]
        rows = self._rows[: self._count].copy()
        time, q, v, q_reference, v_reference, has, pose, torque, unsaturated, kind = np.split(
            rows, np.cumsum(sizes)[:-1], axis=1
        )
        has_joints, path = (np.ascontiguousarray(column).view(np.int64) for column in (has, kind))
        return {
            'time': time[:, 0],
            'position': q,
            'velocity': v,
            'position_reference': np.where(has_joints > 0, q_reference, q),
            'velocity_reference': np.where(has_joints > 0, v_reference, v),
            'torque': torque,
            'torque_unsaturated': unsaturated,
            'pose_reference': np.where(path == POSE_PATH, pose, np.nan).reshape(-1, 4, 3),
        }


UPRIGHT: Final = np.zeros(6)
HOME: Final = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
READY: Final = np.radians([45.0, 45.0, 90.0, 30.0, 50.0, 0.0])


class ClosedLoop:
    """A world and a controller, stepped together as bridge and controller are in lockstep.

    Attributes:
        arm: The arm as the controller's node reads it.
        controller: The controller.
        world: The plant.
        model: The arm as the controller knows it.
        tool: Name of the link that acts.
    """

    def __init__(
        self,
        robot: str | RobotFiles = DEFAULT_ROBOT,
        *,
        start: ArrayLike | None = None,
        plant: Plant | None = None,
        timestep: float | None = None,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        """Place the arm and take one step in the initial mode.

        What is left out is as in the robot's parameter file.

        Args:
            robot: A robot that ships with the package, by name, or any.
            start: (nv,) initial configuration [rad or m].
            plant: How the plant differs from its model.
            timestep: Control period [s].
            changes: Parameters of the controller that differ, by their full names with dots.

        Raises:
            IcirError: The URDF or a parameter is not valid.
        """
        self.arm, bridge = (
            _shipped(robot, node) if isinstance(robot, str) else _loaded(robot, node)
            for node in (CONTROLLER, BRIDGE)
        )
        self.model = self.arm.model
        parameters = replaced(self.arm.parameters, changes or {})
        config = ControllerConfig.from_parameters(parameters, self.model, self.arm.shapes)
        self.controller = Controller(self.model, with_targets(config, self.arm))
        self.tool = self.controller.config.arm.end_effector_frame
        given = {'initial_configuration': start, 'plant': plant, 'timestep': timestep}
        self.world = BridgeConfig.from_parameters(bridge.parameters, self.model).world(
            self.arm.path,
            self.arm.options,
            **{name: value for name, value in given.items() if value is not None},
        )
        self._log = TickLog(self.controller)
        self.restart(start)

    @property
    def log(self) -> TimeSeries:
        """The ticks since the last call of `run`, `go` or `clear_log`, a row for each.

        Columns are those of `TickLog`; position and velocity are the plant's, whatever its sensors
        tell.
        """
        columns = self._log.columns
        return TimeSeries(columns.pop('time'), columns)

    @property
    def q(self) -> Array:
        """(nv,) position of the plant at the last tick [rad or m]."""
        return self._log.q

    @property
    def v(self) -> Array:
        """(nv,) velocity of the plant at the last tick [rad/s or m/s]."""
        return self._log.v

    @property
    def time(self) -> float:
        """Simulation time [s]."""
        return self.world.time_ns * 1e-9

    @property
    def placement(self) -> SE3:
        """T_world_tool at the last tick, by MuJoCo's kinematics."""
        pose = self.world.frame_placement(self.q)
        return SE3(pose[:, :3], pose[:, 3])

    @property
    def touches(self) -> bool:
        """Whether the arm has run into the floor or into itself."""
        return self.world.data.ncon > 0

    def restart(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Place the arm, moving or at rest, and take one step in the initial mode.

        Args:
            q: (nv,) [rad or m]; by default the initial configuration.
            v: (nv,) [rad/s or m/s]; by default the arm rests.
        """
        self.world.reset(q, v)
        steps = self.world.plant.euler_steps
        self.controller.restart(self.time, *self.world.measured, steps)
        self.run(1)

    def step(self, steps: int = 1) -> None:
        """Let the controller answer the state, and the plant take a step; again and again.

        Args:
            steps: How many.
        """
        world, tick, keep = self.world, self.controller.tick, self._log.keep
        q, v = world.measured
        are_views = world.has_views
        for _ in range(steps):
            time = world.time_ns * 1e-9
            torque = tick(time, q, v)
            if are_views:
                keep(time, q, v)
                world.step(torque)
            else:
                keep(time, world.position, world.velocity)
                world.step(torque)
                q, v = world.measured

    def clear_log(self) -> None:
        """Begin the log anew."""
        self._log.clear()

    def run(self, steps: int, before: Callable[[], object] | None = None) -> TimeSeries:
        """Take steps, and return their log.

        Args:
            steps: How many.
            before: Called before each.
        """
        self.clear_log()
        if before is None:
            self.step(steps)
        else:
            for _ in range(steps):
                before()
                self.step()
        return self.log

    def go(self, mode: str, seconds: float) -> TimeSeries:
        """Switch to a mode, run it, and return the log."""
        self.controller.select(mode)
        return self.run(self.steps(seconds))

    def pushed(self, wrench: ArrayLike, seconds: float) -> Array:
        """Push the tool, let go, and return how it moved under the push.

        Args:
            wrench: (6,) force and moment in axes of the world [N, N m].
            seconds: How long.

        Returns:
            (6,) translation and rotation vector in axes of the world [m, rad].
        """
        force, moment = np.reshape(wrench, (2, 3))
        start = self.placement

        def push() -> None:
            R_tool_world = self.placement.rotation.T
            in_tool = np.concatenate([R_tool_world @ force, R_tool_world @ moment])
            self.world.push(self.tool, in_tool)

        self.run(self.steps(seconds), push)
        self.world.clear_push(self.tool)
        end = self.placement
        turn = start.rotation @ log3(start.rotation.T @ end.rotation)
        return np.concatenate([end.translation - start.translation, turn])

    def steps(self, seconds: float) -> int:
        """Return how many steps a while is [s]."""
        return round(seconds * 1e9 / self.world.timestep_ns)


@cache
def _shipped(robot: str, node: str) -> LoadedRobot:
    return _loaded(RobotFiles.of(robot), node)


def _loaded(files: RobotFiles, node: str) -> LoadedRobot:
    """Return the arm as a node reads it."""
    return LoadedRobot.of(flatten(files.parameters(node)) | files.overrides, node)


@cache
def shipped(robot: str) -> tuple[Path, dict[str, Any]]:
    """Return a robot's URDF and its controller's parameters; not to be changed."""
    arm = _shipped(robot, CONTROLLER)
    return arm.path, arm.parameters
