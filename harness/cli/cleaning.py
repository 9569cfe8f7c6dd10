"""Removes what this project made below a folder of results, and nothing else.

`--results` may name a folder of other things too. So whatever is removed has a record that only
this project writes, such as the manifest of a run, or the owner token in a scratch folder. A name
alone (`bench`, `scratch`, `latest`) is no record.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base import processes
from harness.base.errors import SetupError
from harness.history import store, suites
from harness.provision import unused
from harness.provision.cache import cache_dir
from harness.run.folder import (
    below,
    in_use,
    is_owned,
    is_run,
    json_of,
    living_runs,
    remove_if_empty,
    remove_links,
    sweep_results,
)
from harness.trend import dataset

_CHANGE: Final = {"module", "line", "kind", "outcome"}  # of each change in a mutation test's record
# Of each line about kills and damage.
_ROUND: Final = {"round", "what", "where", "ended", "problems"}
# The columns of a benchmark's table, by which those without a schema version are known.
_FIGURES: Final = ["bench", "figure", "value", "unit", "rounds", "limit", "met"]


def clean_all(results: Path) -> tuple[list[Path], list[Path]]:
    """Remove all runs, repeats, nights, comparisons, trends, benchmarks and mutation tests.

    Returns what was removed, and what stayed because it is in use by now. The dataset gets the
    verdicts of all runs first, and stays.
    Raises SetupError, with nothing removed, while one of them is in use.
    """
    ours = [folder for folder in below(results) if _is_ours(folder)]
    living = living_runs()
    for folder in ours:
        if in_use(folder, living):
            raise SetupError(
                f"{folder} still goes on, so nothing is removed: wait for its end, or end it; if "
                "it ran in a container that is gone, remove its folder yourself"
            )
    dataset.mended(results)
    removed, kept = [], []
    for folder in ours:
        if in_use(folder, living):  # the dataset takes seconds: it may have begun since
            kept.append(folder)
        else:
            shutil.rmtree(folder)
            removed.append(folder)
    for parent in {folder.parent for folder in removed}:
        remove_links(parent)
        remove_if_empty(parent)
    for path in _made_files(results):
        path.unlink(missing_ok=True)
        remove_if_empty(path.parent)
        removed.append(path)
    return removed, kept


def would_clean(results: Path, *, everything: bool) -> list[Path]:
    """What `clean` would remove below `results`, or `clean --all`. Nothing is changed.

    What is in use is left out: it would stay, or have `clean --all` refuse.
    """
    found = sweep_results(results, dry=True)
    if everything:
        living = living_runs()
        ours = [each for each in below(results) if _is_ours(each) and not in_use(each, living)]
        found = [each for each in found if not set(each.parents) & set(ours)]
        found += ours + _made_files(results)
    return found


def _is_ours(folder: Path) -> bool:
    return (
        is_run(folder)
        or _is_suite(folder)
        or _is_our_table(folder / "comparison.parquet")
        or is_owned(folder / "scratch")
        or processes.has_owner(folder)  # a suite that is about to write its record
    )


def _is_suite(folder: Path) -> bool:
    content = json_of(folder / suites.FILE_NAME)
    return (
        isinstance(content, dict)
        and isinstance(content.get("schema_version"), int)
        and isinstance(content.get("kind"), str)
        and isinstance(content.get("entries"), list)
    )


def _schema(path: Path) -> pa.Schema | None:
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return None


def _is_our_table(path: Path) -> bool:
    schema = _schema(path)
    return schema is not None and store.VERSION_KEY in (schema.metadata or {})


def _made_files(results: Path) -> list[Path]:
    """Files of trends, benchmarks, mutation tests and rounds of torture.

    These have no folder for each time.
    """
    made: list[Path] = []
    trend = results / "trend"
    if _is_our_table(trend / "trend.parquet"):
        made += [trend / "trend.parquet", trend / "trend.html"]
    for table in sorted((results / "bench").glob("*.parquet")):
        schema = _schema(table)
        if schema is not None and schema.names == _FIGURES:
            made += [table, table.with_suffix(".txt")]
    mutation = results / "mutation"
    changes = json_of(mutation / "changes.json")
    if isinstance(changes, list) and all(
        isinstance(each, dict) and each.keys() >= _CHANGE for each in changes
    ):
        made += [mutation / "changes.json", mutation / "survivors.md"]
    if _has_rounds(rounds := results / "torture" / "rounds.jsonl"):
        made.append(rounds)
    return [path for path in made if path.is_file() and not path.is_symlink()]


def _has_rounds(path: Path) -> bool:
    """Whether its first line is what `make torture` writes of a round."""
    try:
        with path.open("rb") as lines:
            first = json.loads(lines.readline())
    except (OSError, ValueError):
        return False
    return isinstance(first, dict) and first.keys() >= _ROUND


def clean_cache(*, yes: bool, dry: bool = False) -> None:
    """Offer what set-up made and nothing uses any more, and remove it if `yes` or the user agrees.

    Without a terminal that could be asked, or where it is `dry`, it is only listed.
    """
    offered = unused.unused()
    for each in offered:
        print(f"{_megabytes(each.size)}  {each.path.name}  {each.what}")
    if not offered:
        print(f"nothing in {cache_dir()} is unused")
        return
    total = _megabytes(sum(each.size for each in offered))
    print(f"{total}  in all, in {cache_dir()}")
    if dry:
        return
    if not yes and sys.stdin.isatty():
        yes = input("Remove them? [y/N] ").strip().lower() in ("y", "yes")
    if not yes:
        print("nothing was removed: add --yes to remove it")
        return
    removed = unused.remove(offered, processes.uses, _say_waiting)
    for each in offered:
        if each not in removed:
            print(f"{each.path.name} is in use, so it stays")
    print(f"{len(removed)} of {len(offered)} removed")


def _say_waiting() -> None:
    sys.stderr.write("a set-up goes on: waiting for its end\n")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:>9,.1f} MB"
