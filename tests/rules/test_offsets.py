from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


def handed_over(given_up_ms: float = 5_000, next_ms: float = 5_100, **group: Any) -> History:
    """member-1 read 0 to 9, gave the partition up, and member-2 was given it."""
    history = History(group=group).member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", "revoked", given_up_ms, [0])
    history.told("member-2", "assigned", next_ms, [0])
    return history.delivered("member-1", 0, 0, 9, 1_000)


# R15


def test_giving_up_and_committing_before_the_next_owner_holds(judge: Judge) -> None:
    history = handed_over(commit="revoke").rebalance(4_900, 2, 2)
    history.commit_request("member-1", 4_905, 0, 10)
    history.asked_commit("member-1", 4_904, 0, 10, how="revoke")
    verdict = judge(history, "R15")
    assert ("HOLDS", 2, 100) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip
    assert "while members rejoined" in verdict["rows"][1]["why"]


def test_a_next_owner_before_the_callback_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(handed_over(5_200, 5_100), "R15")["verdict"]


def test_a_refused_commit_in_the_callback_violates(judge: Judge) -> None:
    history = handed_over().commit_request("member-1", 4_905, 0, 10, error=22)
    history.asked_commit("member-1", 4_904, 0, 10, error=22, how="revoke")
    assert "VIOLATED" == judge(history, "R15")["verdict"]


def test_a_commit_in_the_callback_that_nobody_answered_cannot_be_told(judge: Judge) -> None:
    history = handed_over().asked_commit("member-1", 4_904, 0, 10, error=None, how="revoke")
    assert "UNKNOWN" == judge(history, "R15")["verdict"]


def test_a_lost_partition_is_not_handed_over(judge: Judge) -> None:
    history = History().member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", "lost", 5_200, [0])
    assert "UNKNOWN" == judge(history.told("member-2", "assigned", 5_100, [0]), "R15")["verdict"]


# R15-repeats


def test_a_hand_over_without_repeats_holds(judge: Judge) -> None:
    history = handed_over().delivered("member-2", 0, 10, 19, 5_200)
    assert "HOLDS" == judge(history, "R15-repeats")["verdict"]


def test_a_hand_over_that_repeats_a_record_violates(judge: Judge) -> None:
    verdict = judge(handed_over().delivered("member-2", 0, 9, 19, 5_200), "R15-repeats")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


