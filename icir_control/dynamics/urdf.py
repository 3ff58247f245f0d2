"""From a URDF to a model; the one module that knows `yourdfpy`."""

import logging
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from icir_control.dynamics.builder import ModelBuilder
from icir_control.dynamics.joints import FrameType
from icir_control.dynamics.model import Model
from icir_control.dynamics.urdf_xml import HAS_SHAPE, parse, read_source, warn_once
from icir_control.errors import IcirError, InvalidValueError, ModelError, UnknownNameError
from icir_control.spatial import SE3, Inertia, exp3
from icir_control.spatial.arrays import checked_scalar

ROOT_JOINTS = ('fixed', 'planar', 'floating')
ROOT_JOINT = 'root_joint'
"""Name of the joint between the world and the root link, where there is one."""
_ON_AN_AXIS = ('revolute', 'continuous', 'prismatic')
_SHORTENED = ('trimesh', 'yourdfpy')

_log = logging.getLogger(__name__)


def load_urdf(
    path_or_xml: str | Path,
    *,
    root_joint: str | Mapping[str, str] = 'fixed',
    package_dirs: Sequence[str | Path] = (),
    locked: Mapping[str, float] | None = None,
    default_effort: float | None = None,
    armature: Mapping[str, float] | None = None,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    repair: bool = False,
    mimic: bool = True,
) -> Model:
    """Return the model of a robot that is described in URDF.

    Joints are numbered depth first, children in the order of the file. What is fixed to a moving
    link counts as part of it; a `JOINT`, `FIXED_JOINT`, `BODY` or `SENSOR` frame remains of each
    element. A mimic joint has no coordinate of its own, but shares that of the joint it mimics:
    inertia, losses and limits of both are those of one degree of freedom, and the motor is the
    other's. Where that one is held, or fixed, so is the mimic joint.

    Args:
        path_or_xml: A path, a `package://name/path`, or XML text.
        root_joint: How the root link moves in the world: `fixed`, `planar` or `floating`; or
            several joints by name, from the world on, each with its kind, such as
            `{'lift': 'prismatic', 'turn': 'continuous'}`: along and about z.
        package_dirs: Folders that are packages or hold packages, for `package://`.
        locked: Joints that are held, and where [rad or m]: fixed, with a `FIXED_JOINT` frame.
        default_effort: Limit of joints to which the URDF gives none, or 0 [N m or N].
        armature: Inertia of the rotors by joint, as the joint feels it [kg m^2 or kg], in place
            of what `<dynamics armature="...">` says; MuJoCo's name for it.
        gravity: The gravity field in world axes (3,) [m/s^2].
        repair: Whether an inertia that no body has is replaced by the nearest possible one.
        mimic: Whether mimic joints are coupled; otherwise they are joints of their own, without
            motors.

    Raises:
        InvalidValueError: No such `root_joint`, a gravity that is not three numbers, or a joint
            that is locked beyond its limits.
        UnknownNameError: A joint that is locked, or has a rotor, and does not move.
        ModelError: The description cannot be read or built; the message names the element.
    """
    roots = _root_joints(root_joint)
    builder = ModelBuilder(gravity=gravity)
    label, text, encoding = read_source(path_or_xml, package_dirs)
    checked = parse(label, text, encoding)
    robot = _read_with_yourdfpy(checked)
    moving = [joint.name for joint in robot.joints if joint.type != 'fixed']
    for name in [*(locked or {}), *(armature or {})]:
        if name not in moving:
            raise UnknownNameError('joint', name, moving)
    held = _held_positions(robot, locked or {})
    try:
        sensors = checked.iterfind('sensor')
        held = _with_mimics(robot, held) if mimic else held
        rotors = {**_armatures(checked), **(armature or {})}
        _collect(builder, robot, sensors, roots, held, default_effort, rotors, mimic)
        model = builder.build(repair=repair)
    except ModelError as error:
        hint = '; no link has an <inertial>, and each that moves needs one'
        is_told = bool(moving) and not any(link.inertial for link in robot.links)
        raise ModelError(f'{label}: {error}{hint if is_told else ""}') from None
    except IcirError as error:
        raise ModelError(f'{label}: {error}') from error
    free = [joint for joint in robot.joints if joint.type in _ON_AN_AXIS]
    free = [joint for joint in free if joint.name not in held]
    shaped = {link.get('name') for link in checked.iterfind('link') if link.get(HAS_SHAPE)}
    for remark in (*_remarks_on_limits(free, default_effort), *_remarks_on_mass(model, shaped)):
        warn_once(f'{label}: {remark}')
    return model


def _remarks_on_limits(joints: Sequence[Any], default_effort: float | None) -> Iterator[str]:
    """Yield what limits are taken for none, a sentence for all joints of a kind."""
    effort = 'velocity and effort are'
    if default_effort is not None:
        effort = f'an effort of {default_effort:g} N m or N is taken, the velocity is'
    endless = [one for one in joints if _position_limits(one)[0] is None]
    remarks = {
        'no <limit>: ' + effort + ' unlimited': [one for one in joints if one.limit is None],
        'a velocity limit of 0, which is taken for none': [
            one for one in joints if one.limit and one.limit.velocity == 0.0
        ],
        'no position limits, or 0 for both, and may turn or slide without end': [
            one for one in endless if one.type != 'continuous'
        ],
    }
    for words, found in remarks.items():
        names = ', '.join(repr(joint.name) for joint in found)
        if found:
            yield f'joints {names} have {words}' if found[1:] else f'joint {names} has {words}'


