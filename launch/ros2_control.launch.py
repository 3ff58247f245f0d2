"""The Gen3 in MuJoCo as hardware of ros2_control, with a joint_trajectory_controller."""

from launch import LaunchDescription
from launch.actions import Shutdown
from launch_ros.actions import Node

from icir_control.share import share_directory

CONTROLLERS = ('joint_state_broadcaster', 'joint_trajectory_controller')
TOPICS = ('joint_states', 'joint_commands')


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
    description = {'robot_description': robot_description()}
    return LaunchDescription(
        [
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
                parameters=[parameters, description],
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
                arguments=list(CONTROLLERS),
            ),
        ]
    )
