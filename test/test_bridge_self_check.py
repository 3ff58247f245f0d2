"""The bridge compares the dynamics model with MuJoCo's before anything moves."""

import re

import pytest

from icir_control.dynamics import load_urdf
from icir_control.errors import ModelMismatchError
from icir_control.nodes.bridge.config import check_model
from icir_control.share import share_directory
from icir_control.simulation import World

URDF = (share_directory() / 'urdf' / 'gen3_6dof.urdf').read_text()


def world_of(text):
    model = load_urdf(text)
    return World(text, joint_names=model.joint_names, end_effector_frame='end_effector_link')


def changed(element, pattern, replacement):
    """Return the URDF with something replaced, first found behind an element's name."""
    head, name, tail = URDF.partition(f'name="{element}"')
    changed_tail, count = re.subn(pattern, replacement, tail, count=1)
    assert count == 1
    return head + name + changed_tail


@pytest.mark.parametrize('arm', ['gen3_6dof', 'gen3_7dof'])
def test_the_shipped_arms_agree(arm):
    text = (share_directory() / 'urdf' / f'{arm}.urdf').read_text()
    check_model(load_urdf(text), world_of(text))


@pytest.mark.parametrize('quantity', ['damping', 'friction'])
def test_losses_in_the_joints_agree_or_are_refused(quantity):
    text = changed('joint_4', '<limit', f'<dynamics {quantity}="0.1"/><limit')
    check_model(load_urdf(text), world_of(text))
    with pytest.raises(ModelMismatchError, match=f"{quantity} at 'joint_4'"):
        check_model(load_urdf(URDF), world_of(text))


@pytest.mark.parametrize(
    ('text', 'link'),
    [
        (changed('end_effector', r'rpy="3.14\d*', 'rpy="3.1'), 'end_effector_link'),
        (changed('joint_1', r'xyz="0 0 0.15643"', 'xyz="0 0.001 0.15643"'), 'shoulder_link'),
    ],
)
def test_a_turned_tool_and_a_base_elsewhere_are_refused(text, link):
    """No mass matrix, weight or Jacobian tells."""
    with pytest.raises(ModelMismatchError, match=f"placement at '{link}'"):
        check_model(load_urdf(URDF), world_of(text))


@pytest.mark.parametrize(
    ('text', 'quantity', 'joint'),
    [
        (changed('bracelet_link', 'mass value="0.5"', 'mass value="0.5001"'), 'mass matrix', None),
        (changed('joint_4', 'effort="9"', 'effort="12"'), 'effort limit', 'joint_4'),
        (
            changed('end_effector', r'xyz="0 0 -0.061525"', 'xyz="0 0.001 -0.061525"'),
            'end-effector Jacobian',
            None,
        ),
    ],
)
def test_a_difference_is_refused_by_quantity_and_joint(text, quantity, joint):
    model = load_urdf(URDF)
    with pytest.raises(ModelMismatchError) as refusal:
        check_model(model, world_of(text))
    assert quantity in refusal.value.quantity
    assert refusal.value.joint in model.joint_names
    assert joint in (None, refusal.value.joint)
    ours, theirs = map(float, re.findall(r'(?:is|and) (-?[\d.e+-]+) in', str(refusal.value)))
    assert ours != theirs
