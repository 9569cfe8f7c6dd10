"""The lines of a broker's log."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def lines_of(log: Path) -> Iterable[tuple[int, str]]:
    """Each line and its number, from 1; none of a log that is not there."""
    if not log.exists():
        return
    with log.open(encoding="utf-8", errors="replace") as lines:
        yield from enumerate(lines, start=1)
