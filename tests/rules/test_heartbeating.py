from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.consumer_histories import Group
from tests.histories import History, at, java, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


# R09


def failed() -> History:
    history = java().told("member-1", "heartbeat_failed", 10_000)
    return history.told("member-1", "coordinator_found", 10_500)


def test_a_failed_heartbeat_is_repeated_after_the_backoff(judge: Judge) -> None:
    verdict = judge(failed().told("member-1", "heartbeat_sent", 10_700), "R09")
    assert "HOLDS" == verdict["verdict"]
    assert 200 == verdict["measured_max"]


def test_a_member_that_joins_anew_first_has_nothing_to_repeat(judge: Judge) -> None:
    history = failed().told("member-1", "lost", 11_000, [0])
    history.told("member-1", "heartbeat_sent", 16_000)
    assert "UNKNOWN" == judge(history, "R09")["verdict"]


def test_a_whole_interval_after_a_failed_heartbeat_violates(judge: Judge) -> None:
    verdict = judge(failed().told("member-1", "heartbeat_sent", 12_500), "R09")
    assert "VIOLATED" == verdict["verdict"]


def test_a_failed_heartbeat_that_is_the_last_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(failed().told("member-1", "heartbeat_sent", 9_000), "R09")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(11_850, "HOLDS"), (11_851, "VIOLATED")])
def test_a_failed_heartbeat_is_repeated_within_the_longest_backoff_and_a_tick(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(failed().told("member-1", "heartbeat_sent", ms), "R09")["verdict"]


@pytest.mark.parametrize(
    ("begun_ms", "ended_ms", "verdict"),
    [
        (11_850, 11_850, "HOLDS"),
        (10_600, 13_000, "HOLDS"),
        (10_600, None, "HOLDS"),
        (10_600, 11_849, "VIOLATED"),
        (11_851, 13_000, "VIOLATED"),
    ],
)
def test_who_waits_for_a_commit_when_the_time_is_up_is_excused(
    judge: Judge, begun_ms: float, ended_ms: float | None, verdict: str
) -> None:
    """Java's heartbeat thread cannot send meanwhile. The bound ends at 11.85 s."""
    history = failed().told("member-1", "heartbeat_sent", 12_500)
    history.waited_for_commit("member-1", begun_ms, ended_ms)
    found = judge(history, "R09")
    assert verdict == found["verdict"]
    assert (verdict == "HOLDS") == ("waited for a commit" in found["reason"])
    assert 1 == found["examined"]


@pytest.mark.parametrize(
    ("api", "row", "examined"),
    [
        ("HEARTBEAT", {"error_code": 14}, 1),
        ("HEARTBEAT", {"error_code": 15}, 1),
        ("HEARTBEAT", {"error_code": 16}, 1),
        ("HEARTBEAT", {"error_code": 27}, 0),
        ("HEARTBEAT", {"error_code": 16, **OTHER}, 0),
        ("JOIN_GROUP", {"error_code": 16}, 0),
    ],
)
def test_a_heartbeat_fails_where_the_group_is_elsewhere(
    judge: Judge, api: str, row: dict[str, Any], examined: int
) -> None:
    history = java().request(api, "member-1", 10_000, **row)
    verdict = judge(history.told("member-1", "heartbeat_sent", 10_300), "R09")
    assert examined == verdict["examined"]
    assert [300] * examined == [row["measured"] for row in verdict["rows"]]


@pytest.mark.parametrize(
    ("event", "ms", "member", "examined"),
    [
        ("coordinator_lost", 9_000, "member-1", 0),
        ("coordinator_lost", 9_950, "member-1", 0),
        ("coordinator_lost", 9_951, "member-1", 1),
        ("coordinator_lost", 10_001, "member-1", 1),
        ("coordinator_lost", 5_001, "member-1", 0),
        ("coordinator_lost", 5_000, "member-1", 1),
        ("coordinator_lost", 9_000, "member-2", 1),
        ("coordinator_found", 9_000, "member-1", 1),
    ],
)
def test_an_answer_on_a_connection_that_was_given_up_is_no_failure(
    judge: Judge, event: str, ms: float, member: str, examined: int
) -> None:
    """A coordinator that is slow answers a heartbeat whose member has given it up meanwhile."""
    history = java().request("HEARTBEAT", "member-1", 10_000, arrived_at=at(5_000), error_code=15)
    history.told(member, event, ms).told("member-1", "heartbeat_sent", 12_000)
    verdict = judge(history, "R09")
    assert ("VIOLATED" if examined else "UNKNOWN", examined) == (
        verdict["verdict"],
        verdict["examined"],
    )


def test_heartbeats_that_fail_together_count_once_and_from_the_last(judge: Judge) -> None:
    history = java().told("member-1", "heartbeat_failed", 10_000)
    history.told("member-1", "heartbeat_failed", 10_200)
    history.told("member-1", "heartbeat_sent", 10_200.5).told("member-1", "heartbeat_sent", 12_000)
    history.told("member-2", "heartbeat_sent", 10_100).told("member-1", "coordinator_lost", 10_050)
    verdict = judge(history, "R09")
    assert ("HOLDS", 1, 0.5) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_heartbeat_sent_in_the_moment_of_the_failure_is_no_repetition(judge: Judge) -> None:
    history = java().told("member-1", "heartbeat_failed", 10_000)
    history.told("member-1", "heartbeat_sent", 10_000).told("member-1", "heartbeat_sent", 10_400)
    assert 400 == judge(history, "R09")["measured_max"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "examined"),
    [
        ("lost", 10_001, "member-1", 0),
        ("revoked", 10_300, "member-1", 0),
        ("assigned", 10_700, "member-1", 0),
        ("closing", 10_300, "member-1", 0),
        ("closing", 10_000, "member-1", 1),
        ("closing", 10_701, "member-1", 1),
        ("closing", 10_300, "member-2", 1),
        ("stall_started", 10_300, "member-1", 1),
    ],
)
def test_only_what_comes_between_failure_and_heartbeat_leaves_nothing_to_repeat(
    judge: Judge, event: str, ms: float, member: str, examined: int
) -> None:
    history = failed().told("member-1", "heartbeat_sent", 10_700).told(member, event, ms)
    assert examined == judge(history, "R09")["examined"]


