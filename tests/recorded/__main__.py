"""`make recorded`: play the runs that the tests play on real brokers, and keep their histories.

And some that only nights play. It takes about as long as these tests. A folder of results as its
argument is kept instead. The folder of one run of a program is kept beside those that there are.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness.history.manifest import FILE_NAME
from tests.cluster.test_experiments import BY_NIGHT, play
from tests.cluster.test_experiments import RUNS as PLAYED
from tests.recorded.keep import PROGRAMS, RUNS, keep, keep_program


def main() -> int:
    """Keep what was played; the exit code."""
    named = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if named and (named / FILE_NAME).exists():
        folder = keep_program(named)
        print(f"kept as {folder.relative_to(PROGRAMS.parent)}: say in test_recorded_programs.py")
        print("what it shows, and pin what it is judged to be with `make pin`")
        return 0
    if named:
        kept = keep(named)
    else:
        with tempfile.TemporaryDirectory() as results:
            play([*PLAYED, *BY_NIGHT], Path(results))
            kept = keep(Path(results))
    print(f"{len(kept)} runs are kept in {RUNS.relative_to(Path.cwd())}: look at `git diff`, and")
    print("renew what they are judged to be with `make pin`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
