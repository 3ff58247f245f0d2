"""The command line: simulation, demo, recordings and their reports, studies, acceptance tests."""
