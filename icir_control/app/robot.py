"""Which arm runs: its URDF and its parameters, from what ships and what the user names."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import yaml

from icir_control.errors import ConfigurationError, UnknownNameError
from icir_control.nodes.model_file import find_model_file
from icir_control.share import PACKAGE, share_directory

DEFAULT_ROBOT = 'gen3_6dof'
_BRIDGE = 'mujoco_bridge'


def robot_names() -> list[str]:
    """Return the robots that ship with the package: each has a URDF and a parameter file."""
    share = share_directory()
    return sorted(
        path.stem
        for path in (share / 'config').glob('*.yaml')
        if (share / 'urdf' / f'{path.stem}.urdf').is_file()
    )


@dataclass(frozen=True)
class Robot:
    """An arm as both nodes get it.

    Attributes:
        model: Path or `package://` URI of its URDF.
        params_file: Parameter file of both nodes.
        overrides_model: Whether `model` has to be handed to the nodes beside the file.
    """

    model: str
    params_file: Path
    overrides_model: bool

    @classmethod
    def of(cls, name: str = DEFAULT_ROBOT, *, model: str = '', params_file: str = '') -> Self:
        """Choose an arm; what is left empty is the robot's own.

        A model that is named here stands above the file's, the file's above the robot's.

        Args:
            name: A robot that ships with the package.
            model: Path or `package://` URI of another URDF.
            params_file: Path of another parameter file.

        Raises:
            UnknownNameError: No such robot ships.
            ConfigurationError: The URDF or the parameter file is not there, or not readable.
        """
        names = robot_names()
        if name not in names:
            raise UnknownNameError('robot', name, names)
        own_file = share_directory() / 'config' / f'{name}.yaml'
        path = Path(params_file).expanduser().absolute() if params_file else own_file
        in_file = _model_in(path)
        chosen = model or in_file or f'package://{PACKAGE}/urdf/{name}.urdf'
        if '://' not in chosen:
            chosen = str(Path(chosen).expanduser().absolute())
        find_model_file(chosen)
        return cls(chosen, path, overrides_model=bool(model) or not in_file)

    def description(self) -> str:
        """Return the URDF as text, as `robot_state_publisher` takes it."""
        return find_model_file(self.model).read_text()


def _model_in(path: Path) -> str:
    """Return the model that a parameter file gives to the bridge; empty where it gives none."""
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f'parameter file {path} cannot be read: {error}') from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f'parameter file {path} is not YAML: {error}') from error
    model = ''
    for pattern, entry in content.items() if isinstance(content, dict) else ():
        if str(pattern).rpartition('/')[2] in (_BRIDGE, '**'):
            parameters = entry.get('ros__parameters') if isinstance(entry, dict) else None
            model = (parameters or {}).get('model') or model
    return str(model)
