from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, at_work

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


@pytest.mark.parametrize(
    ("kind", "broker", "processed_ms", "verdict"),
    [
        ("kill-broker", 2, 11_000, "HOLDS"),
        ("kill-broker", 2, 11_001, "VIOLATED"),
        ("kill-broker", 2, 24_998, "VIOLATED"),
        ("kill-broker", 2, 24_999, "HOLDS"),
        ("kill-broker", 1, 15_000, "HOLDS"),
        ("pause-broker", 2, 15_000, "VIOLATED"),
        ("isolate-broker", 2, 15_000, "HOLDS"),
    ],
)
def test_a_broker_that_is_gone_processes_no_request(
    judge: Judge, kind: str, broker: int, processed_ms: float, verdict: str
) -> None:
    history = History().fault(kind, "broker-2", 10_000, 25_000)
    history.broker_seen(10_100, 2, alive=False)
    history.request("FIND_COORDINATOR", "observer", processed_ms, broker=broker)
    assert verdict == judge(history, "E01")["verdict"]


def test_a_killed_member_that_goes_on_talking_violates(judge: Judge) -> None:
    history = History().fault("kill-consumer", "member-1", 10_000)
    assert "VIOLATED" == judge(history.heartbeats("member-1", 12_000), "E01")["verdict"]


def test_a_killed_member_that_falls_silent_took_effect(judge: Judge) -> None:
    history = History().fault("kill-consumer", "member-1", 10_000)
    assert "HOLDS" == judge(history.heartbeats("member-1", 9_000), "E01")["verdict"]


@pytest.mark.parametrize(
    ("kind", "api", "generation", "verdict"),
    [
        ("terminate-consumer", "LEAVE_GROUP", None, "HOLDS"),
        ("terminate-consumer", "CONSUMER_GROUP_HEARTBEAT", -1, "HOLDS"),
        ("terminate-consumer", "CONSUMER_GROUP_HEARTBEAT", 1, "VIOLATED"),
        ("terminate-consumer", "HEARTBEAT", 1, "VIOLATED"),
        ("kill-consumer", "LEAVE_GROUP", None, "VIOLATED"),
    ],
)
def test_what_a_member_says_as_it_leaves_may_be_read_seconds_later(
    judge: Judge, kind: str, api: str, generation: int | None, verdict: str
) -> None:
    history = History().fault(kind, "member-1", 10_000)
    history.request(api, "member-1", 12_100, generation=generation)
    assert verdict == judge(history, "E01")["verdict"]


def test_a_frozen_member_may_talk_again_once_it_thawed(judge: Judge) -> None:
    history = History().fault("freeze-consumer", "member-1", 10_000, 20_000)
    assert "HOLDS" == judge(history.heartbeats("member-1", 9_000, 21_000), "E01")["verdict"]


@pytest.mark.parametrize(
    ("kind", "polled_ms", "verdict"),
    [
        ("freeze-consumer", 11_000, "HOLDS"),
        ("freeze-consumer", 11_001, "VIOLATED"),
        ("freeze-consumer", 19_998, "VIOLATED"),
        ("freeze-consumer", 19_999, "HOLDS"),
        ("kill-consumer", 11_001, "VIOLATED"),
        ("isolate", 11_001, "HOLDS"),
    ],
)
def test_a_frozen_member_is_given_no_records(
    judge: Judge, kind: str, polled_ms: float, verdict: str
) -> None:
    """One whose link is cut may still hand out what it had fetched."""
    history = History().fault(kind, "member-1", 10_000, 20_000)
    history.delivered("member-2", 0, 0, 9, 15_000)
    history.delivered("member-1", 0, 0, 9, polled_ms)
    assert verdict == judge(history, "E01")["verdict"]


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
    started = at(10_000 if kind == "start-consumer" else 0)
    history = History().member("member-4", started_at=started).fault(kind, "member-4", 10_000)
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


def marked(*phases: tuple[str, float]) -> History:
    """A fault of a link with these phases."""
    history = History().fault("latency", "members", 10_000, 20_000)
    about = history.rows["faults"][0]
    history.rows["faults"] = [
        {**about, "phase": phase, "at": at(ms), "took_effect": phase == "injected" or None}
        for phase, ms in phases
    ]
    return history


