from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.consumer_histories import Group, alone, measured, parts
from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# X20


def moving(given_ms: float) -> Group:
    """t-2 moves from member-1, which acknowledges at 2,020 ms, to member-2."""
    history = alone().joins("member-2", 1_000, 3)
    history.beat("member-1", 2_000, 2, gets=(0, 1)).beat("member-1", 2_020, 2, owns=(0, 1), now=3)
    return history.beat("member-2", given_ms, 3, gets=(2,))


def test_a_partition_given_after_the_acknowledgement_holds(judge: Judge) -> None:
    verdict = judge(moving(3_000), "X20")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert 981 == verdict["measured_max"]


def test_a_partition_given_before_the_acknowledgement_violates(judge: Judge) -> None:
    assert "assigned before its former owner released it" in judge(moving(1_968), "X20")["reason"]


def test_a_partition_whose_owner_never_let_go_violates(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3).beat("member-2", 3_000, 3, gets=(2,))
    assert "while member-1 still had it" in judge(history, "X20")["reason"]


def test_a_partition_of_a_member_that_is_gone_may_be_given(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3)
    history.says("left", 2_000, "member-1", reason="left")
    history.beat("member-2", 3_000, 3, gets=(2,))
    assert "HOLDS" == judge(history, "X20")["verdict"]


def test_only_the_owners_first_heartbeat_without_it_lets_a_partition_go(judge: Judge) -> None:
    history = moving(3_000)
    history.beat("member-1", 2_003, owns=(0, 1), group="payments")
    history.beat("member-1", 2_004, owns=(0, 1), error_code=110)
    history.request("OFFSET_COMMIT", "member-1", 2_005, generation=2, owned=parts((0, 1)))
    history.beat("member-1", 2_006, owns=(0, 1, 2)).beat("member-1", 2_007)
    history.beat("member-2", 2_008, 3, owns=(0, 1)).beat("member-1", 2_500, owns=(0, 1))
    verdict = judge(history, "X20")
    assert ("HOLDS", 1, 981) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_an_assignment_counts_if_this_group_gave_it_without_an_error(judge: Judge) -> None:
    history = moving(3_000)
    history.beat("member-2", 2_003, 3, gets=(2,), group="payments")
    history.beat("member-2", 2_004, 3, gets=(2,), error_code=110)
    history.request("SYNC_GROUP", "member-2", 2_005, generation=3, assigned=parts((2,)))
    history.beat("member-2", 2_006, -1, gets=(2,))
    verdict = judge(history, "X20")
    assert ("HOLDS", 1, 981) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("owns", "after_ms"),
    [((0, 1), 1_001), ((), 1_001), ((0, 2), 981), ((0, 1, 2), 981), (None, 981)],
)
def test_the_heartbeat_that_is_told_acknowledges_if_it_says_what_it_owns(
    judge: Judge, owns: tuple[int, ...] | None, after_ms: float
) -> None:
    """t-2 is taken by its answer (CurrentAssignmentBuilder.ownsRevokedPartitions)."""
    history = alone().joins("member-2", 1_000, 3).beat("member-1", 1_990, owns=())  # not this one
    history.beat("member-1", 2_000, 2, gets=(0, 1), owns=owns)
    history.beat("member-1", 2_020, 2, owns=(0, 1), now=3).beat("member-2", 3_000, 3, gets=(2,))
    assert after_ms == judge(history, "X20")["measured_max"]


@pytest.mark.parametrize(("given_ms", "verdict"), [(1_969, "HOLDS"), (1_968.9, "VIOLATED")])
def test_lines_may_be_late_at_a_hand_over(judge: Judge, given_ms: float, verdict: str) -> None:
    assert verdict == judge(moving(given_ms), "X20")["verdict"]


def test_each_partition_is_let_go_by_its_own_acknowledgement(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3)
    history.beat("member-1", 1_500, 2, gets=(0, 2)).beat("member-1", 1_520, 2, owns=(0, 2))
    history.beat("member-1", 2_000, 2, gets=(0,)).beat("member-1", 2_020, 2, owns=(0,), now=3)
    history.beat("member-2", 3_000, 3, gets=(1, 2))
    assert [981, 1_481] == measured(judge(history, "X20"))


