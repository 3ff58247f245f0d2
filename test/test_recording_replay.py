"""A recording run again, and published again."""

import random
import re

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from recorded_run import write_run
from ros_processes import ICIR_CONTROL, Newest
from sensor_msgs.msg import JointState
from state_source import stamp_of
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from icir_control.app.main import replay_command
from icir_control.app.recording.reader import Recording, RecordingError
from icir_control.app.recording.replay import Rerun, publish
from icir_control.errors import InvalidValueError
from icir_control.nodes.transport.qos import LATCHED

LONG = (pytest.mark.long, pytest.mark.timeout(7200))


class Stranger:
    """A node that does anything that may be done to a session while it runs, at any time."""

    def __init__(self, graph, sim, seed: int) -> None:
        self.sim = sim
        self.observer = graph.observer()
        self.observer.pause = 0.002
        self.newest = Newest(self.observer, JointState, 'joint_states')
        self.observer.spin_until(self.newest.has_arrived)
        self.rng = random.Random(seed)
        self.pushes = self.publisher(WrenchStamped, 'mujoco_bridge/external_wrench')
        self.joints = self.publisher(JointState, 'controller/target_joints')
        self.poses = self.publisher(PoseStamped, 'controller/target_pose')
        self.trajectories = self.publisher(JointTrajectory, 'controller/joint_trajectory')
        self.push_message = WrenchStamped()

    def publisher(self, kind, topic):
        """A publisher that the node and the recorder have found."""
        publisher = self.observer.create_publisher(kind, topic, 10)
        self.observer.spin_until(lambda: publisher.get_subscription_count() >= 2, what=topic)
        return publisher

    @property
    def time(self) -> float:
        return stamp_of(self.newest.message) * 1e-9

    def wait(self, seconds: float) -> None:
        """Wait for a while of simulation time."""
        until = self.time + seconds
        self.observer.spin_until(lambda: self.time >= until)

    def numbers(self, count: int, most: float) -> list[float]:
        return [self.rng.uniform(-most, most) for _ in range(count)]

    def set(self, node: str, name: str, value) -> bool:
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        return self.observer.call(SetParameters, f'{node}/set_parameters', request).results[0]

    def type(self) -> None:
        """A burst of keys: modes, steps of tool and joints, speed."""
        keys = 'hhhakvigj' + 'xXyYzZrRpPwW' + '123456.,' + 't[]-+'
        self.sim.type(''.join(self.rng.choices(keys, k=self.rng.randint(1, 4))))

    def push(self) -> None:
        """A push; the same again, a newer one, one that is due later, or one that is refused."""
        message = self.push_message
        if self.rng.random() < 0.6:
            message.header.frame_id = self.rng.choice(
                ['end_effector_link', 'forearm_link', 'bicep_link', 'no_such_link']
            )
            force = message.wrench.force
            force.x, force.y, force.z = self.numbers(3, 20.0)
            message.header.stamp.sec = self.rng.choice([0, 0, 0, int(self.time) + 1])
        self.pushes.publish(message)

    def target(self) -> None:
        """One or two postures, the second at once: nobody knows which of them counts."""
        names = list(self.newest.message.name)
        self.rng.shuffle(names)
        for _ in range(self.rng.randint(1, 2)):
            self.joints.publish(JointState(name=names, position=self.numbers(len(names), 0.6)))

    def pose(self) -> None:
        message = PoseStamped()
        p, o = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = 0.4, *self.numbers(2, 0.3)
        o.x, o.y, o.z, o.w = self.numbers(4, 1.0)
        self.poses.publish(message)

    def trajectory(self) -> None:
        point = JointTrajectoryPoint(positions=self.numbers(6, 0.5))
        point.time_from_start.sec = 2
        names = list(self.newest.message.name)
        self.trajectories.publish(JointTrajectory(joint_names=names, points=[point]))

    def change(self) -> None:
        """A parameter of either node; some values are refused."""
        self.set(
            *self.rng.choice(
                [
                    ('controller', 'joint_gains.kp', [self.rng.uniform(2e4, 5e4)] * 6),
                    ('controller', 'task_gains.kp', [self.rng.uniform(2e3, 8e3)] * 6),
                    ('controller', 'modes.home.duration', self.rng.uniform(-0.5, 2.0)),
                    ('controller', 'speed_scale', self.rng.uniform(0.5, 1.0)),
                    ('mujoco_bridge', 'external_wrench_hold', self.rng.uniform(0.02, 0.3)),
                ]
            )
        )

    def pause(self) -> None:
        """Time stands still; a state is answered again and again with the command from before."""
        service = 'mujoco_bridge/pause'
        assert self.observer.call(SetBool, service, SetBool.Request(data=True)).success
        self.type()
        if self.rng.random() < 0.5:
            self.observer.call(Trigger, 'mujoco_bridge/step')
        answers = Newest(self.observer, JointState, 'joint_commands')
        self.observer.spin_until(answers.has_arrived)
        assert self.observer.call(SetBool, service, SetBool.Request(data=False)).success


