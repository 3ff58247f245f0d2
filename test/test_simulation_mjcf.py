"""MJCF read and written: MuJoCo's own dynamics of the same text are the measure."""

import logging
from pathlib import Path

import mujoco
import numpy as np
import pytest
from random_trees import SIZES, random_tree

from icir_control.dynamics import (
    FrameType,
    JointKind,
    ModelBuilder,
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
    frame_placement,
    load_urdf,
    total_mass,
)
from icir_control.errors import InvalidValueError, ModelError
from icir_control.simulation.mjcf import load_mjcf, to_mjcf
from icir_control.spatial import SE3, Inertia, rotation_from_quaternion, skew

URDFS = Path(__file__).resolve().parent.parent / 'urdf'
JOINT, BODY, SITE = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_SITE

ARM = """
<mujoco model="arm">
  <compiler angle="degree" eulerseq="zyx"/>
  <option gravity="1 -2 -8"/>
  <default>
    <joint damping="0.3"/>
    <default class="small"><joint damping="0.1" frictionloss="0.05" axis="0 1 0"/></default>
  </default>
  <worldbody>
    <body name="column" pos="0.1 0.2 0.3" euler="10 20 30">
      <geom type="box" size="0.1 0.1 0.2" density="900"/>
      <body name="arm" pos="0 0 0.4" axisangle="1 1 0 40" childclass="small">
        <joint name="shift" type="slide" axis="1 2 0" pos="3 4 5" range="-0.5 0.8"/>
        <joint name="swing" axis="0 1 1" pos="0.1 0 0.2" range="-90 45" ref="30" armature="0.2"/>
        <joint name="wrist" type="ball" pos="0 0.3 0.1" armature="0.02"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.05" mass="2"/>
        <site name="grip" pos="0.3 0 0.1" euler="0 90 0"/>
        <site pos="1 0 0"/>
        <body pos="0.3 0 0.1" quat="1 2 3 4">
          <joint name="joint_3" range="-2 2" actuatorfrcrange="-6 7"/>
          <inertial pos="0 0.1 0" mass="0.7" fullinertia="0.02 0.03 0.04 0.001 0.002 -0.003"/>
          <body name="tip" pos="0 0.2 0" xyaxes="0 1 0 -1 0 0">
            <geom type="sphere" size="0.03" mass="0.2"/>
          </body>
        </body>
        <body name="rail" pos="0 -0.1 0">
          <joint name="drawer" type="slide" axis="0 0 -2" ref="0.1" range="0.05 0.35"/>
          <geom type="ellipsoid" size="0.1 0.05 0.02" pos="0.02 0.01 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="push" joint="shift" gear="-50" ctrlrange="-1 0.8" forcerange="-2 2"/>
    <position joint="swing" kp="100" gear="2" forcerange="-30 40"/>
    <motor joint="joint_3"/>
    <motor joint="wrist" gear="1 0 0 0 0 0" forcerange="-1 1"/>
    <motor joint="wrist" gear="0 3 0 0 0 0" forcerange="-1 1"/>
    <motor joint="wrist" gear="0 0 1 0 0 0"/>
    <motor joint="wrist" gear="0 0 1 0 0 0" forcerange="-1 1"/>
  </actuator>
</mujoco>
"""

FLYER = """
<mujoco model="flyer">
  <compiler angle="radian"/>
  <option integrator="implicitfast"/>
  <asset><mesh name="wedge" vertex="0 0 0  0.3 0 0  0 0.2 0  0 0 0.1"/></asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="plane" size="1 1 1"/>
    <site name="home" pos="1 1 0"/>
    <body name="hull" pos="1 -2 3" quat="0.5 0.1 -0.7 0.2">
      <freejoint/>
      <geom type="mesh" mesh="wedge"/>
      <site name="nose" pos="0.3 0 0" zaxis="1 1 0"/>
      <body name="leg" pos="0 0.2 0">
        <joint name="hip" axis="1 0 0" pos="0 0 0.1" damping="0.4"/>
        <joint name="knee" axis="0 1 0" pos="0 0 -0.2"/>
        <geom type="cylinder" size="0.02 0.2" pos="0 0 -0.2"/>
      </body>
      <body name="left"><joint name="left" type="slide" ref="0.02"/><geom size="0.1"/></body>
      <body name="right" pos="0 0 -1">
        <joint name="right" armature="0.5" frictionloss="0.2" damping="0.3" range="-1 2"/>
        <geom size="0.1" pos="0.2 0 0"/>
      </body>
    </body>
    <body name="ground" mocap="true"><geom size="0.1"/></body>
  </worldbody>
  <tendon><fixed name="pull"><joint joint="left" coef="1"/></fixed></tendon>
  <equality>
    <joint joint1="right" joint2="left" polycoef="0.1 -2 0 0 0"/>
    <joint joint1="hip" joint2="knee" active="false"/>
    <weld body1="leg" body2="right" active="false"/>
  </equality>
  <actuator><motor tendon="pull" forcerange="-1 1"/></actuator>
</mujoco>
"""


