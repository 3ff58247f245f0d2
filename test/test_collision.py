"""Distances between shapes against MuJoCo's, their derivatives against finite differences."""

from itertools import product

import mujoco
import numpy as np
import pytest
import trimesh
from fuzz import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_placement, random_tree

from icir_control.collision import (
    Box,
    Capsule,
    CollisionPairs,
    CollisionShape,
    Cylinder,
    HalfSpace,
    Sphere,
    distance,
    distance_bias,
    distance_jacobian,
    load_collision_shapes,
    tangent_jacobian,
)
from icir_control.collision.urdf import fitted
from icir_control.dynamics import (
    ModelBuilder,
    compute_all_terms,
    forward_kinematics,
    integrate,
    load_urdf,
)
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.share import share_directory
from icir_control.spatial import SE3, Inertia, exp3, quaternion_from_rotation

BODY = Inertia(1.0, np.zeros(3), np.eye(3))
KINDS = (Capsule, Sphere, Box, HalfSpace)
KIND_PAIRS = [pair for pair in product(KINDS, KINDS) if pair != (HalfSpace, HalfSpace)]
SOLIDS = {Capsule: Capsule(0.05, 0.2), Sphere: Sphere(0.08), Box: Box((0.1, 0.2, 0.3))}
SOLIDS[HalfSpace] = HalfSpace()


def two_bodies():
    builder = ModelBuilder('two bodies')
    for name in 'ab':
        builder.add_joint(name, 'floating').add_body(name.upper(), name, BODY)
    return builder.build()


TWO = two_bodies()

# Lengths and turns at which capsules are parallel, crossing, end to end and just touching, too.
lengths = st.sampled_from([0.05, 0.1, 0.2]) | st.floats(0.01, 0.5)
steps = st.sampled_from([-0.2, -0.1, 0.0, 0.05, 0.1, 0.3]) | st.floats(-0.5, 0.5)
# Not by less than 0.01 rad: for nearly parallel capsules MuJoCo is wrong by some 1e-8 m.
angles = st.sampled_from([0.0, np.pi / 2, np.pi]) | st.integers(-300, 300).map(lambda k: k / 100)
places = st.builds(
    lambda xyz, turns: (np.array(xyz), exp3(turns)), st.tuples(*3 * [steps]),
    st.tuples(angles, st.just(0.0), st.just(0.0)) | st.tuples(*3 * [angles]),
)  # fmt: skip
shapes = {
    Capsule: st.builds(Capsule, lengths, lengths | st.just(0.0)),
    Sphere: st.builds(Sphere, lengths),
    Box: st.builds(Box, st.tuples(*3 * [lengths])),
    HalfSpace: st.builds(HalfSpace),
}


def add_geom(body, shape):
    if isinstance(shape, Capsule) and not shape.length:
        shape = Sphere(shape.radius)
    kind = mujoco.mjtGeom
    if isinstance(shape, Cylinder):
        body.add_geom(type=kind.mjGEOM_CYLINDER, size=[shape.radius, 0.5 * shape.length, 0.0])
        return
    types = {Capsule: kind.mjGEOM_CAPSULE, Sphere: kind.mjGEOM_SPHERE, Box: kind.mjGEOM_BOX}
    size = {
        Capsule: lambda: [shape.radius, 0.5 * shape.length, 0.0],
        Sphere: lambda: [shape.radius, 0.0, 0.0],
        Box: lambda: 0.5 * np.array(shape.size),
        HalfSpace: lambda: [0.0, 0.0, 0.1],
    }[type(shape)]()
    body.add_geom(type=types.get(type(shape), kind.mjGEOM_PLANE), size=size)


def their_distance(first, second, placements):
    spec = mujoco.MjSpec()
    for shape, (position, rotation) in zip((first, second), placements, strict=True):
        quaternion = np.roll(quaternion_from_rotation(rotation), 1)
        add_geom(spec.worldbody.add_body(pos=position, quat=quaternion), shape)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return mujoco.mj_geomDistance(model, data, 0, 1, 100.0, None)


