"""The UDP ports by which processes of a ROS domain find each other.

The rule is that of the DDS interoperability wire protocol (DDSI-RTPS 2.2, section 9.6.1): each
domain has its block of ports, and each process of a domain takes the next free pair in it.
"""

import socket

from icir_control.errors import ConfigurationError
from icir_control.nodes.discovery import is_kept_to_this_machine

_FIRST, _PER_DOMAIN = 7400, 250
_FIRST_PAIR, _PAIR = 10, 2
_LAST = 65535
# On this machine alone Fast DDS looks for so many others; elsewhere it tries so many pairs.
_MOST_LOCAL, _MOST = 32, 100


def is_unused(domain: int) -> bool:
    """Return whether no process of this machine is in a ROS domain.

    Args:
        domain: Its number.
    """
    first = _FIRST + _PER_DOMAIN * domain
    return _is_free(first) and _is_free(first + _FIRST_PAIR)


def check_ports(domain: int) -> None:
    """Look whether one more process of this machine can be heard in a ROS domain.

    Without a pair of ports it would start, hear nobody, and not say why.

    Args:
        domain: Its number.

    Raises:
        ConfigurationError: All ports are taken.
    """
    most = _MOST_LOCAL if is_kept_to_this_machine() else _MOST
    first = _FIRST + _PER_DOMAIN * domain + _FIRST_PAIR
    for port in range(first, min(first + most * _PAIR, _LAST), _PAIR):
        if _is_free(port) and _is_free(port + 1):
            return
    raise ConfigurationError(
        f'no free UDP port for one more process in ROS domain {domain}: {first} to {port + 1} are'
        ' all taken; end the processes that hold them, or choose another domain (ROS_DOMAIN_ID)'
    )


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', port))
        except OSError:
            return False
    return True