class Theirs:
    """MuJoCo at a state of a model that was read from a text; v_mj = T v, T' = dT."""

    def __init__(self, text, ours):
        self.ours, self.model = ours, mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    def set_state(self, q, v):
        model, data, ours = self.model, self.data, self.ours
        self.v, self.T, self.dT = v, *np.zeros((2, model.nv, ours.nv))
        for j in range(model.njnt):
            name = mujoco.mj_id2name(model, JOINT, j) or f'joint_{j}'
            joint = ours.joints[ours.joint_id(name)]
            here, columns = model.jnt_qposadr[j], joint.index_v + np.arange(joint.kind.nv)
            own = q[joint.index_q : joint.index_q + joint.kind.nq]
            rows = model.jnt_dofadr[j] + np.arange(joint.kind.nv)
            block = np.eye(joint.kind.nv)
            if joint.kind is JointKind.FLOATING:
                pose = joint.placement @ SE3.from_quaternion(own[3:], own[:3])
                block[:3, :3] = pose.rotation
                data.qpos[here : here + 3] = pose.translation
                data.qpos[here + 3 : here + 7] = np.roll(pose.quaternion, 1)
                moving = pose.rotation @ skew(v[columns[3:]])
                self.dT[np.ix_(rows[:3], columns[:3])] = moving
            elif joint.kind is JointKind.SPHERICAL:
                data.qpos[here : here + 4] = np.roll(own, 1)
            else:
                m, c = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1.0, 0.0)
                data.qpos[here] = model.qpos0[here] + m * own[0] + c
                block *= m
            self.T[np.ix_(rows, columns)] = block
        data.qvel[:] = self.T @ v
        mujoco.mj_forward(model, data)

    def mass_matrix(self):
        M = np.zeros((self.model.nv, self.model.nv))
        for row, unit in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, row, unit)
        self.M = M
        return self.T.T @ M @ self.T

    def nle(self):
        return self.T.T @ (self.data.qfrc_bias + self.M @ self.dT @ self.v)

    def frames(self):
        """Name, type, rotation, position, Jacobian of all bodies and sites."""
        model, data = self.model, self.data
        for i in range(model.nbody):
            name = mujoco.mj_id2name(model, BODY, i) or f'body_{i}'
            yield name, FrameType.BODY, data.xmat[i], data.xpos[i], i
        for i in range(model.nsite):
            name = mujoco.mj_id2name(model, SITE, i)
            if name:
                body = model.site_bodyid[i]
                yield name, FrameType.OP_FRAME, data.site_xmat[i], data.site_xpos[i], body

    def jacobian(self, point, body):
        J = np.zeros((6, self.model.nv))
        mujoco.mj_jac(self.model, self.data, J[:3], J[3:], point, body)
        return J @ self.T


def near(ours, theirs, tolerance=1e-10):
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1, np.abs(theirs).max()))


def states(model, count=3):
    rng = np.random.default_rng(1)
    for _ in range(count):
        yield model.random_configuration(rng), rng.normal(size=model.nv)


