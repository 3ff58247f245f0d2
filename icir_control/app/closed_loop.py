"""The controller on the simulated arm in one process: a tick, a step, a tick, without ROS."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from icir_control.app.measurement import Array, TimeSeries
from icir_control.app.robot import DEFAULT_ROBOT, RobotFiles
from icir_control.control import Controller, ControllerConfig, replaced
from icir_control.control.log import TickLog
from icir_control.nodes.bridge.config import BridgeConfig
from icir_control.nodes.robot import LoadedRobot, with_targets
from icir_control.parameter import flatten
from icir_control.share import BRIDGE, CONTROLLER
from icir_control.simulation import Plant
from icir_control.spatial import SE3, log3

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
