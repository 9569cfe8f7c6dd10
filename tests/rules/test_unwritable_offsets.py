from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, answered, at
from tests.probe_histories import OWN, Probed

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


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


@pytest.mark.parametrize(("processed_ms", "verdict"), [(2_049, "UNKNOWN"), (6_980, "VIOLATED")])
def test_a_heartbeat_that_came_just_before_waits_as_well(
    judge: Judge, processed_ms: float, verdict: str
) -> None:
    history = unwritable()
    history.heartbeats("member-1", 1_980, error_code=15, processed_at=at(processed_ms))
    assert verdict == judge(history, "X28-alive")["verdict"]


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


def test_only_commits_of_the_group_at_the_edges_of_the_time_without_replicas_count(
    judge: Judge,
) -> None:
    """From slack after the fault on, and as long as one would time out before it is healed."""
    history = failing(failing(unwritable(), 2_050), 6_999)
    for ms in (2_049, 7_000):
        failing(history, ms, 1, error=0)
    history.commit_request("member-1", 3_000, 0, 20, **OTHER).heartbeats("member-1", 3_000)
    verdict = judge(history, "X28")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("ms", "error", "examined"),
    [(1_998, 15, 0), (1_999, 15, 1), (2_049, 15, 1), (1_999, 0, 0), (2_049, 0, 0), (2_050, 0, 1)],
)
def test_as_a_broker_dies_only_a_commit_that_is_refused_tells_something(
    judge: Judge, ms: float, error: int, examined: int
) -> None:
    verdict = judge(failing(unwritable(), ms, error=error), "X28")
    assert examined == verdict["examined"]
    expected = "UNKNOWN" if not examined else "HOLDS" if error else "VIOLATED"
    assert expected == verdict["verdict"]


def test_a_broker_that_never_comes_back_is_gone_to_the_end(judge: Judge) -> None:
    history = unwritable()
    history.rows["faults"] = [row for row in history.rows["faults"] if "heal" not in row["phase"]]
    failing(failing(history, 55_000), 55_001)
    verdict = judge(history, "X28")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "HOLDS" == judge(history.heartbeats("member-1", 59_000), "X28-alive")["verdict"]


@pytest.mark.parametrize(("took_ms", "verdict"), [(5_150, "HOLDS"), (5_151, "VIOLATED")])
def test_a_commit_times_out_within_three_times_the_slack(
    judge: Judge, took_ms: float, verdict: str
) -> None:
    assert verdict == judge(failing(unwritable(), 2_500, took_ms), "X28")["verdict"]


@pytest.mark.parametrize("rule", ["X28", "X28-alive", "X28-waits", "R31-append"])
def test_a_fault_without_effect_leaves_enough_replicas(judge: Judge, rule: str) -> None:
    history = answered(failing(unwritable(), 2_500), 8_000, 20).heartbeats("member-1", 4_000)
    assert 1 == judge(history, rule)["examined"]
    history.rows["faults"][2]["took_effect"] = False
    assert "UNKNOWN" == judge(history, rule)["verdict"]


def test_heartbeats_at_the_edges_of_that_time_count(judge: Judge) -> None:
    refused = {"error_code": 15}
    history = unwritable().heartbeats("member-1", 2_049, 12_000, **refused)
    history.heartbeats("member-1", 5_000, **refused, **OTHER)
    history.heartbeats("member-1", 5_000, error_code=None)
    failing(history, 5_000)
    history.heartbeats("member-1", 6_000, 6_100).heartbeats("member-1", 7_000, error_code=27)
    assert ("HOLDS", 0) == _verdict_and_worst(judge(history, "X28-alive"))
    history.heartbeats("member-1", 2_050, 11_999, **refused)
    verdict = judge(history, "X28-alive")
    assert ("VIOLATED", 2) == _verdict_and_worst(verdict)
    assert verdict["rows"][0]["why"].endswith("; 5 heartbeats, the first refused with error 15")


def _verdict_and_worst(verdict: dict[str, Any]) -> tuple[str, float]:
    return verdict["verdict"], verdict["measured_max"]


def test_heartbeats_that_wait_are_those_of_the_group_in_that_time(judge: Judge) -> None:
    history = unwritable().tick(20_000).heartbeats("member-1", 2_050, 11_999)
    history.heartbeats("member-1", 2_049, 12_000, error_code=25)
    history.heartbeats("member-1", 4_000, error_code=25, **OTHER)
    failing(history, 4_100, error=25).heartbeats("member-1", 4_200, error_code=27)
    verdict = judge(history, "X28-waits")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("took_ms", "verdict"), [(5_150, "HOLDS"), (5_151, "VIOLATED")])
