from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from harness.history.derived import KEPT
from tests.consumer_histories import Group, alone
from tests.histories import History, at, java, member_id

Judge = Callable[[History, str], dict[str, Any]]


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


@pytest.mark.parametrize(
    ("broker", "healed_ms", "evicted_ms", "verdict"),
    [
        ("broker-1", 12_000, 12_100, "HOLDS"),  # it evicts when it goes on
        ("broker-1", 12_000, 13_000, "HOLDS"),  # once it has worked off what waited
        ("broker-1", 12_000, 13_001, "VIOLATED"),
        ("broker-2", 12_000, 12_100, "VIOLATED"),  # another broker
        ("broker-1", 9_000, 9_900, "VIOLATED"),  # no stop makes an eviction early
    ],
)
def test_a_coordinator_that_is_stopped_evicts_when_it_goes_on(
    judge: Judge, broker: str, healed_ms: float, evicted_ms: float, verdict: str
) -> None:
    history = pair(evicted_ms=evicted_ms).fault("pause-broker", broker, 4_500, healed_ms)
    assert verdict == judge(history, "R01")["verdict"]


def test_an_eviction_of_a_stopped_coordinator_starts_its_rebalance_later(judge: Judge) -> None:
    history = pair().says("evicted", 12_100, "member-2").rebalance(13_101, 2, 1, "x")
    assert "no rebalance started" in judge(history, "R01")["reason"]
    assert "VIOLATED" == judge(history, "R20e")["verdict"]
    history.fault("pause-broker", "broker-1", 4_500, 12_101)
    for rule in ("R01", "R20b", "R20e"):
        verdict = judge(history, rule)
        assert "HOLDS" == verdict["verdict"]
        assert "its coordinator had been stopped" in verdict["reason"]


@pytest.mark.parametrize(("broker", "verdict"), [("broker-1", "HOLDS"), ("broker-2", "VIOLATED")])
def test_a_silence_while_the_coordinator_is_stopped_is_none(
    judge: Judge, broker: str, verdict: str
) -> None:
    history = pair().heartbeats("member-2", 13_000, 15_000, 17_000, 19_000)
    history.fault("pause-broker", broker, 4_500, 12_900)
    assert verdict == judge(history, "R02")["verdict"]


@pytest.mark.parametrize(
    ("answered_ms", "evicted_ms", "expected"),
    [
        (4_150, 9_999, "VIOLATED"),  # early, whenever it took effect
        (4_150, 10_000, "HOLDS"),
        (4_150, 10_200, "HOLDS"),
        (4_150, 10_201, "VIOLATED"),  # late, whenever
        # A millisecond more is more than the bounds are apart.
        (4_151, 9_999, "VIOLATED"),
        (4_151, 10_000, "UNKNOWN"),
        (4_151, 10_201, "UNKNOWN"),
        (4_151, 10_202, "VIOLATED"),
    ],
)
def test_a_heartbeat_takes_effect_between_its_arrival_and_its_answer(
    judge: Judge, answered_ms: float, evicted_ms: float, expected: str
) -> None:
    history = pair().request("HEARTBEAT", "member-2", answered_ms, arrived_at=at(4_050))
    history.says("evicted", evicted_ms, "member-2").rebalance(evicted_ms + 1, 2, 1, "x")
    assert expected == judge(history, "R01")["verdict"]


@pytest.mark.parametrize("evicted_ms", [10_133, 10_533])
def test_an_eviction_is_not_judged_by_the_moment_that_fits_it(
    judge: Judge, evicted_ms: float
) -> None:
    """A heartbeat is answered 667 ms late: one eviction 200 ms early, or late, is like another."""
    history = pair().request("HEARTBEAT", "member-2", 4_667, arrived_at=at(4_000))
    history.says("evicted", evicted_ms, "member-2").rebalance(evicted_ms + 1, 2, 1, "x")
    verdict = judge(history, "R01")
    assert ("UNKNOWN", 0) == (verdict["verdict"], verdict["violations"])
    least, most = evicted_ms - 4_667, evicted_ms - 4_000
    assert (
        f"was silent for {least} to {most} ms: its last HEARTBEAT took effect within 667 ms"
        in (verdict["reason"])
    )


def test_an_eviction_that_cannot_be_timed_starts_a_rebalance_all_the_same(judge: Judge) -> None:
    history = pair().request("HEARTBEAT", "member-2", 4_667, arrived_at=at(4_000))
    verdict = judge(history.says("evicted", 10_133, "member-2"), "R01")
    assert "no rebalance started" in verdict["reason"]


