"""Train the AOT cache of Spark's JVM: `python -m harness.bench.train_spark OUT` (Java 25 or newer).

Judges a small made-up run, so that what a real check loads and links is in the cache.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness.bench.synthetic import write_synthetic
from harness.check.check import SMALL_ROWS, check
from harness.provision.java import find_java
from harness.tables import session
from harness.tables.engines.spark import Spark

_RECORDS = 50_000


def main(output: Path) -> int:
    """Judge a made-up run in a JVM that writes what it learned to `output`."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-train-") as folder:
        run_dir = write_synthetic(Path(folder) / "run", _RECORDS)
        spark = session.start(find_java().binary, None, Path(folder) / "spark.log", output)
        try:
            for small_rows in (SMALL_ROWS, 0, SMALL_ROWS):  # the one way, the other, and again
                check(run_dir, Spark(spark), small_rows)
        finally:
            session.stop(spark)
    if not output.is_file():
        print(f"Java wrote no AOT cache to {output}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
