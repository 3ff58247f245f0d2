"""The robot of a node: its URDF, which of its joints make up the arm, and postures to go to."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from icir_control.collision import CollisionShape, load_collision_shapes
from icir_control.dynamics import KinematicTree, Model, gravity_torque, load_urdf
from icir_control.errors import ConfigurationError
from icir_control.parameter import flatten, parameter, parameters_of, read_own, replaced
from icir_control.share import ANY_ARM, find_model_file, parameters_in, share_directory
from icir_control.spatial.arrays import checked_scalar

if TYPE_CHECKING:
    from icir_control.control import Arm, ControllerConfig


@dataclass(frozen=True)
class RobotParameters:
    """The parameters that both nodes have, and that tell which arm runs."""

    model: str = parameter(
        'package://icir_control/urdf/gen3_6dof.urdf',
        '',
        'path or package:// URI of the URDF',
        running=False,
    )
    package_dirs: tuple[str, ...] = parameter(
        (),
        '',
        'folders to search for package:// URIs of `model` and of the URDF, besides the folders '
        'above the URDF and the ament index',
        running=False,
    )
    locked_joints: tuple[str, ...] = parameter(
        (),
        '',
        'joints that are held, such as "finger_joint1=0.02" [rad or m]; those that do not lie '
        'between base and end effector are held at 0, or at the limit nearest to it',
        running=False,
    )
    default_effort: float = parameter(
        0.0,
        'N m, N',
        'effort limit of joints whose limit in the URDF is missing or 0; 0 for none',
        lower=0.0,
        running=False,
    )
    armature: tuple[str, ...] = parameter(
        (),
        '',
        'rotor inertia by joint, times the square of the gear ratio, such as "joint_1=0.1" '
        '[kg m^2 or kg], in place of <dynamics armature="..."> of the URDF',
        running=False,
    )
    repair: bool = parameter(
        False,
        '',
        'replace an inertia that no rigid body can have by the nearest possible one',
        running=False,
    )
    whole_tree: bool = parameter(
        False,
        '',
        'control all joints, also those that do not lie between base and end effector, such as '
        'those of a hand',
        running=False,
    )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read them from a node's parameters by name; those that are missing have their defaults.

        Raises:
            ConfigurationError: A value that is not valid.
        """
        return read_own(cls, given, 0)

    @property
    def locked(self) -> dict[str, float]:
        """Where locked joints are held [rad or m], by name."""
        return values_of('locked_joints', self.locked_joints, 'finger_joint1=0.02')

    def options(self, held: Mapping[str, float]) -> dict[str, Any]:
        """Return keywords of `load_urdf` and of `World`.

        Args:
            held: Positions of the joints that do not move [rad or m].
        """
        return {
            'locked': held,
            'default_effort': self.default_effort or None,
            'armature': values_of('armature', self.armature, 'joint_1=0.1'),
            'package_dirs': self.package_dirs,
            'repair': self.repair,
        }

    def source_of(self, description: str) -> str | Path:
        """Return the file that a description was read from, if it is here; else the description.

        Meshes are named relative to the file, or lie in a package above it.

        Args:
            description: The URDF.
        """
        with suppress(ConfigurationError, OSError, UnicodeDecodeError):
            path = find_model_file(self.model, self.package_dirs)
            if path.read_text(encoding='utf-8') == description:
                return path
        return description


ROBOT = parameters_of(RobotParameters)

APART = 0.3
"""[rad or m] Between the targets of two modes, in one joint at least."""

HIGH = 0.1
"""[m] Above the floor, where the tool is in the posture to which a mode goes, if it can be."""

