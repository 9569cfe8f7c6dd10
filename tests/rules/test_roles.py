from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.consumer_histories import Group
from tests.histories import History, at, beat, member_id

Judge = Callable[[History, str], dict[str, Any]]

CLASSIC_RULES = ("R12-all", "R12-first", "R13-members", "R33-answered", "R34-silent", "X101")


def formed(joiners: int = 3, members: int = 3, leader: str = "member-1") -> History:
    """A first generation at 1 s, joined by so many of member-1 to member-3 and led by one."""
    history = History()
    for number in range(1, joiners + 1):
        name = f"member-{number}"
        history.member(name).says("member_added", 100 * number, name)
        history.join(
            name, 100 * number, leader=member_id(leader), processed_at=at(1_001),
            answered_at=at(1_001), protocol_name="range",
        )  # fmt: skip
    history.says("rebalance_started", 100, generation=0, reason="because")
    history.says("stabilized", 1_000, generation=1, members=members)
    return history.says("assignment_received", 1_010, leader, generation=1)


def synced(history: History, given: dict[str, int], leader: str = "member-1") -> History:
    """The leader gives each the partition of its name, and each is told `given`."""
    for number in range(1, 4):
        name = f"member-{number}"
        gives = [(f"member-{each}", each) for each in range(1, 4)] if name == leader else ()
        told = [{"topic": "t", "partition": given.get(name, number)}]
        history.sync(name, 1_005 + number, gives=gives, assigned=told)
    return history


