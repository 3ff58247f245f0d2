"""Other people's arms, hands and legs, by the command line alone: the table of the docs."""

import re

import pytest
from arm_trial import EXAMPLES, PIXELS, Trial, pixels
from example_robots import needs_example_robots

pytestmark = pytest.mark.long


@needs_example_robots
@pytest.mark.parametrize('arm', EXAMPLES, ids=str)
def test_an_arm_does_all_by_the_command_line_alone(ros_graph, arm):
    outcome = Trial(ros_graph, arm).run()
    if arm.refusal:
        assert re.search(arm.refusal, outcome.refused)
        return
    assert not outcome.refused
    assert outcome.faults == []
    assert outcome.error is None or outcome.error < 1e-9
    seen = pixels(arm)
    assert seen is None or seen > PIXELS
