from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History
from tests.probe_histories import OWN, Probed

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
        request={
            "version": row.pop("version", 8), "topics": [{"name": "t", "partitions": asked}],
        },
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
    topic: str = "t",
    **row: Any,
) -> Probed:
    told = [
        {
            "partitionIndex": number,
            "committedOffset": position,
            "errorCode": (errors or {}).get(number, 0),
        }
        for number, position in positions.items()
    ]
    named = None if everything else [{"name": topic, "partitionIndexes": list(positions)}]
    return history.call(
        "OFFSET_FETCH", ms, state="Empty",
        request={"groups": [{"groupId": "own", "topics": named}], "requireStable": stable},
        answer={"groups": [{"topics": [{"name": topic, "partitions": told}]}]}, **row,
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


@pytest.mark.parametrize(
    ("row", "error", "verdict"),
    [
        ({"state": "Empty", "generation": None}, 0, "HOLDS"),
        ({"state": "Empty", "member": "nobody", "generation": 0}, 25, "HOLDS"),
        ({"state": "Empty", "member": "nobody", "generation": 0}, 0, "VIOLATED"),
        ({"state": "Stable", "after": "Empty"}, 25, "UNKNOWN"),  # it changed meanwhile
        ({"state": "Stable"}, 12, "UNKNOWN"),  # too much metadata
        ({"state": "Stable", "api": "TXN_OFFSET_COMMIT"}, 0, "UNKNOWN"),
    ],
)
def test_who_is_nobody_and_which_commits_are_examined(
    judge: Judge, row: dict[str, Any], error: int, verdict: str
) -> None:
    history = committed(Probed().formed("a"), 3_000, {0: 1}, {0: error}, **row)
    assert verdict == judge(history, "X06")["verdict"]


@pytest.mark.parametrize(
    ("version", "kafka", "error", "verdict"),
    [
        (8, "4.3.1", 22, "HOLDS"),
        (8, "4.3.1", 69, "VIOLATED"),
        (9, "4.3.1", 69, "HOLDS"),
        (9, "4.3.1", 22, "VIOLATED"),
        (10, "4.2.1", 69, "HOLDS"),
        (9, "3.9.2", 22, "HOLDS"),  # the coordinator of then looks at no version
        (9, "3.9.2", 69, "VIOLATED"),
    ],
)
def test_that_a_group_does_not_exist_is_told_since_version_9(
    judge: Judge, version: int, kafka: str, error: int, verdict: str
) -> None:
    history = Probed(kafka=kafka)
    row = {"state": "Dead", "member": "a", "generation": 1, "version": version}
    assert verdict == judge(committed(history, 3_000, {0: 1}, {0: error}, **row), "X06")["verdict"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "HOLDS"),
        ({"after": "Dead"}, "VIOLATED"),
        ({"after": "Stable"}, "HOLDS"),
        ({"after": "Dead", "state_after": None}, "HOLDS"),  # not known
        ({"after": "Dead", "errors": {0: 16}}, "VIOLATED"),  # by what it was answered alone
        ({"after": "Dead", "member": "a", "generation": -1}, "HOLDS"),  # as somebody
        ({"state": "Empty", "after": "Dead"}, "HOLDS"),
    ],
)
def test_there_is_a_group_once_nobody_has_committed_to_it(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    row = {"state": "Dead", "after": "Empty", **row}
    verdict_ = judge(committed(Probed(), 3_000, {0: 1}, row.pop("errors", None), **row), "X06")
    assert verdict == verdict_["verdict"]
    assert ("there was still no group" in verdict_["reason"]) == (
        verdict == "VIOLATED" and verdict_["examined"] == 2
    )


@pytest.mark.parametrize(
    ("ms", "api", "group", "verdict"),
    [
        (-2_000, "DELETE_GROUPS", OWN, "VIOLATED"),
        (-1_999, "DELETE_GROUPS", OWN, "HOLDS"),
        (8_000, "DELETE_GROUPS", OWN, "HOLDS"),
        (8_001, "DELETE_GROUPS", OWN, "VIOLATED"),
        (3_000, "OFFSET_DELETE", OWN, "VIOLATED"),
        (3_000, "DELETE_GROUPS", "orders-else", "VIOLATED"),
    ],
)
def test_a_group_may_be_deleted_at_once(
    judge: Judge, ms: float, api: str, group: str, verdict: str
) -> None:
    history = committed(Probed(), 3_000, {0: 1}, state="Dead", after="Dead")
    assert verdict == judge(history.call(api, ms, group=group), "X06")["verdict"]


def test_the_limit_of_metadata_is_what_the_brokers_were_given(judge: Judge) -> None:
    history = long_metadata(10, 0, 7)
    assert "HOLDS" == judge(history, "R31")["verdict"]
    history.cluster["offset.metadata.max.bytes"] = "9"
    assert "VIOLATED" == judge(history, "R31")["verdict"]


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


def test_metadata_that_nobody_fetched_is_examined_and_cannot_be_told(judge: Judge) -> None:
    history = long_metadata(4_096, 0, 7)
    history.rows["calls"] = [row for row in history.rows["calls"] if "FETCH" not in row["api"]]
    verdict = judge(history, "R31")
    assert "UNKNOWN" == verdict["verdict"]
    assert 0 < verdict["examined"] == verdict["unknowns"]


def test_bytes_and_characters_are_told_apart(judge: Judge) -> None:
    counts_characters = long_metadata(4_096, 0, 7, "é")
    assert "HOLDS" == judge(counts_characters, "R31")["verdict"]
    assert "VIOLATED" == judge(counts_characters, "R31-bytes")["verdict"]
    assert "HOLDS" == judge(long_metadata(4_096, 12, 5, "é"), "R31-bytes")["verdict"]
    assert "UNKNOWN" == judge(long_metadata(4_097, 12, 5), "R31-bytes")["verdict"]


def test_only_what_nobody_commits_to_an_idle_group_and_is_answered_is_examined(
    judge: Judge,
) -> None:
    history = long_metadata(4_097, 12, 5)
    wrong: dict[str, Any] = {"metadata": {1: "m" * 4_097}}
    committed(history, 2_100, {1: 9}, **wrong, api="TXN_OFFSET_COMMIT")
    committed(history, 2_200, {1: 9}, **wrong, member="a", generation=1)
    committed(history, 2_300, {1: 9}, {1: 25}, **wrong, state="Stable")
    committed(history, 2_400, {1: 9}, **wrong, answered_at=None)
    verdict = judge(history, "R31")
    assert ("HOLDS", 4) == (verdict["verdict"], verdict["examined"])


def test_what_was_never_fetched_again_is_unknown_and_the_rest_is_judged(judge: Judge) -> None:
    history = committed(long_metadata(4_097, 12, 5), 3_000, {0: 8, 1: 8}, metadata={1: "m"})
    verdict = judge(history, "R31")
    assert ("UNKNOWN", 6) == (verdict["verdict"], verdict["examined"])
    assert "was never fetched again" in {row["why"] for row in verdict["rows"]}


def test_without_any_metadata_nothing_is_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(long_metadata(0, 0, 7), "R31")["verdict"]
    assert 4 == judge(long_metadata(1, 0, 7), "R31")["examined"]


def test_the_last_fetch_before_and_the_first_after_count(judge: Judge) -> None:
    """At the latest answered as the commit is sent, and sent as that is answered."""
    history = committed(Probed(), 1_000, {1: 3})
    fetched(history, 1_100, {1: 3})
    committed(history, 1_200, {1: 5})
    fetched(fetched(history, 1_300, {1: 5}), 1_999, {1: 6})
    committed(history, 2_000, {1: 7}, {1: 12}, metadata={1: "m" * 4_097})
    fetched(fetched(history, 2_000.5, {1: 4}), 2_001, {1: 6})
    fetched(history, 2_100, {1: 8})
    # Of another group, topic or partition.
    for ms in (1_999.5, 2_000.9):
        fetched(fetched(history, ms, {1: 2}, group="else"), ms, {1: 2}, topic="u")
        fetched(history, ms, {2: 2})
    verdict = judge(history, "R31")
    long_one = next(row for row in verdict["rows"] if row["measured"] == 4_097)
    assert (True, "answered 12, then fetched 6") == (long_one["ok"], long_one["why"])


@pytest.mark.parametrize(("then", "verdict"), [(-1, "HOLDS"), (7, "VIOLATED")])
def test_refused_where_nothing_was_committed_before_nothing_is(
    judge: Judge, then: int, verdict: str
) -> None:
    history = committed(Probed(), 2_000, {1: 7}, {1: 12}, metadata={1: "m" * 4_097})
    assert verdict == judge(fetched(history, 2_500, {1: then}), "R31")["verdict"]


@pytest.mark.parametrize(("characters", "verdict"), [(2_048, "HOLDS"), (2_049, "VIOLATED")])
def test_the_limit_is_one_of_bytes_to_the_last(judge: Judge, characters: int, verdict: str) -> None:
    judged = judge(long_metadata(characters, 0, 7, "é"), "R31-bytes")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_a_refusal_of_metadata_of_just_the_limit_violates(judge: Judge) -> None:
    verdict = judge(long_metadata(2_048, 12, 5, "é"), "R31-bytes")
    assert "was refused with error 12" in verdict["reason"]


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


@pytest.mark.parametrize(
    ("told", "error", "stable"),
    [(1, 3, False), (-1, 88, False), (1, 3, True)],
)
def test_a_right_position_with_an_error_violates(
    judge: Judge, told: int, error: int, stable: bool
) -> None:
    history = committed(committed(Probed(), 1_000, {0: 1}), 2_000, {0: 50}, api="TXN_OFFSET_COMMIT")
    fetched(history, 3_000, {0: told}, stable=stable, errors={0: error})
    assert "VIOLATED" == judge(history, "R30-wire")["verdict"]


def test_only_a_stable_fetch_may_have_to_wait_for_the_end_of_a_transaction(judge: Judge) -> None:
    history = transaction(88)
    fetched(history, 4_150, {0: -1}, errors={0: 88})
    fetched(history, 4_160, {0: -1}, stable=True, errors={0: 3})
    assert 2 == judge(history, "R30-wire")["violations"]


def test_all_partitions_are_those_with_a_position_by_then(judge: Judge) -> None:
    """Not what was refused, deleted or only committed later; 0 is a position too."""
    history = committed(Probed(), 1_000, {0: 0, 1: 11, 2: 12}, {2: 12})
    committed(history, 1_100, {1: 0}, api="OFFSET_DELETE")
    fetched(committed(history, 1_199, {3: 13}), 1_200, {0: 0, 3: 13}, everything=True)
    committed(history, 1_300, {4: 14})
    verdict = judge(history, "R30-wire")
    assert "HOLDS" == verdict["verdict"]
    assert "were answered with 2 of 2" in [row["why"] for row in verdict["rows"]]


def test_each_answer_for_all_partitions_is_one_of_its_own(judge: Judge) -> None:
    history = committed(Probed(), 1_000, {0: 10, 1: 11})
    fetched(history, 1_200, {0: 10, 1: 11}, everything=True)
    fetched(history, 1_300, {0: 10}, everything=True)
    fetched(history, 1_400, {1: 11})
    assert 1 == judge(history, "R30-wire")["violations"]


def test_a_fetch_of_all_that_finds_what_nobody_committed_violates(judge: Judge) -> None:
    verdict = judge(fetched(Probed(), 1_200, {0: 7}, everything=True), "R30-wire")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["examined"])


