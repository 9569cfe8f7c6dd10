from __future__ import annotations

import pytest

from tests.histories import TOPIC, History
from tests.tables.rows import Rows


def test_records_delivered_three_times_are_redelivered_twice(rows: Rows) -> None:
    history = History()
    for number, ms in enumerate((100, 200, 300), start=1):
        history.delivered(f"member-{number}", 0, 0, 9, ms)
    again = rows(history, "redeliveries")
    assert [("member-1", "member-2", 10), ("member-2", "member-3", 10)] == [
        (row["first_member"], row["member"], row["count"]) for row in again
    ]


def test_a_hole_that_is_filled_later_is_no_redelivery(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-1", 0, 20, 29, 200)
    assert [] == rows(history.delivered("member-2", 0, 10, 19, 300), "redeliveries")


def test_only_the_overlap_of_two_ranges_is_redelivered(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 2_999, 100)
    history.commit_request("member-1", 150, 0, 2_500)
    (again,) = rows(history.delivered("member-2", 0, 2_500, 3_999, 300), "redeliveries")
    assert (2_500, 2_999, 500, 2_500, True) == tuple(
        again[name] for name in ("first_offset", "last_offset", "count", "committed", "explained")
    )


def test_what_lies_between_two_ranges_that_come_again_is_no_redelivery(rows: Rows) -> None:
    """0 to 9, 5 to 14 and 1,020 to 1,029 come again; 15 to 1,019 come for the first time."""
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-3", 0, 5, 14, 150)
    history.delivered("member-1", 0, 1_020, 1_029, 200)
    again = rows(history.delivered("member-2", 0, 0, 1_039, 300), "redeliveries")
    assert [(0, 1_029, 15 + 10), (5, 9, 5)] == [
        (row["first_offset"], row["last_offset"], row["count"]) for row in again
    ]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (25, "the commit of 10 was refused with error 25"),
        (None, "the commit of 10 was never answered"),
    ],
)
def test_a_redelivery_names_the_commit_that_did_not_cover_it(
    rows: Rows, error: int | None, why: str
) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100)
    history.asked_commit("member-1", 150, 0, 10, error=error)
    if error:
        history.commit_request("member-1", 151, 0, 10, error=error)
    (again,) = rows(history.delivered("member-2", 0, 0, 9, 300), "redeliveries")
    assert (10, error, why) == (again["try_committed"], again["try_error_code"], again["why"])


def test_a_redelivery_that_nobody_committed_says_so(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100).commit_request("member-1", 50, 0, 5)
    (again,) = rows(history.delivered("member-2", 0, 5, 9, 300), "redeliveries")
    assert (None, "no commit of them was asked for") == (again["try_committed"], again["why"])


def test_a_redelivery_after_a_deletion_says_so(rows: Rows) -> None:
    gone = {"topic": TOPIC, "partition": 0, "committed": -1, "error_code": 0}
    history = History().delivered("member-1", 0, 0, 9, 100).commit_request("member-1", 150, 0, 10)
    history.request("OFFSET_DELETE", "observer", 200, positions=[gone])
    (again,) = rows(history.delivered("member-2", 0, 0, 9, 300), "redeliveries")
    assert (None, True) == (again["committed"], again["explained"])
    assert "10 was committed, and deleted" == again["why"]
