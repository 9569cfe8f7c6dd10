from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, answered, at

Judge = Callable[[History, str], dict[str, Any]]


def begins(
    first: int | None, told: int, policy: str = "earliest", lookup: tuple[int, int] | None = None
) -> History:
    """member-2 is given t-0, is told a committed position, looks one up, and reads from `first`."""
    settings = json.dumps({"auto.offset.reset": policy})
    history = History().member("member-2", settings=settings).told("member-2", "assigned", 100, [0])
    answered(history, 150, told)
    if lookup:
        which, position = lookup
        found = {"topic": TOPIC, "partition": 0, "committed": position, "error_code": 0}
        detail = json.dumps({"timestamp": which})
        history.request("LIST_OFFSETS", "member-2", 160, positions=[found], detail=detail)
    return history if first is None else history.delivered("member-2", 0, first, first + 9, 200)


def deleted(history: History, below: int) -> History:
    gone = {"topic": TOPIC, "partition": 0, "committed": below, "error_code": 0}
    return history.request("DELETE_RECORDS", "observer", 50, positions=[gone])


def reported(history: History, ms: float = 150) -> History:
    """The application hears of an error."""
    return history.told("member-2", "error", ms)


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
def test_a_committed_position_counts_whatever_the_policy(judge: Judge, policy: str) -> None:
    assert "HOLDS" == judge(begins(20, 20, policy), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, 20, policy), "X18")["verdict"]


def test_looking_up_an_end_although_a_position_is_committed_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(begins(20, 20, "latest", (-1, 20)), "X18")["verdict"]


def test_without_a_position_the_policy_counts(judge: Judge) -> None:
    assert "HOLDS" == judge(begins(0, -1, "earliest", (-2, 0)), "X18")["verdict"]
    assert "HOLDS" == judge(begins(70, -1, "latest", (-1, 70)), "X18")["verdict"]
    assert "HOLDS" == judge(reported(begins(None, -1, "none")), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, -1, "latest", (-1, 70)), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(70, -1, "earliest", (-1, 70)), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, -1, "none", (-2, 0)), "X18")["verdict"]


@pytest.mark.parametrize(
    ("client", "read_ms", "partition", "verdict"),
    [
        ("librdkafka", 99, 0, "HOLDS"),
        ("librdkafka", 100, 0, "VIOLATED"),  # it has the partition by then
        ("librdkafka", 99, 1, "VIOLATED"),
        ("java", 99, 0, "VIOLATED"),
    ],
)
def test_librdkafka_knows_where_a_log_starts_that_it_has_read(
    judge: Judge, client: str, read_ms: float, partition: int, verdict: str
) -> None:
    history = History().member("member-2", client=client).told("member-2", "assigned", 100, [0])
    history.delivered("member-2", partition, 0, 9, read_ms).delivered("member-2", 0, 0, 9, 200)
    assert verdict == judge(answered(history, 150, -1), "X18")["verdict"]


def test_what_is_known_of_the_start_of_a_log_is_no_reason_to_look_up_its_end(
    judge: Judge,
) -> None:
    history = begins(0, -1, "earliest", (-1, 70)).delivered("member-2", 0, 0, 9, 50)
    assert "VIOLATED" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("which", "error", "verdict"),
    [(-2, 0, "HOLDS"), (-1, 0, "VIOLATED"), (-2, 6, "VIOLATED")],
)
def test_librdkafka_knows_where_a_log_starts_that_it_looked_up_before(
    judge: Judge, which: int, error: int, verdict: str
) -> None:
    """Just before it was given the partition."""
    history = begins(0, -1)
    found = {"topic": TOPIC, "partition": 0, "committed": 0, "error_code": error}
    detail = json.dumps({"timestamp": which})
    history.request("LIST_OFFSETS", "member-2", 99, positions=[found], detail=detail)
    assert verdict == judge(history, "X18")["verdict"]


def test_a_partition_that_comes_back_begins_at_the_position_told_then(judge: Judge) -> None:
    history = begins(20, 20).told("member-2", "revoked", 300, [0])
    history.told("member-2", "assigned", 400, [0])
    answered(history, 450, 30).delivered("member-2", 0, 30, 39, 500)
    verdict = judge(history, "X18")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_who_is_no_process_of_the_run_is_not_examined(judge: Judge) -> None:
    history = begins(0, 20)
    history.rows["members"].clear()
    assert "UNKNOWN" == judge(history, "X18")["verdict"]


