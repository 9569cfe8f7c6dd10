from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.histories import TOPIC, History, at

Judge = Callable[[History, str], dict[str, Any]]


def parts(numbers: Sequence[int] | None) -> list[dict[str, Any]] | None:
    return None if numbers is None else [{"topic": TOPIC, "partition": n} for n in numbers]


class Group(History):
    """A group of KIP-848."""

    def beat(
        self,
        member: str,
        ms: float,
        epoch: int = 2,
        *,
        gets: Sequence[int] | None = None,
        owns: Sequence[int] | None = None,
        now: int | None = None,
        **row: Any,
    ) -> Group:
        """A heartbeat of an epoch, answered 1 ms later with an epoch (the same unless told)."""
        answered = {"processed_at": at(ms + 1), "answered_at": at(ms + 1)}
        self.request(
            "CONSUMER_GROUP_HEARTBEAT", member, ms, generation=epoch, assigned=parts(gets),
            owned=parts(owns), member_epoch=epoch if now is None else now, **{**answered, **row},
        )  # fmt: skip
        return self

    def joins(self, member: str, ms: float, epoch: int, gets: Sequence[int] = ()) -> Group:
        """A member joins with epoch 0, and the group epoch is bumped and computed with it."""
        self.member(member, protocol="consumer")
        self.says("member_added", ms, member, reason="joins")
        self.bumped(ms + 0.2, epoch).computed(ms + 0.4, epoch)
        answered = {"processed_at": at(ms + 1), "answered_at": at(ms + 1)}
        return self.beat(member, ms - 1, 0, gets=gets, owns=(), now=epoch, **answered)

    def bumped(self, ms: float, epoch: int, topics: str = "metadata hash 1") -> Group:
        self.says("epoch_bumped", ms, generation=epoch, reason=topics)
        return self

    def computed(self, ms: float, epoch: int) -> Group:
        self.says("target_computed", ms, generation=epoch, reason="uniform")
        return self


def alone() -> Group:
    """member-1 has three partitions."""
    return Group().joins("member-1", 0, 2, gets=(0, 1, 2)).beat("member-1", 10, owns=(0, 1, 2))


def in_another_group(history: History, event: str, ms: float, **row: Any) -> None:
    """A line of the coordinator's log that is about another group."""
    history.add("coordinator_events", event=event, at=at(ms), group="payments", broker=1, **row)


def measured(verdict: dict[str, Any]) -> list[float]:
    return sorted(row["measured"] for row in verdict["rows"])


# X19


def silent(evicted_ms: float | None) -> Group:
    history = alone().joins("member-2", 2_000, 3)
    for ms in (2_000, 4_000):
        history.beat("member-2", ms + 100, 3)
    for ms in range(2_000, 20_000, 2_000):
        history.beat("member-1", ms, 2)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, "member-2", reason="session").bumped(evicted_ms + 1, 4)
    return history


def test_a_session_of_the_broker_counts_from_the_last_heartbeat(judge: Judge) -> None:
    verdict = judge(silent(10_101), "X19")
    assert ("HOLDS", 6_001) == (verdict["verdict"], verdict["measured_max"])


def test_an_eviction_100_ms_early_violates(judge: Judge) -> None:
    assert "too early" in judge(silent(10_000), "X19")["reason"]


def test_a_commit_does_not_re_arm_the_session_of_kip_848(judge: Judge) -> None:
    history = silent(10_101).commit_request("member-2", 6_000, 0, 10, generation=3)
    assert "HOLDS" == judge(history, "X19")["verdict"]


def test_a_member_that_came_back_under_its_id_is_evicted_again(judge: Judge) -> None:
    history = silent(10_101)
    history.says("member_added", 12_000, "member-2", reason="joins").bumped(12_001, 5)
    history.beat("member-2", 11_999, 0, now=5)
    history.says("evicted", 18_000, "member-2", reason="session").bumped(18_001, 6)
    verdict = judge(history, "X19")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_nobody_silent_leaves_the_session_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X19")["verdict"]


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
    assert "before member-1 let it go" in judge(moving(2_005), "X20")["reason"]


