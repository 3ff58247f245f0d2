"""`icir_control tune`: the controller's parameters that do best on the worst of varied plants.

Optuna proposes parameters, the workers of a study run each plant with them. The trials are kept in
an SQLite file, from which an interrupted tuning goes on.
"""

import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import yaml

from icir_control.app.robot import RobotFiles
from icir_control.app.study.engine import check_metrics, run_all
from icir_control.app.study.plan import (
    PLANT,
    Sample,
    Study,
    are_numbers,
    config_of,
    invalid,
    read_file,
    variable,
)
from icir_control.app.study.run import ARRIVED, Row, given
from icir_control.errors import ConfigurationError
from icir_control.parameter import checked, parameter, replaced, subgroup
from icir_control.share import CONTROLLER

if TYPE_CHECKING:
    from optuna import Study as Search


@dataclass(frozen=True)
class Tuning:
    """What is tuned for which plants.

    Attributes:
        study: The plants, and what happens on each.
        tune: Both ends by parameter; where both are positive, the search is over the logarithm.
        limits: Of metrics, upper bounds that hold on every plant.
    """

    study: Study
    tune: Mapping[str, list[float]]
    minimise: str = parameter(
        'joint_error', '', 'the metric whose greatest value over the plants counts'
    )
    limits: Mapping[str, float] = field(default_factory=dict)
    trials: int = parameter(
        100, '', 'sets of parameters that are tried; the first is the one that ships', lower=1
    )
    unseen: int = parameter(
        200, '', 'other plants that show what was gained; as many more as fill a grid', lower=1
    )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and check a file.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        content = read_file(path)
        of_study = [one.name for one in fields(Study)]
        parameters = checked(cls, content, 0, also=('tune', 'limits', *of_study))
        of_file = {name: content[name] for name in of_study if name in content}
        study = Study.of(of_file, path.absolute().parent)
        tune, limits = (subgroup(content, name) for name in ('tune', 'limits'))
        tuning = cls(study, tune, limits=limits, **parameters)
        tuning.check()
        return tuning

    def check(self) -> None:
        """Refuse what cannot be tuned.

        Raises:
            ConfigurationError: Says what is wrong, and what would be valid.
        """
        metrics = self.study.units
        if self.minimise not in metrics:
            raise invalid('minimise', self.minimise, f'one of {", ".join(metrics)}')
        if not set(self.limits) <= set(metrics):
            raise invalid('limits', self.limits, f'bounds of some of {", ".join(metrics)}')
        for name, bound in self.limits.items():
            if not are_numbers([bound], 1) or bound <= 0.0:
                raise invalid(f'limits.{name}', bound, 'a positive number')
        if all('grid' in how for how in self.study.vary.values()):
            raise invalid('vary', self.study.vary, 'something uniform or normal: a grid alone')
        valid = [
            name
            for name in variable(self.study.robot)
            if not name.startswith(PLANT) and name not in self.study.vary
        ]
        if not self.tune:
            raise invalid('tune', self.tune, 'parameters of the controller, each with two ends')
        for name, ends in self.tune.items():
            if name not in valid:
                raise ConfigurationError(f'tune has {name!r}; expected one of {", ".join(valid)}')
            if not isinstance(ends, list) or not are_numbers(ends, 2) or ends[0] >= ends[1]:
                raise invalid(f'tune.{name}', ends, 'a lower and an upper end')
            nv = config_of(self.study.robot).arm.nv
            for end in ends:
                value = given(self.study, {name: end})[1][name]
                variable(self.study.robot)[name].check(value, nv, 'tune: ')

    def shipped(self) -> dict[str, float]:
        """Return what ships of the tuned parameters; of an array its first entry, if any."""
        config = config_of(self.study.robot)
        values = {name: np.atleast_1d(config.value(name)) for name in self.tune}
        return {name: float(value[0]) for name, value in values.items() if value.size}

    def cost(self, rows: Sequence[Row]) -> tuple[float, dict[str, float]]:
        """Return the worst of the metric, and by how much each limit is exceeded (<= 0: kept).

        Args:
            rows: Of all plants.
        """
        arrived = [row for row in rows if row['outcome'] == ARRIVED]
        greatest = {
            name: max((row[name] for row in arrived), default=math.inf)
            for name in self.study.units
        }
        excess = {name: greatest[name] / bound - 1.0 for name, bound in self.limits.items()}
        return greatest[self.minimise], {'arrived': float(len(rows) - len(arrived)), **excess}


