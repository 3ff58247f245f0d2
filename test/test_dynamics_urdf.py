"""What the wild holds: descriptions that load, and those that end in an error of our own."""

import contextlib
import logging
import random
import resource
import subprocess
import sys

import numpy as np
import pytest
from fuzz import FUZZED
from hypothesis import given
from hypothesis import strategies as st

from icir_control.dynamics import FrameType, JointKind, load_urdf, nonlinear_effects
from icir_control.errors import InvalidValueError, ModelError
from icir_control.share import share_directory

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0" rpy="0 0 0"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="4"/>'
ORIGIN = '<origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/>'
LINKS = f'<link name="base"/><link name="arm">{INERTIAL}</link>'
JOINT = (
    '<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>'
    f'{ORIGIN}<axis xyz="0 0 2"/>{LIMIT}</joint>'
)


def robot(body=LINKS + JOINT):
    return f'<robot name="r">{body}</robot>'


def with_change(old, new):
    text = robot()
    assert old in text
    return text.replace(old, new)


def test_a_simple_robot_has_what_its_description_says():
    model = load_urdf(robot())
    assert (model.name, model.nq, model.nv, model.na) == ('r', 1, 1, 1)
    joint = model.joints[model.joint_id('hinge')]
    assert joint.kind is JointKind.REVOLUTE
    assert np.array_equal(joint.axis, (0, 0, 1))
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == (-1, 2, 4, 30)
    names = [(frame.name, frame.type) for frame in model.frames]
    assert names == [
        ('universe', FrameType.FIXED_JOINT),
        ('base', FrameType.BODY),
        ('hinge', FrameType.JOINT),
        ('arm', FrameType.BODY),
    ]
    assert model.inertias[1].mass == 2.0


def test_losses_are_read_and_are_no_part_of_the_nonlinear_effects():
    lossy = load_urdf(with_change('<axis', '<dynamics damping="0.5" friction="0.25"/><axis'))
    plain = load_urdf(robot())
    assert (lossy.joint_damping, lossy.joint_friction) == (0.5, 0.25)
    assert (plain.joint_damping, plain.joint_friction) == (0.0, 0.0)
    q, v = np.array([0.3]), np.array([2.0])
    effects = [nonlinear_effects(model, model.create_data(), q, v) for model in (lossy, plain)]
    assert np.array_equal(*effects)