ALL = (("planned", 0), ("injecting", 9_000), ("injected", 10_000), ("healing", 20_000))


@pytest.mark.parametrize(
    ("phases", "verdict"),
    [
        ((*ALL, ("healed", 20_000)), "HOLDS"),
        (ALL[1:], "HOLDS"),  # a step of a deploy
        ((*ALL, ("healed", 19_999)), "VIOLATED"),
        ((*ALL[:3], ("healed", 20_000)), "VIOLATED"),
        ((*ALL[:2], ("injected", 8_999)), "VIOLATED"),
        ((ALL[0], *ALL[2:]), "VIOLATED"),
        (ALL[2:], "VIOLATED"),
        ((*ALL, ("healing", 21_000)), "VIOLATED"),
        ((*ALL, ("failed", 20_500), ("healing", 21_000), ("healed", 22_000)), "HOLDS"),
    ],
)
def test_the_phases_of_a_fault_come_in_their_order(
    judge: Judge, phases: tuple[tuple[str, float], ...], verdict: str
) -> None:
    assert verdict == judge(marked(*phases), "E01")["verdict"]


def test_phases_that_stand_in_no_order_where_the_time_was_set_are_not_judged(
    judge: Judge,
) -> None:
    history = marked(*ALL, ("healed", 15_000)).tick(9_000).tick(17_000, late_ms=800)
    verdict = judge(history.tick(25_000), "E01")
    assert "UNKNOWN" == verdict["verdict"]


def test_a_declared_fault_that_is_not_on_record_is_unknown(judge: Judge) -> None:
    history = History().fault("latency", "members", 10_000, 20_000)
    history.faults = 2
    assert "1 of 2 declared faults" in judge(history, "E01")["reason"]
    assert "UNKNOWN" == judge(History(faults=1), "E01")["verdict"]


def test_of_faults_that_are_drawn_as_many_come_as_time_allows(judge: Judge) -> None:
    history = History(at_random=True).fault("latency", "members", 10_000, 20_000)
    history.faults = 2
    assert ("HOLDS", 1) == (judge(history, "E01")["verdict"], judge(history, "E01")["examined"])
    history.fault("latency", "members", 30_000, 40_000, took_effect=False)
    assert "took no effect" in judge(history, "E01")["reason"]
    assert "UNKNOWN" == judge(History(faults=2, at_random=True), "E01")["verdict"]


# E02


def test_everyone_at_work_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(at_work(), "E02")["verdict"]


def test_a_member_that_got_no_record_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(at_work().member("member-2"), "E02")["verdict"]


@pytest.mark.parametrize(
    ("policy", "verdict"), [("none", "HOLDS"), ("error", "HOLDS"), ("earliest", "VIOLATED")]
)
def test_who_may_begin_nowhere_got_no_record(judge: Judge, policy: str, verdict: str) -> None:
    history = at_work().member("member-2", settings=f'{{"auto.offset.reset": "{policy}"}}')
    history.told("member-2", "assigned", 100, [1])
    assert verdict == judge(history, "E02")["verdict"]


def test_a_producer_without_an_acknowledgement_violates(judge: Judge) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 100)
    assert "VIOLATED" == judge(history, "E02")["verdict"]


def test_a_member_more_than_partitions_may_be_idle(judge: Judge) -> None:
    history = at_work()
    for number in range(2, 8):
        history.member(f"member-{number}")
        if number < 7:
            history.delivered(f"member-{number}", number - 1, 0, 9, 100)
    assert "HOLDS" == judge(history, "E02")["verdict"]


def test_one_of_too_many_members_may_hold_a_partition_for_a_moment(judge: Judge) -> None:
    history = at_work().member("member-8").holds("member-8", 5, 50, 60)
    for number in range(2, 8):
        history.member(f"member-{number}").delivered(f"member-{number}", 0, 0, 9, 100)
    assert "HOLDS" == judge(history, "E02")["verdict"]


