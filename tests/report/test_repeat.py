"""Repeats: distributions over all runs, every verdict counted, the worst one decides."""

import io
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

from harness.base.errors import Exit
from harness.history.suites import Suite
from harness.report.many import repeat
from harness.report.many.blocks import print_shown
from harness.report.many.numbers import Spread
from tests.report.sample_run import verdict
from tests.report.sample_suite import write_repeats

SIX = [[6_000.0 + n, 6_010.0 + n] for n in range(6)]


def distributions(suite: Suite) -> dict[str, dict[str, object]]:
    repeat.write(suite)
    rows = pq.read_table(suite.path / "distributions.parquet").to_pylist()
    return {row["name"]: row for row in rows}


def test_the_interval_is_of_the_medians_of_the_runs() -> None:
    spread = Spread("R01", "ms", SIX)
    values, interval = spread.values, spread.interval

    assert (12, 6_000.0, 6_007.5, 6_015.0) == (values.n, values.min, values.p50, values.max)
    assert interval is not None
    assert (6_005.0, 6_010.0, 0.96875) == (interval.low, interval.high, interval.confidence)


def test_one_late_run_of_six_decides() -> None:
    rows = [*[verdict("R01")] * 5, verdict("R01", "VIOLATED")]

    assert rows[-1] == Spread("R01", rows=rows).worst


def test_every_rule_and_figure_is_a_row(tmp_path: Path) -> None:
    """A void run counts as unknown, one that was removed by its verdict; neither is measured."""
    suite = write_repeats(tmp_path, SIX[:3], "a broker died")
    names = ("verdict", "runs", "holds", "violated", "unknown", "n", "bound_high", "expected")
    found = distributions(suite)

    assert ("UNKNOWN", 4, 3, 0, 1, 6, 6_050.0, "HOLDS") == tuple(found["R01"][n] for n in names)
    assert (None, 3, None, None, None, 3) == tuple(found["rebalances"][n] for n in names[:6])
    assert (18, 173.0) == (found["rebalance lasts"]["n"], found["redelivered"]["max"])
    assert Exit.FAILED is suite.exit_code
    assert (suite.path / "junit.xml").exists()
    removed = suite.run_dir(suite.entries[2])
    assert removed is not None
    shutil.rmtree(removed)
    found = distributions(suite)
    assert ("UNKNOWN", 4, 3, 0, 1, 4) == tuple(found["R01"][name] for name in names[:6])
    assert {2} == {row["runs"] for row in found.values() if row["kind"] == "figure"}


def test_without_a_judged_run_there_is_still_a_page(tmp_path: Path) -> None:
    suite = write_repeats(tmp_path, [], "one", "two")
    file = io.StringIO()
    print_shown(repeat.write(suite), Console(file=file, width=140))

    assert "No run was judged." in (suite.path / "repeat.html").read_text()
    assert "2 void" in file.getvalue()
