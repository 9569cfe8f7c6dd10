"""What is shown of many runs is pinned as text: printed, as Markdown, and two of the pages.

A page is made of the same blocks as its Markdown, so these two stand for all.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from harness.report.many import (
    index,
    matrix_text,
    repeat,
    sweep_text,
    trend,
)
from harness.report.many.blocks import page, print_shown
from harness.report.many.compare import compare, print_compared
from tests.report.sample_matrix import write_matrix
from tests.report.sample_suite import write_night, write_repeats
from tests.report.sample_sweep import write_sweep
from tests.report.test_compare import TWELVE, a_night
from tests.report.test_sweep_shown import grid, of_protocols, unfinished
from tests.trend.test_trend_page import series

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

SIX = [[6_000.0 + n, 6_010.0 + n] for n in range(6)]
_LINES = {"p", "div", "tr", "li", "h1", "h2", "h3", "section", "dt", "summary", "pre", "title"}


class Text(HTMLParser):
    """The words of a page: a line for each paragraph, item and row, with where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.said = ""
        self._unseen = 0
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen += tag == "style"
        self._cell = tag in ("td", "th") or (self._cell and tag != "tr")
        line = " " if self._cell else "\n"
        self.said += {"td": " | ", "th": " | ", "dd": " "}.get(tag, line if tag in _LINES else "")
        given = dict(attrs)
        if tag == "a":
            self.said += f"<{given['href']}>"
        elif tag == "circle":
            self.said += f" ({given['cx']},{given['cy']})"

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag == "style"
        self._cell = self._cell and tag not in ("tr", "table")

    def handle_data(self, data: str) -> None:
        self.said += "" if self._unseen else re.sub(r"\s+", " ", data)


def words(text: str) -> str:
    """The text of a page without its mark-up."""
    lines = (" ".join(line.split()) for line in Text(text).said.split("\n"))
    return "\n".join(line for line in lines if line)


def printed(show: Callable[[Console], object], folder: Path) -> str:
    """What is printed within 100 columns."""
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().replace(str(folder), "RESULTS")


def test_repeats(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    suite = write_repeats(tmp_path, [*SIX[:5], [7_000.0]], "a <b>broker</b> died")
    shown = repeat.write(suite)

    assert printed(partial(print_shown, shown), tmp_path) == snapshot
    assert (suite.path / "summary.md").read_text() == snapshot


@pytest.mark.parametrize("kind", ["session", "grid", "protocol", "unfinished"])
def test_sweeps(tmp_path: Path, kind: str, snapshot: SnapshotAssertion) -> None:
    fast, slow = {"standstill_ms": 2_100}, {"standstill_ms": 6_700, "twice": 20}
    suite = {
        "session": write_sweep,
        "grid": grid,
        "protocol": lambda results: of_protocols(results, {"eager": [slow], "consumer": [fast]}),
        "unfinished": unfinished,
    }[kind](tmp_path)
    shown = sweep_text.write(suite)

    assert printed(partial(print_shown, shown), tmp_path) == snapshot
    if kind in ("session", "protocol"):
        assert (suite.path / "sweep.md").read_text() == snapshot
    if kind == "protocol":
        assert words((suite.path / "sweep.html").read_text()) == snapshot


def test_a_matrix(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    suite = write_matrix(tmp_path)
    shown = matrix_text.write(suite)

    assert printed(partial(print_shown, shown), tmp_path) == snapshot
    assert (suite.path / "clients.md").read_text() == snapshot


def test_a_night(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    suite = write_night(tmp_path)
    shown = index.write(suite)

    assert printed(partial(print_shown, shown), tmp_path) == snapshot
    text = words((suite.path / "index.html").read_text())
    assert re.sub(r".*not judged[^✓✗?]*\n", "", text) == snapshot  # most rules, by no run of it
    assert (suite.path / "summary.md").read_text() == snapshot


def test_two_sides(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    a = a_night(tmp_path / "a", TWELVE)
    b = a_night(tmp_path / "b", [1.1 * value for value in TWELVE], session_ms=10_000, wrong=3)
    six, more = (
        write_repeats(tmp_path / name, [[start + n] for n in range(6)])
        for name, start in (("six", 6_000.0), ("more", 6_040.0))
    )
    for one, other in ((a, b), (six.path, more.path)):
        compared = compare(one, other)
        assert snapshot == printed(partial(print_compared, compared), tmp_path)


def test_trends(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rows = [
        series("worse", bound_high=9.5, setup="1a2b"),
        series("moved", setup="3c4d"),
        series("steady", "R07"),
        series("too few", "X32a", (0, 0)),
    ]
    shown = trend.shown(rows)

    assert printed(partial(print_shown, shown), tmp_path) == snapshot
    assert words(page(shown)) == snapshot
