"""The schedule: which mode starts at which simulation time, for runs that repeat."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

import numpy as np

from icir_control.errors import ConfigurationError


@dataclass(frozen=True, order=True)
class Entry:
    """One line of the schedule.

    Attributes:
        time: Simulation time [s].
        mode: Name of the mode.
    """

    time: float
    mode: str


def read_schedule(lines: Iterable[str], modes: Container[str]) -> tuple[Entry, ...]:
    """Read lines such as `2.0 home`, in any order.

    Args:
        lines: Simulation time [s] and mode, with a space between.
        modes: The names that there are.

    Returns:
        The entries by time.

    Raises:
        ConfigurationError: A line that is not a time and a mode.
    """
    entries = [_read_entry(line, modes) for line in lines]
    return tuple(sorted(entries, key=lambda entry: entry.time))


def _read_entry(line: str, modes: Container[str]) -> Entry:
    expected = 'expected a simulation time [s], at least 0, and a mode, such as "2.0 home"'
    words = line.split()
    try:
        time, mode = float(words[0]), words[1]
    except (ValueError, IndexError):
        raise ConfigurationError(f'schedule has {line!r}; {expected}') from None
    if len(words) != 2 or not (np.isfinite(time) and time >= 0.0):
        raise ConfigurationError(f'schedule has {line!r}; {expected}')
    if mode not in modes:
        raise ConfigurationError(f'schedule has {line!r}, but there is no mode {mode!r}')
    return Entry(time, mode)
