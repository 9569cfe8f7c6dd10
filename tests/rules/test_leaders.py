from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# X90


def led(*leaders: tuple[int | None, float]) -> History:
    """The observer sees these brokers lead t-0, each from its moment on."""
    history = History()
    for leader, ms in leaders:
        history.add(
            "topology", at=at(ms), what="partition", topic="t", partition=0, leader=leader, isr=[1]
        )
    return history


def asked(history: History, broker: int, ms: float, partition: int = 0, error: int = 0) -> History:
    """Somebody asks a broker for the end of a partition of t."""
    end = {"topic": "t", "partition": partition, "committed": 7, "error_code": error}
    return history.request("LIST_OFFSETS", "member-1", ms, broker=broker, positions=[end])


@pytest.mark.parametrize(("broker", "verdict"), [(1, "HOLDS"), (2, "VIOLATED")])
def test_the_end_of_a_partition_is_told_by_its_leader(
    judge: Judge, broker: int, verdict: str
) -> None:
    found = judge(asked(asked(led((1, 0)), 1, 8_000), broker, 9_000), "X90")
    assert (verdict, broker) == (found["verdict"], found["examined"])


def test_whoever_leads_no_more_may_refuse(judge: Judge) -> None:
    history = asked(asked(led((1, 0)), 1, 8_000), 2, 9_000, error=6)
    assert ("HOLDS", 1) == (judge(history, "X90")["verdict"], judge(history, "X90")["examined"])


@pytest.mark.parametrize(
    ("broker", "ms", "verdict"),
    [
        (1, 25_000, "HOLDS"),
        (1, 25_001, "VIOLATED"),
        (2, 15_000, "HOLDS"),
        (2, 14_999, "VIOLATED"),
    ],
)
def test_either_of_two_leaders_may_tell_where_one_follows_the_other(
    judge: Judge, broker: int, ms: float, verdict: str
) -> None:
    """The observer sees the second at 20 s."""
    assert verdict == judge(asked(led((1, 0), (2, 20_000)), broker, ms), "X90")["verdict"]


def test_a_moment_in_which_nobody_is_seen_to_lead_changes_nothing(judge: Judge) -> None:
    """The observer was not told by the broker that it asked then."""
    assert "HOLDS" == judge(asked(led((1, 0), (None, 20_000)), 1, 30_000), "X90")["verdict"]


def test_the_first_that_was_told_by_another_broker_is_named(judge: Judge) -> None:
    history = asked(led((1, 0), (2, 20_000)), 3, 22_000)
    found = judge(asked(asked(history, 3, 40_000), 3, 50_000), "X90")
    assert ("VIOLATED", 3, at(22_000)) == (
        found["verdict"], found["measured_max"], found["rows"][0]["at"],
    )  # fmt: skip
    assert "told the end of t-0, whose leader was broker-2" in found["reason"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(9_998, "VIOLATED"), (9_999, "UNKNOWN"), (18_000, "UNKNOWN"), (18_001, "VIOLATED")],
)
def test_a_broker_in_trouble_may_not_know_that_it_leads_no_more(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = led((1, 0)).fault("pause-broker", "broker-2", 10_000, 12_000)
    assert verdict == judge(asked(history, 2, ms), "X90")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(31_000, "UNKNOWN"), (40_000, "VIOLATED")])
def test_where_the_machine_stood_still_another_leader_may_not_have_been_seen(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = asked(led((1, 0)), 2, 30_000).tick(ms - 1_000)
    history.tick(ms, late_ms=800)
    assert verdict == judge(history.tick(50_000), "X90")["verdict"]


def test_a_partition_that_nobody_saw_shows_nothing(judge: Judge) -> None:
    assert "UNKNOWN" == judge(asked(led((1, 0)), 2, 9_000, partition=4), "X90")["verdict"]
    assert "UNKNOWN" == judge(led((1, 0)), "X90")["verdict"]


def test_the_leader_that_was_seen_last_is_named(judge: Judge) -> None:
    (row,) = judge(asked(led((2, 0), (1, 20_000)), 3, 24_000), "X90")["rows"]
    assert "whose leader was broker-1" in row["why"]
