"""How processes reach each other: soon, through UDP alone, and no further than they are told."""

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from ros_processes import PATIENCE
from wall_time import Stopwatch

from icir_control.errors import ConfigurationError
from icir_control.nodes.process.discovery import (
    check_ports,
    configure_fast_dds,
    is_kept_to_this_machine,
)
from icir_control.share import share_directory

PROFILE = 'FASTDDS_DEFAULT_PROFILES_FILE'
REACH = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
OWN = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com"><profiles>
<participant profile_name="own" is_default_profile="true">
<rtps><name>own</name></rtps></participant>
</profiles></dds>
"""
# A tool such as rviz: a process that takes Fast DDS as ROS sets it up.
TOOL = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('tool')
node.create_subscription(JointState, 'joint_states', lambda _: print('heard', flush=True), 1)
print('ready', flush=True)
rclpy.spin(node)
"""
LAST_OF_32 = 10 + 2 * 31  # where the last process of a domain on this machine listens
ARGUMENTS = ('--ros-args', '--params-file', str(share_directory() / 'config' / 'gen3_6dof.yaml'))


def announcements_of(graph, node: str, seconds: float, environment=None, most=100) -> int:
    """Return how often a node announces itself within a while of the first time, or the most."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(('127.0.0.1', 7400 + 250 * graph.domain + LAST_OF_32))
        listener.settimeout(PATIENCE)
        arguments = () if node == 'keyboard' else ARGUMENTS
        process = graph.start(node, *arguments, terminal=True, environment=environment)
        assert listener.recv(65536).startswith(b'RTPS')
        count, watch = 1, Stopwatch()
        listener.settimeout(0.1)
        while count < most and not watch.is_over(seconds):
            with suppress(TimeoutError):
                listener.recv(65536)
                count += 1
        assert process.running, process.output
        return count


@pytest.mark.slow
@pytest.mark.parametrize('node', ['bridge', 'controller', 'keyboard'])
def test_a_node_announces_itself_for_seconds(ros_graph, node):
    assert announcements_of(ros_graph, node, 3.0, most=16) == 16


@pytest.mark.slow
def test_a_profile_of_the_users_own_stands(ros_graph, tmp_path):
    (tmp_path / 'own.xml').write_text(OWN)
    environment = {PROFILE: str(tmp_path / 'own.xml')}
    watch = Stopwatch()
    count = announcements_of(ros_graph, 'bridge', 2.5, environment)
    assert 1 < count < 10 * watch.slowdown


def places_of(process) -> set[str]:
    """Return the addresses at which a process of this machine hears UDP."""
    inodes = set()
    for entry in Path(f'/proc/{process.pid}/fd').iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            link = os.readlink(entry)
            inodes.add(link.removeprefix('socket:[').removesuffix(']'))
    rows = [line.split() for line in Path('/proc/net/udp').read_text().splitlines()[1:]]
    packed = {row[1].partition(':')[0] for row in rows if row[9] in inodes}
    return {socket.inet_ntoa(bytes.fromhex(word)[::-1]) for word in packed}


@pytest.mark.slow
@pytest.mark.parametrize('node', ['bridge', 'controller', 'keyboard'])
@pytest.mark.parametrize('reach', ['LOCALHOST', 'SUBNET'])
def test_a_node_shares_no_memory_and_hears_as_far_as_it_is_told(ros_graph, node, reach):
    arguments = () if node == 'keyboard' else ARGUMENTS
    environment = {'ROS_AUTOMATIC_DISCOVERY_RANGE': reach}
    process = ros_graph.start(node, *arguments, terminal=True, environment=environment)
    is_local = reach == 'LOCALHOST'
    observer = ros_graph.observer()
    name = {'bridge': 'mujoco_bridge'}.get(node, node)
    observer.spin_until(lambda: name in observer.get_node_names(), what=f'the node {name}')
    assert '/dev/shm/fast' not in Path(f'/proc/{process.pid}/maps').read_text()
    places = places_of(process)
    assert places
    assert (places == {'127.0.0.1'}) is is_local, places


@pytest.mark.slow
@pytest.mark.parametrize(
    ('reach', 'is_first'),
    [
        ('LOCALHOST', True),
        ('SUBNET', False),
        pytest.param('LOCALHOST', False, marks=pytest.mark.long),
        pytest.param('SUBNET', True, marks=pytest.mark.long),
    ],
)
def test_a_tool_hears_our_nodes_whatever_its_own_range(ros_graph, reach, is_first):
    def start_tool():
        tool = ros_graph.run([sys.executable, '-c', TOOL], environment={REACH: reach})
        tool.wait_for('ready')
        return tool

    tool = start_tool() if is_first else None
    bridge = ros_graph.start('bridge', *ARGUMENTS)
    bridge.wait_for('time stands still')
    tool = tool or start_tool()
    tool.wait_for('heard', 20.0)


@pytest.mark.parametrize('name', [PROFILE, 'FASTRTPS_DEFAULT_PROFILES_FILE'])
def test_a_variable_that_is_set_is_left_alone(monkeypatch, name):
    monkeypatch.setenv(REACH, 'LOCALHOST')
    monkeypatch.setenv(PROFILE, '')
    monkeypatch.setenv(name, '/a/profile.xml')
    configure_fast_dds()
    assert os.environ[name] == '/a/profile.xml'
    assert os.environ[PROFILE] in ('', '/a/profile.xml')
    assert os.environ[REACH] == 'LOCALHOST'
    assert is_kept_to_this_machine()


@pytest.mark.parametrize(
    ('reach', 'peers', 'transports', 'profile'),
    [
        ('LOCALHOST', '', '', 'fast_dds_this_machine.xml'),
        ('LOCALHOST', '', 'UDPv4', 'fast_dds_this_machine.xml'),  # ROS leaves the variable out
        ('LOCALHOST', '10.77.0.2', '', 'fast_dds.xml'),
        ('SUBNET', '', '', 'fast_dds.xml'),
        ('', '', '', 'fast_dds.xml'),
        ('SUBNET', '', 'LARGE_DATA', ''),
    ],
)
def test_the_profile_goes_by_what_the_user_has_set(monkeypatch, reach, peers, transports, profile):
    monkeypatch.setenv(PROFILE, '')
    monkeypatch.setenv(REACH, reach)
    monkeypatch.setenv('ROS_STATIC_PEERS', peers)
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', transports)
    configure_fast_dds()
    assert Path(os.environ[PROFILE]).name == profile
    assert not profile or Path(os.environ[PROFILE]).is_file()
    assert is_kept_to_this_machine() is (reach == 'LOCALHOST')


@pytest.mark.parametrize('reach', ['LOCALHOST', 'SUBNET'])
def test_a_process_that_another_one_starts_reaches_as_far(monkeypatch, reach):
    monkeypatch.setenv(PROFILE, '')
    monkeypatch.setenv(REACH, reach)
    configure_fast_dds()
    inherited = {name: os.environ[name] for name in (PROFILE, REACH)}
    configure_fast_dds()
    assert {name: os.environ[name] for name in (PROFILE, REACH)} == inherited
    # The demo keeps each of its runs to this machine.
    monkeypatch.setenv(REACH, 'LOCALHOST')
    configure_fast_dds()
    assert Path(os.environ[PROFILE]).name == 'fast_dds_this_machine.xml'
    assert os.environ[REACH] == 'SYSTEM_DEFAULT'


def test_a_profile_in_the_folder_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PROFILE, '')
    (tmp_path / 'DEFAULT_FASTDDS_PROFILES.xml').write_text(OWN)
    configure_fast_dds()
    assert os.environ[PROFILE] == ''
    (tmp_path / 'DEFAULT_FASTDDS_PROFILES.xml').unlink()
    monkeypatch.setenv(REACH, 'SUBNET')
    configure_fast_dds()
    assert Path(os.environ[PROFILE]).is_file()


@pytest.mark.parametrize('domain', [-1, 233, 999])
def test_a_domain_without_ports_is_refused_with_those_that_have_some(domain):
    with pytest.raises(ConfigurationError, match=f'ROS_DOMAIN_ID = {domain}; expected 0 to 232'):
        check_ports(domain)
