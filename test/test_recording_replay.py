"""A recording run again, and published again."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from recorded_run import write_run
from ros_processes import ICIR_CONTROL, Newest
from sensor_msgs.msg import JointState
from state_source import stamp_of
from std_msgs.msg import String
from std_srvs.srv import SetBool

from icir_control.app.recording import simulate_again
from icir_control.app.recording.reader import Recording, RecordingError
from icir_control.app.recording.rerun import Rerun
from icir_control.nodes.controller.telemetry import LATCHED


def record_session(graph, path):
    """Keys, a target, changes of gains and pushes, at whatever tick they come."""
    command = ('sim', '--viewer', 'none', '--real-time-factor', '0', '--record', str(path))
    sim = graph.run([*ICIR_CONTROL, *command], terminal=True)
    sim.wait_for('q +quit')
    # A mode is refused before the first state.
    sim.wait_for('in mode gravity')
    observer = graph.observer()
    newest = Newest(observer, JointState, 'joint_states')
    observer.spin_until(newest.has_arrived)
    targets = observer.create_publisher(JointState, 'controller/target_joints', 1)
    pushes = observer.create_publisher(WrenchStamped, 'mujoco_bridge/external_wrench', 10)
    observer.spin_until(lambda: targets.get_subscription_count() >= 2)
    observer.spin_until(lambda: pushes.get_subscription_count() >= 2)

    def change(node, name, value):
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        answer = observer.call(SetParameters, f'{node}/set_parameters', request)
        assert answer.results[0].successful, answer.results[0].reason

    def wait(seconds):
        until = stamp_of(newest.message) * 1e-9 + seconds
        observer.spin_until(lambda: stamp_of(newest.message) * 1e-9 >= until)

    sim.type('h')
    sim.wait_for('(?m)^home')
    wait(0.2)
    change('controller', 'joint_gains.kp', [30000.0] * 6)
    wait(0.1)
    targets.publish(JointState(name=list(newest.message.name), position=[0.1] * 6))
    wait(0.2)
    change('mujoco_bridge', 'external_wrench_hold', 0.15)
    push = WrenchStamped()
    push.header.frame_id = 'end_effector_link'
    push.wrench.force.z = 20.0
    pushes.publish(push)
    wait(0.05)
    push.wrench.force.x = -10.0
    pushes.publish(push)
    wait(0.1)
    # While time stands still the state is answered again and again with the command from before.
    assert observer.call(SetBool, 'mujoco_bridge/pause', SetBool.Request(data=True)).success
    sim.type('v')
    sim.wait_for('(?m)^float')
    answers = Newest(observer, JointState, 'joint_commands')
    observer.spin_until(answers.has_arrived)
    assert observer.call(SetBool, 'mujoco_bridge/pause', SetBool.Request(data=False)).success
    wait(0.2)
    sim.type('q')
    assert sim.wait(20.0) == 0
    sim.wait_for(r'states \(0 missing\)')


def test_a_session_simulated_again_is_the_same_to_the_last_bit(ros_graph, tmp_path, capsys):
    path = tmp_path / 'run.mcap'
    record_session(ros_graph, path)
    recording = Recording(path)
    assert len(recording.wrenches) == 2
    assert [span.name for span in recording.modes][-1] == 'float'
    assert simulate_again(path)
    assert f'identical to the last bit: {len(recording.states)} states' in capsys.readouterr().out
    # A recorder that found the controller late has no commands to tell by when requests came.
    recording.messages['joint_commands'] = ()
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
    with pytest.raises(RecordingError, match='begins at 0.001 s; only a run from its start on'):
        Rerun(Recording(tmp_path / 'run.mcap'))


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


def test_it_does_not_speak_where_a_simulation_runs(ros_graph, tmp_path):
    path = tmp_path / 'run.mcap'
    write_run(path, (('gravity', 5),))
    observer = ros_graph.observer()
    observer.create_publisher(JointState, 'joint_states', 1)
    replay = ros_graph.run([*ICIR_CONTROL, 'replay', str(path)])
    assert replay.wait() == 2
    assert 'joint_states has a publisher already' in replay.output
    assert 'Traceback' not in replay.output
