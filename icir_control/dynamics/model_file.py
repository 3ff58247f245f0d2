"""Models as JSON: every number as it is, to the last bit."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from icir_control.dynamics.joints import Frame, FrameType, Joint, JointKind, Mimic, numbered
from icir_control.errors import IcirError, ModelError
from icir_control.spatial import SE3, Inertia
from icir_control.spatial.arrays import Array, checked, checked_scalar, freeze

if TYPE_CHECKING:
    from icir_control.dynamics.model import Model

FORMAT = 'icir_control model 1'
_NUMBERS = ('lower', 'upper', 'velocity', 'effort', 'damping', 'friction', 'armature')


def write_model(model: 'Model', path: str | Path) -> None:
    """Write a model; infinite limits are null. See `Model.save`."""
    content = {
        'format': FORMAT,
        'name': model.name,
        'gravity': model.gravity.tolist(),
        'joints': [
            {
                'name': joint.name,
                'kind': joint.kind.value,
                'parent': joint.parent,
                'placement': joint.placement.matrix.tolist(),
                'axis': joint.axis.tolist(),
                **{name: _finite(getattr(joint, name)) for name in _NUMBERS},
                'actuated': joint.actuated,
                **({} if joint.mimic is None else {'mimic': asdict(joint.mimic)}),
            }
            for joint in model.joints
        ],
        'inertias': [
            {'mass': one.mass, 'com': one.com.tolist(), 'rotational': one.rotational.tolist()}
            for one in model.inertias
        ],
        'frames': [
            {
                'name': frame.name,
                'type': frame.type.value,
                'parent': frame.parent,
                'placement': frame.placement.matrix.tolist(),
            }
            for frame in model.frames
        ],
    }
    Path(path).write_text(json.dumps(content, indent=1, allow_nan=False))


def read_model(path: str | Path) -> tuple[Any, ...]:
    """Return the fields of the model in a file; see `Model.load`."""
    try:
        content = json.loads(Path(path).read_text())
        if content['format'] != FORMAT:
            raise ModelError(f'format is {content["format"]!r}, not {FORMAT!r}')
        joints: list[Joint] = []
        for one in content['joints']:
            joints.append(_joint(one, joints))
        count = len(joints)
        for joint in joints:
            _check_leader(joint, joints)
        inertias = tuple(_inertia(**one) for one in content['inertias'])
        if count < 2 or len(inertias) != count:
            raise ModelError(f'{count} joints, {len(inertias)} inertias; one each, two at least')
        frames = tuple(_frame(one, count) for one in content['frames'])
        gravity = checked('gravity', content['gravity'], (3,))
        return str(content['name']), numbered(joints), inertias, frames, gravity
    except KeyError as error:
        raise ModelError(f'{path} is no model: {error} is missing') from None
    except (IcirError, TypeError, ValueError) as error:
        raise ModelError(f'{path} is no model: {error}') from None


def _finite(limit: Array) -> list[float | None]:
    return [x if np.isfinite(x) else None for x in limit.tolist()]


def _inertia(mass: Any, com: Any, rotational: Any) -> Inertia:
    """Return an inertia as it is: whether a body can have it was decided when it was built."""
    m = checked_scalar('mass', mass, 'a number of kilograms that is not negative', lowest=0.0)
    return Inertia.trusted(m, checked('com', com, (3,)), checked('rotational', rotational, (3, 3)))


def _joint(one: dict[str, Any], before: list[Joint]) -> Joint:
    """Return the joint that follows those before it."""
    kind = JointKind(one['kind'])
    if (kind is JointKind.UNIVERSE) == bool(before):
        raise ModelError(f'joint {one["name"]!r} is of kind {kind.value}; the first alone may be')
    mimic = one.get('mimic')
    numbers: dict[str, Any] = {}
    for name in _NUMBERS:
        size = kind.nq if name in ('lower', 'upper') else kind.nv
        size = size if mimic is None else 0
        infinite = -np.inf if name == 'lower' else np.inf
        what, given = f'{name} of joint {one["name"]}', one[name]
        if not isinstance(given, list):
            raise ModelError(f'{what} is {given!r}; expected {size} numbers')
        values = checked(what, [0.0 if x is None else x for x in given], (size,))
        values[[x is None for x in given]] = infinite
        numbers[name] = freeze(values)
    if (numbers['lower'] > numbers['upper']).any():
        raise ModelError(f'joint {one["name"]!r} has a lower limit above its upper one')
    axis = checked('axis', one['axis'], (3,))
    if abs(np.linalg.norm(axis) - 1.0) > 1e-9 and 0 < kind.nv < 3:
        raise ModelError(f'joint {one["name"]!r} has the axis {axis}; expected one of length 1')
    return Joint(
        name=str(one['name']),
        kind=kind,
        parent=_parent(one, len(before)),
        placement=SE3.from_matrix(one['placement']),
        axis=freeze(axis),
        **numbers,
        actuated=bool(one['actuated']),
        mimic=None if mimic is None else _mimic(mimic),
    )


def _mimic(given: dict[str, Any]) -> Mimic:
    leader, numbers = given['leader'], [given['multiplier'], given['offset']]
    if type(leader) is not int:
        raise ModelError(f'leader is {leader!r}; expected the index of a joint')
    return Mimic(leader, *checked('multiplier and offset', numbers, (2,)).tolist())


def _check_leader(joint: Joint, joints: list[Joint]) -> None:
    """Refuse a joint that mimics what cannot be mimicked."""
    if joint.mimic is None:
        return
    leader = joint.mimic.leader
    if not 0 < leader < len(joints) or joints[leader].mimic or not joint.kind.can_mimic:
        raise ModelError(f'{joint.name!r} cannot mimic joint {leader}')
    if not joints[leader].kind.can_mimic:
        raise ModelError(f'{joint.name!r} cannot mimic {joints[leader].name!r}')


def _frame(one: dict[str, Any], count: int) -> Frame:
    placement = SE3.from_matrix(one['placement'])
    return Frame(str(one['name']), _parent(one, count), placement, FrameType(one['type']))


def _parent(one: dict[str, Any], count: int) -> int:
    """Return the index of a joint among so many; that of the first joint is 0, its own."""
    parent = one['parent']
    if type(parent) is not int or not 0 <= parent < max(count, 1):
        raise ModelError(f'parent of {one["name"]!r} is {parent!r}; it must come before')
    return parent
