"""The configuration: what it accepts, and what it says of what it does not."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from closed_loop import HOME, changed, model_of, parameters_of
from fuzz import FUZZED
from hypothesis import given
from hypothesis import strategies as st

from icir_control.control import Arm, Controller, ControllerConfig, Law, replaced
from icir_control.dynamics import JointKind, ModelBuilder
from icir_control.errors import (
    ConfigurationError,
    IcirError,
    InvalidValueError,
    ModelError,
    RefusedError,
    UnknownNameError,
)
from icir_control.parameter import flatten
from icir_control.spatial import SE3, Inertia


def config_of(**changes):
    return ControllerConfig.from_parameters(changed(parameters_of(), **changes), model_of())


def test_shipped_configuration_has_the_tutorials_keys_and_gains():
    config = config_of()
    assert {mode.key: name for name, mode in config.modes.items()} == {
        'g': 'gravity',
        'h': 'home',
        'a': 'ready',
        'k': 'down',
        'v': 'float',
        'i': 'impedance',
        'j': 'jog',
        's': 'hold',
    }
    assert config.initial_mode == 'gravity'
    np.testing.assert_array_equal(config.joint_gains[0], np.full(6, 40000.0))
    np.testing.assert_array_equal(config.joint_gains[1], np.full(6, 400.0))
    np.testing.assert_allclose(config.task_gains[1], 2 * np.sqrt([4e4] * 6))
    np.testing.assert_allclose(
        np.degrees(config.modes['home'].law.target), [0, 45, 90, 0, 45, -90]
    )


BAD = {
    'unknown law': (
        {'modes__home__law': 'joints'},
        r"modes\.home\.law: unknown law 'joints'.*task",
    ),
    'law class': ({'modes__home__law': 'math:pi'}, 'not a class derived from'),
    'law module': ({'modes__home__law': 'no_such.module:L'}, 'cannot be loaded'),
    'duplicate key': ({'modes__home__key': 'g'}, r"modes\.home\.key = 'g' is already .*gravity"),
    'duplicate mode': ({'mode_names': ['home', 'home']}, 'not in mode_names|twice'),
    'no token': ({'mode_names': ['go-home']}, 'not in mode_names|no ROS token'),
    'boolean key': ({'modes__home__key': True}, r'modes\.home\.key was read by YAML.*quotes'),
    'long key': ({'modes__home__key': 'hh'}, 'one character'),
    'negative gain': ({'joint_gains__kp': [-1.0] * 6}, r'joint_gains\.kp.*6 finite.*at least 0'),
    'short gain': ({'joint_gains__kp': [1.0] * 5}, r'joint_gains\.kp.*6 finite numbers'),
    'gain that is a word': ({'task_gains__kp': 'stiff'}, r'task_gains\.kp'),
    'NaN gain': ({'task_gains__kd': [np.nan] * 6}, r'task_gains\.kd'),
    'target outside limits': (
        {'modes__home__target_deg': [0.0, 170.0, 0.0, 0.0, 0.0, 0.0]},
        r'modes\.home: target_deg has joint_2 at .* outside',
    ),
    'missing target': ({'modes__home__target_deg': None}, r'modes\.home\.target_deg is missing'),
    'negative duration': ({'modes__down__duration': -2.0}, r'modes\.down\.duration = -2\.0'),
    'unknown figure': ({'modes__home__target_degs': [0.0]}, r'unknown parameter.*target_deg'),
    'unknown parameter': ({'gains': 1.0}, 'unknown parameter gains'),
    'unknown gain': ({'joint_gains__ki': [1.0]}, r'unknown parameter joint_gains\.ki'),
    'initial mode': ({'initial_mode': 'rest'}, r"initial_mode = 'rest'.*gravity, home"),
    'schedule mode': ({'schedule': ['1.0 away']}, "no mode 'away'"),
    'schedule time': ({'schedule': ['soon home']}, 'expected a simulation time'),
    'schedule words': ({'schedule': ['1.0 home now']}, 'expected a simulation time'),
    'negative schedule': ({'schedule': ['-1.0 home']}, 'expected a simulation time'),
    'profile': ({'modes__home__profile': 'linear'}, 'one of cubic, quintic'),
    'schedule that is no list': ({'schedule': 5}, r'schedule = 5 is not valid; expected strings'),
    'mode that is no group': ({'modes__home': 2.0}, r'modes\.home = 2\.0 .*parameters by name'),
    'group that is none': ({'joint_gains': True}, r'joint_gains = True .*parameters by name'),
    'number beyond all': ({'modes__home__duration': 10**400}, r'modes\.home\.duration'),
    'stiffness': ({'modes__impedance__stiffness': [1.0] * 5 + [-1.0]}, r'impedance\.stiffness'),
}


def test_modes_that_are_not_named_are_left_out():
    config = config_of(mode_names=['gravity', 'home'], modes__nonsense__law='no such law')
    assert tuple(config.modes) == ('gravity', 'home')
    assert {'impedance', 'nonsense'} <= set(config.unused_modes)


@pytest.mark.parametrize('case', BAD)
def test_bad_configuration_is_refused(case):
    changes, message = BAD[case]
    with pytest.raises(ConfigurationError, match=message):
        config_of(**changes)


def test_the_modes_that_take_a_goal_are_those_whose_law_plans_it():
    config = config_of()
    assert config.modes_for('pose') == ('down', 'impedance', 'jog')
    assert config.modes_for('joints') == ('home', 'ready', 'down', 'jog')


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
anything = scalars | st.lists(scalars, max_size=8) | st.lists(st.floats(), min_size=6, max_size=6)
NAMES = sorted(flatten(parameters_of()))
GROUPS = ['modes', 'modes.home', 'joint_gains', 'modes.home.key.x']


changes_of_any_kind = st.dictionaries(
    st.sampled_from(NAMES + GROUPS) | st.text(max_size=12), anything, min_size=1
)


@pytest.mark.slow
@given(changes_of_any_kind)
@FUZZED
def test_any_configuration_is_refused_in_our_words_or_runs(changes):
    """No error of another library leaks, and what is accepted gives torques that are numbers."""
    try:
        parameters = replaced({}, flatten(parameters_of()) | changes)
        config = ControllerConfig.from_parameters(parameters, model_of())
    except IcirError:
        return
    controller = Controller(model_of(), config)
    controller.restart(0.0, HOME, np.zeros(6))
    for k in range(3):
        torque = controller.tick(1e-3 * k, HOME, np.zeros(6))
        assert (np.abs(torque) <= model_of().effort_limit).all()


@pytest.mark.parametrize('name', ['go-home', '2nd', 'a__b', '', 'ho me', 'end_'])
def test_mode_names_are_ros_tokens(name):
    parameters = parameters_of()
    parameters['mode_names'].append(name)
    parameters['modes'][name] = {'key': 'x', 'law': 'gravity'}
    with pytest.raises(ConfigurationError, match='ROS token'):
        ControllerConfig.from_parameters(parameters, model_of())


def test_mode_named_twice_is_refused():
    parameters = parameters_of()
    parameters['mode_names'].append('home')
    with pytest.raises(ConfigurationError, match="'home' twice"):
        ControllerConfig.from_parameters(parameters, model_of())


@pytest.mark.parametrize('law', ['task', 'impedance'])
def test_a_law_that_takes_poses_plans_with_its_own_singularity_bounds(law):
    parameters = parameters_of()
    parameters['mode_names'].append('mine')
    bounds = {'singularity_threshold': 0.05, 'singularity_damping': 0.3}
    parameters['modes']['mine'] = {'key': 'x', 'law': law, **bounds}
    following = (
        ControllerConfig.from_parameters(parameters, model_of()).modes['mine'].law.following
    )
    assert following.singularity_threshold == 0.05
    assert following.singularity_damping == 0.3


def test_a_controller_runs_the_model_of_its_configuration_alone():
    with pytest.raises(
        InvalidValueError, match='expected that of the configuration, with joint_1'
    ):
        Controller(model_of('gen3_7dof'), config_of())


def test_frames_that_do_not_fit_are_refused():
    with pytest.raises(UnknownNameError, match='end_effector_link'):
        config_of(end_effector_frame='gripper')
    with pytest.raises(ConfigurationError, match='moves with joint'):
        config_of(base_frame='forearm_link')


@pytest.mark.parametrize('off_axis', [0.0, 1e-10])
def test_an_arm_with_a_joint_that_turns_no_inertia_is_refused(off_axis):
    """A point mass on the axis of the last joint, or as near as rounded numbers put it."""
    builder = ModelBuilder('point')
    builder.add_frame('base', 'universe')
    builder.add_joint('first', JointKind.REVOLUTE, axis=[0.0, 1.0, 0.0])
    builder.add_body('upper', 'first', Inertia(1.0, [0.2, 0.0, 0.0], 0.01 * np.eye(3)))
    place = SE3(np.eye(3), [0.4, 0.0, 0.0])
    builder.add_joint('last', JointKind.REVOLUTE, 'upper', place, axis=[1.0, 0.0, 0.0])
    builder.add_body('lower', 'last', Inertia(0.1, [0.2, off_axis, 0.0], np.zeros((3, 3))))
    with pytest.raises(ModelError, match='last turns what has no moment of inertia'):
        Arm(builder.build(), 'base', 'lower')


def test_integers_do_where_numbers_are_meant():
    config = config_of(modes__home__duration=3, joint_gains__kp=[400] * 6)
    assert config.modes['home'].law.duration == 3.0
    np.testing.assert_array_equal(config.joint_gains[1], np.full(6, 40.0))


def test_schedule_is_sorted_by_time():
    config = config_of(schedule=['4.0 down', '1.5 home'])
    assert [(entry.time, entry.mode) for entry in config.schedule] == [
        (1.5, 'home'),
        (4.0, 'down'),
    ]


def test_update_is_all_or_nothing():
    config = config_of()
    newer = config.updated({'joint_gains.kp': [100.0] * 6, 'modes.home.duration': 4.0})
    np.testing.assert_array_equal(newer.joint_gains[1], np.full(6, 20.0))
    assert newer.modes['home'].law.duration == 4.0
    assert config.modes['home'].law.duration == 2.0
    with pytest.raises(ConfigurationError, match='duration'):
        config.updated({'joint_gains.kp': [100.0] * 6, 'modes.home.duration': 0.0})
    with pytest.raises(ConfigurationError, match='cannot change while'):
        config.updated({'initial_mode': 'home'})


class HoldStill(Law):
    """A law that a user might write."""


def test_a_users_law_is_found_by_its_module():
    name = f'{HoldStill.__module__}:HoldStill'
    config = config_of(modes__gravity={'key': 'g', 'law': name})
    assert isinstance(config.modes['gravity'].law, HoldStill)


def test_a_configuration_is_copied_and_a_controller_is_not():
    config = ControllerConfig.from_parameters(parameters_of(), model_of())
    config = config.updated({'modes.home.duration': 3.0})
    for copied in (copy(config), deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert copied.value('modes.home.duration') == 3.0
        assert copied.schedule == config.schedule
        law = copied.modes['home'].law
        np.testing.assert_array_equal(law.target_deg, config.modes['home'].law.target_deg)
        assert law.arm is copied.arm
        controller = Controller(copied.arm.model, copied)
        controller.restart(0.0, np.zeros(6), np.zeros(6))
        assert np.isfinite(controller.tick(0.0, np.zeros(6), np.zeros(6))).all()
        for way in (copy, deepcopy, pickle.dumps):
            with pytest.raises(RefusedError, match='cannot be copied.* make another one by'):
                way(controller)


def test_what_a_configuration_holds_cannot_be_changed_behind_its_back():
    config = ControllerConfig.from_parameters(
        changed(parameters_of(), joint_gains__kp=np.full(6, 900.0)), model_of()
    )
    arrays = {name: config.value(name) for name in config.parameters}
    arrays = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}
    assert {'joint_gains.kp', 'task_gains.kp', 'modes.home.target_deg'} <= set(arrays)
    for copied in (config, deepcopy(config)):
        for name in arrays:
            with pytest.raises(ValueError, match='read-only'):
                copied.value(name)[:] = 1.0
