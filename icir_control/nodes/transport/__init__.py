"""The topics of states and commands: arrays in and out, one message each per control period.

The fast path keeps messages in serialised form and waits on a wait set of its own; the plain path
uses the public client library alone. Both have the same interface and give the same arrays.

Beside them stand what all nodes need to talk to another one: a client of its services and
parameters, requests to the controller with their outcomes, and messages as numbers.
"""
