"""What a new user does with an arm, by the command line alone, and what came of it.

`python test/support/arm_trial.py` runs it for the robots of `example-robot-data`, and writes the
table of docs/extending.md; with arguments such as `arm.urdf other.urdf,tool_link` for other URDFs.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from example_robots import ROBOTS
from geometry_msgs.msg import PoseStamped
from ros_processes import ICIR_CONTROL, Newest, RosGraph
from sensor_msgs.msg import JointState
from state_source import stamp_of
from std_msgs.msg import String

PIXELS = 200
"""Of 640 x 480 that an arm takes at least."""

MODES = {'h': 'home', 'a': 'ready', 'v': 'float', 'i': 'impedance', 'j': 'jog', 'k': 'down'}
STILL = 1e-7  # rad/s or m/s
LONGEST = 60.0  # s of simulation until a motion is over
DOWN = np.array([0.0, 0.0, -0.05])  # m, of the mode `down`


@dataclass(frozen=True)
class Arm:
    """An arm within a URDF."""

    urdf: Path
    end: str = ''
    base: str = ''
    refusal: str = ''
    """What is wrong with the file, as an expression that the refusal matches."""

    @property
    def options(self) -> list[str]:
        """Of the command line."""
        named = {'--end-effector-frame': self.end, '--base-frame': self.base}
        return [word for option, value in named.items() if value for word in (option, value)]

    def __str__(self) -> str:
        return f'{self.urdf.stem}{self.end and ":"}{self.end}'


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        joints: How many the arm has.
        refused: Why nothing could be started; empty where it could.
        faults: What did not work.
        error: Greatest distance of the tool from its reference during `down` [m].
    """

    joints: int = 0
    refused: str = ''
    faults: list[str] = field(default_factory=list)
    error: float | None = None


class Trial:
    """One session with an arm: the command line and its keys, and somebody who watches."""

    def __init__(self, graph: RosGraph, arm: Arm) -> None:
        """Start it."""
        self.outcome = Outcome()
        self._sim = graph.run(
            [*ICIR_CONTROL, 'sim', '--model', str(arm.urdf), *arm.options]
            + ['--viewer', 'none', '--real-time-factor', '0', '--default-effort', '100'],
            terminal=True,
        )
        self._observer = observer = graph.observer()
        observer.pause = 0.005
        self._states = Newest(observer, JointState, 'joint_states')
        self._mode = ''
        self._answers: list[DiagnosticStatus] = []
        self._poses: dict[int, np.ndarray] = {}
        self._references: dict[int, np.ndarray] = {}

        def take_mode(message: String) -> None:
            self._mode = message.data

        def kept(poses: dict[int, np.ndarray]):
            def keep(message: PoseStamped) -> None:
                p = message.pose.position
                poses[stamp_of(message)] = np.array([p.x, p.y, p.z])

            return keep

        observer.create_subscription(String, 'controller/mode', take_mode, 10)
        observer.create_subscription(
            DiagnosticStatus, 'controller/motion_status', self._answers.append, 10
        )
        for name, poses in (('current', self._poses), ('reference', self._references)):
            observer.create_subscription(PoseStamped, f'controller/{name}_pose', kept(poses), 10)

    def run(self) -> Outcome:
        """Press the keys one after the other."""
        outcome, sim = self.outcome, self._sim
        ready = re.compile(r'(?s)home +joint.*q +quit')
        self._observer.spin_until(
            lambda: (
                (ready.search(sim.output) and self._poses and self._states.has_arrived())
                or not sim.running
            )
        )
        if not sim.running:
            outcome.refused = _cause(sim.output)
            return outcome
        outcome.joints = len(self._states.message.name)
        if 'no other start is taken' in sim.output:
            outcome.faults.append('starts in contact')
        self._expect('home', 'h')
        self._expect('float', 'v', still=False)
        self._expect('impedance', 'i', still=False)
        self._expect('home', 'h')
        self._expect('ready', 'a')
        self._expect('home', 'h')
        self._expect('joint jog', '1.', moves=True)
        self._expect('home', 'h')
        faults = list(outcome.faults)
        for axis in 'xyz':  # some move in a plane
            outcome.faults = list(faults)
            if self._expect('tool jog', f'j{axis}', moves=True):
                break
        if outcome.joints < 3 and 'out of reach' in ''.join(outcome.faults):
            outcome.faults = faults  # some move on a curve
        if outcome.joints >= 6:
            self._expect('home', 'h')
            self._go_down()
        sim.type('q')
        if sim.wait() != 0:
            outcome.faults.append('ends with an error')
        return outcome

    def _expect(self, what: str, keys: str, *, still: bool = True, moves: bool = False) -> bool:
        """Press keys; note what is refused, does not come to rest, or does not move."""
        mode = MODES.get(keys[0])
        before = np.array(self._states.message.position)
        for key in keys:
            answered, start = len(self._answers), len(self._sim.output)
            self._sim.type(key)
            if key == '1':
                self._sim.wait_for('joint 1 is ')
                continue
            self._observer.spin_until(lambda n=answered: self._decided(n) or self._over)
            if self._over:
                self.outcome.faults.append(f'{what}: the session ended')
                return False
            answer = self._decided(answered)[0]
            if answer.message != 'accepted':
                self.outcome.faults.append(f'{what} refused: {answer.message}')
                return False
            if key in MODES:  # the keyboard knows that the mode runs
                self._sim.wait_for(f'(?m)^{MODES[key]}$', start=start)
        begin = self._time
        # On a busy machine the mode may arrive here after states of the motion.
        self._observer.spin_until(
            lambda: (
                (self._time > begin + 0.3 and self._mode == (mode or self._mode))
                or self._time > begin + LONGEST
                or self._over
            )
        )
        if still:
            self._observer.spin_until(
                lambda: self._rests or self._time > begin + LONGEST or self._over
            )
        if self._over:
            self.outcome.faults.append(f'{what}: the session ended')
            return False
        if still and not self._rests:
            self.outcome.faults.append(f'{what}: still moving after {LONGEST:g} s')
        if mode and self._mode != mode:
            self.outcome.faults.append(f'{what}: left for {self._mode or "no mode"}')
            return False
        if moves and np.abs(np.array(self._states.message.position) - before).max() < 1e-4:
            self.outcome.faults.append(f'{what}: does not move')
        return True

    def _go_down(self) -> None:
        self._poses.clear()
        self._references.clear()
        start = self._tool()
        self._references.clear()
        if not self._expect('down', 'k'):
            return
        way = self._tool() - start
        if np.abs(way - DOWN).max() > 1e-6:
            self.outcome.faults.append(f'down: moved by {np.round(way, 4).tolist()} m')
        both = self._poses.keys() & self._references.keys()
        errors = [self._poses[stamp] - self._references[stamp] for stamp in both]
        self.outcome.error = float(np.linalg.norm(errors, axis=1).max())

    def _tool(self) -> np.ndarray:
        """Return where the tool is, from a pose of later than now."""
        now = max(stamp_of(self._states.message), *self._poses, 0, 0)
        self._observer.spin_until(lambda: max(self._poses, default=0) > now or self._over)
        return self._poses[max(self._poses)]

    def _decided(self, first: int) -> list[DiagnosticStatus]:
        """Return the answers to requests, from a number on; the ends of motions are none."""
        answers = self._answers[first:]
        return [one for one in answers if _outcome(one) in ('accepted', 'refused')]

    @property
    def _over(self) -> bool:
        # After it has diverged, time stands still.
        return not self._sim.running or 'the simulation diverged' in self._sim.output

    @property
    def _time(self) -> float:
        return stamp_of(self._states.message) * 1e-9

    @property
    def _rests(self) -> bool:
        return float(np.abs(self._states.message.velocity).max()) < STILL


