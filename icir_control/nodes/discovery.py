"""How the processes of a session find each other, and how far they look."""

import os
from pathlib import Path

from icir_control.share import share_directory

DISCOVERY_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'

_PROFILE = 'fast_dds.xml'
_VARIABLES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
_FILES = ('DEFAULT_FASTDDS_PROFILES.xml', 'DEFAULT_FASTRTPS_PROFILES.xml')  # of this folder


def stay_on_this_machine() -> None:
    """Keep discovery to this machine, unless the user has said how far it goes."""
    os.environ.setdefault(DISCOVERY_RANGE, 'LOCALHOST')


def announce_often() -> None:
    """Let Fast DDS announce this process more often, unless the user has a profile of his own.

    To be called before ROS is initialised. A process announces itself before it can hear
    (`RTPSParticipantImpl::enable` of Fast DDS 3.2): on a busy machine it misses the answers of
    those that were there before, which answer once, and announce themselves every 3 s.
    """
    if any(os.environ.get(name) for name in _VARIABLES) or any(Path(x).exists() for x in _FILES):
        return
    os.environ[_VARIABLES[0]] = str(share_directory() / 'config' / _PROFILE)
