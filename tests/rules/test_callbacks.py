from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, beat

Judge = Callable[[History, str], dict[str, Any]]


def handed_over(**group: Any) -> History:
    """member-1 has t-0 and t-1 from 100 ms on, and t-1 goes to member-2 at 5 s."""
    history = History(group=group).join("member-1", 10)
    history.told("member-1", "assigned", 100, [0, 1])
    history.told("member-1", "revoked", 5_000, [1], generation=1)
    history.join("member-2", 4_900, generation=2)
    return history.told("member-2", "assigned", 5_100, [1], generation=2)


# X50


def test_callbacks_that_follow_on_each_other_hold(judge: Judge) -> None:
    verdict = judge(handed_over(), "X50")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("event", "ms", "partitions", "verdict"),
    [
        ("assigned", 6_000, [0], "VIOLATED"),
        ("assigned", 6_000, [1], "HOLDS"),
        ("assigned", 5_000, [1], "HOLDS"),  # taken and handed over at once
        ("revoked", 6_000, [0], "HOLDS"),
        ("lost", 6_000, [0], "HOLDS"),
        ("revoked", 6_000, [1], "VIOLATED"),
        ("lost", 6_000, [1], "VIOLATED"),
        ("lost", 6_000, [5], "VIOLATED"),
    ],
)
def test_a_member_is_handed_what_it_has_not_got_and_gives_up_what_it_has(
    judge: Judge, event: str, ms: float, partitions: list[int], verdict: str
) -> None:
    history = handed_over().told("member-1", event, ms, partitions)
    assert verdict == judge(history, "X50")["verdict"]


@pytest.mark.parametrize(
    ("client", "protocol", "ms", "verdict"),
    [
        ("java", "consumer", 6_000, "HOLDS"),
        ("java", "consumer", 5_999, "VIOLATED"),
        ("java", "cooperative", 6_000, "VIOLATED"),
        ("librdkafka", "consumer", 6_000, "VIOLATED"),
    ],
)
def test_a_java_member_that_closes_gives_up_what_it_was_about_to_be_handed(
    judge: Judge, client: str, protocol: str, ms: float, verdict: str
) -> None:
    history = handed_over(client=client, protocol=protocol).told("member-1", "closing", 6_000)
    assert verdict == judge(history.told("member-1", "revoked", ms, [0, 5]), "X50")["verdict"]


def test_nobody_hears_of_it_before_it_is_so(judge: Judge) -> None:
    heard = handed_over().told("member-3", "assigned", 200, [3], observed_at=None)
    assert "HOLDS" == judge(heard, "X50")["verdict"]
    early = handed_over().told("member-3", "assigned", 200, [3])
    early.rows["client_events"][-1]["observed_at"] = handed_over().rows["client_events"][0][
        "event_at"
    ]
    assert "VIOLATED" == judge(early, "X50")["verdict"]


@pytest.mark.parametrize(
    ("client", "protocol", "stall_ms", "verdict"),
    [
        ("java", "consumer", 60_001, "HOLDS"),
        ("java", "consumer", 60_000, "VIOLATED"),
        ("java", "eager", 60_001, "VIOLATED"),
        ("librdkafka", "consumer", 60_001, "VIOLATED"),
    ],
)
def test_java_may_hand_on_what_is_left_over_from_a_stall(
    judge: Judge, client: str, protocol: str, stall_ms: float, verdict: str
) -> None:
    history = History(group={"client": client, "protocol": protocol})
    history.told("member-1", "assigned", 100, [0])
    history.told("member-1", "stall_started", 200, duration_ms=stall_ms)
    history.told("member-1", "assigned", 70_000, [0])
    assert verdict == judge(history, "X50")["verdict"]


