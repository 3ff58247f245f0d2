"""A moving arm that runs into something rigid: plain MuJoCo, a floor, and a ball at the tool."""

import re
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pytest
from closed_loop import HOME, UPRIGHT, ClosedLoop, changed, model_of, parameters_of, urdf_of

from icir_control.app.promises.plants import DEVIATIONS
from icir_control.control import Controller, ControllerConfig, Waypoints
from icir_control.dynamics import compute_all_terms, frame_placement
from icir_control.simulation import Plant
from icir_control.spatial import SE3

RADIUS = 0.02
RIGID = [0.002, 1.0]  # time constant [s] and damping ratio of MuJoCo's contacts
WAY = 0.1  # m that `down` goes; the floor is half-way, where it is fastest


@dataclass
class Run:
    time: np.ndarray
    force: np.ndarray
    position: np.ndarray
    reference: np.ndarray
    speed: np.ndarray
    saturated: np.ndarray
    events: list
    wrench: np.ndarray | None = None  # in world axes, told at the end

    @property
    def touched(self):
        return self.time[np.flatnonzero(self.force)[0]]

    def contacts(self):
        return [(time, event) for time, event in self.events if 'contact: ' in event.text]


def tool_at(q):
    """Where the tool is [m]."""
    model = model_of()
    data = model.create_data()
    compute_all_terms(model, data, q, np.zeros(6))
    return np.asarray(frame_placement(model, data, 'end_effector_link').translation)


def wall_plant(touched, normal):
    """The arm without its own shapes, and a wall that a ball at its tool touches at a point.

    Args:
        touched: Where the tool is then [m].
        normal: Of the wall, towards the arm.
    """
    tool = tool_at(HOME)
    spec = mujoco.MjSpec.from_file(str(urdf_of()))
    bare = spec.compile()
    state = mujoco.MjData(bare)
    state.qpos = HOME
    mujoco.mj_kinematics(bare, state)
    body = bare.body('bracelet_link').id
    at = state.xmat[body].reshape(3, 3).T @ (tool - state.xpos[body])
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    touching = {'contype': 1, 'conaffinity': 1, 'solref': RIGID, 'mass': 0.0}
    ball = mujoco.mjtGeom.mjGEOM_SPHERE
    spec.body('bracelet_link').add_geom(type=ball, size=[RADIUS, 0, 0], pos=at, **touching)
    box, turn = mujoco.mjtGeom.mjGEOM_BOX, np.empty(4)
    mujoco.mju_quatZ2Vec(turn, normal)
    within = touched - (RADIUS + 0.05) * normal
    spec.worldbody.add_geom(type=box, size=[1.0, 1.0, 0.05], pos=within, quat=turn, **touching)
    plant = spec.compile()
    plant.opt.timestep = 1e-3
    return plant


def press(law, seconds, depth=0.5 * WAY, gone=np.inf, noise=0.0):
    """Run a law, (time, q, v) -> torque, on a floor so far below, which may go at a time [s].

    The law sees positions and velocities with noise, of 1e-4 rad and 1e-2 rad/s times `noise`.
    """
    rng = np.random.default_rng(1)
    up = np.array([0.0, 0.0, 1.0])
    plant = wall_plant(tool_at(HOME) - depth * up, up)
    data = mujoco.MjData(plant)
    data.qpos = HOME
    mujoco.mj_forward(plant, data)
    rows, contact_force = [], np.zeros(6)
    for k in range(round(seconds * 1e3)):
        time = k * 1e-3
        if time >= gone:
            plant.geom_contype[:] = 0
            plant.geom_conaffinity[:] = 0
        q, v = data.qpos.copy(), data.qvel.copy()
        seen = rng.normal(size=(2, q.size)) * noise * [[1e-4], [1e-2]]
        torque, reference, saturated = law(time, q + seen[0], v + seen[1])
        data.qfrc_applied = torque
        mujoco.mj_step(plant, data)
        force = 0.0
        for i in range(data.ncon):
            mujoco.mj_contactForce(plant, data, i, contact_force)
            force += contact_force[0]
        rows.append((time, force, q, reference, np.abs(v).max(), saturated))
    return Run(*map(np.array, zip(*rows, strict=True)), [])


