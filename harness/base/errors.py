"""Every way the harness can fail, and the exit code each one ends the command with.

    HarnessError            3  the harness itself failed, or the run is void
    ├── SetupError          3  something the machine needs is missing or broken
    ├── ClusterError        3  a broker, controller or proxy did not do what it must
    ├── VoidRun             3  the run was spoilt from outside, so nothing can be judged
    ├── WaitTimeout         3  a named condition was not reached in time
    ├── BadInput            4  the user asked for something that cannot be
    │   └── CannotImport    4  a module of the user's own ends with an error when it is read
    └── NoData              5  there is nothing to check or to report

Each message is one sentence for the user: what was wrong, where, what to do.
"""

import os
from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """Exit codes of every command; a contract with users (docs/commands.md)."""

    AS_EXPECTED = 0
    DIFFERS = 1
    INTERRUPTED = 2
    FAILED = 3
    BAD_ARGUMENTS = 4
    NO_DATA = 5
    BUSY = 6  # all that differs was withheld, because this machine was too busy


class HarnessError(Exception):
    """The harness failed; its message is the sentence that the user reads."""

    exit_code: int = Exit.FAILED


class SetupError(HarnessError):
    """A tool that the harness needs is missing or broken."""


class ClusterError(HarnessError):
    """A broker, controller or proxy did not start, answer or obey."""


class VoidRun(HarnessError):
    """Something outside the plan happened (say, a broker died by itself): nothing can be judged."""


class WaitTimeout(HarnessError):
    """A named condition was not reached in time; the message says what was seen instead."""


class BadInput(HarnessError):
    """An experiment, setting or argument that cannot be."""

    exit_code: int = Exit.BAD_ARGUMENTS


class CannotImport(BadInput):
    """A module of the user's cannot be read; its cause, whose traceback is theirs, is shown too."""


class NoData(HarnessError):
    """Nothing was found to check or to report."""

    exit_code: int = Exit.NO_DATA


NO_MEMORY: Final = (
    "there is not enough memory: end other programs or lift the limit, and run the command again"
)


def refused(error: OSError) -> str:
    """What the machine did not let us do; Arrow names a file in the text of its errors only."""
    name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    why = error.strerror or str(error)
    return (
        f"the machine refused ({name}{' '.join(why.split())}): check that the path exists, is "
        "writable and has free space, and run the command again"
    )
