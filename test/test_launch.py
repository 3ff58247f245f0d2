"""The launch file, run for real, and the views that it opens."""

import ast
import importlib.util
import json
import os
import re
import shlex
import signal
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
import yaml
from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from geometry_msgs.msg import Point, PoseStamped, TwistStamped, Vector3
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from icir_control.dynamics import forward_kinematics, frame_placement, load_urdf

ROOT = Path(__file__).resolve().parent.parent
LAUNCH_FILE = ROOT / 'launch' / 'simulation.launch.py'
needs_launch = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is None,
    reason='launch_ros comes with a ROS 2 installation; PyPI has no wheel of it',
)
RUN = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *given = sys.argv[1:]
service = LaunchService()
service.include_launch_description(
    IncludeLaunchDescription(
        PythonLaunchDescriptionSource(path),
        launch_arguments=[argument.split(':=') for argument in given],
    )
)
sys.exit(service.run())
"""
# Where the real one is not installed: says which parameters it was given, and stays.
STAND_IN = """#!{python}
import rclpy
rclpy.init()
name = 'robot_state_publisher'  # unless it is remapped
node = rclpy.create_node(name, automatically_declare_parameters_from_overrides=True)
size = len(node.get_parameter('robot_description').value)
node.get_logger().info(f'described {{size}}, {{node.get_parameter("use_sim_time").value}}')
try:
    rclpy.spin(node)
except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
    pass