def shipped(speed, seconds, mode='down', then=(np.inf, ''), changes=None, **kwargs):
    """What the shipped controller does when `mode` goes down at a peak speed [m/s].

    At a time [s], and not before it has been at work, another mode may come, or what a function
    asks of the controller. Parameters may have `changes`.
    """
    duration = 1.5 * WAY / speed
    model = model_of()
    down = {f'modes__{mode}__duration': duration, **(changes or {})}
    down |= {} if mode == 'home' else {'modes__down__translation': [0.0, 0.0, -WAY]}
    config = ControllerConfig.from_parameters(changed(parameters_of(), **down), model)
    controller = Controller(model, config)
    controller.restart(0.0, HOME, np.zeros(6))
    events = []

    def law(time, q, v):
        if time == 0.1:
            controller.select(mode)
        if abs(time - then[0]) < 1e-9:
            then[1](controller) if callable(then[1]) else controller.select(then[1])
        torque = controller.tick(time, q, v)
        events.extend((time, event) for event in controller.take_events())
        saturated = (np.abs(controller.torque_unsaturated) > model.effort_limit).any()
        return torque, controller.position_reference.copy(), saturated

    run = press(law, seconds, **kwargs)
    run.events = events
    force, moment = np.split(controller.disturbance_wrench, 2)
    R = controller.current_pose.rotation
    run.wrench = np.concatenate([R @ force, R @ moment])
    return run


def textbook(reference):
    """Computed torque with critical damping along positions at every tick."""
    model = model_of()
    data = model.create_data()
    v_reference = np.gradient(reference, 1e-3, axis=0)
    a_reference = np.gradient(v_reference, 1e-3, axis=0)

    def law(time, q, v):
        k = round(time * 1e3)
        compute_all_terms(model, data, q, v)
        ddq = a_reference[k] + 40000.0 * (reference[k] - q) + 400.0 * (v_reference[k] - v)
        torque = data.M @ ddq + data.nle
        limit = model.effort_limit
        return np.clip(torque, -limit, limit), reference[k], (np.abs(torque) > limit).any()

    return law


@pytest.mark.parametrize('speed', [pytest.param(0.005, marks=pytest.mark.slow), 0.05, 0.25])
def test_the_path_waits_where_the_arm_touches_the_floor(speed):
    seconds = 0.1 + 0.75 * WAY / speed + 1.0
    run = shipped(speed, seconds)
    [(felt, event)] = run.contacts()
    assert event.level == 'warning'
    assert felt - run.touched <= 0.02
    free = shipped(speed, seconds, depth=1.0)
    assert not free.contacts()
    theirs = press(textbook(free.reference), seconds)
    assert run.force.max() < theirs.force.max()
    # It presses, gently and for good, where the textbook's law ends beyond what its motors give.
    settled = run.time > run.touched + 0.3
    assert run.force[settled].min() > 1.0
    assert run.force[settled].max() < min(30.0, 0.5 * theirs.force[-1])
    assert not run.saturated[settled].any()
    assert run.speed[settled].max() < 0.05


@pytest.mark.parametrize('speed', [0.05, 0.25])
def test_it_goes_on_without_a_jump_when_the_obstacle_is_gone(speed):
    touched = 0.1 + 0.75 * WAY / speed
    seconds = touched + 1.5 + 3.0 * WAY / speed
    run = shipped(speed, seconds, gone=touched + 0.5)
    assert [event.level for _, event in run.events] == ['warning', 'info']
    waits = (run.time > touched + 0.5) & (run.time < run.events[1][0])
    assert run.speed[waits].max() < 0.5
    free = shipped(speed, seconds, depth=1.0)
    # The observer of the last joint forgets at 3 1/s what it learnt on the way.
    np.testing.assert_allclose(run.position[-1], free.position[-1], atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['hold', 'jog'])