@pytest.mark.parametrize(
    ("found_ms", "member", "measured"),
    [
        (10_600, "member-1", 100),  # the last of two
        (10_700, "member-1", 0),
        (10_701, "member-1", 200),
        (10_600, "member-2", 200),
        (9_999, "member-1", 200),
    ],
)
def test_the_coordinator_found_last_before_the_heartbeat_counts(
    judge: Judge, found_ms: float, member: str, measured: float
) -> None:
    history = failed().told("member-1", "heartbeat_sent", 10_700)
    history.told("member-1", "coordinator_lost", 10_650)
    verdict = judge(history.told(member, "coordinator_found", found_ms), "R09")
    assert (1, measured) == (verdict["examined"], verdict["measured_max"])


# R14


def in_a_new_generation(first_ms: float, **row: Any) -> History:
    """Its SyncGroup is answered at 1 s; three intervals of heartbeats follow the first."""
    history = History().member("member-1").member("member-2").sync("member-1", 1_000)
    return history.heartbeats(
        "member-1", *(first_ms + 2_000 * number for number in range(4)), **row
    )


@pytest.mark.parametrize(("first_ms", "verdict"), [(4_920, "HOLDS"), (4_921, "VIOLATED")])
def test_the_first_heartbeat_of_a_generation_is_not_left_out(
    judge: Judge, first_ms: float, verdict: str
) -> None:
    found = judge(in_a_new_generation(first_ms), "R14")
    assert verdict == found["verdict"]
    assert (verdict == "VIOLATED") == ("its first heartbeat too late" in found["reason"])


def test_what_was_answered_first_counts_and_only_if_it_was_accepted(judge: Judge) -> None:
    history = in_a_new_generation(4_921).sync("member-1", 4_000)
    history.rows["requests"].insert(0, {**history.rows["requests"][0], "error_code": 27})
    history.rows["requests"][0]["answered_at"] = at(500)
    (row,) = [row for row in judge(history, "R14")["rows"] if "first" in row["subject"]]
    assert (3_921, at(1_000), at(4_921)) == (row["measured"], row["guard_from"], row["guard_to"])


