"""The definition of a message type with all that it is made of, as MCAP files hold it.

The format is that of the schema encoding `ros2msg` (https://mcap.dev/spec/registry#ros2msg): the
`.msg` file, then those of the types in it, each after a separator and its name.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path

_SEPARATOR = '\n' + '=' * 80 + '\nMSG: '
_FIELD = re.compile(r'^\s*(?:(\w+)/)?([A-Z]\w*)(?:\[[^\]]*\])?\s+\w+', re.MULTILINE)


@cache
def definition_of(name: str) -> str:
    """Return the definition of a message type.

    Args:
        name: Of the type: `sensor_msgs/msg/JointState`.

    Raises:
        OSError: The package of the type is installed without its `.msg` files.
    """
    package, kind = name.split('/msg/')
    parts: dict[str, str] = {}
    _collect(package, kind, parts)
    first, *others = parts
    return parts[first] + ''.join(f'{_SEPARATOR}{other}\n{parts[other]}' for other in others)


def _collect(package: str, kind: str, parts: dict[str, str]) -> None:
    """Add the definition of a type, and of the types in it, by `package/kind`."""
    name = f'{package}/{kind}'
    if name in parts:
        return
    # prefix/lib/python3.x/site-packages/package/__init__.py, in a wheel and in a ROS installation
    prefix = Path(import_module(package).__file__ or '').parents[4]
    parts[name] = (prefix / 'share' / package / 'msg' / f'{kind}.msg').read_text()
    for inner_package, inner in _FIELD.findall(parts[name]):
        _collect(inner_package or package, inner, parts)
