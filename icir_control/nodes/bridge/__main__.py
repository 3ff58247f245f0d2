"""`python -m icir_control.nodes.bridge`."""

import sys

from icir_control.nodes.bridge import main

if __name__ == '__main__':
    sys.exit(main())
