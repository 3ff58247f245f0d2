"""Arms of any size in one process, in any order: each gets its own torques."""

import threading

import numpy as np
import pytest
from random_trees import random_inertia, random_placement

from icir_control.control import Controller, ControllerConfig
from icir_control.dynamics import JointKind, ModelBuilder, gravity_torque, rnea

PARAMETERS = {
    'mode_names': ['gravity', 'move', 'hold'],
    'base_frame': 'base',
    'end_effector_frame': 'tool',
    'observer': {'gain': 0.0},
    'modes': {
        'gravity': {'key': 'g', 'law': 'gravity'},
        'move': {'key': 'm', 'law': 'joint', 'target_deg': [], 'duration': 1.0},
        'hold': {'key': 's', 'law': 'hold'},
    },
}


def chain(joints):
    """A chain of revolute joints with limits, as long as asked for."""
    rng = np.random.default_rng(joints)
    builder = ModelBuilder(f'chain_{joints}')
    builder.add_frame('base', 'universe', random_placement(rng))
    parent = 'universe'
    for i in range(joints):
        axis = rng.normal(size=3)
        builder.add_joint(
            f'joint_{i}', JointKind.REVOLUTE, parent, random_placement(rng), axis=axis
        )
        builder.add_body(f'link_{i}', f'joint_{i}', random_inertia(rng), random_placement(rng))
        parent = f'link_{i}'
    builder.add_frame('tool', parent, random_placement(rng))
    return builder.build()


def check_torques(joints):
    """At rest an arm bears its weight; in motion it is driven as computed torque says."""
    model = chain(joints)
    controller = Controller(model, ControllerConfig.from_parameters(PARAMETERS, model))
    data = model.create_data()
    q, v = np.full(joints, 0.3), np.zeros(joints)
    controller.restart(0.0, q, v)
    torque = controller.tick(0.0, q, v)
    np.testing.assert_allclose(torque, gravity_torque(model, data, q), rtol=0, atol=1e-9)
    controller.tick(1e-3, q, v)
    controller.select('move')
    for k in range(2, 40):
        torque = controller.tick(1e-3 * k, q, v)
    kp, kd = controller.config.joint_gains
    engine = controller._engine
    ddq = engine.tick_record.acceleration_reference + kp * (controller.position_reference - q)
    ddq += kd * (controller.velocity_reference - v)
    expected = rnea(model, data, q, v, ddq)
    np.testing.assert_allclose(controller.torque_unsaturated, expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize(
    'seed', [*range(5), *(pytest.param(n, marks=pytest.mark.long) for n in range(5, 100))]
)
def test_arms_of_any_size_in_any_order(seed):
    for joints in np.random.default_rng(seed).integers(1, 13, size=6).tolist():
        check_torques(joints)


@pytest.mark.slow
def test_arms_of_several_sizes_in_threads():
    failures = []

    def run(joints):
        try:
            for _ in range(3):
                check_torques(joints)
        except BaseException as error:  # handed to the test
            failures.append((joints, error))

    threads = [threading.Thread(target=run, args=(joints,)) for joints in (2, 7, 9, 6, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
