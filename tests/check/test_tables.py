from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from harness.tables.engines.base import Engine
from tests.histories import TOPIC, History, at, member_id, tables_of


def rows(history: History, engine: Engine, table: str) -> list[dict[str, Any]]:
    tables = tables_of(history, engine)
    try:
        found: list[dict[str, Any]] = tables.table(table).toArrow().to_pylist()
    finally:
        tables.close()
    return found


def by_time(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: row["at"])


@pytest.mark.parametrize(
    ("kind", "resolved", "how", "gone"),
    [
        ("kill-broker", "broker-1", None, True),
        ("pause-broker", "broker-1", None, True),
        ("stop-broker", "broker-1", None, True),
        ("isolate-broker", "broker-1", None, True),
        ("isolate-broker", "broker-1", "peers", True),
        ("isolate-broker", "broker-1", "lanes", False),
        ("pause-broker", "controller-101", None, False),
        ("kill-consumer", "member-1", None, False),
    ],
)
def test_a_broker_is_gone_for_the_others_by_some_faults_only(
    engine: Engine, kind: str, resolved: str, how: str | None, gone: bool
) -> None:
    history = History().fault(kind, resolved, 5_000, parameters=json.dumps({"how": how}))
    assert gone == (len(rows(history, engine, "broker_faults")) == 1)


def test_a_rebalance_tells_who_caused_it_and_what_moved(engine: Engine) -> None:
    reason = f"Adding new member {member_id('member-2')} with group instance id null"
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1, leader=member_id("member-1"))
    history.sync("member-1", 15, 1, gives=[("member-1", 0), ("member-1", 1)])
    history.rebalance(5_000, 2, 2, reason).join("member-1", 5_005, 2, protocol_name="range")
    history.join("member-2", 5_001, 2)
    history.sync("member-1", 5_020, 2, gives=[("member-1", 0), ("member-2", 1)])
    history.sync("member-2", 5_031, 2).told("member-1", "revoked", 5_003, [0, 1])
    first, second = rows(history, engine, "rebalances")
    assert ("join", "member-2", "range") == (
        second["trigger"], second["trigger_member"], second["assignor"]
    )  # fmt: skip
    assert (1, 1, 2) == tuple(second[f"partitions_{what}"] for what in ("moved", "kept", "revoked"))
    assert (31, "member-1", 1, 2) == (
        second["duration_ms"], second["leader"], second["members_before"], second["members_after"],
    )  # fmt: skip
    assert (0, 0) == (first["partitions_moved"], first["partitions_kept"])


def test_a_rebalance_is_complete_when_each_of_its_members_was_told_once(
    engine: Engine,
) -> None:
    """member-2 looks twice; member-1 comes back under another id, and is told the same."""
    history = History().rebalance(5_000, 1, 2)
    history.join("member-1", 5_005, 1).join("member-2", 5_009, 1)
    history.sync("member-1", 5_020, 1).sync("member-2", 5_400, 1)
    history.join("member-2", 6_200, 1).sync("member-2", 6_210, 1)
    history.join("member-1", 8_000, 1, life=2).sync("member-1", 8_010, 1, life=2)
    (rebalance,) = rows(history, engine, "rebalances")
    assert (at(5_400), 400) == (rebalance["completed_at"], rebalance["duration_ms"])


def test_a_join_whose_answer_or_line_is_late_belongs_to_its_rebalance(engine: Engine) -> None:
    """Stabilized at 5,010; its request's times count back from when its line was stamped."""
    history = History().rebalance(5_000, 1, 2)
    history.join("member-1", 5_060, 1).sync("member-1", 5_070, 1)
    history.join("member-2", 5_061, 1).sync("member-2", 5_400, 1)
    history.join("member-3", 5_300, 1, arrived_at=at(5_004)).sync("member-3", 5_310, 1)
    (rebalance,) = rows(history, engine, "rebalances")
    assert at(5_310) == rebalance["completed_at"]


def test_a_rebalance_that_nobody_finished_has_no_end(engine: Engine) -> None:
    (rebalance,) = rows(History().rebalance(0, 1, 1), engine, "rebalances")
    assert rebalance["completed_at"] is None
    assert rebalance["duration_ms"] is None


def test_an_emptied_group_is_a_generation_too(engine: Engine) -> None:
    history = History().says("rebalance_started", 10, generation=1, reason="explicit `LeaveGroup`")
    (rebalance,) = rows(history.says("emptied", 11, generation=2), engine, "rebalances")
    assert (2, "leave", 0, 1) == (
        rebalance["generation"], rebalance["trigger"], rebalance["members_after"],
        rebalance["duration_ms"],
    )  # fmt: skip


