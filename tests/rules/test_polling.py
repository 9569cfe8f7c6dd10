from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


def java() -> History:
    return History(group={"client": "java"}).member(
        "member-1",
        client="java",
        batch_records=100,
        settings='{"max.partition.fetch.bytes": "65536"}',
    )


def fetched(history: History, ms: float, first: int, size: int = 50_000) -> History:
    detail = (
        f"Fetch READ_COMMITTED at offset {first} for partition t-0 returned fetch data "
        f"PartitionData(partitionIndex=0, errorCode=0, records=MemoryRecords(size={size}, buffer=))"
    )
    return history.told("member-1", "fetched", ms, detail=detail)


def handed_out(history: History, *polls: tuple[float, int, int]) -> History:
    for ms, first, last in polls:
        history.delivered("member-1", 0, first, last, ms)
    return history


# R23


def test_polls_up_to_the_limit_hold(judge: Judge) -> None:
    verdict = judge(handed_out(java(), (1_000, 0, 99), (1_100, 100, 120)), "R23")
    assert "HOLDS" == verdict["verdict"]
    assert 100 == verdict["measured_max"]


def test_a_poll_of_several_partitions_counts_as_a_whole(judge: Judge) -> None:
    history = java().delivered("member-1", 0, 0, 59, 1_000, poll=1)
    assert (
        "VIOLATED"
        == judge(history.delivered("member-1", 1, 0, 59, 1_000, poll=1), "R23")["verdict"]
    )


# R24


def drained() -> History:
    """250 records of one fetch over three polls, then the next fetch."""
    history = handed_out(
        fetched(java(), 1_000, 0), (1_001, 0, 99), (1_100, 100, 199), (1_200, 200, 249)
    )
    return fetched(history, 1_205, 250)


def test_a_fetch_handed_out_over_enough_polls_holds(judge: Judge) -> None:
    verdict = judge(drained(), "R24")
    assert "HOLDS" == verdict["verdict"]
    assert 50_000 == verdict["measured_max"]
    assert "250 records handed out by 3 polls" == verdict["rows"][0]["why"]


def test_a_fetch_above_the_limit_violates(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0, 70_000), (1_001, 0, 9))
    assert "VIOLATED" == judge(fetched(history, 1_100, 10), "R24")["verdict"]


def test_a_fetch_handed_out_by_too_few_polls_violates(judge: Judge) -> None:
    history = handed_out(fetched(java(), 1_000, 0), (1_001, 0, 249))
    assert "VIOLATED" == judge(fetched(history, 1_205, 250), "R24")["verdict"]


# R25


def test_a_fetch_after_the_buffer_is_empty_holds(judge: Judge) -> None:
    verdict = judge(drained(), "R25")
    assert "HOLDS" == verdict["verdict"]
    assert 3 == verdict["measured_max"]


def test_a_fetch_while_records_are_buffered_violates(judge: Judge) -> None:
    history = handed_out(
        fetched(java(), 1_000, 0), (1_001, 0, 99), (1_100, 100, 199), (1_200, 200, 249)
    )
    assert "VIOLATED" == judge(fetched(history, 1_050, 250), "R25")["verdict"]


# R25-rebalance


def rebalanced() -> History:
    history = handed_out(java(), (1_000, 0, 9)).told("member-1", "revoked", 2_000, [0])
    return handed_out(history.told("member-1", "assigned", 4_000, [0]), (4_000, 10, 19))


def test_nothing_between_revocation_and_assignment_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(rebalanced(), "R25-rebalance")["verdict"]


def test_records_between_revocation_and_assignment_violate(judge: Judge) -> None:
    verdict = judge(handed_out(rebalanced(), (3_000, 20, 22)), "R25-rebalance")
    assert "VIOLATED" == verdict["verdict"]
    assert 3 == verdict["measured_max"]


@pytest.mark.parametrize("rule", ["R23", "R24", "R25", "R25-rebalance"])
def test_no_poll_is_unknown(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(java(), rule)["verdict"]
