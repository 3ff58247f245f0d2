"""Comparison of the dynamics model with MuJoCo's of the same URDF, before anything moves.

With a model that differs from its plant a controller tracks badly, and nothing says why.
"""

import numpy as np

from icir_control.dynamics import (
    Model,
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
    frame_placement,
)
from icir_control.errors import ModelMismatchError
from icir_control.simulation import World

STATES = 5
_SEED = 0
_SPEED = 1.0  # [rad/s or m/s], largest joint speed of a state
# Both compute in double precision; formulas that differ lose a few digits more than one does.
_TOLERANCE = 1e-9


def check_model(model: Model, world: World) -> None:
    """Compare the model with MuJoCo's of the same URDF, before the plant's own changes.

    Args:
        model: What the controller computes with.
        world: What will be simulated.

    Raises:
        ModelMismatchError: They differ; names quantity, joint or link, and both values.
    """
    names = world.joint_names
    _compare('effort limit', model.effort_limit, world.effort_limit, names)
    _compare('damping', model.joint_damping, world.joint_damping, names)
    _compare('friction', model.joint_friction, world.joint_friction, names)
    _compare('armature', model.armature, world.armature, names)
    frame = model.frame_id(world.end_effector_frame)
    data = model.create_data()
    generator = np.random.default_rng(_SEED)
    for _ in range(STATES):
        q = model.random_configuration(generator)
        v = generator.uniform(-_SPEED, _SPEED, model.nv)
        compute_all_terms(model, data, q, v)
        jacobian = frame_jacobian(model, data, frame, ReferenceFrame.LOCAL_WORLD_ALIGNED)
        _compare('mass matrix', data.M, world.mass_matrix(q), names)
        _compare('bias torque', data.nle, world.bias(q, v), names)
        # Transposed, so that each row belongs to a joint.
        _compare('end-effector Jacobian', jacobian.T, world.frame_jacobian(q).T, names)
        # The Jacobian does not tell how the tool is turned, nor where the base stands.
        for link in world.links:
            place = frame_placement(model, data, model.frame_id(link))
            ours = np.column_stack([place.rotation, place.translation])
            theirs = world.frame_placement(q, link)
            _compare('placement', ours[None], theirs[None], (link,))


def _compare(quantity: str, ours: np.ndarray, theirs: np.ndarray, names: tuple[str, ...]) -> None:
    """Compare arrays whose first axis is that of the joints, or of the links.

    Raises:
        ModelMismatchError: They differ by more than round-off.
    """
    # Equal infinities are equal limits; their difference would not be a number.
    differs = ours != theirs
    distance = np.zeros(np.shape(ours))
    distance[differs] = np.abs(ours[differs] - theirs[differs])
    scale = max(1.0, float(np.abs(ours[np.isfinite(ours)]).max(initial=0.0)))
    if (distance <= _TOLERANCE * scale).all():
        return
    worst = np.unravel_index(np.argmax(distance), distance.shape)
    raise ModelMismatchError(quantity, names[worst[0]], float(ours[worst]), float(theirs[worst]))
