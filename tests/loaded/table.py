"""The table of rounds: a line each, in a file that is kept with the sources."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from harness.base.whole import whole

FILE: Final = Path(__file__).with_name("rounds.csv")


@dataclass(frozen=True)
class Line:
    """What came of one round.

    `load_low` and `load_high` are the least and the greatest 1-minute load while it was played.
    `verdicts` are those that are HOLDS or VIOLATED, of declared rules and others; `withheld` are
    UNKNOWN; `accused` names rules that are VIOLATED and not expected to be; `expected` those that
    are and are expected to be, or were missed.
    """

    band: str
    number: int
    load: str
    experiment: str
    run: str
    load_low: float
    load_high: float
    verdicts: int
    withheld: int
    accused: str
    expected: str


def read(path: Path = FILE) -> list[Line]:
    """The lines; none where there is no file yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [_line(row) for row in csv.DictReader(file)]


def _line(row: dict[str, Any]) -> Line:
    kinds = {"int": int, "float": float, "str": str}
    return Line(**{each.name: kinds[str(each.type)](row[each.name]) for each in fields(Line)})


def write(lines: Iterable[Line], path: Path = FILE) -> None:
    """Write the lines in order of band and number."""
    ordered = sorted(lines, key=lambda line: (line.band, line.number))
    with whole(path) as half, half.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Line)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(line) for line in ordered)


def summary(lines: Iterable[Line]) -> str:
    """One sentence for each band."""
    found = []
    by_band: dict[str, list[Line]] = {}
    for line in lines:
        by_band.setdefault(line.band, []).append(line)
    for band, rounds in sorted(by_band.items()):
        verdicts = sum(line.verdicts for line in rounds)
        accused = sum(bool(line.accused) for line in rounds)
        found.append(
            f"{band}: {len(rounds)} runs, {verdicts:,} verdicts, {accused} runs with an accusation"
        )
    return "\n".join(found)
