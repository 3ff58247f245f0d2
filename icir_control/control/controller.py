"""The controller: start, schedule, and the tick that turns a state into a torque."""

from collections.abc import Callable
from contextlib import suppress
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.compiled import reporting
from icir_control.control.config import ControllerConfig, Mode
from icir_control.control.engine import MUCH_SOFTER, SOFTER, SOFTER_BESIDE, Engine
from icir_control.control.kernels.contact import FREE
from icir_control.control.kernels.estimate import forget_doubtful
from icir_control.control.kernels.limits import FEW_TURNS
from icir_control.control.kernels.memory import (
    ALARMED,
    CONTACT_CHANGED,
    DONE,
    SHAKEN,
    TOO_FAST,
    TOO_LONG,
)
from icir_control.control.law import Plan
from icir_control.control.laws.joint import Hold
from icir_control.control.period import checked_time
from icir_control.control.switching import Event, Switching
from icir_control.dynamics import Model
from icir_control.errors import (
    BrakedError,
    ClearanceError,
    ConfigurationError,
    InvalidValueError,
    LawError,
    RefusedError,
)

OUT_OF_TORQUE = 0.1
"""[s] In saturation at an alarm, from which on the motors are its cause."""

SLOW_SHARE = 0.2
"""Of the velocity limits, below which a braked arm can be held."""

SLOW_TIME = 0.15
"""[s] For which it is slower, before it is held: what it was thrown against lets it go meanwhile,
and it has no speed left that a hold would have to lead into that."""

BRAKING_TIME = 1.0
"""[s] After which it is held below its limits: a weight that nobody knew keeps it moving."""

HELD_TIME = 2.0
"""[s] After a stop, in which another one tells that feedback itself moves the arm."""

_NOT_THE_MODEL = 'the arm may be lighter, less damped or later than its model'


