"""Processes announce themselves for so long that those which are slow to start hear of them."""

import os
import socket
import time
from pathlib import Path

import pytest

from icir_control.nodes.discovery import announce_often
from icir_control.share import share_directory

PROFILE = 'FASTDDS_DEFAULT_PROFILES_FILE'
OWN = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com"><profiles>
<participant profile_name="own" is_default_profile="true">
<rtps><name>own</name></rtps></participant>
</profiles></dds>
"""
LAST_OF_32 = 10 + 2 * 31  # where the last process of a domain on this machine listens
ARGUMENTS = ('--ros-args', '--params-file', str(share_directory() / 'config' / 'gen3_6dof.yaml'))


def announcements_of(graph, node: str, seconds: float, environment=None) -> int:
    """Return how often a node announces itself within a while of its first announcement."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(('127.0.0.1', 7400 + 250 * graph.domain + LAST_OF_32))
        listener.settimeout(60.0)
        arguments = () if node == 'keyboard' else ARGUMENTS
        process = graph.start(node, *arguments, terminal=True, environment=environment)
        assert listener.recv(65536).startswith(b'RTPS')
        count, deadline = 1, time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            listener.settimeout(left)
            try:
                listener.recv(65536)
            except TimeoutError:
                break
            count += 1
        assert process.running, process.output
        return count


@pytest.mark.parametrize('node', ['bridge', 'controller', 'keyboard'])
def test_a_node_announces_itself_for_seconds(ros_graph, node):
    assert announcements_of(ros_graph, node, 3.0) > 15


def test_a_profile_of_the_users_own_stands(ros_graph, tmp_path):
    (tmp_path / 'own.xml').write_text(OWN)
    environment = {PROFILE: str(tmp_path / 'own.xml')}
    assert 1 < announcements_of(ros_graph, 'bridge', 2.5, environment) < 10


@pytest.mark.parametrize('name', [PROFILE, 'FASTRTPS_DEFAULT_PROFILES_FILE'])
def test_a_variable_that_is_set_is_left_alone(monkeypatch, name):
    monkeypatch.setenv(PROFILE, '')
    monkeypatch.setenv(name, '/a/profile.xml')
    announce_often()
    assert os.environ[name] == '/a/profile.xml'
    assert os.environ[PROFILE] in ('', '/a/profile.xml')


def test_a_profile_in_the_folder_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PROFILE, '')
    (tmp_path / 'DEFAULT_FASTDDS_PROFILES.xml').write_text(OWN)
    announce_often()
    assert os.environ[PROFILE] == ''
    (tmp_path / 'DEFAULT_FASTDDS_PROFILES.xml').unlink()
    announce_often()
    assert Path(os.environ[PROFILE]).is_file()
