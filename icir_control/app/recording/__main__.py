"""The recorder as a process: `python -P -m icir_control.app.recording FILE`."""

import sys
from pathlib import Path

from icir_control.app.recording import record_here
from icir_control.errors import IcirError

if __name__ == '__main__':
    try:
        sys.exit(not record_here(Path(sys.argv[1])))
    except IcirError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