def fetched_with(
    history: Probed, ms: float, position: int, group: str = OWN, error: int = 0, **part: Any
) -> Probed:
    """A fetch of t-0 whose answer says more than its position."""
    told = {"partitionIndex": 0, "committedOffset": position, "errorCode": error, **part}
    asked = [{"name": "t", "partitionIndexes": [0]}]
    return history.call(
        "OFFSET_FETCH", ms, state="Empty", request={"groups": [{"groupId": OWN, "topics": asked}]},
        answer={"groups": [{"groupId": group, "topics": [{"name": "t", "partitions": [told]}]}]},
    )  # fmt: skip


def with_epoch(history: Probed, epoch: int) -> Probed:
    """The last commit names a leader epoch."""
    row = history.rows["calls"][-1]
    row["request"] = row["request"].replace(
        '"committedMetadata"', f'"committedLeaderEpoch": {epoch}, "committedMetadata"'
    )
    return history


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"metadata": "mine"}, "HOLDS"),
        ({"metadata": "mine", "committedLeaderEpoch": 3}, "HOLDS"),
        ({"metadata": "mine", "committedLeaderEpoch": 4}, "VIOLATED"),
        ({"metadata": "mine", "committedLeaderEpoch": -1}, "VIOLATED"),
        ({"metadata": ""}, "VIOLATED"),
        ({"metadata": None}, "VIOLATED"),
        ({"metadata": "yours"}, "VIOLATED"),
        ({"metadata": "mine", "group": "orders-other"}, "VIOLATED"),
        ({"metadata": "mine", "position": 11}, "VIOLATED"),
    ],
)
def test_a_fetch_gives_what_was_committed_with_the_position(
    judge: Judge, told: dict[str, Any], verdict: str
) -> None:
    history = committed(Probed(), 900, {0: 10}, metadata={0: "yours"})
    history = with_epoch(committed(history, 1_000, {0: 10}, metadata={0: "mine"}), 3)
    committed(history, 1_100, {0: 10}, {0: 12}, metadata={0: "refused"})
    committed(history, 1_100, {1: 10}, metadata={1: "of another one"})
    committed(history, 1_100, {0: 10}, metadata={0: "of another one"}, group="orders-else")
    committed(history, 1_201, {0: 10}, metadata={0: "later"})
    verdict_ = judge(fetched_with(history, 1_199, **{"position": 10, **told}), "R30-wire")
    assert (verdict, 1) == (verdict_["verdict"], verdict_["examined"])


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"metadata": ""}, "HOLDS"),
        ({"committedLeaderEpoch": -1}, "HOLDS"),
        ({"metadata": "mine"}, "VIOLATED"),
        ({"committedLeaderEpoch": 0}, "VIOLATED"),
    ],
)
@pytest.mark.parametrize("deleted", [False, True])
def test_where_no_position_is_nothing_was_committed_with_it(
    judge: Judge, deleted: bool, told: dict[str, Any], verdict: str
) -> None:
    history = Probed()
    if deleted:
        with_epoch(committed(history, 1_000, {0: 10}, metadata={0: "mine"}), 0)
        committed(history, 1_100, {0: 0}, api="OFFSET_DELETE")
    assert verdict == judge(fetched_with(history, 1_200, -1, **told), "R30-wire")["verdict"]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "VIOLATED"),
        ({"ms": 1_150, "lasts_ms": 100}, "HOLDS"),  # being committed meanwhile
        ({"ms": 1_202}, "VIOLATED"),
        ({"errors": {0: 15}}, "HOLDS"),  # made, maybe
        ({"errors": {0: 7}}, "HOLDS"),
        ({"errors": {0: 25}}, "VIOLATED"),
    ],
)
def test_what_a_commit_in_the_meantime_brought_may_be_told(
    judge: Judge, row: dict[str, Any], verdict: str
) -> None:
    history = committed(Probed(), 1_000, {0: 10}, metadata={0: "mine"})
    row = {"ms": 1_100, "errors": None, **row}
    committed(history, row.pop("ms"), {0: 10}, row.pop("errors"), metadata={0: "b"}, **row)
    fetched_with(history, 1_200, 10, metadata="c")
    assert verdict == judge(history, "R30-wire")["verdict"]


