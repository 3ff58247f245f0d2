"""Two arms in one ROS domain, each in a namespace of its own, both in lockstep."""

import numpy as np
import pytest
from closed_loop import HOME, READY
from diagnostic_msgs.msg import DiagnosticArray
from ros_processes import Newest
from sensor_msgs.msg import JointState
from state_record import expect_same, kept_states
from state_source import stamp_of
from std_srvs.srv import Trigger

from icir_control.share import share_directory

PARAMETERS = str(share_directory() / 'config' / 'gen3_6dof.yaml')
END = 3.0  # s
SCHEDULE = "schedule:=['0.2 home', '2.5 ready']"


def start_arm(graph, namespace, **record):
    """The processes of an arm, controller first."""
    given = ('--ros-args', '--params-file', PARAMETERS)
    moved = ('-r', f'__ns:={namespace}', '-r', f'/clock:={namespace}/clock')
    controller = graph.start('controller', *given, *moved, '-p', SCHEDULE)
    controller.wait_for('ready; waiting for')
    options = ('-p', 'viewer:=none', '-p', 'real_time_factor:=0.0')
    return controller, graph.start('bridge', *given, *moved, *options, **record)


class Onlooker:
    """What is to be seen of an arm from outside."""

    def __init__(self, observer, name):
        self.newest = Newest(observer, JointState, f'{name}/joint_states')
        self._values: dict[str, str] = {}
        self._name = f'/{name}/mujoco_bridge: simulation'
        observer.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, 100)

    def _diagnose(self, message):
        for status in message.status:
            if status.name == self._name:
                self._values = {pair.key: pair.value for pair in status.values}

    @property
    def time(self):
        """Simulation time of the newest state [s]."""
        return 1e-9 * stamp_of(self.newest.message)

    @property
    def position(self):
        state = self.newest.message
        return np.array(state.position)[np.argsort(state.name)]

    def rejected_by(self, time):
        """How many commands were rejected, by diagnostics of this simulation time or later."""
        values = self._values
        if float(values.get('simulation_time', 0.0)) < time:
            return None
        return int(values['rejected'])


@pytest.mark.slow
def test_neither_of_two_arms_in_namespaces_sees_the_other(ros_graph, tmp_path):
    names = ('left', 'right')
    records = [tmp_path / name for name in names]
    arms = [
        start_arm(ros_graph, f'/{name}', record=record)
        for name, record in zip(names, records, strict=True)
    ]
    observer = ros_graph.observer()
    left, right = (Onlooker(observer, name) for name in names)
    for arm in (left, right):
        observer.spin_until(lambda arm=arm: arm.newest.has_arrived() and arm.time > END)
    assert observer.call(Trigger, 'left/controller/modes/gravity').success
    assert observer.call(Trigger, 'left/controller/modes/home').success
    for arm in (left, right):
        until = arm.time + 3.0
        observer.spin_until(lambda arm=arm, until=until: arm.time > until)
        observer.spin_until(
            lambda arm=arm, until=until: arm.rejected_by(until) is not None, what='diagnostics'
        )
        assert arm.rejected_by(until) == 0
    np.testing.assert_allclose(left.position, HOME, atol=1e-3)
    np.testing.assert_allclose(right.position, READY, atol=1e-3)
    # To the last bit each did what it does alone.
    expect_same(*(kept_states(record, 6) for record in records), END)
    for controller, bridge in arms:
        assert 'several' not in controller.output + bridge.output
