from __future__ import annotations

from typing import Any

import pytest

from tests.consumer_histories import Group, alone
from tests.histories import TOPIC, History, at, member_id, parts
from tests.tables.table_rows import Rows, in_order


def test_a_rebalance_tells_who_caused_it_and_what_moved(rows: Rows) -> None:
    reason = f"Adding new member {member_id('member-2')} with group instance id null"
    history = History().rebalance(0, 1, 1).join("member-1", 5, 1, leader=member_id("member-1"))
    history.sync("member-1", 15, 1, gives=[("member-1", 0), ("member-1", 1)])
    history.rebalance(5_000, 2, 2, reason).join("member-1", 5_005, 2, protocol_name="range")
    history.join("member-2", 5_001, 2)
    history.sync("member-1", 5_020, 2, gives=[("member-1", 0), ("member-2", 1)])
    history.sync("member-2", 5_031, 2).event("member-1", "revoked", 5_003, [0, 1])
    first, second = in_order(rows(history, "rebalances"), "joined_at")
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

    before, row = in_order(rows(history, "rebalances"), "joined_at")

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

    found = in_order(rows(history, "rebalances"), "joined_at")
    triggers = [row["trigger"] for row in found]

    assert ["other", "metadata"] == triggers


def test_a_rebalance_began_with_the_last_line_that_says_so(rows: Rows) -> None:
    """Of its old generation, on its broker, and not after its end."""
    lines: list[tuple[float, str, dict[str, Any]]] = [
        (1_000, "Adding new member first", {}),
        (2_000, "explicit `LeaveGroup`", {}),
        (2_100, "removing member on heartbeat expiration", {"broker": 2}),
        (2_200, "removing member on heartbeat expiration", {"generation": 7}),
        (3_001, "removing member on heartbeat expiration", {}),
    ]
    history = History()
    for ms, reason, row in lines:
        history.says("rebalance_started", ms, reason=reason, **{"generation": 0, **row})
    (rebalance,) = rows(history.says("stabilized", 3_000, generation=1, members=1), "rebalances")
    assert (at(2_000), "explicit `LeaveGroup`", "leave") == tuple(
        rebalance[name] for name in ("started_at", "reason", "trigger")
    )


def test_the_member_of_the_last_such_line_caused_it(rows: Rows) -> None:
    history = History()
    for ms, member in ((2_000, "member-2"), (1_000, "member-1")):
        history.says("rebalance_started", ms, member, generation=0, reason="because")
    (rebalance,) = rows(history.says("stabilized", 3_000, generation=1, members=1), "rebalances")
    assert member_id("member-2") == rebalance["trigger_member_id"]


def test_a_partition_without_a_pause_has_no_standstill(rows: Rows) -> None:
    """It is read again in the moment in which all before was worked off."""
    history = History().rebalance(5_000, 1, 1).sync("member-1", 5_020, 1)
    history.delivered("member-1", 0, 0, 9, 5_005, 5_010).delivered("member-1", 0, 10, 19, 5_010)
    assert [] == rows(history, "standstills")


def modern() -> History:
    """Two members of a group of KIP-848, whose target of epoch 2 is there at 5,000 ms."""
    history = History(group={"protocol": "consumer"})
    for member in ("member-1", "member-2"):
        history.says("member_added", 0, member, reason="joins")
    history.says("epoch_bumped", 4_000, generation=2, reason="metadata hash 1")
    return history.says("target_computed", 5_000, generation=2, reason="uniform")


def told(history: History, member: str, ms: float, *given: int, **row: Any) -> None:
    """An answer to a heartbeat of epoch 2, of 10 ms."""
    row = {"generation": 2, "member_epoch": 2, "assigned": parts(*given) or None, **row}
    history.request("CONSUMER_GROUP_HEARTBEAT", member, ms, answered_at=at(ms + 10), **row)


def epoch(history: History, rows: Rows) -> tuple[Any, ...]:
    """The members of the first epoch, and when all were told it, and their last change of it."""
    first, *_ = in_order(rows(history, "epochs"), "joined_at")
    return first["members"], first["synced_at"], first["completed_at"]


