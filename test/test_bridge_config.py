"""The bridge's configuration under any values: refused in our words, or simulated."""

import numpy as np
import pytest
from closed_loop import model_of, urdf_of
from fuzz import FUZZED
from hypothesis import given
from hypothesis import strategies as st

from icir_control.errors import IcirError
from icir_control.nodes.bridge.config import BridgeConfig
from icir_control.parameter import parameters_of, replaced
from icir_control.simulation import World

NAMES = sorted(parameters_of(BridgeConfig))

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
likely = st.floats(0.0, 2.0) | st.integers(0, 4) | st.sampled_from(['hold', 'reset', 'none'])
anything = scalars | likely | st.lists(st.floats(-200.0, 200.0) | scalars, max_size=7)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(NAMES), anything, min_size=1, max_size=3))
@FUZZED
def test_any_configuration_is_refused_in_our_words_or_simulated(changes):
    model = model_of()
    try:
        config = BridgeConfig.from_parameters(replaced({}, changes), model)
        world = World(
            urdf_of(),
            joint_names=model.joint_names,
            end_effector_frame=config.end_effector_frame,
            timestep=config.timestep,
            initial_configuration=config.initial_configuration,
            plant=config.plant,
        )
        world.step(np.zeros(model.nv))
    except IcirError:  # a plant too heavy for its arithmetic diverges, and says so
        return
    state = np.zeros((3, model.nv))
    world.read(*state)
    assert np.isfinite(state).all()
