"""The simulation: bridge, controller and the arm's transforms; rviz, rqt and keys on request."""

import math
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import yaml
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnShutdown
from launch_ros.actions import Node

from icir_control.app.robot import RobotFiles, robot_names
from icir_control.errors import ConfigurationError
from icir_control.nodes.process.discovery import DISCOVERY_RANGE
from icir_control.share import share_directory
from icir_control.spatial import SE3

PACKAGE = 'icir_control'
BRIDGE, CONTROLLER, PUBLISHER = 'mujoco_bridge', 'controller', 'robot_state_publisher'
REFERENCE = 'reference_state_publisher'
# xterm itself ends with status 2 on SIGINT, which launch reports as a failure. The shell hands the
# request on as one that xterm passes to the keyboard, and ends with 0.
TERMINAL = (
    """sh -c 'xterm -title icir_control -e "$@" & trap "kill $!" INT TERM; wait; exit 0' sh"""
)
VIEW_REACH = 1.18  # m, of the arm for which config/simulation.rviz is laid out
SMALLEST = 0.1  # m
MATERIAL = '<material name="shape"><color rgba="0.8 0.8 0.82 1"/></material>'
SWITCH = ['true', 'false']
UNSET = ['', 'true', 'false']

ARGUMENTS = [
    DeclareLaunchArgument(
        'robot',
        default_value='gen3_6dof',
        choices=robot_names(),
        description='Robot that ships with the package; sets the default of the next two',
    ),
    DeclareLaunchArgument(
        'model',
        default_value='',
        description='URDF: a path or a package:// URI; empty: what the parameter file names',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value='',
        description='Parameter file of both nodes; empty: the one of the robot, or any_arm.yaml '
        'where a model is given',
    ),
    DeclareLaunchArgument(
        'end_effector_frame',
        default_value='',
        description='The frame that acts; empty: what the parameter file says',
    ),
    DeclareLaunchArgument(
        'headless',
        default_value='',
        choices=UNSET,
        description="true: no window of MuJoCo's; false: one where there is a display; "
        'empty: what the parameter file says',
    ),
    DeclareLaunchArgument(
        'rviz', default_value='false', choices=SWITCH, description='Show arm and poses in rviz'
    ),
    DeclareLaunchArgument(
        'rqt',
        default_value='false',
        choices=SWITCH,
        description='Plot height and error of the end effector in rqt',
    ),
    DeclareLaunchArgument(
        'panel',
        default_value='false',
        choices=SWITCH,
        description='Serve a page that shows and moves the arm in a browser of this machine',
    ),
    DeclareLaunchArgument(
        'keyboard',
        default_value='true',
        choices=SWITCH,
        description='Open a terminal for the mode keys, where there is a display',
    ),
    DeclareLaunchArgument(
        'namespace',
        default_value='',
        description='Namespace of every node and topic, /clock among them: simulations in several '
        'namespaces do not meet',
    ),
    DeclareLaunchArgument(
        'frame_prefix',
        default_value='',
        description='What stands before the names of frames, in TF and in poses; empty: the '
        'namespace and a slash, or nothing without a namespace',
    ),
    DeclareLaunchArgument(
        'publish_clock',
        default_value='',
        choices=UNSET,
        description='Publish the simulation time; empty: what the parameter file says',
    ),
    DeclareLaunchArgument(
        'real_time_factor',
        default_value='',
        description='Simulated seconds per second; 0: as fast as possible; '
        'empty: what the parameter file says',
    ),
    DeclareLaunchArgument(
        'lockstep',
        default_value='',
        choices=UNSET,
        description='Step only with the command that answers the present state; '
        'empty: what the parameter file says',
    ),
    DeclareLaunchArgument(
        'composed',
        default_value='false',
        choices=SWITCH,
        description='Run bridge and controller in one process, for batch work',
    ),
    DeclareLaunchArgument(
        'respawn',
        default_value='false',
        choices=SWITCH,
        description='Start bridge or controller again when it ends, instead of ending the launch',
    ),
]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the processes follow once their values are known."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the processes that the arguments ask for."""
    given = {argument.name: context.launch_configurations[argument.name] for argument in ARGUMENTS}
    robot = RobotFiles.of(
        given['robot'],
        model=given['model'],
        params_file=given['params_file'],
        end_effector_frame=given['end_effector_frame'],
    )
    name = given['namespace'].strip('/')
    namespace = f'/{name}'
    prefix = given['frame_prefix'] or (f'{name}/' if name else '')
    description = with_visuals(robot.description())
    root, reach = root_and_reach(description)
    root = prefix + root
    framed = {'frame_prefix': prefix} if prefix else {}
    overrides = {
        BRIDGE: robot.overrides | bridge_overrides(given),
        CONTROLLER: robot.overrides | framed,
        PUBLISHER: {'robot_description': description} | framed,
        REFERENCE: {
            'robot_description': description,
            'frame_prefix': f'{prefix}reference/',
        },
    }
    files = TemporaryFiles(prefix='icir_control_', ignore_cleanup_errors=True)
    parameters = [str(robot.params_file), files.add(parameter_text(overrides, namespace), '.yaml')]
    respawn = given['respawn'] == 'true'

    def node(
        executable: str,
        package: str = PACKAGE,
        remappings: Iterable[tuple[str, str]] = (),
        **options,
    ) -> Node:
        return Node(
            package=package,
            executable=executable,
            namespace=namespace,
            output='screen',
            parameters=parameters,
            # Each simulation has a time of its own.
            remappings=[*([('/clock', f'{namespace}/clock')] if name else []), *remappings],
            **options,
        )

    actions: list[LaunchDescriptionEntity] = [
        RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: files.cleanup()))
    ]
    actions += [
        node(
            executable,
            emulate_tty=True,
            respawn=respawn,
            respawn_delay=1.0,
            on_exit=None if respawn else Shutdown(),
        )
        for executable in (['composed'] if given['composed'] == 'true' else [BRIDGE, CONTROLLER])
    ]
    actions.append(node(PUBLISHER, package=PUBLISHER, name=PUBLISHER))
    if DISCOVERY_RANGE not in os.environ:
        actions.insert(0, SetEnvironmentVariable(DISCOVERY_RANGE, 'LOCALHOST'))
    if given['rviz'] == 'true':
        view = in_namespace('simulation.rviz', namespace, prefix, root)
        view = files.add(for_size(view, reach), '.rviz')
        actions.append(node('rviz2', package='rviz2', name='rviz', arguments=['-d', view]))
        # The frames of the reference, for a second, transparent arm.
        actions.append(
            node(
                PUBLISHER,
                package=PUBLISHER,
                name=REFERENCE,
                remappings=[
                    ('joint_states', f'{CONTROLLER}/joint_reference'),
                    ('robot_description', 'reference/robot_description'),
                ],
            )
        )
        child = f'{prefix}reference/{root.removeprefix(prefix)}'
        actions.append(
            node(
                'static_transform_publisher',
                package='tf2_ros',
                name='reference_root',
                arguments=['--frame-id', root, '--child-frame-id', child],
            )
        )
    if given['rqt'] == 'true':
        view = in_namespace('end_effector.perspective', namespace, prefix, root)
        view = files.add(view, '.perspective')
        actions.append(
            node('rqt_gui', package='rqt_gui', name='rqt', arguments=['--perspective-file', view])
        )
    if given['panel'] == 'true':
        actions.append(node('panel', respawn=True, respawn_delay=1.0))
    if given['keyboard'] == 'true' and os.environ.get('DISPLAY'):
        actions.append(node('keyboard', prefix=[TERMINAL]))
    elif given['keyboard'] == 'true':
        remap = '' if namespace == '/' else f' --ros-args -r __ns:={namespace}'
        actions.append(
            LogInfo(msg=f'No display; for the keys: ros2 run {PACKAGE} keyboard{remap}')
        )
    return actions