@pytest.mark.parametrize('noise', [0.0, 1.0])
def test_the_next_mode_does_not_press_harder(mode, noise):
    """Its motion begins where the arm is, not behind the floor where its reference was."""
    waits = 0.1 + 0.75 * WAY / 0.25 + 1.0
    run = shipped(0.25, waits + 2.0, then=(waits, mode), noise=noise)
    before = run.force[(run.time > waits - 0.2) & (run.time < waits)].mean()
    after = run.force[run.time > waits + 0.2]
    assert before > 1.0
    assert after.mean() < before + 2.0
    assert after.max() < 20.0
    assert len(run.events) == 1


def test_a_target_that_is_given_in_a_contact_lifts_the_tool_at_once():
    """Its path begins where the arm is, and not at the reference behind the floor."""

    def lift(controller):
        pose = controller.current_pose
        controller.set_target_pose(SE3(pose.rotation, pose.translation + [0.0, 0.0, 0.05]))

    waits = 0.1 + 0.75 * WAY / 0.25 + 1.0
    run = shipped(0.25, waits + 4.0, then=(waits, lift))
    before = run.force[(run.time > waits - 0.2) & (run.time < waits)].max()
    assert before > 1.0
    assert run.force[run.time > waits].max() < before + 0.5
    assert (run.force[run.time > waits + 0.5] == 0.0).all()
    assert len(run.contacts()) == 1


@pytest.mark.slow
@pytest.mark.parametrize('deeper', [0.0, 0.002])
def test_a_target_along_the_floor_does_not_press_harder_and_harder(deeper):
    """An observer that cancels what the floor pushes back with pressed with 45 N, and more."""
    along = [0.0, 0.1, -deeper]

    def slide(controller):
        pose = controller.reference_pose
        controller.set_target_pose(SE3(pose.rotation, pose.translation + along))

    waits = 0.1 + 0.75 * WAY / 0.1 + 1.0
    run = shipped(0.1, waits + 3.0, then=(waits, slide))
    pressed = run.force[run.time > waits]
    assert run.force[run.time < waits][-1] > 1.0
    assert pressed.max() < 50.0
    assert pressed[-500:].mean() < 25.0
    assert not any('braked' in event.text for _, event in run.events)


@pytest.mark.slow
@pytest.mark.parametrize('seed', [0, 5, 7, 12])
@pytest.mark.parametrize('before', [0, 40])
@pytest.mark.parametrize(
    'deviation',
    [
        {'rotor_inertia': 0.005},
        {'mass_scale': 0.9, 'payload_mass': 1.0, 'payload_offset': [0.0, 0.1, 0.0]},
    ],
    ids=['rotors', 'load'],
)
def test_noise_that_is_not_known_yet_is_no_contact(deviation, before, seed):
    """A motion right after a start waited where nothing was, on plants that are late, besides."""
    plant = Plant(**deviation, **DEVIATIONS['noise'], delay_steps=2, noise_seed=seed)
    loop = ClosedLoop(plant=plant, initial_mode='hold')
    loop.run(before)
    loop.go('home', 0.6)
    assert not [event for event in loop.controller.take_events() if 'contact' in event.text]


@pytest.mark.slow
@pytest.mark.parametrize('bits', [16, 17])
@pytest.mark.parametrize('seed', range(6))
def test_a_wall_is_felt_by_an_arm_with_encoders(bits, seed):
    """Their counts shake the residual; what lasts is felt beside them, and the arm is not lost."""
    rng = np.random.default_rng(seed)
    start, goal = HOME + rng.uniform(-0.4, 0.4, 6), HOME + rng.uniform(-0.7, 0.7, 6)
    share = rng.uniform(0.3, 0.7)
    there, before = (tool_at(start + s * (goal - start)) for s in (share, share - 1e-3))
    plant = wall_plant(there, (before - there) / np.linalg.norm(before - there))
    goal_deg = np.degrees(goal).tolist()
    ready = {'modes__ready__target_deg': goal_deg, 'modes__ready__duration': 3.0}
    config = changed(parameters_of(), initial_mode='hold', clearance=0.0, **ready)
    controller = Controller(model_of(), ControllerConfig.from_parameters(config, model_of()))
    data, count = mujoco.MjData(plant), 2.0 * np.pi / 2**bits
    data.qpos = start
    mujoco.mj_forward(plant, data)
    seen = np.round(start / count) * count
    controller.restart(0.0, seen, np.zeros(6))
    events, touched = [], None
    for k in range(5000):
        if k == 1000:
            controller.select('ready')
        before, seen = seen, np.round(data.qpos / count) * count
        data.qfrc_applied = controller.tick(k * 1e-3, seen, (seen - before) * 1e3)
        events += [(k, event) for event in controller.take_events()]
        mujoco.mj_step(plant, data)
        touched = k if touched is None and data.ncon else touched
    first, event = events[0]
    assert 'ready: contact: ' in event.text
    assert first - touched <= 50
    assert [event.text for _, event in events if event.level == 'error'] == []


