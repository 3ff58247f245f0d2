"""The command line: the simulation, the demo, its report and plots."""
