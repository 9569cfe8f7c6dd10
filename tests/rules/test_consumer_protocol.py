from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.histories import TOPIC, History, at

pytestmark = pytest.mark.spark
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

    def says(self, event: str, ms: float, member: str | None = None, **row: Any) -> Group:
        super().says(event, ms, member, **row)
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


def test_an_acknowledged_revocation_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(moving(3_000), "X21")["verdict"]


# X22


def commits(before: int, *, given: int | None = 2) -> Group:
    """A commit with epoch 2 of a member in epoch 3, and how it was answered."""
    history = Group()
    history.add(
        "calls", rule="X22", api="OFFSET_COMMIT", step="the epoch before", generation=2,
        error_code=before, sent_at=at(0),
        expected=json.dumps({"member_epoch": 3, "assignment_epoch": given}),
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


def test_without_such_a_cut_x27_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X27")["verdict"]
