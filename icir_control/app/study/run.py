"""One run of a study: a simulation in this process, and what is measured of it."""

import logging
from pathlib import Path
from typing import Any

import numpy as np

from icir_control.app.measurement import Array
from icir_control.app.study.plan import (
    GOAL,
    PLANT,
    START,
    TARGET_SECONDS,
    Sample,
    Study,
    config_of,
    loop_of,
    metric_of,
    variable,
)
from icir_control.errors import IcirError
from icir_control.parameter import read
from icir_control.robot import Robot
from icir_control.robot.log import Log
from icir_control.simulation import Plant

# A row says how its run ended; the workers' warnings would run through the progress bar.
logging.getLogger('icir_control').addHandler(logging.NullHandler())

ARRIVED, FAILED_METRIC = 'arrived', 'failed metric'
Row = dict[str, Any]


def run_one(study: Study, index: int, sample: Sample, record: Path | None = None) -> Row:
    """Run a sample and measure it.

    Args:
        study: What happens.
        index: Of the run.
        sample: What differs.
        record: MCAP file for its log; None for none.

    Returns:
        The row: index, sample, `outcome` (a run that breaks off says why, and so does one with a
        metric of one's own that fails, which is NaN), time [s], metrics.
    """
    outcome, robot = ARRIVED, None
    try:
        plant, parameters = given(study, sample)
        arm = config_of(study.robot).arm
        start = {
            START + joint: q
            for joint, q in zip(arm.model.joint_names, loop_of(study.robot).q, strict=True)
        }
        robot = Robot.simulate(
            study.robot,
            start=[sample.get(name, q) for name, q in start.items()],
            plant=read(Plant, plant, arm.nv),
            parameters=parameters,
        )
        shift = np.array([sample.get(GOAL + axis, 0.0) for axis in 'xyz'])
        for one in study.run:
            _take(robot, one, shift)
    except IcirError as error:
        outcome = f'{type(error).__name__}: {error}'
    row: Row = {'run': index, **sample, 'outcome': outcome, 'time': np.nan}
    if robot is None:
        return row | dict.fromkeys(study.units, np.nan)
    log = robot.log
    tool = np.abs(log.tool_error.reshape(-1, 2, 3))
    if record is not None:
        log.save(record)
    own, problems = _own_metrics(study, log)
    if problems:
        row['outcome'] = '; '.join([*([] if outcome == ARRIVED else [outcome]), *problems])
    return row | {
        'time': robot.time,
        'joint_error': float(np.abs(log.q_reference - log.q).max()),
        'overshoot': _overshoot(log),
        'position_error': float(np.linalg.norm(tool[:, 0], axis=1).max()),
        'rotation_error': float(np.linalg.norm(tool[:, 1], axis=1).max()),
        'torque_fraction': float((np.abs(log.torque) / robot.model.effort_limit).max()),
        **own,
    }


def _own_metrics(study: Study, log: Log) -> tuple[dict[str, float], list[str]]:
    """Return the metrics of one's own, NaN where one fails, and what is wrong with these."""
    values, problems = dict.fromkeys(study.metrics, np.nan), []
    for name, function in study.metrics.items():
        metric = metric_of(function, study.folder)
        try:
            values[name] = float(metric(log))
        except Exception as error:  # whatever a function of the user raises
            problems.append(f'{FAILED_METRIC} {name}: {type(error).__name__}: {error}')
    return values, problems


def _take(robot: Robot, step: Any, shift: Array) -> None:
    """Take a step of a run; targets of the tool are shifted by (3,) [m]."""
    match step:
        case str():
            robot.go(step)
        case {'push': force, 'seconds': seconds}:
            robot.push(force, seconds=seconds)
        case {'wait': seconds}:
            robot.run(seconds)
        case {'move_joints': q}:
            robot.move_joints(q, duration=step.get('seconds', TARGET_SECONDS))
        case {'move_to': position}:
            robot.move_to(position + shift, duration=step.get('seconds', TARGET_SECONDS))
        case {'move_by': translation}:
            robot.move_by(translation + shift, duration=step.get('seconds', TARGET_SECONDS))


def _overshoot(log: Log) -> float:
    starts = np.searchsorted(log.time, [time for time, _ in log.modes][1:])
    parts = zip(np.split(log.q, starts), np.split(log.q_reference, starts), strict=True)
    return max(
        float(np.maximum(q - wanted.max(axis=0), wanted.min(axis=0) - q).max(initial=0.0))
        for q, wanted in parts
        if len(q)
    )


def given(study: Study, sample: Sample) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters of plant and controller; a number stands for all entries of an array."""
    nv, known = config_of(study.robot).arm.nv, variable(study.robot)
    values: dict[str, Any] = {}
    for name, value in sample.items():
        if name.startswith((START, GOAL)):
            continue
        kind = known[name].kind
        size = known[name].size(nv) or nv
        values[name] = {'int': round(value), 'float': value}.get(kind, [value] * size)
    plant = {name.removeprefix(PLANT): v for name, v in values.items() if name.startswith(PLANT)}
    return plant, {name: v for name, v in values.items() if not name.startswith(PLANT)}
