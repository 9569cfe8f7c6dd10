"""Which broker lists a group, and which one a group's name leads to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at
from tests.probe_histories import OWN, Probed

Judge = Callable[[History, str], dict[str, Any]]


# R28-list


@pytest.mark.parametrize(("there", "verdict"), [(True, "HOLDS"), (False, "VIOLATED")])
def test_who_asks_for_no_state_is_told_of_groups_in_every_state(
    judge: Judge, there: bool, verdict: str
) -> None:
    """Before version 4 of the request there is no filter."""
    group = {"groupId": OWN, "protocolType": "consumer", "groupState": "Stable"}
    history = Probed().formed("a")
    history.call("LIST_GROUPS", 3_000, answer={"groups": [group] if there else []})
    assert verdict == judge(history, "R28-list")["verdict"]


def test_a_group_that_has_moved_is_listed_where_it_is(judge: Judge) -> None:
    group = {"groupId": OWN, "protocolType": "consumer", "groupState": "Stable"}
    history = Probed().formed("a").joined("a", 2_500, 2, broker=2)
    history.call("LIST_GROUPS", 3_000, broker=2, answer={"groups": [group]})
    history.call("LIST_GROUPS", 3_010, broker=1, answer={"groups": []})
    verdict = judge(history, "R28-list")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


# X13


def seen(history: Probed, partition: int, *leaders: tuple[float, int | None]) -> None:
    """The observer sees from when on who leads a partition of __consumer_offsets."""
    for ms, leader in leaders:
        history.add(
            "topology", at=at(ms), what="partition", topic="__consumer_offsets", leader=leader,
            partition=partition,
        )  # fmt: skip


def finds(history: Probed, key: str, broker: int) -> Probed:
    """A lookup at 1 s."""
    found = {"key": key, "nodeId": broker, "errorCode": 0}
    return history.call(
        "FIND_COORDINATOR", 1_000, group=None, state=None, answer={"coordinators": [found]}
    )


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("a", 47),  # by Java 97
        ("payments", 13),  # 1,382,682,413
        ("orders", 31),  # -1,008,770,331
        ("polygenelubricantt", 47),  # -2,147,483,647, the least but one
    ],
)
def test_of_fifty_partitions_a_name_leads_to_one(judge: Judge, name: str, partition: int) -> None:
    """Each has a leader of its own."""
    history = Probed()
    for number in range(50):
        seen(history, number, (0, number))
    (row,) = judge(finds(history, name, partition), "X13")["rows"]
    assert (True, f"belongs to partition {partition}") == (row["ok"], row["note"])


@pytest.mark.parametrize(("broker", "verdict"), [(2, "VIOLATED"), (3, "HOLDS"), (4, "VIOLATED")])
def test_who_led_the_partition_before_or_leads_it_later_is_not_found(
    judge: Judge, broker: int, verdict: str
) -> None:
    """The leader changes long before the lookup, and after it."""
    history = Probed()
    seen(history, 0, (0, 2), (200, 3), (1_500, 4))
    assert verdict == judge(finds(history, "a", broker), "X13")["verdict"]


@pytest.mark.parametrize(
    ("named", "ok"),
    [
        (["a"], [True]),
        (["a", "b"], [True, False]),
        (["b"], [False]),
        (None, [True]),  # in an older version
    ],
)
def test_a_lookup_is_answered_for_each_group_that_it_names(
    judge: Judge, named: list[str] | None, ok: list[bool]
) -> None:
    history = Probed()
    for number in range(50):
        seen(history, number, (0, number))
    finds(history, "a", 47).rows["calls"][0]["request"] = json.dumps({"coordinatorKeys": named})
    rows = sorted(judge(history, "X13")["rows"], key=lambda row: str(row["subject"]))
    assert ok == [row["ok"] for row in rows]


def test_a_lookup_that_was_not_answered_says_nothing(judge: Judge) -> None:
    history = Probed()
    seen(history, 0, (0, 3))
    request = {"coordinatorKeys": ["a"]}
    history.call("FIND_COORDINATOR", 1_000, None, group=None, request=request)
    history.call("FIND_COORDINATOR", 1_000, 15, group=None, request=request)
    assert 0 == judge(history, "X13")["examined"]


def test_before_the_observer_has_looked_no_name_is_examined(judge: Judge) -> None:
    history = Probed()
    seen(history, 0, (1_001, 3))
    assert 0 == judge(finds(history, "a", 3), "X13")["examined"]


def test_a_partition_whose_leader_is_not_on_record_leaves_it_open(judge: Judge) -> None:
    history = Probed()
    seen(history, 0, (0, 3), (500, None))
    (row,) = judge(finds(history, "a", 3), "X13")["rows"]
    assert (None, "partition 0 had no leader") == (row["ok"], row["why"])


def test_the_group_may_be_where_its_partition_was_until_the_observer_saw_another_leader(
    judge: Judge,
) -> None:
    """It is loaded at 15 s, when the partition still has the leader that was seen once."""
    history = Probed()
    seen(history, 0, (0, 2), (20_000, 4))
    history.says("loaded", 15_000, broker=2, members=1)
    assert "HOLDS" == judge(history, "X13")["verdict"]


def test_a_group_that_moved_to_a_broker_with_a_lower_number_is_listed_there(judge: Judge) -> None:
    group = {"groupId": OWN, "protocolType": "consumer", "groupState": "Stable"}
    history = Probed().formed("a", broker=2).joined("a", 2_500, 2, broker=1)
    history.call("LIST_GROUPS", 3_000, broker=1, answer={"groups": [group]})
    history.call("LIST_GROUPS", 3_010, broker=2, answer={"groups": []})
    assert "HOLDS" == judge(history, "R28-list")["verdict"]


def test_a_partition_without_a_leader_leaves_it_open(judge: Judge) -> None:
    history = Probed()
    seen(history, 0, (0, 3), (500, -1))
    (row,) = judge(finds(history, "a", 3), "X13")["rows"]
    assert row["ok"] is None
