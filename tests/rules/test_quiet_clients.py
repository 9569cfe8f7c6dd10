from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import GROUP, History, at

Judge = Callable[[History, str], dict[str, Any]]


# X91


def looks(times: int, every_ms: float = 600, steady_ms: float = 10_000) -> History:
    """member-1 looks its coordinator up so many times from 20 s on, and member-2 once."""
    history = History(steady_ms=steady_ms).member("member-1").member("member-2")
    for number in range(times):
        history.request("FIND_COORDINATOR", "member-1", 20_000 + number * every_ms)
    return history.request("FIND_COORDINATOR", "member-2", 20_000)


@pytest.mark.parametrize(
    ("times", "every_ms", "most", "verdict"),
    [
        (15, 600, 15, "HOLDS"),
        (16, 600, 16, "VIOLATED"),
        (16, 10_000 / 15, 15, "HOLDS"),
        (30, 1_000, 10, "HOLDS"),
        (0, 1, 1, "HOLDS"),
    ],
)
def test_a_member_looks_its_coordinator_up_so_often_at_most(
    judge: Judge, times: int, every_ms: float, most: int, verdict: str
) -> None:
    found = judge(looks(times, every_ms), "X91")
    assert (verdict, 2, most) == (found["verdict"], found["examined"], found["measured_max"])


@pytest.mark.parametrize(
    ("kind", "target", "healed_ms", "verdict"),
    [
        ("kill-broker", "broker-1", 24_000, "HOLDS"),
        ("kill-broker", "broker-1", 12_499, "VIOLATED"),
        ("isolate", "members", 24_000, "HOLDS"),
        ("kill-consumer", "member-1", None, "HOLDS"),
        ("kill-consumer", "member-2", None, "VIOLATED"),
    ],
)
def test_in_a_fault_of_its_own_or_of_brokers_it_may_look_more_often(
    judge: Judge, kind: str, target: str, healed_ms: float | None, verdict: str
) -> None:
    begun_ms = 11_000 if healed_ms == 12_499 else 19_000
    history = looks(16, 1).fault(kind, target, begun_ms, healed_ms)
    assert verdict == judge(history, "X91")["verdict"]


def test_before_the_group_is_steady_brokers_may_not_be_there_yet(judge: Judge) -> None:
    assert "HOLDS" == judge(looks(40, 10, steady_ms=30_000), "X91")["verdict"]


def test_without_members_x91_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X91")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "healed_ms", "most"),
    [
        (20_014, 40_000, 14),
        (20_015, 40_000, 15),  # the last lookup comes as the fault does
        (20_016, 40_000, 16),
        (11_000, 12_499, 16),
        (11_000, 12_500, 15),  # the first comes a session and a lookup, 7.5 s, after it was healed
        (11_000, 12_501, 14),
    ],
)
def test_a_fault_counts_from_its_beginning_until_lookups_because_of_it_are_over(
    judge: Judge, from_ms: float, healed_ms: float, most: int
) -> None:
    history = looks(16, 1).fault("kill-broker", "broker-1", from_ms + 1, healed_ms)
    assert most == judge(history, "X91")["measured_max"]


@pytest.mark.parametrize(("rule", "measured"), [("X91", [16]), ("X98", [21])])
def test_who_is_alone_is_counted_as_well(judge: Judge, rule: str, measured: list[int]) -> None:
    history = looks(16, 1) if rule == "X91" else asks(21, 1)
    del history.rows["members"][1]
    assert measured == [row["measured"] for row in judge(history, rule)["rows"]]


@pytest.mark.parametrize("rule", ["X91", "X98"])
def test_only_consumers_that_were_started_are_examined(judge: Judge, rule: str) -> None:
    history = looks(15, 1).member("producer", role="producer").member("member-3", started_at=None)
    for number in range(40):
        history.request("FIND_COORDINATOR", "producer", 20_000 + number)
    verdict = judge(history, rule)
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


# X98


def asks(times: int, every_ms: float = 600, api: str = "OFFSET_FETCH", **row: Any) -> History:
    """member-1 asks for the position of t-0 so many times from 20 s on, and of t-1 once."""
    history = History(steady_ms=10_000).member("member-1").member("member-2")
    row = {"member_id": None, "generation": None, **row}
    for number in range(times):
        history.request(api, "member-1", 20_000 + number * every_ms, positions=[T_0], **row)
    return history.request(api, "member-1", 20_000, positions=[{**T_0, "partition": 1}], **row)


