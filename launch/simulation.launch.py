"""The simulation: bridge, controller and the arm's transforms; rviz, rqt and keys on request."""

import os
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

PACKAGE = 'icir_control'
BRIDGE, CONTROLLER, PUBLISHER = 'mujoco_bridge', 'controller', 'robot_state_publisher'
REFERENCE = 'reference_state_publisher'
# xterm itself ends with status 2 on SIGINT, which launch reports as a failure. The shell hands the
# request on as one that xterm passes to the keyboard, and ends with 0.
TERMINAL = (
    """sh -c 'xterm -title icir_control -e "$@" & trap "kill $!" INT TERM; wait; exit 0' sh"""
)
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
    root = prefix + root_of(robot.description())
    framed = {'frame_prefix': prefix} if prefix else {}
    overrides = {
        BRIDGE: robot.overrides | bridge_overrides(given),
        CONTROLLER: robot.overrides | framed,
        PUBLISHER: {'robot_description': robot.description()} | framed,
        REFERENCE: {
            'robot_description': robot.description(),
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
        view = files.add(in_namespace('simulation.rviz', namespace, prefix, root), '.rviz')
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


def root_of(description: str) -> str:
    """Return the name of a URDF's root link."""
    robot = ElementTree.fromstring(description)
    children = {child.get('link') for child in robot.findall('joint/child')}
    return next(
        str(link.get('name')) for link in robot.findall('link') if link.get('name') not in children
    )


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


class TemporaryFiles(tempfile.TemporaryDirectory[str]):
    """Files that processes may read as long as the launch lasts, also when they are respawned.

    They go with the launch, whatever signal ends it.
    """

    def add(self, text: str, suffix: str) -> str:
        """Return the path of a new file."""
        path = Path(self.name, f'launch{suffix}')
        path.write_text(text)
        return str(path)
