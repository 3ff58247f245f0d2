"""URDFs as others write them: what is read all the same, and what a message says to do."""

import pytest

from icir_control.collision import load_collision_shapes
from icir_control.dynamics import load_urdf
from icir_control.errors import ModelError
from icir_control.nodes.panel.shapes import shapes_of
from icir_control.simulation import World

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
)
BOX = '<geometry><box size="0.1 0.1 0.1"/></geometry>'
SHAPES = f'<visual>{BOX}</visual><collision>{BOX}</collision>'
LIMIT = '<limit lower="-1" upper="1" effort="50" velocity="2"/>'


def link(name, content=INERTIAL):
    return f'<link name="{name}">{content}</link>'


def joint(name, parent, child, content=LIMIT, kind='revolute'):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 0.3"/><axis xyz="1 0 0"/>{content}</joint>'
    )


def robot(*parts):
    return f'<robot name="other">{"".join(parts)}</robot>'


# --- XML


UNDECLARED = robot(
    link('base'),
    link('arm', INERTIAL + SHAPES),
    joint('hinge', 'base', 'arm', f'<drake:acceleration drake:value="2"/>{LIMIT}').replace(
        'velocity="2"/>', 'velocity="2" drake:jerk="9"><drake:jerk value="9"/></limit>'
    ),
    '<sensor:camera name="eye"/>',
)


def test_a_prefix_that_nothing_declares_is_no_error(tmp_path):
    model = load_urdf(UNDECLARED)
    assert model.joint_names == ('hinge',)
    assert model.effort_limit == 50.0
    world = World(UNDECLARED, joint_names=('hinge',), end_effector_frame='arm')
    assert world.model.nv == 1
    assert len(load_collision_shapes(UNDECLARED)) == 1
    assert len(shapes_of(UNDECLARED, tmp_path, model)) == 1


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        (UNDECLARED.replace('</link>', '\n</lnk>', 1), r'lnk \(line 2\)'),
        (UNDECLARED.replace('effort="50"', 'effort="50" effort="60"'), 'effort redefined'),
        (UNDECLARED.replace('</robot>', ''), 'Premature end'),
    ],
)
def test_other_errors_of_xml_are_told_in_spite_of_it(text, words):
    with pytest.raises(ModelError, match=f'not valid XML: .*{words}'):
        load_urdf(text)
    with pytest.raises(ModelError, match='is not XML'):
        World(text, joint_names=('hinge',), end_effector_frame='arm')
