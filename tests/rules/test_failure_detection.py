from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


def pair(*, evicted_ms: float | None = None) -> History:
    """member-1 heartbeats to 20 s; member-2 is last heard at 4 s."""
    history = History().member("member-1").member("member-2").rebalance(0, 1, 2)
    for member in ("member-1", "member-2"):
        history.says("member_added", 0, member).join(member, 5)
    history.heartbeats("member-1", *range(2_000, 20_001, 2_000)).heartbeats(
        "member-2", 2_000, 4_000
    )
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, "member-2")
        history.rebalance(evicted_ms + 1, 2, 1, f"removing member {member_id('member-2')}")
    return history


# R01


def test_an_eviction_one_session_after_the_last_heartbeat_holds(judge: Judge) -> None:
    verdict = judge(pair(evicted_ms=10_001), "R01")
    assert "HOLDS" == verdict["verdict"]
    assert 6_001 == verdict["measured_max"]
    assert (
        "1 evictions, 6,001 ms after the last sign of life; bound 5,950 to 6,050"
        == verdict["reason"]
    )


def test_an_eviction_100_ms_late_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(pair(evicted_ms=10_100), "R01")["verdict"]


def test_a_heartbeat_counts_from_its_arrival_on_if_the_eviction_shows_it(judge: Judge) -> None:
    history = pair().request("HEARTBEAT", "member-2", 4_150, arrived_at=at(4_050))
    history.says("evicted", 10_100, "member-2").rebalance(10_101, 2, 1, "x")
    verdict = judge(history, "R01")
    assert ("HOLDS", 6_000) == (verdict["verdict"], verdict["measured_max"])
    assert "HOLDS" == judge(history, "R02")["verdict"]


def test_an_eviction_that_seems_early_by_a_late_stamp_holds(judge: Judge) -> None:
    history = pair(evicted_ms=9_960)
    assert ["HOLDS", "HOLDS"] == [judge(history, rule)["verdict"] for rule in ("R01", "R02")]


def test_an_eviction_without_a_sign_of_life_on_record_is_unknown(judge: Judge) -> None:
    history = pair(evicted_ms=10_001)
    history.rows["requests"] = [
        row for row in history.rows["requests"] if row["client_id"] != "member-2"
    ]
    history.says("loaded", 500)
    verdict = judge(history, "R01")
    assert ("UNKNOWN", 0) == (verdict["verdict"], verdict["violations"])
    assert "no sign of life before it is on record" in {row["why"] for row in verdict["rows"]}


def test_an_eviction_100_ms_early_violates(judge: Judge) -> None:
    verdict = judge(pair(evicted_ms=9_900), "R01")
    assert "VIOLATED" == verdict["verdict"]
    assert "too early" in verdict["reason"]


def test_a_silent_member_that_is_never_evicted_violates(judge: Judge) -> None:
    verdict = judge(pair(), "R01")
    assert "VIOLATED" == verdict["verdict"]
    assert "not evicted" in verdict["reason"]


def test_an_eviction_without_a_rebalance_violates(judge: Judge) -> None:
    history = pair().says("evicted", 10_001, "member-2")
    assert "no rebalance started" in judge(history, "R01")["reason"]


def test_an_eviction_during_a_rebalance_needs_no_second_one(judge: Judge) -> None:
    history = pair().says("rebalance_started", 9_000, generation=1, reason="another")
    history.says("evicted", 10_001, "member-2").says("stabilized", 10_002, generation=2, members=1)
    assert "HOLDS" == judge(history, "R01")["verdict"]


def test_a_commit_re_arms_the_session_when_it_arrives(judge: Judge) -> None:
    history = pair(evicted_ms=11_001)
    history.commit_request("member-2", 5_000, 0, 10, processed_at=at(5_900))
    assert "HOLDS" == judge(history, "R01")["verdict"]


def test_a_refused_heartbeat_is_no_sign_of_life(judge: Judge) -> None:
    history = pair(evicted_ms=10_001).heartbeats("member-2", 8_000, error_code=25)
    assert "HOLDS" == judge(history, "R01")["verdict"]


def test_a_new_coordinator_gives_a_full_session_again(judge: Judge) -> None:
    history = pair().says("loaded", 8_000, broker=2, members=2)
    history.heartbeats("member-1", *range(8_500, 20_000, 2_000), broker=2)
    history.says("evicted", 14_001, "member-2", broker=2).rebalance(14_002, 2, 1, broker=2)
    verdict = judge(history, "R01")
    assert "HOLDS" == verdict["verdict"]
    assert 6_001 == verdict["measured_max"]