def test_a_transaction_brings_its_metadata_when_it_ends(judge: Judge) -> None:
    """From when it was told to end the fetch may find either."""
    history = committed(Probed(), 1_000, {0: 10}, metadata={0: "mine"})
    committed(history, 2_000, {0: 10}, api="TXN_OFFSET_COMMIT", metadata={0: "held"})
    assert (
        "HOLDS" == judge(fetched_with(history, 3_000, 10, metadata="mine"), "R30-wire")["verdict"]
    )
    assert 1 == judge(fetched_with(history, 3_100, 10, metadata="held"), "R30-wire")["violations"]
    history.call("END_TXN", 4_000, request={"committed": True}, state="Empty")
    assert 1 == judge(fetched_with(history, 4_100, 10, metadata="held"), "R30-wire")["violations"]


# X110


def asked_and_told(
    asked: Positions | list[int], told: list[int], api: str = "OFFSET_COMMIT", **answer: Any
) -> Probed:
    """These partitions of topic t are named, and those are answered."""
    parts = [{"partitionIndex": number, "errorCode": 0} for number in told]
    topics: Any = [{"name": "t", "partitions": [{"partitionIndex": each} for each in asked]}]
    request, found = {"topics": topics}, {"topics": [{"name": "t", "partitions": parts}], **answer}
    if api == "OFFSET_FETCH":
        topics = [{"name": "t", "partitionIndexes": list(asked)}]
        request, found = {"groups": [{"topics": topics}]}, {"groups": [found]}
    return Probed().call(api, 1_000, request=request, answer=found)