def record_session(graph, path, seconds: float, seed: int) -> None:
    """Anything at whatever tick it comes, for so much simulation time."""
    command = ('sim', '--viewer', 'none', '--real-time-factor', '0', '--record', str(path))
    sim = graph.run([*ICIR_CONTROL, *command], terminal=True)
    sim.wait_for('q +quit')
    # A mode is refused before the first state.
    sim.wait_for('in mode gravity')
    stranger = Stranger(graph, sim, seed)
    acts = [stranger.type] * 3 + [stranger.push] * 3
    acts += [stranger.target, stranger.pose, stranger.trajectory, stranger.change, stranger.pause]
    end = stranger.time + seconds
    for act in {act.__name__: act for act in acts}.values():
        act()
    while stranger.time < end:
        stranger.rng.choice(acts)()
        stranger.wait(stranger.rng.uniform(0.0, 0.5))
    # Under the last push the watchdog might brake an arm in `gravity`; and it may brake one now.
    call = stranger.observer.call
    stranger.observer.spin_until(lambda: call(Trigger, 'controller/modes/hold').success)
    stranger.push_message.header.frame_id = 'end_effector_link'
    stranger.push_message.header.stamp.sec = 0
    for _ in range(5):  # the same for longer than it is held
        stranger.pushes.publish(stranger.push_message)
        stranger.wait(0.02)
    shown = len(sim.output)
    sim.type('v')
    sim.wait_for('(?m)^float', start=shown)
    stranger.wait(0.2)
    sim.type('q')
    assert sim.wait(20.0) == 0
    sim.wait_for(r'states \(0 missing\)')


@pytest.mark.parametrize(
    ('seconds', 'seed'),
    [
        pytest.param(2.0, 1, marks=pytest.mark.slow),
        *(pytest.param(300.0, n, marks=LONG) for n in (2, 3)),
    ],
)
def test_a_session_simulated_again_is_the_same_to_the_last_bit(
    ros_graph, tmp_path, capsys, seconds, seed
):
    path = tmp_path / 'run.mcap'
    record_session(ros_graph, path, seconds, seed)
    recording = Recording(path)
    assert any(wrench.any() for _, _, wrench in recording.wrenches)
    assert [span.name for span in recording.modes][-1] == 'float'
    replay_command(path, simulate=True)
    assert f'identical to the last bit: {len(recording.states)} states' in capsys.readouterr().out
    if seconds < 10.0:  # each wrong guess begins anew
        # A recorder that found the controller late has no commands to tell by when requests came.
        recording.messages['joint_commands'] = ()
        # Two trajectories within the time in which the first is planned; both say "at once".
        trajectories = recording.messages['controller/joint_trajectory']
        raws = [*(one.raw for one in trajectories[1:]), trajectories[0].raw]
        later = [
            one._replace(raw=raw, sent_ns=one.sent_ns + 1)
            for one, raw in zip(trajectories, raws, strict=True)
        ]
        assert len(set(raws)) == len(raws) > 1
        recording.messages['controller/joint_trajectory'] = [
            one for pair in zip(trajectories, later, strict=True) for one in pair
        ]
        assert Rerun(recording).run() is None
    # It is no comparison of a file with itself: one bit of one state is found.
    row = len(recording.states) // 2
    velocity = recording.states['velocity']
    velocity[row, 3] = np.nextafter(velocity[row, 3], 1.0)
    difference = Rerun(recording).run()
    assert difference.column == 'velocity'
    assert difference.time == recording.states.time[row]


