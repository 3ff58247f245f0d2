"""MJCF, MuJoCo's own format: read into a dynamics model, and written from one."""

import logging
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.dynamics import Frame, FrameType, Joint, JointKind, Model, ModelBuilder
from icir_control.errors import IcirError, InvalidValueError, ModelError
from icir_control.simulation.inertia import LEAST
from icir_control.spatial import SE3, Inertia

WORLD_BODY = 'world'
"""What MuJoCo calls its body 0."""

_KINDS = {
    mujoco.mjtJoint.mjJNT_FREE: JointKind.FLOATING,
    mujoco.mjtJoint.mjJNT_BALL: JointKind.SPHERICAL,
    mujoco.mjtJoint.mjJNT_SLIDE: JointKind.PRISMATIC,
    mujoco.mjtJoint.mjJNT_HINGE: JointKind.REVOLUTE,
}
_SCALAR = (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE)
_JOINT_TARGETS = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)

_log = logging.getLogger(__name__)


def load_mjcf(path_or_xml: str | os.PathLike[str]) -> Model:
    """Return the model of what MuJoCo reads: MJCF, with all that it includes, or URDF.

    At q = 0 the model is where MuJoCo is at qpos0. Coordinates count from there: q of a hinge or
    slide is qpos minus its `ref`, and so are its limits; q of a free joint is the pose relative to
    that of the file. Quaternions are (x, y, z, w), those of MuJoCo (w, x, y, z), and v of a free
    joint is the twist in body axes, where MuJoCo has its linear part in world axes.

    Hinges become revolute, or continuous without limits, slides prismatic, balls spherical and
    free joints floating. Several joints of one body become a chain. Joints and bodies without a
    name are called `joint_3` or `body_3`, by MuJoCo's number. A `BODY` frame remains of each body,
    the world's included, and an `OP_FRAME` of each site that has a name. A coupling of two joints
    by the constraint `joint` makes the first mimic the second. Shapes and contacts are no part of
    the model; neither are the laws of servos.

    Where actuators act on joints, those are actuated of which an actuator moves each degree of
    freedom, directly or by a fixed tendon, and those that they mimic. Otherwise it is as with
    `ModelBuilder`. The effort limit of a degree of freedom is that of its one actuator, by
    `forcerange` and, of a plain motor, `ctrlrange`, times the gear, and that of
    `actuatorfrcrange`; of two different ends the smaller counts. A limit of a ball is left out
    with a warning.

    Args:
        path_or_xml: A path, or the text itself (anything that begins with `<`).

    Raises:
        InvalidValueError: The argument is neither.
        ModelError: MuJoCo cannot compile it, and the message is MuJoCo's; or it has what the
            model cannot have, such as springs, fluids, muscles, tendons that exert forces, and
            constraints other than couplings of joints; the message names the element.
    """
    if not isinstance(path_or_xml, str | os.PathLike):
        raise InvalidValueError('path_or_xml', path_or_xml, 'a path or XML text')
    source = os.fspath(path_or_xml)
    is_text = source.lstrip('\ufeff \t\r\n').startswith('<')
    label = 'the MJCF text' if is_text else source
    theirs = _compiled(label, source.lstrip('\ufeff \t\r\n') if is_text else None, source)
    try:
        for element, what in _refused(theirs):
            raise ModelError(f'{element} has {what}, which a dynamics model cannot have')
        return _collected(theirs).build()
    except IcirError as error:
        raise ModelError(f'{label}: {error}') from None