BAD = {
    'not XML': ('<robot name="r"><link', 'not valid XML'),
    'nothing but text': ('<', 'not valid XML'),
    'another root': ('<mujoco/>', '<mujoco>.*<robot>'),
    'no links': ('<robot name="r"/>', 'no <link>'),
    'xacro': (
        '<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm/></robot>',
        'xacro',
    ),
    'entity': (
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>',
        'entities',
    ),
    'entity in an attribute': (
        '<!DOCTYPE robot [<!ENTITY x "1">]>' + with_change('0 0 2', '&x; 0 0'),
        'entities',
    ),
    'nameless link': (with_change('<link name="base"/>', '<link/>'), '<link>.*no name'),
    'nameless joint': (with_change(' name="hinge"', ''), '<joint>.*no name'),
    'link twice': (robot(LINKS + LINKS + JOINT), "'base' occurs twice"),
    'joint twice': (robot(LINKS + JOINT + JOINT), "'hinge' occurs twice"),
    'unknown type': (with_change('revolute', 'magnetic'), "'hinge'.*'magnetic'.*prismatic"),
    'no type': (with_change(' type="revolute"', ''), "'hinge'.*None.*prismatic"),
    'no parent': (with_change('<parent link="base"/>', ''), "'hinge' has no <parent>"),
    'no child': (with_change('<child link="arm"/>', ''), "'hinge' has no <child>"),
    'missing link': (with_change('child link="arm"', 'child link="leg"'), "'leg'.*base, arm"),
    'zero axis': (with_change('0 0 2', '0 0 0'), "'hinge' <axis>.*'0 0 0'"),
    'short axis': (with_change('0 0 2', '0 2'), "'hinge'.*'0 2'.*3 finite numbers"),
    'axis of letters': (with_change('0 0 2', 'z'), "'hinge'.*'z'.*3 finite numbers"),
    'axis not finite': (with_change('0 0 2', '0 0 nan'), "'0 0 nan'.*3 finite numbers"),
    'origin not finite': (with_change('0 0 0.5', '0 0 inf'), "'0 0 inf'.*3 finite numbers"),
    'origin twice': (with_change(ORIGIN, ORIGIN + ORIGIN), "'hinge' has 2 elements <origin>"),
    'digits in groups': (with_change('value="2"', 'value="1_0"'), "'1_0'.*a finite number"),
    'rpy of words': (with_change('0.1 0.2 0.3', 'pi 0 0'), "rpy='pi 0 0'"),
    'limits crossed': (with_change('lower="-1"', 'lower="3"'), "lower='3' and upper='2'"),
    'limit of letters': (with_change('lower="-1"', 'lower="low"'), "lower='low'.*a number"),
    'limit not a number': (with_change('upper="2"', 'upper="nan"'), "upper='nan'.*a number"),
    'negative effort': (with_change('effort="30"', 'effort="-30"'), "effort='-30'.*0 or more"),
    'negative mass': (with_change('mass value="2"', 'mass value="-2"'), "'arm'.*'-2'"),
    'no mass': (with_change('<mass value="2"/>', ''), "'arm'.*without <mass>"),
    'mass without value': (with_change('mass value="2"', 'mass kg="2"'), "'arm'.*value=None"),
    'no inertia': (robot(LINKS.split('<inertia ')[0] + '</inertial></link>' + JOINT), "'arm'"),
    'moment missing': (with_change(' iyz="0"', ''), "'arm' <inertia> has iyz=None"),
    'moment not finite': (with_change('ixx="0.02"', 'ixx="nan"'), "'arm'.*ixx='nan'"),
    'negative moment': (with_change('ixx="0.02"', 'ixx="-0.02"'), "'arm'.*ixx='-0.02'"),
    'impossible inertia': (with_change('izz="0.04"', 'izz="0.06"'), "'hinge'.*arm.*0.06"),
    'moving link without mass': (with_change(INERTIAL, ''), "'hinge'.*arm.*mass 0 kg"),
    'nothing moves': (with_change('revolute', 'fixed'), 'no moving joint'),
    'two roots': (robot(LINKS + JOINT + '<link name="other"/>'), 'base, other are all roots'),
    'two parents': (
        robot(LINKS + JOINT + JOINT.replace('hinge', 'second')),
        "'arm' is the child of joints 'hinge' and 'second'",
    ),
    'all in a cycle': (
        robot(LINKS + JOINT + JOINT.replace('"hinge"', '"back"').replace('link="arm"', 'link="x"')
              .replace('link="base"', 'link="arm"').replace('link="x"', 'link="base"')),
        'cycle',
    ),
    'a cycle apart': (
        robot(LINKS + JOINT + '<link name="a"/><link name="b"/>'
              + ''.join(f'<joint name="{p}{c}" type="fixed"><parent link="{p}"/>'
                        f'<child link="{c}"/></joint>' for p, c in ('ab', 'ba'))),
        'a, b form a cycle',
    ),
    'own parent': (with_change('parent link="base"', 'parent link="arm"'), 'arm form a cycle'),
    'planar axis': (with_change('revolute', 'planar').replace('0 0 2', '1 0 0'), "'1 0 0'.*only"),
    'mimics nobody': (with_change(LIMIT, LIMIT + '<mimic joint="ghost"/>'), "'hinge'.*'ghost'"),
    'mimics itself': (with_change(LIMIT, LIMIT + '<mimic joint="hinge"/>'), "'hinge'.*'hinge'"),
    'mimic factor': (
        robot(LINKS + '<link name="tip"/>' + JOINT + '<joint name="tip" type="fixed">'
              '<parent link="arm"/><child link="tip"/></joint>').replace(
            LIMIT, LIMIT + '<mimic joint="tip" multiplier="twice"/>'),
        "multiplier='twice'",
    ),
    'sensor nowhere': (
        robot(LINKS + JOINT + '<sensor name="eye"><parent link="head"/></sensor>'),
        "'eye'.*'head'.*base, arm",
    ),
    'sensor alone': (robot(LINKS + JOINT + '<sensor name="eye"/>'), "'eye'.*<parent>"),
}  # fmt: skip


