from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import GROUP, History, at, member_id
from tests.probe_histories import OWN, Probed

Judge = Callable[[History, str], dict[str, Any]]


# R28


def described(
    state: str = "Stable", members: tuple[str, ...] = ("a", "s"), **changes: Any
) -> Probed:
    """ "a" and static "s" are members; `changes` are to what is told of "a"."""
    history = Probed().formed("a", "s", static=("s",))
    stable = state == "Stable"
    told = [
        {
            "memberId": member,
            "groupInstanceId": member.upper() if member == "s" else None,
            "clientId": "probe-by-hand",
            "clientHost": "/127.0.0.1",
            "memberMetadata": "bWV0YQ==" if stable else "",
            "memberAssignment": f"part of {member}",
            **(changes if member == "a" else {}),
        }
        for member in members
    ]
    return describe(history, 3_000, state, told)


def describe(
    history: Probed, ms: float, state: str, members: Any, version: int = 5, **row: Any
) -> Probed:
    error = row.pop("error", 0)
    answer = {"groups": [{"groupState": state, "errorCode": error, "members": members}]}
    request = {"version": version, "groups": [OWN]}
    return history.call(
        "DESCRIBE_GROUPS", ms, error, state=state, request=request, answer=answer, **row
    )


@pytest.mark.parametrize("state", ["Stable", "PreparingRebalance", "CompletingRebalance"])
def test_a_described_group_has_its_members_as_they_are(judge: Judge, state: str) -> None:
    verdict = judge(described(state), "R28")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"]), verdict["reason"]


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        ("Stable", {"members": ("a",)}),
        ("Stable", {"members": ("a", "s", "stranger")}),
        ("Stable", {"clientId": "somebody"}),
        ("Stable", {"clientId": None}),
        ("Stable", {"clientHost": ""}),
        ("Stable", {"groupInstanceId": "S"}),
        ("Stable", {"memberAssignment": "part of s"}),
        ("Stable", {"memberAssignment": None}),
        ("Stable", {"memberMetadata": ""}),
        ("Stable", {"memberMetadata": None}),
        ("PreparingRebalance", {"memberMetadata": "bWV0YQ=="}),
        ("PreparingRebalance", {"memberAssignment": ""}),
    ],
)
def test_a_member_missing_or_described_wrongly_violates(
    judge: Judge, state: str, changes: Any
) -> None:
    assert "VIOLATED" == judge(described(state, **changes), "R28")["verdict"]


def test_members_of_the_group_under_test_are_those_of_the_request_log(judge: Judge) -> None:
    history = Probed().join("member-1", 5)
    assert isinstance(history, Probed)
    told = {"memberId": member_id("member-1"), "clientId": "member-1", "clientHost": "/127.0.0.1"}
    describe(history, 3_000, "Stable", [told], group=GROUP)
    assert "HOLDS" == judge(history, "R28")["verdict"]
    describe(history, 3_100, "Stable", [{**told, "memberId": "stranger"}], group=GROUP)
    assert "HOLDS" != judge(history, "R28")["verdict"]


def wrongs(verdict: dict[str, Any]) -> list[str]:
    """Why each row that is not so is not."""
    return [row["why"] for row in verdict["rows"] if row["ok"] is False]


def test_a_description_during_which_the_group_changed_or_died_is_not_examined(
    judge: Judge,
) -> None:
    history = described()
    history.rows["calls"][-1]["state_after"] = "PreparingRebalance"
    describe(history, 3_100, "Dead", [])
    assert "UNKNOWN" == judge(history, "R28")["verdict"]


@pytest.mark.parametrize(
    ("event_ms", "examined_why"),
    [(2_999, ["is no member"]), (3_000, ["is no member"]), (3_001, [])],
)
def test_who_was_removed_before_is_no_member(
    judge: Judge, event_ms: float, examined_why: list[str]
) -> None:
    history = described().logged("evicted", event_ms, "s")
    verdict = judge(history, "R28")
    assert examined_why == [why for why in wrongs(verdict) if why == "is no member"]


