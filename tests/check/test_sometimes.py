"""A rule that is violated in some runs only: HOLDS and VIOLATED are as expected, UNKNOWN is not."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from harness.base.errors import Exit
from harness.check.check import check
from harness.experiment import Verdict
from harness.report import exit_code, outcome
from harness.report.load import Row, load_verdicts
from harness.report.many.numbers import spreads
from harness.report.outcome import Standing
from harness.tables.engines.contract import Engine
from tests.check.evicted import ON_TIME, TOO_EARLY, write_evicted

BECAUSE: Final = "evictions come early now and then"


def judged(tmp_path: Path, duckdb_engine: Engine, evicted_ms: float, *, seen: bool = True) -> Row:
    """The verdict of R01 in a run that expects it to be violated sometimes."""
    rule = {"rule": "R01", "verdict": "VIOLATED", "because": BECAUSE, "sometimes": True}
    run_dir = write_evicted(tmp_path / "run", evicted_ms, [rule])
    if not seen:
        (run_dir / "history" / "requests.parquet").unlink()
    return next(row for row in check(run_dir, duckdb_engine).verdicts if row["rule"] == "R01")


@pytest.mark.parametrize(
    ("evicted_ms", "verdict", "because", "standing"),
    [
        (ON_TIME, Verdict.HOLDS, None, Standing.AS_EXPECTED),
        (TOO_EARLY, Verdict.VIOLATED, BECAUSE, Standing.RESULT),
    ],
)
def test_it_is_as_expected_whether_it_shows_or_not(
    duckdb_engine: Engine,
    tmp_path: Path,
    evicted_ms: float,
    verdict: Verdict,
    because: str | None,
    standing: Standing,
) -> None:
    row = judged(tmp_path, duckdb_engine, evicted_ms)

    assert (verdict, verdict, because) == (row["verdict"], row["expected"], row["because"])
    assert standing is outcome.standing(row)
    [stored] = [each for each in load_verdicts(tmp_path / "run")[1] or () if each["rule"] == "R01"]
    assert standing is outcome.standing(stored)


def test_a_run_that_cannot_tell_differs(duckdb_engine: Engine, tmp_path: Path) -> None:
    row = judged(tmp_path, duckdb_engine, ON_TIME, seen=False)

    assert Verdict.UNKNOWN == row["verdict"]
    assert Standing.DIFFERS is outcome.standing(row)
    assert Exit.DIFFERS == exit_code(tmp_path / "run")


def test_runs_that_show_it_and_runs_that_do_not_are_one_result(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    rows = [judged(tmp_path / str(at_ms), duckdb_engine, at_ms) for at_ms in (ON_TIME, TOO_EARLY)]
    [spread], _ = spreads([[row] for row in rows], [{}, {}])

    assert Standing.RESULT is spread.standing
    assert ("VIOLATED", {"HOLDS": 1, "VIOLATED": 1}) == (spread.expected, dict(spread.verdicts))