def test_a_partition_that_comes_back_is_handed_over_each_time(judge: Judge) -> None:
    history = moving(3_000)
    history.beat("member-2", 4_000, 3, gets=()).beat("member-2", 4_020, 3, owns=())
    history.beat("member-1", 5_010, 3, gets=(0, 1, 2))
    history.beat("member-1", 6_000, 3, gets=(0, 1)).beat("member-1", 6_030, 3, owns=(0, 1))
    history.beat("member-2", 7_000, 3, gets=(2,))
    assert [971, 981, 991] == measured(judge(history, "X20"))


def test_a_partition_given_back_to_its_owner_is_no_hand_over(judge: Judge) -> None:
    history = alone().beat("member-1", 2_000, gets=(0, 1)).beat("member-1", 2_020, owns=(0, 1))
    assert 0 == judge(history.beat("member-1", 3_000, gets=(0, 1, 2)), "X20")["examined"]


def test_a_member_that_comes_back_under_its_id_is_another_owner(judge: Judge) -> None:
    history = alone().beat("member-1", 2_000, gets=(0, 1, 2, 3))  # the last of its first stay
    history.says("evicted", 2_000, "member-1", reason="session").bumped(2_001, 3)
    history.joins("member-1", 4_000, 4, gets=(0, 1, 2, 3))
    assert [2_001] * 4 == measured(judge(history, "X20"))


@pytest.mark.parametrize(
    ("left_ms", "ms", "why"),
    [(2_500, 981, "member-1 acknowledged the revocation"), (2_010, 991, "member-1 was gone")],
)
def test_what_lets_a_partition_go_first_counts(
    judge: Judge, left_ms: float, ms: float, why: str
) -> None:
    verdict = judge(moving(3_000).says("left", left_ms, "member-1", reason="left"), "X20")
    assert ("HOLDS", ms) == (verdict["verdict"], verdict["measured_max"])
    assert why == verdict["rows"][0]["why"]


def test_without_a_hand_over_x20_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X20")["verdict"]


# X21


def stalled(fenced_ms: float | None) -> Group:
    """member-1 is to give t-2 up from 2,000 ms on, within 8 s, and only heartbeats."""
    history = alone().joins("member-2", 1_000, 3)
    history.rows["requests"][0]["rebalance_timeout_ms"] = 8_000
    history.beat("member-1", 2_000, 2, gets=(0, 1))
    for ms in range(4_000, 40_000, 2_000):
        if fenced_ms is None or ms < fenced_ms:
            history.beat("member-1", ms, 2)
    if fenced_ms is not None:
        history.says("fenced", fenced_ms, "member-1", generation=2, reason="failed to transition")
    return history


def test_a_stalled_member_is_fenced_after_its_rebalance_timeout(judge: Judge) -> None:
    verdict = judge(stalled(10_001), "X21")
    assert ("HOLDS", 8_001) == (verdict["verdict"], verdict["measured_max"])


def test_a_member_fenced_too_late_violates(judge: Judge) -> None:
    assert "too late" in judge(stalled(10_200), "X21")["reason"]


def test_a_member_that_is_never_fenced_violates(judge: Judge) -> None:
    assert (
        "neither acknowledged the revocation nor was fenced"
        in judge(stalled(None), "X21")["reason"]
    )


@pytest.mark.parametrize(
    ("fenced_ms", "verdict"),
    [(9_949, "VIOLATED"), (9_950, "HOLDS"), (10_051, "HOLDS"), (10_052, "VIOLATED")],
)
def test_a_fencing_may_be_50_ms_off(judge: Judge, fenced_ms: float, verdict: str) -> None:
    assert verdict == judge(stalled(fenced_ms), "X21")["verdict"]


