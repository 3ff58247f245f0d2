"""The package's errors: one base class, and messages that say what would have been valid."""

import math
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
    """A request that is well formed but refused now.

    Attributes:
        reason: Why, in one word: `unknown_mode`, `no_state`, `no_target`, `position_limit`,
            `singularity`, `out_of_reach`, `law_failed`, `invalid_joints`, `invalid_trajectory`,
            `old_trajectory`, `velocity_limit`, `effort_limit`, `clearance`, `braking`, `gains`,
            or `refused`.
        joint: The joint that is the cause; empty where it is none.
        value: What was found: a position [rad or m], a singular value, a distance [m, rad].
        lower: Least valid value.
        upper: Greatest valid value.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = 'refused',
        joint: str = '',
        value: float = math.nan,
        lower: float = -math.inf,
        upper: float = math.inf,
    ) -> None:
        """State why, in a sentence and as data; see the attributes."""
        super().__init__(message)
        self.reason = reason
        self.joint = joint
        self.value = value
        self.lower = lower
        self.upper = upper


class PositionLimitError(RefusedError):
    """A goal, or a path, outside the position limits of a joint."""

    def __init__(
        self, what: str, joint: str, value: float, lower: float, upper: float, unit: str
    ) -> None:
        """State what leaves the limits, where it would be, and the limits [rad or m].

        Args:
            what: Such as `the goal`, or `the path, 40% of the way,`.
            joint: The joint.
            value: Its position there.
            lower: Its lower limit.
            upper: Its upper limit.
            unit: Of the joint, rad or m.
        """
        super().__init__(
            f'{what} has {joint} at {value:.4g} {unit}, '
            f'outside its limits [{lower:.4g}, {upper:.4g}]',
            reason='position_limit',
            joint=joint,
            value=value,
            lower=lower,
            upper=upper,
        )


class SingularityError(RefusedError):
    """A motion of the tool that would come too near a singularity."""

    def __init__(self, what: str, value: float, lower: float) -> None:
        """State what comes too near, the smallest singular value, and the least that is needed.

        Args:
            what: Such as `the path, 40% of the way,`.
            value: Smallest singular value of the Jacobian there, metres and radians mixed.
            lower: The threshold.
        """
        super().__init__(
            f'{what} comes too near a singularity: smallest singular value of the Jacobian '
            f'{value:.2g}, at least {lower:g} is needed; move the joints first',
            reason='singularity',
            value=value,
            lower=lower,
        )


class ClearanceError(RefusedError):
    """A motion that would bring two links, or a link and the floor, too near each other.

    Attributes:
        links: Names of the two.
        share: Where on the path they are nearest, from 0 at its start to 1.
    """

    def __init__(
        self, what: str, links: tuple[str, str], value: float, lower: float, share: float = 0.0
    ) -> None:
        """State where the two are nearest, their distance there, and the least that is valid.

        Args:
            what: Such as `the posture`, or `the path, 40% of the way,`.
            links: The two.
            value: Their distance [m], below zero where they overlap.
            lower: The least that is valid [m].
            share: Of the path.
        """
        self.links, self.share = links, share
        first, second = links
        found = f'{value:.3g} m apart' if value > 0.0 else f'in collision ({value:.3g} m)'
        super().__init__(
            f'{what} has {first} and {second} {found}; at least {lower:.3g} m are needed',
            reason='clearance',
            value=value,
            lower=lower,
        )


class OutOfReachError(RefusedError):
    """A pose that the arm reaches in no posture.

    Attributes:
        turn: What is left to turn [rad] where the tool comes nearest; `value` is the way [m].
    """

    def __init__(self, way: float, turn: float) -> None:
        """State how near to the goal the tool comes [m], [rad]."""
        self.turn = turn
        super().__init__(
            f'the goal is out of reach: no posture was found that brings the tool nearer to it '
            f'than {way:.2g} m and {turn:.2g} rad',
            reason='out_of_reach',
            value=way,
        )


class LawError(RefusedError):
    """A law that failed: it raised, or gave what is no answer.

    Attributes:
        law: Its module and class, as a configuration names it.
    """

    def __init__(self, law: str, why: str) -> None:
        """State the law and how it failed.

        Args:
            law: Its module and class.
            why: The method, and what came of it.
        """
        self.law = law
        super().__init__(f'the law {law} failed in {why}', reason='law_failed')


class BrakedError(IcirError):
    """A mode that the watchdog has ended: the arm is braked and held.

    Attributes:
        mode: That has ended; empty where none ran.
        reason: `speed`, `tracking_error` or `saturation`.
        joint: The joint that went farthest beyond the bound; empty for `saturation`.
        value: Its speed [rad/s or m/s], or its distance from the reference [rad or m].
        upper: The bound; of `saturation` a time [s].
    """

    def __init__(
        self,
        mode: str,
        why: str,
        *,
        reason: str,
        joint: str = '',
        value: float = math.nan,
        upper: float,
    ) -> None:
        """State the mode, and why in a clause and as data; see the attributes."""
        self.mode, self.reason, self.joint = mode, reason, joint
        self.value, self.upper = value, upper
        ended = f'mode {mode} has ended, ' if mode else ''
        super().__init__(f'{ended}the arm is braked and held: {why}')


class SimulationError(IcirError):
    """The simulation could not be built, or left the region where it means something."""


class DivergenceError(SimulationError):
    """The simulated state became huge or NaN; the simulation stops until it is reset.

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
        joint: The joint, or the link, at which they differ most.
    """

    def __init__(self, quantity: str, joint: str, ours: float, theirs: float) -> None:
        """State the quantity, the joint and both values.

        Args:
            quantity: What was compared, in words.
            joint: The joint, or the link, at which they differ most.
            ours: The value of the dynamics model.
            theirs: The value of the simulation.
        """
        self.quantity = quantity
        self.joint = joint
        super().__init__(
            f'the model and the simulation differ: {quantity} at {joint!r} is {ours:.9g} in'
            f' the dynamics model and {theirs:.9g} in MuJoCo; both must describe the same arm'
        )
