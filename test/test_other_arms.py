"""Other arms than the one with six joints, over real topics, by configuration alone."""

import sys
from pathlib import Path

import numpy as np
from session import Session

ICIR_CONTROL = str(Path(sys.executable).parent / 'icir_control')


def test_the_elbow_of_seven_joints_moves_and_the_tool_stays(ros_graph):
    session = Session(ros_graph, "schedule:=['0.1 home', '4.5 elbow']", robot='gen3_7dof')
    recording = session.record(9.0)
    positions = {
        stamp * 1e-9: np.frombuffer(position) for stamp, (position, _, _) in recording.items()
    }
    home = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])
    before = max(time for time in positions if time < 4.5)
    assert before > 4.2
    np.testing.assert_allclose(positions[before], home, rtol=0, atol=1e-9)
    tool = session.tool_at(home)
    later = [q for time, q in positions.items() if time >= 4.5]
    assert len(later) > 100
    for q in later[:: len(later) // 100]:
        assert np.linalg.norm(session.tool_at(q).translation - tool.translation) < 1e-6
    assert np.degrees(np.abs(later[-1] - home)).max() > 20.0


def test_the_command_line_runs_seven_joints(ros_graph):
    sim = ros_graph.run(
        [ICIR_CONTROL, 'sim', '--robot', 'gen3_7dof', '--viewer', 'none'], terminal=True
    )
    sim.wait_for(r'(?s)e +elbow.*q +quit')
    sim.wait_for('nv = 7')
    sim.type('h')
    sim.wait_for('(?m)^home$')
    sim.type('q')
    assert sim.wait(3.0) == 0