@pytest.mark.parametrize(("fenced_ms", "verdict"), [(10_451, "HOLDS"), (10_452, "VIOLATED")])
def test_the_timer_may_start_as_late_as_the_answer(
    judge: Judge, fenced_ms: float, verdict: str
) -> None:
    history = stalled(fenced_ms)
    told = next(row for row in history.rows["requests"] if row["assigned"] == parts((0, 1)))
    told["processed_at"] = at(2_401)
    assert verdict == judge(history, "X21")["verdict"]


def test_the_rebalance_timeout_is_what_the_member_told_this_group(judge: Judge) -> None:
    history = stalled(10_001)
    history.beat("member-1", 1_500, rebalance_timeout_ms=20_000, group="payments")
    history.beat("member-1", 1_510, rebalance_timeout_ms=20_000, error_code=110)
    history.beat("member-2", 1_520, 3, rebalance_timeout_ms=20_000)
    history.request("JOIN_GROUP", "member-1", 1_530, rebalance_timeout_ms=20_000)
    verdict = judge(history, "X21")
    assert ("HOLDS", 8_051) == (verdict["verdict"], verdict["bound_high"])


def test_a_shorter_timeout_that_it_tells_later_does_not_shorten_the_wait(judge: Judge) -> None:
    history = stalled(10_001).beat("member-1", 5_000, 2, rebalance_timeout_ms=6_000)
    verdict = judge(history, "X21")
    assert ("HOLDS", 8_051) == (verdict["verdict"], verdict["bound_high"])


def test_a_member_that_told_no_timeout_has_the_groups(judge: Judge) -> None:
    history = stalled(10_001)
    history.rows["requests"][0]["rebalance_timeout_ms"] = None
    history.group["max_poll_interval_ms"] = 8_000
    assert "HOLDS" == judge(history, "X21")["verdict"]


@pytest.mark.parametrize("owns", [(0, 1), (0,)])
def test_a_revocation_is_acknowledged_when_all_of_it_is_let_go(
    judge: Judge, owns: tuple[int, ...]
) -> None:
    history = alone().joins("member-2", 1_000, 3)
    history.rows["requests"][0]["rebalance_timeout_ms"] = 8_000
    history.beat("member-1", 2_000, gets=(0,)).beat("member-1", 4_000, owns=owns)
    history.says("fenced", 10_001, "member-1", generation=2)
    assert (1 if owns == (0, 1) else 0) == judge(history, "X21")["examined"]


def test_who_is_fenced_for_one_revocation_had_acknowledged_another(judge: Judge) -> None:
    history = stalled(14_001).beat("member-1", 2_020, owns=(0, 1))
    history.beat("member-1", 6_000, gets=(0,))
    verdict = judge(history, "X21")
    assert ("HOLDS", 1, 8_001) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("ms", "verdict"), [(5_000, "UNKNOWN"), (10_051, "UNKNOWN"), (10_052, "VIOLATED")]
)
def test_who_is_gone_or_acknowledges_in_time_is_not_examined(
    judge: Judge, ms: float, verdict: str
) -> None:
    left = judge(stalled(None).says("left", ms, "member-1", reason="left"), "X21")
    assert verdict == left["verdict"]
    assert verdict == "UNKNOWN" or "was not fenced, but left" in left["reason"]
    assert verdict == judge(stalled(None).beat("member-1", ms, owns=(0, 1)), "X21")["verdict"]


@pytest.mark.parametrize(("ms", "examined"), [(6_000, 0), (6_000.1, 1)])
def test_who_acknowledges_in_the_moment_that_it_is_fenced_is_not_examined(
    judge: Judge, ms: float, examined: int
) -> None:
    assert examined == judge(stalled(6_000).beat("member-1", ms, owns=(0, 1)), "X21")["examined"]


@pytest.mark.parametrize(("end_ms", "verdict"), [(10_052, "UNKNOWN"), (10_053, "VIOLATED")])
def test_a_run_that_ends_before_a_fencing_is_due_tells_nothing(
    judge: Judge, end_ms: float, verdict: str
) -> None:
    history = stalled(None)
    history.end_ms = end_ms
    assert verdict == judge(history, "X21")["verdict"]


def test_an_acknowledged_revocation_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(moving(3_000), "X21")["verdict"]


