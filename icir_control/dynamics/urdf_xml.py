"""The text of a URDF, and the elements of it that the dynamics read, checked one by one.

What passes has the structure and the numbers that `yourdfpy` takes for granted; every other file
ends in a `ModelError` that names the element, its value and what would be valid.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from functools import cache
from math import inf, isinf, isnan
from pathlib import Path
from typing import Any, NoReturn

from icir_control.dynamics.builder import NO_INERTIA
from icir_control.errors import ModelError
from icir_control.share import SCHEME, package_folders

MAX_BYTES = 20_000_000
"""The largest known descriptions of humanoids take a twentieth of this."""
HAS_SHAPE = 'has_shape'
"""Attribute of a checked link that has visuals or collision shapes."""
_LINK_PARTS = ('inertial',)
_JOINT_PARTS = ('origin', 'parent', 'child', 'axis', 'limit', 'dynamics', 'mimic')
JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed', 'planar', 'floating')


_log = logging.getLogger(__name__)


@cache
def warn_once(text: str) -> None:
    """Warn of what is odd in a file, once in a process, which may read it several times."""
    _log.warning(text)


def read_source(
    path_or_xml: str | Path, package_dirs: Sequence[str | Path]
) -> tuple[str, bytes, str | None]:
    """Return a label for messages, the text, and its encoding where the text does not say it.

    Args:
        path_or_xml: A path, a `package://name/path`, or XML text (which begins with `<`).
        package_dirs: Folders that are packages, or hold packages.

    Raises:
        ModelError: There is no such file or package, it cannot be read, or it is too large.
    """
    if not isinstance(path_or_xml, str | os.PathLike):
        kind = type(path_or_xml).__name__
        raise ModelError(f'a robot description is a path or XML text, not {kind}')
    if isinstance(path_or_xml, str) and path_or_xml.lstrip('\ufeff \t\r\n').startswith('<'):
        text = path_or_xml.lstrip('\ufeff \t\r\n').encode('utf-8', errors='replace')
        _check_size('the robot description', len(text))
        return 'the robot description', text, 'utf-8'
    name = os.fspath(path_or_xml)
    if not name:
        raise ModelError('a robot description is a path or XML text, not an empty string')
    path = resolve_package(name, package_dirs) if name.startswith(SCHEME) else Path(name)
    return str(path), _read(path), None


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            what = 'is not a regular file' if path.exists() else 'does not exist'
            raise ModelError(f'robot description {str(path)!r} {what}; give the path of a URDF')
        with path.open('rb') as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f'robot description {str(path)!r} cannot be read: {error}') from None
    _check_size(str(path), len(text))
    return text


def _check_size(label: str, size: int) -> None:
    if size > MAX_BYTES:
        raise ModelError(f'{label} is longer than {MAX_BYTES // 1_000_000} MB; no URDF needs that')


def resolve_package(uri: str, package_dirs: Sequence[str | Path]) -> Path:
    """Return the path of a `package://name/path`; see `package_folders` for where it may be.

    Raises:
        ModelError: No place holds it; the message lists the places.
    """
    package, _, inside = uri.removeprefix(SCHEME).partition('/')
    if not package or not inside:
        raise ModelError(f'{uri!r} is not valid; expected {SCHEME}<package>/<path of a file>')
    places = package_folders(package, package_dirs)
    for folder in places:
        if (folder / inside).is_file():
            return folder / inside
    looked = ', '.join(map(str, places)) or '(none)'
    raise ModelError(f'{uri!r} is in none of the folders of package {package!r}: {looked}')


def parse_xml(label: str, text: bytes, encoding: str | None = None) -> Any:
    """Return the `<robot>` element of a URDF.

    A prefix that no `xmlns` declares, which other readers accept, is a part of the name.

    Raises:
        ModelError: The text is not XML, or the XML is no robot.
    """
    from lxml import etree

    def parser(*, recover: bool) -> Any:
        # External entities and DTDs stay unread, and libxml2 bounds depth, names and expansion.
        return etree.XMLParser(
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
            encoding=encoding,
            recover=recover,
        )

    strict = parser(recover=False)
    try:
        root = etree.fromstring(text, strict)
    except (etree.XMLSyntaxError, ValueError) as error:
        undeclared = etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE
        wrong = [entry for entry in strict.error_log if entry.type != undeclared]
        if wrong or not strict.error_log:
            where = f'{wrong[0].message} (line {wrong[0].line})' if wrong else error
            raise ModelError(f'{label} is not valid XML: {where}') from None
        root = etree.fromstring(text, parser(recover=True))
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise ModelError(f'{label} declares XML entities; write out what they stand for')
    if tag_of(root) != 'robot':
        raise ModelError(f'{label} begins with <{tag_of(root)}>; a URDF begins with <robot>')
    return root


def parse(label: str, text: bytes, encoding: str | None = None) -> Any:
    """Return the checked `<robot>` element, reduced to what the dynamics read.

    Raises:
        ModelError: The text is not XML, or the XML is not a robot that can be built.
    """
    root = parse_xml(label, text, encoding)
    return _Checker(label).robot(root, root.makeelement('robot'))


def tag_of(element: Any) -> str:
    """Return an element's name without the default namespace; others keep their prefix."""
    name = element.tag if isinstance(element.tag, str) else ''
    local = name.rpartition('}')[2]
    return f'{element.prefix}:{local}' if element.prefix else local