T_0 = {"topic": "t", "partition": 0, "committed": 7, "error_code": 0}


@pytest.mark.parametrize(
    ("times", "every_ms", "most", "verdict"),
    [
        (20, 450, 20, "HOLDS"),
        (21, 450, 21, "VIOLATED"),
        (21, 500, 20, "HOLDS"),
        (0, 1, 1, "HOLDS"),
    ],
)
@pytest.mark.parametrize(("api", "group"), [("OFFSET_FETCH", GROUP), ("LIST_OFFSETS", None)])
def test_a_member_asks_for_a_position_so_often_at_most(
    judge: Judge,
    times: int,
    every_ms: float,
    most: int,
    verdict: str,
    api: str,
    group: str | None,
) -> None:
    found = judge(asks(times, every_ms, api, group=group), "X98")
    assert (verdict, 2, most) == (found["verdict"], found["examined"], found["measured_max"])


def test_what_an_open_transaction_refuses_does_not_count(judge: Judge) -> None:
    history = asks(20, 1)
    refused = {**T_0, "committed": -1, "error_code": 88}
    for number in range(40):
        history.request("OFFSET_FETCH", "member-1", 21_000 + number, positions=[refused])
    found = judge(history, "X98")
    assert ("HOLDS", 20) == (found["verdict"], found["measured_max"])


def test_two_sorts_of_questions_are_counted_apart(judge: Judge) -> None:
    history = asks(20, 1)
    for number in range(20):
        history.request("LIST_OFFSETS", "member-1", 20_000 + number, positions=[T_0], group=None)
    assert "HOLDS" == judge(history, "X98")["verdict"]


def test_positions_of_another_group_are_asked_for_by_somebody_else(judge: Judge) -> None:
    assert "HOLDS" == judge(asks(40, 1, group="others"), "X98")["verdict"]


@pytest.mark.parametrize(("target", "verdict"), [("member-1", "HOLDS"), ("member-2", "VIOLATED")])
def test_in_a_fault_of_its_own_it_may_ask_more_often(
    judge: Judge, target: str, verdict: str
) -> None:
    history = asks(21, 1).fault("kill-consumer", target, 19_000, None)
    assert verdict == judge(history, "X98")["verdict"]


def test_without_members_x98_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X98")["verdict"]


def test_a_question_that_was_never_answered_was_asked_as_well(judge: Judge) -> None:
    history = asks(1)
    unanswered = {**T_0, "committed": None, "error_code": None}
    for number in range(20):
        history.request(
            "OFFSET_FETCH", "member-1", 21_000 + number, member_id=None, generation=None,
            positions=[unanswered], error_code=None, answered_at=None,
        )  # fmt: skip
    found = judge(history, "X98")
    assert ("VIOLATED", 21) == (found["verdict"], found["measured_max"])


# X92


def reports(ms: float, detail: str = "library: _TRANSPORT (-195)", **row: Any) -> History:
    """member-1 reports an error, and member-2 none; all is well from 10 s on."""
    history = History(steady_ms=10_000).member("member-1", **row).member("member-2")
    return history.told("member-1", "error", ms, detail=detail)


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [
        (10_000, "HOLDS"),
        (10_001, "VIOLATED"),
        (59_998, "VIOLATED"),
        (59_999, "HOLDS"),  # its members are stopped
    ],
)
def test_no_error_is_reported_in_steady_time(judge: Judge, ms: float, verdict: str) -> None:
    found = judge(reports(ms), "X92")
    assert (verdict, 2) == (found["verdict"], found["examined"])
    assert ("_TRANSPORT" in found["reason"]) == (verdict == "VIOLATED")


