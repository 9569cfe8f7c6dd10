from __future__ import annotations

import pytest

from tests.histories import TOPIC, History, at
from tests.tables.table_rows import Rows


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


@pytest.mark.parametrize(
    ("first", "last", "count"),
    [(0, 4, 0), (0, 5, 1), (14, 30, 1), (15, 30, 0), (7, 8, 2), (0, 30, 10)],
)
def test_ranges_that_share_one_record_share_that(
    rows: Rows, first: int, last: int, count: int
) -> None:
    """The first has 5 to 14."""
    history = History().delivered("member-1", 0, 5, 14, 100)
    again = rows(history.delivered("member-2", 0, first, last, 200), "redeliveries")
    assert ([count] if count else []) == [row["count"] for row in again]


def test_of_two_polls_of_one_moment_the_later_repeats_the_earlier(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-2", 0, 0, 9, 100)
    (again,) = rows(history, "redeliveries")
    assert ("member-1", "member-2") == (again["first_member"], again["member"])


def test_who_had_it_last_is_named_as_who_had_it(rows: Rows) -> None:
    history = History()
    for number, ms in enumerate((100, 300, 200, 400), start=1):
        history.delivered(f"member-{number}", 0, 0, 9, ms, poll=number)
    again = {row["member"]: row for row in rows(history, "redeliveries")}
    assert {"member-3": "member-1", "member-2": "member-3", "member-4": "member-2"} == {
        name: row["first_member"] for name, row in again.items()
    }
    assert at(300) == again["member-4"]["first_polled_at"]


@pytest.mark.parametrize(
    ("committed", "ms", "known", "explained"),
    [
        (5, 200, 5, True),
        (6, 200, 6, False),
        # Of the moment of the poll it came before it.
        (6, 300, 6, False),
        (6, 301, None, True),
    ],
)
def test_what_was_committed_before_is_not_delivered_again(
    rows: Rows, committed: int, ms: float, known: int | None, explained: bool
) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100)
    history.commit_request("member-1", ms, 0, committed)
    history.commit_request("member-1", 200, 1, 9).commit_request("member-1", 250, 0, 9, error=25)
    (again,) = rows(history.delivered("member-2", 0, 5, 9, 300), "redeliveries")
    assert (known, explained) == (again["committed"], again["explained"])


@pytest.mark.parametrize(
    ("evicted_ms", "back_ms", "zombie"),
    [
        (300, None, True),
        (301, None, False),
        (200, 300, False),
        (200, 301, True),
    ],
)
def test_a_zombie_hands_out_what_it_had(
    rows: Rows, evicted_ms: float, back_ms: float | None, zombie: bool
) -> None:
    """It polls at 300 ms, when another has committed all of it."""
    history = History(group={"protocol": "consumer"}).delivered("member-1", 0, 0, 9, 100)
    history.says("member_added", 0, "member-2").says("evicted", evicted_ms, "member-2")
    history.says("evicted", 150, "member-3").commit_request("member-1", 200, 0, 10)
    if back_ms:
        history.says("member_added", back_ms, "member-2")
    (again,) = rows(history.delivered("member-2", 0, 0, 9, 300), "redeliveries")
    assert (zombie, zombie) == (again["zombie"], again["explained"])
    why = "handed out by a member that had been removed" if zombie else "10 was committed before"
    assert why == again["why"]


@pytest.mark.parametrize(
    ("member", "committed", "ms", "why"),
    [
        ("member-1", 1, 100, "1 was committed before"),
        ("member-1", 1, 99, "no commit of them was asked for"),
        ("member-1", 0, 150, "no commit of them was asked for"),
        ("member-2", 10, 150, "no commit of them was asked for"),
        ("member-1", 10, 300, "10 was committed before"),
        ("member-1", 10, 301, "10 was committed only afterwards"),
    ],
)
def test_the_first_commit_that_covers_some_of_it_says_why(
    rows: Rows, member: str, committed: int, ms: float, why: str
) -> None:
    """It was delivered at 100 and 300 ms."""
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-2", 0, 0, 9, 300)
    history.commit_request(member, ms, 0, committed).commit_request("member-1", 150, 1, 10)
    (again,) = rows(history, "redeliveries")
    assert why == again["why"]


def test_of_two_commits_the_first_says_why(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-2", 0, 0, 9, 300)
    history.commit_request("member-1", 150, 0, 10, error=25)
    (again,) = rows(history.commit_request("member-1", 200, 0, 9), "redeliveries")
    assert (10, at(150), 25) == tuple(
        again[f"try_{name}"] for name in ("committed", "at", "error_code")
    )


def test_another_partition_has_its_own_records(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-2", 1, 0, 9, 200)
    assert [] == rows(history.delivered("member-2", 0, 0, 9, 300, topic="u"), "redeliveries")


@pytest.mark.parametrize("turned", [False, True])
def test_who_had_them_first_does_not_depend_on_the_order_of_the_file(
    rows: Rows, turned: bool
) -> None:
    """Two members got them in one moment; the later name is as good as the other one."""
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-2", 0, 0, 9, 100)
    history.delivered("member-3", 0, 0, 9, 300)
    if turned:
        history.rows["deliveries"].reverse()
    again = {row["member"]: row["first_member"] for row in rows(history, "redeliveries")}
    assert "member-2" == again["member-3"]