def _outcome(status: DiagnosticStatus) -> str:
    return next(value.value for value in status.values if value.key == 'outcome')


def _cause(output: str) -> str:
    """Return the sentence by which a session refuses to start."""
    plain = re.sub(r'\x1b\[\d*m', '', output)
    found = re.findall(r'(?m)^(?:mujoco_bridge|controller) +(?!\[)(.*: .*)$', plain)
    return (found or plain.splitlines())[0].strip()


def pixels(arm: Arm) -> int | None:
    """Return how many pixels of 640 x 480 show the robot; None where there is no OpenGL."""
    command = [sys.executable, __file__, '--pixels', str(arm.urdf), arm.end, arm.base]
    environment = os.environ | {'MUJOCO_GL': 'egl'}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True)
    return int(answer.stdout) if answer.returncode == 0 else None


def _print_pixels(urdf: str, end: str, base: str) -> None:
    import mujoco

    from icir_control.dynamics import KinematicTree, load_urdf
    from icir_control.simulation import World

    chain = KinematicTree(urdf).chain(base, end)
    options = {'locked': chain.held, 'default_effort': 100.0}
    model = load_urdf(urdf, **options)
    end = chain.end_effector_frame or [f.name for f in model.frames if f.type.value == 'body'][-1]
    world = World(urdf, joint_names=model.joint_names, end_effector_frame=end, **options)
    with mujoco.Renderer(world.model, 480, 640) as renderer:
        renderer.enable_segmentation_rendering()
        camera = mujoco.MjvCamera()
        mujoco.mjv_defaultFreeCamera(world.model, camera)
        renderer.update_scene(world.data, camera)
        ids, kinds = renderer.render().transpose(2, 0, 1)
    ids = ids[kinds == mujoco.mjtObj.mjOBJ_GEOM]
    print(int((world.model.geom_bodyid[ids] > 0).sum()))


def row(arm: Arm, outcome: Outcome, seen: int | None) -> str:
    """Return a row of the table."""
    if outcome.refused:
        return f'| {arm.urdf.stem} | {arm.end or "found"} | | | refused: {outcome.refused} |'
    faults = list(outcome.faults)
    if seen is not None and seen < PIXELS:
        faults.insert(0, 'invisible')
    error = '' if outcome.error is None else f'{outcome.error:.0e}'
    result = '; '.join(faults) or 'all'
    return f'| {arm.urdf.stem} | {arm.end or "found"} | {outcome.joints} | {error} | {result} |'