def to_mjcf(model: Model) -> str:
    """Return a model as MJCF, which MuJoCo compiles to the same dynamics.

    Every joint has a body, with the name of the link that lies in it. Other links become bodies
    without joints, and other frames sites. Joints have their limits, damping, friction (as
    `frictionloss`) and armature, and those that are actuated a motor for each degree of freedom,
    bounded by the effort limit; none where that is zero. A cylindrical joint becomes `_slide` and
    `_turn` of one body, a planar one `_x`, `_y` and `_turn`, a floating one a free joint, or,
    where it is not on the world, `_x`, `_y`, `_z` and a ball `_turn`. A mimic joint is tied to its
    leader by a constraint of the type `joint`. What MJCF gives another name than it has here, as
    it is taken or reserved, ends in `_`.

    MJCF has no velocity limits, none for the coordinates of a ball or a free joint, and its motors
    do not push a free joint along body axes: these are left out. A body without mass or inertia,
    which MuJoCo refuses, gets 1e-14 kg or kg m^2. Numbers have all their digits.

    Args:
        model: Any model.

    Raises:
        InvalidValueError: The argument is no `Model`.
        ModelError: A spherical joint has different losses about its axes, or a floating one has
            friction, armature or different dampings, for which MJCF has one number; or MuJoCo
            refuses the text, as with a lower limit that is not below the upper one, or a chain of
            more than some 490 joints.
    """
    if not isinstance(model, Model):
        raise InvalidValueError('model', model, 'a Model')
    root = ElementTree.Element('mujoco', model=model.name)
    _add(root, 'compiler', angle='radian')
    _add(root, 'option', gravity=model.gravity)
    world = _add(root, 'worldbody')
    equality, actuator = _add(root, 'equality'), _add(root, 'actuator')
    bodies = _add_bodies(model, world)
    taken = {joint.name for joint in model.joints}
    motors: set[str] = set()
    for joint, body in zip(model.joints[1:], bodies[1:], strict=True):
        for part in _parts(joint, taken):
            _add(body, 'joint', **part.attributes())
            for name, gear, effort in part.motors():
                limit = {} if np.isinf(effort) else {'forcerange': (-effort, effort)}
                name = _free_name(name, motors)
                _add(actuator, 'motor', name=name, joint=part.name, gear=gear, **limit)
        if joint.mimic is not None:
            leader = model.joints[joint.mimic.leader].name
            ratio = joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0
            _add(equality, 'joint', joint1=joint.name, joint2=leader, polycoef=ratio)
    try:
        ElementTree.indent(root)
        text = ElementTree.tostring(root, encoding='unicode')
    except RecursionError:
        # MuJoCo itself reads bodies in bodies some 490 deep.
        raise ModelError(f'model {model.name!r} has longer chains of joints than MJCF') from None
    _compiled(f'model {model.name!r}', text)
    return text


def _compiled(label: str, text: str | None, path: str = '') -> mujoco.MjModel:
    """Return MuJoCo's model of a text, or of a file where there is none."""
    try:
        if text is None:
            return mujoco.MjModel.from_xml_path(path)
        return mujoco.MjModel.from_xml_string(text)
    except (ValueError, mujoco.FatalError) as error:
        reason = ' '.join(str(error).split())
        raise ModelError(f'{label}: MuJoCo refuses it: {reason}') from error


# From MuJoCo's model to ours