def test_the_wrench_of_a_contact_is_that_of_the_floor():
    run = shipped(0.05, 0.1 + 0.75 * WAY / 0.05 + 1.0)
    up = [0.0, 0.0, run.force[-100:].mean()]
    np.testing.assert_allclose(run.wrench[:3], up, atol=0.3)
    np.testing.assert_allclose(run.wrench[3:], 0.0, atol=0.1)  # of a ball about its middle


@pytest.mark.slow
@pytest.mark.parametrize(('gap', 'noise'), [(5e-4, 0.0), (0.01, 1.0)])
def test_what_is_touched_right_before_the_end_is_felt(gap, noise):
    run = shipped(0.05, 0.1 + 1.5 * WAY / 0.05 + 1.5, depth=WAY - gap, noise=noise)
    assert len(run.contacts()) == 1
    assert run.force[-500:].mean() < 20.0
    assert not run.saturated.any()


@pytest.mark.slow
@pytest.mark.parametrize('axis', range(3))
@pytest.mark.parametrize('force', [5.0, 15.0, 40.0])
def test_a_push_that_has_just_ended_is_no_contact(force, axis):
    """Anchor: along z, the least way in a period, 4 urad, passed for a count of an encoder."""
    push = np.zeros(6)
    push[axis] = force
    loop = ClosedLoop(start=HOME)
    loop.go('float', 0.2)
    loop.run(1000, lambda: loop.world.push(loop.tool, push))
    loop.world.clear_push(loop.tool)
    loop.controller.take_events()
    loop.go('hold', 1.0)
    assert loop.controller.take_events() == []
    assert loop.controller.motion_left == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    'wrong',
    [
        {'joint_friction': 1.0, 'mass_scale': 0.9},
        {'joint_friction': 1.0, 'mass_scale': 1.1, 'joint_damping': 0.5},
        {'position_noise': 1e-4, 'velocity_noise': 1e-2, 'delay_steps': 2},
    ],
    ids=['friction_lighter', 'friction_heavier', 'noise_late'],
)
def test_a_contact_of_a_wrong_plant_ends(wrong):
    loop = ClosedLoop(start=HOME, plant=Plant(**wrong))
    loop.go('hold', 1.0)
    loop.controller.take_events()
    loop.go('ready', 0.8)
    loop.run(700, lambda: loop.world.push(loop.tool, [0.0, 40.0, 0.0, 0.0, 0.0, 0.0]))
    loop.world.clear_push(loop.tool)
    loop.run(4000)
    texts = [event.text for event in loop.controller.take_events()]
    assert 'ready: contact: ' in texts[0]
    assert texts[-1] == 'ready: no contact; the path goes on'
    assert loop.controller.motion_left == 0.0


@pytest.mark.slow
def test_a_load_that_is_left_by_a_contact_does_not_stop_the_path_for_good():
    """As a model that is wrong there does: the path has gone on by far more than a wall allows."""
    loop = ClosedLoop(start=HOME)
    loop.go('ready', 0.8)
    for force, ticks in ((40.0, 700), (5.0, 10000)):
        push = [0.0, force, 0.0, 0.0, 0.0, 0.0]
        loop.run(ticks, lambda push=push: loop.world.push(loop.tool, push))
    texts = [event.text for event in loop.controller.take_events()]
    assert len(texts) == 2
    assert 'ready: contact: ' in texts[0]
    assert texts[1] == 'ready: no contact; the path goes on'
    assert loop.controller.motion_left == 0.0


