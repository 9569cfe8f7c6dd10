"""Runs that a project keeps with its sources, small, each with what its own rules say of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from harness.base.errors import BadInput, NoData, VoidRun
from harness.base.paths import COMMAND, here
from harness.base.whole import whole
from harness.history import copies, manifest, seals
from harness.history.schema import HISTORY
from harness.suite import pins

if TYPE_CHECKING:
    from harness.tables.engines.base import Engine

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Kept:
    """A run that was kept: its folder, what is pinned of it, and its size in bytes."""

    folder: Path
    pins: list[pins.Pin]
    size: int


@dataclass(frozen=True)
class Compared:
    """How many rules judge a kept run, and what they say otherwise than is pinned."""

    folder: Path
    rules: int
    differences: list[pins.Difference]


def keep(run_dir: Path, name: str | None, recorded: Path, project: Path, engine: Engine) -> Kept:
    """Copy what judging needs of a run into the folder of kept runs, with what is pinned of it.

    Paths of the `project` become relative to it. Without a name it gets its experiment's. Raises
    BadInput for a name that cannot be or is taken, and where no own rule judges the run; VoidRun
    where the run is not complete, NoData where it is damaged or of another schema, and OSError;
    nothing is kept then.
    """
    from harness.tables.source import read_run

    run = read_run(run_dir)
    if not run.complete:
        why = f" ({run.status_reason})" if run.status_reason else ""
        raise VoidRun(
            f"{here(run_dir)} is {run.status or 'without a status'}{why}, so it shows nothing: "
            "keep a run that is complete"
        )
    _refuse_damaged(run_dir, f"`{COMMAND} collect {here(run_dir)}` makes it anew")
    folder = recorded / _free_name(run.experiment if name is None else name, recorded)
    recorded.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=recorded, prefix=".") as scratch:
        half = Path(scratch) / folder.name
        copies.copy(run_dir, half, _facts(run_dir, project))
        found = pins.found_in(half, engine, named=run_dir)
        if not found:
            raise BadInput(
                f"no rule of the project can judge {here(run_dir)}, whose members are {run.client} "
                f"with the protocol {run.protocol}: there is nothing to pin"
            )
        _write(half, found)
        size = sum(path.stat().st_size for path in half.rglob("*") if path.is_file())
        half.rename(folder)
    return Kept(folder, found, size)


def _free_name(name: str, recorded: Path) -> str:
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} is no name for a kept run: use letters, digits, dots, dashes and underscores"
        )
    if (recorded / name).exists():
        raise BadInput(
            f"{here(recorded / name)} is there already: give another name by --as, or remove it"
        )
    return name


def _facts(run_dir: Path, project: Path) -> dict[str, Any]:
    """The manifest of a kept copy.

    It is judged by the rules of today, so it says nothing of those that it was played with; and
    only the files that are copied are sealed.
    """
    facts = manifest.read(run_dir)
    facts.pop("own", None)
    sealed = seals.made(run_dir, raw=False).items()
    facts[seals.FIELD] = {path: seal for path, seal in sealed if Path(path).stem in HISTORY}
    # Not as a part of another path.
    path = re.compile(rf"(?<![\w/.-]){re.escape(json.dumps(str(project))[1:-1])}(?![\w.-])")
    cleaned: dict[str, Any] = json.loads(path.sub(".", json.dumps(facts)))
    return cleaned


def _refuse_damaged(folder: Path, remedy: str) -> None:
    sealed = seals.kept(folder)
    for path in sealed:
        if path.startswith(f"{seals.HISTORY}/") and seals.changed(folder, sealed, path):
            raise NoData(
                f"{here(folder / path)} is missing, or not the file that was recorded: {remedy}"
            )


def _write(folder: Path, found: list[pins.Pin]) -> None:
    with whole(folder / pins.FILE_NAME) as half:
        half.write_text(pins.text_of(found), encoding="utf-8")


def runs_in(recorded: Path) -> list[Path]:
    """The runs that are kept, by their names, each found to be whole.

    Raises NoData where there is none, and for one that is damaged.
    """
    folders = sorted(_folders(recorded))
    if not folders:
        raise NoData(f"{here(recorded)} has no kept runs: `{COMMAND} keep RUN` copies one into it")
    remedy = "restore the kept run from your version control, or remove it"
    for folder in folders:
        if not (folder / manifest.FILE_NAME).is_file():
            raise NoData(f"{here(folder / manifest.FILE_NAME)} is missing: {remedy}")
        _refuse_damaged(folder, remedy)
    return folders


def _folders(recorded: Path) -> Iterator[Path]:
    for folder in recorded.glob("*"):
        if folder.is_dir() and not folder.name.startswith("."):
            yield folder


def compare(folder: Path, engine: Engine, *, renew: bool = False) -> Compared:
    """Judge a kept run by the rules of today, and compare that with what is pinned.

    With `renew` what is found is pinned instead. Raises as `pins.found_in` does, and OSError.
    """
    found = pins.found_in(folder, engine, named=folder)
    differences = pins.differences(pins.read(folder), found)
    if renew and differences:
        _write(folder, found)
    return Compared(folder, len(found), differences)
