"""The markers for rviz, on a pushed arm, and on one that is near itself and its limits."""

import numpy as np
import pytest
from session import Session
from state_source import HOME
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from icir_control.app.closed_loop import ClosedLoop
from icir_control.nodes.controller.markers import RED, YELLOW, Markers

FOLDED = np.radians([-49.0, 67.0, -139.0, -19.0, -31.0, -8.0])
"""The last link is 9 mm from the first."""


@pytest.mark.slow
def test_a_push_is_an_arrow_and_the_way_of_the_tool_a_line(ros_graph):
    start = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
    session = Session(
        # The trail has a point for each message at most, and those come by wall time.
        ros_graph,
        'frame_prefix:=left/',
        bridge_parameters=('real_time_factor:=2.0', start),
    )
    heard = []
    session.observer.create_subscription(
        MarkerArray, 'controller/markers', lambda message: heard.append(message.markers), 1
    )
    session.controller.wait_for('new start at')
    session.observer.spin_until(lambda: heard, what='the tool where it begins')
    assert session.observer.call(Trigger, 'controller/modes/down').success
    session.wait(2.2)
    session.push((0.0, 0.0, -20.0), hold=100.0)

    def is_felt():
        arrow = heard[-1][0]
        tip = arrow.points[1]
        return np.allclose((tip.x, tip.y, tip.z), (0.0, 0.0, -0.2), atol=0.02)

    session.observer.spin_until(lambda: heard and is_felt(), what='the arrow of the push')
    arrow, trail, *_ = heard[-1]
    assert (arrow.header.frame_id, arrow.type) == ('left/end_effector_link', Marker.ARROW)
    assert (trail.header.frame_id, trail.type) == ('left/base_link', Marker.LINE_STRIP)
    # Of the newest transforms: those of the markers' own tick reach rviz later.
    assert not any(m.header.stamp.sec or m.header.stamp.nanosec for m in heard[-1])
    heights = [point.z for point in trail.points]
    assert abs(max(heights) - min(heights) - 0.05) < 5e-3


def shown(controller, q, thrown=0.0):
    """The markers that rviz is to show, by namespace, at q (nv,); then thrown off by an angle."""
    rest = np.zeros(6)
    controller.restart(0.0, q, rest, 1)
    controller.tick(0.0, q, rest)
    controller.tick(0.001, q + thrown, rest)
    markers: dict[str, list[Marker]] = {}
    for marker in Markers(controller, 'left/').make().markers:
        if marker.action == Marker.ADD:
            markers.setdefault(marker.ns, []).append(marker)
    return markers


def test_links_that_are_near_are_joined_by_a_line_as_long_as_their_distance():
    controller = ClosedLoop(start=FOLDED).controller
    (lines,) = shown(controller, FOLDED)['distances']
    assert (lines.header.frame_id, lines.type) == ('left/world', Marker.LINE_LIST)
    ends = np.array([(p.x, p.y, p.z) for p in lines.points]).reshape(-1, 2, 3)
    lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    clearance = controller.config.arm.clearance
    distances = clearance.distances(FOLDED)
    np.testing.assert_allclose(np.sort(lengths), np.sort(distances[distances < 0.04]), atol=1e-12)
    assert [colour == RED for colour in lines.colors[::2]] == (lengths < clearance.least).tolist()
    # One of them is to the floor.
    assert np.isclose(ends[:, 1, 2], 0.0, atol=1e-12).sum() == 1


def test_a_joint_at_a_limit_has_a_ball():
    controller = ClosedLoop().controller
    assert not {'limits', 'distances'} & shown(controller, HOME).keys()
    near = HOME + [0.0, 2.15 - HOME[1], 0.0, 0.0, 0.0, 0.0]
    (ball,) = shown(controller, near)['limits']
    assert (ball.header.frame_id, ball.color) == ('left/bicep_link', YELLOW)
    held = ClosedLoop(changes={'initial_mode': 'hold'}).controller
    balls = shown(held, HOME, 0.4)['limits']
    red = {ball.header.frame_id for ball in balls if ball.color == RED}
    assert len(red) == held.saturated.sum() > 0
