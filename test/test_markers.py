"""The markers for rviz, on a pushed arm."""

import numpy as np
from session import Session
from state_source import HOME
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray


def test_a_push_is_an_arrow_and_the_way_of_the_tool_a_line(ros_graph):
    start = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
    session = Session(
        ros_graph, 'frame_prefix:=left/', bridge_parameters=('real_time_factor:=0.0', start)
    )
    heard = []
    session.observer.create_subscription(
        MarkerArray, 'controller/markers', lambda message: heard.append(message.markers), 1
    )
    session.controller.wait_for('new start at')
    assert session.observer.call(Trigger, 'controller/modes/down').success
    session.wait(2.2)
    session.push((0.0, 0.0, -20.0), hold=100.0)

    def is_felt():
        arrow, _ = heard[-1]
        tip = arrow.points[1]
        return np.allclose((tip.x, tip.y, tip.z), (0.0, 0.0, -0.2), atol=0.02)

    session.observer.spin_until(lambda: heard and is_felt(), what='the arrow of the push')
    arrow, trail = heard[-1]
    assert (arrow.header.frame_id, arrow.type) == ('left/end_effector_link', Marker.ARROW)
    assert (trail.header.frame_id, trail.type) == ('left/base_link', Marker.LINE_STRIP)
    # Of the newest transforms: those of the markers' own tick reach rviz later.
    assert [marker.header.stamp.sec + marker.header.stamp.nanosec for marker in heard[-1]] == [
        0,
        0,
    ]
    heights = [point.z for point in trail.points]
    assert abs(max(heights) - min(heights) - 0.05) < 5e-3