@pytest.mark.slow
@pytest.mark.parametrize('swapped', [False, True])
@pytest.mark.parametrize('other', [
    Cylinder(0.06, 0.1), Capsule(0.04, 0.2), Sphere(0.05), Box((0.09, 0.5, 0.06)), HalfSpace(),
])  # fmt: skip
def test_distance_of_a_cylinder_is_bounded_from_below(other, swapped):
    rng, results = np.random.default_rng(5), TWO.create_data()
    errors = []
    for _ in range(40):
        chosen = Cylinder(rng.uniform(0.03, 0.06), rng.uniform(0.05, 0.25)), other
        pair = chosen[::-1] if swapped else chosen
        placements = [random_placement(rng) for _ in range(2)]
        placements = [(place.translation, place.rotation) for place in placements]
        pairs = pair_of(*pair)
        forward_kinematics(TWO, results, configuration(placements))
        (ours,) = distance(TWO, results, pairs)
        (a,), (b,), (n,) = pairs.witness_a, pairs.witness_b, pairs.normal
        assert n @ (a - b) == pytest.approx(ours, abs=1e-12)
        errors.append(their_distance(*pair, placements) - ours)
        if errors[-1] + ours <= 0.0:
            assert ours <= 0.0
            errors.pop()
    assert len(errors) > 5
    assert min(errors) > -1e-9
    assert max(errors) < (1e-9 if other == HalfSpace() else 0.01)
    assert np.median(errors) < 2e-4


def configuration(placements):
    return np.concatenate([[*p, *quaternion_from_rotation(R)] for p, R in placements])


def pair_of(first, second, placement=None):
    on_a = CollisionShape('a', 'A', first, placement or SE3.identity())
    return CollisionPairs(TWO, [on_a, CollisionShape('b', 'B', second)], [('a', 'b')])


