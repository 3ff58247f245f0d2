"""What a law is: parameters that a user sets, a plan for its reference, a desired acceleration."""

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, dataclass_transform, get_origin

import numpy as np
from numpy.typing import NDArray

from icir_control.compiled import names_in
from icir_control.control.arm import Arm
from icir_control.control.kernels.structs import JOINTS, Layout
from icir_control.control.workspace import Following
from icir_control.errors import ConfigurationError, IcirError, LawError, RefusedError
from icir_control.parameter import PER_JOINT, parameter, parameters_of
from icir_control.spatial import SE3, Motion
from icir_control.trajectory import JointTrajectory, SE3Trajectory

FOLLOWED = ('nothing', 'joints', 'pose')
"""What the path of a law's plan may be."""

Method = TypeVar('Method', bound=Callable[..., Any])


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
        a: (nv,) acceleration of the present reference; 0 where nothing is known of it.
    """

    time: float
    q: NDArray[np.float64]
    v: NDArray[np.float64]
    pose: SE3
    twist: Motion
    period: float
    a: NDArray[np.float64] | float = 0.0


@dataclass(frozen=True)
class Plan:
    """What a law intends.

    Attributes:
        path: What its reference follows; None where it has none.
        duration: Time that the motion takes [s]; 0 where there is none.
        note: What the user should know, such as a motion that was lengthened; empty for nothing.
        then: Where a joint path goes on after its end; each follows the one before.
        joints: (nv,) positions and (nv,) velocities with which the joints begin to follow a pose
            path of a compliant law; None where no joints follow it.
    """

    path: JointTrajectory | SE3Trajectory | None = None
    duration: float = 0.0
    note: str = ''
    then: tuple[JointTrajectory, ...] = ()
    joints: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


class Tick:
    """What a law sees at a tick; arrays are views, valid until the next tick.

    Attributes:
        time: [s].
        period: Between two ticks [s].
        q: (nv,) [rad or m].
        v: (nv,) [rad/s or m/s].
        M: (nv, nv) inertia matrix.
        nle: (nv,) bias torque, with the losses of the joints [N m or N].
        pose: (4, 3) of the end effector in the world, rows 0-2 rotation, row 3 position [m].
        twist: (6,) of the same, LOCAL, linear first.
        jacobian: (6, nv) of the end effector, LOCAL, linear rows first.
        drift: (6,) its classical acceleration at ddq = 0, LOCAL.
        smallest_singular_value: Of the Jacobian, metres and radians mixed; for a compiled law only
            where its text names it.
        position_reference: (nv,) where the law's plan is a joint path, or a pose path that the
            joints follow: because the law tracks, or the plan says where they begin.
        velocity_reference: (nv,) of the same, matched to the plant's integrator.
        acceleration_reference: (nv,) of the same.
        pose_reference: (4, 3) where the law's plan is a pose path, or where it follows poses.
        twist_reference: (6,) of the same, LOCAL; for a compiled law only where its text names it.
        frame_acceleration_reference: (6,) of the same, classical, LOCAL.
        on_joint_path: Whether a law that follows poses goes by a joint path.
        has_joint_reference: Whether there is a `position_reference`.
        joint_kp: (nv,) [1/s^2], the configured `joint_gains`.
        joint_kd: (nv,) [1/s].
        task_kp: (6,) [1/s^2], the configured `task_gains`.
        task_kd: (6,) [1/s].
        measured_wrench: (6,) on the end effector, LOCAL; zero where none is measured.
        wrench: (6,) out: what the arm exerts at the end effector beside its acceleration, LOCAL;
            zero unless the law writes it.
    """

    q: NDArray[np.float64]
    v: NDArray[np.float64]
    M: NDArray[np.float64]
    nle: NDArray[np.float64]
    pose: NDArray[np.float64]
    twist: NDArray[np.float64]
    jacobian: NDArray[np.float64]
    drift: NDArray[np.float64]
    position_reference: NDArray[np.float64]
    velocity_reference: NDArray[np.float64]
    acceleration_reference: NDArray[np.float64]
    pose_reference: NDArray[np.float64]
    twist_reference: NDArray[np.float64]
    frame_acceleration_reference: NDArray[np.float64]
    joint_kp: NDArray[np.float64]
    joint_kd: NDArray[np.float64]
    task_kp: NDArray[np.float64]
    task_kd: NDArray[np.float64]
    measured_wrench: NDArray[np.float64]
    wrench: NDArray[np.float64]

    def __init__(self, record: Any) -> None:
        """Look at the memory of a tick, a record of `TICK_LAYOUT`."""
        self._record = record
        for name in record.dtype.names:
            if record[name].shape:
                setattr(self, name, record[name])

    @property
    def time(self) -> float:
        """[s]."""
        return float(self._record.time)

    @property
    def period(self) -> float:
        """Between two ticks [s]."""
        return float(self._record.period)

    @property
    def on_joint_path(self) -> bool:
        """Whether a law that follows poses goes by a joint path."""
        return bool(self._record.on_joint_path)

    @property
    def has_joint_reference(self) -> bool:
        """Whether there is a `position_reference`."""
        return bool(self._record.has_joint_reference)

    @property
    def smallest_singular_value(self) -> float:
        """Of the Jacobian, metres and radians mixed."""
        return float(self._record.smallest_singular_value)


def compiled(acceleration: Method) -> Method:
    """Let a law's `acceleration` be compiled, as a decorator.

    Its `self` is then not the law but a struct of those of the law's numbers, bools and arrays of
    fixed length that the text names: parameters, and what `__post_init__` has made of them. The
    text may use numpy and kernels, and must return a new (nv,) array.
    """
    acceleration.is_compiled = True  # type: ignore[attr-defined]
    return acceleration


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
@dataclass(eq=False)
class Law:
    """Base of all laws.

    A subclass declares its parameters as fields, checks them in `__post_init__`, plans where its
    reference goes when the mode is entered, and says which acceleration the joints should have.

    Attributes:
        TRACKS: Whether the arm is held to the reference: the next law then starts from it, the
            joints follow a pose path, and the observer may cancel a disturbance.
        FOLLOWS: What its plan's path is: `nothing`, `joints` or `pose`; in place of a pose path
            there may be a joint path, `tick.on_joint_path`.
        HALTS: Whether its joint path leads to a halt, wherever that is: soon after the start it
            may be shifted, as far as the first sample was wrong about where the arm rests.
        GUIDED: Whether a hand guides the tool, which then has no position to keep.
        METRICS: What of it is worth measuring, by the names of the demo's metrics.
        arm: The arm that it runs on.
    """

    TRACKS: ClassVar[bool] = False
    FOLLOWS: ClassVar[str] = 'nothing'
    HALTS: ClassVar[bool] = False
    GUIDED: ClassVar[bool] = False
    METRICS: ClassVar[tuple[str, ...]] = ()

    arm: Arm

    def __init_subclass__(cls) -> None:
        """Make the subclass a dataclass of its parameters."""
        super().__init_subclass__()
        if cls.FOLLOWS not in FOLLOWED:
            raise ConfigurationError(
                f'{cls.__module__}:{cls.__qualname__} has FOLLOWS = {cls.FOLLOWS!r}; '
                f'valid: {", ".join(FOLLOWED)}'
            )
        for name, annotation in inspect.get_annotations(cls).items():
            # What is only annotated is a plain attribute, and nothing that must be given.
            if name not in vars(cls) and not _is_class_variable(annotation):
                setattr(cls, name, field(init=False, repr=False))
        dataclass(eq=False)(cls)

    @property
    def accepts(self) -> tuple[str, ...]:
        """Which goals it takes while it runs, of `joints` and `pose`."""
        kind = type(self)
        goals = {'joints': kind.plan_joints is not Law.plan_joints}
        goals['pose'] = kind.plan_pose is not Law.plan_pose
        return tuple(goal for goal, taken in goals.items() if taken)

    @property
    def unset(self) -> dict[str, str]:
        """Parameters that may be chosen to suit the arm: their names by what they are.

        That is `posture` [deg], or `way` of the tool in base axes [m].
        """
        return {}

    @property
    def following(self) -> Following:
        """How the joints follow its pose path, if it tracks one."""
        return Following()

    def plan(self, start: Start) -> Plan:
        """Return where the reference goes from a start.

        Raises:
            RefusedError: The law cannot run from there, and why.
        """
        del start
        return Plan()

    def plan_joints(self, start: Start, goal: NDArray[np.float64]) -> Plan:
        """Return how the reference goes to a joint goal given while the law runs.

        Raises:
            RefusedError: The law has no joint goal, or not this one.
        """
        del start, goal
        raise RefusedError('the running mode takes no joint target', reason='no_target')

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Return how the reference goes to a pose (T_world_tool) given while the law runs.

        Raises:
            RefusedError: The law has no pose as its goal, or cannot reach this one.
        """
        del start, goal
        raise RefusedError('the running mode takes no target pose', reason='no_target')

    def acceleration(self, tick: Tick) -> NDArray[np.float64]:
        """Return the desired joint acceleration (nv,); the torque is M ddq + nle + J^T wrench.

        Without an override the arm is held up and left alone.
        """
        return np.zeros(len(tick.q))


