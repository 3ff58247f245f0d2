"""`python -m icir_control.nodes.composed`."""

import sys

from icir_control.nodes.composed import main

if __name__ == '__main__':
    sys.exit(main())
