"""Removes what this project made below a folder of results, and nothing else.

`--results` may name a folder of other things too. So whatever is removed has a record that only
this project writes: the manifest of a run, the record of a suite, the table of a comparison, of
trends, of a benchmark or of mutation tests, or the owner token in a scratch folder. A name alone
(`bench`, `scratch`, `latest`) is no record.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from harness.base import processes
from harness.base.errors import NoData, SetupError
from harness.history import manifest, store
from harness.report.many import suites
from harness.trend import dataset

_SCRATCH: Final = "scratch"
_PARTS: Final = ("history", "journals", "logs")  # of a run's folder, made empty at its start
_CHANGE: Final = {"module", "line", "kind", "outcome"}  # of each change in a mutation test's record
# The columns of a benchmark's table, by which those without a schema version are known.
_FIGURES: Final = ["bench", "figure", "value", "unit", "rounds", "limit", "met"]


@dataclass
class Cleaned:
    """What `clean` removed, and what it left because it is in use by now."""

    removed: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)


def clean(results: Path) -> Cleaned:
    """Remove what runs that were killed left: scratch folders and half-written files.

    A manifest that still says "running" says "interrupted" afterwards.
    """
    cleaned = Cleaned()
    folders = list(_children(results))
    living = _living()  # after the folders: what starts meanwhile has a folder of its own
    for folder in folders:
        if not (_is_run(folder) or _is_owned(folder / _SCRATCH)) or _in_use(folder, living):
            continue
        if (folder / _SCRATCH).is_dir():
            shutil.rmtree(folder / _SCRATCH, ignore_errors=True)
            cleaned.removed.append(folder / _SCRATCH)
        if _is_run(folder):
            _finish_record(folder)
        else:
            _remove_if_empty(*(folder / part for part in _PARTS), folder)
    return cleaned


def clean_all(results: Path) -> Cleaned:
    """Remove all runs, repeats, nights, comparisons, trends, benchmarks and mutation tests.

    The dataset gets the verdicts of all runs first, and stays.
    Raises SetupError, with nothing removed, while one of them is in use.
    """
    ours = [folder for folder in _children(results) if _is_ours(folder)]
    living = _living()
    for folder in ours:
        if _in_use(folder, living):
            raise SetupError(
                f"{folder} still goes on, so nothing is removed: wait for its end, or end it (or "
                "remove its folder, if it went on in a container that is gone)"
            )
    dataset.accumulate(results)
    cleaned = Cleaned()
    for folder in ours:
        if _in_use(folder, living):  # the dataset takes seconds: it may have begun meanwhile
            cleaned.kept.append(folder)
            continue
        shutil.rmtree(folder)
        cleaned.removed.append(folder)
    for parent in {folder.parent for folder in cleaned.removed}:
        _remove_links(parent)
        _remove_if_empty(parent)
    for path in _made_files(results):
        path.unlink(missing_ok=True)
        _remove_if_empty(path.parent)
        cleaned.removed.append(path)
    return cleaned


def _children(results: Path) -> Iterator[Path]:
    """Folders two levels below the results; no links, of which `latest` is one."""
    for parent in _folders(results):
        if parent.name != dataset.FOLDER:
            yield from _folders(parent)


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:  # not there, or not ours to read
        return []


def _is_ours(folder: Path) -> bool:
    return (
        _is_run(folder)
        or _is_suite(folder)
        or _is_comparison(folder)
        or _is_owned(folder / _SCRATCH)
    )


def _is_run(folder: Path) -> bool:
    """Whether its manifest is one of ours, of whatever schema version."""
    told = _json(folder / manifest.FILE_NAME)
    return (
        isinstance(told, dict)
        and isinstance(told.get("schema_version"), int)
        and isinstance(told.get("run"), str)
    )


def _is_suite(folder: Path) -> bool:
    told = _json(folder / suites.FILE_NAME)
    return (
        isinstance(told, dict)
        and isinstance(told.get("schema_version"), int)
        and isinstance(told.get("kind"), str)
        and isinstance(told.get("entries"), list)
    )


def _is_comparison(folder: Path) -> bool:
    return _is_our_table(folder / "comparison.parquet")


def _is_owned(scratch: Path) -> bool:
    """Whether a process of this project made this scratch folder and wrote its owner token."""
    return not scratch.is_symlink() and processes.has_owner(scratch)


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _schema(path: Path) -> pa.Schema | None:
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return None


def _is_our_table(path: Path) -> bool:
    """Whether a Parquet file carries the schema version that all our tables do."""
    schema = _schema(path)
    return schema is not None and store.VERSION_KEY in (schema.metadata or {})


def _made_files(results: Path) -> list[Path]:
    """Files of trends, benchmarks and mutation tests, which have no folder for each time."""
    made: list[Path] = []
    trend = results / "trend"
    if _is_our_table(trend / "trend.parquet"):
        made += [trend / "trend.parquet", trend / "trend.html"]
    for table in sorted((results / "bench").glob("*.parquet")):
        schema = _schema(table)
        if schema is not None and schema.names == _FIGURES:
            made += [table, table.with_suffix(".txt")]
    mutation = results / "mutation"
    changes = _json(mutation / "changes.json")
    if isinstance(changes, list) and all(
        isinstance(each, dict) and each.keys() >= _CHANGE for each in changes
    ):
        made += [mutation / "changes.json", mutation / "survivors.md"]
    return [path for path in made if path.is_file() and not path.is_symlink()]


def _living() -> set[str]:
    """The runs of which a process is there."""
    return {run for _, run, _ in processes.marked()}


def _in_use(folder: Path, living: set[str]) -> bool:
    """Whether whoever made the folder may still run; who holds it is asked anew each time."""
    return folder.name in living or processes.held(folder) or processes.held(folder / _SCRATCH)


def _finish_record(run_dir: Path) -> None:
    """Let the record of a run that ended without its harness and its watchdog say so."""
    for part in (".", *_PARTS, "tables", "violations"):
        for half in (run_dir / part).glob(".*.tmp"):
            if not _writer_lives(half):
                half.unlink(missing_ok=True)
    _remove_links(run_dir.parent)
    with suppress(NoData):  # of another version, whose words are not known here
        if manifest.read(run_dir).get("status") == "running" and run_dir.name not in _living():
            manifest.update(
                run_dir,
                status="interrupted",
                status_reason="the harness and its watchdog were killed before the run was "
                "complete; a later start or `clean` removed what they left",
            )


def _writer_lives(half: Path) -> bool:
    """Whether the process that writes `.NAME.PID.tmp` still runs; yes where no pid is named."""
    pid = half.name.split(".")[-2]
    return not pid.isdecimal() or psutil.pid_exists(int(pid))


def _remove_links(parent: Path) -> None:
    """Remove `latest` where it leads nowhere, and what a kill left of a new one (`.latest-…`)."""
    for link in (parent / "latest", *parent.glob(".latest-*")):
        if not link.is_symlink():
            continue
        target = link.readlink()
        ours = len(target.parts) == 1 and link.name in ("latest", f".latest-{target}")
        if ours and (link.name != "latest" or not link.exists()):
            link.unlink(missing_ok=True)


def _remove_if_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):  # it is not empty, or not there
            folder.rmdir()
