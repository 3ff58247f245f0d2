"""Compare two runs of the tests by their JUnit files: the second must have run no fewer."""

import sys
import xml.etree.ElementTree as ET

LISTED = 20


def run_in(file: str) -> set[str]:
    """Return the tests that ran, neither skipped nor left out."""
    cases = ET.parse(file).iter('testcase')
    return {
        f'{case.get("classname", "").removeprefix("icir_control.")}::{case.get("name")}'
        for case in cases
        if case.find('skipped') is None
    }


def main(expected_file: str, file: str) -> int:
    """Say how many tests ran in both; 1 where the second run lacks some, or has none."""
    expected, found = run_in(expected_file), run_in(file)
    missing = sorted(expected - found)
    print(f'{len(found)} tests ran in {file}, {len(expected)} in {expected_file}')
    for name in missing[:LISTED]:
        print(f'did not run: {name}')
    if len(missing) > LISTED:
        print(f'and {len(missing) - LISTED} more')
    return int(bool(missing) or not found)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
