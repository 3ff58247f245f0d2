"""Builds the documentation: `make docs`, then open build/docs/index.html."""

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from icir_control.control import ControllerConfig  # noqa: E402
from icir_control.nodes.bridge.config import BridgeConfig  # noqa: E402
from icir_control.nodes.robot import ROBOT, LoadedRobot  # noqa: E402
from icir_control.parameter import Parameter, parameters_of  # noqa: E402

project = 'icir_control'
copyright = 'The icir_control authors'
extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx.ext.napoleon', 'sphinx.ext.viewcode']
exclude_patterns = ['_build']
html_theme = 'furo'
html_title = 'icir_control'
html_show_sphinx = False

# One backtick is code, as in Markdown.
default_role = 'code'
myst_heading_anchors = 3
myst_enable_extensions = ['dollarmath']
# A fenced block without a language, and what a docstring shows, is no Python.
highlight_language = 'none'

autodoc_member_order = 'bysource'
autodoc_typehints = 'signature'
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False


def rows(parameters: dict[str, Parameter], joints: int) -> list[str]:
    """Return the lines of a table of parameters."""
    lines = ['| name | unit | default | while running | meaning |', '|---|---|---|---|---|']
    for name, one in sorted(parameters.items()):
        default = '' if one.default is None else f'`{one.default}`'.replace('``', '')
        running = 'yes' if one.running else 'no'
        meaning = f'{one.description}; {one.expected(joints)}'.replace('|', r'\|')
        lines.append(f'| `{name}` | {one.unit} | {default} | {running} | {meaning} |')
    return lines


def write_parameters() -> None:
    """Write the tables of all parameters, from their declarations."""
    robot = LoadedRobot.of({}, 'controller')
    config = ControllerConfig.from_parameters(robot.parameters, robot.model)
    joints = robot.model.nv
    lines = [
        '# Parameters',
        '',
        'Made from their declarations, for an arm of six joints. `ros2 param describe` tells the '
        'same of a running node, `print(robot.parameters)` of a `Robot`.',
        *('', '## Of both nodes', '', *rows(ROBOT, joints)),
        *('', '## mujoco_bridge', '', *rows(parameters_of(BridgeConfig), joints)),
        *('', '## controller', '', *rows(config.parameters, joints), ''),
    ]
    (DOCS / 'reference' / 'parameters.md').write_text('\n'.join(lines))


def escape_bars(_app: Any, _what: str, _name: str, _of: Any, _options: Any, lines: list) -> None:
    """Let |x| be a norm, and no substitution of reStructuredText, outside of code."""
    for i, line in enumerate(lines):
        parts = re.split(r'(`[^`]*`)', line)
        parts[::2] = [part.replace('|', r'\|') for part in parts[::2]]
        lines[i] = ''.join(parts)


def setup(app: Any) -> None:
    """Write what is generated, and look at each docstring."""
    write_parameters()
    app.connect('autodoc-process-docstring', escape_bars)
