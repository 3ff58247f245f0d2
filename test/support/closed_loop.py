"""The package's closed loop as tests like to write it: parameters are keywords."""

import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from icir_control.app import closed_loop
from icir_control.app.closed_loop import HOME, READY, UPRIGHT
from icir_control.app.measurement import angle_between
from icir_control.control import Controller, ControllerConfig, replaced
from icir_control.dynamics import Model, load_urdf
from icir_control.simulation import World

__all__ = [
    'HOME',
    'READY',
    'UPRIGHT',
    'ClosedLoop',
    'TwoUrdfs',
    'changed',
    'model_of',
    'parameters_of',
    'urdf_of',
    'with_load',
    'with_losses',
]


def urdf_of(robot: str = 'gen3_6dof') -> Path:
    return closed_loop.shipped(robot)[0]


@cache
def model_of(robot: str = 'gen3_6dof') -> Model:
    return load_urdf(urdf_of(robot))


def parameters_of(robot: str = 'gen3_6dof') -> dict[str, Any]:
    """The shipped configuration, without what only the node reads."""
    return deepcopy(closed_loop.shipped(robot)[1])


def changed(parameters: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Parameters with some replaced: `modes__home__duration=1.0` or a dotted name in a mapping."""
    return replaced(parameters, _dotted(changes))


class ClosedLoop(closed_loop.ClosedLoop):
    """One whose parameters are keywords: `modes__home__duration=1.0`."""

    def __init__(self, *, robot='gen3_6dof', start=UPRIGHT, plant=None, timestep=1e-3, **changes):
        super().__init__(
            robot, start=start, plant=plant, timestep=timestep, changes=_dotted(changes)
        )

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
        for _ in range(self.steps(seconds)):
            self.step()
            pairs.append((self.placement, self.controller.reference_pose))
        tools, goals = zip(*pairs, strict=True)
        way = np.subtract([a.translation for a in tools], [b.translation for b in goals])
        turn = angle_between(*(np.array([a.rotation for a in poses]) for poses in (tools, goals)))
        return float(np.linalg.norm(way, axis=1).max()), float(turn.max())


def _dotted(changes: dict[str, Any]) -> dict[str, Any]:
    return {name.replace('__', '.'): value for name, value in changes.items()}


def with_losses(losses: str) -> str:
    """The shipped URDF with losses in every joint, as `damping="2" friction="1"`."""
    return re.sub(r'(<limit effort)', rf'<dynamics {losses}/>\1', urdf_of().read_text())


def with_load(mass: float, offset: float) -> str:
    """The shipped URDF with a load [kg] at the tool, beside its axis [m]."""
    return (
        urdf_of()
        .read_text()
        .replace(
            '</robot>',
            f"""<link name="load"><inertial><mass value="{mass}"/>
        <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
        <joint name="load" type="fixed"><parent link="end_effector_link"/><child link="load"/>
        <origin xyz="{offset} 0 0"/></joint></robot>""",
        )
    )


class TwoUrdfs:
    """An arm that is built from one URDF, and a controller whose model is another."""

    def __init__(self, model: str, plant: str, start: np.ndarray, **changes: Any) -> None:
        self.model = load_urdf(model)
        self.world = World(
            plant,
            joint_names=self.model.joint_names,
            end_effector_frame='end_effector_link',
            initial_configuration=start,
        )
        parameters = changed(parameters_of(), **changes)
        config = ControllerConfig.from_parameters(parameters, self.model)
        self.controller = Controller(self.model, config)
        self.q, self.v, self.effort = np.zeros((3, self.model.nv))
        self.world.read(self.q, self.v, self.effort)
        self.controller.restart(0.0, self.q, self.v)

    @property
    def speed(self) -> float:
        """The greatest of the joints, as a share of their limits."""
        return float(np.abs(self.v / self.model.velocity_limit).max())

    def push(self, seconds: float) -> None:
        self.world.push('end_effector_link', [0.0, 3.0, 3.0, 0.0, 0.0, 0.0])
        self.go('', seconds)
        self.world.clear_push('end_effector_link')

    def go(self, mode: str, seconds: float) -> tuple[float, np.ndarray]:
        """Run a mode, or the one that runs; the greatest error of the joints, and all torques."""
        if mode:
            self.controller.select(mode)
        errors, torques = [], []
        for _ in range(round(seconds * 1000)):
            self.world.read(self.q, self.v, self.effort)
            torques.append(self.controller.tick(self.world.time_ns * 1e-9, self.q, self.v).copy())
            errors.append(np.abs(self.controller.tracking_error[0]).max())
            self.world.step(torques[-1])
        return max(errors), np.array(torques)