@pytest.mark.parametrize(
    ("handed_ms", "verdict"), [(61_200, "HOLDS"), (61_201.1, "VIOLATED"), (100, "HOLDS")]
)
def test_java_may_be_handed_once_more_what_it_was_handed_on_as_it_woke_up(
    judge: Judge, handed_ms: float, verdict: str
) -> None:
    history = History(group={"client": "java", "protocol": "consumer"})
    history.told("member-1", "stall_started", 200, duration_ms=60_001)
    history.told("member-1", "assigned", handed_ms, [0]).told("member-1", "assigned", 70_000, [0])
    assert verdict == judge(history, "X50")["verdict"]


def test_without_callbacks_x50_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().join("member-1", 10), "X50")["verdict"]


def test_a_member_that_is_told_twice_to_close_closes_from_the_first_time_on(
    judge: Judge,
) -> None:
    history = handed_over(client="java", protocol="consumer")
    history.told("member-1", "closing", 6_000).told("member-1", "closing", 8_000)
    assert "HOLDS" == judge(history.told("member-1", "revoked", 7_000, [5]), "X50")["verdict"]


def test_what_is_given_up_and_handed_over_in_one_moment_was_given_up_first(judge: Judge) -> None:
    history = History().told("member-1", "assigned", 100, [0])
    history.told("member-1", "assigned", 5_000, [0]).told("member-1", "revoked", 5_000, [0])
    history.told("member-1", "revoked", 6_000, [0])
    assert "HOLDS" == judge(history, "X50")["verdict"]


@pytest.mark.parametrize(
    ("handed_ms", "again_ms", "verdict"),
    [
        (100, 200, "VIOLATED"),  # as the stall begins, nothing is left over from it yet
        (100, 201, "HOLDS"),
        (61_200.9, 70_000, "HOLDS"),
        (61_201, 70_000, "VIOLATED"),  # a second after it woke up
    ],
)
def test_what_is_left_over_came_after_the_stall_began_and_on_what_it_had_until_it_was_over(
    judge: Judge, handed_ms: float, again_ms: float, verdict: str
) -> None:
    history = History(group={"client": "java", "protocol": "consumer"})
    history.told("member-1", "stall_started", 200, duration_ms=60_001)
    history.told("member-1", "assigned", handed_ms, [0])
    assert verdict == judge(history.told("member-1", "assigned", again_ms, [0]), "X50")["verdict"]


def test_the_first_callback_that_does_not_follow_is_told(judge: Judge) -> None:
    history = handed_over().told("member-1", "lost", 7_000, [5])
    judged = judge(history.told("member-1", "assigned", 6_000, [0]), "X50")
    (row,) = [row for row in judged["rows"] if row["ok"] is False]
    assert (at(6_000), 2) == (row["at"], row["measured"])
    assert "was handed what it had already: t-0" == row["why"]


# X51


def test_the_generation_that_a_member_has_holds(judge: Judge) -> None:
    history = handed_over().delivered("member-1", 0, 0, 9, 1_000)
    history.asked_commit("member-1", 1_100, 0, 10)
    verdict = judge(history, "X51")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("generation", "ms", "verdict"),
    [
        (1, 6_000, "HOLDS"),
        (2, 6_000, "VIOLATED"),  # another member's
        (3, 8_700, "HOLDS"),  # the line of its JoinGroup may be stamped late
        (3, 8_699, "VIOLATED"),
        (1, 9_050, "HOLDS"),  # its client has not handed the new one on yet
        (1, 9_100, "VIOLATED"),
        (3, 9_100, "HOLDS"),
    ],
)
@pytest.mark.parametrize("what", ["record", "commit", "callback"])
def test_a_member_names_what_it_was_given_and_nothing_older(
    judge: Judge, what: str, generation: int, ms: float, verdict: str
) -> None:
    history = handed_over().join("member-1", 9_000, generation=3)
    history.told("member-1", "assigned", 9_100, [], generation=3)
    if what == "record":
        history.delivered("member-1", 0, 0, 9, ms, generation=generation)
    elif what == "commit":
        history.asked_commit("member-1", ms, 0, 10, generation=generation)
    else:
        history.told("member-1", "revoked", ms, [0], generation=generation)
    assert verdict == judge(history, "X51")["verdict"]


