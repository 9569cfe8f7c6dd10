from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


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
    assert "while members rejoined" in verdict["rows"][0]["why"]


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


def test_giving_up_at_the_very_moment_the_next_owner_is_given_it_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(handed_over(5_100, 5_100), "R15")["verdict"]


@pytest.mark.parametrize(
    ("ms", "found"),
    [
        (4_899, "before any rebalance"),
        (4_905, "while members rejoined"),
        (4_911, "after all had rejoined"),
    ],
)
def test_a_commit_in_the_callback_is_told_with_where_its_own_group_stood(
    judge: Judge, ms: float, found: str
) -> None:
    history = handed_over().rebalance(4_900, 2, 2).commit_request("member-1", ms, 0, 10)
    history.says("stabilized", 4_880, **OTHER).says("stabilized", 4_903, **OTHER)
    history.says("rebalance_started", 4_910.5, **OTHER)
    history.asked_commit("member-1", ms - 1, 0, 10, how="revoke")
    verdict = judge(history, "R15")
    assert f"10 accepted {found}" == verdict["rows"][0]["why"]


def test_a_commit_in_the_callback_that_is_accepted_when_sent_again_holds(judge: Judge) -> None:
    history = handed_over().asked_commit("member-1", 4_904, 0, 10, error=None, how="revoke")
    history.commit_request("member-1", 4_905, 0, 10, error=16)
    history.commit_request("member-1", 4_950, 0, 10)
    # Neither of these is that commit, nor was the last one made in the callback.
    history.commit_request("member-1", 4_890, 0, 10, **OTHER)
    answered(history, 4_880, 10, client_id="member-1")
    history.asked_commit("member-1", 4_800, 0, 9, error=22)
    verdict = judge(history, "R15")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    assert at(4_905) == verdict["rows"][0]["at"]


@pytest.mark.parametrize(
    ("error", "why"), [(22, "refused with error 22"), (None, "never answered")]
)
def test_what_became_of_a_commit_in_the_callback_is_told(
    judge: Judge, error: int | None, why: str
) -> None:
    history = handed_over().asked_commit("member-1", 4_904, 0, 10, error=error, how="revoke")
    assert why == judge(history, "R15")["rows"][0]["why"]


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


def test_only_what_the_next_owner_is_given_again_while_it_has_the_partition_counts(
    judge: Judge,
) -> None:
    history = handed_over().told("member-2", "revoked", 8_000, [0])
    history.delivered("member-1", 0, 10, 39, 1_100).delivered("member-1", 0, 50, 50, 5_000)
    # From its callback to its callback, of what the owner before had until its own: 3, 1, and 1.
    history.delivered("member-2", 0, 0, 2, 5_100).delivered("member-2", 0, 3, 3, 8_000)
    history.delivered("member-2", 0, 50, 50, 6_200)
    # Just before, just after, to another member, and first delivered after it was given up.
    history.delivered("member-2", 0, 10, 10, 5_099).delivered("member-2", 0, 11, 11, 8_001)
    history.delivered("member-3", 0, 12, 12, 6_000)
    history.delivered("member-1", 0, 40, 49, 5_001).delivered("member-2", 0, 40, 49, 6_100)
    for partition, topic in ((1, TOPIC), (0, "u")):
        history.delivered("member-1", partition, 0, 9, 1_000, topic=topic)
        history.delivered("member-2", partition, 0, 9, 6_000, topic=topic)
    verdict = judge(history, "R15-repeats")
    assert ("VIOLATED", 1, 5) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_what_a_next_owner_is_given_that_never_gives_it_up_counts(judge: Judge) -> None:
    history = handed_over().delivered("member-2", 0, 9, 19, 59_000)
    history.rows["members"][1].update(ended_at=None, end=None)
    assert "VIOLATED" == judge(history, "R15-repeats")["verdict"]


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


