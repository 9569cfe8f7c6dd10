"""The folders of runs: made for each, and cleared of what killed runs left, as processes are ended.

A reboot or a lack of memory ends a harness and its watchdog. `clean` and every start remove later
what is left. `--results` may name a folder of other things too: nothing is touched without a record
that only this project writes.
"""

import json
import os
import shutil
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from harness.base import processes
from harness.base.errors import HarnessError, NoData, SetupError
from harness.base.paths import check_for_kafka
from harness.base.whole import HALVES, writer_gone
from harness.base.words import plural
from harness.cluster.backends import sweep_backends
from harness.history import judged, manifest
from harness.run.interrupts import Progress

NEEDED_BYTES: Final = 1_000_000_000  # four JVMs' data, and all that a run of minutes writes
_GB: Final = 1_000_000_000
SCRATCH: Final = "scratch"  # in a run's folder, what is thrown away at its end
_PARTS: Final = ("history", "journals", "logs")  # of a run's folder, made empty at its start


def fresh(parent: Path, prefix: str = "") -> Path:
    """A name for a new folder that no other one has, sortable by time."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return parent / f"{prefix}{stamp}-{os.urandom(2).hex()}"


def point_latest(folder: Path) -> None:
    """Have `latest` beside a folder point at it."""
    link = folder.with_name(f".latest-{folder.name}")
    link.symlink_to(folder.name)
    link.replace(folder.with_name("latest"))


def reserve(
    results: Path,
    name: str,
    parts: tuple[str, ...] = ("history", "journals", "logs", SCRATCH),
    growth_bytes: int = 0,
) -> Path:
    """A new folder for a run, sortable by time, and `latest` pointing at it.

    `growth_bytes` is what the run will write. Raises SetupError where the disk has no room or
    cannot be written, BadInput for a name that Kafka would take apart.
    """
    parent = results / name
    check_for_kafka(parent)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(parent).free
        needed = NEEDED_BYTES + growth_bytes
        if free < needed:
            shorter = ", or a shorter run" if free >= NEEDED_BYTES else ""
            raise SetupError(
                f"only {free / _GB:.1f} GB are free below {parent} and this run may need "
                f"{needed / _GB:.1f}: make room, or choose another --results{shorter}"
            )
        run_dir = fresh(parent)
        run_dir.mkdir()
        for part in parts:
            (run_dir / part).mkdir()
        if SCRATCH in parts:
            processes.hold(run_dir / SCRATCH)  # no process has the run's mark yet
        point_latest(run_dir)
    except OSError as error:
        raise SetupError(
            f"{parent} cannot be written ({error.strerror}): choose another --results"
        ) from error
    return run_dir


def sweep(say: Progress = lambda _text: None) -> int:
    """End what runs of dead harnesses left; how many. At every start, and by `clean`."""
    count = 0
    processes.await_watchdogs(say)  # they know more than this does: open faults, and the manifest
    for run, left in processes.orphans().items():
        say(f"ending {plural(len(left), 'process', 'processes')} that run {run} left behind")
        count += processes.end(left)
    try:
        for run, removed in sweep_backends().items():
            say(f"removed or healed {plural(removed, 'container')} that run {run} left behind")
            count += removed
    except (HarnessError, OSError) as error:  # what another run left is not in the way here
        say(f"something of an earlier run is left: {error}")
    processes.sweep_scratch()
    return count


def left_running() -> dict[str, int]:
    """How many processes and containers `sweep` would end, by run. Raises ClusterError."""
    found = Counter({run: len(left) for run, left in processes.orphans().items()})
    return dict(found + Counter(sweep_backends(dry=True)))


def sweep_results(results: Path, *, dry: bool = False) -> list[Path]:
    """Remove scratch folders and half-written files of runs that were killed; which.

    They say "interrupted" afterwards. If `dry`, nothing is changed.
    """
    removed: list[Path] = []
    folders = below(results)
    living = living_runs()  # after the folders: what starts after that has a folder of its own
    for folder in folders:
        run, owned = is_run(folder), is_owned(folder / SCRATCH)
        if not (run or owned or processes.has_owner(folder)) or in_use(folder, living):
            continue
        if run or owned:
            removed += _remove_scratch(folder, dry=dry)
        with suppress(OSError, NoData):
            if run:
                removed += _remove_halves(folder, dry=dry)
            if dry:
                continue
            processes.let_go(folder)
            if run:
                judged.settle(folder)
                _complete_record(folder)
            else:
                remove_if_empty(*(folder / part for part in _PARTS), folder)
    return removed


def below(results: Path) -> list[Path]:
    """Folders two levels below the results; no links, of which `latest` is one."""
    return [folder for parent in _folders(results) for folder in _folders(parent)]


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:  # not there, or not ours to read
        return []


def is_run(folder: Path) -> bool:
    """Whether it has the manifest of a run, of whatever schema version."""
    content = json_of(folder / manifest.FILE_NAME)
    return (
        isinstance(content, dict)
        and isinstance(content.get("schema_version"), int)
        and isinstance(content.get("run"), str)
    )


def is_owned(scratch: Path) -> bool:
    """Whether a process of this project made this scratch folder and wrote its owner token."""
    return not scratch.is_symlink() and processes.has_owner(scratch)


def json_of(path: Path) -> Any:
    """The content of a JSON file; null where there is none or it is no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def living_runs() -> set[str]:
    return {run for _, run, _ in processes.marked()}


def in_use(folder: Path, living: set[str]) -> bool:
    """Whether the owner of the folder may still run; looked up each time."""
    return folder.name in living or processes.held(folder) or processes.held(folder / SCRATCH)


def _remove_scratch(folder: Path, *, dry: bool) -> list[Path]:
    scratch = folder / SCRATCH
    if scratch.is_symlink() or not scratch.is_dir():
        return []
    if dry:
        return [scratch]
    shutil.rmtree(scratch, ignore_errors=True)
    return [] if scratch.exists() else [scratch]


def _remove_halves(run_dir: Path, *, dry: bool) -> list[Path]:
    halves = [
        half
        for part in (".", *_PARTS, judged.TABLES, judged.VIOLATIONS)
        for half in (run_dir / part).glob(HALVES)
        if writer_gone(half)
    ]
    for half in halves if not dry else ():
        if half.is_dir() and not half.is_symlink():  # a judgement
            shutil.rmtree(half)
        else:
            half.unlink(missing_ok=True)
    return halves


def _complete_record(run_dir: Path) -> None:
    remove_links(run_dir.parent)
    with suppress(NoData):  # of another version, whose words are not known here
        status = manifest.read(run_dir).get("status")
        if status == "running" and run_dir.name not in living_runs():
            manifest.update(
                run_dir,
                status="interrupted",
                status_reason="the harness and its watchdog were killed before the run was "
                "complete; a later start or `clean` removed what they left",
            )


def remove_links(parent: Path) -> None:
    """Remove `latest` where it leads nowhere, and what a kill left of a new one (`.latest-…`)."""
    for link in (parent / "latest", *parent.glob(".latest-*")):
        if not link.is_symlink():
            continue
        target = link.readlink()
        ours = len(target.parts) == 1 and link.name in ("latest", f".latest-{target}")
        if ours and (link.name != "latest" or not link.exists()):
            link.unlink(missing_ok=True)


def remove_if_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):  # it is not empty, or not there
            folder.rmdir()