def test_the_generation_of_another_member_id_is_none_of_its_own(judge: Judge) -> None:
    history = handed_over().delivered("member-1", 0, 0, 9, 1_000, life=2)
    assert "VIOLATED" == judge(history, "X51")["verdict"]


@pytest.mark.parametrize(("epoch", "verdict"), [(2, "HOLDS"), (3, "HOLDS"), (4, "VIOLATED")])
def test_an_epoch_is_one_that_a_heartbeat_was_answered(
    judge: Judge, epoch: int, verdict: str
) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 10, 0, 2)
    beat(history, "member-1", 2_000, 2, 3)
    history.delivered("member-1", 0, 0, 9, 3_000, generation=epoch)
    assert verdict == judge(history, "X51")["verdict"]


def test_who_names_no_generation_is_unknown_to_x51(judge: Judge) -> None:
    history = History().join("member-1", 10).delivered("member-1", 0, 0, 9, 1_000, generation=-1)
    assert "UNKNOWN" == judge(history, "X51")["verdict"]


def test_an_epoch_counts_from_the_first_on_and_only_as_it_was_accepted(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 10, 0, 1)
    history.delivered("member-1", 0, 0, 9, 1_000, generation=1)
    assert "HOLDS" == judge(history, "X51")["verdict"]
    history.request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", 2_000, generation=1, member_epoch=2, error_code=110
    )
    history.delivered("member-1", 0, 10, 19, 3_000, generation=2)
    assert "VIOLATED" == judge(history, "X51")["verdict"]


def test_who_lost_all_before_it_had_an_epoch_names_none(judge: Judge) -> None:
    history = History().join("member-1", 10).told("member-1", "lost", 1_000, [0], generation=0)
    assert "UNKNOWN" == judge(history, "X51")["verdict"]


def test_only_an_assignment_ends_the_generation_before(judge: Judge) -> None:
    """Records come in the next one already, and a commit of what was read before is still to come.

    The callback that hands it over is the last to come.
    """
    history = handed_over().join("member-1", 9_000, generation=3)
    history.delivered("member-1", 0, 0, 9, 9_010, generation=3)
    history.asked_commit("member-1", 9_050, 0, 10, generation=1)
    history.told("member-1", "assigned", 9_100, [], generation=3)
    assert "HOLDS" == judge(history, "X51")["verdict"]


def test_the_first_time_that_it_names_a_generation_counts(judge: Judge) -> None:
    history = handed_over().join("member-1", 9_000, generation=3)
    history.delivered("member-1", 0, 0, 9, 9_050, generation=3)
    assert "HOLDS" == judge(history, "X51")["verdict"]
    history.delivered("member-1", 0, 10, 19, 8_000, generation=3)
    verdict = judge(history, "X51")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])


def test_what_it_gives_up_may_be_of_the_member_it_was_before(judge: Judge) -> None:
    """The group began anew with generation 1 meanwhile, in which it has another member id."""
    history = History().join("member-1", 10).told("member-1", "assigned", 100, [0])
    history.told("member-1", "revoked", 5_000, [0]).join("member-1", 9_000, life=2)
    assert "HOLDS" == judge(history, "X51")["verdict"]
    history.told("member-1", "revoked", 5_000, [0], life=2)
    assert "HOLDS" == judge(history, "X51")["verdict"]
    history.told("member-1", "assigned", 5_000, [0], life=2)
    assert "VIOLATED" == judge(history, "X51")["verdict"]


