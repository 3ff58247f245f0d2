"""The scene: the robot of a URDF with motors, on a floor, in a light."""

from collections.abc import Callable, Mapping
from contextlib import suppress

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.errors import ModelError
from icir_control.simulation.drawing import HIDDEN_GROUP, framing, visible_corners
from icir_control.simulation.inertia import ellipsoid_axes, lump_refused_inertias
from icir_control.simulation.joints import check_joint_names
from icir_control.simulation.urdf import Urdf

FLOOR = 'floor'

_GROUP_VISUAL = 2
_GROUP_COLLISION = HIDDEN_GROUP

_COLOUR = [0.65, 0.67, 0.70, 1.0]
_SAMPLES = 200  # configurations that tell how far the robot reaches
_ASPECT = 4.0 / 3.0  # of a window at first
_DISTANCE = 1.5  # of MuJoCo's free camera, in sizes of the model

# A robot that stands on the floor reaches this far below it by rounding alone [m].
_ON_THE_FLOOR = 1e-6


def build_scene(
    read: Callable[..., Urdf], *, joint_names: tuple[str, ...], timestep: float, repair: bool
) -> tuple[mujoco.MjSpec, mujoco.MjModel, Urdf]:
    """Build the scene around a robot.

    Nothing is added to the robot's dynamics: no rotor, damping or friction beyond the URDF's.
    Effort limits of the URDF bound each joint's actuation, as they do in the arm.

    Args:
        read: Reads the robot; its argument `meshes` is that of `read_urdf`.
        joint_names: The moving joints; one motor each, in this order.
        timestep: Length of a step [s].
        repair: Whether an inertia that no body has is replaced by the nearest possible one.

    Returns:
        The scene, what it compiles to, and the robot with the meshes that it could use.

    Raises:
        UnknownNameError: A name is not that of a moving joint.
        ModelError: A joint is missing; or MuJoCo cannot make a model of the description, and the
            message is MuJoCo's.
    """
    description = read()
    check_joint_names(joint_names, description.moving_joints)
    try:
        return *_dress(description, joint_names, timestep, repair), description
    except ModelError:
        if not description.assets:
            raise
    # A mesh that MuJoCo cannot decode must not take the arm with it.
    bare = read(meshes='none')
    dressed = _dress(bare, joint_names, timestep, repair)
    description = read(meshes='converted')
    with suppress(ModelError):
        return *_dress(description, joint_names, timestep, repair), description
    return *dressed, bare


def settle_floor(
    spec: mujoco.MjSpec, model: mujoco.MjModel, position: NDArray[np.float64]
) -> tuple[str, ...]:
    """Lower the floor of a scene beneath a robot that reaches below its own base.

    Args:
        spec: The scene.
        model: The scene, compiled.
        position: (nq,) where the robot stands, in MuJoCo's order.

    Returns:
        What was done, for the user to read; nothing where the floor stays at zero.
    """
    data = mujoco.MjData(model)
    data.qpos[:] = position
    mujoco.mj_kinematics(model, data)
    floor = spec.geom(FLOOR)
    lowest = 0.0
    for geom in range(model.ngeom):
        if geom == floor.id or not model.geom_contype[geom]:
            continue
        upward = data.geom_xmat[geom].reshape(3, 3)[2]
        middle, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        bottom = data.geom_xpos[geom, 2] + upward @ middle - np.abs(upward) @ half
        lowest = min(lowest, float(bottom))
    if lowest > -_ON_THE_FLOOR:
        return ()
    floor.pos = [0.0, 0.0, lowest - 1e-3]
    return (f'the robot reaches below its base: floor lowered to {lowest:.3f} m',)