def test_the_position_kept_last_before_the_assignment_counts(judge: Judge) -> None:
    """And what is read first from the assignment on; anything else has nothing to say."""
    history = handed_over()
    for ms, position in ((1_100, 5), (5_100, 10), (5_101, 11)):
        history.asked_commit("member-1", ms, 0, position, how="external")
    history.asked_commit("member-1", 5_100.1, 0, 12, error=1, how="external", asked_at=at(5_099))
    history.asked_commit("member-1", 5_100.1, 0, 13, asked_at=at(5_099))
    history.asked_commit("member-1", 5_100, 1, 14, how="external")
    history.asked_commit("member-1", 5_100, 0, 15, how="external", topic="u")
    history.delivered("member-2", 0, 3, 4, 5_099).delivered("member-3", 0, 6, 7, 5_100)
    history.delivered("member-2", 1, 30, 39, 5_100).delivered(
        "member-2", 0, 40, 49, 5_100, topic="u"
    )
    history.delivered("member-2", 0, 10, 19, 5_100).delivered("member-2", 0, 20, 29, 5_300)
    verdict = judge(history, "R15-seek")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_position_that_was_not_kept_does_not_count(judge: Judge) -> None:
    history = kept(10).asked_commit("member-1", 1_200, 0, 12, error=1, how="external")
    history.asked_commit("member-1", 1_300, 0, 13)
    assert "HOLDS" == judge(history, "R15-seek")["verdict"]


@pytest.mark.parametrize(
    ("first", "verdict"),
    [(10, "HOLDS"), (11, "VIOLATED"), (12, "HOLDS"), (13, "HOLDS")]
    + [(first, "VIOLATED") for first in range(14, 20)],
)
def test_a_position_that_was_being_kept_when_its_member_died_may_be_there(
    judge: Judge, first: int, verdict: str
) -> None:
    history = kept(first)
    asked: dict[str, Any] = {"error": None, "how": "external"}
    history.asked_commit("member-1", 1_200, 0, 12, **asked)
    history.asked_commit("member-3", 5_000, 0, 13, **asked)
    # Before what was kept, after the assignment, of others, in Kafka, and refused.
    history.asked_commit("member-1", 1_000, 0, 14, **asked)
    history.asked_commit("member-1", 5_100.1, 0, 15, **asked)
    history.asked_commit("member-1", 1_200, 1, 16, **asked)
    history.asked_commit("member-1", 1_200, 0, 17, **asked, topic="u")
    history.asked_commit("member-1", 1_200, 0, 18, error=None)
    history.asked_commit("member-1", 1_200, 0, 19, error=1, how="external")
    verdict_row = judge(history, "R15-seek")
    assert (verdict, 0 if verdict == "HOLDS" else first - 10) == (
        verdict_row["verdict"], verdict_row["measured_max"]
    )  # fmt: skip


@pytest.mark.parametrize(("ms", "examined"), [(8_000, 1), (8_001, 0)])
def test_what_is_read_after_giving_up_is_not_examined(
    judge: Judge, ms: float, examined: int
) -> None:
    history = handed_over().asked_commit("member-1", 1_100, 0, 10, how="external")
    history.told("member-2", "revoked", 8_000, [0]).delivered("member-2", 0, 10, 19, ms)
    assert examined == judge(history, "R15-seek")["examined"]


def test_a_partition_that_is_never_given_up_is_examined(judge: Judge) -> None:
    history = kept(11)
    history.rows["members"][1].update(ended_at=None, end=None)
    assert "VIOLATED" == judge(history, "R15-seek")["verdict"]


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


def test_what_is_none_of_the_coordinators_answers_about_the_topic_is_not_examined(
    judge: Judge,
) -> None:
    history = answered(committed(), 300, 20)
    wrong = {"topic": TOPIC, "partition": 0, "committed": 99, "error_code": 0}
    answered(history, 310, 99, **OTHER)
    history.request("LIST_OFFSETS", "member-2", 310, positions=[wrong])
    history.request("OFFSET_FETCH", "member-2", 310, positions=[{**wrong, "error_code": 88}])
    history.request("OFFSET_FETCH", "member-2", 310, positions=[{**wrong, "topic": "u"}])
    verdict = judge(history, "R30")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "VIOLATED" == judge(answered(history, 320, 99, error_code=None), "R30")["verdict"]


def test_the_first_of_several_wrong_answers_and_the_worst_are_told(judge: Judge) -> None:
    history = answered(answered(committed(), 300, 20), 310, 15)
    answered(answered(history, 320, 5), 330, 30)
    verdict = judge(history, "R30")
    assert ("VIOLATED", 15) == (verdict["verdict"], verdict["measured_max"])
    assert at(310) == verdict["rows"][0]["at"]


def test_one_ahead_of_all_commits_is_not_behind(judge: Judge) -> None:
    verdict = judge(answered(committed(), 300, 30), "R30")
    assert ("VIOLATED", 0) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(("position", "verdict"), [(-1, "HOLDS"), (0, "VIOLATED")])