@pytest.mark.parametrize(('first', 'second'), KIND_PAIRS)
@settings(max_examples=max(10, EXAMPLES // 4))
@given(data=st.data())
def test_distance_is_mujoco_s(first, second, data):
    one, other = data.draw(shapes[first]), data.draw(shapes[second])
    placements = data.draw(places), data.draw(places)
    check_distance(one, other, placements)


def check_distance(one, other, placements):
    results, pairs = TWO.create_data(), pair_of(one, other)
    forward_kinematics(TWO, results, configuration(placements))
    (ours,) = distance(TWO, results, pairs)
    theirs = their_distance(one, other, placements)
    (a,), (b,), (n,) = pairs.witness_a, pairs.witness_b, pairs.normal
    assert n @ n == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(a - b, ours * n, atol=1e-12)
    if isinstance(one, Box) and isinstance(other, Box):
        assert ours <= theirs + 1e-9
        return
    kinds = {type(one), type(other)}
    # MuJoCo sees no depth where a capsule's axis is inside a box.
    if kinds != {Box, Capsule} or ours > 1e-9 - max(
        getattr(s, 'radius', 0.0) for s in (one, other)
    ):
        assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.long
@settings(max_examples=10_000)
@given(data=st.data())
def test_ten_thousand_distances_are_mujoco_s(data):
    first, second = data.draw(st.sampled_from(KIND_PAIRS))
    one, other = data.draw(shapes[first]), data.draw(shapes[second])
    check_distance(one, other, (data.draw(places), data.draw(places)))


@pytest.mark.parametrize('seed', range(20))
def test_depth_of_a_capsule_in_a_box_is_the_least_way_out(seed):
    """Moved out by the depth along the normal, they touch; along no other direction sooner."""
    rng = np.random.default_rng(seed)
    pairs, data = pair_of(SOLIDS[Capsule], SOLIDS[Box]), TWO.create_data()
    q = configuration(
        [(rng.uniform(-0.05, 0.05, 3), SE3.random(rng).rotation), (np.zeros(3), np.eye(3))]
    )
    forward_kinematics(TWO, data, q)
    depth, normal = -distance(TWO, data, pairs)[0], pairs.normal[0].copy()
    assert depth > 0.05
    for direction, is_out in [(normal, True)] + [(n, False) for n in rng.normal(size=(20, 3))]:
        moved = q.copy()
        moved[:3] += depth * (1.0 - 1e-9) * direction / np.linalg.norm(direction)
        forward_kinematics(TWO, data, moved)
        reached = distance(TWO, data, pairs)[0]
        assert reached == pytest.approx(0.0, abs=1e-9) if is_out else reached < 1e-12


@pytest.mark.parametrize(('first', 'second'), KIND_PAIRS)
def test_derivatives_are_those_of_finite_differences(first, second):
    rng = np.random.default_rng(1)
    pairs = pair_of(SOLIDS[first], SOLIDS[second], random_placement(rng))
    data, h = TWO.create_data(), 1e-6

    def rate(q, v):
        compute_all_terms(TWO, data, q, v)
        return (distance_jacobian(TWO, data, pairs) @ v)[0]

    def value(q, v):
        forward_kinematics(TWO, data, q)
        return distance(TWO, data, pairs)[0]

    for _ in range(30):
        q, v = TWO.random_configuration(rng), rng.normal(size=TWO.nv)
        for function, derivative in ((value, rate), (rate, bias_of(pairs, data))):
            ahead, behind = (function(integrate(TWO, q, s * h * v), v) for s in (1.0, -1.0))
            expected = (ahead - behind) / (2.0 * h)
            assert derivative(q, v) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def bias_of(pairs, data):
    def bias(q, v):
        compute_all_terms(TWO, data, q, v)
        return distance_bias(TWO, data, pairs)[0]

    return bias


@pytest.mark.parametrize('seed', [3, 7, 11, 15])
def test_shapes_on_trees_of_every_kind_of_joint(seed):
    """Gradients by finite differences, along every direction of v, of all pairs that can move."""
    model, rng = random_tree(seed), np.random.default_rng(seed)
    links = [frame.name for frame in model.frames if frame.name.startswith('tool')]
    solids = list(SOLIDS.values())[:3]
    shapes = [
        CollisionShape(link, link, solids[i % 3], random_placement(rng))
        for i, link in enumerate(links)
    ]
    floor = CollisionShape('floor', 'universe', HalfSpace(), SE3.from_translation((0, 0, -0.7)))
    pairs, data = CollisionPairs(model, [floor, *shapes]), model.create_data()
    q, h = model.random_configuration(rng), 1e-6
    forward_kinematics(model, data, q)
    J = distance_jacobian(model, data, pairs)
    # Box against box is the better of two bounds, with a kink where they are equal.
    for k in range(model.nv):
        v = h * np.eye(model.nv)[k]
        forward_kinematics(model, data, integrate(model, q, v))
        ahead = distance(model, data, pairs).copy()
        forward_kinematics(model, data, integrate(model, q, -v))
        numeric = (ahead - distance(model, data, pairs)) / (2.0 * h)
        np.testing.assert_allclose(J[:, k], numeric, rtol=1e-6, atol=1e-7)


def test_parallel_capsules_touch_in_the_middle_of_their_overlap():
    pairs, data = pair_of(Capsule(0.1, 1.0), Capsule(0.1, 1.0)), TWO.create_data()
    turned = configuration([((0.2, 0.0, 0.5), np.eye(3)), ((0.0, 0.0, 0.0), np.eye(3))])
    forward_kinematics(TWO, data, turned)
    assert distance(TWO, data, pairs)[0] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(pairs.witness_a[0], (0.1, 0.0, 0.25), atol=1e-12)
    np.testing.assert_allclose(pairs.normal[0], (1.0, 0.0, 0.0), atol=1e-15)


@pytest.mark.parametrize('angle', [1.0, 1e-3, 1e-5, 1e-7, 1e-8, 1e-9, 1e-12, 0.0])
@pytest.mark.parametrize('gap', [0.0, 1e-9, 1e-3, 0.3])
def test_nearly_parallel_capsules(angle, gap):
    """Their axes cross in the middle, seen along z, whatever the angle."""
    pairs, data = pair_of(Capsule(0.1, 1.0), Capsule(0.1, 1.0)), TWO.create_data()
    place = SE3.from_translation((0.3, 0.4, gap)).act(SE3(exp3((0.0, np.pi / 2, 0.0))))
    turn = SE3(exp3((0.0, 0.0, angle))) @ SE3(exp3((0.0, np.pi / 2, 0.0)))
    turn = SE3.from_translation((0.3, 0.4, 0.0)) @ turn
    q = configuration([(M.translation, M.rotation) for M in (place, turn)])
    forward_kinematics(TWO, data, q)
    assert distance(TWO, data, pairs)[0] == pytest.approx(gap - 0.2, abs=1e-9)


def test_tangents_are_perpendicular_to_the_normal_and_to_each_other():
    rng = np.random.default_rng(5)
    pairs, data = pair_of(SOLIDS[Capsule], SOLIDS[Box]), TWO.create_data()
    forward_kinematics(TWO, data, TWO.random_configuration(rng))
    J = np.vstack([distance_jacobian(TWO, data, pairs), tangent_jacobian(TWO, data, pairs)])
    # Only body A moves, along each axis of the world: the directions themselves.
    directions = J[:, :3] @ data.oMi[1].rotation.T
    np.testing.assert_allclose(directions @ directions.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(directions[0], pairs.normal[0], atol=1e-14)


def test_results_are_written_in_place():
    pairs, data = pair_of(SOLIDS[Capsule], SOLIDS[Box]), TWO.create_data()
    forward_kinematics(TWO, data, TWO.random_configuration(np.random.default_rng(0)))
    J, bias = np.empty((1, TWO.nv)), np.empty(1)
    assert distance(TWO, data, pairs) is pairs.distance
    assert distance_jacobian(TWO, data, pairs, J) is J
    compute_all_terms(TWO, data, TWO.neutral(), np.ones(TWO.nv))
    assert distance_bias(TWO, data, pairs, bias) is bias


CHAIN = """
<robot name="chain">
  <link name="world"/>
  {links}
  {joints}
</robot>
"""
LINK = """
<link name="link{i}">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  {collision}
</link>"""
JOINT = """
<joint name="joint{i}" type="revolute">
  <parent link="{parent}"/><child link="link{i}"/><axis xyz="0 1 0"/>
  <origin xyz="{x} 0 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/>
</joint>"""


def chain(*collisions, step=0.5):
    """A chain of links, each with one collision geometry (or None)."""
    links = joints = ''
    parent = 'world'
    for i, geometry in enumerate(collisions):
        shape = f'<collision><geometry>{geometry}</geometry></collision>' if geometry else ''
        links += LINK.format(i=i, collision=shape)
        joints += JOINT.format(i=i, parent=parent, x=step)
        parent = f'link{i}'
    return CHAIN.format(links=links, joints=joints)


def test_pairs_leave_out_neighbours_and_what_touches_at_neutral(caplog):
    text = chain(*4 * ['<sphere radius="0.3"/>'], step=0.25)
    model = load_urdf(text)
    pairs = CollisionPairs(model, load_collision_shapes(text))
    # Neighbours: 01, 12, 23. 0.5 m apart, with 0.6 m of radii: 02, 13.
    assert pairs.names == (('link0', 'link3'),)
    assert pairs.excluded == (('link0', 'link2'), ('link1', 'link3'))
    assert 'link0 and link2' in caplog.text
    assert not CollisionPairs(model, pairs.shapes, exclude=[('link3', 'link0')]).names


def test_urdf_shapes_are_those_of_mujoco():
    kinds = ('<sphere radius="0.1"/>', '<box size="0.1 0.2 0.3"/>',
             '<cylinder radius="0.1" length="0.2"/>')  # fmt: skip
    shapes = load_collision_shapes(chain(*kinds))
    assert [shape.shape for shape in shapes] == [
        Sphere(0.1),
        Box((0.1, 0.2, 0.3)),
        Cylinder(0.1, 0.2),
    ]
    assert [shape.frame for shape in shapes] == ['link0', 'link1', 'link2']


@pytest.mark.parametrize('name', ['gen3_6dof', 'gen3_7dof'])
def test_shapes_of_the_gen3_can_be_read(name):
    path = share_directory() / 'urdf' / f'{name}.urdf'
    model, shapes = load_urdf(path), load_collision_shapes(path)
    assert shapes
    pairs, data = CollisionPairs(model, shapes), model.create_data()
    forward_kinematics(model, data, model.neutral())
    assert (distance(model, data, pairs) > 0.0).all()


@pytest.mark.parametrize('stretch', [(1, 1, 1), (1, 1, 8), (6, 5, 0.1)])
def test_fitted_shape_contains_the_points(stretch):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(200, 3)) * stretch @ SE3.random(rng).rotation.T
    shape, placement = fitted(points)
    local = (points - placement.translation) @ placement.rotation
    if isinstance(shape, Box):
        assert (np.abs(local) <= 0.5 * np.array(shape.size) + 1e-9).all()
    else:
        along = np.clip(local[:, 2], -0.5 * shape.length, 0.5 * shape.length)
        assert (
            np.hypot(np.hypot(*local[:, :2].T), local[:, 2] - along).max() <= shape.radius + 1e-9
        )


@pytest.mark.parametrize('make', [
    lambda: Capsule(-0.1, 0.2), lambda: Capsule(0.1, float('nan')), lambda: Sphere(0.0),
    lambda: Sphere('1'), lambda: Box((1.0, 0.0, 1.0)), lambda: Box((1.0, 1.0)),
    lambda: Cylinder(0.1, 0.0), lambda: CollisionShape('a', 'A', 3.0),
    lambda: CollisionShape('a', 'A', Sphere(1.0), 2.0),
])  # fmt: skip
def test_a_shape_without_size_is_refused(make):
    with pytest.raises(InvalidValueError, match='expected'):
        make()


def test_pairs_that_cannot_be_are_refused():
    shapes = [CollisionShape('a', 'A', Sphere(1.0)), CollisionShape('b', 'B', Sphere(1.0))]
    with pytest.raises(UnknownNameError, match="collision shape 'c'; valid: a, b"):
        CollisionPairs(TWO, shapes, [('a', 'c')])
    with pytest.raises(UnknownNameError, match="frame 'C'"):
        CollisionPairs(TWO, [CollisionShape('c', 'C', Sphere(1.0))])
    with pytest.raises(UnknownNameError, match="frame 'C'"):
        CollisionPairs(TWO, shapes, exclude=[('A', 'C')])
    with pytest.raises(InvalidValueError, match='once'):
        CollisionPairs(TWO, 2 * shapes)
    with pytest.raises(InvalidValueError, match='a joint can move'):
        CollisionPairs(TWO, [*shapes, CollisionShape('d', 'A', Sphere(1.0))], [('a', 'd')])
    floors = [CollisionShape(x, x.upper(), HalfSpace()) for x in 'ab']
    with pytest.raises(InvalidValueError, match='half-space'):
        CollisionPairs(TWO, floors, [('a', 'b')])
    with pytest.raises(InvalidValueError, match='two shapes'):
        CollisionPairs(TWO, shapes, ['a'])


def test_distances_of_what_was_never_computed_are_refused():
    pairs, data = pair_of(Sphere(0.1), Sphere(0.1)), TWO.create_data()
    with pytest.raises(InvalidValueError, match='compute_all_terms'):
        distance(TWO, data, pairs)
    forward_kinematics(TWO, data, TWO.neutral())
    distance(TWO, data, pairs)
    with pytest.raises(InvalidValueError, match='compute_all_terms'):
        distance_bias(TWO, data, pairs)
    other = load_urdf(chain('<sphere radius="0.1"/>'))
    with pytest.raises(InvalidValueError, match='model'):
        distance(other, data, pairs)
    with pytest.raises(InvalidValueError, match='pairs of model'):
        distance(other, other.create_data(), pairs)
    with pytest.raises(InvalidValueError, match=r'\(1, 12\)'):
        distance_jacobian(TWO, data, pairs, np.empty((2, 12)))


@pytest.mark.parametrize(('geometry', 'said'), [
    ('<sphere radius="-1"/>', 'radius of a sphere'), ('<sphere/>', 'expected 1 finite'),
    ('<box size="1 2"/>', 'expected 3 finite'), ('<cone/>', 'geometry cone; valid: sphere'),
    ('<mesh filename="nowhere.stl"/>', "mesh 'nowhere.stl' cannot be read"),
    ('<mesh filename="package://no_such/a.stl"/>', 'no_such'),
])  # fmt: skip
def test_a_shape_that_cannot_be_read_is_named(geometry, said):
    with pytest.raises(ModelError, match='link0') as refused:
        load_collision_shapes(chain(geometry))
    assert said in str(refused.value)


def test_shapes_are_found_wherever_the_model_finds_its_links(tmp_path):
    folder = tmp_path / 'pk g'
    folder.mkdir()
    (folder / 'b.stl').write_bytes(trimesh.creation.box((0.1, 0.2, 0.3)).export(file_type='stl'))
    for uri in ('pk%20g/b.stl', f'file://{tmp_path}/pk%20g/b.stl', 'model://pk g/b.stl'):
        path = tmp_path / 'robot.urdf'
        xml = chain(f'<mesh filename="{uri}"/>', '<sphere radius="0.1"/>')
        path.write_text(xml.replace('<robot ', '<robot xmlns="http://example.org/urdf" '))
        kinds = [type(one.shape) for one in load_collision_shapes(path, package_dirs=[tmp_path])]
        assert kinds == [Box, Sphere], uri
    with pytest.raises(ModelError, match='a URDF begins with <robot>'):
        load_collision_shapes('<mujoco/>')