@pytest.mark.parametrize(
    ("asked", "told", "measured"),
    [
        ([0, 1], [0, 1], 0),
        ([0, 1], [1, 0], 0),
        ([0, 1], [0], 1),
        ([0, 1], [], 2),
        ([0], [0, 1], 1),
        ([0], [1], 2),
        ([0, 1], [0, 1, 1], 1),
        ([0, 1], [0, 0], 2),
    ],
)
@pytest.mark.parametrize(
    "api", ["OFFSET_COMMIT", "TXN_OFFSET_COMMIT", "OFFSET_DELETE", "OFFSET_FETCH"]
)
def test_an_answer_names_each_partition_that_was_asked(
    judge: Judge, api: str, asked: list[int], told: list[int], measured: int
) -> None:
    verdict = judge(asked_and_told(asked, told, api), "X110")
    found = ("VIOLATED" if measured else "HOLDS", measured)
    assert found == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    "history",
    [
        asked_and_told([0], [], "OFFSET_DELETE", errorCode=69),
        asked_and_told([0], [], "OFFSET_FETCH", errorCode=16),
        asked_and_told([0, 0], [0]),
        asked_and_told([0], [], "METADATA"),
        Probed().call("OFFSET_COMMIT", 1_000, request={"topics": [{"name": "t"}]}),
        Probed().call("OFFSET_COMMIT", 1_000, None, request={"topics": [{"name": "t"}]}),
        fetched(Probed(), 1_000, {0: 1}, everything=True),
    ],
)
def test_where_nothing_is_named_nothing_is_compared(judge: Judge, history: Probed) -> None:
    assert "UNKNOWN" == judge(history, "X110")["verdict"]