def test_a_standstill_is_the_longest_gap_that_touches_the_rebalance(engine: Engine) -> None:
    history = History().rebalance(5_000, 1, 1).sync("member-1", 5_020, 1)
    history.delivered("member-1", 0, 0, 9, 1_000).delivered("member-1", 0, 10, 19, 4_000, 4_900)
    history.delivered("member-2", 0, 20, 29, 5_400).delivered("member-2", 0, 30, 39, 9_000)
    (rebalance,) = rows(history, engine, "rebalances")
    assert [{"topic": TOPIC, "partition": 0, "ms": 500.0}] == rebalance["standstills"]


def test_a_partition_processed_through_a_rebalance_does_not_stand_still(
    engine: Engine,
) -> None:
    history = History().rebalance(5_000, 1, 1).sync("member-1", 5_020, 1)
    history.delivered("member-1", 0, 0, 9, 4_000, 6_000).delivered("member-1", 0, 10, 19, 6_000)
    (rebalance,) = rows(history, engine, "rebalances")
    assert rebalance["longest_standstill_ms"] is None


def test_a_stalled_members_partition_stands_still_whatever_the_member_believes(
    engine: Engine,
) -> None:
    history = History().member("member-1", process_us=1_000).rebalance(5_000, 1, 1)
    history.sync("member-2", 5_020, 1).delivered("member-1", 0, 0, 9, 4_000, 12_000)
    (rebalance,) = rows(history.delivered("member-2", 0, 0, 9, 5_400), engine, "rebalances")
    assert 1_390 == rebalance["longest_standstill_ms"]


def test_ownership_ends_with_the_process_that_was_killed(engine: Engine) -> None:
    history = History().member("member-1", end="killed", ended_at=at(7_000))
    (held,) = rows(history.told("member-1", "assigned", 100, [0]), engine, "ownership")
    assert (at(7_000), "killed", None) == (held["to_at"], held["ended_by"], held["removed_at"])


@pytest.mark.parametrize(
    ("kind", "how", "end", "to_at"),
    [
        ("kill-consumer", None, "killed", at(7_000)),
        ("kill-consumer", "in a transaction", "killed", at(7_000)),
        ("bounce-consumer", "kill", "killed", at(7_000)),
        # What the harness has to kill at the end of a run is no fault's doing.
        ("bounce-consumer", "close", "killed", None),
        ("freeze-consumer", None, "killed", None),
        ("kill-consumer", None, None, None),
    ],
)
def test_a_killed_member_without_a_last_word_holds_until_the_fault(
    engine: Engine, kind: str, how: str | None, end: str | None, to_at: datetime | None
) -> None:
    history = History().member("member-1", end=end, ended_at=None).member("member-2")
    history.told("member-1", "assigned", 100, [0, 1]).told("member-1", "revoked", 6_000, [1])
    history.fault(kind, "member-1", 7_000, parameters=json.dumps({"how": how}))
    history.fault("kill-consumer", "member-2", 5_000).join("member-1", 0)
    history.says("evicted", 13_000, "member-1").told("member-2", "assigned", 14_000, [0])
    held = rows(history, engine, "ownership")
    removed_at = None if to_at else at(13_000)
    assert [
        (to_at, end, removed_at),
        (at(60_000), "closed", None),
        (at(6_000), "revoked", None),
    ] == [(row["to_at"], row["ended_by"], row["removed_at"]) for row in held]


def test_a_kill_that_nobody_saw_to_the_end_counts_from_its_beginning(engine: Engine) -> None:
    history = History().member("member-1", end="killed", ended_at=None)
    history.told("member-1", "assigned", 100, [0]).fault("kill-consumer", "member-1", 7_000)
    history.rows["faults"] = [row for row in history.rows["faults"] if row["phase"] != "injected"]
    (held,) = rows(history, engine, "ownership")
    assert at(6_999) == held["to_at"]


def test_ownership_knows_from_when_its_holder_is_a_zombie(engine: Engine) -> None:
    history = History().member("member-1").join("member-1", 0).says("evicted", 6_000, "member-1")
    history.told("member-1", "assigned", 100, [0]).told("member-1", "lost", 9_000, [0])
    (held,) = rows(history, engine, "ownership")
    assert (at(6_000), "lost") == (held["removed_at"], held["ended_by"])


def test_records_delivered_three_times_are_redelivered_twice(engine: Engine) -> None:
    history = History()
    for number, ms in enumerate((100, 200, 300), start=1):
        history.delivered(f"member-{number}", 0, 0, 9, ms)
    again = rows(history, engine, "redeliveries")
    assert [("member-1", "member-2", 10), ("member-2", "member-3", 10)] == [
        (row["first_member"], row["member"], row["count"]) for row in again
    ]