def test_a_partition_that_comes_back_to_its_owner_is_not_handed_over(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    history.told("member-1", "revoked", 5_000, [0]).told("member-1", "assigned", 5_100, [0])
    assert "UNKNOWN" == judge(history, "R15-repeats")["verdict"]


# R15-seek


def kept(first: int) -> History:
    history = handed_over().asked_commit("member-1", 1_100, 0, 10, how="external")
    return history.delivered("member-2", 0, first, 19, 5_200)


def test_starting_where_the_store_says_holds(judge: Judge) -> None:
    verdict = judge(kept(10), "R15-seek")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("first", [9, 11])
def test_starting_anywhere_else_violates(judge: Judge, first: int) -> None:
    assert "VIOLATED" == judge(kept(first), "R15-seek")["verdict"]


def test_positions_kept_in_kafka_are_not_sought(judge: Judge) -> None:
    history = handed_over().asked_commit("member-1", 1_100, 0, 10)
    assert "UNKNOWN" == judge(history.delivered("member-2", 0, 0, 9, 5_200), "R15-seek")["verdict"]


# R30


def answered(history: History, ms: float, position: int, **row: Any) -> History:
    """A coordinator tells a position of t-0."""
    told = {"topic": TOPIC, "partition": 0, "committed": position, "error_code": 0}
    return history.request("OFFSET_FETCH", "member-2", ms, positions=[told], **row)


def committed() -> History:
    return History().commit_request("member-1", 100, 0, 10).commit_request("member-1", 200, 0, 20)


def test_the_last_position_committed_is_told(judge: Judge) -> None:
    history = answered(answered(committed(), 150, 10), 250, 20, broker=2)
    verdict = judge(history, "R30")
    assert ("HOLDS", 1, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_one_before_it_violates(judge: Judge) -> None:
    verdict = judge(answered(committed(), 250, 10, broker=2), "R30")
    assert ("VIOLATED", 10) == (verdict["verdict"], verdict["measured_max"])


def test_one_that_is_repeated_may_have_been_made_the_first_time(judge: Judge) -> None:
    history = committed().commit_request("member-1", 2_000, 0, 30, broker=2)
    assert "VIOLATED" == judge(answered(history, 900, 30, broker=2), "R30")["verdict"]
    history.asked_commit("member-1", 300, 0, 30, error=0, answered_at=at(2_001))
    assert "HOLDS" == judge(history, "R30")["verdict"]


def test_stamps_within_slack_of_each_other_tell_no_order(judge: Judge) -> None:
    assert "HOLDS" == judge(answered(committed(), 240, 10), "R30")["verdict"]
    history = committed().commit_request("member-1", 300, 0, 30)
    assert "HOLDS" == judge(answered(history, 260, 30), "R30")["verdict"]
    assert "VIOLATED" == judge(answered(history, 240, 30), "R30")["verdict"]


def test_one_that_nobody_committed_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(answered(committed(), 250, 30), "R30")["verdict"]


def test_nothing_told_of_what_was_committed_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(answered(committed(), 250, -1), "R30")["verdict"]


def test_a_coordinator_that_has_just_loaded_the_group_may_be_behind_until_it_writes(
    judge: Judge,
) -> None:
    history = committed().says("member_added", 0, "member-1").says("loaded", 900, broker=2)
    answered(answered(history, 1_000, 10, broker=2), 1_500, 20, broker=2)
    verdict = judge(history, "R30")
    assert "HOLDS" == verdict["verdict"]
    assert "1 older, by one that had just loaded the group" in verdict["rows"][0]["why"]
    assert "VIOLATED" == judge(answered(history, 1_600, 15, broker=2), "R30")["verdict"]


def test_a_coordinator_that_has_written_a_commit_is_not_behind(judge: Judge) -> None:
    history = committed().says("member_added", 0, "member-1").says("loaded", 900, broker=2)
    history.commit_request("member-1", 1_000, 0, 30, broker=2)
    assert "VIOLATED" == judge(answered(history, 1_200, 20, broker=2), "R30")["verdict"]


def test_one_on_its_way_may_be_told_or_not(judge: Judge) -> None:
    history = committed().commit_request("member-1", 300, 0, 30, answered_at=at(400))
    assert "HOLDS" == judge(answered(answered(history, 350, 30), 351, 20), "R30")["verdict"]


@pytest.mark.parametrize(("error", "verdict"), [(None, "HOLDS"), (22, "VIOLATED")])
def test_one_that_was_never_answered_may_be_told_later_and_a_refused_one_not(
    judge: Judge, error: int | None, verdict: str
) -> None:
    history = committed().asked_commit("member-1", 300, 0, 30, error=error)
    assert verdict == judge(answered(history, 900, 30), "R30")["verdict"]


def test_a_refused_position_that_is_told_violates(judge: Judge) -> None:
    history = committed().commit_request("member-1", 300, 0, 30, error=22)
    assert "VIOLATED" == judge(answered(history, 900, 30), "R30")["verdict"]


def test_after_a_deletion_nothing_is_told(judge: Judge) -> None:
    gone = {"topic": TOPIC, "partition": 0, "committed": -1, "error_code": 0}
    history = committed().request("OFFSET_DELETE", "observer", 300, positions=[gone])
    assert "HOLDS" == judge(answered(history, 350, -1), "R30")["verdict"]
    assert "VIOLATED" == judge(answered(history, 360, 20), "R30")["verdict"]


def test_a_coordinator_that_is_none_any_more_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(answered(committed(), 250, 10, error_code=16), "R30")["verdict"]


# R26


def automatic(*times: float, **group: Any) -> History:
    """member-1 polls every 100 ms, and commits at these times."""
    history = History(group={"commit": "auto", "auto_commit_interval_ms": 1_000, **group})
    history.member("member-1").told("member-1", "assigned", 0, [0])
    for poll in range(60):
        history.delivered("member-1", 0, poll * 10, poll * 10 + 9, poll * 100)
    for ms in times:
        history.commit_request("member-1", ms, 0, int(ms // 100) * 10)
    return history


def test_commits_a_second_apart_hold(judge: Judge) -> None:
    verdict = judge(automatic(1_050, 2_050, 3_080, 4_090), "R26")
    assert ("HOLDS", 1, 1_010) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip
    assert (920, 1_080) == (verdict["bound_low"], verdict["bound_high"])


@pytest.mark.parametrize("gap_ms", [1_200, 800])
def test_commits_too_late_or_too_early_violate(judge: Judge, gap_ms: int) -> None:
    times = [1_050 + number * gap_ms for number in range(4)]
    assert "VIOLATED" == judge(automatic(*times), "R26")["verdict"]


def test_one_commit_of_a_busy_machine_does_not_count(judge: Judge) -> None:
    """It comes late, and so the next one seems to come early."""
    assert "HOLDS" == judge(automatic(1_050, 2_190, 3_050, 4_050, 5_050), "R26")["verdict"]


def test_two_gaps_are_too_few(judge: Judge) -> None:
    assert "UNKNOWN" == judge(automatic(1_050, 2_050, 3_050), "R26")["verdict"]


def test_java_commits_in_its_next_poll(judge: Judge) -> None:
    times = (1_050, 2_250, 3_450, 4_650)
    assert "HOLDS" == judge(automatic(*times, client="java"), "R26")["verdict"]


def test_a_gap_around_a_rebalance_is_not_examined(judge: Judge) -> None:
    """Of the three gaps one is left out, and two are too few."""
    history = automatic(1_050, 2_050, 3_050, 4_050)
    assert "HOLDS" == judge(history, "R26")["verdict"]
    assert "UNKNOWN" == judge(history.rebalance(2_500, 2, 1), "R26")["verdict"]


def test_commits_that_the_application_asks_for_are_not_examined(judge: Judge) -> None:
    history = automatic(1_050, 2_050, 3_050, 4_050, commit="sync")
    assert "UNKNOWN" == judge(history, "R26")["verdict"]


# R26-repeats


def crashed(again_from: int) -> History:
    history = automatic(1_050, 2_050, 3_050, 4_050, 5_050).member("member-2")
    history.rows["members"][0].update(end="killed", ended_at=None)
    history.fault("kill-consumer", "member-1", 6_000).told("member-2", "assigned", 12_000, [0])
    return history.delivered("member-2", 0, again_from, 699, 12_100)


def test_an_interval_again_after_a_crash_holds(judge: Judge) -> None:
    verdict = judge(crashed(500), "R26-repeats")
    assert ("HOLDS", 100) == (verdict["verdict"], verdict["measured_max"])


def test_more_than_an_interval_again_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(crashed(450), "R26-repeats")["verdict"]


def test_what_another_member_had_had_is_not_counted_against_the_crashed_one(judge: Judge) -> None:
    history = crashed(500).member("member-3").delivered("member-3", 0, 600, 699, 50)
    verdict = judge(history, "R26-repeats")
    assert ("HOLDS", 100) == (verdict["verdict"], verdict["measured_max"])


def test_without_a_crash_there_is_nothing_to_repeat(judge: Judge) -> None:
    assert "UNKNOWN" == judge(automatic(1_050), "R26-repeats")["verdict"]


# R26-processed


def in_hand(position: int) -> History:
    """member-1 has done 0 to 9 and is at work on 10 to 19 when its library commits."""
    history = History(group={"commit": "auto"}).delivered("member-1", 0, 0, 9, 100)
    history.delivered("member-1", 0, 10, 19, 200, None)
    return history.commit_request("member-1", 300, 0, position)


def test_committing_what_is_done_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(in_hand(10), "R26-processed")["verdict"]


def test_committing_what_is_in_hand_violates(judge: Judge) -> None:
    verdict = judge(in_hand(20), "R26-processed")
    assert ("VIOLATED", 10) == (verdict["verdict"], verdict["measured_max"])


def test_other_commits_say_nothing_about_automatic_ones(judge: Judge) -> None:
    history = History().commit_request("member-1", 300, 0, 20)
    assert "UNKNOWN" == judge(history, "R26-processed")["verdict"]


# X18


def begins(
    first: int | None, told: int, policy: str = "earliest", lookup: tuple[int, int] | None = None
) -> History:
    """member-2 is given t-0, is told a committed position, looks one up, and reads from `first`."""
    settings = json.dumps({"auto.offset.reset": policy})
    history = History().member("member-2", settings=settings).told("member-2", "assigned", 100, [0])
    answered(history, 150, told)
    if lookup:
        which, position = lookup
        found = {"topic": TOPIC, "partition": 0, "committed": position, "error_code": 0}
        detail = json.dumps({"timestamp": which})
        history.request("LIST_OFFSETS", "member-2", 160, positions=[found], detail=detail)
    return history if first is None else history.delivered("member-2", 0, first, first + 9, 200)


def deleted(history: History, below: int) -> History:
    gone = {"topic": TOPIC, "partition": 0, "committed": below, "error_code": 0}
    return history.request("DELETE_RECORDS", "observer", 50, positions=[gone])


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
def test_a_committed_position_counts_whatever_the_policy(judge: Judge, policy: str) -> None:
    assert "HOLDS" == judge(begins(20, 20, policy), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, 20, policy), "X18")["verdict"]


def test_looking_up_an_end_although_a_position_is_committed_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(begins(20, 20, "latest", (-1, 20)), "X18")["verdict"]


def test_without_a_position_the_policy_counts(judge: Judge) -> None:
    assert "HOLDS" == judge(begins(0, -1, "earliest", (-2, 0)), "X18")["verdict"]
    assert "HOLDS" == judge(begins(70, -1, "latest", (-1, 70)), "X18")["verdict"]
    assert "HOLDS" == judge(begins(None, -1, "none"), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, -1, "latest", (-1, 70)), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(70, -1, "earliest", (-1, 70)), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, -1, "none", (-2, 0)), "X18")["verdict"]


def test_a_position_that_the_log_no_longer_has_is_none(judge: Judge) -> None:
    history = deleted(begins(50, 20, "earliest", (-2, 50)), 50)
    assert "HOLDS" == judge(history, "X18")["verdict"]


def test_a_member_that_never_asked_for_a_position_is_not_examined(judge: Judge) -> None:
    history = History().member("member-2").told("member-2", "assigned", 100, [0])
    assert "UNKNOWN" == judge(history.delivered("member-2", 0, 0, 9, 200), "X18")["verdict"]


# X28, X28-alive, R31-append


def unwritable(brokers_needed: int = 3) -> History:
    """broker-2, which the offsets topic cannot do without, is gone from 2 s to 12 s."""
    history = History().member("member-1").commit_request("member-1", 1_000, 0, 10)
    history.cluster = {"settings": {"min.insync.replicas": str(brokers_needed)}}
    return history.fault("kill-broker", "broker-2", 2_000, 12_000)


def failing(history: History, ms: float, took_ms: float = 5_004, error: int = 15) -> History:
    done = at(ms + took_ms)
    return history.commit_request(
        "member-1", ms, 0, 20, error=error, processed_at=done, answered_at=done
    )


def test_commits_that_fail_in_time_hold(judge: Judge) -> None:
    verdict = judge(failing(failing(unwritable(), 2_500), 6_900, took_ms=3), "X28")
    assert ("HOLDS", 2, 5_004) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_a_commit_that_takes_longer_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(failing(unwritable(), 2_500, 5_200), "X28")["verdict"]


def test_a_commit_that_is_accepted_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(failing(unwritable(), 2_500, 3, error=0), "X28")["verdict"]


def test_with_enough_replicas_left_x28_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(failing(unwritable(2), 2_500), "X28")["verdict"]


def test_heartbeats_that_go_on_hold(judge: Judge) -> None:
    history = unwritable().heartbeats("member-1", 4_000, 6_000).heartbeats("member-1", 13_000)
    verdict = judge(history, "X28-alive")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_heartbeat_that_is_refused_violates(judge: Judge) -> None:
    history = unwritable().heartbeats("member-1", 4_000, error_code=15)
    assert "VIOLATED" == judge(history, "X28-alive")["verdict"]


def test_without_heartbeats_meanwhile_x28_alive_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(unwritable().heartbeats("member-1", 1_000), "X28-alive")["verdict"]


@pytest.mark.parametrize(
    ("error", "took_ms", "verdict"),
    [(15, 5_004, "HOLDS"), (0, 4_000, "HOLDS"), (15, 5_200, "VIOLATED"), (25, 1, "VIOLATED")],
)
def test_a_heartbeat_waits_for_the_commits_before_it(
    judge: Judge, error: int, took_ms: float, verdict: str
) -> None:
    history = unwritable().tick(20_000)
    history.heartbeats("member-1", 4_000, error_code=error, processed_at=at(4_000 + took_ms))
    assert verdict == judge(history, "X28-waits")["verdict"]


def test_without_heartbeats_meanwhile_x28_waits_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(unwritable().heartbeats("member-1", 1_000), "X28-waits")["verdict"]


def test_the_old_position_while_commits_fail_holds(judge: Judge) -> None:
    history = answered(failing(unwritable(), 2_500), 8_000, 10)
    assert "HOLDS" == judge(history, "R31-append")["verdict"]


def test_a_position_whose_commit_failed_violates(judge: Judge) -> None:
    verdict = judge(answered(failing(unwritable(), 2_500), 8_000, 20), "R31-append")
    assert ("VIOLATED", 10) == (verdict["verdict"], verdict["measured_max"])


def test_without_a_commit_that_failed_r31_append_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(answered(unwritable(), 8_000, 10), "R31-append")["verdict"]


# X17


def emptied(none_ms: float) -> History:
    """The group is empty from 1 s on; asked every 200 ms, its position is gone at `none_ms`."""
    history = History(end_ms=80_000).commit_request("member-1", 900, 0, 10)
    history.cluster = {
        "settings": {
            "offsets.retention.minutes": "1",
            "offsets.retention.check.interval.ms": "1000",
        }
    }
    history.says("emptied", 1_000, generation=2)
    return answered(answered(history, none_ms - 200, 10), none_ms, -1)


@pytest.mark.parametrize("ms", [61_100, 62_200])
def test_positions_that_expire_after_the_retention_hold(judge: Judge, ms: float) -> None:
    verdict = judge(emptied(ms).tick(70_000), "X17")
    assert ("HOLDS", ms - 1_000) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize("ms", [60_900, 62_400])
def test_positions_that_expire_sooner_or_later_violate(judge: Judge, ms: float) -> None:
    assert "VIOLATED" == judge(emptied(ms).tick(70_000), "X17")["verdict"]


def test_a_group_that_is_filled_again_is_not_examined(judge: Judge) -> None:
    history = emptied(61_500).says("stabilized", 30_000, generation=3, members=1)
    assert "UNKNOWN" == judge(history, "X17")["verdict"]
