"""The law that runs: its numbers and machine code in the memory of a tick, gains on their way."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icir_control.compiled import JIT_DISABLED, machine_code, names_in
from icir_control.control.config import ControllerConfig
from icir_control.control.kernels.memory import TICK_LAYOUT
from icir_control.control.kernels.structs import COUNT, Layout
from icir_control.control.law import Law, Tick, guarded, layout_of, numbers_of
from icir_control.control.workspace import Workspace
from icir_control.dynamics.kernels.checked import LARGEST
from icir_control.errors import LawError

GAIN_TIME = 0.02
"""[s] In which a gain goes 63 % of the way to a new value, so that the torque does not jump."""


class RunningLaw:
    """A law on the memory of a tick, compiled or in Python.

    Attributes:
        law: What runs.
        is_compiled: Whether the compiled tick calls it; else `answer` does.
        ramps: Numbers that are on their way, each with its new value; the list stays the same.
    """

    def __init__(self, law: Law, workspace: Workspace) -> None:
        """Write to the memory of a workspace; `prepare` comes before the first tick."""
        self.law = law
        self.is_compiled = False
        self.ramps: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        self._memory, self._record = workspace.memory, workspace.tick
        self._tick = Tick(workspace.tick)
        self._struct: Any = None
        self._in_python: Callable[[], Any] = lambda: None

    def prepare(self, law: Law) -> None:
        """Make the struct of a law's numbers, and find or make its machine code."""
        acceleration = type(law).acceleration
        values = numbers_of(law) if _is_compiled(law) else {}
        layout = layout_of(law, values)
        self.law, self._struct = law, layout.new(law.arm.nv)
        self.is_compiled = _is_compiled(law) and not JIT_DISABLED
        if self.is_compiled:
            self._memory.law_code = _machine_code(type(law), layout)
            self._memory.law = self._struct.ctypes.data
        elif _is_compiled(law):
            struct = self._struct[0]
            self._in_python = lambda: acceleration(struct, self._tick)
        else:
            self._in_python = lambda: self.law.acceleration(self._tick)

    def needs(self, name: str) -> bool:
        """Return whether the law may read an attribute of the tick that takes time to find."""
        return not self.is_compiled or name in names_in(type(self.law).acceleration)

    def answer(self) -> NDArray[np.float64]:
        """Return the acceleration (nv,) that a law in Python asks for at the state of the tick.

        Raises:
            LawError: It failed, or gave something else.
        """
        with guarded(type(self.law), 'acceleration'):
            answer = self._in_python()
            ddq = np.asarray(answer, dtype=float)
        size = np.abs(ddq).sum() + np.abs(self._record.wrench).sum()
        if ddq.shape != self._memory.acceleration.shape or not size < LARGEST:
            self._refuse(None if answer is None else ddq)
        return ddq

    def refuse(self) -> None:
        """Say what a compiled law has answered that is no acceleration or no wrench.

        Raises:
            LawError: Always.
        """
        with guarded(type(self.law), 'acceleration'):
            self._refuse(np.asarray(type(self.law).acceleration(self._struct[0], self._tick)))

    def _refuse(self, answer: NDArray[np.float64] | None) -> None:
        kind, wrench = type(self.law), self._record.wrench
        returned = answer if answer is None else answer.tolist()
        words, expected = f'it returned {returned}', self.law.arm.nv
        if not np.abs(wrench).sum() < LARGEST:
            words, expected = f'it wrote tick.wrench = {wrench.tolist()}', len(wrench)
        raise LawError(
            f'{kind.__module__}:{kind.__qualname__}',
            f'acceleration: {words}; expected {expected} finite numbers, each below {LARGEST:g}',
        )

    def take_parameters(self, config: ControllerConfig, law: Law) -> None:
        """Take over what is new; gains, and the law's decimal numbers, are on their way then.

        Args:
            config: Parameters beside those of the law.
            law: What runs, with other parameters.
        """
        self.law = law
        memory, tick, values = self._memory, self._record, config.values
        w, least = memory.bandwidth, memory.bandwidth.min()
        memory.delay = values.predictor.delay_steps
        memory.observer_gain = values.observer.gain
        memory.joint_rate[:] = w * config.joint_rate
        memory.uncertain_delay = values.observer.uncertain_delay_steps
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
            (tick.joint_kp, w * w * joint_kp),
            (tick.joint_kd, w * joint_kd),
            (tick.task_kp, least * least * task_kp),
            (tick.task_kd, least * task_kd),
        ]
        for name, number in (numbers_of(law) if _is_compiled(law) else {}).items():
            field = self._struct[name]
            if field.dtype == float:
                goal = np.asarray(number, dtype=float)
                self.ramps.append((field[0] if field.ndim > 1 else field, goal))
            else:
                field[0] = number

    def advance(self) -> None:
        """Bring gains nearer to their new values, by a control period."""
        share = min(self._record.period / GAIN_TIME, 1.0)
        for value, goal in self.ramps:
            value += share * (goal - value)
        if all(np.allclose(value, goal, rtol=1e-12, atol=1e-12) for value, goal in self.ramps):
            self.finish()

    def finish(self) -> None:
        """Set gains to their new values at once."""
        for value, goal in self.ramps:
            value[...] = goal
        self.ramps.clear()


def _is_compiled(law: Law) -> bool:
    return getattr(type(law).acceleration, 'is_compiled', False)


def _machine_code(law: type[Law], layout: Layout) -> int:
    """Return the address of a law's acceleration.

    Raises:
        LawError: It cannot be compiled, or returns something else than a vector.
    """
    from icir_control.control.kernels.structs import ACCELERATION, StructType

    arguments = StructType(layout), StructType(TICK_LAYOUT)
    try:
        return machine_code(law.acceleration, *arguments, returns=ACCELERATION)
    except Exception as error:  # the compiler may raise anything for a user's text
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        why = ' '.join(lines[1:4] if len(lines) > 4 else lines[:3])
        fields = ', '.join(name for name in layout.fields if name != COUNT) or 'nothing'
        raise LawError(
            f'{law.__module__}:{law.__qualname__}',
            f'acceleration: {why}; a compiled one returns a contiguous vector of float64, and '
            f'sees {fields} of the law; without @compiled it runs in Python',
        ) from error
