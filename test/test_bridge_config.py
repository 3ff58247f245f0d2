"""The bridge's configuration under any values: refused in our words, or simulated."""

import numpy as np
from closed_loop import model_of, urdf_of
from fuzz import FUZZED
from hypothesis import given
from hypothesis import strategies as st

from icir_control.errors import IcirError
from icir_control.nodes.bridge.config import config_from
from icir_control.nodes.bridge.figures import FIGURES, PLANT_FIGURES
from icir_control.simulation import World

FIGURE_OF = {figure.name: figure for figure in FIGURES}
FIGURE_OF |= {f'plant.{figure.name}': figure for figure in PLANT_FIGURES}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
likely = st.floats(0.0, 2.0) | st.integers(0, 4) | st.sampled_from(['hold', 'reset', 'none'])
anything = scalars | likely | st.lists(st.floats(-200.0, 200.0) | scalars, max_size=7)


@given(st.dictionaries(st.sampled_from(sorted(FIGURE_OF)), anything, min_size=1, max_size=3))
@FUZZED
def test_any_configuration_is_refused_in_our_words_or_simulated(changes):
    model = model_of()
    try:
        values = {
            name: figure.check(changes.get(name), name, model.nv)
            for name, figure in FIGURE_OF.items()
        }
        config = config_from(values, model)
        world = World(
            urdf_of(),
            joint_names=config.joint_names,
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