def check_against_mujoco(text, model):
    """M, nle, all frames and their Jacobians at random states."""
    theirs, data = Theirs(text, model), model.create_data()
    for q, v in states(model):
        compute_all_terms(model, data, q, v)
        theirs.set_state(q, v)
        near(data.M, theirs.mass_matrix())
        near(data.nle, theirs.nle())
        seen = set()
        for name, kind, matrix, point, body in theirs.frames():
            frame = model.frame_id(name, kind)
            place = frame_placement(model, data, frame)
            near(place.rotation, matrix.reshape(3, 3))
            near(place.translation, point)
            J = frame_jacobian(model, data, frame, ReferenceFrame.LOCAL_WORLD_ALIGNED)
            near(J, theirs.jacobian(point, body))
            seen.add(frame)
        others = [frame for i, frame in enumerate(model.frames) if i not in seen]
        assert {frame.type for frame in others[1:]} == {FrameType.JOINT}


@pytest.mark.parametrize('text', [ARM, FLYER])
def test_a_file_has_mujocos_dynamics(text):
    model = load_mjcf(text)
    check_against_mujoco(text, model)
    again = load_mjcf(to_mjcf(model))
    assert (again.nq, again.nv) == (model.nq, model.nv)
    check_against_mujoco(to_mjcf(model), again)


def test_a_file_has_its_limits_and_losses():
    model = load_mjcf(ARM)
    assert model.joint_names == ('shift', 'swing', 'wrist', 'joint_3', 'drawer')
    kinds = [joint.kind.value for joint in model.joints[1:]]
    assert kinds == ['prismatic', 'revolute', 'spherical', 'revolute', 'prismatic']
    shift, swing, wrist, third, drawer = model.joints[1:]
    np.testing.assert_allclose(np.degrees([*swing.lower, *swing.upper]), [-120, 15])
    np.testing.assert_allclose([*shift.lower, *shift.upper], [-0.5, 0.8])
    np.testing.assert_allclose([*drawer.lower, *drawer.upper], [-0.05, 0.25])
    np.testing.assert_allclose(model.gravity, [1, -2, -8])
    np.testing.assert_allclose(shift.effort, 40.0)  # of 0.8 of the control, 50 of the gear
    np.testing.assert_allclose(swing.effort, 60.0)
    np.testing.assert_allclose(wrist.effort, [1, 3, np.inf])
    np.testing.assert_allclose(third.effort, 6.0)
    assert np.isinf(drawer.effort)
    assert [joint.actuated for joint in model.joints[1:]] == [True] * 4 + [False]
    np.testing.assert_allclose(model.joint_damping, [0.1] * 7)
    np.testing.assert_allclose(model.joint_friction, [0.05] * 7)
    np.testing.assert_allclose(model.armature, [0, 0.2, 0.02, 0.02, 0.02, 0, 0])


def test_a_free_body_with_a_coupling():
    model = load_mjcf(FLYER)
    free, hip, _, left, right = model.joints[1:]
    assert (free.name, free.kind) == ('joint_0', JointKind.FLOATING)
    assert (right.mimic.leader, right.mimic.multiplier, right.mimic.offset) == (4, -2.0, 0.1)
    assert hip.kind is JointKind.CONTINUOUS
    assert [joint.actuated for joint in model.joints[1:]] == [False] * 3 + [True, False]
    np.testing.assert_allclose(left.armature, 2.0)
    np.testing.assert_allclose(left.damping, 1.2)
    np.testing.assert_allclose(left.friction, 0.4)
    np.testing.assert_allclose([*left.lower, *left.upper], [-0.95, 0.55])
    assert 'ground' in [frame.name for frame in model.frames if frame.parent == 0]


BALL = '<body name="b"><joint name="j" {}/><geom size="0.1"/></body>'
TWO = BALL.format('') + BALL.format('').replace('"b"', '"c"').replace('"j"', '"k"')


def mjcf(body, rest=''):
    return f'<mujoco><worldbody>{body}</worldbody>{rest}</mujoco>'


def coupled(attributes):
    return mjcf(TWO, f'<equality><joint name="e" {attributes}/></equality>')


def driven(actuator, joint='', rest=''):
    return mjcf(BALL.format(joint), f'<actuator>{actuator}</actuator>{rest}')


def tendon(attributes):
    return mjcf(
        BALL.format(''),
        f'<tendon><fixed name="t" {attributes}><joint joint="j" coef="1"/></fixed></tendon>',
    )