@pytest.mark.parametrize(
    ("kind", "resolved", "ms", "healed_ms", "verdict"),
    [
        ("pause-broker", "broker-3", 2_000, 2_100, "HOLDS"),
        ("freeze-consumer", "member-1", 2_000, 2_100, "HOLDS"),
        ("freeze-consumer", "member-2", 2_000, 2_100, "VIOLATED"),
        ("pause-broker", "broker-3", 500, 999, "VIOLATED"),
        ("pause-broker", "broker-3", 500, 1_000, "HOLDS"),
        ("pause-broker", "broker-3", 5_001, 5_100, "HOLDS"),
        ("pause-broker", "broker-3", 5_002, 5_100, "VIOLATED"),
    ],
)
def test_a_fault_may_hold_up_the_first_heartbeat(
    judge: Judge, kind: str, resolved: str, ms: float, healed_ms: float, verdict: str
) -> None:
    """It comes at 5 s; later ones are far enough from the fault."""
    history = in_a_new_generation(5_000).heartbeats("member-1", 13_000, 15_000, 17_000)
    assert verdict == judge(history.fault(kind, resolved, ms, healed_ms), "R14")["verdict"]


@pytest.mark.parametrize(
    ("api", "member", "arrived_ms", "answered_ms", "verdict"),
    [
        ("OFFSET_COMMIT", "member-1", 1_500, 3_501, "HOLDS"),
        ("OFFSET_COMMIT", "member-1", 1_500, 3_500, "VIOLATED"),
        ("OFFSET_COMMIT", "member-2", 1_500, 3_501, "VIOLATED"),
        ("OFFSET_FETCH", "member-1", 1_500, 3_501, "VIOLATED"),
        ("OFFSET_COMMIT", "member-1", -1_500, 1_000, "HOLDS"),
        ("OFFSET_COMMIT", "member-1", -1_500, 999, "VIOLATED"),
    ],
)
def test_a_commit_without_an_answer_may_hold_up_the_first_heartbeat(
    judge: Judge, api: str, member: str, arrived_ms: float, answered_ms: float, verdict: str
) -> None:
    history = in_a_new_generation(5_000)
    history.request(api, member, answered_ms, arrived_at=at(arrived_ms))
    assert verdict == judge(history, "R14")["verdict"]


@pytest.mark.parametrize("row", [{"broker": 2}, {"generation": 2}])
def test_another_coordinator_or_generation_has_its_own_first_heartbeat(
    judge: Judge, row: dict[str, Any]
) -> None:
    assert "HOLDS" == judge(in_a_new_generation(5_000, **row), "R14")["verdict"]


def test_a_heartbeat_every_interval_holds(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_003, 6_001, 8_000)
    assert "HOLDS" == judge(history, "R14")["verdict"]


def test_heartbeats_a_timer_s_tick_off_their_interval_violate(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_600, 7_200, 9_800)
    assert "VIOLATED" == judge(history, "R14")["verdict"]


@pytest.mark.parametrize(
    ("arrived_ms", "verdict"), [(2_000, "VIOLATED"), (1_941, "VIOLATED"), (1_940, "HOLDS")]
)
def test_how_long_the_first_heartbeat_waited_at_its_coordinator_is_not_the_clients_doing(
    judge: Judge, arrived_ms: float, verdict: str
) -> None:
    history = History().request("HEARTBEAT", "member-1", 2_000, arrived_at=at(arrived_ms))
    history.heartbeats("member-1", 3_900, 5_800, 7_700)
    assert verdict == judge(history, "R14")["verdict"]


def test_how_long_other_heartbeats_waited_excuses_nobody(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 3_900, 5_800)
    history.request("HEARTBEAT", "member-1", 7_700, arrived_at=at(7_200))
    history.request("HEARTBEAT", "member-2", 5_800, arrived_at=at(5_300))
    assert "VIOLATED" == judge(history, "R14")["verdict"]