def test_what_our_own_consumer_notes_is_no_error_of_the_client(judge: Judge) -> None:
    history = reports(30_000, "poll 7 returned records of partitions just given up")
    assert "HOLDS" == judge(history, "X92")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(19_998, "VIOLATED"), (19_999, "HOLDS"), (28_000, "HOLDS"), (28_001, "VIOLATED")],
)
def test_errors_come_with_faults_and_for_a_while_after(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = reports(ms).fault("kill-broker", "broker-3", 20_000, 22_000)
    assert verdict == judge(history, "X92")["verdict"]


@pytest.mark.parametrize(
    ("kind", "target", "verdict"),
    [
        ("kill-consumer", "member-1", "HOLDS"),
        ("kill-consumer", "member-2", "VIOLATED"),
        ("start-duplicate", "member-2", "HOLDS"),  # nobody knows which of the two is fenced
        ("isolate", "members", "HOLDS"),
    ],
)
def test_a_fault_of_another_member_is_no_reason_for_an_error(
    judge: Judge, kind: str, target: str, verdict: str
) -> None:
    history = reports(25_000).fault(kind, target, 20_000)
    assert verdict == judge(history, "X92")["verdict"]


@pytest.mark.parametrize(
    ("refused_ms", "error", "verdict"),
    [
        (30_050, 30, "HOLDS"),
        (30_051, 30, "VIOLATED"),
        (24_000, 30, "HOLDS"),
        (23_999, 30, "VIOLATED"),
        (29_000, 0, "VIOLATED"),
        (29_000, 27, "VIOLATED"),
    ],
)
def test_who_was_refused_something_may_report_it(
    judge: Judge, refused_ms: float, error: int, verdict: str
) -> None:
    history = reports(30_000).request("HEARTBEAT", "member-1", refused_ms, error_code=error)
    assert verdict == judge(history, "X92")["verdict"]
    other = reports(30_000).request("HEARTBEAT", "member-2", refused_ms, error_code=error)
    assert "VIOLATED" == judge(other, "X92")["verdict"]


@pytest.mark.parametrize(
    ("row", "examined"),
    [
        ({"settings": '{"auto.offset.reset": "error"}'}, 1),
        ({"settings": '{"auto.offset.reset": "none"}'}, 1),
        ({"sabotage": "commit-nothing"}, 1),
        ({"settings": '{"auto.offset.reset": "earliest"}'}, 2),
    ],
)
def test_who_is_made_to_fail_is_not_examined(
    judge: Judge, row: dict[str, Any], examined: int
) -> None:
    found = judge(reports(30_000, **row), "X92")
    assert ("HOLDS" if examined == 1 else "VIOLATED", examined) == (
        found["verdict"],
        found["examined"],
    )


def test_a_poll_limit_is_examined_by_others(judge: Judge) -> None:
    history = reports(30_000, "message: _MAX_POLL_EXCEEDED (-147): exceeded by 12ms")
    assert "HOLDS" == judge(history, "X92")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(600_000, "HOLDS"), (599_999, "VIOLATED")])
def test_brokers_end_connections_that_are_idle(judge: Judge, ms: float, verdict: str) -> None:
    history = reports(ms, "library: _TRANSPORT (-195): Disconnected (after 600000ms in state UP)")
    history.end_ms = 700_000
    assert verdict == judge(history, "X92")["verdict"]


class BrokenOff(History):
    """A run that ended before its members were stopped."""

    def manifest(self, **changes: Any) -> dict[str, Any]:
        content = super().manifest(**changes)
        return {**content, "phases": content["phases"][:1]}


@pytest.mark.parametrize(("ms", "verdict"), [(53_999, "VIOLATED"), (54_000, "HOLDS")])
def test_what_broke_by_itself_may_have_ended_the_run(judge: Judge, ms: float, verdict: str) -> None:
    history = BrokenOff(steady_ms=10_000).member("member-1")
    history.told("member-1", "error", ms, detail="library: _TRANSPORT (-195)")
    assert verdict == judge(history, "X92")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(24_500, "UNKNOWN"), (20_000, "VIOLATED")])
def test_a_machine_that_stood_still_answered_nobody(judge: Judge, ms: float, verdict: str) -> None:
    history = reports(30_000).tick(15_000).tick(ms, late_ms=400)
    assert verdict == judge(history.tick(40_000), "X92")["verdict"]


def test_without_clients_x92_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X92")["verdict"]


def test_the_first_of_several_errors_is_told(judge: Judge) -> None:
    history = reports(30_000, "the second").told("member-1", "error", 20_000, detail="the first")
    (row,) = [row for row in judge(history, "X92")["rows"] if row["ok"] is False]
    assert (at(20_000), 2, "reported: the first") == (row["at"], row["measured"], row["why"])