def test_a_position_that_the_log_no_longer_has_is_none(judge: Judge) -> None:
    history = deleted(begins(50, 20, "earliest", (-2, 50)), 50)
    assert "HOLDS" == judge(history, "X18")["verdict"]


def test_a_member_that_never_asked_for_a_position_is_not_examined(judge: Judge) -> None:
    history = History().member("member-2").told("member-2", "assigned", 100, [0])
    assert "UNKNOWN" == judge(history.delivered("member-2", 0, 0, 9, 200), "X18")["verdict"]


def test_the_first_position_told_from_the_assignment_on_counts(judge: Judge) -> None:
    """Told before, to somebody else, of something else, or with an error, it is no position."""
    history = begins(20, 20)
    wrong = {"topic": TOPIC, "partition": 0, "committed": 5, "error_code": 0}
    answered(answered(history, 99, 5), 170, 6)
    answered(history, 101, 7, client_id="member-3")
    history.request("OFFSET_FETCH", "member-2", 102, positions=[{**wrong, "partition": 1}])
    history.request("OFFSET_FETCH", "member-2", 103, positions=[{**wrong, "topic": "u"}])
    history.request("OFFSET_FETCH", "member-2", 104, positions=[{**wrong, "error_code": 88}])
    history.request("OFFSET_COMMIT", "member-2", 105, positions=[wrong])
    history.delivered("member-2", 0, 0, 9, 99).delivered("member-2", 0, 30, 39, 300)
    history.delivered("member-3", 0, 40, 49, 110).delivered("member-2", 1, 50, 59, 110)
    history.delivered("member-2", 0, 60, 69, 110, topic="u")
    verdict = judge(history, "X18")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_position_may_be_told_and_records_polled_at_the_moment_of_the_assignment(
    judge: Judge,
) -> None:
    history = answered(begins(30, 30), 100, 20).delivered("member-2", 0, 20, 29, 100)
    assert "HOLDS" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("told_ms", "read_ms", "verdict"),
    [(300, 300, "HOLDS"), (301, 300, "UNKNOWN"), (300, 301, "UNKNOWN")],
)
def test_what_comes_after_giving_up_is_not_examined(
    judge: Judge, told_ms: float, read_ms: float, verdict: str
) -> None:
    history = History().member("member-2").told("member-2", "assigned", 100, [0])
    answered(history.told("member-2", "revoked", 300, [0]), told_ms, 20)
    assert verdict == judge(history.delivered("member-2", 0, 20, 29, read_ms), "X18")["verdict"]


def test_a_member_that_was_told_a_position_and_never_read_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(begins(None, 20), "X18")["verdict"]


def test_a_partition_that_is_held_to_the_end_is_examined(judge: Judge) -> None:
    history = begins(0, 20)
    history.rows["members"][0].update(ended_at=None, end=None)
    assert "VIOLATED" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize("policy", ["latest", "largest", "end"])
def test_every_name_of_the_end_means_the_end(judge: Judge, policy: str) -> None:
    assert "HOLDS" == judge(begins(70, -1, policy, (-1, 70)), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(70, -1, policy), "X18")["verdict"]


