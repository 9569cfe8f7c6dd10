from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, answered, at

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


# R30


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
    assert "1 older by a coordinator that had just loaded the group" in verdict["rows"][0]["why"]
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
    assert ("VIOLATED", None) == (verdict["verdict"], verdict["measured_max"])


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


def broken(commit: str = "auto", **fault: Any) -> History:
    """20 is committed at 200, up to 30 are delivered at 300, and broker-1 is broken until 700."""
    history = committed().delivered("member-1", 0, 20, 29, 300)
    history.group = {"commit": commit}
    when = {"kind": "kill-broker", "resolved": "broker-1", "ms": 501, "healed_ms": 700, **fault}
    return history.fault(**when)


@pytest.mark.parametrize(
    ("commit", "position", "verdict"),
    [
        ("auto", 30, "HOLDS"),
        ("auto", 31, "VIOLATED"),  # nobody has been given that much
        ("auto", 15, "VIOLATED"),
        ("sync", 30, "VIOLATED"),
    ],
)
def test_only_automatic_commits_may_be_on_nobodys_record(
    judge: Judge, commit: str, position: int, verdict: str
) -> None:
    assert verdict == judge(answered(broken(commit), 900, position), "R30")["verdict"]


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ({"injecting_ms": 900}, "HOLDS"),
        ({"injecting_ms": 901}, "VIOLATED"),
        ({"injecting_ms": 100, "ms": 110, "healed_ms": 200}, "HOLDS"),
        ({"injecting_ms": 100, "ms": 110, "healed_ms": 199}, "VIOLATED"),
        ({"healed_ms": None}, "HOLDS"),
        ({"kind": "isolate-broker"}, "HOLDS"),
        ({"kind": "kill-consumer", "resolved": "member-1"}, "VIOLATED"),
    ],
)
def test_they_are_on_nobodys_record_only_where_a_broker_was_broken_since_the_last(
    judge: Judge, fault: dict[str, Any], verdict: str
) -> None:
    assert verdict == judge(answered(broken(**fault), 900, 30), "R30")["verdict"]


def test_a_broker_may_have_been_broken_before_the_first_commit_that_is_on_record(
    judge: Judge,
) -> None:
    history = broken()
    history.rows["requests"].clear()
    assert "HOLDS" == judge(answered(history, 900, 30), "R30")["verdict"]


def test_without_a_broken_broker_every_automatic_commit_is_on_record(judge: Judge) -> None:
    history = committed().delivered("member-1", 0, 20, 29, 300)
    history.group = {"commit": "auto"}
    assert "VIOLATED" == judge(answered(history, 900, 30), "R30")["verdict"]


@pytest.mark.parametrize(
    ("ms", "partition", "verdict"),
    [(900, 0, "HOLDS"), (901, 0, "VIOLATED"), (900, 1, "VIOLATED")],
)
def test_what_was_delivered_later_or_elsewhere_cannot_have_been_committed(
    judge: Judge, ms: float, partition: int, verdict: str
) -> None:
    history = broken().delivered("member-1", partition, 30, 39, ms)
    assert verdict == judge(answered(history, 900, 40), "R30")["verdict"]


def test_a_broker_that_answers_late_may_know_what_was_delivered_meanwhile(judge: Judge) -> None:
    history = broken(injecting_ms=950).delivered("member-1", 0, 30, 39, 1_000)
    assert "HOLDS" == judge(answered(history, 900, 40, processed_at=at(1_000)), "R30")["verdict"]


@pytest.mark.parametrize(
    ("followed_ms", "last_ms", "verdict"),
    [
        (1_000, 6_500, "HOLDS"),
        (1_000, 6_501, "VIOLATED"),
        (1_001, 6_501, "HOLDS"),
    ],
)
def test_a_new_coordinator_is_behind_by_no_more_than_its_high_watermark(
    judge: Judge, followed_ms: float, last_ms: float, verdict: str
) -> None:
    """10 is followed by 20, and the old coordinator makes its last commit of t-1."""
    history = History().commit_request("member-1", 100, 0, 10)
    history.commit_request("member-1", followed_ms, 0, 20)
    history.commit_request("member-1", last_ms, 1, 5)
    history.says("member_added", 0, "member-1").says("loaded", 7_000, broker=2)
    # What a new coordinator has accepted is none of the old one's.
    history.commit_request("member-1", 9_000, 1, 9, broker=2)
    assert verdict == judge(answered(history, 8_000, 10, broker=2), "R30")["verdict"]