def test_an_actuator_brings_its_rotor_and_losses():
    if not hasattr(mujoco.MjModel, 'actuator_armature'):
        pytest.skip('actuators of this MuJoCo have no armature')
    text = driven(
        '<motor joint="j" gear="3" armature="0.1" damping="0.2"/>', 'armature="1" damping="2"'
    )
    model = load_mjcf(text)
    np.testing.assert_allclose(model.armature, 1.9)
    np.testing.assert_allclose(model.joint_damping, 3.8)
    check_against_mujoco(text, model)


@pytest.mark.parametrize(
    ('actuator', 'joint', 'effort'),
    [
        ('<motor joint="j" ctrlrange="-2 3" gear="-4"/>', '', 8.0),
        ('<general joint="j" gainprm="-5" ctrlrange="-2 3"/>', '', 10.0),
        ('<motor joint="j" forcerange="0 3"/>', '', 0.0),
        ('<motor jointinparent="j" forcerange="-3 3"/>', '', 3.0),
        ('<motor jointinparent="j" forcerange="-3 3"/>', 'type="ball"', np.inf),
        ('<motor joint="j" forcerange="-3 3"/>', 'type="free"', np.inf),
        ('<velocity joint="j" kv="2" ctrlrange="-1 1"/>', '', np.inf),
        ('<motor joint="j" forcerange="-3 3"/>' * 2, '', np.inf),
    ],
)
def test_an_actuator_bounds_the_effort(actuator, joint, effort):
    model = load_mjcf(driven(actuator, joint))
    np.testing.assert_array_equal(model.effort_limit, effort)
    assert model.joints[1].actuated is (model.nv == 1)


def test_a_motor_of_a_follower_moves_its_leader():
    rest = '<equality><joint joint1="j" joint2="k"/></equality>'
    for text, expected in (
        (mjcf(TWO, f'<actuator><motor joint="j"/></actuator>{rest}'), True),
        (mjcf(TWO, f'<actuator><motor joint="k"/></actuator>{rest}'), True),
        (mjcf(TWO + BALL.format('').replace('"b"', '"d"').replace('"j"', '"l"'),
              f'<actuator><motor joint="l"/></actuator>{rest}'), False),
    ):  # fmt: skip
        model = load_mjcf(text)
        assert model.joints[model.joint_id('k')].actuated is expected
        assert not model.joints[model.joint_id('j')].actuated


def test_without_actuators_all_joints_have_motors():
    assert load_mjcf(mjcf(TWO)).na == 2


def test_a_gravity_that_is_switched_off_is_none():
    model = load_mjcf(mjcf(TWO, '<option><flag gravity="disable"/></option>'))
    assert not model.gravity.any()


def test_constraints_that_are_switched_off_are_none():
    flags = '<option><flag equality="disable"/></option>'
    text = coupled('joint1="j" joint2="k"').replace('</mujoco>', f'{flags}</mujoco>')
    assert load_mjcf(text).nv == 2


def test_the_limit_of_a_ball_is_left_out(caplog):
    with caplog.at_level(logging.WARNING):
        model = load_mjcf(mjcf(BALL.format('type="ball" range="0 30"')))
    assert "joint 'j' is spherical: its limit is left out" in caplog.text
    assert np.isinf(model.upper_position_limit).all()