"""


def is_installed(package):
    try:
        get_package_prefix(package)
    except (PackageNotFoundError, LookupError, OSError):
        return False
    return True


@pytest.fixture
def prefix(tmp_path):
    """What the ament index lacks on this machine: our nodes, the publisher of transforms."""
    folder = tmp_path / 'prefix'
    index = folder / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    if not is_installed('icir_control'):
        (index / 'icir_control').touch()
        nodes = folder / 'lib/icir_control'
        nodes.mkdir(parents=True)
        for name in ('composed', 'mujoco_bridge', 'controller', 'keyboard', 'panel'):
            (nodes / name).symlink_to(Path(sys.executable).parent / name)
    if not is_installed('robot_state_publisher'):
        (index / 'robot_state_publisher').touch()
        path = folder / 'lib/robot_state_publisher/robot_state_publisher'
        path.parent.mkdir(parents=True)
        path.write_text(STAND_IN.format(python=sys.executable))
        path.chmod(0o755)
    return folder


@pytest.fixture
def launch(ros_graph, prefix, tmp_path):
    """Start the launch file with arguments, on a machine without a display."""
    runs = []

    def start(*arguments):
        before = os.environ.get('AMENT_PREFIX_PATH')
        environment = {
            'AMENT_PREFIX_PATH': os.pathsep.join(filter(None, (str(prefix), before))),
            'DISPLAY': '',
        }
        temporary = tmp_path / f'temporary_{len(runs)}'
        temporary.mkdir()
        environment['TMPDIR'] = str(temporary)
        command = [sys.executable, '-c', RUN, str(LAUNCH_FILE), *arguments]
        runs.append(ros_graph.run(command, environment=environment))
        runs[-1].temporary = temporary
        return runs[-1]

    yield start
    # Asked, not killed: it has processes of its own to end.
    for run in runs:
        run.stop(signal.SIGINT, 20.0)


@pytest.fixture
def module():
    """The launch file as a module."""
    spec = importlib.util.spec_from_file_location('simulation_launch', LAUNCH_FILE)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def parameters_of(observer, node, *names):
    answer = observer.call(
        GetParameters, f'{node}/get_parameters', GetParameters.Request(names=names)
    )
    return [parameter_value_to_python(value) for value in answer.values]


@needs_launch
@pytest.mark.parametrize(
    ('composed', 'processes'),
    [('false', {'mujoco_bridge', 'controller'}), ('true', {'composed'})],
)
def test_it_brings_the_arm_up_in_a_namespace_and_ends_in_time(
    ros_graph, launch, composed, processes
):
    run = launch(
        'namespace:=arm', 'real_time_factor:=0', 'headless:=true', f'composed:={composed}'
    )
    observer = ros_graph.observer()
    states = []
    observer.create_subscription(
        JointState, 'arm/joint_states', states.append, QoSProfile(depth=1)
    )
    observer.spin_until(lambda: states and states[-1].header.stamp.sec >= 1, 60.0)
    assert parameters_of(observer, 'arm/mujoco_bridge', 'viewer', 'real_time_factor') == [
        'none',
        0,
    ]
    started = re.findall(r'\[(\w+)-\d+\]: process started', run.output)
    assert set(started) == {*processes, 'robot_state_publisher'}
    assert parameters_of(observer, 'arm/robot_state_publisher', 'use_sim_time') == [True]
    # They stamp by the simulation's time without a clock, which would halve their speed.
    for node in ('mujoco_bridge', 'controller'):
        assert parameters_of(observer, f'arm/{node}', 'use_sim_time') == [False]
    for node in ('controller', 'robot_state_publisher'):
        assert parameters_of(observer, f'arm/{node}', 'frame_prefix') == ['arm/']
    names = dict(observer.get_topic_names_and_types())
    assert {'/arm/joint_commands', '/arm/controller/mode', '/arm/clock'} <= set(names)
    # Not even the time meets that of another simulation.
    assert not observer.get_publishers_info_by_topic('/clock')
    assert not {'/joint_states', '/joint_commands', '/controller/mode'} & set(names)
    if not is_installed('robot_state_publisher'):
        size = len((ROOT / 'urdf/gen3_6dof.urdf').read_text())
        assert f'described {size}, True' in run.output
    assert 'ros2 run icir_control keyboard --ros-args -r __ns:=/arm' in run.output
    assert list(run.temporary.iterdir())
    run.stop(signal.SIGINT, 10.0)
    assert not list(run.temporary.iterdir())


@needs_launch
def test_two_arms_in_two_namespaces_do_not_see_each_other(ros_graph, launch):
    arms = ('left', 'right')
    runs = [launch(f'namespace:={arm}', 'real_time_factor:=0', 'headless:=true') for arm in arms]
    observer = ros_graph.observer()
    newest = {}
    for arm in arms:
        for kind, topic in (
            (JointState, 'joint_states'),
            (PoseStamped, 'controller/current_pose'),
        ):
            name = f'{arm}/{topic}'
            observer.create_subscription(kind, name, partial(newest.__setitem__, name), 1)
    wanted = 2 * len(arms)
    observer.spin_until(
        lambda: len(newest) == wanted and all(m.header.stamp.sec >= 1 for m in newest.values())
    )
    for arm in arms:
        assert newest[f'{arm}/controller/current_pose'].header.frame_id == f'{arm}/base_link'
    for run in runs:
        assert 'several' not in run.output
        assert 'more than one' not in run.output


@needs_launch
def test_what_ends_is_started_again_on_request(ros_graph, launch):
    run = launch('headless:=true', 'respawn:=true')
    pattern = r'controller-\d+\]: process started with pid \[(\d+)\]'
    pid = int(run.wait_for(pattern).group(1))
    run.wait_for('new start at')
    length = len(run.output)
    os.kill(pid, signal.SIGKILL)
    assert int(run.wait_for(pattern, start=length).group(1)) != pid
    run.wait_for(r'controller.*new start at', start=length)
    run.wait_for('commands are back', start=length)


@needs_launch
@pytest.mark.parametrize('composed', ['false', 'true'])
def test_what_is_left_out_does_not_override_the_file(ros_graph, launch, tmp_path, composed):
    shipped = yaml.safe_load((ROOT / 'config/gen3_6dof.yaml').read_text())
    bridge = shipped['/**/mujoco_bridge']['ros__parameters']
    bridge |= {'viewer': 'none', 'real_time_factor': 2.5, 'lockstep': True}
    # A pattern that comes first, which makes bare overrides on a command line the weaker ones.
    params = tmp_path / 'params.yaml'
    params.write_text(yaml.safe_dump({'/**': {'ros__parameters': {}}} | shipped, sort_keys=False))
    launch(f'params_file:={params}', 'lockstep:=false', f'composed:={composed}')
    observer = ros_graph.observer()
    asked = ('viewer', 'real_time_factor', 'lockstep')
    assert parameters_of(observer, 'mujoco_bridge', *asked) == ['none', 2.5, False]
    assert 'ready' in parameters_of(observer, 'controller', 'mode_names')[0]


@needs_launch
@pytest.mark.parametrize(
    ('victim', 'composed'),
    [('mujoco_bridge', 'false'), ('controller', 'false'), ('composed', 'true')],
)
def test_when_a_node_ends_the_launch_ends(ros_graph, launch, victim, composed):
    run = launch('headless:=true', f'composed:={composed}')
    pid = int(run.wait_for(rf'{victim}-\d+\]: process started with pid \[(\d+)\]').group(1))
    run.wait_for('new start at')
    os.kill(pid, signal.SIGKILL)
    run.wait(15.0)
    assert re.search(rf'process\[{victim}-\d+\] was required', run.output)


@needs_launch
@pytest.mark.parametrize(
    ('argument', 'words'),
    [
        ('robot:=r2d2', 'gen3_6dof'),
        ('lockstep:=maybe', 'lockstep'),
        ('model:=missing.urdf', 'missing.urdf'),
        ('real_time_factor:=fast', 'real_time_factor:=fast is not valid; expected a number'),
    ],
)
def test_a_wrong_argument_is_named(launch, argument, words):
    run = launch(argument)
    assert run.wait(20.0) != 0
    assert words in run.output


@needs_launch
def test_every_argument_says_what_it_is_for(module):
    names = {argument.name for argument in module.ARGUMENTS}
    promised = (
        'robot model params_file end_effector_frame headless rviz rqt keyboard namespace'
        ' real_time_factor lockstep composed frame_prefix publish_clock respawn panel'
    )
    assert names == set(promised.split())
    for argument in module.ARGUMENTS:
        assert argument.default_value is not None
        assert len(argument.description) > 10
    switches = 'headless rviz rqt panel keyboard lockstep composed publish_clock respawn'
    for name in switches.split():
        (argument,) = [one for one in module.ARGUMENTS if one.name == name]
        assert {'true', 'false'} <= set(argument.choices)


@needs_launch
def test_the_views_follow_the_namespace(module):
    for name in ('simulation.rviz', 'end_effector.perspective'):
        before = (ROOT / 'config' / name).read_text()
        assert module.in_namespace(name, '/', '', 'world') == before
        after = module.in_namespace(name, '/arm', 'arm/', 'arm/world')
        assert '/arm/controller/' in after
        assert 'robot_description' not in before or '/arm/robot_description' in after
        framed = after.replace('/arm/', '/').replace('arm/world', 'world')
        framed = framed.replace('TF Prefix: arm/reference', 'TF Prefix: reference')
        assert framed.replace('TF Prefix: "arm"', 'TF Prefix: ""') == before


@needs_launch
@pytest.mark.parametrize('path', sorted(ROOT.glob('urdf/*.urdf')), ids=lambda path: path.stem)
def test_rviz_shows_every_robot_in_a_frame_that_it_has(module, path):
    text = path.read_text()
    root, reach = module.root_and_reach(text)
    view = module.for_size(module.in_namespace('simulation.rviz', '/', '', root), reach)
    manager = yaml.safe_load(view)['Visualization Manager']
    frame = manager['Global Options']['Fixed Frame']
    assert f'<link name="{frame}"' in text
    # The robot fills the picture, however small it is.
    model = load_urdf(path)
    data, rng, ways = model.create_data(), np.random.default_rng(0), []
    for _ in range(20):
        forward_kinematics(model, data, model.random_configuration(rng))
        places = [frame_placement(model, data, i) for i in range(len(model.frames))]
        ways += [np.linalg.norm(place.translation) for place in places]
    assert max(ways) <= reach < 2.0 * max(ways)
    assert 1.5 * reach < manager['Views']['Current']['Distance'] < 2.5 * reach


@needs_launch
@pytest.mark.parametrize('path', sorted(ROOT.glob('urdf/*.urdf')), ids=lambda path: path.stem)
def test_rviz_shows_what_may_collide_of_links_without_visuals(module, path):
    shown = ElementTree.fromstring(module.with_visuals(path.read_text()))
    for link in shown.findall('link'):
        visuals = link.findall('visual')
        assert len(visuals) >= len(link.findall('collision'))
        # All that URDF has; MuJoCo reads capsules, too.
        kinds = {shape.tag for visual in visuals for shape in visual.find('geometry')}
        assert kinds <= {'box', 'cylinder', 'mesh', 'sphere'}


@needs_launch
def test_a_capsule_is_shown_with_its_balls_where_mujoco_has_its_ends(module):
    text = (ROOT / 'urdf/hand.urdf').read_text()
    capsules, shown = compiled(text), compiled(module.with_visuals(text))
    ends = [
        capsules.geom_pos[g] + sign * capsules.geom_size[g, 1] * axis(capsules.geom_quat[g])
        for g in range(capsules.ngeom)
        for sign in (-1.0, 1.0)
        if capsules.geom_type[g] == mujoco.mjtGeom.mjGEOM_CAPSULE
    ]
    balls = shown.geom_pos[shown.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE]
    assert len(balls) >= len(ends) > 20
    for end in ends:
        assert np.linalg.norm(balls - end, axis=1).min() < 1e-6


def compiled(urdf):
    """MuJoCo's model of a URDF, with its visuals."""
    visible = '<mujoco><compiler discardvisual="false"/></mujoco></robot>'
    return mujoco.MjModel.from_xml_string(urdf.replace('</robot>', visible))