def test_an_epoch_is_complete_with_the_last_change_of_an_assignment(rows: Rows) -> None:
    """What a member is told again changes nothing; what it had before is a change."""
    history = modern()
    told(history, "member-1", 6_000, 0, 1)
    told(history, "member-2", 6_500, 2)
    assert (2, at(6_510), at(6_510)) == epoch(history, rows)
    told(history, "member-1", 7_000, 1, 0)
    told(history, "member-1", 7_100)
    assert (2, at(6_510), at(6_510)) == epoch(history, rows)
    told(history, "member-1", 8_000, 0)
    told(history, "member-1", 9_000, 0, 1)
    assert (2, at(6_510), at(9_010)) == epoch(history, rows)


@pytest.mark.parametrize(
    "row",
    [
        {"error_code": 110},
        {"generation": -1},
        {"member_epoch": 1},
        {"processed_at": at(4_999)},
    ],
)
def test_a_refusal_a_goodbye_or_another_epoch_tells_nobody_of_it(
    rows: Rows, row: dict[str, Any]
) -> None:
    history = modern()
    told(history, "member-1", 6_000, 0)
    told(history, "member-2", 6_500, 2, **row)
    assert (2, None, None) == epoch(history, rows)


def test_a_member_that_goes_before_the_next_need_not_be_told(rows: Rows) -> None:
    """Who is removed by then, or came later, is none of its members."""
    history = modern().says("evicted", 5_000, "member-3").says("member_added", 5_001, "member-4")
    history.says("member_added", 100, "member-3").says("evicted", 7_000, "member-2")
    told(history, "member-1", 6_000, 0)
    history.says("epoch_bumped", 7_001, generation=3, reason="metadata hash 1")
    history.says("target_computed", 7_100, generation=3, reason="uniform")
    assert (2, at(6_010), at(6_010)) == epoch(history, rows)


def test_what_is_asked_once_the_next_target_is_there_is_of_that(rows: Rows) -> None:
    history = modern().says("target_computed", 9_000, generation=3, reason="uniform")
    told(history, "member-1", 6_000, 0)
    told(history, "member-2", 9_000, 1)
    assert (2, None, None) == epoch(history, rows)


def test_a_classic_member_is_told_by_its_sync(rows: Rows) -> None:
    history = modern()
    told(history, "member-1", 6_000, 0)
    history.request("SYNC_GROUP", "member-2", 6_400, generation=2, assigned=parts(1))
    assert (2, at(6_400), at(6_400)) == epoch(history, rows)


def test_an_epoch_without_members_has_none_to_tell(rows: Rows) -> None:
    history = History(group={"protocol": "consumer"})
    history.says("target_computed", 5_000, generation=2, reason="uniform")
    assert (0, None, None) == epoch(history, rows)


@pytest.mark.parametrize(("removed_ms", "due"), [(8_999, False), (9_000, True)])
def test_a_member_is_to_be_told_unless_it_goes_before_the_next_target(
    rows: Rows, removed_ms: float, due: bool
) -> None:
    history = modern().says("evicted", removed_ms, "member-2")
    history.says("target_computed", 9_000, generation=3, reason="uniform")
    told(history, "member-1", 6_000, 0)
    assert (2, None if due else at(6_010)) == epoch(history, rows)[:2]


@pytest.mark.parametrize(("processed_ms", "changed"), [(8_999, True), (9_000, False)])
def test_a_change_is_of_the_epoch_until_the_next_target(
    rows: Rows, processed_ms: float, changed: bool
) -> None:
    """Asked for before it."""
    history = modern().says("target_computed", 9_000, generation=3, reason="uniform")
    told(history, "member-1", 6_000, 0)
    told(history, "member-2", 6_100, 1)
    told(history, "member-1", 8_990, 0, 2, processed_at=at(processed_ms))
    assert (at(9_000) if changed else at(6_110)) == epoch(history, rows)[2]


def test_a_rebalance_may_begin_and_be_told_in_the_moment_of_its_end(rows: Rows) -> None:
    """And of several assignments of a leader the first counts."""
    history = History().says("rebalance_started", 3_000, generation=0, reason="Adding new member")
    history.says("stabilized", 3_000, generation=1, members=1)
    for ms, member in ((3_000, "member-1"), (3_500, "member-2")):
        history.says("assignment_received", ms, member, generation=1)
    (rebalance,) = rows(history, "rebalances")
    assert (at(3_000), at(3_000), member_id("member-1")) == tuple(
        rebalance[name] for name in ("started_at", "synced_at", "leader_member_id")
    )


