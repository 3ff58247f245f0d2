"""How many cases the tests that draw theirs try: few by `make test`, many by `make test-long`."""

import os

from hypothesis import settings

_LONG = os.environ.get('FUZZ_CASES')
EXAMPLES = 100 if _LONG else 40
FUZZED = settings(max_examples=int(_LONG or 100), deadline=None)
