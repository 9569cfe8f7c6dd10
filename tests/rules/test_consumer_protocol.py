from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.consumer_histories import Group, alone, measured
from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


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


def fenced(*, lost: bool = True, life: int = 1, had: bool = True) -> Group:
    history = alone()
    if had:
        history.told("member-1", "assigned", 15, (0, 1, 2))
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


def test_who_has_nothing_need_give_nothing_up(judge: Judge) -> None:
    assert "HOLDS" == judge(fenced(lost=False, had=False), "X23")["verdict"]
    other = fenced(lost=False, had=False).told("member-2", "assigned", 15, (0, 1, 2))
    assert "HOLDS" == judge(other, "X23")["verdict"]


def test_a_single_partition_has_to_be_given_up(judge: Judge) -> None:
    history = fenced(lost=False, had=False).told("member-1", "assigned", 15, (0,))
    assert "without giving its partitions up" in judge(history, "X23")["reason"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_001, "VIOLATED"), (9_002, "HOLDS")])
def test_it_has_what_it_was_given_by_the_answer_that_it_is_out(
    judge: Judge, ms: float, verdict: str
) -> None:
    """It is told so at 9,001 ms; what it is given later is of its next stay."""
    history = fenced(lost=False, had=False).told("member-1", "assigned", ms, (0, 1, 2))
    assert verdict == judge(history, "X23")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_020, "HOLDS"), (9_021, "VIOLATED")])
def test_it_may_give_its_partitions_up_by_either_callback_until_it_joins(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = fenced(lost=False).told("member-1", "revoked", ms, (0, 1, 2))
    assert verdict == judge(history, "X23")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"), [(8_950, "HOLDS"), (9_020, "HOLDS"), (9_021, "VIOLATED")]
)
def test_its_application_may_be_told_later_of_what_its_client_gave_up(
    judge: Judge, ms: float, verdict: str
) -> None:
    """librdkafka calls back from poll; its refusal may be stamped as late as the slack."""
    history = fenced(lost=False)
    history.told("member-1", "lost", ms, (0, 1, 2), observed_at=at(9_500))
    assert verdict == judge(history, "X23")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "verdict"),
    [
        ("closing", 15_000, "UNKNOWN"),
        ("closing", 15_001, "VIOLATED"),
        ("closing", 3_000, "UNKNOWN"),  # it is on its way out
        ("closing", 2_999, "VIOLATED"),
        ("stall_started", 9_500, "VIOLATED"),
    ],
)
def test_a_fenced_member_that_ends_need_not_come_back(
    judge: Judge, event: str, ms: float, verdict: str
) -> None:
    history = alone().beat("member-1", 9_000, 2, error_code=25)
    assert verdict == judge(history.told("member-1", event, ms), "X23")["verdict"]


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
    [(8_949, "HOLDS"), (9_020, "HOLDS"), (9_021, "VIOLATED")],
)
def test_partitions_are_given_up_before_the_join(
    judge: Judge, lost_ms: float, verdict: str
) -> None:
    history = fenced(lost=False).told("member-1", "lost", lost_ms, (0, 1, 2))
    history.told("member-2", "lost", 9_010, (3,)).told("member-1", "error", 9_010)
    assert verdict == judge(history, "X23")["verdict"]


def test_nobody_fenced_leaves_x23_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X23")["verdict"]


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


@pytest.mark.parametrize("row", [{"error_code": None}, {"answer": "{}"}])
def test_a_refusal_that_nobody_saw_leaves_x26_unknown(judge: Judge, row: dict[str, Any]) -> None:
    history = made("session.timeout.ms", "session.timeout.ms cannot be set")
    history.rows["calls"][0] |= row
    assert "UNKNOWN" == judge(history, "X26")["verdict"]


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
    history = cut_off(records=False).told("member-1", "assigned", 15, (0, 1, 2))
    assert "no record" in judge(history, "X27")["reason"]


def test_a_first_contact_that_does_not_fence_violates(judge: Judge) -> None:
    assert "first answered with error 0" in judge(cut_off(error=0), "X27")["reason"]


def test_an_accepted_commit_of_an_evicted_member_violates(judge: Judge) -> None:
    history = cut_off().commit_request("member-1", 10_000, 0, 19, generation=2)
    assert "had commits accepted after its eviction: 1" in judge(history, "X27")["reason"]


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


