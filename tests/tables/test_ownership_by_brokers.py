"""Each way in which brokers and processes show that a member has a partition, or no more."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, member_id, parts
from tests.tables.table_rows import Rows, in_order

UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, MEMBER_ID_REQUIRED = 25, 22, 79
FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH = 82, 110


def intervals(history: History, rows: Rows) -> list[dict[str, Any]]:
    found = rows(history, "ownership_by_brokers")
    return in_order(found, "topic", "partition", "from_at")


def held(history: History, rows: Rows) -> list[tuple[int, datetime, datetime | None, str | None]]:
    """The partition, from when to when, and how it ended, of each interval."""
    return [
        (row["partition"], row["from_at"], row["to_at"], row["ended_by"])
        for row in intervals(history, rows)
    ]


def classic(assignor: str = "range", **row: Any) -> History:
    """member-1 is given partitions 0 and 1 at 100 ms."""
    history = History().member("member-1", **row).join("member-1", 10, assignors=[assignor])
    return history.sync("member-1", 100, assigned=parts(0, 1))


def beat(history: History, ms: float, epoch: int, owned: list[int] | None, **row: Any) -> History:
    """A heartbeat of KIP-848, of what member-1 says that it owns."""
    said = None if owned is None else parts(*owned)
    return history.request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", ms, generation=epoch, owned=said, **row
    )


def consumer(**row: Any) -> History:
    """member-1 is given partitions 0 and 1 at 10 ms, and has taken them up at 100 ms."""
    history = beat(History().member("member-1", **row), 10, 0, [], assigned=parts(0, 1))
    return beat(history, 100, 2, [0, 1])


def test_a_member_holds_what_it_is_given_once_the_answer_is_on_the_wire(rows: Rows) -> None:
    history = History().member("member-1")
    history.sync("member-1", 100, 7, assigned=parts(3), processed_at=at(120), answered_at=at(130))
    assert [
        {
            "topic": TOPIC, "partition": 3, "member": "member-1",
            "member_id": member_id("member-1"), "generation": 7, "from_at": at(130),
            "to_at": at(60_000), "ended_by": "closed", "removed_at": None,
        }
    ] == intervals(history, rows)  # fmt: skip


def test_who_is_given_nothing_or_refused_holds_nothing(rows: Rows) -> None:
    history = History().member("member-1").member("member-2").sync("member-1", 100, assigned=[])
    history.sync("member-2", 100, assigned=parts(0), error_code=27)
    assert [] == held(history, rows)


def test_an_eager_member_gives_up_everything_before_it_joins_again(rows: Rows) -> None:
    history = classic().join("member-1", 5_000, 2, assignors=["range"], answered_at=at(5_900))
    history.sync("member-1", 6_000, 2, assigned=parts(0))
    assert [
        (0, at(100), at(5_000), "revoked"),
        (0, at(6_000), at(60_000), "closed"),
        (1, at(100), at(5_000), "revoked"),
    ] == held(history, rows)


def test_a_client_that_offers_an_eager_assignor_as_well_is_eager(rows: Rows) -> None:
    history = classic().join("member-1", 5_000, 2, assignors=["range", "cooperative-sticky"])
    assert [(0, at(100), at(5_000), "revoked"), (1, at(100), at(5_000), "revoked")] == held(
        history, rows
    )


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "stream"])
def test_a_cooperative_member_keeps_what_the_next_answer_has_as_well(
    rows: Rows, assignor: str
) -> None:
    history = classic(assignor)
    history.join("member-1", 5_000, 2, assignors=[assignor])
    history.sync("member-1", 6_000, 2, assigned=parts(1, 2))
    assert [
        (0, at(100), at(6_000), "revoked"),
        (1, at(100), at(60_000), "closed"),
        (2, at(6_000), at(60_000), "closed"),
    ] == held(history, rows)
    assert [1, 1, 2] == [row["generation"] for row in intervals(history, rows)]


def test_a_join_whose_answer_seems_late_comes_after_the_answer_before_it(rows: Rows) -> None:
    """SyncGroup's line was stamped 20 ms late, and the next JoinGroup had come meanwhile."""
    history = History().member("member-1")
    history.sync("member-1", 100, assigned=parts(0), answered_at=at(140))
    history.join("member-1", 5_000, 2).sync("member-1", 5_100, 2, assigned=[])
    history.sync("member-1", 6_000, 3, assigned=parts(0), answered_at=at(6_020))
    history.join("member-1", 6_010, 4)
    assert [(0, at(140), at(5_000), "revoked"), (0, at(6_010), at(6_010), "revoked")] == held(
        history, rows
    )


