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


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(949, "UNKNOWN"), (950, "VIOLATED"), (1_052, "VIOLATED"), (1_053, "UNKNOWN")],
)
def test_a_request_belongs_to_a_commit_between_the_question_and_the_answer(
    judge: Judge, ms: float, verdict: str
) -> None:
    """Its application asks at 1,000 and is answered at 1,002; lines may be stamped a bit off."""
    history = History().asked_commit("member-1", 1_000, 0, 10)
    history.commit_request("member-1", ms, 0, 10, error=22)
    assert verdict == judge(history, "X59")["verdict"]


@pytest.mark.parametrize(
    ("member", "fault_ms", "healed_ms", "verdict"),
    [
        ("member-1", 9_000, 9_989, "VIOLATED"),
        ("member-1", 9_000, 9_990, "HOLDS"),  # healed as it asks
        ("member-1", 14_990, 20_000, "HOLDS"),  # as long as it waits for the answer at most
        ("member-1", 14_991, 20_000, "VIOLATED"),
        ("member-2", 9_995, 20_000, "VIOLATED"),
    ],
)
def test_only_its_own_link_and_only_meanwhile_loses_an_answer(
    judge: Judge, member: str, fault_ms: float, healed_ms: float, verdict: str
) -> None:
    history = History().member("member-1").member("member-2")
    history.commit_request("member-1", 10_000, 0, 10)
    history.asked_commit("member-1", 9_990, 0, 10, error=-185, answered_at=at(13_000))
    history.fault("isolate", member, fault_ms + 1, healed_ms, injecting_ms=fault_ms)
    assert verdict == judge(history, "X59")["verdict"]


def test_the_first_of_several_that_are_reported_otherwise_is_named(judge: Judge) -> None:
    history = History()
    for ms, partition in ((1_000, 2), (2_000, 1), (3_000, 0)):
        history.asked_commit("member-1", ms, partition, 10)
        history.commit_request("member-1", ms + 1, partition, 10, error=22 if partition else 0)
    found = judge(history, "X59")
    assert ("VIOLATED", 2) == (found["verdict"], found["measured_max"])
    assert "reported error 0 for t-2 at 10, and was answered 22" in found["reason"]


def test_commits_that_are_reported_as_they_were_answered_are_told_by_the_first(
    judge: Judge,
) -> None:
    history = History()
    for ms in (1_000, 2_000):
        history.asked_commit("member-1", ms, 0, 10).commit_request("member-1", ms + 1, 0, 10)
    (row,) = judge(history, "X59")["rows"]
    assert (at(1_000), "2 commits") == (row["at"], row["why"])


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


def test_what_is_committed_elsewhere_is_unknown_to_x59(judge: Judge) -> None:
    history = History().asked_commit("member-1", 1_000, 0, 10, how="external")
    history.commit_request("member-1", 1_001, 0, 10, error=22)
    assert "UNKNOWN" == judge(history, "X59")["verdict"]


@pytest.mark.parametrize(
    ("client", "reported", "verdict"),
    [
        ("librdkafka", 25, "HOLDS"),
        *(("librdkafka", code, "VIOLATED") for code in (12, 22, 27, 82, 110, 113)),
        ("librdkafka", 16, "HOLDS"),  # it may have been told so elsewhere
        ("librdkafka", 30, "HOLDS"),
        ("librdkafka", -185, "HOLDS"),
        ("java", 22, "VIOLATED"),
        ("java", 27, "HOLDS"),
    ],
)
def test_a_refusal_is_reported_as_it_was_answered(
    judge: Judge, client: str, reported: int, verdict: str
) -> None:
    history = History(group={"client": client})
    history.asked_commit("member-1", 1_000, 0, 10, error=reported)
    history.commit_request("member-1", 1_001, 0, 10, error=25)
    assert verdict == judge(history, "X59")["verdict"]