def test_a_partition_whose_owner_never_let_go_violates(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3).beat("member-2", 3_000, 3, gets=(2,))
    assert "had not let it go" in judge(history, "X20")["reason"]


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


def test_the_heartbeat_that_is_told_does_not_acknowledge(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3)
    history.beat("member-1", 2_000, 2, gets=(0, 1), owns=(0, 1))
    history.beat("member-1", 2_020, 2, owns=(0, 1), now=3).beat("member-2", 3_000, 3, gets=(2,))
    assert 981 == judge(history, "X20")["measured_max"]


@pytest.mark.parametrize(("given_ms", "verdict"), [(2_017, "HOLDS"), (2_016.9, "VIOLATED")])
def test_clocks_may_be_2_ms_apart_at_a_hand_over(
    judge: Judge, given_ms: float, verdict: str
) -> None:
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
    [(2_500, 981, "member-1 acknowledged"), (2_010, 991, "member-1 was gone")],
)
def test_what_lets_a_partition_go_first_counts(
    judge: Judge, left_ms: float, ms: float, why: str
) -> None:
    verdict = judge(moving(3_000).says("left", left_ms, "member-1", reason="left"), "X20")
    assert ("HOLDS", ms) == (verdict["verdict"], verdict["measured_max"])
    assert f"after {why}" == verdict["rows"][0]["why"]


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
    assert "neither acknowledged nor fenced" in judge(stalled(None), "X21")["reason"]


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


@pytest.mark.parametrize(("end_ms", "verdict"), [(10_052, "UNKNOWN"), (10_053, "VIOLATED")])
def test_a_run_that_ends_before_a_fencing_is_due_tells_nothing(
    judge: Judge, end_ms: float, verdict: str
) -> None:
    history = stalled(None)
    history.end_ms = end_ms
    assert verdict == judge(history, "X21")["verdict"]


def test_an_acknowledged_revocation_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(moving(3_000), "X21")["verdict"]


# X22


def commits(before: int, *, given: int | None = 2, epoch: int = 2, **row: Any) -> Group:
    """A commit with epoch 2 of a member in epoch 3, and how it was answered."""
    history = Group()
    asked = {"rule": "X22", "api": "OFFSET_COMMIT", **row}
    history.add(
        "calls", step="the epoch before", generation=epoch, error_code=before, sent_at=at(0),
        expected=json.dumps({"member_epoch": 3, "assignment_epoch": given}), **asked,
    )  # fmt: skip
    return history


@pytest.mark.parametrize(
    ("rule", "answered", "given", "verdict"),
    [
        ("X22", 113, 2, "HOLDS"),
        ("X22", 0, 2, "VIOLATED"),
        ("X22-assignment", 0, 2, "HOLDS"),
        ("X22-assignment", 113, 2, "VIOLATED"),
        ("X22-assignment", 0, 3, "VIOLATED"),
        ("X22-assignment", 113, None, "HOLDS"),
    ],
)
def test_which_epochs_a_commit_may_carry(
    judge: Judge, rule: str, answered: int, given: int | None, verdict: str
) -> None:
    assert verdict == judge(commits(answered, given=given), rule)["verdict"]


@pytest.mark.parametrize("rule", ["X22", "X22-assignment"])
@pytest.mark.parametrize("given", [3, None])
def test_a_commit_may_carry_the_present_epoch_and_no_later_one(
    judge: Judge, rule: str, given: int | None
) -> None:
    present, later = commits(0, given=given, epoch=3), commits(113, given=given, epoch=4)
    assert "HOLDS" == judge(present, rule)["verdict"]
    assert "HOLDS" == judge(later, rule)["verdict"]


@pytest.mark.parametrize("row", [{"api": "CONSUMER_GROUP_HEARTBEAT"}, {"rule": "X26"}])
def test_other_calls_are_no_commits_over_the_wire(judge: Judge, row: dict[str, Any]) -> None:
    assert "UNKNOWN" == judge(commits(0, **row), "X22")["verdict"]