def test_a_path_of_the_joints_waits_and_comes_back_to_itself():
    loop = ClosedLoop(start=HOME)
    loop.go('ready', 0.8)
    ahead = loop.controller.position_reference.copy()
    held = loop.run(700, lambda: loop.world.push(loop.tool, [0.0, 30.0, 0.0, 0.0, 0.0, 0.0]))
    [event] = loop.controller.take_events()
    words = r'ready: contact: the residual of joint_\d is -?\S+ N m; the path waits'
    assert re.fullmatch(words, event.text)
    assert np.abs(held['position'][-1] - ahead).max() < 0.06
    loop.world.clear_push(loop.tool)
    rest = loop.run(3500)
    [event] = loop.controller.take_events()
    assert event.text == 'ready: no contact; the path goes on'
    assert np.abs(rest['velocity']).max() < 1.3
    target = np.radians([45.0, 45.0, 90.0, 30.0, 50.0, 0.0])
    np.testing.assert_allclose(rest['position'][-1], target, atol=1e-9)


@pytest.mark.parametrize('steps', [0, 1, 2])
def test_a_reference_that_stops_at_a_contact_is_not_braked_within_a_period(steps):
    """It jumps to where the arm is: the speed that it had asks for no torque any more."""
    loop = ClosedLoop(start=HOME)
    loop.controller.restart(0.0, HOME, np.zeros(6), steps)
    loop.go('ready', 0.8)
    speed = np.abs(loop.controller.velocity_reference).max()
    loop.world.push(loop.tool, [0.0, 60.0, 0.0, 0.0, 0.0, 0.0])
    for _ in range(100):
        loop.step()
        velocity = np.abs(loop.controller.velocity_reference).max()
        if velocity < 0.9 * speed:
            break
    planned = loop.controller.torque_terms['inertia']
    assert velocity < 1e-3 * speed
    assert np.abs(planned).max() < 1e-6


def test_a_motion_lasts_until_the_joints_are_back_on_their_path():
    """A push near its end keeps them off it for longer than the path's own time."""
    loop = ClosedLoop(start=HOME)
    loop.go('ready', 1.5)
    loop.run(250, lambda: loop.world.push(loop.tool, [0.0, 60.0, 0.0, 0.0, 0.0, 0.0]))
    loop.world.clear_push(loop.tool)
    while loop.controller.motion_left > 0.0:
        loop.run(10)
    target = np.radians([45.0, 45.0, 90.0, 30.0, 50.0, 0.0])
    np.testing.assert_allclose(loop.controller.position_reference, target, atol=1e-4)


@pytest.mark.parametrize('name', ['heavier', 'friction', 'payload_at_10_cm', 'noise', 'encoders'])
def test_a_wrong_model_is_no_contact(name):
    loop = ClosedLoop(plant=Plant(**DEVIATIONS[name]))
    for mode in ('home', 'down'):
        loop.go(mode, 2.2)
    assert loop.controller.take_events() == []


@pytest.mark.slow
@pytest.mark.parametrize('period', [1.5, 3.0])
def test_joints_that_swing_with_a_wrong_inertia_are_no_contact(period):
    """And stop within the last 0.1 s of the trajectory, whose last point they pass in motion."""
    wrong = ('heavier', 'friction', 'payload_at_5_cm', 'rk4')
    plant = Plant(**{key: value for name in wrong for key, value in DEVIATIONS[name].items()})
    loop = ClosedLoop(start=HOME, plant=plant)
    loop.go('hold', 0.5)
    time = np.linspace(0.1, 3.0, 30)
    swing = 0.15 * np.sin(2.0 * np.pi * time / period)
    odd = swing * np.sin(2.0 * np.pi * time / 1.5)
    points = HOME + np.column_stack([odd, swing] * 3)
    loop.controller.follow(Waypoints(loop.model.joint_names, time, points))
    loop.run(3200)
    assert [e for e in loop.controller.take_events() if 'contact' in e.text] == []


