"""The token of a bridge's run, which the header of every state carries."""

import re
import secrets

_STEPS = re.compile(r'[0-9a-f]{16}-(?:euler-([1-9][0-9]{0,3})|(sampled))')


def new_token(euler_steps: int) -> str:
    """Return a token that no other run has, and that tells how the plant steps.

    Args:
        euler_steps: Of semi-implicit Euler in a control period; 0 for a continuous plant.
    """
    steps = f'euler-{euler_steps}' if euler_steps else 'sampled'
    return f'{secrets.token_hex(8)}-{steps}'


def euler_steps_of(token: str) -> int | None:
    """Return what a token tells of the plant's steps; None where it is no bridge's of ours."""
    found = _STEPS.fullmatch(token)
    return int(found[1] or 0) if found else None