def _refused(model: mujoco.MjModel) -> Iterator[tuple[str, str]]:
    """Yield what would change the dynamics and cannot be modelled: the element, and what it has.

    What other versions of MuJoCo do not have, is not looked for in those.
    """
    option, kinds = model.opt, mujoco.mjtObj
    if option.density > 0.0 or option.viscosity > 0.0:
        yield 'option', 'a fluid (density or viscosity)'
    tendons = [
        *('stiffness', 'stiffnesspoly', 'damping', 'dampingpoly', 'frictionloss', 'armature'),
        'limited',
    ]
    lossy = _nonzero(model, 'dof_frictionloss', 'dof_armature')
    free = model.jnt_type == mujoco.mjtJoint.mjJNT_FREE
    scalar = np.isin(model.actuator_trntype, _JOINT_TARGETS)
    target = np.where(scalar, model.actuator_trnid[:, 0], 0)
    if model.njnt:
        scalar &= np.isin(model.jnt_type[target], _SCALAR)
    muscle = (
        (model.actuator_dyntype == mujoco.mjtDyn.mjDYN_MUSCLE)
        | (model.actuator_gaintype == mujoco.mjtGain.mjGAIN_MUSCLE)
        | (model.actuator_biastype == mujoco.mjtBias.mjBIAS_MUSCLE)
    )
    coupling = (model.eq_type == mujoco.mjtEq.mjEQ_JOINT) & (model.eq_obj2id >= 0)
    higher = model.eq_data[:, 2:5].any(axis=1)
    found: list[tuple[Any, NDArray[np.bool_], str]] = [
        (kinds.mjOBJ_JOINT, _nonzero(model, 'jnt_stiffness', 'jnt_stiffnesspoly'), 'a spring'),
        (
            kinds.mjOBJ_JOINT,
            _of_joints(model, _nonzero(model, 'dof_dampingpoly')),
            'a damping that is not proportional to the velocity',
        ),
        (
            kinds.mjOBJ_JOINT,
            free & _of_joints(model, lossy),
            'frictionloss or armature, and is free',
        ),
        (kinds.mjOBJ_BODY, model.body_gravcomp != 0.0, 'gravcomp'),
        (kinds.mjOBJ_BODY, model.body_plugin >= 0, 'a plugin'),
        (kinds.mjOBJ_FLEX, ~model.flex_rigid.astype(bool), 'a shape that bends'),
        (
            kinds.mjOBJ_TENDON,
            _nonzero(model, *(f'tendon_{one}' for one in tendons)),
            'stiffness, damping, friction, armature or limits',
        ),
        (kinds.mjOBJ_ACTUATOR, muscle, 'a muscle'),
        (
            kinds.mjOBJ_ACTUATOR,
            _nonzero(model, 'actuator_dampingpoly')
            | (~scalar & _nonzero(model, 'actuator_armature', 'actuator_damping')),
            'armature, or damping, other than that of one hinge or slide',
        ),
        (
            kinds.mjOBJ_EQUALITY,
            _active(model) & ~coupling,
            'a constraint that is no coupling of two joints',
        ),
        (kinds.mjOBJ_EQUALITY, _active(model) & coupling & higher, 'a polynomial above degree 1'),
    ]
    for kind, flags, what in found:
        for i in np.flatnonzero(flags).tolist():
            yield _label(model, kind, i), what


def _collected(model: mujoco.MjModel) -> ModelBuilder:
    """Return a builder with all bodies, joints and sites of MuJoCo's model."""
    disabled = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    gravity = [0.0, 0.0, 0.0] if disabled else model.opt.gravity.tolist()
    builder = ModelBuilder(model.names.split(b'\0', 1)[0].decode(), gravity)
    couplings = _couplings(model)
    numbers = _joint_numbers(model, couplings)
    builder.add_body(WORLD_BODY, builder.last_frame)
    bodies = [builder.last_frame]
    for i in range(1, model.nbody):
        carrier = bodies[model.body_parentid[i]]
        place = _place(model.body_quat[i], model.body_pos[i])
        first = model.body_jntadr[i]
        for j in range(first, first + model.body_jntnum[i]):
            # All joints of a body turn about points of it, in its axes before any of them moves.
            anchor = SE3.from_translation(model.jnt_pos[j])
            builder.add_joint(parent=carrier, placement=place @ anchor, **numbers[j])
            carrier, place = builder.last_frame, anchor.inverse()
        name = _name(model, mujoco.mjtObj.mjOBJ_BODY, i) or f'body_{i}'
        builder.add_body(name, carrier, _inertia(model, i), place)
        bodies.append(builder.last_frame)
    for i in range(model.nsite):
        name = _name(model, mujoco.mjtObj.mjOBJ_SITE, i)
        if name:
            place = _place(model.site_quat[i], model.site_pos[i])
            builder.add_frame(name, bodies[model.site_bodyid[i]], place)
    return builder


