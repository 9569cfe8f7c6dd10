from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History
from tests.probe_histories import Probed

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]
Positions = dict[int, int]


def committed(
    history: Probed, ms: float, positions: Positions, errors: Positions | None = None, **row: Any
) -> Probed:
    """An OffsetCommit of topic t, by default as nobody in an empty group."""
    metadata = row.pop("metadata", {})
    codes = {number: (errors or {}).get(number, 0) for number in positions}
    asked = [
        {
            "partitionIndex": number,
            "committedOffset": position,
            "committedMetadata": metadata.get(number, ""),
        }
        for number, position in positions.items()
    ]
    told = [{"partitionIndex": number, "errorCode": code} for number, code in codes.items()]
    row = {"state": "Empty", "generation": -1, **row}
    return history.call(
        row.pop("api", "OFFSET_COMMIT"), ms, max(codes.values()),
        request={"topics": [{"name": "t", "partitions": asked}]},
        answer={"topics": [{"name": "t", "partitions": told}]}, **row,
    )  # fmt: skip


def fetched(
    history: Probed,
    ms: float,
    positions: Positions,
    *,
    everything: bool = False,
    stable: bool = False,
    errors: Positions | None = None,
) -> Probed:
    told = [
        {
            "partitionIndex": number,
            "committedOffset": position,
            "errorCode": (errors or {}).get(number, 0),
        }
        for number, position in positions.items()
    ]
    named = None if everything else [{"name": "t", "partitionIndexes": list(positions)}]
    return history.call(
        "OFFSET_FETCH", ms, state="Empty",
        request={"groups": [{"groupId": "own", "topics": named}], "requireStable": stable},
        answer={"groups": [{"topics": [{"name": "t", "partitions": told}]}]},
    )  # fmt: skip


# X06

COMMITS: Any = (
    ({"state": "Dead", "after": "Empty"}, 0),
    ({"state": "Empty"}, 0),
    ({"state": "Stable"}, 25),
    ({"state": "Dead", "member": "a", "generation": 1}, 22),
    ({"member": "a", "generation": 1}, 0),
    ({"member": "a", "generation": 1, "state": "PreparingRebalance"}, 0),
    ({"member": "a", "generation": 1, "state": "CompletingRebalance"}, 27),
    ({"member": "a", "generation": 0, "state": "CompletingRebalance"}, 22),
    ({"member": "a", "generation": 2}, 22),
    ({"member": "nobody", "generation": 1}, 25),
    ({"member": "s", "generation": 1, "instance_id": "S"}, 0),
    ({"member": "nobody", "generation": 1, "instance_id": "S"}, 82),
    ({"member": "s", "generation": 1, "instance_id": "stranger"}, 25),
)


@pytest.mark.parametrize(("wrong", "verdict"), [(False, "HOLDS"), (True, "VIOLATED")])
def test_what_each_commit_must_be_answered(judge: Judge, wrong: bool, verdict: str) -> None:
    history = Probed().formed("a", "s", static=("s",))
    for number, (asked, error) in enumerate(COMMITS):
        answered = (0 if error else 25) if wrong else error
        row = {"state": "Stable", **asked}
        committed(history, 3_000 + 10 * number, {0: 1}, {0: answered}, **row)
    judged = judge(history, "X06")
    assert (verdict, len(COMMITS) if wrong else 0) == (judged["verdict"], judged["violations"])


# R31 and R31-bytes


def long_metadata(length: int, error: int, then: int, letter: str = "m") -> Probed:
    """Position 7 after 5, the metadata of t-1 so long, and what is fetched of it then."""
    history = fetched(committed(Probed(), 1_000, {0: 5, 1: 5}), 1_500, {0: 5, 1: 5})
    metadata = {1: letter * length}
    committed(history, 2_000, {0: 7, 1: 7}, {1: error}, metadata=metadata)
    return fetched(history, 2_500, {0: 7, 1: then})


@pytest.mark.parametrize(
    ("length", "error", "then", "verdict"),
    [
        (4_096, 0, 7, "HOLDS"),
        (4_097, 12, 5, "HOLDS"),
        (4_097, 0, 7, "VIOLATED"),
        (4_096, 12, 5, "VIOLATED"),
        (4_097, 12, 7, "VIOLATED"),
        (4_096, 0, 5, "VIOLATED"),
    ],
)
def test_too_long_metadata_cost_their_partition_and_no_other(
    judge: Judge, length: int, error: int, then: int, verdict: str
) -> None:
    history = long_metadata(length, error, then)
    assert verdict == judge(history, "R31")["verdict"]


def test_bytes_and_characters_are_told_apart(judge: Judge) -> None:
    counts_characters = long_metadata(4_096, 0, 7, "é")
    assert "HOLDS" == judge(counts_characters, "R31")["verdict"]
    assert "VIOLATED" == judge(counts_characters, "R31-bytes")["verdict"]
    assert "HOLDS" == judge(long_metadata(4_096, 12, 5, "é"), "R31-bytes")["verdict"]
    assert "UNKNOWN" == judge(long_metadata(4_097, 12, 5), "R31-bytes")["verdict"]


# R30-wire


def test_a_fetch_gives_the_last_accepted_position(judge: Judge) -> None:
    history = committed(Probed(), 1_000, {0: 10, 1: 11})
    committed(history, 1_100, {0: 9, 1: 99}, {1: 12})
    fetched(history, 1_200, {0: 9, 1: 11, 2: -1})
    fetched(history, 1_300, {0: 9, 1: 11}, everything=True)
    assert "HOLDS" == judge(history, "R30-wire")["verdict"]


