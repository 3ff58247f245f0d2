"""What a user can set of the controller beside its laws: the declarations."""

from dataclasses import dataclass

from icir_control.control.kernels.memory import LONGEST_DELAY
from icir_control.parameter import PER_JOINT, FloatArray, group, parameter


@dataclass(frozen=True)
class JointGains:
    """Of the joint feedback, divided by inertia; the defaults are the tutorial's."""

    kp: FloatArray = parameter(
        [],
        '1/s^2',
        'proportional gain on acceleration: stiffness divided by inertia; empty for 40000 on '
        'every joint',
        lower=0.0,
        upper=1e6,
        length=PER_JOINT,
        may_be_empty=True,
    )
    kd: FloatArray = parameter(
        [],
        '1/s',
        'derivative gain on acceleration: damping divided by inertia; empty for critical, '
        '2 sqrt(kp)',
        lower=0.0,
        upper=1e4,
        length=PER_JOINT,
        may_be_empty=True,
    )


@dataclass(frozen=True)
class TaskGains:
    """Of the end effector's feedback, divided by inertia.

    With one gain for all axes, that of the joints, J^+ Kp e is the joints' own feedback: a
    stiffness kp M, which no inertia that the model lacks makes unstable. The tutorial's unequal
    gains, 5000 along and 50000 about the axes, are not: an arm with rotors of 0.05 kg m^2 shakes.
    """

    kp: FloatArray = parameter(
        [40000.0] * 6,
        '1/s^2',
        'proportional gain on acceleration, linear then angular: stiffness divided by inertia',
        lower=0.0,
        upper=1e6,
        length=6,
    )
    kd: FloatArray = parameter(
        [],
        '1/s',
        'derivative gain on acceleration: damping divided by inertia; empty for critical, '
        '2 sqrt(kp)',
        lower=0.0,
        upper=1e4,
        length=6,
        may_be_empty=True,
    )


@dataclass(frozen=True)
class Limits:
    """What bounds motion and torque beside the model's own limits."""

    position_margin: float = parameter(
        0.1,
        'rad, m',
        'from a position limit within which a yielding arm is pushed back, or a quarter of the '
        'range of a joint if that is less; 0 for none',
        lower=0.0,
        upper=1.0,
    )
    torque_rate: FloatArray = parameter(
        [],
        'N m/s',
        'greatest change of the torque; empty for none',
        lower=1.0,
        upper=1e6,
        length=PER_JOINT,
        may_be_empty=True,
    )


@dataclass(frozen=True)
class Observer:
    """Of the disturbance."""

    gain: float = parameter(
        25.0,
        '1/s',
        'of the disturbance observer, whose estimate the tracking modes cancel; less on joints '
        'whose modelled inertia is small beside what they may lack; 0 is off, and no contact is '
        'felt',
        lower=0.0,
        upper=1000.0,
    )
    uncertain_inertia: float = parameter(
        0.05,
        'kg m^2',
        'which a revolute joint may have beyond the model, such as a rotor, where its motion has '
        'not shown it yet',
        lower=0.0,
        upper=100.0,
    )
    uncertain_mass: float = parameter(
        2.0,
        'kg',
        'which a tool may have beyond the model, within 0.1 m of the end effector, where the '
        'motion has not shown it yet',
        lower=0.0,
        upper=1000.0,
    )
    uncertain_delay_steps: int = parameter(
        2,
        'control periods',
        'by which torque may be late beyond predictor.delay_steps; a fast observer would shake '
        'an arm that answers late, and is as fast as that allows',
        lower=0,
        upper=LONGEST_DELAY,
    )


@dataclass(frozen=True)
class Contact:
    """Of what a moving arm touches: its path waits there. It is the observer that feels it."""

    torque: float = parameter(
        2.0,
        'N m, N',
        'of a joint, which comes faster than the model errs: then the arm touches something, and '
        'its path waits, pressing with no more; 0 for never',
        lower=0.0,
        upper=1e4,
    )
    friction: float = parameter(
        2.5,
        'N m, N',
        'by which dry friction may change where a joint starts or reverses, beside it',
        lower=0.0,
        upper=1e4,
    )


@dataclass(frozen=True)
class Watchdog:
    """Of the arm's motion: past one of these the arm is braked to a stop and held."""

    speed: float = parameter(
        1.2,
        '',
        'share of a velocity limit that no joint may exceed; 0 for no bound',
        lower=0.0,
        upper=100.0,
    )
    error: float = parameter(
        0.25,
        'rad, m',
        'greatest distance of a joint from the reference of a tracking mode; 0 for no bound',
        lower=0.0,
        upper=100.0,
    )
    saturation_time: float = parameter(
        0.5,
        's',
        'for which the wanted torque may be beyond the limits; 0 for no bound',
        lower=0.0,
        upper=100.0,
    )
    time: float = parameter(
        0.02,
        's',
        'for which speed or error must be beyond their bounds',
        lower=0.0,
        upper=10.0,
    )


@dataclass(frozen=True)
class Predictor:
    """Of the state over a delay."""

    delay_steps: int = parameter(
        0,
        'control periods',
        'from a command to its effect, which the state is predicted over',
        lower=0,
        upper=LONGEST_DELAY,
        running=False,
    )


@dataclass(frozen=True)
class ControllerParameters:
    """What a user can set of the controller beside its modes, in the order of declaration."""

    base_frame: str = parameter(
        'base_link', '', 'frame of all poses; empty for the root link', running=False
    )
    end_effector_frame: str = parameter(
        'end_effector_link',
        '',
        'frame that acts; empty for the last link of a serial arm',
        running=False,
    )
    frame_prefix: str = parameter(
        '',
        '',
        'stands before the names of frames in messages, as that of robot_state_publisher does',
        running=False,
    )
    mode_names: tuple[str, ...] = parameter(None, '', 'the modes that there are', running=False)
    initial_mode: str = parameter('gravity', '', 'the mode of every new start', running=False)
    schedule: tuple[str, ...] = parameter(
        (), '', 'what to run when: "2.0 home", simulation time [s] and mode', running=False
    )
    joint_gains: JointGains = group(JointGains)
    task_gains: TaskGains = group(TaskGains)
    speed_scale: float = parameter(
        1.0, '', 'share of their own speed at which motions run', lower=0.05, upper=1.0
    )
    integration: str = parameter(
        'auto',
        '',
        'how the plant moves between two ticks, which the feed-forward is matched to: euler, '
        "MuJoCo's semi-implicit step of one period; sampled, a plant that moves on under a torque "
        'that is held (a real arm, finer steps); auto, as the bridge says, else as it is learnt '
        'in motion',
        choices=('auto', 'euler', 'sampled'),
        running=False,
    )
    clearance: float = parameter(
        0.0,
        'm',
        'that the links keep from each other and from the floor: motions that come nearer are '
        'refused, and modes that yield are pushed back within it; 0 for none',
        lower=0.0,
        upper=1.0,
    )
    floor_height: FloatArray = parameter(
        [0.0],
        'm',
        'of the floor, in the axes of the root link; empty for no floor',
        lower=-100.0,
        upper=100.0,
        length=1,
        may_be_empty=True,
        running=False,
    )
    limits: Limits = group(Limits)
    observer: Observer = group(Observer)
    contact: Contact = group(Contact)
    watchdog: Watchdog = group(Watchdog)
    predictor: Predictor = group(Predictor)


@dataclass(frozen=True)
class ModeParameters:
    """What every mode has beside its law's parameters."""

    key: str = parameter(None, '', 'selects the mode on the keyboard', running=False)
    law: str = parameter(None, '', 'what the mode does', running=False)
