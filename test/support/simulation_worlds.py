"""Worlds and small robots that the simulation's tests share."""

import numpy as np

from icir_control.share import share_directory
from icir_control.simulation import World

URDF = share_directory() / 'urdf'
JOINTS = tuple(f'joint_{number}' for number in range(1, 7))
ZERO = np.zeros(6)
HOME = np.deg2rad([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
READY = np.deg2rad([45.0, 45.0, 90.0, 30.0, 50.0, 0.0])
HOME_7 = np.deg2rad([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])


def gen3(configuration=HOME, **options):
    return World(
        URDF / 'gen3_6dof.urdf',
        joint_names=options.pop('joint_names', JOINTS),
        end_effector_frame='end_effector_link',
        initial_configuration=configuration,
        **options,
    )


def gen3_7(configuration=HOME_7, **options):
    return World(
        URDF / 'gen3_7dof.urdf',
        joint_names=[f'joint_{number}' for number in range(1, 8)],
        end_effector_frame='end_effector_link',
        initial_configuration=configuration,
        **options,
    )


def state(world):
    """Return position, velocity and effort in new arrays."""
    arrays = [np.full(len(world.joint_names), np.nan) for _ in range(3)]
    world.read(*arrays)
    return arrays


def link(name, mass=1.0, com='0 0 0', inertia=(0.1, 0.1, 0.1), shape=''):
    ixx, iyy, izz = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial>{shape}</link>'
    )


def joint(name, kind, parent, child, xyz='0 0 0', axis='0 0 1', inside=''):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>{inside}</joint>'
    )


def robot(*parts):
    return '<robot name="small"><link name="base"/>' + ''.join(parts) + '</robot>'


# Two rods that swing in the x-z plane about y: lengths 0.5 and 0.4 m, hanging down at zero.
LENGTHS = (0.5, 0.4)
MASSES = (1.2, 0.7)
INERTIAS = (0.03, 0.01)
DOUBLE_PENDULUM = robot(
    link('upper', MASSES[0], '0 0 -0.25', (INERTIAS[0],) * 3),
    link('lower', MASSES[1], '0 0 -0.2', (INERTIAS[1],) * 3),
    '<link name="tip"/>',
    joint('swing', 'continuous', 'base', 'upper', '0 0 2', '0 1 0'),
    joint('elbow', 'continuous', 'upper', 'lower', '0 0 -0.5', '0 1 0'),
    joint('end', 'fixed', 'lower', 'tip', '0 0 -0.4'),
)

# One wheel about a vertical axis: gravity does nothing to it.
WHEEL_INERTIA = 0.2
WHEEL = robot(
    link('wheel', 2.0, inertia=(0.1, 0.1, WHEEL_INERTIA)),
    joint('spin', 'continuous', 'base', 'wheel', '0 0 1'),
)

# A lift with a limited range that carries two arms: prismatic, branching, with URDF friction.
TREE = robot(
    link('lift', 3.0),
    link('left', 1.0, '0.3 0 0'),
    link('right', 1.5, '-0.2 0 0.1'),
    joint(
        'rise',
        'prismatic',
        'base',
        'lift',
        '0 0 1',
        inside='<limit lower="0.1" upper="0.8" effort="100" velocity="1"/>'
        '<dynamics damping="4" friction="2"/>',
    ),
    joint('left_arm', 'continuous', 'lift', 'left', '0.1 0 0', '0 1 0'),
    joint(
        'right_arm',
        'revolute',
        'lift',
        'right',
        '-0.1 0 0',
        '0 1 0',
        '<limit lower="-2" upper="1" effort="20" velocity="3"/>',
    ),
)


def double_pendulum(**options):
    return World(
        DOUBLE_PENDULUM, joint_names=('swing', 'elbow'), end_effector_frame='tip', **options
    )


def wheel(**options):
    return World(WHEEL, joint_names=('spin',), end_effector_frame='wheel', **options)


def tree(**options):
    names = options.pop('joint_names', ('rise', 'left_arm', 'right_arm'))
    return World(TREE, joint_names=names, end_effector_frame='right', **options)
