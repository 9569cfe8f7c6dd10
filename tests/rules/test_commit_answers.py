from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]


# X59


@pytest.mark.parametrize(
    ("reported", "answered", "verdict"),
    [
        (0, 0, "HOLDS"),
        (22, 22, "HOLDS"),
        (0, 22, "VIOLATED"),
        (25, 0, "VIOLATED"),
        (27, 25, "HOLDS"),
        (58, 0, "HOLDS"),  # its login had ended when the answer came
        (-185, 0, "HOLDS"),  # the answer came too late
        (-195, 0, "UNKNOWN"),  # an error of its own
        (None, 0, "UNKNOWN"),
    ],
)
def test_a_client_reports_what_it_was_answered(
    judge: Judge, reported: int | None, answered: int, verdict: str
) -> None:
    history = History().asked_commit("member-1", 1_000, 0, 10, error=reported)
    history.commit_request("member-1", 1_001, 0, 10, error=answered)
    assert verdict == judge(history, "X59")["verdict"]


@pytest.mark.parametrize(
    ("reported_ms", "polled_ms", "verdict"),
    [
        (1_050, None, "VIOLATED"),
        (1_049, None, "HOLDS"),
        (None, 6_050, "VIOLATED"),  # its application goes on
        (None, 6_049, "HOLDS"),
        (None, 5_949, "UNKNOWN"),
    ],
)
def test_an_answer_in_time_is_reported(
    judge: Judge, reported_ms: float | None, polled_ms: float | None, verdict: str
) -> None:
    """Its commit at 1 s is answered at once."""
    history = History().commit_request("member-1", 1_000, 0, 10)
    error, answered_at = (None, None) if reported_ms is None else (-185, at(reported_ms))
    history.asked_commit("member-1", 990, 0, 10, error=error, answered_at=answered_at)
    if polled_ms is not None:
        history.delivered("member-1", 0, 10, 19, polled_ms)
    assert verdict == judge(history, "X59")["verdict"]


def test_an_answer_may_be_lost_on_a_disturbed_link(judge: Judge) -> None:
    history = History().commit_request("member-1", 1_000, 0, 10)
    history.asked_commit("member-1", 990, 0, 10, error=-185, answered_at=at(3_000))
    assert "VIOLATED" == judge(history, "X59")["verdict"]
    history.fault("isolate", "member-1", 995, 3_000)
    assert "HOLDS" == judge(history, "X59")["verdict"]


def test_of_two_answers_the_last_one_counts(judge: Judge) -> None:
    history = History().asked_commit("member-1", 1_000, 0, 10, answered_at=at(1_100))
    history.commit_request("member-1", 1_001, 0, 10, error=15)
    history.commit_request("member-1", 1_050, 0, 10)
    assert "HOLDS" == judge(history, "X59")["verdict"]


def test_each_partition_has_an_answer_of_its_own(judge: Judge) -> None:
    history = History().asked_commit("member-1", 1_000, 0, 10)
    history.asked_commit("member-1", 1_000, 1, 7, error=12)
    history.commit_request("member-1", 1_001, 0, 10)
    history.rows["requests"][-1]["positions"].append(
        {"topic": "t", "partition": 1, "committed": 7, "error_code": 12}
    )
    assert "HOLDS" == judge(history, "X59")["verdict"]
    history.rows["requests"][-1]["positions"][0]["error_code"] = 12
    assert "VIOLATED" == judge(history, "X59")["verdict"]


@pytest.mark.parametrize("how", ["auto", "external", "transaction"])
def test_commits_without_answers_of_their_own_are_unknown_to_x59(judge: Judge, how: str) -> None:
    history = History().asked_commit("member-1", 1_000, 0, 10, how=how)
    history.commit_request("member-1", 1_001, 0, 10, error=22)
    assert "UNKNOWN" == judge(history, "X59")["verdict"]


# X61


@pytest.mark.parametrize(("ms", "verdict"), [(5_150, "HOLDS"), (5_151, "VIOLATED")])
def test_a_commit_is_answered_in_its_time(judge: Judge, ms: float, verdict: str) -> None:
    history = History().commit_request("member-1", 1_000, 0, 10, answered_at=at(1_000 + ms))
    assert verdict == judge(history.tick(1_000), "X61")["verdict"]


def test_a_broker_that_is_stopped_answers_later(judge: Judge) -> None:
    history = History().commit_request("member-1", 1_000, 0, 10, answered_at=at(9_000))
    history.fault("pause-broker", "broker-1", 900, 8_500)
    assert "UNKNOWN" == judge(history, "X61")["verdict"]


def test_without_commits_x61_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().join("member-1", 10), "X61")["verdict"]


# X75


@pytest.mark.parametrize(
    "api",
    [
        "HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT", "LEAVE_GROUP", "OFFSET_FETCH", "FIND_COORDINATOR",
    ],
)  # fmt: skip
@pytest.mark.parametrize(("ms", "verdict"), [(1_050, "HOLDS"), (1_051, "VIOLATED")])
def test_a_request_is_answered_in_its_time(judge: Judge, api: str, ms: float, verdict: str) -> None:
    history = History().request(api, "member-1", 1_000, answered_at=at(1_000 + ms))
    assert verdict == judge(history.tick(1_000), "X75")["verdict"]


def test_a_broker_that_is_broken_answers_later(judge: Judge) -> None:
    history = History().heartbeats("member-1", 1_000, answered_at=at(9_000))
    history.fault("kill-broker", "broker-2", 900, 1_500)
    assert "UNKNOWN" == judge(history, "X75")["verdict"]


@pytest.mark.parametrize(("asked_ms", "verdict"), [(999, "UNKNOWN"), (1_000, "VIOLATED")])
def test_before_there_is_a_group_a_broker_does_all_for_the_first_time(
    judge: Judge, asked_ms: float, verdict: str
) -> None:
    history = History().request("FIND_COORDINATOR", "member-1", asked_ms, answered_at=at(3_000))
    history.says("member_added", 1_000, "member-1").tick(1_000)
    assert verdict == judge(history, "X75")["verdict"]


def test_joins_may_wait_and_are_unknown_to_x75(judge: Judge) -> None:
    history = History().request("JOIN_GROUP", "member-1", 10, answered_at=at(9_000))
    assert "UNKNOWN" == judge(history, "X75")["verdict"]
