"""Torque control of robot arms: ROS 2 nodes, MuJoCo as the plant, an own dynamics core."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icir_control.robot import Robot

__all__ = ['Robot']


def __getattr__(name: str) -> Any:
    """Import `Robot` when it is first used: the nodes start without it."""
    if name == 'Robot':
        from icir_control.robot import Robot

        return Robot
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