def _couplings(model: mujoco.MjModel) -> dict[int, tuple[int, float, float]]:
    """Return which joint each follower follows, multiplier and offset: q_f = m q + c.

    Raises:
        ModelError: A joint follows two.
    """
    couplings = {}
    for i in np.flatnonzero(_active(model)).tolist():
        follower, leader = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        if follower in couplings:
            element = _label(model, mujoco.mjtObj.mjOBJ_EQUALITY, i)
            raise ModelError(f'{element} couples a joint that another one couples already')
        offset, multiplier = model.eq_data[i, :2].tolist()
        couplings[follower] = leader, multiplier, offset
    return couplings


def _joint_numbers(
    model: mujoco.MjModel, couplings: Mapping[int, tuple[int, float, float]]
) -> list[dict[str, Any]]:
    """Return what `ModelBuilder.add_joint` is given of each joint, but its place."""
    names = [_name(model, mujoco.mjtObj.mjOBJ_JOINT, j) or f'joint_{j}' for j in range(model.njnt)]
    damping, armature = model.dof_damping.copy(), model.dof_armature.copy()
    effort, moved = _motors(model, damping, armature)
    is_moved = [bool((moved[_dofs(model, j)] > 0).all()) for j in range(model.njnt)]
    for j in couplings:
        follower = j
        while is_moved[follower] and follower in couplings:
            leader = couplings[follower][0]
            if is_moved[leader]:
                break
            is_moved[leader], follower = True, leader
    numbers: list[dict[str, Any]] = []
    for j, name in enumerate(names):
        kind, dofs = _KINDS[mujoco.mjtJoint(model.jnt_type[j])], _dofs(model, j)
        limits: dict[str, Any] = {}
        if model.jnt_limited[j] and kind.nv == 1:
            lower, upper = model.jnt_range[j] - model.qpos0[model.jnt_qposadr[j]]
            limits = {'lower': lower, 'upper': upper}
        elif model.jnt_limited[j]:
            _log.warning('joint %r is %s: its limit is left out', name, kind.value)
        elif kind is JointKind.REVOLUTE:
            kind = JointKind.CONTINUOUS
        mimic = None
        if j in couplings:
            leader, multiplier, offset = couplings[j]
            mimic = names[leader], multiplier, offset
        numbers.append(
            {
                'name': name,
                'kind': kind,
                'axis': model.jnt_axis[j],
                'effort': effort[dofs],
                'damping': damping[dofs],
                'friction': model.dof_frictionloss[dofs],
                'armature': armature[dofs],
                'actuated': is_moved[j] if moved.any() else None,
                'mimic': mimic,
                **limits,
            }
        )
    return numbers