def test_a_heartbeat_waits_no_longer_than_a_commit(
    judge: Judge, took_ms: float, verdict: str
) -> None:
    history = unwritable().heartbeats("member-1", 4_000, processed_at=at(4_000 + took_ms))
    assert verdict == judge(history.tick(20_000), "X28-waits")["verdict"]


def test_only_positions_told_of_the_group_in_that_time_are_examined(judge: Judge) -> None:
    history = failing(unwritable(), 2_500)
    for ms in (2_050, 11_999):
        answered(history, ms, 10)
    wrong = {"topic": TOPIC, "partition": 0, "committed": 99, "error_code": 0}
    answered(answered(history, 2_049, 99), 12_000, 99)
    answered(answered(history, 5_000, 99, **OTHER), 5_000, 99, error_code=15)
    for changes in ({"error_code": 88}, {"topic": "u"}):
        history.request("OFFSET_FETCH", "member-2", 5_000, positions=[{**wrong, **changes}])
    history.request("LIST_OFFSETS", "member-2", 5_000, positions=[wrong])
    verdict = judge(history, "R31-append")
    assert ("HOLDS", 1, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])
    assert "2 answers, 1 failed commits" == verdict["rows"][0]["why"]
    assert (
        "VIOLATED" == judge(answered(history, 6_000, 99, error_code=None), "R31-append")["verdict"]
    )


def test_the_furthest_of_several_wrong_positions_is_measured_and_the_first_told(
    judge: Judge,
) -> None:
    history = failing(unwritable(), 2_500).commit_request("member-1", 6_000, 0, 12)
    answered(answered(answered(history, 5_000, 10), 7_000, 20), 8_000, 5)
    verdict = judge(answered(history, 7_500, 12), "R31-append")
    assert ("VIOLATED", 8) == (verdict["verdict"], verdict["measured_max"])
    assert verdict["rows"][0]["why"].endswith("the first wrong one 20 where 12 was committed")


def test_where_nothing_was_accepted_before_nothing_is_told(judge: Judge) -> None:
    history = failing(unwritable(), 2_500)
    history.rows["requests"].pop(0)
    assert "HOLDS" == judge(answered(history, 8_000, -1), "R31-append")["verdict"]
    assert "VIOLATED" == judge(answered(history, 9_000, 20), "R31-append")["verdict"]


@pytest.mark.parametrize(
    ("ms", "partition", "error", "examined"),
    [
        (2_050, 0, 15, 1),
        (2_049, 0, 15, 0),
        (11_999, 0, 15, 1),
        (12_000, 0, 15, 0),
        (5_000, 1, 15, 0),
        (5_000, 0, 0, 0),
    ],
)
def test_only_a_partition_of_which_a_commit_failed_in_that_time_is_examined(
    judge: Judge, ms: float, partition: int, error: int, examined: int
) -> None:
    history = unwritable().commit_request("member-1", ms, partition, 20, error=error)
    assert examined == judge(answered(history, 8_000, 10), "R31-append")["examined"]


def after_a_failed_commit(told: int, error: int = 15, later: int = 0) -> Probed:
    """10 was accepted for partition 0, 11 failed, then 1 of partition 1 was accepted."""
    history = Probed(cluster={"min.insync.replicas": "3"})
    committing(history, 1_000, 0, 10)
    committing(history, 2_000, 0, 11, error, lasts_ms=5_000)
    positioned(history, 7_500, 10)
    committing(history, 8_000, 1, 1, 15, lasts_ms=4_000)
    committing(history, 12_500, 1, 1, later)
    return positioned(history, 13_000, told)


def committing(
    history: Probed, ms: float, partition: int, to: int, error: int = 0, **row: Any
) -> None:
    part = {"partitionIndex": partition, "committedOffset": to, "committedMetadata": ""}
    history.call(
        "OFFSET_COMMIT", ms, error, state="Empty", generation=-1,
        request={"version": 8, "topics": [{"name": TOPIC, "partitions": [part]}]},
        answer={
            "errorCode": 0,
            "topics": [
                {"name": TOPIC, "partitions": [{"partitionIndex": partition, "errorCode": error}]}
            ],
        },
        **row,
    )  # fmt: skip


