"""The handle in rviz, dragged as rviz drags it."""

from importlib.util import find_spec

import numpy as np
import pytest
from session import Session
from state_source import HOME
from std_srvs.srv import Trigger
from visualization_msgs.msg import InteractiveMarkerFeedback as Feedback
from visualization_msgs.msg import InteractiveMarkerUpdate
from visualization_msgs.srv import GetInteractiveMarkers

pytestmark = pytest.mark.skipif(
    find_spec('interactive_markers') is None,
    reason='interactive_markers comes with a ROS 2 installation; PyPI has no wheel of it',
)
NAME = 'controller/target_marker'


def test_where_the_handle_is_let_go_the_tool_goes(ros_graph):
    start = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
    session = Session(
        ros_graph,
        'frame_prefix:=left/',
        bridge_parameters=('real_time_factor:=0.0', start),
    )
    observer = session.observer
    places = []
    observer.create_subscription(
        InteractiveMarkerUpdate,
        f'{NAME}/update',
        lambda message: places.extend(one.pose.position.z for one in message.poses),
        10,
    )
    session.controller.wait_for('new start at')
    # It stays at the tool.
    observer.spin_until(lambda: places, what='a place of the handle')
    assert observer.call(Trigger, 'controller/modes/jog').success
    (marker,) = observer.call(GetInteractiveMarkers, f'{NAME}/get_interactive_markers').markers
    assert marker.header.frame_id == 'left/base_link'
    begin = marker.pose.position.z

    drag = observer.create_publisher(Feedback, f'{NAME}/feedback', 10)
    observer.spin_until(lambda: drag.get_subscription_count() > 0)
    feedback = Feedback(client_id='rviz', marker_name=marker.name, pose=marker.pose)
    feedback.header = marker.header
    feedback.pose.position.z = begin - 0.03

    def is_dragged():
        # The server takes a client's feedback one second after another one's, or its own start.
        for feedback.event_type in (Feedback.MOUSE_DOWN, Feedback.POSE_UPDATE):
            drag.publish(feedback)
        return abs(places[-1] - begin + 0.03) < 1e-9

    # The handle is where the mouse is, and while it is held nothing moves.
    observer.spin_until(is_dragged, what='the handle where the mouse is')
    session.wait(0.5)
    assert places[-1] == pytest.approx(begin - 0.03, abs=1e-9)
    assert session.tool.translation[2] == pytest.approx(begin, abs=1e-6)
    feedback.event_type = Feedback.MOUSE_UP
    drag.publish(feedback)
    observer.spin_until(
        lambda: abs(session.tool.translation[2] - begin + 0.03) < 1e-6, what='the tool there'
    )
