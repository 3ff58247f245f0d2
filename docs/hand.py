"""The 4-finger hand of Pinocchio's exercise "Snap your fingers": `python docs/hand.py` writes it.

A tree of 13 revolute joints, all shapes capsules of 10 mm radius. There are two variants:

- `source_model` has the exercise's masses, each at its joint, and its moments of inertia, which
  are mass^2 (9 kg m^2 for the wrist: no body of this size has that);
- `urdf/hand.urdf` has the mass of a human hand with its wrist, 0.6 kg, shared out by volume over
  solid capsules, and limits of position, speed and torque that a hand may have.
"""

from math import pi
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icir_control.collision import Capsule, CollisionShape
from icir_control.dynamics import Model, ModelBuilder
from icir_control.spatial import SE3, Inertia, exp3

URDF = Path(__file__).resolve().parent.parent / 'urdf' / 'hand.urdf'
RADIUS = 0.01  # m
MASS = 0.6  # kg
HEIGHT = 0.25  # m, of the wrist above the floor
EFFORT, SPEED = 0.5, 20.0  # N m, rad/s; of the wrist 4 times the torque


class HandJoint(NamedTuple):
    """A joint: its parent, its place [m] (and turn) in the parent joint's frame."""

    name: str
    parent: str
    xyz: tuple[float, float, float]
    mass: float  # in the exercise [kg]
    limits: tuple[float, float] = (-0.3, 2.0)
    axis: str = 'y'
    turn: tuple[tuple[str, float], ...] = ()


class HandCapsule(NamedTuple):
    """A capsule: the joint that carries it, the length of its segment along z, its placement."""

    name: str
    joint: str
    length: float
    xyz: tuple[float, float, float]
    turn: tuple[tuple[str, float], ...] = ()


ACROSS, ALONG = (('x', 90.0),), (('y', 90.0),)
JOINTS = (
    HandJoint('wrist', 'universe', (0.0, 0.0, 0.0), 3.0, (-1.2, 1.2)),
    HandJoint('palm', 'wrist', (0.05, 0.0, 0.0), 2.0, (-0.3, 0.8)),
    HandJoint('finger11', 'palm', (0.02, 0.025, 0.0), 0.5),
    HandJoint('finger12', 'finger11', (0.04, 0.0, 0.0), 0.5, (-0.2, 1.8)),
    HandJoint('finger13', 'finger12', (0.02, 0.0, 0.0), 0.3, (-0.2, 1.8)),
    HandJoint('finger21', 'palm', (0.02, 0.0, 0.0), 0.5),
    HandJoint('finger22', 'finger21', (0.04, 0.0, 0.0), 0.5, (-0.2, 1.8)),
    HandJoint('finger23', 'finger22', (0.03, 0.0, 0.0), 0.3, (-0.2, 1.8)),
    HandJoint('finger31', 'palm', (0.02, -0.025, 0.0), 0.5),
    HandJoint('finger32', 'finger31', (0.04, 0.0, 0.0), 0.5, (-0.2, 1.8)),
    HandJoint('finger33', 'finger32', (0.02, 0.0, 0.0), 0.3, (-0.2, 1.8)),
    HandJoint('thumb1', 'wrist', (0.01, -0.04, 0.0), 0.5, (-0.5, 2.0)),
    HandJoint(
        'thumb2', 'thumb1', (0.03, -0.018, 0.0), 0.4, (-3.0, 1.0), 'z', (('z', 60.0), ('x', 180.0))
    ),
)
CAPSULES = (
    HandCapsule('wpalmb', 'wrist', 0.05, (0.0, 0.0, 0.0), ACROSS),
    HandCapsule('wpalmt', 'wrist', 0.05, (0.03, 0.0, 0.0), ACROSS),
    HandCapsule('wpalml', 'wrist', 0.03, (0.015, -0.025, 0.0), ALONG),
    HandCapsule('wpalmr', 'wrist', 0.03, (0.015, 0.025, 0.0), ALONG),
    HandCapsule('palm2', 'palm', 0.05, (0.0, 0.0, 0.0), ACROSS),
    HandCapsule('finger11', 'finger11', 0.02, (0.01, 0.0, 0.0), ALONG),
    HandCapsule('finger12', 'finger12', 0.02, (0.01, 0.0, 0.0), ALONG),
    HandCapsule('finger13', 'finger13', 0.0, (0.02, 0.0, 0.0)),
    HandCapsule('finger21', 'finger21', 0.02, (0.01, 0.0, 0.0), ALONG),
    HandCapsule('finger22', 'finger22', 0.02, (0.01, 0.0, 0.0), ALONG),
    HandCapsule('finger23', 'finger23', 0.0, (0.01, 0.0, 0.0)),
    HandCapsule('finger31', 'finger31', 0.02, (0.01, 0.0, 0.0), ALONG),
    HandCapsule('finger32', 'finger32', 0.02, (0.01, 0.0, 0.0), ALONG),
    HandCapsule('finger33', 'finger33', 0.0, (0.02, 0.0, 0.0)),
    HandCapsule('thumb1', 'thumb1', 0.02, (0.01, -0.01, 0.0), (('z', 60.0), ('x', 90.0))),
    HandCapsule('thumb2', 'thumb2', 0.02, (-0.007, 0.008, -0.005), (('x', 60.0),)),
)
SEED_PAIRS = tuple(('wpalmt', tip) for tip in ('finger13', 'finger23', 'finger33', 'thumb2'))
"""The exercise's pairs: the edge of the palm against the three finger tips and the thumb."""