def positioned(history: Probed, ms: float, told: int, partition: int = 0) -> Probed:
    part = {"partitionIndex": partition, "committedOffset": told, "errorCode": 0}
    named = [{"name": TOPIC, "partitionIndexes": [partition]}]
    return history.call(
        "OFFSET_FETCH", ms, state="Empty",
        request={"groups": [{"groupId": OWN, "topics": named}], "requireStable": False},
        answer={"groups": [{"topics": [{"name": TOPIC, "partitions": [part]}]}]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("told", "withdrawn", "made"),
    [
        (10, "HOLDS", "VIOLATED"),
        (11, "VIOLATED", "HOLDS"),
        (9, "VIOLATED", "VIOLATED"),
        (12, "VIOLATED", "VIOLATED"),
    ],
)
@pytest.mark.parametrize("error", [7, 15])
def test_a_commit_that_failed_is_withdrawn_or_made_after_all(
    judge: Judge, error: int, told: int, withdrawn: str, made: str
) -> None:
    history = after_a_failed_commit(told, error)
    verdict = judge(history, "R31-withdrawn")
    assert (withdrawn, 1) == (verdict["verdict"], verdict["examined"])
    assert made == judge(history, "R31-made")["verdict"]


@pytest.mark.parametrize("rule", ["R31-withdrawn", "R31-made"])
@pytest.mark.parametrize(("error", "later"), [(0, 0), (22, 0), (15, 15)])
def test_without_a_failure_or_an_end_of_it_nothing_is_told(
    judge: Judge, rule: str, error: int, later: int
) -> None:
    history = after_a_failed_commit(11, error, later)
    assert "UNKNOWN" == judge(history, rule)["verdict"]


@pytest.mark.parametrize("rule", ["R31-withdrawn", "R31-made"])
def test_a_later_commit_hides_what_became_of_the_one_that_failed(judge: Judge, rule: str) -> None:
    history = after_a_failed_commit(11)
    committing(history, 14_000, 0, 12)
    verdict = judge(positioned(history, 15_000, 12), rule)
    assert 1 == verdict["examined"]


@pytest.mark.parametrize(
    ("ms", "partition", "examined"),
    [
        (7_000, 0, 0),  # sent as the one that failed was answered
        (13_001, 0, 0),  # sent as the position was told
        (13_002, 0, 1),
        (14_000, 1, 1),  # of another partition, once more
    ],
)
def test_only_a_commit_from_the_failure_to_the_answer_hides_what_became_of_it(
    judge: Judge, ms: float, partition: int, examined: int
) -> None:
    history = after_a_failed_commit(11)
    committing(history, ms, partition, 12)
    assert examined == judge(history, "R31-made")["examined"]


@pytest.mark.parametrize(("ms", "examined"), [(12_500, 1), (12_501, 2)])
def test_what_became_of_it_is_told_from_the_moment_in_which_another_is_accepted(
    judge: Judge, ms: float, examined: int
) -> None:
    history = positioned(after_a_failed_commit(11), ms, 11)
    assert examined == judge(history, "R31-made")["examined"]


@pytest.mark.parametrize(("ms", "examined"), [(6_999, 1), (7_000, 2)])
def test_the_other_one_may_be_sent_as_the_one_that_failed_is_answered(
    judge: Judge, ms: float, examined: int
) -> None:
    """Then the position of 7.5 s tells as well; one that was sent before may have been first."""
    history = after_a_failed_commit(11)
    committing(history, ms, 1, 1)
    assert examined == judge(history, "R31-made")["examined"]


@pytest.mark.parametrize("error", [7, 15])
@pytest.mark.parametrize("told", [10, 11])
def test_a_fetch_may_give_either_after_a_failure(judge: Judge, told: int, error: int) -> None:
    assert "HOLDS" == judge(after_a_failed_commit(told, error), "R30-wire")["verdict"]


def test_a_fetch_gives_nothing_else_after_a_failure(judge: Judge) -> None:
    assert "VIOLATED" == judge(after_a_failed_commit(12), "R30-wire")["verdict"]


# X28-members

JOIN, LEAVE, GOODBYE = 0, -1, -2


def changing(
    history: History,
    epoch: int,
    ms: float,
    took_ms: float = 5_004,
    error: int | None = 15,
    **row: Any,
) -> History:
    """A heartbeat of KIP-848 in a group of a probe, answered `took_ms` later."""
    row = {"group": OWN, "generation": epoch, "processed_at": at(ms + took_ms), **row}
    return history.request("CONSUMER_GROUP_HEARTBEAT", "probe-by-hand", ms, error_code=error, **row)


@pytest.mark.parametrize("epoch", [JOIN, LEAVE, GOODBYE])
@pytest.mark.parametrize(
    ("took_ms", "error", "verdict"),
    [
        (5_004, 15, "HOLDS"),
        (5_150, 15, "HOLDS"),
        (5_151, 15, "VIOLATED"),
        (3, 15, "HOLDS"),
        (3, 0, "VIOLATED"),
        (5_004, 16, "VIOLATED"),
        (5_004, None, "UNKNOWN"),
    ],
)
def test_nobody_joins_or_leaves_while_nothing_can_be_written(
    judge: Judge, epoch: int, took_ms: float, error: int | None, verdict: str
) -> None:
    judged = judge(changing(unwritable(), epoch, 2_500, took_ms, error), "X28-members")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("ms", "error", "examined"),
    [(1_998, 15, 0), (1_999, 15, 1), (2_049, 0, 0), (2_050, 0, 1), (6_999, 15, 1), (7_000, 15, 0)],
)
def test_only_changes_that_must_fail_in_that_time_are_examined(
    judge: Judge, ms: float, error: int, examined: int
) -> None:
    assert examined == judge(changing(unwritable(), JOIN, ms, 3, error), "X28-members")["examined"]


