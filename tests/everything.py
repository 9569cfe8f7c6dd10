"""`make test ALL=1`: every test there is, each once.

1. the tests that need no brokers. Where they judge histories, hand-written or recorded, Spark has
   to agree with DuckDB on every row: of all that are not on record as agreed on
   (tests/agreements.py), and of a part of those that are
2. the tests with real brokers

What is wrong with a change mostly shows in the first, and then the second is left out. Nothing
runs beside the brokers: with two processes of Spark beside them, though these got only processor
time that nobody else wanted, two of three probes were refused with a member id that they had just
been given (UNKNOWN_MEMBER_ID).
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

PYTEST: Final = (sys.executable, "-m", "pytest")
TWO: Final = ("--numprocesses", "2", "--dist", "worksteal")


def main() -> int:
    """Run them; the exit code of the first part that failed."""
    return _run("-m", "not cluster", "--engine", "both", *TWO) or _run(
        "-m", "cluster", "--durations=30"
    )


def _run(*arguments: str) -> int:
    return subprocess.run([*PYTEST, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
