"""Discovery: how far it reaches, by which Fast DDS profile, and through which UDP ports.

The ports follow the DDS interoperability wire protocol (DDSI-RTPS 2.2, section 9.6.1): each domain
has its block of ports, and each process of a domain takes the next free pair in it.
"""

import os
import random
import socket
from pathlib import Path

from icir_control.errors import ConfigurationError
from icir_control.share import share_directory

DISCOVERY_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'

_LOCAL, _BY_PROFILE = 'LOCALHOST', 'SYSTEM_DEFAULT'
_PEERS = 'ROS_STATIC_PEERS'
_TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
_PROFILE, _LOCAL_PROFILE = 'fast_dds.xml', 'fast_dds_this_machine.xml'
_VARIABLES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
# In the working directory.
_FILES = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')

_FIRST_PORT, _PORTS_PER_DOMAIN = 7400, 250
_FIRST_PAIR, _PAIR = 10, 2
_LAST_PORT = 65535
_DOMAINS = range(1, 101)
"""Among which a free one is looked for."""
# Pairs that Fast DDS tries: fewer where discovery is kept to this machine.
_LOCAL_PAIRS, _PAIRS = 32, 100


def stay_on_this_machine() -> None:
    """Keep discovery to this machine, unless the user has said how far it goes."""
    os.environ.setdefault(DISCOVERY_RANGE, _LOCAL)


def is_kept_to_this_machine() -> bool:
    """Return whether discovery ends at this machine."""
    is_by_profile = os.environ.get(_VARIABLES[0]) == _path_of(_LOCAL_PROFILE)
    return is_by_profile or os.environ.get(DISCOVERY_RANGE) == _LOCAL


def configure_fast_dds() -> None:
    """Let Fast DDS use UDP alone and announce this process often, unless the user has a profile.

    To be called before ROS is initialised; processes that are started later inherit it. For this
    machine alone ROS adds shared memory to every profile (`create_participant` of
    rmw_fastrtps_shared_cpp), whatever the user has chosen. So the profile keeps discovery to this
    machine here, and ROS is set to follow the profile.
    """
    ours = ('', _path_of(_PROFILE), _path_of(_LOCAL_PROFILE))
    if any(os.environ.get(name, '') not in ours for name in _VARIABLES):
        return
    if any(Path(name).exists() for name in _FILES):
        return
    if is_kept_to_this_machine() and not os.environ.get(_PEERS):
        os.environ[_VARIABLES[0]] = _path_of(_LOCAL_PROFILE)
        os.environ[DISCOVERY_RANGE] = _BY_PROFILE
    elif not os.environ.get(_TRANSPORTS):
        os.environ[_VARIABLES[0]] = _path_of(_PROFILE)


def is_domain_unused(domain: int) -> bool:
    """Return whether no process of this machine is in a ROS domain.

    Args:
        domain: Its number.
    """
    first = _FIRST_PORT + _PORTS_PER_DOMAIN * domain
    return _is_free(first) and _is_free(first + _FIRST_PAIR)


def free_domain() -> int:
    """Return a ROS domain that no process of this machine is in.

    Raises:
        ConfigurationError: There is none.
    """
    for domain in random.SystemRandom().sample(_DOMAINS, len(_DOMAINS)):
        if is_domain_unused(domain):
            return domain
    raise ConfigurationError('every ROS domain of this machine is in use')


def check_ports(domain: int) -> None:
    """Check that a ROS domain has a free pair of ports for one more process of this machine.

    Without one, Fast DDS starts, receives nothing, and reports no error.

    Args:
        domain: Its number.

    Raises:
        ConfigurationError: All ports are taken, or the domain has none.
    """
    last_domain = (_LAST_PORT - _FIRST_PORT - _FIRST_PAIR - 1) // _PORTS_PER_DOMAIN
    if not 0 <= domain <= last_domain:
        raise ConfigurationError(f'ROS_DOMAIN_ID = {domain}; expected 0 to {last_domain}')
    pairs = _LOCAL_PAIRS if is_kept_to_this_machine() else _PAIRS
    first = _FIRST_PORT + _PORTS_PER_DOMAIN * domain + _FIRST_PAIR
    for port in range(first, min(first + pairs * _PAIR, _LAST_PORT), _PAIR):
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


def _path_of(profile: str) -> str:
    return str(share_directory() / 'config' / profile)