def test_the_first_generation_that_it_had_not_is_told(judge: Judge) -> None:
    history = handed_over().delivered("member-1", 0, 10, 19, 7_000, generation=4)
    history.asked_commit("member-1", 6_000, 0, 10, generation=5)
    row = next(row for row in judge(history, "X51")["rows"] if row["ok"] is False)
    assert (at(6_000), 2) == (row["at"], row["measured"])
    assert "named generation 5 with a commit, one that it was not given" == row["why"]


# X74


def lost(ms: float = 9_000) -> History:
    """member-1 is handed t-0 at 0.1 s and loses it."""
    history = History().member("member-1").told("member-1", "assigned", 100, [0])
    return history.told("member-1", "lost", ms, [0])


@pytest.mark.parametrize("error", [22, 25, 82, 110, 111, 113, 30])
@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(8_000, "HOLDS"), (9_300, "HOLDS"), (9_301, "VIOLATED"), (50, "HOLDS"), (49, "VIOLATED")],
)
def test_who_was_refused_has_lost_its_partitions(
    judge: Judge, error: int, ms: float, verdict: str
) -> None:
    history = lost().heartbeats("member-1", ms, error_code=error)
    assert verdict == judge(history, "X74")["verdict"]


@pytest.mark.parametrize("error", [0, 16, 27])
def test_a_member_that_is_in_the_group_has_its_partitions_revoked(judge: Judge, error: int) -> None:
    history = lost().heartbeats("member-1", 8_000, error_code=error)
    history.heartbeats("member-2", 8_000, error_code=25)
    verdict = judge(history, "X74")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(("partition", "verdict"), [(1, "HOLDS"), (0, "VIOLATED")])
def test_a_reason_counts_since_the_lost_partition_was_handed_over(
    judge: Judge, partition: int, verdict: str
) -> None:
    history = lost().heartbeats("member-1", 8_000, error_code=25)
    history.told("member-1", "assigned", 8_900, [partition])
    assert verdict == judge(history, "X74")["verdict"]


@pytest.mark.parametrize(
    ("client", "event", "verdict"),
    [
        ("librdkafka", "session_timed_out", "HOLDS"),
        ("librdkafka", "max_poll_exceeded", "HOLDS"),
        ("librdkafka", "error", "HOLDS"),
        ("librdkafka", "closing", "VIOLATED"),
        ("java", "closing", "HOLDS"),
        ("java", "stall_started", "VIOLATED"),
    ],
)
def test_a_client_that_gave_up_has_lost_its_partitions(
    judge: Judge, client: str, event: str, verdict: str
) -> None:
    history = lost().told("member-1", event, 8_900)
    history.group["client"] = client
    assert verdict == judge(history, "X74")["verdict"]


def test_nothing_lost_leaves_x74_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(handed_over(), "X74")["verdict"]


def test_a_reason_since_the_first_of_what_is_lost_was_handed_over_counts_for_all(
    judge: Judge,
) -> None:
    history = lost().heartbeats("member-1", 8_000, error_code=25)
    history.told("member-1", "assigned", 8_500, [1])
    history.rows["client_events"][1]["partitions"].append({"topic": "t", "partition": 1})
    assert "HOLDS" == judge(history, "X74")["verdict"]


def test_what_is_handed_over_again_as_it_is_lost_was_handed_over_before(judge: Judge) -> None:
    history = lost().heartbeats("member-1", 8_000, error_code=25)
    assert "HOLDS" == judge(history.told("member-1", "assigned", 9_000, [0]), "X74")["verdict"]


@pytest.mark.parametrize(("error", "verdict"), [(25, "HOLDS"), (0, "VIOLATED")])
def test_what_was_never_handed_over_needs_a_reason_too(
    judge: Judge, error: int, verdict: str
) -> None:
    history = History().told("member-1", "lost", 9_000, [0])
    history.heartbeats("member-1", 8_000, error_code=error)
    found = judge(history, "X74")
    assert (verdict, 1) == (found["verdict"], found["examined"])