@pytest.mark.parametrize("rule", CLASSIC_RULES)
def test_a_group_that_nobody_joined_says_nothing(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(History().member("member-1"), rule)["verdict"]


# R12-all


@pytest.mark.parametrize(
    ("joiners", "members", "verdict"),
    [(3, 3, "HOLDS"), (2, 3, "VIOLATED"), (3, 2, "VIOLATED"), (0, 3, "VIOLATED")],
)
def test_a_generation_is_asked_for_by_all_its_members(
    judge: Judge, joiners: int, members: int, verdict: str
) -> None:
    found = judge(formed(joiners, members), "R12-all")
    assert (verdict, joiners) == (found["verdict"], found["measured_max"])


@pytest.mark.parametrize(
    ("kind", "broker", "ms", "verdict"),
    [
        ("kill-broker", "broker-1", 999, "VIOLATED"),
        ("kill-broker", "broker-1", 1_000, "UNKNOWN"),  # dead in that very moment
        ("kill-broker", "broker-1", 1_001, "UNKNOWN"),
        ("kill-broker", "broker-1", 1_301, "UNKNOWN"),  # it is killed 1 ms before
        ("kill-broker", "broker-1", 1_302, "VIOLATED"),
        ("kill-broker", "broker-2", 1_001, "VIOLATED"),
        ("pause-broker", "broker-1", 1_001, "VIOLATED"),
    ],
)
def test_a_coordinator_that_dies_as_all_have_joined_answers_nobody(
    judge: Judge, kind: str, broker: str, ms: float, verdict: str
) -> None:
    history = formed(2, 3).fault(kind, broker, ms)
    assert verdict == judge(history, "R12-all")["verdict"]


def test_who_asks_later_or_twice_or_for_another_generation_does_not_count(judge: Judge) -> None:
    history = formed(2, 3).join("member-3", 1_301).join("member-2", 900).join("member-3", 500, 2)
    assert 2 == judge(history, "R12-all")["measured_max"]
    assert "HOLDS" == judge(formed(2, 3).join("member-3", 1_300), "R12-all")["verdict"]


@pytest.mark.parametrize(
    ("added_ms", "row", "verdict"),
    [
        (50, {"instance_id": "three"}, "HOLDS"),
        (50, {}, "VIOLATED"),
        (1_000, {"instance_id": "three"}, "HOLDS"),  # as the generation begins
        (1_001, {"instance_id": "three"}, "VIOLATED"),
    ],
)
def test_a_static_member_is_kept_though_it_does_not_join_again(
    judge: Judge, added_ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = formed(2, 3).says("member_added", added_ms, "member-3")
    history.join("member-3", 60, 0, **row)
    assert verdict == judge(history, "R12-all")["verdict"]


def test_a_static_member_that_had_been_removed_is_not_kept(judge: Judge) -> None:
    history = formed(2, 3).says("member_added", 50, "member-3").says("left", 999, "member-3")
    history.join("member-3", 60, 0, instance_id="three")
    assert "VIOLATED" == judge(history, "R12-all")["verdict"]


def test_a_group_of_one_is_examined_and_an_empty_one_is_not(judge: Judge) -> None:
    assert 1 == judge(formed(1, 1), "R12-all")["examined"]
    emptied = formed(1, 1).says("emptied", 5_000, generation=2)
    assert 1 == judge(emptied, "R12-all")["examined"]
    assert 0 == judge(formed(0, 0), "R12-all")["examined"]


def test_a_static_member_is_kept_in_the_generation_that_it_did_not_join(judge: Judge) -> None:
    """In the next, somebody else is missing who is no static member."""
    history = formed(2, 3).says("member_added", 50, "member-3")
    history.join("member-3", 60, 0, instance_id="three")
    history.says("rebalance_started", 5_000, generation=1)
    history.says("stabilized", 5_010, generation=2, members=4)
    for name, row in (("member-1", {}), ("member-2", {}), ("member-3", {"instance_id": "three"})):
        history.join(name, 5_005, 2, **row)
    verdict = judge(history, "R12-all")
    assert ("VIOLATED", 2, 1) == (verdict["verdict"], verdict["examined"], verdict["violations"])


def test_a_join_at_another_coordinator_keeps_nobody_out(judge: Judge) -> None:
    history = formed(2, 3).says("member_added", 50, "member-3")
    history.join("member-3", 60, 1, instance_id="three", broker=2)
    assert "HOLDS" == judge(history, "R12-all")["verdict"]


# R12-first


@pytest.mark.parametrize(("leader", "place"), [("member-1", 1), ("member-2", 2), ("member-3", 3)])
def test_the_first_that_was_added_leads(judge: Judge, leader: str, place: int) -> None:
    verdict = judge(formed(leader=leader), "R12-first")
    assert (1, place) == (verdict["examined"], verdict["measured_max"])
    assert ("HOLDS" if place == 1 else "VIOLATED") == verdict["verdict"]


def test_of_two_that_were_added_in_one_moment_either_may_lead(judge: Judge) -> None:
    history = formed(2, 2, leader="member-2")
    history.rows["coordinator_events"][1]["at"] = at(100)
    assert "HOLDS" == judge(history, "R12-first")["verdict"]


@pytest.mark.parametrize(("gone_ms", "examined"), [(900, 0), (1_000, 0), (1_001, 1)])
def test_a_leader_after_the_first_was_gone_is_not_examined(
    judge: Judge, gone_ms: float, examined: int
) -> None:
    """Who has not joined again is removed in the moment in which the generation begins."""
    history = formed(leader="member-2").says("left", gone_ms, "member-1")
    assert examined == judge(history, "R12-first")["examined"]


def test_who_is_added_as_the_generation_begins_may_lead_it(judge: Judge) -> None:
    """With group.initial.rebalance.delay.ms=0 both lines have one moment."""
    history = formed(1, 1)
    history.rows["coordinator_events"][0]["at"] = at(1_000)
    verdict = judge(history, "R12-first")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_later_generation_is_examined_only_if_the_group_was_empty(judge: Judge) -> None:
    later = formed().says("rebalance_started", 5_000, generation=1)
    later.says("stabilized", 5_010, generation=2, members=3)
    later.says("assignment_received", 5_020, "member-2", generation=2)
    assert 1 == judge(later, "R12-first")["examined"]
    newcomer = formed().says("left", 4_900, "member-1").says("member_added", 5_000, "member-4")
    newcomer.says("rebalance_started", 5_000, generation=1)
    newcomer.says("stabilized", 5_010, generation=2, members=3)
    newcomer.says("assignment_received", 5_020, "member-4", generation=2)
    assert 1 == judge(newcomer, "R12-first")["examined"]
    emptied = formed().says("emptied", 4_000, generation=2)
    emptied.says("member_added", 5_000, "member-2", life=2)
    emptied.says("member_added", 5_001, "member-1", life=2)
    emptied.says("rebalance_started", 5_000, generation=2)
    emptied.says("stabilized", 5_300, generation=3, members=2)
    emptied.says("assignment_received", 5_310, "member-1", life=2, generation=3)
    verdict = judge(emptied, "R12-first")
    assert (2, 1, 2) == (verdict["examined"], verdict["violations"], verdict["measured_max"])


def test_only_the_generation_of_which_the_first_was_gone_is_left_out(judge: Judge) -> None:
    history = formed(leader="member-2").says("left", 900, "member-1")
    history.says("emptied", 4_000, generation=2)
    history.says("member_added", 5_000, "member-3", life=2)
    history.says("rebalance_started", 5_000, generation=2)
    history.says("stabilized", 5_300, generation=3, members=1)
    history.says("assignment_received", 5_310, "member-3", life=2, generation=3)
    verdict = judge(history, "R12-first")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("leader", "place"), [("member-1", 1), ("member-3", 3)])
def test_a_leader_that_assigned_nothing_is_known_by_the_answers_to_the_joins(
    judge: Judge, leader: str, place: int
) -> None:
    """The next member joins right after it, and the generation ends before the SyncGroup."""
    history = formed(leader=leader)
    history.rows["coordinator_events"].pop()
    verdict = judge(history, "R12-first")
    assert (1, place) == (verdict["examined"], verdict["measured_max"])


def test_a_generation_of_which_no_answer_names_a_leader_is_not_examined(judge: Judge) -> None:
    history = formed()
    history.rows["coordinator_events"].pop()
    for row in history.rows["requests"]:
        row["leader"] = None
    assert 0 == judge(history, "R12-first")["examined"]


# X101


def gone_on(api: str = "HEARTBEAT", ms: float = 1_061, **row: Any) -> History:
    """member-1 leads from 1,010 ms on; member-2 joins, sends no SyncGroup, and goes on."""
    history = formed(2, 2).sync("member-1", 1_006, gives=[("member-1", 1)])
    return history.request(api, "member-2", ms, **row)


@pytest.mark.parametrize("api", ["HEARTBEAT", "OFFSET_COMMIT"])
def test_who_goes_on_without_its_part_violates(judge: Judge, api: str) -> None:
    (row,) = judge(gone_on(api), "X101")["rows"]
    assert ("member-2 in generation 1", 0, at(1_061)) == (
        row["subject"],
        row["measured"],
        row["at"],
    )


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        ({}, "HOLDS"),
        ({"broker": 2}, "HOLDS"),
        ({"ms": 1_300}, "HOLDS"),  # lines of requests may be stamped late
        ({"error_code": 27}, "VIOLATED"),
        ({"error_code": None}, "VIOLATED"),
        ({"generation": 2}, "VIOLATED"),
        ({"life": 2}, "VIOLATED"),
        ({"api": "JOIN_GROUP"}, "VIOLATED"),
    ],
)
def test_its_part_is_asked_for_by_a_syncgroup_of_that_generation(
    judge: Judge, asked: dict[str, Any], verdict: str
) -> None:
    call = {"api": "SYNC_GROUP", "member": "member-2", "ms": 1_007, **asked}
    assert verdict == judge(gone_on().request(**call), "X101")["verdict"]


