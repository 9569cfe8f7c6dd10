from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, beat

Judge = Callable[[History, str], dict[str, Any]]


def java() -> History:
    return History(group={"client": "java"}).member(
        "member-1",
        client="java",
        batch_records=100,
        settings='{"max.partition.fetch.bytes": "65536"}',
    )


def fetched(
    history: History, ms: float, first: int, size: int = 50_000, upto: int | None = None
) -> History:
    end = "" if upto is None else f"highWatermark={upto}, "
    detail = (
        f"Fetch READ_COMMITTED at offset {first} for partition t-0 returned fetch data "
        f"PartitionData(partitionIndex=0, errorCode=0, {end}"
        f"records=MemoryRecords(size={size}, buffer=))"
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


def test_a_poll_is_told_with_when_it_first_returned_something(judge: Judge) -> None:
    history = fetched(unset(java(), "max.poll.records"), 1_000, 0)
    for partition, ms in ((1, 1_002), (0, 1_001)):
        history.delivered("member-1", partition, 0, 9, ms, poll=1)
    fetched(handed_out(history, (1_003, 10, 12)), 2_000, 13)
    for rule in ("R23", "R23-default"):
        assert at(1_001) == judge(history, rule)["rows"][0]["at"]


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
    history = handed_out(fetched(java(), 1_000, 0, 1_100_000), (1_001, 0, 9))
    assert "VIOLATED" == judge(fetched(history, 1_100, 10), "R24")["verdict"]


@pytest.mark.parametrize(("upto", "verdict"), [(6, "HOLDS"), (250, "VIOLATED")])
def test_what_another_member_read_meanwhile_was_in_none_of_its_fetches(
    judge: Judge, upto: int, verdict: str
) -> None:
    history = handed_out(fetched(java(), 1_000, 0, upto=upto), (1_010, 0, 5))
    assert verdict == judge(fetched(history, 9_000, 250), "R24")["verdict"]


def test_a_fetch_handed_out_by_too_few_polls_violates(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0), (1_001, 0, 249))
    assert "VIOLATED" == judge(fetched(history, 1_205, 250), "R24")["verdict"]