def test_the_first_loss_without_a_reason_is_told_or_else_the_first(judge: Judge) -> None:
    history = lost(3_000).heartbeats("member-1", 2_000, error_code=25)
    history.told("member-1", "assigned", 4_000, [0]).heartbeats("member-1", 5_000, error_code=25)
    history.told("member-1", "lost", 6_000, [0])
    (row,) = judge(history, "X74")["rows"]
    assert (at(3_000), 0) == (row["at"], row["measured"])
    for ms in (9_000, 11_000):
        history.told("member-1", "assigned", ms - 1_000, [0]).told("member-1", "lost", ms, [0])
    (row,) = judge(history, "X74")["rows"]
    assert (at(9_000), 2) == (row["at"], row["measured"])


# X84


def put_out(event: str, ms: float = 5_010, error: int = 25, **request: Any) -> History:
    """member-1 has t-0, and its heartbeat at 5 s is refused; then it is told of t-0."""
    history = History().told("member-1", "assigned", 100, [0])
    history.heartbeats("member-1", 5_000, error_code=error, **request)
    return history.told("member-1", event, ms, [0])


@pytest.mark.parametrize(
    ("event", "ms", "error", "verdict"),
    [
        ("lost", 5_010, 25, "HOLDS"),
        ("revoked", 5_002, 25, "HOLDS"),  # the answer may not have reached it by then
        ("revoked", 5_003, 25, "VIOLATED"),
        ("revoked", 30_000, 25, "VIOLATED"),
        ("revoked", 5_000, 25, "UNKNOWN"),  # before it was told
        ("revoked", 5_010, 27, "UNKNOWN"),
        ("revoked", 5_003, 110, "VIOLATED"),
    ],
)
def test_who_is_put_out_does_not_give_up(
    judge: Judge, event: str, ms: float, error: int, verdict: str
) -> None:
    assert verdict == judge(put_out(event, ms, error), "X84")["verdict"]


@pytest.mark.parametrize(
    ("ended_ms", "verdict"), [(5_060, "HOLDS"), (5_061, "VIOLATED"), (None, "HOLDS")]
)
def test_it_loses_all_at_once(judge: Judge, ended_ms: float | None, verdict: str) -> None:
    """It loses t-0 at 5.01 s, and t-1 at some moment, or with its process."""
    history = History().told("member-1", "assigned", 100, [0, 1])
    history.heartbeats("member-1", 5_000, error_code=25).told("member-1", "lost", 5_010, [0])
    if ended_ms is not None:
        history.told("member-1", "lost", ended_ms, [1])
    assert verdict == judge(history, "X84")["verdict"]


def test_what_it_is_given_later_is_its_own(judge: Judge) -> None:
    history = put_out("lost").told("member-1", "assigned", 6_000, [0], life=2)
    history.told("member-1", "revoked", 9_000, [0], life=2)
    assert "HOLDS" == judge(history, "X84")["verdict"]


def test_who_closes_gives_up_what_it_has(judge: Judge) -> None:
    history = put_out("revoked", 6_000).told("member-1", "closing", 5_900)
    assert "UNKNOWN" == judge(history, "X84")["verdict"]


@pytest.mark.parametrize(
    ("polled_ms", "closing_ms", "told_ms", "verdict"),
    [
        (11_002, 40_000, None, "VIOLATED"),  # it goes on as if nothing had happened
        (10_999, 40_000, None, "UNKNOWN"),  # it may not have polled since
        (11_002, 40_000, 11_100, "HOLDS"),
        (11_002, None, None, "VIOLATED"),
    ],
)
def test_who_is_never_told_and_goes_on_has_kept_all(
    judge: Judge,
    polled_ms: float,
    closing_ms: float | None,
    told_ms: float | None,
    verdict: str,
) -> None:
    history = History().told("member-1", "assigned", 100, [0])
    history.heartbeats("member-1", 5_000, error_code=25)
    history.delivered("member-1", 0, 0, 9, polled_ms)
    if told_ms is not None:
        history.told("member-1", "lost", told_ms, [0])
    if closing_ms is not None:
        history.told("member-1", "closing", closing_ms)
    assert verdict == judge(history, "X84")["verdict"]


