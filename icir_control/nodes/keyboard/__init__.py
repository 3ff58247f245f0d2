"""The keyboard: single keys at a terminal select the controller's modes.

A node and process of its own, or in the foreground of another program.
"""

from icir_control.nodes.keyboard.keyboard import Keyboard
from icir_control.nodes.keyboard.terminal import NoTerminalError

__all__ = ['Keyboard', 'NoTerminalError']
