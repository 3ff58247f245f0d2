"""The recorder, suspended as soon as it has said a certain line, as one that gets no processor.

`python -m suspended_recorder record FILE`; SUSPENDED_AT of the environment is how that line
begins. A signal from the test would come at any time; SIGCONT lets it go on.
"""

import os
import signal
import sys

from icir_control.app.main import main
from icir_control.app.recording import recorder


def print_line(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
    if line.startswith(os.environ['SUSPENDED_AT']):
        os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == '__main__':
    recorder.print_line = print_line
    main()