def test_each_partition_that_is_kept_counts(judge: Judge) -> None:
    history = History().told("member-1", "assigned", 100, [0, 1, 2])
    history.heartbeats("member-1", 5_000, error_code=25)
    history.told("member-1", "revoked", 6_000, [0, 1]).told("member-1", "lost", 6_000, [2])
    found = judge(history, "X84")
    assert 2 == found["measured_max"]
    assert "held 3 partitions" in found["reason"]


def test_another_members_heartbeat_says_nothing_of_it(judge: Judge) -> None:
    history = put_out("revoked", 5_051, client_id="member-2")
    assert "UNKNOWN" == judge(history, "X84")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(5_050, "HOLDS"), (5_051, "VIOLATED")])
def test_what_it_loses_as_it_is_told_begins_its_loss(judge: Judge, ms: float, verdict: str) -> None:
    """It loses t-0 in the moment of the answer, and t-1 later."""
    history = History().told("member-1", "assigned", 100, [0, 1])
    history.heartbeats("member-1", 5_000, error_code=25)
    history.told("member-1", "lost", 5_000, [0]).told("member-1", "lost", ms, [1])
    assert verdict == judge(history, "X84")["verdict"]


def test_callbacks_of_others_and_those_before_begin_no_loss(judge: Judge) -> None:
    history = put_out("lost", 5_200).told("member-2", "assigned", 5_005, [1])
    history.told("member-1", "assigned", 200, [2]).told("member-1", "lost", 300, [2])
    verdict = judge(history, "X84")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("closing_ms", [(5_900, 7_000), (6_000,)])
def test_who_began_to_close_before_or_as_it_gave_up_gives_up_what_it_has(
    judge: Judge, closing_ms: tuple[float, ...]
) -> None:
    history = put_out("revoked", 6_000)
    for ms in closing_ms:
        history.told("member-1", "closing", ms)
    assert "UNKNOWN" == judge(history, "X84")["verdict"]


@pytest.mark.parametrize(
    ("polled_ms", "closed_ms", "row", "verdict"),
    [
        ((11_000,), None, {}, "UNKNOWN"),  # a session after it was told
        ((11_001,), None, {}, "VIOLATED"),
        ((6_000, 11_001), None, {}, "VIOLATED"),
        ((12_000,), 12_000, {}, "VIOLATED"),  # its last poll, as it gives up to close
        ((12_001,), 12_000, {}, "UNKNOWN"),
        ((12_000,), None, {"member": "member-2"}, "UNKNOWN"),
        ((12_000,), None, {"partition": 1}, "UNKNOWN"),
    ],
)
def test_only_its_own_records_of_what_it_held_tell_that_it_goes_on(
    judge: Judge,
    polled_ms: tuple[float, ...],
    closed_ms: float | None,
    row: dict[str, Any],
    verdict: str,
) -> None:
    history = History().told("member-1", "assigned", 100, [0])
    history.heartbeats("member-1", 5_000, error_code=25)
    for ms in polled_ms:
        history.delivered(**{"member": "member-1", "partition": 0, **row}, first=0, last=9, ms=ms)
    if closed_ms is not None:
        history.told("member-1", "closing", closed_ms - 500)
        history.told("member-1", "revoked", closed_ms, [0])
    assert verdict == judge(history, "X84")["verdict"]


def test_what_it_is_handed_as_it_is_told_is_lost_as_well(judge: Judge) -> None:
    history = History().heartbeats("member-1", 5_000, error_code=25)
    history.told("member-1", "assigned", 5_000, [0]).told("member-1", "revoked", 5_010, [0])
    assert "VIOLATED" == judge(history, "X84")["verdict"]


# X88


