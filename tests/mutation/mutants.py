"""Every small change to the SQL of a file of rules or tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.tables.sql_file import SUFFIX, regions
from tests.mutation.sql_changes import changes

FOLDERS: Final = ("rules", "tables")


@dataclass(frozen=True)
class Mutant:
    """`start` to `end` of a file's text becomes `to`; `within` is the piece, "" the query.

    A file is named as below harness/, such as "rules/session/silent-member-is-evicted".
    """

    file: str
    within: str
    line: int
    kind: str
    start: int
    end: int
    to: str

    def apply(self, source: str) -> str:
        """The file's text with this change."""
        return source[: self.start] + self.to + source[self.end :]


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """Every change to the SQL of a file, in their order. Comments and numbers with a name stay."""
    for name, start, stop in regions(source):
        text = source[start:stop]
        for change in () if text.replace(".", "").isdigit() else changes(text):
            line = source.count("\n", 0, start + change.start) + 1
            place = (start + change.start, start + change.end)
            yield Mutant(file, name, line, change.kind, *place, change.to)


def sources_in(harness: Path, folders: Sequence[str] = FOLDERS) -> dict[str, str]:
    """The texts of the files below these folders, by their names."""
    return {
        path.relative_to(harness).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for folder in folders
        for path in sorted((harness / folder).rglob(f"*{SUFFIX}"))
    }