def test_a_hole_that_is_filled_later_is_no_redelivery(engine: Engine) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-1", 0, 20, 29, 200)
    assert [] == rows(history.delivered("member-2", 0, 10, 19, 300), engine, "redeliveries")


def test_only_the_overlap_of_two_ranges_is_redelivered(engine: Engine) -> None:
    history = History().delivered("member-1", 0, 0, 2_999, 100)
    history.commit_request("member-1", 150, 0, 2_500)
    (again,) = rows(history.delivered("member-2", 0, 2_500, 3_999, 300), engine, "redeliveries")
    assert (2_500, 2_999, 500, 2_500, True) == tuple(
        again[name] for name in ("first_offset", "last_offset", "count", "committed", "explained")
    )


def test_what_lies_between_two_ranges_that_come_again_is_no_redelivery(engine: Engine) -> None:
    """0 to 9, 5 to 14 and 1,020 to 1,029 come again; 15 to 1,019 come for the first time."""
    history = History().delivered("member-1", 0, 0, 9, 100).delivered("member-3", 0, 5, 14, 150)
    history.delivered("member-1", 0, 1_020, 1_029, 200)
    _, again = rows(history.delivered("member-2", 0, 0, 1_039, 300), engine, "redeliveries")
    assert (0, 1_029, 15 + 10) == tuple(
        again[name] for name in ("first_offset", "last_offset", "count")
    )


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (25, "the commit of 10 was refused with error 25"),
        (None, "the commit of 10 was never answered"),
    ],
)
def test_a_redelivery_names_the_commit_that_did_not_cover_it(
    engine: Engine, error: int | None, why: str
) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100)
    history.asked_commit("member-1", 150, 0, 10, error=error)
    if error:
        history.commit_request("member-1", 151, 0, 10, error=error)
    (again,) = rows(history.delivered("member-2", 0, 0, 9, 300), engine, "redeliveries")
    assert (10, error, why) == (again["try_committed"], again["try_error_code"], again["why"])


def test_a_redelivery_that_nobody_committed_says_so(engine: Engine) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100).commit_request("member-1", 50, 0, 5)
    (again,) = rows(history.delivered("member-2", 0, 5, 9, 300), engine, "redeliveries")
    assert (None, "no commit of them was asked for") == (again["try_committed"], again["why"])


def test_a_redelivery_after_a_deletion_says_so(engine: Engine) -> None:
    gone = {"topic": TOPIC, "partition": 0, "committed": -1, "error_code": 0}
    history = History().delivered("member-1", 0, 0, 9, 100).commit_request("member-1", 150, 0, 10)
    history.request("OFFSET_DELETE", "observer", 200, positions=[gone])
    (again,) = rows(history.delivered("member-2", 0, 0, 9, 300), engine, "redeliveries")
    assert (None, True) == (again["committed"], again["explained"])
    assert "10 was committed, and deleted" == again["why"]


def test_commits_are_judged_by_what_the_coordinator_knew(engine: Engine) -> None:
    history = History().join("member-1", 0).rebalance(0, 1, 1)
    history.commit_request("member-1", 100, 0, 10).rebalance(5_000, 2, 1)
    history.says("evicted", 6_000, "member-1").commit_request("member-1", 7_000, 0, 20, error=25)
    first, second = by_time(rows(history, engine, "commits_judged"))
    assert (1, None, None) == (
        first["group_generation"], first["previous_committed"], first["removed_at"]
    )  # fmt: skip
    assert (2, 10, at(6_000)) == (
        second["group_generation"], second["previous_committed"], second["removed_at"]
    )  # fmt: skip


def test_a_group_epoch_is_a_rebalance(engine: Engine) -> None:
    """member-2's join moves t-1; the epoch of a third join is passed over."""
    history = History(group={"protocol": "consumer"})
    api = "CONSUMER_GROUP_HEARTBEAT"
    first, both = (
        {"topic": TOPIC, "partition": 0},
        [{"topic": TOPIC, "partition": number} for number in (0, 1)],
    )
    history.says("member_added", 0, "member-1", reason="joins")
    history.says("epoch_bumped", 1, generation=1, reason="metadata hash 1")
    history.says("target_computed", 2, generation=1, reason="uniform")
    history.request(api, "member-1", 3, generation=0, member_epoch=1, assigned=both)
    history.says("member_added", 5_000, "member-2", reason="joins")
    history.says("epoch_bumped", 5_001, generation=2, reason="metadata hash 1")
    history.says("epoch_bumped", 5_500, generation=3, reason="metadata hash 2")
    history.says("target_computed", 6_000, generation=3, reason="uniform")
    history.request(api, "member-2", 6_002, generation=0, member_epoch=3, assigned=[])
    history.request(api, "member-1", 7_000, generation=1, member_epoch=1, assigned=[first])
    history.request(api, "member-1", 7_100, generation=1, member_epoch=3, owned=[first])
    history.request(api, "member-2", 8_000, generation=3, member_epoch=3, assigned=both[1:])

    before, row = rows(history, engine, "rebalances")

    assert (1, "join", 1) == (before["generation"], before["trigger"], before["members_after"])
    assert (3, "join", "member-2", "consumer", "uniform") == tuple(
        row[name] for name in ("generation", "trigger", "trigger_member", "protocol", "assignor")
    )
    assert (at(5_001), at(6_000), at(7_100), at(8_000)) == tuple(
        row[name] for name in ("started_at", "joined_at", "synced_at", "completed_at")
    )
    assert (1, 1) == (row["partitions_moved"], row["partitions_kept"])
    assert (1, 2) == (row["members_before"], row["members_after"])