class Controller(Switching):
    """Answers every state with a torque; knows nothing of ROS.

    The order of use: `warm_up` once, `restart` with the first state, then `tick` with every
    state, that one included; `select` and the targets between ticks. What came of the last tick
    is read as from any `Readout`.

    Attributes:
        braked_by: Why the watchdog has braked the arm last; None where it never has.
    """

    def __init__(self, model: Model, config: ControllerConfig) -> None:
        """Prepare the work space; nothing is compiled yet.

        Args:
            model: Of the arm.
            config: Made for that model.

        Raises:
            InvalidValueError: The configuration was made for another model.
        """
        if model.joint_names != config.arm.model.joint_names:
            expected = f'that of the configuration, with {", ".join(config.arm.model.joint_names)}'
            raise InvalidValueError('model', ', '.join(model.joint_names), expected)
        super().__init__(config)
        # Where the watchdog has stopped the arm, it is held there.
        self._stopped = Mode('', '', Hold(config.arm))
        self.braked_by: BrakedError | None = None
        self._euler_steps: int | None = None
        self._braking_until, self._slow_from, self._held_from = 0.0, 0.0, -np.inf
        self._await_entry(0)

    def __reduce_ex__(self, protocol: object) -> Any:
        """Refuse to be copied: both would run on one memory.

        Raises:
            RefusedError: Always; says what to do instead.
        """
        raise RefusedError(
            'a Controller cannot be copied or pickled; its config can: make another one by '
            'Controller(config.arm.model, config), and restart it'
        )

    def warm_up(
        self,
        progress: Callable[[int, int, str], None] | None = None,
        start_helper: Callable[[], None] | None = None,
    ) -> bool:
        """Compile everything that a tick or a switch may call, so that none of them waits.

        Args:
            progress: Told how much is done, of how much, and what comes next, before each part
                that has to be compiled; never where all lies on disk.
            start_helper: Called as soon as anything is missing: it may have the laws compiled by
                another process, in the order of the modes. Here they are taken from the last on.

        Returns:
            Whether anything had to be compiled.
        """
        model = self.config.arm.model
        q = np.clip(model.neutral(), model.lower_position_limit, model.upper_position_limit)
        modes = [self._resting, *reversed([*self.config.modes.values()])]
        missing: set[str] = set()
        for done, mode in enumerate(modes):
            part = f'mode {mode.name}' if mode.name else 'the control tick'

            def announce(_: str, done: int = done, part: str = part) -> None:
                if part not in missing:
                    if start_helper is not None and not missing:
                        start_helper()
                    missing.add(part)
                    if progress is not None:
                        progress(done, len(modes), part)

            with reporting(announce):
                scratch = Controller(model, self.config)
                scratch.restart(0.0, q, np.zeros(self._nv))
                scratch.tick(0.0, q, np.zeros(self._nv))
                # What somebody may ask for while the arm moves is compiled now, too.
                _ = scratch.tool_error.vector, scratch.reference_pose.quaternion
                scratch._engine.prepare(mode.law)
                start = scratch._engine.start()
                with suppress(RefusedError):
                    scratch._plan(mode, start)
        return bool(missing)

    def compile_laws(self) -> None:
        """Compile the laws of all modes, and what lets the joints follow a pose path."""
        for mode in self.config.modes.values():
            self._engine.prepare(mode.law)

    def restart(
        self, time: float, q: ArrayLike, v: ArrayLike, euler_steps: int | None = None
    ) -> None:
        """Begin anew from a measured state, in the initial mode.

        Schedule entries that are due before this time are skipped.

        Args:
            time: Simulation time [s].
            q: (nv,) measured position [rad or m].
            v: (nv,) measured velocity [rad/s or m/s].
            euler_steps: Steps of semi-implicit Euler that the plant takes in a control period; 0
                for a continuous plant, None where nobody says: then it is learnt.

        Raises:
            InvalidValueError: A time or a number of steps that is none, or a state that is no two
                vectors of nv finite numbers; nothing changes.
        """
        engine, time, euler_steps = self._engine, checked_time(time), _checked_steps(euler_steps)
        engine.begin(time, q, v, euler_steps)
        self._euler_steps = euler_steps
        self._started, self._braking, self._held_from = True, False, -np.inf
        self._await_entry(sum(entry.time < time for entry in self.config.schedule))
        start = engine.start(measured=True)
        initial = self.config.modes[self.config.initial_mode]
        self._report_clearance()
        try:
            self._enter(initial, start, self._plan(initial, start))
        except RefusedError as error:
            text = f'{initial.name} cannot start: {error}'
            self._events.append(Event('error', text, initial.name, error))
            self._enter(self._resting, start, Plan())

    def tick(self, time: float, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
        """Return the torque for a measured state.

        A time that goes back, or is more than `period.LONGEST_GAP` after the last one, is a new
        start, and an event says so. A state less than `period.EARLY_SHARE` of a period after the
        last one is that one again: the answer is the same.

        Args:
            time: Simulation time [s].
            q: (nv,) [rad or m].
            v: (nv,) [rad/s or m/s].

        Returns:
            (nv,) within the effort limits [N m or N]; the array is used again.

        Raises:
            InvalidValueError: A time that is none, or a state that is no two vectors of nv finite
                numbers; it counts as lost.
            RefusedError: There was no `restart` yet.
        """
        if not self._started:
            raise RefusedError('there is nothing to go on from; restart first', reason='no_state')
        engine, time = self._engine, float(time)  # numpy's numbers compute slowly
        if not engine.measure(time, q, v):
            if engine.repeats(time):
                return self.torque
            self._begin_anew(time, q, v)
        if engine.has_new_period and engine.is_period_sure:
            self._check_gains()
        if time >= self._entry_due:
            engine.observe_and_predict()
            self._run_schedule(time)
        try:
            outcome = engine.tick()
        except LawError as error:
            self._give_up(error)
            outcome = engine.tick()
        if outcome != DONE:
            self._react(outcome, time)
        return self.torque

    def _begin_anew(self, time: float, q: ArrayLike, v: ArrayLike) -> None:
        """Begin with a state that does not go on from the last one, and say why."""
        gap = time - self._engine.time
        why = f'{gap:.3g} s without a state' if gap > 0.0 else 'time went back'
        self.restart(time, q, v, self._euler_steps)
        words = f'new start at {time:.3f} s ({why}), in mode {self.mode}'
        self._events.append(Event('warning', words, self.mode))

    def _react(self, outcome: int, time: float) -> None:
        """Do what has to be done after a tick with an outcome other than `DONE`, at a time [s]."""
        if outcome == ALARMED:
            self._brake(time)
        elif outcome == SHAKEN:
            self._soften()
        elif outcome == CONTACT_CHANGED:
            self._report_contact()

    def _check_gains(self) -> None:
        """Leave a mode whose gains are unstable at the control period that is now known."""
        self._engine.has_new_period = False
        try:
            self.config.check_stability(self._engine.period)
        except ConfigurationError as error:
            words = f'mode {self.mode} has ended, the arm is only held up: {error}'
            self._events.append(Event('error', words, self.mode, error))
            self._rest()

    def _report_clearance(self) -> None:
        """Say where links are too near each other from the start on."""
        try:
            self.config.arm.check_clearance_at(self._engine.q)
        except ClearanceError as error:
            words = f'{error}: the arm starts within its clearance, and may only leave it'
            self._events.append(Event('error', words, '', error))

    def _report_contact(self) -> None:
        """Say that the arm touches something, or no more."""
        touch = _contact_in_words(self._engine)
        words = f'contact: {touch}; the path waits' if touch else 'no contact; the path goes on'
        level = 'warning' if touch else 'info'
        self._events.append(Event(level, f'{self.mode or "held"}: {words}', self.mode))

    def _soften(self) -> None:
        """Give feedback less bandwidth, most where a joint shakes, and go on."""
        engine, before = self._engine, self.bandwidth
        shares = np.full(engine.arm.nv, SOFTER_BESIDE)
        i = int(abs(engine.memory.shaking_side)) - 1
        shares[i] = SOFTER
        engine.reduce_bandwidth(shares)
        if self.bandwidth == before:
            return
        engine.take_parameters(self._mode.law)
        joint = engine.arm.model.joint_names[i]
        words = (
            f'{self.mode or "held"}: joint {joint} oscillates; {self._softer}: {_NOT_THE_MODEL}'
        )
        self._events.append(Event('warning', words, self.mode))

    @property
    def _softer(self) -> str:
        return f'feedback bandwidth is reduced to {self.bandwidth:.0%} until the next start'

    def _brake(self, time: float) -> None:
        """Say once why the arm is braked; hold it as soon as it is slow.

        An arm that cannot be held then is lighter, less damped or later than its model, so that
        feedback shakes it: it is made softer, and a little where it shakes at the alarm already.
        """
        engine = self._engine
        if not self._braking:
            self.braked_by = error = _alarm_of(engine, self.mode)
            words = str(error)
            shakes = not engine.is_slower_than(SLOW_SHARE)  # or it presses against something
            if shakes and time < self._held_from + HELD_TIME:
                engine.forget_motion()
                engine.reduce_bandwidth(MUCH_SOFTER)
                cause = _NOT_THE_MODEL
                if engine.memory.time_saturated > OUT_OF_TORQUE:
                    cause = 'the motors were out of torque'
                words += f'; {self._softer}: {cause}'
            elif engine.memory.tracks and engine.memory.shaking_turns >= FEW_TURNS:
                engine.reduce_bandwidth(SOFTER)
                words += f'; {self._softer}: {_NOT_THE_MODEL}'
            self._events.append(Event('error', words, self.mode, error))
            self._mode, self._braking = self._stopped, True
            self._braking_until = time + BRAKING_TIME
            self._slow_from = time
            engine.begin_braking()
            forget_doubtful(engine.memory)
        elif not engine.is_slower_than(self._held_share(time)):
            self._slow_from = time
        elif time > self._slow_from + SLOW_TIME:
            self._braking, self._held_from = False, time
            engine.clear_alarm()
            start = engine.start(measured=True)
            self._enter(self._stopped, start, self._plan(self._stopped, start))
            engine.memory.gives_in = 1

    def _held_share(self, time: float) -> float:
        """Return the share of the velocity limits below which a braked arm is held."""
        if time < self._braking_until:
            return SLOW_SHARE
        return min(self.config.values.watchdog.speed or 1.0, 1.0)

    def _run_schedule(self, time: float) -> None:
        """Switch as the schedule says, up to a time [s]."""
        while self._entry_due <= time:
            name = self.config.schedule[self._next_entry].mode
            self._await_entry(self._next_entry + 1)
            try:
                self.select(name)
            except RefusedError as error:
                text = f'scheduled mode {name} refused: {error}'
                self._events.append(Event('error', text, name, error))

    def _await_entry(self, index: int) -> None:
        """Let an entry of the schedule, if there is one, be the next."""
        schedule = self.config.schedule
        self._next_entry = index
        self._entry_due = schedule[index].time if index < len(schedule) else np.inf


def _checked_steps(value: Any) -> int | None:
    """Return a number of steps of the plant, as `Controller.restart` takes it."""
    try:
        steps = None if value is None else index(value)
    except TypeError:
        steps = -1
    if steps is not None and steps < 0:
        raise InvalidValueError('euler_steps', value, 'a number of steps, or None')
    return steps


def _alarm_of(engine: Engine, mode: str) -> BrakedError:
    """Return what raised the alarm.

    Args:
        engine: Whose alarm.
        mode: That ran.
    """
    memory, model = engine.memory, engine.arm.model
    if memory.alarm == TOO_LONG:
        time = float(memory.saturation_time)
        why = f'the torque was beyond its limits for more than {time:g} s'
        return BrakedError(mode, why, reason='saturation', upper=time)
    if memory.alarm == TOO_FAST:
        reason, values = 'speed', np.abs(engine.v)
        bounds = memory.largest_speed * model.velocity_limit
        bound = f'{memory.largest_speed:g} times its velocity limit'
    else:
        reason, values = 'tracking_error', np.abs(engine.tick_record.position_reference - engine.q)
        bounds = np.full(len(values), memory.largest_error)
        bound = f'{memory.largest_error:g} rad or m away from its reference'
    i = int(np.argmax(values / bounds))
    joint = model.joint_names[i]
    return BrakedError(
        mode,
        f'joint {joint} was beyond {bound}',
        reason=reason,
        joint=joint,
        value=float(values[i]),
        upper=float(bounds[i]),
    )


def _contact_in_words(engine: Engine) -> str:
    """Return what the arm touches; nothing where it moves freely."""
    memory = engine.memory
    if memory.contact == FREE:
        return ''
    torque = memory.residual - memory.residual_mean
    i = int(np.argmax(np.abs(torque)))
    unit = 'N' if engine.arm.translates[i] else 'N m'
    return f'the residual of {engine.arm.model.joint_names[i]} is {torque[i]:.3g} {unit}'