@pytest.mark.parametrize(
    ('text', 'element'),
    [
        (mjcf(BALL.format('stiffness="3"')), "joint 'j' has a spring"),
        (mjcf(BALL.format('type="free" armature="1"')), "joint 'j' has frictionloss or armature"),
        (
            mjcf(BALL.format('type="free" frictionloss="1"')),
            "joint 'j' has frictionloss or armature",
        ),
        (mjcf(BALL.format('').replace('"b"', '"b" gravcomp="1"')), "body 'b' has gravcomp"),
        (mjcf(TWO, '<option density="1"/>'), 'option has a fluid'),
        (mjcf(TWO, '<option viscosity="1"/>'), 'option has a fluid'),
        (coupled('joint1="j"'), "equality 'e' has a constraint that is no coupling"),
        (coupled('joint1="j" joint2="k" polycoef="0 1 0.1"'), "equality 'e' has a polynomial"),
        (
            mjcf(TWO, '<equality><weld body1="b"/></equality>'),
            'equality number 0 has a constraint that is no coupling',
        ),
        (
            mjcf(TWO, '<equality><joint joint1="j" joint2="k"/><joint joint1="k" joint2="j"/>'
                 '</equality>'),
            'mimics joints that mimic each other',
        ),
        (
            mjcf(TWO, '<equality><joint joint1="j" joint2="k"/><joint joint1="j" joint2="k"/>'
                 '</equality>'),
            'equality number 1 couples a joint that another one couples already',
        ),
        (tendon('stiffness="1"'), "tendon 't' has stiffness"),
        (tendon('damping="1"'), "tendon 't' has stiffness"),
        (tendon('frictionloss="1"'), "tendon 't' has stiffness"),
        (tendon('range="-1 1"'), "tendon 't' has stiffness"),
        (driven('<muscle name="m" joint="j" lengthrange="0 1"/>'), "actuator 'm' has a muscle"),
        (mjcf('<body name="b"><geom size="0.1"/></body>'), 'has no moving joint'),
        (mjcf('<body name="b"><joint/></body>'), 'MuJoCo refuses it: Error: mass and inertia'),
        (mjcf(BALL.format('colour="red"')), 'MuJoCo refuses it: XML Error: Schema violation'),
        ('<mujoco', 'the MJCF text: MuJoCo refuses it: XML parse error'),
        (' <urdf/>', 'the MJCF text: MuJoCo refuses it:'),
        ('no/such/file.xml', 'no/such/file.xml: MuJoCo refuses it:'),
        ('', 'MuJoCo refuses it'),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_name(text, element):
    with pytest.raises(ModelError) as caught:
        load_mjcf(text)
    assert element in str(caught.value)


@pytest.mark.parametrize(
    ('attributes', 'element'),
    [
        (('joint', 'damping="1 2"'), "joint 'j' has a damping that is not proportional"),
        (('joint', 'stiffness="0 2"'), "joint 'j' has a spring"),
        (('tendon', 'armature="1"'), "tendon 't' has stiffness"),
        (('motor', 'armature="1"'), "actuator 'm' has armature"),
        (('motor', 'damping="1"'), "actuator 'm' has armature"),
    ],
)
def test_what_newer_versions_have_is_refused_by_name(attributes, element):
    place, text = attributes
    text = {
        'joint': lambda: mjcf(BALL.format(text)),
        'tendon': lambda: tendon(text),
        'motor': lambda: driven(f'<motor name="m" joint="j" {text}/>', 'type="ball"'),
    }[place]()
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip('this MuJoCo does not know it')
    with pytest.raises(ModelError) as caught:
        load_mjcf(text)
    assert element in str(caught.value)


def test_arguments_of_other_types_are_refused():
    with pytest.raises(InvalidValueError, match='path_or_xml = 3'):
        load_mjcf(3)
    with pytest.raises(InvalidValueError, match='expected a Model'):
        to_mjcf('arm')


def test_a_file_is_read_with_what_it_includes(tmp_path):
    (tmp_path / 'part.xml').write_text(f'<mujocoinclude>{TWO}</mujocoinclude>')
    path = tmp_path / 'whole.xml'
    path.write_text(mjcf('<include file="part.xml"/>'))
    assert load_mjcf(path).joint_names == load_mjcf(str(path)).joint_names == ('j', 'k')


# From a model to MJCF


def in_parts(model, parts, q, v):
    """State of a model in the coordinates of what `to_mjcf` makes of it: q, and T, dT of v."""
    q_parts, (T, dT) = parts.neutral(), np.zeros((2, parts.nv, model.nv))
    for joint in model.joints[1:]:
        if joint.mimic is not None:
            continue
        own, block = q[joint.index_q :][: joint.nq], np.eye(joint.nv)
        moving = np.zeros((joint.nv, joint.nv))
        suffixes = {
            JointKind.CYLINDRICAL: ['_slide', '_turn'],
            JointKind.PLANAR: ['_x', '_y', '_turn'],
        }.get(joint.kind, [''])
        if joint.kind is JointKind.FLOATING and joint.parent:
            suffixes = ['_x', '_y', '_z', '_turn']
            block[:3, :3] = rotation_from_quaternion(own[3:])
            moving[:3, :3] = block[:3, :3] @ skew(v[joint.index_v + 3 :][:3])
        rows = []
        for suffix in suffixes:
            part = parts.joints[parts.joint_id(joint.name + suffix)]
            q_parts[part.index_q : part.index_q + part.nq], own = own[: part.nq], own[part.nq :]
            rows += range(part.index_v, part.index_v + part.nv)
        here = np.ix_(rows, joint.index_v + np.arange(joint.nv))
        T[here], dT[here] = block, moving
    return q_parts, T, dT


def check_there_and_back(model):
    text = to_mjcf(model)
    parts = load_mjcf(text)
    check_against_mujoco(text, parts)
    data, other = model.create_data(), parts.create_data()
    for q, v in states(model):
        q_parts, T, dT = in_parts(model, parts, q, v)
        compute_all_terms(model, data, q, v)
        compute_all_terms(parts, other, q_parts, T @ v)
        near(T.T @ other.M @ T, data.M, 1e-12)
        near(T.T @ (other.nle + other.M @ dT @ v), data.nle, 1e-12)
        for i, frame in enumerate(model.frames):
            if frame.type is FrameType.JOINT and frame.name not in parts.joint_names:
                continue  # it is in parts
            kept = frame.type in (FrameType.BODY, FrameType.JOINT) or i == 0
            kind = frame.type if kept else FrameType.OP_FRAME
            # A link on a joint cannot have the name of MuJoCo's own body.
            name = 'world_' if frame.name == 'world' and frame.parent else frame.name
            there = frame_placement(parts, other, parts.frame_id(name, kind))
            assert there.isclose(frame_placement(model, data, i), 1e-12), frame.name
    near(total_mass(parts), total_mass(model), 1e-12)
    return parts


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_random_trees_go_there_and_back(seed):
    check_there_and_back(random_tree(seed))


@pytest.mark.parametrize('name', ['gen3_6dof', 'gen3_7dof', 'hand'])
@pytest.mark.parametrize('root_joint', ['fixed', 'planar', 'floating'])
def test_shipped_robots_go_there_and_back(name, root_joint):
    model = load_urdf(URDFS / f'{name}.urdf', root_joint=root_joint)
    again = check_there_and_back(model)
    assert again.name == model.name
    if root_joint == 'planar':
        return
    assert again.joint_names == model.joint_names
    for field in ('lower_position_limit', 'upper_position_limit', 'effort_limit', 'armature',
                  'joint_damping', 'joint_friction', 'actuated', 'gravity'):  # fmt: skip
        np.testing.assert_array_equal(getattr(again, field), getattr(model, field), field)


BODY_OF_ALL = Inertia(1.0, (0.1, 0.2, 0.3), np.diag((0.1, 0.2, 0.25)))


def single(kind, inertia=BODY_OF_ALL, **numbers):
    return ModelBuilder().add_joint('j', kind, **numbers).add_body('b', 'j', inertia)


@pytest.mark.parametrize(
    ('kind', 'numbers'),
    [
        ('revolute', {'lower': -1.0, 'effort': 3.0, 'damping': 0.1, 'friction': 0.2,
                      'armature': 0.3}),
        ('prismatic', {'upper': 0.1, 'actuated': False, 'armature': 1 / 3}),
        ('cylindrical', {'lower': (-1, -2), 'upper': (3, 4), 'effort': (5, np.inf),
                         'damping': (1, 2), 'friction': (3, 4), 'armature': (5, 6)}),
        ('planar', {'lower': (-1, -np.inf, -3), 'damping': (1, 2, 3), 'actuated': True}),
        ('spherical', {'effort': (1, 2, 3), 'damping': 0.1, 'friction': 0.2, 'armature': 0.3}),
        ('floating', {'damping': 0.5}),
    ],
)  # fmt: skip
def test_numbers_of_joints_go_there_and_back(kind, numbers):
    model = single(kind, **numbers).build()
    again = check_there_and_back(model)
    fields = ['lower_position_limit', 'upper_position_limit', 'effort_limit', 'armature',
              'joint_damping', 'joint_friction']  # fmt: skip
    for field in fields:
        np.testing.assert_array_equal(getattr(again, field), getattr(model, field), field)


@pytest.mark.parametrize(
    ('kind', 'numbers', 'why'),
    [
        ('spherical', {'damping': (1, 1, 2)}, "joint 'j' is spherical and has damping [1.0, 1.0"),
        ('spherical', {'armature': (0, 0, 2)}, 'MJCF can have one number for all'),
        ('floating', {'damping': (1, 1, 1, 2, 2, 2)}, "joint 'j' is floating and has damping"),
        ('floating', {'friction': 1.0}, 'MJCF can have none'),
        ('floating', {'armature': (0, 0, 0, 0, 0, 1)}, 'MJCF can have none'),
        ('revolute', {'lower': 1.0, 'upper': 1.0}, "model 'model': MuJoCo refuses it"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(kind, numbers, why):
    with pytest.raises(ModelError) as caught:
        to_mjcf(single(kind, **numbers).build())
    assert why in str(caught.value)


def test_bodies_that_mujoco_would_refuse_are_written():
    flat = Inertia(1.0, (0.0, 0.1, 0.0), np.diag((0.1, 0.2, 0.1 + 0.2)))
    point = Inertia.point_mass(2.0, (0.0, 0.0, 0.3))
    builder = ModelBuilder().add_joint('a', 'revolute', axis=(1, 0, 0))
    builder.add_joint('b', 'revolute', 'a', axis=(0, 1, 0)).add_body('flat', 'b', flat)
    builder.add_joint('c', 'prismatic', 'b').add_body('point', 'c', point)
    check_there_and_back(builder.build())


def test_names_that_are_taken_end_in_a_dash():
    builder = ModelBuilder().add_body('world', 'universe', BODY_OF_ALL)
    shift = SE3.from_translation((0.1, 0.0, 0.0))
    builder.add_joint('base', 'cylindrical').add_body('x', 'base', BODY_OF_ALL)
    builder.add_joint('y', 'revolute', 'x').add_body('z', 'y', BODY_OF_ALL, shift)
    builder.add_joint('base_turn', 'revolute', 'x').add_body('y', 'base_turn', BODY_OF_ALL, shift)
    builder.add_frame('eye', 'z', shift, FrameType.SENSOR)
    builder.add_frame('eye', 'z', None, FrameType.OP_FRAME)
    again = load_mjcf(to_mjcf(builder.build()))
    assert again.joint_names == ('base_slide', 'base_turn_', 'y', 'base_turn')
    names = {(frame.type, frame.name) for frame in again.frames}
    assert {(FrameType.BODY, 'y'), (FrameType.BODY, 'y_'), (FrameType.BODY, 'universe')} <= names
    assert {(FrameType.OP_FRAME, 'eye'), (FrameType.OP_FRAME, 'eye_')} <= names
    assert again.inertias[0].mass == 1.0
    assert total_mass(again) == 3.0


def test_a_motor_without_force_is_none():
    builder = single('revolute', effort=0.0).add_joint('k', 'revolute', 'j', effort=2.0)
    model = load_mjcf(to_mjcf(builder.add_body('c', 'k', BODY_OF_ALL).build()))
    assert model.actuated.tolist() == [False, True]


def test_a_mimic_joint_is_tied_to_its_leader():
    builder = single('revolute', damping=0.1)
    builder.add_joint('k', 'prismatic', 'j', damping=0.2, armature=0.3, mimic=('j', -2.0, 0.1))
    model = builder.add_body('c', 'k', BODY_OF_ALL).build()
    again = check_there_and_back(model)
    assert again.joints[2].mimic == model.joints[2].mimic
    np.testing.assert_array_equal(again.joint_damping, model.joint_damping)
    np.testing.assert_array_equal(again.armature, model.armature)


@pytest.mark.parametrize('length', [600, 1000])
def test_a_chain_that_is_too_long_is_refused(length):
    builder, parent = ModelBuilder(), 'universe'
    for i in range(length):
        builder.add_joint(f'j{i}', 'revolute', parent).add_body(f'b{i}', f'j{i}', BODY_OF_ALL)
        parent = f'b{i}'
    with pytest.raises(ModelError, match="model 'model'"):
        to_mjcf(builder.build())