def test_where_nothing_was_committed_nothing_is_told(
    judge: Judge, position: int, verdict: str
) -> None:
    assert verdict == judge(answered(History(), 300, position), "R30")["verdict"]


def test_the_first_commit_of_all_may_be_told_while_it_is_on_its_way(judge: Judge) -> None:
    history = History().commit_request("member-1", 300, 0, 30, answered_at=at(400))
    assert "HOLDS" == judge(answered(answered(history, 350, 30), 351, -1), "R30")["verdict"]


@pytest.mark.parametrize(
    "row",
    [{"partition": 1}, {"topic": "u"}, {"how": "external"}, {"ms": 1_000}, {"committed": 31}],
)
def test_a_commit_of_something_else_explains_no_answer(judge: Judge, row: dict[str, Any]) -> None:
    given = {"ms": 300, "partition": 0, "committed": 30, **row}
    history = committed().asked_commit("member-1", error=None, **given)
    assert "VIOLATED" == judge(answered(history, 900, 30), "R30")["verdict"]


def test_a_commit_of_another_group_changes_nothing(judge: Judge) -> None:
    history = answered(committed().commit_request("member-1", 300, 0, 30, **OTHER), 900, 20)
    assert "HOLDS" == judge(history, "R30")["verdict"]
    assert "VIOLATED" == judge(answered(history, 910, 30), "R30")["verdict"]


def test_a_transactional_commit_may_be_told_or_not(judge: Judge) -> None:
    position = {"topic": TOPIC, "partition": 0, "committed": 30, "error_code": 0}
    history = committed().request("TXN_OFFSET_COMMIT", "member-1", 300, positions=[position])
    assert "HOLDS" == judge(answered(history, 320, 30), "R30")["verdict"]
    assert "HOLDS" == judge(answered(history, 900, 20), "R30")["verdict"]


def test_what_its_consumer_was_told_is_committed_gives_way_to_the_next_one(judge: Judge) -> None:
    history = committed().asked_commit("member-1", 99, 0, 10, answered_at=at(101))
    assert "VIOLATED" == judge(answered(history, 900, 10), "R30")["verdict"]
    # That one was seen to fail, but not refused: it may be made at any time.
    history = committed().asked_commit("member-1", 99, 0, 10, error=7, answered_at=at(101))
    assert "HOLDS" == judge(answered(history, 900, 10), "R30")["verdict"]


def test_the_last_time_a_position_was_asked_for_counts(judge: Judge) -> None:
    """20 again, by a commit that another overtakes."""
    history = committed().commit_request("member-1", 290, 0, 20, answered_at=at(500))
    history.commit_request("member-1", 300, 0, 30, answered_at=at(310))
    assert "HOLDS" == judge(answered(history, 450, 20), "R30")["verdict"]


@pytest.mark.parametrize(("answered_ms", "verdict"), [(300, "HOLDS"), (299, "VIOLATED")])
def test_commits_under_way_at_once_may_be_made_in_either_order(
    judge: Judge, answered_ms: float, verdict: str
) -> None:
    history = History().commit_request("member-1", 200, 0, 20, answered_at=at(answered_ms))
    history.commit_request("member-1", 300, 0, 30)
    assert verdict == judge(answered(history, 900, 20), "R30")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(250, "HOLDS"), (249, "VIOLATED")])
