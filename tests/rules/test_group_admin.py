from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import GROUP, History, at, member_id
from tests.probe_histories import OWN, Probed

pytestmark = pytest.mark.spark
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
        ("Stable", {"clientHost": ""}),
        ("Stable", {"groupInstanceId": "S"}),
        ("Stable", {"memberAssignment": "part of s"}),
        ("Stable", {"memberMetadata": ""}),
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