def test_of_heartbeats_that_were_held_up_together_the_longest_wait_counts(judge: Judge) -> None:
    """The last one of the generation before was worked on in the same moment as the first."""
    history = History().request("HEARTBEAT", "member-1", 2_000, arrived_at=at(1_850), error_code=27)
    history.request("HEARTBEAT", "member-1", 2_000, arrived_at=at(1_999), generation=2)
    history.heartbeats("member-1", 3_900, 5_800, 7_700, generation=2)
    verdict = judge(history, "R14")
    assert ("HOLDS", 1_870) == (verdict["verdict"], verdict["bound_low"])


def test_a_member_id_is_one_whoever_bears_it(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_000, 6_000)
    history.heartbeats("member-2", 8_000, 10_000, member_id=member_id("member-1"))
    verdict = judge(history, "R14")
    assert ["member-1 in generation 1"] == [row["subject"] for row in verdict["rows"]]


def test_one_late_heartbeat_is_no_cadence(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_000, 6_000, 8_400, 10_400)
    assert "HOLDS" == judge(history, "R14")["verdict"]


@pytest.mark.parametrize(("gap_ms", "verdict"), [(3_920, "HOLDS"), (3_921, "VIOLATED")])
def test_a_heartbeat_that_is_left_out_is_missed_though_the_mean_is_right(
    judge: Judge, gap_ms: int, verdict: str
) -> None:
    times = (2_000, 4_000, 6_000, 8_000, 10_000)
    history = History().heartbeats("member-1", *times, *(each + 8_000 + gap_ms for each in times))
    assert verdict == judge(history, "R14")["verdict"]


@pytest.mark.parametrize(
    ("times", "examined"),
    [
        ((2_000, 6_000), 1),
        ((2_000, 3_000, 7_000), 1),
        ((2_000, 6_000, 7_679), 1),
        ((2_000, 6_000, 7_680), 2),  # long enough for a mean as well
    ],
)
def test_a_heartbeat_that_is_left_out_is_missed_in_a_time_too_short_for_a_mean(
    judge: Judge, times: tuple[float, ...], examined: int
) -> None:
    verdict = judge(History().heartbeats("member-1", *times), "R14")
    assert (examined, examined) == (verdict["examined"], verdict["violations"])
    assert "left a heartbeat out" in verdict["reason"]


def test_one_gap_within_a_coarse_grid_is_none_that_lacks_a_heartbeat(judge: Judge) -> None:
    history = History(group={"heartbeat_interval_ms": 500})
    history.heartbeats("member-1", 2_000, 2_500, 3_000, 4_050, 4_550, 5_050)
    assert "HOLDS" == judge(history, "R14")["verdict"]


def test_an_interval_off_the_clients_grid_is_rounded_up(judge: Judge) -> None:
    history = History(group={"heartbeat_interval_ms": 1_700})
    history.heartbeats("member-1", 2_000, 4_000, 6_000, 8_000)
    assert "HOLDS" == judge(history, "R14")["verdict"]


def test_gaps_in_a_network_fault_are_not_steady(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 5_000, 8_000, 11_000)
    assert "UNKNOWN" == judge(history.fault("latency", "members", 1_000, 12_000), "R14")["verdict"]


def test_a_heartbeat_that_a_fault_held_up_makes_no_other_one_early(judge: Judge) -> None:
    """Handled right after the coordinator went on, it is followed by the next one in its turn."""
    history = History().heartbeats("member-1", 2_000, 4_000, 9_516, 10_016, 12_016, 14_016)
    history.fault("pause-broker", "broker-1", 4_100, 9_500)
    assert "HOLDS" == judge(history, "R14")["verdict"]


@pytest.mark.parametrize(("second_ms", "steady"), [(9_566, 4), (9_567, 5)])
def test_two_heartbeats_that_were_held_up_together_make_no_other_one_early(
    judge: Judge, second_ms: float, steady: int
) -> None:
    """The second waited on the connection behind the first, and is later than its own turn."""
    history = History().heartbeats("member-1", 2_000, 4_000, 9_516, second_ms, 11_000)
    history.heartbeats("member-1", 13_000, 15_000, 17_000)
    history.fault("pause-broker", "broker-1", 4_100, 9_500)
    assert f"{steady} steady gaps" in judge(history, "R14")["rows"][0]["why"]