def root_and_reach(description: str) -> tuple[str, float]:
    """Return the name of a URDF's root link, and the longest way from it along the joints [m]."""
    robot = ElementTree.fromstring(description)
    behind: dict[str, list[tuple[float, str]]] = {}
    for joint in robot.findall('joint'):
        origin = joint.find('origin')
        way = '0' if origin is None else origin.get('xyz', '0')
        length = math.hypot(*map(float, way.split()))
        parent, child = (str(joint.find(end).get('link')) for end in ('parent', 'child'))
        behind.setdefault(parent, []).append((length, child))

    def reach(link: str) -> float:
        return max((length + reach(child) for length, child in behind.get(link, [])), default=0.0)

    children = {child for parts in behind.values() for _, child in parts}
    links = [str(link.get('name')) for link in robot.findall('link')]
    root = next(link for link in links if link not in children)
    return root, reach(root)


def with_visuals(description: str) -> str:
    """Return a URDF in which links without visuals show what may collide.

    rviz shows visuals alone. Capsules, which MuJoCo reads and rviz does not, are shown as a
    cylinder between two spheres.
    """
    robot = ElementTree.fromstring(description)
    colour = ElementTree.fromstring(MATERIAL)
    bare = [link for link in robot.findall('link') if link.find('visual') is None]
    shapes = [(link, shape) for link in bare for shape in link.findall('collision')]
    for link, shape in shapes:
        capsule = shape.find('geometry/capsule')
        if capsule is None:
            visual = ElementTree.SubElement(link, 'visual')
            visual.extend([*shape.findall('origin'), *shape.findall('geometry'), colour])
            continue
        origin = shape.find('origin')
        given = {} if origin is None else origin.attrib
        xyz, rpy = (
            [float(word) for word in given.get(name, '0 0 0').split()] for name in ('xyz', 'rpy')
        )
        place = SE3.from_xyz_rpy(xyz, rpy)
        radius, length = (float(capsule.get(name, '0')) for name in ('radius', 'length'))
        half = length / 2.0 * place.rotation[:, 2]
        ball = ('sphere', {'radius': str(radius)})
        cylinder = ('cylinder', ball[1] | {'length': str(length)})
        for along, (kind, sizes) in ((0.0, cylinder), (-1.0, ball), (1.0, ball)):
            visual = ElementTree.SubElement(link, 'visual')
            end = place.translation + along * half
            at = {'xyz': ' '.join(map(str, end.tolist())), 'rpy': ' '.join(map(str, rpy))}
            ElementTree.SubElement(visual, 'origin', at)
            geometry = ElementTree.SubElement(visual, 'geometry')
            ElementTree.SubElement(geometry, kind, sizes)
            visual.append(colour)
    return ElementTree.tostring(robot, encoding='unicode') if shapes else description


