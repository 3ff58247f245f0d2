"""The fixtures that run real processes: they must see what happens, and clean up after it."""

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from ros_processes import RosGraph
from std_msgs.msg import String
from wall_time import slowdown

SUPPORT = str(Path(__file__).parent / 'support')

TALKER = """
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node('talker')
publisher = node.create_publisher(String, 'chatter', 10)
node.create_timer(0.05, lambda: publisher.publish(String(data='hello')))
print('talking', flush=True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    print('interrupted', flush=True)
"""


KILLED = """
import signal, os
from pathlib import Path
from fork_server import server
from ros_processes import RosGraph
with RosGraph(Path('logs')) as graph:
    bridge = graph.start('bridge', '--ros-args', '-p', 'viewer:=none')
    bridge.wait_for('time stands still')
    print('node', bridge.pid, flush=True)
    signal.pause()
"""


@pytest.mark.slow
def test_a_process_is_heard_in_its_graph_and_nowhere_else(ros_graph, tmp_path):
    talker = ros_graph.run([sys.executable, '-c', TALKER])
    talker.wait_for('talking')
    heard, foreign = [], []
    observer = ros_graph.observer()
    observer.create_subscription(String, 'chatter', heard.append, 10)
    with RosGraph(tmp_path) as other:
        assert other.domain != ros_graph.domain
        stranger = other.observer()
        stranger.create_subscription(String, 'chatter', foreign.append, 10)
        observer.spin_until(lambda: len(heard) > 3)
        stranger.spin_for(0.3)
    assert heard[0].data == 'hello'
    assert not foreign
    assert talker.stop(signal.SIGINT) == 0
    assert talker.output.endswith('interrupted\n')


def test_typed_keys_arrive_and_control_c_is_a_signal(ros_graph):
    code = 'import sys\nfor line in sys.stdin: print("got", line.strip(), flush=True)'
    reader = ros_graph.run([sys.executable, '-c', code], terminal=True)
    reader.type('one\n')
    reader.wait_for('got one')
    reader.type('\x03')
    assert reader.wait() != 0
    assert 'KeyboardInterrupt' in reader.output


def test_a_closed_terminal_hangs_up(ros_graph):
    code = 'print("up", flush=True)\nimport time\ntime.sleep(60)'
    sleeper = ros_graph.run([sys.executable, '-c', code], terminal=True)
    sleeper.wait_for('up')
    sleeper.hang_up()
    assert sleeper.wait() == -signal.SIGHUP


def test_what_is_never_said_fails_with_all_that_was_said(ros_graph):
    speaker = ros_graph.run([sys.executable, '-c', 'print("only this")'])
    with pytest.raises(AssertionError, match='only this'):
        speaker.wait_for('something else')


@pytest.mark.slow
def test_nodes_end_with_the_tests_that_are_killed(ros_graph, tmp_path):
    code = f'import os, sys\nsys.path.insert(0, {SUPPORT!r})\n'
    tests = ros_graph.run([sys.executable, '-c', f'{code}os.chdir({str(tmp_path)!r}){KILLED}'])
    node = int(tests.wait_for(r'node (\d+)').group(1))
    tests.stop(signal.SIGKILL)
    ended = os.pidfd_open(node) if Path(f'/proc/{node}').exists() else None
    if ended is not None:
        with suppress(ProcessLookupError), os.fdopen(ended):
            assert select.select([ended], [], [], 10.0 * slowdown())[0], 'it still runs'
