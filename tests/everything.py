"""`make test ALL=1`: every test there is.

1. the tests without brokers, judged by DuckDB: what is wrong with a change mostly shows here
2. the tests with real brokers; meanwhile Spark judges every hand-written and recorded history, and
   has to agree with DuckDB on every row. It gets only processor time that nobody else wants, so
   that it makes nothing late that is timed, and finishes when the brokers have ended.

Both parts of 2 are always run to their end, so that one look shows everything that fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

PYTEST: Final = (sys.executable, "-m", "pytest")
TWO: Final = ("--numprocesses", "2", "--dist", "worksteal")
JUDGED: Final = ("tests/rules", "tests/check", "tests/recorded")
_IDLE: Final = getattr(os, "SCHED_IDLE", None)


def main() -> int:
    """Run them; the exit code of the first part that failed."""
    code = _run([*PYTEST, "-m", "not cluster", *TWO])
    if code:
        return code
    with tempfile.TemporaryFile("w+") as log:
        judging = _start_aside([*PYTEST, *JUDGED, "--engine", "both", *TWO], log)
        try:
            code = _run([*PYTEST, "-m", "cluster"])
            began = time.monotonic()
            both = judging.wait()
        finally:
            judging.terminate()
            judging.wait()
        print(f"\nSpark and DuckDB, {time.monotonic() - began:.0f} s after the brokers had ended:")
        log.seek(0)
        print(log.read() if both else log.read().splitlines()[-1])
    return code or both


def _run(command: Sequence[str]) -> int:
    return subprocess.run(command, check=False).returncode


def _start_aside(command: Sequence[str], log: IO[str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        stdout=log,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    if _IDLE is not None:  # before its first import, so all that it starts inherits this
        os.sched_setscheduler(process.pid, _IDLE, os.sched_param(0))
    return process


if __name__ == "__main__":
    sys.exit(main())
