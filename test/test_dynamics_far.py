"""A robot far from the world's origin moves as one that stands in it: to the last digits."""

import numpy as np
import pytest
from agreement import assert_equal

from icir_control import dynamics as icir
from icir_control.share import share_directory
from icir_control.spatial import SE3, Inertia

DISTANCES = [1e3, 1e6]
DIRECTION = np.array((0.6, -0.64, 0.48))
EXACT = 1e-14
ALIGNED, WORLD = icir.ReferenceFrame.LOCAL_WORLD_ALIGNED, icir.ReferenceFrame.WORLD


def on_rails():
    """A carriage on two slides that carries an arm: neither of its joints is the one to turn."""
    rng = np.random.default_rng(3)
    builder = icir.ModelBuilder('on_rails')
    builder.add_joint('x', 'prismatic', axis=(1, 0, 0)).add_body('rail', 'x', Inertia.random(rng))
    builder.add_joint('y', 'prismatic', 'rail', SE3.from_translation((1, 2, 3)), axis=(0, 1, 0))
    builder.add_body('carriage', 'y', Inertia.random(rng))
    for i, parent in enumerate(('carriage', 'link_0', 'link_1')):
        builder.add_joint(f'turn_{i}', 'revolute', parent, SE3.random(rng), axis=(1, i, 2))
        builder.add_body(f'link_{i}', f'turn_{i}', Inertia.random(rng))
    return builder.build()


def moved_base(distance):
    """The arm on a far foundation, built with its first joint there."""
    rng = np.random.default_rng(4)
    builder = icir.ModelBuilder('fixed')
    builder.add_frame('ground', 'universe', SE3.from_translation(distance * DIRECTION))
    parent = 'ground'
    for i in range(5):
        place = SE3.identity() if i == 0 else SE3.random(rng)
        builder.add_joint(f'turn_{i}', 'revolute', parent, place, axis=rng.normal(size=3))
        builder.add_body(f'link_{i}', f'turn_{i}', Inertia.random(rng))
        parent = f'link_{i}'
    return builder.build()


def cases(distance):
    gen3, planar = share_directory() / 'urdf/gen3_6dof.urdf', distance * DIRECTION[:2]
    free = icir.load_urdf(gen3, root_joint='floating')
    yield free, free, (0, distance * DIRECTION)
    rolling = icir.load_urdf(gen3, root_joint='planar')
    yield rolling, rolling, (0, planar)
    yield on_rails(), on_rails(), (0, planar)
    yield moved_base(0.0), moved_base(distance), (0, [])


@pytest.mark.parametrize('distance', DISTANCES)
@pytest.mark.parametrize('case', range(4), ids=['floating', 'planar', 'rails', 'fixed'])
def test_no_digit_is_lost_far_from_the_origin(case, distance):
    near, far, (begin, shift) = list(cases(distance))[case]
    rng = np.random.default_rng(case)
    at_origin, away = near.create_data(), far.create_data()
    tip = near.nframes - 1
    for _ in range(20):
        q, (v, a) = near.random_configuration(rng), rng.normal(size=(2, near.nv))
        q[begin : begin + len(shift)] = 0.0
        moved = q.copy()
        moved[begin : begin + len(shift)] = shift
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
        if case == 3:
            offset = distance * DIRECTION
        there = icir.frame_placement(near, at_origin, tip).translation + offset
        assert np.abs(place.translation - there).max() < 4e-16 * distance
        for compute in (icir.rnea, icir.aba):
            one = compute(near, at_origin, q, v, a)
            assert_equal(compute(far, away, moved, v, a), one, 10 * EXACT)
        shape_alone = [icir.crba, icir.minverse, icir.gravity_torque]
        if case != 2:  # the rail stays behind: the centre of mass is elsewhere
            shape_alone.append(icir.centroidal_map)
        for compute in shape_alone:
            one = compute(near, at_origin, q)
            assert_equal(compute(far, away, moved), one, 10 * EXACT)
        energy = icir.kinetic_energy(near, at_origin, q, v)
        assert_equal(icir.kinetic_energy(far, away, moved, v), energy, EXACT)
