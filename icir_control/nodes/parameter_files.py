"""Parameter files as a user writes them: checked, and made readable for ROS, before it reads them.

The parser of ROS names no file in some of its messages, lets the second of two equal keys win
without a word, and refuses a list such as `[0, 45.5]` that mixes integers and decimals.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import yaml

from icir_control.errors import ConfigurationError

_INTEGER = re.compile(r'[-+]?[0-9]+')
_INTEGER_TAG = 'tag:yaml.org,2002:int'
_FLOAT_TAG = 'tag:yaml.org,2002:float'
_FILE_FLAG = '--params-file'
_VALUE_FLAGS = ('-p', '--param')


@contextmanager
def readable_parameters(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give command line arguments whose parameters ROS reads as they are meant.

    Files that need no change are named as they were; the others are written anew to a folder that
    is gone when the context ends, which must be after ROS was initialised.

    Args:
        arguments: The process's arguments, with or without `--ros-args`.

    Raises:
        ConfigurationError: A file is missing, not YAML, or has one key twice; names it.
    """
    changed = list(arguments)
    with ExitStack() as folders:
        for i, (flag, value) in enumerate(pairwise(arguments), start=1):
            if flag == _FILE_FLAG:
                text = _read(Path(value))
                readable = _with_equal_types(text, value)
                if readable != text:
                    changed[i] = str(_write(readable, folders))
            elif flag in _VALUE_FLAGS and ':=' in value:
                name, _, text = value.partition(':=')
                with suppress(ConfigurationError):  # ROS says itself which rule it cannot read
                    changed[i] = f'{name}:={_with_equal_types(text, value)}'
        yield changed


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else 'not a text file'
        raise ConfigurationError(f'parameter file {path} cannot be read: {reason}') from error


def _write(text: str, folders: ExitStack) -> Path:
    """Write a file into a folder that is gone when the stack is closed."""
    try:
        folder = folders.enter_context(tempfile.TemporaryDirectory(prefix='parameters_'))
        path = Path(folder) / 'parameters.yaml'
        path.write_text(text)
    except OSError as error:
        raise ConfigurationError(
            f'no temporary file can be written: {error.strerror}; make room, or name a folder with'
            ' room in TMPDIR'
        ) from error
    return path


def _with_equal_types(text: str, source: str) -> str:
    """Return YAML in which the integers of a list that also holds decimals are decimals too."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        place = getattr(error, 'problem_mark', None)
        line = f' at line {place.line + 1}' if place else ''
        problem = getattr(error, 'problem', None) or 'cannot be parsed'
        raise ConfigurationError(f'{source} is not YAML{line}: {problem}') from error
    ends: list[int] = []
    for node in _walk(root):
        if isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys(node, source)
        elif isinstance(node, yaml.SequenceNode):
            tags = {entry.tag for entry in node.value}
            if tags == {_INTEGER_TAG, _FLOAT_TAG}:
                ends += [
                    entry.end_mark.index
                    for entry in node.value
                    if entry.tag == _INTEGER_TAG and _INTEGER.fullmatch(entry.value)
                ]
    for end in sorted(ends, reverse=True):
        text = text[:end] + '.0' + text[end:]
    return text


def _walk(node: yaml.Node | None) -> Iterator[yaml.Node]:
    """Yield a YAML node and everything below it."""
    if node is None:
        return
    yield node
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _walk(value)
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _walk(entry)


def _refuse_repeated_keys(node: yaml.MappingNode, source: str) -> None:
    seen: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if key.value in seen:
            raise ConfigurationError(
                f'{source} has {key.value!r} twice in one place, at lines'
                f' {seen[key.value]} and {line}; each name may stand there once'
            )
        seen[key.value] = line