def _remarks_on_mass(model: Model, shaped: Set[str]) -> Iterator[str]:
    """Yield which links have a shape, and move without any mass."""
    names = [
        frame.name
        for frame in model.frames
        if frame.type is FrameType.BODY and frame.parent and frame.name in shaped
        if not model.inertias[frame.parent].mass
    ]
    if names:
        listed = ', '.join(names)
        yield f'moving links with a shape, but without mass: {listed}; give them an <inertial>'


def _read_with_yourdfpy(checked: Any) -> Any:
    from lxml import etree

    file = BytesIO(etree.tostring(checked))
    return _yourdfpy().URDF.load(file, build_scene_graph=False, load_meshes=False).robot


@cache
def _yourdfpy() -> Any:
    """Return the library without the mesh library that it brings along: 0.7 s, and no use here.

    While its text runs, an empty module stands in for `trimesh`. Neither stays in `sys.modules`:
    whoever imports them gets both whole.
    """
    spec = find_spec('trimesh')
    if 'yourdfpy' not in sys.modules and 'trimesh' not in sys.modules and spec is not None:
        stand_in: Any = ModuleType('trimesh')
        stand_in.__path__ = spec.submodule_search_locations
        stand_in.__getattr__ = lambda name: object  # for annotations
        sys.modules['trimesh'] = stand_in
        try:
            import yourdfpy

            return yourdfpy
        except (AttributeError, ImportError, TypeError):
            pass  # a version that needs more than annotations
        finally:
            for name in [name for name in sys.modules if name.split('.')[0] in _SHORTENED]:
                del sys.modules[name]
    import yourdfpy

    return yourdfpy


def _root_joints(root_joint: Any) -> dict[str, str]:
    """Return the kinds of the joints between world and root link, by name."""
    if isinstance(root_joint, Mapping):
        return dict(root_joint)
    if root_joint not in ROOT_JOINTS:
        expected = f'one of {", ".join(ROOT_JOINTS)}, or the kinds of several joints by name'
        raise InvalidValueError('root_joint', root_joint, expected)
    return {} if root_joint == 'fixed' else {ROOT_JOINT: root_joint}


def _armatures(checked: Any) -> dict[str, float]:
    """Return what the joints of a checked URDF say of their rotors."""
    found = ((one.get('name'), one.find('dynamics')) for one in checked.iterfind('joint'))
    return {
        name: float(dynamics.get('armature'))
        for name, dynamics in found
        if dynamics is not None and dynamics.get('armature')
    }


def _collect(
    builder: ModelBuilder,
    robot: Any,
    sensors: Any,
    root_joints: Mapping[str, str],
    locked: Mapping[str, float],
    default_effort: float | None,
    armature: Mapping[str, float],
    mimic: bool,
) -> None:
    joints_on = defaultdict(list)
    for joint in robot.joints:
        joints_on[joint.parent].append(joint)
    inertials = {link.name: link.inertial for link in robot.links}
    root = _root(robot)

    builder.name = robot.name
    for name, kind in root_joints.items():
        builder.add_joint(name, kind, builder.last_frame)
    builder.add_body(root, builder.last_frame, _inertia(inertials[root]))
    waiting = joints_on[root][::-1]
    reached = {root}
    while waiting:
        joint = waiting.pop()
        if joint.name in locked:
            _add_held_joint(builder, joint, locked[joint.name])
        else:
            _add_joint(builder, joint, default_effort, armature.get(joint.name), mimic)
        reached.add(joint.child)
        builder.add_body(joint.child, builder.last_frame, _inertia(inertials[joint.child]))
        waiting += joints_on[joint.child][::-1]
    lost = [link for link in inertials if link not in reached]
    if lost:
        raise ModelError(f'links {", ".join(lost)} form a cycle; a URDF is a tree')
    for sensor in sensors:
        builder.add_frame(
            sensor.get('name'),
            sensor.find('parent').get('link'),
            _sensor_placement(sensor.find('origin')),
            FrameType.SENSOR,
        )


def _root(robot: Any) -> str:
    """Return the one link that is no joint's child."""
    joint_above: dict[str, str] = {}
    for joint in robot.joints:
        if joint.child in joint_above:
            first = joint_above[joint.child]
            raise ModelError(
                f'link {joint.child!r} is the child of joints {first!r} and {joint.name!r}; '
                'a URDF is a tree'
            )
        joint_above[joint.child] = joint.name
    roots = [link.name for link in robot.links if link.name not in joint_above]
    if not roots:
        raise ModelError('every link is the child of a joint: a cycle; a URDF is a tree')
    if len(roots) > 1:
        raise ModelError(f'links {", ".join(roots)} are all roots; join them by fixed joints')
    return roots[0]


