"""The panel: a page in the browser that shows the arm, and through which it can be moved."""
