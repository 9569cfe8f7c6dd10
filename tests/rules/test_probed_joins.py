from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History
from tests.probe_histories import OWN, Probed

Judge = Callable[[History, str], dict[str, Any]]


def told(member: str, instance: str | None = None, metadata: str = "bQ==") -> dict[str, Any]:
    """One member of a leader's list."""
    return {"memberId": member, "groupInstanceId": instance, "metadata": metadata}


def join(
    history: Probed,
    member: str,
    ms: float = 1_000,
    *,
    named: str | None = "",
    members: Any = (),
    leader: str = "a",
    generation: int = 1,
    instance: str | None = None,
    metadata: str = "bQ==",
    offers: tuple[str, ...] = ("range",),
    protocol: str | None = "range",
    kind: str = "consumer",
    skips: bool = False,
    state: str | None = "PreparingRebalance",
    lasts_ms: float = 900,
    error: int | None = 0,
    **row: Any,
) -> Probed:
    """A JoinGroup; members are those that its answer names."""
    return history.call(
        "JOIN_GROUP", ms, error, member=member if named == "" else named, instance_id=instance,
        generation=-1, state=state, lasts_ms=lasts_ms,
        request={
            "protocolType": "consumer",
            "protocols": [{"name": name, "metadata": metadata} for name in offers],
        },
        answer={
            "memberId": member, "generationId": generation, "leader": leader,
            "protocolType": kind, "protocolName": protocol, "skipAssignment": skips,
            "members": list(members),
        },
        **row,
    )  # fmt: skip


def formed(*members: Any, **row: Any) -> Probed:
    """ "a" leads "b" and static "c", and is told these members; others join a moment earlier."""
    history = join(Probed(), "a", members=members)
    join(history, "b", **{"ms": 990, **row})
    return join(history, "c", 980, instance="C")


A, B, C = told("a"), told("b"), told("c", "C")

# X108


@pytest.mark.parametrize(
    ("members", "verdict"),
    [
        ([A, B, C], "HOLDS"),
        ([C, B, A], "HOLDS"),
        ([A, B], "VIOLATED"),
        ([B, C], "VIOLATED"),
        ([A, B, C, C], "VIOLATED"),
        ([A, B, C, told("d")], "VIOLATED"),
        ([A, B, C, told("d", "D")], "VIOLATED"),
        ([A, B, told("c")], "VIOLATED"),
        ([A, B, told("c", "B")], "VIOLATED"),
        ([A, told("b", "B"), C], "VIOLATED"),
        ([A, told("b", metadata="bg=="), C], "VIOLATED"),
        ([A, told("b", metadata=""), C], "VIOLATED"),
        ([A, {"memberId": "b"}, C], "VIOLATED"),
    ],
)
def test_a_leader_is_told_each_member_as_it_joined(
    judge: Judge, members: list[Any], verdict: str
) -> None:
    judged = judge(formed(*members), "X108")
    assert (verdict, 4) == (judged["verdict"], judged["examined"])


def test_who_is_told_nobody_has_no_list(judge: Judge) -> None:
    """That a leader is told the members at all is another rule's."""
    verdict = judge(formed(), "X108")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("metadata", "verdict"), [("bQ==", "HOLDS"), ("bg==", "HOLDS"), ("bw==", "VIOLATED")]
)
def test_who_joins_twice_has_said_both(judge: Judge, metadata: str, verdict: str) -> None:
    history = formed(A, told("b", metadata=metadata), C)
    join(history, "b", 995, metadata="bg==")
    assert verdict == judge(history, "X108")["verdict"]


@pytest.mark.parametrize(
    ("metadata", "verdict"), [("bQ==", "VIOLATED"), ("bg==", "HOLDS"), ("bw==", "VIOLATED")]
)
def test_a_later_join_counts_in_its_generation(judge: Judge, metadata: str, verdict: str) -> None:
    history = formed(A, B, C)
    members = [A, told("b", metadata=metadata), C]
    join(history, "b", 5_000, generation=2, metadata="bg==")
    join(history, "c", 5_000, generation=2, instance="C")
    join(history, "a", 5_000, generation=2, members=members)
    assert verdict == judge(history, "X108")["verdict"]


@pytest.mark.parametrize(
    ("listed", "verdict"),
    [
        (told("c", "C"), "HOLDS"),
        (told("c", "C", "bg=="), "VIOLATED"),
        (told("c", "D"), "VIOLATED"),
        (None, "HOLDS"),  # removed, for all that joins tell
    ],
)
def test_a_static_member_that_does_not_rejoin_is_kept_as_it_was(
    judge: Judge, listed: Any, verdict: str
) -> None:
    history = formed(A, B, C)
    members = [A, B, listed] if listed else [A, B]
    join(history, "b", 5_000, generation=2).logged("stabilized", 5_900, generation=2)
    join(history, "a", 5_000, generation=2, members=members)
    join(history, "c", 9_000, generation=3, instance="C", metadata="bg==", leader="c")
    assert verdict == judge(history, "X108")["verdict"]