def test_what_is_no_run_from_its_start_on_is_refused(tmp_path):
    write_run(tmp_path / 'run.mcap', (('gravity', 5),))
    with pytest.raises(
        RecordingError,
        match='begins at 0.001 s, not at the start.*; expected a recording from the',
    ):
        Rerun(Recording(tmp_path / 'run.mcap'))


@pytest.mark.slow
def test_a_reset_ends_what_can_be_simulated_again(ros_graph, tmp_path):
    path = tmp_path / 'run.mcap'
    command = ('sim', '--viewer', 'none', '--real-time-factor', '1', '--record', str(path))
    sim = ros_graph.run([*ICIR_CONTROL, *command], terminal=True)
    sim.wait_for('q +quit')
    sim.wait_for('in mode gravity')
    observer = ros_graph.observer()
    newest = Newest(observer, JointState, 'joint_states')
    sim.type('h')
    observer.spin_until(lambda: newest.has_arrived() and newest.message.position[1] > 0.1)
    assert observer.call(Trigger, 'mujoco_bridge/reset').success
    observer.spin_until(lambda: newest.message.position[1] < 0.1)
    sim.type('q')
    assert sim.wait(20.0) == 0
    (reset,) = Recording(path).resets
    words = f'identical to the last bit up to its reset at {reset:.3f} s, which a simulation does'
    with pytest.raises(RecordingError, match=re.escape(words)):
        Rerun(Recording(path)).run()


@pytest.mark.parametrize('rate', ['inf', 'nan'])
def test_a_rate_is_a_finite_number(tmp_path, rate):
    write_run(tmp_path / 'run.mcap', (('gravity', 5),))
    with pytest.raises(InvalidValueError, match=f'rate = {rate} is not valid'):
        publish(Recording(tmp_path / 'run.mcap'), float(rate))


@pytest.mark.slow
def test_a_recording_is_published_at_its_pace(ros_graph, tmp_path):
    path = tmp_path / 'run.mcap'
    rows = write_run(path, (('gravity', 50), ('home', 250)))
    observer = ros_graph.observer()
    states, sent, modes, models = {}, {}, [], []

    def keep(message, info):
        stamp = stamp_of(message)
        states[stamp], sent[stamp] = message, info['source_timestamp']

    observer.create_subscription(JointState, 'joint_states', keep, 1000)
    observer.create_subscription(String, 'controller/mode', lambda m: modes.append(m.data), 10)
    observer.create_subscription(
        String, 'robot_description', lambda m: models.append(m.data), LATCHED
    )
    replay = ros_graph.run([*ICIR_CONTROL, 'replay', str(path), '--rate', '0.2'])
    observer.spin_until(lambda: not replay.running)
    assert replay.wait() == 0
    observer.spin_until(lambda: len(states) > 1 and modes[-1:] == ['home'] and models)
    # On a busy machine some are lost, and none is early.
    first, last = min(states), max(states)
    assert sent[last] - sent[first] > 0.5 * (last - first) / 0.2
    assert last - first > 150_000_000
    for stamp, state in states.items():
        np.testing.assert_array_equal(state.position, rows[stamp // 1_000_000 - 1][0])
    assert '<robot name="gen3_6dof"' in models[0]


@pytest.mark.slow
def test_it_does_not_speak_where_a_simulation_runs(ros_graph, tmp_path):
    path = tmp_path / 'run.mcap'
    write_run(path, (('gravity', 5),))
    observer = ros_graph.observer()
    observer.create_publisher(JointState, 'joint_states', 1)
    replay = ros_graph.run([*ICIR_CONTROL, 'replay', str(path)])
    assert replay.wait() == 2
    assert 'joint_states has a publisher already' in replay.output
    assert 'Traceback' not in replay.output