@pytest.mark.parametrize(
    "going_on",
    [
        gone_on(ms=1_060),  # Java's heartbeats go on between join and assignment
        gone_on(error_code=27),
        gone_on("JOIN_GROUP"),
        gone_on(generation=2),
        gone_on(broker=2),  # another coordinator, which had the group from the log
        gone_on(life=2),  # it joined as another one
    ],
)
def test_nobody_goes_on_before_the_assignment_or_elsewhere(judge: Judge, going_on: History) -> None:
    assert "UNKNOWN" == judge(going_on, "X101")["verdict"]


def test_the_first_request_by_which_it_goes_on_is_shown(judge: Judge) -> None:
    history = gone_on(ms=4_000, evidence="later").heartbeats("member-2", 2_000, evidence="earlier")
    (row,) = judge(history, "X101")["rows"]
    assert (at(2_000), "earlier") == (row["at"], row["evidence"])


def test_what_was_asked_for_in_a_generation_of_before_does_not_count(judge: Judge) -> None:
    """A group that was forgotten begins with generation 1 again, and with other member ids."""
    history = gone_on().sync("member-2", 1_007)
    history.says("member_added", 8_000, "member-2", life=2).join("member-2", 8_000, life=2)
    history.says("stabilized", 9_000, generation=1, members=1)
    history.says("assignment_received", 9_010, "member-2", life=2, generation=1)
    history.heartbeats("member-2", 9_500, life=2)
    verdict = judge(history, "X101")
    assert ("VIOLATED", 2, 1) == (verdict["verdict"], verdict["examined"], verdict["violations"])


# R13-members


def test_what_followers_send_and_what_all_are_told(judge: Judge) -> None:
    verdict = judge(synced(formed(), {}), "R13-members")
    assert ("HOLDS", 3, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_a_follower_that_assigns_violates(judge: Judge) -> None:
    history = synced(formed(), {})
    history.rows["requests"][-1]["assignments"] = [
        {"member_id": member_id("member-3"), "topic": "t", "partition": 3}
    ]
    verdict = judge(history, "R13-members")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize("member", ["member-1", "member-2"])
def test_whoever_is_told_something_else_violates(judge: Judge, member: str) -> None:
    verdict = judge(synced(formed(), {member: 5}), "R13-members")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["violations"])


def test_a_member_that_the_leader_did_not_name_has_nothing_unless_it_took_a_place(
    judge: Judge,
) -> None:
    history = synced(formed(), {})
    history.rows["requests"][3]["assignments"].pop()
    assert "VIOLATED" == judge(history, "R13-members")["verdict"]
    history.rows["requests"][-1]["instance_id"] = "three"
    assert "HOLDS" == judge(history, "R13-members")["verdict"]


