"""Acceptance: what the control laws promise, measured on the simulated arm, without ROS.

Each module measures one promise and gives it as figures with their bounds; `checks` lists them.
`icir_control demo` shows them, and the tests hold them against the bounds once more.
"""

from icir_control.app.acceptance.checks import FULL, SHORT, Amount, Check, checks

__all__ = ['FULL', 'SHORT', 'Amount', 'Check', 'checks']
