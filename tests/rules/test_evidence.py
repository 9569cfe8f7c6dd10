from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# E01


def test_a_killed_broker_that_the_observer_missed_too_took_effect(judge: Judge) -> None:
    history = History().fault("kill-broker", "broker-2", 10_000, 25_000)
    assert "HOLDS" == judge(history.broker_seen(10_100, 2, alive=False), "E01")["verdict"]


def test_a_killed_broker_that_the_observer_never_missed_cannot_be_told(judge: Judge) -> None:
    history = History().fault("kill-broker", "broker-2", 10_000, 25_000)
    assert "UNKNOWN" == judge(history.broker_seen(10_100, 3, alive=False), "E01")["verdict"]


def test_a_broker_off_its_peers_still_answers_the_observer(judge: Judge) -> None:
    history = History().fault("isolate-broker", "broker-2", 10_000, 25_000)
    assert "HOLDS" == judge(history.broker_seen(10_100, 2, alive=True), "E01")["verdict"]


def test_a_killed_member_that_goes_on_talking_violates(judge: Judge) -> None:
    history = History().fault("kill-consumer", "member-1", 10_000)
    assert "VIOLATED" == judge(history.heartbeats("member-1", 12_000), "E01")["verdict"]


def test_a_killed_member_that_falls_silent_took_effect(judge: Judge) -> None:
    history = History().fault("kill-consumer", "member-1", 10_000)
    assert "HOLDS" == judge(history.heartbeats("member-1", 9_000), "E01")["verdict"]


def test_a_frozen_member_may_talk_again_once_it_thawed(judge: Judge) -> None:
    history = History().fault("freeze-consumer", "member-1", 10_000, 20_000)
    assert "HOLDS" == judge(history.heartbeats("member-1", 9_000, 21_000), "E01")["verdict"]


def test_a_stall_in_which_records_were_polled_violates(judge: Judge) -> None:
    history = History().fault("stall-consumer", "member-1", 10_000, 18_000)
    history.told("member-1", "stall_started", 10_010, duration_ms=8_000.0)
    assert "HOLDS" == judge(history, "E01")["verdict"]
    history.delivered("member-1", 0, 0, 9, 14_000)
    assert "VIOLATED" == judge(history, "E01")["verdict"]


@pytest.mark.parametrize(
    ("polled_ms", "verdict"),
    [(10_060, "HOLDS"), (10_061, "VIOLATED"), (17_959, "VIOLATED"), (17_960, "HOLDS")],
)
def test_polls_within_slack_of_a_stalls_ends_are_not_in_it(
    judge: Judge, polled_ms: float, verdict: str
) -> None:
    history = History().fault("stall-consumer", "member-1", 10_000, 18_000)
    history.told("member-1", "stall_started", 10_010, duration_ms=8_000.0)
    history.delivered("member-1", 0, 0, 9, polled_ms)
    assert verdict == judge(history, "E01")["verdict"]


def test_a_started_member_must_have_joined(judge: Judge) -> None:
    history = History().fault("start-consumer", "member-4", 10_000)
    assert "UNKNOWN" == judge(history, "E01")["verdict"]
    assert "HOLDS" == judge(history.join("member-4", 11_000), "E01")["verdict"]


def test_a_bounced_member_is_silent_while_it_is_away(judge: Judge) -> None:
    history = History().fault("bounce-consumer", "member-2", 10_000, 12_000)
    assert "HOLDS" == judge(history.heartbeats("member-2", 9_000), "E01")["verdict"]
    assert "VIOLATED" == judge(history.heartbeats("member-2", 11_500), "E01")["verdict"]


def test_a_static_member_closes_without_a_leave(judge: Judge) -> None:
    history = History().fault("close-consumer", "member-2", 10_000)
    assert "UNKNOWN" == judge(history, "E01")["verdict"]
    assert "HOLDS" == judge(history.member("member-2", instance_id="member-2"), "E01")["verdict"]


@pytest.mark.parametrize(
    ("refused", "error", "verdict"),
    [
        ("member-2", 82, "HOLDS"),  # the older, by a classic coordinator
        ("member-4", 111, "HOLDS"),  # the newer, in KIP-848
        ("member-2", 25, "UNKNOWN"),
        ("member-2", 111, "UNKNOWN"),
        ("member-4", 82, "UNKNOWN"),
    ],
)
def test_of_two_with_one_instance_id_one_must_have_been_refused(
    judge: Judge, refused: str, error: int, verdict: str
) -> None:
    history = History().fault("start-duplicate", "member-2", 10_000)
    history.member("member-2", instance_id="member-2").member("member-4", instance_id="member-2")
    history.heartbeats("member-2", 11_000, instance_id="member-2")
    assert "UNKNOWN" == judge(history, "E01")["verdict"]
    history.heartbeats(refused, 9_000, error_code=error, instance_id="member-2")
    history.heartbeats(refused, 12_000, error_code=error, instance_id="member-9")
    assert "UNKNOWN" == judge(history, "E01")["verdict"]
    history.heartbeats(refused, 12_000, error_code=error, instance_id="member-2")
    assert verdict == judge(history, "E01")["verdict"]


