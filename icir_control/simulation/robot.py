"""A robot in MuJoCo: built from its URDF, with and without what the plant changes."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.simulation.joints import Joints
from icir_control.simulation.plant import Plant, compile_plant
from icir_control.simulation.scene import build_scene, settle_floor
from icir_control.simulation.start import find_start, overloaded, touching
from icir_control.simulation.urdf import read_urdf

LONGEST_TIMESTEP = 0.02  # s
ON_THE_WAY = 60
"""Postures in which a straight way of the joints is looked at."""
LOOSE = 3.5e-3
"""Of the inertia of joints that mimic, what they have at least to themselves.

Of some 60 public robots the least that holds has 5.8e-3; those of 2.1e-3 fly apart.
"""


class Dynamics:
    """MuJoCo's own mass matrix, bias and Jacobian of a model, to compare another model with.

    They are computed on a state of their own. Rows and columns follow `joints`, whatever order
    MuJoCo keeps them in; what moves with another joint counts there, by virtual work.
    """

    def __init__(self, model: mujoco.MjModel, joints: Joints) -> None:
        """Keep a model and make a state for it.

        Args:
            model: A model whose joints all have one degree of freedom.
            joints: Its joints.
        """
        self._model = model
        self._data = mujoco.MjData(model)
        self._joints, self._coupling = joints, joints.coupling
        self._bias = np.empty(model.nv)
        self._product = np.empty(model.nv)

    def mass_matrix(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M(q): (nv, nv) [kg m^2; kg m; kg]."""
        return self._coupling.T @ self._free_mass_matrix(q) @ self._coupling

    def loosest(self, q: NDArray[np.float64]) -> tuple[float, int]:
        """Return how little inertia the joints have to themselves, and which of them moves most.

        Returns:
            The least of their inertias while each is free, to that while they mimic; a joint.
        """
        inertias, ways = np.linalg.eigh(self._free_mass_matrix(q))
        coupled = np.linalg.eigvalsh(self.mass_matrix(q))
        return float(inertias[0] / coupled[0]), int(np.argmax(np.abs(ways[:, 0])))

    def _free_mass_matrix(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M (n, n) of the joints, in MuJoCo's order, as if none of them mimicked."""
        self._place(q)
        columns = np.empty((self._model.nv, self._model.nv))
        for column, unit in zip(columns, np.eye(self._model.nv), strict=True):
            mujoco.mj_mulM(self._model, self._data, column, unit)
        return columns.T

    def bias(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the torque that holds ddq = 0: (nv,) Coriolis, centrifugal, gravity [N m; N]."""
        self._place(q)
        self._move(v)
        mujoco.mj_rne(self._model, self._data, 0, self._bias)
        return self._bias @ self._coupling

    def torque(
        self, q: NDArray[np.float64], v: NDArray[np.float64], acceleration: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return M a + bias: (nv,), which gives the joints an acceleration (nv,)."""
        bias = self.bias(q, v)
        self._data.qacc[:] = self._coupling @ acceleration
        mujoco.mj_mulM(self._model, self._data, self._product, self._data.qacc)
        return bias + self._product @ self._coupling

    def frame_placement(self, q: NDArray[np.float64], body: int) -> NDArray[np.float64]:
        """Return the (3, 4) rotation and position of a body's axes in the world."""
        self._data.qpos[:] = self._joints.positions(q)
        mujoco.mj_kinematics(self._model, self._data)
        rotation = self._data.xmat[body].reshape(3, 3)
        return np.column_stack([rotation, self._data.xpos[body]])

    def frame_jacobian(self, q: NDArray[np.float64], body: int) -> NDArray[np.float64]:
        """Return the (6, nv) Jacobian of a body's origin in world axes, linear rows first."""
        self._place(q)
        jacobian = np.zeros((6, self._model.nv))
        mujoco.mj_jacBody(self._model, self._data, jacobian[:3], jacobian[3:], body)
        return jacobian @ self._coupling

    def _place(self, q: NDArray[np.float64]) -> None:
        """Bring everything that depends on the configuration alone up to date."""
        self._data.qpos[:] = self._joints.positions(q)
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_makeM(self._model, self._data)

    def _move(self, v: NDArray[np.float64]) -> None:
        self._data.qvel[:] = self._coupling @ v
        mujoco.mj_comVel(self._model, self._data)


class SimulatedRobot:
    """Joints, limits and dynamics of a robot; every array follows `joint_names`.

    A joint that mimics another is one of MuJoCo's joints, tied to the other by a constraint.

    Attributes:
        model: MuJoCo's model, with the plant's changes applied.
        joint_names: The moving joints, but those that mimic others.
        end_effector_frame: The link of the tool.
        plant: How the robot departs from its URDF.
        timestep_ns: Length of a step [ns].
        links: Names of the links.
        notes: What had to be left out or adapted, for the user to read.
        left_out: Each shape that had to be left out, and why.
        joint_damping: (nv,) of the URDF [N m s/rad; N s/m].
        joint_friction: (nv,) Coulomb friction of the URDF [N m; N].
        armature: (nv,) of the URDF: rotor inertia, as the joints feel it [kg m^2; kg].
        effort_limit: (nv,) infinite where the URDF gives none [N m; N].
    """

    def __init__(
        self,
        urdf: str | os.PathLike[str],
        *,
        joint_names: Sequence[str],
        end_effector_frame: str,
        timestep: float = 1e-3,
        initial_configuration: ArrayLike | None = None,
        plant: Plant | None = None,
        locked: Mapping[str, float] | None = None,
        default_effort: float | None = None,
        armature: Mapping[str, float] | None = None,
        package_dirs: Sequence[str | Path] = (),
        repair: bool = False,
    ) -> None:
        """Build the robot.

        Args:
            urdf: Path or text of the URDF.
            joint_names: All moving joints but those that are locked and those that mimic others,
                in the order of every array.
            end_effector_frame: The link of the tool.
            timestep: Length of a step [s], a whole number of nanoseconds.
            initial_configuration: (nv,) [rad or m]; by default zero, or next to it within
                limits, or the nearest posture found in which no links touch and the motors hold
                the weight.
            plant: How the robot departs from its URDF; by default not at all.
            locked: Joints that do not move, and where they are held [rad or m]; what mimics them
                is held with them.
            default_effort: Limit of joints to which the URDF gives none, or 0 [N m or N].
            armature: Inertia of the rotors [kg m^2 or kg] by joint, in place of the URDF's.
            package_dirs: Folders that are packages or hold packages, for meshes.
            repair: Whether an inertia that no body has is replaced by the nearest possible one.

        Raises:
            ModelError: The URDF cannot be simulated.
            UnknownNameError: A joint or the end-effector frame is not in the URDF.
            InvalidValueError: The timestep or the configuration is not valid.
        """
        self.plant = plant or Plant()
        self.timestep_ns = _nanoseconds(timestep)
        self.joint_names = tuple(joint_names)
        self.end_effector_frame = end_effector_frame
        read = partial(
            read_urdf,
            urdf,
            held=locked,
            default_effort=default_effort,
            armature=armature,
            package_dirs=package_dirs,
        )
        spec, nominal, description = build_scene(
            read,
            joint_names=self.joint_names,
            timestep=self.timestep_ns * 1e-9,
            repair=repair,
        )
        if end_effector_frame not in description.links:
            raise UnknownNameError('end-effector frame', end_effector_frame, description.links)
        self.notes: tuple[str, ...] = description.notes
        self.left_out = description.left_out
        self._joints = joints = Joints(self.joint_names, nominal, description.mimics)
        self.joint_damping, self.joint_friction = joints.damping, joints.friction
        self.armature, self.effort_limit = joints.armature, joints.effort_limit
        self._initial = self._start(spec, nominal, initial_configuration)
        self.notes += settle_floor(spec, nominal, joints.positions(self._initial))
        self.model = compile_plant(spec, self.plant, end_effector_frame)
        self._links = {name: self.model.body(name).id for name in description.links}
        self._nominal_bodies = {name: nominal.body(name).id for name in description.links}
        self.links = tuple(description.links)
        self._nominal = Dynamics(nominal, joints)
        self._actual = Dynamics(self.model, joints)
        if description.mimics:
            self._check_ties()

    def mass_matrix(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return MuJoCo's M(q) of the URDF, before the plant's changes: (nv, nv)."""
        return self._nominal.mass_matrix(self._joints.vector('q', q))

    def bias(self, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
        """Return MuJoCo's Coriolis, centrifugal and gravity torques of the URDF: (nv,)."""
        return self._nominal.bias(self._joints.vector('q', q), self._joints.vector('v', v))

    def frame_jacobian(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return MuJoCo's end-effector Jacobian in world axes: (6, nv), linear rows first."""
        return self._nominal.frame_jacobian(
            self._joints.vector('q', q), self._nominal_bodies[self.end_effector_frame]
        )

    def frame_placement(self, q: ArrayLike, link: str = '') -> NDArray[np.float64]:
        """Return MuJoCo's rotation and position of a link in the world, side by side: (3, 4).

        Args:
            q: (nv,) [rad or m].
            link: Of the URDF; by default the end effector.
        """
        body = self._nominal_bodies[link or self.end_effector_frame]
        return self._nominal.frame_placement(self._joints.vector('q', q), body)

    def positions(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where MuJoCo's joints are, in its order, at q (nv,): (n,) [rad or m]."""
        return self._joints.positions(q)

    def is_free(self, q: ArrayLike) -> bool:
        """Tell whether the joints go straight from the start to q (nv,) and rest there.

        On no part of the way links touch that did not at the start, nor the floor, nor is the
        weight more than the motors hold.
        """
        goal, start = self._joints.vector('q', q), self._initial
        data, first = mujoco.MjData(self.model), None
        for share in np.linspace(0.0, 1.0, ON_THE_WAY):
            data.qpos[:] = self._joints.positions(start + share * (goal - start))
            mujoco.mj_kinematics(self.model, data)
            mujoco.mj_comPos(self.model, data)
            mujoco.mj_collision(self.model, data)
            heavy = overloaded(self.model, data, self._joints)
            faults = touching(self.model, data) | heavy.keys()
            first = faults if first is None else first
            if not faults <= first:
                return False
        return True

    def _check_ties(self) -> None:
        """Refuse joints that mimic others where MuJoCo could not hold them to those.

        It does so by forces, as stiff as a step allows. Between links without mass the joints,
        each free, move against next to no inertia in some way, and a step takes them apart.

        Raises:
            ModelError: Names one of them.
        """
        share, joint = self._nominal.loosest(self._initial)
        if share < LOOSE:
            name = self.model.joint(joint).name
            raise ModelError(
                f'joint {name!r} mimics others, or they it, and the links there have so little '
                'mass that MuJoCo cannot hold them together; give the links more, or these '
                f'joints a rotor (--armature {name}=1e-6)'
            )

    def _start(
        self, spec: mujoco.MjSpec, nominal: mujoco.MjModel, given: ArrayLike | None
    ) -> NDArray[np.float64]:
        """Return the start (nv,); let links that overlap in most postures not collide.

        Args:
            spec: The scene.
            nominal: The same, compiled.
            given: (nv,) the start that the user wants; None for one without contact.
        """
        joints = self._joints
        wanted = joints.configuration(given)
        found = find_start(nominal, joints, wanted)
        start = wanted if given is not None else found.q
        for one, other in sorted(found.overlapping):
            spec.add_exclude(bodyname1=one, bodyname2=other)
        if found.overlapping:
            pairs = ', '.join(' and '.join(pair) for pair in sorted(found.overlapping))
            self.notes += (f'overlap in most postures, so that they do not collide: {pairs}',)
        faults = [f'{one} and {other} touch' for one, other in sorted(found.touching)] + [
            f'{joint} cannot hold the weight, {weight:.3g} N m or N with an effort of {limit:.3g}'
            for joint, (weight, limit) in found.overloaded.items()
        ]
        if faults:
            moved = (start != wanted).any()
            shown = ' '.join(f'{value:.3g}' for value in start)
            where = (
                f'started at {shown} (rad or m) instead' if moved else 'no other start is taken'
            )
            self.notes += (f'{"; ".join(faults)} in the initial configuration; {where}',)
        return start


def _nanoseconds(timestep: float) -> int:
    valid = isinstance(timestep, (int, float)) and not isinstance(timestep, bool)
    if not valid or not 0.0 < timestep <= LONGEST_TIMESTEP:
        raise InvalidValueError('timestep', timestep, f'above 0 and up to {LONGEST_TIMESTEP} s')
    whole = round(timestep * 1e9)
    if whole < 1 or abs(timestep * 1e9 - whole) > 1e-6:
        raise InvalidValueError('timestep', timestep, 'a whole number of nanoseconds')
    return whole