def test_what_a_follower_assigns_before_its_leader_does_accuses_nobody_else(judge: Judge) -> None:
    history = synced(formed(), {})
    gives = [{"member_id": member_id(f"member-{n}"), "topic": "t", "partition": 9} for n in (2, 3)]
    history.rows["requests"][-1].update(assignments=gives, arrived_at=at(1_004))
    verdict = judge(history, "R13-members")
    assert ("VIOLATED", 1, 2) == (
        verdict["verdict"], verdict["violations"], verdict["measured_max"]
    )  # fmt: skip


def test_an_assignment_may_be_of_a_single_partition(judge: Judge) -> None:
    history = synced(formed(), {"member-1": 7, "member-2": 7})
    history.rows["requests"][3]["assignments"][1:] = []
    reasons = [row["why"] for row in judge(history, "R13-members")["rows"] if not row["ok"]]
    assert 'got "t-7" where the leader gave it "t-1"' in reasons


def test_what_a_leader_assigns_again_counts_for_nothing(judge: Judge) -> None:
    """A stable group gives everybody what it has."""
    history = synced(formed(), {})
    history.sync(
        "member-1", 2_000, gives=[("member-2", 1), ("member-1", 2)],
        assigned=[{"topic": "t", "partition": 1}],
    )  # fmt: skip
    history.sync("member-2", 2_001, assigned=[{"topic": "t", "partition": 2}])
    verdict = judge(history, "R13-members")
    assert ("HOLDS", 5) == (verdict["verdict"], verdict["examined"])


def test_after_a_leader_that_assigns_nothing_members_have_what_they_had(judge: Judge) -> None:
    """KIP-814: broker-2 has loaded the group, and its static leader has been started again."""
    history = synced(formed(), {})
    new = member_id("member-1", 2)
    history.join("member-1", 5_000, life=2, broker=2, leader=new, instance_id="one")
    told = [{"topic": "t", "partition": 1}]
    history.sync("member-1", 5_010, life=2, broker=2, instance_id="one", assigned=told)
    history.join("member-2", 6_000, broker=2, leader=new)
    history.sync("member-2", 6_010, broker=2, assigned=[{"topic": "t", "partition": 2}])
    verdict = judge(history, "R13-members")
    assert ("HOLDS", 5) == (verdict["verdict"], verdict["examined"])


def test_a_follower_is_told_who_leads_by_its_last_join(judge: Judge) -> None:
    """The leader's place has been taken, and librdkafka's followers may join a second time."""
    history = synced(formed(), {})
    history.join("member-2", 6_000, leader=member_id("member-1", 2))
    history.sync("member-2", 6_010, assigned=[{"topic": "t", "partition": 2}])
    whys = {row["at"]: row["why"] for row in judge(history, "R13-members")["rows"]}
    assert f"follows {member_id('member-1', 2)}" == whys[at(6_010)]


def test_each_generation_has_the_assignment_of_its_own_leader(judge: Judge) -> None:
    """Of one partition in the second; and a later SyncGroup of a leader gives nothing anew."""
    history = synced(formed(), {})
    for name in ("member-1", "member-2"):
        history.join(name, 5_000, 2, leader=member_id("member-2"))
    told = [{"topic": "t", "partition": 9}]
    history.sync("member-2", 5_010, 2, gives=[("member-1", 9)], assigned=[])
    history.sync("member-1", 5_011, 2, assigned=told).sync("member-2", 5_020, 2, assigned=[])
    verdict = judge(history, "R13-members")
    assert ("HOLDS", 6) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("life", [2, 3])
