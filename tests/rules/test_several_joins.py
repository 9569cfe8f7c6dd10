"""Members that join their group more than once, and two that join with one instance id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at
from tests.probe_histories import Probed

Judge = Callable[[History, str], dict[str, Any]]


# R17


@pytest.mark.parametrize(
    ("sessions", "verdict"),
    [((5_999, 6_000), "VIOLATED"), ((6_000, 5_999), "VIOLATED"), ((6_000, 7_000), "HOLDS")],
)
def test_each_of_several_joins_has_a_session_timeout_in_range(
    judge: Judge, sessions: tuple[int, int], verdict: str
) -> None:
    history = History()
    for number, session_ms in enumerate(sessions, start=1):
        history.join("member-1", 10 * number, number, session_timeout_ms=session_ms)
    found = judge(history, "R17")
    (row,) = found["rows"]
    assert verdict == found["verdict"]
    if verdict == "VIOLATED":
        (wrong,) = (each for each in sessions if not 6_000 <= each <= 1_800_000)
        assert (at(10 * (1 + sessions.index(wrong))), wrong) == (row["at"], row["measured"])
        assert f"was let in with a session timeout of {wrong} ms" == row["why"]


def test_the_line_of_a_join_with_a_session_timeout_out_of_range_is_named(judge: Judge) -> None:
    history = History().join("member-1", 10, session_timeout_ms=5_999)
    (row,) = judge(history.join("member-1", 20, 2), "R17")["rows"]
    assert "broker-1-requests.log:1" == row["evidence"]


# X05-wire


def test_two_that_say_nothing_after_the_second_join_are_not_examined(judge: Judge) -> None:
    history = Probed().formed("s", static=("s",))
    history.joined("t", 3_000, instance_id="S", state="Stable")
    found = judge(history, "X05-wire")
    assert ("UNKNOWN", 0) == (found["verdict"], found["examined"])
