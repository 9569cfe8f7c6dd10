"""How what is found in recorded runs is pinned: few lines, which no change passes unseen.

Verdicts and rows that do not hold are written out. Of all other rows the number is pinned, and a
digest; `make diff-recorded` writes all of them, by the code of an old commit and by today's.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

_COLUMNS: Final = 98  # a pin has two spaces before each line
_NOT_HELD: Final = (": False, ", ": None, ")


def differ(run: str) -> str:
    """What to say where a run's pin is not as before."""
    return (
        f"`make diff-recorded RUN={run}` shows which rows are not those of the last commit; "
        "if they are right, run `make pin ONLY=tests/recorded`"
    )


def judgements(text: str) -> str:
    """The pin of a run's verdicts, and of the rows by which they were found.

    `text` has a line each, of verdicts ("R02 HOLDS of 4") and then of rows, with an empty line
    between them. What comes before both stays as it is.
    """
    *before, verdicts, rows = text.split("\n\n")
    of_rule: dict[str, list[str]] = {}
    for row in rows.splitlines():
        of_rule.setdefault(row.partition(" ")[0], []).append(row)
    kinds: dict[str, list[str]] = {}
    for verdict in verdicts.splitlines():
        rule, kind, _, examined = verdict.split(" ")
        kinds.setdefault(kind, []).append(f"{rule} {examined} {digest(of_rule.pop(rule, ()))}")
    assert not of_rule, f"rows of rules without a verdict: {', '.join(of_rule)}"
    not_held = [row for row in rows.splitlines() if any(each in row for each in _NOT_HELD)]
    return "\n".join([*before, *paragraphs(dict(sorted(kinds.items()))), *not_held])


def paragraphs(kinds: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """A paragraph for each kind, with its parts in their order; no part is broken."""
    for kind, parts in kinds.items():
        text = f"{kind}: " + ", ".join(part.replace(" ", "\0") for part in parts)
        for line in textwrap.wrap(text, _COLUMNS, break_on_hyphens=False, break_long_words=False):
            yield line.replace("\0", " ")


def digest(lines: Iterable[str]) -> str:
    """Eight letters that stand for these lines, in this order."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