def _dress(
    description: Urdf, joint_names: tuple[str, ...], timestep: float, repair: bool
) -> tuple[mujoco.MjSpec, mujoco.MjModel]:
    """Add all that is not the robot; return the scene, and what it compiles to."""
    try:
        spec = mujoco.MjSpec.from_string(description.xml, assets=description.assets)
        _hold_joints(spec, description.held)
        lump_refused_inertias(spec, repair=repair)
        for mesh in spec.meshes:
            # Masses are the URDF's; for their own MuJoCo would refuse meshes that are not closed.
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        spec.option.timestep = timestep
        # A diverged state is kept for the report instead of being overwritten by a reset.
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        _sort_shapes(spec)
        for name in joint_names:
            motor = spec.add_actuator(
                name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT, gear=[1, 0, 0, 0, 0, 0]
            )
            motor.set_to_motor()
        for joint in spec.joints:
            joint.armature = description.armatures.get(joint.name, 0.0)
        robot = spec.compile()
        _draw_bare_links(spec, robot)
        _exclude_neighbours(spec, robot)
        spec.visual.global_.azimuth, spec.visual.global_.elevation = 135.0, -18.0
        _add_surroundings(spec, *_reach(spec.compile()))
        return spec, spec.compile()
    except ValueError as error:
        # MuJoCo reports a faulty description as ValueError, in several lines.
        reason = ' '.join(str(error).split())
        raise ModelError(f'{description.source}: MuJoCo refuses it: {reason}') from error


def _hold_joints(spec: mujoco.MjSpec, held: Mapping[str, float]) -> None:
    """Fix joints where they are held [rad or m]: their links become part of those above."""
    for name, position in held.items():
        joint = spec.joint(name)
        if joint is None:  # planar or floating, fixed in the text
            continue
        body, axis = joint.parent, joint.axis / np.linalg.norm(joint.axis)
        if joint.type == mujoco.mjtJoint.mjJNT_SLIDE:
            way = np.empty(3)
            mujoco.mju_rotVecQuat(way, position * axis, body.quat)
            body.pos = body.pos + way
        else:
            turn, quaternion = np.empty(4), np.empty(4)
            mujoco.mju_axisAngle2Quat(turn, axis, position)
            mujoco.mju_mulQuat(quaternion, body.quat, turn)
            body.quat = quaternion
        spec.delete(joint)


def _sort_shapes(spec: mujoco.MjSpec) -> None:
    """Show the visual shapes, and the collision shapes only of links that have no other."""
    for body in spec.bodies:
        has_visual = any(geom.contype == 0 for geom in body.geoms)
        for geom in body.geoms:
            collides = geom.contype != 0
            geom.group = _GROUP_COLLISION if collides and has_visual else _GROUP_VISUAL
            if collides:
                # The importer paints a collision shape with the colour that it saw last.
                geom.rgba = _COLOUR


def _draw_bare_links(spec: mujoco.MjSpec, robot: mujoco.MjModel) -> None:
    """Draw the ellipsoids of inertia of links of which nothing else can be seen."""
    whole = _length(robot)
    leader = robot.body_weldid
    seen = set(leader[robot.geom_bodyid])
    for body in range(1, robot.nbody):
        mass, moments = robot.body_mass[body], robot.body_inertia[body]
        if leader[body] in seen or mass <= 0.0:
            continue
        ends = [robot.body_ipos[body], *robot.body_pos[1:][robot.body_parentid[1:] == body]]
        axes = ellipsoid_axes(mass, moments, ends, whole)
        spec.body(robot.body(body).name).add_geom(
            type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
            pos=robot.body_ipos[body],
            quat=robot.body_iquat[body],
            size=axes,
            contype=0,
            conaffinity=0,
            group=_GROUP_VISUAL,
            rgba=_COLOUR,
        )


def _length(robot: mujoco.MjModel) -> float:
    """Return how long a robot's longest branch is, from its first joint on [m]."""
    lengths = np.zeros(robot.nbody)
    for body in range(1, robot.nbody):
        parent = robot.body_parentid[body]
        if robot.body_weldid[parent]:  # what carries it moves
            lengths[body] = lengths[parent] + np.linalg.norm(robot.body_pos[body])
    return float(lengths.max())


