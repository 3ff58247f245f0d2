"""`icir_control film`: a recording as a film of the arm, with its reference as a ghost."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np

from icir_control.app.environment import replacing
from icir_control.app.measurement import Array, TimeSeries
from icir_control.app.recording.reader import Recording
from icir_control.app.recording.topics import JOINT_REFERENCE
from icir_control.dynamics import KinematicTree
from icir_control.errors import ConfigurationError
from icir_control.simulation import World
from icir_control.simulation.camera import Camera

WIDTH, HEIGHT, RATE = 800, 600, 15  # pixels, pixels, pictures per second of simulation
FORMATS = ('.mp4', '.mkv', '.mov', '.avi', '.webp')
WEBP = '.webp'
"""A film that moves on a page as a picture does: a small one."""

_WEBP_RATE = 10
_WEBP_OPTIONS = ('-loop', '0', '-vf', 'scale=480:-1:flags=area', '-quality', '60')
_STALE = 0.1  # s between two references, from which none is shown


def write_film(recording: Recording, path: Path, show: Callable[[float], object]) -> None:
    """Write a film in real time of the simulation.

    Args:
        recording: What is shown.
        path: The film, named by its format, such as .mp4, or .webp for a small moving picture.
        show: Called with the share of the film that is written.

    Raises:
        RecordingError: The recording is of a robot that cannot be built from it.
        SimulationError: Nothing can be drawn here.
        ConfigurationError: The film cannot be written, or is of no such format.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ConfigurationError(
            f'{path} has no name of a film; expected one that ends in {", ".join(FORMATS)}'
        )
    states, world = recording.states, world_of(recording)
    is_small = suffix == WEBP
    rate = _WEBP_RATE if is_small else RATE
    options: dict[str, Any] = {'quality': 7}
    if is_small:
        options = {'codec': 'libwebp_anim', 'quality': None, 'output_params': [*_WEBP_OPTIONS]}
    moments = np.arange(float(states.time[0]), recording.end, 1.0 / rate)
    references = recording.joints(JOINT_REFERENCE)
    rows = [states.row_at(moment) for moment in moments]
    with closing(Camera(world, WIDTH, HEIGHT)) as camera, replacing(path) as part:
        part.touch()  # ffmpeg does not say why it cannot
        _check_ffmpeg(path)
        camera.look_at(states['position'][rows])
        writer = imageio_ffmpeg.write_frames(
            str(part), (WIDTH, HEIGHT), fps=rate, macro_block_size=2, **options
        )
        writer.send(None)
        with closing(writer):
            for i, (moment, row) in enumerate(zip(moments, rows, strict=True)):
                picture = camera.picture(
                    states['position'][row],
                    reference=_reference_at(references, moment),
                    forces=_forces_at(recording, moment),
                    caption=_caption(recording, moment),
                )
                writer.send(np.ascontiguousarray(picture))
                show((i + 1) / len(moments))


def _check_ffmpeg(path: Path) -> None:
    try:
        imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise ConfigurationError(f'{path} cannot be written: {error}') from error


def world_of(recording: Recording) -> World:
    """Return the robot of a recording.

    Raises:
        RecordingError: It is of a robot that its own URDF does not describe.
    """
    options, names = recording.options(), recording.joint_names
    last = KinematicTree(recording.description).moving[names[-1]]
    return World(
        recording.robot.source_of(recording.description),
        joint_names=names,
        end_effector_frame=last.find('child').get('link'),
        **options,
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


def _forces_at(recording: Recording, moment: float) -> dict[str, Array]:
    """Return the force [N] on each link that is pushed."""
    acting = {}
    for start_ns, link, wrench in recording.wrenches:
        if start_ns * 1e-9 <= moment:
            acting[link] = wrench[:3]
    return {link: force for link, force in acting.items() if force.any()}
