"""See the package."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

from harness.base import processes
from harness.base.errors import Exit, HarnessError
from harness.run.interrupts import Interrupted, interruptible, uninterrupted
from tests import machine
from tests.machine import browser
from tests.machine.engine import engine, lacking
from tests.machine.packages import install

_PATIENCE_S: Final = 60.0  # with what heals and cleans up


def main(arguments: list[str]) -> int:
    """Run the command; its exit code."""
    if arguments[:1] != ["run"] or len(arguments) < 2:
        print(machine.__doc__, file=sys.stderr)
        return Exit.BAD_ARGUMENTS
    try:
        install(*browser.lacking(), *lacking())
        with interruptible(), engine() as found:
            return _run(arguments[1:], {**os.environ, **found, machine.REQUIRED: "1"})
    except Interrupted:
        print("interrupted; the engine is ended", file=sys.stderr)
        return Exit.INTERRUPTED
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.FAILED


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Its exit code; where this is interrupted, it is asked to end before the engine does."""
    with subprocess.Popen(command, env=environment) as child:
        try:
            return child.wait()
        except Interrupted:
            with uninterrupted(lambda text: print(text, file=sys.stderr)):
                child.terminate()
                if processes.wait_exit(child, _PATIENCE_S) is None:
                    child.kill()
            raise


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