def bridge_overrides(given: dict[str, str]) -> dict[str, object]:
    """Return the parameters of the bridge that were given as arguments, and no others.

    Raises:
        ConfigurationError: A factor that is no number.
    """
    overrides: dict[str, object] = {}
    if given['headless']:
        overrides['viewer'] = 'none' if given['headless'] == 'true' else 'auto'
    for name in ('lockstep', 'publish_clock'):
        if given[name]:
            overrides[name] = given[name] == 'true'
    if factor := given['real_time_factor']:
        try:
            overrides['real_time_factor'] = float(factor)
        except ValueError:
            raise ConfigurationError(
                f'real_time_factor:={factor} is not valid; expected a number, at least 0 (0 is as'
                ' fast as possible)'
            ) from None
    return overrides


def parameter_text(parameters: dict[str, dict[str, object]], namespace: str) -> str:
    """Return a parameter file with parameters by node, each node named in full.

    What is named in full stands above every pattern. All nodes of the namespace take the
    simulation's time for the present one; bridge and controller, which stamp by it, need no clock,
    and serving one would halve their speed.
    """
    prefix = namespace.rstrip('/')
    nodes: dict[str, dict[str, object]] = {
        f'{prefix}/{name}': {
            'ros__parameters': {'use_sim_time': name not in (BRIDGE, CONTROLLER)} | values
        }
        for name, values in parameters.items()
    }
    nodes[f'{prefix}/*'] = {'ros__parameters': {'use_sim_time': True}}
    return yaml.safe_dump(nodes)


def in_namespace(name: str, namespace: str, prefix: str, root: str) -> str:
    """Return a view whose topics are those of the namespace, and whose frames are the robot's."""
    text = (share_directory() / 'config' / name).read_text()
    for topic in ('/controller/', '/robot_description'):
        text = text.replace(topic, namespace.rstrip('/') + topic)
    text = text.replace('Fixed Frame: world', f'Fixed Frame: {root}')
    text = text.replace('TF Prefix: reference', f'TF Prefix: {prefix}reference')
    return text.replace('TF Prefix: ""', f'TF Prefix: "{prefix.rstrip("/")}"')


def for_size(view: str, reach: float) -> str:
    """Return a view of rviz for a robot of a reach [m]; that of the file is for `VIEW_REACH`."""
    scale = max(reach, SMALLEST) / VIEW_REACH
    lengths = '[XYZ]|Distance|Cell Size|Axes Length|Axes Radius|Marker Scale'
    return re.sub(
        rf'^( *(?:{lengths}): )([0-9.]+)$',
        lambda found: f'{found[1]}{scale * float(found[2]):.4g}',
        view,
        flags=re.MULTILINE,
    )


class TemporaryFiles(tempfile.TemporaryDirectory[str]):
    """Files that processes may read as long as the launch lasts, also when they are respawned.

    They go with the launch, whatever signal ends it.
    """

    def add(self, text: str, suffix: str) -> str:
        """Return the path of a new file."""
        path = Path(self.name, f'launch{suffix}')
        path.write_text(text)
        return str(path)