def test_a_stall_in_a_callback_must_have_come(judge: Judge) -> None:
    history = History().fault("stall-callback", "member-1", 10_000, 18_000)
    assert "UNKNOWN" == judge(history, "E01")["verdict"]
    history.told("member-1", "callback_stall_started", 12_000, duration_ms=8_000.0)
    assert "HOLDS" == judge(history, "E01")["verdict"]


@pytest.mark.parametrize(
    ("during", "verdict"), [(100, "VIOLATED"), (150, "VIOLATED"), (99, "HOLDS"), (0, "HOLDS")]
)
def test_a_narrow_link_lets_less_through_than_before(
    judge: Judge, during: int, verdict: str
) -> None:
    """100 a second before, against those of the nine seconds from a second after it began."""
    history = History().fault("bandwidth", "member-1", 10_001, 20_002)
    history.delivered("member-1", 0, 0, 999, 5_000)
    if during:
        history.delivered("member-1", 0, 1_000, 999 + 9 * during, 15_000)
    history.delivered("member-1", 0, 5_000, 9_999, 25_000)
    assert verdict == judge(history, "E01")["verdict"]


def test_of_a_link_that_is_narrow_from_the_start_nobody_knows_what_was_before(
    judge: Judge,
) -> None:
    history = History().fault("bandwidth", "member-1", 0, 20_000)
    history.delivered("member-1", 0, 0, 999, 5_000)
    assert "HOLDS" == judge(history, "E01")["verdict"]


@pytest.mark.parametrize(
    ("api", "of_broker", "ms", "verdict"),
    [
        ("HEARTBEAT", None, 12_000, "VIOLATED"),
        ("FIND_COORDINATOR", None, 12_000, "VIOLATED"),
        ("HEARTBEAT", "coordinator", 12_000, "VIOLATED"),
        ("FIND_COORDINATOR", "coordinator", 12_000, "HOLDS"),  # of the brokers that it can reach
        ("HEARTBEAT", None, 11_000, "HOLDS"),  # on its way when the link was cut
        ("HEARTBEAT", None, 19_999, "HOLDS"),  # when it is being healed
    ],
)
def test_nothing_of_an_isolated_member_arrives_but_lookups_elsewhere(
    judge: Judge, api: str, of_broker: str | None, ms: float, verdict: str
) -> None:
    declared = json.dumps({"of_broker": of_broker} if of_broker else {})
    history = History().fault("isolate", "member-1", 10_000, 20_000, parameters=declared)
    history.request(api, "member-2", 12_000)
    assert verdict == judge(history.request(api, "member-1", ms), "E01")["verdict"]


@pytest.mark.parametrize(
    ("kind", "api", "generation", "error", "verdict"),
    [
        ("start-consumer", "CONSUMER_GROUP_HEARTBEAT", 0, 0, "HOLDS"),
        ("start-consumer", "CONSUMER_GROUP_HEARTBEAT", 1, 0, "UNKNOWN"),
        ("start-consumer", "CONSUMER_GROUP_HEARTBEAT", 0, 25, "UNKNOWN"),
        ("start-consumer", "JOIN_GROUP", 1, 79, "UNKNOWN"),
        ("start-consumer", "HEARTBEAT", 0, 0, "UNKNOWN"),
        ("close-consumer", "LEAVE_GROUP", 1, 0, "HOLDS"),
        ("close-consumer", "CONSUMER_GROUP_HEARTBEAT", -1, 0, "HOLDS"),
        ("close-consumer", "CONSUMER_GROUP_HEARTBEAT", 0, 0, "UNKNOWN"),
        ("close-consumer", "HEARTBEAT", -1, 0, "UNKNOWN"),
    ],
)
def test_a_join_and_a_leave_are_known_by_their_requests(
    judge: Judge, kind: str, api: str, generation: int, error: int, verdict: str
) -> None:
    history = History().member("member-4").fault(kind, "member-4", 10_000)
    about = {"generation": generation, "error_code": error}
    history.request(api, "member-4", 9_000, **about).request(api, "member-5", 11_000, **about)
    assert "UNKNOWN" == judge(history, "E01")["verdict"]
    assert verdict == judge(history.request(api, "member-4", 11_000, **about), "E01")["verdict"]