def test_an_eviction_while_this_machine_stood_still_is_unknown(judge: Judge) -> None:
    history = pair(evicted_ms=10_100).tick(10_120, late_ms=95)
    verdict = judge(history, "R01")
    assert "UNKNOWN" == verdict["verdict"]
    assert "stood still for 95 ms" in verdict["reason"]


def test_an_eviction_is_unknown_by_a_stall_at_the_beginning_of_a_long_row(judge: Judge) -> None:
    history = pair(evicted_ms=10_100).tick(10_110).tick(10_420, late_ms=60)
    assert "UNKNOWN" == judge(history, "R01")["verdict"]
    assert "VIOLATED" == judge(history.tick(10_250), "R01")["verdict"]


def test_an_eviction_that_no_standing_still_can_explain_violates(judge: Judge) -> None:
    history = pair(evicted_ms=12_000).tick(12_020, late_ms=95)
    assert "VIOLATED" == judge(history, "R01")["verdict"]


@pytest.mark.parametrize(("last_ms", "verdict"), [(7_700, "HOLDS"), (7_950, "UNKNOWN")])
def test_a_gap_that_no_standing_still_can_have_hidden_holds(
    judge: Judge, last_ms: int, verdict: str
) -> None:
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 2_000, last_ms).tick(last_ms - 20, late_ms=150)
    assert verdict == judge(history, "R02")["verdict"]


def test_a_late_tick_elsewhere_changes_nothing(judge: Judge) -> None:
    assert "HOLDS" == judge(pair(evicted_ms=10_001).tick(5_000, late_ms=95), "R01")["verdict"]


def test_without_any_eviction_r01_is_unknown(judge: Judge) -> None:
    history = History().member("member-1").says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 2_000, 4_000, 6_000)
    assert "UNKNOWN" == judge(history, "R01")["verdict"]
    assert "UNKNOWN" == judge(History(), "R01")["verdict"]


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"),
    [(9_949, "VIOLATED"), (9_950, "HOLDS"), (10_050, "HOLDS"), (10_051, "VIOLATED")],
)
def test_an_eviction_is_on_time_within_slack(judge: Judge, evicted_ms: float, verdict: str) -> None:
    assert verdict == judge(pair(evicted_ms=evicted_ms), "R01")["verdict"]


@pytest.mark.parametrize(("started_ms", "verdict"), [(10_051, "HOLDS"), (10_052, "VIOLATED")])
def test_a_rebalance_starts_within_slack_of_the_eviction(
    judge: Judge, started_ms: float, verdict: str
) -> None:
    history = pair().says("evicted", 10_001, "member-2").rebalance(started_ms, 2, 1)
    assert verdict == judge(history, "R01")["verdict"]


def test_each_of_two_evictions_needs_its_own_rebalance(judge: Judge) -> None:
    history = pair(evicted_ms=10_001).says("member_added", 0, "member-3").join("member-3", 5)
    history.heartbeats("member-3", 2_000, 7_000, 12_000).says("evicted", 18_001, "member-3")
    verdict = judge(history, "R01")
    assert (2, 1) == (verdict["examined"], verdict["violations"])
    history.rebalance(18_002, 3, 1)
    assert "HOLDS" == judge(history, "R01")["verdict"]


@pytest.mark.parametrize(("heard_ms", "examined"), [(10_050, 0), (10_051, 1)])
def test_a_silence_longer_than_a_session_and_slack_should_have_ended_in_eviction(
    judge: Judge, heard_ms: float, examined: int
) -> None:
    history = pair().heartbeats("member-2", *range(int(heard_ms), 20_001, 2_000))
    assert examined == judge(history, "R01")["examined"]


def test_a_long_silence_that_ends_with_the_member_leaving_is_another_matter(judge: Judge) -> None:
    assert "UNKNOWN" == judge(pair().says("left", 12_000, "member-2"), "R01")["verdict"]


# R02


def test_gaps_below_the_session_without_an_eviction_hold(judge: Judge) -> None:
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 2_000, 7_900, 9_000)
    verdict = judge(history, "R02")
    assert "HOLDS" == verdict["verdict"]
    assert 5_900 == verdict["measured_max"]


def test_an_eviction_before_the_session_ran_out_violates_the_re_arming(judge: Judge) -> None:
    assert "VIOLATED" == judge(pair(evicted_ms=8_500), "R02")["verdict"]


