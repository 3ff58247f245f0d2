"""The recorder, suspended as soon as it has said a certain line, as one that gets no processor.

`python -m suspended_recorder FILE`; SUSPENDED_AT of the environment is how that line begins. A
signal from the test would come at any time; SIGCONT lets it go on.
"""

import os
import signal
import sys
from pathlib import Path

from icir_control.app.recording.recorder import record


def print_line(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
    if line.startswith(os.environ['SUSPENDED_AT']):
        os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == '__main__':
    sys.exit(not record(Path(sys.argv[1]), print_line))