@pytest.mark.parametrize(
    ("answered_ms", "evicted_ms", "expected"),
    [
        (4_031, 10_050, "HOLDS"),
        (4_031, 10_081, "HOLDS"),  # it may have waited 30 ms, until it was answered
        (4_031, 10_082, "VIOLATED"),
        (4_161, 10_211, "UNKNOWN"),  # or 160 ms: no line tells when it was handled
        (4_161, 10_212, "VIOLATED"),
        (4_161, 9_951, "HOLDS"),  # an answer waits for replicas: its arrival counts
        (4_161, 9_950, "VIOLATED"),
    ],
)
def test_a_commit_may_wait_in_a_queue_before_it_re_arms(
    judge: Judge, answered_ms: int, evicted_ms: int, expected: str
) -> None:
    history = committed(answered_ms, evicted_ms)
    assert expected == judge(history, "R01")["verdict"]


@pytest.mark.parametrize(
    ("process", "from_ms", "to_ms", "waited_ms", "expected"),
    [
        ("broker-1", 3_500, 4_001, 501, "UNKNOWN"),
        ("broker-1", 3_500, 4_000, 501, "HOLDS"),
        ("broker-1", 4_161, 4_500, 339, "UNKNOWN"),
        ("broker-1", 4_162, 4_500, 339, "HOLDS"),
        ("broker-1", 3_500, 4_500, 1_000, "UNKNOWN"),
        ("broker-1", 3_500, 4_500, 999, "HOLDS"),  # a few threads of many
        ("broker-1", 4_100, 4_151, 51, "UNKNOWN"),
        ("broker-1", 4_100, 4_150, 50, "HOLDS"),
        ("broker-2", 3_500, 4_500, 1_000, "HOLDS"),
    ],
)
@pytest.mark.parametrize("rule", ["R01", "R02", "R16"])
def test_a_commit_counts_from_its_arrival_unless_its_broker_waited_for_a_processor(
    judge: Judge,
    rule: str,
    process: str,
    from_ms: float,
    to_ms: float,
    waited_ms: float,
    expected: str,
) -> None:
    history = committed(4_161, 10_001).waited(process, from_ms, to_ms, waited_ms)
    verdict = judge(history, rule)
    assert expected == verdict["verdict"]
    if expected == "UNKNOWN":
        assert f"{KEPT} brokers waiting for a processor for" in verdict["reason"]


OPEN: Final = "(eviction), was silent for 5899 to 6059 ms"


@pytest.mark.parametrize(
    ("waits", "begins"),
    [
        ([], OPEN),
        ([("broker-2", 3_900, 4_000, 100)], OPEN),  # before the commit came
        ([("broker-2", 4_000, 4_100, 50)], OPEN),
        ([("broker-2", 4_000, 4_100, 51)], f"{KEPT} brokers waiting for a processor for 51 ms"),
        ([("broker-1", 4_000, 4_100, 30), ("broker-2", 4_000, 4_100, 30)], f"{KEPT} brokers"),
        ([("member-1", 4_000, 4_100, 100)], OPEN),
    ],
)
def test_a_commit_that_is_answered_late_tells_what_brokers_waited(
    judge: Judge, waits: list[tuple[str, float, float, float]], begins: str
) -> None:
    """Those who replicate it as well: the answer waits for them."""
    history = committed(4_161, 10_060)
    for wait in waits:
        history.waited(*wait)
    verdict = judge(history, "R01")
    assert "UNKNOWN" == verdict["verdict"]
    assert begins in verdict["reason"]


def committed(answered_ms: int, evicted_ms: int) -> History:
    """member-2 is last heard by a commit of 4,001 ms."""
    history = pair().commit_request(
        "member-2", 4_001, 0, 10, processed_at=at(answered_ms), answered_at=at(answered_ms)
    )
    return history.says("evicted", evicted_ms, "member-2").rebalance(evicted_ms + 1, 2, 1, "x")


# A JoinGroup that is given up has no line: the coordinator shows that it had waited.


