"""A robot far from the world's origin moves as one that stands in it: to the last digits."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from agreement import assert_equal

from icir_control import dynamics as icir
from icir_control.share import share_directory
from icir_control.spatial import SE3, Inertia

GEN3 = share_directory() / 'urdf' / 'gen3_6dof.urdf'
HAND = Path(__file__).resolve().parent / 'data' / 'arm_with_hand.urdf'
DISTANCES = [1e3, 1e6]
DIRECTION = np.array((0.6, -0.64, 0.48))
EXACT = 1e-14
ALIGNED, WORLD = icir.ReferenceFrame.LOCAL_WORLD_ALIGNED, icir.ReferenceFrame.WORLD


def on_rails(mimic):
    """A carriage on two slides that carries an arm: neither of its joints is the one to turn."""
    rng = np.random.default_rng(3)
    builder = icir.ModelBuilder('on_rails')
    builder.add_joint('x', 'prismatic', axis=(1, 0, 0)).add_body('rail', 'x', Inertia.random(rng))
    builder.add_joint('y', 'prismatic', 'rail', SE3.from_translation((1, 2, 3)), axis=(0, 1, 0))
    builder.add_body('carriage', 'y', Inertia.random(rng))
    for i, parent in enumerate(('carriage', 'link_0', 'link_1')):
        follows = ('turn_2', -0.7, 0.2) if mimic and i == 0 else None
        place = SE3.random(rng)
        builder.add_joint(f'turn_{i}', 'revolute', parent, place, axis=(1, i, 2), mimic=follows)
        builder.add_body(f'link_{i}', f'turn_{i}', Inertia.random(rng))
    return builder.build()


def moved_base(distance, mimic):
    """The arm on a far foundation, built with its first joint there."""
    rng = np.random.default_rng(4)
    builder = icir.ModelBuilder('fixed')
    builder.add_frame('ground', 'universe', SE3.from_translation(distance * DIRECTION))
    parent = 'ground'
    for i in range(5):
        place = SE3.identity() if i == 0 else SE3.random(rng)
        axis, follows = rng.normal(size=3), ('turn_0', 2.0, 0.3) if mimic and i == 3 else None
        builder.add_joint(f'turn_{i}', 'revolute', parent, place, axis=axis, mimic=follows)
        builder.add_body(f'link_{i}', f'turn_{i}', Inertia.random(rng))
        parent = f'link_{i}'
    return builder.build()


def near_and_far(base, distance, mimic):
    """A model, the same one far away, and how far its first coordinates are moved."""
    if base == 'fixed':
        return moved_base(0.0, mimic), moved_base(distance, mimic), []
    shift = distance * (DIRECTION if base == 'floating' else DIRECTION[:2])
    if base == 'rails':
        return on_rails(mimic), on_rails(mimic), shift
    model = icir.load_urdf(HAND if mimic else GEN3, root_joint=base)
    return model, model, shift


@pytest.mark.parametrize('mimic', [False, True], ids=['', 'mimic'])
@pytest.mark.parametrize('distance', DISTANCES)
@pytest.mark.parametrize('base', ['floating', 'planar', 'rails', 'fixed'])
def test_no_digit_is_lost_far_from_the_origin(base, distance, mimic):
    near, far, shift = near_and_far(base, distance, mimic)
    assert (near.coupling.shape[0] > near.nv) == mimic
    rng = np.random.default_rng(0)
    at_origin, away = near.create_data(), far.create_data()
    tip = near.nframes - 1
    for _ in range(20):
        q, (v, a) = near.random_configuration(rng), rng.normal(size=(2, near.nv))
        q[: len(shift)] = 0.0
        moved = q.copy()
        moved[: len(shift)] = shift
        icir.compute_all_terms(near, at_origin, q, v)
        icir.compute_all_terms(far, away, moved, v)
        for name in ('M', 'nle', 'g'):
            assert_equal(getattr(away, name), getattr(at_origin, name), EXACT)
        for ask in (icir.frame_velocity, icir.frame_classical_acceleration):
            for reference in (icir.ReferenceFrame.LOCAL, ALIGNED):
                one = ask(near, at_origin, tip, reference).vector
                assert_equal(ask(far, away, tip, reference).vector, one, EXACT)
        assert_equal(
            icir.frame_jacobian(far, away, tip), icir.frame_jacobian(near, at_origin, tip), EXACT
        )
        place = icir.frame_placement(far, away, tip)
        spatial = place.action @ icir.frame_jacobian(far, away, tip)
        assert_equal(icir.frame_jacobian(far, away, tip, WORLD), spatial, 1e-12)
        assert_equal(away.J[3:], at_origin.J[3:], EXACT)
        offset = np.zeros(3)
        offset[: len(shift)] = shift
        if base == 'fixed':
            offset = distance * DIRECTION
        there = icir.frame_placement(near, at_origin, tip).translation + offset
        assert np.abs(place.translation - there).max() < 4e-16 * distance
        for compute in (icir.rnea, icir.aba):
            one = compute(near, at_origin, q, v, a)
            assert_equal(compute(far, away, moved, v, a), one, 10 * EXACT)
        shape_alone = [icir.crba, icir.minverse, icir.gravity_torque]
        if base != 'rails':  # the rail stays behind: the centre of mass is elsewhere
            shape_alone.append(icir.centroidal_map)
        for compute in shape_alone:
            one = compute(near, at_origin, q)
            assert_equal(compute(far, away, moved), one, 10 * EXACT)
        energy = icir.kinetic_energy(near, at_origin, q, v)
        assert_equal(icir.kinetic_energy(far, away, moved, v), energy, EXACT)


def on_wheels(offset, gear):
    """A carriage on a slide, a wheel that mimics the slide, and an arm on the wheel."""
    rng = np.random.default_rng(2)
    builder = icir.ModelBuilder('on_wheels')
    builder.add_joint('x', 'prismatic', axis=(1, 0, 0)).add_body('base', 'x', Inertia.random(rng))
    mimic, place = ('x', gear, offset), SE3.random(rng)
    builder.add_joint('wheel', 'continuous', 'base', place, axis=(1, 2, 3), mimic=mimic)
    builder.add_body('wheel', 'wheel', Inertia.random(rng))
    builder.add_joint('turn', 'revolute', 'wheel', SE3.random(rng), axis=(0, 1, 1))
    return builder.add_body('arm', 'turn', Inertia.random(rng)).build()


@pytest.mark.parametrize('distance', [1.0, *DISTANCES])
@pytest.mark.parametrize('gear', [0.3, -3.7, 20.1])
def test_a_wheel_has_turned_by_every_digit_of_its_way(gear, distance):
    """As one at the origin, whose angle is the same less whole turns, by fifty digits."""
    turn = 2 * Fraction('3.14159265358979323846264338327950288419716939937510582097')
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, offset = distance * rng.uniform(0.5, 1.0), rng.uniform(-1.0, 1.0)
        angle = Fraction(gear) * Fraction(x) + Fraction(offset)
        far, near = (
            on_wheels(offset, gear),
            on_wheels(float(angle - turn * round(angle / turn)), gear),
        )
        away, at_origin = far.create_data(), near.create_data()
        v = rng.normal(size=2)
        icir.compute_all_terms(far, away, [x, 0.4], v)
        icir.compute_all_terms(near, at_origin, [0.0, 0.4], v)
        for name in ('M', 'nle', 'g'):
            assert_equal(getattr(away, name), getattr(at_origin, name), EXACT)
        tips = [icir.frame_jacobian(*pair, 'arm') for pair in ((far, away), (near, at_origin))]
        assert_equal(*tips, EXACT)
