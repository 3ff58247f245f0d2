"""Compare runs of the tests by their JUnit files: the first ran no fewer than all others."""

import sys
import xml.etree.ElementTree as ET
from collections import Counter


def run_in(file: str) -> Counter[str]:
    """Return how many cases of each test ran, neither skipped nor left out.

    Versions of pytest name the cases of a test differently; they are counted. One that ran once
    more is in the file twice.
    """
    cases = {
        (case.get('classname', '').removeprefix('icir_control.'), case.get('name', ''))
        for case in ET.parse(file).iter('testcase')
        if case.find('skipped') is None
    }
    return Counter(f'{module}::{name.partition("[")[0]}' for module, name in cases)


def main(file: str, *expected_files: str) -> int:
    """Say how many tests ran in each; 1 where the first run lacks some, or has none."""
    found = run_in(file)
    expected = sum(map(run_in, expected_files), Counter())
    missing = expected - found
    files = ' and '.join(expected_files)
    print(f'{found.total()} tests ran in {file}, {expected.total()} in {files}')
    for name, count in sorted(missing.items()):
        print(f'did not run: {name}, {count} of {expected[name]}')
    return int(bool(missing) or not found)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
