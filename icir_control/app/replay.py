"""What the controller wanted at every tick: the recorded states, given to the same controller.

The controller's topics show its reference every 10 ms at most. It is deterministic, so the same
code with the same states goes through the same references and commands; that these are the ones
of the run is checked against the efforts that were applied and the poses that were published.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from icir_control.app.recording import Recording
from icir_control.control import Controller


@dataclass(frozen=True)
class Replay:
    """The controller's view of a run, a row for each recorded state.

    Attributes:
        mode: Name of the running mode.
        position_reference: (n, nv) [rad or m].
        velocity_reference: (n, nv) [rad/s or m/s].
        rotation: (n, 3, 3) of the end effector in the base frame.
        translation: (n, 3) of the same [m].
        rotation_reference: (n, 3, 3).
        translation_reference: (n, 3) [m].
        torque: (n, nv) after the limits [N m or N].
        torque_unsaturated: (n, nv) before them [N m or N].
    """

    mode: NDArray[np.str_]
    position_reference: NDArray[np.float64]
    velocity_reference: NDArray[np.float64]
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    rotation_reference: NDArray[np.float64]
    translation_reference: NDArray[np.float64]
    torque: NDArray[np.float64]
    torque_unsaturated: NDArray[np.float64]

    @classmethod
    def of(cls, recording: Recording, controller: Controller) -> Self:
        """Give every recorded state to a fresh controller, configured as in the run."""
        rows = []
        controller.restart(recording.time[0], recording.position[0], recording.velocity[0])
        for time, q, v in zip(recording.time, recording.position, recording.velocity, strict=True):
            torque = controller.tick(time, q, v).copy()
            current, reference = controller.current_pose, controller.reference_pose
            rows.append(
                (
                    controller.mode,
                    controller.position_reference.copy(),
                    controller.velocity_reference.copy(),
                    current.rotation,
                    current.translation,
                    reference.rotation,
                    reference.translation,
                    torque,
                    controller.torque_unsaturated.copy(),
                )
            )
        return cls(*map(np.array, zip(*rows, strict=True)))

    def command_difference(self, recording: Recording) -> float:
        """Return the greatest difference between a command and the effort applied for it [N m]."""
        return float(np.max(np.abs(self.torque[:-1] - recording.effort[1:])))

    def reference_difference(self, recording: Recording) -> float:
        """Return the greatest distance from a published reference position to ours [m].

        Not a number where none was published.
        """
        if not recording.told_reference:
            return float('nan')
        index = np.searchsorted(recording.time, list(recording.told_reference))
        told = np.array(list(recording.told_reference.values()))
        return float(np.max(np.linalg.norm(self.translation_reference[index] - told, axis=1)))