@pytest.mark.parametrize('case', BAD)
def test_a_bad_description_is_refused_with_its_element_and_value(case):
    text, message = BAD[case]
    with pytest.raises(ModelError, match=f'(?s){message}'):
        load_urdf(text)


def test_a_wrong_path_is_named(tmp_path):
    for path in (tmp_path / 'none.urdf', str(tmp_path / 'none.urdf')):
        with pytest.raises(ModelError, match=r'none\.urdf.*does not exist'):
            load_urdf(path)
    with pytest.raises(ModelError, match='not a regular file'):
        load_urdf(tmp_path)
    with pytest.raises(ModelError, match='not an empty string'):
        load_urdf('')
    with pytest.raises(ModelError, match='not int'):
        load_urdf(3)
    (tmp_path / 'latin.urdf').write_bytes(robot().replace('"r"', '"r\xe9"').encode('latin-1'))
    with pytest.raises(ModelError, match=r'latin\.urdf is not valid XML'):
        load_urdf(tmp_path / 'latin.urdf')
    (tmp_path / 'noise.urdf').write_bytes(random.Random(0).randbytes(1000))
    with pytest.raises(ModelError, match=r'noise\.urdf is not valid XML'):
        load_urdf(tmp_path / 'noise.urdf')
    with pytest.raises(ModelError, match='does not exist'):
        load_urdf('null\0byte.urdf')


def test_an_unknown_root_joint_is_refused():
    with pytest.raises(InvalidValueError, match=r"root_joint = 'ball'.*fixed, planar, floating"):
        load_urdf(robot(), root_joint='ball')


def test_xml_text_may_have_a_declaration_a_comment_and_a_default_namespace():
    text = '\ufeff<?xml version="1.0" encoding="utf-8"?><!-- note -->' + robot()
    assert load_urdf(text).nv == 1
    assert load_urdf(robot().replace('name="r"', 'name="r" xmlns="http://ros.org"')).nv == 1


def test_packages_are_found(tmp_path, monkeypatch):
    (tmp_path / 'bot_description').mkdir()
    (tmp_path / 'bot_description/bot.urdf').write_text(robot())
    uri = 'package://bot_description/bot.urdf'
    assert load_urdf(uri, package_dirs=[tmp_path]).name == 'r'
    assert load_urdf(uri, package_dirs=[tmp_path / 'bot_description']).name == 'r'
    assert load_urdf(uri, package_dirs=tmp_path).name == 'r'
    with pytest.raises(ModelError, match="none of the folders of package 'bot_description'"):
        load_urdf(uri, package_dirs=[tmp_path / 'elsewhere'])
    with pytest.raises(ModelError, match='package://<package>/<path'):
        load_urdf('package://bot_description')

    prefix = tmp_path / 'install'
    (prefix / 'share').mkdir(parents=True)
    (tmp_path / 'bot_description').rename(prefix / 'share/bot_description')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{prefix}')
    assert load_urdf(uri).name == 'r'

    ours = load_urdf('package://icir_control/urdf/gen3_6dof.urdf')
    assert ours.nv == load_urdf(share_directory() / 'urdf/gen3_6dof.urdf').nv == 6


def test_meshes_need_not_exist():
    mesh = '<visual><geometry><mesh filename="package://none/a.dae"/></geometry></visual>'
    assert (
        load_urdf(with_change('<link name="base"/>', f'<link name="base">{mesh}</link>')).nv == 1
    )


def test_what_is_fixed_to_a_link_moves_with_it():
    fixed = (
        '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/>'
        '<origin xyz="0 0 1"/></joint>'
    )
    tip = '<link name="tip"/>' + fixed.format('mount', 'arm', 'tip')
    load = f'<link name="load">{INERTIAL}</link>' + fixed.format('hold', 'tip', 'load')
    model = load_urdf(robot(LINKS + JOINT + tip + load))
    assert model.nv == 1
    assert model.inertias[1].mass == 4.0
    assert np.allclose(model.inertias[1].com, (0.1, 0, 1.0))
    frame = model.frames[model.frame_id('load')]
    assert (frame.parent, frame.type) == (1, FrameType.BODY)
    assert np.array_equal(frame.placement.translation, (0, 0, 2))
    assert model.frames[model.frame_id('hold')].type is FrameType.FIXED_JOINT