@pytest.mark.parametrize(("ms", "wrong"), [(3_000, True), (2_999, False)])
def test_who_joins_only_afterwards_is_no_member(judge: Judge, ms: float, wrong: bool) -> None:
    history = described(members=("a", "s", "late"), memberAssignment="part of a")
    history.joined("late", ms, state="Stable")
    told = json.loads(history.rows["calls"][-2]["answer"])
    told["groups"][0]["members"][2]["memberAssignment"] = ""
    history.rows["calls"][-2]["answer"] = json.dumps(told)
    assert wrong == ("is no member" in wrongs(judge(history, "R28")))


def test_the_assignment_given_last_before_counts(judge: Judge) -> None:
    history = described(memberAssignment="newer")
    history.synced("a", 2_500, "newer", 2).synced("a", 3_000, "newest", 3)
    history.call("SYNC_GROUP", 2_600, 27, member="a", answer={"assignment": "refused"})
    history.call("HEARTBEAT", 2_700, member="a", answer={"assignment": "none"})
    history.call("SYNC_GROUP", 2_800, member="a", answer={"assignment": "foreign"}, group="else")
    assert "HOLDS" == judge(history, "R28")["verdict"]


def test_a_member_without_a_host_on_record_or_in_another_state_violates(judge: Judge) -> None:
    assert ["is described without a host"] == wrongs(judge(described(clientHost=None), "R28"))
    history = described()
    told = json.loads(history.rows["calls"][-1]["answer"])
    told["groups"][0]["groupState"] = "Empty"
    history.rows["calls"][-1]["answer"] = json.dumps(told)
    assert ["was answered 0, Empty with 2 of 2 members"] == wrongs(judge(history, "R28"))
    history = described()
    history.rows["calls"][-1]["error_code"] = 16
    assert ["was answered 16, Stable with 2 of 2 members"] == wrongs(judge(history, "R28"))


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"clientHost": "/10.9.8.7"}, ["names a client at two hosts"]),
        ({"clientHost": ""}, ["is described without a host"]),
        (
            {"clientHost": "/10.9.8.7", "clientId": "probe-else"},
            ["is described as client probe-else"],
        ),
    ],
)
def test_one_client_is_described_at_one_host(
    judge: Judge, changes: dict[str, Any], wrong: list[str]
) -> None:
    assert wrong == wrongs(judge(described(**changes), "R28"))


@pytest.mark.parametrize(
    ("join_ms", "left_ms", "client", "verdict"),
    [
        (2_999, 3_001, "member-1", "HOLDS"),
        (2_999, 3_001, "member-2", "VIOLATED"),
        (3_000, None, "member-1", "UNKNOWN"),
        (5, 3_000, "member-1", "UNKNOWN"),
    ],
)
def test_who_is_no_member_of_the_group_under_test_then_is_nobody(
    judge: Judge, join_ms: float, left_ms: float | None, client: str, verdict: str
) -> None:
    history = Probed().join("member-1", join_ms)
    assert isinstance(history, Probed)
    if left_ms is not None:
        history.says("left", left_ms, "member-1")
    told = {"memberId": member_id("member-1"), "clientId": client, "clientHost": "/127.0.0.1"}
    describe(history, 3_000, "Stable", [told], group=GROUP)
    judged = judge(history, "R28")
    assert (verdict, 2) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("state", "error", "why"),
    [("Stable", 0, []), ("Stable", 25, ["was answered 25 when it was stable"]), ("Dead", 69, [])],
)
def test_the_group_under_test_is_described_without_an_error_while_it_is_stable(
    judge: Judge, state: str, error: int, why: list[str]
) -> None:
    history = Probed()
    describe(history, 3_000, state, [], group=GROUP)
    history.rows["calls"][-1]["error_code"] = error
    judged = judge(history, "R28")
    assert (why, int(state == "Stable")) == (wrongs(judged), judged["examined"])


