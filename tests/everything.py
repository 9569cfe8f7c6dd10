"""`make test ALL=1`, and `make test ALL=every`: every test there is, each once.

1. the tests that need no brokers. DuckDB and Spark have to give the same rows of all hand-written
   and kept histories (tests/tables/test_both_engines.py)
2. the tests with real brokers

With `ALL=1` the tests that are marked `long` take turns (tests/daily_turns.py), with `every` they
do not.

What is wrong with a change mostly shows in the first, and then the second is left out. Nothing
runs beside the brokers: timings of a process that had to wait for a processor would be withheld.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from harness.base.errors import Exit
from tests import daily_turns

EVERY: Final = "every"
PYTEST: Final = (sys.executable, "-m", "pytest")
TWO: Final = ("--numprocesses", "2", "--dist", "worksteal")
SLOWEST: Final = "--durations=30"  # what to look at first when this takes too long
UNUSED: Final = "--snapshot-details"  # a pin that no test asks for fails them all: name it
# Where they are: to import all other tests takes half a minute, in which nothing is played.
WITH_BROKERS: Final = ("tests/cluster", "tests/docker", "tests/torture")


def main(arguments: Sequence[str]) -> int:
    """Run them; the exit code of the first part that failed."""
    if arguments not in ([], [EVERY]):
        print(f"{' '.join(arguments)} is not known: use {EVERY}, or nothing", file=sys.stderr)
        return Exit.BAD_ARGUMENTS
    which = [] if arguments else [daily_turns.OPTION]
    return _run("-m", "not cluster", "--engine", "both", *TWO, SLOWEST, UNUSED, *which) or _run(
        *WITH_BROKERS, "-m", "cluster", SLOWEST, *which
    )


def _run(*arguments: str) -> int:
    """The exit code of pytest, which cleans up when it is interrupted, however that came."""
    with subprocess.Popen([*PYTEST, *arguments]) as tests:
        signal.signal(signal.SIGTERM, lambda *_: tests.send_signal(signal.SIGINT))
        try:
            return tests.wait()
        except KeyboardInterrupt:  # Ctrl-C reaches both
            return tests.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
