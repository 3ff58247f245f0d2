"""Bridge and controller as two processes of their own ROS domain, and a session with them."""

import os
from collections.abc import Mapping

from icir_control.app.robot import START_TIMEOUT, RobotFiles, ros_arguments
from icir_control.errors import ConfigurationError
from icir_control.nodes.process.children import ChildEndedError, Children
from icir_control.nodes.process.discovery import free_domain, stay_on_this_machine
from icir_control.robot.over_ros import OverRos
from icir_control.share import BRIDGE, CONTROLLER


def launched(robot: RobotFiles, parameters: Mapping[str, object]) -> OverRos:
    """Start both nodes.

    Args:
        robot: The arm.
        parameters: Of the bridge, above its file.

    Raises:
        ConfigurationError: This process uses ROS already, in its own domain.
        IcirError: A node ended; with the last lines of its output.
    """
    import rclpy

    if rclpy.ok():
        raise ConfigurationError(
            'this process has joined a ROS domain already; start the session by `icir_control '
            'sim` and use Robot.connect'
        )
    stay_on_this_machine()
    before = os.environ.get('ROS_DOMAIN_ID')
    os.environ['ROS_DOMAIN_ID'] = str(free_domain())
    children = Children()
    try:
        children.start(BRIDGE, 'bridge', ros_arguments(BRIDGE, robot, parameters))
        children.start(CONTROLLER, 'controller', ros_arguments(CONTROLLER, robot, {}))
        return OverRos('', START_TIMEOUT, children)
    except BaseException as error:
        children.stop()
        if isinstance(error, ChildEndedError):
            raise ConfigurationError(children.report(error)) from error
        raise
    finally:
        if before is None:
            del os.environ['ROS_DOMAIN_ID']
        else:
            os.environ['ROS_DOMAIN_ID'] = before