@pytest.mark.parametrize(
    ("state", "told", "verdict"),
    [
        ("Stable", {"protocolType": "consumer", "protocolData": "range"}, "HOLDS"),
        ("Stable", {"protocolData": "roundrobin"}, "VIOLATED"),
        ("Stable", {"protocolData": ""}, "VIOLATED"),
        ("Stable", {"protocolType": "connect"}, "VIOLATED"),
        ("CompletingRebalance", {"protocolType": "consumer", "protocolData": ""}, "HOLDS"),
        ("CompletingRebalance", {"protocolData": "range"}, "VIOLATED"),
    ],
)
def test_a_group_is_described_with_the_assignor_that_was_chosen(
    judge: Judge, state: str, told: dict[str, str], verdict: str
) -> None:
    """It was chosen as the question is sent, at 3 s, and another after it."""
    history = described(state)
    for ms, name in ((2_400, "sticky"), (2_999, "range"), (3_000, "roundrobin")):
        history.call("JOIN_GROUP", ms, member="a", answer={"protocolName": name})
    call = next(row for row in history.rows["calls"] if row["api"] == "DESCRIBE_GROUPS")
    answer = json.loads(call["answer"])
    answer["groups"][0].update(told)
    call["answer"] = json.dumps(answer)
    assert verdict == judge(history, "R28")["verdict"]


def test_an_empty_group_that_nobody_joined_is_described_as_well(judge: Judge) -> None:
    """Positions alone make a group."""
    verdict = judge(describe(Probed(), 3_000, "Empty", []), "R28")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_an_answer_without_a_list_of_members_names_none(judge: Judge) -> None:
    history = described()
    call = history.rows["calls"][-1]
    call["answer"] = json.dumps({"groups": [{"groupState": "Stable"}]})
    assert ["was answered 0, Stable with 0 of 2 members"] == wrongs(judge(history, "R28"))
    whys = wrongs(judge(settled({"members": None}, 15), "R28-epoch"))
    assert "was answered 15, Stable with 0 of 2 members" in whys


def test_a_member_that_is_named_twice_violates(judge: Judge) -> None:
    assert ["names a member twice"] == wrongs(judge(described(members=("s", "s")), "R28"))


# R28-epoch


def settled(answers: dict[str, Any] | None = None, error: int = 0, **changes: Any) -> History:
    """A group of KIP-848 with "a" in epoch 4 and "b", described; `changes` are to what "a" is."""
    parts = {"a": [0, 2], "b": [1]}
    known = {
        member: {"epoch": 4, "client": "probe", "partitions": has} for member, has in parts.items()
    }
    told = [
        {
            "memberId": member,
            "memberEpoch": 4,
            "clientId": "probe",
            "clientHost": "/127.0.0.1",
            "assignment": {
                "topicPartitions": [{"partitions": [number]} for number in reversed(has)]
            },
            **(changes if member == "a" else {}),
        }
        for member, has in parts.items()
    ]
    group = {"groupState": "Stable", "members": told, **(answers or {})}
    history = History(group={"protocol": "consumer"})
    return new_description(history, "CONSUMER_GROUP_DESCRIBE", error, group, known)


def new_description(
    history: History, api: str, error: int, group: dict[str, Any], known: Any
) -> History:
    return history.add(
        "calls", rule="R28-epoch", step=f"by {api}", api=api, error_code=error, sent_at=at(0),
        answer=json.dumps({"groups": [group]}), expected=json.dumps(known),
    )  # fmt: skip