def test_without_a_policy_it_is_the_earliest(judge: Judge) -> None:
    history = begins(0, -1, lookup=(-2, 0))
    history.rows["members"][0]["settings"] = None
    assert "HOLDS" == judge(history, "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, -1), "X18")["verdict"]


def test_the_first_end_that_it_looked_up_itself_counts(judge: Judge) -> None:
    history = begins(70, -1, "latest", (-1, 70))
    found = {"topic": TOPIC, "partition": 0, "committed": 60, "error_code": 0}
    detail = json.dumps({"timestamp": -1})

    def looked_up(ms: float, member: str = "member-2", **changes: Any) -> None:
        positions = [{**found, **changes}]
        history.request("LIST_OFFSETS", member, ms, positions=positions, detail=detail)

    looked_up(99)
    looked_up(170, committed=75)
    looked_up(155, member="member-3")
    looked_up(156, error_code=6)
    looked_up(157, partition=1)
    looked_up(158, topic="u")
    assert "HOLDS" == judge(history, "X18")["verdict"]
    looked_up(100)
    assert "VIOLATED" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("below", "ms", "first", "verdict"),
    [
        (20, 99, 20, "HOLDS"),  # the log still has that position
        (21, 99, 20, "VIOLATED"),
        (21, 100, 20, "HOLDS"),  # deleted only when the partition was assigned
    ],
)
def test_a_position_counts_if_the_log_had_it_at_the_assignment(
    judge: Judge, below: int, ms: float, first: int, verdict: str
) -> None:
    history = deleted(deleted(begins(first, 20), below), 10)
    history.rows["requests"][-2].update(arrived_at=at(ms), processed_at=at(ms), answered_at=at(ms))
    assert verdict == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("first", "lookup", "verdict"),
    [
        (40, (1_700_000_000_000, 40), "HOLDS"),
        (39, (1_700_000_000_000, 40), "VIOLATED"),
        (41, (1_700_000_000_000, 40), "VIOLATED"),
        (40, (0, 40), "HOLDS"),  # since 1970
        (40, (-1, 40), "VIOLATED"),
        (40, (-2, 40), "VIOLATED"),
        (40, None, "VIOLATED"),
        (40, (1_700_000_000_000, -1), "UNKNOWN"),  # no record is as young as that
    ],
)
def test_a_duration_is_looked_up_by_its_time(
    judge: Judge, first: int, lookup: tuple[int, int] | None, verdict: str
) -> None:
    history = begins(first, -1, "by_duration:PT1H", lookup)
    assert verdict == judge(history, "X18")["verdict"]


def test_librdkafka_calls_nothing_an_error(judge: Judge) -> None:
    assert "HOLDS" == judge(reported(begins(None, -1, "error")), "X18")["verdict"]
    assert "VIOLATED" == judge(begins(0, -1, "error", (-2, 0)), "X18")["verdict"]


def test_who_looks_an_end_up_while_it_has_a_position_violates(judge: Judge) -> None:
    """As after an error that is over soon, long after it has begun to read."""
    history = begins(20, 20).delivered("member-2", 0, 30, 39, 1_000)
    found = {"topic": TOPIC, "partition": 0, "committed": 0, "error_code": 0}
    detail = json.dumps({"timestamp": -2})
    history.request("LIST_OFFSETS", "member-2", 900, positions=[found], detail=detail)
    assert "VIOLATED" == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("event", "ms", "policy", "verdict"),
    [
        ("error", 50, "none", "HOLDS"),
        ("error", 49, "none", "VIOLATED"),
        ("error", 2_100, "none", "HOLDS"),
        ("error", 2_101, "none", "VIOLATED"),
        ("error", 2_101, "error", "VIOLATED"),
        ("closing", 2_100, "none", "HOLDS"),
        ("coordinator_lost", 150, "none", "VIOLATED"),
    ],
)
def test_an_application_that_is_to_begin_nowhere_hears_of_it(
    judge: Judge, event: str, ms: float, policy: str, verdict: str
) -> None:
    history = begins(None, -1, policy).told("member-2", event, ms)
    assert verdict == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(("revoked_ms", "verdict"), [(2_099, "HOLDS"), (2_100, "VIOLATED")])
def test_a_partition_that_is_given_up_at_once_may_go_unreported(
    judge: Judge, revoked_ms: float, verdict: str
) -> None:
    history = begins(None, -1, "none").told("member-2", "revoked", revoked_ms, [0])
    assert verdict == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("told", "row", "verdict"),
    [
        (-1, {}, "VIOLATED"),
        (-1, {"client": "java"}, "VIOLATED"),
        (-1, {"client": "app"}, "HOLDS"),
        (10, {}, "HOLDS"),  # what the log no longer has is told with a later fetch
    ],
)
def test_of_whom_errors_are_on_record_and_of_what(
    judge: Judge, told: int, row: dict[str, Any], verdict: str
) -> None:
    history = deleted(begins(None, told, "none"), 20)
    history.rows["members"][-1].update(row)
    assert verdict == judge(history, "X18")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "lasts_ms", "verdict"),
    [
        (50, 50, "HOLDS"),
        (50, 49, "VIOLATED"),  # it ended before
        (2_100, 50, "HOLDS"),
        (2_101, 50, "VIOLATED"),
    ],
)
def test_an_application_that_cannot_poll_hears_nothing(
    judge: Judge, from_ms: float, lasts_ms: float, verdict: str
) -> None:
    history = begins(None, -1, "none")
    stalled = history.told("member-2", "stall_started", from_ms, duration_ms=lasts_ms)
    assert verdict == judge(stalled, "X18")["verdict"]


