"""`make test ALL=1`: every test there is.

1. the tests without brokers, judged by DuckDB: what is wrong with a change mostly shows here
2. the tests with real brokers
3. Spark judges hand-written and recorded histories, and has to agree with DuckDB on every row: all
   that are not on record as agreed on (tests/agreements.py), and an eighth of those that are

Nothing runs beside the brokers: with two processes of Spark beside them, though these got only
processor time that nobody else wanted, two of three probes were refused with a member id that they
had just been given (UNKNOWN_MEMBER_ID). Parts 2 and 3 are always run to their end, so that one look
shows everything that fails.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from tests.agreements import JUDGED

PYTEST: Final = (sys.executable, "-m", "pytest")
TWO: Final = ("--numprocesses", "2", "--dist", "worksteal")
SPARK: Final = ("--engine", "both", "-m", "spark")


def main() -> int:
    """Run them; the exit code of the first part that failed."""
    code = _run("-m", "not cluster", *TWO)
    if code:
        return code
    codes = [_run("-m", "cluster", "--durations=30"), _run(*JUDGED, *SPARK, *TWO)]
    return next(filter(None, codes), 0)


def _run(*arguments: str) -> int:
    return subprocess.run([*PYTEST, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
