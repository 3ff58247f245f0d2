"""What has happened: named series over time, to look at, to hand on and to keep."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from icir_control.app.html import table
from icir_control.app.measurement import Array, TimeSeries
from icir_control.control import Arm
from icir_control.errors import ConfigurationError, UnknownNameError
from icir_control.nodes.robot import LoadedRobot
from icir_control.spatial import kernels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SERIES: Final = {
    'q': ('position', 'rad or m'),
    'v': ('velocity', 'rad/s or m/s'),
    'q_reference': ('position_reference', 'rad or m'),
    'v_reference': ('velocity_reference', 'rad/s or m/s'),
    'torque': ('torque', 'N m or N'),
    'torque_unsaturated': ('torque_unsaturated', 'N m or N'),
}
"""Of the joints: column and unit by name."""

TOOL: Final = {'tool_position': 'm', 'tool_error': 'm, rad'}
"""Of the tool: unit by name."""

_AXES = ('x', 'y', 'z', 'rx', 'ry', 'rz')
_PLOTTED = ('q', 'torque', 'tool_position', 'tool_error')


class Log:
    """Series over the arm's time, a row for each control period.

    Attributes:
        time: (n,) [s].
        modes: Which mode ran from when on, as (time [s], name).
        q: (n, nv) position of the joints [rad or m].
        v: (n, nv) velocity [rad/s or m/s].
        q_reference: (n, nv) where they should be; where they are, in a mode without a reference
            for the joints.
        v_reference: (n, nv) how they should move, likewise.
        torque: (n, nv) after the limits [N m or N].
        torque_unsaturated: (n, nv) before them.
        tool_position: (n, 3) of the tool in the base frame [m].
        tool_error: (n, 6) from the tool to its reference in base axes [m, rad]; rotation as a
            vector.
    """

    def __init__(
        self,
        series: TimeSeries,
        modes: Sequence[tuple[float, str]],
        arm: Arm,
        robot: LoadedRobot,
    ) -> None:
        """Keep what was logged.

        Args:
            series: Columns as of `TickLog`; over ROS 2 some are not there.
            modes: By time.
            arm: The arm.
            robot: The files that it is of.
        """
        self.time = series.time
        self.modes = tuple(modes)
        self._series, self._arm, self._robot = series, arm, robot

    def __getattr__(self, name: str) -> Array:
        """Return a series of the joints."""
        if name in SERIES and SERIES[name][0] in self._series.columns:
            return self._series[SERIES[name][0]]
        raise AttributeError(str(UnknownNameError('series', name, self.names)))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the series that are there."""
        there = [name for name, (column, _) in SERIES.items() if column in self._series.columns]
        has_reference = 'q_reference' in there
        return (*there, *(name for name in TOOL if name != 'tool_error' or has_reference))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.time)

    def __repr__(self) -> str:
        """Return size and names."""
        end = self.time[-1] if len(self) else 0.0
        return f'<Log of {len(self)} rows up to {end:.3f} s: {", ".join(self.names)}>'

    def _repr_html_(self) -> str:
        """Return a table with size, unit and range of each series."""
        rows = []
        for name in self.names if len(self) else ():
            series = getattr(self, name)
            size = ' x '.join(map(str, series.shape))
            rows.append(
                (name, size, self.unit(name), f'{series.min():.4g}', f'{series.max():.4g}')
            )
        return table(('series', 'size', 'unit', 'least', 'greatest'), rows)

    def __dir__(self) -> list[str]:
        """Return the names of the series, too."""
        return [*super().__dir__(), *self.names]

    @cached_property
    def tool_position(self) -> Array:
        """(n, 3) of the tool in the base frame [m]."""
        return self._in_base(self._arm.placements(self.q))[:, 3]

    @cached_property
    def tool_error(self) -> Array:
        """(n, 6) from the tool to its reference in base axes [m, rad]; rotation as a vector."""
        poses, goals = self._in_base(self._arm.placements(self.q)), self.reference_poses
        errors = np.empty((len(self), 6))
        errors[:, :3] = goals[:, 3] - poses[:, 3]
        turns = goals[:, :3] @ poses[:, :3].swapaxes(1, 2)
        for turn, error in zip(turns, errors, strict=True):
            kernels.log3(turn, error[3:])
        return errors

    @property
    def reference_poses(self) -> Array:
        """(n, 4, 3) T_base_tool that the tool should have: rows 0-2 rotation, row 3 position."""
        poses, given = self._arm.placements(self.q_reference), self._series['pose_reference']
        return self._in_base(np.where(np.isnan(given), poses, given))

    def plot(self, *names: str) -> 'Figure':
        """Draw series over time, one above the other.

        Args:
            names: Of the series; by default position, torque, tool and its error.

        Returns:
            The figure; `figure.savefig('x.png')` keeps it.

        Raises:
            AttributeError: There is no such series.
        """
        from matplotlib import pyplot as plt

        shown = names or [name for name in _PLOTTED if name in self.names]
        figure, axes = plt.subplots(
            len(shown),
            sharex=True,
            figsize=(8.0, 2.2 * len(shown)),
            squeeze=False,
            layout='constrained',
        )
        labels: tuple[str, ...] = ()
        for axis, name in zip(axes[:, 0], shown, strict=True):
            lines = axis.plot(self.time, getattr(self, name))
            axis.set_ylabel(f'{name}\n[{self.unit(name)}]')
            axis.grid(alpha=0.3)
            if self._labels(name) != labels:  # else those of the panel above
                labels = self._labels(name)
                axis.legend(lines, labels, fontsize='small', loc=(1.01, 0.0), frameon=False)
        axes[-1, 0].set_xlabel('time [s]')
        return figure

    def unit(self, name: str) -> str:
        """Return the unit of a series; both units where some joints turn and others slide."""
        if name in TOOL:
            return TOOL[name]
        units, slides = SERIES[name][1], self._arm.translates
        if slides.any() and not slides.all():
            return units
        return units.split(' or ')[int(slides.all())]

    def to_pandas(self) -> 'pd.DataFrame':
        """Return a table with time as its index and columns such as `q/joint_1`, and the mode.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ConfigurationError('pandas is not installed; pip install pandas') from error
        columns: dict[str, Any] = {
            f'{name}/{label}': getattr(self, name)[:, i]
            for name in self.names
            for i, label in enumerate(self._labels(name))
        }
        times = [time for time, _ in self.modes]
        rows = np.searchsorted(times, self.time, side='right') - 1
        names = np.array([name for _, name in self.modes], dtype=object)
        return pd.DataFrame(
            columns | {'mode': names[rows]}, index=pd.Index(self.time, name='time')
        )

    def save(self, path: str | Path) -> None:
        """Write an MCAP file with ROS 2 schemas, as `icir_control record` does.

        `icir_control report` and `film` take it. It needs ROS 2 messages and the extra `record`.

        Raises:
            ConfigurationError: The file exists or is not named `.mcap`, or a library is missing.
        """
        from icir_control.app.environment import check_suffix, require

        check_suffix(Path(path), '.mcap')
        require('record', 'mcap')
        require('sim', 'rclpy')
        from icir_control.robot.save import write_recording

        references = self.reference_poses if 'q_reference' in self.names else None
        write_recording(Path(path), self._series, self.modes, self._robot, self._arm, references)

    def _in_base(self, poses: Array) -> Array:
        """Return T_base_tool (n, 4, 3) of T_world_tool (n, 4, 3)."""
        base = self._arm.T_world_base
        # Of each pose the rotation's columns and the position are vectors of the world.
        position = (poses[:, 3:] - base.translation) @ base.rotation
        return np.concatenate([base.rotation.T @ poses[:, :3], position], axis=1)

    def _labels(self, name: str) -> tuple[str, ...]:
        if name in SERIES:
            return self._arm.model.joint_names
        return _AXES[: getattr(self, name).shape[1]]