@pytest.mark.parametrize(
    ("again", "verdict"),
    [
        ({"committed": 10}, "HOLDS"),  # the same position, once more
        ({"committed": 10, "error": 22}, "VIOLATED"),
        ({"committed": 15}, "VIOLATED"),
    ],
)
def test_a_position_that_was_committed_again_counts_from_the_last_time(
    judge: Judge, again: dict[str, Any], verdict: str
) -> None:
    history = committed().commit_request("member-1", 6_000, 0, **again)
    history.commit_request("member-1", 6_500, 0, 20)
    history.says("member_added", 0, "member-1").says("loaded", 7_000, broker=2)
    assert verdict == judge(answered(history, 8_000, 10, broker=2), "R30")["verdict"]


@pytest.mark.parametrize(("error", "verdict"), [(0, "VIOLATED"), (7, "HOLDS"), (22, "HOLDS")])
def test_only_a_commit_that_was_accepted_makes_the_one_before_it_an_old_one(
    judge: Judge, error: int, verdict: str
) -> None:
    history = History().commit_request("member-1", 100, 0, 10)
    history.commit_request("member-1", 200, 0, 15, error=error)
    history.commit_request("member-1", 6_500, 0, 20)
    history.says("member_added", 0, "member-1").says("loaded", 7_000, broker=2)
    assert verdict == judge(answered(history, 8_000, 10, broker=2), "R30")["verdict"]


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


@pytest.mark.parametrize(
    ("formed", "emptied", "again", "verdict"),
    [
        (None, None, None, "HOLDS"),  # nobody's group: it counts from the commit
        (100, None, None, "VIOLATED"),
        (100, 30_000, None, "VIOLATED"),
        (100, 5_000, 64_949, "VIOLATED"),  # filled again before the time was over
        (100, 5_000, 64_950, "HOLDS"),
        (100, 5_000, 5_000, "HOLDS"),  # its last generation began in that moment
        (100, None, 90_000, "VIOLATED"),  # a later one tells nothing of then
        (100, 5_000, None, "HOLDS"),
        (80_001, None, None, "HOLDS"),
    ],
)
def test_positions_of_a_group_with_members_do_not_expire(
    judge: Judge, formed: float | None, emptied: float | None, again: float | None, verdict: str
) -> None:
    history = committed()
    history.cluster = {"settings": {"offsets.retention.minutes": "1"}}
    for event, ms in (("stabilized", formed), ("emptied", emptied), ("stabilized", again)):
        if ms is not None:
            history.says(event, ms, generation=1)
    history.says("emptied", 1_000, group="payments").says("stabilized", 60_000, group="payments")
    assert verdict == judge(answered(history, 80_000, -1), "R30")["verdict"]


def test_a_group_was_empty_until_it_was_filled_for_the_first_time(judge: Judge) -> None:
    history = committed().says("stabilized", 100, generation=1).says("emptied", 5_000, generation=2)
    history.cluster = {"settings": {"offsets.retention.minutes": "1"}}
    history.says("stabilized", 6_000, generation=3).says("stabilized", 70_000, generation=4)
    assert "VIOLATED" == judge(answered(history, 80_000, -1), "R30")["verdict"]


def test_nobody_logs_when_a_group_of_kip_848_is_empty(judge: Judge) -> None:
    history = committed().says("stabilized", 100, generation=1)
    history.group = {"protocol": "consumer"}
    history.cluster = {"settings": {"offsets.retention.minutes": "1"}}
    assert "HOLDS" == judge(answered(history, 80_000, -1), "R30")["verdict"]


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


@pytest.mark.parametrize(
    ("position", "note"),
    [
        (10, "1 answers, 1 older by a coordinator that had just loaded the group"),
        (20, "1 answers"),
    ],
)
def test_older_answers_of_a_coordinator_that_has_just_loaded_the_group_are_counted(
    judge: Judge, position: int, note: str
) -> None:
    history = committed().says("member_added", 0, "member-1").says("loaded", 900, broker=2)
    verdict = judge(answered(history, 1_200, position, broker=2), "R30")
    assert [(True, note)] == [(row["ok"], row["why"]) for row in verdict["rows"]]


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
    ("last_ms", "verdict", "why"),
    [
        (60_999, "UNKNOWN", None),
        (61_000, "UNKNOWN", "had its position when last asked for, 60000 ms"),
        (62_050, "UNKNOWN", "had its position when last asked for, 61050 ms"),
        (62_051, "VIOLATED", "still had its position 61051 ms"),
    ],
)
def test_a_position_that_is_never_gone_violates_when_its_time_is_over(
    judge: Judge, last_ms: float, verdict: str, why: str | None
) -> None:
    judged = judge(empty_for((5_000, 10), (last_ms, 0)), "X17")
    whys = [row["why"] for row in judged["rows"]]
    assert (verdict, [f"{why} after the group was empty"] if why else []) == (
        judged["verdict"], whys
    )  # fmt: skip