def test_many_heartbeats_that_were_held_up_together_make_no_other_one_early(judge: Judge) -> None:
    """The fault is over before the first of them is handled."""
    history = History().heartbeats("member-1", 2_000, 4_000)
    history.heartbeats("member-1", 9_516, 9_540, 9_580, 9_600, 11_000, 13_000, 15_000, 17_000)
    history.fault("pause-broker", "broker-1", 4_100, 9_500)
    verdict = judge(history, "R14")
    assert "HOLDS" == verdict["verdict"]
    assert "4 steady gaps" in verdict["rows"][0]["why"]


@pytest.mark.parametrize(
    ("asked_ms", "answered_ms", "late_ms", "verdict"),
    [
        (5_945, 7_745, 8_423, "UNKNOWN"),
        (5_945, 6_550, 7_700, "VIOLATED"),  # answered while the heartbeat could still come in time
        (5_945, 6_551, 7_700, "UNKNOWN"),
        (6_550, 7_600, 7_700, "UNKNOWN"),
        (6_551, 7_600, 7_700, "VIOLATED"),  # asked when the heartbeat was late already
        (5_945, 8_423, 8_423, "UNKNOWN"),
        (5_945, 8_424, 8_423, "VIOLATED"),  # who waits behind it is not handled before its answer
        (5_945, 7_268, 8_423, "UNKNOWN"),
        (5_945, 7_267, 8_423, "VIOLATED"),  # 1,322 ms leave a gap of 3,101
    ],
)
def test_a_heartbeat_that_waits_behind_a_commit_is_none_that_came_late(
    judge: Judge, asked_ms: float, answered_ms: float, late_ms: float, verdict: str
) -> None:
    history = History().heartbeats("member-1", 2_000, 4_000, late_ms)
    history.commit_request("member-1", asked_ms, 0, 10, answered_at=at(answered_ms))
    assert verdict == judge(history, "R14")["verdict"]


def test_the_heartbeat_after_one_that_waited_behind_a_commit_is_not_early(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_000, 7_900, 8_000, 10_000, 12_000, 14_000)
    history.commit_request("member-1", 5_900, 0, 10, answered_at=at(7_800))
    verdict = judge(history, "R14")
    assert "HOLDS" == verdict["verdict"]
    assert "4 steady gaps" in verdict["rows"][0]["why"]


def test_gaps_in_a_fault_of_another_member_are_steady(judge: Judge) -> None:
    history = History().member("member-1").member("member-2")
    history.heartbeats("member-1", 2_000, 4_000, 6_000, 8_000)
    history.fault("latency", "member-2", 1_000, 12_000)
    assert "HOLDS" == judge(history, "R14")["verdict"]
    assert "UNKNOWN" == judge(history.fault("latency", "member-1", 1_000, 12_000), "R14")["verdict"]


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ((2_000, 4_000, 6_000), "UNKNOWN"),
        ((2_000, 4_800, 7_679), "UNKNOWN"),
        ((2_000, 4_800, 7_680), "VIOLATED"),
        ((2_000, 6_000, 10_000), "VIOLATED"),
    ],
)
def test_three_intervals_of_steady_time_are_enough_however_few_the_heartbeats(
    judge: Judge, times: tuple[float, ...], verdict: str
) -> None:
    assert verdict == judge(History().heartbeats("member-1", *times), "R14")["verdict"]


def test_what_came_late_makes_the_next_one_early_and_a_mean_has_it_once(judge: Judge) -> None:
    history = History().heartbeats("member-1", 2_000, 4_000, 6_284, 8_135, 10_025)
    assert "HOLDS" == judge(history, "R14")["verdict"]


def out_of_turn(ms: float, *times: float) -> History:
    """A Java member of KIP-848 that tells what it owns, and heartbeats in turn at these times."""
    history = Group(group={"client": "java", "protocol": "consumer"})
    history.joins("member-1", 0, 2, gets=(0,)).beat("member-1", ms, owns=(0,))
    for time in times:
        history.beat("member-1", time)
    return history


