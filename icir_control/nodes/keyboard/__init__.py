"""The keyboard: single keys at a terminal select the controller's modes.

A node and process of its own, or in the foreground of another program.
"""