def test_surviving_a_gap_longer_than_the_session_violates(judge: Judge) -> None:
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 2_000, 8_500)
    assert "VIOLATED" == judge(history, "R02")["verdict"]


def test_a_parked_join_keeps_its_member(judge: Judge) -> None:
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 2_000).join(
        "member-1", 3_000, 2, arrived_at=at(3_000), processed_at=at(15_000)
    )
    assert "HOLDS" == judge(history.heartbeats("member-1", 17_000), "R02")["verdict"]


def test_a_heartbeat_whose_answer_waits_ends_the_silence_when_it_arrives(judge: Judge) -> None:
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 2_000)
    history.heartbeats("member-1", 4_000, processed_at=at(8_700), answered_at=at(8_700))
    verdict = judge(history, "R02")
    assert ("HOLDS", 2_000) == (verdict["verdict"], verdict["measured_max"])


def test_without_members_r02_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R02")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(8_049, "HOLDS"), (8_050, "VIOLATED")])
def test_a_member_survives_less_than_a_session_and_slack(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    assert verdict == judge(history.heartbeats("member-1", 2_000, ms), "R02")["verdict"]


@pytest.mark.parametrize(("evicted_ms", "violations"), [(9_950, 0), (9_949, 1)])
def test_a_member_is_evicted_after_a_session_less_slack(
    judge: Judge, evicted_ms: float, violations: int
) -> None:
    verdict = judge(pair(evicted_ms=evicted_ms), "R02")
    assert (2, violations) == (verdict["examined"], verdict["violations"])


# R06 and what librdkafka does


def timed_out(*, lost_ms: float | None, timed_out_ms: float = 10_100) -> History:
    history = History().member("member-1").heartbeats("member-1", 2_000, 4_000)
    history.told("member-1", "session_timed_out", timed_out_ms, duration_ms=6_100.0)
    if lost_ms is not None:
        history.told("member-1", "lost", lost_ms, [0])
    return history


def test_losing_the_assignment_after_a_session_time_out_violates_the_old_rule(judge: Judge) -> None:
    assert "VIOLATED" == judge(timed_out(lost_ms=10_200), "R06")["verdict"]


def test_a_loss_long_after_the_time_out_is_another_matter(judge: Judge) -> None:
    assert "HOLDS" == judge(timed_out(lost_ms=12_000), "R06")["verdict"]


def test_a_loss_told_when_the_blocking_commit_is_answered_is_of_that_time_out(
    judge: Judge,
) -> None:
    """librdkafka tells from poll, and a member that waits for a commit does not poll."""
    history = timed_out(lost_ms=14_600)
    history.asked_commit("member-1", 9_000, 0, 10, answered_at=at(14_500))
    assert "VIOLATED" == judge(history, "R06")["verdict"]
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]


def test_without_a_session_time_out_r06_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().told("member-1", "lost", 5_000, [0]), "R06")["verdict"]


def test_librdkafka_gives_up_half_a_second_after_its_session_at_most(judge: Judge) -> None:
    assert "HOLDS" == judge(timed_out(lost_ms=10_200), "R06-librdkafka")["verdict"]


def test_librdkafka_giving_up_a_second_late_violates(judge: Judge) -> None:
    history = timed_out(lost_ms=11_100, timed_out_ms=11_000)
    assert "VIOLATED" == judge(history, "R06-librdkafka")["verdict"]


def test_librdkafka_keeping_its_assignment_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(timed_out(lost_ms=None), "R06-librdkafka")["verdict"]


def test_answers_into_an_isolated_link_do_not_count(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 5_000)
    history.fault("isolate", "members", 4_500, 15_000)
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]