def test_a_topic_of_another_name_is_another_one(judge: Judge) -> None:
    history = fetched(Probed(), 1_000, {0: 1})
    row = history.rows["calls"][0]
    row["answer"] = row["answer"].replace('"t"', '"u"')
    assert 2 == judge(history, "X110")["measured_max"]


# R30-whole


def moving(told: Positions, sent_ms: float = 2_000, second: Positions | None = None) -> Probed:
    """Two commits of two partitions, the second at 2 s for 100 ms, and what is fetched then."""
    history = committed(Probed(), 1_000, {0: 1, 1: 1})
    committed(history, 2_000, second or {0: 2, 1: 2}, lasts_ms=100)
    return fetched(history, sent_ms, told, everything=True, lasts_ms=50)


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({0: 1, 1: 1}, "HOLDS"),
        ({0: 2, 1: 2}, "HOLDS"),
        ({0: 1, 1: 2}, "VIOLATED"),
        ({0: 2, 1: 1}, "VIOLATED"),
        ({0: 2}, "UNKNOWN"),
    ],
)
def test_a_fetch_while_all_are_committed_gives_all_of_one_commit(
    judge: Judge, told: Positions, verdict: str
) -> None:
    assert verdict == judge(moving(told), "R30-whole")["verdict"]


def test_a_fetch_before_or_after_a_commit_shows_nothing_of_it(judge: Judge) -> None:
    assert "UNKNOWN" == judge(moving({0: 1, 1: 2}, sent_ms=1_500), "R30-whole")["verdict"]
    assert "UNKNOWN" == judge(moving({0: 1, 1: 2}, sent_ms=2_100), "R30-whole")["verdict"]