TIPS = {
    'fingertip1': 'finger13',
    'fingertip2': 'finger23',
    'fingertip3': 'finger33',
    'thumbtip': 'thumb2',
}
"""The link that ends in each tip."""

_AXES = dict(zip('xyz', np.eye(3), strict=True))


def placement(part: HandJoint | HandCapsule) -> SE3:
    """Return where a joint or capsule lies in the frame that carries it."""
    place = SE3.from_translation(part.xyz)
    for axis, degrees in part.turn:
        place = place @ SE3(exp3(np.deg2rad(degrees) * _AXES[axis]))
    return place


def capsules() -> tuple[CollisionShape, ...]:
    """Return the shapes, on the joints' frames."""
    return tuple(
        CollisionShape(part.name, part.joint, Capsule(RADIUS, part.length), placement(part))
        for part in CAPSULES
    )


def source_model() -> Model:
    """Return the hand with the exercise's masses and inertias, without limits."""
    builder = ModelBuilder('hand of the exercise')
    for joint in JOINTS:
        builder.add_joint(
            joint.name, 'revolute', joint.parent, placement(joint), axis=_AXES[joint.axis]
        )
        inertia = Inertia(joint.mass, np.zeros(3), joint.mass**2 * np.eye(3))
        builder.add_body(f'{joint.name}_link', joint.name, inertia)
    return builder.build()


def solid(part: HandCapsule) -> Inertia:
    """Return the inertia of a solid capsule of density 1, in its joint's frame."""
    r, l = RADIUS, part.length
    cylinder, ball = pi * r**2 * l, 4.0 / 3.0 * pi * r**3
    along = cylinder * r**2 / 2.0 + ball * 2.0 / 5.0 * r**2
    # The halves of the ball lie at the ends: their centres of mass are 3/8 r beyond.
    across = cylinder * (l**2 / 12.0 + r**2 / 4.0)
    across += ball * (2.0 / 5.0 * r**2 + l**2 / 4.0 + 3.0 / 8.0 * l * r)
    return placement(part).act(
        Inertia(cylinder + ball, np.zeros(3), np.diag([across, across, along]))
    )


