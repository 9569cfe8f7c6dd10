"""Runs that a project keeps with its sources, small, each with what its own rules say of it."""

from __future__ import annotations

import difflib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from harness.base.errors import BadInput, NoData, VoidRun
from harness.base.paths import COMMAND, here
from harness.base.whole import whole
from harness.history import manifest, seals
from harness.history.schema import HISTORY
from harness.run.interrupts import keyboard_interrupts

if TYPE_CHECKING:
    from harness.tables.engines.contract import Engine

FILE_NAME: Final = "pinned.txt"
_HEAD: Final = (
    "# What the project's own rules say of this run. The command `pinned --renew` writes it."
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


# By the name of each own rule, what it says of a run: a line with its verdict, its sentence, and a
# line for each thing that it examined. These are beside a kept run as one text, which people read
# in a code review: a block for each rule, an empty line between.
Pins = dict[str, str]


def keep(
    run_dir: Path, name: str | None, recorded: Path, project: Path, engine: Engine
) -> tuple[Path, Pins]:
    """Copy what judging needs of a run into the folder of kept runs, with what is pinned of it.

    Returns the copy's folder and its pins. Paths of the `project` become relative to it. Without a
    name it gets its experiment's. Raises BadInput for a name that cannot be or is taken, and where
    no own rule judges the run; VoidRun where the run is not complete, NoData where it is damaged or
    of another schema, and OSError; nothing is kept then.
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
        copy(run_dir, half, _facts(run_dir, project))
        found = _found_in(half, engine, named=run_dir)
        if not found:
            raise BadInput(
                f"no rule of the project can judge {here(run_dir)}, whose members are {run.client} "
                f"with the protocol {run.protocol}: there is nothing to pin"
            )
        _write(half, found)
        half.rename(folder)
    return folder, found


def copy(run: Path, folder: Path, facts: Mapping[str, Any]) -> None:
    """Copy a run's history, all that judging reads, into a new folder with these facts."""
    (folder / "history").mkdir(parents=True)
    text = json.dumps(manifest.sealed(facts), separators=(",", ":"))
    (folder / manifest.FILE_NAME).write_text(text + "\n")
    for name in HISTORY:
        file = f"{name}.parquet"
        if (run / "history" / file).exists():  # a run of an older schema lacks what has come since
            shutil.copyfile(run / "history" / file, folder / "history" / file)


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


def runs_in(recorded: Path) -> list[Path]:
    """The runs that are kept, by their names, each found to be whole.

    Raises NoData where there is none, and for one that is damaged.
    """
    folders = sorted(
        each for each in recorded.glob("*") if each.is_dir() and not each.name.startswith(".")
    )
    if not folders:
        raise NoData(f"{here(recorded)} has no kept runs: `{COMMAND} keep RUN` copies one into it")
    remedy = "restore the kept run from your version control, or remove it"
    for folder in folders:
        if not (folder / manifest.FILE_NAME).is_file():
            raise NoData(f"{here(folder / manifest.FILE_NAME)} is missing: {remedy}")
        _refuse_damaged(folder, remedy)
    return folders


def compare(
    folder: Path, engine: Engine, *, renew: bool = False
) -> tuple[int, list[tuple[str, list[str]]]]:
    """Judge a kept run by the rules of today, and compare that with what is pinned.

    Returns how many rules judge it, and by rule how it differs from its pin: a sentence, and the
    lines that went (-) or came (+). With `renew` what is found is pinned instead. Raises BadInput
    where the query of a rule ends with an error, NoData where nothing can be judged, and OSError.
    """
    found, pinned = _found_in(folder, engine, named=folder), _read(folder)
    differences = [
        _difference(rule, pinned.get(rule), found.get(rule))
        for rule in sorted(pinned.keys() | found.keys())
        if pinned.get(rule) != found.get(rule)
    ]
    if renew and differences:
        _write(folder, found)
    return len(found), differences


@keyboard_interrupts()
def _found_in(run_dir: Path, engine: Engine, *, named: Path) -> Pins:
    """What the own rules that are in use say of a run; nothing of those that are not about it.

    `named` is the run in messages: this may be a copy of it.
    """
    from harness.check import owned
    from harness.check.check import check
    from harness.report.text.terminal import row_text
    from harness.tables.source import read_run

    rules = owned.about(read_run(run_dir))
    if not rules:
        return {}
    found = check(run_dir, engine, keep=False, rules=rules)
    for rule, why in owned.failed(found.outcome).items():
        raise BadInput(
            f"the query of {rule} fails on {here(named)} ({_one_line(why)}): correct it, and try "
            f"it by `{COMMAND} check {here(named)} --engine duckdb --rule {rule}`"
        )
    pins = {}
    for each in found.verdicts:
        rule = each["rule"]
        rows = [f"  {_one_line(row_text(row))}" for row in found.outcome.rows.get(rule, ())]
        pins[rule] = "\n".join([f"{rule} {each['verdict']}", _one_line(each["reason"]), *rows])
    return pins


def _one_line(text: str) -> str:
    """A rule's own words may have line breaks, which would end a block."""
    return " ".join(text.splitlines())


def _write(folder: Path, pins: Pins) -> None:
    with whole(folder / FILE_NAME) as half:
        half.write_text("\n\n".join([_HEAD, *pins.values()]) + "\n", encoding="utf-8")


def _read(folder: Path) -> Pins:
    path = folder / FILE_NAME
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    blocks = [block.strip("\n") for block in text.split("\n\n")]
    return {block.split()[0]: block for block in blocks if block.strip() and block[0] != "#"}


def _difference(rule: str, was: str | None, found: str | None) -> tuple[str, list[str]]:
    if found is None:
        gone = "is pinned, and no rule of the project by this name can be judged of this run"
        return f"{rule} {gone}", []
    (verdict, lines), (old_verdict, old_lines) = map(_parts, (found, was or ""))
    if was is None:
        return f"{rule} is not pinned yet: {verdict}, {lines[0]}", []
    said = f"was {old_verdict}, is {verdict}"
    if old_verdict == verdict:
        said = f"is {verdict} as before, in other words or numbers"
    changed = [line for line in difflib.ndiff(old_lines, lines) if line[0] in "-+"]
    return f"{rule} {said}", [f"{line[0]} {line[1:].strip()}" for line in changed]


def _parts(pin: str) -> tuple[str, list[str]]:
    """The verdict that is pinned, and the lines below it."""
    head, *lines = pin.split("\n")
    return head.partition(" ")[2], lines