@pytest.mark.parametrize(("error", "verdict"), [(111, "HOLDS"), (82, "VIOLATED"), (0, "VIOLATED")])
def test_a_process_whose_instance_id_was_in_use_has_nothing_to_do(
    judge: Judge, error: int, verdict: str
) -> None:
    history = at_work().member("member-2", instance_id="member-1")
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-2", 5, generation=0, error_code=error)
    assert verdict == judge(history, "E02")["verdict"]


# E03


def test_reading_to_the_end_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(at_work().end_offset(0, 10).end_offset(1, 0), "E03")["verdict"]


def test_stopping_before_the_end_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(at_work().end_offset(0, 11), "E03")["verdict"]


def test_the_last_end_and_the_last_record_read_count(judge: Judge) -> None:
    history = at_work().end_offset(0, 9, 40_000).end_offset(0, 12, 50_000)
    history.add("topology", at=at(60_000), what="end_offset", topic="u", partition=0, end_offset=99)
    verdict = judge(history, "E03")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])
    history.delivered("member-1", 0, 10, 11, 200)
    assert "HOLDS" == judge(history, "E03")["verdict"]


def test_a_partition_that_nobody_read_is_missing_from_its_start(judge: Judge) -> None:
    assert 3 == judge(at_work().end_offset(1, 3), "E03")["measured_max"]


def test_without_end_offsets_e03_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(at_work(), "E03")["verdict"]


# E04


def test_ticks_on_time_hold(judge: Judge) -> None:
    assert "HOLDS" == judge(History().tick(100).tick(200, 80), "E04")["verdict"]


def test_without_ticks_e04_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "E04")["verdict"]


def clocked(*ticks: tuple[float, float], late_ms: float = 0.2) -> History:
    """Ticks at these times of the day and of the clock that nobody sets, in milliseconds."""
    history = History()
    for ms, clock_ms in ticks:
        history.add("host", at=at(ms), late_ms=late_ms, clock_us=round(clock_ms * 1e3))
    return history


@pytest.mark.parametrize(
    ("ticks", "told"),
    [
        (((100, 7_100), (200, 7_200), (300, 7_300)), ""),
        (((100, 7_100), (240, 7_200), (340, 7_300)), ""),
        (((100, 7_100), (3_200, 7_200), (3_300, 7_300)), "; the time of day was set 1 times, by"),
        (((5_000, 7_000), (5_100, 7_100), (2_200, 7_200)), "; the time of day was set 1 times, by"),
        (((100, 7_100), (200, 7_200), (1_300, 8_300)), "; ticks are missing for"),
    ],
    ids=["on time", "within the slack", "set ahead", "set back", "missing"],
)
def test_a_time_of_day_that_was_set_and_ticks_that_are_missing_are_told(
    judge: Judge, ticks: tuple[tuple[float, float], ...], told: str
) -> None:
    verdict = judge(clocked(*ticks), "E04")

    assert "HOLDS" == verdict["verdict"]  # no timing is near
    assert verdict["rows"][0]["note"].endswith(" ms late") != bool(told)
    assert told in verdict["rows"][0]["note"]


def test_an_eviction_across_a_change_of_the_time_of_day_is_not_judged(judge: Judge) -> None:
    history = History().member("member-1").says("member_added", 0, "member-1").rebalance(1, 1, 1)
    history.join("member-1", 5).heartbeats("member-1", 2_000, 4_000)
    history.says("evicted", 12_501, "member-1")
    assert "VIOLATED" == judge(history, "R01")["verdict"]

    # Long before the moment at which it was due.
    ticks = ((5_000, 5_000), (8_100, 5_100), (8_200, 5_200))
    history.rows["host"] = clocked(*ticks).rows["host"]
    (row,) = judge(history, "R01")["rows"]
    assert (None, "this machine's time of day was set by 3,000 ms") == (row["ok"], row["why"])


# E05


