"""Queries in files: `.sql`, with a header of comments, and names for pieces that are used in it.

    -- Heartbeats keep their interval          the header: all comments before the query
    -- let LONGEST_MS = 2000                   a number of this query, used as :LONGEST_MS
    --   what it is
    -- let TWICE = 2 * :heartbeat_ms           a piece of SQL of this query, used as {TWICE}
    -- let STEADY                              a longer one
    SELECT …
    -- query                                   only where a longer piece came before it
    SELECT …

What several queries of a folder use stands in files of its folder `pieces`, which have no query.
A piece may name others; a query may give a name that a piece leaves open.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Final

SUFFIX: Final = ".sql"
PIECES: Final = "pieces"
# What begins a section of a file.
_MARK: Final = re.compile(
    r"^-- (?:let (?P<name>[A-Z][A-Z_]*)(?: = (?P<value>.+))?|query)$", re.MULTILINE
)
_COMMENTS: Final = re.compile(r"(?:\s*--[^\n]*(?=\n|\Z))*\s*")


@dataclass(frozen=True, eq=False)
class SqlFile:
    """A query that stands in a file. `names` are the numbers and pieces of SQL that it may use."""

    path: Path
    header: str
    text: str
    names: ChainMap[str, str]

    def __call__(self) -> str:
        return self.text


def read(path: Path, pieces: Path | None = None) -> SqlFile:
    """The query of a file, which may use the pieces of a folder.

    Raises ValueError for one without a query, and for a name that a piece has.
    """
    shared = shared_pieces(pieces) if pieces else {}
    header, query, names = parted(path.read_text(encoding="utf-8"))
    if not query:
        raise ValueError("there is no query: write one below the header")
    if taken := sorted(names.keys() & shared.keys()):
        raise ValueError(f"{taken[0]} is the name of a shared piece: give yours another name")
    return SqlFile(path, header, query, ChainMap(names, shared))


@cache
def shared_pieces(folder: Path) -> dict[str, str]:
    """The numbers and pieces of all files in a folder, by name.

    Raises ValueError for a name that two have, and for a query among them.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        _, query, names = parted(path.read_text(encoding="utf-8"))
        if query:
            raise ValueError(f"{path.name} has a query: pieces have names alone")
        if taken := sorted(names.keys() & found.keys()):
            raise ValueError(f"{path.name}: there are two pieces {taken[0]}")
        found.update(names)
    return found


def parted(text: str) -> tuple[str, str, dict[str, str]]:
    """A file's header, without its dashes; its query; and its names."""
    names = {name: text[start:stop] for name, start, stop in regions(text)}
    lines = [line for line in text.partition("\n-- let ")[0].splitlines() if line.strip()]
    header = takewhile(lambda line: line.startswith("--"), lines)
    query = names.pop("", "")
    return "\n".join(line.removeprefix("--").removeprefix(" ") for line in header), query, names


def regions(text: str) -> Iterator[tuple[str, int, int]]:
    """Where the SQL of each name is in a file's text; the query has no name.

    A name has the rest of its line, or what stands below its comments.
    """
    starts = [0, *(found.end() for found in _MARK.finditer(text))]
    marks = [None, *_MARK.finditer(text)]
    for number, (mark, start) in enumerate(zip(marks, starts, strict=True)):
        stop = next((each.start() for each in marks[number + 1 :] if each), len(text))
        name = (mark and mark["name"]) or ""
        if mark and mark["value"]:
            yield name, mark.start("value"), mark.end("value")
            name = ""  # what stands below is the query
        below = _COMMENTS.match(text, start, stop)
        begin = below.end() if below else start
        end = begin + len(text[begin:stop].rstrip())
        if begin < end:
            yield name, begin, end