def closing(*told: tuple[str, float], leaves_ms: float | None = 10_020) -> History:
    """member-1 has t-0 and t-1, and is told to close at 10 s; then it leaves, and has closed."""
    history = History().member("member-1").told("member-1", "assigned", 100, [0, 1])
    history.told("member-1", "closing", 10_000)
    for event, ms in told:
        history.told("member-1", event, ms, [0, 1])
    if leaves_ms is not None:
        history.request("LEAVE_GROUP", "member-1", leaves_ms)
    return history.told("member-1", "closed", 12_000)


@pytest.mark.parametrize(
    ("told", "leaves_ms", "verdict"),
    [
        ([("revoked", 10_010)], 10_020, "HOLDS"),
        ([("revoked", 10_070)], 10_020, "HOLDS"),
        ([("revoked", 10_071)], 10_020, "VIOLATED"),
        ([("lost", 10_010)], 10_020, "HOLDS"),
        ([], 10_020, "VIOLATED"),
        ([("revoked", 11_000)], None, "HOLDS"),  # static, or without its coordinator
        ([], None, "VIOLATED"),
        ([("revoked", 9_990)], 10_020, "UNKNOWN"),  # it had nothing any more
    ],
)
def test_a_member_gives_up_before_it_leaves(
    judge: Judge, told: list[tuple[str, float]], leaves_ms: float | None, verdict: str
) -> None:
    assert verdict == judge(closing(*told, leaves_ms=leaves_ms), "X88")["verdict"]


def test_in_kip_848_a_member_leaves_by_a_heartbeat(judge: Judge) -> None:
    history = closing(("revoked", 11_000), leaves_ms=None)
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 10_500, generation=-1)
    assert "VIOLATED" == judge(history, "X88")["verdict"]


def test_who_was_killed_gave_up_nothing(judge: Judge) -> None:
    history = closing()
    history.rows["members"][0]["end"] = "killed"
    assert "UNKNOWN" == judge(history, "X88")["verdict"]


@pytest.mark.parametrize(
    ("protocol", "revoked_ms", "verdict"),
    [
        ("eager", 5_000, "HOLDS"),
        ("eager", 5_050, "HOLDS"),
        ("eager", 5_051, "VIOLATED"),
        ("cooperative", 5_051, "HOLDS"),  # it keeps what does not move
    ],
)
def test_an_eager_member_gives_up_before_it_joins_again(
    judge: Judge, protocol: str, revoked_ms: float, verdict: str
) -> None:
    history = History(group={"protocol": protocol}).join("member-1", 10)
    history.told("member-1", "assigned", 100, [0]).told("member-1", "revoked", revoked_ms, [0])
    assert verdict == judge(history.join("member-1", 5_000, 2), "X88")["verdict"]


@pytest.mark.parametrize(
    ("lost_ms", "life", "verdict"),
    [(5_050, 2, "HOLDS"), (5_051, 2, "VIOLATED"), (5_051, 1, "HOLDS")],
)
def test_a_cooperative_member_loses_what_it_had_before_it_joins_as_another_one(
    judge: Judge, lost_ms: float, life: int, verdict: str
) -> None:
    history = History(group={"protocol": "cooperative"}).join("member-1", 10)
    history.told("member-1", "assigned", 100, [0]).told("member-1", "lost", lost_ms, [0])
    assert verdict == judge(history.join("member-1", 5_000, 2, life=life), "X88")["verdict"]


@pytest.mark.parametrize(
    ("lost_ms", "generation", "verdict"),
    [(5_050, 0, "HOLDS"), (5_051, 0, "VIOLATED"), (5_051, 3, "HOLDS")],
)
def test_in_kip_848_a_member_loses_what_it_had_before_it_joins_anew(
    judge: Judge, lost_ms: float, generation: int, verdict: str
) -> None:
    history = History(group={"protocol": "consumer"})
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 10, generation=0)
    history.told("member-1", "assigned", 100, [0]).told("member-1", "lost", lost_ms, [0])
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 5_000, generation=generation)
    assert verdict == judge(history, "X88")["verdict"]


