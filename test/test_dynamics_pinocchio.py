"""Pinocchio as an optional oracle: the same meaning of every quantity, on robots in URDF."""

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_equal

from icir_control import dynamics as icir
from icir_control.spatial import Force

try:
    import pinocchio as pin
except ImportError:
    pin = None

pytestmark = pytest.mark.skipif(pin is None, reason='the optional oracle `pin` is not installed')

ROOT = Path(__file__).resolve().parent.parent
FILES = [
    *(ROOT / 'urdf' / name for name in ('gen3_6dof.urdf', 'gen3_7dof.urdf')),
    *(ROOT / 'test/data' / name for name in ('branching.urdf', 'gantry.urdf', 'chain.urdf')),
]
ROOTS = [(path, 'fixed') for path in FILES] + [(path, 'floating') for path in FILES[:4]]


def references():
    """Pinocchio's reference frames by ours."""
    theirs = (pin.LOCAL, pin.WORLD, pin.LOCAL_WORLD_ALIGNED)
    return dict(zip(icir.ReferenceFrame, theirs, strict=True))


class Theirs:
    """Pinocchio's model of the same file, and the order of its velocities."""

    def __init__(self, path, root_joint, ours):
        roots = [pin.JointModelFreeFlyer()] if root_joint == 'floating' else []
        self.model = pin.buildModelFromUrdf(str(path), *roots, mimic=True)
        self.data = self.model.createData()
        self.joints = [self.model.getJointId(joint.name) for joint in ours.joints]
        starts = [self.model.joints[i].idx_v for i in self.joints]
        counts = [joint.nv for joint in ours.joints]
        self.order = np.concatenate(
            [np.arange(start, start + n) for start, n in zip(starts, counts, strict=True)]
        ).astype(int)
        self.ours = ours

    def v(self, ours):
        out = np.zeros(self.model.nv)
        out[self.order] = ours
        return out

    def q(self, ours):
        out = np.zeros(self.model.nq)
        for joint, i in zip(self.ours.joints[1:], self.joints[1:], strict=True):
            theirs = self.model.joints[i]
            part = ours[joint.index_q : joint.index_q + joint.nq]
            if theirs.nq == 2:
                part = (np.cos(part[0]), np.sin(part[0]))
            out[theirs.idx_q : theirs.idx_q + theirs.nq] = part
        return out


def check_whole(model, data, theirs, rng, q, v):
    a, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    m, d, order = theirs.model, theirs.data, theirs.order
    tq, tv, ta, tt = theirs.q(q), theirs.v(v), theirs.v(a), theirs.v(tau)
    M = pin.crba(m, d, tq)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    assert_equal(icir.crba(model, data, q), M)
    assert_equal(icir.minverse(model, data, q), np.linalg.inv(M), 1e-9)
    assert_equal(
        icir.nonlinear_effects(model, data, q, v), pin.nonLinearEffects(m, d, tq, tv)[order]
    )
    assert_equal(
        icir.gravity_torque(model, data, q), pin.computeGeneralizedGravity(m, d, tq)[order]
    )
    icir.compute_all_terms(model, data, q, v)
    assert_equal(data.M, M)

    forces = [Force.random(rng) for _ in model.joints]
    pulls = pin.StdVec_Force(m.njoints, pin.Force.Zero())
    for force, i in zip(forces[1:], theirs.joints[1:], strict=True):
        pulls[i] = pin.Force(np.array(force.vector))
    assert_equal(icir.rnea(model, data, q, v, a), pin.rnea(m, d, tq, tv, ta)[order])
    assert_equal(icir.rnea(model, data, q, v, a, forces), pin.rnea(m, d, tq, tv, ta, pulls)[order])
    for force, i in zip(data.f[1:], theirs.joints[1:], strict=True):
        assert_equal(force.vector, d.f[i].vector)
    assert_equal(icir.aba(model, data, q, v, tau), pin.aba(m, d, tq, tv, tt)[order], 1e-9)
    assert_equal(
        icir.aba(model, data, q, v, tau, forces), pin.aba(m, d, tq, tv, tt, pulls)[order], 1e-9
    )

    assert_equal(icir.center_of_mass(model, data, q), pin.centerOfMass(m, d, tq, True))
    for com, i in zip(data.com, theirs.joints, strict=True):
        assert_equal(com, d.com[i])
    jacobian = pin.jacobianCenterOfMass(m, d, tq)[:, order]
    assert_equal(icir.center_of_mass_jacobian(model, data, q), jacobian)
    pin.ccrba(m, d, tq, tv)
    assert_equal(icir.centroidal_map(model, data, q), d.Ag[:, order])
    assert_equal(icir.centroidal_momentum(model, data, q, v), d.hg.vector)
    assert_equal(icir.kinetic_energy(model, data, q, v), pin.computeKineticEnergy(m, d, tq, tv))
    assert_equal(icir.potential_energy(model, data, q), pin.computePotentialEnergy(m, d, tq))
    moved = theirs.q(icir.integrate(model, q, v))
    assert_equal(pin.difference(m, moved, pin.integrate(m, tq, tv)), np.zeros(m.nv))