@pytest.mark.parametrize(
    ("resolved", "from_ms", "healed_ms", "verdict"),
    [
        ("member-2", 50, 100, "HOLDS"),
        ("member-2", 50, 99, "VIOLATED"),
        ("member-2", 2_100, 2_200, "HOLDS"),
        ("member-2", 2_101, 2_200, "VIOLATED"),
        ("member-1", 50, 2_200, "VIOLATED"),
    ],
)
def test_on_a_slow_link_it_hears_of_it_later(
    judge: Judge, resolved: str, from_ms: float, healed_ms: float, verdict: str
) -> None:
    history = begins(None, -1, "none").member("member-1")
    history.fault("latency", resolved, from_ms + 1, healed_ms, injecting_ms=from_ms)
    assert verdict == judge(history, "X18")["verdict"]


# X106


def led(*leaders: tuple[float, int | None], partition: int = 0) -> History:
    """The observer sees a partition of the topic with these leaders, from these moments on."""
    history = History().member("member-2")
    for ms, leader in leaders:
        history.add(
            "topology", at=at(ms), what="partition", topic=TOPIC, partition=partition,
            leader=leader,
        )  # fmt: skip
    return history


def refused(
    history: History, ms: float, error: int | None, api: str = "LIST_OFFSETS", **row: Any
) -> History:
    """member-2 is answered with an error of t-0, and without one of t-1."""
    positions = [
        {"topic": row.pop("topic", TOPIC), "partition": 0, "committed": -1, "error_code": error},
        {"topic": TOPIC, "partition": 1, "committed": 7, "error_code": 0},
    ]
    about = {"group": "orders" if api == "OFFSET_FETCH" else None, **row}
    return history.request(api, about.pop("member", "member-2"), ms, positions=positions, **about)


@pytest.mark.parametrize(
    ("api", "error", "row", "verdict"),
    [
        ("OFFSET_FETCH", 0, {}, "HOLDS"),
        ("OFFSET_FETCH", None, {}, "HOLDS"),
        ("OFFSET_FETCH", 3, {}, "VIOLATED"),
        ("OFFSET_FETCH", 3, {"error_code": None}, "VIOLATED"),
        ("OFFSET_FETCH", 3, {"error_code": 3}, "UNKNOWN"),  # of the request: X70
        ("OFFSET_FETCH", 3, {"group": "payments"}, "UNKNOWN"),
        ("OFFSET_FETCH", 3, {"member": "member-1"}, "UNKNOWN"),  # it is none
        ("OFFSET_FETCH", 3, {"topic": "payments"}, "HOLDS"),
        *(("OFFSET_FETCH", error, {}, "HOLDS") for error in (14, 15, 16, 22, 25, 29, 30, 110, 113)),
        ("OFFSET_FETCH", 88, {}, "VIOLATED"),
        ("LIST_OFFSETS", 0, {}, "HOLDS"),
        ("LIST_OFFSETS", 3, {}, "VIOLATED"),
        ("LIST_OFFSETS", 3, {"error_code": 3}, "VIOLATED"),
        ("LIST_OFFSETS", 6, {}, "VIOLATED"),
        ("LIST_OFFSETS", 16, {}, "VIOLATED"),
        ("LIST_OFFSETS", 25, {}, "VIOLATED"),
        ("LIST_OFFSETS", 29, {}, "HOLDS"),
        ("DELETE_RECORDS", 3, {}, "UNKNOWN"),
    ],
)
def test_a_member_is_told_of_each_partition(
    judge: Judge, api: str, error: int | None, row: dict[str, Any], verdict: str
) -> None:
    history = refused(led((0, 1)), 20_000, error, api, **row)
    assert verdict == judge(history, "X106")["verdict"]


def test_where_transactions_are_open_positions_may_be_unstable(judge: Judge) -> None:
    history = refused(led((0, 1)), 20_000, 88, "OFFSET_FETCH")
    history.group = {"commit": "transaction"}
    assert "HOLDS" == judge(history, "X106")["verdict"]