@pytest.mark.parametrize(("owns", "examined"), [((0, 1), 0), ((0, 1, 2), 1)])
def test_who_had_let_go_when_it_is_told_has_nothing_to_acknowledge(
    judge: Judge, owns: tuple[int, ...], examined: int
) -> None:
    history = stalled(10_001)
    told = next(row for row in history.rows["requests"] if row["assigned"] == parts((0, 1)))
    told["owned"] = parts(owns)
    assert examined == judge(history, "X21")["examined"]


# X24 and X24-at-once


@pytest.mark.parametrize(("bumped_ms", "low"), [(1_949.5, 0.5), (1_950, None)])
def test_an_epoch_waits_for_the_interval_unless_it_comes_50_ms_before_its_end(
    judge: Judge, bumped_ms: float, low: float | None
) -> None:
    """The target before was done at 1 s."""
    history = alone().bumped(500, 3).computed(1_000, 3)
    verdict = judge(history.bumped(bumped_ms, 4).computed(2_000, 4), "X24")
    last = next(row for row in verdict["rows"] if row["at"] == at(2_000))
    assert (True, low) == (last["ok"], last["bound_low"])


@pytest.mark.parametrize(("again_ms", "verdict"), [(1_040, "HOLDS"), (1_060, "VIOLATED")])
def test_a_join_that_was_sent_twice_may_be_answered_by_the_second(
    judge: Judge, again_ms: float, verdict: str
) -> None:
    history = Group().beat("member-1", 999, 0, now=2).says("member_added", 1_000, "member-1")
    history.says("epoch_bumped", 1_000, generation=2, reason="metadata hash 1")
    history.says("target_computed", 1_030, generation=2, reason="uniform")
    assert verdict == judge(history.beat("member-1", again_ms, 0, now=2), "X24-at-once")["verdict"]


# X96


def taken(now: int = 2) -> Group:
    """t-2 is taken from member-1 at 2 s, for member-2 joined with epoch 3."""
    history = alone().joins("member-2", 1_000, 3)
    return history.beat("member-1", 2_000, 2, gets=(0, 1), now=now)


def test_a_member_that_is_raised_when_it_has_let_go_holds(judge: Judge) -> None:
    history = taken().beat("member-1", 2_010, 2).beat("member-1", 2_020, 2, owns=(0, 1), now=3)
    verdict = judge(history.beat("member-1", 3_000, 3), "X96")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_member_that_is_raised_with_what_is_taken_violates(judge: Judge) -> None:
    reason = judge(taken(now=3), "X96")["reason"]
    assert "was raised to epoch 3 before it had given up what was taken from it" in reason


def test_a_member_that_is_raised_before_it_lets_go_violates(judge: Judge) -> None:
    history = taken().beat("member-1", 2_010, 2, owns=(0, 1, 2), now=3)
    assert "VIOLATED" == judge(history, "X96")["verdict"]


@pytest.mark.parametrize(
    ("owns", "gets", "now", "why"),
    [
        ((), (0, 1), 3, None),
        ((0, 1), (0, 1), 3, None),
        ((0,), (0, 1), 3, None),
        ((0, 1), (0,), 3, "was raised to epoch 3 before"),
        ((0, 1, 2), (0, 1), 3, "was raised to epoch 3 before"),
        (None, (0, 1), 3, "was raised to epoch 3 before"),
        ((), (0, 1), 2, "was left in epoch 2 when others had been told 3"),
        ((0, 1), (0,), 2, None),
    ],
)
def test_a_member_is_raised_at_once_if_it_says_that_it_owns_nothing_that_is_taken(
    judge: Judge, owns: tuple[int, ...] | None, gets: tuple[int, ...], now: int, why: str | None
) -> None:
    history = alone().joins("member-2", 1_000, 3).beat("member-1", 1_040, owns=())  # not by this
    judged = judge(history.beat("member-1", 2_000, 2, owns=owns, gets=gets, now=now), "X96")
    assert ("HOLDS" if why is None else "VIOLATED") == judged["verdict"]
    assert (why or "") in judged["reason"]


