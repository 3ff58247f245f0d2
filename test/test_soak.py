"""Hours at full speed in every mode in turn, pushed and reset at random: nothing may grow."""

import gc
from pathlib import Path

import numpy as np
import pytest
from bridge_client import nanoseconds
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from session import TOOL, Session
from state_source import HOME
from std_msgs.msg import String
from std_srvs.srv import Trigger
from wall_time import Stopwatch

from icir_control.dynamics import compute_all_terms, kinetic_energy, load_urdf, potential_energy
from icir_control.share import share_directory

MODES = ['home', 'ready', 'home', 'down', 'float', 'impedance', 'gravity']
PUSH = 3.0  # N, at most in each direction
FASTEST = 20.0  # rad/s, of a wrist that is pushed and free to turn
HOLD = 0.5  # s of simulation time for which a push acts
GROWTH = 1 << 20  # bytes that a process may grow by after the warm-up


def memory(pid: int) -> int:
    """Memory that is the process's own, files that it maps left out [bytes]."""
    lines = Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith('Anonymous:'))


class Diary:
    """What the bridge says of itself."""

    def __init__(self, session: Session) -> None:
        self.values: dict[str, str] = {}
        session.observer.create_subscription(DiagnosticArray, '/diagnostics', self._note, 10)

    def _note(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith('mujoco_bridge: simulation'):
                self.values = {pair.key: pair.value for pair in status.values}


@pytest.mark.parametrize(
    ('seconds', 'in_one_mode'),  # of simulation time
    [
        pytest.param(5.0, 0.7, marks=pytest.mark.slow),
        pytest.param(3600.0, 2.5, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
@pytest.mark.parametrize(
    'composed',
    [pytest.param(True, marks=pytest.mark.long), False],
    ids=['composed', 'two processes'],
)
def test_nothing_grows_and_no_tick_is_missed(ros_graph, seconds, in_one_mode, composed):
    random = np.random.default_rng(1)
    model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
    data = model.create_data()
    pace = (
        'real_time_factor:=0.0',
        f'external_wrench_hold:={HOLD}',
    )
    session = Session(ros_graph, bridge_parameters=pace, composed=composed)
    processes = {session.bridge.pid, session.controller.pid}
    observer = session.observer
    diary = Diary(session)
    wrenches = observer.create_publisher(WrenchStamped, 'mujoco_bridge/external_wrench', 10)
    select = observer.create_publisher(String, 'controller/select_mode', 10)
    observer.spin_until(
        lambda: wrenches.get_subscription_count() and select.get_subscription_count()
    )

    def total_energy() -> float:
        """Kinetic and potential energy of the newest state [J]."""
        state = session.state
        q, v = np.array(state.position), np.array(state.velocity)
        compute_all_terms(model, data, q, v)
        return kinetic_energy(model, data, q, v) + potential_energy(model, data, q)

    def stretch(mode: str) -> None:
        select.publish(String(data=mode))
        message = WrenchStamped()
        message.header.frame_id = TOOL
        force = message.wrench.force
        force.x, force.y, force.z = random.uniform(-PUSH, PUSH, 3).tolist()
        wrenches.publish(message)
        session.wait(in_one_mode)
        assert np.isfinite(session.state.position).all()
        assert np.abs(session.state.velocity).max() < FASTEST

    def come_to_rest() -> float:
        """Home, and its energy: what pushes and motions brought in is gone."""
        select.publish(String(data='home'))
        # A wrist that was pushed around goes back as slowly as its limit of speed asks for.
        for _ in range(60):
            session.wait(in_one_mode)
            if np.abs(session.position - HOME).max() < 1e-6:
                break
        said = session.controller.output[-2000:]
        np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-6, err_msg=said)
        return total_energy()

    for mode in MODES:  # the warm-up
        stretch(mode)
    rest = come_to_rest()
    gc.collect()
    before = {pid: memory(pid) for pid in processes}
    begin = nanoseconds(session.state.header.stamp)
    missed, watch = int(diary.values.get('missed', 0)), Stopwatch()
    turn = 0
    while (nanoseconds(session.state.header.stamp) - begin) * 1e-9 < seconds:
        stretch(MODES[turn % len(MODES)])
        turn += 1
        if random.random() < 0.1 or turn == len(MODES):
            assert observer.call(Trigger, 'mujoco_bridge/reset').success
    assert come_to_rest() == pytest.approx(rest, abs=1e-3)
    diary.values = {}
    observer.spin_until(lambda: diary.values, what='diagnostics')
    growth = {pid: memory(pid) - before[pid] for pid in processes}
    assert max(growth.values()) < GROWTH, growth
    # A reset makes the state on its way worthless; no other answer is missed. Where others
    # want the processors, a controller of its own may wait for one longer than the bridge does.
    ticks = (nanoseconds(session.state.header.stamp) - begin) * 1e-6
    busy = watch.slowdown if watch.slowdown > 1.0 and not composed else 0.0
    late = 0.001 * ticks * busy
    assert int(diary.values['missed']) <= missed + late
    assert int(diary.values['divergences']) == 0
    assert session.bridge.running
    assert session.controller.running
