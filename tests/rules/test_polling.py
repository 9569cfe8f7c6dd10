from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


def java() -> History:
    return History(group={"client": "java"}).member(
        "member-1",
        client="java",
        batch_records=100,
        settings='{"max.partition.fetch.bytes": "65536"}',
    )


def fetched(history: History, ms: float, first: int, size: int = 50_000) -> History:
    detail = (
        f"Fetch READ_COMMITTED at offset {first} for partition t-0 returned fetch data "
        f"PartitionData(partitionIndex=0, errorCode=0, records=MemoryRecords(size={size}, buffer=))"
    )
    return history.told("member-1", "fetched", ms, detail=detail)


def handed_out(history: History, *polls: tuple[float, int, int]) -> History:
    for ms, first, last in polls:
        history.delivered("member-1", 0, first, last, ms)
    return history


# R23


def test_polls_up_to_the_limit_hold(judge: Judge) -> None:
    verdict = judge(handed_out(java(), (1_000, 0, 99), (1_100, 100, 120)), "R23")
    assert "HOLDS" == verdict["verdict"]
    assert 100 == verdict["measured_max"]


def test_a_poll_of_several_partitions_counts_as_a_whole(judge: Judge) -> None:
    history = java().delivered("member-1", 0, 0, 59, 1_000, poll=1)
    assert (
        "VIOLATED"
        == judge(history.delivered("member-1", 1, 0, 59, 1_000, poll=1), "R23")["verdict"]
    )


def test_the_largest_poll_of_each_java_member_counts(judge: Judge) -> None:
    history = handed_out(java(), (1_000, 0, 9), (1_100, 10, 110), (1_200, 111, 115))
    history.delivered("member-1", 1, 0, 9, 1_050).member("member-2", batch_records=100)
    verdict = judge(history.delivered("member-2", 1, 0, 199, 1_000), "R23")
    assert ("VIOLATED", 1, 101) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip
    assert at(1_100) == verdict["rows"][0]["at"]


# R24


def drained() -> History:
    """250 records of one fetch over three polls, then the next fetch."""
    history = handed_out(
        fetched(java(), 1_000, 0), (1_001, 0, 99), (1_100, 100, 199), (1_200, 200, 249)
    )
    return fetched(history, 1_205, 250)


def test_a_fetch_handed_out_over_enough_polls_holds(judge: Judge) -> None:
    verdict = judge(drained(), "R24")
    assert "HOLDS" == verdict["verdict"]
    assert 50_000 == verdict["measured_max"]
    assert "250 records handed out by 3 polls" == verdict["rows"][0]["why"]


def test_a_fetch_above_the_limit_violates(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0, 70_000), (1_001, 0, 9))
    assert "VIOLATED" == judge(fetched(history, 1_100, 10), "R24")["verdict"]


def test_a_fetch_handed_out_by_too_few_polls_violates(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0), (1_001, 0, 249))
    assert "VIOLATED" == judge(fetched(history, 1_205, 250), "R24")["verdict"]


@pytest.mark.parametrize(
    ("settings", "size", "verdict"),
    [
        ('{"max.partition.fetch.bytes": "65536"}', 65_536, "HOLDS"),
        ('{"max.partition.fetch.bytes": "65536"}', 65_537, "VIOLATED"),
        ("{}", 1_048_576, "HOLDS"),
        ("{}", 1_048_577, "VIOLATED"),
        (None, 1_048_576, "HOLDS"),
    ],
)
def test_a_fetch_is_held_to_the_members_limit_or_to_kafka_s(
    judge: Judge, settings: str | None, size: int, verdict: str
) -> None:
    history = handed_out(fetched(java(), 1_000, 0, size), (1_001, 0, 9))
    history.rows["members"][0]["settings"] = settings
    assert verdict == judge(fetched(history, 1_100, 10), "R24")["verdict"]


def test_as_many_polls_as_batches_are_enough(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0), (1_000, 0, 99), (1_100, 100, 199))
    assert "HOLDS" == judge(fetched(history, 1_105, 200), "R24")["verdict"]


def test_only_polls_of_its_own_records_hand_a_fetch_out(judge: Judge) -> None:
    """Those right before and right after, of others, or before it was there do not count."""
    history = fetched(fetched(java(), 900, 0), 1_000, 100)
    history.delivered("member-1", 0, 0, 99, 1_001).delivered("member-1", 0, 100, 349, 1_002)
    history.delivered("member-1", 0, 350, 400, 1_100).delivered("member-1", 1, 100, 199, 1_003)
    history.delivered("member-2", 0, 100, 199, 1_004).delivered("member-1", 0, 100, 199, 999)
    history.told("member-1", "fetch_sent", 1_000, detail="at offset 120 for")
    verdict = judge(fetched(history, 1_205, 350), "R24")
    assert "VIOLATED" == verdict["verdict"]
    assert ["100 records handed out by 1 polls", "250 records handed out by 1 polls"] == sorted(
        row["why"] for row in verdict["rows"]
    )


