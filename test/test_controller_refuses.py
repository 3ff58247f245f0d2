"""What the controller cannot run with: one clear line, exit status 2, no traceback."""

import re
from pathlib import Path

import pytest

from icir_control.nodes.__main__ import NODES, run
from icir_control.nodes.__main__ import controller as main
from icir_control.share import share_directory

SHARE = share_directory()
CONFIG = (SHARE / 'config' / 'gen3_6dof.yaml').read_text()
URDF = (SHARE / 'urdf' / 'gen3_6dof.urdf').read_text()

EDITS = {
    'unknown law': ('law: joint', 'law: jiont', r"modes\.home\.law.*'jiont'.*gravity, joint"),
    'two modes on one key': ('key: a', 'key: h', r"modes\.ready\.key = 'h'.*'home'"),
    'a mode named twice': (
        '[gravity, home, ready,',
        '[gravity, home, home, ready,',
        "mode_names.*'home' twice",
    ),
    'a mode described twice': ('      ready:', '      home:', "'home' twice.*lines"),
    'a name that is no token': (
        '[gravity, home, ready,',
        '[gravity, home, ready, go-home,',
        "mode_names.*'go-home'.*token",
    ),
    'a boolean key': ('key: h', 'key: y', r'modes\.home\.key.*boolean.*quotes'),
    'a negative gain': (
        'kp: [40000.0, ',
        'kp: [-40000.0, ',
        r'joint_gains\.kp = .*-40000.*at least 0',
    ),
    'too few gains': ('kp: [40000.0, ', 'kp: [', r'joint_gains\.kp = .*6 finite numbers'),
    'a target beyond a limit': (
        '[0.0, 45.0, 90.0,',
        '[0.0, 145.0, 90.0,',
        r'modes\.home.*target_deg.*joint_2',
    ),
    'a misspelt figure': ('target_deg: [45', 'target_degs: [45', r'modes\.ready\.target_degs'),
    'a misspelt parameter': ('schedule:', 'schedules:', 'schedules'),
    'a mode without a key': ('        key: h\n', '', r'modes\.home\.key'),
    'a mode that is not described': (
        '[gravity, home, ready,',
        '[gravity, home, ready, wave,',
        r'modes\.wave',
    ),
    'an initial mode that there is not': (
        'initial_mode: gravity',
        'initial_mode: rest',
        "initial_mode = 'rest'.*gravity, home",
    ),
    'a schedule without a time': ('schedule: []', "schedule: ['home']", "schedule.*'home'.*time"),
    'an unknown frame': (
        '    end_effector_frame: end_effector_link\n    frame_prefix',
        '    end_effector_frame: gripper\n    frame_prefix',
        "'gripper'.*end_effector_link",
    ),
    'a topic that has no name': (
        '    joint_gains:',
        '    state_topic: "bad topic!"\n    joint_gains:',
        "state_topic = 'bad topic!' is not valid; expected a topic name",
    ),
    'no YAML': ('    joint_gains:', '    joint_gains: [', 'is not YAML at line'),
}

ROBOTS = {
    'no XML': (URDF[: len(URDF) // 2], 'arm.urdf'),
    'no end effector': (
        URDF.replace('end_effector', 'tool'),
        "'end_effector_link'.*bracelet_link",
    ),
    'a link without mass': (
        URDF.replace('<mass value="0.93"/>', '<mass value="0"/>'),
        'joint_3.*mass',
    ),
}


pytestmark = pytest.mark.timeout(120)  # what is not refused would run on


@pytest.fixture
def refusal_of(ros_graph, monkeypatch, capfd):
    """Return a function: command line arguments to the one line that the controller ends with."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_graph.domain))
    # What it sets for its own process must not outlive the test.
    monkeypatch.setenv('FASTDDS_DEFAULT_PROFILES_FILE', '')

    def run(*arguments: str) -> str:
        status = main(['controller', *arguments])
        said = capfd.readouterr().err
        assert status == 2, said
        line = said.rstrip('\n').rpartition('\n')[2]
        assert line.startswith('controller: ')
        return line

    return run


def edited(path: Path, old: str, new: str) -> str:
    """Write the shipped configuration with one change in the controller's part; the path."""
    head, mark, controller = CONFIG.partition('/**/controller:')
    assert old in controller
    path.write_text(head + mark + controller.replace(old, new, 1))
    return str(path)


@pytest.mark.parametrize('what', EDITS)
def test_a_wrong_configuration_is_refused(refusal_of, tmp_path, what):
    old, new, message = EDITS[what]
    file = edited(tmp_path / 'mine.yaml', old, new)
    line = refusal_of('--ros-args', '--params-file', file)
    assert re.search(message, line), line


@pytest.mark.parametrize('what', ROBOTS)
def test_a_wrong_robot_is_refused(refusal_of, tmp_path, what):
    text, message = ROBOTS[what]
    assert text != URDF
    file = tmp_path / 'arm.urdf'
    file.write_text(text)
    line = refusal_of('--ros-args', '-p', f'model:={file}')
    assert re.search(message, line), line


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--ros-args', '-p', 'model:=nowhere.urdf'], "model = 'nowhere.urdf'.*no file"),
        (['--ros-args', '-p', 'model:=package://nowhere/a.urdf'], "'nowhere' is not installed"),
        (['--ros-args', '--params-file', 'nowhere.yaml'], 'nowhere.yaml cannot be read'),
        (['--params'], 'unknown arguments --params'),
        (['--ros-args', '--nonsense'], 'nonsense'),
        (['--ros-args', '-p', 'modes.home.duration:=-2'], r'modes\.home\.duration = -2'),
    ],
)
def test_wrong_arguments_are_refused(refusal_of, arguments, message):
    line = refusal_of(*arguments)
    assert re.search(message, line), line


@pytest.mark.parametrize('node', NODES)
def test_a_node_says_how_it_is_called(node, capsys):
    assert run(node, [node, '--help']) == 0
    usage = f'usage: {NODES[node][0]} [--ros-args --params-file FILE -p NAME:=VALUE ...]\n'
    assert capsys.readouterr().out == usage


@pytest.mark.slow
@pytest.mark.parametrize('node', ['controller', 'bridge'])
def test_as_a_process_it_ends_with_a_status_and_one_line(ros_graph, tmp_path, node):
    process = ros_graph.start(
        node, '--ros-args', '-p', f'model:={tmp_path}/nowhere.urdf', fresh=True
    )
    assert process.wait() == 2
    assert 'Traceback' not in process.output
    assert process.output.count('\n') == 1
    assert 'nowhere.urdf' in process.output


def test_a_file_is_found_from_the_working_directory(ros_graph, tmp_path, monkeypatch):
    edited(tmp_path / 'mine.yaml', 'duration: 2.0', 'duration: 2')
    monkeypatch.chdir(tmp_path)
    process = ros_graph.start('controller', '--ros-args', '--params-file', 'mine.yaml')
    process.wait_for('ready; waiting for')