def _is_class_variable(annotation: Any) -> bool:
    return annotation is ClassVar or get_origin(annotation) is ClassVar


@contextmanager
def guarded(law: type[Law], method: str) -> Iterator[None]:
    """Turn what a law's method raises, unless it is an error of ours, into a `LawError`.

    A law can be a user's own code: it may raise anything, and an arm hangs on it.

    Args:
        law: The class.
        method: What is called, for the message.

    Raises:
        LawError: Says which law failed, where and why.
    """
    try:
        yield
    except IcirError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise LawError(
            f'{law.__module__}:{law.__qualname__}',
            f'{method}: {type(error).__name__}: {error} ({place.filename}, line {place.lineno})',
        ) from error


def numbers_of(law: Law) -> dict[str, Any]:
    """Return what a compiled acceleration sees of a law, by name.

    These are the numbers, bools and arrays that its text names, but for parameters of any length,
    whose shape would change the type: `__post_init__` brings those into arrays of fixed shape.
    """
    declared = parameters_of(type(law))
    numbers: dict[str, Any] = {}
    for name in sorted(names_in(type(law).acceleration)):
        one, value = declared.get(name), inspect.getattr_static(law, name, None)
        if one is not None and one.kind == 'float_array' and (one.may_be_empty or not one.length):
            continue
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, np.ndarray) and value.dtype.kind in 'biuf':
            numbers[name] = np.asarray(value, dtype=float)
        elif isinstance(value, bool | int | float):
            numbers[name] = value
    return numbers


def layout_of(law: Law, numbers: dict[str, Any]) -> Layout:
    """Return the layout of the struct that holds them."""
    declared = parameters_of(type(law))
    shapes: dict[str, tuple[int | str, ...]] = {}
    for name, value in numbers.items():
        if not isinstance(value, bool | int):
            per_joint = name in declared and declared[name].length == PER_JOINT
            shapes[name] = (JOINTS,) if per_joint else np.shape(value)
    return Layout(shapes, tuple(name for name in numbers if name not in shapes))