def test_a_heartbeat_that_changes_nothing_is_no_join_or_leave(judge: Judge) -> None:
    history = changing(unwritable(), 1, 2_500, 3, 0)
    changing(history, LEAVE, 2_600, 3, 25).heartbeats("member-1", 2_700, generation=0)
    assert "UNKNOWN" == judge(history, "X28-members")["verdict"]
    assert 2 == judge(changing(changing(history, LEAVE, 2_800), JOIN, 2_900), "X28-members")[
        "examined"
    ]  # fmt: skip


# X28-joins

GIVES = [{"member_id": "a", "topic": TOPIC, "partition": 0}]


def rebalances(
    joined: int | None = 0,
    synced: int | None = 15,
    join_ms: float = 3,
    sync_ms: float = 5_004,
    at_ms: float = 2_500,
    **sync: Any,
) -> History:
    """A leader's JoinGroup and the SyncGroup after it, and how each was answered."""
    history, probe = unwritable(), {"group": OWN, "member_id": "a", "generation": 2}
    history.request(
        "JOIN_GROUP", "probe-by-hand", at_ms, error_code=joined, processed_at=at(at_ms + join_ms),
        **probe,
    )  # fmt: skip
    sync = {"assignments": GIVES, **probe, **sync}
    return history.request(
        "SYNC_GROUP", "probe-by-hand", at_ms + 10, error_code=synced,
        processed_at=at(at_ms + 10 + sync_ms), **sync,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "violations"),
    [
        ({}, 0),
        ({"joined": 79}, 0),
        ({"joined": 15}, 1),
        ({"joined": 16}, 1),
        ({"synced": 0, "sync_ms": 3}, 1),
        ({"synced": 16}, 1),
        ({"sync_ms": 5_150}, 0),
        ({"sync_ms": 5_151}, 1),
    ],
)
def test_a_join_is_answered_and_the_sync_after_it_is_refused(
    judge: Judge, changes: dict[str, Any], violations: int
) -> None:
    verdict = judge(rebalances(**changes), "X28-joins")
    assert (2, violations) == (verdict["examined"], verdict["violations"])


@pytest.mark.parametrize(
    ("changes", "examined"),
    [
        ({"assignments": None}, 1),  # a follower's
        ({"assignments": []}, 1),
        ({"synced": 22, "sync_ms": 3}, 1),
        ({"synced": 25, "sync_ms": 3}, 1),
        ({"synced": 27, "sync_ms": 3}, 1),
        ({"join_ms": 4_949}, 2),
        ({"join_ms": 4_950}, 1),  # it had to wait
        ({"at_ms": 1_990}, 1),
        ({"at_ms": 2_050}, 2),
        ({"at_ms": 6_985}, 2),
        ({"at_ms": 6_990}, 1),
    ],
)
def test_only_a_join_that_need_not_wait_and_a_sync_that_gives_are_examined(
    judge: Judge, changes: dict[str, Any], examined: int
) -> None:
    verdict = judge(rebalances(**changes), "X28-joins")
    assert ("HOLDS", examined) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("at_ms", "examined"), [(11_990, 1), (11_996, 1), (11_997, 0)])
