from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, answered, at

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


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
    history = crashed(500).member("member-3").delivered("member-3", 0, 600, 649, 50)
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


def test_what_comes_again_of_a_poll_counts_by_its_records(judge: Judge) -> None:
    """590 was the first record of a poll."""
    history = crashed(500)
    history.rows["deliveries"][-1].update(last_offset=590, count=91)
    assert 91 == judge(history, "R26-repeats")["measured_max"]


@pytest.mark.parametrize(
    ("client", "late_ms", "records"),
    [("librdkafka", 0, 110), ("librdkafka", 19, 110), ("librdkafka", 20, 120), ("java", 0, 120)],
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
    """Its last poll is at 5,900 ms, and it joins at 4,200 ms, 150 ms after a commit.

    What it joined before that changes nothing.
    """
    history = crashed(510).join("member-1", 2_000).sync("member-1", 2_100)
    history.join("member-1", 4_200, 2)
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


def test_what_it_commits_as_it_joins_with_its_last_poll_does_not_come_again(judge: Judge) -> None:
    history = crashed(510).join("member-1", 4_200, 2).sync("member-1", 5_300, 2)
    history.group["client"] = "java"
    assert 120 == judge(history.join("member-1", 5_900, 3), "R26-repeats")["bound_high"]


def test_a_heartbeat_that_is_answered_with_no_error_begins_no_rebalance(judge: Judge) -> None:
    history = crashed(510).heartbeats("member-1", 4_200)
    history.group["client"] = "java"
    assert 120 == judge(history, "R26-repeats")["bound_high"]


def test_of_a_member_that_polled_once_the_interval_before_counts(judge: Judge) -> None:
    history = crashed(0)
    history.group["client"] = "java"
    history.rows["deliveries"].clear()
    history.rows["requests"].clear()
    verdict = judge(history.delivered("member-1", 0, 0, 9, 5_900), "R26-repeats")
    assert ("HOLDS", 10) == (verdict["verdict"], verdict["bound_high"])
    assert ["the last 1050 ms before its last poll count"] == [
        row["why"] for row in verdict["rows"]
    ]


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
    history.delivered("member-1", 0, 700, 709, 4_819.5)  # half a millisecond too early
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


def test_what_is_done_at_the_very_moment_of_the_commit_counts(judge: Judge) -> None:
    history = in_hand(20).delivered("member-1", 0, 10, 19, 200, 300)
    assert "HOLDS" == judge(history, "R26-processed")["verdict"]


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


# R19-auto


def removed(**group: Any) -> History:
    """member-1 read 0 to 29 and committed 20 of them; it is evicted at 10 s."""
    history = History(group={"client": "java", "commit": "auto", **group})
    history.member("member-1").member("member-2")
    history.says("member_added", 0, "member-1").join("member-1", 5).join("member-2", 5)
    history.delivered("member-1", 0, 0, 29, 1_000).commit_request("member-1", 1_500, 0, 20)
    return history.says("evicted", 10_000, "member-1").rebalance(10_001, 2, 1)


@pytest.mark.parametrize(
    ("again_from", "verdict"), [(20, "HOLDS"), (0, "HOLDS"), (21, "VIOLATED"), (30, "VIOLATED")]
)
def test_what_was_not_committed_automatically_comes_again(
    judge: Judge, again_from: int, verdict: str
) -> None:
    history = removed().delivered("member-2", 0, again_from, 39, 13_000)
    found = judge(history, "R19-auto")
    assert (verdict, 1) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(("error", "verdict"), [(25, "HOLDS"), (0, "VIOLATED")])
def test_an_automatic_commit_of_a_removed_member_is_refused(
    judge: Judge, error: int, verdict: str
) -> None:
    history = removed().delivered("member-2", 0, 20, 39, 13_000)
    history.commit_request("member-1", 12_000, 0, 30, error=error)
    assert verdict == judge(history, "R19-auto")["verdict"]


def test_where_the_application_commits_or_nobody_was_removed_r19_auto_is_unknown(
    judge: Judge,
) -> None:
    history = removed(commit="sync").delivered("member-2", 0, 20, 39, 13_000)
    assert "UNKNOWN" == judge(history, "R19-auto")["verdict"]
    assert "UNKNOWN" == judge(automatic(1_050, client="java"), "R19-auto")["verdict"]


# X97


@pytest.mark.parametrize(
    ("gap_ms", "verdict"),
    [
        (1_000, "HOLDS"),
        (620, "HOLDS"),
        (619, "VIOLATED"),
        (1_580, "HOLDS"),
        (1_581, "VIOLATED"),
        (2_000, "VIOLATED"),
    ],
)
def test_a_single_gap_between_automatic_commits_is_no_half_and_no_double_interval(
    judge: Judge, gap_ms: int, verdict: str
) -> None:
    judged = judge(automatic(1_050, 2_050, 2_050 + gap_ms), "X97")
    assert (verdict, 2) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(("gap_ms", "verdict"), [(1_859, "HOLDS"), (1_860, "VIOLATED")])
def test_java_commits_a_poll_later(judge: Judge, gap_ms: int, verdict: str) -> None:
    """1.5 s, an idle poll, 100 ms of work, and how late its timer and this machine may be."""
    bound = judge(automatic(1_050, 2_050, client="java"), "X97")["bound_high"]
    history = automatic(1_050, 1_050 + gap_ms - 1_859 + int(bound), client="java")
    assert verdict == judge(history, "X97")["verdict"]


@pytest.mark.parametrize(
    ("poll_ms", "due"), [(1_249, False), (1_250, True), (1_970, True), (1_971, False)]
)
def test_a_commit_is_due_where_records_came_within_the_interval(
    judge: Judge, poll_ms: float, due: bool
) -> None:
    history = automatic(1_050, 3_050)
    history.rows["deliveries"].clear()
    history.delivered("member-1", 0, 0, 9, poll_ms)
    verdict = judge(history, "X97")
    assert ("VIOLATED" if due else "HOLDS") == verdict["verdict"]


def test_work_that_begins_with_the_commit_at_the_end_of_a_gap_is_not_within_it(
    judge: Judge,
) -> None:
    history = automatic(1_050, 3_050)
    history.rows["deliveries"].clear()
    assert "UNKNOWN" == judge(history.delivered("member-1", 0, 0, 9, 3_050), "X97")["verdict"]


def test_java_may_be_later_by_the_longest_poll_within_the_gap(judge: Judge) -> None:
    """1.5 s, an idle poll, 500 ms of work, and how late its timer and this machine may be."""
    history = automatic(1_050, 2_050, client="java")
    history.rows["deliveries"].clear()
    for number, ms in enumerate((50, 1_050, 1_450, 1_950)):
        history.delivered("member-1", 0, number * 10, number * 10 + 9, ms)
    assert 1_500 + 200 + 500 + 150 == judge(history, "X97")["bound_high"]


def test_work_that_goes_on_into_the_next_minute_is_within_its_gaps(judge: Judge) -> None:
    history = automatic(59_050, 60_050, 61_050)
    history.end_ms = 90_000
    history.rows["deliveries"].clear()
    verdict = judge(history.delivered("member-1", 0, 0, 9, 58_000), "X97")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("event", ["assigned", "revoked", "stall_ended", "closing", "error"])
def test_a_gap_in_which_something_happened_to_its_member_is_not_examined(
    judge: Judge, event: str
) -> None:
    history = automatic(1_050, 3_050).told("member-1", event, 2_000)
    assert "UNKNOWN" == judge(history, "X97")["verdict"]


def test_what_happened_to_others_is_no_reason(judge: Judge) -> None:
    history = automatic(1_050, 3_050).told("member-2", "assigned", 2_000)
    history.told("member-1", "heartbeat_sent", 2_000)
    history.told("member-1", "revoked", 1_049).told("member-1", "revoked", 3_051)
    assert "VIOLATED" == judge(history, "X97")["verdict"]


def test_a_gap_beside_a_rebalance_or_a_fault_is_not_examined(judge: Judge) -> None:
    rebalanced = automatic(1_050, 3_050).rebalance(2_500, 2, 1)
    assert "UNKNOWN" == judge(rebalanced, "X97")["verdict"]
    disturbed = automatic(1_050, 3_050).fault("kill-broker", "broker-3", 500, 600)
    assert "UNKNOWN" == judge(disturbed, "X97")["verdict"]


@pytest.mark.parametrize(
    ("starts_ms", "ends_ms", "verdict"),
    [
        (900, 1_050, "UNKNOWN"),
        (900, 1_049, "VIOLATED"),
        (3_050, 3_100, "UNKNOWN"),
        (3_051, 3_100, "VIOLATED"),
    ],
)
def test_a_gap_that_a_rebalance_touches_is_not_examined(
    judge: Judge, starts_ms: float, ends_ms: float, verdict: str
) -> None:
    history = automatic(1_050, 3_050).rebalance(starts_ms, 2, 1).sync("member-1", ends_ms, 2)
    assert verdict == judge(history, "X97")["verdict"]


@pytest.mark.parametrize(
    ("injecting_ms", "healed_ms", "verdict"),
    [
        (100, 550, "UNKNOWN"),  # a session before
        (100, 549, "VIOLATED"),
        (3_050, 4_000, "UNKNOWN"),
        (3_051, 4_000, "VIOLATED"),
    ],
)
def test_a_gap_that_a_fault_or_the_session_after_it_touches_is_not_examined(
    judge: Judge, injecting_ms: float, healed_ms: float, verdict: str
) -> None:
    history = automatic(1_050, 3_050, session_timeout_ms=500)
    history.fault(
        "kill-broker", "broker-3", injecting_ms + 100, healed_ms, injecting_ms=injecting_ms
    )
    assert verdict == judge(history, "X97")["verdict"]


@pytest.mark.parametrize("number", [0, 1])
def test_a_commit_that_was_refused_is_made_again_at_once(judge: Judge, number: int) -> None:
    history = automatic(1_050, 1_150)
    assert "VIOLATED" == judge(history, "X97")["verdict"]
    history.rows["requests"][number]["error_code"] = 14
    assert "UNKNOWN" == judge(history, "X97")["verdict"]


@pytest.mark.parametrize(("answered_ms", "verdict"), [(1_100, "VIOLATED"), (1_101, "UNKNOWN")])
def test_after_a_commit_that_waited_for_its_answer_the_next_may_come_sooner(
    judge: Judge, answered_ms: float, verdict: str
) -> None:
    history = automatic(1_050, 3_050)
    history.rows["requests"][0]["answered_at"] = at(answered_ms)
    assert verdict == judge(history, "X97")["verdict"]


def test_single_commits_that_the_application_asks_for_are_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(automatic(1_050, 3_050, commit="sync"), "X97")["verdict"]


@pytest.mark.parametrize(("interval_ms", "verdict"), [(114, "UNKNOWN"), (115, "VIOLATED")])
def test_an_interval_that_is_no_longer_than_a_commit_may_be_late_is_not_examined(
    judge: Judge, interval_ms: int, verdict: str
) -> None:
    history = automatic(1_050, 1_050, auto_commit_interval_ms=interval_ms)
    history.delivered("member-1", 0, 600, 609, 1_049)
    assert verdict == judge(history, "X97")["verdict"]


def test_a_second_kill_hides_nothing(judge: Judge) -> None:
    history = crashed(450).fault("kill-consumer", "member-1", 13_000)
    assert "VIOLATED" == judge(history, "R26-repeats")["verdict"]
