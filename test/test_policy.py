"""The security policy beside what the running nodes really use."""

from fnmatch import fnmatch
from importlib.util import find_spec
from xml.etree import ElementTree

import pytest
from rclpy.node import NodeNameNonExistentError
from session import Session

from icir_control.share import share_directory

NODES = ('mujoco_bridge', 'controller', 'keyboard')
# Of packages that need not be installed.
OPTIONAL = {
    'simulation_interfaces': {
        '/get_simulation_state',
        '/get_simulator_features',
        '/reset_simulation',
        '/set_simulation_state',
        '/step_simulation',
    },
    'interactive_markers': {
        '/controller/target_marker/feedback',
        '/controller/target_marker/get_interactive_markers',
        '/controller/target_marker/update',
    },
    'visualization_msgs': {'/controller/markers'},
    'control_msgs': {'/controller/follow_joint_trajectory/_action/*'},
}


def allowed(node: str) -> dict[str, set[str]]:
    """Full names, perhaps with a star, by what the node may do with them."""
    policy = ElementTree.parse(share_directory() / 'config' / 'sros2_policy.xml')
    (profile,) = policy.findall(f'.//profile[@node="{node}"]')
    names: dict[str, set[str]] = {}
    for group in profile:
        ((kind, qualifier),) = group.attrib.items()
        assert qualifier == 'ALLOW'
        entries = {'/' + entry.text.lstrip('/') for entry in group}
        if kind == 'execute':  # an action is served by topics and services of these names
            for of_action in ('publish', 'reply'):
                names[of_action] |= {f'{entry}/_action/*' for entry in entries}
        else:
            names[kind] = entries
    return names


@pytest.fixture
def used(ros_graph):
    """Full names that the nodes of a session use, by node and what they do with them."""
    session = Session(ros_graph, bridge_parameters=('real_time_factor:=1.0',))
    session.start_keyboard()
    observer = session.observer
    ask = {
        'publish': observer.get_publisher_names_and_types_by_node,
        'subscribe': observer.get_subscriber_names_and_types_by_node,
        'reply': observer.get_service_names_and_types_by_node,
        'request': observer.get_client_names_and_types_by_node,
    }

    def found() -> dict[str, dict[str, set[str]]]:
        return {
            node: {kind: {name for name, _ in by_node(node, '/')} for kind, by_node in ask.items()}
            for node in NODES
        }

    def is_complete() -> bool:
        try:
            seen = found()
        except NodeNameNonExistentError:  # not discovered yet, or discovered only in part
            session.observer.spin_for(0.5)
            return False
        session.observer.spin_for(0.5)
        return seen == found() and bool(seen['keyboard']['request'])

    observer.spin_until(is_complete)
    return found()


@pytest.mark.slow
def test_the_policy_allows_what_the_nodes_use_and_no_more(used):
    absent = {name for package in OPTIONAL if not find_spec(package) for name in OPTIONAL[package]}
    for node in NODES:
        policy = allowed(node)
        for kind, names in used[node].items():
            patterns = policy.get(kind, set())
            refused = {name for name in names if not any(fnmatch(name, p) for p in patterns)}
            unused = {p for p in patterns if not any(fnmatch(name, p) for name in names)} - absent
            assert not refused, (node, kind)
            assert not unused, (node, kind)