def test_a_member_that_leaves_gives_up_everything(rows: Rows) -> None:
    history = classic().request("LEAVE_GROUP", "member-1", 7_000)
    history.says("left", 6_999, "member-1")  # its line was there before the request's was stamped
    assert [(at(7_000), "revoked", None)] * 2 == [
        (row["to_at"], row["ended_by"], row["removed_at"]) for row in intervals(history, rows)
    ]


@pytest.mark.parametrize("api", ["HEARTBEAT", "SYNC_GROUP"])
@pytest.mark.parametrize("error", [UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID])
def test_a_zombie_holds_until_it_is_refused(rows: Rows, api: str, error: int) -> None:
    history = classic().says("evicted", 6_100, "member-1")
    history.request(api, "member-1", 9_000, error_code=error, answered_at=at(9_010))
    assert [(at(9_010), "lost", at(6_100))] * 2 == [
        (row["to_at"], row["ended_by"], row["removed_at"]) for row in intervals(history, rows)
    ]


def test_a_refused_commit_and_a_rebalance_are_no_such_sign(rows: Rows) -> None:
    history = classic("cooperative-sticky").commit_request("member-1", 4_000, 0, 10, error=22)
    history.request("HEARTBEAT", "member-1", 5_000, error_code=27)
    assert [(0, at(100), at(60_000), "closed"), (1, at(100), at(60_000), "closed")] == held(
        history, rows
    )


def test_what_is_refused_of_an_older_generation_is_nobodys_any_more(rows: Rows) -> None:
    """A coordinator that was paused wakes up and reads what it had been sent before."""
    history = classic("cooperative-sticky")
    history.sync("member-1", 6_000, 2, assigned=parts(0, 1))
    history.request("HEARTBEAT", "member-1", 9_000, broker=2, error_code=UNKNOWN_MEMBER_ID)
    assert [(0, at(100), at(60_000), "closed"), (1, at(100), at(60_000), "closed")] == held(
        history, rows
    )


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_member_that_joins_under_another_id_has_lost_what_it_had(
    rows: Rows, assignor: str
) -> None:
    history = classic(assignor).says("evicted", 6_100, "member-1")
    history.join("member-1", 9_000, -1, life=2, error_code=MEMBER_ID_REQUIRED)
    history.join("member-1", 9_010, 2, life=2, assignors=[assignor])
    history.sync("member-1", 9_100, 2, life=2, assigned=parts(0))
    assert [
        (0, member_id("member-1"), at(100), at(9_000), "lost", at(6_100)),
        (0, member_id("member-1", 2), at(9_100), at(60_000), "closed", None),
        (1, member_id("member-1"), at(100), at(9_000), "lost", at(6_100)),
    ] == [
        (row["partition"], row["member_id"], row["from_at"], row["to_at"], row["ended_by"],
         row["removed_at"])
        for row in intervals(history, rows)
    ]  # fmt: skip


def test_two_consumers_of_one_process_have_what_each_was_given(rows: Rows) -> None:
    """The first is heard of after the other has joined, so it was not replaced by it."""
    history = classic().join("member-1", 3_000, -1, life=2, error_code=MEMBER_ID_REQUIRED)
    history.heartbeats("member-1", 4_000)
    history.join("member-1", 3_010, 2, life=2).sync("member-1", 3_100, 2, life=2, assigned=parts(2))
    assert [
        (0, at(100), at(60_000), "closed"),
        (1, at(100), at(60_000), "closed"),
        (2, at(3_100), at(60_000), "closed"),
    ] == held(history, rows)


def test_a_replaced_static_member_holds_until_it_is_fenced(rows: Rows) -> None:
    history = classic(instance_id="one").says("replaced", 3_000, "member-1")
    history.member("member-2", instance_id="one").join("member-2", 2_990)
    history.sync("member-2", 3_050, assigned=parts(0, 1))
    history.request("HEARTBEAT", "member-1", 4_000, error_code=FENCED_INSTANCE_ID)
    assert [
        ("member-1", at(4_000), "lost", at(3_000)),
        ("member-2", at(60_000), "closed", None),
    ] == [
        (row["member"], row["to_at"], row["ended_by"], row["removed_at"])
        for row in intervals(history, rows)
        if row["partition"] == 0
    ]