def test_without_a_session_time_out_the_librdkafka_rule_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R06-librdkafka")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("lost", 10_100, "member-1", "HOLDS"),
        ("lost", 10_099, "member-1", "VIOLATED"),
        ("lost", 11_100, "member-1", "HOLDS"),
        ("lost", 11_101, "member-1", "VIOLATED"),
        ("lost", 10_200, "member-2", "VIOLATED"),
        ("revoked", 10_200, "member-1", "VIOLATED"),
    ],
)
def test_librdkafka_declares_its_own_assignment_lost_within_a_second(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    history = timed_out(lost_ms=None).told(member, event, ms, [0])
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


@pytest.mark.parametrize(
    ("how", "asked_ms", "answered_ms", "member", "verdict"),
    [
        ("sync", 10_100, 14_500, "member-1", "HOLDS"),
        ("revoke", 9_000, 14_500, "member-1", "HOLDS"),
        ("interval", 9_000, 14_500, "member-1", "HOLDS"),
        ("async", 9_000, 14_500, "member-1", "VIOLATED"),
        ("sync", 10_101, 14_500, "member-1", "VIOLATED"),
        ("sync", 9_000, 10_050, "member-1", "VIOLATED"),
        ("sync", 9_000, 14_500, "member-2", "VIOLATED"),
    ],
)
def test_that_second_begins_when_the_member_no_longer_waits_for_a_commit(
    judge: Judge, how: str, asked_ms: float, answered_ms: float, member: str, verdict: str
) -> None:
    history = timed_out(lost_ms=15_500).delivered("member-1", 0, 0, 9, 10_000, 12_000)
    history.told("member-1", "closing", 10_150)
    history.asked_commit(member, asked_ms, 0, 10, how=how, answered_at=at(answered_ms))
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


def test_or_works_on_a_batch(judge: Judge) -> None:
    history = timed_out(lost_ms=13_000).told("member-1", "lost", 13_100, [1])
    history.delivered("member-1", 0, 0, 9, 10_100, 12_000)
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]
    verdict = judge(history, "R06")
    assert ("VIOLATED", 2_900) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(9_949, "VIOLATED"), (9_950, "HOLDS"), (10_550, "HOLDS"), (10_551, "VIOLATED")],
)
def test_librdkafka_looks_at_its_session_twice_a_second(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = timed_out(lost_ms=ms, timed_out_ms=ms)
    assert verdict == judge(history, "R06-librdkafka")["verdict"]


def test_only_its_own_answers_before_a_time_out_count(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 10_101)
    history.heartbeats("member-2", 6_000).commit_request("member-1", 7_000, 0, 10)
    assert "HOLDS" == judge(history, "R06-librdkafka")["verdict"]
    history.rows["members"].clear()
    verdict = judge(history, "R06-librdkafka")
    assert ("HOLDS", 6_100) == (verdict["verdict"], verdict["measured_max"])
    history.heartbeats("member-1", 10_100)
    assert 0 == judge(history, "R06-librdkafka")["measured_max"]


def test_a_time_out_without_an_answer_before_it_cannot_be_told(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200)
    history.rows["requests"].clear()
    verdict = judge(history, "R06-librdkafka")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("kind", "whose", "from_ms", "to_ms", "measured"),
    [
        ("isolate", "member-1", 5_001, 6_000, 6_100),  # from when it is being injected
        ("isolate", "members", 4_500, 5_000, 6_100),
        ("isolate", "member-1", 5_002, 6_000, 5_100),
        ("isolate", "member-1", 4_500, 4_999, 5_100),
        ("isolate", "member-2", 4_500, 6_000, 5_100),
        ("latency", "member-1", 4_500, 6_000, 5_100),
    ],
)
def test_an_answer_that_cannot_have_arrived_is_one_into_the_members_isolated_link(
    judge: Judge, kind: str, whose: str, from_ms: float, to_ms: float, measured: float
) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 5_000)
    history.fault(kind, whose, from_ms, to_ms)
    assert measured == judge(history, "R06-librdkafka")["measured_max"]


def test_a_link_that_is_never_mended_is_isolated_to_the_end(judge: Judge) -> None:
    history = timed_out(lost_ms=10_200).heartbeats("member-1", 5_000)
    history.fault("isolate", "member-1", 4_500)
    assert 6_100 == judge(history, "R06-librdkafka")["measured_max"]


# R07


def stalled(duration_ms: float, left_ms: float | None, **member: Any) -> History:
    """member-1 stops polling at 1 s; its limit is 8 s."""
    history = History().member("member-1", max_poll_interval_ms=8_000, **member)
    history.says("member_added", 0, "member-1").join("member-1", 5)
    history.told("member-1", "stall_started", 1_000, duration_ms=duration_ms)
    if left_ms is not None:
        history.request("LEAVE_GROUP", "member-1", left_ms)
    return history


def test_leaving_within_half_a_second_of_the_limit_holds(judge: Judge) -> None:
    verdict = judge(stalled(12_000, 9_336), "R07")
    assert "HOLDS" == verdict["verdict"]
    assert 8_336 == verdict["measured_max"]


def test_leaving_a_second_late_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(stalled(12_000, 10_000), "R07")["verdict"]


def test_leaving_before_the_limit_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(stalled(12_000, 8_000), "R07")["verdict"]


def test_being_evicted_instead_of_leaving_violates(judge: Judge) -> None:
    history = stalled(12_000, None).says("evicted", 9_500, "member-1")
    assert "evicted instead" in judge(history, "R07")["reason"]


