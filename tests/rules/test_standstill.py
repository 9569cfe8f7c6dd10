from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, beat, member_id

Judge = Callable[[History, str], dict[str, Any]]


def joined(*durations_ms: float, protocol: str = "eager") -> History:
    """member-2 joins member-1's group at 5,000; the rounds of the rebalance take so long each."""
    history = History(group={"protocol": protocol}).rebalance(0, 1, 1).join("member-1", 5, 1)
    history.member("member-1", process_us=1_000, batch_records=100)
    history.member("member-2", process_us=1_000, batch_records=50)
    history.member("producer", role="producer", process_us=10_000, batch_records=100)
    history.sync("member-1", 20, 1).tick(5_000).tick(6_000)
    reason = f"Adding new member {member_id('member-2')} with group instance id null"
    started, generation = 5_000.0, 1
    for ms in durations_ms:
        history.says("rebalance_started", started, generation=generation, reason=reason)
        generation += 1
        history.says("stabilized", started + ms, generation=generation, members=2)
        history.sync("member-1", started + ms + 10, generation)
        history.told("member-1", "revoked", started + ms + 20, [0])
        reason = f"Updating metadata for member {member_id('member-1')} during Stable"
        started += ms + 30
    return history


def joined_by_epochs(history: History) -> History:
    """member-2 joins member-1's group of KIP-848 at 5,000, and has its part at 8,000."""
    for number, ms in ((1, 0), (2, 5_000)):
        history.says("member_added", ms, f"member-{number}")
        history.says("epoch_bumped", ms, generation=number, reason="hash")
        history.says("target_computed", ms, generation=number, reason="uniform")
    beat(history, "member-1", 0, 0, 1, 0, 1)
    beat(history, "member-2", 5_000, 0, 2)
    beat(history, "member-1", 6_000, 1, 2, 0)
    beat(history, "member-2", 8_000, 2, 2, 1)
    return history


def test_a_join_within_a_heartbeat_interval_holds(judge: Judge) -> None:
    verdict = judge(joined(1_900), "X34")
    assert ("HOLDS", 0.95, 1) == tuple(
        verdict[name] for name in ("verdict", "measured_max", "examined")
    )


def test_a_join_that_takes_longer_violates(judge: Judge) -> None:
    verdict = judge(joined(2_800), "X34")
    assert ("VIOLATED", 1.35) == (verdict["verdict"], verdict["bound_high"])


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "to_ms", "examined"),
    [
        ("latency", "members", 4_000, 20_000, 0),
        ("latency", "members", 4_000, 4_999, 1),
        ("latency", "members", 4_000, 5_000, 0),  # until the moment in which it begins
        ("kill-broker", "broker-1", 7_801, 20_000, 0),
        ("kill-broker", "broker-1", 7_802, 20_000, 1),
        ("freeze-consumer", "member-1", 4_000, 6_000, 0),
        ("freeze-consumer", "member-2", 4_000, 6_000, 1),  # for which nobody waited
        ("kill-consumer", "member-3", 4_000, None, 1),
    ],
)
def test_a_join_that_waits_for_heartbeats_that_a_fault_holds_up_is_not_examined(
    judge: Judge, kind: str, resolved: str, from_ms: float, to_ms: float | None, examined: int
) -> None:
    history = joined(2_800).join("member-2", 5_001, 2).member("member-3")
    history.fault(kind, resolved, from_ms, to_ms)
    assert examined == judge(history, "X34")["examined"]


