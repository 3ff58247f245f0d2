"""A study of a few short runs, as a file."""

from pathlib import Path

from icir_control.app.study.plan import Study

TEXT = """
run:
  - hold
  - push: [5.0, 0.0, 0.0]
    seconds: 0.05
vary:
  plant.payload_mass: {uniform: [0.0, 2.0]}
  plant.joint_friction: {normal: [0.5, 0.1]}
  joint_gains.kp: {grid: [10000.0, 40000.0]}
number: 5
"""


def study_of(folder: Path, text: str = TEXT) -> Study:
    file = folder / 'study.yaml'
    file.write_text(text)
    return Study.read(file)
