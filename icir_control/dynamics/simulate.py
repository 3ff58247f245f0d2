"""A small simulator: the motion of a model alone, under any law of torque."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from icir_control.dynamics.algorithms import aba
from icir_control.dynamics.call import check_model
from icir_control.dynamics.configuration import integrate
from icir_control.dynamics.kernels.checked import LARGEST
from icir_control.dynamics.model import Model
from icir_control.errors import SimulationError
from icir_control.spatial.arrays import checked, checked_scalar

TorqueLaw = Callable[[float, np.ndarray, np.ndarray], Any]
"""From time [s], q (nq,) and v (nv,) to the torque (nv,) that acts until the next step."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """What happened: row k of each array belongs to `time[k]`.

    Attributes:
        time: (n + 1,) [s].
        q: Configurations (n + 1, nq).
        v: Velocities (n + 1, nv).
        tau: Torques (n, nv); row k acted from `time[k]` to `time[k + 1]`.
    """

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray


def simulate(
    model: Model,
    torque: TorqueLaw,
    q: Any,
    v: Any = None,
    *,
    duration: float,
    timestep: float = 1e-3,
) -> Simulation:
    """Return the motion from (q, v) under a law of torque.

    Semi-implicit Euler: the velocity steps first, v += h ddq(q, v, tau), and carries the
    configuration, q = q + h v on its manifold; the energy then errs by the order of h, and does
    not drift without friction. Neither joint limits nor contacts stop the model.

    Args:
        model: The model.
        torque: The law; it is asked once a step.
        q: Configuration (nq,) to start from.
        v: Velocity (nv,) to start with; None for rest.
        duration: How long [s]; rounded to whole steps.
        timestep: Length h of a step [s].

    Raises:
        InvalidValueError: A vector, also one that the law returned, does not fit, or a time is
            not positive.
        SimulationError: The motion left all bounds; a smaller step may help.
    """
    check_model(model)
    for name, value in (('duration', duration), ('timestep', timestep)):
        checked_scalar(name, value, 'a positive number of seconds', above=0.0)
    steps = max(1, round(duration / timestep))
    data = model.create_data()
    time = timestep * np.arange(steps + 1)
    qs, vs = np.empty((steps + 1, model.nq)), np.empty((steps + 1, model.nv))
    taus = np.empty((steps, model.nv))
    qs[0] = checked('q', q, (model.nq,))
    vs[0] = 0.0 if v is None else checked('v', v, (model.nv,))
    for k in range(steps):
        taus[k] = checked('tau', torque(float(time[k]), qs[k].copy(), vs[k].copy()), (model.nv,))
        vs[k + 1] = vs[k] + timestep * aba(model, data, qs[k], vs[k], taus[k])
        if not np.abs(vs[k + 1]).max() < LARGEST:
            raise SimulationError(f'the motion left all bounds at {time[k]:.6g} s')
        qs[k + 1] = integrate(model, qs[k], timestep * vs[k + 1])
    return Simulation(time, qs, vs, taus)
