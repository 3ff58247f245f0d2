"""What a law is: figures that a user sets, a plan for its reference, a desired acceleration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.figure import Figure
from icir_control.control.kernels.record import CUSTOM
from icir_control.errors import RefusedError
from icir_control.spatial import SE3, Motion
from icir_control.trajectory import JointTrajectory, SE3Trajectory


@dataclass(frozen=True)
class Start:
    """Where a law takes over.

    Attributes:
        time: [s].
        q: (nv,) position: of the present reference, or measured.
        v: (nv,) velocity of the same.
        pose: T_world_tool, of the present reference where it is a pose, else at q.
        twist: LOCAL twist of the same.
        period: Between two ticks [s].
    """

    time: float
    q: NDArray[np.float64]
    v: NDArray[np.float64]
    pose: SE3
    twist: Motion
    period: float


@dataclass(frozen=True)
class Plan:
    """What a law intends.

    Attributes:
        path: What its reference follows; None where it has none.
        note: What the user should know, such as a motion that was lengthened; empty for nothing.
    """

    path: JointTrajectory | SE3Trajectory | None = None
    note: str = ''


@dataclass(frozen=True)
class Tick:
    """What a law in Python sees at a tick; arrays are views, valid until the next tick.

    Attributes:
        time: [s].
        q: (nv,) [rad or m].
        v: (nv,) [rad/s or m/s].
        M: (nv, nv) inertia matrix.
        nle: (nv,) bias torque [N m or N].
        pose: (4, 3) of the end effector in the world, rows 0-2 rotation, row 3 position [m].
        jacobian: (6, nv) of the end effector, LOCAL, linear rows first.
        drift: (6,) its classical acceleration at ddq = 0, LOCAL.
        position_reference: (nv,) where the law's plan is a joint path.
        velocity_reference: (nv,) of the same.
        acceleration_reference: (nv,) of the same.
        pose_reference: (4, 3) where the law's plan is a pose path.
        twist_reference: (6,) of the same, LOCAL.
        frame_acceleration_reference: (6,) of the same, classical, LOCAL.
    """

    time: float
    q: NDArray[np.float64]
    v: NDArray[np.float64]
    M: NDArray[np.float64]
    nle: NDArray[np.float64]
    pose: NDArray[np.float64]
    jacobian: NDArray[np.float64]
    drift: NDArray[np.float64]
    position_reference: NDArray[np.float64]
    velocity_reference: NDArray[np.float64]
    acceleration_reference: NDArray[np.float64]
    pose_reference: NDArray[np.float64]
    twist_reference: NDArray[np.float64]
    frame_acceleration_reference: NDArray[np.float64]


class Law:
    """Base of all laws: those of the package are compiled, a user's may be Python.

    A subclass names its figures, checks them, plans where its reference goes when the mode is
    entered, and either writes its figures into the record for the kernel named by `CODE`, or
    overrides `acceleration`.

    Attributes:
        FIGURES: What a mode of this law can set.
        CODE: Its kernel; CUSTOM for a law in Python.
        TRACKS: Whether the arm is held to the reference, so that the next law starts from it.
        FOLLOWS: What the path of its plan is: `nothing`, `joints` or `pose`.
        METRICS: What is worth measuring of it; names of `icir_control.app.demo.metrics`.
    """

    FIGURES: ClassVar[tuple[Figure, ...]] = ()
    CODE: ClassVar[int] = CUSTOM
    TRACKS: ClassVar[bool] = False
    FOLLOWS: ClassVar[str] = 'nothing'
    METRICS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, arm: Arm, figures: Mapping[str, Any]) -> None:
        """Keep the arm and the checked values of the figures; arrays are (n,) float64.

        Raises:
            ConfigurationError: Figures that are each valid but not together, or not on this arm.
        """
        self.arm = arm
        self.figures = dict(figures)

    def plan(self, start: Start) -> Plan:
        """Return where the reference goes from a start.

        Raises:
            RefusedError: The law cannot run from there; the message is the reason.
        """
        del start
        return Plan()

    def plan_joints(self, start: Start, goal: NDArray[np.float64]) -> Plan:
        """Return how the reference goes to a joint goal given while the law runs.

        Raises:
            RefusedError: The law has no joint goal, or not this one.
        """
        del start, goal
        raise RefusedError('the running mode takes no joint target; a mode of law joint does')

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Return how the reference goes to a pose (T_world_tool) given while the law runs.

        Raises:
            RefusedError: The law has no pose as its goal, or cannot reach this one.
        """
        del start, goal
        raise RefusedError(
            'the running mode takes no target pose; modes of law task and impedance do'
        )

    def write(self, record: np.record) -> None:
        """Write the figures into the record, for the kernel; a law in Python has no need to."""
        del record

    def acceleration(self, tick: Tick) -> NDArray[np.float64]:
        """Return the desired joint acceleration (nv,); called for laws with CODE == CUSTOM alone.

        The torque is M ddq + nle. Without an override the arm is held up and left alone.
        """
        return np.zeros(len(tick.q))