def axis(quaternion):
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix[2::3]


@needs_launch
def test_rviz_gets_the_frames_of_the_reference_too(ros_graph, launch, prefix):
    says = '#!/bin/sh\necho {name} "$@"; test "$1" != -d || cat "$2"; exec sleep 1000\n'
    for package, name in (('rviz2', 'rviz2'), ('tf2_ros', 'static_transform_publisher')):
        (prefix / 'share/ament_index/resource_index/packages' / package).touch()
        path = prefix / 'lib' / package / name
        path.parent.mkdir(parents=True)
        path.write_text(says.format(name=name))
        path.chmod(0o755)
    run = launch('namespace:=arm', 'headless:=true', 'rviz:=true')
    run.wait_for('Fixed Frame: arm/world')
    run.wait_for(
        'static_transform_publisher --frame-id arm/world --child-frame-id arm/reference/world'
    )
    observer = ros_graph.observer()
    node = 'arm/reference_state_publisher'
    names = parameters_of(observer, node, 'frame_prefix', 'use_sim_time')
    assert names == ['arm/reference/', True]


@needs_launch
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_terminal_of_the_keys_ends_cleanly(ros_graph, module, tmp_path, number):
    # What xterm does: it ends by the number of the signal, and hangs its program up on SIGTERM.
    xterm = tmp_path / 'xterm'
    xterm.write_text(
        f"""#!{sys.executable}
import signal, subprocess, sys, time
child = subprocess.Popen(sys.argv[sys.argv.index('-e') + 1:])
def end(number, frame):
    child.send_signal(signal.SIGHUP)
    sys.exit(number)
signal.signal(signal.SIGTERM, end)
child.wait()
"""
    )
    xterm.chmod(0o755)
    path = {'PATH': f'{tmp_path}{os.pathsep}{os.environ["PATH"]}'}
    told = 'import time; print("keys", flush=True); time.sleep(60)'
    command = [*shlex.split(module.TERMINAL), sys.executable, '-c', told]
    run = ros_graph.run(command, environment=path)
    run.wait_for('keys')
    assert run.stop(number) == 0