def test_a_group_of_kip_848_is_described_by_its_own_call(judge: Judge) -> None:
    verdict = judge(settled(), "R28-epoch")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"]), verdict["reason"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"memberId": "c"}, "is not described"),
        ({"memberEpoch": 3}, "is described in epoch 3, not 4"),
        ({"memberEpoch": None}, "is described in epoch none, not 4"),
        ({"clientId": "member-1"}, "is described as client member-1"),
        ({"clientId": None}, "is described as client none"),
        ({"clientHost": None}, "is described without a host"),
        ({"clientHost": ""}, "is described without a host"),
        ({"clientHost": "/10.9.8.7"}, "names a client at two hosts"),
        ({"assignment": None}, "another assignment"),
        ({"assignment": {"topicPartitions": []}}, "another assignment"),
        ({"assignment": {"topicPartitions": [{"partitions": [0, 1]}]}}, "another assignment"),
        ({"assignment": {"topicPartitions": [{"partitions": [0, 2, 2]}]}}, "another assignment"),
        ({"targetAssignment": {"topicPartitions": [{"partitions": [0, 1]}]}}, "another target"),
        ({"targetAssignment": {"topicPartitions": []}}, "another target"),
    ],
)
def test_a_member_of_kip_848_told_otherwise_than_it_is_violates(
    judge: Judge, changes: dict[str, Any], why: str
) -> None:
    verdict = judge(settled(**changes), "R28-epoch")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["violations"])
    assert why in verdict["reason"]


@pytest.mark.parametrize(
    ("answers", "error", "why"),
    [
        ({"groupState": "Empty"}, 0, "answered 0, Empty with 2 of 2 members"),
        ({}, 15, "answered 15, Stable with 2 of 2 members"),
    ],
)
def test_a_group_of_kip_848_described_otherwise_than_it_is_violates(
    judge: Judge, answers: dict[str, Any], error: int, why: str
) -> None:
    assert why in judge(settled(answers, error), "R28-epoch")["reason"]


def computed(answers: dict[str, Any]) -> History:
    """The same; a target was computed by "range", and as the question is sent by "uniform"."""
    history = settled(answers)
    history.rows["calls"][0].update(group=OWN, sent_at=at(3_000))
    for ms, assignor in ((1_000, "range"), (3_000, "uniform"), (3_001, "range")):
        history.says("target_computed", ms, group=OWN, reason=assignor)
    return history


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"groupEpoch": 4, "assignmentEpoch": 4, "assignorName": "uniform"}, ""),
        ({"groupEpoch": 4, "assignmentEpoch": 3}, "in epoch 4 with a target of epoch 3"),
        ({"groupEpoch": 5, "assignmentEpoch": 5}, "in epoch 5, which not all members have"),
        ({"assignorName": "range"}, "the assignor range, and its target was computed by uniform"),
    ],
)
def test_a_stable_group_of_kip_848_has_one_epoch_and_the_assignor_of_its_target(
    judge: Judge, answers: dict[str, Any], why: str
) -> None:
    verdict = judge(computed(answers), "R28-epoch")
    assert ("VIOLATED" if why else "HOLDS") == verdict["verdict"], verdict["reason"]
    assert why in verdict["reason"]


def test_a_member_more_than_there_is_violates(judge: Judge) -> None:
    history = settled()
    (call,) = history.rows["calls"]
    call["expected"] = json.dumps({"b": {"epoch": 4, "client": "probe", "partitions": [1]}})
    assert "2 of 1 members" in judge(history, "R28-epoch")["reason"]


@pytest.mark.parametrize(
    ("error", "state", "verdict"),
    [(69, "Dead", "HOLDS"), (0, "Dead", "VIOLATED"), (69, "Stable", "VIOLATED")],
)
def test_the_classic_call_knows_no_group_of_kip_848(
    judge: Judge, error: int, state: str, verdict: str
) -> None:
    history = new_description(
        History(group={"protocol": "consumer"}), "DESCRIBE_GROUPS", error,
        {"groupState": state, "members": []}, {"a": {"epoch": 4, "partitions": [0]}},
    )  # fmt: skip
    assert verdict == judge(history, "R28-epoch")["verdict"]


def test_calls_of_other_rules_describe_nothing_for_r28_epoch(judge: Judge) -> None:
    history = settled()
    history.rows["calls"][0]["rule"] = "R28"
    assert "UNKNOWN" == judge(history, "R28-epoch")["verdict"]


# R28-dead and R28-unknown