def test_a_member_that_is_raised_when_it_has_let_go_of_a_part_violates(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3).beat("member-1", 2_000, 2, gets=(0,))
    history.beat("member-1", 2_010, 2, owns=(0, 1)).beat("member-1", 2_020, 2, now=3)
    assert "raised to epoch 3 before" in judge(history, "X96")["reason"]


def test_each_stay_of_a_member_has_its_own_answers(judge: Judge) -> None:
    history = alone().says("evicted", 2_000, "member-1", reason="session").bumped(2_001, 3)
    history.joins("member-1", 4_000, 4, gets=(0, 1, 2))
    verdict = judge(history, "X96")
    assert "HOLDS" == verdict["verdict"]
    seen = sorted((row["at"], row["why"]) for row in verdict["rows"])
    assert [(at(-1), "2 answers"), (at(3_999), "1 answers")] == seen


def test_the_first_wrong_answer_is_told(judge: Judge) -> None:
    history = taken(now=3).beat("member-1", 2_500, 2, now=4)
    history.beat("member-1", 3_000, 4, owns=(0, 1), now=3)
    verdict = judge(history, "X96")
    (wrong,) = (row for row in verdict["rows"] if row["ok"] is False)
    assert (at(2_000), 3) == (wrong["at"], wrong["measured"])
    assert "was raised to epoch 3 before" in wrong["why"]


def test_a_member_that_leaves_is_told_no_epoch(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3).beat("member-1", 2_000, -1)
    assert "HOLDS" == judge(history, "X96")["verdict"]


def test_a_member_that_joins_anew_has_let_go(judge: Judge) -> None:
    history = taken().beat("member-1", 2_010, 0, owns=(), gets=(0, 1), now=3)
    assert "HOLDS" == judge(history, "X96")["verdict"]
    unsaid = taken().beat("member-1", 2_010, 0, gets=(0, 1), now=3)
    assert "HOLDS" == judge(unsaid, "X96")["verdict"]


def test_the_first_epoch_is_one_as_well(judge: Judge) -> None:
    history = Group().joins("member-1", 0, 1, gets=(0, 1, 2)).beat("member-1", 10, 1)
    history.joins("member-2", 1_000, 2).beat("member-1", 2_000, 1, gets=(0, 1), now=2)
    assert "raised to epoch 2 before" in judge(history, "X96")["reason"]


def test_a_member_may_hear_of_its_epoch_again_while_it_holds(judge: Judge) -> None:
    """Its answer with epoch 3 was lost, so it still names 2."""
    history = alone().joins("member-2", 1_000, 3).beat("member-1", 2_000, 2, now=3)
    history.beat("member-1", 2_500, 2, gets=(0, 1), now=3)
    assert "HOLDS" == judge(history, "X96")["verdict"]


@pytest.mark.parametrize(
    ("epoch", "gets", "row", "verdict"),
    [
        (0, None, {}, "VIOLATED"),
        (0, (), {}, "HOLDS"),
        (0, (1,), {}, "HOLDS"),
        (1, None, {}, "HOLDS"),  # who stays is told only what is new
        (0, None, {"error_code": 111}, "HOLDS"),
    ],
)
def test_who_joins_is_told_its_part(
    judge: Judge, epoch: int, gets: tuple[int, ...] | None, row: dict[str, Any], verdict: str
) -> None:
    history = Group().says("member_added", 0, "member-1").beat("member-1", 5_000, 3, now=3)
    history.beat("member-1", 0, epoch, gets=gets, owns=(), now=3, **row)
    judged = judge(history, "X96")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])
    if verdict == "VIOLATED":
        assert "joined, and was told of no part" in judged["reason"]