def test_the_rviz_view_shows_arm_and_poses():
    view = yaml.safe_load((ROOT / 'config/simulation.rviz').read_text())
    manager = view['Visualization Manager']
    shown = {display['Name']: display for display in manager['Displays']}
    assert shown['Reference']['TF Prefix'] == 'reference'
    assert shown['Force, trail, limits, distances']['Topic']['Value'] == '/controller/markers'
    assert shown['Target']['Interactive Markers Namespace'] == '/controller/target_marker'
    shown = {
        display['Class'].rpartition('/')[2]: display for display in reversed(manager['Displays'])
    }
    assert {'Grid', 'RobotModel', 'TF', 'Pose'} <= set(shown)
    # rviz leaves either undefined where the file is silent, and a dock may be hidden then.
    docks = view['Window Geometry']
    assert docks['Hide Left Dock'] is docks['Hide Right Dock'] is False
    assert shown['RobotModel']['Description Topic']['Value'] == '/robot_description'
    poses = {
        display['Topic']['Value']
        for display in manager['Displays']
        if display['Class'].endswith('/Pose')
    }
    assert poses == {'/controller/current_pose', '/controller/reference_pose'}
    # Any other panel takes the room of the picture, unless a saved state of the docks places it.
    assert {panel['Name'] for panel in view['Panels']} == {'Displays', 'Views'}