def test_the_metadata_is_that_for_the_chosen_assignor(judge: Judge) -> None:
    history = Probed()
    for member in ("a", "b"):
        members = [A, B] if member == "a" else ()
        join(history, member, offers=("roundrobin", "range"), members=members)
    history.rows["calls"][1]["request"] = (
        '{"protocolType":"consumer","protocols":[{"name":"roundrobin","metadata":"bw=="},'
        '{"name":"range","metadata":"bQ=="}]}'
    )
    assert "HOLDS" == judge(history, "X108")["verdict"]
    for number in (0, 1):
        row = history.rows["calls"][number]
        row["answer"] = row["answer"].replace('"range"', '"roundrobin"')
    assert "VIOLATED" == judge(history, "X108")["verdict"]


def test_nothing_is_said_of_metadata_for_an_assignor_that_nobody_offers(judge: Judge) -> None:
    history = Probed()
    for member in ("a", "b"):
        members = [A, told("b", metadata="bw==")] if member == "a" else ()
        join(history, member, protocol="mine", members=members)
    assert "HOLDS" == judge(history, "X108")["verdict"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "VIOLATED"),
        ({"ms": 99, "lasts_ms": 900}, "HOLDS"),  # answered before the leader asked
        ({"ms": 100, "lasts_ms": 900}, "VIOLATED"),
        ({"ms": 1_900}, "VIOLATED"),
        ({"ms": 1_901}, "HOLDS"),  # sent after the leader was answered
        ({"generation": 2}, "HOLDS"),
        ({"group": "orders-else"}, "HOLDS"),
        ({"error": 79}, "HOLDS"),
        ({"instance": "D"}, "VIOLATED"),
        ({"instance": "D", "state": "Stable"}, "HOLDS"),  # it takes its place, maybe
        ({"instance": "D", "state": None}, "HOLDS"),
        ({"state": "Stable"}, "VIOLATED"),
        ({"instance": "C"}, "HOLDS"),  # whoever has the place of c
    ],
)
def test_members_are_who_joined_meanwhile(judge: Judge, row: dict[str, Any], verdict: str) -> None:
    history = formed(A, B, C)
    join(history, "d", **row)
    verdicts = {row["subject"]: row["ok"] for row in judge(history, "X108")["rows"]}
    assert (verdict == "HOLDS") is verdicts[f"step 1 ({OWN}), members"]


@pytest.mark.parametrize(
    ("row", "ok"),
    [
        ({"instance": "D"}, True),
        ({"instance": "D", "ms": 1_900}, True),
        ({"instance": "D", "ms": 1_901}, False),
        ({"instance": "D", "error": 15}, True),
        ({"instance": "D", "error": 7}, True),
        ({"instance": "D", "error": 16}, True),
        ({"instance": "D", "error": 79}, False),
        ({"instance": "D", "error": 82}, False),
        ({"instance": "D", "error": 81}, False),
        ({"instance": "D", "error": 25}, False),
        ({"instance": "D", "error": 26}, False),
        ({"instance": "D", "error": 23}, False),
        ({"instance": "D", "metadata": "bg=="}, False),
        ({"instance": "E"}, None),
        ({"instance": "D", "group": "orders-else"}, False),
        ({"instance": "D", "named": "d"}, True),
        ({"named": "d"}, False),  # dynamic, and listed as a static one
        ({}, None),
        ({"ms": 1_900}, None),
        ({"ms": 1_901}, False),
    ],
)
def test_who_was_not_answered_may_be_a_member(
    judge: Judge, row: dict[str, Any], ok: bool | None
) -> None:
    history = formed(A, B, C, told("d", "D"))
    join(history, "d", **{"named": None, "ms": 900, "error": None, **row})
    verdicts = {row["subject"]: row["ok"] for row in judge(history, "X108")["rows"]}
    assert ok is verdicts[f"step 1 ({OWN}), members"]


def test_an_unanswered_join_excuses_nothing_else(judge: Judge) -> None:
    history = formed(A, B, told("d"))
    join(history, "d", 900, named=None, error=None)
    assert "VIOLATED" == judge(history, "X108")["verdict"]


