"""Pins: what a project's own rules say of a run that is kept with the project's sources.

A pin is a rule's verdict, its sentence, and each thing that it examined. All pins of a kept run are
a text beside it, which people read in a code review: a block for each rule, an empty line between.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.base.errors import BadInput
from harness.base.paths import COMMAND, here
from harness.run.interrupts import keyboard_interrupts

if TYPE_CHECKING:
    from harness.tables.engines.base import Engine

FILE_NAME: Final = "pinned.txt"
_HEAD: Final = (
    "# What the project's own rules say of this run. The command `pinned --renew` writes it."
)


@dataclass(frozen=True)
class Pin:
    """What one rule says of one run: its verdict, then its sentence and a line for each row."""

    rule: str
    verdict: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """How a rule differs from its pin, in words, and the lines that went (-) or came (+)."""

    sentence: str
    lines: tuple[str, ...]


@keyboard_interrupts()
def found_in(run_dir: Path, engine: Engine, *, named: Path) -> list[Pin]:
    """What the own rules that are in use say of a run; nothing of those that are not about it.

    `named` is the run in messages: this may be a copy of it. Raises BadInput where the query of a
    rule ends with an error, NoData where nothing can be judged.
    """
    from harness.check import owned
    from harness.check.check import check
    from harness.check.judge import Outcome
    from harness.report.text.terminal import row_text
    from harness.tables.source import read_run

    rules = owned.about(read_run(run_dir))
    if not rules:
        return []
    outcomes: list[Outcome] = []
    verdicts = check(run_dir, engine, keep=False, rules=rules, judged=outcomes.append)
    (outcome,) = outcomes
    for rule, why in owned.failed(outcome).items():
        raise BadInput(
            f"the query of {rule} fails on {here(named)} ({_one_line(why)}): correct it, and try "
            f"it by `{COMMAND} check {here(named)} --engine duckdb --rule {rule}`"
        )
    return [
        Pin(
            each["rule"],
            each["verdict"],
            (
                _one_line(each["reason"]),
                *(f"  {_one_line(row_text(row))}" for row in outcome.rows.get(each["rule"], ())),
            ),
        )
        for each in verdicts
    ]


def _one_line(text: str) -> str:
    """A rule's own words may have line breaks, which would end a block."""
    return " ".join(text.splitlines())


def text_of(pins: list[Pin]) -> str:
    """The text that a kept run has beside it."""
    blocks = ["\n".join([f"{pin.rule} {pin.verdict}", *pin.lines]) for pin in pins]
    return "\n\n".join([_HEAD, *blocks]) + "\n"


def read(folder: Path) -> list[Pin]:
    """The pins of a kept run; none where they were never written."""
    path = folder / FILE_NAME
    if not path.exists():
        return []
    pins = []
    for block in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        if head and not head.startswith("#"):
            rule, _, verdict = head.partition(" ")
            pins.append(Pin(rule, verdict, tuple(lines)))
    return pins


def differences(pinned: list[Pin], found: list[Pin]) -> list[Difference]:
    """What differs, rule by rule."""
    before, now = ({pin.rule: pin for pin in pins} for pins in (pinned, found))
    return [
        _difference(rule, before.get(rule), now.get(rule))
        for rule in sorted(before.keys() | now.keys())
        if before.get(rule) != now.get(rule)
    ]


def _difference(rule: str, was: Pin | None, found: Pin | None) -> Difference:
    if found is None:
        said = "is pinned, and no rule of the project by this name can be judged of this run"
        return Difference(f"{rule} {said}", ())
    if was is None:
        said = f"is not pinned yet: {found.verdict}, {found.lines[0]}"
        return Difference(f"{rule} {said}", ())
    said = f"was {was.verdict}, is {found.verdict}"
    if was.verdict == found.verdict:
        said = f"is {found.verdict} as before, in other words or numbers"
    compared = difflib.ndiff(was.lines, found.lines)
    changed = (f"{line[0]} {line[1:].strip()}" for line in compared if line[0] in "-+")
    return Difference(f"{rule} {said}", tuple(changed))
