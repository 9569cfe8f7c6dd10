"""What goes beyond an expected violation differs: by somebody else, too often, or by too much."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Final

import pytest

from harness.base.errors import Exit
from harness.check.check import check
from harness.check.expected import beyond
from harness.experiment import Within
from harness.report import exit_code, outcome
from harness.report.headline import of_run
from harness.report.load import Row, load, load_verdicts
from harness.report.many.numbers import spreads
from harness.report.outcome import Standing
from harness.report.text.junit import junit
from harness.rules.rule_names import NAMES
from harness.tables.engines.contract import Engine
from tests.check.evicted import ON_TIME, TOO_EARLY, evicted, write_evicted

BECAUSE: Final = "evictions come early now and then"
# The member is evicted 3,999 ms too early: its bounds begin at 5,950 ms.
EXPECTED: Final = {"rule": "R01", "verdict": "VIOLATED", "because": BECAUSE}


def judged(
    folder: Path,
    duckdb_engine: Engine,
    evicted_ms: float = TOO_EARLY,
    *,
    seen: bool = True,
    **limits: Any,
) -> Row:
    """The verdict of R01 in a run that expects it to be violated within these limits."""
    run_dir = write_evicted(folder, evicted_ms, [{**EXPECTED, **limits}])
    if not seen:
        (run_dir / "history" / "requests.parquet").unlink()
    [verdict] = [row for row in check(run_dir, duckdb_engine).verdicts if row["rule"] == "R01"]
    return verdict


@pytest.mark.parametrize(
    "limits",
    [
        {},  # a run of a version that had none
        {"by": "member-1", "at_most": 1, "up_to": 4_000},
        {"by": "member-1", "sometimes": True},
    ],
)
def test_a_violation_within_its_limits_is_as_expected(
    duckdb_engine: Engine, tmp_path: Path, limits: dict[str, Any]
) -> None:
    row = judged(tmp_path / "run", duckdb_engine, **limits)

    assert Standing.RESULT is outcome.standing(row)
    assert ("VIOLATED", BECAUSE) == (row["expected"], row["because"])
    assert "expected" not in row["reason"]


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"by": "{freeze-consumer}"}, 'by "no member"'),
        (
            {"by": "member-2", "at_most": 1, "up_to": 4_000, "sometimes": True},
            'by "member-2", once, at most 4,000 ms outside the bounds',
        ),
    ],
)
def test_a_violation_beyond_them_differs_and_is_named_first(
    duckdb_engine: Engine, tmp_path: Path, limits: dict[str, Any], told: str
) -> None:
    row = judged(tmp_path / "run", duckdb_engine, **limits)

    assert ("VIOLATED", "HOLDS", None) == (row["verdict"], row["expected"], row["because"])
    assert row["reason"].startswith(
        f"1 of 1 violations beyond what was expected ({told}), the first: member-1 (eviction), was "
        "evicted too early"
    )


def test_every_reader_is_told(duckdb_engine: Engine, tmp_path: Path) -> None:
    row = judged(tmp_path / "run", duckdb_engine, by="member-2")
    run = load(tmp_path / "run")
    cases = ET.fromstring(junit(run, of_run(run))).iter("testcase")
    [failure] = [case.find("failure") for case in cases if case.get("name") == NAMES["R01"]]

    assert Exit.DIFFERS == exit_code(tmp_path / "run")
    differing = list(filter(outcome.differs, run.verdicts or ()))
    assert NAMES["R01"] in [outcome.name_of(each["rule"]) for each in differing]
    assert failure is not None
    assert (failure.get("message") or "").endswith(f"VIOLATED, expected HOLDS: {row['reason']}")


@pytest.mark.parametrize("limits", [{}, {"by": "member-2"}])
def test_what_shows_only_sometimes_may_hold_whatever_its_limits(
    duckdb_engine: Engine, tmp_path: Path, limits: dict[str, Any]
) -> None:
    row = judged(tmp_path / "run", duckdb_engine, ON_TIME, sometimes=True, **limits)

    assert ("HOLDS", "HOLDS", None) == (row["verdict"], row["expected"], row["because"])
    [stored] = [each for each in load_verdicts(tmp_path / "run")[1] or () if each["rule"] == "R01"]
    assert [Standing.AS_EXPECTED] * 2 == [outcome.standing(each) for each in (row, stored)]


def test_what_shows_only_sometimes_differs_where_the_run_cannot_tell(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    row = judged(tmp_path / "run", duckdb_engine, ON_TIME, seen=False, sometimes=True)

    assert ("UNKNOWN", Standing.DIFFERS) == (row["verdict"], outcome.standing(row))
    assert Exit.DIFFERS == exit_code(tmp_path / "run")


def test_runs_that_show_it_and_runs_that_do_not_are_one_result(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    rows = [
        judged(tmp_path / str(at_ms), duckdb_engine, at_ms, sometimes=True)
        for at_ms in (ON_TIME, TOO_EARLY)
    ]
    [spread], _ = spreads([[row] for row in rows], [{}, {}])

    assert Standing.RESULT is spread.standing
    assert ("VIOLATED", {"HOLDS": 1, "VIOLATED": 1}) == (spread.expected, dict(spread.verdicts))


def test_a_rule_that_is_always_violated_differs_where_it_holds(
    duckdb_engine: Engine, tmp_path: Path
) -> None:
    row = judged(tmp_path / "run", duckdb_engine, ON_TIME, by="member-1")

    assert ("HOLDS", "VIOLATED") == (row["verdict"], row["expected"])


@pytest.mark.parametrize(
    ("hit", "took_effect", "expected"),
    [("member-1", True, "VIOLATED"), ("member-2", True, "HOLDS"), ("member-1", False, "HOLDS")],
)
def test_a_kind_of_fault_stands_for_whom_it_hit(
    duckdb_engine: Engine, tmp_path: Path, hit: str, *, took_effect: bool, expected: str
) -> None:
    history = evicted(TOO_EARLY)
    history.fault("freeze-consumer", hit, 4_100, 5_500, took_effect=took_effect)
    run_dir = history.write(tmp_path / "run", [{**EXPECTED, "by": "{freeze-consumer}"}])
    [row] = [each for each in check(run_dir, duckdb_engine).verdicts if each["rule"] == "R01"]

    assert ("VIOLATED", expected) == (row["verdict"], row["expected"])


# Of several violations, the unexpected ones.


def violation(subject: str, measured: float | None = 10.0, **columns: Any) -> dict[str, Any]:
    bounds = {"bound_low": None, "bound_high": 2.0}
    return {"subject": subject, "measured": measured, "ok": False, "why": "x", **bounds, **columns}


def test_what_somebody_else_does_does_not_count_among_the_expected() -> None:
    rows = [violation("member-2"), violation("member-1"), violation("member-1")]

    assert rows[:1] == beyond(Within(by="member-1", at_most=2), rows, {})
    assert [rows[0], rows[2]] == beyond(Within(by="member-1", at_most=1), rows, {})


def test_what_holds_or_cannot_be_judged_is_no_violation() -> None:
    rows = [violation("member-2", ok=True), violation("member-2", ok=None)]

    assert [] == beyond(Within(by="member-1", at_most=1, up_to=1), rows, {})


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        (violation("t-0", 12.0), True),
        (violation("t-0", 12.5), False),
        (violation("t-0", 0.0, bound_low=10.0, bound_high=None), True),
        (violation("t-0", 0.0, bound_low=10.5, bound_high=None), False),
        # Of these it is not known how far they are outside.
        (violation("t-0", None), False),
        (violation("t-0", 5.0, bound_high=None), False),
        (violation("t-0", 1.0), False),
    ],
)
def test_how_far_counts_from_the_bound_that_is_broken(row: dict[str, Any], *, fits: bool) -> None:
    assert ([] if fits else [row]) == beyond(Within(up_to=10), [row], {})


@pytest.mark.parametrize(
    ("by", "sentence", "fits"),
    [
        ("member-1", "member-1, left", True),
        ("member-1", "member-1 (stall), left", True),
        ("member-1", "member-10, left", False),
        ("member-1", "t-0 of member-1, left", False),
        ("* of member-1", "t-0 of member-1, left", True),
        ("{isolate}", "member-1, left", True),
        ("{isolate}", "member-3, left", False),
        ("{isolate}", "member-20, left", False),
        ("{isolate}*left", "member-2 (stall), left", True),
        ("{isolate}*left", "member-20 (stall), left", False),
        ("*{isolate}", "t-0 of member-2, left", True),
        ("*{isolate}", "t-0 of remember-2, left", False),
        ("{kill-broker}", "member-1, left", False),
        ("* {isolate} still held it", "t-0, member-2 still held it when member-4 got it", True),
        ("* {isolate} still held it", "t-0, member-4 still held it when member-2 got it", False),
        ("t.0", "t-0, left", False),
    ],
)
def test_by_is_how_the_sentence_of_a_violation_begins(
    by: str, sentence: str, *, fits: bool
) -> None:
    hit = {"isolate": ("member-1", "member-2")}
    assert fits is Within(by=by).is_by(sentence, hit)