@pytest.mark.parametrize(("evicted_ms", "verdict"), [(9_999, "UNKNOWN"), (10_001, "VIOLATED")])
def test_what_is_left_over_from_a_membership_that_ended_is_not_given_up(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    history = closing().says("member_added", 50, "member-1").says("evicted", evicted_ms, "member-1")
    assert verdict == judge(history, "X88")["verdict"]


def test_a_member_that_is_told_twice_to_close_has_closed_from_the_first_time_on(
    judge: Judge,
) -> None:
    history = closing(("revoked", 10_010)).told("member-1", "closing", 11_000)
    verdict = judge(history, "X88")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("leaves_ms", [(10_020, 10_500), (10_000,)])
def test_a_member_leaves_by_the_first_leave_since_it_began_to_close(
    judge: Judge, leaves_ms: tuple[float, ...]
) -> None:
    history = closing(("revoked", 10_200), leaves_ms=None)
    for ms in leaves_ms:
        history.request("LEAVE_GROUP", "member-1", ms)
    assert "VIOLATED" == judge(history, "X88")["verdict"]


@pytest.mark.parametrize(
    ("api", "generation"),
    [("CONSUMER_GROUP_HEARTBEAT", 5), ("HEARTBEAT", -1), ("OFFSET_COMMIT", -1)],
)
def test_no_other_request_is_a_leave(judge: Judge, api: str, generation: int) -> None:
    history = closing(("revoked", 10_100), leaves_ms=None)
    history.request(api, "member-1", 10_005, generation=generation)
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 10_110, generation=-1)
    assert "HOLDS" == judge(history, "X88")["verdict"]


@pytest.mark.parametrize(
    ("assigned_ms", "revoked_ms", "examined"),
    [(10_000, 10_010, 1), (10_001, 10_010, 0), (100, 10_000, 1), (100, 9_999, 0)],
)
def test_a_member_had_what_it_held_as_it_began_to_close(
    judge: Judge, assigned_ms: float, revoked_ms: float, examined: int
) -> None:
    history = closing(("revoked", revoked_ms))
    history.rows["client_events"][0]["observed_at"] = at(assigned_ms)
    verdict = judge(history, "X88")
    assert (examined, "HOLDS" if examined else "UNKNOWN") == (
        verdict["examined"], verdict["verdict"]
    )  # fmt: skip


@pytest.mark.parametrize(("assigned_ms", "verdict"), [(4_700, "HOLDS"), (4_699, "VIOLATED")])
def test_what_it_is_handed_as_it_joins_may_be_of_that_join(
    judge: Judge, assigned_ms: float, verdict: str
) -> None:
    """The line of a JoinGroup may be stamped so late that its assignment seems to come before."""
    history = History().join("member-1", 10).told("member-1", "assigned", assigned_ms, [0])
    history.told("member-1", "revoked", 9_000, [0])
    assert verdict == judge(history.join("member-1", 5_000, 2), "X88")["verdict"]


def test_the_first_join_with_what_it_had_not_given_up_is_shown(judge: Judge) -> None:
    history = History().join("member-1", 10).told("member-1", "assigned", 100, [0])
    history.join("member-1", 5_000, 2).join("member-1", 6_000, 3)
    (row,) = judge(history.told("member-1", "revoked", 9_000, [0]), "X88")["rows"]
    assert (2, "broker-1-requests.log:2") == (row["measured"], row["evidence"])


def test_who_is_evicted_as_it_begins_to_close_has_nothing_to_give_up(judge: Judge) -> None:
    history = closing().says("member_added", 50, "member-1").says("evicted", 10_000, "member-1")
    assert "VIOLATED" != judge(history, "X88")["verdict"]