def given_up(*, told_ms: float = 4_000, formed_ms: float = 24_000) -> History:
    """member-3 joins at 3 s, and waits for member-2; member-1 is told, and not heard of again."""
    history = History().member("member-1").member("member-2").rebalance(0, 1, 2)
    for member in ("member-1", "member-2"):
        history.says("member_added", 0, member).join(member, 5)
        history.heartbeats(member, 2_000)
    history.says("member_added", 3_000, "member-3")
    history.says("rebalance_started", 3_000, generation=1, reason="Adding new member member-3")
    history.heartbeats("member-2", *range(4_000, 40_000, 2_000), error_code=27)
    history.heartbeats("member-1", told_ms, error_code=27)
    history.join("member-3", formed_ms, 2, arrived_at=at(3_000))
    history.heartbeats("member-3", *range(25_000, 40_000, 2_000), generation=2)
    return history.join("member-2", formed_ms, 2, arrived_at=at(formed_ms))


@pytest.mark.parametrize(
    ("told_ms", "joined_ms", "members", "removed", "verdict"),
    [
        (4_000, 20_000, 3, None, "HOLDS"),
        # Before the phase it was silent for longer than its session, or after it.
        (2_000, 20_000, 3, None, "HOLDS"),
        (4_000, 30_050, 3, None, "HOLDS"),
        (4_000, 30_051, 3, None, "VIOLATED"),
        # It is none of the generation.
        (4_000, 20_000, 2, None, "VIOLATED"),
        (4_000, 30_000, 2, None, "VIOLATED"),
    ],
)
def test_who_is_one_of_the_generation_had_joined(
    judge: Judge,
    told_ms: float,
    joined_ms: float,
    members: int,
    removed: str | None,
    verdict: str,
) -> None:
    """It closes the connection, and joins once more: that is answered with the others'."""
    history = given_up(told_ms=told_ms).says("stabilized", 24_000, generation=2, members=members)
    history.join("member-1", max(24_000, joined_ms), 2, arrived_at=at(joined_ms))
    history.heartbeats("member-1", *range(int(joined_ms), 40_000, 2_000), generation=2)
    for rule in ("R01", "R02"):
        found = judge(history, rule)
        wrong = [row for row in found["rows"] if row["ok"] is False]
        assert (verdict == "VIOLATED") == bool(wrong), rule
        assert all("member-1" in row["subject"] for row in wrong)


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"),
    [(29_949, "VIOLATED"), (29_950, "HOLDS"), (30_050, "HOLDS"), (30_051, "VIOLATED")],
)
def test_who_gave_its_join_up_has_a_session_from_the_end_of_the_phase(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    history = given_up().says("stabilized", 24_000, generation=2, members=3)
    history.says("evicted", evicted_ms, "member-1").rebalance(evicted_ms + 1, 3, 2, "x")
    assert verdict == judge(history, "R01")["verdict"]


def static(history: History) -> History:
    """The same history of a static member-1, which stays though it has not joined."""
    for row in history.rows["requests"]:
        if row["client_id"] == "member-1":
            row["instance_id"] = "one"
    return history


@pytest.mark.parametrize(("joined_ms", "wrong"), [(20_000, 0), (30_050, 0), (30_051, 1)])
def test_a_static_member_may_have_joined_as_well(
    judge: Judge, joined_ms: float, wrong: int
) -> None:
    history = given_up().says("stabilized", 24_000, generation=2, members=3)
    history.join("member-1", max(24_000, joined_ms), 2, arrived_at=at(joined_ms))
    history.heartbeats("member-1", *range(int(joined_ms), 40_000, 2_000), generation=2)
    for rule in ("R01", "R02"):
        assert wrong == judge(static(history), rule)["violations"], rule


@pytest.mark.parametrize(
    ("heard_ms", "evicted_ms", "verdict"),
    [
        (4_000, 30_000, "UNKNOWN"),
        (20_000, 25_949, "VIOLATED"),
        (20_000, 26_000, "HOLDS"),  # it had not
        (20_000, 28_000, "UNKNOWN"),
        (20_000, 30_050, "UNKNOWN"),
        (20_000, 30_051, "VIOLATED"),
    ],
)
def test_the_session_of_a_static_member_counts_from_its_last_sign_or_the_end_of_the_phase(
    judge: Judge, heard_ms: float, evicted_ms: float, verdict: str
) -> None:
    history = given_up().says("stabilized", 24_000, generation=2, members=3)
    history.heartbeats("member-1", *range(6_000, int(heard_ms) + 1, 2_000), error_code=27)
    history.says("evicted", evicted_ms, "member-1").rebalance(evicted_ms + 1, 3, 2, "x")
    assert verdict == judge(static(history), "R01")["verdict"]


@pytest.mark.parametrize(("started_ms", "verdict"), [(7_050, "HOLDS"), (7_051, "VIOLATED")])
def test_a_phase_that_never_ends_is_held_against_nobody(
    judge: Judge, started_ms: float, verdict: str
) -> None:
    history = History().member("member-1").member("member-2").rebalance(0, 1, 2)
    for member in ("member-1", "member-2"):
        history.says("member_added", 0, member).join(member, 1_000)
    history.says("rebalance_started", started_ms, generation=1, reason="x")
    history.heartbeats("member-2", *range(2_000, 20_001, 2_000), error_code=27)
    assert verdict == judge(history, "R02")["verdict"]


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
    whys = {row["why"] for row in verdict["rows"]}
    assert "no sign of life before the eviction is on record" in whys


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


@pytest.mark.parametrize(
    ("evicted_ms", "waits", "verdict"),
    [
        (10_100, [("broker-1", 9_500, 10_500, 50)], "UNKNOWN"),
        (10_101, [("broker-1", 9_500, 10_500, 50)], "VIOLATED"),  # later than it waited
        (10_101, [("broker-1", 9_500, 10_500, 50), ("member-2", 9_500, 10_500, 1)], "UNKNOWN"),
        (10_101, [("broker-1", 9_500, 10_500, 50), ("member-1", 9_500, 10_500, 900)], "VIOLATED"),
        (10_101, [("broker-2", 9_500, 10_500, 900)], "VIOLATED"),
        (10_101, [("producer-1", 9_500, 10_500, 900)], "VIOLATED"),
        (10_101, [("broker-1", 9_100, 10_100, 25), ("broker-1", 10_100, 11_100, 26)], "UNKNOWN"),
        (10_100, [("broker-1", 8_000, 9_000, 500)], "VIOLATED"),  # before
        (9_900, [("toxiproxy", 9_500, 10_500, 50)], "UNKNOWN"),  # the heartbeat was read late
        (9_899, [("toxiproxy", 9_500, 10_500, 50)], "VIOLATED"),
        (10_050, [("broker-1", 9_500, 10_500, 500)], "HOLDS"),  # it was on time all the same
    ],
)
def test_what_a_process_waited_for_a_processor_is_in_doubt(
    judge: Judge, evicted_ms: float, waits: list[tuple[str, float, float, float]], verdict: str
) -> None:
    history = pair(evicted_ms=evicted_ms)
    for process, from_ms, to_ms, waited_ms in waits:
        history.waited(process, from_ms, to_ms, waited_ms)
    assert verdict == judge(history, "R01")["verdict"]


@pytest.mark.parametrize(("last_ms", "verdict"), [(9_050, "UNKNOWN"), (9_051, "VIOLATED")])
def test_no_wait_is_longer_than_the_look_at_it(judge: Judge, last_ms: float, verdict: str) -> None:
    """The silence may be 6,050 ms long; older runs say of a second that somebody waited for 9."""
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 2_000, last_ms).waited("broker-1", 8_000, 9_000, 9_000)
    assert verdict == judge(history, "R02")["verdict"]


