"""The controller on the simulated arm in one process: a tick, a step, a tick, without ROS."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.app.robot import DEFAULT_ROBOT, Robot
from icir_control.app.session import CONTROLLER
from icir_control.control import Controller, ControllerConfig, replaced
from icir_control.dynamics import Model, load_urdf
from icir_control.nodes.model_file import find_model_file
from icir_control.simulation import Plant, World
from icir_control.spatial import SE3, log3

UPRIGHT: Final = np.zeros(6)
HOME: Final = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
READY: Final = np.radians([45.0, 45.0, 90.0, 30.0, 50.0, 0.0])


@dataclass(frozen=True)
class Trace:
    """What happened at each tick of a run: one list for each quantity, a row for each tick.

    Attributes:
        time: Simulation time [s].
        q: (nv,) position of the plant [rad or m].
        v: (nv,) its velocity [rad/s or m/s].
        q_reference: (nv,) where the controller wanted it [rad or m].
        torque_unsaturated: (nv,) torque before the limits [N m or N].
    """

    time: list[float] = field(default_factory=list)
    q: list[NDArray[np.float64]] = field(default_factory=list)
    v: list[NDArray[np.float64]] = field(default_factory=list)
    q_reference: list[NDArray[np.float64]] = field(default_factory=list)
    torque_unsaturated: list[NDArray[np.float64]] = field(default_factory=list)

    def array(self, name: str) -> NDArray[np.float64]:
        """Return one quantity as an array, (ticks,) or (ticks, nv)."""
        return np.array(getattr(self, name))

    def joint_error(self, late: int = 0) -> float:
        """Return how far a joint was from its reference at most [rad or m].

        Args:
            late: Ticks by which the plant comes after its reference.
        """
        q, goal = self.array('q'), self.array('q_reference')
        return float(np.abs(q[late:] - goal[: len(goal) - late]).max())


class ClosedLoop:
    """A world and a controller, stepped together.

    Attributes:
        controller: The controller.
        world: The plant.
        model: The arm as the controller knows it.
        tool: Name of the link that acts.
        q: (nv,) position at the last tick [rad or m].
        v: (nv,) velocity at the last tick [rad/s or m/s].
        trace: What happened since the last call of `run` or `go`.
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
    def time(self) -> float:
        """Simulation time [s]."""
        return self.world.time_ns * 1e-9

    @property
    def placement(self) -> SE3:
        """T_world_tool of the plant at the last tick."""
        return self.controller.config.arm.placement(self.q)

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
        controller, trace = self.controller, self.trace
        torque = controller.tick(self.time, self.q, self.v)
        trace.time.append(self.time)
        trace.q.append(self.q.copy())
        trace.v.append(self.v.copy())
        trace.q_reference.append(controller.position_reference.copy())
        trace.torque_unsaturated.append(controller.torque_unsaturated.copy())
        self.world.step(torque)

    def run(self, steps: int, before: Callable[[], object] | None = None) -> Trace:
        """Take steps, and return what happened in them.

        Args:
            steps: How many.
            before: Called before each.
        """
        self.trace = Trace()
        for _ in range(steps):
            if before is not None:
                before()
            self.step()
        return self.trace

    def go(self, mode: str, seconds: float) -> Trace:
        """Switch to a mode, run it, and return what happened."""
        self.controller.select(mode)
        return self.run(self._steps(seconds))

    def tool_error(self, mode: str, seconds: float, late: int = 0) -> tuple[float, float]:
        """Switch to a mode, run it, and return how far the tool was from its pose at most.

        Args:
            mode: The mode.
            seconds: How long.
            late: Ticks by which the plant comes after its reference.

        Returns:
            Distance [m] and angle [rad].
        """
        self.controller.select(mode)
        tool, goal = [], []
        for _ in range(self._steps(seconds)):
            self.step()
            tool.append(self.placement)
            goal.append(self.controller.reference_pose)
        pairs = list(zip(tool[late:], goal, strict=False))
        distances = [np.linalg.norm(a.translation - b.translation) for a, b in pairs]
        angles = [np.linalg.norm(a.rotation - b.rotation) / np.sqrt(2.0) for a, b in pairs]
        return float(np.max(distances)), float(np.max(angles))

    def pushed(self, wrench: ArrayLike, seconds: float) -> NDArray[np.float64]:
        """Push the tool, let go, and return how it moved under the push.

        Args:
            wrench: (6,) force and moment in axes of the world [N, N m].
            seconds: How long.

        Returns:
            (6,) way and rotation vector in axes of the world [m, rad].
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
    """Return a robot's URDF and its controller's parameters, which nobody changes."""
    arm = Robot.of(robot)
    parameters = arm.parameters(CONTROLLER)
    parameters.pop('model', None)
    return find_model_file(arm.model), parameters