def _motors(
    model: mujoco.MjModel, damping: NDArray[np.float64], armature: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return effort limits [N m or N] (nv,), and how many actuators move each one (nv,).

    Damping and rotors of the actuators are added to those of the joints, (nv,).
    """
    effort, moved = np.full(model.nv, np.inf), np.zeros(model.nv, dtype=np.intp)
    for i, kind in enumerate(model.actuator_trntype.tolist()):
        target = int(model.actuator_trnid[i, 0])
        if kind == mujoco.mjtTrn.mjTRN_TENDON:
            first = model.tendon_adr[target]
            for wrap in range(first, first + model.tendon_num[target]):
                if model.wrap_type[wrap] == mujoco.mjtWrap.mjWRAP_JOINT:
                    moved[_dofs(model, model.wrap_objid[wrap])] += 1
        elif kind in _JOINT_TARGETS:
            dofs = _dofs(model, target)
            gear = model.actuator_gear[i, : dofs.stop - dofs.start]
            axes = dofs.start + np.flatnonzero(gear)
            moved[axes] += 1
            ratio = float(np.abs(gear).max())
            turned = kind == mujoco.mjtTrn.mjTRN_JOINTINPARENT and gear.size > 1
            free = model.jnt_type[target] == mujoco.mjtJoint.mjJNT_FREE
            # The axes of the others are not those of the coordinates.
            if len(axes) == 1 and not turned and not free:
                effort[axes] = _largest_force(model, i) * ratio
            if gear.size == 1:
                damping[axes] += ratio**2 * _number(model, 'actuator_damping', i)
                armature[axes] += ratio**2 * _number(model, 'actuator_armature', i)
    effort[moved != 1] = np.inf
    limited = model.jnt_actfrclimited.astype(bool)
    for j in np.flatnonzero(limited).tolist():
        dofs, most = _dofs(model, j), _smaller_end(model.jnt_actfrcrange[j])
        effort[dofs] = np.minimum(effort[dofs], most)
    return effort, moved


def _largest_force(model: mujoco.MjModel, actuator: int) -> float:
    """Return what an actuator can exert both ways, before its gear [N m or N]."""
    one, most = model.actuator(actuator), np.inf
    if one.forcelimited[0]:
        most = _smaller_end(one.forcerange)
    is_motor = (
        one.gaintype[0] == mujoco.mjtGain.mjGAIN_FIXED
        and one.biastype[0] == mujoco.mjtBias.mjBIAS_NONE
        and one.dyntype[0] == mujoco.mjtDyn.mjDYN_NONE
    )
    if is_motor and one.ctrllimited[0]:
        most = min(most, _smaller_end(np.sort(one.gainprm[0] * one.ctrlrange.ravel())))
    return most


def _smaller_end(ends: NDArray[np.float64]) -> float:
    """Return how far a range (2,) reaches to both sides of zero."""
    return max(0.0, min(-float(ends[0]), float(ends[1])))


def _dofs(model: mujoco.MjModel, joint: int) -> slice:
    """Return where the degrees of freedom of one of MuJoCo's joints are in its v."""
    first = int(model.jnt_dofadr[joint])
    return slice(first, first + _KINDS[mujoco.mjtJoint(model.jnt_type[joint])].nv)


def _of_joints(model: mujoco.MjModel, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which joints have a degree of freedom with a flag (nv,): (njnt,)."""
    found = np.zeros(model.njnt, dtype=bool)
    found[model.dof_jntid[flags]] = True
    return found


def _active(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Return which of the equality constraints hold: (neq,)."""
    bits = mujoco.mjtDisableBit
    off = model.opt.disableflags & (bits.mjDSBL_EQUALITY | bits.mjDSBL_CONSTRAINT)
    return model.eq_active0.astype(bool) & (not off)


def _nonzero(model: mujoco.MjModel, *fields: str) -> NDArray[np.bool_]:
    """Return of which elements any of these fields is not zero; fields may be missing."""
    arrays = [np.atleast_2d(getattr(model, one).T) for one in fields if hasattr(model, one)]
    if not arrays:
        return np.zeros(1, dtype=bool)
    return np.asarray(np.vstack(arrays).any(axis=0))


def _number(model: mujoco.MjModel, field: str, i: int) -> float:
    """Return entry i of a field that older versions of MuJoCo do not have."""
    return float(getattr(model, field)[i]) if hasattr(model, field) else 0.0


def _name(model: mujoco.MjModel, kind: Any, i: int) -> str:
    return mujoco.mj_id2name(model, kind, i) or ''


def _label(model: mujoco.MjModel, kind: Any, i: int) -> str:
    """Return how a message names an element: by its number where it has no name."""
    name = _name(model, kind, i)
    return f'{kind.name.removeprefix("mjOBJ_").lower()} {repr(name) if name else f"number {i}"}'


def _place(quaternion: NDArray[np.float64], position: NDArray[np.float64]) -> SE3:
    """Return the placement of a quaternion (w, x, y, z) and a position (3,) [m]."""
    return SE3.from_quaternion(np.roll(quaternion, -1), position)


def _inertia(model: mujoco.MjModel, body: int) -> Inertia:
    """Return the inertia of a body in its own axes."""
    axes = _place(model.body_iquat[body], model.body_ipos[body])
    moments = np.diag(model.body_inertia[body])
    # Whether a body can have it is decided on what moves as one: the builder's business.
    return axes.act(Inertia.trusted(float(model.body_mass[body]), np.zeros(3), moments))


# From our model to MJCF


@dataclass(frozen=True)
class _Part:
    """One of MuJoCo's joints, which has some of the degrees of freedom of one of ours.

    Attributes:
        joint: The joint that it is a part of.
        name: Its name in MJCF.
        kind: Its type in MJCF.
        axis: Of a hinge or a slide (3,).
        dofs: Which degrees of freedom of the joint it has.
    """

    joint: Joint
    name: str
    kind: str
    axis: NDArray[np.float64] | None
    dofs: range

    def attributes(self) -> dict[str, Any]:
        """Return its attributes in MJCF.

        Raises:
            ModelError: It would need several numbers where MJCF has one.
        """
        joint, dofs = self.joint, slice(self.dofs.start, self.dofs.stop)
        attributes: dict[str, Any] = {'name': self.name, 'type': self.kind}
        if self.axis is not None:
            attributes['axis'] = self.axis
        if joint.mimic is not None:  # what it loses is lost by its leader
            return attributes
        losses = {'damping': joint.damping, 'friction': joint.friction, 'armature': joint.armature}
        for field, values in losses.items():
            value = float(values[dofs][0])
            plain = joint.kind is JointKind.FLOATING and field != 'damping'
            same = values if joint.kind is JointKind.FLOATING else values[dofs]
            if (same != value).any() or (plain and value):
                expected = 'none' if plain else 'one number for all'
                raise ModelError(
                    f'joint {joint.name!r} is {joint.kind.value} and has {field} '
                    f'{values.tolist()}; MJCF can have {expected}'
                )
            if value:
                attributes['frictionloss' if field == 'friction' else field] = value
        if len(self.dofs) == 1 and joint.kind is not JointKind.FLOATING:
            ends = joint.lower[dofs][0], joint.upper[dofs][0]
            if np.isfinite(ends).any():
                attributes |= {'range': ends, 'limited': 'true'}
        return attributes

    def motors(self) -> Iterator[tuple[str, NDArray[np.float64], float]]:
        """Yield its motors: name, gear (6,), and largest torque or force [N m or N]."""
        joint = self.joint
        if not joint.actuated or joint.kind is JointKind.FLOATING:
            return
        for i, dof in enumerate(self.dofs):
            if joint.effort[dof]:  # a motor that can exert nothing is none
                suffix = f'_{"xyz"[i]}' if len(self.dofs) > 1 else ''
                yield f'{self.name}{suffix}', np.eye(6)[i], float(joint.effort[dof])


def _parts(joint: Joint, taken: set[str]) -> Iterator[_Part]:
    """Yield MuJoCo's joints of one of ours, in the order in which they move the body."""
    x, y, z = np.eye(3)
    slide_x, slide_y, slide_z = ('_x', 'slide', x), ('_y', 'slide', y), ('_z', 'slide', z)
    rows: dict[JointKind, list[tuple[str, str, NDArray[np.float64] | None]]] = {
        JointKind.REVOLUTE: [('', 'hinge', joint.axis)],
        JointKind.CONTINUOUS: [('', 'hinge', joint.axis)],
        JointKind.PRISMATIC: [('', 'slide', joint.axis)],
        JointKind.CYLINDRICAL: [('_slide', 'slide', joint.axis), ('_turn', 'hinge', joint.axis)],
        JointKind.PLANAR: [slide_x, slide_y, ('_turn', 'hinge', z)],
        JointKind.SPHERICAL: [('', 'ball', None)],
        JointKind.FLOATING: [slide_x, slide_y, slide_z, ('_turn', 'ball', None)]
        if joint.parent
        else [('', 'free', None)],
    }
    first = 0
    for suffix, kind, axis in rows[joint.kind]:
        size = {'ball': 3, 'free': 6}.get(kind, 1)
        name = _free_name(f'{joint.name}{suffix}', taken) if suffix else joint.name
        yield _Part(joint, name, kind, axis, range(first, first + size))
        first += size


def _add_bodies(model: Model, world: ElementTree.Element) -> list[ElementTree.Element]:
    """Add a body for each joint, with its inertia and frames; return them, the world's first."""
    links: dict[int, Frame] = {}
    for frame in model.frames:
        if frame.type is FrameType.BODY and frame.name != WORLD_BODY and _is_origin(frame):
            links.setdefault(frame.parent, frame)
    names = {frame.name for frame in model.frames if frame.type is FrameType.BODY} | {WORLD_BODY}
    bodies: list[ElementTree.Element] = []
    for i, (joint, inertia) in enumerate(zip(model.joints, model.inertias, strict=True)):
        if i == 0 and 0 not in links and not inertia.mass:
            bodies.append(world)
            continue
        # MuJoCo has free joints on the world alone, where a link that does not move may lie, too.
        loose = i == 0 or (joint.kind is JointKind.FLOATING and joint.parent == 0)
        name = links[i].name if i in links else _free_name(joint.name, names)
        body = _add_placed(world if loose else bodies[joint.parent], 'body', name, joint.placement)
        if i or inertia.mass:
            _add_inertial(body, inertia)
        bodies.append(body)
    sites: set[str] = set()
    for frame in model.frames[1:]:
        body, place = bodies[frame.parent], frame.placement
        if frame.type is FrameType.JOINT or frame is links.get(frame.parent):
            continue
        if frame.type is not FrameType.BODY:
            _add_placed(body, 'site', _free_name(frame.name, sites), place)
        elif frame.name != WORLD_BODY:
            _add_placed(body, 'body', frame.name, place)
        elif frame.parent or not _is_origin(frame):
            _add_placed(body, 'body', _free_name(frame.name, names), place)
    return bodies


def _is_origin(frame: Frame) -> bool:
    return frame.placement == SE3.identity()


def _add_placed(
    parent: ElementTree.Element, tag: str, name: str, placement: SE3
) -> ElementTree.Element:
    quaternion = np.roll(placement.quaternion, 1)
    return _add(parent, tag, name=name, pos=placement.translation, quat=quaternion)


def _add_inertial(body: ElementTree.Element, inertia: Inertia) -> None:
    """Add mass and principal moments; MuJoCo would find the axes to fewer digits by itself."""
    moments, axes = np.linalg.eigh(inertia.rotational)
    axes[:, 0] *= np.linalg.det(axes)
    low, middle, high = np.maximum(moments, LEAST).tolist()
    _add(
        body,
        'inertial',
        mass=max(inertia.mass, LEAST),
        pos=inertia.com,
        quat=np.roll(SE3(axes).quaternion, 1),
        # Rounding may leave a flat body a largest moment above the sum of the others.
        diaginertia=(low, middle, min(high, low + middle)),
    )


def _add(
    parent: ElementTree.Element, tag: str, **attributes: str | float | Iterable[float]
) -> ElementTree.Element:
    """Add an element; numbers are written so that they are read again to the last bit."""
    texts = {
        key: value
        if isinstance(value, str)
        else ' '.join(map(repr, np.atleast_1d(np.asarray(value, dtype=float)).tolist()))
        for key, value in attributes.items()
    }
    return ElementTree.SubElement(parent, tag, texts)


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    while name in taken:
        name += '_'
    taken.add(name)
    return name