def test_where_commits_move_partitions_apart_nothing_is_expected(judge: Judge) -> None:
    history = moving({0: 1, 1: 2}, second={0: 2, 1: 3})
    assert "UNKNOWN" == judge(history, "R30-whole")["verdict"]
    assert "UNKNOWN" == judge(moving({0: 1, 1: 2}, second={0: 2}), "R30-whole")["verdict"]


def test_a_single_commit_or_a_partition_that_is_refused_shows_no_half_of_one(judge: Judge) -> None:
    alone = committed(Probed(), 2_000, {0: 2, 1: 2}, lasts_ms=100)
    fetched(alone, 2_000, {0: 2, 1: -1}, lasts_ms=50)
    assert 0 == judge(alone, "R30-whole")["examined"]
    refused = moving({0: 2, 1: 2})
    fetched(refused, 2_010, {0: 2, 1: -1}, errors={1: 3}, lasts_ms=50)
    verdict = judge(refused, "R30-whole")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("told", "sent_ms", "verdict"),
    [
        ({0: 1, 1: 1}, 2_050, "HOLDS"),
        ({0: 2, 1: 2}, 2_050, "HOLDS"),  # its commit may be in force already
        ({0: 2, 1: 2}, 1_949, "VIOLATED"),
        ({0: 1, 1: 1}, 2_100, "VIOLATED"),
        ({0: 3, 1: 3}, 2_050, "VIOLATED"),
    ],
)
def test_a_position_that_is_being_committed_may_be_told_already(
    judge: Judge, told: Positions, sent_ms: float, verdict: str
) -> None:
    history = moving(told, sent_ms)
    history.rows["calls"][-1]["request"] = json.dumps({"groups": [{"topics": []}]})
    assert verdict == judge(history, "R30-wire")["verdict"]


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


def test_who_does_not_lead_looks_at_the_epoch_known_first(judge: Judge) -> None:
    history = epochs((1, 1, 0, 6, -1, -1), (1, 0, 0, 74, -1, -1), (1, 2, 0, 75, -1, -1))
    verdict = judge(history, "X33")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])
    history = epochs((1, 1, 0, 0, 0, 10), (1, 0, 0, 6, -1, -1), (1, 2, 0, 6, -1, -1))
    assert 3 == judge(history, "X33")["violations"]


@pytest.mark.parametrize("told", [(0, 11), (1, 10)])
def test_epoch_and_end_must_both_be_right(judge: Judge, told: tuple[int, int]) -> None:
    assert "VIOLATED" == judge(epochs((2, -1, 0, 0, *told)), "X33")["verdict"]


def looked(history: Probed, ms: float, leader: int, epoch: int, **row: Any) -> Probed:
    """Metadata of e-0, or of another."""
    part = {"partitionIndex": row.get("partition", 0), "leaderId": leader, "leaderEpoch": epoch}
    told = {"topics": [{"name": row.get("topic", "e"), "partitions": [part]}]}
    return history.call(row.get("api", "METADATA"), ms, group=None, state=None, answer=told)


def ended(history: Probed, ms: float, epoch: int, end: int, **row: Any) -> Probed:
    part = {"partitionIndex": 0, "offset": end, "leaderEpoch": epoch}
    told = {"topics": [{"name": row.pop("topic", "e"), "partitions": [part]}]}
    error, api = row.pop("error", 0), row.pop("api", "LIST_OFFSETS")
    return history.call(api, ms, error, group=None, state=None, answer=told)


