"""R20c, R27 and X16: a topic that grows under its group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]


def grown(*, owned_ms: float | None = None, protocol: str = "eager", seen: int = 7) -> History:
    """t gets a seventh partition at 10 s; members ask for metadata every 5 s."""
    history = History(group={"metadata_refresh_ms": 5_000, "protocol": protocol})
    history.member("member-1").fault("add-partitions", "t", 10_000)
    history.fault("latency", "broker-1", 5_000, 6_000)
    history.fault("add-partitions", "t", 3_000, took_effect=False)
    of_others = {"what": "partition", "topic": "other", "partition": 9}
    history.add("topology", at=at(1), leader=1, **of_others).end_offset(8, 100)
    for partition in range(seen):
        history.add(
            "topology", at=at(partition), what="partition", topic=TOPIC, partition=partition,
            leader=1,
        )  # fmt: skip
    if owned_ms is not None:
        history.told("member-1", "assigned", owned_ms, [6])
    return history


def test_a_new_partition_assigned_after_a_refresh_and_a_heartbeat_holds(judge: Judge) -> None:
    verdict = judge(grown(owned_ms=17_900), "R20c")
    assert ("HOLDS", 7_900) == (verdict["verdict"], verdict["measured_max"])


def test_a_new_partition_assigned_late_or_never_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(grown(owned_ms=18_100), "R20c")["verdict"]
    assert "no member ever had it" in judge(grown(), "R20c")["reason"]


@pytest.mark.parametrize(("owned_ms", "verdict"), [(18_050, "HOLDS"), (18_051, "VIOLATED")])
def test_a_new_partition_may_be_assigned_50_ms_late(
    judge: Judge, owned_ms: float, verdict: str
) -> None:
    assert verdict == judge(grown(owned_ms=owned_ms), "R20c")["verdict"]


def test_the_first_owner_of_the_new_partition_counts(judge: Judge) -> None:
    history = grown(owned_ms=17_900).told("member-1", "assigned", 11_000, [5])
    history.told("member-1", "assigned", 11_000)
    history.rows["client_events"][-1]["partitions"] = [{"topic": "other", "partition": 6}]
    history.told("member-2", "assigned", 25_000, [6])
    verdict = judge(history, "R20c")
    assert ("HOLDS", 1, 7_900) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])
    assert "given to member-1" == verdict["rows"][0]["why"]


@pytest.mark.parametrize(("end_ms", "verdict"), [(18_050, "UNKNOWN"), (18_051, "VIOLATED")])
def test_a_run_that_ends_before_an_assignment_is_due_tells_nothing(
    judge: Judge, end_ms: float, verdict: str
) -> None:
    history = grown()
    history.end_ms = end_ms
    assert verdict == judge(history, "R20c")["verdict"]
    owned = grown(owned_ms=12_000)
    owned.end_ms = end_ms
    assert "HOLDS" == judge(owned, "R20c")["verdict"]


def test_a_broker_that_assigns_needs_no_refresh(judge: Judge) -> None:
    assert "HOLDS" == judge(grown(owned_ms=14_900, protocol="consumer"), "R20c")["verdict"]
    assert "VIOLATED" == judge(grown(owned_ms=15_100, protocol="consumer"), "R20c")["verdict"]


def test_a_topic_that_only_grew_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(grown(), "R27-growth")["verdict"]


def test_a_topic_that_did_not_grow_or_lost_a_partition_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(grown(seen=6), "R27-growth")["verdict"]
    gone = grown().add(
        "topology", at=at(11_000), what="partition", topic=TOPIC, partition=2, leader=-1
    )
    assert "VIOLATED" == judge(gone, "R27-growth")["verdict"]


def test_a_new_partition_without_a_leader_violates(judge: Judge) -> None:
    history = grown()
    history.rows["topology"][-1]["leader"] = -1
    assert "VIOLATED" == judge(history, "R27-growth")["verdict"]


def test_a_partition_that_has_a_leader_again_stays(judge: Judge) -> None:
    history = grown()
    for ms, leader in ((11_000, -1), (12_000, 2)):
        history.add(
            "topology", at=at(ms), what="partition", topic=TOPIC, partition=2, leader=leader
        )
    verdict = judge(history, "R27-growth")
    assert ("HOLDS", 1, 7) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize("rule", ["R20c", "R27-growth", "X16"])
def test_without_new_partitions_nothing_is_known(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(History().rebalance(0, 1, 1).join("member-1", 5), rule)["verdict"]


STARTED_BY_2 = f"Updating metadata for member {member_id('member-2')} during Stable"


def rejoins(member: str, generation: int, *, told: bool = False, ms: float = 12_000) -> History:
    """A stable group of two; `member` joins again at 12 s, after t grew."""
    history = grown().rebalance(0, 1, 2).join("member-1", 5).join("member-2", 5)
    if told:
        history.heartbeats(member, 11_900, error_code=27)
    return history.join(member, ms, generation)


def test_a_follower_that_gets_its_generation_back_holds(judge: Judge) -> None:
    verdict = judge(rejoins("member-2", 1), "X16")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_a_follower_that_starts_a_rebalance_violates(judge: Judge) -> None:
    history = rejoins("member-2", 2).rebalance(12_001, 2, 2, STARTED_BY_2)
    assert "VIOLATED" == judge(history, "X16")["verdict"]


@pytest.mark.parametrize("ms", [11_999, 12_001])
def test_a_follower_may_come_just_as_the_leader_starts_a_rebalance(judge: Judge, ms: float) -> None:
    history = rejoins("member-2", 2).rebalance(ms, 2, 2, f"Leader {member_id('member-1')} re-joins")
    verdict = judge(history, "X16")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["measured_max"])
    assert "while a rebalance was under way" in verdict["rows"][0]["why"]


def test_the_leader_starts_a_rebalance(judge: Judge) -> None:
    assert "HOLDS" == judge(rejoins("member-1", 2).rebalance(12_001, 2, 2), "X16")["verdict"]
    assert "VIOLATED" == judge(rejoins("member-1", 1), "X16")["verdict"]


def test_a_member_that_was_told_has_not_noticed_by_itself(judge: Judge) -> None:
    assert "UNKNOWN" == judge(rejoins("member-2", 2, told=True), "X16")["verdict"]


def test_a_heartbeat_that_is_accepted_tells_a_member_nothing(judge: Judge) -> None:
    verdict = judge(rejoins("member-2", 1).heartbeats("member-2", 11_950), "X16")
    assert ("HOLDS", 1, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_who_began_a_rebalance_whose_reason_is_unknown_is_not_told(judge: Judge) -> None:
    history = rejoins("member-2", 2).says("rebalance_started", 12_001, generation=1)
    history.says("stabilized", 12_011, generation=2, members=2)
    verdict = judge(history, "X16")
    assert ("HOLDS", 1, 1) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_join_before_any_generation_on_record_is_not_examined(judge: Judge) -> None:
    history = grown().join("member-2", 5).join("member-2", 12_000)
    assert 0 == judge(history, "X16")["examined"]


def test_only_a_heartbeat_of_its_group_answered_27_tells_a_member(judge: Judge) -> None:
    history = rejoins("member-2", 1).heartbeats("member-2", 11_950)
    history.heartbeats("member-2", 11_960, error_code=27, group="payments")
    history.heartbeats("member-1", 11_970, error_code=27)
    history.request("SYNC_GROUP", "member-2", 11_980, error_code=27)
    history.join("member-2", 11_990, 7, error_code=27)
    history.join("member-2", 11_995, 7, group="payments").join("member-3", 11_000)
    verdict = judge(history, "X16")
    assert ("HOLDS", 1, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(("ms", "examined"), [(10_000, 0), (10_001, 1), (18_000, 1), (18_001, 0)])
def test_a_join_within_a_refresh_a_heartbeat_and_a_second_of_the_growth_is_examined(
    judge: Judge, ms: float, examined: int
) -> None:
    assert examined == judge(rejoins("member-2", 1, ms=ms), "X16")["examined"]


@pytest.mark.parametrize(("ms", "verdict"), [(11_998, "VIOLATED"), (11_997.9, "HOLDS")])
def test_a_follower_may_come_while_a_rebalance_is_under_way(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = rejoins("member-2", 2).rebalance(ms, 2, 2, STARTED_BY_2)
    assert verdict == judge(history, "X16")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(12_050, "HOLDS"), (12_051, "VIOLATED")])
def test_the_leaders_join_starts_a_rebalance_at_once(judge: Judge, ms: float, verdict: str) -> None:
    assert verdict == judge(rejoins("member-1", 2).rebalance(ms, 2, 2), "X16")["verdict"]


@pytest.mark.parametrize(
    ("ms", "again_ms", "named", "verdict"),
    [
        (12_056, None, "member-1", "HOLDS"),
        (13_500, None, "member-1", "HOLDS"),
        (12_056, None, "member-2", "VIOLATED"),
        # Of two joins the later is meant, so the earlier started nothing.
        (12_056, 12_055, "member-1", "VIOLATED"),
        (12_056, 12_057, "member-1", "HOLDS"),
    ],
)
def test_a_join_that_the_coordinator_names_started_the_rebalance(
    judge: Judge, ms: float, again_ms: float | None, named: str, verdict: str
) -> None:
    history = rejoins("member-1", 2)
    if again_ms:
        history.join("member-1", again_ms, 2)
    history.rebalance(ms, 2, 2, f"Updating metadata for member {member_id(named)} during Stable")
    (row,) = [row for row in judge(history, "X16")["rows"] if row["at"] == at(12_000)]
    assert (verdict == "HOLDS") == row["ok"]


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("Leader {} re-joining group during Stable", "HOLDS"),
        ("Updating metadata for member {} during Stable", "HOLDS"),
        # What becomes of the member later is not its join's doing.
        ("Removing member {} on LeaveGroup", "VIOLATED"),
        ("removing member {} on heartbeat expiration", "VIOLATED"),
        ("explicit `LeaveGroup` request for ({}) members", "VIOLATED"),
    ],
)
def test_a_rebalance_by_the_end_of_a_member_was_not_started_by_its_join(
    judge: Judge, reason: str, verdict: str
) -> None:
    history = rejoins("member-1", 1)
    history.rebalance(30_000, 2, 1, reason.format(member_id("member-1")))
    assert verdict == judge(history, "X16")["verdict"]


def test_the_generation_that_a_join_finds_is_the_last_one(judge: Judge) -> None:
    history = rejoins("member-1", 3)
    history.says("rebalance_started", 3_000, generation=1, reason="x")
    history.says("stabilized", 3_010, generation=2, members=2)
    history.says("assignment_received", 3_015, "member-2", generation=2)
    history.rebalance(30_000, 3, 2, f"Updating metadata for member {member_id('member-1')}")
    verdict = judge(history, "X16")  # member-1 leads no more, and starts one all the same
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize("joined_ms", [11_999.9, 12_000])
def test_a_leader_that_joins_last_of_all_finds_a_rebalance_under_way(
    judge: Judge, joined_ms: float
) -> None:
    """Its join completes it: line and request carry one moment, or the line is a little earlier."""
    history = rejoins("member-1", 2)
    history.says("rebalance_started", 11_900, generation=1, reason=STARTED_BY_2)
    history.says("stabilized", joined_ms, generation=2, members=2)
    history.says("assignment_received", joined_ms + 5, "member-1", generation=2)
    assert "HOLDS" == judge(history, "X16")["verdict"]
