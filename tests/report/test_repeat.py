"""Repeats: distributions over all runs, every verdict counted, the worst one decides."""

import io
import shutil
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

from harness.base.errors import Exit
from harness.history.suites import Suite
from harness.report.many import repeat
from tests.report.sample_suite import write_repeats

SIX = [[6_000.0 + n, 6_010.0 + n] for n in range(6)]


def distributions(suite: Suite) -> dict[str, dict[str, object]]:
    repeat.write(suite)
    rows = pq.read_table(suite.path / "distributions.parquet").to_pylist()
    return {row["name"]: row for row in rows}


def test_everything_measured_in_all_runs_is_one_distribution(tmp_path: Path) -> None:
    row = distributions(write_repeats(tmp_path, SIX))["R01"]

    assert (12, 6_000.0, 6_007.5, 6_015.0) == (row["n"], row["min"], row["p50"], row["max"])
    assert (6, 6, 0, 0) == (row["runs"], row["holds"], row["violated"], row["unknown"])
    assert ("HOLDS", "HOLDS", 6_050.0) == (row["expected"], row["verdict"], row["bound_high"])


def test_the_interval_is_of_the_medians_of_the_runs(tmp_path: Path) -> None:
    row = distributions(write_repeats(tmp_path, SIX))["R01"]

    assert (6_005.0, 6_010.0, 0.96875) == (
        row["median_low"],
        row["median_high"],
        row["median_confidence"],
    )


def test_one_late_run_of_six_decides(tmp_path: Path) -> None:
    suite = write_repeats(tmp_path, [*SIX[:5], [7_000.0]])
    row = distributions(suite)["R01"]

    assert ("VIOLATED", 5, 1) == (row["verdict"], row["holds"], row["violated"])
    assert Exit.DIFFERS is suite.exit_code


def test_a_void_run_counts_as_unknown_and_is_not_measured(tmp_path: Path) -> None:
    suite = write_repeats(tmp_path, SIX[:2], "a broker died")
    row = distributions(suite)["R01"]

    assert 6_050.0 == row["bound_high"]
    assert ("UNKNOWN", 3, 2, 1, 4) == (
        row["verdict"],
        row["runs"],
        row["holds"],
        row["unknown"],
        row["n"],
    )
    assert Exit.FAILED is suite.exit_code


def test_figures_are_told_too(tmp_path: Path) -> None:
    found = distributions(write_repeats(tmp_path, SIX))

    assert (6, 6.0) == (found["rebalances"]["n"], found["rebalances"]["p50"])
    assert 36 == found["rebalance lasts"]["n"]
    assert 173.0 == found["redelivered"]["max"]
    assert found["rebalances"]["verdict"] is None


def test_without_a_judged_run_there_is_still_a_page(tmp_path: Path) -> None:
    suite = write_repeats(tmp_path, [], "one", "two")
    repeat.write(suite)
    file = io.StringIO()
    repeat.print_repeat(suite, Console(file=file, width=140))

    assert "No run was judged." in (suite.path / "repeat.html").read_text()
    assert "2 void" in file.getvalue()


def test_a_run_that_was_removed_counts_by_its_verdict_and_is_not_measured(tmp_path: Path) -> None:
    suite = write_repeats(tmp_path, SIX)
    repeat.write(suite)
    removed = suite.run_dir(suite.entries[5])
    assert removed is not None
    shutil.rmtree(removed)
    rows = distributions(suite)

    assert (6, 6, 10) == (rows["R01"]["runs"], rows["R01"]["holds"], rows["R01"]["n"])
    assert {5} == {row["runs"] for row in rows.values() if row["kind"] == "figure"}
