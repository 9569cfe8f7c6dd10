"""`make check`: format, lint and types.

`make test` lets the set-up do meanwhile what it leaves for after a first verdict: types take one
processor, and Spark's AOT cache little more than one, each for longer than a minute.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from harness.base.errors import Exit
from harness.run.interrupts import Interrupted, interruptible

CHECKS: Final = (
    ("-m", "ruff", "format", "--check", "."),
    ("-m", "ruff", "check", "."),
    ("-m", "mypy"),
)
REST_OF_SET_UP: Final = ("-m", "harness.provision", "exec", "--whole", "--", "-c", "")
BESIDE: Final = "--set-up"  # do the rest of the set-up meanwhile

Arguments = Sequence[str]  # of Python


def main(arguments: Sequence[str]) -> int:
    """Do the checks; the exit code of the first that fails, and no other is done then."""
    if arguments not in ([], [BESIDE]):
        print(f"{' '.join(arguments)} is not known: use {BESIDE}, or nothing", file=sys.stderr)
        return Exit.BAD_ARGUMENTS
    try:
        with interruptible():
            return done_beside(REST_OF_SET_UP, CHECKS) if arguments else done(CHECKS)
    except Interrupted:
        return Exit.INTERRUPTED


def done(commands: Sequence[Arguments]) -> int:
    """Run these, one after the other; the first exit code that is not 0."""
    codes = (subprocess.run([sys.executable, *each], check=False).returncode for each in commands)
    return next(filter(None, codes), 0)


def done_beside(other: Arguments, commands: Sequence[Arguments]) -> int:
    """Run these while `other` runs, which is ended if one of them fails."""
    # In a session of its own: Ctrl-C would reach it twice, and the second one its cleaning up.
    with subprocess.Popen([sys.executable, *other], start_new_session=True) as beside:
        code: int = Exit.FAILED
        try:
            code = done(commands)
        finally:
            if code:
                beside.terminate()
        return code or beside.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
