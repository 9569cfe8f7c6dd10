"""`python -m harness`: the one command underneath every make target."""

import sys

from harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