@pytest.mark.parametrize(
    ("ms", "epoch", "row", "verdict"),
    [
        (1_051, 2, {}, "HOLDS"),
        (1_052, 2, {}, "VIOLATED"),
        (1_052, 3, {}, "HOLDS"),
        (60_000, 2, {}, "VIOLATED"),
        (1_052, 2, {"broker": 2}, "HOLDS"),
        (1_052, 2, {"error_code": 110}, "HOLDS"),
    ],
)
def test_a_member_that_holds_nothing_back_is_brought_up_to_what_others_were_told(
    judge: Judge, ms: float, epoch: int, row: dict[str, Any], verdict: str
) -> None:
    """member-2 was told epoch 3 at 1,001 ms."""
    history = alone().joins("member-2", 1_000, 3).beat("member-1", ms, 2, now=epoch, **row)
    history.beat("member-2", 70_000, 3)
    judged = judge(history, "X96")
    assert verdict == judged["verdict"]
    if verdict == "VIOLATED":
        assert "was left in epoch 2 when others had been told 3" in judged["reason"]


@pytest.mark.parametrize(("target", "verdict"), [(4, "HOLDS"), (3, "VIOLATED"), (5, "VIOLATED")])
def test_what_was_taken_comes_back_only_with_a_later_target(
    judge: Judge, target: int, verdict: str
) -> None:
    history = taken().beat("member-1", 2_020, 2, owns=(0, 1), now=3).computed(4_000, target)
    history.beat("member-1", 5_000, 3, gets=(0, 1, 2), now=4)
    judged = judge(history, "X96")
    assert verdict == judged["verdict"]
    if verdict == "VIOLATED":
        assert "was given t-2 back without another target" in judged["reason"]


def back(at_ms: float, epoch: int, *computed: tuple[float, int], raised: int = 3) -> Group:
    """t-2 is taken from member-1 at 2 s and comes back to it with some epoch at some moment.

    It is raised as it has let go.
    """
    history = alone().joins("member-2", 1_000, 3)
    for ms, target in computed:
        history.computed(ms, target)
    history.beat("member-1", 2_000, 2, gets=(0, 1))
    history.beat("member-1", 2_020, 2, owns=(0, 1), now=raised)
    return history.beat("member-1", at_ms, raised, gets=(0, 1, 2), now=epoch)


@pytest.mark.parametrize(("told_ms", "verdict"), [(1_948.9, "VIOLATED"), (1_949, "HOLDS")])
def test_it_was_taken_by_the_newest_target_that_anybody_had_been_told(
    judge: Judge, told_ms: float, verdict: str
) -> None:
    """Others were told 4 as well, just before it was taken or just then."""
    history = back(5_000, 4, (1_500, 4), raised=4).beat("member-2", told_ms, 3, now=4)
    judged = judge(history, "X96")
    assert verdict == judged["verdict"]
    assert verdict == "HOLDS" or "was given t-2 back without another target" in judged["reason"]


@pytest.mark.parametrize(("targets", "verdict"), [((), "VIOLATED"), (((4_000, 4),), "HOLDS")])
def test_a_target_that_nobody_had_been_told_may_have_taken_it(
    judge: Judge, targets: tuple[tuple[float, int], ...], verdict: str
) -> None:
    history = alone().joins("member-2", 1_980, 3)  # it is told 3 within the slack
    for ms, target in targets:
        history.computed(ms, target)
    history.beat("member-1", 2_000, 2, gets=(0, 1)).beat("member-1", 2_020, 2, owns=(0, 1), now=3)
    history.beat("member-1", 5_000, 3, gets=(0, 1, 2), now=4 if targets else 3)
    assert verdict == judge(history, "X96")["verdict"]


def test_what_a_new_coordinator_takes_first_of_all_comes_back_only_with_a_target(
    judge: Judge,
) -> None:
    history = alone().joins("member-2", 1_000, 3)
    history.beat("member-1", 2_000, 2, gets=(0, 1), broker=2)
    history.beat("member-1", 2_020, 2, owns=(0, 1), now=3, broker=2)
    history.beat("member-1", 5_000, 3, gets=(0, 1, 2), broker=2)
    assert "without another target" in judge(history, "X96")["reason"]


