"""The command `check RUN` without a JVM: a worker's work is done here, and all else is as it is.

python -m tests.torture.quick_check RUN
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

from harness.cli.main import main
from harness.suite import verdict_job
from harness.suite.judging import Judge


def judged(_spark: object, run_dir: Path, *_: object, **__: object) -> verdict_job.Files:
    """As the job of this name."""
    rows = verdict_job.table_of(verdict_job.files_of(run_dir)).to_batches()
    answers = (batch.to_pydict() for batch in verdict_job.answers(rows))
    return {path: content for rows in answers for path, content in zip(*rows.values(), strict=True)}


if __name__ == "__main__":
    with (
        patch.object(Judge, "_start", lambda _self: None),
        patch.object(Judge, "session", lambda _self: None),
        patch.object(verdict_job, "judged", judged),
    ):
        sys.exit(main(["check", *sys.argv[1:]]))