@pytest.mark.parametrize(
    ("heard", "verdict"),
    [
        ({}, "HOLDS"),
        ({"ms": 950}, "HOLDS"),
        ({"ms": 949}, "VIOLATED"),
        ({"ms": 1_150}, "HOLDS"),
        ({"ms": 1_151}, "VIOLATED"),
        ({"error": 82}, "VIOLATED"),
        ({"member": "member-2"}, "VIOLATED"),
        ({"api": "OFFSET_FETCH"}, "VIOLATED"),
    ],
)
def test_a_client_may_report_what_it_heard_of_another_partition(
    judge: Judge, heard: dict[str, Any], verdict: str
) -> None:
    """It is answered 12 for t-0, and reports 22 at 1,100."""
    history = History().asked_commit("member-1", 1_000, 0, 10, error=22, answered_at=at(1_100))
    history.commit_request("member-1", 1_001, 0, 10, error=12)
    call = {"member": "member-1", "ms": 1_002, "partition": 1, "committed": 5, "error": 22, **heard}
    api = call.pop("api", "OFFSET_COMMIT")
    history.commit_request(**call)
    history.rows["requests"][-1]["api"] = api
    assert verdict == judge(history, "X59")["verdict"]


@pytest.mark.parametrize(
    ("fault_ms", "healed_ms", "verdict"),
    [
        (9_000, 20_000, "HOLDS"),
        (10_002, 20_000, "HOLDS"),
        (10_003, 20_000, "VIOLATED"),
        (2_000, 10_000, "HOLDS"),
        (2_000, 9_999, "VIOLATED"),
        (2_000, None, "HOLDS"),
    ],
)
def test_a_killed_broker_may_have_answered_and_not_written_so(
    judge: Judge, fault_ms: float, healed_ms: float | None, verdict: str
) -> None:
    history = History().asked_commit("member-1", 10_000, 0, 10, error=22)
    history.commit_request("member-1", 10_001, 0, 10, error=25)
    history.fault("kill-broker", "broker-1", fault_ms + 1, healed_ms, injecting_ms=fault_ms)
    assert verdict == judge(history, "X59")["verdict"]


@pytest.mark.parametrize(("healed_ms", "verdict"), [(20_000, "VIOLATED"), (None, "HOLDS")])
def test_a_paused_broker_writes_it_when_it_goes_on(
    judge: Judge, healed_ms: float | None, verdict: str
) -> None:
    history = History().asked_commit("member-1", 10_000, 0, 10, error=22)
    history.commit_request("member-1", 10_001, 0, 10, error=25)
    history.fault("pause-broker", "broker-1", 10_000, healed_ms)
    assert verdict == judge(history, "X59")["verdict"]


@pytest.mark.parametrize(
    ("reported", "answered", "verdict"),
    [
        (0, 0, "HOLDS"),
        (22, 22, "HOLDS"),
        (22, 0, "VIOLATED"),
        (0, 22, "VIOLATED"),
        (22, 25, "VIOLATED"),
        (90, 0, "HOLDS"),  # it was fenced before it could end the transaction
        (-185, 0, "HOLDS"),
        (None, 0, "UNKNOWN"),
    ],
)
def test_a_transaction_is_not_reported_as_refused_once_its_positions_were_accepted(
    judge: Judge, reported: int | None, answered: int, verdict: str
) -> None:
    history = History().asked_commit(
        "member-1", 1_000, 0, 10, error=reported, how="transaction", answered_at=at(3_000)
    )
    if reported is None:
        history.rows["commits"][-1]["answered_at"] = None
    history.commit_request("member-1", 1_001, 0, 10, error=answered)
    assert "UNKNOWN" == judge(history, "X59")["verdict"]
    history.rows["requests"][-1]["api"] = "TXN_OFFSET_COMMIT"
    assert verdict == judge(history, "X59")["verdict"]


def test_a_transaction_may_be_left_without_a_report(judge: Judge) -> None:
    history = History().asked_commit("member-1", 1_000, 0, 10, error=None, how="transaction")
    history.commit_request("member-1", 1_001, 0, 10).delivered("member-1", 0, 10, 19, 20_000)
    history.rows["requests"][-1]["api"] = "TXN_OFFSET_COMMIT"
    assert "HOLDS" == judge(history, "X59")["verdict"]


