"""The parameters of what runs, in the memory of a tick."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from icir_control.control.config import ControllerConfig
from icir_control.control.law import Law, numbers_of
from icir_control.control.workspace import Workspace

GAIN_TIME = 0.02
"""[s] In which a gain goes 63 % of the way to a new value, so that the torque does not jump."""


class RunningParameters:
    """Writes parameters to the memory of a tick; gains go to new values little by little.

    Attributes:
        ramps: Numbers that are on their way, each with its new value; the list stays the same.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Write to the memory of a workspace."""
        self._memory, self._tick = workspace.memory, workspace.tick
        self.ramps: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []

    def take(self, config: ControllerConfig, law: Law, struct: Any) -> None:
        """Take over what is new; gains, and the law's decimal numbers, are on their way then.

        Args:
            config: Parameters beside those of the law.
            law: What runs.
            struct: Array of one, the struct of a compiled law's numbers.
        """
        memory, tick, values = self._memory, self._tick, config.values
        memory.delay = values.predictor.delay_steps
        memory.observer_gain = values.observer.gain
        memory.observer_rate[:] = config.observer_rate
        memory.uncertain_inertia[:] = config.uncertain_inertia
        memory.torque_rate_limit[:] = config.torque_rate_limit
        memory.speed_scale = values.speed_scale
        memory.position_margin[:] = config.position_margin
        memory.contact_torque = values.contact.torque
        memory.largest_friction = values.contact.friction
        watchdog = values.watchdog
        memory.largest_speed, memory.largest_error = watchdog.speed, watchdog.error
        memory.beyond_time, memory.saturation_time = watchdog.time, watchdog.saturation_time
        joint_kp, joint_kd = config.joint_gains
        task_kp, task_kd = config.task_gains
        self.ramps[:] = [
            (tick.joint_kp, joint_kp),
            (tick.joint_kd, joint_kd),
            (tick.task_kp, task_kp),
            (tick.task_kd, task_kd),
        ]
        if getattr(type(law).acceleration, 'is_compiled', False):
            for name, number in numbers_of(law).items():
                field = struct[name]
                if field.dtype == float:
                    goal = np.asarray(number, dtype=float)
                    self.ramps.append((field[0] if field.ndim > 1 else field, goal))
                else:
                    field[0] = number

    def advance(self) -> None:
        """Bring gains nearer to their new values, by a control period."""
        share = min(self._tick.period / GAIN_TIME, 1.0)
        for value, goal in self.ramps:
            value += share * (goal - value)
        if all(np.allclose(value, goal, rtol=1e-12, atol=1e-12) for value, goal in self.ramps):
            self.finish()

    def finish(self) -> None:
        """Set gains to their new values at once."""
        for value, goal in self.ramps:
            value[...] = goal
        self.ramps.clear()