@pytest.mark.parametrize(
    ("told_ms", "times", "verdict"),
    [
        # The first in turn comes 330 ms late, and no steady gap has that in it.
        (300, (2_630, 4_374, 6_510, 8_371, 10_365), "HOLDS"),
        (630, (2_630, 4_374, 6_510, 8_371, 10_365), "HOLDS"),  # the later ones tell it
        (630, (2_630, 4_374, 6_510, 8_371, 10_223), "VIOLATED"),
        (300, (2_630, 4_374, 6_510, 8_371, 10_100), "HOLDS"),  # 1,867.5 ms
        (300, (2_630, 4_374, 6_510, 8_371, 10_099), "VIOLATED"),
        # It is an interval late at most.
        (300, (9_000, 10_500, 12_000, 13_500, 15_000, 16_750), "HOLDS"),  # 1,550 ms
        (300, (9_000, 10_500, 12_000, 13_500, 15_000, 16_749), "VIOLATED"),
    ],
)
def test_a_first_heartbeat_in_turn_that_is_late_makes_no_other_one_early(
    judge: Judge, told_ms: float, times: tuple[float, ...], verdict: str
) -> None:
    assert verdict == judge(out_of_turn(told_ms, *times), "R14")["verdict"]


def test_of_two_heartbeats_that_arrive_in_one_moment_the_later_one_counts(judge: Judge) -> None:
    """The first in turn is 330 ms late, and is on record twice."""
    history = out_of_turn(300, 2_630, 2_630, 5_130, 7_630, 10_130, 12_100)
    verdict = judge(history, "R14")
    assert "5 steady gaps" in verdict["rows"][0]["why"]
    assert ("HOLDS", 1_950 - 330 / 5) == (verdict["verdict"], verdict["bound_low"])


def test_a_machine_that_stood_still_can_have_made_them_rare_and_not_frequent(judge: Judge) -> None:
    rare = History().heartbeats("member-1", 2_000, 6_000, 8_000).tick(5_000, 1_500.0)
    assert "UNKNOWN" == judge(rare, "R14")["verdict"]
    often = History().heartbeats("member-1", *range(2_000, 10_000, 1_000)).tick(5_000, 400.0)
    assert "VIOLATED" == judge(often, "R14")["verdict"]


@pytest.mark.parametrize(
    ("gap_ms", "verdict"),
    [(1_919, "VIOLATED"), (1_920, "HOLDS"), (2_550, "HOLDS"), (2_551, "VIOLATED")],
)
def test_how_early_and_late_librdkafka_s_heartbeats_may_be(
    judge: Judge, gap_ms: int, verdict: str
) -> None:
    history = History().heartbeats("member-1", *range(2_000, 2_001 + 3 * gap_ms, gap_ms))
    assert verdict == judge(history, "R14")["verdict"]


# Of a member that sent its heartbeats 2,000 ms apart at a load of 21; they arrived 1,343, 1,080,
# 480, 630, 190, 110, 30 and 60 ms late.
LATE: Final = (5_825, 7_562, 8_963, 11_112, 12_670, 14_593, 16_514, 18_548)


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        (LATE, "HOLDS"),
        ((*LATE[:-1], 18_350), "VIOLATED"),  # a heartbeat that came 80 ms before its time
        (LATE[2:], "HOLDS"),
        ((2_000, *range(3_800, 16_000, 1_800)), "VIOLATED"),
        ((2_300, *range(3_800, 16_000, 1_800)), "VIOLATED"),  # all too soon, the first one late
        ((2_000, 3_800, 5_600, 7_400, 9_200, 11_200), "VIOLATED"),  # one gap is no cadence
        # It was an interval late at most.
        ((2_000, 3_500, 5_000, 6_500, 8_000, 10_000, 12_000, 14_000, 16_000), "HOLDS"),
        ((2_000, 3_300, 4_600, 5_900, 7_200, 9_200, 11_200, 13_200), "VIOLATED"),
    ],
)
def test_the_least_late_heartbeats_tell_how_late_the_first_one_was(
    judge: Judge, times: tuple[float, ...], verdict: str
) -> None:
    assert verdict == judge(History().heartbeats("member-1", *times), "R14")["verdict"]