def test_names_may_be_shared_between_joints_and_links():
    shared = with_change('"hinge"', '"base"')
    model = load_urdf(shared)
    arm = model.frames[model.frame_id('arm')]
    assert arm.parent == 1
    assert model.frame_id('base') == model.frame_id('base', FrameType.BODY) == 1
    assert model.frame_id('base', FrameType.JOINT) == 2


def test_limits_that_stand_for_none_are_no_range_to_draw_from():
    """Anchor: a million metres of a base's slide made every inertia on it look like none."""
    text = with_change('lower="-1" upper="2"', 'lower="-99999" upper="99999"')
    model, rng = load_urdf(text), np.random.default_rng(0)
    assert model.upper_position_limit.max() > 9000.0
    q = np.array([model.random_configuration(rng) for _ in range(50)])
    assert np.abs(q).max() <= np.pi


@pytest.mark.parametrize('limit', ['', '<limit lower="0" upper="0" effort="0" velocity="0"/>'])
def test_missing_limits_mean_none(caplog, limit):
    """Some exporters write 0 for each."""
    with caplog.at_level(logging.WARNING):
        joint = load_urdf(with_change(LIMIT, limit), default_effort=np.inf).joints[1]
    assert "'hinge' has no position limits" in caplog.text
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == (
        -np.inf, np.inf, np.inf, np.inf,
    )  # fmt: skip
    joint = load_urdf(with_change('lower="-1"', '')).joints[1]
    assert (joint.lower, joint.upper) == (0, 2)
    joint = load_urdf(with_change('upper="2"', 'upper="inf"')).joints[1]
    assert joint.upper == np.inf


def test_a_continuous_joint_has_one_unlimited_angle():
    model = load_urdf(with_change('revolute', 'continuous'))
    assert (model.nq, model.nv) == (1, 1)
    assert model.lower_position_limit == -np.inf
    assert model.effort_limit == 30


def test_a_mimic_joint_may_be_a_joint_without_a_motor(caplog):
    finger = (
        f'<link name="finger">{INERTIAL}</link>'
        + JOINT.replace('"hinge"', '"follower"').replace('"arm"', '"finger"')
    ).replace(LIMIT, LIMIT + '<mimic joint="hinge" multiplier="-1"/>')
    with caplog.at_level(logging.WARNING):
        model = load_urdf(robot(LINKS + JOINT + finger), mimic=False)
    assert "'follower' mimics 'hinge'" in caplog.text
    assert (model.nv, model.na) == (2, 1)
    assert model.actuated.tolist() == [True, False]


@pytest.mark.parametrize(('kind', 'nq', 'nv'), [('planar', 3, 3), ('floating', 7, 6)])
def test_planar_and_floating_joints_have_no_motor(kind, nq, nv):
    heavy = robot().replace('<link name="base"/>', f'<link name="base">{INERTIAL}</link>')
    model = load_urdf(heavy, root_joint=kind)
    assert model.joint_names == ('root_joint', 'hinge')
    assert (model.nq, model.nv, model.na) == (nq + 1, nv + 1, 1)
    model = load_urdf(with_change('revolute', kind))
    assert model.joints[1].kind is JointKind(kind)
    assert (model.nq, model.nv, model.na) == (nq, nv, 0)


def test_sensors_are_frames():
    sensors = (
        f'<sensor name="camera"><parent link="arm"/>{ORIGIN}</sensor>'
        '<sensor name="force"><parent joint="hinge"/></sensor>'
    )
    model = load_urdf(robot(LINKS + JOINT + sensors))
    camera, force = (model.frames[model.frame_id(name)] for name in ('camera', 'force'))
    assert camera.type is force.type is FrameType.SENSOR
    assert (camera.parent, force.parent) == (1, 1)
    assert np.array_equal(camera.placement.translation, (0, 0, 0.5))
    turned = load_urdf(robot()).joints[1].placement.rotation
    assert np.allclose(camera.placement.rotation, turned, atol=1e-15)


