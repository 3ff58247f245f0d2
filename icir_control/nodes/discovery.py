"""How the processes of a session find and reach each other, and how far they look."""

import os
from pathlib import Path

from icir_control.share import share_directory

DISCOVERY_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'

_LOCAL, _BY_PROFILE = 'LOCALHOST', 'SYSTEM_DEFAULT'
_PEERS = 'ROS_STATIC_PEERS'
_TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
_PROFILE, _LOCAL_PROFILE = 'fast_dds.xml', 'fast_dds_this_machine.xml'
_VARIABLES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
_FILES = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')  # of this folder


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
    rmw_fastrtps_shared_cpp), whatever the user has chosen; so it is the profile that keeps to this
    machine here, and ROS that is told to follow it.
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


def _path_of(profile: str) -> str:
    return str(share_directory() / 'config' / profile)