@pytest.mark.parametrize(
    ("evicted_ms", "examined"), [(2_999, 0), (3_000, 1), (16_000, 1), (16_001, 0)]
)
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


def led_by(
    history: Group, leader: int, ms: float = 0, partition: int = 0, given_ms: float = 20
) -> Group:
    if not any(row["event"] == "assigned" for row in history.rows["client_events"]):
        history.told("member-1", "assigned", given_ms, [0])
    history.add(
        "topology", at=at(ms), what="partition", topic="t", partition=partition, leader=leader,
        isr=[1, 2],
    )  # fmt: skip
    return history


def test_a_member_whose_partitions_its_coordinator_leads_shows_nothing(judge: Judge) -> None:
    verdict = judge(led_by(cut_off(records=False), 1), "X27")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])
    assert "its coordinator leads all of its partitions" in verdict["rows"][0]["why"]


def test_a_member_with_a_partition_of_another_leader_must_go_on(judge: Judge) -> None:
    """It moved there before the eviction; what comes after that is too late."""
    history = led_by(led_by(led_by(cut_off(records=False), 1), 2, 6_010), 1, 6_011)
    assert "VIOLATED" == judge(history, "X27")["verdict"]


@pytest.mark.parametrize(
    ("member", "given_ms", "taken_ms", "verdict"),
    [
        ("member-1", 30, None, "VIOLATED"),  # it could have gone on with that one
        ("member-1", 30, 6_009, "UNKNOWN"),
        ("member-1", 6_011, None, "UNKNOWN"),
        ("member-2", 30, None, "UNKNOWN"),
    ],
)
def test_of_what_a_member_has_as_it_is_evicted_another_broker_may_lead_a_part(
    judge: Judge, member: str, given_ms: float, taken_ms: float | None, verdict: str
) -> None:
    """It is evicted at 6,010 ms, with t-0, and with t-1 if that was given to it and not taken."""
    history = led_by(led_by(cut_off(records=False), 1), 2, partition=1)
    history.told(member, "assigned", given_ms, [1])
    if taken_ms is not None:
        history.told(member, "revoked", taken_ms, [1])
    assert verdict == judge(history, "X27")["verdict"]


@pytest.mark.parametrize(("given_ms", "taken_ms"), [(6_010, 16_200), (20, 6_010)])
def test_what_it_gets_or_gives_up_as_it_is_evicted_its_coordinator_may_lead(
    judge: Judge, given_ms: float, taken_ms: float
) -> None:
    history = led_by(cut_off(records=False), 1, given_ms=given_ms)
    history.told("member-1", "revoked", taken_ms, [0])
    assert "UNKNOWN" == judge(history, "X27")["verdict"]


def test_an_accepted_commit_violates_whoever_leads(judge: Judge) -> None:
    history = led_by(cut_off(records=False), 1)
    history.commit_request("member-1", 10_000, 0, 19, generation=2)
    assert "VIOLATED" == judge(history, "X27")["verdict"]


def test_without_such_a_cut_x27_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X27")["verdict"]


def test_an_idle_member_without_its_coordinator_shows_nothing(judge: Judge) -> None:
    """member-1 has all partitions, so member-2 has nothing to go on with."""
    history = alone().joins("member-2", 100, 3)
    of_coordinator = json.dumps({"of_broker": "coordinator"})
    history.fault("isolate", "member-2", 3_000, 16_000, parameters=of_coordinator)
    history.says("evicted", 6_110, "member-2", reason="session")
    history.beat("member-2", 16_100, 3, error_code=25)
    assert judge(history, "X27")["verdict"] == "UNKNOWN"


def test_a_client_may_have_given_up_what_it_had_before_it_was_refused(judge: Judge) -> None:
    """Its application is told at its next poll, when it has joined again."""
    history = alone().told("member-1", "assigned", 15, (0, 1, 2))
    history.says("evicted", 8_000, "member-1", reason="session")
    history.beat("member-1", 9_000, 2, error_code=25)
    history.told("member-1", "lost", 8_900, (0, 1, 2), observed_at=at(9_500))
    history.says("member_added", 9_020, "member-1", reason="joins")
    history.beat("member-1", 9_020, 0, now=4)
    assert judge(history, "X23")["verdict"] == "HOLDS"