@pytest.mark.parametrize(
    ("kind", "event", "ms", "verdict"),
    [
        ("stall-consumer", "stall_started", 10_010, "HOLDS"),
        ("stall-consumer", "stall_started", 4_998, "UNKNOWN"),  # of another fault
        ("stall-consumer", "callback_stall_started", 10_010, "UNKNOWN"),
        ("stall-callback", "stall_started", 10_010, "UNKNOWN"),
        ("stall-callback", "revoked", 10_010, "UNKNOWN"),
    ],
)
def test_a_stall_is_known_by_its_own_event(
    judge: Judge, kind: str, event: str, ms: float, verdict: str
) -> None:
    history = History().fault(kind, "member-1", 10_000, 18_000)
    history.told("member-1", event, ms, duration_ms=8_000.0)
    assert verdict == judge(history, "E01")["verdict"]


def test_a_fault_without_effect_is_unknown(judge: Judge) -> None:
    history = History().fault("latency", "members", 10_000, 20_000, took_effect=False)
    verdict = judge(history, "E01")
    assert "UNKNOWN" == verdict["verdict"]
    assert "took no effect" in verdict["reason"]


def test_a_planned_fault_that_was_never_injected_is_unknown(judge: Judge) -> None:
    history = History(faults=1)
    history.add("faults", fault="1-latency", kind="latency", phase="planned")
    assert "never injected" in judge(history, "E01")["reason"]


def test_a_declared_fault_that_is_not_on_record_is_unknown(judge: Judge) -> None:
    history = History().fault("latency", "members", 10_000, 20_000)
    history.faults = 2
    assert "1 of 2 declared faults" in judge(history, "E01")["reason"]
    assert "UNKNOWN" == judge(History(faults=1), "E01")["verdict"]


# E02


def busy() -> History:
    history = History().member("member-1").acknowledged(0, 0, 9)
    return history.delivered("member-1", 0, 0, 9, 100)


def test_everyone_at_work_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(busy(), "E02")["verdict"]


def test_a_member_that_got_no_record_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(busy().member("member-2"), "E02")["verdict"]


def test_a_producer_without_an_acknowledgement_violates(judge: Judge) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 100)
    assert "VIOLATED" == judge(history, "E02")["verdict"]


def test_a_member_more_than_partitions_may_be_idle(judge: Judge) -> None:
    history = busy()
    for number in range(2, 8):
        history.member(f"member-{number}")
        if number < 7:
            history.delivered(f"member-{number}", number - 1, 0, 9, 100)
    assert "HOLDS" == judge(history, "E02")["verdict"]


@pytest.mark.parametrize(("error", "verdict"), [(111, "HOLDS"), (82, "VIOLATED"), (0, "VIOLATED")])
def test_a_process_whose_instance_id_was_in_use_has_nothing_to_do(
    judge: Judge, error: int, verdict: str
) -> None:
    history = busy().member("member-2", instance_id="member-1")
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-2", 5, generation=0, error_code=error)
    assert verdict == judge(history, "E02")["verdict"]


# E03


def test_reading_to_the_end_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(busy().end_offset(0, 10).end_offset(1, 0), "E03")["verdict"]


def test_stopping_before_the_end_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(busy().end_offset(0, 11), "E03")["verdict"]


def test_the_last_end_and_the_last_record_read_count(judge: Judge) -> None:
    history = busy().end_offset(0, 9, 40_000).end_offset(0, 12, 50_000)
    history.add("topology", at=at(60_000), what="end_offset", topic="u", partition=0, end_offset=99)
    verdict = judge(history, "E03")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])
    history.delivered("member-1", 0, 10, 11, 200)
    assert "HOLDS" == judge(history, "E03")["verdict"]


def test_a_partition_that_nobody_read_is_missing_from_its_start(judge: Judge) -> None:
    assert 3 == judge(busy().end_offset(1, 3), "E03")["measured_max"]


def test_without_end_offsets_e03_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(busy(), "E03")["verdict"]


# E04


def test_ticks_on_time_hold(judge: Judge) -> None:
    assert "HOLDS" == judge(History().tick(100).tick(200, 80), "E04")["verdict"]


def test_without_ticks_e04_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "E04")["verdict"]


# E05


def recorded(**member: Any) -> History:
    history = History().member("member-1", **member)
    return history.heartbeats("member-1", 100).says("emptied", 200, generation=2)


def test_whole_journals_hold(judge: Judge) -> None:
    assert "HOLDS" == judge(recorded(), "E05")["verdict"]


def test_a_torn_journal_of_a_killed_member_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(recorded(journal_torn=True, end="killed"), "E05")["verdict"]


def test_a_torn_journal_of_another_member_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(recorded(journal_torn=True), "E05")["verdict"]


def test_an_empty_coordinator_view_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().member("member-1"), "E05")["verdict"]