def test_a_leader_whose_place_was_taken_has_led_all_the_same(judge: Judge, life: int) -> None:
    """Whoever joins later in the generation is told the new leader's id, of whatever order."""
    history = synced(formed(), {})
    new = member_id("member-1", life)
    history.join("member-1", 5_000, 1, life=life, leader=member_id("member-1"))
    history.sync("member-1", 5_010, 1, life=life, assigned=[])
    history.rows["requests"][-1]["instance_id"] = "one"
    history.join("member-2", 6_000, 1, life=2, leader=new)
    history.sync("member-2", 6_010, 1, life=2, assigned=[])
    history.rows["requests"][-1]["instance_id"] = "two"
    verdict = judge(history, "R13-members")
    assert ("HOLDS", 5, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_refused_or_unknown_syncs_say_nothing(judge: Judge) -> None:
    history = formed().sync("member-2", 1_005, error_code=27, assigned=[])
    history.sync("member-2", 1_006).sync("member-2", 1_007, 7, assigned=[])
    assert 0 == judge(history, "R13-members")["examined"]


# R33-answered


@pytest.mark.parametrize(
    ("answered_ms", "generation", "verdict"),
    [
        (5_010, 2, "HOLDS"),
        (5_370, 2, "HOLDS"),
        (5_371, 2, "VIOLATED"),
        (4_960, 2, "HOLDS"),
        (4_959, 2, "VIOLATED"),
        (5_370, 1, "HOLDS"),
        (5_371, 1, "VIOLATED"),
    ],
)
def test_who_waits_is_answered_when_all_have_joined(
    judge: Judge, answered_ms: float, generation: int, verdict: str
) -> None:
    history = History().rebalance(5_000, generation, 1)
    history.join("member-1", 4_000, generation, processed_at=at(answered_ms))
    found = judge(history, "R33-answered")
    assert (verdict, 1) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(("ms", "examined"), [(5_010, 1), (5_011, 0)])
def test_a_join_after_the_end_of_the_phase_is_not_one_that_waited(
    judge: Judge, ms: float, examined: int
) -> None:
    """The last to join ends it, at 5,010 ms, often in one moment."""
    history = History().rebalance(5_000, 2, 1).join("member-1", ms, 2, processed_at=at(5_012))
    assert examined == judge(history, "R33-answered")["examined"]


def test_a_machine_that_stood_still_can_only_have_made_an_answer_late(judge: Judge) -> None:
    late = History().rebalance(5_000, 2, 1).tick(5_100, 500)
    late.join("member-1", 4_000, 2, processed_at=at(5_500))
    assert "UNKNOWN" == judge(late, "R33-answered")["verdict"]
    in_time = History().rebalance(5_000, 2, 1).tick(5_100, 200)
    in_time.join("member-1", 4_000, 2, processed_at=at(5_020))
    assert "HOLDS" == judge(in_time, "R33-answered")["verdict"]


# R34-silent


@pytest.mark.parametrize(
    ("ms", "member", "sent"),
    [
        (5_000, "member-1", 0),
        (5_001, "member-1", 1),
        (8_999, "member-1", 1),
        (9_000, "member-1", 0),
        (6_000, "member-2", 0),
    ],
)
def test_no_heartbeat_comes_while_a_join_waits(
    judge: Judge, ms: float, member: str, sent: int
) -> None:
    history = History().join("member-1", 5_000, 2, processed_at=at(9_000)).heartbeats(member, ms)
    history.request("OFFSET_COMMIT", "member-1", 6_000)
    verdict = judge(history, "R34-silent")
    assert ("VIOLATED" if sent else "HOLDS") == verdict["verdict"]
    assert (1, sent) == (verdict["examined"], verdict["measured_max"])


def test_what_another_broker_reads_then_may_have_been_sent_before(judge: Judge) -> None:
    history = History().join("member-1", 5_000, 2, processed_at=at(9_000))
    history.heartbeats("member-1", 6_000, broker=2, error_code=16)
    assert "HOLDS" == judge(history, "R34-silent")["verdict"]


def test_nor_does_another_join(judge: Judge) -> None:
    history = History().join("member-1", 5_000, 2, processed_at=at(9_000))
    history.join("member-1", 6_000, 2, processed_at=at(6_001))
    assert "VIOLATED" == judge(history, "R34-silent")["verdict"]


@pytest.mark.parametrize(("answered_ms", "examined"), [(5_100, 0), (5_101, 1)])
def test_a_join_that_is_answered_at_once_says_nothing(
    judge: Judge, answered_ms: float, examined: int
) -> None:
    history = History().join("member-1", 5_000, 2, processed_at=at(answered_ms))
    assert examined == judge(history, "R34-silent")["examined"]


# X20-alone


@pytest.mark.parametrize("api", ["JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "LEAVE_GROUP"])
def test_a_request_of_the_classic_protocol_violates_kip_848(judge: Judge, api: str) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 1_000, 0, 1, 0)
    history.request("OFFSET_COMMIT", "member-1", 2_000)
    assert "HOLDS" == judge(history, "X20-alone")["verdict"]
    verdict = judge(history.request(api, "member-1", 3_000), "X20-alone")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


def test_a_member_that_never_heartbeats_so_is_none_of_kip_848(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"}).heartbeats("member-1", 1_000)
    assert "UNKNOWN" == judge(history, "X20-alone")["verdict"]


def with_ids(*requests: tuple[str, int, int], **row: Any) -> History:
    """Heartbeats of member-1 by epoch, each of one of its member ids; member-2 has its own."""
    history = Group(group={"protocol": "consumer"}).beat("member-2", 500, 0)
    history.member("member-1", **{"protocol": "consumer", **row})
    for number, (api, epoch, life) in enumerate(requests):
        history.request(
            api, "member-1", 1_000 * number, generation=epoch, life=life, evidence=f"line {number}"
        )
    return history


BEAT = "CONSUMER_GROUP_HEARTBEAT"


@pytest.mark.parametrize(
    ("requests", "verdict"),
    [
        (((BEAT, 0, 1), (BEAT, 2, 1), (BEAT, -1, 1), (BEAT, 0, 1)), "HOLDS"),
        (((BEAT, 0, 1), (BEAT, 2, 1), (BEAT, -1, 1), (BEAT, 0, 2)), "VIOLATED"),
        (((BEAT, 0, 1), (BEAT, 2, 2)), "VIOLATED"),
        (((BEAT, 0, 1), ("OFFSET_COMMIT", 2, 2)), "HOLDS"),
    ],
)
def test_a_consumer_keeps_its_member_id(
    judge: Judge, requests: tuple[tuple[str, int, int], ...], verdict: str
) -> None:
    judged = judge(with_ids(*requests), "X20-alone")
    assert (verdict, 2) == (judged["verdict"], judged["examined"])
    if verdict == "VIOLATED":
        assert "used 2 member ids" in judged["reason"]
        (row,) = (row for row in judged["rows"] if row["ok"] is False)
        assert f"line {len(requests) - 1}" == row["evidence"]


def test_a_program_may_have_several_consumers_in_it(judge: Judge) -> None:
    history = with_ids((BEAT, 0, 1), (BEAT, 0, 2), client="app")
    assert "HOLDS" == judge(history, "X20-alone")["verdict"]


def test_a_first_heartbeat_may_have_no_member_id(judge: Judge) -> None:
    history = with_ids((BEAT, 0, 1)).request(BEAT, "member-1", 500, member_id=None)
    assert "HOLDS" == judge(history, "X20-alone")["verdict"]


# R33-epochs


def seen(state: str, ms: float, *lines: tuple[str, float]) -> History:
    history = History(group={"protocol": "consumer"})
    for event, when in lines:
        history.says(event, when, generation=1)
    return history.add("topology", at=at(ms), what="group", group="orders", state=state, members=1)


BUMPED, COMPUTED = ("epoch_bumped", 1_000), ("target_computed", 2_000)


@pytest.mark.parametrize(
    ("state", "ms", "lines", "verdict"),
    [
        ("Assigning", 1_500, (BUMPED,), "HOLDS"),
        ("Reconciling", 1_500, (BUMPED,), "VIOLATED"),
        ("Stable", 1_500, (BUMPED,), "VIOLATED"),
        ("Assigning", 2_500, (BUMPED, COMPUTED), "VIOLATED"),
        ("Reconciling", 2_500, (BUMPED, COMPUTED), "HOLDS"),
        ("Stable", 2_500, (BUMPED, COMPUTED), "HOLDS"),
        ("Assigning", 2_100, (BUMPED, COMPUTED), "HOLDS"),  # it has just been computed
        ("Assigning", 2_101, (BUMPED, COMPUTED), "VIOLATED"),
        ("Stable", 1_999, (BUMPED, COMPUTED), "VIOLATED"),
        ("Stable", 2_000, (BUMPED, COMPUTED), "HOLDS"),  # as it is computed
        ("Stable", 2_100, (BUMPED, COMPUTED), "HOLDS"),
        ("Stable", 2_050, (BUMPED, ("epoch_bumped", 2_000)), "VIOLATED"),
        ("Stable", 1_050, (("epoch_bumped", 1_000),), "HOLDS"),
        ("Assigning", 2_050, (BUMPED, ("epoch_bumped", 2_000)), "HOLDS"),
        ("Reconciling", 2_050, (BUMPED, COMPUTED, ("epoch_bumped", 2_001)), "HOLDS"),
        ("Stable", 2_050, (BUMPED, ("loaded", 2_000)), "HOLDS"),
        ("Empty", 500, (), "HOLDS"),
        ("Dead", 500, (), "HOLDS"),
        ("PreparingRebalance", 500, (), "VIOLATED"),
        ("PreparingRebalance", 2_000, (BUMPED, COMPUTED), "VIOLATED"),
        ("", 500, (), "UNKNOWN"),
    ],
)
def test_states_of_a_group_of_kip_848_follow_its_epochs(
    judge: Judge, state: str, ms: float, lines: tuple[tuple[str, float], ...], verdict: str
) -> None:
    assert verdict == judge(seen(state, ms, *lines), "R33-epochs")["verdict"]


def test_lines_of_other_groups_and_of_members_change_no_state(judge: Judge) -> None:
    history = seen("Assigning", 1_500, BUMPED, ("member_added", 1_450), ("left", 1_200))
    history.says("target_computed", 1_300, group="payments", generation=1)
    assert "HOLDS" == judge(history, "R33-epochs")["verdict"]
    history = seen("Stable", 1_500, BUMPED, ("member_added", 1_450))
    history.says("target_computed", 1_450, group="payments", generation=1)
    assert "VIOLATED" == judge(history, "R33-epochs")["verdict"]


@pytest.mark.parametrize(
    ("ms", "answered_ms", "row", "verdict"),
    [
        (999, 1_390, {}, "VIOLATED"),
        (999, 1_410, {}, "HOLDS"),
        (1_100, 1_410, {}, "HOLDS"),  # the line may be stamped before
        (1_101, 1_410, {}, "VIOLATED"),
        (999, 1_410, {"api": "OFFSET_COMMIT"}, "VIOLATED"),
        (900, 999, {}, "VIOLATED"),
    ],
)
def test_a_change_is_told_once_it_has_been_replicated(
    judge: Judge, ms: float, answered_ms: int, row: dict[str, Any], verdict: str
) -> None:
    """Whoever asked for it is answered no sooner, others may be."""
    history = seen("Stable", 1_500, BUMPED).member("member-2")
    row = {"api": "CONSUMER_GROUP_HEARTBEAT", "answered_at": at(answered_ms), **row}
    history.request(row.pop("api"), "member-2", ms, generation=0, **row)
    beat(history, "member-1", 1_005, 1, 1)
    assert verdict == judge(history, "R33-epochs")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"), [(2_450, "UNKNOWN"), (2_000, "UNKNOWN"), (1_999, "VIOLATED")]
)
def test_a_state_that_does_not_fit_is_not_judged_where_the_machine_stood_still(
    judge: Judge, ms: float, verdict: str
) -> None:
    """The observer may have waited for its answer, and noted it late."""
    history = seen("Assigning", 2_500, BUMPED, COMPUTED).tick(0).tick(ms, 90)
    assert verdict == judge(history, "R33-epochs")["verdict"]


def followed(state: str, ms: float) -> History:
    """A target of 2 s; each of six partitions is in somebody's hands from 3 s to 20 s."""
    history = seen(state, ms, BUMPED, COMPUTED)
    for number, member in enumerate(("member-1", "member-2")):
        parts = range(3 * number, 3 * number + 3)
        history.member(member).told(member, "assigned", 3_000, parts)
        history.told(member, "revoked", 20_000, parts)
    return history


@pytest.mark.parametrize(
    ("state", "ms", "verdict"),
    [
        # An interval of 2 s and 550 ms of librdkafka's timer after that, and a tenth of a second.
        ("Reconciling", 5_649, "HOLDS"),
        ("Reconciling", 5_650, "VIOLATED"),
        ("Reconciling", 19_899, "VIOLATED"),
        ("Reconciling", 19_900, "HOLDS"),
        ("Stable", 10_000, "HOLDS"),
    ],
)
def test_a_group_whose_members_have_followed_is_stable(
    judge: Judge, state: str, ms: float, verdict: str
) -> None:
    found = judge(followed(state, ms), "R33-epochs")
    assert verdict == found["verdict"]
    if verdict == "VIOLATED":
        assert "had followed their target" in found["reason"]
        (row,) = found["rows"]
        assert (at(ms - 2_650), at(ms)) == (row["guard_from"], row["guard_to"])


def test_a_partition_in_nobodys_hands_is_to_follow_yet(judge: Judge) -> None:
    history = followed("Reconciling", 10_000)
    history.told("member-2", "revoked", 9_000, [5])
    assert "HOLDS" == judge(history, "R33-epochs")["verdict"]
    assert "HOLDS" == judge(
        followed("Reconciling", 10_000).says("evicted", 15_000, "member-2"), "R33-epochs"
    )["verdict"]  # fmt: skip


@pytest.mark.parametrize(
    ("ms", "verdict"), [(7_349, "VIOLATED"), (7_350, "HOLDS"), (10_000, "HOLDS")]
)
def test_a_group_that_was_changed_just_before_is_to_follow_yet(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = followed("Reconciling", 10_000).says("target_computed", ms, generation=2)
    assert verdict == judge(history, "R33-epochs")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "healed_ms", "verdict"),
    [
        (5_000, 7_349, "VIOLATED"),
        (5_000, 7_350, "HOLDS"),
        (10_001, 10_500, "HOLDS"),
        (10_002, 10_500, "VIOLATED"),
    ],
)
def test_a_fault_holds_up_who_is_to_follow(
    judge: Judge, from_ms: float, healed_ms: float, verdict: str
) -> None:
    history = followed("Reconciling", 10_000).fault("latency", "members", from_ms, healed_ms)
    assert verdict == judge(history, "R33-epochs")["verdict"]


def moving(ms: float = 2_000, state: str = "Stable", told_ms: float = 3_000) -> Group:
    """member-2 joins at 1 s, and member-1 is told of the new epoch in the answer to `told_ms`."""
    history = Group(group={"protocol": "consumer"}).joins("member-1", 0, 2, gets=(0, 1, 2))
    history.joins("member-2", 1_000, 3).beat("member-1", told_ms, 2, now=3)
    history.add("topology", at=at(ms), what="group", group="orders", state=state, members=2)
    return history


@pytest.mark.parametrize(
    ("state", "ms", "verdict"),
    [
        ("Stable", 1_101, "HOLDS"),  # the coordinator may have told what was before
        ("Stable", 1_102, "VIOLATED"),
        ("Stable", 2_700, "VIOLATED"),
        ("Stable", 2_701, "HOLDS"),  # lines of requests may be stamped late
        ("Reconciling", 2_000, "HOLDS"),
    ],
)
def test_a_group_is_not_stable_before_all_know_its_epoch(
    judge: Judge, state: str, ms: float, verdict: str
) -> None:
    found = judge(moving(ms, state), "R33-epochs")
    assert verdict == found["verdict"]
    if verdict == "VIOLATED":
        (row,) = found["rows"]
        assert "before member-1 had followed the target" in found["reason"]
        assert (at(ms - 500), at(ms)) == (row["guard_from"], row["guard_to"])


@pytest.mark.parametrize(
    ("ms", "gets", "now", "verdict"),
    [
        (2_299, (3,), 3, "HOLDS"),
        (2_300, (3,), 3, "VIOLATED"),
        (2_300, (), 3, "HOLDS"),  # it is told again what it has
        (2_300, None, 3, "HOLDS"),
        (2_300, (3,), 4, "HOLDS"),  # by another target
    ],
)
def test_a_group_is_not_stable_before_all_have_their_part(
    judge: Judge, ms: float, gets: tuple[int, ...] | None, now: int, verdict: str
) -> None:
    history = moving(2_000, told_ms=1_500).beat("member-2", ms, 3, gets=gets, now=now)
    assert verdict == judge(history, "R33-epochs")["verdict"]


@pytest.mark.parametrize(
    ("error", "verdict"), [(0, "HOLDS"), (110, "VIOLATED"), (None, "VIOLATED")]
)
def test_only_an_accepted_heartbeat_tells_a_member_of_its_epoch(
    judge: Judge, error: int | None, verdict: str
) -> None:
    history = moving(2_000).beat("member-1", 1_500, 2, now=3, error_code=error)
    assert verdict == judge(history, "R33-epochs")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "member", "verdict"),
    [
        ("left", 2_300, "member-1", "HOLDS"),
        ("left", 2_301, "member-1", "VIOLATED"),
        ("left", 2_300, "member-2", "VIOLATED"),
        ("target_computed", 1_000.4, None, "VIOLATED"),
        # One that could not be written is undone, and its epoch is used again.
        ("target_computed", 1_050, None, "HOLDS"),
        ("loaded", 1_050, None, "HOLDS"),
        ("epoch_bumped", 2_000, None, "HOLDS"),
    ],
)
def test_who_is_gone_and_what_was_undone_holds_no_group_up(
    judge: Judge, event: str, ms: float, member: str | None, verdict: str
) -> None:
    number = 2 if ms == 1_000.4 else 3
    history = moving(2_000).says(event, ms, member, generation=number)
    assert verdict == judge(history, "R33-epochs")["verdict"]


