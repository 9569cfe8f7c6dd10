"""Where the time went while a partition stood still: every part, and that they add up."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, member_id
from tests.tables.table_rows import Rows, in_order

PARTS = ("idle", "commit", "detection", "notice", "revoke", "join", "sync", "first_fetch", "other")


def stops_of(history: History, rows: Rows) -> list[dict[str, Any]]:
    return in_order(rows(history, "stops"), "partition")


def parts(row: dict[str, Any]) -> dict[str, float]:
    """The parts that are not null, in milliseconds."""
    return {name: row[f"{name}_ms"] for name in PARTS if row[f"{name}_ms"] is not None}


def working(*members: str, protocol: str = "eager") -> History:
    """A group in its first generation since 0: member-n has had partition n-1 until 4,900."""
    history = History(group={"protocol": protocol}).rebalance(0, 1, len(members))
    for number, member in enumerate(members):
        history.member(member).join(member, 5).sync(member, 20)
        history.event(member, "assigned", 30, [number])
        for n in range(11):
            history.delivered(member, number, n * 10, n * 10 + 9, 3_899 + n * 100)
    return history


def eager_join() -> History:
    """member-3 joins at 5,000; partition 1 goes from member-2 to it, partition 0 is kept."""
    history = working("member-1", "member-2")
    history.member("member-3").fault("start-consumer", "member-3", 4_000)
    history.says("member_added", 5_000, "member-3")
    reason = f"Adding new member {member_id('member-3')} with group instance id null"
    history.says("rebalance_started", 5_000, generation=1, reason=reason)
    history.join("member-3", 4_999, 2)
    for member, number, heard in (("member-1", 0, 5_500), ("member-2", 1, 6_000)):
        history.heartbeats(member, heard, error_code=27)
        history.event(member, "revoked", heard + 40, [number])
        history.join(member, heard + 50, 2)
    history.says("stabilized", 6_060, generation=2, members=3)
    history.says("assignment_received", 6_070, "member-1", generation=2)
    for member, number in (("member-1", 0), ("member-3", 1)):
        given = [{"topic": TOPIC, "partition": number}]
        history.sync(member, 6_075, 2, assigned=given)
        history.event(member, "assigned", 6_080, [number], generation=2)
    history.delivered("member-1", 0, 110, 119, 5_400)
    history.delivered("member-1", 0, 120, 129, 6_200)
    history.delivered("member-2", 1, 110, 119, 5_900)
    return history.delivered("member-3", 1, 120, 129, 6_300)


def crash() -> History:
    """member-2 is killed at 5,000 and evicted at 10,000; member-1 takes over."""
    history = working("member-1", "member-2").fault("kill-consumer", "member-2", 5_001)
    history.says("evicted", 10_000, "member-2")
    reason = f"removing member {member_id('member-2')} on heartbeat expiration."
    history.says("rebalance_started", 10_000, generation=1, reason=reason)
    history.heartbeats("member-1", 11_000, error_code=27)
    history.event("member-1", "revoked", 11_000, [0]).join("member-1", 11_010, 2)
    history.says("stabilized", 11_010, generation=2, members=1)
    history.says("assignment_received", 11_015, "member-1", generation=2)
    given = [{"topic": TOPIC, "partition": number} for number in (0, 1)]
    history.sync("member-1", 11_020, 2, assigned=given)
    history.event("member-1", "assigned", 11_030, [0, 1], generation=2)
    for n in range(61):
        history.delivered("member-1", 0, 110 + n, 110 + n, 4_999 + n * 100)
    history.delivered("member-1", 0, 171, 180, 11_100)
    return history.delivered("member-1", 1, 105, 120, 11_200)


def cooperative_join() -> History:
    """member-3 joins at 5,000; member-2 keeps partition 1 and gives up 2 in a second round."""
    history = working("member-1", "member-2", protocol="cooperative").member("member-3")
    history.event("member-2", "assigned", 30, [2]).delivered("member-2", 2, 0, 9, 5_399)
    reason = f"Adding new member {member_id('member-3')} with group instance id null"
    history.says("rebalance_started", 5_000, generation=1, reason=reason)
    history.join("member-3", 4_999, 2)
    for member in ("member-1", "member-2"):
        history.heartbeats(member, 5_500, error_code=27).join(member, 5_505, 2)
    history.says("stabilized", 5_510, generation=2, members=3)
    history.says("assignment_received", 5_515, "member-1", generation=2)
    for member in ("member-1", "member-2", "member-3"):
        history.sync(member, 5_520, 2)
    history.delivered("member-2", 2, 10, 19, 5_529)
    history.event("member-2", "revoked", 5_600, [2], generation=2)
    again = f"Updating metadata for member {member_id('member-2')} during Stable"
    history.join("member-2", 5_610, 3)
    history.says("rebalance_started", 5_611, generation=2, reason=again)
    history.heartbeats("member-1", 7_000, error_code=27, generation=2).join("member-1", 7_005, 3)
    history.heartbeats("member-3", 7_500, error_code=27, generation=2).join("member-3", 7_505, 3)
    history.says("stabilized", 7_510, generation=3, members=3)
    history.says("assignment_received", 7_515, "member-1", generation=3)
    for member in ("member-1", "member-2"):
        history.sync(member, 7_520, 3)
    history.sync("member-3", 7_520, 3, assigned=[{"topic": TOPIC, "partition": 2}])
    history.event("member-3", "assigned", 7_530, [2], generation=3)
    history.delivered("member-2", 1, 110, 119, 5_650).asked_commit("member-2", 5_651, 1, 120)
    history.rows["commits"][-1]["answered_at"] = at(7_515)
    history.delivered("member-2", 1, 120, 129, 7_551)
    return history.delivered("member-3", 2, 20, 29, 7_600)


def broker_kill() -> History:
    """The broker that leads partition 0 dies at 5,000; another leads from 6,000 on."""
    history = working("member-1", "member-2").fault("kill-broker", "broker-3", 5_001, 9_000)
    for ms, leader in ((0, 3), (6_000, 1)):
        history.add(
            "topology", at=at(ms), what="partition", topic=TOPIC, partition=0, leader=leader
        )
    history.delivered("member-1", 0, 110, 119, 6_400)
    return history.delivered("member-2", 1, 110, 119, 5_000)


def bounce() -> History:
    """member-2 closes at 5,000; at 7,000 member-3 has its place, and nobody rebalances.

    Before its first records come, member-1 is stalled.
    """
    history = working("member-1", "member-2").member("member-3")
    parameters = json.dumps({"how": "close"})
    history.fault("bounce-consumer", "member-2", 5_001, 7_100, parameters=parameters)
    history.event("member-2", "closing", 5_001).event("member-2", "revoked", 5_002, [1])
    history.says("replaced", 7_000, "member-2").fault("stall-consumer", "member-1", 7_150, 9_000)
    history.join("member-3", 7_001).sync("member-3", 7_010)
    history.event("member-3", "assigned", 7_050, [1])
    for n in range(24):
        history.delivered("member-1", 0, 110 + n, 110 + n, 4_999 + n * 100)
    return history.delivered("member-3", 1, 110, 119, 7_200)


def without_notice() -> History:
    """`eager_join`, but no heartbeat is on record that told of it."""
    history = eager_join()
    requests = history.rows["requests"]
    history.rows["requests"] = [row for row in requests if row["error_code"] != 27]
    return history


def quiet() -> History:
    return working("member-1", "member-2")


HISTORIES: tuple[Callable[[], History], ...] = (
    eager_join,
    crash,
    cooperative_join,
    broker_kill,
    bounce,
    without_notice,
    quiet,
)
Stops = Callable[[Callable[[], History]], list[dict[str, Any]]]


@pytest.fixture
def stops(rows: Rows) -> Stops:
    """The table of one of HISTORIES, derived once."""
    return cache(lambda history: stops_of(history(), rows))


@pytest.mark.parametrize("history", HISTORIES[:-1])
def test_the_parts_add_up_to_the_standstill(history: Callable[[], History], stops: Stops) -> None:
    found = stops(history)
    assert found
    for row in found:
        assert row["ms"] == pytest.approx(sum(parts(row).values()), abs=0.01)
        assert min(parts(row).values()) >= 0


def test_a_join_costs_what_lies_between_the_moments(stops: Stops) -> None:
    kept, moved = stops(eager_join)
    # Processed until 5,901; heard at 6,000, given up at 6,040, all joined at 6,060, given at 6,080.
    expected = {
        "idle": 0, "detection": 0, "notice": 99, "revoke": 40, "join": 20, "sync": 20,
        "first_fetch": 220, "other": 0,
    }  # fmt: skip
    assert expected == parts(moved)
    assert ("member-2", "member-3", "member-2") == tuple(
        moved[name] for name in ("old_member", "new_member", "waited_for")
    )
    # Its owner heard at once, and waited half a second for the other.
    assert ("member-1", "member-1", True) == tuple(
        kept[name] for name in ("old_member", "new_member", "stopped")
    )
    assert (99, 40, 520) == (kept["notice_ms"], kept["revoke_ms"], kept["join_ms"])
    assert ("start-consumer", "member-3", 2, 1) == tuple(
        moved[name] for name in ("cause", "subject", "generation", "rounds")
    )


def test_a_crash_costs_the_silence_and_then_the_others_heartbeat(stops: Stops) -> None:
    kept, orphan = stops(crash)
    expected = {
        "idle": 100, "detection": 5_000, "notice": 1_000, "revoke": 10, "join": 0, "sync": 20,
        "first_fetch": 170, "other": 0,
    }  # fmt: skip
    assert expected == parts(orphan)
    assert ("kill-consumer", "member-2", "expiry") == tuple(
        orphan[name] for name in ("cause", "subject", "trigger")
    )
    assert 100 == kept["ms"]
    assert (5, 0) == (orphan["redelivered"], kept["redelivered"])


def test_both_rounds_of_a_cooperative_join_are_one_stop(stops: Stops) -> None:
    _, moved = stops(cooperative_join)
    assert (3, 2, "join") == tuple(moved[name] for name in ("generation", "rounds", "trigger"))
    # Processed until 5,530, though it had heard at 5,500: it gave up at 5,600.
    assert (0, 0, 70, 1_910, 20, 70) == tuple(
        moved[f"{name}_ms"]
        for name in ("detection", "notice", "revoke", "join", "sync", "first_fetch")
    )
    assert (moved["given_up_at"], moved["joined_at"]) == (at(5_600), at(7_510))


def test_a_kept_partition_stands_still_behind_its_members_commit(stops: Stops) -> None:
    kept, _ = stops(cooperative_join)
    assert {"idle": 36, "commit": 1_864, "other": 0} == parts(kept)
    assert kept["assigned_at"] is None


@pytest.mark.parametrize(
    ("asked_ms", "answered_ms", "waited_ms"),
    [
        (7_551, 7_600, None),
        (7_550, 7_600, 1),
        (5_500, 5_651, None),
        (5_500, 5_652, 1),
        (5_000, 9_000, 1_900),
    ],
)
def test_a_commit_is_waited_for_within_the_stop(
    rows: Rows, asked_ms: float, answered_ms: float, waited_ms: float | None
) -> None:
    """It is from 5,651 to 7,551 ms."""
    history = cooperative_join()
    history.rows["commits"][-1].update(asked_at=at(asked_ms), answered_at=at(answered_ms))
    kept, _ = stops_of(history, rows)
    assert (at(5_651), at(7_551)) == (kept["from_at"], kept["to_at"])
    assert (waited_ms, 1_900 - (waited_ms or 0)) == (kept["commit_ms"], kept["idle_ms"])


@pytest.mark.parametrize(("ms", "stopped"), [(50, False), (50.5, True), (50.9, True)])
def test_where_no_time_is_usual_more_than_the_slack_is_a_stop(
    rows: Rows, ms: float, stopped: bool
) -> None:
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 1_000, 1_000)
    history.rebalance(1_010, 1, 1).delivered("member-1", 0, 10, 19, 1_000 + ms, 1_000 + ms)
    (row,) = stops_of(history, rows)
    assert (ms, None, stopped) == (row["ms"], row["usual_ms"], row["stopped"])


def test_a_stop_without_a_rebalance_names_the_fault(stops: Stops) -> None:
    (stop,) = stops(broker_kill)
    assert (None, 0, "kill-broker", "broker-3", 0) == tuple(
        stop[name] for name in ("generation", "rounds", "cause", "subject", "partition")
    )
    assert (100, 1_000, 400) == (stop["idle_ms"], stop["detection_ms"], stop["first_fetch_ms"])


def test_a_static_member_that_comes_back_stops_its_partitions_without_a_rebalance(
    stops: Stops,
) -> None:
    (stop,) = stops(bounce)
    assert (None, None, "bounce-consumer", "member-2", 1) == tuple(
        stop[name] for name in ("episode", "generation", "cause", "subject", "partition")
    )
    assert ("member-2", "member-3", at(5_002), at(7_050), True) == tuple(
        stop[name] for name in ("old_member", "new_member", "given_up_at", "assigned_at", "stopped")
    )
    # Away from 5,000 on; what lies between its end and its successor's callback has no name.
    assert {"idle": 100, "first_fetch": 150, "other": 2_050} == parts(stop)


def test_a_quiet_run_has_no_stops(stops: Stops) -> None:
    assert [] == stops(quiet)


def test_what_is_not_on_record_goes_to_the_rest(stops: Stops) -> None:
    moved = stops(without_notice)[1]
    assert (None, None, 139) == (moved["notice_ms"], moved["revoke_ms"], moved["other_ms"])
