"""`icir_control film`: a recording as a film of the arm, with its reference as a ghost."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import imageio_ffmpeg
import numpy as np

from icir_control.app.measurement import Array, TimeSeries
from icir_control.app.output import writing
from icir_control.app.processes import BRIDGE, CONTROLLER
from icir_control.app.recording.reader import Recording, RecordingError
from icir_control.app.recording.topics import JOINT_REFERENCE
from icir_control.dynamics import KinematicTree
from icir_control.nodes.robot import LOCKED, positions_of, robot_options
from icir_control.simulation import World
from icir_control.simulation.camera import Camera

WIDTH, HEIGHT, RATE = 800, 600, 30  # pixels, pixels, pictures per second of simulation
_STALE = 0.1  # s between two references, from which none is shown
_HOLD = 0.1  # s, where the bridge's parameter is not recorded


def write_film(recording: Recording, path: Path, show: Callable[[float], object]) -> None:
    """Write a film in real time of the simulation.

    Args:
        recording: What is shown.
        path: The film, named by its format, such as .mp4.
        show: Called with the share of the film that is written.

    Raises:
        RecordingError: The recording is of a robot that cannot be built from it.
        SimulationError: Nothing can be drawn here.
        ConfigurationError: The film cannot be written.
    """
    states, world = recording.states, world_of(recording)
    moments = np.arange(float(states.time[0]), recording.end, 1.0 / RATE)
    references = recording.joints(JOINT_REFERENCE)
    with closing(Camera(world, WIDTH, HEIGHT)) as camera, writing(path):
        path.touch()
        writer = imageio_ffmpeg.write_frames(
            str(path), (WIDTH, HEIGHT), fps=RATE, quality=7, macro_block_size=2
        )
        writer.send(None)
        with closing(writer):
            for i, moment in enumerate(moments):
                picture = camera.picture(
                    states['position'][states.row_at(moment)],
                    reference=_reference_at(references, moment),
                    forces=dict(_forces_at(recording, moment)),
                    caption=_caption(recording, moment),
                )
                writer.send(np.ascontiguousarray(picture))
                show((i + 1) / len(moments))


def world_of(recording: Recording) -> World:
    """Return the robot of a recording.

    Raises:
        RecordingError: It is of a robot that its own URDF does not describe.
    """
    given = recording.parameters.get(CONTROLLER, {})
    tree = KinematicTree(recording.description)
    names = recording.joint_names
    missing = [name for name in names if name not in tree.moving]
    if missing:
        raise RecordingError(
            recording.path, f'is of another robot than its URDF, which lacks {", ".join(missing)}'
        )
    locked = positions_of(given.get(LOCKED.name) or [])
    held = {name: locked.get(name, 0.0) for name in tree.moving if name not in names}
    return World(
        recording.description,
        joint_names=names,
        end_effector_frame=tree.moving[names[-1]].find('child').get('link'),
        **robot_options(given, held),
    )


def _reference_at(references: TimeSeries, moment: float) -> Array | None:
    """Return the joint reference (nv,) between its two messages next to a moment, if these are."""
    row = references.row_at(moment)
    if not 0 < row < len(references) or references.time[row] - references.time[row - 1] > _STALE:
        return None
    before, after = references.time[row - 1 : row + 1]
    share = (moment - before) / (after - before)
    first, second = references['position'][row - 1 : row + 1]
    return np.asarray((1.0 - share) * first + share * second)


def _caption(recording: Recording, moment: float) -> str:
    modes = [span.name for span in recording.modes if span.start <= moment]
    return f'{modes[-1] if modes else ""}\n{moment:.2f} s'.strip()


def _forces_at(recording: Recording, moment: float) -> Iterator[tuple[str, Array]]:
    """Give link and force [N] of the pushes that act."""
    of_bridge = recording.parameters.get(BRIDGE, {})
    hold = float(of_bridge.get('external_wrench_hold', _HOLD))
    for time, message in recording.wrenches:
        stamp, force = message.header.stamp, message.wrench.force
        start = max(stamp.sec + stamp.nanosec * 1e-9, time)
        if start <= moment < start + hold:
            yield message.header.frame_id, np.array([force.x, force.y, force.z])