def _exclude_neighbours(spec: mujoco.MjSpec, robot: mujoco.MjModel) -> None:
    """Let no two links collide that a joint connects.

    MuJoCo filters contacts between parent and child by itself, but not where the parent stands
    still: the base, with all that is fixed to it, would collide with the first moving link.
    """
    # Links that are rigidly connected have one leader, the topmost of them.
    leader = robot.body_weldid
    for body in robot.jnt_bodyid:
        for first in np.flatnonzero(leader == leader[robot.body_parentid[body]]):
            for second in np.flatnonzero(leader == body):
                # Number 0 is MuJoCo's own world, and the floor with it.
                if first != 0:
                    names = robot.body(first).name, robot.body(second).name
                    spec.add_exclude(bodyname1=names[0], bodyname2=names[1])


def _reach(robot: mujoco.MjModel) -> tuple[float, NDArray[np.float64]]:
    """Return size [m] and middle (3,) of where a robot can be, as MuJoCo's cameras want them.

    What it would reach below the floor is left out.
    """
    rng, data = np.random.default_rng(0), mujoco.MjData(robot)
    turns = robot.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
    free = np.where(turns[:, None], [-np.pi, np.pi], 0.0)
    limits = np.where(robot.jnt_limited[:, None], robot.jnt_range, free)
    rotations = np.empty((_SAMPLES, robot.ngeom, 9))
    origins = np.empty((_SAMPLES, robot.ngeom, 3))
    for sample in range(_SAMPLES):
        data.qpos[:] = rng.uniform(*limits.T) if sample else 0.0
        mujoco.mj_kinematics(robot, data)
        rotations[sample], origins[sample] = data.geom_xmat, data.geom_xpos
    reached = visible_corners(robot, rotations, origins)
    at_zero = reached[: len(reached) // _SAMPLES]
    reached[:, 2] = np.maximum(reached[:, 2], at_zero[:, 2].min())
    middle, distance = framing(robot, reached, _ASPECT)
    return distance / _DISTANCE, middle


def _add_surroundings(spec: mujoco.MjSpec, extent: float, center: NDArray[np.float64]) -> None:
    """Add sky, floor and light, sized by the robot.

    Args:
        spec: The scene.
        extent: Size of what it reaches [m].
        center: (3,) middle of it [m].
    """
    spec.add_texture(
        name='sky',
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.90, 0.93, 0.96],
        rgb2=[0.55, 0.63, 0.72],
        width=256,
        height=256 * 6,
    )
    spec.add_texture(
        name='tiles',
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        mark=mujoco.mjtMark.mjMARK_EDGE,
        rgb1=[0.60, 0.63, 0.66],
        rgb2=[0.54, 0.57, 0.61],
        markrgb=[0.46, 0.49, 0.53],
        width=256,
        height=256,
    )
    tiles = spec.add_material(name='tiles', texrepeat=[4, 4], texuniform=True)
    tiles.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = 'tiles'
    spec.worldbody.add_geom(
        name=FLOOR,
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 0.05],
        material='tiles',
    )
    spec.worldbody.add_light(
        name='sun',
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[center[0] + extent, center[1] - extent, center[2] + 2.5 * extent],
        dir=[-0.35, 0.30, -1.0],
        diffuse=[0.50, 0.50, 0.50],
        specular=[0.3, 0.3, 0.3],
        castshadow=True,
    )
    view = spec.visual
    view.headlight.ambient = [0.34, 0.34, 0.34]
    view.headlight.diffuse = [0.34, 0.34, 0.34]
    view.headlight.specular = [0.1, 0.1, 0.1]
    view.quality.shadowsize = 2048
    # Farther than any robot reaches: at the edge of the shadow map the floor is speckled.
    view.map.shadowclip = 2.0
    # The floor is endless: the view keeps to the robot.
    spec.stat.extent, spec.stat.center = extent, center