def test_the_rqt_perspective_plots_height_and_error_of_messages_without_stamps():
    perspective = json.loads((ROOT / 'config/end_effector.perspective').read_text())
    manager = perspective['groups']['pluginmanager']
    running = ast.literal_eval(manager['keys']['running-plugins']['repr'])
    assert running == {'rqt_plot/Plot': [1, 2]}
    kinds = {'position': Point, 'position_reference': Point, 'position_error': Vector3}
    for number, wanted in ((1, ['position', 'position_reference']), (2, ['position_error'] * 3)):
        plot = manager['groups'][f'plugin__rqt_plot__Plot__{number}']
        keys = plot['groups']['plugin']['keys']
        topics = ast.literal_eval(keys['topics']['repr'])
        assert [topic.split('/')[3] for topic in topics] == wanted
        for topic in topics:
            *_, name, field = topic.split('/')
            # A stamp would be taken for wall time.
            assert not hasattr(kinds[name](), 'header')
            assert hasattr(kinds[name](), field)
        low, high = ast.literal_eval(keys['y_limits']['repr'])
        assert high - low < 0.05, 'the axis grows, and never shrinks'


def test_the_plotjuggler_layout_plots_fields_of_topics_that_there_are():
    layout = ElementTree.parse(ROOT / 'config/plotjuggler.xml').getroot()
    kinds = {
        'current_pose': PoseStamped,
        'reference_pose': PoseStamped,
        'tool_error': TwistStamped,
    }
    selected = {topic.get('name') for topic in layout.iter('topic')}
    for curve in layout.iter('curve'):
        (topic,) = [one for one in selected if curve.get('name').startswith(f'{one}/')]
        fields = curve.get('name').removeprefix(f'{topic}/').split('/')
        message = kinds.get(topic.rpartition('/')[2], JointState)()
        if isinstance(message, JointState):  # shown by the joint's name
            assert fields[0] in {f'joint_{i}' for i in range(1, 7)}
            fields = fields[1:]
        for field in fields:
            message = getattr(message, field)