@pytest.mark.parametrize(
    ("waits", "verdict"),
    [
        ([("member-1", 1_000, 2_000, 700)], "UNKNOWN"),  # 100 ms of each of seven gaps
        ([("member-1", 1_000, 2_000, 699)], "VIOLATED"),
        ([("broker-1", 1_000, 2_000, 400), ("toxiproxy", 9_000, 10_000, 300)], "UNKNOWN"),
        ([("producer-1", 1_000, 2_000, 1_000), ("member-2", 9_000, 10_000, 1_000)], "VIOLATED"),
        ([("broker-2", 1_000, 2_000, 1_000)], "VIOLATED"),
        ([("member-1", -1_500, -500, 1_000)], "VIOLATED"),  # an interval before the first
    ],
)
def test_who_waited_may_have_made_heartbeats_frequent_by_its_share_in_the_mean(
    judge: Judge, waits: list[tuple[str, float, float, float]], verdict: str
) -> None:
    """Seven gaps of 1,820 ms, which have to be 1,920 ms."""
    history = History().heartbeats("member-1", *range(2_000, 14_741, 1_820))
    for process, from_ms, to_ms, waited_ms in waits:
        history.waited(process, from_ms, to_ms, waited_ms)
    assert verdict == judge(history, "R14")["verdict"]


@pytest.mark.parametrize(
    ("later", "verdict"),
    [
        (tuple(range(10_000, 30_001, 2_000)), "UNKNOWN"),  # the mean is right
        ((14_000, 20_000), "VIOLATED"),  # each of them is as long
    ],
)
def test_a_wait_excuses_a_gap_and_no_cadence(
    judge: Judge, later: tuple[float, ...], verdict: str
) -> None:
    """A gap of 6,000 ms, which may be 3,920 ms; its broker waited for half of it."""
    history = History().heartbeats("member-1", 2_000, 8_000, *later)
    history.waited("broker-1", 3_000, 6_000, 2_500)
    assert verdict == judge(history, "R14")["verdict"]


@pytest.mark.parametrize("rule", ["R09"])
def test_nothing_to_examine_is_unknown(judge: Judge, rule: str) -> None:
    history = History(group={"client": "java"}).member("member-1", client="java")
    verdict = judge(history.says("member_added", 0, "member-1"), rule)
    assert "UNKNOWN" == verdict["verdict"]
    assert member_id("member-1") not in verdict["reason"]


@pytest.mark.parametrize(("answered_ms", "steady"), [(9_180, 4), (9_060, 5)])
def test_heartbeats_that_waited_for_a_paused_broker_count_as_one(
    judge: Judge, answered_ms: float, steady: int
) -> None:
    """It reads the second once it has answered the first, which takes it longer than usual."""
    history = Group(group={"protocol": "consumer"}).joins("member-1", 0, 2, gets=(0,))
    history.fault("pause-broker", "broker-1", 4_100, 9_050)
    history.beat("member-1", 2_000).beat("member-1", 4_000)
    history.beat("member-1", 9_060, answered_at=at(answered_ms)).beat("member-1", 9_200)
    for ms in (10_000, 12_000, 14_000, 16_000):
        history.beat("member-1", ms)
    assert f"{steady} steady gaps" in judge(history, "R14")["rows"][0]["why"]


@pytest.mark.parametrize(
    ("protocol", "gap_ms", "verdict"),
    [
        ("consumer", 202, "HOLDS"),
        ("consumer", 120, "HOLDS"),
        ("consumer", 118, "VIOLATED"),
        ("eager", 202, "VIOLATED"),  # its timer ticks every 500 ms
        ("eager", 500, "HOLDS"),
    ],
)
def test_librdkafka_keeps_a_short_interval_in_kip_848_alone(
    judge: Judge, protocol: str, gap_ms: float, verdict: str
) -> None:
    history = Group(group={"protocol": protocol, "heartbeat_interval_ms": 200})
    history.joins("member-1", 0, 2, gets=(0,))
    for number in range(1, 21):
        if protocol == "consumer":
            history.beat("member-1", gap_ms * number - 1)
        else:
            history.heartbeats("member-1", gap_ms * number)
    assert verdict == judge(history, "R14")["verdict"]