_SHOWN = 12
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadedRobot:
    """What both nodes make of the parameters that tell which arm runs.

    Attributes:
        path: Of the URDF.
        model: Of the arm; joints beyond it are held.
        options: Keywords of `load_urdf` and of `World`.
        parameters: The node's other parameters, nested and unchecked.
        own: Those that tell which arm runs.
    """

    path: Path
    model: Model
    options: dict[str, Any]
    parameters: dict[str, Any]
    own: RobotParameters

    @classmethod
    def of(cls, given: Mapping[str, Any], node: str) -> Self:
        """Read the robot that the parameters of a node name.

        What else is not given is as shipped for the robot; so are the modes, unless `mode_names`
        is given.

        Args:
            given: By full name.
            node: Its name.

        Raises:
            IcirError: A parameter or the model is not valid.
        """
        own = RobotParameters.of(given)
        path = find_model_file(own.model, own.package_dirs)
        tree = KinematicTree(path)
        shipped = shipped_parameters(tree.name, node)
        if 'mode_names' in given:
            shipped = {name: v for name, v in shipped.items() if not name.startswith('mode')}
        all_ = {**shipped, **given}
        values = replaced({}, {name: all_[name] for name in all_ if name not in ROBOT})
        frames = [values.get(name) for name in ('base_frame', 'end_effector_frame')]
        base, end = (name if isinstance(name, str) else '' for name in frames)
        chain = tree.chain(base, end, own.locked, whole_tree=own.whole_tree)
        if chain.without_effort and not own.default_effort:
            raise ConfigurationError(
                f'{path}: <limit> gives {", ".join(chain.without_effort)} an effort of 0, with '
                'which no joint could move; write the limits into the URDF, or set one for all of '
                'them by default_effort (--default-effort) [N m, N]'
            )
        options = own.options(chain.held)
        values = replaced(values, {'end_effector_frame': chain.end_effector_frame})
        return cls(path, load_urdf(path, **options), options, values, own)

    def shapes(self) -> tuple[CollisionShape, ...]:
        """Return the collision shapes of the URDF; see `load_collision_shapes`."""
        return load_collision_shapes(self.path, package_dirs=self.own.package_dirs)

    @property
    def note(self) -> str:
        """Which joints are held, for the user to read; empty for none."""
        held = self.options['locked']
        if not held:
            return ''
        shown = [f'{name}={value:g}' for name, value in list(held.items())[:_SHOWN]]
        more = f' and {len(held) - _SHOWN} more' if len(held) > _SHOWN else ''
        return f'joints held, because they are locked or not of the arm: {", ".join(shown)}{more}'


def shipped_parameters(robot: str, node: str) -> dict[str, Any]:
    """Return the parameters that ship with the package for a node, by full name.

    Args:
        robot: Name of the robot, as its URDF says; of one that does not ship, those of any arm.
        node: Name of the node.
    """
    files = {path.stem: path for path in (share_directory() / 'config').glob('*.yaml')}
    return flatten(parameters_in(files.get(robot, files[ANY_ARM]), node))


def values_of(parameter: str, entries: Sequence[str], example: str) -> dict[str, float]:
    """Return numbers by joint.

    Args:
        parameter: Its name.
        entries: Its value.
        example: What an entry looks like.

    Raises:
        ConfigurationError: An entry is no joint with a number.
    """
    values = {}
    for entry in entries:
        name, _, text = entry.partition('=')
        try:
            values[name.strip()] = checked_scalar(name, float(text))
        except ValueError:
            raise ConfigurationError(
                f'{parameter} has {entry!r}; expected a joint and a finite number, such as '
                f'"{example}"'
            ) from None
    return values


def with_targets(config: 'ControllerConfig', robot: LoadedRobot) -> 'ControllerConfig':
    """Give a target to each mode that goes to a posture and has none.

    It is the best posture of the arm to which nothing is in the way from where the simulation
    starts; of several modes each has another one.

    Args:
        config: Of the controller.
        robot: The arm.
    """
    empty = [
        f'modes.{name}.{mode.law.unset["posture"]}'
        for name, mode in config.modes.items()
        if 'posture' in mode.law.unset
    ]
    if not empty:
        return config
    from icir_control.simulation import World  # here, because most arms need no MuJoCo for it

    arm = config.arm
    simulated = World(
        robot.path,
        joint_names=arm.model.joint_names,
        end_effector_frame=arm.end_effector_frame,
        **robot.options,
    )
    # From where the tool can go down a little.
    low = [arm.placement(q).translation[2] < HIGH for q in arm.rest_postures]
    best = arm.rest_postures[np.argsort(low, kind='stable')]
    found: list[np.ndarray] = []
    for q in (q for q in best if simulated.is_free(q)):
        if all(np.abs(q - other).max() > APART for other in found):
            found.append(q)
        if len(found) == len(empty):
            break
    if len(found) < len(empty):
        _log.warning('no posture was found for %s %s', empty[-1], _lack(arm, robot.path))
        found += [*best[: len(empty) - len(found)]]
    return config.updated(
        {name: np.degrees(q).tolist() for name, q in zip(empty, found, strict=True)}
    )


def _lack(arm: 'Arm', path: Path) -> str:
    """Return what postures to go to lack: motors that bear the arm, or a way."""
    model, data = arm.model, arm.model.create_data()
    weights = np.abs([gravity_torque(model, data, q).copy() for q in arm.rest_postures])
    borne = (weights <= model.effort_limit).mean(axis=0)
    i = int(borne.argmin())
    if borne[i] > 0.5:
        return 'that is reached without a collision'
    return (
        f'in which the motors bear the arm: the effort limit of {model.joint_names[i]}, '
        f'{model.effort_limit[i]:g} N m or N, does in {borne[i]:.0%} of its postures; '
        f'where the motor has more, write its effort into the <limit> of {path}'
    )
