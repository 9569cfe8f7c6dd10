from __future__ import annotations

from tests.histories import TOPIC, History, at, member_id
from tests.tables.rows import Rows


def test_a_rebalance_tells_who_caused_it_and_what_moved(rows: Rows) -> None:
    reason = f"Adding new member {member_id('member-2')} with group instance id null"
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1, leader=member_id("member-1"))
    history.sync("member-1", 15, 1, gives=[("member-1", 0), ("member-1", 1)])
    history.rebalance(5_000, 2, 2, reason).join("member-1", 5_005, 2, protocol_name="range")
    history.join("member-2", 5_001, 2)
    history.sync("member-1", 5_020, 2, gives=[("member-1", 0), ("member-2", 1)])
    history.sync("member-2", 5_031, 2).told("member-1", "revoked", 5_003, [0, 1])
    first, second = rows(history, "rebalances")
    assert ("join", "member-2", "range") == (
        second["trigger"], second["trigger_member"], second["assignor"]
    )  # fmt: skip
    assert (1, 1, 2) == tuple(second[f"partitions_{what}"] for what in ("moved", "kept", "revoked"))
    assert (31, "member-1", 1, 2) == (
        second["duration_ms"], second["leader"], second["members_before"], second["members_after"],
    )  # fmt: skip
    assert (0, 0) == (first["partitions_moved"], first["partitions_kept"])


def test_a_rebalance_is_complete_when_each_of_its_members_was_told_once(
    rows: Rows,
) -> None:
    """member-2 looks twice; member-1 comes back under another id, and is told the same."""
    history = History().rebalance(5_000, 1, 2)
    history.join("member-1", 5_005, 1).join("member-2", 5_009, 1)
    history.sync("member-1", 5_020, 1).sync("member-2", 5_400, 1)
    history.join("member-2", 6_200, 1).sync("member-2", 6_210, 1)
    history.join("member-1", 8_000, 1, life=2).sync("member-1", 8_010, 1, life=2)
    (rebalance,) = rows(history, "rebalances")
    assert (at(5_400), 400) == (rebalance["completed_at"], rebalance["duration_ms"])


def test_a_join_whose_answer_or_line_is_late_belongs_to_its_rebalance(rows: Rows) -> None:
    """Stabilized at 5,010; its request's times count back from when its line was stamped."""
    history = History().rebalance(5_000, 1, 2)
    history.join("member-1", 5_060, 1).sync("member-1", 5_070, 1)
    history.join("member-2", 5_061, 1).sync("member-2", 5_400, 1)
    history.join("member-3", 5_300, 1, arrived_at=at(5_004)).sync("member-3", 5_310, 1)
    (rebalance,) = rows(history, "rebalances")
    assert at(5_310) == rebalance["completed_at"]


def test_a_rebalance_that_nobody_finished_has_no_end(rows: Rows) -> None:
    (rebalance,) = rows(History().rebalance(0, 1, 1), "rebalances")
    assert rebalance["completed_at"] is None
    assert rebalance["duration_ms"] is None


def test_an_emptied_group_is_a_generation_too(rows: Rows) -> None:
    history = History().says("rebalance_started", 10, generation=1, reason="explicit `LeaveGroup`")
    (rebalance,) = rows(history.says("emptied", 11, generation=2), "rebalances")
    assert (2, "leave", 0, 1) == (
        rebalance["generation"], rebalance["trigger"], rebalance["members_after"],
        rebalance["duration_ms"],
    )  # fmt: skip


def test_a_standstill_is_the_longest_gap_that_touches_the_rebalance(rows: Rows) -> None:
    history = History().rebalance(5_000, 1, 1).sync("member-1", 5_020, 1)
    history.delivered("member-1", 0, 0, 9, 1_000).delivered("member-1", 0, 10, 19, 4_000, 4_900)
    history.delivered("member-2", 0, 20, 29, 5_400).delivered("member-2", 0, 30, 39, 9_000)
    (rebalance,) = rows(history, "rebalances")
    assert [{"topic": TOPIC, "partition": 0, "ms": 500.0}] == rebalance["standstills"]


def test_a_partition_processed_through_a_rebalance_does_not_stand_still(
    rows: Rows,
) -> None:
    history = History().rebalance(5_000, 1, 1).sync("member-1", 5_020, 1)
    history.delivered("member-1", 0, 0, 9, 4_000, 6_000).delivered("member-1", 0, 10, 19, 6_000)
    (rebalance,) = rows(history, "rebalances")
    assert rebalance["longest_standstill_ms"] is None


def test_a_stalled_members_partition_stands_still_whatever_the_member_believes(
    rows: Rows,
) -> None:
    history = History().member("member-1", process_us=1_000).rebalance(5_000, 1, 1)
    history.sync("member-2", 5_020, 1).delivered("member-1", 0, 0, 9, 4_000, 12_000)
    (rebalance,) = rows(history.delivered("member-2", 0, 0, 9, 5_400), "rebalances")
    assert 1_390 == rebalance["longest_standstill_ms"]


def test_a_group_epoch_is_a_rebalance(rows: Rows) -> None:
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

    before, row = rows(history, "rebalances")

    assert (1, "join", 1) == (before["generation"], before["trigger"], before["members_after"])
    assert (3, "join", "member-2", "consumer", "uniform") == tuple(
        row[name] for name in ("generation", "trigger", "trigger_member", "protocol", "assignor")
    )
    assert (at(5_001), at(6_000), at(7_100), at(8_000)) == tuple(
        row[name] for name in ("started_at", "joined_at", "synced_at", "completed_at")
    )
    assert (1, 1) == (row["partitions_moved"], row["partitions_kept"])
    assert (1, 2) == (row["members_before"], row["members_after"])


def test_new_partitions_trigger_a_group_epoch(rows: Rows) -> None:
    history = History(group={"protocol": "consumer"})
    for ms, epoch, topics in ((0, 1, "metadata hash 1"), (5_000, 2, "metadata hash 2")):
        history.says("epoch_bumped", ms, generation=epoch, reason=topics)
        history.says("target_computed", ms + 1, generation=epoch, reason="uniform")

    triggers = [row["trigger"] for row in rows(history, "rebalances")]

    assert ["other", "metadata"] == triggers
