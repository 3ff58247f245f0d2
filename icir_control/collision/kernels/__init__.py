"""Compiled distances of shapes; see `layout` for what lies where in their tables."""