def _example(path: str, end: str = '', base: str = '', refusal: str = '') -> Arm:
    return Arm(ROBOTS / path, end, base, refusal)


EXAMPLES = (
    _example('panda_description/urdf/panda.urdf'),
    _example('ur_description/urdf/ur3_robot.urdf'),
    _example('ur_description/urdf/ur3_gripper.urdf'),
    _example('ur_description/urdf/ur5_robot.urdf'),
    _example('ur_description/urdf/ur5_gripper.urdf'),
    _example('ur_description/urdf/ur10_robot.urdf'),
    _example('xarm_description/urdf/xarm7.urdf'),
    _example('kinova_description/robots/kinova.urdf'),
    _example('z1_description/urdf/z1.urdf'),
    _example('so_arm_description/urdf/so100.urdf'),
    _example('so_arm_description/urdf/so101.urdf'),
    _example('talos_data/robots/talos_left_arm.urdf'),
    _example('talos_data/robots/talos_full_v2.urdf', 'gripper_left_base_link', 'torso_2_link'),
    _example('tiago_description/robots/tiago.urdf', 'arm_tool_link'),
    _example('tiago_description/robots/tiago_no_hand.urdf', 'wrist_ft_tool_link'),
    _example('tiago_description/robots/tiago_dual.urdf', 'arm_left_7_link', 'torso_lift_link'),
    _example('tiago_pro_description/robots/tiago_pro.urdf', 'arm_left_tool_link'),
    _example('baxter_description/urdf/baxter.urdf', 'left_gripper'),
    _example('pr2_description/urdf/pr2.urdf', 'l_gripper_tool_frame', 'torso_lift_link'),
    _example('icub_description/robots/icub.urdf', 'l_hand_dh_frame', 'chest'),
    _example('romeo_description/urdf/romeo.urdf', 'l_wrist'),
    _example('centauro_description/urdf/centauro.urdf', 'arm1_8'),
    _example('g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf', 'left_wrist_yaw_link'),
    _example('simple_humanoid_description/urdf/simple_humanoid.urdf', 'l_wrist', 'torso'),
    _example('alex_description/urdf/alex_nub_hands.urdf', 'leftNub', 'Torso'),
    _example('alex_description/urdf/alex_psyonic_hands.urdf', refusal='mimic.*no other joint has'),
    _example('anymal_b_simple_description/robots/anymal-kinova.urdf', 'j2s6s200_end_effector'),
    _example('b1_description/urdf/b1-z1.urdf', 'gripperMover'),
    _example('borinot_description/urdf/borinot_flying_arm_2.urdf'),
    _example('hextilt_description/urdf/hextilt_flying_arm_5.urdf'),
    _example('asr_twodof_description/urdf/TwoDofs.urdf'),
    _example('double_pendulum_description/urdf/double_pendulum.urdf'),
    _example('allegro_hand_description/urdf/allegro_left_hand.urdf', 'link_3.0_tip'),
    _example('allegro_hand_description/urdf/allegro_right_hand.urdf', 'link_15.0_tip'),
    _example('finger_edu_description/robots/finger_edu.urdf'),
    _example('human_description/robots/human.urdf', 'left_hand', 'middle_thorax'),
    _example('a1_description/urdf/a1.urdf', 'FL_foot'),
    _example('anymal_b_simple_description/robots/anymal.urdf', 'LF_FOOT'),
    _example('anymal_c_simple_description/urdf/anymal.urdf', 'LF_FOOT'),
    _example('b1_description/urdf/b1.urdf', 'FL_foot'),
    _example('bolt_description/robots/bolt.urdf', 'FL_FOOT'),
    _example('go1_description/urdf/go1.urdf', 'FL_foot'),
    _example('go2_description/urdf/go2.urdf', 'FL_foot'),
    _example('hyq_description/robots/hyq_no_sensors.urdf', 'lf_foot'),
    _example('laikago_description/urdf/laikago.urdf', 'FL_foot'),
    _example('quadruped_description/urdf/quadruped.urdf', 'FL_contact'),
    _example('solo_description/robots/solo.urdf', 'FL_FOOT'),
    _example('solo_description/robots/solo12.urdf', 'FL_FOOT'),
    _example('alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf', 'LEFT_FOOT_IMU_LINK'),
)
"""One of each: arms, hands, legs."""


def main(arguments: list[str]) -> None:
    """Print the table, row by row."""
    if arguments[:1] == ['--pixels']:
        _print_pixels(*arguments[1:])
        return
    given = [argument.split(',') for argument in arguments]
    arms = [Arm(Path(path), *frames) for path, *frames in given] or EXAMPLES
    print('| URDF | end effector | joints | error of `down` [m] | outcome |')
    print('|---|---|---|---|---|')
    for arm in arms:
        with tempfile.TemporaryDirectory() as logs, RosGraph(Path(logs)) as graph:
            outcome = Trial(graph, arm).run()
        seen = None if outcome.refused else pixels(arm)
        print(row(arm, outcome, seen), flush=True)


if __name__ == '__main__':
    main(sys.argv[1:])
