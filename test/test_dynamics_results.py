"""Results are views that the next call fills: given back as arguments, or changed in place."""

import numpy as np
import pytest
from test_dynamics_mimic import random_mimics

from icir_control import dynamics as icir
from icir_control.errors import InvalidValueError, PositionLimitError, RefusedError
from icir_control.spatial import SE3, Inertia

WITH_TWO_VECTORS = (
    icir.rnea,
    icir.aba,
    icir.rnea_derivatives,
    icir.aba_derivatives,
    icir.joint_torque_regressor,
    icir.center_of_mass_acceleration,
)
SQUARE = {
    'crba': lambda model, data, q, v: icir.crba(model, data, q),
    'minverse': lambda model, data, q, v: icir.minverse(model, data, q),
    'coriolis_matrix': icir.coriolis_matrix,
    'rnea_derivatives': lambda *state: icir.rnea_derivatives(*state, state[-1])[0],
    'aba_derivatives': lambda *state: icir.aba_derivatives(*state, state[-1])[1],
    'all terms': lambda *state: icir.compute_all_terms(*state) or state[1].M,
    'watched': lambda *state: icir.compute_all_terms(*state) or state[1].watched.jacobian,
}


def arrays_of(result):
    return [np.array(one) for one in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize('mimics', [False, True])
@pytest.mark.parametrize('view', ['tau', 'nle', 'g', 'ddq'])
@pytest.mark.parametrize('function', WITH_TWO_VECTORS, ids=lambda f: f.__name__)
def test_a_result_of_an_earlier_call_is_an_argument_as_any_other(function, view, mimics):
    model = random_mimics(1, coupled=mimics)
    rng = np.random.default_rng(0)
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    expected = arrays_of(function(model, model.create_data(), q, v, a))
    data = model.create_data()
    function(model, data, q, v, a)  # only compiled code takes an array without a copy
    given = getattr(data, view)
    given[:] = a
    for found, right in zip(arrays_of(function(model, data, q, v, given)), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize('name', SQUARE)
def test_what_a_caller_adds_to_a_result_is_gone_at_the_next_call(name):
    builder = icir.ModelBuilder()
    for one in 'ab':
        builder.add_joint(one, 'revolute')
        builder.add_body(f'{one}_link', one, Inertia(1.0, (0.1, 0.0, 0.0), 0.01 * np.eye(3)))
    model = builder.build()
    data, q, v = model.create_data(watch='a_link'), np.array([0.3, -0.4]), np.ones(2)
    result = SQUARE[name](model, data, q, v)
    expected = result.copy()
    result += 1.0
    np.testing.assert_array_equal(SQUARE[name](model, data, q, v), expected)


def test_a_law_of_torque_cannot_change_the_state_that_it_is_given(chain_model):
    def push(time, q, v):
        q -= 0.5
        v[:] = 7.0
        return np.zeros(chain_model.nv)

    moved = icir.simulate(chain_model, push, np.full(chain_model.nq, 0.1), duration=0.01)
    free = icir.simulate(
        chain_model,
        lambda time, q, v: np.zeros(chain_model.nv),
        np.full(chain_model.nq, 0.1),
        duration=0.01,
    )
    np.testing.assert_array_equal(moved.q, free.q)
    np.testing.assert_array_equal(moved.v, free.v)


@pytest.fixture
def chain_model():
    builder = icir.ModelBuilder()
    parent = None
    for name in 'abc':
        builder.add_joint(name, 'revolute', *([parent] if parent else []), axis=(0.0, 1.0, 0.0))
        builder.add_body(f'{name}_link', name, Inertia(1.0, (0.1, 0.0, 0.2), 0.01 * np.eye(3)))
        parent = f'{name}_link'
    return builder.build()


@pytest.mark.parametrize(
    'limits', [{'lower': 5.0}, {'upper': -5.0}, {'lower': -1e308, 'upper': 1e308}]
)
def test_inverse_kinematics_starts_within_one_limit_or_limits_that_mean_none(limits):
    builder = icir.ModelBuilder()
    builder.add_joint('slide', 'prismatic', axis=(1.0, 0.0, 0.0), **limits)
    builder.add_body('tool', 'slide', Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    model = builder.build()
    goal = 7.0 if 'lower' in limits else -7.0
    q = icir.inverse_kinematics(
        model, model.create_data(), 'tool', SE3.from_translation((goal, 0.0, 0.0)), np.zeros(1)
    )
    assert q == pytest.approx([goal])
    with pytest.raises(RefusedError):
        icir.inverse_kinematics(
            model, model.create_data(), 'tool', SE3.from_translation((0.0, 1.0, 0.0)), q
        )


def test_inverse_kinematics_keeps_a_floating_joint_within_its_limits():
    builder = icir.ModelBuilder()
    bound = {'lower': [-1.0, -1.0, -1.0], 'upper': [1.0, 1.0, 1.0]}
    lower = [*bound['lower'], *4 * [-np.inf]]
    upper = [*bound['upper'], *4 * [np.inf]]
    builder.add_joint('base', 'floating', lower=lower, upper=upper)
    builder.add_body('tool', 'base', Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    model = builder.build()
    data, q0 = model.create_data(), model.neutral()
    near = icir.inverse_kinematics(model, data, 'tool', SE3.from_translation((0.5, 0, 0)), q0)
    assert near[0] == pytest.approx(0.5)
    with pytest.raises(PositionLimitError, match='base'):
        icir.inverse_kinematics(model, data, 'tool', SE3.from_translation((5.0, 0, 0)), q0)


def test_a_body_that_is_refused_leaves_no_frame():
    builder = icir.ModelBuilder()
    builder.add_joint('a', 'revolute')
    with pytest.raises(InvalidValueError, match='inertia of body link'):
        builder.add_body('link', 'a', 'heavy')
    builder.add_body('link', 'a', Inertia(1.0, np.zeros(3), np.eye(3)))
