"""What a user may set of the controller beside its modes."""

from icir_control.control.figure import PER_JOINT, Figure
from icir_control.control.gains import GAIN_FIGURES
from icir_control.control.kernels.record import LONGEST_DELAY

GLOBAL_FIGURES: tuple[Figure, ...] = (
    Figure(
        'base_frame',
        'string',
        'base_link',
        '',
        'frame of all poses; empty for the root link',
        running=False,
    ),
    Figure(
        'end_effector_frame',
        'string',
        'end_effector_link',
        '',
        'frame that acts; empty for the last link of a serial arm',
        running=False,
    ),
    Figure('mode_names', 'string_array', None, '', 'the modes that there are', running=False),
    Figure('initial_mode', 'string', 'gravity', '', 'the mode of every new start', running=False),
    Figure(
        'schedule',
        'string_array',
        (),
        '',
        'what to run when: "2.0 home", simulation time [s] and mode',
        running=False,
    ),
    *GAIN_FIGURES,
    Figure(
        'speed_scale',
        'float',
        1.0,
        '',
        'share of their own speed at which motions run',
        lower=0.05,
        upper=1.0,
    ),
    Figure(
        'limits.position_margin',
        'float',
        0.1,
        'rad, m',
        'from a position limit within which a yielding arm is pushed back; 0 for none',
        lower=0.0,
        upper=1.0,
    ),
    Figure(
        'observer.gain',
        'float',
        0.0,
        '1/s',
        'of the disturbance observer, whose estimate the tracking modes cancel; 0 is off, 200 '
        'stands velocity noise of 1e-4 rad/s',
        lower=0.0,
        upper=1000.0,
    ),
    Figure(
        'predictor.delay_steps',
        'int',
        0,
        'control periods',
        'from a command to its effect, which the state is predicted over',
        lower=0,
        upper=LONGEST_DELAY,
        running=False,
    ),
    Figure(
        'limits.torque_rate',
        'float_array',
        [],
        'N m/s',
        'greatest change of the torque; empty for none',
        lower=1.0,
        upper=1e6,
        length=PER_JOINT,
        may_be_empty=True,
    ),
)
"""In the order of their declaration."""
