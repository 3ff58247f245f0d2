"""Trees of joints of every kind, drawn from a seed."""

import numpy as np

from icir_control.dynamics import JointKind, ModelBuilder
from icir_control.spatial import SE3, Inertia

KINDS = [kind for kind in JointKind if kind is not JointKind.UNIVERSE]
SIZES = [1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40]


def random_placement(rng):
    placement = SE3.random(rng)
    return SE3(placement.rotation, 0.2 * placement.translation)


def random_inertia(rng):
    """A body of the size of a robot's link."""
    body = Inertia.random(rng)
    return Inertia(body.mass, 0.1 * body.com, 0.03 * body.rotational)


def random_tree(seed):
    """Tree number `seed` of 20: each kind of joint occurs, in chains and in branches."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(f'tree_{seed}', gravity=rng.normal(size=3) * 6.0)
    frames = ['universe']
    for i in range(SIZES[seed]):
        # The first joints of the trees go through all kinds; chains are as likely as branches.
        kind = KINDS[(seed + i) % len(KINDS)] if i < len(KINDS) else rng.choice(KINDS)
        parent = frames[-1] if rng.uniform() < 0.6 else rng.choice(frames)
        builder.add_joint(
            f'joint_{i}', kind, parent, random_placement(rng), axis=rng.normal(size=3)
        )
        builder.add_body(f'link_{i}', f'joint_{i}', random_inertia(rng), random_placement(rng))
        builder.add_body(f'lump_{i}', f'link_{i}', random_inertia(rng), random_placement(rng))
        builder.add_frame(f'tool_{i}', f'lump_{i}', random_placement(rng))
        frames.append(f'link_{i}')
    return builder.build()
