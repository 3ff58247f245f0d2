"""Pushes of all sizes on any link, in any mode and phase, through topics: nothing is lost."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from session import NANOSECONDS, Session
from state_record import States
from state_source import HOME, stamp_of
from std_srvs.srv import Trigger

from icir_control.dynamics import load_urdf
from icir_control.share import share_directory

MODES = ['home', 'ready', 'down', 'float', 'impedance', 'hold', 'gravity', 'jog']
LINKS = [
    'shoulder_link',
    'bicep_link',
    'forearm_link',
    'spherical_wrist_1_link',
    'spherical_wrist_2_link',
    'bracelet_link',
    'end_effector_link',
]
AFTER = 3.0  # s, in which the arm is at rest or back on its path
REST = 0.05  # share of the velocity limits; a motion that went on is over as well
WATCHED = 1.2  # share of them at which the watchdog brakes
BRAKED = 0.8  # s, after which the torque has brought an arm below that which a push threw


class Pusher:
    """A session at full speed whose arm is at home before each push."""

    def __init__(self, graph) -> None:
        at_home = f'initial_configuration_deg:={np.degrees(HOME).tolist()}'
        pace = ('real_time_factor:=0.0', at_home)
        self.session = Session(graph, bridge_parameters=pace, recorded=True)
        observer, self._applied = self.session.observer, []
        self._wrenches = observer.create_publisher(
            WrenchStamped, 'mujoco_bridge/external_wrench', 10
        )
        observer.create_subscription(WrenchStamped, 'mujoco_bridge/applied_wrench', self._take, 10)
        self.session.controller.wait_for('new start at')

    def _take(self, message: WrenchStamped) -> None:
        """Note the time from which a push acts [s]; one that is over has no force."""
        if message.wrench.force.x:
            self._applied.append(stamp_of(message) / NANOSECONDS)

    def push(self, mode: str, link: str, force: np.ndarray, hold: float, phase: float) -> States:
        """Push in a phase [s] of a mode; the states from then until it must be over."""
        session, observer = self.session, self.session.observer
        seen = len(session.controller.output)
        assert observer.call(Trigger, 'mujoco_bridge/reset').success
        session.controller.wait_for('new start at', start=seen)
        for name, seconds in (('hold', 0.3), (mode, phase)):
            assert observer.call(Trigger, f'controller/modes/{name}').success
            session.wait(seconds)
        session.set_bridge('external_wrench_hold', hold)
        message = WrenchStamped()
        message.header.frame_id = link
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force.tolist()
        observer.spin_until(self._wrenches.get_subscription_count)
        self._applied.clear()
        self._wrenches.publish(message)
        observer.spin_until(lambda: self._applied, what='the push')
        begin = self._applied[0]
        return session.states_until(begin + hold + AFTER).since(begin)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('batch', 'count'),
    [(0, 3), *[pytest.param(batch, 50, marks=pytest.mark.long) for batch in range(1, 21)]],
)
def test_a_pushed_arm_is_at_rest_or_back_on_its_path(ros_graph, batch, count):
    """1 to 300 N for 10 ms to 1 s: torque within limits, and 3 s later no joint is lost."""
    model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
    rng = np.random.default_rng(batch)
    pusher = Pusher(ros_graph)
    for _ in range(count):
        force = rng.normal(size=3)
        force *= rng.uniform(1.0, 300.0) / np.linalg.norm(force)
        hold = float(np.exp(rng.uniform(np.log(0.01), 0.0)))
        mode, link = str(rng.choice(MODES)), str(rng.choice(LINKS))
        push = (mode, link, force, hold, float(rng.uniform(0.05, 2.0)))
        states = pusher.push(*push)
        assert (np.abs(states.effort) <= model.effort_limit + 1e-9).all(), push
        share = np.abs(states.velocity / model.velocity_limit).max(axis=1)
        assert share[-1] < REST, push
        too_fast = states.stamp[share > WATCHED]
        over = states.stamp[0] + (hold + BRAKED) * NANOSECONDS
        assert not (too_fast > over).any(), push
    assert pusher.session.controller.running