def test_a_partition_that_was_taken_twice_comes_back_by_the_last_time(judge: Judge) -> None:
    history = back(3_000, 4, (2_500, 4)).beat("member-2", 3_100, 3, now=4)
    history.beat("member-1", 4_000, 4, gets=(0, 1)).beat("member-1", 4_020, 4, owns=(0, 1))
    history.beat("member-1", 5_000, 4, gets=(0, 1, 2))
    verdict = judge(history, "X96")
    (wrong,) = (row for row in verdict["rows"] if row["ok"] is False)
    assert (at(5_000), 1) == (wrong["at"], wrong["measured"])


@pytest.mark.parametrize("event", ["upgraded", "downgraded"])
def test_a_group_that_changes_its_protocol_is_not_examined(judge: Judge, event: str) -> None:
    assert "UNKNOWN" == judge(taken(now=3).says(event, 1_500), "X96")["verdict"]


def test_answers_with_an_error_say_nothing_of_an_epoch(judge: Judge) -> None:
    history = Group().beat("member-1", 10, 2, error_code=25)
    assert "UNKNOWN" == judge(history, "X96")["verdict"]


def test_a_rebalance_timeout_may_be_as_long_in_kip_848(judge: Judge) -> None:
    history = moving(3_000)
    for row in history.rows["requests"]:
        row["rebalance_timeout_ms"] = 2**31 - 1
    assert "UNKNOWN" == judge(history, "X21")["verdict"]


# X105


def tells(ms: float | None, called_ms: float = 5_000, **process: Any) -> Group:
    """member-1 gives up t-2 at 5 s, and says what it still owns at `ms`."""
    history = Group().joins("member-1", 0, 2, gets=(0, 1, 2))
    history.rows["members"].clear()
    history.member("member-1", protocol="consumer", **process).joins("member-2", 1_000, 3)
    history.beat("member-1", 10, owns=(0, 1, 2)).beat("member-1", 4_000, 2, gets=(0, 1))
    history.told("member-1", "revoked", 4_999, [2], observed_at=at(called_ms))
    return history if ms is None else history.beat("member-1", ms, 2, owns=(0, 1), now=3)


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (5_001, {}, "HOLDS"),
        (6_000, {}, "HOLDS"),
        (6_001, {}, "VIOLATED"),
        (6_001, {"called_ms": 5_001}, "HOLDS"),  # its application heard later
        (6_001, {"process_us": 1_000}, "VIOLATED"),
        (6_200, {"process_us": 2_000, "batch_records": 100}, "HOLDS"),  # it is at a batch
        (6_201, {"process_us": 2_000, "batch_records": 100}, "VIOLATED"),
        (None, {}, "UNKNOWN"),
    ],
)
def test_a_member_says_at_once_what_it_has_given_up(
    judge: Judge, ms: float | None, row: dict[str, Any], verdict: str
) -> None:
    judged = judge(tells(ms, **row), "X105")
    assert verdict == judged["verdict"]
    if verdict == "VIOLATED":
        (line,) = judged["rows"]
        assert (at(4_900), at((ms or 0) + 100)) == (line["guard_from"], line["guard_to"])


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (4_949, {"owns": (0, 1)}, "VIOLATED"),  # said of what was before
        (4_950, {"owns": (0, 1)}, "HOLDS"),
        (5_500, {"owns": (0, 1)}, "HOLDS"),
        (5_500, {"owns": ()}, "HOLDS"),
        (5_500, {}, "VIOLATED"),
        (5_500, {"owns": (0, 1), "epoch": 0}, "UNKNOWN"),
        (5_500, {"epoch": -1}, "UNKNOWN"),
        (5_500, {"error_code": 25}, "UNKNOWN"),
        (5_500, {"error_code": None}, "UNKNOWN"),
        (7_000, {"error_code": 25}, "VIOLATED"),
        (5_500, {"owns": (0, 1), "group": "payments"}, "VIOLATED"),
    ],
)
def test_it_says_so_by_a_heartbeat_with_what_it_owns(
    judge: Judge, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = tells(6_500)
    history.beat("member-1", ms, row.pop("epoch", 2), owns=row.pop("owns", None), **row)
    assert verdict == judge(history, "X105")["verdict"]


def test_another_member_says_nothing_for_it(judge: Judge) -> None:
    history = tells(6_500).beat("member-2", 5_001, 3, owns=(0, 1))
    assert "VIOLATED" == judge(history, "X105")["verdict"]


@pytest.mark.parametrize(
    ("arrived_ms", "answered_ms", "row", "verdict"),
    [
        (4_990, 5_500, {}, "HOLDS"),
        (4_990, 5_499, {}, "VIOLATED"),
        (3_000, 5_500, {}, "HOLDS"),
        (3_000, 5_500, {"owns": (0, 1, 2)}, "HOLDS"),
        (5_300, 5_500, {}, "HOLDS"),  # its line may be stamped late
        (5_301, 5_500, {}, "VIOLATED"),
    ],
)
def test_a_heartbeat_that_waits_for_its_answer_comes_first(
    judge: Judge, arrived_ms: float, answered_ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = tells(6_500)
    history.beat("member-1", arrived_ms, 2, answered_at=at(answered_ms), **row)
    assert verdict == judge(history, "X105")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "verdict"),
    [
        (5_000, 5_500, "HOLDS"),
        (5_050, 5_500, "HOLDS"),
        (5_051, 5_500, "VIOLATED"),
        (5_000, 5_499, "VIOLATED"),
        (5_000, None, "UNKNOWN"),
        (4_000, 5_000, "VIOLATED"),
    ],
)
@pytest.mark.parametrize("work", ["commit", "batch"])
def test_what_its_application_is_at_comes_first(
    judge: Judge, work: str, from_ms: float, to_ms: float | None, verdict: str
) -> None:
    history = tells(6_500)
    if work == "commit":
        history.waited_for_commit("member-1", from_ms, to_ms)
    else:
        history.delivered("member-1", 0, 0, 9, from_ms, to_ms)
    history.delivered("member-2", 3, 0, 9, 5_000, 6_000)
    assert verdict == judge(history, "X105")["verdict"]