@pytest.mark.slow
@pytest.mark.parametrize(('bits', 'delay'), [(15, 0), (13, 2)])
def test_a_coarse_encoder_with_friction_is_no_contact(bits, delay):
    """What it does not show of the motion is missing from the momentum; then comes a leap."""
    rotors = 0.05 if delay else 0.0
    plant = Plant(encoder_bits=bits, delay_steps=delay, joint_friction=1.0, rotor_inertia=rotors)
    loop = ClosedLoop(start=HOME, plant=replace(plant, integrator='rk4'))
    loop.go('hold', 1.0)
    loop.controller.follow(Waypoints(loop.model.joint_names, [2.0], [HOME + 0.3]))
    loop.run(2500)
    assert loop.controller.take_events() == []
    np.testing.assert_allclose(loop.q, HOME + 0.3, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize('later', [0, 15, 20])
def test_an_arm_that_shakes_feels_no_contact_where_it_sets_off(later):
    """Anchor: in 3 of 10 phases of a swing its sample at the start passed for the mean."""
    late = {'encoder_bits': 17, 'delay_steps': 2, 'integrator': 'rk4'}
    load = {'payload_mass': 1.0, 'payload_offset': [0.1, 0.0, 0.0]}
    plant = Plant(mass_scale=0.9, joint_damping=0.5, **load, **late)
    loop = ClosedLoop(start=HOME, plant=plant, initial_mode='home')
    loop.run(1500 + later)
    loop.go('down', 0.3)
    told = loop.controller.take_events()
    assert told
    assert all('oscillates' in event.text and 'contact' not in event.text for event in told)


def test_a_count_as_the_arm_sets_off_is_no_push():
    """Anchor: 4 of these motions waited, as 2 of 30 of a UR5, which is heavier, with 17 bits.

    A push that has just ended is left out as a motion begins; the kick of a count passed for one.
    """
    rng = np.random.default_rng(0)
    told = []
    for _ in range(20):
        start = HOME + rng.uniform(-0.5, 0.5, 6)
        loop = ClosedLoop(start=start, plant=Plant(encoder_bits=14), clearance=0.0)
        loop.go('hold', 0.3)
        goal = start + rng.uniform(-0.6, 0.6, 6)
        loop.controller.follow(Waypoints(loop.model.joint_names, [2.0], [goal]))
        loop.run(150)
        told += [event.text for event in loop.controller.take_events()]
    assert told == []


def test_no_contact_is_felt_with_a_torque_of_zero():
    loop = ClosedLoop(start=HOME, contact__torque=0.0)
    loop.go('ready', 0.8)
    loop.run(100, lambda: loop.world.push(loop.tool, [0.0, 30.0, 0.0, 0.0, 0.0, 0.0]))
    assert loop.controller.take_events() == []


def test_an_arm_that_presses_with_all_its_torque_is_let_go():
    """Held where it pressed when the watchdog stopped it, it pressed on, and was stopped again."""
    run = shipped(0.05, 5.0, changes={'contact__torque': 0.0})
    (stop,) = [(time, event) for time, event in run.events if event.level == 'error']
    assert 'the torque was beyond its limits for more than 0.5 s' in stop[1].text
    assert run.force[run.time < stop[0]].max() > 50.0
    assert run.force[run.time > stop[0] + 0.5].max() < 1.0
    assert run.speed[run.time > stop[0] + 0.5].max() < 0.01


def test_contacts_are_felt_where_no_friction_is_expected_any_more():
    """Anchor: not a number, where a joint that had reversed was compared with a friction of 0."""
    loop = ClosedLoop(start=UPRIGHT, plant=Plant(joint_friction=1.0))
    loop.go('hold', 0.2)
    loop.go('home', 0.3)
    loop.controller.update({'contact.friction': 0.0})
    loop.run(1)
    assert np.isfinite(loop.controller._engine.memory.contact_inertia).all()