def test_a_stall_below_the_limit_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(stalled(7_000, None), "R07")["verdict"]


def test_without_a_stall_r07_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R07")["verdict"]


@pytest.mark.parametrize(
    ("left_ms", "verdict"),
    [(8_749, "VIOLATED"), (8_750, "HOLDS"), (9_550, "HOLDS"), (9_551, "VIOLATED")],
)
def test_leaving_has_an_idle_poll_before_and_a_tick_after_the_limit(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    assert verdict == judge(stalled(12_000, left_ms), "R07")["verdict"]


@pytest.mark.parametrize(
    ("duration_ms", "member", "examined"),
    [
        (8_000, {}, 0),
        (8_001, {}, 1),
        (12_000, {"sabotage": "no-leave"}, 0),
        (12_000, {"instance_id": "member-1"}, 0),
    ],
)
def test_only_dynamic_members_that_work_as_they_should_and_stall_beyond_the_limit_are_examined(
    judge: Judge, duration_ms: float, member: dict[str, Any], examined: int
) -> None:
    history = stalled(duration_ms, 9_100, **member)
    history.told("member-1", "stall_ended", 1_000, duration_ms=90_000.0)
    assert examined == judge(history, "R07")["examined"]


@pytest.mark.parametrize(
    ("api", "ms", "row", "measured"),
    [
        ("LEAVE_GROUP", 13_999, {}, 12_999),
        ("LEAVE_GROUP", 14_000, {}, 13_000),
        ("LEAVE_GROUP", 14_001, {}, None),
        ("LEAVE_GROUP", 1_000, {}, None),
        ("LEAVE_GROUP", 1_001, {}, 1),
        ("LEAVE_GROUP", 9_100, {"client_id": "member-2"}, None),
        ("HEARTBEAT", 9_100, {"generation": -1}, None),
        ("CONSUMER_GROUP_HEARTBEAT", 9_100, {"generation": -1}, 8_100),
        ("CONSUMER_GROUP_HEARTBEAT", 9_100, {"generation": 0}, None),
    ],
)
def test_a_member_leaves_by_its_own_request_from_its_stall_to_a_second_after(
    judge: Judge, api: str, ms: float, row: dict[str, Any], measured: float | None
) -> None:
    history = stalled(12_000, None).request(api, "member-1", ms, **row)
    verdict = judge(history, "R07")
    assert (1, measured) == (verdict["examined"], verdict["measured_max"])


def test_the_first_of_two_leaves_counts(judge: Judge) -> None:
    history = stalled(12_000, 9_100).request("LEAVE_GROUP", "member-1", 10_500)
    assert ("HOLDS", 8_100) == (
        judge(history, "R07")["verdict"], judge(history, "R07")["measured_max"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ms", "member", "life", "verdict"),
    [
        (1_000, "member-1", 1, "HOLDS"),
        (1_001, "member-1", 1, "VIOLATED"),
        (20_000, "member-1", 1, "VIOLATED"),
        (20_001, "member-1", 1, "HOLDS"),  # it was back under its id, as in KIP-848
        (20_000, "member-1", 2, "HOLDS"),  # it was back under another id
        (9_000, "member-2", 1, "HOLDS"),
    ],
)
def test_an_eviction_after_the_stall_and_of_that_id_is_instead_of_leaving(
    judge: Judge, ms: float, member: str, life: int, verdict: str
) -> None:
    history = stalled(12_000, 9_100).says("evicted", ms, member, life=life)
    assert verdict == judge(history, "R07")["verdict"]


# R10


def crash(*, next_owner_ms: float | None) -> History:
    history = History().member("member-1").fault("kill-consumer", "member-2", 10_000)
    history.member("member-2", end="killed", ended_at=at(10_000))
    history.told("member-1", "assigned", 100, [0]).told("member-2", "assigned", 100, [1])
    if next_owner_ms is not None:
        history.told("member-1", "revoked", 16_000, [0])
        history.told("member-1", "assigned", next_owner_ms, [0, 1])
    return history


def test_an_orphaned_partition_owned_again_in_time_holds(judge: Judge) -> None:
    verdict = judge(crash(next_owner_ms=18_000), "R10")
    assert "HOLDS" == verdict["verdict"]
    assert (1, 8_000) == (verdict["examined"], verdict["measured_max"])


def test_an_orphaned_partition_owned_too_late_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(crash(next_owner_ms=19_100), "R10")["verdict"]


def test_an_orphaned_partition_that_nobody_gets_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(crash(next_owner_ms=None), "R10")["verdict"]


def test_a_run_that_ended_before_the_deadline_cannot_tell(judge: Judge) -> None:
    history = crash(next_owner_ms=None)
    history.end_ms = 15_000
    assert "UNKNOWN" == judge(history, "R10")["verdict"]


def test_a_member_that_closed_left_no_orphans(judge: Judge) -> None:
    history = History().member("member-2").told("member-2", "assigned", 100, [1])
    assert "UNKNOWN" == judge(history, "R10")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(19_050, "HOLDS"), (19_051, "VIOLATED")])