@pytest.mark.parametrize(
    ("leaders", "ms", "error", "verdict"),
    [
        (((0, 1),), 1_050, 3, "HOLDS"),  # it is new
        (((0, 1),), 1_051, 3, "VIOLATED"),
        (((0, 1), (30_000, 2)), 24_949, 3, "VIOLATED"),
        (((0, 1), (30_000, 2)), 24_950, 3, "HOLDS"),  # it is seen late
        (((0, 1), (30_000, 2)), 33_050, 3, "HOLDS"),
        (((0, 1), (30_000, 2)), 33_051, 3, "VIOLATED"),
        (((0, 1), (30_000, 2)), 50_000, 6, "HOLDS"),  # who did not read it has not noticed
        (((0, 1), (30_000, 2)), 50_000, 74, "HOLDS"),
        (((0, 1), (30_000, 2)), 50_000, 75, "HOLDS"),
        (((0, 1), (30_000, 2)), 24_949, 6, "VIOLATED"),
        (((0, 1), (30_000, 1)), 30_000, 3, "VIOLATED"),  # another row of the same leader
        (((0, 1), (30_000, -1), (40_000, 1)), 43_050, 3, "HOLDS"),
        (((0, 1), (30_000, -1), (40_000, 1)), 43_051, 3, "VIOLATED"),
        (((0, 1), (30_000, None)), 59_000, 3, "HOLDS"),
        (((0, 1), (30_000, -1), (35_000, -1)), 59_000, 3, "HOLDS"),
    ],
)
def test_while_its_leader_changes_a_partition_may_be_refused(
    judge: Judge, leaders: tuple[tuple[float, int | None], ...], ms: float, error: int,
    verdict: str,
) -> None:  # fmt: skip
    assert verdict == judge(refused(led(*leaders), ms, error), "X106")["verdict"]


def test_only_its_own_leader_is_a_reason(judge: Judge) -> None:
    history = led((0, 1)).add(
        "topology", at=at(19_000), what="partition", topic=TOPIC, partition=1, leader=1
    )
    history.add("topology", at=at(19_000), what="partition", topic="u", partition=0, leader=3)
    assert "VIOLATED" == judge(refused(history, 20_000, 3), "X106")["verdict"]


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "healed_ms", "verdict"),
    [
        ("kill-broker", "broker-2", 13_000, 13_950, "HOLDS"),
        ("kill-broker", "broker-2", 13_000, 13_949, "VIOLATED"),
        ("kill-broker", "broker-2", 20_050, 22_000, "HOLDS"),
        ("kill-broker", "broker-2", 20_051, 22_000, "VIOLATED"),
        ("delete-acl", "member-2", 13_000, 19_950, "HOLDS"),
        ("delete-acl", "member-2", 13_000, 19_949, "VIOLATED"),
        ("delete-acl", "member-2", 13_000, None, "HOLDS"),
        ("delete-acl", "member-2", 20_050, None, "HOLDS"),
        ("delete-acl", "member-2", 20_051, None, "VIOLATED"),
        ("delete-acl", "member-1", 13_000, None, "VIOLATED"),
        ("kill-consumer", "member-2", 13_000, None, "VIOLATED"),
    ],
)
def test_a_broken_broker_or_a_lost_right_is_a_reason(
    judge: Judge, kind: str, resolved: str, from_ms: float, healed_ms: float | None, verdict: str
) -> None:
    history = refused(led((0, 1)), 20_000, 3)
    how: dict[str, Any] = {"parameters": '{"how": "group"}'} if kind == "delete-acl" else {}
    history.fault(kind, resolved, from_ms + 1, healed_ms, injecting_ms=from_ms, **how)
    assert verdict == judge(history, "X106")["verdict"]


def test_the_first_answer_with_an_error_is_told(judge: Judge) -> None:
    history = refused(led((0, 1)), 10_000, 0)
    for ms, error in ((40_000, 6), (30_000, 3), (50_000, 0)):
        refused(history, ms, error)
    (row,) = judge(history, "X106")["rows"]
    assert (at(30_000), 2, "was answered 3 of partition 0 to a LIST_OFFSETS", "4 answers") == (
        row["at"], row["measured"], row["why"], row["note"]
    )  # fmt: skip
