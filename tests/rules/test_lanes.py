from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

Judge = Callable[[History, str], dict[str, Any]]


@pytest.mark.parametrize(
    ("lane", "listener", "verdict"),
    [
        ("members", "LANE_MEMBERS", "HOLDS"),
        ("member-1", "LANE_MEMBER_1", "HOLDS"),
        ("member-1", "LANE_MEMBERS", "VIOLATED"),
        ("members", "DIRECT", "VIOLATED"),
        ("members", None, "UNKNOWN"),
        (None, "DIRECT", "UNKNOWN"),
    ],
)
def test_every_request_comes_through_the_listener_of_the_member_s_lane(
    judge: Judge, lane: str | None, listener: str | None, verdict: str
) -> None:
    history = History().member("member-1", lane=lane)
    history.heartbeats("member-1", 1_000, 2_000, listener=listener)
    history.heartbeats("observer", 1_000, listener="DIRECT")
    assert verdict == judge(history, "E06")["verdict"]


def test_one_request_by_another_listener_is_enough(judge: Judge) -> None:
    history = History().member("member-1")
    history.heartbeats("member-1", 1_000, listener="LANE_MEMBERS")
    history.request("OFFSET_COMMIT", "member-1", 2_000, listener="DIRECT")
    verdict = judge(history, "E06")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])
    assert "2 requests by DIRECT and LANE_MEMBERS" in verdict["rows"][0]["why"]
