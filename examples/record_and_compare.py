"""Record two runs, prove that a third is one of them to the last bit, and see how they differ."""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot
from icir_control.app.recording.reader import Recording
from icir_control.simulation import Plant

picture = sys.argv[1] if len(sys.argv) > 1 else 'record_and_compare.png'
folder = Path(tempfile.mkdtemp())


def run(name: str, **plant: float) -> Recording:
    """Move home and down on a plant, and keep it as an MCAP file."""
    with Robot.simulate(plant=Plant(**plant)) as robot:
        robot.home()
        robot.down()
        robot.log.save(folder / name)
    return Recording(folder / name)


model, again = run('model.mcap'), run('again.mcap')
heavier = run('heavier.mcap', mass_scale=1.1)
assert model.states.first_difference(again.states) is None
print('two runs on one plant are the same to the last bit')
print(model.states.first_difference(heavier.states))
print(f'one page about both: icir_control report {heavier.path} --against {model.path}')

rows = min(len(model.states), len(heavier.states))
difference = heavier.states['position'][:rows] - model.states['position'][:rows]
assert 0.0 < np.abs(difference).max() < 0.1
figure, axes = plt.subplots(layout='constrained')
axes.plot(model.states.time[:rows], 1e3 * difference, label=model.joint_names)
axes.set(xlabel='time [s]', ylabel='difference [mrad]', title='10 % more mass than the model')
axes.legend(fontsize='small')
figure.savefig(picture)