def test_what_was_found_last_before_the_question_counts(judge: Judge) -> None:
    """Nor is anything found that failed, was of another partition, or was no such call."""
    history = epochs((2, -1, 1, 0, 1, 25))
    ended(history, 2_900, 1, 25)
    for ms in (3_000, 3_100):
        ended(looked(history, ms, 3, 2), ms, 1, 30)
    looked(looked(history, 2_950, 3, 2, topic="f"), 2_950, 3, 2, partition=1)
    looked(history, 2_960, 3, 2, api="DESCRIBE_TOPIC_PARTITIONS")
    ended(ended(history, 2_970, 1, 31, topic="f"), 2_980, 1, 32, error=6)
    ended(history, 2_990, 1, 33, api="FETCH")
    asked = json.loads(history.rows["calls"][4]["request"])
    history.call("OFFSET_FOR_LEADER_EPOCH", 2_995, None, request=asked)
    verdict = judge(history, "X33")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_an_epoch_in_which_nobody_led_ended_with_the_one_before(judge: Judge) -> None:
    history = ended(looked(epochs(), 2_500, 2, 3), 2_510, 3, 30)
    history.rows["calls"] += epochs((2, -1, 2, 0, 1, 20)).rows["calls"][4:]
    assert "HOLDS" == judge(history, "X33")["verdict"]


def test_an_epoch_to_come_has_no_end_whatever_was_found(judge: Judge) -> None:
    history = epochs((2, -1, 2, 0, -1, -1))
    history.rows["calls"] = [
        call for call in history.rows["calls"] if call["api"] != "LIST_OFFSETS"
    ]
    assert "HOLDS" == judge(history, "X33")["verdict"]


def told_only(history: Probed, api: str, **part: int) -> Probed:
    """The answers of this api tell no more of the partition than this."""
    for call in history.rows["calls"]:
        if call["api"] == api:
            answer = json.loads(call["answer"])
            answer["topics"][0]["partitions"] = [part]
            call["answer"] = json.dumps(answer)
    return history


@pytest.mark.parametrize(
    ("api", "part"),
    [
        ("LIST_OFFSETS", {}),
        ("LIST_OFFSETS", {"leaderEpoch": 1}),  # but not where it ends
        ("OFFSET_FOR_LEADER_EPOCH", {"endOffset": 20}),  # but not of which epoch
    ],
)
def test_an_end_that_is_on_no_record_cannot_be_told(
    judge: Judge, api: str, part: dict[str, int]
) -> None:
    history = told_only(epochs((2, -1, 1, 0, 1, 20)), api, **part)
    verdict = judge(history, "X33")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])
    assert "has an end that was not looked up before" == verdict["rows"][0]["why"]


def test_who_asks_before_anything_was_said_of_the_partition_is_not_examined(judge: Judge) -> None:
    history = epochs((2, -1, 1, 0, 1, 20))
    history.rows["calls"] = [call for call in history.rows["calls"] if call["api"] != "METADATA"]
    assert 0 == judge(history, "X33")["examined"]


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


def test_the_sizes_told_last_before_and_first_after_count(judge: Judge) -> None:
    history = resized(3, 0, 3)

    def told(ms: float, count: int, topic: str = "e", api: str = "METADATA") -> None:
        parts = [{"partitionIndex": number} for number in range(count)]
        answer = {"topics": [{"name": topic, "partitions": parts}]}
        history.call(api, ms, group=None, state=None, answer=answer)

    told(500, 4)
    told(2_000, 7)
    told(3_500, 5)
    told(1_500, 8, topic="f")
    told(2_500, 8, topic="f")
    told(1_600, 9, api="FETCH")
    told(2_600, 9, api="FETCH")
    asked = {"topics": [{"name": "e", "count": 1}]}
    history.call("CREATE_PARTITIONS", 2_000, None, group=None, state=None, request=asked)
    verdict = judge(history, "R27-shrink")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_change_of_a_topic_that_nobody_looked_at_is_not_examined(judge: Judge) -> None:
    history = resized(1, 37, 2)
    history.rows["calls"] = history.rows["calls"][-1:]
    assert 0 == judge(history, "R27-shrink")["examined"]
