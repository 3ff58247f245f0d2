"""How the processes of a session find and reach each other, and how far they look."""

import os
from pathlib import Path

from icir_control.share import share_directory

DISCOVERY_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'

_LOCAL, _BY_PROFILE = 'LOCALHOST', 'SYSTEM_DEFAULT'
_PEERS = 'ROS_STATIC_PEERS'
_CONFIG = share_directory() / 'config'
_PROFILE, _LOCAL_PROFILE = _CONFIG / 'fast_dds.xml', _CONFIG / 'fast_dds_this_machine.xml'
_VARIABLES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
_TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
_FILES = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')  # of this folder


def stay_on_this_machine() -> None:
    """Keep discovery to this machine, unless the user has said how far it goes."""
    os.environ.setdefault(DISCOVERY_RANGE, _LOCAL)


def is_kept_to_this_machine() -> bool:
    """Return whether discovery ends at this machine."""
    is_by_profile = os.environ.get(_VARIABLES[0]) == str(_LOCAL_PROFILE)
    return is_by_profile or os.environ.get(DISCOVERY_RANGE) == _LOCAL


def configure_fast_dds() -> None:
    """Let Fast DDS use UDP alone and announce this process often, unless the user has a profile.

    To be called before ROS is initialised. For this machine alone ROS adds shared memory to every
    profile (`create_participant` of rmw_fastrtps_shared_cpp), whatever the user has chosen; so it
    is the profile that keeps to this machine here, and ROS that is told to follow it.
    """
    if any(os.environ.get(name) for name in _VARIABLES) or any(Path(x).exists() for x in _FILES):
        return
    if os.environ.get(DISCOVERY_RANGE) == _LOCAL and not os.environ.get(_PEERS):
        os.environ[_VARIABLES[0]] = str(_LOCAL_PROFILE)
        os.environ[DISCOVERY_RANGE] = _BY_PROFILE
    elif not os.environ.get(_TRANSPORTS):
        os.environ[_VARIABLES[0]] = str(_PROFILE)