def test_who_waited_longest_is_named(judge: Judge) -> None:
    history = pair(evicted_ms=10_120).waited("member-2", 9_500, 10_500, 51)
    verdict = judge(history.waited("broker-1", 9_400, 10_400, 64.4), "R01")
    assert "this machine kept broker-1 waiting for a processor for 64 ms" in verdict["reason"]


def test_what_violates_by_more_than_a_time_is_not_in_doubt(judge: Judge) -> None:
    history = pair().says("evicted", 10_001, "member-2").waited("broker-1", 9_500, 10_500, 900)
    assert "no rebalance started" in judge(history, "R01")["reason"]


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


@pytest.mark.parametrize(("started_ms", "verdict"), [(11_001, "HOLDS"), (11_002, "VIOLATED")])
def test_a_rebalance_follows_an_eviction(judge: Judge, started_ms: float, verdict: str) -> None:
    """One that is late for lack of a processor is withheld by R20b and R20e."""
    history = pair().says("evicted", 10_001, "member-2").rebalance(started_ms, 2, 1)
    assert verdict == judge(history, "R01")["verdict"]


@pytest.mark.parametrize(("bumped_ms", "verdict"), [(1_250, "HOLDS"), (1_251, "VIOLATED")])
def test_in_kip_848_the_next_epoch_follows_an_eviction(
    judge: Judge, bumped_ms: float, verdict: str
) -> None:
    """As the first rebalance of a broker it may take 250 ms longer."""
    history: Group = alone().joins("member-2", 2_000, 3).beat("member-2", 4_000, 3)
    history.group = {"protocol": "consumer"}
    for ms in range(2_000, 20_000, 2_000):
        history.beat("member-1", ms, 2)
    history.says("evicted", 10_001, "member-2", reason="session").bumped(10_001 + bumped_ms, 4)
    assert verdict == judge(history, "X19")["verdict"]


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