@pytest.mark.parametrize("leader", ["b", "c", "d", ""])
def test_all_are_told_the_same_leader(judge: Judge, leader: str) -> None:
    assert "VIOLATED" == judge(formed(A, B, C, leader=leader), "X108")["verdict"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"generation": 2}, "VIOLATED"),
        ({"error": None}, "HOLDS"),
        ({"error": None, "named": "e"}, "VIOLATED"),
        ({"error": None, "named": None}, "UNKNOWN"),
        ({"error": None, "named": None, "group": "orders-else"}, "VIOLATED"),
    ],
)
def test_a_leader_is_one_of_those_that_joined(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    history = join(join(Probed(), "a", leader="d"), "b", leader="d")
    join(history, "d", 900, leader="d", **row)
    assert verdict == judge(history, "X108")["verdict"]


def test_who_joins_again_is_told_who_leads_the_generation(judge: Judge) -> None:
    """Long after the leader has joined it."""
    history = join(formed(A, B, C), "b", 5_000, state="Stable", lasts_ms=1)
    verdict = judge(history, "X108")
    assert ("HOLDS", 5) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "HOLDS"),
        ({"instance": None}, "VIOLATED"),
        ({"leader": "a"}, "VIOLATED"),  # as if it did not lead
        ({"generation": 2}, "VIOLATED"),
        ({"instance": "B"}, "VIOLATED"),
        ({"ms": 1_900}, "HOLDS"),
        ({"ms": 1_899}, "VIOLATED"),
        ({"group": "orders-else"}, "VIOLATED"),
    ],
)
def test_only_a_static_leader_of_before_skips_the_assignment(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    history = join(Probed(), "a", instance="A", members=[told("a", "A")])
    again = {"ms": 5_000, "state": "Stable", "lasts_ms": 1, "leader": "z", "instance": "A", **row}
    join(history, "z", named=None, members=[told("z", "A")], skips=True, **again)
    assert verdict == judge(history, "X108")["verdict"]


def test_a_leader_of_before_may_not_have_been_answered(judge: Judge) -> None:
    history = join(Probed(), "a", named=None, instance="A", error=None)
    join(
        history, "z", 5_000, named=None, instance="A", members=[told("z", "A")], skips=True,
        state="Stable", leader="z",
    )  # fmt: skip
    assert "UNKNOWN" == judge(history, "X108")["verdict"]


@pytest.mark.parametrize("rule", ["X108", "X109"])
def test_other_groups_are_not_examined(judge: Judge, rule: str) -> None:
    """The group under test has members that no script made, and one of KIP-848 has no leader."""
    history = join(Probed(), "a", leader="", group="orders")
    join(history, "b", leader="")
    history.call("CONSUMER_GROUP_HEARTBEAT", 500, member="x", group=OWN)
    assert "UNKNOWN" == judge(history, rule)["verdict"]


# X109


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "HOLDS"),
        ({"named": "c"}, "VIOLATED"),
        ({"named": None}, "HOLDS"),
        ({"kind": "connect"}, "VIOLATED"),
        ({"kind": None}, "HOLDS"),
        ({"offers": ("roundrobin",)}, "VIOLATED"),
        ({"offers": ("roundrobin", "range")}, "HOLDS"),
        ({"protocol": "roundrobin"}, "VIOLATED"),
        ({"protocol": "roundrobin", "offers": ("roundrobin", "range")}, "VIOLATED"),
        ({"protocol": "roundrobin", "offers": ("roundrobin",), "generation": 2}, "HOLDS"),
        ({"protocol": "roundrobin", "offers": ("roundrobin",), "group": "orders-else"}, "HOLDS"),
        ({"error": 23, "kind": None, "protocol": "x", "named": "c"}, "HOLDS"),
        ({"instance": "B", "state": "Stable", "protocol": "x"}, "VIOLATED"),
    ],
)
def test_a_join_is_answered_as_it_asked(judge: Judge, row: dict[str, Any], verdict: str) -> None:
    assert verdict == judge(formed(A, B, C, **row), "X109")["verdict"]


def test_all_are_told_the_same_of_what_all_offer(judge: Judge) -> None:
    history = join(Probed(), "a", offers=("roundrobin", "range"))
    join(history, "b", offers=("roundrobin", "range"), protocol="roundrobin")
    verdict = judge(history, "X109")
    assert ("VIOLATED", 2, 2) == (verdict["verdict"], verdict["examined"], verdict["violations"])


def test_who_was_answered_before_may_have_offered_something_else(judge: Judge) -> None:
    history = join(Probed(), "a", offers=("mine",), protocol="mine", lasts_ms=9)
    join(history, "b", 1_010)
    assert "HOLDS" == judge(history, "X109")["verdict"]


@pytest.mark.parametrize(
    ("asked", "answer", "error", "verdict"),
    [
        ({}, {}, 0, "HOLDS"),
        ({}, {"protocolName": "roundrobin"}, 0, "VIOLATED"),
        ({}, {"protocolType": "connect"}, 0, "VIOLATED"),
        ({}, {"protocolType": "connect"}, 27, "UNKNOWN"),
        ({}, {"protocolType": None, "protocolName": None}, 0, "HOLDS"),
        ({"protocolType": None, "protocolName": None}, {}, 0, "HOLDS"),
    ],
)
def test_a_sync_is_answered_with_what_it_names(
    judge: Judge, asked: dict[str, Any], answer: dict[str, Any], error: int, verdict: str
) -> None:
    both = {"protocolType": "consumer", "protocolName": "range"}
    history = Probed().call(
        "SYNC_GROUP", 1_000, error, member="a", generation=1,
        request={**both, **asked}, answer={**both, **answer},
    )  # fmt: skip
    assert verdict == judge(history, "X109")["verdict"]
