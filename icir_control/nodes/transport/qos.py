"""Qualities of service that several nodes share."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

PUBLISHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
# A best-effort subscription to a reliable publisher does not acknowledge: 2/3 of the latency.
SUBSCRIBED = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
OUTCOMES = QoSProfile(depth=20, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Deep enough that an outcome reaches a slow subscriber before newer ones take its place."""