@pytest.mark.parametrize("told", [{0: 11, 1: 11}, {0: 10, 1: -1}, {0: 10, 1: 11, 2: 0}])
def test_a_fetch_of_something_else_violates(judge: Judge, told: Positions) -> None:
    history = fetched(committed(Probed(), 1_000, {0: 10, 1: 11}), 1_200, told)
    assert "VIOLATED" == judge(history, "R30-wire")["verdict"]


def test_a_fetch_of_all_that_lacks_a_partition_violates(judge: Judge) -> None:
    history = committed(Probed(), 1_000, {0: 10, 1: 11})
    fetched(history, 1_200, {0: 10}, everything=True)
    assert "VIOLATED" == judge(history, "R30-wire")["verdict"]


def test_a_deleted_position_is_gone(judge: Judge) -> None:
    history = committed(Probed(), 1_000, {0: 10})
    committed(history, 1_100, {0: 0}, api="OFFSET_DELETE")
    assert "HOLDS" == judge(fetched(history, 1_200, {0: -1}), "R30-wire")["verdict"]
    assert "VIOLATED" == judge(fetched(history, 1_300, {0: 10}), "R30-wire")["verdict"]


def transaction(held: int, then: int = 50) -> Probed:
    """t-0 is at 1, and at 50 in a transaction from 2 s to 4 s; the code a stable fetch is told."""
    history = committed(Probed(), 1_000, {0: 1})
    committed(history, 2_000, {0: 50}, api="TXN_OFFSET_COMMIT")
    fetched(history, 3_000, {0: 1})
    fetched(history, 3_100, {0: -1 if held else 1}, stable=True, errors={0: held})
    history.call("END_TXN", 4_000, request={"committed": True}, state="Empty")
    fetched(history, 4_100, {0: -1}, stable=True, errors={0: 88})
    return fetched(history, 4_200, {0: then}, stable=True)


def test_require_stable_waits_for_an_open_transaction(judge: Judge) -> None:
    assert "HOLDS" == judge(transaction(88), "R30-wire")["verdict"]
    assert 1 == judge(transaction(0), "R30-wire")["violations"]
    assert 1 == judge(transaction(88, then=1), "R30-wire")["violations"]


# X33


def epochs(*answers: tuple[int, int, int, int, int, int]) -> Probed:
    """Epoch 0 of e-0 ended at 10; broker 2 leads it in epoch 1, which is at 20."""
    history = Probed()
    for ms, leader, epoch, end in ((1_000, 1, 0, 10), (2_000, 2, 1, 20)):
        part = {"partitionIndex": 0, "leaderId": leader, "leaderEpoch": epoch, "errorCode": 0}
        told = {"topics": [{"name": "e", "partitions": [part]}]}
        history.call("METADATA", ms, group=None, state=None, answer=told)
        part = {"partitionIndex": 0, "offset": end, "leaderEpoch": epoch, "errorCode": 0}
        told = {"topics": [{"name": "e", "partitions": [part]}]}
        history.call("LIST_OFFSETS", ms + 10, group=None, state=None, answer=told)
    for number, (broker, known, asked, error, epoch, end) in enumerate(answers):
        wanted = {"partition": 0, "currentLeaderEpoch": known, "leaderEpoch": asked}
        part = {"partition": 0, "errorCode": error, "leaderEpoch": epoch, "endOffset": end}
        history.call(
            "OFFSET_FOR_LEADER_EPOCH", 3_000 + number, error, group=None, state=None, broker=broker,
            request={"topics": [{"topic": "e", "partitions": [wanted]}]},
            answer={"topics": [{"topic": "e", "partitions": [part]}]},
        )  # fmt: skip
    return history


def test_where_epochs_end(judge: Judge) -> None:
    history = epochs(
        (2, -1, 1, 0, 1, 20),
        (2, -1, 0, 0, 0, 10),
        (2, -1, 2, 0, -1, -1),
        (2, 1, 0, 0, 0, 10),
        (2, 0, 0, 74, -1, -1),
        (2, 2, 0, 75, -1, -1),
        (1, -1, 0, 6, -1, -1),
    )
    verdict = judge(history, "X33")
    assert ("HOLDS", 7) == (verdict["verdict"], verdict["examined"])


def test_wrong_ends_and_accepted_strangers_violate(judge: Judge) -> None:
    history = epochs(
        (2, -1, 1, 0, 1, 19),
        (2, -1, 0, 0, 1, 20),
        (2, -1, 2, 0, 1, 20),
        (2, 0, 0, 0, 0, 10),
        (2, 2, 0, 0, 0, 10),
        (1, -1, 0, 0, 0, 10),
    )
    assert 6 == judge(history, "X33")["violations"]


# R27-shrink


def resized(wanted: int, error: int, has: int) -> Probed:
    """A topic of 2 partitions is asked to have so many."""
    history = Probed()
    for ms, count in ((1_000, 2), (3_000, has)):
        parts = [{"partitionIndex": number} for number in range(count)]
        told = {"topics": [{"name": "e", "partitions": parts}]}
        history.call("METADATA", ms, group=None, state=None, answer=told)
    return history.call(
        "CREATE_PARTITIONS", 2_000, error, group=None, state=None,
        request={"topics": [{"name": "e", "count": wanted}]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "error", "has", "verdict"),
    [
        (1, 37, 2, "HOLDS"),
        (2, 37, 2, "HOLDS"),
        (3, 0, 3, "HOLDS"),
        (1, 0, 1, "VIOLATED"),
        (1, 37, 1, "VIOLATED"),
        (3, 0, 2, "VIOLATED"),
        (3, 37, 2, "VIOLATED"),
    ],
)
def test_a_topic_never_shrinks(
    judge: Judge, wanted: int, error: int, has: int, verdict: str
) -> None:
    assert verdict == judge(resized(wanted, error, has), "R27-shrink")["verdict"]