def test_an_orphaned_partition_waits_for_a_session_a_heartbeat_and_a_second(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(crash(next_owner_ms=ms), "R10")["verdict"]


@pytest.mark.parametrize(("end_ms", "verdict"), [(19_051, "VIOLATED"), (19_050, "UNKNOWN")])
def test_a_run_that_ends_just_at_the_deadline_can_tell(
    judge: Judge, end_ms: float, verdict: str
) -> None:
    history = crash(next_owner_ms=None)
    history.end_ms = end_ms
    assert verdict == judge(history, "R10")["verdict"]


@pytest.mark.parametrize(
    ("kind", "took_effect", "examined"),
    [("kill-consumer", True, 1), ("kill-consumer", False, 0), ("freeze-consumer", True, 0)],
)
def test_only_a_member_that_was_killed_leaves_orphans(
    judge: Judge, kind: str, took_effect: bool, examined: int
) -> None:
    history = History().member("member-1").member("member-2", end="killed", ended_at=at(10_000))
    history.told("member-2", "assigned", 100, [1]).told("member-1", "assigned", 12_000, [1])
    history.fault(kind, "member-2", 10_000, None, took_effect)
    assert examined == judge(history, "R10")["examined"]


@pytest.mark.parametrize(
    ("assigned_ms", "revoked_ms", "examined"),
    [(9_999, None, 1), (10_000, None, 0), (100, 9_999, 1), (100, 9_998, 0), (100, 12_000, 1)],
)
def test_orphans_are_what_it_held_when_it_was_killed(
    judge: Judge, assigned_ms: float, revoked_ms: float | None, examined: int
) -> None:
    history = History().member("member-2", end="killed", ended_at=at(10_000))
    history.fault("kill-consumer", "member-2", 10_000).member("member-1")
    history.told("member-1", "assigned", 100, [3]).told("member-2", "assigned", assigned_ms, [1])
    if revoked_ms is not None:
        history.told("member-2", "revoked", revoked_ms, [1])
    assert examined == judge(history, "R10")["examined"]


def test_an_orphan_still_held_on_record_at_the_end_is_one(judge: Judge) -> None:
    history = History().member("member-2", end=None, ended_at=None)
    history.fault("kill-consumer", "member-2", 10_000).told("member-2", "assigned", 100, [1])
    assert 1 == judge(history, "R10")["examined"]


def test_the_first_other_owner_after_the_kill_counts(judge: Judge) -> None:
    history = crash(next_owner_ms=None).told("member-3", "assigned", 9_000, [1])
    history.told("member-1", "assigned", 18_000, [1]).told("member-4", "assigned", 19_500, [1])
    history.told("member-2", "assigned", 10_000, [1]).told("member-4", "assigned", 11_000, [2])
    history.rows["client_events"][-1]["partitions"] += [{"topic": "u", "partition": 1}]
    verdict = judge(history, "R10")
    assert ("HOLDS", 8_000) == (verdict["verdict"], verdict["measured_max"])
    history.told("member-5", "assigned", 10_000, [1])
    assert 0 == judge(history, "R10")["measured_max"]


# R14


def test_a_heartbeat_every_interval_holds(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_003, 6_001, 8_000)
    assert "HOLDS" == judge(history, "R14")["verdict"]


def test_heartbeats_a_timer_s_tick_off_their_interval_violate(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_600, 7_200, 9_800)
    assert "VIOLATED" == judge(history, "R14")["verdict"]


def test_one_late_heartbeat_is_no_cadence(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_000, 6_000, 8_400, 10_400)
    assert "HOLDS" == judge(history, "R14")["verdict"]


def test_an_interval_off_the_clients_grid_is_rounded_up(judge: Judge) -> None:
    history = History(group={"heartbeat_interval_ms": 1_700})
    history.heartbeats("member-1", 2_000, 4_000, 6_000, 8_000)
    assert "HOLDS" == judge(history, "R14")["verdict"]


def test_gaps_in_a_network_fault_are_not_steady(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 5_000, 8_000, 11_000)
    assert "UNKNOWN" == judge(history.fault("latency", "members", 1_000, 12_000), "R14")["verdict"]


def test_gaps_in_a_fault_of_another_member_are_steady(judge: Judge) -> None:
    history = History().member("member-1").member("member-2")
    history.heartbeats("member-1", 2_000, 4_000, 6_000, 8_000)
    history.fault("latency", "member-2", 1_000, 12_000)
    assert "HOLDS" == judge(history, "R14")["verdict"]
    assert "UNKNOWN" == judge(history.fault("latency", "member-1", 1_000, 12_000), "R14")["verdict"]


def test_two_gaps_are_too_few(judge: Judge) -> None:
    assert (
        "UNKNOWN" == judge(History().heartbeats("member-1", 2_000, 5_000, 8_000), "R14")["verdict"]
    )


@pytest.mark.parametrize(
    ("gap_ms", "verdict"),
    [(1_919, "VIOLATED"), (1_920, "HOLDS"), (2_550, "HOLDS"), (2_551, "VIOLATED")],
)
def test_how_early_and_late_librdkafka_s_heartbeats_may_be(
    judge: Judge, gap_ms: int, verdict: str
) -> None:
    history = History().heartbeats("member-1", *range(2_000, 2_001 + 3 * gap_ms, gap_ms))
    assert verdict == judge(history, "R14")["verdict"]


# R18 and R34


def slow(*heartbeats: float) -> History:
    """member-1 processes for 16 s from 1 s on, with a session of 6 s and 60 s between polls."""
    history = History().member("member-1").says("member_added", 0, "member-1").join("member-1", 5)
    history.told("member-1", "stall_started", 1_000, duration_ms=16_000.0)
    return history.heartbeats("member-1", *heartbeats)


def test_staying_in_the_group_while_slow_violates_the_old_rule(judge: Judge) -> None:
    assert "VIOLATED" == judge(slow(), "R18")["verdict"]


def test_being_dropped_while_slow_is_what_the_old_rule_says(judge: Judge) -> None:
    assert "HOLDS" == judge(slow().says("evicted", 8_000, "member-1"), "R18")["verdict"]


def test_a_stall_below_the_session_says_nothing_of_slow_members(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "stall_started", 0, duration_ms=5_000.0)
    assert "UNKNOWN" == judge(history, "R18")["verdict"]
    assert "UNKNOWN" == judge(history, "R34")["verdict"]


def test_heartbeats_that_go_on_while_slow_hold(judge: Judge) -> None:
    history = slow(*range(500, 18_001, 2_000))
    assert "HOLDS" == judge(history, "R34")["verdict"]


def test_a_heartbeat_missing_while_slow_violates(judge: Judge) -> None:
    history = slow(500, 2_500, 6_500, 8_500, 10_500, 12_500, 14_500, 16_500)
    assert "VIOLATED" == judge(history, "R34")["verdict"]


def test_no_heartbeat_at_all_while_slow_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(slow(), "R34")["verdict"]


@pytest.mark.parametrize(
    ("duration_ms", "row", "examined"),
    [
        (6_000, {}, 0),
        (6_001, {}, 1),
        (59_999, {}, 1),
        (60_000, {}, 0),
        (16_000, {"sabotage": "no-heartbeats"}, 0),
    ],
)
@pytest.mark.parametrize("rule", ["R18", "R34"])
def test_slow_is_a_stall_between_a_session_and_the_longest_interval(
    judge: Judge, rule: str, duration_ms: float, row: dict[str, Any], examined: int
) -> None:
    history = History().member("member-1", **row).heartbeats("member-1", 500)
    history.told("member-1", "stall_started", 1_000, duration_ms=duration_ms)
    history.told("member-1", "stall_ended", 1_000, duration_ms=20_000.0)
    assert examined == judge(history, rule)["examined"]


@pytest.mark.parametrize(
    ("ms", "member", "verdict"),
    [
        (1_000, "member-1", "HOLDS"),
        (999, "member-1", "VIOLATED"),
        (17_050, "member-1", "HOLDS"),
        (17_051, "member-1", "VIOLATED"),
        (8_000, "member-2", "VIOLATED"),
    ],
)
def test_being_dropped_while_slow_is_so_from_the_stall_to_its_end(
    judge: Judge, ms: float, member: str, verdict: str
) -> None:
    assert verdict == judge(slow().says("evicted", ms, member), "R18")["verdict"]


def test_the_first_of_two_removals_is_measured(judge: Judge) -> None:
    history = slow().says("evicted", 8_000, "member-1").says("left", 12_000, "member-1", life=2)
    assert 7_000 == judge(history, "R18")["measured_max"]


@pytest.mark.parametrize(
    ("last_ms", "missing_ms", "verdict"),
    [
        (14_450, 0, "HOLDS"),
        (14_449, 0, "VIOLATED"),
        (16_500, 2_550, "HOLDS"),
        (16_500, 2_551, "VIOLATED"),
    ],
)
def test_the_longest_gap_in_a_stall_counts_and_the_one_to_its_end(
    judge: Judge, last_ms: int, missing_ms: int, verdict: str
) -> None:
    times = list(range(500, last_ms, 500))
    history = slow(*(ms for ms in times if not 6_000 < ms < 6_000 + missing_ms), last_ms)
    if missing_ms:
        history.heartbeats("member-1", 6_000 + missing_ms)
    assert verdict == judge(history, "R34")["verdict"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "HOLDS"),
        ({"error_code": 27}, "HOLDS"),
        ({"error_code": 25}, "VIOLATED"),
        ({"client_id": "member-2"}, "VIOLATED"),
    ],
)
def test_only_its_own_heartbeats_that_are_accepted_fill_a_stall(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    history = slow(500).heartbeats("member-1", *range(2_500, 16_501, 2_000), **row)
    history.heartbeats("member-1", 17_001)
    assert verdict == judge(history, "R34")["verdict"]


# X11


def default_crash(evicted_ms: float | None) -> History:
    """member-2 is killed at 10 s, with a session of 45 s and a heartbeat every 3 s."""
    history = History(group={"session_timeout_ms": 45_000, "heartbeat_interval_ms": 3_000})
    history.end_ms = 80_000
    history.member("member-2", session_timeout_ms=45_000).fault("kill-consumer", "member-2", 10_000)
    history.join("member-2", 5, session_timeout_ms=45_000)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, "member-2")
    return history