@pytest.mark.parametrize(("ms", "verdict"), [(8_050, "HOLDS"), (8_051, "VIOLATED")])
def test_a_member_survives_a_session_and_slack_at_most(
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


# R16


def test_each_removal_with_its_timer_holds(judge: Judge) -> None:
    history = java().says("evicted", 10_001, "member-1")
    assert "HOLDS" == judge(history, "R16")["verdict"]
    left = java().told("member-1", "stall_started", 3_000, duration_ms=90_000.0)
    assert "HOLDS" == judge(left.says("left", 63_001, "member-1"), "R16")["verdict"]
    closed = java().told("member-1", "closing", 5_000).says("left", 5_010, "member-1")
    assert "HOLDS" == judge(closed, "R16")["verdict"]


def test_an_eviction_before_the_session_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(java().says("evicted", 8_000, "member-1"), "R16")["verdict"]


def test_a_member_that_leaves_without_a_reason_violates(judge: Judge) -> None:
    history = java().told("member-1", "stall_started", 3_000, duration_ms=20_000.0)
    verdict = judge(history.says("left", 9_000, "member-1"), "R16")
    assert "VIOLATED" == verdict["verdict"]
    assert "before one of its timers ran out" in verdict["reason"]


@pytest.mark.parametrize(("left_ms", "verdict"), [(62_750, "HOLDS"), (62_749, "VIOLATED")])
def test_a_callback_that_does_not_return_is_no_poll_either(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    history = java().told("member-1", "callback_stall_started", 3_000, duration_ms=90_000.0)
    assert verdict == judge(history.says("left", left_ms, "member-1"), "R16")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_950, "HOLDS"), (9_949, "VIOLATED")])
def test_an_eviction_needs_a_session_but_for_the_slack(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(java().says("evicted", ms, "member-1"), "R16")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("closing", 9_002, "member-1", "HOLDS"),  # stamps are rounded
        ("closing", 9_003, "member-1", "VIOLATED"),
        ("closing", 8_000, "member-2", "VIOLATED"),
        ("lost", 8_000, "member-1", "VIOLATED"),
    ],
)
def test_who_leaves_has_closed_before(
    judge: Judge, event: str, ms: float, member: str, verdict: str
) -> None:
    history = java().told(member, event, ms).says("left", 9_000, "member-1")
    assert verdict == judge(history, "R16")["verdict"]


@pytest.mark.parametrize(
    ("duration_ms", "left_ms", "verdict"),
    [
        (90_000, 62_750, "HOLDS"),
        (90_000, 62_749, "VIOLATED"),
        (60_000, 63_000, "HOLDS"),
        (59_999, 63_000, "VIOLATED"),  # it polls again before
    ],
)
def test_who_leaves_has_not_polled_for_its_longest_interval(
    judge: Judge, duration_ms: float, left_ms: float, verdict: str
) -> None:
    history = java().told("member-1", "stall_started", 3_000, duration_ms=duration_ms)
    history.told("member-1", "stall_started", 10_000, duration_ms=90_000.0)
    history.told("member-1", "closing", 70_000).told("member-1", "revoked", 0, duration_ms=9e9)
    judged = judge(history.says("left", left_ms, "member-1"), "R16")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_only_evictions_and_leaves_of_members_that_are_known_are_examined(judge: Judge) -> None:
    history = java().says("left", 9_000, "observer").says("replaced", 9_000, "member-1")
    assert "UNKNOWN" == judge(history, "R16")["verdict"]


@pytest.mark.parametrize("rule", ["R16"])
def test_nothing_to_examine_is_unknown(judge: Judge, rule: str) -> None:
    history = History(group={"client": "java"}).member("member-1", client="java")
    verdict = judge(history.says("member_added", 0, "member-1"), rule)
    assert "UNKNOWN" == verdict["verdict"]
    assert member_id("member-1") not in verdict["reason"]