@pytest.mark.parametrize(
    ("member", "from_ms", "for_ms", "examined"),
    [
        ("member-1", 4_000, 999, 1),
        ("member-1", 4_000, 1_000, 0),
        ("member-1", 6_500, 10, 0),
        ("member-1", 6_501, 10, 1),
        ("member-2", 5_000, 1_000, 1),
    ],
)
@pytest.mark.parametrize("stall", ["stall_started", "callback_stall_started"])
def test_who_stalls_meanwhile_is_not_examined(
    judge: Judge, stall: str, member: str, from_ms: float, for_ms: float, examined: int
) -> None:
    history = tells(6_500).told(member, stall, from_ms, duration_ms=for_ms)
    assert examined == judge(history, "X105")["examined"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "healed_ms", "examined"),
    [
        ("latency", "members", 2_000, 4_999, 1),
        ("latency", "members", 2_000, 5_000, 0),
        ("isolate", "member-1", 6_501, 7_000, 0),
        ("isolate", "member-1", 6_502, 7_000, 1),
        ("isolate", "member-2", 5_000, 7_000, 1),
        ("pause-broker", "broker-2", -3_000, -1_001, 1),
        ("pause-broker", "broker-2", -3_000, -1_000, 0),  # and a session after that
    ],
)
def test_who_is_disturbed_meanwhile_is_not_examined(
    judge: Judge, kind: str, resolved: str, from_ms: float, healed_ms: float, examined: int
) -> None:
    history = tells(6_500).fault(kind, resolved, from_ms, healed_ms)
    assert examined == judge(history, "X105")["examined"]


@pytest.mark.parametrize(
    ("event", "partitions", "examined"),
    [("revoked", [2], 2), ("revoked", [], 1), ("lost", [2], 1), ("assigned", [2], 1)],
)
def test_each_callback_that_takes_something_is_examined(
    judge: Judge, event: str, partitions: list[int], examined: int
) -> None:
    history = tells(5_500).told("member-1", event, 9_000, partitions)
    history.beat("member-1", 9_500, 3, owns=(0,))
    assert examined == judge(history, "X105")["examined"]