@pytest.mark.parametrize("rule", ["X22", "X22-assignment"])
def test_without_commits_over_the_wire_x22_is_unknown(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(Group(), rule)["verdict"]


# X23


def fenced(*, lost: bool = True, life: int = 1) -> Group:
    history = alone()
    history.says("evicted", 8_000, "member-1", reason="session")
    history.beat("member-1", 9_000, 2, error_code=25)
    if lost:
        history.told("member-1", "lost", 9_010, (0, 1, 2))
    history.says("member_added", 9_020, "member-1", reason="joins", life=life)
    return history.beat("member-1", 9_020, 0, now=4, life=life)


def test_a_fenced_member_joins_with_epoch_0(judge: Judge) -> None:
    verdict = judge(fenced(), "X23")
    assert ("HOLDS", 19) == (verdict["verdict"], verdict["measured_max"])


def test_a_fenced_member_that_keeps_its_partitions_violates(judge: Judge) -> None:
    assert "without giving its partitions up" in judge(fenced(lost=False), "X23")["reason"]


def test_a_fenced_member_with_a_new_id_violates(judge: Judge) -> None:
    assert "another member id" in judge(fenced(life=2), "X23")["reason"]


@pytest.mark.parametrize(("error", "epoch"), [(25, 1), (110, 2)])
def test_a_fenced_member_that_does_not_come_back_violates(
    judge: Judge, error: int, epoch: int
) -> None:
    history = alone().beat("member-1", 9_000, epoch, error_code=error)
    history.told("member-1", "lost", 9_010, (0, 1, 2))
    assert "did not come back" in judge(history, "X23")["reason"]


def test_a_member_known_by_its_refusal_only_was_fenced(judge: Judge) -> None:
    assert "VIOLATED" == judge(Group().beat("member-1", 9_000, error_code=25), "X23")["verdict"]


@pytest.mark.parametrize(("refused_ms", "verdict"), [(57_999, "UNKNOWN"), (57_998, "VIOLATED")])
def test_who_is_fenced_2_s_before_the_end_need_not_come_back(
    judge: Judge, refused_ms: float, verdict: str
) -> None:
    judged = judge(alone().beat("member-1", refused_ms, error_code=25), "X23")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_who_comes_back_just_before_the_end_is_examined(judge: Judge) -> None:
    history = alone().beat("member-1", 58_500, error_code=25)
    history.told("member-1", "lost", 58_510).beat("member-1", 58_520, 0, now=4)
    assert "HOLDS" == judge(history, "X23")["verdict"]


def test_other_refusals_tell_no_member_that_it_is_out(judge: Judge) -> None:
    history = alone().beat("member-1", 2_000, -1, error_code=25).beat("member-1", 2_100)
    history.beat("member-1", 3_000, 0, error_code=25).beat("member-1", 3_100)
    history.beat("member-1", 4_000, error_code=27).beat("member-1", 4_100)
    history.beat("member-1", 5_000, error_code=25, group="payments")
    history.commit_request("member-1", 6_000, 0, 10, error=25, generation=2)
    assert 0 == judge(history, "X23")["examined"]


def test_a_member_told_again_and_again_was_fenced_once(judge: Judge) -> None:
    history = fenced().beat("member-1", 9_005, error_code=110)
    verdict = judge(history.beat("member-1", 9_010, error_code=25), "X23")
    assert ("HOLDS", 1, 19) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_each_time_that_a_member_is_fenced_counts(judge: Judge) -> None:
    history = fenced().beat("member-1", 20_000, 4, error_code=110)
    history.told("member-1", "lost", 20_010).beat("member-1", 20_051, 0, now=6)
    verdict = judge(history, "X23")
    assert ("HOLDS", [19, 50]) == (verdict["verdict"], measured(verdict))


def test_only_its_own_accepted_join_brings_a_member_back(judge: Judge) -> None:
    history = fenced().beat("member-2", 9_010, 0).beat("member-1", 9_011, 0, error_code=110)
    history.beat("member-1", 9_012, 2)
    verdict = judge(history.beat("member-1", 30_000, 0, life=2), "X23")
    assert ("HOLDS", 19) == (verdict["verdict"], verdict["measured_max"])


def test_a_member_may_join_the_moment_it_is_told(judge: Judge) -> None:
    history = alone().beat("member-1", 9_000, error_code=25)
    history.told("member-1", "lost", 9_001).beat("member-1", 9_001, 0, now=4)
    verdict = judge(history, "X23")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("lost_ms", "verdict"),
    [(8_949, "VIOLATED"), (8_950, "HOLDS"), (9_020, "HOLDS"), (9_021, "VIOLATED")],
)
def test_partitions_are_given_up_between_the_refusal_and_the_join(
    judge: Judge, lost_ms: float, verdict: str
) -> None:
    history = fenced(lost=False).told("member-1", "lost", lost_ms, (0, 1, 2))
    history.told("member-2", "lost", 9_010, (3,)).told("member-1", "error", 9_010)
    assert verdict == judge(history, "X23")["verdict"]


