"""Interface between `Robot` and a running arm, in this process or over ROS 2."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from numpy.typing import ArrayLike

from icir_control.app.html import table
from icir_control.app.measurement import Array
from icir_control.control import Arm, Law, Waypoints
from icir_control.errors import IcirError, UnknownNameError
from icir_control.robot.log import Log
from icir_control.simulation import World
from icir_control.spatial import SE3

LOOK = 0.05
"""[s] Of the arm, about, between two calls of `Session.look`."""


class MotionError(IcirError):
    """A motion that was accepted but did not arrive, or a mode that ended by itself.

    Attributes:
        motion: What was asked for, in words.
    """

    def __init__(self, motion: object, why: str, outcome: str = 'did not arrive') -> None:
        """State which motion, what became of it, and why."""
        self.motion = str(motion)
        super().__init__(f'{motion} {outcome}: {why}')


def broken_off(mode: str, why: str) -> MotionError:
    """Return the error of a mode that the watchdog or a failing law has ended."""
    return MotionError(f'mode {mode}', why, 'was broken off')


class Session(Protocol):
    """An arm with its controller. Requests raise `RefusedError`; times are the arm's own [s].

    What lets time pass raises a `MotionError`, once, where the mode that ran has been ended by the
    watchdog or because its law failed.

    Attributes:
        arm: Its model and its frames.
        words: Where it runs.
        modes: Names of the configured modes.
        pose_modes: Those that take target poses.
        look: Called every `LOOK` while time passes, with the seconds that are left of the motion,
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


class Parameters:
    """Parameters as attributes, below a common name: `parameters.joint_gains.kp`.

    Reading gives the present value; setting changes it in the running controller, or raises a
    `ConfigurationError` that says what would be valid. Printed, a group lists its parameters with
    value, unit and meaning.
    """

    def __init__(self, session: Session, prefix: str = '') -> None:
        """Look at the parameters whose full names begin with a prefix."""
        vars(self).update(_session=session, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        """Return a value, or a group."""
        full, known = self._prefix + name, self._known()
        if full in known:
            return self._session.value(full)
        if any(one.startswith(f'{full}.') for one in known):
            return Parameters(self._session, f'{full}.')
        raise AttributeError(str(UnknownNameError('parameter', full, known)))

    def __setattr__(self, name: str, value: Any) -> None:
        """Change a parameter."""
        self._session.update({self._prefix + name: value})

    def __dir__(self) -> list[str]:
        """Return the names that come next."""
        return sorted({one.removeprefix(self._prefix).split('.')[0] for one in self._known()})

    def __repr__(self) -> str:
        """Return a line for each parameter."""
        value = self._session.value
        return '\n'.join(f'{n} = {value(n)}  # {words}' for n, words in self._known().items())

    def _repr_html_(self) -> str:
        """Return a table with value and meaning of each parameter."""
        value = self._session.value
        return table(
            ('parameter', 'value', ''),
            [(n, value(n), words) for n, words in self._known().items()],
        )

    def change(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change parameters, by full name, and return what they were."""
        before = {name: self._session.value(name) for name in changes}
        self._session.update(changes)
        return before

    @contextmanager
    def changed(self, changes: Mapping[str, Any]) -> Iterator[None]:
        """Change parameters, by full name, for as long as the context lasts."""
        before = self.change(changes)
        try:
            yield
        finally:
            self._session.update(before)

    def _known(self) -> dict[str, str]:
        return self._session.describe(self._prefix)