@pytest.mark.parametrize(
    ("newest", "error", "dead", "unknown"),
    [(6, 69, "VIOLATED", "HOLDS"), (6, 0, "HOLDS", "VIOLATED"), (5, 0, "HOLDS", "HOLDS")],
)
def test_what_describes_a_group_that_does_not_exist(
    judge: Judge, newest: int, error: int, dead: str, unknown: str
) -> None:
    history = describe(Probed(), 1_000, "Dead", [], version=5)
    describe(history, 1_100, "Dead", [], version=newest, error=error)
    assert dead == judge(history, "R28-dead")["verdict"]
    assert unknown == judge(history, "R28-unknown")["verdict"]


@pytest.mark.parametrize("rule", ["R28-dead", "R28-unknown"])
def test_a_group_that_does_not_exist_is_described_as_nothing_else(judge: Judge, rule: str) -> None:
    history = describe(described(), 3_100, "Dead", [])
    assert ("HOLDS", 1) == (judge(history, rule)["verdict"], judge(history, rule)["examined"])
    told = json.loads(history.rows["calls"][-1]["answer"])
    told["groups"][0]["groupState"] = "Empty"
    history.rows["calls"][-1]["answer"] = json.dumps(told)
    assert "VIOLATED" == judge(history, rule)["verdict"]


# R28-list


@pytest.mark.parametrize(
    ("broker", "states", "listed", "verdict"),
    [
        (1, [], "Stable", "HOLDS"),
        (1, ["Stable"], "Stable", "HOLDS"),
        (1, ["Empty"], None, "HOLDS"),
        (2, [], None, "HOLDS"),
        (2, [], "Stable", "VIOLATED"),
        (1, [], None, "VIOLATED"),
        (1, [], "Empty", "VIOLATED"),
        (1, ["Empty"], "Stable", "VIOLATED"),
    ],
)
def test_only_the_coordinator_lists_a_group_with_its_state(
    judge: Judge, broker: int, states: list[str], listed: str | None, verdict: str
) -> None:
    found = [{"groupId": OWN, "protocolType": "consumer", "groupState": listed}] if listed else []
    history = Probed().formed("a").call(
        "LIST_GROUPS", 3_000, broker=broker, request={"statesFilter": states},
        answer={"groups": [{"groupId": "another", "groupState": "Stable"}, *found]},
    )  # fmt: skip
    assert verdict == judge(history, "R28-list")["verdict"]


def listed(error: int = 0, protocol: str = "consumer", **row: Any) -> Probed:
    """The coordinator of "a" lists its group."""
    found = {"groupId": OWN, "protocolType": protocol, "groupState": "Stable"}
    return Probed().formed("a").call(
        "LIST_GROUPS", 3_000, error, request={"statesFilter": []}, answer={"groups": [found]}, **row
    )  # fmt: skip


@pytest.mark.parametrize(
    ("history", "verdict"),
    [
        (listed(), "HOLDS"),
        (listed(error=15), "VIOLATED"),
        (listed(protocol="connect"), "VIOLATED"),
        (listed(after="Empty"), "UNKNOWN"),  # it changed meanwhile
        (listed(group="else"), "UNKNOWN"),  # nobody knows its coordinator
        (listed().call("JOIN_GROUP", 2_500, 16, broker=2), "HOLDS"),
        (listed().call("HEARTBEAT", 2_500, broker=2), "HOLDS"),
    ],
)
def test_a_group_is_listed_without_an_error_as_one_of_consumers(
    judge: Judge, history: Probed, verdict: str
) -> None:
    assert verdict == judge(history, "R28-list")["verdict"]


def test_a_group_is_listed_once(judge: Judge) -> None:
    history = listed()
    told = json.loads(history.rows["calls"][-1]["answer"])
    told["groups"] *= 2
    history.rows["calls"][-1]["answer"] = json.dumps(told)

    verdict = judge(history, "R28-list")

    assert "VIOLATED" == verdict["verdict"]
    assert "listed the group 2 times" in verdict["reason"]


# X30