def check_parts(model, data, theirs, rng, q, v):
    a = rng.normal(size=model.nv)
    m, d, order = theirs.model, theirs.data, theirs.order
    tq, tv, ta = theirs.q(q), theirs.v(v), theirs.v(a)
    icir.forward_kinematics(model, data, q, v, a)
    pin.computeJointJacobiansTimeVariation(m, d, tq, tv)
    pin.forwardKinematics(m, d, tq, tv, ta)
    pin.updateFramePlacements(m, d)
    for i, j in enumerate(theirs.joints):
        assert_equal(data.oMi[i].matrix, d.oMi[j].homogeneous)
        assert_equal(data.v[i].vector, d.v[j].vector)
        assert_equal(data.a[i].vector, d.a[j].vector)
        for ours, reference in references().items() if i else ():
            jacobian = pin.getJointJacobian(m, d, j, reference)[:, order]
            assert_equal(icir.joint_jacobian(model, data, i, ours), jacobian)
    for i, frame in enumerate(model.frames):
        j = m.getFrameId(frame.name)
        assert_equal(icir.frame_placement(model, data, i).matrix, d.oMf[j].homogeneous)
        for ours, reference in references().items():
            answers = {
                icir.frame_jacobian: pin.getFrameJacobian(m, d, j, reference)[:, order],
                icir.frame_jacobian_time_variation: pin.getFrameJacobianTimeVariation(
                    m, d, j, reference
                )[:, order],
                icir.frame_velocity: pin.getFrameVelocity(m, d, j, reference).vector,
                icir.frame_acceleration: pin.getFrameAcceleration(m, d, j, reference).vector,
                icir.frame_classical_acceleration: pin.getFrameClassicalAcceleration(
                    m, d, j, reference
                ).vector,
            }
            for ask, answer in answers.items():
                result = ask(model, data, i, ours)
                assert_equal(getattr(result, 'vector', result), answer)


@pytest.mark.parametrize(
    ('path', 'root_joint'), ROOTS, ids=[f'{path.stem}-{root}' for path, root in ROOTS]
)
def test_every_quantity_means_the_same(path, root_joint):
    model = icir.load_urdf(path, root_joint=root_joint)
    theirs = Theirs(path, root_joint, model)
    data, rng = model.create_data(), np.random.default_rng(3)
    for _ in range(10):
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        check_whole(model, data, theirs, rng, q, v)
        check_parts(model, data, theirs, rng, q, v)


def test_coordinates_differ_where_the_document_says_so():
    path = str(ROOT / 'urdf/gen3_6dof.urdf')  # three of its joints are continuous
    ours, theirs = icir.load_urdf(path), pin.buildModelFromUrdf(path)
    assert (ours.nq, theirs.nq, theirs.nv) == (ours.nv, ours.nv + 3, ours.nv)
    assert (ours.joint_names, tuple(theirs.names)) == (
        tuple(theirs.names)[1:],
        tuple(theirs.names),
    )
    # A planar joint that has turned, and moves along x: the parent's axis here, the body's there.
    ours = icir.load_urdf(path, root_joint='planar')
    theirs = pin.buildModelFromUrdf(path, pin.JointModelPlanar())
    assert (ours.nq, theirs.nq) == (ours.nv, ours.nv + 1 + 3)
    q, v, turn = ours.neutral(), np.eye(ours.nv)[0], np.array([np.cos(0.7), np.sin(0.7)])
    q[2] = 0.7
    np.testing.assert_array_equal((icir.integrate(ours, q, v) - q)[:2], [1.0, 0.0])
    tq = pin.neutral(theirs)
    tq[2:4] = turn
    np.testing.assert_allclose((pin.integrate(theirs, tq, v) - tq)[:2], turn, atol=1e-15)
    # Without being asked, Pinocchio takes what mimics another for a joint of its own.
    path = str(ROOT / 'test/data/arm_with_hand.urdf')
    assert pin.buildModelFromUrdf(path).nv > icir.load_urdf(path).nv


def test_the_frames_are_the_same():
    for path in FILES:
        ours = icir.load_urdf(path)
        theirs = pin.buildModelFromUrdf(str(path))
        names = {(frame.name, frame.type.name) for frame in ours.frames[1:]}
        assert names == {(frame.name, frame.type.name) for frame in theirs.frames[1:]}


@pytest.mark.parametrize('name', ['arm_with_hand', 'coupled_arm'])
def test_joints_that_mimic_others_are_the_same(name, tmp_path):
    """Pinocchio has neither a follower's follower, nor `aba` or derivatives with mimic joints."""
    text = (ROOT / 'test/data' / f'{name}.urdf').read_text()
    path = tmp_path / 'arm.urdf'
    path.write_text(text.replace('"right" multiplier="-1"', '"grip" multiplier="1"'))
    model = icir.load_urdf(path)
    theirs = Theirs(path, 'fixed', model)
    m, d, order = theirs.model, theirs.data, theirs.order
    assert (m.nv, m.njoints) == (model.nv, model.njoints)
    data, rng = model.create_data(), np.random.default_rng(4)
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    tq, tv, ta = theirs.q(q), theirs.v(v), theirs.v(a)
    M = pin.crba(m, d, tq)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    assert_equal(icir.crba(model, data, q), M)
    assert_equal(icir.rnea(model, data, q, v, a), pin.rnea(m, d, tq, tv, ta)[order])
    assert_equal(icir.centroidal_map(model, data, q), pin.computeCentroidalMap(m, d, tq)[:, order])
    icir.forward_kinematics(model, data, q, v, a)
    pin.forwardKinematics(m, d, tq, tv, ta)
    for joint, i in enumerate(theirs.joints[1:], 1):
        J = pin.computeJointJacobian(m, d, tq, i)[:, order]
        assert_equal(icir.joint_jacobian(model, data, joint), J)
        assert_equal(data.oMi[joint].matrix, d.oMi[i].homogeneous)
        assert_equal(data.a[joint].vector, d.a[i].vector)
