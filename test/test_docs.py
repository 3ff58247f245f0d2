"""The documents keep their word: snippets run; what they name, functions and tests, exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    'README.md',
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / 'docs').glob('**/*.md')),
]
SNIPPET = re.compile(r'^```python\n(.*?)^```', re.MULTILINE | re.DOTALL)
TEST_NAME = re.compile(r'`(test_\w+)`')

of_each_document = pytest.mark.parametrize('document', DOCUMENTS)


@of_each_document
def test_snippets_run(document, monkeypatch, tmp_path):
    """Run the Python blocks of a document in order, in one namespace, as from the checkout's root.

    What they write stays out of it.
    """
    for path in ROOT.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / document).read_text(encoding='utf-8')
    namespace = {'__name__': '__snippet__'}
    for snippet in SNIPPET.finditer(text):
        line = text.count('\n', 0, snippet.start(1))
        # Leading newlines let a traceback point into the document.
        code = compile('\n' * line + snippet.group(1), document, 'exec')
        exec(code, namespace)


@of_each_document
def test_named_tests_exist(document):
    sources = '\n'.join(path.read_text(encoding='utf-8') for path in ROOT.glob('test/**/*.py'))
    known = set(re.findall(r'^(?:async )?def (test_\w+)', sources, re.MULTILINE))
    known |= {path.stem for path in ROOT.glob('test/test_*.py')}
    named = set(TEST_NAME.findall((ROOT / document).read_text(encoding='utf-8')))
    assert named <= known, f'no such test: {sorted(named - known)}'


def slides() -> list[tuple[str, str, list[str]]]:
    """Each row of the table of slides: its heading, its name, its other cells."""
    rows, heading = [], ''
    for line in (ROOT / 'docs' / 'slides.md').read_text(encoding='utf-8').splitlines():
        if line.startswith('## '):
            heading = line
        elif line.startswith('| ') and not line.startswith(('| slide |', '| section |', '| q')):
            name, *cells = (cell.strip() for cell in line.strip('|').split(' | '))
            rows.append((heading, name, cells))
    return rows


def resolve(name: str) -> object:
    """What a dotted name means, from the package on."""
    found, parts = import_module('icir_control'), name.split('.')
    for i, part in enumerate(parts):
        if not hasattr(found, part):
            import_module('.'.join(['icir_control', *parts[: i + 1]]))
        found = getattr(found, part)
    return found


def test_every_slide_has_an_equation_a_function_a_test_and_a_picture():
    rows = slides()
    headings = [heading for heading, *_ in rows]
    assert all(f'00{seed}' in ' '.join(headings) for seed in range(5))
    assert len(rows) > 45
    for _, name, (equation, here, tests, picture) in rows:
        assert equation, name
        named = re.findall(r'`([^`]+)`', here)
        assert named, name
        for one in named:
            if not (ROOT / one).is_file():
                resolve(one)
        assert TEST_NAME.findall(tests), name  # which exist, by the test above
        image = re.fullmatch(r'\[.+\]\((images/[^)]+\.png)\)', picture)
        assert image, name
        assert (ROOT / 'docs' / image.group(1)).is_file(), name


def test_every_example_has_its_picture():
    examples = {path.stem for path in (ROOT / 'examples').glob('*.py')}
    assert {path.stem for path in (ROOT / 'docs/images/examples').glob('*.png')} == examples
    page = (ROOT / 'docs' / 'examples.md').read_text(encoding='utf-8')
    assert set(re.findall(r'literalinclude} \.\./examples/(\w+)\.py', page)) == examples


def test_every_document_is_on_the_site():
    pages = {path.stem for path in (ROOT / 'docs').glob('*.md')} - {'index'}
    listed = (ROOT / 'docs' / 'index.md').read_text(encoding='utf-8').splitlines()
    assert pages <= set(listed)