def _add_held_joint(builder: ModelBuilder, joint: Any, position: float) -> None:
    """Add a joint that does not move from a position [rad or m]."""
    way = SE3.identity()
    if position:
        axis = position * np.asarray(joint.axis) / np.linalg.norm(joint.axis)
        if joint.type == 'prismatic':
            way = SE3(np.eye(3), axis)
        elif joint.type in ('revolute', 'continuous'):
            way = SE3(exp3(axis), np.zeros(3))
        else:
            raise ModelError(f'joint {joint.name!r} is {joint.type}; it can be held at 0 alone')
    placement = _placement(joint.origin) @ way
    builder.add_frame(joint.name, joint.parent, placement, FrameType.FIXED_JOINT)


def _held_positions(robot: Any, locked: Mapping[str, Any]) -> dict[str, float]:
    """Return where joints are to be held [rad or m], each within its limits."""
    held = {}
    for joint in robot.joints:
        if joint.name in locked:
            name, value = f'locked joint {joint.name!r}', locked[joint.name]
            held[joint.name] = checked_scalar(name, value)
            lower, upper = _position_limits(joint)
            if lower is not None and upper is not None and not lower <= held[joint.name] <= upper:
                raise InvalidValueError(name, value, f'{lower:g} to {upper:g} (rad or m)')
    return held


def _with_mimics(robot: Any, held: Mapping[str, float]) -> dict[str, float]:
    """Return where joints are held [rad or m], with those that mimic a held or a fixed joint."""
    joints, found = {joint.name: joint for joint in robot.joints}, dict(held)
    for joint in robot.joints:
        led = []
        while joint.mimic and joint.type != 'fixed' and joint.name not in found:
            if joint in led:
                break
            led.append(joint)
            joint = joints[joint.mimic.joint]
        if joint.name in found or joint.type == 'fixed':
            position = found.get(joint.name, 0.0)
            for one in reversed(led):
                _, multiplier, offset = _ratio(one.mimic)
                position = found[one.name] = multiplier * position + offset
    return found


def _ratio(mimic: Any) -> tuple[str, float, float]:
    """Return which joint is mimicked, multiplier and offset."""
    multiplier = 1.0 if mimic.multiplier is None else mimic.multiplier
    return mimic.joint, multiplier, mimic.offset or 0.0


def _add_joint(
    builder: ModelBuilder,
    joint: Any,
    default_effort: float | None,
    armature: float | None,
    mimic: bool,
) -> None:
    placement = _placement(joint.origin)
    if joint.type == 'fixed':
        builder.add_frame(joint.name, joint.parent, placement, FrameType.FIXED_JOINT)
        return
    if joint.type == 'planar' and not np.array_equal(np.sign(joint.axis), (0, 0, 1)):
        axis = ' '.join(f'{x:g}' for x in joint.axis)
        raise ModelError(
            f"planar joint {joint.name!r} has axis xyz='{axis}'; only '0 0 1' is supported: "
            'turn the origin of the joint instead'
        )
    if joint.mimic is not None and not mimic:
        _log.warning(
            'joint %r mimics %r; it is modelled as a joint of its own, without a motor',
            joint.name, joint.mimic.joint,
        )  # fmt: skip
    limit = joint.limit
    effort = limit.effort if limit else None
    if not effort and default_effort is not None:
        effort = default_effort
    velocity = limit.velocity or None if limit else None
    lower, upper = _position_limits(joint)
    builder.add_joint(
        joint.name,
        joint.type,
        joint.parent,
        placement,
        axis=joint.axis,
        lower=lower,
        upper=upper,
        velocity=velocity,
        effort=effort,
        damping=joint.dynamics and joint.dynamics.damping,
        friction=joint.dynamics and joint.dynamics.friction,
        armature=armature,
        actuated=False if joint.mimic is not None else None,
        mimic=_ratio(joint.mimic) if joint.mimic is not None and mimic else None,
    )


def _position_limits(joint: Any) -> tuple[float | None, float | None]:
    """Return lower and upper limit; of one alone the other is 0, as URDF has it."""
    if joint.type not in ('revolute', 'prismatic'):
        return None, None
    limit = joint.limit
    if limit is None or not (limit.lower or limit.upper):
        # To the letter it would be locked at 0, which nobody means: MuJoCo, too, has it free.
        return None, None
    return limit.lower or 0.0, limit.upper or 0.0


def _placement(origin: np.ndarray | None) -> SE3:
    return SE3.identity() if origin is None else SE3(origin[:3, :3], origin[:3, 3])


def _sensor_placement(origin: Any) -> SE3:
    if origin is None:
        return SE3.identity()
    xyz, rpy = (origin.get(name, '0 0 0').split() for name in ('xyz', 'rpy'))
    return SE3.from_xyz_rpy([float(x) for x in xyz], [float(x) for x in rpy])


def _inertia(inertial: Any) -> Inertia | None:
    if inertial is None:
        return None
    # Whether a body can have it is decided on what moves as one: the builder's business.
    inertia = Inertia.trusted(inertial.mass, np.zeros(3), inertial.inertia)
    return _placement(inertial.origin).act(inertia)