def reported(error: int, *answers: int, ms: float = 10_000) -> History:
    """An automatic commit is reported at 12 s, and was answered so from 10 s on."""
    history = History().asked_commit(
        "member-1", 0, 0, 10, error=error, how="auto", asked_at=None, answered_at=at(12_000)
    )
    for number, answer in enumerate(answers):
        history.commit_request("member-1", ms + number, 0, 10, error=answer)
    return history


@pytest.mark.parametrize(
    ("error", "answers", "verdict"),
    [
        (0, (0,), "HOLDS"),
        (0, (25,), "VIOLATED"),
        (0, (25, 22), "VIOLATED"),
        (0, (0, 25), "HOLDS"),  # made the first time
        (0, (25, 0), "HOLDS"),
        (25, (25,), "HOLDS"),
        (25, (25, 0), "HOLDS"),
        (25, (0,), "VIOLATED"),
        (22, (25,), "VIOLATED"),
        (-185, (0,), "HOLDS"),
        (-195, (0,), "UNKNOWN"),
    ],
)
def test_an_automatic_commit_that_was_never_made_is_not_reported_as_made(
    judge: Judge, error: int, answers: tuple[int, ...], verdict: str
) -> None:
    assert verdict == judge(reported(error, *answers), "X59")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"), [(1, "VIOLATED"), (12_050, "VIOLATED"), (12_051, "UNKNOWN")]
)
def test_an_automatic_commit_is_answered_before_it_is_reported(
    judge: Judge, ms: float, verdict: str
) -> None:
    assert verdict == judge(reported(0, 25, ms=ms), "X59")["verdict"]


@pytest.mark.parametrize(
    ("fault_ms", "healed_ms", "verdict"),
    [
        (12_000, 20_000, "HOLDS"),
        (12_001, 20_000, "VIOLATED"),
        (2_000, 10_000, "HOLDS"),
        (2_000, 9_999, "VIOLATED"),
    ],
)
@pytest.mark.parametrize("error", [0, 22])
def test_a_killed_broker_may_have_answered_an_automatic_commit_and_not_written_so(
    judge: Judge, error: int, fault_ms: float, healed_ms: float, verdict: str
) -> None:
    history = reported(error, 25)
    history.fault("kill-broker", "broker-1", fault_ms + 1, healed_ms, injecting_ms=fault_ms)
    assert verdict == judge(history, "X59")["verdict"]


def test_an_automatic_commit_is_told_by_when_it_was_reported(judge: Judge) -> None:
    (row,) = judge(reported(0, 25), "X59")["rows"]
    assert at(12_000) == row["at"]
    (row,) = judge(reported(0, 0), "X59")["rows"]
    assert at(12_000) == row["at"]


# X61


@pytest.mark.parametrize(("ms", "verdict"), [(5_150, "HOLDS"), (5_151, "VIOLATED")])
def test_a_commit_is_answered_in_its_time(judge: Judge, ms: float, verdict: str) -> None:
    history = History().commit_request("member-1", 1_000, 0, 10, answered_at=at(1_000 + ms))
    assert verdict == judge(history.tick(1_000), "X61")["verdict"]


def test_a_broker_that_is_stopped_answers_later(judge: Judge) -> None:
    history = History().commit_request("member-1", 1_000, 0, 10, answered_at=at(9_000))
    history.fault("pause-broker", "broker-1", 900, 8_500)
    assert "UNKNOWN" == judge(history, "X61")["verdict"]


@pytest.mark.parametrize(
    ("broker", "fault_ms", "healed_ms", "verdict"),
    [
        ("broker-1", 5_000, 8_999, "VIOLATED"),
        ("broker-1", 5_000, 9_000, "UNKNOWN"),  # a second before it came
        ("broker-1", 18_000, 20_000, "UNKNOWN"),  # as the answer leaves
        ("broker-1", 18_001, 20_000, "VIOLATED"),
        ("broker-2", 11_000, 20_000, "VIOLATED"),
    ],
)
def test_only_the_broker_that_was_asked_and_only_meanwhile_answers_later(
    judge: Judge, broker: str, fault_ms: float, healed_ms: float, verdict: str
) -> None:
    history = History().commit_request("member-1", 10_000, 0, 10, answered_at=at(18_000))
    history.fault("pause-broker", broker, fault_ms + 1, healed_ms, injecting_ms=fault_ms)
    assert verdict == judge(history.tick(10_000), "X61")["verdict"]


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


