"""Train the AOT cache of Spark's JVM: `python -m harness.bench.train_spark OUT` (Java 25 or newer).

Judges a small made-up run as `check` does: what a real check loads and links is in the cache then.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness.bench.synthetic import write_synthetic
from harness.provision.java import find_java
from harness.suite import job
from harness.tables import session

_RECORDS = 50_000


def main(output: Path) -> int:
    """Judge a made-up run in a JVM that writes what it learned to `output`."""
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-train-") as folder:
        run_dir = write_synthetic(Path(folder) / "run", _RECORDS)
        spark = session.start(find_java().binary, None, Path(folder) / "spark.log", output)
        try:
            job.judged(spark, run_dir, None, elsewhere=False)
        finally:
            session.stop(spark)
    if not output.is_file():
        print(f"Java wrote no AOT cache to {output}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