def test_a_join_that_is_answered_before_the_broker_is_back_is_examined(
    judge: Judge, at_ms: float, examined: int
) -> None:
    assert examined == judge(rebalances(at_ms=at_ms), "X28-joins")["examined"]


@pytest.mark.parametrize(
    ("kafka", "synced", "verdict"),
    [
        ("4.4.0", 27, "VIOLATED"),
        ("4.4.0", 15, "HOLDS"),
        ("3.9.2", 27, "HOLDS"),
        ("3.9.2", 15, "HOLDS"),
        ("3.9.2", 22, "VIOLATED"),
    ],
)
def test_before_kafka_4_a_sync_that_timed_out_is_told_to_join_again(
    judge: Judge, kafka: str, synced: int, verdict: str
) -> None:
    history = rebalances(synced=synced)
    history.cluster = {**history.cluster, "kafka_version": kafka}
    judged = judge(history, "X28-joins")
    assert (verdict, 2) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize("sync_ms", [3, 5_004])
def test_an_answer_to_a_sync_that_is_not_known_tells_nothing(judge: Judge, sync_ms: float) -> None:
    verdict = judge(rebalances(synced=None, sync_ms=sync_ms), "X28-joins")
    assert ("UNKNOWN", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("sync_ms", "violations"), [(4_949, 0), (4_950, 1)])
def test_a_sync_that_waited_was_not_too_late_for_its_generation(
    judge: Judge, sync_ms: float, violations: int
) -> None:
    """It waited for as long as a write may take, and should be told that it could not be made."""
    verdict = judge(rebalances(synced=27, sync_ms=sync_ms), "X28-joins")
    assert violations == verdict["violations"]


# X28-parked


def parks(took_ms: float = 5_003, error: int | None = 15, ms: float = 3_000, **row: Any) -> History:
    """Another member's JoinGroup waits for the leader, whose SyncGroup could not be written."""
    return rebalances().request(
        "JOIN_GROUP", "probe-by-hand", ms, error_code=error, processed_at=at(ms + took_ms),
        **{"group": OWN, "member_id": "b", "generation": None, **row},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("took_ms", "error", "verdict"),
    [
        (4_949, 15, None),  # it had not to wait that long
        (4_950, 15, "HOLDS"),
        (5_150, 15, "HOLDS"),
        (5_151, 15, "VIOLATED"),
        (5_003, 0, "VIOLATED"),
        (5_003, 27, "VIOLATED"),
        (5_003, None, "UNKNOWN"),
    ],
)
def test_a_join_that_waits_fails_with_what_was_written_before_it(
    judge: Judge, took_ms: float, error: int | None, verdict: str | None
) -> None:
    judged = judge(parks(took_ms, error), "X28-parked")
    assert (verdict or "UNKNOWN", int(verdict is not None)) == (
        judged["verdict"], judged["examined"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "examined"),
    [
        ({"ms": 2_509}, 0),  # before anything was written
        ({"ms": 2_510}, 0),  # in that moment
        ({"ms": 2_511}, 1),
        ({"ms": 6_999}, 1),
        ({"ms": 7_000}, 0),
        ({"group": "payments"}, 0),
    ],
)
def test_only_a_join_behind_a_write_of_its_group_that_failed_is_examined(
    judge: Judge, changes: dict[str, Any], examined: int
) -> None:
    assert examined == judge(parks(**changes), "X28-parked")["examined"]


def test_a_write_that_was_accepted_holds_no_join_up(judge: Judge) -> None:
    history = parks()
    for row in history.rows["requests"]:
        if row["api"] == "SYNC_GROUP":
            row["error_code"] = 0
    assert "UNKNOWN" == judge(history, "X28-parked")["verdict"]


@pytest.mark.parametrize("rule", ["X28-members", "X28-joins", "X28-parked"])
def test_with_enough_replicas_nothing_is_refused(judge: Judge, rule: str) -> None:
    history = changing(parks(), JOIN, 2_500)
    assert "HOLDS" == judge(history, rule)["verdict"]
    history.cluster = {"settings": {"min.insync.replicas": "2"}}
    assert "UNKNOWN" == judge(history, rule)["verdict"]