@pytest.mark.parametrize("end", ["closed", "killed", "failed"])
def test_all_ends_with_the_process(rows: Rows, end: str) -> None:
    history = classic(end=end, ended_at=at(7_000)).says("evicted", 13_000, "member-1")
    assert [(at(7_000), end, None)] * 2 == [
        (row["to_at"], row["ended_by"], row["removed_at"]) for row in intervals(history, rows)
    ]


def test_a_killed_process_whose_end_nobody_saw_ends_with_its_fault(rows: Rows) -> None:
    history = classic(end="killed", ended_at=None).fault("kill-consumer", "member-1", 7_000)
    history.says("evicted", 13_000, "member-1")
    assert [(0, at(100), at(7_000), "killed"), (1, at(100), at(7_000), "killed")] == held(
        history, rows
    )


def test_a_process_that_nobody_saw_end_holds_without_an_end(rows: Rows) -> None:
    history = classic(end=None, ended_at=None)
    assert [(0, at(100), None, None), (1, at(100), None, None)] == held(history, rows)


def test_what_a_dead_process_had_sent_neither_gives_nor_takes(rows: Rows) -> None:
    history = classic(end="killed", ended_at=at(7_000)).join("member-1", 7_500, 2)
    history.sync("member-1", 8_000, 2, assigned=parts(2))
    assert [(0, at(100), at(7_000), "killed"), (1, at(100), at(7_000), "killed")] == held(
        history, rows
    )


def test_a_process_that_left_has_left_even_if_that_was_read_after_its_end(rows: Rows) -> None:
    history = classic(ended_at=at(7_000)).request("LEAVE_GROUP", "member-1", 7_020)
    history.says("left", 6_999, "member-1")
    assert [(at(7_000), "revoked", None)] * 2 == [
        (row["to_at"], row["ended_by"], row["removed_at"]) for row in intervals(history, rows)
    ]


# KIP-848


def test_a_member_of_kip_848_holds_what_it_says_it_owns(rows: Rows) -> None:
    history = beat(consumer(), 2_000, 2, None, assigned=parts(1, 2))
    history = beat(beat(history, 2_400, 2, [1]), 4_000, 3, [1, 2])
    assert [
        (0, at(100), at(2_400), "revoked"),
        (1, at(100), at(60_000), "closed"),
        (2, at(4_000), at(60_000), "closed"),
    ] == held(history, rows)


def test_what_it_was_given_and_never_took_up_it_never_had(rows: Rows) -> None:
    history = beat(History().member("member-1"), 10, 0, [], assigned=parts(0))
    assert [] == held(history, rows)


@pytest.mark.parametrize("epoch", [-1, -2])
def test_it_leaves_with_a_heartbeat(rows: Rows, epoch: int) -> None:
    """-2 is a static member's, which means to come back."""
    history = beat(consumer(), 5_000, epoch, None)
    assert [(0, at(100), at(5_000), "revoked"), (1, at(100), at(5_000), "revoked")] == held(
        history, rows
    )


def test_a_fenced_member_has_lost_all_and_comes_back_by_the_same_id(rows: Rows) -> None:
    history = consumer().says("fenced", 6_000, "member-1")
    history = beat(history, 8_000, 2, None, error_code=FENCED_MEMBER_EPOCH)
    history = beat(history, 8_010, 0, [], assigned=parts(0)).says("member_added", 8_010, "member-1")
    history = beat(history, 8_100, 4, [0])
    assert [
        (0, at(100), at(8_000), "lost", at(6_000)),
        (0, at(8_100), at(60_000), "closed", None),
        (1, at(100), at(8_000), "lost", at(6_000)),
    ] == [
        (row["partition"], row["from_at"], row["to_at"], row["ended_by"], row["removed_at"])
        for row in intervals(history, rows)
    ]


@pytest.mark.parametrize(
    ("removed_ms", "back_ms", "zombie"),
    [
        (100, None, True),
        (6_000, None, True),
        (6_001, None, False),
        # Before it began to hold: unless it was back by then.
        (50, None, True),
        (50, 101, True),
        (50, 100, False),
        (50, 90, False),
    ],
)
def test_a_holder_is_a_zombie_once_it_was_removed(
    rows: Rows, removed_ms: float, back_ms: float | None, zombie: bool
) -> None:
    """It holds the partitions from 100 to 6,000 ms."""
    history = consumer().says("member_added", 0, "member-1").says("evicted", removed_ms, "member-1")
    if back_ms:
        history.says("member_added", back_ms, "member-1")
    beat(history, 6_000, 2, [])
    assert {at(removed_ms) if zombie else None} == {
        row["removed_at"] for row in intervals(history, rows)
    }


