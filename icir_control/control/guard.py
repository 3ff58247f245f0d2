"""A law can be a user's own code: whatever it raises becomes an error that names it."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from icir_control.control.law import Law
from icir_control.errors import IcirError, LawError


@contextmanager
def guarded(law: type[Law], method: str) -> Iterator[None]:
    """Turn what a law's method raises, unless it is an error of ours, into a `LawError`.

    Args:
        law: The class.
        method: What is called, for the message.

    Raises:
        LawError: Says which law failed, where and why.
    """
    try:
        yield
    except IcirError:
        raise
    except Exception as error:  # a user's code may raise anything, and an arm hangs on it
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise LawError(
            f'{law.__module__}:{law.__qualname__}',
            f'{method}: {type(error).__name__}: {error} ({place.filename}, line {place.lineno})',
        ) from error