def test_a_position_that_may_have_gone_in_time_is_excused(judge: Judge) -> None:
    judged = judge(empty_for((1_000, 10), (62_050, 10), (62_060, -1)), "X17")
    assert judged["measured_max"] > judged["bound_high"]
    assert [(True, True)] == [(row["ok"], bool(row["excused"])) for row in judged["rows"]]
    assert "1 is excused: t-0, was next asked for too late to tell" in judged["reason"]


def test_of_two_answers_in_one_moment_either_may_have_been_the_first(judge: Judge) -> None:
    """As above: the position was last told at the last moment at which it may be there."""
    history = empty_for((1_000, 10), (62_050, 10), (62_060, 10), (62_060, -1))
    assert "HOLDS" == judge(history, "X17")["verdict"]


def test_a_position_that_comes_back_was_gone_before(judge: Judge) -> None:
    history = empty_for((5_000, 10), (61_500, -1), (65_000, 10))
    assert "HOLDS" == judge(history, "X17")["verdict"]


def test_a_partition_of_which_nothing_was_ever_told_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(empty_for((5_000, -1), (61_500, -1)), "X17")["verdict"]


# X82


def observed(*answers: tuple[float, tuple[int, ...]], **row: Any) -> History:
    """The observer asks at 1 s, and is told of t-0 to t-2; and of these partitions at moments."""
    history = History()
    for ms, partitions in ((1_000, (0, 1, 2)), *answers):
        positions = [
            {"topic": TOPIC, "partition": each, "committed": -1, "error_code": 0}
            for each in partitions
        ]
        changes = {} if ms == 1_000 else row
        history.request("OFFSET_FETCH", "observer", ms, positions=positions, **changes)
    return history


@pytest.mark.parametrize(
    ("partitions", "row", "verdict"),
    [
        ((0, 1, 2), {}, "HOLDS"),
        ((0, 1), {}, "VIOLATED"),
        ((1, 2, 3), {}, "VIOLATED"),
        ((0, 1, 2, 3), {}, "HOLDS"),
        ((0,), {}, "UNKNOWN"),  # it asked for one
        ((), {"error_code": 16}, "UNKNOWN"),
        ((0, 1), {"client_id": "member-1"}, "UNKNOWN"),
        ((0, 1), {"group": "payments"}, "UNKNOWN"),
    ],
)
def test_an_answer_names_all_that_was_named_before(
    judge: Judge, partitions: tuple[int, ...], row: dict[str, Any], verdict: str
) -> None:
    assert verdict == judge(observed((2_000, partitions), **row), "X82")["verdict"]


@pytest.mark.parametrize(("error", "verdict"), [(0, "HOLDS"), (3, "VIOLATED"), (88, "VIOLATED")])
def test_a_partition_with_an_error_is_left_out(judge: Judge, error: int, verdict: str) -> None:
    history = observed((2_000, (0, 1, 2)))
    history.rows["requests"][-1]["positions"][1]["error_code"] = error
    assert verdict == judge(history, "X82")["verdict"]


def test_what_was_added_is_named_from_then_on(judge: Judge) -> None:
    history = observed((2_000, (0, 1, 2, 3)), (3_000, (0, 1, 2)))
    verdict = judge(history, "X82")
    assert ("VIOLATED", 1, 4) == (verdict["verdict"], verdict["violations"], verdict["examined"])


def test_what_others_ask_for_need_not_be_in_the_observers_answers(judge: Judge) -> None:
    history = observed((2_000, (0, 1, 2)))
    history.told_position("member-1", 7, 10, 1_500)
    verdict = judge(history, "X82")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])


def test_the_first_answer_that_leaves_a_partition_out_is_named(judge: Judge) -> None:
    history = observed((2_000, (0, 1, 2)), (3_000, (0, 1)), (4_000, (0, 1)), (5_000, (0, 1, 2)))
    rows = {row["subject"]: row for row in judge(history, "X82")["rows"]}
    assert (at(3_000), 2) == (rows["t-2 (answers)"]["at"], rows["t-2 (answers)"]["measured"])
    assert at(2_000) == rows["t-0 (answers)"]["at"]


@pytest.mark.parametrize("formed_ms", [70_000, 80_000])
def test_what_had_expired_before_the_group_was_formed_stays_gone(
    judge: Judge, formed_ms: float
) -> None:
    """Positions of a group without members expire a retention after the commit, at 60.2 s."""
    history = History(end_ms=90_000).commit_request("member-1", 200, 0, 20)
    history.cluster = {"settings": {"offsets.retention.minutes": "1"}}
    history.says("stabilized", formed_ms, generation=1)
    assert judge(answered(history, 80_000, -1), "R30")["verdict"] == "HOLDS"
