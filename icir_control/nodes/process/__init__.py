"""What makes a node robust as a process: start and stop, discovery, and who else is in the graph.

Nothing is imported here: `stop_request` has to be importable before anything that takes long.
"""
