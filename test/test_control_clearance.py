"""The arm does not hit itself or the floor: MuJoCo's contacts say so."""

from itertools import product

import mujoco
import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop, changed, model_of, parameters_of, urdf_of
from simulation_worlds import joint, link, robot

from icir_control.collision import distance, distance_jacobian, load_collision_shapes
from icir_control.control import Arm, ControllerConfig, Start, Waypoints
from icir_control.control.clearance import LARGEST_FORCE, Clearance, Repulsion
from icir_control.control.kernels.clearance import may_be_near
from icir_control.control.motion import plan_joint_motion
from icir_control.dynamics import (
    forward_kinematics,
    inverse_kinematics_solutions,
    load_urdf,
)
from icir_control.errors import ClearanceError
from icir_control.spatial import SE3, Motion

CLEARANCE = 0.02
ABOVE_FLOOR = np.radians([-23.0, 71.0, -62.0, 47.0, -18.0, -65.0])
"""The tool is 36 mm above the floor."""
AT_BASE = np.radians([130.0, 77.0, -131.0, -29.0, -55.0, -72.0])
"""The tool is 27 mm beside the base."""
INTO_FLOOR = np.radians([0.0, 110.0, 0.0, 0.0, 0.0, 0.0])
HOMES = {
    'gen3_6dof': HOME,
    'gen3_7dof': np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0]),
}
LINKS_7DOF = ('half_arm_2_link', 'forearm_link', 'spherical_wrist_1_link', 'bracelet_link')


class Geometry:
    """MuJoCo's contacts and distances of an arm."""

    def __init__(self, robot: str):
        self.model = ClosedLoop(robot=robot, start=HOMES[robot]).world.model
        self.data = mujoco.MjData(self.model)

    def place(self, q) -> None:
        self.data.qpos[:] = q
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def touches(self, path) -> bool:
        """Whether links touch in one of the postures."""
        for q in path:
            self.place(q)
            mujoco.mj_collision(self.model, self.data)
            if self.data.ncon:
                return True
        return False

    def nearest(self, path, links) -> float:
        """The least distance of two links in the postures [m]."""
        geoms = [
            [
                geom
                for geom in np.flatnonzero(self.model.geom_contype)
                if self.model.body(self.model.geom_bodyid[geom]).name
                == ('world' if link == 'floor' else link)
            ]
            for link in links
        ]
        least = np.inf
        for q in path:
            self.place(q)
            for pair in product(*geoms):
                found = mujoco.mj_geomDistance(self.model, self.data, *pair, 1.0, None)
                least = min(least, found)
        return least


def arm_of(robot: str, clearance: float) -> Arm:
    parameters = changed(parameters_of(robot), clearance=clearance)
    shapes = load_collision_shapes(urdf_of(robot))
    return ControllerConfig.from_parameters(parameters, model_of(robot), lambda: shapes).arm


def at_rest(arm: Arm, q) -> Start:
    return Start(0.0, q, np.zeros(arm.nv), SE3.identity(), Motion.zero(), 1e-3)


def way(plan) -> np.ndarray:
    times = plan.path.start_time + np.linspace(0.0, plan.duration, 401)
    return np.array([plan.path.position(time) for time in times])


def refusal_of(act, *arguments) -> ClearanceError | None:
    try:
        act(*arguments)
    except ClearanceError as error:
        return error
    return None