def search(
    tuning: Tuning, client: Any, database: Path, show: Callable[[int, int], None]
) -> Sample:
    """Search, or go on searching, and return the best parameters.

    Args:
        tuning: What is wanted.
        client: Of `engine.cluster`.
        database: SQLite file of the trials.
        show: Told how many trials are done, of how many.

    Raises:
        ConfigurationError: The file is of another tuning, or no database; no trial keeps all
            limits.
        ClusterError: The cluster is gone; the file keeps the trials.
    """
    trials, plants = _trials(tuning, database), tuning.study.samples()
    done = _finished(trials)
    show(done, tuning.trials)
    known = variable(tuning.study.robot)
    check_metrics(tuning.study, 0, plants[0])
    for count in range(done, tuning.trials):
        trial = trials.ask()
        chosen: Sample = {
            name: trial.suggest_int(name, round(low), round(high), log=low > 0.0)
            if known[name].kind == 'int'
            else trial.suggest_float(name, low, high, log=low > 0.0)
            for name, (low, high) in tuning.tune.items()
        }
        worst, excess = tuning.cost(run_on(tuning, client, plants, chosen))
        for name, value in excess.items():
            trial.set_constraint(name, value)
        trials.tell(trial, worst)
        show(count + 1, tuning.trials)
    try:
        return trials.best_trial.params
    except ValueError as error:
        raise ConfigurationError(
            f'none of {tuning.trials} trials keeps the limits on every plant; expected weaker'
            ' limits, wider ends in tune, or more trials'
        ) from error


def run_on(tuning: Tuning, client: Any, plants: Sequence[Sample], parameters: Sample) -> list[Row]:
    """Return the rows of all plants with some parameters, in the order of the plants."""
    samples = [plant | parameters for plant in plants]
    rows = run_all(client, tuning.study, range(len(samples)), samples)
    return sorted(rows, key=lambda row: int(row['run']))


def unseen(tuning: Tuning) -> list[Sample]:
    """Return plants that the search has not seen: those of the next seed."""
    study = tuning.study
    places = math.prod(len(how.get('grid', ' ')) for how in study.vary.values())
    number = math.ceil(tuning.unseen / places)
    return replace(study, seed=study.seed + 1, number=number).samples()


def write_parameters(tuning: Tuning, chosen: Sample, path: Path) -> None:
    """Write the robot's parameter file with what was found, for `--params-file`."""
    content = yaml.safe_load(RobotFiles.of(tuning.study.robot).params_file.read_text())
    (node,) = (name for name in content if name.rpartition('/')[2] == CONTROLLER)
    parameters = given(tuning.study, chosen)[1]
    content[node]['ros__parameters'] = replaced(content[node]['ros__parameters'], parameters)
    found = ''.join(f'# {name} {value:.6g}\n' for name, value in chosen.items())
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=99)
    path.write_text(f'# Found by icir_control tune:\n{found}\n{text}')


def _trials(tuning: Tuning, database: Path) -> 'Search':
    """Open the trials of this tuning, or begin them with the parameters that ship."""
    import optuna

    try:
        with closing(sqlite3.connect(database)) as file:
            file.execute('PRAGMA schema_version')
    except sqlite3.Error as error:
        raise ConfigurationError(
            f'{database} cannot hold the trials: {error}; name another file by --output,'
            ' or delete it'
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    trials = optuna.create_study(
        storage=f'sqlite:///{database}', study_name='icir_control', load_if_exists=True
    )
    asked = repr(replace(tuning, trials=0, unseen=0))
    if trials.user_attrs.get('asked', asked) != asked:
        raise ConfigurationError(
            f'{database} is of another tuning; name another file by --output, or delete it'
        )
    trials.set_user_attr('asked', asked)
    done = _finished(trials)
    # One that goes on does not propose once more what it began with.
    trials.sampler = optuna.samplers.TPESampler(seed=tuning.study.seed + done)
    if not done:
        ends, shipped = tuning.tune, tuning.shipped()
        inside = {n: v for n, v in shipped.items() if ends[n][0] <= v <= ends[n][1]}
        trials.enqueue_trial(inside)
    return trials


def _finished(trials: 'Search') -> int:
    return sum(trial.state.is_finished() for trial in trials.get_trials(deepcopy=False))