def children_of(element: Any, tag: str) -> Iterator[Any]:
    """Return an element's children of one name, as `tag_of` has it."""
    return (child for child in element if tag_of(child) == tag)


class _Checker:
    """Copies the elements that are read, and refuses what cannot be built."""

    def __init__(self, label: str) -> None:
        self._label = label

    def robot(self, source: Any, target: Any) -> Any:
        """Copy a whole robot."""
        target.set('name', source.get('name') or 'robot')
        self._links = self._named(source, 'link')
        self._joints = self._named(source, 'joint')
        if not self._links:
            hint = ''
            if any(tag_of(child).startswith('xacro:') for child in source.iter()):
                hint = '; it is a xacro file: run `xacro` on it first'
            raise ModelError(f'{self._label} has no <link>{hint}')
        for name, link in self._links.items():
            where = f'link {name!r}'
            copy = self._copy(link, target, _LINK_PARTS)
            if any(tag_of(child) in ('visual', 'collision') for child in link):
                copy.set(HAS_SHAPE, 'true')
            for inertial in copy.iterfind('inertial'):
                self._inertial(where, inertial)
        for name, joint in self._joints.items():
            self._joint(f'joint {name!r}', self._copy(joint, target, _JOINT_PARTS))
        for sensor in children_of(source, 'sensor'):
            self._sensor(sensor, target)
        return target

    def _named(self, source: Any, tag: str) -> dict[str, Any]:
        """Return the elements with a tag by name."""
        found: dict[str, Any] = {}
        for element in children_of(source, tag):
            name = element.get('name')
            if not name:
                self._fail(f'<{tag}> in line {element.sourceline}', 'has no name')
            if name in found:
                self._fail(f'{tag} {name!r}', 'occurs twice; names must be unique')
            found[name] = element
        return found

    def _copy(self, source: Any, parent: Any, parts: Sequence[str]) -> Any:
        """Copy an element with those of its children that are read, at most one of each."""
        # No name with a prefix means anything here.
        attributes = {name: text for name, text in source.attrib.items() if ':' not in name}
        target = parent.makeelement(tag_of(source), attributes)
        target.sourceline = source.sourceline  # for messages
        parent.append(target)
        for part in parts:
            found = list(children_of(source, part))
            if len(found) > 1:
                where = f'{target.tag} {target.get("name")!r}'
                self._fail(where, f'has {len(found)} elements <{part}>; expected at most one')
            for child in found:
                inner = dict.fromkeys(tag_of(grandchild) for grandchild in child)
                self._copy(child, target, [tag for tag in inner if ':' not in tag])
        return target

    def _inertial(self, where: str, inertial: Any) -> None:
        self._origin(f'{where}: <inertial>', inertial)
        mass, inertia = inertial.find('mass'), inertial.find('inertia')
        if mass is None or inertia is None:
            self._fail(where, 'has an <inertial> without <mass> or <inertia>; expected both')
        self._numbers(where, mass, 'value', lowest=0.0)
        for moment in ('ixx', 'iyy', 'izz'):
            self._numbers(where, inertia, moment, lowest=-NO_INERTIA)
        for moment in ('ixy', 'ixz', 'iyz'):
            self._numbers(where, inertia, moment)

    def _joint(self, where: str, joint: Any) -> None:
        kind = joint.get('type')
        if kind not in JOINT_TYPES:
            self._fail(where, f'has type={kind!r}; valid: {", ".join(JOINT_TYPES)}')
        for end in ('parent', 'child'):
            element = joint.find(end)
            if element is None:
                self._fail(where, f'has no <{end}>; expected <{end} link="..."/>')
            self._link_of(where, element)
        self._origin(where, joint)
        axis = joint.find('axis')
        if axis is not None and kind != 'fixed':
            direction = self._numbers(where, axis, 'xyz', '1 0 0', count=3)
            if not any(direction):
                self._fail(where, f"<axis> has xyz='{axis.get('xyz')}'; it must not be zero")
        self._limit(where, kind, joint.find('limit'))
        dynamics = joint.find('dynamics')
        if dynamics is not None:
            for name in ('damping', 'friction', 'armature'):
                self._numbers(where, dynamics, name, '0', lowest=0.0)
        mimic = joint.find('mimic')
        if mimic is not None:
            if mimic.get('joint') not in self._joints or mimic.get('joint') == joint.get('name'):
                self._fail(where, f'<mimic> has joint={mimic.get("joint")!r}; no other joint '
                           'has this name')  # fmt: skip
            self._numbers(where, mimic, 'multiplier', '1')
            self._numbers(where, mimic, 'offset', '0')

    def _limit(self, where: str, kind: str, limit: Any) -> None:
        if limit is None:
            return
        for name in ('effort', 'velocity'):
            self._numbers(where, limit, name, '0', lowest=0.0, is_finite=False)
        if kind in ('revolute', 'prismatic'):
            (lower,) = self._numbers(where, limit, 'lower', '0', is_finite=False)
            (upper,) = self._numbers(where, limit, 'upper', '0', is_finite=False)
            if lower > upper:
                shown = f'lower={limit.get("lower")!r} and upper={limit.get("upper")!r}'
                self._fail(where, f'<limit> has {shown}; expected lower at most upper')

    def _sensor(self, sensor: Any, target: Any) -> None:
        where = f'sensor {sensor.get("name")!r} in line {sensor.sourceline}'
        copy = self._copy(sensor, target, ('parent', 'origin'))
        parent = copy.find('parent')
        if not sensor.get('name') or parent is None:
            self._fail(where, 'lacks its name or <parent>; expected <parent link="..."/>')
        if parent.get('joint') in self._joints and parent.get('link') is None:
            # A force sensor in a joint: it sits where the joint's child does.
            parent.set('link', self._joints[parent.get('joint')].find('child').get('link'))
        self._link_of(where, parent)
        self._origin(where, copy)

    def _link_of(self, where: str, element: Any) -> None:
        link = element.get('link')
        if link not in self._links:
            shown = ', '.join(list(self._links)[:50])
            self._fail(where, f'<{element.tag}> has link={link!r}, which is no link; '
                       f'valid: {shown}')  # fmt: skip

    def _origin(self, where: str, element: Any) -> None:
        origin = element.find('origin')
        if origin is not None:
            for name in ('xyz', 'rpy'):
                self._numbers(where, origin, name, '0 0 0', count=3)

    def _numbers(
        self,
        where: str,
        element: Any,
        name: str,
        default: str | None = None,
        *,
        count: int = 1,
        lowest: float = -inf,
        is_finite: bool = True,
    ) -> list[float]:
        """Return an attribute's numbers, which are finite unless told otherwise."""
        text = element.get(name, default)
        numbers = _floats(text)
        kind = 'finite number' if is_finite else 'number'
        expected = f'a {kind}' if count == 1 else f'{count} {kind}s'
        found = f'<{element.tag}> has {name}={text!r}'
        is_wrong = any(isnan(x) or (is_finite and isinf(x)) for x in numbers)
        if is_wrong or len(numbers) != count:
            self._fail(where, f'{found}; expected {expected}')
        if min(numbers) < lowest:
            self._fail(where, f'{found}; expected 0 or more')
        return numbers

    def _fail(self, where: str, what: str) -> NoReturn:
        raise ModelError(f'{self._label}: {where} {what}')


def _floats(text: str | None) -> list[float]:
    """Return the numbers in a text; none if one of its words is no number."""
    try:
        # Python takes 1_0 for ten; no other reader of URDF does.
        return [float(word.replace('_', '?')) for word in (text or '').split()]
    except ValueError:
        return []