def urdf() -> str:
    """Return the text of `urdf/hand.urdf`."""
    inertias = {joint.name: Inertia.zero() for joint in JOINTS}
    for part in CAPSULES:
        inertias[part.joint] += solid(part)
    density = MASS / sum(inertia.mass for inertia in inertias.values())
    lines = [
        '<?xml version="1.0"?>',
        '<!-- Written by docs/hand.py. -->',
        '<robot name="four_finger_hand">',
        '  <link name="world"/>',
        '  <joint name="stand" type="fixed">',
        '    <parent link="world"/>',
        '    <child link="forearm"/>',
        f'    <origin xyz="0 0 {HEIGHT:g}"/>',
        '  </joint>',
        '  <link name="forearm"/>',
    ]
    for joint in JOINTS:
        inertia = inertias[joint.name]
        lines += _link(
            joint.name, inertia.mass * density, inertia.com, inertia.rotational * density
        )
    for joint in JOINTS:
        lines += _joint(joint)
    for tip, link in TIPS.items():
        lines += _tip(tip, link)
    return '\n'.join([*lines, '</robot>', ''])


def _numbers(values: object) -> str:
    return ' '.join(f'{value:.9g}' for value in np.ravel(values) + 0.0)


def _origin(place: SE3) -> str:
    # R = Rz(yaw) Ry(pitch) Rx(roll)
    R = place.rotation
    pitch = np.arcsin(np.clip(-R[2, 0], -1.0, 1.0))
    roll, yaw = np.arctan2(R[2, 1], R[2, 2]), np.arctan2(R[1, 0], R[0, 0])
    rpy = np.round([roll, pitch, yaw], 12)
    return f'<origin xyz="{_numbers(place.translation)}" rpy="{_numbers(rpy)}"/>'


def _link(name: str, mass: float, com: np.ndarray, moments: np.ndarray) -> list[str]:
    places = (
        ('ixx', 0, 0),
        ('ixy', 0, 1),
        ('ixz', 0, 2),
        ('iyy', 1, 1),
        ('iyz', 1, 2),
        ('izz', 2, 2),
    )
    moments = np.round(moments, 15) + 0.0
    values = ' '.join(f'{key}="{moments[i, j]:.9g}"' for key, i, j in places)
    lines = [
        f'  <link name="{name}">',
        '    <inertial>',
        f'      <origin xyz="{_numbers(np.round(com, 12))}"/>',
        f'      <mass value="{mass:.9g}"/>',
        f'      <inertia {values}/>',
        '    </inertial>',
    ]
    for part in CAPSULES:
        if part.joint != name:
            continue
        shape = f'<capsule radius="{RADIUS:g}" length="{part.length:g}"/>'
        if not part.length:
            shape = f'<sphere radius="{RADIUS:g}"/>'
        lines += [
            f'    <collision name="{part.name}">',
            f'      {_origin(placement(part))}',
            f'      <geometry>{shape}</geometry>',
            '    </collision>',
        ]
    return [*lines, '  </link>']


def _joint(joint: HandJoint) -> list[str]:
    parent = 'forearm' if joint.parent == 'universe' else joint.parent
    lower, upper = joint.limits
    effort = 4.0 * EFFORT if joint.name == 'wrist' else EFFORT
    return [
        f'  <joint name="{joint.name}" type="revolute">',
        f'    <parent link="{parent}"/>',
        f'    <child link="{joint.name}"/>',
        f'    {_origin(placement(joint))}',
        f'    <axis xyz="{_numbers(_AXES[joint.axis])}"/>',
        f'    <limit lower="{lower:g}" upper="{upper:g}" effort="{effort:g}" '
        f'velocity="{SPEED:g}"/>',
        '  </joint>',
    ]


def _tip(name: str, link: str) -> list[str]:
    """Return a link without mass at the far end of the capsule of a link."""
    (part,) = (one for one in CAPSULES if one.name == link)
    ends = [placement(part).act([0.0, 0.0, side * part.length / 2.0]) for side in (-1.0, 1.0)]
    end = np.round(max(ends, key=np.linalg.norm), 12)
    return [
        f'  <link name="{name}"/>',
        f'  <joint name="{name}" type="fixed">',
        f'    <parent link="{link}"/>',
        f'    <child link="{name}"/>',
        f'    <origin xyz="{_numbers(end)}"/>',
        '  </joint>',
    ]


if __name__ == '__main__':
    URDF.write_text(urdf(), encoding='utf-8')
    print(f'wrote {URDF}')
