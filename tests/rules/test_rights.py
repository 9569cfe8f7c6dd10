"""Members whose users lose an ACL or their credentials: what brokers have to answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]

GROUP, TOPIC = 30, 29


def lost(what: str | None, **named: str) -> History:
    """A user without an ACL from 10 s to 20 s; a second is left to either side."""
    parameters = json.dumps({"how": what, **named})
    history = History().fault(
        "delete-acl", "member-1", 10_000, parameters=parameters, injecting_ms=9_000
    )
    for phase, ms in (("healing", 20_000), ("healed", 21_000)):
        history.rows["faults"].append(
            {**history.rows["faults"][-1], "phase": phase, "at": at(ms), "took_effect": None}
        )
    return history


# X43


@pytest.mark.parametrize(
    ("ms", "error", "verdict"),
    [
        (10_049, 0, "UNKNOWN"),
        (10_050, 0, "VIOLATED"),
        (10_050, GROUP, "HOLDS"),
        (15_000, 25, "VIOLATED"),
        (19_999, 0, "VIOLATED"),
        (20_001, 0, "UNKNOWN"),
    ],
)
def test_every_call_is_refused_while_the_right_is_gone(
    judge: Judge, ms: float, error: int, verdict: str
) -> None:
    history = lost("group").heartbeats("member-1", ms, error_code=error)
    assert verdict == judge(history, "X43")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(8_999, "VIOLATED"), (9_000, "HOLDS"), (21_000, "HOLDS"), (21_001, "VIOLATED")],
)
def test_no_call_is_refused_while_the_right_is_there(judge: Judge, ms: float, verdict: str) -> None:
    history = lost("group").heartbeats("member-1", ms, error_code=GROUP)
    assert verdict == judge(history, "X43")["verdict"]


def test_a_fault_that_names_no_right_takes_the_one_of_its_way(judge: Judge) -> None:
    history = lost(None, way="group").heartbeats("member-1", 15_000)
    assert "VIOLATED" == judge(history, "X43")["verdict"]
    history = lost(None, way="topic").heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X43")["verdict"]


def test_any_fault_that_takes_the_right_is_one(judge: Judge) -> None:
    """What it is called is no matter."""
    history = lost("group").heartbeats("member-1", 15_000)
    for row in history.rows["faults"]:
        row["kind"] = "revoke-grant"
    assert "VIOLATED" == judge(history, "X43")["verdict"]


def test_who_is_not_let_in_has_lost_no_one_right(judge: Judge) -> None:
    history = deleted().heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X43")["verdict"]
    assert "UNKNOWN" == judge(history, "X43-topic")["verdict"]


def test_the_right_of_another_is_none_of_its_own(judge: Judge) -> None:
    history = lost("group").heartbeats("member-1", 15_000, error_code=GROUP)
    history.heartbeats("member-2", 15_000)
    assert "HOLDS" == judge(history, "X43")["verdict"]
    history.heartbeats("member-2", 16_000, error_code=GROUP)
    row = judge(history, "X43")
    assert "VIOLATED" == row["verdict"]
    assert "every right" in row["reason"]


def test_a_refusal_needs_no_fault_to_be_wrong(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().heartbeats("member-1", 1_000), "X43")["verdict"]
    history = History().heartbeats("member-1", 1_000, error_code=GROUP)
    assert "VIOLATED" == judge(history, "X43")["verdict"]


def test_the_right_to_the_topic_is_another_one(judge: Judge) -> None:
    history = lost("topic").heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X43")["verdict"]
    history.heartbeats("member-1", 16_000, error_code=GROUP)
    assert "VIOLATED" == judge(history, "X43")["verdict"]


def test_a_right_that_was_not_taken_is_not_missed(judge: Judge) -> None:
    history = History().fault("delete-acl", "member-1", 10_000, 20_000, took_effect=False)
    history.heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X43")["verdict"]


# X43-topic


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(0, "HOLDS"), (27, "HOLDS"), (25, "HOLDS"), (GROUP, "VIOLATED"), (TOPIC, "VIOLATED")],
)
def test_heartbeats_count_without_the_topic(judge: Judge, error: int, verdict: str) -> None:
    history = lost("topic").heartbeats("member-1", 15_000, error_code=error)
    assert verdict == judge(history, "X43-topic")["verdict"]


@pytest.mark.parametrize(
    ("ms", "error", "verdict"),
    [
        (10_049, 0, "UNKNOWN"),
        (10_050, 0, "VIOLATED"),
        (15_000, TOPIC, "HOLDS"),
        (19_999, 0, "VIOLATED"),
        (20_000, TOPIC, "HOLDS"),  # as it is given back
        (20_001, 0, "UNKNOWN"),
    ],
)
def test_commits_are_refused_without_the_topic(
    judge: Judge, ms: float, error: int, verdict: str
) -> None:
    history = lost("topic").commit_request("member-1", ms, 0, 10, error)
    assert verdict == judge(history, "X43-topic")["verdict"]


def test_other_requests_and_those_without_an_answer_say_nothing_of_the_topic(judge: Judge) -> None:
    history = lost("topic").heartbeats("member-1", 15_000, error_code=None)
    history.request("SYNC_GROUP", "member-1", 15_100)
    assert "UNKNOWN" == judge(history, "X43-topic")["verdict"]


def test_who_has_lost_the_group_is_not_examined_for_the_topic(judge: Judge) -> None:
    history = lost("group").heartbeats("member-1", 15_000, error_code=GROUP)
    assert "UNKNOWN" == judge(history, "X43-topic")["verdict"]


# X44


def deleted(
    reauth_ms: str = "3000", kind: str = "delete-credentials", *, took_effect: bool = True
) -> History:
    settings = {"connections.max.reauth.ms": reauth_ms}
    history = History(cluster={"settings": settings})
    return history.fault(kind, "member-1", 10_000, 20_000, took_effect, injecting_ms=9_000)


@pytest.mark.parametrize(
    ("ms", "verdict", "measured"),
    [
        (9_500, "HOLDS", 0),
        (12_000, "HOLDS", 2_000),
        (13_050, "HOLDS", 3_050),
        (13_051, "VIOLATED", 3_051),
        (19_998, "VIOLATED", 9_998),
        (19_999, "HOLDS", 0),  # it is told then to let the user in again
        (20_500, "HOLDS", 0),
    ],
)
def test_a_user_without_credentials_is_served_no_longer_than_a_login_lasts(
    judge: Judge, ms: float, verdict: str, measured: float
) -> None:
    row = judge(deleted().heartbeats("member-1", ms), "X44")
    assert (verdict, measured) == (row["verdict"], row["measured_max"])


def test_the_last_of_several_requests_counts_and_none_of_the_moment_of_the_deletion(
    judge: Judge,
) -> None:
    history = deleted().heartbeats("member-1", 10_000, 11_000, 12_000)
    verdict = judge(history, "X44")
    assert ("HOLDS", 2_000) == (verdict["verdict"], verdict["measured_max"])
    assert "2 requests were served meanwhile" == verdict["rows"][0]["why"]


def test_who_keeps_its_credentials_is_not_examined(judge: Judge) -> None:
    history = deleted(took_effect=False).heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X44")["verdict"]
    history = deleted(kind="freeze-consumer").heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X44")["verdict"]


def test_a_login_may_last_a_millisecond(judge: Judge) -> None:
    assert "VIOLATED" == judge(deleted("1").heartbeats("member-1", 10_052), "X44")["verdict"]


def test_who_has_lost_a_right_is_let_in(judge: Judge) -> None:
    history = lost("group").heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X44")["verdict"]


def test_others_are_served_on(judge: Judge) -> None:
    history = deleted().heartbeats("member-2", 15_000)
    assert "HOLDS" == judge(history, "X44")["verdict"]


def test_without_a_limit_to_logins_nothing_is_examined(judge: Judge) -> None:
    history = deleted("0").heartbeats("member-1", 15_000)
    assert "UNKNOWN" == judge(history, "X44")["verdict"]
    history = History().fault("delete-credentials", "member-1", 10_000, 20_000)
    assert "UNKNOWN" == judge(history, "X44")["verdict"]
