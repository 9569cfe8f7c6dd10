"""See the package."""

from __future__ import annotations

import os
import subprocess
import sys

from harness.base.errors import Exit, HarnessError
from tests import machine
from tests.machine import browser
from tests.machine.engine import engine


def main(arguments: list[str]) -> int:
    """Run the command; its exit code."""
    if arguments[:1] != ["run"] or len(arguments) < 2:
        print(machine.__doc__, file=sys.stderr)
        return Exit.BAD_ARGUMENTS
    try:
        browser.bring()
        with engine() as found:
            environment = {**os.environ, **found, machine.REQUIRED: "1"}
            return subprocess.run(arguments[1:], env=environment, check=False).returncode
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
