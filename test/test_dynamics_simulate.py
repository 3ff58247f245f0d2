"""The first questions of torque control, on the arm without a simulator; energy as the judge."""

import numpy as np
import pytest

from icir_control.dynamics import (
    ModelBuilder,
    crba,
    difference,
    kinetic_energy,
    load_urdf,
    nonlinear_effects,
    potential_energy,
    simulate,
)
from icir_control.errors import InvalidValueError, SimulationError
from icir_control.share import share_directory
from icir_control.spatial import Inertia

START = np.radians([10.0, 30.0, 60.0, 20.0, 40.0, -30.0])
GOAL = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])


@pytest.fixture(scope='module')
def arm():
    return load_urdf(share_directory() / 'urdf/gen3_6dof.urdf')


def energies(model, run):
    data = model.create_data()
    return np.array([
        kinetic_energy(model, data, q, v) + potential_energy(model, data, q)
        for q, v in zip(run.q, run.v, strict=True)
    ])  # fmt: skip


def work(run):
    """Work of the torques up to each time: tau . v, with the velocity that carried each step."""
    h = run.time[1]
    return np.concatenate([[0.0], np.cumsum(np.sum(run.tau * run.v[1:], axis=1) * h)])


@pytest.mark.parametrize('tau', [np.zeros(6), np.array([1.0, 4.0, 3.0, 0.01, 0.02, 0.005])])
def test_free_motion_under_constant_torque_keeps_the_energy_balance(arm, tau):
    data, worst = arm.create_data(), []
    for h in (1e-3, 5e-4):
        run = simulate(arm, lambda t, q, v: tau, START, duration=0.3, timestep=h)
        total = energies(arm, run)
        worst.append(np.abs(total - total[0] - work(run)).max())
    # A first-order integrator: half the step, half the error, which is small against the motion.
    assert worst[1] < 0.6 * worst[0]
    moved = max(kinetic_energy(arm, data, q, v) for q, v in zip(run.q, run.v, strict=True))
    assert worst[1] < 0.02 * moved


def test_friction_takes_the_energy_that_it_should(arm):
    friction = np.array([0.5, 0.5, 0.5, 0.05, 0.05, 0.02])
    run = simulate(arm, lambda t, q, v: -friction * v, START, duration=4.0, timestep=5e-4)
    total = energies(arm, run)
    balance = total - total[0] - work(run)
    assert (np.diff(work(run)) <= 0.0).all()
    assert np.abs(balance).max() < 0.03 * (total[0] - total[-1])
    assert np.abs(run.v[-1]).max() < 0.2 * np.abs(run.v).max()


def test_plain_pd_falls_short_and_computed_torque_does_not(arm):
    data = arm.create_data()
    kp = 100.0
    kv = 2.0 * np.sqrt(kp)
    # The wrist's inertia of 7e-4 kg m^2 makes a plain PD with such a kv a fast system.
    h = 6e-5

    def pd(t, q, v):
        return -kp * (q - GOAL) - kv * v

    def computed(M_of):
        def law(t, q, v):
            M = M_of(crba(arm, data, q))
            return M @ (-kp * (q - GOAL) - kv * v) + nonlinear_effects(arm, data, q, v)

        return law

    def errors(law, timestep):
        return np.abs(simulate(arm, law, START, duration=1.5, timestep=timestep).q - GOAL)

    plain = errors(pd, h)
    exact = errors(computed(lambda M: M), 1e-3)
    diagonal = errors(computed(lambda M: np.diag(np.diag(M))), 1e-3)
    # Gravity bends a PD. The exact law makes each joint a critically damped one by itself, which
    # runs through (1 + w t) exp(-w t); the diagonal one couples the joints on the way.
    assert plain[-1].max() > 0.02
    w, t = np.sqrt(kp), 1e-3 * np.arange(len(exact))
    decay = ((1.0 + w * t) * np.exp(-w * t))[:, None] * np.abs(START - GOAL)
    assert exact[-1].max() < 1e-5
    assert np.abs(exact - decay).max() < 0.01
    assert np.abs(diagonal - decay).max() > 0.1


def test_a_spinning_body_keeps_its_angular_momentum():
    body = Inertia(1.0, np.zeros(3), np.diag((0.01, 0.02, 0.025)))
    builder = ModelBuilder(gravity=(0, 0, 0)).add_joint('free', 'floating')
    model = builder.add_body('body', 'free', body).build()
    v = np.array([0.1, 0.2, -0.3, 3.0, 0.01, 5.0])
    run = simulate(model, lambda t, q, v: np.zeros(6), model.neutral(), v, duration=2.0)
    assert np.abs(np.linalg.norm(run.q[:, 3:], axis=1) - 1.0).max() < 1e-15
    # Its centre moves on a straight line, whatever the spin.
    assert np.abs(run.q[-1, :3] - 2.0 * v[:3]).max() < 0.01
    spin = run.v[:, 3:] * (0.01, 0.02, 0.025)
    length = np.linalg.norm(spin, axis=1)
    assert np.abs(length / length[0] - 1.0).max() < 0.01
    assert np.abs(difference(model, run.q[0], run.q[-1])).max() > 0.5


def test_times_and_torques_are_checked(arm):
    for name in ('duration', 'timestep'):
        for bad in (0.0, -1.0, np.nan, 'long'):
            with pytest.raises(InvalidValueError, match=f'^{name} = '):
                simulate(arm, lambda t, q, v: v, START, **{'duration': 1.0, name: bad})
    with pytest.raises(InvalidValueError, match=r'^tau = .*6 finite numbers'):
        simulate(arm, lambda t, q, v: [1.0], START, duration=0.1)
    with pytest.raises(InvalidValueError, match=r'^q = '):
        simulate(arm, lambda t, q, v: v, START[:3], duration=0.1)
    with pytest.raises(SimulationError, match='left all bounds at'):
        simulate(arm, lambda t, q, v: 1e9 * np.sign(v), START, v=np.ones(6), duration=1.0)
    with pytest.raises(InvalidValueError, match=r'^model = None'):
        simulate(None, lambda t, q, v: v, START, duration=0.1)