def test_joints_come_depth_first_in_the_order_of_the_file():
    links, joints = LINKS, ''
    for name, parent in (('b', 'arm'), ('c', 'arm'), ('d', 'b'), ('a', 'base')):
        links += f'<link name="{name}">{INERTIAL}</link>'
        joint = JOINT.replace('"arm"', f'"{name}"').replace('"base"', f'"{parent}"')
        joints += joint.replace('hinge', f'to_{name}')
    model = load_urdf(robot(links + joints + JOINT))
    assert model.joint_names == ('to_a', 'hinge', 'to_b', 'to_d', 'to_c')


def many_joints(count):
    links = ''.join(f'<link name="l{i}">{INERTIAL}</link>' for i in range(count + 1))
    joints = ''.join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i}"/>'
        f'<child link="l{i + 1}"/></joint>'
        for i in range(count)
    )
    return robot(links + joints)


def laughter(depth):
    entities = ''.join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, depth))
    return f'<!DOCTYPE robot [<!ENTITY a0 "ha">{entities}]><robot name="&a{depth - 1};"/>'


ATTACKS = {
    'large file': lambda: '<robot name="r">' + ' ' * 100_000_000 + '</robot>',
    'deep file': lambda: '<robot name="r">' + '<a>' * 1_000_000,
    'billion laughs': lambda: laughter(12),
    'many joints': lambda: many_joints(5_000),
}


@pytest.mark.slow
@pytest.mark.parametrize('attack', ATTACKS)
def test_a_hostile_file_ends_in_an_error(attack, tmp_path):
    path = tmp_path / 'hostile.urdf'
    path.write_text(ATTACKS[attack]())
    script = (
        'import sys\nfrom icir_control.dynamics import load_urdf\n'
        'from icir_control.errors import ModelError\n'
        'try:\n    load_urdf(sys.argv[1])\nexcept ModelError as error:\n'
        '    print("refused:", str(error)[:300])\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', script, str(path)],
        capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)),
    )  # fmt: skip
    assert done.stdout.startswith('refused:'), done.stderr


@FUZZED
@given(st.integers(0, len(robot(LINKS + JOINT)) - 1), st.integers(0, 40), st.text(max_size=6))
def test_no_other_error_leaks(start, length, replacement):
    text = robot()
    with contextlib.suppress(ModelError):
        load_urdf(text[:start] + replacement + text[start + length :])


@pytest.mark.slow
def test_a_urdf_is_read_without_the_mesh_library_which_works_afterwards() -> None:
    code = """
import sys
from icir_control.dynamics import load_urdf
from icir_control.share import share_directory
path = share_directory() / 'urdf' / 'gen3_6dof.urdf'
assert load_urdf(path).nq == 6
assert not {'trimesh.base', 'networkx', 'scipy.spatial'} & set(sys.modules)
import yourdfpy
assert yourdfpy.URDF.load(str(path), load_meshes=False).scene.graph.nodes
import trimesh
assert trimesh.creation.box().volume == 1.0
"""
    subprocess.run([sys.executable, '-c', code], check=True, timeout=1200)


@pytest.mark.parametrize('encoding', ['ISO-8859-1', 'utf-16', 'utf-8'])
def test_text_is_text_whatever_encoding_it_declares(encoding):
    text = with_change('"arm"', '"gr\u00fcn"')
    model = load_urdf(f"<?xml version='1.0' encoding='{encoding}'?>{text}")
    assert model.frames[-1].name == 'gr\u00fcn'


@pytest.mark.parametrize('value', [2.5, -1.5, float('nan'), 'far'])
def test_a_joint_is_locked_within_its_limits(value):
    second = JOINT.replace('hinge', 'second').replace('"arm"', '"tool"').replace('base', 'arm')
    text = robot(LINKS + f'<link name="tool">{INERTIAL}</link>' + JOINT + second)
    assert load_urdf(text, locked={'second': 1}).nv == 1
    with pytest.raises(InvalidValueError, match="locked joint 'second'"):
        load_urdf(text, locked={'second': value})
