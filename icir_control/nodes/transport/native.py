"""The parts of rclpy that are not public and that the fast path leans on, found or not.

A version of rclpy without one of them runs the same nodes through the public executor.
"""

from types import ModuleType

from rclpy.subscription import Subscription

try:
    from rclpy.impl.implementation_singleton import rclpy_implementation
except ImportError:
    rclpy_implementation: ModuleType | None = None

_WAIT_SET_METHODS = (
    'clear_entities',
    'add_subscription',
    'add_service',
    'add_client',
    'add_timer',
    'add_guard_condition',
    'is_ready',
    'get_ready_entities',
    'wait',
)


def has_native_parts() -> bool:
    """Return whether this rclpy has the wait set and the take that the fast path needs."""
    wait_set = getattr(rclpy_implementation, 'WaitSet', None)
    subscription = getattr(rclpy_implementation, 'Subscription', None)
    return (
        all(hasattr(wait_set, method) for method in _WAIT_SET_METHODS)
        and hasattr(subscription, 'take_message')
        and hasattr(Subscription, 'handle')
    )