@pytest.mark.parametrize(("ms", "verdict"), [(2_700, "HOLDS"), (2_701, "VIOLATED")])
def test_a_round_may_take_an_interval_and_the_work_of_a_batch(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(joined(ms), "X34")["verdict"]


@pytest.mark.parametrize(
    ("ms", "late_ms", "verdict"),
    [
        (1_900, 90, "HOLDS"),
        (2_600, 99, "HOLDS"),
        (2_600, 101, "UNKNOWN"),
        (2_800, 101, "UNKNOWN"),
        (2_800, 99, "VIOLATED"),
    ],
)
def test_a_machine_that_stood_still_spoils_only_what_it_could_have_changed(
    judge: Judge, ms: float, late_ms: float, verdict: str
) -> None:
    assert verdict == judge(joined(ms).tick(7_000, late_ms=late_ms), "X34")["verdict"]


def test_intervals_are_told_to_the_thousandth(judge: Judge) -> None:
    history = joined(1_900.7)
    history.rows["members"][0]["process_us"] = 1_234
    verdict = judge(history, "X34")
    assert (0.95, 1.362) == (verdict["measured_max"], verdict["bound_high"])
    assert "1 round among 2 members" == verdict["rows"][0]["why"]


def test_members_whose_work_is_not_declared_take_no_time(judge: Judge) -> None:
    history = joined(1_900)
    history.rows["members"] = []
    assert 1.3 == judge(history, "X34")["bound_high"]


def test_the_first_member_changes_no_group_that_had_members(judge: Judge) -> None:
    history = History()
    reason = f"Adding new member {member_id('member-2')} with group instance id null"
    history.rebalance(1_000, 1, 1, reason).sync("member-1", 1_020, 1)
    history.rebalance(1_015, 2, 2, reason).sync("member-1", 1_040, 2)
    assert 0 == judge(history, "X34")["examined"]


def test_a_rebalance_that_no_change_of_the_group_caused_is_not_examined(judge: Judge) -> None:
    assert 0 == judge(joined().rebalance(5_000, 2, 1), "X34")["examined"]


def test_each_change_within_an_episode_has_its_rounds(judge: Judge) -> None:
    history = joined(100)
    reason = f"Adding new member {member_id('member-3')} with group instance id null"
    history.rows["requests"][-1]["answered_at"] = at(5_200)  # the next begins before that
    history.says("rebalance_started", 5_150, generation=2, reason=reason)
    history.says("stabilized", 5_250, generation=3, members=3).sync("member-1", 5_260, 3)
    history.join("member-2", 5_050, 2).join("member-3", 5_200, 3)
    verdict = judge(history, "X34")
    assert ("HOLDS", 1, 2.7) == (verdict["verdict"], verdict["examined"], verdict["bound_high"])
    assert "2 rounds among 3 members" == verdict["rows"][0]["why"]
    assert "join of member-2, generation 3" == verdict["rows"][0]["subject"]


@pytest.mark.parametrize(
    ("event", "from_ms", "to_ms", "examined"),
    [
        ("stall_started", 1_000, 5_000, 1),
        ("stall_started", 1_000, 5_001, 0),
        ("stall_started", 6_899, 9_000, 0),
        ("stall_started", 6_900, 9_000, 1),
        ("callback_stall_started", 4_500, 9_000, 0),
        ("closing", 4_500, 9_000, 1),
    ],
)
def test_only_a_stall_that_the_rebalance_falls_into_excuses_it(
    judge: Judge, event: str, from_ms: float, to_ms: float, examined: int
) -> None:
    history = joined(1_900).told("member-1", event, from_ms, duration_ms=float(to_ms - from_ms))
    assert examined == judge(history, "X34")["examined"]


@pytest.mark.parametrize(
    ("ms", "examined"), [(5_000, 1), (5_001, 0), (6_900, 0), (6_902, 0), (6_903, 1)]
)
def test_a_rebalance_that_waits_for_a_silent_members_session_is_not_examined(
    judge: Judge, ms: float, examined: int
) -> None:
    history = joined(1_900).says("evicted", ms, "member-3")
    assert examined == judge(history, "X34")["examined"]


def test_in_the_consumer_protocol_a_change_lasts_until_the_last_part_is_told(judge: Judge) -> None:
    verdict = judge(joined_by_epochs(History(group={"protocol": "consumer"})), "X34")
    assert ("HOLDS", 1.5, 2.6) == (
        verdict["verdict"], verdict["measured_max"], verdict["bound_high"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("client", "steady_ms", "examined"),
    [("java", 5_000, 1), ("java", 5_001, 0), ("librdkafka", 5_001, 1)],
)
def test_the_gathering_of_java_members_in_the_consumer_protocol_is_not_examined(
    judge: Judge, client: str, steady_ms: float, examined: int
) -> None:
    history = History(group={"protocol": "consumer", "client": client}, steady_ms=steady_ms)
    assert examined == judge(joined_by_epochs(history), "X34")["examined"]


def test_a_join_that_waits_for_a_stalled_member_is_not_examined(judge: Judge) -> None:
    history = joined(8_000).told("member-1", "stall_started", 4_500, duration_ms=8_000.0)
    assert "UNKNOWN" == judge(history, "X34")["verdict"]
    before = joined(1_900).told("member-1", "stall_started", 1_000, duration_ms=3_000.0)
    assert "HOLDS" == judge(before, "X34")["verdict"]


def test_a_cooperative_join_may_have_a_second_round(judge: Judge) -> None:
    assert "HOLDS" == judge(joined(1_900, 1_900, protocol="cooperative"), "X34")["verdict"]


def test_a_third_round_violates(judge: Judge) -> None:
    verdict = judge(joined(100, 100, 100, protocol="cooperative"), "X34")
    assert "VIOLATED" == verdict["verdict"]
    assert "3 rounds among 2 members" in verdict["reason"]


@pytest.mark.parametrize(
    ("error_code", "ms", "generation", "verdict"),
    [
        (27, 5_120, 2, "HOLDS"),
        (0, 5_120, 2, "VIOLATED"),  # it has its part
        (27, 4_999, 2, "VIOLATED"),  # of another generation of that number
        (27, 5_120, 1, "VIOLATED"),  # of one before
    ],
)
def test_a_member_whose_sync_was_refused_needs_another_round(
    judge: Judge, error_code: int, ms: float, generation: int, verdict: str
) -> None:
    history = joined(100, 100, 100, protocol="cooperative")
    history.sync("member-2", ms, generation, error_code=error_code)
    assert verdict == judge(history, "X34")["verdict"]


def test_a_generation_that_nobody_has_a_part_of_needs_no_round_more(judge: Judge) -> None:
    history = joined(100, 100, 100, protocol="cooperative")
    for request in history.rows["requests"]:
        if request["api"] == "SYNC_GROUP" and request["generation"] == 2:
            request["error_code"] = 27
    assert "VIOLATED" == judge(history, "X34")["verdict"]


def test_where_no_group_changed_x34_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().rebalance(0, 1, 1), "X34")["verdict"]


def test_an_epoch_that_was_overtaken_is_not_over_before_the_next(judge: Judge) -> None:
    """member-3 joins before member-2 has its part: one change and the other are one episode."""
    history = History(group={"protocol": "consumer"})

    for number, ms in ((1, 0), (2, 5_000), (3, 6_500)):
        history.says("member_added", ms, f"member-{number}")
        history.says("epoch_bumped", ms, generation=number, reason="hash")
        history.says("target_computed", ms, generation=number, reason="uniform")
    beat(history, "member-1", 0, 0, 1, 0, 1, 2)
    beat(history, "member-2", 5_000, 0, 2)
    beat(history, "member-3", 6_500, 0, 3)
    beat(history, "member-1", 7_000, 1, 3, 0)
    beat(history, "member-2", 9_000, 2, 3, 1)
    beat(history, "member-3", 10_500, 3, 3, 2)
    verdict = judge(history, "X34")
    assert ("HOLDS", 1, 2.75, 5.2) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"], verdict["bound_high"]
    )  # fmt: skip


def test_an_epoch_of_changed_topics_that_overtakes_has_its_intervals_too(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"})
    for number, ms, topics in ((1, 0, "hash"), (2, 5_000, "hash"), (3, 6_500, "other")):
        if number < 3:
            history.says("member_added", ms, f"member-{number}")
        history.says("epoch_bumped", ms, generation=number, reason=topics)
        history.says("target_computed", ms, generation=number, reason="uniform")
    beat(history, "member-1", 0, 0, 1, 0, 1, 2)
    beat(history, "member-2", 5_000, 0, 2)
    beat(history, "member-1", 7_000, 1, 3, 0, 3)
    beat(history, "member-2", 10_500, 2, 3, 1, 2)
    verdict = judge(history, "X34")
    assert ("HOLDS", 1, 2.75, 5.2) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"], verdict["bound_high"]
    )  # fmt: skip