def kept(**journal: Any) -> History:
    """A whole record as it is since schema 4, but for what is said of one journal."""
    whole = {"frames": 9, "torn": False, "cut": False, "gaps": 0, "ending": "closed"}
    history = recorded().broker_seen(0, 1, alive=True)
    for ms in range(0, 60_000, 1_000):
        history.request("FIND_COORDINATOR", "observer", ms, member_id=None)
    for name, role in (("member-1", "consumer"), ("observer", "observer"), ("faults", "faults")):
        told = {**whole, "first_at": at(0), "last_at": at(59_000)}
        history.add("journals", journal=name, role=role, **told)
    for log in ("requests", "server"):
        history.add(
            "logs", broker=1, log=log, lines=60, unread=0, first_at=at(0), last_at=at(59_000)
        )
    history.rows["journals"][0].update(journal)
    return history


def test_a_record_that_is_whole_holds(judge: Judge) -> None:
    verdict = judge(kept(), "E05")
    assert ("HOLDS", 7) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("journal", "why"),
    [
        ({"frames": None, "torn": None, "gaps": None, "ending": None}, "is missing"),
        ({"frames": 0}, "has no whole frame"),
        ({"torn": True}, "is torn behind frame 9"),
        ({"torn": True, "ending": "killed"}, "is torn behind frame 9"),
        ({"gaps": 2}, "has frames missing, twice or out of order in 2 places"),
        ({"ending": None}, "does not say how it ended: its last frames may be missing"),
        ({"first_at": at(-90_000)}, "is of another time than the run"),
        ({"last_at": at(90_000)}, "is of another time than the run"),
    ],
)
def test_a_journal_that_is_not_whole_is_unknown(
    judge: Judge, journal: dict[str, Any], why: str
) -> None:
    verdict = judge(kept(**journal), "E05")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["unknowns"])
    assert f"journal of member-1, {why}" in verdict["reason"]


@pytest.mark.parametrize(
    "journal",
    [
        {"torn": True, "cut": True, "ending": "killed"},
        {"ending": "failed"},
        {"ending": "untold"},
    ],
)
def test_a_journal_that_says_how_it_ended_holds(judge: Judge, journal: dict[str, Any]) -> None:
    assert "HOLDS" == judge(kept(**journal), "E05")["verdict"]


def test_lines_that_nobody_knows_are_counted_by_kind_and_said(judge: Judge) -> None:
    """They are no sign that the log is not whole: what a rule needs of it is asked for besides."""
    history = kept()
    for ms, kind in ((1_000, "A: one …"), (2_000, "B: other …"), (3_000, "B: other …")):
        history.says("unknown", ms, group=None, reason=kind, text="as it was")

    verdict = judge(history, "E05")

    assert "HOLDS" == verdict["verdict"]
    notes = {row["subject"]: row["note"] for row in verdict["rows"]}
    assert notes["server log of broker-1"] == (
        "has 3 lines of 2 kinds whose texts are not known, most of them B: other …"
    )
    assert notes["request log of broker-1"] is None


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ({"lines": None}, "is missing"),
        ({"lines": 0}, "is empty"),
        (
            {"unread": 2, "example": "x:7 (cut)"},
            "has 2 lines that cannot be read, the first at x:7",
        ),
        ({"last_at": at(90_000)}, "is of another time than the run"),
    ],
)
def test_a_log_that_is_not_whole_is_unknown(judge: Judge, log: dict[str, Any], why: str) -> None:
    history = kept()
    history.rows["logs"][1].update(log)
    verdict = judge(history, "E05")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["unknowns"])
    assert f"server log of broker-1, {why}" in verdict["reason"]


def without(history: History, from_ms: float, to_ms: float) -> History:
    """The history without the requests of a while."""
    history.rows["requests"] = [
        row for row in history.rows["requests"] if not at(from_ms) < row["answered_at"] < at(to_ms)
    ]
    return history


def test_a_request_log_without_the_observer_s_questions_is_unknown(judge: Judge) -> None:
    for from_ms, to_ms in ((20_000, 25_001), (50_000, 70_000), (-1, 6_000)):
        verdict = judge(without(kept(), from_ms, to_ms), "E05")
        assert "request log of broker-1, has no question of the observer for" in verdict["reason"]