@pytest.mark.parametrize(
    ("settings", "size", "verdict"),
    [
        ('{"max.partition.fetch.bytes": "65536"}', 65_536, "HOLDS"),
        # A single batch may be larger than that, and is fetched all the same.
        ('{"max.partition.fetch.bytes": "65536"}', 65_537, "UNKNOWN"),
        ('{"max.partition.fetch.bytes": "65536"}', 1_000_000, "UNKNOWN"),
        ('{"max.partition.fetch.bytes": "65536"}', 1_000_001, "VIOLATED"),
        ("{}", 1_048_576, "HOLDS"),
        ("{}", 1_048_577, "VIOLATED"),
        (None, 1_048_576, "HOLDS"),
        ('{"max.partition.fetch.bytes": "unset"}', 1_048_576, "HOLDS"),
        ('{"max.partition.fetch.bytes": "unset"}', 1_048_577, "VIOLATED"),
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
    verdict = judge(fetched(history, 1_050, 350), "R24")
    assert "VIOLATED" == verdict["verdict"]
    assert ["100 records handed out by 1 polls", "250 records handed out by 1 polls"] == sorted(
        row["why"] for row in verdict["rows"]
    )


def test_the_edges_of_a_fetch_are_part_of_it(judge: Judge) -> None:
    history = fetched(java(), 1_000, 100)
    history.delivered("member-1", 0, 0, 100, 1_001).delivered("member-1", 0, 349, 400, 1_002)
    verdict = judge(fetched(history, 1_002, 350), "R24")
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


def test_a_fetch_that_no_poll_hands_out_is_not_examined(judge: Judge) -> None:
    """As after the position was set elsewhere."""
    history = fetched(fetched(java(), 1_000, 0), 1_100, 500)
    assert "UNKNOWN" == judge(history, "R24")["verdict"]


def test_of_two_answers_from_one_offset_the_second_is_examined(judge: Judge) -> None:
    history = fetched(fetched(fetched(java(), 1_000, 0), 1_050, 10), 1_060, 10)
    verdict = judge(fetched(handed_out(history, (1_100, 0, 19)), 1_200, 20), "R24")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    assert [at(1_000), at(1_060)] == sorted(row["at"] for row in verdict["rows"])


def test_a_fetch_of_who_is_no_process_of_the_run_is_not_examined(judge: Judge) -> None:
    history = drained()
    history.rows["members"].clear()
    assert "UNKNOWN" == judge(history, "R24")["verdict"]


# R23-default and R24-default


def unset(history: History, name: str) -> History:
    history.rows["members"][0]["settings"] = f'{{"{name}": "unset"}}'
    return history


@pytest.mark.parametrize(
    ("polls", "examined", "verdict"),
    [
        (((0, 499), (500, 999), (1_000, 1_016)), 2, "HOLDS"),
        (((0, 500), (501, 1_016)), 1, "VIOLATED"),
        (((0, 99), (100, 1_016)), 1, "VIOLATED"),
        (((0, 499), (500, 500)), 1, "HOLDS"),
        (((0, 1_016),), 0, "UNKNOWN"),  # all that there was
    ],
)
def test_a_poll_that_leaves_some_behind_shows_how_many_it_returns_unless_that_is_set(
    judge: Judge, polls: tuple[tuple[int, int], ...], examined: int, verdict: str
) -> None:
    history = fetched(unset(java(), "max.poll.records"), 1_000, 0)
    handed_out(history, *((1_000 + number, *poll) for number, poll in enumerate(polls)))
    fetched(history, 2_000, polls[-1][1] + 1)
    found = judge(history, "R23-default")
    assert (verdict, examined) == (found["verdict"], found["examined"])
    assert "UNKNOWN" == judge(unset(history, "fetch.min.bytes"), "R23-default")["verdict"]


def test_a_poll_counts_as_a_whole_whatever_partitions_it_is_of(judge: Judge) -> None:
    history = fetched(unset(java(), "max.poll.records"), 1_000, 0)
    history.delivered("member-1", 0, 0, 399, 1_001, poll=1)
    history.delivered("member-1", 1, 0, 99, 1_001, poll=1)
    history.delivered("member-1", 0, 400, 499, 1_002, poll=2)
    found = judge(fetched(history, 2_000, 500), "R23-default")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(
    ("size", "upto", "verdict"),
    [
        (1_048_576, 11, "HOLDS"),
        (1_048_577, 11, "VIOLATED"),
        (65_536, 11, "VIOLATED"),
        (65_536, 10, "UNKNOWN"),  # all that there was
        (65_536, None, "UNKNOWN"),
    ],
)
def test_a_fetch_that_leaves_some_behind_shows_how_much_it_brings_unless_that_is_set(
    judge: Judge, size: int, upto: int | None, verdict: str
) -> None:
    history = fetched(unset(java(), "max.partition.fetch.bytes"), 1_000, 0, size, upto)
    fetched(handed_out(history, (1_001, 0, 9)), 2_000, 10)
    assert verdict == judge(history, "R24-default")["verdict"]
    assert "UNKNOWN" == judge(unset(history, "max.poll.records"), "R24-default")["verdict"]


@pytest.mark.parametrize(
    ("again", "first", "examined"),
    [
        (1_020, 8, 0),  # 8 to 10 were handed out meanwhile: this answer is dropped
        (1_020, 10, 0),
        (1_010, 8, 2),  # in the same moment: those are of this answer
    ],
)
def test_an_answer_whose_records_were_handed_out_meanwhile_ends_no_fetch(
    judge: Judge, again: float, first: int, examined: int
) -> None:
    history = fetched(unset(java(), "max.partition.fetch.bytes"), 1_000, 0, 65_536, 11)
    handed_out(history, (1_001, 0, 7), (1_010, 8, 10))
    fetched(fetched(history, again, first, 70_000, 20), 2_000, 11)
    assert examined == judge(history, "R24-default")["examined"]


def test_a_position_set_back_is_no_answer_dropped(judge: Judge) -> None:
    """What was handed out before is handed out again."""
    history = handed_out(fetched(java(), 1_000, 0), (1_001, 0, 49))
    handed_out(fetched(history, 1_100, 0), (1_101, 0, 99), (1_102, 100, 149))
    verdict = judge(fetched(history, 1_200, 150), "R24")
    assert ["150 records handed out by 2 polls"] == [row["why"] for row in verdict["rows"]]


@pytest.mark.parametrize(
    ("first", "again", "told"),
    [
        (0, (1_101, 0, 49), ["50 records handed out by 1 polls"]),
        (0, (1_100, 0, 49), ["50 records handed out by 1 polls"]),
        (49, (1_101, 49, 49), ["1 records handed out by 1 polls", "49 records handed out by 1"]),
    ],
)
def test_a_position_set_back_for_one_poll_is_no_answer_dropped(
    judge: Judge, first: int, again: tuple[float, int, int], told: list[str]
) -> None:
    history = handed_out(fetched(java(), 1_000, 0), (1_001, 0, 49))
    handed_out(fetched(history, 1_100, first), again)
    rows = judge(fetched(history, 1_200, 50), "R24")["rows"]
    assert all(map(str.startswith, sorted(row["why"] for row in rows), told))
    assert len(told) == len(rows)


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


# R25-arguments


def polled(what: str, said: str = "", took_ms: float = 1, records: int = 0) -> History:
    return History().add(
        "calls",
        step=what,
        rule="R25-arguments",
        api="poll",
        sent_at=at(1_000),
        request=json.dumps({"what": what, "timeout_ms": 500}),
        answer=json.dumps({"said": said, "took_ms": took_ms, "records": records}),
    )


@pytest.mark.parametrize(
    ("what", "raises"),
    [
        ("negative time-out", "java.lang.IllegalArgumentException"),
        ("no subscription", "java.lang.IllegalStateException"),
        ("second thread", "java.util.ConcurrentModificationException"),
    ],
)
def test_poll_refuses_each_by_an_exception_of_its_own(judge: Judge, what: str, raises: str) -> None:
    assert "HOLDS" == judge(polled(what, raises), "R25-arguments")["verdict"]
    assert "VIOLATED" == judge(polled(what), "R25-arguments")["verdict"]
    assert "VIOLATED" == judge(polled(what, "java.lang.Error"), "R25-arguments")["verdict"]


@pytest.mark.parametrize(
    ("took_ms", "records", "said", "verdict"),
    [
        (499, 0, "", "HOLDS"),
        (498.9, 0, "", "VIOLATED"),
        (750, 0, "", "HOLDS"),
        (750.1, 0, "", "VIOLATED"),
        (500, 1, "", "VIOLATED"),
        (500, 0, "java.lang.Error", "VIOLATED"),
    ],
)
def test_a_poll_with_nothing_to_return_comes_back_by_its_time_out(
    judge: Judge, took_ms: float, records: int, said: str, verdict: str
) -> None:
    history = polled("nothing to return", said, took_ms, records)
    assert verdict == judge(history, "R25-arguments")["verdict"]


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


def rejoining(protocol: str = "cooperative") -> History:
    """It keeps t-0 while it waits in a JoinGroup from 2 s to 4 s, and syncs until 4.1 s."""
    history = History(group={"client": "java", "protocol": protocol})
    history.member("member-1", client="java", protocol=protocol)
    history.told("member-1", "assigned", 1_000, [0, 1]).told("member-1", "revoked", 1_900, [1])
    history.join("member-1", 2_000, 2, answered_at=at(4_000), processed_at=at(4_000))
    return history.sync("member-1", 4_050, 2, answered_at=at(4_100), processed_at=at(4_100))


@pytest.mark.parametrize(
    ("ms", "member", "records"),
    [
        (2_000, "member-1", 0),
        (2_001, "member-1", 3),
        (4_099, "member-1", 3),
        (4_100, "member-1", 0),
        (3_000, "member-2", 0),
    ],
)
def test_a_cooperative_member_waits_from_its_join_to_its_assignment(
    judge: Judge, ms: float, member: str, records: int
) -> None:
    history = rejoining().delivered(member, 0, 7, 9, ms)
    history.heartbeats("member-1", 3_000).sync("member-2", 2_500, 2).sync("member-1", 9_000, 2)
    verdict = judge(history, "R25-rebalance")
    assert ("VIOLATED" if records else "HOLDS") == verdict["verdict"]
    assert (1, records) == (verdict["examined"], verdict["measured_max"])


def test_a_sync_of_another_generation_or_a_refused_one_ends_no_rebalance(judge: Judge) -> None:
    history = rejoining().sync("member-1", 2_100, 1).sync("member-1", 2_200, 2, error_code=27)
    history.delivered("member-1", 0, 7, 9, 3_000)
    assert 3 == judge(history, "R25-rebalance")["measured_max"]


def test_a_sync_may_arrive_in_the_moment_of_its_join(judge: Judge) -> None:
    """And the member may sync again in that generation."""
    history = rejoining()
    history.rows["requests"][-1]["arrived_at"] = at(2_000)
    history.sync("member-1", 9_000, 2).delivered("member-1", 0, 7, 9, 5_000)
    verdict = judge(history, "R25-rebalance")
    assert (1, 0) == (verdict["examined"], verdict["measured_max"])


def test_what_the_whole_group_waits_for_is_no_wait_of_a_cooperative_member(judge: Judge) -> None:
    history = rejoining().says("rebalance_started", 1_950, generation=1)
    history.says("stabilized", 4_000, generation=2, members=1)
    history.says("assignment_received", 4_060, "member-1", generation=2)
    history.delivered("member-1", 0, 7, 9, 1_960)
    verdict = judge(history, "R25-rebalance")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("assigned_ms", "revoked_ms", "examined"),
    [(1_999, 4_101, 1), (2_000, 4_101, 0), (1_999, 4_100, 0)],
)
def test_what_it_has_from_before_its_join_until_after_its_assignment_is_kept(
    judge: Judge, assigned_ms: float, revoked_ms: float, examined: int
) -> None:
    history = rejoining()
    history.rows["client_events"].clear()
    history.told("member-1", "assigned", assigned_ms, [0])
    history.told("member-1", "revoked", revoked_ms, [0])
    assert examined == judge(history, "R25-rebalance")["examined"]


@pytest.mark.parametrize(
    ("answered_ms", "records", "examined"), [(2_399, 0, 0), (2_400, 0, 1), (2_399, 1, 1)]
)
def test_a_wait_that_is_shorter_than_two_polls_says_nothing_unless_records_came(
    judge: Judge, answered_ms: float, records: int, examined: int
) -> None:
    history = rejoining()
    history.rows["requests"][-1] |= {"arrived_at": at(2_100), "answered_at": at(answered_ms)}
    for number in range(records):
        history.delivered("member-1", 0, number, number, 2_200)
    assert examined == judge(history, "R25-rebalance")["examined"]


def test_a_cooperative_member_that_keeps_nothing_is_not_examined(judge: Judge) -> None:
    history = rejoining().told("member-1", "revoked", 3_000, [0])
    assert 0 == judge(history, "R25-rebalance")["examined"]


def reconciling() -> History:
    """A group of KIP-848 follows a change from 2 s to 4 s; member-1 keeps t-0."""
    history = History(group={"client": "java", "protocol": "consumer"})
    history.member("member-1", client="java", protocol="consumer")
    history.says("member_added", 500, "member-1", generation=1)
    history.says("epoch_bumped", 500, generation=1, reason="joined")
    history.says("target_computed", 500, generation=1)
    beat(history, "member-1", 501, 0, 1, 0, 1)
    history.told("member-1", "assigned", 1_000, [0, 1])
    history.says("member_added", 2_000, "member-2", generation=2)
    history.says("epoch_bumped", 2_000, generation=2, reason="joined")
    history.says("target_computed", 2_000, generation=2)
    beat(history, "member-1", 3_000, 1, 2, 0)
    history.told("member-1", "revoked", 3_001, [1])
    beat(history, "member-2", 4_000, 0, 2, 1)
    return history


@pytest.mark.parametrize(
    ("ms", "records"), [(2_000, 0), (2_001, 3), (3_999, 3), (4_000, 0), (1_500, 0)]
)
def test_a_group_of_kip_848_is_pending_until_it_has_followed_a_change(
    judge: Judge, ms: float, records: int
) -> None:
    verdict = judge(reconciling().delivered("member-1", 0, 7, 9, ms), "R25-rebalance")
    assert ("VIOLATED" if records else "HOLDS") == verdict["verdict"]
    assert (1, records) == (verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize("rule", ["R23", "R24", "R25", "R25-arguments", "R25-rebalance"])
def test_no_poll_is_unknown(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(java(), rule)["verdict"]