def test_nobody_fenced_leaves_x23_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X23")["verdict"]


# X24


def test_a_target_computed_with_a_later_heartbeat_holds(judge: Judge) -> None:
    history = alone().bumped(5_000, 3).bumped(5_100, 4).computed(7_000, 4)
    verdict = judge(history, "X24")
    assert ("HOLDS", 2_000) == (verdict["verdict"], verdict["measured_max"])


def test_a_target_sooner_than_the_interval_violates(judge: Judge) -> None:
    history = alone().bumped(500, 3).computed(600, 3)
    assert "600 ms after the one before" in judge(history, "X24")["reason"]


def test_a_target_that_comes_too_late_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(alone().bumped(5_000, 3).computed(8_800, 3), "X24")["verdict"]


@pytest.mark.parametrize(("computed_ms", "verdict"), [(8_600, "HOLDS"), (8_601, "VIOLATED")])
def test_a_target_may_wait_for_the_interval_and_a_heartbeat(
    judge: Judge, computed_ms: float, verdict: str
) -> None:
    history = alone().bumped(5_000, 3).computed(computed_ms, 3)
    assert verdict == judge(history, "X24")["verdict"]


@pytest.mark.parametrize(("computed_ms", "verdict"), [(998.4, "HOLDS"), (998.3, "VIOLATED")])
def test_the_interval_counts_from_the_target_before(
    judge: Judge, computed_ms: float, verdict: str
) -> None:
    history = alone().bumped(500, 3).computed(computed_ms, 3)  # the one before came at 0.4 ms
    assert verdict == judge(history, "X24")["verdict"]


def test_a_new_coordinator_waits_for_no_interval(judge: Judge) -> None:
    history = alone().says("epoch_bumped", 500, generation=3, reason="hash", broker=2)
    history.says("target_computed", 600, generation=3, reason="uniform", broker=2)
    assert "HOLDS" == judge(history, "X24")["verdict"]


def test_a_target_whose_epoch_nobody_saw_begin_cannot_be_told(judge: Judge) -> None:
    verdict = judge(Group().computed(100, 2), "X24")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


def test_without_targets_x24_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(Group(), "X24")["verdict"]


def test_joins_that_compute_their_target_hold(judge: Judge) -> None:
    verdict = judge(alone().joins("member-2", 2_000, 3), "X24-at-once")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_join_whose_target_comes_after_its_answer_violates(judge: Judge) -> None:
    history = alone().member("member-2").says("member_added", 2_000, "member-2", reason="joins")
    assert isinstance(history, Group)
    history.bumped(2_000.2, 3).beat("member-2", 1_999, 0, processed_at=at(2_001)).computed(3_900, 3)
    assert "a later heartbeat" in judge(history, "X24-at-once")["reason"]


def test_a_join_that_is_passed_over_violates_at_once(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins")
    history.bumped(2_001, 3).bumped(2_500, 4).computed(4_000, 4)
    assert "passed over" in judge(history, "X24-at-once")["reason"]


def test_a_target_computed_as_the_join_is_answered_still_came_at_once(judge: Judge) -> None:
    history = alone().says("member_added", 1_999.5, "member-2", reason="joins").bumped(2_000, 3)
    history.computed(2_001, 3).beat("member-2", 2_000, 0, now=3)
    assert "HOLDS" == judge(history, "X24-at-once")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(2_050, "HOLDS"), (2_051, "UNKNOWN")])
