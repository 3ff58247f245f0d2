"""The documents keep their word: their snippets run, the tests that they name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / 'docs').glob('**/*.md'))
SNIPPET = re.compile(r'^```python\n(.*?)^```', re.MULTILINE | re.DOTALL)
TEST_NAME = re.compile(r'`(test_\w+)`')

of_each_document = pytest.mark.parametrize('document', DOCUMENTS)


@of_each_document
def test_snippets_run(document, monkeypatch):
    """Run the Python blocks of a document in order, in one namespace, from the checkout's root."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / document).read_text(encoding='utf-8')
    namespace = {'__name__': '__snippet__'}
    for snippet in SNIPPET.finditer(text):
        line = text.count('\n', 0, snippet.start(1))
        # Leading newlines let a traceback point into the document.
        code = compile('\n' * line + snippet.group(1), document, 'exec')
        exec(code, namespace)


@of_each_document
def test_named_tests_exist(document):
    sources = '\n'.join(path.read_text(encoding='utf-8') for path in ROOT.glob('test/*.py'))
    known = set(re.findall(r'^(?:async )?def (test_\w+)', sources, re.MULTILINE))
    known |= {path.stem for path in ROOT.glob('test/test_*.py')}
    named = set(TEST_NAME.findall((ROOT / document).read_text(encoding='utf-8')))
    assert named <= known, f'no such test: {sorted(named - known)}'
