"""What a noisy machine costs the judge, counted; and that no stall near a timing is missed."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from harness.check.doubt import Spans, Timed, by_stalls
from harness.check.judge import Outcome, _doubt, _guard, _say_withheld
from harness.rules import RULES
from harness.rules.rule import COLUMNS
from harness.tables.base import Tables
from harness.tables.engines.contract import Engine
from harness.tables.vocabulary import text_of
from tests.histories import History, at, tables_of

Row = dict[str, Any]


class Counted(datetime):
    """A moment that counts how often any of its kind is compared."""

    comparisons = 0

    def __lt__(self, other: Any) -> bool:
        Counted.comparisons += 1
        return super().__lt__(other)

    def __le__(self, other: Any) -> bool:
        Counted.comparisons += 1
        return super().__le__(other)

    def __gt__(self, other: Any) -> bool:
        Counted.comparisons += 1
        return super().__gt__(other)

    def __ge__(self, other: Any) -> bool:
        Counted.comparisons += 1
        return super().__ge__(other)


def counted(ms: float) -> Counted:
    return Counted.fromtimestamp(at(ms).timestamp(), at(ms).tzinfo)


def late(history: History, ms: float) -> None:
    history.tick(ms, late_ms=80)


def waiting(history: History, ms: float) -> None:
    history.waited("broker-1", ms - 1_000, ms, 80)


def guarded(
    rule: str, row: Row, history: History, engine: Engine, unread: str | None = None
) -> Row:
    """The row of a rule, once the stalls of a run have been looked at; why its record is unread."""
    with closing(tables_of(history, engine)) as tables:
        row["withheld"] = _guard(tables, Outcome(rows={rule: [row]}), unread)
    return row


def accused(ok: bool, at_ms: float) -> Row:
    return {**dict.fromkeys(COLUMNS), "ok": ok, "why": "it was so", "at": at(at_ms)}


def stalls_of(tables: Tables, outcome: Outcome) -> list[str]:
    return _guard(tables, outcome, None)


@pytest.mark.parametrize(("noise", "withheld"), [(late, stalls_of), (waiting, _doubt)])
def test_a_day_four_times_as_noisy_costs_four_times_as_much(
    noise: Callable[[History, float], None],
    withheld: Callable[[Tables, Outcome], list[str]],
    engine: Engine,
) -> None:
    def comparisons_of(seconds: int) -> int:
        history = History()
        for second in range(1, seconds + 1):
            noise(history, second * 1_000)
        rows = [
            {
                **dict.fromkeys(COLUMNS), "ok": False, "measured": 120.0, "bound_high": 100.0,
                "guard_from": counted(second * 1_000 - 60),
                "guard_to": counted(second * 1_000 + 60),
            }
            for second in range(1, seconds + 1)
        ]  # fmt: skip
        with closing(tables_of(history, engine)) as tables:
            before = Counted.comparisons
            assert seconds == len(withheld(tables, Outcome(rows={"R01": rows})))
        return Counted.comparisons - before

    few = comparisons_of(150)
    assert few > 150  # they are counted
    assert comparisons_of(600) < 8 * few  # each with each would be 16 times as many


def test_what_most_timings_were_withheld_for_is_found_in_one_go() -> None:
    class Clause(str):
        comparisons = 0

        def __eq__(self, other: object) -> bool:
            Clause.comparisons += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    row: Row = {"ok": True, "why": None}
    touched = [Clause("clock set" if each % 3 else "stood still") for each in range(300)]
    _say_withheld(Outcome(rows={"E04": [row]}), touched)

    assert (None, "clock set near 300 judged timings") == (row["ok"], row["why"])
    assert Clause.comparisons < 3 * len(touched)


def test_the_first_of_what_timings_were_withheld_for_as_often_is_named() -> None:
    row: Row = {"ok": True, "why": None}
    _say_withheld(Outcome(rows={"E04": [row]}), ["a", "b", "b", "a"])
    assert "a near 4 judged timings" == row["why"]


def test_the_stalls_near_a_timing_are_those_that_a_look_at_each_finds() -> None:
    drawn = random.Random(7)

    stalls: list[Row] = []
    for number in range(150):
        begin = drawn.randrange(1_000)
        lasts = drawn.choice((0, 5, 20, 400))
        what = drawn.choice(("late", "late", "unseen", "set"))
        stalls.append(
            {"what": what, "from_at": at(begin), "to_at": at(begin + lasts), "late_ms": number}
        )
    sizes = set()
    for _ in range(400):
        begin = drawn.randrange(1_100)
        timed = Timed(
            {**dict.fromkeys(COLUMNS), "ok": True, "measured": drawn.choice((None, 10.0, 500.0))},
            RULES["R01"],
            drawn.choice((None, 1.0, 0.5)),
            at(begin),
            at(begin + drawn.choice((0, 1, 30, 600))),
        )
        near = [each["late_ms"] for each in stalls if touches(each, timed)]
        found = [each.why.partition("ms")[0].split()[-1] for each in by_stalls([timed], stalls)]
        assert found == ([str(max(near))] if near else [])
        sizes.add(len(near))
    assert 0 in sizes
    assert len(sizes) > 20


def touches(stall: Row, timed: Timed) -> bool:
    begin, end, measured = timed.begin, timed.end, timed.row["measured"]
    assert end is not None
    if stall["what"] == "set" and timed.of_a_ms and measured is not None:
        begin = min(begin, end - timedelta(milliseconds=measured / timed.of_a_ms))
    return bool(stall["from_at"] <= end and stall["to_at"] >= begin)


@pytest.mark.parametrize(
    ("rule", "ok", "late_at_ms", "withheld"),
    [
        ("X60", False, 9_100, True),
        ("X60", False, 11_050, True),  # its tick begins 180 ms before
        ("X60", False, 8_999, False),
        ("X60", False, 11_200, False),
        ("X60", True, 10_000, False),  # nobody is accused
        ("X42", False, 10_000, False),  # it compares no clocks
    ],
)
def test_nobody_is_accused_by_two_clocks_while_the_machine_stood_still(
    rule: str, ok: bool, late_at_ms: float, withheld: bool, engine: Engine
) -> None:
    history = History()
    late(history, late_at_ms)
    row = guarded(rule, accused(ok, 10_000), history, engine)

    assert row["ok"] is (None if withheld else ok)
    assert withheld == row["why"].startswith("this machine stood still")


@pytest.mark.parametrize(
    ("rule", "ok", "set_by_ms", "withheld"),
    [
        ("X42", False, 1_001, True),
        ("X42", False, -1_001, True),
        ("X42", False, 1_000, False),  # near it only rules that compare clocks are spoilt
        ("X42", True, 3_000, False),
        ("E05", False, 3_000, False),  # it is about the record
    ],
)
def test_nobody_is_accused_in_a_run_in_which_the_time_of_day_was_set(
    rule: str, ok: bool, set_by_ms: float, withheld: bool, engine: Engine
) -> None:
    history = History()
    for second, by_ms in ((1, 0.0), (2, 0.0), (3, set_by_ms), (4, set_by_ms)):
        told = {"late_ms": 0.2, "clock_us": second * 1_000_000}
        history.add("host", at=at(second * 1_000 + by_ms), **told)
    row = guarded(rule, accused(ok, 60_000), history, engine)

    assert row["ok"] is (None if withheld else ok)
    assert withheld == row["why"].startswith("this machine's time of day was set by 1,001 ms")
    assert withheld == bool(row["withheld"])


def test_who_is_accused_stays_so_where_nothing_watched_the_machine(engine: Engine) -> None:
    unread = "host.parquet is not there"
    assert guarded("X60", accused(False, 10_000), History(), engine, unread)["ok"] is False


def test_both_ends_of_a_span_belong_to_it() -> None:
    spans = Spans([{"from_at": at(10), "to_at": at(20)}], "to_at")
    assert [1, 1, 1, 0, 0] == [
        len(spans.touching(at(begin), at(end)))
        for begin, end in ((0, 10), (20, 30), (12, 13), (0, 9), (21, 30))
    ]


OF_ONE_LOG = {"R22-assignor", "R22-moves", "R22-sticky"}  # joins and their rebalance


def test_what_compares_clocks_says_so() -> None:
    """A rule that looks in passing has a guard, or this mark, wherever it allows for the slack."""
    unmarked = {
        rule.id
        for rule in RULES.values()
        if rule.in_passing and not rule.compares_clocks
        and ":slack_ms" in text_of(rule.examine) and "guard_from" not in text_of(rule.examine)
    }  # fmt: skip
    # Times between two stamps of one process; and a reason that may be near, or far.
    assert {"R21-stop", "R34-silent", "R13-members", "X42", *OF_ONE_LOG} == unmarked
    assert all(rule.in_passing for rule in RULES.values() if rule.compares_clocks)