def test_the_edges_of_a_fetch_are_part_of_it(judge: Judge) -> None:
    history = fetched(java(), 1_000, 100)
    history.delivered("member-1", 0, 0, 100, 1_001).delivered("member-1", 0, 349, 400, 1_002)
    verdict = judge(fetched(history, 1_205, 350), "R24")
    assert "250 records handed out by 2 polls" == verdict["rows"][0]["why"]


@pytest.mark.parametrize(("size", "next_first"), [(0, 10), (50_000, 0)])
def test_a_fetch_that_brought_nothing_is_not_examined(
    judge: Judge, size: int, next_first: int
) -> None:
    history = handed_out(fetched(java(), 1_000, 0, size), (1_001, 0, 9))
    assert "UNKNOWN" == judge(fetched(history, 1_100, next_first), "R24")["verdict"]


def test_a_fetch_of_one_byte_and_one_record_is_examined(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0, 1), (1_001, 0, 0))
    assert 1 == judge(fetched(history, 1_100, 1), "R24")["examined"]


# R25


def test_a_fetch_after_the_buffer_is_empty_holds(judge: Judge) -> None:
    verdict = judge(drained(), "R25")
    assert "HOLDS" == verdict["verdict"]
    assert 3 == verdict["measured_max"]


def test_a_fetch_while_records_are_buffered_violates(judge: Judge) -> None:
    history = handed_out(
        fetched(java(), 1_000, 0), (1_001, 0, 99), (1_100, 100, 199), (1_200, 200, 249)
    )
    assert "VIOLATED" == judge(fetched(history, 1_050, 250), "R25")["verdict"]


@pytest.mark.parametrize(("next_ms", "verdict"), [(1_200, "HOLDS"), (1_199, "VIOLATED")])
def test_the_next_fetch_may_come_from_the_last_poll_but_one_on(
    judge: Judge, next_ms: float, verdict: str
) -> None:
    history = handed_out(
        fetched(java(), 1_000, 0),
        *((1_001, 0, 99), (1_100, 100, 199), (1_200, 200, 299), (1_300, 300, 349)),
    )
    assert verdict == judge(fetched(history, next_ms, 350), "R25")["verdict"]


def test_a_fetch_that_one_poll_hands_out_says_nothing_and_one_of_two_does(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0), (1_001, 0, 49))
    assert 0 == judge(fetched(history, 1_100, 50), "R25")["examined"]
    history = handed_out(fetched(java(), 1_000, 0), (1_001, 0, 99), (1_100, 100, 149))
    assert 1 == judge(fetched(history, 1_105, 150), "R25")["examined"]


# R25-rebalance


def rebalanced() -> History:
    history = handed_out(java(), (1_000, 0, 9)).told("member-1", "revoked", 2_000, [0])
    return handed_out(history.told("member-1", "assigned", 4_000, [0]), (4_000, 10, 19))


def test_nothing_between_revocation_and_assignment_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(rebalanced(), "R25-rebalance")["verdict"]


def test_records_between_revocation_and_assignment_violate(judge: Judge) -> None:
    verdict = judge(handed_out(rebalanced(), (3_000, 20, 22)), "R25-rebalance")
    assert "VIOLATED" == verdict["verdict"]
    assert 3 == verdict["measured_max"]


@pytest.mark.parametrize(
    ("ms", "member", "records"),
    [
        (2_000, "member-1", 0),
        (2_001, "member-1", 1),
        (3_999, "member-1", 1),
        (4_000, "member-1", 0),
        (3_000, "member-2", 0),
    ],
)
@pytest.mark.parametrize("event", ["revoked", "lost"])
def test_a_member_is_without_an_assignment_between_its_callbacks(
    judge: Judge, event: str, ms: float, member: str, records: int
) -> None:
    history = java().told("member-1", event, 2_000, [0]).told("member-1", "stall_started", 2_500)
    history.told("member-2", "assigned", 3_500, [0]).told("member-1", "assigned", 4_000, [0])
    history.told("member-1", "assigned", 9_000, [1]).delivered(member, 0, 7, 7, ms)
    verdict = judge(history, "R25-rebalance")
    assert (1, records) == (verdict["examined"], verdict["measured_max"])


def test_a_member_assigned_in_the_moment_of_the_revocation_is_not_without(judge: Judge) -> None:
    history = (
        java().told("member-1", "revoked", 2_000, [0]).told("member-1", "assigned", 2_000, [1])
    )
    history.told("member-1", "assigned", 4_000, [0]).delivered("member-1", 1, 0, 9, 3_000)
    assert "HOLDS" == judge(history, "R25-rebalance")["verdict"]


def test_a_member_that_is_never_assigned_anything_again_is_not_examined(judge: Judge) -> None:
    history = java().told("member-1", "assigned", 1_000, [0]).told("member-1", "lost", 2_000, [0])
    assert "UNKNOWN" == judge(history, "R25-rebalance")["verdict"]


@pytest.mark.parametrize("rule", ["R23", "R24", "R25", "R25-rebalance"])
def test_no_poll_is_unknown(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(java(), rule)["verdict"]