def test_the_first_removal_of_a_holder_counts_and_its_own_leaving_is_none(rows: Rows) -> None:
    history = consumer().says("member_added", 0, "member-1")
    for ms, event in ((3_000, "evicted"), (4_000, "member_added"), (5_000, "fenced")):
        history.says(event, ms, "member-1")
    assert {at(3_000)} == {row["removed_at"] for row in intervals(history, rows)}
    history = beat(consumer(), 6_000, -1, None).says("evicted", 5_999, "member-1")
    assert {at(5_999)} == {row["removed_at"] for row in intervals(history, rows)}


@pytest.mark.parametrize(("back_ms", "removed_ms"), [(101, 50), (90, 9_000)])
def test_a_holder_is_removed_in_the_stay_in_which_it_holds(
    rows: Rows, back_ms: float, removed_ms: float
) -> None:
    """It holds the partitions from 100 ms on, and was out from 50 ms until it was back."""
    history = consumer()
    for ms, event in ((0, "member_added"), (50, "evicted"), (back_ms, "member_added")):
        history.says(event, ms, "member-1")
    history.says("evicted", 9_000, "member-1")
    assert {at(removed_ms)} == {row["removed_at"] for row in intervals(history, rows)}


def test_who_left_by_the_coordinators_line_alone_was_removed(rows: Rows) -> None:
    """No request of it says so, and nobody saw the end of its process."""
    history = consumer(end=None, ended_at=None).says("left", 6_000, "member-1")
    assert {(None, None, at(6_000))} == {
        (row["to_at"], row["ended_by"], row["removed_at"]) for row in intervals(history, rows)
    }


def test_a_member_that_joins_with_nothing_has_nothing(rows: Rows) -> None:
    assert [at(6_000)] * 2 == [to for _, _, to, _ in held(beat(consumer(), 6_000, 0, []), rows)]


@pytest.mark.parametrize(("epoch", "kept"), [(0, True), (-1, False), (1, True)])
def test_a_heartbeat_that_joins_is_no_leave(rows: Rows, epoch: int, kept: bool) -> None:
    """It says that it owns both partitions still, or nothing."""
    found = held(beat(consumer(), 6_000, epoch, [0, 1] if kept else None), rows)
    end = at(60_000 if kept else 6_000)
    assert [end, end] == [to_at for _, _, to_at, _ in found]


@pytest.mark.parametrize(("joined_ms", "to_ms"), [(7_000, None), (7_001, 7_001)])
def test_another_id_that_joins_later_replaces_the_one_before(
    rows: Rows, joined_ms: float, to_ms: float | None
) -> None:
    """Of the same process, which was heard of by its first id at 7 s; by its third at 9 s."""
    history = classic("cooperative-sticky").heartbeats("member-1", 7_000)
    for life, ms in ((2, joined_ms), (3, 9_000)):
        history.join("member-1", ms, life=life, assignors=["cooperative-sticky"])
    expected = at(to_ms) if to_ms else at(9_000)
    assert [expected, expected] == [
        to_at for number, _, to_at, _ in held(history, rows) if number in (0, 1)
    ]


def test_the_first_kill_ends_what_a_member_holds(rows: Rows) -> None:
    history = classic(end="killed", ended_at=None)
    history.fault("kill-consumer", "member-1", 7_000).fault("kill-consumer", "member-1", 8_000)
    assert [(at(7_000), "killed")] * 2 == [(to, how) for _, _, to, how in held(history, rows)]


@pytest.mark.parametrize(("ended_ms", "how"), [(6_000, "closed"), (6_001, "revoked")])
def test_what_is_read_of_a_dead_process_tells_nothing(
    rows: Rows, ended_ms: float, how: str
) -> None:
    """But that it had left."""
    history = beat(consumer(ended_at=at(ended_ms)), 6_000, 2, [])
    assert [(at(6_000), how)] * 2 == [(to, ended) for _, _, to, ended in held(history, rows)]
