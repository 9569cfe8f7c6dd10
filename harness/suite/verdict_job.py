"""The judging of a run as a PySpark job: its files go to a worker, its verdict's files come back.

The worker is a Python process of Spark: of the JVM on this machine, or on an executor of a cluster.
There it needs the same version of Python, with duckdb, pyarrow and sqlglot; the task brings this
package along. Every run is a job of its own, so one whose worker dies costs no other its verdict,
and a slow one holds none up.
"""

from __future__ import annotations

import io
import os
import platform
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import HarnessError
from harness.base.paths import ROOT
from harness.catalogue import own_modules
from harness.history import manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Files = dict[str, bytes]  # contents by path
Batches = Iterator[pa.RecordBatch]

# Rows of all files, up to which a worker judges a history in DuckDB. It holds every row in memory,
# 650 bytes each (measured with 7.3 million); the queries of a larger one are Spark's own work.
FEW_ROWS: Final = 2_000_000
OWN_RULES: Final = "own_rules"  # beside a run's files: the folder of its owner's rules
NOTHING: Final = "nothing"  # instead of a run's files: there is nothing to judge yet
PROBLEM: Final = "problem"  # instead of a verdict's files: why the run could not be judged
_FIELDS: Final[list[tuple[str, pa.DataType]]] = [("path", pa.string()), ("content", pa.binary())]
SCHEMA: Final = pa.schema(_FIELDS)

_PACKAGES: Final = ("harness", "consumers", "experiments")  # that a worker imports
_NEEDED: Final = (".py", ".sql")
_PYTHON: Final = ".".join(platform.python_version_tuple()[:2])
_LIBRARIES: Final = ("duckdb", "pyarrow", "sqlglot")  # that a worker imports, of other people
_LACKING: Final = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_CAUSE: Final = re.compile(r"Python worker exited|PYTHON_VERSION_MISMATCH|different version")
_COLUMNS: Final = "path string, content binary"  # SCHEMA, as Spark writes it


def fits(run_dir: Path) -> bool:
    """Whether a history is small enough for a worker to hold it, in 4 GB with Spark beside it."""
    rows = 0
    for path in (run_dir / "history").glob("*.parquet"):
        with suppress(OSError, pa.ArrowException):  # the verdicts say what is wrong with it
            rows += pq.read_metadata(path).num_rows
    return rows <= FEW_ROWS


def judged(spark: SparkSession, run_dir: Path, rules: Path | None, *, elsewhere: bool) -> Files:
    """The files of a verdict on the run in this folder, by their paths.

    `rules` is a folder with rules of the owner's, judged beside ours; `elsewhere` says that workers
    may be on other machines. Raises HarnessError with what the worker raised, and what Spark raises
    for a worker that died.
    """
    own = own_modules.files_in(rules) if rules else ()
    sent = [*files_of(run_dir), *((f"{OWN_RULES}/{each.name}", each.read_bytes()) for each in own)]
    files = _asked(spark, sent, elsewhere=elsewhere)
    if PROBLEM in files:
        raise HarnessError(files[PROBLEM].decode())
    return files


def warm(spark: SparkSession, *, elsewhere: bool) -> None:
    """Have a worker import all that judging needs, before there is anything to judge."""
    _asked(spark, [(NOTHING, b"")], elsewhere=elsewhere)


def _asked(spark: SparkSession, files: Iterable[tuple[str, bytes]], *, elsewhere: bool) -> Files:
    work: Any = _work(str(ROOT), _package() if elsewhere else b"")
    frame = spark.createDataFrame(table_of(files)).coalesce(1)
    found = frame.mapInArrow(work, _COLUMNS).toArrow()
    return {row["path"]: row["content"] for row in found.to_pylist()}


def sentence_of(error: Exception, what: str) -> str:
    """What went wrong, and why, of all that Spark and Java say of it."""
    said = str(error)
    if lacking := _LACKING.search(said):
        return (
            f"Spark's workers lack {lacking[1]}: each of its machines needs Python {_PYTHON} with "
            f"{', '.join(_LIBRARIES)} (docs/scale.md)"
        )
    if isinstance(error, HarnessError):
        return said
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    why = next((line for line in lines if _CAUSE.search(line)), lines[0] if lines else "")
    return f"{what} ({type(error).__name__}: {why[:300]})"


def table_of(files: Iterable[tuple[str, bytes]]) -> pa.Table:
    rows = [{"path": path, "content": content} for path, content in files]
    return pa.Table.from_pylist(rows, SCHEMA)


def files_of(run_dir: Path) -> Iterator[tuple[str, bytes]]:
    """What a worker needs of a run: its manifest and its history."""
    yield manifest.FILE_NAME, (run_dir / manifest.FILE_NAME).read_bytes()
    for path in sorted((run_dir / "history").glob("*.parquet")):
        yield f"history/{path.name}", path.read_bytes()


@cache
def _package() -> bytes:
    """What a worker imports of ours, as a zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in _PACKAGES:
            for path in sorted((ROOT / package).rglob("*")):
                if path.suffix in _NEEDED:
                    archive.write(path, path.relative_to(ROOT))
    return packed.getvalue()


def _work(root: str, package: bytes) -> Callable[[Batches], Batches]:
    """What a worker does. It is sent by value, and imports this package only once it is there."""
    name = __name__

    def work(batches: Batches) -> Batches:
        import hashlib
        import importlib
        import io
        import os
        import sys
        import zipfile
        from contextlib import suppress
        from pathlib import Path

        place = Path(root)
        if package:
            local = os.environ["SPARK_LOCAL_DIRS"].split(",")[0]  # Spark's own, gone with it
            place = Path(local, f"kafka-chaos-{hashlib.sha256(package).hexdigest()}")
            if not place.is_dir():
                half = place.with_suffix(f".{os.getpid()}")
                zipfile.ZipFile(io.BytesIO(package)).extractall(half)
                with suppress(OSError):  # another worker was quicker
                    half.rename(place)
        if str(place) not in sys.path:
            sys.path.insert(0, str(place))
        yield from importlib.import_module(name).answers(batches)

    return work


def answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The files of a verdict, one batch each, on a run whose files the batches have.

    Of nothing there are none; everything is imported then that judging needs.
    """
    files = {row["path"]: row["content"] for batch in batches for row in batch.to_pylist()}
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
    with TemporaryDirectory(prefix="judging-", dir=local) as folder:
        try:
            found = _judged(files, Path(folder))
        except Exception as error:  # noqa: BLE001 (whatever it is, the run was not judged)
            said = " ".join(f"{type(error).__name__}: {error}".split())
            found = [(PROBLEM, said.encode())]
        for each in found:
            yield from table_of([each]).to_batches()


def _judged(files: Files, folder: Path) -> Iterable[tuple[str, bytes]]:
    # Only a worker needs these, and the command that asks it starts without them.
    from harness.check.check import check
    from harness.provision.cache import translations
    from harness.tables.engines.duckdb import DuckDb

    if NOTHING in files:
        return []
    run_dir, into = folder / "run", folder / "judged"
    for path, content in files.items():
        (run_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (run_dir / path).write_bytes(content)
    for made in (into, folder / "scratch"):
        made.mkdir()
    rules = run_dir / OWN_RULES
    engine = DuckDb(translations(), folder / "scratch")
    with own_modules.used(None, rules if rules.is_dir() else None), closing(engine):
        check(run_dir, engine, into=into)
    return [
        (str(path.relative_to(into)), path.read_bytes()) for path in sorted(into.rglob("*.parquet"))
    ]
