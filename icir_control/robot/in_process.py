"""The simulated arm and its controller in this process, without ROS."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.measurement import Array
from icir_control.control import Law, Tick, Waypoints
from icir_control.control.switching import Event
from icir_control.errors import InvalidValueError
from icir_control.nodes.bridge.config import check_model
from icir_control.parameter import checked
from icir_control.robot.log import Log
from icir_control.robot.session import LOOK, MotionError, broken_off
from icir_control.simulation import World
from icir_control.spatial import SE3

_log = logging.getLogger(__name__)

_WARM: set[frozenset[type[Law]]] = set()
"""The laws for which all that a tick may need has been compiled in this process."""


class InProcess:
    """A `Session` with the loop that the demo's promises are measured on.

    Attributes:
        loop: Controller and world.
    """

    words = 'in this process'

    def __init__(self, loop: ClosedLoop) -> None:
        """Compare the model with MuJoCo's, and compile what a tick may need.

        Raises:
            ModelMismatchError: They differ.
        """
        check_model(loop.model, loop.world)
        laws = frozenset(type(mode.law) for mode in loop.controller.config.modes.values())
        if laws not in _WARM:  # the machine code serves every arm
            loop.controller.warm_up()
            _WARM.add(laws)
        self.loop = loop
        self._chunk = max(loop.steps(LOOK), 1)
        self.look: Callable[[float | None], object] = lambda _: None
        self.arm = loop.controller.config.arm
        self.modes = loop.controller.mode_names
        self.pose_modes = loop.controller.config.modes_for('pose')
        self._spans = [(0.0, self.mode)]
        self._words = f'mode {self.mode}'
        self._event: Event | None = None  # the newest since a request; errors before others

    @property
    def time(self) -> float:
        """Of the newest state [s]."""
        return self.loop.time

    @property
    def mode(self) -> str:
        """The running mode."""
        return self.loop.controller.mode

    @property
    def state(self) -> tuple[Array, Array, Array]:
        """Newest q, v and torque, each (nv,)."""
        world = self.loop.world
        return world.position, world.velocity, self.loop.controller.torque.copy()

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the tool should have."""
        return self.loop.controller.reference_pose

    @property
    def world(self) -> World:
        """The plant."""
        return self.loop.world

    @property
    def log(self) -> Log:
        """What has happened so far."""
        return Log(self.loop.log, self._spans, self.arm, self.loop.arm)

    def select(self, mode: str) -> None:
        """Switch to a configured mode."""
        self.loop.controller.select(mode)
        self._note(f'mode {mode}')

    def set_target_pose(self, T_base_tool: SE3) -> None:
        """Send the running mode to a pose."""
        self.loop.controller.set_target_pose(T_base_tool)
        self._note('target pose')

    def follow(self, waypoints: Waypoints) -> None:
        """Go through waypoints."""
        self.loop.controller.follow(waypoints)
        self._note('trajectory')

    def run_law(self, law: type[Law], parameters: Mapping[str, Any]) -> None:
        """Run a law that is not configured."""
        name = law.__name__
        self.loop.controller.run_law(name, law(self.arm, **checked(law, parameters, self.arm.nv)))
        self._note(f'law {name}')

    def push(self, link: str, wrench: ArrayLike, seconds: float) -> None:
        """Hold a wrench (6,) at a link's origin, in its axes, and wait until it ends."""
        world = self.loop.world
        world.push(link, wrench)
        try:
            self.run(seconds)
        finally:
            world.clear_push(link)

    def finish(self, timeout: float) -> None:
        """Step until the motion of the last request has arrived."""
        loop, controller, mode = self.loop, self.loop.controller, self.mode
        end = loop.time + timeout
        self._advance(1)
        while controller.mode == mode and (left := controller.motion_left) > 0.0:
            if loop.time > end:
                why = f'it takes longer than {timeout:g} s'
                raise MotionError(
                    self._words, f'{why}; {self._event.text}' if self._event else why
                )
            self._advance(min(max(loop.steps(left), 1), self._chunk))
            self.look(controller.motion_left)
        if controller.mode != mode:
            if self._event is None:
                raise MotionError(self._words, f'mode {controller.mode} runs')
            raise MotionError(self._words, self._event.text) from self._event.error

    def run(self, seconds: float) -> None:
        """Let time pass."""
        left = self.loop.steps(seconds)
        while left > 0:
            count = min(self._chunk, left)
            self.step(count)
            left -= count
            self.look(left * self.loop.world.timestep_ns * 1e-9)

    def step(self, steps: int) -> None:
        """Let control periods pass."""
        if not isinstance(steps, int | np.integer) or steps < 0:
            expected = 'a whole number of control periods, 0 or more'
            raise InvalidValueError('steps', steps, expected)
        done = 0
        while done < steps:
            mode, count = self.mode, min(self._chunk, steps - done)
            self._advance(count)
            done += count
            self._check(mode)

    def describe(self, prefix: str) -> dict[str, str]:
        """Return what each parameter below a name means, with its unit, by full name."""
        return {
            name: f'[{one.unit}] {one.description}' if one.unit else one.description
            for name, one in self.loop.controller.config.parameters.items()
            if name.startswith(prefix)
        }

    def value(self, name: str) -> Any:
        """Return a parameter."""
        return self.loop.controller.config.value(name)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Change parameters, all or none."""
        mode = self.mode
        self.loop.controller.update(
            {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in changes.items()}
        )
        self._report()
        self._check(mode)

    def close(self) -> None:
        """Do nothing: no process was started."""

    def _advance(self, steps: int) -> None:
        """Let some control periods pass."""
        self.loop.step(steps)
        if self._spans[-1][1] != self.mode:
            self._spans.append((self.time, self.mode))
        self._report()

    def _check(self, mode: str) -> None:
        """Raise where a mode that ran has ended, and none runs instead."""
        if mode and not self.mode and self._event is not None:
            raise broken_off(mode, self._event.text) from self._event.error

    def _note(self, words: str) -> None:
        self._words, self._event = words, None
        self._spans.append((self.time, self.mode))
        self._report()

    def _report(self) -> None:
        """Log what the controller has to say."""
        for event in self.loop.controller.take_events():
            if self._event is None or event.level == 'error' or self._event.level != 'error':
                self._event = event
            _log.log(logging.INFO if event.level == 'info' else logging.WARNING, '%s', event.text)


def law_of(law: type[Law] | Callable[[Tick], ArrayLike]) -> type[Law]:
    """Return a class; a function becomes the acceleration of one."""
    if isinstance(law, type):
        if issubclass(law, Law):
            return law
    elif callable(law):

        def acceleration(self: Law, tick: Tick) -> ArrayLike:
            return law(tick)

        name = getattr(law, '__name__', type(law).__name__)  # an object has none of its own
        module = getattr(law, '__module__', None) or __name__
        about = {'__doc__': law.__doc__, '__module__': module}
        return type(name, (Law,), {'acceleration': acceleration, **about})
    raise InvalidValueError('law', law, 'a subclass of icir_control.control.Law, or a function')
