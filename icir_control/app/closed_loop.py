"""The controller on the simulated arm in one process: a tick, a step, a tick, without ROS."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from icir_control.app.measurement import Array, TimeSeries, angle_between
from icir_control.app.processes import CONTROLLER
from icir_control.app.robot import DEFAULT_ROBOT, Robot
from icir_control.control import Controller, ControllerConfig, replaced
from icir_control.dynamics import Model, load_urdf
from icir_control.share import find_model_file
from icir_control.simulation import Plant, World
from icir_control.spatial import SE3, log3

UPRIGHT: Final = np.zeros(6)
HOME: Final = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
READY: Final = np.radians([45.0, 45.0, 90.0, 30.0, 50.0, 0.0])

_COLUMNS = ('position', 'velocity', 'position_reference', 'torque', 'torque_unsaturated')


class ClosedLoop:
    """A world and a controller, stepped together.

    Attributes:
        controller: The controller.
        world: The plant.
        model: The arm as the controller knows it.
        tool: Name of the link that acts.
        q: (nv,) position as measured at the last tick [rad or m].
        v: (nv,) velocity as measured at the last tick [rad/s or m/s].
    """

    def __init__(
        self,
        robot: str = DEFAULT_ROBOT,
        *,
        start: ArrayLike = UPRIGHT,
        plant: Plant | None = None,
        timestep: float = 1e-3,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        """Place the arm and take one step in the initial mode.

        Args:
            robot: A robot that ships with the package, with its parameters.
            start: (nv,) initial configuration [rad or m].
            plant: How the plant differs from its model.
            timestep: Control period [s].
            changes: Parameters of the controller that differ, by their full names with dots.
        """
        urdf, parameters = shipped(robot)
        self.model = model_of(urdf)
        config = ControllerConfig.from_parameters(replaced(parameters, changes or {}), self.model)
        self.controller = Controller(self.model, config)
        self.tool: str = parameters['end_effector_frame']
        self.world = World(
            urdf,
            joint_names=self.model.joint_names,
            end_effector_frame=self.tool,
            initial_configuration=start,
            plant=plant,
            timestep=timestep,
        )
        self.q, self.v, self._effort = np.zeros((3, self.model.nv))
        self.restart(start)

    @property
    def log(self) -> TimeSeries:
        """The ticks since the last call of `run`, `go` or `clear_log`, a row for each.

        Columns, each (n, nv): `position` and `velocity` of the plant, whatever its sensors tell,
        `position_reference` [rad or m, and per s], `torque` and, before the limits,
        `torque_unsaturated` [N m or N].
        """
        values = np.reshape(self._values, (-1, len(_COLUMNS), self.model.nv)).swapaxes(0, 1)
        return TimeSeries(np.array(self._times), dict(zip(_COLUMNS, values.copy(), strict=True)))

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
        """Whether the arm has run into the floor or into itself, of which no law knows."""
        return self.world.data.ncon > 0

    def restart(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Place the arm, moving or at rest, and take one step in the initial mode.

        Args:
            q: (nv,) [rad or m].
            v: (nv,) [rad/s or m/s]; by default the arm rests.
        """
        self.world.reset(q, v)
        self.world.read(self.q, self.v, self._effort)
        self.controller.restart(self.time, self.q, self.v)
        self.run(1)

    def step(self) -> None:
        """Let the controller answer the state, and the plant take one step."""
        self.world.read(self.q, self.v, self._effort)
        controller = self.controller
        time = self.time
        torque = controller.tick(time, self.q, self.v)
        reference = controller.position_reference
        self._times.append(time)
        self._values.append(
            np.concatenate(
                (
                    self.world.position,
                    self.world.velocity,
                    reference,
                    torque,
                    controller.torque_unsaturated,
                )
            )
        )
        self.world.step(torque)

    def clear_log(self) -> None:
        """Begin the log anew."""
        self._times: list[float] = []
        self._values: list[Array] = []

    def run(self, steps: int, before: Callable[[], object] | None = None) -> TimeSeries:
        """Take steps, and return their log.

        Args:
            steps: How many.
            before: Called before each.
        """
        self.clear_log()
        for _ in range(steps):
            if before is not None:
                before()
            self.step()
        return self.log

    def go(self, mode: str, seconds: float) -> TimeSeries:
        """Switch to a mode, run it, and return the log."""
        self.controller.select(mode)
        return self.run(self._steps(seconds))

    def tool_error(self, mode: str, seconds: float) -> tuple[float, float]:
        """Switch to a mode, run it, and return how far the tool was from its pose at most.

        Args:
            mode: The mode.
            seconds: How long.

        Returns:
            Distance [m] and angle [rad].
        """
        self.controller.select(mode)
        pairs = []
        for _ in range(self._steps(seconds)):
            self.step()
            pairs.append((self.placement, self.controller.reference_pose))
        tools, goals = zip(*pairs, strict=True)
        way = np.subtract([a.translation for a in tools], [b.translation for b in goals])
        turn = angle_between(*(np.array([a.rotation for a in poses]) for poses in (tools, goals)))
        return float(np.linalg.norm(way, axis=1).max()), float(turn.max())

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

        self.run(self._steps(seconds), push)
        self.world.clear_push(self.tool)
        end = self.placement
        turn = start.rotation @ log3(start.rotation.T @ end.rotation)
        return np.concatenate([end.translation - start.translation, turn])

    def _steps(self, seconds: float) -> int:
        return round(seconds * 1e9 / self.world.timestep_ns)


@cache
def model_of(urdf: Path) -> Model:
    """Return the model in a URDF, loaded once."""
    return load_urdf(urdf)


@cache
def shipped(robot: str) -> tuple[Path, dict[str, Any]]:
    """Return a robot's URDF and its controller's parameters; not to be changed."""
    arm = Robot.of(robot)
    parameters = arm.parameters(CONTROLLER)
    for name in ('model', 'whole_tree'):  # for the node alone
        parameters.pop(name, None)
    return find_model_file(arm.model), parameters