@pytest.mark.parametrize(
    ("fault_ms", "healed_ms", "verdict"),
    [
        (9_000, 13_999, "VIOLATED"),
        (9_000, 14_000, "UNKNOWN"),  # a session before it was asked
        (28_000, 30_000, "UNKNOWN"),  # as the answer leaves
        (28_001, 30_000, "VIOLATED"),
    ],
)
def test_a_broker_answers_in_time_unless_one_is_broken_meanwhile(
    judge: Judge, fault_ms: float, healed_ms: float, verdict: str
) -> None:
    history = History().heartbeats("member-1", 20_000, answered_at=at(28_000)).tick(20_000)
    history.fault("pause-broker", "broker-2", fault_ms + 1, healed_ms, injecting_ms=fault_ms)
    assert verdict == judge(history, "X75")["verdict"]


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


# X100


def committing(**row: Any) -> History:
    """member-1 asks for a commit of t-0 at 10, and it is made at 1 s."""
    history = History().member("member-1", **row)
    return history.asked_commit("member-1", 990, 0, 10).commit_request("member-1", 1_000, 0, 10)


@pytest.mark.parametrize(
    ("member", "partition", "committed", "asked_ms", "verdict"),
    [
        ("member-1", 1, 20, 1_990, "HOLDS"),
        ("member-1", 1, 20, 2_050, "HOLDS"),  # its line is stamped late
        ("member-1", 1, 20, 2_051, "VIOLATED"),
        ("member-2", 1, 20, 1_990, "VIOLATED"),
        ("member-1", 0, 20, 1_990, "VIOLATED"),
        ("member-1", 1, 19, 1_990, "VIOLATED"),
    ],
)
def test_a_commit_that_nobody_asked_for_is_not_made(
    judge: Judge, member: str, partition: int, committed: int, asked_ms: float, verdict: str
) -> None:
    history = committing().asked_commit(member, asked_ms, partition, committed)
    history.commit_request("member-1", 2_000, 1, 20)
    found = judge(history, "X100")
    assert verdict == found["verdict"]
    if verdict == "VIOLATED":
        assert "2 commits; the first that nobody asked for is of t-1 at 20" in found["reason"]
        assert (at(2_000), 1) == (found["rows"][0]["at"], found["rows"][0]["measured"])


@pytest.mark.parametrize(
    ("row", "request_row", "verdict"),
    [
        ({}, {}, "VIOLATED"),
        ({"commit": "auto"}, {}, "UNKNOWN"),
        ({"end": "killed"}, {}, "UNKNOWN"),
        ({"end": "failed"}, {}, "VIOLATED"),
        ({"role": "producer"}, {}, "UNKNOWN"),
        ({}, {"error": 22}, "HOLDS"),
        ({}, {"error_code": 22}, "HOLDS"),
        ({}, {"group": "payments"}, "HOLDS"),
        ({}, {"client_id": "observer"}, "HOLDS"),
    ],
)
def test_automatic_commits_refusals_and_those_of_others_are_none_of_it(
    judge: Judge, row: dict[str, Any], request_row: dict[str, Any], verdict: str
) -> None:
    history = committing(**row).commit_request("member-1", 2_000, 1, 20, **request_row)
    assert verdict == judge(history, "X100")["verdict"]


def test_a_commit_on_record_without_its_time_was_asked_for_at_some(judge: Judge) -> None:
    history = committing().asked_commit("member-1", 0, 1, 20, asked_at=None)
    assert "HOLDS" == judge(history.commit_request("member-1", 2_000, 1, 20), "X100")["verdict"]