def test_new_partitions_trigger_a_group_epoch(engine: Engine) -> None:
    history = History(group={"protocol": "consumer"})
    for ms, epoch, topics in ((0, 1, "metadata hash 1"), (5_000, 2, "metadata hash 2")):
        history.says("epoch_bumped", ms, generation=epoch, reason=topics)
        history.says("target_computed", ms + 1, generation=epoch, reason="uniform")

    triggers = [row["trigger"] for row in rows(history, engine, "rebalances")]

    assert ["other", "metadata"] == triggers


def test_a_member_that_came_back_under_its_id_is_no_zombie(engine: Engine) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1")
    history.says("member_added", 0, "member-1").says("evicted", 6_000, "member-1")
    history.says("member_added", 8_000, "member-1")
    for ms in (5_000, 7_000, 9_000):
        history.commit_request("member-1", ms, 0, ms)

    removed = [row["removed_at"] for row in by_time(rows(history, engine, "commits_judged"))]

    assert [None, at(6_000), None] == removed


def test_stragglers_are_removed_members(engine: Engine) -> None:
    both = f"[{member_id('member-1')}, {member_id('member-2')}]"
    history = History().says("stragglers_removed", 9_000, reason=both)
    removed = {row["member"]: row["removed_by"] for row in rows(history, engine, "memberships")}
    assert {"member-1": "stragglers_removed", "member-2": "stragglers_removed"} == removed


@pytest.mark.parametrize(
    ("accepted", "removed_by"),
    [
        ((), "forgotten"),
        ((("JOIN_GROUP", 2_000, 79),), "forgotten"),
        ((("JOIN_GROUP", 2_000, 0),), "forgotten"),  # its generation was not complete yet
        ((("SYNC_GROUP", 3_000, 0),), None),
        ((("HEARTBEAT", 3_000, 0),), None),
        ((("HEARTBEAT", 3_000, 27),), "forgotten"),
        ((("HEARTBEAT", 9_500, 27),), None),  # the next coordinator knows it
        ((("CONSUMER_GROUP_HEARTBEAT", 3_000, 0),), None),  # KIP-848 stores it at once
    ],
)
def test_a_member_that_only_a_dead_coordinator_knew_is_forgotten(
    engine: Engine, accepted: tuple[tuple[str, float, int], ...], removed_by: str | None
) -> None:
    history = History().says("rebalance_started", 0).says("member_added", 2_000, "member-1")
    history.says("rebalance_started", 2_001).says("loaded", 9_000, broker=2)
    for api, ms, error in accepted:
        history.request(api, "member-1", ms, error_code=error, broker=1 if ms < 9_000 else 2)
    [row] = rows(history, engine, "memberships")
    assert removed_by == row["removed_by"]
    assert (removed_by is None) == (row["removed_at"] is None)


def test_a_member_is_not_forgotten_while_its_coordinator_is_the_same(engine: Engine) -> None:
    history = History().says("rebalance_started", 0).says("member_added", 2_000, "member-1")
    [row] = rows(history, engine, "memberships")
    assert row["removed_by"] is None


@pytest.mark.parametrize(
    ("ticks", "from_ms"),
    [
        ([(1_340, 60)], 1_180),
        # More ticks of its row were late: it began with the row before.
        ([(900, 0.2), (1_000, 0.2), (1_340, 60), (1_440, 0.2)], 1_000),
        ([(1_200, 0.2), (1_340, 60)], 1_180),
    ],
)
def test_a_late_tick_is_looked_for_in_its_whole_row(
    engine: Engine, ticks: list[tuple[float, float]], from_ms: float
) -> None:
    history = History()
    for ms, late_ms in ticks:
        history.tick(ms, late_ms)
    (late,) = rows(history, engine, "late_ticks")
    assert (at(from_ms), at(1_340), 60) == (late["from_at"], late["to_at"], late["late_ms"])