def test_a_join_may_seem_to_arrive_after_what_it_did(judge: Judge, ms: float, verdict: str) -> None:
    """Its line is stamped late, and its arrival counts back from there."""
    history = alone().says("member_added", 1_999.5, "member-2", reason="joins").bumped(2_000, 3)
    history.computed(2_001, 3).beat("member-2", ms, 0, now=3)
    assert verdict == judge(history, "X24-at-once")["verdict"]


def test_bump_target_and_answer_may_have_one_time(judge: Judge) -> None:
    history = alone().says("member_added", 1_999.5, "member-2", reason="joins").bumped(2_000, 3)
    history.computed(2_000, 3).computed(2_300, 3)  # and again, by a coordinator that took over
    history.beat("member-2", 1_999, 0, now=3)
    verdict = judge(history, "X24-at-once")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_join_whose_answer_is_not_on_record_cannot_be_told(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins").bumped(2_001, 3)
    verdict = judge(history.computed(2_002, 3), "X24-at-once")
    assert ("UNKNOWN", 2) == (verdict["verdict"], verdict["examined"])


def test_only_the_joiners_own_join_answers_it(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins").bumped(2_000.2, 3)
    history.beat("member-2", 1_999, 0, processed_at=at(2_001)).computed(3_900, 3)
    late: dict[str, Any] = {"processed_at": at(5_000)}
    history.beat("member-3", 1_990, 0, **late).beat("member-2", 1_990, 3, **late)
    history.beat("member-2", 2_100, 0, **late)
    history.request("OFFSET_FETCH", "member-2", 1_990, generation=0, **late)
    verdict = judge(history, "X24-at-once")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["violations"])


def test_another_targets_are_not_that_of_a_join(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins").bumped(2_000.2, 3)
    history.beat("member-2", 1_999, 0, processed_at=at(2_001)).computed(3_900, 3)
    in_another_group(history, "target_computed", 2_000.5, generation=3)
    history.computed(2_000.6, 2).computed(1_999, 3).says("stabilized", 2_000.7, generation=3)
    assert 1_899.8 == judge(history, "X24-at-once")["measured_max"]


def test_an_epoch_that_no_join_began_is_not_examined_at_once(judge: Judge) -> None:
    history = alone().says("left", 2_000, "member-1", reason="left").bumped(2_001, 3)
    history.says("member_added", 3_000, "member-2").says("upgraded", 3_001)
    in_another_group(history, "member_added", 3_500)
    history.bumped(4_000, 4).computed(6_000, 4)
    assert 1 == judge(history, "X24-at-once")["examined"]


def test_a_line_of_another_group_does_not_hide_a_join(judge: Judge) -> None:
    history = alone().says("member_added", 2_000, "member-2", reason="joins")
    in_another_group(history, "left", 2_000.1)
    assert 2 == judge(history.bumped(2_000.2, 3), "X24-at-once")["examined"]


def test_without_joins_x24_at_once_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(Group().computed(100, 2), "X24-at-once")["verdict"]


# X25


def migrating(*, up: bool = True, down: bool = True) -> Group:
    history = Group().member("member-1", protocol="eager").says("member_added", 0, "member-1")
    history.join("member-1", 5).member("member-3", protocol="consumer")
    assert isinstance(history, Group)
    if up:
        history.says("upgraded", 4_999, text="Converted the classic group to a consumer group.")
    history.says("member_added", 5_000, "member-3", reason="joins")
    history.says("left", 15_000, "member-3", reason="left")
    if down:
        history.says("downgraded", 15_001, text="Converted the consumer group to a classic group.")
    return history


def test_a_group_converted_and_converted_back_holds(judge: Judge) -> None:
    verdict = judge(migrating(), "X25")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_group_that_is_not_converted_violates(judge: Judge) -> None:
    assert "not upgraded" in judge(migrating(up=False), "X25")["reason"]


def test_a_group_that_is_not_converted_back_violates(judge: Judge) -> None:
    assert "not downgraded" in judge(migrating(down=False), "X25")["reason"]


def test_a_slow_conversion_is_part_of_its_request(judge: Judge) -> None:
    history = migrating(up=False).says("upgraded", 4_900, text="Converted the classic group.")
    history.beat("member-3", 4_890, 0, now=2, processed_at=at(5_100))
    assert "HOLDS" == judge(history, "X25")["verdict"]


def test_the_first_of_two_requests_under_way_may_have_converted_it(judge: Judge) -> None:
    history = migrating(up=False).says("upgraded", 4_900, text="Converted the classic group.")
    history.beat("member-3", 4_890, 0, now=2, processed_at=at(5_100))
    history.beat("member-3", 4_990, 0, now=2, processed_at=at(5_050))
    assert "HOLDS" == judge(history, "X25")["verdict"]


def test_a_slow_conversion_back_is_part_of_its_request(judge: Judge) -> None:
    history = migrating(down=False).says("downgraded", 14_900, text="Converted back.")
    history.beat("member-3", 14_890, -1, processed_at=at(15_100))
    assert "HOLDS" == judge(history, "X25")["verdict"]


@pytest.mark.parametrize(
    ("upgraded_ms", "verdict"),
    [(4_939, "VIOLATED"), (4_940, "HOLDS"), (5_060, "HOLDS"), (5_061, "VIOLATED")],
)
def test_a_conversion_without_its_request_comes_at_once(
    judge: Judge, upgraded_ms: float, verdict: str
) -> None:
    assert verdict == judge(migrating(up=False).says("upgraded", upgraded_ms), "X25")["verdict"]


@pytest.mark.parametrize(
    ("upgraded_ms", "verdict"),
    [(4_939, "VIOLATED"), (4_940, "HOLDS"), (5_010, "HOLDS"), (5_011, "VIOLATED")],
)
def test_only_the_joiners_own_request_spans_its_conversion(
    judge: Judge, upgraded_ms: float, verdict: str
) -> None:
    history = migrating(up=False).says("upgraded", upgraded_ms)
    history.beat("member-3", 4_990, 0, processed_at=at(5_010))
    late: dict[str, Any] = {"processed_at": at(5_300)}
    history.beat("member-1", 4_800, 0, **late).beat("member-3", 4_800, 2, **late)
    history.request("OFFSET_FETCH", "member-3", 4_800, generation=0, **late)
    history.beat("member-3", 4_800, 0, processed_at=at(4_999)).beat("member-3", 5_051, 0, **late)
    assert verdict == judge(history, "X25")["verdict"]


@pytest.mark.parametrize("span", [(4_990, 5_000), (5_000, 5_010)])
def test_a_request_that_ends_or_starts_with_the_join_is_the_joins(
    judge: Judge, span: tuple[float, float]
) -> None:
    history = migrating(up=False).says("upgraded", span[0] if span[0] < 5_000 else span[1])
    history.beat("member-3", span[0], 0, processed_at=at(span[1]))
    verdict = judge(history, "X25")
    assert ("HOLDS", [1, 10]) == (verdict["verdict"], measured(verdict))
    assert {None, at(15_000)} == {row["guard_from"] for row in verdict["rows"]}


def test_the_first_of_two_conversions_counts_and_one_of_another_group_does_not(
    judge: Judge,
) -> None:
    history = migrating().says("upgraded", 5_040, text="Converted again.")
    in_another_group(history, "upgraded", 4_990)
    verdict = judge(history.says("downgraded", 4_995), "X25")
    assert ("HOLDS", [1, 1]) == (verdict["verdict"], measured(verdict))
    assert all("Converted the" in row["why"] for row in verdict["rows"])


def test_only_the_first_and_the_last_member_convert_a_group(judge: Judge) -> None:
    history = migrating(down=False).member("member-4", protocol="consumer")
    assert isinstance(history, Group)
    history.says("member_added", 6_000, "member-4").says("left", 20_000, "member-4")
    history.says("downgraded", 20_001)
    verdict = judge(history, "X25")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    assert ["member-3 joins", "member-4 goes"] == sorted(row["subject"] for row in verdict["rows"])


def test_classic_members_that_go_convert_nothing(judge: Judge) -> None:
    history = migrating(up=False, down=False)
    history.rows["coordinator_events"] = history.rows["coordinator_events"][:1]
    history.rows["members"][1]["protocol"] = "eager"
    history.says("member_added", 2_000, "member-3").says("left", 3_000, "member-3")
    assert 0 == judge(history, "X25")["examined"]


def test_a_group_whose_classic_members_had_gone_is_not_converted_back(judge: Judge) -> None:
    history = migrating(down=False).says("left", 10_000, "member-1")
    verdict = judge(history, "X25")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_group_of_one_protocol_leaves_x25_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X25")["verdict"]


# X26


def made(setting: str | None, said: str) -> Group:
    history = Group()
    history.add(
        "calls", rule="X26", step=f"java with {setting}", api="constructor", sent_at=at(0),
        error_code=1 if said else 0, expected=json.dumps({"refused": setting}),
        answer=json.dumps({"said": said}),
    )  # fmt: skip
    return history


def test_a_setting_that_is_refused_by_name_holds(judge: Judge) -> None:
    refused = made("session.timeout.ms", "session.timeout.ms cannot be set")
    assert "HOLDS" == judge(refused, "X26")["verdict"]


def test_a_setting_that_is_accepted_violates(judge: Judge) -> None:
    assert "accepted" in judge(made("session.timeout.ms", ""), "X26")["reason"]


def test_a_consumer_that_is_refused_without_such_a_setting_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(made(None, "no broker"), "X26")["verdict"]


def test_a_consumer_without_such_a_setting_is_accepted(judge: Judge) -> None:
    history = made(None, "")
    history.rows["calls"] += [
        row | {"rule": "X22"} for row in made(None, "no broker").rows["calls"]
    ]
    verdict = judge(history, "X26")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_refusal_for_another_reason_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(made("session.timeout.ms", "no broker"), "X26")["verdict"]


def test_a_setting_that_is_only_warned_of_violates(judge: Judge) -> None:
    history = made("session.timeout.ms", "session.timeout.ms is ignored")
    history.rows["calls"][0]["error_code"] = 0
    assert "VIOLATED" == judge(history, "X26")["verdict"]


def test_nothing_made_leaves_x26_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(Group(), "X26")["verdict"]


# X27


def cut_off(*, records: bool = True, error: int = 25) -> Group:
    history = alone()
    history.fault(
        "isolate", "member-1", 3_000, 16_000, parameters=json.dumps({"of_broker": "coordinator"})
    )
    history.says("evicted", 6_010, "member-1", reason="session")
    history.delivered("member-1", 0, 0, 9, 5_000)
    if records:
        history.delivered("member-1", 0, 10, 19, 9_000)
    return history.beat("member-1", 16_100, 2, error_code=error)


def test_a_member_without_its_coordinator_goes_on(judge: Judge) -> None:
    verdict = judge(cut_off(), "X27")
    assert ("HOLDS", 10) == (verdict["verdict"], verdict["measured_max"])


def test_a_member_that_stops_without_its_coordinator_violates(judge: Judge) -> None:
    assert "no record" in judge(cut_off(records=False), "X27")["reason"]


def test_a_first_contact_that_does_not_fence_violates(judge: Judge) -> None:
    assert "first answered with error 0" in judge(cut_off(error=0), "X27")["reason"]


def test_an_accepted_commit_of_an_evicted_member_violates(judge: Judge) -> None:
    history = cut_off().commit_request("member-1", 10_000, 0, 19, generation=2)
    assert "were accepted" in judge(history, "X27")["reason"]


def test_what_comes_between_the_eviction_and_the_healing_counts(judge: Judge) -> None:
    history = cut_off().delivered("member-1", 0, 20, 29, 17_000)
    history.delivered("member-1", 1, 0, 99, 6_010).delivered("member-1", 1, 0, 99, 16_000)
    history.delivered("member-2", 2, 0, 99, 9_000).commit_request("member-1", 2_000, 0, 5)
    history.commit_request("member-1", 10_000, 0, 19, error=25, generation=2)
    verdict = judge(history, "X27")
    assert ("HOLDS", 1, 10) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_without_healing_it_goes_on_to_the_end(judge: Judge) -> None:
    history = cut_off()
    history.rows["faults"] = [row for row in history.rows["faults"] if "heal" not in row["phase"]]
    assert ("HOLDS", 10) == (
        (verdict := judge(history, "X27"))["verdict"], verdict["measured_max"],
    )  # fmt: skip


def test_a_single_record_is_enough(judge: Judge) -> None:
    history = cut_off(records=False).delivered("member-1", 0, 10, 10, 9_000)
    assert "HOLDS" == judge(history, "X27")["verdict"]


@pytest.mark.parametrize("error", [25, 110])
def test_the_first_heartbeat_after_the_eviction_is_the_contact(judge: Judge, error: int) -> None:
    history = cut_off(error=error).beat("member-1", 16_200, 0, now=4)
    history.beat("member-2", 10_000, 2).request("OFFSET_FETCH", "member-1", 10_000)
    history.beat("member-1", 6_010, 2)
    assert "HOLDS" == judge(history, "X27")["verdict"]


def test_a_member_that_never_comes_back_violates(judge: Judge) -> None:
    history = cut_off()
    history.rows["requests"].pop()
    assert "never came back" in judge(history, "X27")["reason"]


@pytest.mark.parametrize(("evicted_ms", "examined"), [(2_999, 0), (3_000, 1), (16_001, 0)])
def test_an_eviction_before_or_after_the_cut_is_not_examined(
    judge: Judge, evicted_ms: float, examined: int
) -> None:
    history = cut_off()
    history.rows["coordinator_events"][-1]["at"] = at(evicted_ms)
    assert examined == judge(history, "X27")["examined"]


def test_other_faults_and_other_members_are_not_examined(judge: Judge) -> None:
    history = cut_off().joins("member-2", 2_500, 3).joins("member-3", 2_600, 4)
    of_coordinator = json.dumps({"of_broker": "coordinator"})
    history.fault("latency", "member-2", 3_000, 16_000, parameters=of_coordinator)
    history.fault("isolate", "member-2", 3_000, 16_000, parameters=json.dumps({"of": "peers"}))
    for number, member in enumerate(("member-2", "member-3")):
        history.says("evicted", 6_020 + number, member, reason="session")
    # And once more it is evicted, when it has its coordinator again.
    history.says("member_added", 20_000, "member-1", reason="joins")
    history.says("evicted", 30_000, "member-1", reason="session")
    verdict = judge(history, "X27")
    assert ("HOLDS", 1, 10) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def led_by(history: Group, leader: int, ms: float = 0) -> Group:
    if not any(row["event"] == "assigned" for row in history.rows["client_events"]):
        history.told("member-1", "assigned", 20, [0])
    history.add(
        "topology", at=at(ms), what="partition", topic="t", partition=0, leader=leader, isr=[1, 2]
    )
    return history


def test_a_member_whose_partitions_its_coordinator_leads_shows_nothing(judge: Judge) -> None:
    verdict = judge(led_by(cut_off(records=False), 1), "X27")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])
    assert "its coordinator leads all of its partitions" in verdict["rows"][0]["why"]


def test_a_member_with_a_partition_of_another_leader_must_go_on(judge: Judge) -> None:
    """It moved there before the eviction; what comes after that is too late."""
    history = led_by(led_by(led_by(cut_off(records=False), 1), 2, 6_010), 1, 6_011)
    assert "VIOLATED" == judge(history, "X27")["verdict"]


def test_an_accepted_commit_violates_whoever_leads(judge: Judge) -> None:
    history = led_by(cut_off(records=False), 1)
    history.commit_request("member-1", 10_000, 0, 19, generation=2)
    assert "VIOLATED" == judge(history, "X27")["verdict"]


def test_without_such_a_cut_x27_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X27")["verdict"]