@pytest.mark.parametrize("evicted_ms", [52_000, 55_040])
def test_a_crash_noticed_within_the_default_session_holds(judge: Judge, evicted_ms: float) -> None:
    assert "HOLDS" == judge(default_crash(evicted_ms), "X11")["verdict"]


@pytest.mark.parametrize("evicted_ms", [51_300, 55_100, None])
def test_a_crash_noticed_sooner_later_or_never_violates(
    judge: Judge, evicted_ms: float | None
) -> None:
    assert "VIOLATED" == judge(default_crash(evicted_ms), "X11")["verdict"]


def test_a_crash_with_another_session_says_nothing_of_the_default(judge: Judge) -> None:
    assert "UNKNOWN" == judge(crash(next_owner_ms=18_000), "X11")["verdict"]


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"),
    [(51_448, "VIOLATED"), (51_449, "HOLDS"), (55_050, "HOLDS"), (55_051, "VIOLATED")],
)
def test_a_crash_is_noticed_a_session_after_the_last_heartbeat_before_it(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    """The member may have been killed a millisecond before 10 s, when that was begun."""
    assert verdict == judge(default_crash(evicted_ms), "X11")["verdict"]


@pytest.mark.parametrize(("end_ms", "verdict"), [(55_051, "VIOLATED"), (55_050, "UNKNOWN")])
def test_a_crash_near_the_end_cannot_be_told(judge: Judge, end_ms: float, verdict: str) -> None:
    history = default_crash(None)
    history.end_ms = end_ms
    judged = judge(history, "X11")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("kind", "took_effect"), [("kill-consumer", False), ("freeze-consumer", True)]
)
def test_only_a_kill_that_took_effect_is_a_crash(
    judge: Judge, kind: str, took_effect: bool
) -> None:
    history = default_crash(52_000)
    for row in history.rows["faults"]:
        row["kind"] = kind
        row["took_effect"] = row["took_effect"] and took_effect
    assert "UNKNOWN" == judge(history, "X11")["verdict"]


def test_only_its_own_eviction_from_the_kill_on_notices_a_crash(judge: Judge) -> None:
    history = default_crash(52_000).says("evicted", 9_998, "member-2", life=3)
    history.member("member-1", session_timeout_ms=45_000).says("evicted", 30_000, "member-1")
    verdict = judge(history, "X11")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    history = default_crash(None).says("evicted", 9_999, "member-2")
    assert 0 == judge(history, "X11")["measured_max"]