def test_a_commit_may_be_told_within_slack_before_it_arrives(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = committed().commit_request("member-1", 300, 0, 30)
    assert verdict == judge(answered(history, ms, 30), "R30")["verdict"]


@pytest.mark.parametrize(
    ("commit", "position", "verdict"),
    [("auto", 30, "HOLDS"), ("auto", 15, "VIOLATED"), ("sync", 30, "VIOLATED")],
)
def test_only_automatic_commits_may_be_on_nobodys_record(
    judge: Judge, commit: str, position: int, verdict: str
) -> None:
    history = committed()
    history.group = {"commit": commit}
    assert verdict == judge(answered(history, 900, position), "R30")["verdict"]


@pytest.mark.parametrize(
    ("ms", "position", "verdict"),
    [(60_200, -1, "HOLDS"), (60_199, -1, "VIOLATED"), (60_200, 10, "VIOLATED")],
)
def test_positions_may_be_gone_a_retention_after_the_last_commit(
    judge: Judge, ms: float, position: int, verdict: str
) -> None:
    history = committed()
    history.cluster = {"settings": {"offsets.retention.minutes": "1"}}
    assert verdict == judge(answered(history, ms, position), "R30")["verdict"]


def taken_over(told_ms: float, told_processed_ms: float | None = None, broker: int = 2) -> History:
    """broker-2 loads the group at 900 ms; then an older position is told."""
    history = committed().says("member_added", 0, "member-1").says("loaded", 900, broker=2)
    processed = at(told_ms if told_processed_ms is None else told_processed_ms)
    return answered(history, told_ms, 10, broker=broker, processed_at=processed)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "VIOLATED"),
        ({"broker": 1}, "HOLDS"),
        ({**OTHER}, "HOLDS"),
        ({"error": 15}, "HOLDS"),
        ({"ms": 900}, "VIOLATED"),
        ({"ms": 899, "answered_at": at(1_000)}, "HOLDS"),
    ],
)
def test_only_a_commit_that_the_new_coordinator_makes_itself_brings_it_up_to_date(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    given = {"ms": 1_000, "broker": 2, **row}
    history = taken_over(1_200).heartbeats("member-1", 1_000, broker=2)
    history.commit_request("member-1", partition=0, committed=30, **given)
    history.commit_request("member-1", 3_000, 0, 40, broker=2)
    assert verdict == judge(history, "R30")["verdict"]


@pytest.mark.parametrize(
    ("told_ms", "processed_ms", "broker", "verdict"),
    [
        (899, 900, 2, "HOLDS"),
        (899, 899, 2, "VIOLATED"),
        (1_050, 1_050, 2, "HOLDS"),
        (1_051, 1_051, 2, "VIOLATED"),
        (950, 950, 1, "VIOLATED"),
    ],
)
def test_a_coordinator_may_be_behind_from_its_loading_to_its_first_commit(
    judge: Judge, told_ms: float, processed_ms: float, broker: int, verdict: str
) -> None:
    history = taken_over(told_ms, processed_ms, broker)
    history.commit_request("member-1", 1_000, 0, 30, broker=2)
    assert verdict == judge(history, "R30")["verdict"]


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


def test_only_commits_of_the_group_by_a_member_are_automatic_ones(judge: Judge) -> None:
    history = automatic(1_050, 2_050, 3_050, 4_050)
    for ms in (1_450, 2_450, 3_450):
        history.commit_request("member-1", ms, 0, 10, **OTHER)
        history.commit_request("member-1", ms + 10, 0, 10, generation=-1)
        history.heartbeats("member-1", ms + 20)
    verdict = judge(history, "R26")
    assert ("HOLDS", 1_000) == (verdict["verdict"], verdict["measured_max"])


def test_commits_of_a_generation_0_count(judge: Judge) -> None:
    history = automatic(1_050, 2_050, 3_050, 4_050)
    for row in history.rows["requests"]:
        row["generation"] = 0
    assert "HOLDS" == judge(history, "R26")["verdict"]


@pytest.mark.parametrize(
    ("polls", "member", "verdict"),
    [
        ((1_000, 2_000, 3_000, 4_000), "member-1", "HOLDS"),  # a poll's work fills each gap
        ((1_500, 2_500, 3_500), "member-1", "UNKNOWN"),  # no work lies within one
        ((999, 2_001, 2_999, 4_001), "member-1", "UNKNOWN"),
        ((1_000, 2_000, 3_000, 4_000), "member-2", "UNKNOWN"),
    ],
)
def test_a_gap_without_work_is_not_examined(
    judge: Judge, polls: tuple[float, ...], member: str, verdict: str
) -> None:
    history = automatic(1_000, 2_000, 3_000, 4_000)
    history.rows["deliveries"].clear()
    for number, ms in enumerate(polls):
        history.delivered(member, 0, number * 10, number * 10 + 9, ms)
    assert verdict == judge(history, "R26")["verdict"]


def test_java_may_be_later_by_its_longest_poll(judge: Judge) -> None:
    """A second, an idle poll, 300 ms of work, and how late its timer and this machine may be."""
    history = automatic(1_050, 2_050, 3_050, 4_050, client="java")
    dropped = {at(2_200), at(2_300)}
    history.rows["deliveries"] = [
        row for row in history.rows["deliveries"] if row["polled_at"] not in dropped
    ]
    history.delivered("member-2", 0, 0, 9, 1_000).delivered("member-2", 0, 0, 9, 1_900)
    verdict = judge(history, "R26")
    late = 1_000 + 200 + 300 + 150
    assert ("HOLDS", late) == (verdict["verdict"], verdict["bound_high"])


@pytest.mark.parametrize(
    ("starts_ms", "ends_ms", "verdict"),
    [
        (900, 1_050, "UNKNOWN"),  # over when the first gap begins
        (900, 1_049, "HOLDS"),
        (4_050, 4_100, "UNKNOWN"),  # begins when the last gap ends
        (4_051, 4_100, "HOLDS"),
    ],
)
def test_a_rebalance_disturbs_the_gaps_that_it_touches(
    judge: Judge, starts_ms: float, ends_ms: float, verdict: str
) -> None:
    history = automatic(1_050, 2_050, 3_050, 4_050).rebalance(starts_ms, 2, 1)
    history.sync("member-1", ends_ms, 2)
    assert verdict == judge(history, "R26")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("stall_started", 1_050, "member-1", "UNKNOWN"),
        ("stall_ended", 2_500, "member-1", "UNKNOWN"),
        ("closing", 4_050, "member-1", "UNKNOWN"),
        ("stall_ended", 1_049, "member-1", "HOLDS"),
        ("stall_started", 4_051, "member-1", "HOLDS"),
        ("stall_started", 2_500, "member-2", "HOLDS"),
        ("assigned", 2_500, "member-1", "HOLDS"),
    ],
)
def test_a_gap_in_which_the_member_stalls_or_closes_is_not_examined(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    history = automatic(1_050, 2_050, 3_050, 4_050).told(member, event, ms)
    assert verdict == judge(history, "R26")["verdict"]


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


@pytest.mark.parametrize(("again_from", "verdict"), [(490, "HOLDS"), (489, "VIOLATED")])
def test_all_that_was_handed_over_since_may_come_again_and_no_record_more(
    judge: Judge, again_from: int, verdict: str
) -> None:
    judged = judge(crashed(again_from), "R26-repeats")
    assert (verdict, 110) == (judged["verdict"], judged["bound_high"])


@pytest.mark.parametrize(
    ("client", "late_ms", "records"),
    [("librdkafka", 0, 110), ("librdkafka", 49, 110), ("librdkafka", 50, 120), ("java", 0, 120)],
)
def test_how_much_may_come_again_depends_on_the_slowest_commit_and_java_s_polls(
    judge: Judge, client: str, late_ms: float, records: int
) -> None:
    history = crashed(500)
    history.group["client"] = client
    history.commit_request("member-1", 5_500, 0, 400, answered_at=at(5_500 + late_ms))
    history.commit_request("member-1", 5_600, 0, 400)
    # Somebody else's, another group's and another request's slowness do not count.
    slow: dict[str, Any] = {"answered_at": at(9_000)}
    history.commit_request("member-2", 5_500, 0, 400, **slow)
    history.commit_request("member-1", 5_500, 0, 400, **slow, **OTHER)
    history.heartbeats("member-1", 5_500, **slow)
    verdict = judge(history, "R26-repeats")
    assert ("HOLDS", records) == (verdict["verdict"], verdict["bound_high"])


@pytest.mark.parametrize(
    ("client", "synced_ms", "records"),
    [
        ("java", None, 190),
        ("java", 5_300, 190),
        ("java", 4_750, 190),
        ("java", 4_749, 120),
        ("librdkafka", 5_300, 110),
    ],
)
def test_java_commits_when_it_joins_and_not_until_an_interval_after_it(
    judge: Judge, client: str, synced_ms: float | None, records: int
) -> None:
    """Its last poll is at 5,900 ms, and it joins at 4,200 ms, 150 ms after a commit."""
    history = crashed(510).join("member-1", 4_200, 2)
    history.group["client"] = client
    if synced_ms is not None:
        history.sync("member-1", synced_ms, 2).sync("member-1", 5_990, 3)
    verdict = judge(history, "R26-repeats")
    assert ("HOLDS", records) == (verdict["verdict"], verdict["bound_high"])


@pytest.mark.parametrize(("again_from", "verdict"), [(410, "HOLDS"), (409, "VIOLATED")])
def test_since_a_rebalance_that_it_was_told_of_all_may_come_again(
    judge: Judge, again_from: int, verdict: str
) -> None:
    history = crashed(again_from).heartbeats("member-1", 4_200, error_code=27)
    history.group["client"] = "java"
    judged = judge(history, "R26-repeats")
    assert (verdict, 190) == (judged["verdict"], judged["bound_high"])


def test_what_is_no_rebalance_of_the_crashed_member_gives_it_no_more(judge: Judge) -> None:
    history = crashed(510).heartbeats("member-1", 4_200).sync("member-1", 4_200, 2)
    history.group["client"] = "java"
    history.join("member-1", 4_200, 2, error_code=79).join("member-1", 4_200, 2, **OTHER)
    history.join("member-2", 4_200, 2).join("member-1", 5_901, 3)
    history.heartbeats("member-1", 4_200, error_code=25).sync("member-1", 5_000, 2, error_code=27)
    assert 120 == judge(history, "R26-repeats")["bound_high"]


def test_without_any_commit_an_interval_may_come_again(judge: Judge) -> None:
    history = automatic().member("member-2").fault("kill-consumer", "member-1", 6_000)
    history.rows["members"][0].update(end="killed", ended_at=None)
    history.delivered("member-1", 0, 700, 709, 4_849.5)  # half a millisecond too early
    verdict = judge(history, "R26-repeats")
    assert ("HOLDS", 0, 110) == (
        verdict["verdict"], verdict["measured_max"], verdict["bound_high"]
    )  # fmt: skip


def test_other_faults_are_not_what_crashed_it(judge: Judge) -> None:
    history = crashed(500).fault("freeze-consumer", "member-1", 13_000)
    verdict = judge(history.fault("kill-consumer", "member-3", 13_000), "R26-repeats")
    assert (1, 100) == (verdict["examined"], verdict["measured_max"])
    assert at(6_000) == verdict["rows"][0]["at"]


@pytest.mark.parametrize(("end", "commit"), [("closed", "auto"), ("killed", "sync")])
def test_only_crashed_members_with_automatic_commits_are_examined(
    judge: Judge, end: str, commit: str
) -> None:
    history = crashed(500)
    history.rows["members"][0]["end"] = end
    history.group["commit"] = commit
    assert "UNKNOWN" == judge(history, "R26-repeats")["verdict"]


def test_a_crash_that_nobody_caused_is_not_examined(judge: Judge) -> None:
    history = crashed(500)
    history.rows["faults"].clear()
    assert 0 == judge(history, "R26-repeats")["examined"]


def test_of_a_partition_without_records_lately_nothing_may_come_again(judge: Judge) -> None:
    history = crashed(500).told("member-1", "assigned", 0, [1])
    verdict = judge(history.delivered("member-1", 1, 0, 9, 1_000), "R26-repeats")
    assert ("HOLDS", 2, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_min"])
    history.delivered("member-2", 1, 9, 9, 12_100)
    assert "VIOLATED" == judge(history, "R26-repeats")["verdict"]


def test_only_what_another_member_has_again_after_the_crash_counts(judge: Judge) -> None:
    """That is, records 509 and 520."""
    history = automatic(1_050, 2_050).member("member-2").member("member-3")
    history.rows["members"][0].update(end="killed", ended_at=None)
    history.fault("kill-consumer", "member-1", 6_000)
    history.delivered("member-3", 0, 900, 909, 100)
    history.delivered("member-1", 0, 910, 919, 150)
    history.delivered("member-2", 0, 540, 549, 5_999).delivered("member-2", 0, 550, 559, 6_000)
    history.delivered("member-1", 0, 560, 569, 6_100)
    history.delivered("member-2", 0, 509, 509, 12_000).delivered("member-2", 0, 520, 520, 12_100)
    history.delivered("member-2", 0, 900, 909, 12_300)
    history.delivered("member-2", 1, 910, 919, 12_400)
    verdict = judge(history, "R26-repeats")
    assert (1, 2) == (verdict["examined"], verdict["measured_max"])


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


def test_one_record_too_many_violates(judge: Judge) -> None:
    verdict = judge(in_hand(11), "R26-processed")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


def test_only_accepted_commits_of_the_group_cover_anything(judge: Judge) -> None:
    history = in_hand(10).commit_request("member-1", 300, 0, 20, error=22)
    history.commit_request("member-1", 300, 0, 20, **OTHER)
    history.commit_request("member-1", 300, 1, 0)
    verdict = judge(answered(history, 300, 20, client_id="member-1"), "R26-processed")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_the_worst_of_several_commits_is_told(judge: Judge) -> None:
    """Records done again, or done only afterwards, change nothing about what had been reached."""
    history = in_hand(10).delivered("member-1", 0, 0, 4, 220, 250)
    history.delivered("member-1", 0, 10, 19, 260, 401)
    history.commit_request("member-1", 150, 0, 10).commit_request("member-1", 400, 0, 17)
    history.commit_request("member-1", 500, 0, 20)
    verdict = judge(history, "R26-processed")
    assert ("VIOLATED", 1, 7) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip
    assert at(400) == verdict["rows"][0]["at"]


def test_a_commit_before_anything_is_done_violates(judge: Judge) -> None:
    history = History(group={"commit": "auto"}).commit_request("member-1", 300, 0, 5)
    verdict = judge(history, "R26-processed")
    assert ("VIOLATED", 5) == (verdict["verdict"], verdict["measured_max"])


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


def test_the_first_position_told_from_the_assignment_on_counts(judge: Judge) -> None:
    """Told before, to somebody else, of something else, or with an error, it is no position."""
    history = begins(20, 20)
    wrong = {"topic": TOPIC, "partition": 0, "committed": 5, "error_code": 0}
    answered(answered(history, 99, 5), 170, 6)
    answered(history, 101, 7, client_id="member-3")
    history.request("OFFSET_FETCH", "member-2", 102, positions=[{**wrong, "partition": 1}])
    history.request("OFFSET_FETCH", "member-2", 103, positions=[{**wrong, "topic": "u"}])
    history.request("OFFSET_FETCH", "member-2", 104, positions=[{**wrong, "error_code": 88}])
    history.request("OFFSET_COMMIT", "member-2", 105, positions=[wrong])
    history.delivered("member-2", 0, 0, 9, 99).delivered("member-2", 0, 30, 39, 300)
    history.delivered("member-3", 0, 40, 49, 110).delivered("member-2", 1, 50, 59, 110)
    history.delivered("member-2", 0, 60, 69, 110, topic="u")
    verdict = judge(history, "X18")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_position_may_be_told_and_records_polled_at_the_moment_of_the_assignment(
    judge: Judge,
) -> None:
    history = answered(begins(30, 30), 100, 20).delivered("member-2", 0, 20, 29, 100)
    assert "HOLDS" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("told_ms", "read_ms", "verdict"),
    [(300, 300, "HOLDS"), (301, 300, "UNKNOWN"), (300, 301, "UNKNOWN")],
)
def test_what_comes_after_giving_up_is_not_examined(
    judge: Judge, told_ms: float, read_ms: float, verdict: str
) -> None:
    history = History().member("member-2").told("member-2", "assigned", 100, [0])
    answered(history.told("member-2", "revoked", 300, [0]), told_ms, 20)
    assert verdict == judge(history.delivered("member-2", 0, 20, 29, read_ms), "X18")["verdict"]


def test_a_member_that_was_told_a_position_and_never_read_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(begins(None, 20), "X18")["verdict"]


def test_a_partition_that_is_held_to_the_end_is_examined(judge: Judge) -> None:
    history = begins(0, 20)
    history.rows["members"][0].update(ended_at=None, end=None)
    assert "VIOLATED" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize("policy", ["latest", "largest", "end"])
def test_every_name_of_the_end_means_the_end(judge: Judge, policy: str) -> None:
    assert "HOLDS" == judge(begins(70, -1, policy, (-1, 70)), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(70, -1, policy), "X18")["verdict"]


def test_without_a_policy_it_is_the_earliest(judge: Judge) -> None:
    history = begins(0, -1, lookup=(-2, 0))
    history.rows["members"][0]["settings"] = None
    assert "HOLDS" == judge(history, "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, -1), "X18")["verdict"]


def test_the_first_end_that_it_looked_up_itself_counts(judge: Judge) -> None:
    history = begins(70, -1, "latest", (-1, 70))
    found = {"topic": TOPIC, "partition": 0, "committed": 60, "error_code": 0}
    detail = json.dumps({"timestamp": -1})

    def looked_up(ms: float, member: str = "member-2", **changes: Any) -> None:
        positions = [{**found, **changes}]
        history.request("LIST_OFFSETS", member, ms, positions=positions, detail=detail)

    looked_up(99)
    looked_up(170, committed=75)
    looked_up(155, member="member-3")
    looked_up(156, error_code=6)
    looked_up(157, partition=1)
    looked_up(158, topic="u")
    assert "HOLDS" == judge(history, "X18")["verdict"]
    looked_up(100)
    assert "VIOLATED" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("below", "ms", "first", "verdict"),
    [
        (20, 99, 20, "HOLDS"),  # the log still has that position
        (21, 99, 20, "VIOLATED"),
        (21, 100, 20, "HOLDS"),  # deleted only when the partition was assigned
    ],
)
def test_a_position_counts_if_the_log_had_it_at_the_assignment(
    judge: Judge, below: int, ms: float, first: int, verdict: str
) -> None:
    history = deleted(deleted(begins(first, 20), below), 10)
    history.rows["requests"][-2].update(arrived_at=at(ms), processed_at=at(ms), answered_at=at(ms))
    assert verdict == judge(history, "X18")["verdict"]


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
    assert "5 heartbeats, 2 answered with 0, the first other with 15" == verdict["rows"][0]["why"]


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
    assert "2 answers, 1 commits failed meanwhile" == verdict["rows"][0]["why"]
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
    assert verdict["rows"][0]["why"].endswith("; told 20, committed was 12")


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


def test_only_what_the_group_is_told_after_it_was_empty_counts(judge: Judge) -> None:
    """Another group's lines and answers, other requests, and answers with an error do not."""
    history = emptied(61_500).tick(70_000).says("emptied", 500, **OTHER)
    history.says("stabilized", 30_000, generation=3, members=1, **OTHER)
    history.says("member_added", 30_000, "member-1")
    gone = {"topic": TOPIC, "partition": 0, "committed": -1, "error_code": 0}
    answered(answered(history, 999, -1), 40_000, -1, **OTHER)
    answered(history, 40_000, -1, error_code=16)
    history.request("OFFSET_DELETE", "observer", 40_000, positions=[gone], **OTHER)
    history.request("LIST_OFFSETS", "observer", 40_000, positions=[gone])
    history.request("OFFSET_FETCH", "observer", 40_000, positions=[{**gone, "error_code": 88}])
    verdict = judge(history, "X17")
    assert ("HOLDS", 1, 60_500) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_an_answer_without_a_code_of_its_own_counts(judge: Judge) -> None:
    history = answered(emptied(61_500).tick(70_000), 30_000, 10)
    assert "HOLDS" == judge(history, "X17")["verdict"]
    answered(history, 40_000, -1, error_code=None)
    assert "VIOLATED" == judge(history, "X17")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(1_000, "UNKNOWN"), (61_000, "UNKNOWN"), (999, "HOLDS"), (61_001, "HOLDS")],
)
def test_a_group_filled_again_within_the_retention_is_not_examined(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = emptied(61_500).says("stabilized", ms, generation=3, members=1)
    assert verdict == judge(history.tick(70_000), "X17")["verdict"]


def empty_for(*positions: tuple[float, int]) -> History:
    """As `emptied`, with other answers: when, and which position."""
    history = emptied(61_500).tick(70_000)
    del history.rows["requests"][1:]
    for ms, position in positions:
        answered(history, ms, position)
    return history


@pytest.mark.parametrize(
    ("last_ms", "none_ms", "verdict"),
    [
        (60_000, 61_000, "HOLDS"),  # gone at the retention to the millisecond
        (62_050, 62_060, "HOLDS"),  # still there at the last moment
        (62_051, 62_060, "VIOLATED"),
        (1_000, 61_500, "HOLDS"),
    ],
)
def test_when_a_position_may_be_gone(
    judge: Judge, last_ms: float, none_ms: float, verdict: str
) -> None:
    history = empty_for((1_000, 10), (last_ms, 10), (none_ms, -1), (70_000, -1))
    judged = judge(history, "X17")
    assert (verdict, none_ms - 1_000) == (judged["verdict"], judged["measured_max"])


@pytest.mark.parametrize(
    ("last_ms", "verdict", "examined"),
    [(61_000, "UNKNOWN", 1), (60_999, "UNKNOWN", 0), (62_051, "VIOLATED", 1)],
)
def test_a_position_that_is_never_gone_violates_when_its_time_is_over(
    judge: Judge, last_ms: float, verdict: str, examined: int
) -> None:
    judged = judge(empty_for((5_000, 10), (last_ms, 0)), "X17")
    assert (verdict, examined) == (judged["verdict"], judged["examined"])


def test_a_position_that_comes_back_was_gone_before(judge: Judge) -> None:
    history = empty_for((5_000, 10), (61_500, -1), (65_000, 10))
    assert "HOLDS" == judge(history, "X17")["verdict"]


def test_a_partition_of_which_nothing_was_ever_told_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(empty_for((5_000, -1), (61_500, -1)), "X17")["verdict"]