@pytest.mark.parametrize(
    ("arrived_ms", "joined", "completed_ms"), [(3_050, 2, 4_000), (3_051, 1, 3_100)]
)
def test_a_join_whose_line_is_late_by_the_slack_is_of_the_generation(
    rows: Rows, arrived_ms: float, joined: int, completed_ms: float
) -> None:
    """Who comes later is only told what it has."""
    history = History().says("rebalance_started", 2_000, generation=0, reason="Adding new member")
    history.says("stabilized", 3_000, generation=1, members=1)
    history.join("member-1", 2_500).sync("member-1", 3_100)
    history.join("member-2", 3_060, arrived_at=at(arrived_ms)).sync("member-2", 4_000)
    (generation,) = rows(history, "generations")
    assert (joined, at(completed_ms)) == (generation["joined"], generation["completed_at"])


@pytest.mark.parametrize(
    ("ms", "event", "revoked"),
    [
        (100, "revoked", 0),
        (101, "revoked", 1),
        (5_010, "lost", 1),
        (5_011, "lost", 0),
        (3_000, "assigned", 0),
    ],
)
def test_what_was_given_up_since_the_one_before_was_complete(
    rows: Rows, ms: float, event: str, revoked: int
) -> None:
    """That was at 100 ms, and this one at 5,010."""
    history = History().rebalance(0, 1, 1).join("member-1", 5).sync("member-1", 100)
    history.rebalance(5_000, 2, 1).event("member-1", event, ms, [0])
    first, second = in_order(rows(history, "rebalances"), "joined_at")
    assert revoked == second["partitions_revoked"]
    assert int(ms == 100) == first["partitions_revoked"]


def test_the_assignor_and_the_leader_are_those_of_the_joins(rows: Rows) -> None:
    """Where members were told several, the last by the alphabet."""
    history = History().says("stabilized", 3_000, generation=1, members=2)
    for member, name in (("member-1", "range"), ("member-2", "roundrobin")):
        history.join(member, 2_500, protocol_name=name, leader=member_id(member))
    history.join("member-3", 2_500, protocol_name="sticky", error_code=79, leader="z")
    (rebalance,) = rows(history, "rebalances")
    assert ("roundrobin", member_id("member-2"), "member-2") == tuple(
        rebalance[name] for name in ("assignor", "leader_member_id", "leader")
    )


def test_lines_of_one_moment_are_in_the_order_of_the_log_however_they_were_stored(
    rows: Rows,
) -> None:
    """A member is added, the epoch bumped and its target computed within one millisecond.

    A line number of more digits is a later one: 9 comes before 10.
    """

    def lines() -> Group:
        history = alone().member("member-2", protocol="consumer")
        for number in range(3, 9):  # what other groups say
            history.says("loaded", number, group="another")
        history.says("member_added", 5_000, "member-2", reason="joins")
        history.says("epoch_bumped", 5_000, generation=3, reason="metadata hash 1")
        history.says("target_computed", 5_000, generation=3, reason="uniform")
        return history

    stored, turned = lines(), lines()
    assert "broker-1.log:9" == stored.rows["coordinator_events"][9]["evidence"]
    turned.rows["coordinator_events"].reverse()
    for history in (stored, turned):
        last = in_order(rows(history, "epochs"), "joined_at")[-1]
        assert (3, "member_added", member_id("member-2")) == (
            last["generation"], last["cause"], last["named"],
        )  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
def test_an_epoch_that_was_bumped_twice_in_one_moment_began_with_the_first(
    rows: Rows, turned: bool
) -> None:
    history = alone().member("member-2", protocol="consumer")
    history.says("member_added", 5_000, "member-2", reason="joins")
    history.says("epoch_bumped", 5_000, generation=3, reason="metadata hash 1")
    history.says("epoch_bumped", 5_000, generation=4, reason="metadata hash 2")
    history.says("target_computed", 5_001, generation=4, reason="uniform")
    if turned:
        history.rows["coordinator_events"].reverse()
    last = in_order(rows(history, "epochs"), "joined_at")[-1]
    assert (4, "member_added", member_id("member-2")) == (
        last["generation"], last["cause"], last["named"],
    )  # fmt: skip
