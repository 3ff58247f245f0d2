"""The controller on the MuJoCo plant in one process: the figures of a law without transport."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from icir_control.control import Controller, ControllerConfig, replaced
from icir_control.dynamics import load_urdf
from icir_control.share import share_directory
from icir_control.simulation import Plant, World

UPRIGHT = np.zeros(6)
HOME = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
READY = np.radians([45.0, 45.0, 90.0, 30.0, 50.0, 0.0])


def urdf_of(robot: str = 'gen3_6dof') -> Path:
    return share_directory() / 'urdf' / f'{robot}.urdf'


@cache
def model_of(robot: str = 'gen3_6dof'):
    return load_urdf(urdf_of(robot))


def parameters_of(robot: str = 'gen3_6dof') -> dict[str, Any]:
    """The shipped configuration, without what only the node reads."""
    file = share_directory() / 'config' / f'{robot}.yaml'
    parameters = yaml.safe_load(file.read_text())['/**/controller']['ros__parameters']
    parameters.pop('model')
    return parameters


def changed(parameters: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Parameters with some replaced: `modes__home__duration=1.0` or a dotted name in a mapping."""
    return replaced(parameters, {name.replace('__', '.'): changes[name] for name in changes})


@dataclass
class Recording:
    """What happened at every tick: each list becomes an array by `array`."""

    time: list[float] = field(default_factory=list)
    q: list[np.ndarray] = field(default_factory=list)
    v: list[np.ndarray] = field(default_factory=list)
    q_reference: list[np.ndarray] = field(default_factory=list)
    torque_unsaturated: list[np.ndarray] = field(default_factory=list)

    def array(self, name: str) -> np.ndarray:
        return np.array(getattr(self, name))


class ClosedLoop:
    """One world, one controller, stepped together."""

    def __init__(
        self,
        *,
        robot: str = 'gen3_6dof',
        start: np.ndarray = UPRIGHT,
        plant: Plant | None = None,
        timestep: float = 1e-3,
        **changes: Any,
    ) -> None:
        self.model = model_of(robot)
        config = ControllerConfig.from_parameters(
            changed(parameters_of(robot), **changes), self.model
        )
        self.controller = Controller(self.model, config)
        self.world = World(
            urdf_of(robot),
            joint_names=self.model.joint_names,
            end_effector_frame='end_effector_link',
            initial_configuration=start,
            plant=plant,
            timestep=timestep,
        )
        nv = self.model.nv
        self.q, self.v, self.effort = np.zeros(nv), np.zeros(nv), np.zeros(nv)
        self.world.read(self.q, self.v, self.effort)
        self.controller.restart(self.time, self.q, self.v)
        self.recording = Recording()
        self.run(1)

    @property
    def time(self) -> float:
        return self.world.time_ns * 1e-9

    @property
    def placement(self):
        """T_world_tool of the plant."""
        return self.controller.config.arm.placement(self.q)

    def step(self) -> None:
        self.world.read(self.q, self.v, self.effort)
        torque = self.controller.tick(self.time, self.q, self.v)
        record = self.recording
        record.time.append(self.time)
        record.q.append(self.q.copy())
        record.v.append(self.v.copy())
        record.q_reference.append(self.controller.position_reference.copy())
        record.torque_unsaturated.append(self.controller.torque_unsaturated.copy())
        self.world.step(torque)

    def run(self, steps: int, each: Callable[[int], None] | None = None) -> Recording:
        """Take steps; the recording is of these alone."""
        self.recording = Recording()
        for k in range(steps):
            if each is not None:
                each(k)
            self.step()
        return self.recording

    def go(self, mode: str, seconds: float) -> Recording:
        """Switch to a mode and run it."""
        self.controller.select(mode)
        return self.run(round(seconds / (self.world.timestep_ns * 1e-9)))
