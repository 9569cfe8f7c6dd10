"""The command `check RUN`, with DuckDB in the place of Spark, and without the first look and the
rules that the experiment does not declare, which write nothing: all else is as it is.

python -m tests.torture.quick_check RUN
"""

from __future__ import annotations

import sys
from contextlib import closing
from unittest.mock import patch

from harness.cli.main import main
from harness.suite.judging import Judge, duckdb_engine

if __name__ == "__main__":
    with (
        closing(duckdb_engine()) as engine,
        patch.object(Judge, "_start", lambda _self: None),
        patch.object(Judge, "session", lambda _self: None),
        patch("harness.check.check.fits_in_memory", lambda _run_dir: False),
        patch("harness.check.others.others_of", lambda _run: []),
        patch("harness.tables.engines.spark.Spark", lambda _session: engine),
    ):
        sys.exit(main(["check", *sys.argv[1:]]))