def check_random_goals(robot: str, count: int) -> None:
    watched, free, geometry = arm_of(robot, CLEARANCE), arm_of(robot, 0.0), Geometry(robot)
    rng, left = np.random.default_rng(7), {True: count // 2, False: count // 2}
    start = at_rest(free, HOMES[robot])
    while any(left.values()):
        goal = free.model.random_configuration(rng)
        path = way(plan_joint_motion(free, start, goal, 2.0, 'cubic'))
        touches = geometry.touches(path)
        if not left[touches]:
            continue
        left[touches] -= 1
        refused = refusal_of(plan_joint_motion, watched, start, goal, 2.0, 'cubic')
        if refused is None:
            assert not touches, goal
        else:
            assert geometry.nearest(path, refused.links) < 2.0 * CLEARANCE, (goal, refused)


@pytest.mark.parametrize('robot', HOMES)
def test_no_random_goal_leads_into_contact(robot):
    check_random_goals(robot, 30)


@pytest.mark.long
def test_no_one_of_500_random_goals_leads_into_contact():
    check_random_goals('gen3_6dof', 500)


@pytest.mark.slow
def test_nothing_is_missed_between_the_points_of_a_path():
    watched = arm_of('gen3_6dof', CLEARANCE)
    rng, clearance = np.random.default_rng(2), watched.clearance
    seen = set()
    for _ in range(24):
        first, last = (watched.model.random_configuration(rng) for _ in range(2))
        shares = np.linspace(0.0, 1.0, 3000)[:, None]
        found = np.array([clearance.distances(q) for q in first + shares * (last - first)])
        if found[0].min() < CLEARANCE:
            continue
        refused = refusal_of(clearance.check, 'the path', [first, last])
        least = found.min()
        seen.add(refused is None)
        if refused is None:
            assert least > 0.9 * CLEARANCE
        else:
            assert least < CLEARANCE + 1e-3
            assert refused.value == pytest.approx(least, abs=5e-3)
    assert seen == {True, False}


def test_a_refusal_says_what_would_come_too_near_and_where():
    loop = ClosedLoop(start=HOME)
    loop.go('home', 0.1)
    with pytest.raises(ClearanceError, match='bracelet_link and floor in collision') as refused:
        loop.controller.set_target_joints(INTO_FLOOR)
    error = refused.value
    assert (error.reason, error.links) == ('clearance', ('bracelet_link', 'floor'))
    assert error.share == pytest.approx(1.0)
    assert error.value < -0.05
    assert error.lower == CLEARANCE
    loop.run(500)
    np.testing.assert_allclose(loop.q, HOME, atol=1e-12)


def test_ways_of_the_tool_and_trajectories_are_refused_too():
    loop = ClosedLoop(start=ABOVE_FLOOR)
    loop.go('jog', 0.6)
    pose = loop.controller.current_pose
    down = [0.0, 0.0, -0.03]
    with pytest.raises(ClearanceError, match='bracelet_link and floor'):
        loop.controller.set_target_pose(SE3(pose.rotation, pose.translation + down))
    loop.controller.set_target_pose(SE3(pose.rotation, pose.translation - down))
    loop.run(1000)
    names = loop.model.joint_names
    with pytest.raises(ClearanceError, match='the trajectory, .* and floor'):
        loop.controller.follow(Waypoints(names, [4.0, 8.0], [INTO_FLOOR, HOME]))
    loop.controller.follow(Waypoints(names, [4.0], [HOME]))


def test_a_pose_too_near_the_floor_is_refused_for_the_posture_that_is_best():
    """A redundant arm has it in many; the elbow of some of them is far below the floor."""
    home = HOMES['gen3_7dof']
    loop = ClosedLoop(robot='gen3_7dof', start=home)
    loop.controller.update({'modes.down.path': 'any'})
    loop.go('down', 1e-3)
    goal = SE3(loop.placement.rotation, [0.4, 0.0, 0.06])
    with pytest.raises(ClearanceError) as refused:
        loop.controller.set_target_pose(goal)
    arm = loop.controller.config.arm
    data = arm.model.create_data()
    postures = inverse_kinematics_solutions(arm.model, data, arm.frame, goal, home)
    geometry = Geometry('gen3_7dof')
    lowest = [min(geometry.nearest([q], (link, 'floor')) for link in LINKS_7DOF) for q in postures]
    assert min(lowest) < max(lowest) - 0.01
    assert refused.value.value == pytest.approx(max(lowest), abs=1e-3)


def test_a_start_that_is_too_near_is_said_and_may_be_left():
    """The floor is raised under the tool."""
    loop = ClosedLoop(start=ABOVE_FLOOR, floor_height=[0.025])
    (event,) = loop.controller.take_events()
    assert event.level == 'error'
    assert 'bracelet_link and floor 0.0145 m apart; at least 0.02 m' in event.text
    loop.go('gravity', 0.2)
    assert not loop.controller.torque_terms['repulsion'].any()
    lower = ABOVE_FLOOR + [0.0, 0.01, 0.0, 0.0, 0.0, 0.0]
    loop.go('hold', 0.1)
    loop.controller.update({'modes.home.target_deg': np.degrees(lower).tolist()})
    with pytest.raises(ClearanceError, match='bracelet_link and floor'):
        loop.controller.select('home')
    loop.controller.update({'modes.home.target_deg': np.degrees(HOME).tolist()})
    loop.go('home', 5.0)
    np.testing.assert_allclose(loop.q, HOME, atol=1e-9)


def test_clearance_is_changed_while_the_controller_runs():
    loop = ClosedLoop(start=ABOVE_FLOOR)
    with pytest.raises(ClearanceError, match='bracelet_link and floor .* at least 0.045 m'):
        loop.controller.update({'clearance': 0.045})
    assert loop.controller.config.values.clearance == CLEARANCE
    loop.go('home', 0.1)
    loop.controller.update({'clearance': 0.0})
    loop.controller.set_target_joints(INTO_FLOOR)


def test_an_arm_far_from_everything_moves_as_without_clearance():
    """To the last bit."""
    runs = []
    for clearance in (0.0, CLEARANCE):
        loop = ClosedLoop(start=HOME, clearance=clearance)
        for mode in ('ready', 'down', 'gravity', 'float', 'impedance'):
            loop.go(mode, 0.1)
            loop.world.push('bracelet_link', np.array([3.0, 4.0, 5.0, 0.0, 0.0, 0.0]))
            runs.append(loop.run(100)['torque'])
    half = len(runs) // 2
    assert np.array_equal(runs[:half], runs[half:])


@pytest.mark.parametrize(('limit', 'length'), [(2.0, 2.0), (1e9, 10.0)])
def test_a_sliding_joint_with_limits_that_mean_none_goes_as_far_as_one_without(limit, length):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    inside = f'<limit lower="{-limit}" upper="{limit}" effort="10" velocity="1"/>'
    names = ('a', 'b', 'c')
    text = robot(
        *(link(name, com='0.1 0 0', shape=ball) for name in names),
        joint('turn', 'continuous', 'base', 'a', inside=inside),
        joint('slide', 'prismatic', 'a', 'b', xyz='0.5 0 0', axis='1 0 0', inside=inside),
        joint('wrist', 'continuous', 'b', 'c', xyz='0.5 0 0', inside=inside),
    ).replace('<link name="base"/>', f'<link name="base">{ball}</link>')
    clearance = Clearance(load_urdf(text), load_collision_shapes(text), None, 0.01)
    pair = list(clearance.pairs.names).index(('base', 'c'))
    np.testing.assert_allclose(clearance.reach[pair], [1.1 + length, 1.0, 0.1], atol=0.01)


def repelled(arm: Arm, found, margin, J, v, M) -> np.ndarray:
    """The torque by the equation of the docs, of all pairs."""
    torque = np.zeros(arm.nv)
    levers = (arm.clearance.reach / arm.model.effort_limit).max(axis=1)
    for k in np.flatnonzero(margin > found):
        largest = min(1.0 / levers[k], LARGEST_FORCE)
        share = min((margin[k] - found[k]) / CLEARANCE, 1.0)
        inertia = 1.0 / (J[k] @ np.linalg.solve(M, J[k]))
        damping = 2.0 * np.sqrt(2.0 * largest * share / CLEARANCE * inertia)
        force = largest * share**2 - min(damping, 0.5 * inertia / 1e-3) * (J[k] @ v)
        torque += min(max(force, 0.0), largest) * J[k]
    return torque


@pytest.mark.slow
@pytest.mark.parametrize('robot', HOMES)
def test_no_pair_within_the_clearance_goes_unmeasured(robot):
    """Beside all distances at every step of random motions, whose steps are 1e-4 to 0.1 rad."""
    arm, rng = arm_of(robot, CLEARANCE), np.random.default_rng(5)
    model, pairs, data = arm.model, arm.clearance.pairs.copy(), arm.model.create_data()
    q, v, torque = (np.zeros(arm.nv) for _ in range(3))
    M = np.eye(arm.nv)
    watch = np.empty((3, arm.nv))
    repulsion = Repulsion(arm.clearance, 1e-3, q, v, M, torque, watch)
    acting = passed = 0
    for _ in range(12):
        q[:], goal = (model.random_configuration(rng) for _ in range(2))
        repulsion.begin()
        margin = np.full(len(pairs), -np.inf)
        while np.abs(goal - q).max() > 1e-3:
            v[:], root = rng.normal(size=arm.nv), rng.normal(size=(arm.nv, arm.nv))
            M[:] = root @ root.T + np.eye(arm.nv)
            forward_kinematics(model, data, q)
            found = distance(model, data, pairs)
            margin = np.minimum(np.maximum(margin, found), CLEARANCE)
            far = not may_be_near(watch, q)
            acts = not far and repulsion.write()
            assert acts == (margin > found).any()
            if acts:
                J = distance_jacobian(model, data, pairs)
                expected = repelled(arm, found, margin, J, v, M)
                np.testing.assert_allclose(torque, expected, rtol=1e-9, atol=1e-9)
            acting, passed = acting + acts, passed + far
            step = 10.0 ** rng.uniform(-4.0, -1.0)
            q += np.clip(goal - q, -step, step) + 1e-5 * rng.normal(size=arm.nv)
    assert acting > 100
    assert passed > 100


def check_pushes(mode: str, start, seconds: float) -> None:
    """Pushes at random, renewed every 0.3 s, such as the motors of a stretched arm can bear."""
    loop, rng = ClosedLoop(start=start), np.random.default_rng(1)
    loop.go(mode, 0.01)
    links = ['bracelet_link', 'spherical_wrist_1_link', 'forearm_link']
    work, works, push, v = 0.0, [], None, loop.world.velocity.copy()

    def push_at_random() -> None:
        nonlocal work, push, v
        assert not loop.touches
        # What the last torque has done while the plant took its step.
        torque, before = loop.controller.torque_terms['repulsion'], v
        v = loop.world.velocity.copy()
        work += 0.5e-3 * torque @ (before + v)
        works.append(work)
        # One pair takes no joint beyond its effort limit; three may be near the floor.
        assert (np.abs(torque) <= 3.0 * loop.model.effort_limit).all()
        if (len(works) - 1) % 300 == 0:
            if push is not None:
                loop.world.clear_push(push[0])
            force = rng.normal(size=3)
            force *= rng.uniform(0.0, 6.0) / np.linalg.norm(force)
            push = links[rng.integers(3)], force - [0.0, 0.0, 8.0]
        R = loop.world.data.body(push[0]).xmat.reshape(3, 3)
        loop.world.push(push[0], np.concatenate([R.T @ push[1], np.zeros(3)]))

    loop.run(round(1e3 * seconds), push_at_random)
    assert loop.controller.mode == mode
    assert min(works) < -1e-6, 'nothing came near'
    assert max(works) <= 1e-9


STARTS = {'floor': ABOVE_FLOOR + [0.0, 0.014, 0.0, 0.0, 0.0, 0.0], 'base': AT_BASE}


@pytest.mark.slow
@pytest.mark.parametrize('near', STARTS)
@pytest.mark.parametrize('mode', ['float', 'impedance', 'gravity'])
def test_a_pushed_arm_that_yields_touches_nothing(mode, near):
    check_pushes(mode, STARTS[near], 2.0)


@pytest.mark.long
@pytest.mark.parametrize('near', STARTS)
@pytest.mark.parametrize('mode', ['float', 'impedance'])
def test_an_arm_that_is_pushed_for_a_minute_touches_nothing(mode, near):
    check_pushes(mode, STARTS[near], 60.0)
