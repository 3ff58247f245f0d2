"""The simulation: bridge, controller and the arm's transforms; rviz, rqt and keys on request."""

import os
import tempfile
from pathlib import Path

import yaml
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch_ros.actions import Node

from icir_control.app.robot import Robot, robot_names
from icir_control.nodes.process.discovery import DISCOVERY_RANGE
from icir_control.share import share_directory

PACKAGE = 'icir_control'
BRIDGE, CONTROLLER = 'mujoco_bridge', 'controller'
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
        description='Plot the height of the end effector in rqt',
    ),
    DeclareLaunchArgument(
        'keyboard',
        default_value='true',
        choices=SWITCH,
        description='Open a terminal for the mode keys, where there is a display',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of every node and topic'
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
]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the processes follow once their values are known."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the processes that the arguments ask for."""
    given = {argument.name: context.launch_configurations[argument.name] for argument in ARGUMENTS}
    robot = Robot.of(
        given['robot'],
        model=given['model'],
        params_file=given['params_file'],
        end_effector_frame=given['end_effector_frame'],
    )
    namespace = '/' + given['namespace'].strip('/')
    parameters = [str(robot.params_file)]
    overrides = {BRIDGE: robot.overrides | bridge_overrides(given), CONTROLLER: robot.overrides}
    if any(overrides.values()):
        parameters.append(parameter_file(overrides, namespace))

    def node(executable: str, package: str = PACKAGE, **options) -> Node:
        return Node(
            package=package,
            executable=executable,
            namespace=namespace,
            output='screen',
            **options,
        )

    actions: list[LaunchDescriptionEntity] = [
        node(executable, parameters=parameters, emulate_tty=True, on_exit=Shutdown())
        for executable in (['composed'] if given['composed'] == 'true' else [BRIDGE, CONTROLLER])
    ]
    actions.append(
        node(
            'robot_state_publisher',
            package='robot_state_publisher',
            name='robot_state_publisher',
            parameters=[{'robot_description': robot.description(), 'use_sim_time': True}],
        )
    )
    if DISCOVERY_RANGE not in os.environ:
        actions.insert(0, SetEnvironmentVariable(DISCOVERY_RANGE, 'LOCALHOST'))
    if given['rviz'] == 'true':
        view = in_namespace('simulation.rviz', namespace)
        actions.append(
            node(
                'rviz2',
                package='rviz2',
                name='rviz',
                arguments=['-d', view],
                parameters=[{'use_sim_time': True}],
            )
        )
    if given['rqt'] == 'true':
        view = in_namespace('end_effector.perspective', namespace)
        actions.append(
            node('rqt_gui', package='rqt_gui', name='rqt', arguments=['--perspective-file', view])
        )
    if given['keyboard'] == 'true' and os.environ.get('DISPLAY'):
        actions.append(node('keyboard', prefix=['xterm -title icir_control -e']))
    elif given['keyboard'] == 'true':
        remap = '' if namespace == '/' else f' --ros-args -r __ns:={namespace}'
        actions.append(
            LogInfo(msg=f'No display; for the keys: ros2 run {PACKAGE} keyboard{remap}')
        )
    return actions


def bridge_overrides(given: dict[str, str]) -> dict[str, object]:
    """Return the parameters of the bridge that were given as arguments, and no others."""
    overrides: dict[str, object] = {}
    if given['headless']:
        overrides['viewer'] = 'none' if given['headless'] == 'true' else 'auto'
    if given['lockstep']:
        overrides['lockstep'] = given['lockstep'] == 'true'
    if given['real_time_factor']:
        overrides['real_time_factor'] = float(given['real_time_factor'])
    return overrides


def parameter_file(parameters: dict[str, dict[str, object]], namespace: str) -> str:
    """Return the path of a file with parameters by node, each node named in full.

    What is named in full stands above every pattern of another file.
    """
    prefix = namespace.rstrip('/')
    nodes = {
        f'{prefix}/{name}': {'ros__parameters': values} for name, values in parameters.items()
    }
    return temporary_file(yaml.safe_dump(nodes), '.yaml')


def in_namespace(name: str, namespace: str) -> str:
    """Return the path of a view whose topics are those of the namespace."""
    path = share_directory() / 'config' / name
    if namespace == '/':
        return str(path)
    text = path.read_text()
    for topic in ('/controller/', '/robot_description'):
        text = text.replace(topic, namespace + topic)
    return temporary_file(text, Path(name).suffix)


def temporary_file(text: str, suffix: str) -> str:
    """Return the path of a new file that outlives the launch, whose processes may read it late."""
    with tempfile.NamedTemporaryFile('w', suffix=suffix, delete=False) as file:
        file.write(text)
    return file.name
