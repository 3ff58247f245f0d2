"""Which arm runs: its URDF and parameters, and the command lines of its nodes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from icir_control.errors import ConfigurationError, UnknownNameError
from icir_control.share import (
    ANY_ARM,
    BRIDGE,
    DEFAULT_ROBOT,
    PACKAGE,
    find_model_file,
    parameters_in,
    share_directory,
)


def robot_names() -> list[str]:
    """Return the robots that ship with the package: each has a URDF and a parameter file."""
    share = share_directory()
    return sorted(
        path.stem
        for path in (share / 'config').glob('*.yaml')
        if (share / 'urdf' / f'{path.stem}.urdf').is_file()
    )


@dataclass(frozen=True)
class RobotFiles:
    """An arm as both nodes get it.

    Attributes:
        model: Path or `package://` URI of its URDF.
        model_file: The URDF.
        params_file: Parameter file of both nodes.
        overrides_model: Whether `model` has to be handed to the nodes beside the file.
        options: Parameters of both nodes that stand above the file, by name.
    """

    model: str
    model_file: Path
    params_file: Path
    overrides_model: bool
    options: Mapping[str, object]

    @classmethod
    def of(
        cls,
        name: str = DEFAULT_ROBOT,
        *,
        model: str = '',
        params_file: str = '',
        package_dirs: Sequence[str | Path] = (),
        **options: object,
    ) -> Self:
        """Choose an arm; what is left empty is the robot's own.

        A model that is named here stands above the file's, the file's above the robot's. A model
        without a parameter file gets the parameters of any arm.

        Args:
            name: A robot that ships with the package.
            model: Path or `package://` URI of another URDF.
            params_file: Path of another parameter file.
            package_dirs: Folders that are packages or hold packages, for `package://`.
            options: Other parameters of both nodes; those that are empty or None are left out.

        Raises:
            UnknownNameError: No such robot ships.
            ConfigurationError: The URDF, the parameter file or a folder is not there, or not
                readable.
        """
        names = robot_names()
        if name not in names:
            raise UnknownNameError('robot', name, names)
        own_file = share_directory() / 'config' / f'{ANY_ARM if model else name}.yaml'
        path = Path(params_file).expanduser().absolute() if params_file else own_file
        in_file = parameters_in(path, BRIDGE)
        chosen = (
            model or str(in_file.get('model') or '') or f'package://{PACKAGE}/urdf/{name}.urdf'
        )
        if '://' not in chosen:
            chosen = str(Path(chosen).expanduser().absolute())
        given: dict[str, Any] = {
            key: value for key, value in options.items() if value not in ('', None, [])
        }
        if package_dirs:
            folders = [Path(one).expanduser().absolute() for one in package_dirs]
            for folder in folders:
                if not folder.is_dir():
                    raise ConfigurationError(f'package_dirs: there is no folder {folder}')
            given['package_dirs'] = [str(one) for one in folders]
        packages = given.get('package_dirs') or in_file.get('package_dirs') or ()
        file = find_model_file(chosen, packages)
        return cls(chosen, file, path, bool(model) or not in_file.get('model'), given)

    @classmethod
    def named(cls, robot: str | os.PathLike[str], **options: Any) -> Self:
        """Choose an arm by the name of a robot that ships, or by the path of a URDF.

        Args:
            robot: A path has a slash in it, or ends in `.urdf` or `.xml`.
            options: As of `of`.

        Raises:
            IcirError: As of `of`.
        """
        name = os.fspath(robot)
        is_file = '/' in name or name.endswith(('.urdf', '.xml'))
        return cls.of(model=name, **options) if is_file else cls.of(name, **options)

    @property
    def overrides(self) -> dict[str, object]:
        """Parameters of both nodes that stand above the file, by name."""
        return {**({'model': self.model} if self.overrides_model else {}), **self.options}

    def parameters(self, node: str) -> dict[str, Any]:
        """Return what the parameter file gives to a node, nested as in the file.

        Args:
            node: The node's name.
        """
        return parameters_in(self.params_file, node)

    def description(self) -> str:
        """Return the URDF as text, as `robot_state_publisher` takes it."""
        return self.model_file.read_text()


START_TIMEOUT: Final = 900.0
"""[s] of wall time until the first states: bridge and controller may have to compile."""


def ros_arguments(node: str, robot: RobotFiles, parameters: Mapping[str, object]) -> list[str]:
    """Return a node's command line.

    Args:
        node: The node's name.
        robot: Its model and parameter file.
        parameters: By name; they override the file.
    """
    arguments = ['--ros-args', '--params-file', str(robot.params_file)]
    for name, value in {**parameters, **robot.overrides}.items():
        # Without the node's name the file's entry for the node would win.
        arguments += ['-p', f'{node}:{name}:={_yaml(value)}']
    return arguments


def _yaml(value: object) -> str:
    """Return a parameter's value as ROS's command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return '[' + ', '.join(_yaml(entry) for entry in value) + ']'
    return f"'{value}'" if isinstance(value, str) else repr(value)