@pytest.mark.parametrize(
    ("to_ms", "ms", "what", "verdict"),
    [
        (25_400, 20_600, "broker-1", "HOLDS"),
        (25_400, 24_000, "positions of broker-1", "HOLDS"),
        (25_400, 24_000, "look", "HOLDS"),
        (25_400, 24_000, "broker-11", "HOLDS"),  # nobody was asked meanwhile
        (25_400, 19_000, "broker-1", "UNKNOWN"),
        (25_400, 26_000, "broker-1", "UNKNOWN"),
        (30_000, 24_000, "broker-1", "UNKNOWN"),
        (30_000, 24_000, "look", "UNKNOWN"),
    ],
)
def test_a_question_that_was_not_answered_excuses_its_own_half_second(
    judge: Judge, to_ms: float, ms: float, what: str, verdict: str
) -> None:
    history = without(kept(), 20_000, to_ms)
    history.request("FIND_COORDINATOR", "observer", to_ms, client_id="observer")
    history.add("topology", at=at(ms), what="unreachable", detail=f"{what}: timed out")
    assert verdict == judge(history, "E05")["verdict"]


def test_a_pause_between_two_looks_is_none(judge: Judge) -> None:
    assert "HOLDS" == judge(without(kept(), 20_000, 25_000), "E05")["verdict"]


def test_a_broker_that_is_gone_logs_nothing(judge: Judge) -> None:
    history = without(kept(), 20_000, 30_000)
    history.broker_seen(20_500, 1, alive=False).broker_seen(29_500, 1, alive=True)
    assert "HOLDS" == judge(history, "E05")["verdict"]


def test_a_broker_that_was_told_to_stop_logs_nothing_though_it_still_answers(judge: Judge) -> None:
    history = without(kept(), 20_000, 30_000).fault("stop-broker", "broker-1", 20_500, 29_500)
    assert "HOLDS" == judge(history, "E05")["verdict"]


def test_an_accepted_commit_that_no_broker_has_is_unknown(judge: Judge) -> None:
    history = kept().asked_commit("member-1", 300, 0, 10)
    verdict = judge(history, "E05")
    assert (
        "request log, lacks 1 commits that were accepted, the first of member-1"
        in (verdict["reason"])
    )
    assert "HOLDS" == judge(history.commit_request("member-1", 301, 0, 10), "E05")["verdict"]


@pytest.mark.parametrize(
    ("killed_ms", "verdict"),
    # It is answered at 302 ms: 50 ms before the kill begins at most, or before the broker is dead.
    [(301, "UNKNOWN"), (302, "HOLDS"), (353, "HOLDS"), (354, "UNKNOWN")],
)
def test_a_broker_that_is_killed_may_not_log_what_it_has_just_answered(
    judge: Judge, killed_ms: float, verdict: str
) -> None:
    history = kept().asked_commit("member-1", 300, 0, 10)
    killed = history.fault("kill-broker", "broker-1", killed_ms, killed_ms + 5_000)
    assert verdict == judge(killed, "E05")["verdict"]


@pytest.mark.parametrize("row", [{"error": 25}, {"error": None}, {"how": "external"}])
def test_a_commit_that_no_broker_has_to_have_is_none(judge: Judge, row: dict[str, Any]) -> None:
    assert "HOLDS" == judge(kept().asked_commit("member-1", 300, 0, 10, **row), "E05")["verdict"]


def test_a_departure_that_the_coordinator_does_not_tell_of_is_unknown(judge: Judge) -> None:
    history = kept().request("LEAVE_GROUP", "member-1", 300)
    assert "coordinator log, does not tell that member-1-" in judge(history, "E05")["reason"]
    assert "HOLDS" == judge(history.says("left", 301, "member-1"), "E05")["verdict"]


def test_a_departure_of_kip_848_is_one_too(judge: Judge) -> None:
    history = kept().request("CONSUMER_GROUP_HEARTBEAT", "member-1", 300, generation=-1)
    assert "UNKNOWN" == judge(history, "E05")["verdict"]
    assert "HOLDS" == judge(history.says("left", 301, "member-1"), "E05")["verdict"]


def test_a_generation_that_the_coordinator_does_not_tell_of_is_unknown(judge: Judge) -> None:
    history = kept().join("member-1", 300, 4)
    assert "does not tell of generation 4" in judge(history, "E05")["reason"]
    assert "HOLDS" == judge(history.says("stabilized", 299, generation=4), "E05")["verdict"]


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