@pytest.mark.parametrize(
    ("added_ms", "verdict"), [(1_000.3, "VIOLATED"), (1_000.4, "HOLDS"), (1_500, "HOLDS")]
)
def test_who_joins_after_the_target_does_not_follow_it(
    judge: Judge, added_ms: float, verdict: str
) -> None:
    history = (
        moving(2_000, told_ms=1_500).member("member-3").says("member_added", added_ms, "member-3")
    )
    history.beat("member-3", 3_000, 0, now=3)
    assert verdict == judge(history, "R33-epochs")["verdict"]


@pytest.mark.parametrize(
    ("told_ms", "verdict"), [(None, "HOLDS"), (2_299, "HOLDS"), (2_300, "VIOLATED")]
)
def test_a_target_that_nobody_was_told_may_have_been_undone(
    judge: Judge, told_ms: float | None, verdict: str
) -> None:
    history = Group(group={"protocol": "consumer"}).joins("member-1", 0, 2, gets=(0, 1, 2))
    history.bumped(1_000, 3).computed(1_001, 3)
    history.add("topology", at=at(2_000), what="group", group="orders", state="Stable", members=1)
    if told_ms is not None:
        history.beat("member-1", told_ms, 2, now=3)
    assert verdict == judge(history, "R33-epochs")["verdict"]


def test_a_static_member_that_is_evicted_as_the_generation_begins_was_kept(judge: Judge) -> None:
    history = History()
    for number in (1, 2):
        name = f"member-{number}"
        history.says("member_added", 100 * number, name)
        history.join(name, 100 * number, processed_at=at(1_001), leader=member_id("member-1"))
    history.says("rebalance_started", 100, generation=0)
    history.says("stabilized", 1_000, generation=1, members=3)
    history.says("member_added", 50, "member-3").says("evicted", 1_000, "member-3")
    history.join("member-3", 60, 0, instance_id="three")
    assert judge(history, "R12-all")["verdict"] == "HOLDS"
