"""All verdicts of all runs as one Parquet dataset, partitioned by experiment, date and run.

    results/dataset/experiment=broker-kill/date=2026-11-20/run=20261120T010000-1a2b/verdicts.parquet

It grows as runs are judged, and keeps what their folders showed when those are long gone. A run
that was judged again replaces what was there of it.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, asdict, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import NoData, SetupError
from harness.experiment import Cluster, Fault, Group, Load, Probe
from harness.history import judged, manifest, store
from harness.history.derived import VERDICTS, VERDICTS_FILE

FOLDER: Final = "dataset"
SCHEMA: Final = pa.schema(
    [
        ("started_at", pa.timestamp("us", "UTC")),
        ("kafka", pa.string()),
        ("client_version", pa.string()),
        ("backend", pa.string()),
        ("harness", pa.string()),
        ("cores", pa.int64()),
        ("seed", pa.int64()),
        ("setup", pa.string()),  # the same for runs that were declared alike
        ("sabotaged", pa.bool_()),  # a member breaks a rule on purpose; null: written before this
        *((column.name, column.type) for column in VERDICTS),
    ]
)


# Columns that came later; files of before have none of them.
LATER: Final = frozenset({"setup", "sabotaged", "left_out"})


def accumulate(results: Path, anew: Collection[Path] = ()) -> int:
    """Add every run that was judged since the last time; how many. What cannot be read is left.

    Files of the dataset in `anew` are written again where their run is still there. Raises
    SetupError where the dataset cannot be written.
    """
    runs = [path.parent for path in sorted(results.glob(f"*/*/{VERDICTS_FILE}"))]
    return sum(
        _add(results / FOLDER, run_dir, anew)
        for run_dir in runs
        if not run_dir.is_symlink() and (run_dir / manifest.FILE_NAME).is_file()  # not `latest`
    )


def mended(results: Path) -> dict[Path, str]:
    """As `accumulate`, once every file of the dataset was looked at; those that stay damaged.

    A damaged file is written anew from its run, where that is still there. The others are returned
    with what is wrong with them: Spark would read some of these without a word, and fail on the
    rest. Raises SetupError as `accumulate` does.
    """
    found = _damaged(sorted((results / FOLDER).glob("*/*/*/*.parquet")))
    accumulate(results, found)
    return _damaged(found)


def _damaged(paths: Iterable[Path]) -> dict[Path, str]:
    return {path: why for path in paths if (why := _damage_of(path)) is not None}


def _damage_of(path: Path) -> str | None:
    """What is wrong with a file of the dataset; null for one that can be trusted."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
            table.validate(full=True)
            counts = store.row_counts(file.metadata)
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        return (str(error).splitlines() or [type(error).__name__])[0]
    if counts != {table.num_rows}:
        return "it says of itself that it has other rows"
    columns = {column.name: column.type for column in table.schema}
    for column in SCHEMA:
        if column.name not in columns and column.name not in LATER:
            return f"it has no column {column.name}"
        if not columns.get(column.name, column.type).equals(column.type):
            return f"its column {column.name} is {columns[column.name]}, not {column.type}"
    return None


def _add(dataset: Path, run_dir: Path, anew: Collection[Path]) -> bool:
    source = run_dir / VERDICTS_FILE
    try:
        judged.settle(run_dir)
        facts = manifest.read(run_dir)
        started = datetime.fromisoformat(facts["started_at"])
        target = (
            dataset
            / f"experiment={facts['experiment']}"
            / f"date={started:%Y-%m-%d}"
            / f"run={facts['run']}"
            / VERDICTS_FILE
        )
        kept = target.exists() and target not in anew
        if kept and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            return False
        verdicts = pq.read_table(source, page_checksum_verification=True).to_pylist()
    except (NoData, OSError, pa.ArrowException, KeyError, ValueError):
        return False
    about = _about(facts, started)
    rows = [{**about, **row} for row in verdicts]
    try:
        store.write(target, [pa.Table.from_pylist(rows, schema=SCHEMA)], SCHEMA)
    except (OSError, pa.ArrowException) as error:
        raise SetupError(
            f"{target} cannot be written ({error}): make room; the verdicts are still in {source}"
        ) from error
    return True


def _about(facts: dict[str, Any], started: datetime) -> dict[str, Any]:
    versions, declared = facts.get("versions", {}), facts.get("declared", {})
    _, client_version = manifest.client_of(declared, versions)
    return {
        "started_at": started,
        "kafka": versions.get("kafka"),
        "client_version": client_version,
        "backend": declared.get("cluster", {}).get("backend", "embedded"),
        "harness": versions.get("harness"),
        "cores": facts.get("host", {}).get("cores"),
        "seed": facts.get("seed"),
        "setup": _setup(declared),
        "sabotaged": manifest.is_sabotaged(declared.get("group") or {}),
    }


# What fields are where a declaration says nothing of them.
_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "cluster": asdict(Cluster()),
    "load": asdict(Load()),
    "group": asdict(Group()),
    "faults": {each.name: each.default for each in fields(Fault) if each.default is not MISSING},
    "probes": {each.name: each.default for each in fields(Probe) if each.default is not MISSING},
}
# To be raised with every default that changes: what is left out means something else from then on.
_EDITION: Final = 1


def _setup(declared: dict[str, Any]) -> str:
    """A digest of what a run was: runs with other settings are another series.

    Fields that have their default are left out, so that a release which adds one goes on with all
    series; so is the version of Kafka, by which series differ anyway.
    """
    what: dict[str, Any] = {"edition": _EDITION}
    for part in ("cluster", "load", "group"):
        what[part] = _own(part, declared.get(part) or {})
    what["cluster"].pop("kafka_version", None)
    for part in ("faults", "probes"):
        what[part] = [_own(part, each) for each in declared.get(part) or ()]
    what["duration_s"] = declared.get("duration_s")
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]


def _own(part: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    defaults = _DEFAULTS[part]
    return {
        name: value
        for name, value in declared.items()
        if name not in defaults or value != defaults[name]
    }
