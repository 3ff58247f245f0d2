"""How many cases the fuzz tests try."""

import os

from hypothesis import settings

FUZZED = settings(max_examples=int(os.environ.get('FUZZ_CASES', '200')), deadline=None)
