from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]


def moved() -> History:
    """member-2 joins at 10 s: partition 1 moves to it from member-1, which keeps partition 0."""
    history = History(group={"protocol": "cooperative"}).rebalance(0, 1, 1)
    history.join("member-1", 5).told("member-1", "assigned", 20, [0, 1])
    history.sync("member-1", 15, gives=[("member-1", 0), ("member-1", 1)])
    history.rebalance(10_000, 2, 2).rebalance(11_000, 3, 2)
    for generation, ms in ((2, 10_005), (3, 11_005)):
        history.join("member-1", ms, generation).join("member-2", ms, generation)
    return history


def in_order() -> History:
    history = moved().told("member-1", "revoked", 10_020, [1])
    history.sync("member-1", 10_015, 2, [("member-1", 0)])
    history.sync("member-1", 11_015, 3, [("member-1", 0), ("member-2", 1)])
    return history.told("member-2", "assigned", 11_020, [1])


# X01


def test_giving_up_what_another_gets_holds(judge: Judge) -> None:
    verdict = judge(in_order(), "X01")
    assert ("HOLDS", 1, 1_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_giving_up_what_it_gets_again_violates(judge: Judge) -> None:
    history = in_order().told("member-1", "revoked", 10_021, [0])
    history.told("member-1", "assigned", 11_020, [0])
    assert "got the same partition back" in judge(history, "X01")["reason"]


def given_back(**added: float) -> History:
    """member-1 gives partition 0 up, and is given it again."""
    history = in_order().told("member-1", "revoked", 10_021, [0])
    history.told("member-1", "assigned", 11_020, [0])
    for member, ms in added.items():
        history.says("member_added", ms, member.replace("_", "-"))
    return history


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [
        (10_014, "VIOLATED"),
        (10_500, "HOLDS"),
        (11_020, "HOLDS"),  # in the moment in which it had the partition again
        (11_021, "VIOLATED"),
    ],
)
def test_a_group_that_changes_between_both_decisions_may_change_its_mind(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(given_back(member_3=ms), "X01")["verdict"]


def test_a_partition_that_is_new_in_the_second_decision_may_change_it(judge: Judge) -> None:
    history = given_back()
    history.sync("member-1", 11_016, 3, [("member-1", 0), ("member-1", 7)])
    verdict = judge(history, "X01")
    assert "HOLDS" == verdict["verdict"]
    assert "after the group had changed" in str([row["why"] for row in verdict["rows"]])


def test_a_partition_that_is_new_in_the_first_decision_is_no_change_since(judge: Judge) -> None:
    history = given_back()
    history.sync("member-1", 10_015, 2, [("member-1", 0), ("member-1", 7)])
    assert "got the same partition back" in judge(history, "X01")["reason"]


@pytest.mark.parametrize(("ms", "verdict"), [(10_020, "VIOLATED"), (10_021, "HOLDS")])
def test_what_is_given_up_was_decided_by_then(judge: Judge, ms: float, verdict: str) -> None:
    """A member joins at 10,018 ms; the leader decides at this time and gives 0 up at 10,020 ms."""
    history = moved().sync("member-1", ms, 2, [("member-1", 1)])
    history.told("member-1", "revoked", 10_020, [0]).says("member_added", 10_018, "member-3")
    history.told("member-1", "assigned", 11_020, [0])
    assert verdict == judge(history, "X01")["verdict"]


def test_what_is_given_up_without_a_decision_on_record_is_examined(judge: Judge) -> None:
    history = History(group={"protocol": "cooperative"}).told("member-1", "assigned", 20, [0])
    history.told("member-1", "revoked", 10_020, [0]).told("member-1", "assigned", 11_020, [0])
    assert "got the same partition back" in judge(history, "X01")["reason"]


def test_what_nobody_got_cannot_be_told(judge: Judge) -> None:
    assert "UNKNOWN" == judge(moved().told("member-1", "revoked", 10_020, [1]), "X01")["verdict"]


def test_what_a_closing_member_gives_up_is_not_examined(judge: Judge) -> None:
    history = moved().told("member-1", "closing", 20_000).told("member-1", "revoked", 20_001, [0])
    history.told("member-1", "assigned", 30_000, [0])
    assert 0 == judge(history, "X01")["examined"]


def test_a_member_that_closes_later_was_told_to_give_up(judge: Judge) -> None:
    history = in_order().told("member-2", "closing", 10_000).told("member-1", "closing", 20_000)
    history.told("member-1", "revoked", 20_000, [0])
    verdict = judge(history, "X01")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_the_next_owner_of_that_partition_counts(judge: Judge) -> None:
    history = in_order().told("member-1", "assigned", 10_500, [2])
    history.told("member-1", "assigned", 10_500)
    history.rows["client_events"][-1]["partitions"] = [{"topic": "other", "partition": 1}]
    history.told("member-1", "assigned", 20_000, [1])
    verdict = judge(history, "X01")
    assert ("HOLDS", 1, 1_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_the_next_owner_may_have_it_at_once(judge: Judge) -> None:
    history = moved().told("member-1", "revoked", 10_020, [1])
    verdict = judge(history.told("member-2", "assigned", 10_020, [1]), "X01")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


# X01-two


def test_a_generation_in_between_holds(judge: Judge) -> None:
    verdict = judge(in_order(), "X01-two")
    assert ("HOLDS", 1, 2) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_move_at_once_violates(judge: Judge) -> None:
    history = moved().sync("member-1", 10_015, 2, [("member-1", 0), ("member-2", 1)])
    assert "VIOLATED" == judge(history, "X01-two")["verdict"]


def test_what_a_member_that_is_gone_had_may_move_at_once(judge: Judge) -> None:
    history = History(group={"protocol": "cooperative"}).rebalance(0, 1, 2)
    history.join("member-1", 5).join("member-2", 5)
    history.sync("member-1", 15, gives=[("member-1", 0), ("member-2", 1)])
    history.rebalance(10_000, 2, 1).join("member-1", 10_005, 2)
    history.sync("member-1", 10_015, 2, [("member-1", 0), ("member-1", 1)])
    history.join("member-2", 10_006, 2, error_code=25).join("member-2", 10_006, 2, group="pay")
    history.request("HEARTBEAT", "member-2", 10_006, generation=2)
    assert "UNKNOWN" == judge(history, "X01-two")["verdict"]


def test_what_a_member_that_comes_no_more_was_told_may_move_at_once(judge: Judge) -> None:
    history = History(group={"protocol": "cooperative"}).rebalance(0, 1, 2)
    history.join("member-1", 5).join("member-2", 5).sync("member-2", 14)
    history.sync("member-1", 15, gives=[("member-1", 0), ("member-2", 1)])
    history.rebalance(10_000, 2, 1).join("member-1", 10_005, 2)
    history.sync("member-1", 10_015, 2, [("member-1", 0), ("member-1", 1)])
    assert "UNKNOWN" == judge(history, "X01-two")["verdict"]


@pytest.mark.parametrize(("error", "verdict"), [(0, "VIOLATED"), (27, "UNKNOWN")])
def test_what_its_member_was_never_told_of_may_move_at_once(
    judge: Judge, error: int, verdict: str
) -> None:
    history = History(group={"protocol": "cooperative"}).rebalance(0, 1, 2)
    history.join("member-1", 5).join("member-2", 5).sync("member-2", 14, error_code=error)
    history.sync("member-1", 15, gives=[("member-1", 0), ("member-2", 1)])
    history.rebalance(10_000, 2, 2)
    history.join("member-1", 10_005, 2).join("member-2", 10_005, 2).sync("member-2", 10_014, 2)
    history.sync("member-1", 10_015, 2, [("member-1", 0), ("member-1", 1)])
    assert verdict == judge(history, "X01-two")["verdict"]


def lost_and_moved(lost_ms: float, event: str = "lost", partition: int = 1) -> History:
    """member-1 loses partition 1 and joins again at 10,005 ms; member-2 is given it at once."""
    history = moved().told("member-1", event, lost_ms, [partition])
    return history.sync("member-1", 10_015, 2, [("member-1", 0), ("member-2", 1)])


@pytest.mark.parametrize("lost_ms", [100, 10_000, 10_005])
def test_what_its_member_had_lost_before_it_joined_may_move_at_once(
    judge: Judge, lost_ms: float
) -> None:
    verdict = judge(lost_and_moved(lost_ms), "X01-two")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "had been lost" in verdict["rows"][0]["why"]


@pytest.mark.parametrize(
    ("lost_ms", "event", "partition"),
    [(10_005.1, "lost", 1), (9_000, "revoked", 1), (9_000, "lost", 0)],
)
def test_what_its_member_still_had_when_it_joined_may_not(
    judge: Judge, lost_ms: float, event: str, partition: int
) -> None:
    history = lost_and_moved(lost_ms, event, partition)
    assert "VIOLATED" == judge(history, "X01-two")["verdict"]


def test_what_it_loses_before_it_joins_the_same_generation_again_may_not(judge: Judge) -> None:
    """As a follower may: the leader had decided by then (X16)."""
    history = lost_and_moved(10_200).join("member-1", 10_300, 2)
    assert "VIOLATED" == judge(history, "X01-two")["verdict"]


@pytest.mark.parametrize(("lost_ms", "excused"), [(15, True), (14.9, False)])
def test_it_may_lose_what_it_is_given_in_the_moment_of_the_answer(
    judge: Judge, lost_ms: float, excused: bool
) -> None:
    """The line of a request may be stamped late: so it may hear of its assignment before that."""
    history = moved()
    history.rows["client_events"].clear()
    history.told("member-1", "assigned", 14, [0, 1]).told("member-1", "lost", lost_ms, [1])
    history.sync("member-1", 10_015, 2, [("member-1", 0), ("member-2", 1)])
    assert ("HOLDS" if excused else "VIOLATED") == judge(history, "X01-two")["verdict"]


def test_what_it_lost_is_not_what_it_was_told_to_give_up(judge: Judge) -> None:
    """Whether two had it at one time is seen by R21."""
    history = lost_and_moved(10_000).told("member-2", "assigned", 10_020, [1])
    assert "UNKNOWN" == judge(history, "X01")["verdict"]
    assert "HOLDS" == judge(history, "R21")["verdict"]
    late = lost_and_moved(10_520).told("member-2", "assigned", 10_020, [1])
    assert "UNKNOWN" == judge(late, "X01")["verdict"]
    verdict = judge(late, "R21")
    assert ("VIOLATED", 500) == (verdict["verdict"], verdict["measured_max"])


# X01-kept


# Every 300 ms, but for 800 ms around the rebalance at 10 s.
STANDING_STILL = (*range(100, 9_900, 300), *range(10_700, 20_000, 300))


def read(history: History, *times: float) -> History:
    """member-1 polls partition 0 at these times, and works for 1 ms on each record."""
    history.member("member-1", process_us=1_000)
    for number, ms in enumerate(times):
        history.delivered("member-1", 0, number, number, ms)
    return history


def test_a_kept_partition_that_goes_on_holds(judge: Judge) -> None:
    verdict = judge(read(in_order(), *range(100, 20_000, 300)), "X01-kept")
    assert ("HOLDS", 2, 299) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_kept_partition_that_stands_still_violates(judge: Judge) -> None:
    history = in_order().join("member-1", 10_690, 2, arrived_at=at(10_005), processed_at=at(10_690))
    verdict = judge(read(history, *STANDING_STILL), "X01-kept")
    assert ("VIOLATED", 349) == (verdict["verdict"], verdict["bound_high"])


def test_a_wait_that_is_shorter_than_any_pause_explains_no_standstill(judge: Judge) -> None:
    verdict = judge(read(in_order(), *STANDING_STILL), "X01-kept")
    assert "HOLDS" == verdict["verdict"]
    assert "1 is excused: t-0 in generation 2, its member waited" in verdict["reason"]


def test_a_standstill_that_ends_before_the_join_phase_is_the_machines(judge: Judge) -> None:
    history = read(in_order(), *range(100, 9_400, 300), *range(10_003, 20_000, 300))
    verdict = judge(history, "X01-kept")
    assert "HOLDS" == verdict["verdict"]
    assert "1 is excused: t-0 in generation 2, did not stand still until" in verdict["reason"]


def test_without_a_calm_time_to_compare_nothing_can_be_told(judge: Judge) -> None:
    assert "UNKNOWN" == judge(in_order(), "X01-kept")["verdict"]


def test_the_longest_calm_pause_is_the_measure(judge: Judge) -> None:
    history = read(in_order(), *range(100, 14_000, 300), 14_400, *range(14_500, 20_000, 300))
    verdict = judge(history, "X01-kept")
    assert ("HOLDS", 549) == (verdict["verdict"], verdict["bound_high"])


@pytest.mark.parametrize(
    ("again_ms", "asked_ms", "joined_ms", "verdict"),
    [
        (10_140, 10_001, 10_130, "HOLDS"),  # 50 ms more than any other pause
        (10_141, 10_001, 10_130, "VIOLATED"),
        (10_141, 10_001, 10_141, "VIOLATED"),
        (10_141, 10_001, 10_142, "HOLDS"),  # the pause ended before the join phase
        (10_141, 10_031, 10_130, "VIOLATED"),
        (10_141, 10_032, 10_130, "HOLDS"),  # the wait was no longer than other pauses
    ],
)
def test_a_kept_partition_stands_still_if_its_member_only_waits(
    judge: Judge, again_ms: float, asked_ms: float, joined_ms: float, verdict: str
) -> None:
    history = in_order()
    history.join("member-1", asked_ms, 2, processed_at=at(joined_ms))
    times = (*range(90, 9_991, 100), again_ms, *range(10_200, 20_000, 100))
    assert verdict == judge(read(history, *times), "X01-kept")["verdict"]


def joining(from_ms: float) -> History:
    """A join phase from 10 s to 10.7 s; member-1 is in it for 600 ms, and for no time before that.

    It keeps both partitions, and reads nothing of t-0 from this time until 10.76 s.
    """
    history = History(group={"protocol": "cooperative"}).rebalance(0, 1, 1)
    history.join("member-1", 5).told("member-1", "assigned", 20, [0, 1])
    history.sync("member-1", 15, gives=[("member-1", 0), ("member-1", 1)])
    history.says("rebalance_started", 10_000, generation=1, reason="because")
    history.join("member-1", 10_005, 2)
    history.join("member-1", 10_705, 2, arrived_at=at(10_105))
    history.says("stabilized", 10_705, generation=2, members=2)
    history.sync("member-1", 10_715, 2, [("member-1", 0), ("member-1", 1)])
    before = range(104, int(from_ms) - 100, 300)
    return read(history, *before, from_ms - 1, *range(10_760, 20_000, 300))


@pytest.mark.parametrize(("from_ms", "verdict"), [(10_405, "VIOLATED"), (10_405.1, "HOLDS")])
def test_half_of_its_longest_wait_from_when_it_last_asked_is_its_wait(
    judge: Judge, from_ms: float, verdict: str
) -> None:
    found = judge(joining(from_ms), "X01-kept")
    assert (verdict, 349) == (found["verdict"], found["bound_high"])


def test_a_kept_partition_is_examined_without_a_join_of_its_member_on_record(
    judge: Judge,
) -> None:
    history = joining(10_405)
    history.rows["requests"] = [
        row for row in history.rows["requests"]
        if row["api"] != "JOIN_GROUP" or row["generation"] != 2
    ]  # fmt: skip
    verdict = judge(history, "X01-kept")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    assert "did not stand still until its member's wait" in verdict["reason"]


def test_all_pauses_since_the_first_rebalance_are_the_measure(judge: Judge) -> None:
    times = (*range(100, 5_000, 300), 5_400, *range(5_500, 20_000, 300))
    verdict = judge(read(in_order(), *times), "X01-kept")
    assert ("HOLDS", 549) == (verdict["verdict"], verdict["bound_high"])


def test_an_empty_group_is_in_no_rebalance(judge: Judge) -> None:
    """member-2 does not know yet that it was removed, and goes on after 500 ms."""
    history = read(in_order(), *range(100, 13_000, 300))
    history.told("member-1", "revoked", 13_500, [0]).says("left", 13_600, "member-1")
    history.says("evicted", 14_000, "member-2")
    history.says("rebalance_started", 14_000, generation=3, reason="because")
    history.says("emptied", 14_010, generation=4).member("member-2", process_us=1_000)
    for number, ms in enumerate((*range(11_100, 13_900, 300), 14_300)):
        history.delivered("member-2", 1, number, number, ms)
    verdict = judge(history, "X01-kept")
    assert ("HOLDS", 549) == (verdict["verdict"], verdict["bound_high"])


def test_a_pause_that_touches_a_rebalance_is_no_calm_one(judge: Judge) -> None:
    times = (*range(100, 9_101, 300), *range(10_000, 10_901, 300), 11_014)
    verdict = judge(read(in_order(), *times, *range(11_914, 20_000, 300)), "X01-kept")
    assert ("HOLDS", 349) == (verdict["verdict"], verdict["bound_high"])


def test_only_its_own_wait_in_this_rebalance_explains_a_standstill(judge: Judge) -> None:
    history = read(in_order(), *STANDING_STILL)
    waits: dict[str, Any] = {"arrived_at": at(10_005), "processed_at": at(10_690)}
    history.join("member-1", 10_005, 2, error_code=27, **waits)
    history.join("member-1", 10_005, 2, group="payments", **waits)
    history.join("member-2", 10_005, 2, **waits).join("member-1", 10_005, 3, **waits)
    history.request("HEARTBEAT", "member-1", 10_005, generation=2, **waits)
    # What moves stands still for longer.
    history.delivered("member-1", 1, 0, 0, 9_500).delivered("member-2", 1, 1, 1, 11_100)
    verdict = judge(history, "X01-kept")
    assert ("HOLDS", 999) == (verdict["verdict"], verdict["measured_max"])


def test_what_is_given_up_lost_or_given_to_another_is_not_kept(judge: Judge) -> None:
    history = read(in_order(), *range(100, 20_000, 300))
    history.told("member-1", "assigned", 20, [2]).told("member-1", "revoked", 10_015, [2])
    history.told("member-1", "assigned", 10_000, [3]).told("member-1", "assigned", 20, [4])
    for generation, ms in ((2, 10_015), (3, 11_015)):
        gives = [("member-1", 0), ("member-1", 2), ("member-1", 3), ("member-2", 4)]
        history.sync("member-1", ms, generation, gives)
    history.says("emptied", 30_000, generation=4)
    verdict = judge(history, "X01-kept")
    assert ["t-0 in generation 2", "t-0 in generation 3", "t-3 in generation 3"] == sorted(
        row["subject"] for row in verdict["rows"]
    )


def test_what_a_removed_member_has_is_not_kept(judge: Judge) -> None:
    history = read(in_order(), *range(100, 20_000, 300)).says("evicted", 15_000, "member-1")
    assert 0 == judge(history, "X01-kept")["examined"]


# R15-all


def test_giving_up_everything_holds(judge: Judge) -> None:
    history = moved().told("member-1", "revoked", 10_002, [0, 1])
    history.told("member-1", "assigned", 11_020, [0]).told("member-2", "assigned", 11_020, [1])
    verdict = judge(history, "R15-all")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_keeping_one_violates(judge: Judge) -> None:
    assert (
        "did not give up all its partitions; gave up 0 of 2"
        in judge(in_order(), "R15-all")["reason"]
    )


def test_a_member_that_had_nothing_is_not_examined(judge: Judge) -> None:
    history = History().rebalance(0, 1, 1).join("member-1", 5)
    assert "UNKNOWN" == judge(history.told("member-1", "assigned", 20, [0]), "R15-all")["verdict"]


def test_only_an_accepted_join_of_this_generation_goes_through_its_rebalance(judge: Judge) -> None:
    history = moved().told("member-1", "revoked", 10_010, [0, 1])
    for name in ("member-3", "member-4", "member-5", "member-6", "member-7"):
        history.told(name, "assigned", 20, [5])
    history.join("member-3", 10_005, 2, group="pay").join("member-4", 10_005, 2, error_code=25)
    history.request("SYNC_GROUP", "member-5", 10_005, generation=2)
    history.join("member-6", 10_005, 2, broker=2).join("member-7", 10_311, 2)
    verdict = judge(history, "R15-all")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_whose_join_is_the_last_goes_through_the_rebalance_that_it_completes(
    judge: Judge,
) -> None:
    history = History().rebalance(0, 1, 1).told("member-1", "assigned", 20, [0])
    history.rebalance(10_000, 2, 1).join("member-1", 10_010, 2)
    assert "gave up 0 of 1" in judge(history, "R15-all")["reason"]


def test_an_epoch_of_a_group_that_was_upgraded_takes_nothing_away(judge: Judge) -> None:
    """Its classic members join it as before, and are told its epoch as their generation."""
    history = History(group={"protocol": "cooperative"}).told("member-1", "assigned", 20, [0])
    history.says("upgraded", 9_990).says("epoch_bumped", 10_000, generation=2, reason="joined")
    history.says("target_computed", 10_002, generation=2)
    history.join("member-1", 9_999, 2, processed_at=at(10_003))
    assert "UNKNOWN" == judge(history, "R15-all")["verdict"]


def test_what_it_had_before_or_gets_as_it_starts_is_not_to_be_given_up(judge: Judge) -> None:
    history = moved().told("member-1", "revoked", 10_000, [0]).told("member-2", "assigned", 9, [3])
    history.told("member-1", "revoked", 10_002, [1]).told("member-1", "assigned", 10_000, [2])
    history.told("member-1", "revoked", 10_900, [2]).told("member-2", "revoked", 9_000, [3])
    verdict = judge(history, "R15-all")
    assert ["gave up 1 of 1"] == [row["why"] for row in verdict["rows"]]


def test_a_removed_member_has_nothing_to_give_up(judge: Judge) -> None:
    history = moved().says("evicted", 9_000, "member-1")
    assert member_id("member-1") == history.rows["coordinator_events"][-1]["member_id"]
    assert "UNKNOWN" == judge(history, "R15-all")["verdict"]


def test_who_joins_in_the_moment_of_the_decision_changes_the_group(judge: Judge) -> None:
    """Had it joined before, the leader's SyncGroup would have been refused."""
    assert "HOLDS" == judge(given_back(member_3=10_015), "X01")["verdict"]