SUBSCRIBED = base64.b64encode(b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff").decode()


def guarded(*errors: int) -> Probed:
    """What deletes and an anonymous commit are answered in a group of "a", subscribed to t."""
    history = Probed().formed("a", metadata=SUBSCRIBED)
    asked: Any = (
        ("DELETE_GROUPS", "Stable", {}),
        ("DELETE_GROUPS", "Dead", {}),
        ("OFFSET_DELETE", "Stable", {"topics": [{"name": "t"}]}),
        ("OFFSET_DELETE", "Stable", {"topics": [{"name": "u"}]}),
        ("OFFSET_DELETE", "Dead", {"topics": [{"name": "t"}]}),
        ("OFFSET_COMMIT", "Stable", {}),
        ("OFFSET_COMMIT", "Empty", {}),
    )
    for number, ((api, state, request), error) in enumerate(zip(asked, errors, strict=True)):
        history.call(api, 3_000 + 10 * number, error, state=state, request=request)
    return history


def test_what_members_use_is_guarded(judge: Judge) -> None:
    verdict = judge(guarded(68, 69, 86, 0, 69, 25, 0), "X30")
    assert ("HOLDS", 7) == (verdict["verdict"], verdict["examined"]), verdict["reason"]


def test_every_wrong_answer_to_a_delete_violates(judge: Judge) -> None:
    assert 7 == judge(guarded(16, 0, 0, 86, 0, 0, 25), "X30")["violations"]


@pytest.mark.parametrize(("after", "verdict"), [("Dead", "HOLDS"), ("Empty", "VIOLATED")])
def test_an_empty_group_is_gone_when_it_was_deleted(judge: Judge, after: str, verdict: str) -> None:
    history = Probed().call("DELETE_GROUPS", 3_000, 0, state="Empty", after=after)
    assert verdict == judge(history, "X30")["verdict"]


def deletes_position(
    joined_ms: float = 1_000, left_ms: float | None = None, error: int = 86
) -> Probed:
    """At 3 s the position of t is deleted; of two members one may be subscribed to it."""
    history = Probed().joined("a", 1_000, metadata="").joined("b", joined_ms, metadata=SUBSCRIBED)
    if left_ms is not None:
        history.logged("left", left_ms, "b")
    return history.call("OFFSET_DELETE", 3_000, error, request={"topics": [{"name": "t"}]})


@pytest.mark.parametrize(
    ("joined_ms", "left_ms", "error"),
    [
        (1_000, None, 86),
        (1_000, 3_001, 86),
        (1_000, 3_000, 0),
        (2_999, None, 86),
        (3_000, None, 0),
    ],
)
def test_one_subscribed_member_then_guards_a_position(
    judge: Judge, joined_ms: float, left_ms: float | None, error: int
) -> None:
    assert "HOLDS" == judge(deletes_position(joined_ms, left_ms, error), "X30")["verdict"]
    assert "VIOLATED" == judge(deletes_position(joined_ms, left_ms, 86 - error), "X30")["verdict"]


def test_a_name_that_only_its_half_bytes_spell_guards_nothing(judge: Judge) -> None:
    history = deletes_position(left_ms=2_000, error=0)
    history.joined("c", 2_500, metadata=base64.b64encode(b"\x17\x40").decode())  # t is 0x74
    assert "HOLDS" == judge(history, "X30")["verdict"]


@pytest.mark.parametrize(
    ("api", "error", "row", "examined", "verdict"),
    [
        ("OFFSET_COMMIT", 0, {"state": "Dead", "after": "Empty"}, 1, "HOLDS"),
        ("OFFSET_COMMIT", 25, {"state": "Empty", "after": "Stable"}, 1, "VIOLATED"),
        ("OFFSET_COMMIT", 0, {"state": "Stable", "after": "Empty"}, 1, "UNKNOWN"),
        ("OFFSET_COMMIT", 12, {}, 0, "UNKNOWN"),
        ("OFFSET_COMMIT", 22, {"member": "a"}, 0, "UNKNOWN"),
        ("HEARTBEAT", 0, {}, 0, "UNKNOWN"),
        ("DELETE_GROUPS", 68, {"state": "PreparingRebalance"}, 1, "HOLDS"),
        ("DELETE_GROUPS", 68, {"state": "Stable", "after": "Empty"}, 1, "UNKNOWN"),
        ("DELETE_GROUPS", 69, {"state": "Empty", "after": "Dead"}, 1, "VIOLATED"),
        ("OFFSET_DELETE", 0, {"state": "Stable", "after": "Empty"}, 1, "UNKNOWN"),
    ],
)
def test_what_is_guarded_by_the_state_of_the_group(
    judge: Judge, api: str, error: int, row: dict[str, Any], examined: int, verdict: str
) -> None:
    judged = judge(Probed().call(api, 3_000, error, **row), "X30")
    assert (verdict, examined) == (judged["verdict"], judged["examined"])


def subscribes(history: Probed, ms: float, topics: list[str] | None, **row: Any) -> Probed:
    """An accepted heartbeat of a member of KIP-848, which subscribes to topics or says nothing."""
    epoch = row.pop("epoch", 0)
    request = {"memberEpoch": epoch, "subscribedTopicNames": topics}
    row = {"member": "m", "state": "Stable", **row}
    return history.call("CONSUMER_GROUP_HEARTBEAT", ms, request=request, **row)


def deletes(history: Probed, ms: float, topic: str, error: int, **row: Any) -> Probed:
    return history.call("OFFSET_DELETE", ms, error, request={"topics": [{"name": topic}]}, **row)


@pytest.mark.parametrize(("topic", "must"), [("t", 86), ("u", 0), ("tt", 0)])
def test_what_a_member_of_kip_848_subscribes_to_is_guarded(
    judge: Judge, topic: str, must: int
) -> None:
    for error in (0, 86):
        history = deletes(subscribes(Probed(), 1_000, ["t"]), 3_000, topic, error)
        verdict = judge(history, "X30")
        assert ("HOLDS" if error == must else "VIOLATED", 1) == (
            verdict["verdict"], verdict["examined"]
        )  # fmt: skip


@pytest.mark.parametrize(
    ("topics", "ms", "row", "must"),
    [
        (None, 2_000, {"epoch": 2}, 86),  # says nothing of it
        (["u"], 2_000, {"epoch": 2}, 0),
        (["u"], 2_999, {"epoch": 2}, 0),  # answered as the delete is sent
        (["u"], 3_000, {"epoch": 2}, 86),  # and only after it
        (["u"], 2_000, {"epoch": 2, "error": 110}, 86),
        (["u"], 2_000, {"epoch": 2, "member": "other"}, 86),
        (["u"], 2_000, {"epoch": 2, "group": "payments"}, 86),
        (None, 2_000, {"epoch": -1}, 0),
        (None, 2_000, {"epoch": -2}, 86),
        (None, 2_000, {"epoch": -1, "member": "other"}, 86),
    ],
)
def test_the_last_subscription_of_each_member_then_guards(
    judge: Judge, topics: list[str] | None, ms: float, row: dict[str, Any], must: int
) -> None:
    for error in (0, 86):
        history = subscribes(subscribes(Probed(), 1_000, ["t"]), ms, topics, **row)
        verdict = judge(deletes(history, 3_000, "t", error), "X30")
        assert ("HOLDS" if error == must else "VIOLATED") == verdict["verdict"]


@pytest.mark.parametrize("state", ["Assigning", "Reconciling", "Stable"])
def test_a_group_of_kip_848_with_members_is_guarded_in_every_state(
    judge: Judge, state: str
) -> None:
    history = Probed().call("DELETE_GROUPS", 3_000, 68, state=state)
    history.call("OFFSET_COMMIT", 3_010, 25, state=state)
    verdict = judge(history, "X30")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    history.call("DELETE_GROUPS", 3_020, 0, state=state, after="Dead")
    assert 0 == judge(history, "X30")["violations"]  # another's leave may have come between
    history.call("DELETE_GROUPS", 3_030, 69, state=state)
    assert 1 == judge(history, "X30")["violations"]


# X13


def looked_up(leaders: tuple[int, ...], **found: int) -> Probed:
    history = Probed()
    for partition, leader in enumerate(leaders):
        history.add(
            "topology", at=at(0), what="partition", topic="__consumer_offsets", leader=leader,
            partition=partition,
        )  # fmt: skip
    told = [{"key": key, "nodeId": node, "errorCode": 0} for key, node in found.items()]
    answer = {"coordinators": told}
    return history.call("FIND_COORDINATOR", 1_000, group=None, state=None, answer=answer)


def test_a_name_decides_its_coordinator_as_java_hashes_it(judge: Judge) -> None:
    # In Java, "orders".hashCode() is -1008770331 and "a".hashCode() is 97.
    leaders = (1, 2, 3, 1, 2)
    history = looked_up(leaders, orders=leaders[1_008_770_331 % 5], a=leaders[97 % 5])
    assert "HOLDS" == judge(history, "X13")["verdict"]
    history = looked_up(leaders, orders=leaders[1_008_770_331 % 5] % 3 + 1, a=leaders[97 % 5])
    assert 1 == judge(history, "X13")["violations"]


def test_with_one_partition_everybody_is_at_home_in_it(judge: Judge) -> None:
    assert "HOLDS" == judge(looked_up((4,), a=4), "X13")["verdict"]


def test_the_name_with_the_least_hash_of_all_is_at_home_in_the_first_partition(
    judge: Judge,
) -> None:
    """Its hash is -2147483648, which has no absolute value in Java."""
    assert "HOLDS" == judge(looked_up((4, 1, 2, 3, 1), polygenelubricants=4), "X13")["verdict"]


@pytest.mark.parametrize(
    ("broker", "ms", "verdict"),
    [
        (2, 2_000, "HOLDS"),
        (3, 2_000, "VIOLATED"),
        (4, 15_000, "HOLDS"),  # the observer sees it a little later
        (4, 14_999, "VIOLATED"),
    ],
)
def test_the_group_itself_is_where_its_name_belongs(
    judge: Judge, broker: int, ms: float, verdict: str
) -> None:
    history = looked_up((1, 2, 3, 1, 2), a=3).says("loaded", ms, broker=broker, members=1)
    history.add(
        "topology", at=at(20_000), what="partition", topic="__consumer_offsets", leader=4,
        partition=1,
    )  # fmt: skip
    assert verdict == judge(history, "X13")["verdict"]


def test_the_leader_seen_last_before_the_question_is_the_coordinator(judge: Judge) -> None:
    history = looked_up((1, 2, 3, 1, 2), a=9)

    def seen(ms: float, leader: int, **changes: Any) -> None:
        row = {"what": "partition", "topic": "__consumer_offsets", "partition": 97 % 5, **changes}
        history.add("topology", at=at(ms), leader=leader, **row)

    seen(500, 8)
    seen(1_000, 9)
    seen(1_001, 7)
    seen(900, 6, partition=3)
    seen(1_000, 6, topic="t", partition=7)
    seen(1_000, 6, what="group", partition=8)
    assert "HOLDS" == judge(history, "X13")["verdict"]


def test_only_coordinators_of_groups_that_were_found_are_right(judge: Judge) -> None:
    history = looked_up((1, 2, 3, 1, 2), a=3)
    call = history.rows["calls"][-1]
    call["answer"] = call["answer"].replace(
        '"nodeId": 3, "errorCode": 0', '"nodeId": 3, "errorCode": 15'
    )
    assert "VIOLATED" == judge(history, "X13")["verdict"]
    call["request"] = json.dumps({"keyType": 1})
    assert "UNKNOWN" == judge(history, "X13")["verdict"]
    call.update(request=json.dumps({"keyType": 0}), api="METADATA")
    assert "UNKNOWN" == judge(history, "X13")["verdict"]
