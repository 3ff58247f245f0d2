"""The Gen3 in MuJoCo as hardware of ros2_control, with a joint_trajectory_controller."""

import tempfile
from pathlib import Path

import yaml
from launch import LaunchDescription
from launch.actions import RegisterEventHandler, Shutdown
from launch.event_handlers import OnShutdown
from launch_ros.actions import Node

from icir_control.share import share_directory

CONTROLLERS = ('joint_state_broadcaster', 'joint_trajectory_controller')
TOPICS = ('joint_states', 'joint_commands')
# A controller becomes active in the manager's loop, which begins with the bridge's clock.
PATIENCE = ('--switch-timeout', '60', '--service-call-timeout', '70')  # s


def robot_description() -> str:
    """Return the URDF of the Gen3 with its hardware."""
    folder = share_directory() / 'urdf'
    robot, hardware = (
        (folder / name).read_text() for name in ('gen3_6dof.urdf', 'gen3_6dof.ros2_control.xml')
    )
    return robot.replace('</robot>', f'{hardware}</robot>')


def generate_launch_description() -> LaunchDescription:
    """Return the simulation, the controller manager, and what switches its controllers on."""
    parameters = str(share_directory() / 'config' / 'ros2_control.yaml')
    # A dictionary of parameters would leave a file behind.
    folder = tempfile.TemporaryDirectory(prefix='icir_control_', ignore_cleanup_errors=True)
    description = Path(folder.name) / 'robot_description.yaml'
    content = {'robot_description': robot_description()}
    description.write_text(yaml.safe_dump({'/**': {'ros__parameters': content}}))
    return LaunchDescription(
        [
            RegisterEventHandler(OnShutdown(on_shutdown=lambda *_: folder.cleanup())),
            Node(
                package='icir_control',
                executable='mujoco_bridge',
                output='screen',
                parameters=[parameters],
                # The names without a prefix are those of the controllers.
                remappings=[(topic, f'simulation/{topic}') for topic in TOPICS],
                on_exit=Shutdown(),
            ),
            Node(
                package='robot_state_publisher',
                executable='robot_state_publisher',
                parameters=[parameters, str(description)],
            ),
            Node(
                package='controller_manager',
                executable='ros2_control_node',
                output='screen',
                parameters=[parameters],
                remappings=[('~/robot_description', '/robot_description')],
                on_exit=Shutdown(),
            ),
            Node(
                package='controller_manager',
                executable='spawner',
                arguments=[*CONTROLLERS, *PATIENCE],
            ),
        ]
    )
