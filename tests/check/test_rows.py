"""What one row of a rule comes to: the only place where a measurement meets its bounds."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from harness.check.rows import Malformed, beside, judged
from harness.rules import Rule
from tests.histories import at

RULE = Rule(
    "R99",
    title="Nothing is late",
    statement="Nothing is late.",
    source="nowhere",
    unit="ms",
    things="things",
    measures="late",
    too_low="came too early",
    too_high="came too late",
)


def row(**columns: Any) -> dict[str, Any]:
    [found] = judged(RULE, [{"subject": "a thing", **columns}])
    return found


@pytest.mark.parametrize(
    ("measured", "ok", "why"),
    [
        (9.9, False, "came too early"),
        (10, True, None),
        (20, True, None),
        (20.1, False, "came too late"),
    ],
)
def test_both_bounds_are_allowed_values(measured: float, ok: bool, why: str | None) -> None:
    found = row(measured=measured, bound_low=10, bound_high=20)
    assert (ok, why) == (found["ok"], found["why"])


LATE = {"measured": 3, "bound_high": 2}
WELL = {"measured": 1, "bound_high": 2}


@pytest.mark.parametrize(
    ("columns", "ok", "why", "excused"),
    [
        ({"measured": 5}, True, None, None),
        ({**WELL, "note": "by hand"}, True, "by hand", None),
        ({**LATE, "note": "by hand"}, False, "came too late; by hand", None),
        ({**WELL, "wrong": "it burns", "excused": "it rained"}, False, "it burns", None),
        (
            {**LATE, "wrong": "it burns", "unknown": "no look", "excused": "x"},
            None,
            "no look",
            None,
        ),
        ({**LATE, "excused": "it rained"}, True, "it rained", "it rained"),
        ({**WELL, "excused": "it rained", "note": "dry"}, True, "dry", None),
        ({"bound_high": 2}, None, "nothing was measured", None),
        ({"bound_high": 2, "excused": "it was back"}, True, "it was back", "it was back"),
        ({**LATE, "too_high": "left too late"}, False, "left too late", None),
    ],
    ids=[
        "without bounds and clauses it holds",
        "a note helps",
        "a note never decides",
        "what is wrong violates whatever was measured",
        "what is unknown is never judged",
        "outside its bounds only an excuse helps, and is kept",
        "an excuse that was not needed is not kept",
        "a bound without a measurement is unknown",
        "a bound without a measurement holds with an excuse",
        "a row may have words of its own",
    ],
)
def test_what_a_row_comes_to(
    columns: dict[str, Any], ok: bool | None, why: str | None, excused: str | None
) -> None:
    found = row(**columns)
    assert (ok, why, excused) == (found["ok"], found["why"], found["excused"])


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"mesured": 3}, "gives a column 'mesured'"),
        ({"subject": None}, "a row without a subject"),
        ({"measured": float("nan")}, "measured is not a number"),
        ({"bound_low": 3, "bound_high": 2}, "its bounds from 3 to 2 allow nothing"),
        ({"wrong": True}, "a clause is a text"),
        ({"guard_from": at(2), "guard_to": at(1)}, "its guard window ends before it starts"),
    ],
)
def test_a_row_that_no_rule_may_give_is_refused(columns: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        row(**columns)


def test_a_guard_may_be_one_moment_or_have_one_end() -> None:
    assert row(guard_from=at(1), guard_to=at(1))["ok"] is True
    assert row(guard_from=at(1))["ok"] is True


def test_the_order_of_rows_never_matters() -> None:
    rows: list[dict[str, Any]] = [
        {"subject": "b", "at": at(5), "wrong": "x"},
        {"subject": "a", "at": at(5), "wrong": "y"},
        {"subject": "a", "at": at(5), "wrong": "x"},
        {"subject": "a", "at": at(5), "measured": 1, "wrong": "x"},
        {"subject": "c", "at": at(4) + timedelta(microseconds=1), "wrong": "z"},
        {"subject": "a", "wrong": "z"},
    ]
    [first, *others] = [judged(RULE, order) for order in permutations(rows)]
    assert all(first == other for other in others)

    assert ["c", "a", "a", "a", "b", "a"] == [found["subject"] for found in first]


PAST = {"measured": 7, "bound_high": 6}
IN_TIME = {"measured": 5, "bound_high": 6}
LOOSER = {"measured": 30, "bound_high": 45}
EARLY = {"measured": 3, "bound_low": 4, "bound_high": 6}
BURNS = {"measured": 5, "bound_high": 6, "wrong": "it burns"}
EXCUSED = {"measured": 9, "bound_high": 6, "excused": "it rained"}
UNKNOWN = {"measured": 9, "bound_high": 6, "unknown": "nobody looked"}


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([IN_TIME, LOOSER], [5, 30]),
        ([IN_TIME, UNKNOWN], [5, 9]),
        ([IN_TIME, PAST], [5, 7]),
        ([IN_TIME, EARLY], [5, 3]),
        ([PAST, LOOSER], [7]),  # 30 is within the bounds of all
        ([EARLY, {"measured": 5, "bound_low": 1}], [3]),
        ([{"measured": 7, "bound_low": 8}, PAST, {"measured": 9, "bound_low": 5}, LOOSER], [7]),
        ([BURNS], []),
        ([IN_TIME, BURNS], []),
        ([IN_TIME, EXCUSED, BURNS], []),
        ([IN_TIME, {"wrong": "it burns", "bound_high": 6}], []),
        ([PAST, BURNS], [7, 5]),
        ([{"measured": 5, "wrong": "it burns"}], [5]),  # no bound is shown with it
        ([], []),
    ],
)
def test_the_number_beside_a_violation_is_one_that_violates_its_bound(
    rows: list[dict[str, Any]], shown: list[float]
) -> None:
    found = [row(subject=str(place), **columns) for place, columns in enumerate(rows)]
    assert shown == [each["measured"] for each in beside(found)]
