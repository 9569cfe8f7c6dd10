"""The page of trends: every series drawn, what is worse first, nothing loaded from elsewhere."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.report.many import blocks, trend

START = datetime(2026, 10, 1, tzinfo=UTC)


def series(kind: str, rule: str = "R01", values: tuple[float, ...] = (1, 2, 9), **more: Any) -> Any:
    """A row as the job gives it."""
    points = []
    for t, value in enumerate(values, start=1):
        at = START + timedelta(days=t)
        point = {"t": t, "day": at.date(), "at": at, "value": float(value), "differing": 0}
        points.append({**point, "runs": [f"run-{t}"]})
    return {
        "experiment": "consumer-crash",
        "client": "librdkafka",
        "protocol": "eager",
        "kafka": "4.3.1",
        "backend": "embedded",
        "setup": "",
        "rule": rule,
        "unit": "ms",
        "n": len(values),
        "runs": len(values),
        "before": 6_001.0,
        "after": 6_041.0,
        "since_run": "run-3",
        "since": START + timedelta(days=3),
        "p_adjusted": 0.0002,
        "bound_low": None,
        "bound_high": None,
        "points": points,
        "trend": kind,
        **more,
    }


@pytest.fixture
def rows() -> list[Any]:
    return [
        series("worse"),
        series("moved", "R14"),
        series("steady", "R07"),
        series("too few", "X32a", (0, 0)),
    ]


def test_the_page_loads_nothing_and_escapes(rows: list[Any]) -> None:
    rows[0]["experiment"] = "<script>"
    page = blocks.page(trend.shown(rows))

    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", page)


def test_dots_are_inside_their_field_and_bad_ones_marked() -> None:
    row = series("steady", values=(5_990, 6_010, 6_049), bound_low=0.0, bound_high=6_050.0)
    row["points"][1]["differing"] = 1
    shapes = trend._plot(row).shapes
    dots = [shape.attributes for shape in shapes if shape.tag == "circle"]
    bounds = [float(str(shape.attributes["y1"])) for shape in shapes if shape.tag == "line"]
    heights = [float(str(dot["cy"])) for dot in dots]

    assert all(0 <= float(str(dot["cx"])) <= 100 for dot in dots)
    assert all(0 <= y <= 40 for y in heights)
    assert [False, True, False] == ["class" in dot for dot in dots]
    assert 1 == len(bounds)  # the lower one is too far away to be drawn
    assert all(0 <= y <= 40 for y in bounds)
    assert heights == sorted(heights, reverse=True)


def test_a_day_of_several_runs_says_so() -> None:
    row = series("worse", values=(5_990, 6_010, 6_049), since_run="run-3", runs=32)
    row["points"][2] |= {"runs": ["run-3", *(f"repeat-{n}" for n in range(29))], "differing": 2}
    drawn = trend._plot(row)
    turn, _, *dots = drawn.shapes

    assert "run-1: 5,990 ms, as expected" == dots[0].title
    assert "2026-10-04, 30 runs: 6,049 ms, 2 not as expected" == dots[2].title
    assert [False, False, True] == ["class" in dot.attributes for dot in dots]
    assert drawn.words.endswith("; 32 runs on 3 days")
    assert turn.attributes["x1"] == pytest.approx(66.67)
    assert trend.headline([row, series("steady")]).startswith("2 series of 32 runs on 3 days: ")


def test_without_a_series_it_says_so() -> None:
    assert "No rule measured anything on two days or more." in blocks.page(trend.shown([]))
    assert trend.headline([]).startswith("No rule measured anything on two days (UTC) yet")


def test_series_of_one_name_are_set_apart_by_their_set_up(tmp_path: Path) -> None:
    rows = [series("worse", setup="1a2b"), series("moved", setup="3c4d"), series("moved", "R14")]
    page = blocks.page(trend.shown(rows))
    file = io.StringIO()
    blocks.print_shown(trend.shown(rows), Console(file=file, width=140))

    assert 1 == page.count("set up as 1a2b") == page.count("set up as 3c4d")
    assert 2 == page.count("set up as")
    assert "consumer-crash 1a2b" in file.getvalue()
    assert 1 == len(re.findall(r"in-its-interval +consumer-crash +librdkafka", file.getvalue()))
