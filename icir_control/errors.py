"""The package's errors: one base class, and messages that say what would have been valid."""

from collections.abc import Iterable


class IcirError(Exception):
    """Base class of every error that this package raises on purpose."""


class UnknownNameError(IcirError, LookupError):
    """A name that is not among the known ones."""

    def __init__(self, kind: str, name: object, valid: Iterable[str]) -> None:
        """State what was asked for and what could have been.

        Args:
            kind: What the name should name, such as `joint`.
            name: The name that was asked for.
            valid: The names that exist.
        """
        choices = ', '.join(valid) or '(none)'
        super().__init__(f'unknown {kind} {name!r}; valid: {choices}')


class InvalidValueError(IcirError, ValueError):
    """A value of the wrong type, shape, sign or size."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        """State the name, the value and what would be valid.

        Args:
            name: What the value is for.
            value: The value that was given.
            expected: What would be valid, in words.
        """
        super().__init__(f'{name} = {value!r} is not valid; expected {expected}')


class ModelError(IcirError):
    """A robot description that cannot be turned into a model."""


class ConfigurationError(IcirError):
    """A configuration (parameters, modes, laws) that cannot be run."""


class RefusedError(IcirError):
    """A request that is well formed but refused now; the message says why.

    Attributes:
        reason: For a program: `position_limit`, `out_of_reach`, `singularity`; empty for others.
    """

    def __init__(self, message: str, *, reason: str = '') -> None:
        """State why, for a user and for a program."""
        self.reason = reason
        super().__init__(message)


class LawError(RefusedError):
    """A law that failed: it raised, or gave what is no answer."""

    def __init__(self, law: str, reason: str) -> None:
        """State the law and how it failed.

        Args:
            law: Its module and class, as a configuration names it.
            reason: The method, and what came of it.
        """
        super().__init__(f'the law {law} failed in {reason}')


class SimulationError(IcirError):
    """The simulation could not be built, or left the region where it means something."""


class DivergenceError(SimulationError):
    """The simulated state left the finite; the simulation stands until it is reset.

    Attributes:
        joint: The joint at which it was noticed.
    """

    def __init__(self, joint: str, time_s: float, quantity: str) -> None:
        """State the joint, the time and the quantity that went astray.

        Args:
            joint: The joint at which it was noticed.
            time_s: Simulation time of the last good state [s].
            quantity: What became huge or not a number, in words.
        """
        self.joint = joint
        super().__init__(
            f'the simulation diverged at {time_s:.6g} s: {quantity} of joint {joint!r} is huge or '
            'not a number; a reset of the simulation starts it again'
        )


class ModelMismatchError(IcirError):
    """The dynamics model and the simulated one differ, although they come from one URDF.

    Attributes:
        quantity: What was compared.
        joint: The joint at which they differ most.
    """

    def __init__(self, quantity: str, joint: str, ours: float, theirs: float) -> None:
        """State the quantity, the joint and both values.

        Args:
            quantity: What was compared, in words.
            joint: The joint at which they differ most.
            ours: The value of the dynamics model.
            theirs: The value of the simulation.
        """
        self.quantity = quantity
        self.joint = joint
        super().__init__(
            f'the model and the simulation differ: {quantity} at joint {joint!r} is {ours:.9g} in'
            f' the dynamics model and {theirs:.9g} in MuJoCo; both must describe the same arm'
        )
