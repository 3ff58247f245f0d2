"""What a `Robot` needs of the arm behind it, whether that is in this process or over ROS 2."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from numpy.typing import ArrayLike

from icir_control.app.measurement import Array
from icir_control.control import Arm, Law, Waypoints
from icir_control.errors import IcirError
from icir_control.robot.log import Log
from icir_control.simulation import World
from icir_control.spatial import SE3


class MotionError(IcirError):
    """A motion that was accepted but did not arrive.

    Attributes:
        motion: What was asked for, in words.
    """

    def __init__(self, motion: str, why: str) -> None:
        """State which motion, and why."""
        self.motion = motion
        super().__init__(f'{motion} did not arrive: {why}')


class Session(Protocol):
    """An arm with its controller. Requests raise `RefusedError`; times are the arm's own [s].

    Attributes:
        arm: Its model and its frames.
        words: Where it runs.
        modes: Names of the configured modes.
        pose_modes: Those that take target poses.
        look: Called now and then while time passes, with the seconds that are left of the motion,
            None where they are not known.
    """

    arm: Arm
    words: str
    modes: tuple[str, ...]
    pose_modes: tuple[str, ...]
    look: Callable[[float | None], object]

    @property
    def time(self) -> float:
        """Of the newest state [s]."""

    @property
    def mode(self) -> str:
        """The running mode."""

    @property
    def state(self) -> tuple[Array, Array, Array]:
        """Newest q, v and torque, each (nv,)."""

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the tool should have."""

    @property
    def world(self) -> World:
        """The arm as MuJoCo draws it; over ROS 2 its state is not the arm's."""

    @property
    def log(self) -> Log:
        """What has happened so far."""

    def select(self, mode: str) -> None:
        """Switch to a configured mode."""

    def set_target_pose(self, T_base_tool: SE3) -> None:
        """Send the running mode to a pose."""

    def follow(self, waypoints: Waypoints) -> None:
        """Go through waypoints."""

    def run_law(self, law: type[Law], parameters: Mapping[str, Any]) -> None:
        """Run a law that is not configured."""

    def push(self, link: str, wrench: ArrayLike, seconds: float) -> None:
        """Hold a wrench (6,) at a link's origin, in its axes, and wait until it ends."""

    def finish(self, timeout: float) -> None:
        """Wait until the motion of the last request has arrived.

        Raises:
            MotionError: It has not, and will not.
        """

    def run(self, seconds: float) -> None:
        """Let time pass."""

    def step(self, steps: int) -> None:
        """Let control periods pass, where they can be counted."""

    def describe(self, prefix: str) -> dict[str, str]:
        """Return what each parameter below a name means, with its unit, by full name."""

    def value(self, name: str) -> Any:
        """Return a parameter."""

    def update(self, changes: Mapping[str, Any]) -> None:
        """Change parameters, all or none."""

    def close(self) -> None:
        """End what was started."""
