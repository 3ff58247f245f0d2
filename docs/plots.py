"""Draws the figures of control.md into docs/images: `python docs/plots.py`.

Every figure is a run of the controller on the simulated arm, in this process. Errors are taken
from the path itself, as a formula of time, not from what the controller says of its reference.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from icir_control.app.closed_loop import HOME, READY, UPRIGHT, ClosedLoop
from icir_control.dynamics import (
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
)
from icir_control.simulation import Plant
from icir_control.spatial import SE3, Motion, log3
from icir_control.trajectory import SE3Trajectory

IMAGES = Path(__file__).parent / 'images'
PERIOD = 1e-3  # s
NOTHING_UNCERTAIN = {
    f'observer.uncertain_{what}': 0 for what in ('inertia', 'mass', 'delay_steps')
}
STILL = Motion(np.zeros(3), np.zeros(3))

# Okabe and Ito's colours, which the colour-blind tell apart.
BLUE, ORANGE, GREEN, PINK, GOLD = '#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00'
GREY = '#555555'
DASHED = {'color': 'black', 'linewidth': 0.9, 'linestyle': (0, (4, 3))}
SHADE = {'facecolor': '#EEEEEE', 'zorder': -10}
STYLE = {
    'font.size': 9,
    'axes.titlesize': 9,
    'axes.titlelocation': 'left',
    'axes.grid': True,
    'axes.axisbelow': True,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'grid.alpha': 0.3,
    'lines.linewidth': 1.4,
    'legend.frameon': False,
    'savefig.dpi': 150,
}
Array = NDArray[np.float64]


class Run:
    """A closed loop that keeps what a figure shows, since the last mark (a switch is one).

    Attributes:
        loop: The closed loop.
        controller: Its controller.
        pose: T_world_tool at every tick.
        terms: Parts of the torque by name [N m]; recorded where asked for.
    """

    def __init__(
        self,
        start: Array,
        changes: Mapping[str, Any] | None = None,
        plant: Plant | None = None,
        *,
        terms: bool = False,
    ) -> None:
        self.loop = ClosedLoop(start=start, changes=changes, plant=plant)
        self.controller = self.loop.controller
        self._keeps_terms = terms
        self.mark()

    @property
    def time(self) -> Array:
        """(ticks,) [s] since the mark."""
        return PERIOD * np.arange(len(self.pose))

    @property
    def q(self) -> Array:
        """(ticks, nv) joint positions [rad]."""
        return self.loop.log['position']

    @property
    def v(self) -> Array:
        """(ticks, nv) joint velocities [rad/s]."""
        return self.loop.log['velocity']

    def mark(self) -> None:
        """Begin the recording anew."""
        self.loop.clear_log()
        self.pose: list[SE3] = []
        self.terms: list[dict[str, Array]] = []

    def go(self, mode: str | SE3 | None, seconds: float, force: Array | None = None) -> None:
        """Switch to a mode, or to a target pose, and run; a force [N] in world axes may push."""
        if mode is not None:
            self.mark()
        if isinstance(mode, SE3):
            self.controller.set_target_pose(mode)
        elif mode is not None:
            self.controller.select(mode)
        loop = self.loop
        for _ in range(round(seconds / PERIOD)):
            if force is not None:
                in_tool = loop.placement.rotation.T @ force
                loop.world.push(loop.tool, np.concatenate([in_tool, np.zeros(3)]))
            loop.step()
            self.pose.append(loop.placement)
            if self._keeps_terms:
                total = self.controller.torque.copy()
                self.terms.append({**self.controller.torque_terms, 'total': total})
        if force is not None:
            loop.world.clear_push(loop.tool)

    def moved(self) -> Array:
        """(ticks, 3) way of the tool since the last mark [m]."""
        place = np.array([pose.translation for pose in self.pose])
        return place - place[0]

    def turned(self) -> Array:
        """(ticks,) angle that the tool has turned since the last mark [rad]."""
        R = self.pose[0].rotation
        return np.array([np.linalg.norm(log3(R.T @ pose.rotation)) for pose in self.pose])


# --- The figures ----------------------------------------------------------------------------


def joint_tracking(figure: Figure) -> None:
    """Joint error of `home` for every kind of feed-forward; see `comparison_laws`."""
    laws = {
        'none': 'comparison_laws:JointWithoutFeedForward',
        'tutorial': 'comparison_laws:TutorialJoint',
        'velocity': 'comparison_laws:JointWithVelocity',
        'velocity, acceleration': 'comparison_laws:JointWithAcceleration',
        'matched (law joint)': 'joint',
    }
    errors = {}
    for name, law in laws.items():
        run = Run(UPRIGHT, {'modes.home.law': law})
        run.go('home', 2.5)
        path = cubic(run.time, 2.0)[:, None] * HOME
        errors[name] = np.abs(run.q - path).max(axis=1)
    figure.set_size_inches(7.0, 3.4)
    axes = figure.subplots()
    _draw_errors(axes, errors, (PINK, GREY, GOLD, GREEN, BLUE))
    axes.set_ylabel('greatest joint error [rad]')
    axes.set_ylim(1e-17, 1e-1)


def task_tracking(figure: Figure) -> None:
    """Distance between the tool and its straight path in `down`."""
    laws = {
        'none (tutorial)': 'comparison_laws:TutorialTask',
        'velocity': 'comparison_laws:TaskWithVelocity',
        'velocity, acceleration': 'comparison_laws:TaskWithAcceleration',
        'matched (law task)': 'task',
    }
    errors = {}
    for name, law in laws.items():
        run = Run(HOME, {'modes.down.law': law})
        run.go('down', 2.5)
        path = cubic(run.time, 2.0)[:, None] * [0.0, 0.0, -0.05]
        errors[name] = np.linalg.norm(run.moved() - path, axis=1)
    figure.set_size_inches(7.0, 3.4)
    axes = figure.subplots()
    _draw_errors(axes, errors, (GREY, GOLD, GREEN, BLUE))
    axes.set_ylabel('distance of the tool from its path [m]')
    axes.set_ylim(1e-17, 1e-1)


def push(figure: Figure) -> None:
    """5 N on the tool, along each axis of the base, for 1.5 s: three laws that yield."""
    force, stiffness = 5.0, 500.0
    kp = stiffness * _mobility(HOME)[0, 0]
    gains = {'task_gains.kp': [kp] * 3 + [10.0 * kp] * 3, 'modes.down.translation': [0.0] * 3}
    # The laws alone: the observer would cancel the push, and so weak a law lets joints go far.
    gains |= {'observer.gain': 0.0, 'watchdog.speed': 0.0, 'watchdog.error': 0.0}
    laws = {
        'float': ('float', {}),
        'impedance, 500 N/m': ('impedance', {}),
        f'acceleration gains, {kp:.0f} s$^{{-2}}$': ('down', gains),
    }
    figure.set_size_inches(7.0, 4.6)
    panels = figure.subplots(2, 3, sharex=True, height_ratios=(3, 2))
    for (title, (mode, changes)), (above, below) in zip(laws.items(), panels.T, strict=True):
        for axis, colour in enumerate((BLUE, ORANGE, GREEN)):
            run = Run(HOME, changes)
            run.go(mode, 0.2)
            run.mark()
            run.go(None, 1.5, force * np.eye(3)[axis])
            run.go(None, 1.0)
            name = f'pushed along {"xyz"[axis]}'
            above.plot(run.time, 1e3 * run.moved()[:, axis], color=colour, label=name)
            below.plot(run.time, np.degrees(run.turned()), color=colour)
        above.set_title(title)
        above.set_ylim(-5.0, 130.0 if mode == 'float' else 60.0)
        below.set_ylim(-0.12, 3.0)
        below.set_xlabel('time [s]')
        if mode != 'float':
            above.axhline(1e3 * force / stiffness, **DASHED, label='5 N / (500 N/m)')
        for axes in (above, below):
            axes.axvspan(0.0, 1.5, **SHADE)
    panels[0, 0].set_ylabel('way along the push [mm]')
    panels[1, 0].set_ylabel('rotation [deg]')
    figure.legend(*panels[0, 1].get_legend_handles_labels(), loc='outside lower center', ncols=4)


def observer(figure: Figure) -> None:
    """Joint error of `home` on four wrong plants, without and with the observer."""
    plants = {
        'mass +10 %': Plant(mass_scale=1.1),
        'joint damping 0.5 N m s/rad': Plant(joint_damping=0.5),
        'Coulomb friction 0.5 N m': Plant(joint_friction=0.5),
        'payload 1 kg': Plant(payload_mass=1.0),
    }
    figure.set_size_inches(7.0, 4.6)
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (title, plant) in zip(panels.flat, plants.items(), strict=True):
        peaks = []
        for gain, colour in ((0.0, ORANGE), (200.0, BLUE)):
            run = Run(UPRIGHT, {**NOTHING_UNCERTAIN, 'observer.gain': gain}, plant)
            run.go('home', 3.0)
            path = cubic(run.time, 2.0)[:, None] * HOME
            error = np.abs(run.q - path).max(axis=1)
            name = f'observer with gain {gain:g} s$^{{-1}}$' if gain else 'observer off'
            axes.plot(run.time, envelope(error), color=colour, label=name)
            peaks.append(error.max())
        axes.set_title(title)
        _note(axes, 0.98, 0.95, f'peak {peaks[0] / peaks[1]:.0f} times smaller')
        axes.set_yscale('log')
        axes.set_ylim(1e-9, 1.0)
        axes.set_xlim(0.0, 3.0)
    for axes in panels[:, 0]:
        axes.set_ylabel('greatest joint error [rad]')
    for axes in panels[1]:
        axes.set_xlabel('time [s]')
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc='outside lower center', ncols=2)


def singularity(figure: Figure) -> None:
    """The wrist is led through its straight pose, with the limiter and without."""
    start, end = READY.copy(), READY.copy()
    start[4], end[4] = 0.35, -0.35
    laws = {
        "the tutorial's law, without a limiter": (
            {'modes.down': {'key': 'k', 'law': 'comparison_laws:TaskWithoutLimiter'}},
            ORANGE,
        ),
        'the task law': ({'modes.down.translation': [0.0] * 3}, BLUE),
    }
    figure.set_size_inches(7.0, 5.0)
    speed, sigma, off = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 2))
    for name, (changes, colour) in laws.items():
        run = Run(start, changes)
        run.go('down', PERIOD)
        arm = run.controller.config.arm
        goal = arm.placement(end)
        path = SE3Trajectory.to_rest(0.0, 1.0, arm.placement(run.q[-1]), STILL, goal)
        run.mark()
        run.go(goal, 2.5)
        share = np.abs(run.v / arm.model.velocity_limit).max(axis=1)
        speed.plot(run.time, share, color=colour, label=name)
        sigma.plot(run.time, [arm.smallest_singular_value(q) for q in run.q], color=colour)
        distance = distance_to(path, run.pose[::20])
        off.plot(run.time[::20], distance, color=colour)
    speed.axhline(1.0, **DASHED)
    sigma.axhline(0.02, **DASHED)
    speed.text(2.5, 1.15, 'limit', ha='right', va='bottom', fontsize=8)
    sigma.text(0.7, 0.0205, 'threshold of damping', ha='center', va='bottom', fontsize=8)
    speed.set_yscale('log')
    speed.set_ylim(1e-2, 1e2)
    speed.set_xlim(0.0, 2.5)
    speed.set_ylabel('greatest joint speed\nas a share of its limit')
    sigma.set_ylabel('smallest\nsingular value')
    sigma.set_ylim(0.0, 0.035)
    off.set_yscale('log')
    off.set_ylim(1e-17, 1e2)
    off.yaxis.set_major_locator(LogLocator(numticks=5))
    off.set_ylabel('off the path\n[m and rad]')
    off.set_xlabel('time [s]')
    figure.align_ylabels()
    figure.legend(*speed.get_legend_handles_labels(), loc='outside lower center', ncols=2)


def torque_parts(figure: Figure) -> None:
    """What the torque of one joint is made of, over a session on an arm 10 % heavier."""
    run = Run(UPRIGHT, {'observer.gain': 200.0}, Plant(mass_scale=1.1), terms=True)
    run.mark()
    session = {'gravity': 1.5, 'home': 2.5, 'ready': 2.5, 'down': 2.5, 'impedance': 0.5}
    begins = []
    for mode, seconds in session.items():
        begins.append(len(run.time) * PERIOD)
        run.controller.select(mode)
        run.go(None, seconds)
    pushed = len(run.time) * PERIOD
    run.go(None, 1.0, np.array([0.0, 0.0, -10.0]))
    run.go(None, 1.0)
    figure.set_size_inches(7.0, 4.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 3))
    styles = {
        'total': (above, 'black', '-'),
        'gravity': (above, GREY, '--'),
        'inertia': (below, BLUE, '-'),
        'coriolis': (below, GOLD, '-'),
        'feedback': (below, ORANGE, '-'),
        'observer': (below, GREEN, '-'),
        'compliance': (below, PINK, '-'),
    }
    for name, (axes, colour, line) in styles.items():
        torque = [terms[name][1] for terms in run.terms]
        axes.plot(run.time, torque, color=colour, linestyle=line, label=name)
    for axes in (above, below):
        for begin in begins[1:]:
            axes.axvline(begin, color='black', linewidth=0.6)
        axes.axvspan(pushed, pushed + 1.0, **SHADE)
        axes.set_xlim(0.0, run.time[-1])
        axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5))
    for begin, mode in zip(begins, session, strict=True):
        above.text(begin, 1.02, f' {mode}', transform=above.get_xaxis_transform(), va='bottom')
    _note(above, pushed + 0.5, 0.95, '10 N', transform=above.get_xaxis_transform(), at='center')
    above.set_ylabel('torque of joint 2\n[N m]')
    below.set_ylabel('its other parts\n[N m]')
    below.set_xlabel('time [s]')
    figure.align_ylabels()


# --- What they share ------------------------------------------------------------------------


def cubic(time: Array, duration: float) -> Array:
    """Return the share of the way at each time."""
    s = np.clip(time / duration, 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


def distance_to(path: SE3Trajectory, poses: list[SE3]) -> Array:
    """Return how far each pose is from the nearest one of a path [m and rad together]."""

    def distance(time: float, pose: SE3) -> float:
        goal = path.placement(time)
        way, turn = goal.translation - pose.translation, log3(goal.rotation.T @ pose.rotation)
        return float(np.linalg.norm([*way, *turn]))

    nearest, out = 0.0, []
    for pose in poses:
        step = 0.5 * path.duration
        while step > 1e-16:
            times = [nearest, nearest - step, nearest + step]
            best = min(times, key=lambda time: distance(time, pose))
            step = step if best != nearest else 0.5 * step
            nearest = min(max(best, 0.0), path.duration)
        out.append(distance(nearest, pose))
    return np.array(out)


def envelope(error: Array) -> Array:
    """Return the greatest value within 10 ms: on a logarithmic axis noise would hide its size."""
    return sliding_window_view(np.pad(error, 10, mode='edge'), 21).max(axis=1)


def _mobility(q: Array) -> Array:
    """Return the inverse of the mass that the tool shows along the axes of the world [1/kg]."""
    loop = ClosedLoop(start=q)
    model = loop.model
    data = model.create_data()
    compute_all_terms(model, data, q, np.zeros(model.nv))
    tool = model.frame_id(loop.tool)
    J = frame_jacobian(model, data, tool, ReferenceFrame.LOCAL_WORLD_ALIGNED)[:3]
    return J @ np.linalg.solve(data.M, J.T)


def _draw_errors(axes: Axes, errors: Mapping[str, Array], colours: Sequence[str]) -> None:
    """Draw errors over 2.5 s on a logarithmic axis; beside it their names and peaks, in order."""
    for k, ((name, error), colour) in enumerate(zip(errors.items(), colours, strict=True)):
        axes.plot(PERIOD * np.arange(len(error)), envelope(error), color=colour)
        digits, _, exponent = f'{error.max():.1e}'.partition('e')
        peak = rf'peak ${digits}\times10^{{{int(exponent)}}}$'
        place = 0.94 - k * 0.88 / (len(errors) - 1)
        _note(axes, 1.03, place, f'{name}\n{peak}', color=colour, at='left', va='center')
    axes.set_yscale('log')
    axes.yaxis.set_major_locator(LogLocator(numticks=9))
    axes.set_xlabel('time [s]')
    axes.set_xlim(0.0, 2.5)


def _note(axes: Axes, x: float, y: float, text: str, *, at: str = 'right', **style: Any) -> None:
    """Write small, by default in the upper right of the panel."""
    style = {'transform': axes.transAxes, 'va': 'top', 'fontsize': 8, **style}
    axes.text(x, y, text, ha=at, **style)


FIGURES: tuple[Callable[[Figure], None], ...] = (
    joint_tracking,
    task_tracking,
    push,
    observer,
    singularity,
    torque_parts,
)


def main() -> None:
    """Draw all of them."""
    IMAGES.mkdir(exist_ok=True)
    for draw in FIGURES:
        with mpl.rc_context(STYLE):
            figure = Figure(layout='constrained')
            FigureCanvasAgg(figure)
            draw(figure)
            path = IMAGES / f'{draw.__name__}.png'
            figure.savefig(path)
            print(f'{path} {path.stat().st_size / 1000:.0f} kB')


if __name__ == '__main__':
    main()
