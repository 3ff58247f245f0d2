"""Parameters of the controller as attributes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from icir_control.errors import UnknownNameError
from icir_control.robot.session import Session
from icir_control.robot.shown import table


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

    @contextmanager
    def changed(self, changes: Mapping[str, Any]) -> Iterator[None]:
        """Change parameters, by full name, for as long as the context lasts."""
        before = {name: self._session.value(name) for name in changes}
        self._session.update(changes)
        try:
            yield
        finally:
            self._session.update(before)

    def _known(self) -> dict[str, str]:
        return self._session.describe(self._prefix)
