"""`make test ALL=1`: every test there is, each once.

1. the tests that judge no history, and need no brokers
2. those that judge hand-written and recorded histories. Spark has to agree with DuckDB on every
   row: all that are not on record as agreed on (tests/agreements.py), and an eighth of those that
   are
3. the tests with real brokers

What is wrong with a change mostly shows in the first two, and then the third is left out. Nothing
runs beside the brokers: with two processes of Spark beside them, though these got only processor
time that nobody else wanted, two of three probes were refused with a member id that they had just
been given (UNKNOWN_MEMBER_ID).
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from tests.agreements import JUDGED

PYTEST: Final = (sys.executable, "-m", "pytest")
TWO: Final = ("--numprocesses", "2", "--dist", "worksteal")
NO_BROKERS: Final = ("-m", "not cluster")


def main() -> int:
    """Run them; the exit code of the first part that failed."""
    elsewhere = [f"--ignore={folder}" for folder in JUDGED]
    codes = [
        _run(*NO_BROKERS, *elsewhere, *TWO),
        _run(*JUDGED, *NO_BROKERS, "--engine", "both", *TWO),
    ]
    if not any(codes):
        codes.append(_run("-m", "cluster", "--durations=30"))
    return next(filter(None, codes), 0)


def _run(*arguments: str) -> int:
    return subprocess.run([*PYTEST, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
