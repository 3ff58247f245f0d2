"""MuJoCo's own model of one of ours, and its answers in our coordinates.

MuJoCo composes joints of one body in order, so that each of our kinds is a row of slides, hinges
and balls on one body. Only the floating joint has other velocities there: its linear part is in
the joint's axes, ours in the body's. With v_mj = T v, M = T^T M_mj T, and so on; T holds the
order of the joints too.
"""

import mujoco
import numpy as np

from icir_control.dynamics import JointKind
from icir_control.spatial import quaternion_from_rotation, rotation_from_quaternion, skew

SLIDE, HINGE, BALL = (
    mujoco.mjtJoint.mjJNT_SLIDE,
    mujoco.mjtJoint.mjJNT_HINGE,
    mujoco.mjtJoint.mjJNT_BALL,
)
X, Y, Z = np.eye(3)


def parts(joint):
    """The joints that MuJoCo makes of one of ours: (type, axis)."""
    slides = [(SLIDE, X), (SLIDE, Y)]
    return {
        JointKind.REVOLUTE: [(HINGE, joint.axis)],
        JointKind.CONTINUOUS: [(HINGE, joint.axis)],
        JointKind.PRISMATIC: [(SLIDE, joint.axis)],
        JointKind.CYLINDRICAL: [(SLIDE, joint.axis), (HINGE, joint.axis)],
        JointKind.PLANAR: [*slides, (HINGE, Z)],
        JointKind.SPHERICAL: [(BALL, Z)],
        JointKind.FLOATING: [*slides, (SLIDE, Z), (BALL, Z)],
    }[joint.kind]


def wxyz(rotation):
    return np.roll(quaternion_from_rotation(rotation), 1)


class MujocoOracle:
    def __init__(self, model):
        self.ours = model
        spec = mujoco.MjSpec()
        spec.option.gravity = model.gravity
        spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        bodies = [spec.worldbody]
        for joint, inertia in zip(model.joints[1:], model.inertias[1:], strict=True):
            moments, axes = np.linalg.eigh(inertia.rotational)
            axes[:, 0] *= np.linalg.det(axes)
            body = bodies[joint.parent].add_body(
                name=joint.name,
                pos=joint.placement.translation,
                quat=wxyz(joint.placement.rotation),
                explicitinertial=True,
                mass=inertia.mass,
                ipos=inertia.com,
                iquat=wxyz(axes),
                inertia=moments,
            )
            for i, (kind, axis) in enumerate(parts(joint)):
                body.add_joint(name=f'{joint.name}_{i}', type=kind, axis=axis)
            bodies.append(body)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        # MuJoCo numbers bodies depth first, whatever the order of ours.
        self.bodies = [0] + [self.model.body(joint.name).id for joint in model.joints[1:]]
        self.starts_q = [self.model.jnt_qposadr[self.model.body_jntadr[b]] for b in self.bodies]
        self.starts_v = [self.model.body_dofadr[b] for b in self.bodies]

    def set_state(self, q, v):
        """Compute everything at a state of ours."""
        self.q, self.v = q, v
        nv = self.ours.nv
        self.T, self.dT = np.zeros((nv, nv)), np.zeros((nv, nv))
        position = np.zeros(self.ours.nq)
        for i, joint in enumerate(self.ours.joints[1:], 1):
            coordinates = q[joint.index_q : joint.index_q + joint.nq].copy()
            block, derivative = np.eye(joint.nv), np.zeros((joint.nv, joint.nv))
            if joint.kind is JointKind.FLOATING:
                R = rotation_from_quaternion(coordinates[3:])
                omega = v[joint.index_v + 3 : joint.index_v + 6]
                block[:3, :3], derivative[:3, :3] = R, R @ skew(omega)
            if joint.kind.has_quaternion:
                coordinates[-4:] = np.roll(coordinates[-4:], 1)
            position[self.starts_q[i] : self.starts_q[i] + joint.nq] = coordinates
            theirs = slice(self.starts_v[i], self.starts_v[i] + joint.nv)
            ours = slice(joint.index_v, joint.index_v + joint.nv)
            self.T[theirs, ours], self.dT[theirs, ours] = block, derivative
        self.data.qpos[:] = position
        self.data.qvel[:] = self.T @ v
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_subtreeVel(self.model, self.data)

    def mass_matrix(self):
        M = np.zeros((self.ours.nv, self.ours.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return self.T.T @ M @ self.T

    def nle(self):
        M = np.zeros((self.ours.nv, self.ours.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return self.T.T @ (self.data.qfrc_bias + M @ (self.dT @ self.v))

    def acceleration(self, tau):
        """ddq of forward dynamics."""
        self.data.qfrc_applied[:] = np.linalg.solve(self.T.T, tau)
        mujoco.mj_forward(self.model, self.data)
        self.data.qfrc_applied[:] = 0.0
        return np.linalg.solve(self.T, self.data.qacc - self.dT @ self.v)

    def placement(self, joint):
        """Rotation and position of a joint's body."""
        body = self.bodies[joint]
        return self.data.xmat[body].reshape(3, 3).copy(), self.data.xpos[body].copy()

    def jacobian(self, joint, point):
        """LOCAL_WORLD_ALIGNED Jacobian of a point of a joint's body, and its derivative."""
        nv, body = self.ours.nv, self.bodies[joint]
        J, dJ = np.zeros((6, nv)), np.zeros((6, nv))
        mujoco.mj_jac(self.model, self.data, J[:3], J[3:], point, body)
        mujoco.mj_jacDot(self.model, self.data, dJ[:3], dJ[3:], point, body)
        return J @ self.T, dJ @ self.T + J @ self.dT

    def com(self, joint):
        """Centre of mass of what lies beyond a joint, in the world."""
        return self.data.subtree_com[self.bodies[joint]]

    def com_jacobian(self):
        J = np.zeros((3, self.ours.nv))
        mujoco.mj_jacSubtreeCom(self.model, self.data, J, 0)
        return J @ self.T

    def centroidal_map(self):
        angular = np.zeros((3, self.ours.nv))
        mujoco.mj_angmomMat(self.model, self.data, angular, 0)
        mass = self.model.body_subtreemass[0]
        return np.vstack([mass * self.com_jacobian(), angular @ self.T])

    def momentum(self):
        mass = self.model.body_subtreemass[0]
        return np.concatenate([mass * self.data.subtree_linvel[0], self.data.subtree_angmom[0]])

    def energies(self):
        """Potential and kinetic."""
        return self.data.energy
