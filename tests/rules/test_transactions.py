from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at
from tests.probe_histories import Probed

Judge = Callable[[History, str], dict[str, Any]]


def output(*copies: tuple[int, int, int], isolation: str = "read_committed") -> History:
    """t-0 has 20 acknowledged records; the output so many copies from a first to a last offset."""
    history = History(group={"commit": "transaction"}).acknowledged(0, 0, 19)
    for first, last, count in copies:
        history.add(
            "outputs", isolation=isolation, topic=TOPIC, partition=0, first_offset=first,
            last_offset=last, copies=count,
        )  # fmt: skip
    return history


# X29


def test_one_result_of_each_record_holds(judge: Judge) -> None:
    verdict = judge(output((0, 9, 1), (10, 19, 1)), "X29")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_two_results_of_a_record_violate(judge: Judge) -> None:
    verdict = judge(output((0, 9, 1), (10, 10, 3), (11, 19, 1)), "X29")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])


def test_the_first_record_with_two_results_is_named(judge: Judge) -> None:
    history = output((0, 9, 1), (10, 10, 2), (11, 19, 2))
    assert "the first of record 10" in judge(history, "X29")["reason"]


def test_only_what_was_acknowledged_has_to_be_there(judge: Judge) -> None:
    history = output((0, 24, 1)).acknowledged(0, 20, 29, outcome="failed")
    verdict = judge(history, "X29")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(("end", "beyond"), [(25, 0), (24, 1), (20, 5), (None, 0)])
def test_no_record_has_a_result_that_was_never_there(
    judge: Judge, end: int | None, beyond: int
) -> None:
    """Offsets 0 to 24 have results."""
    history = output((0, 24, 1))
    if end is not None:
        history.end_offset(0, end).end_offset(0, 3, 10).end_offset(1, 3)
    verdict = judge(history, "X29")
    assert ("VIOLATED" if beyond else "HOLDS", beyond) == (
        verdict["verdict"], verdict["measured_max"]
    )  # fmt: skip


def test_a_result_beyond_the_end_is_one_though_others_are_missing(judge: Judge) -> None:
    """As many results as records, of which offsets 20 to 24 were never there."""
    verdict = judge(output((0, 4, 1), (10, 24, 1)).end_offset(0, 20), "X29")
    assert ("VIOLATED", 5) == (verdict["verdict"], verdict["measured_max"])
    assert "has results of 5 records more than the partition ever had" in verdict["reason"]


def test_more_results_than_records_violate(judge: Judge) -> None:
    """Offsets 10 to 19 stand in the output twice, in ranges of their own."""
    verdict = judge(output((0, 19, 1), (10, 19, 1)).end_offset(0, 20), "X29")
    assert ("VIOLATED", 10) == (verdict["verdict"], verdict["measured_max"])


def test_a_partition_without_any_result_violates(judge: Judge) -> None:
    verdict = judge(output((0, 19, 1)).acknowledged(1, 0, 9), "X29")
    assert ("VIOLATED", 2, 10) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_who_died_before_it_said_so_has_processed_what_is_in_the_output(judge: Judge) -> None:
    for copied, verdict in ((19, "HOLDS"), (9, "VIOLATED")):
        history = output((0, copied, 1)).delivered("member-1", 0, 0, 19, 100, None)
        assert verdict == judge(history.end_offset(0, 20), "X32a")["verdict"]


def test_a_record_without_a_result_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(output((0, 9, 1), (11, 19, 1)), "X29")["verdict"]


def test_without_an_output_x29_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(output(), "X29")["verdict"]


# X29-uncommitted


def test_only_readers_of_uncommitted_records_see_what_was_taken_back(judge: Judge) -> None:
    history = output((0, 19, 1))
    history.rows["outputs"] += output((0, 19, 2), isolation="read_uncommitted").rows["outputs"]
    assert "HOLDS" == judge(history, "X29")["verdict"]
    verdict = judge(history, "X29-uncommitted")
    assert ("VIOLATED", 20) == (verdict["verdict"], verdict["measured_max"])


def test_nothing_taken_back_holds(judge: Judge) -> None:
    history = output((0, 19, 1), isolation="read_uncommitted")
    assert "HOLDS" == judge(history, "X29-uncommitted")["verdict"]


def test_without_an_output_x29_uncommitted_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(output(), "X29-uncommitted")["verdict"]


# X29-fenced


def offered(ms: float, error: int) -> History:
    """member-1 offers positions to a transaction; it is evicted at 10 s."""
    history = History().member("member-1").join("member-1", 5).says("evicted", 10_000, "member-1")
    history.asked_commit("member-1", ms, 0, 10, error=error, how="transaction")
    return history.request("TXN_OFFSET_COMMIT", "member-1", ms, error_code=error)


def test_a_removed_member_that_is_refused_holds(judge: Judge) -> None:
    verdict = judge(offered(12_000, 25), "X29-fenced")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_every_error_that_fences_is_a_refusal(judge: Judge) -> None:
    history = offered(12_000, 25)
    for error in (22, 82, 110, 113):
        history.request("TXN_OFFSET_COMMIT", "member-1", 13_000, error_code=error)
    verdict = judge(history, "X29-fenced")
    assert ("HOLDS", 6) == (verdict["verdict"], verdict["examined"])


def test_only_transactions_of_removed_members_of_the_group_are_examined(judge: Judge) -> None:
    history = offered(10_000, 0).join("member-2", 5)  # at the very moment of its removal
    history.request("TXN_OFFSET_COMMIT", "member-2", 12_000)
    history.request("TXN_OFFSET_COMMIT", "member-1", 12_000, group="payments")
    history.request("OFFSET_COMMIT", "member-1", 12_000)
    history.asked_commit("member-2", 12_000, 0, 10, how="transaction")
    history.asked_commit("member-1", 12_000, 0, 10, how="sync")
    assert 0 == judge(history, "X29-fenced")["examined"]


@pytest.mark.parametrize("lacks", [("answered_at", "error_code"), ("error_code",)])
def test_what_a_client_was_never_answered_cannot_be_told(
    judge: Judge, lacks: tuple[str, ...]
) -> None:
    history = offered(12_000, 25)
    history.rows["commits"][0] |= dict.fromkeys(lacks)
    verdict = judge(history, "X29-fenced")
    assert ("UNKNOWN", 2, 1) == (verdict["verdict"], verdict["examined"], verdict["unknowns"])


def test_a_removed_member_that_is_accepted_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(offered(12_000, 0), "X29-fenced")["verdict"]


@pytest.mark.parametrize(("ms", "examined"), [(10_050, 0), (10_051, 2)])
def test_what_came_just_as_its_member_was_removed_is_not_examined(
    judge: Judge, ms: float, examined: int
) -> None:
    assert examined == judge(offered(ms, 0), "X29-fenced")["examined"]


def test_a_member_in_the_group_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(offered(9_000, 0), "X29-fenced")["verdict"]


def test_a_member_that_is_back_with_its_id_is_not_examined(judge: Judge) -> None:
    history = offered(14_000, 0).says("member_added", 0, "member-1")
    assert "VIOLATED" == judge(history, "X29-fenced")["verdict"]
    history.says("member_added", 14_000, "member-1")
    assert "UNKNOWN" == judge(history, "X29-fenced")["verdict"]


# X29-wire

IN_COMPLETING: dict[str, Any] = {"state": "CompletingRebalance"}
RIGHT: dict[str, Any] = {"member": "a", "generation": 1}


def offers(error: int, **row: Any) -> Probed:
    """An offer to a transaction, in a group of dynamic "a" and static "s", generation 1."""
    history = Probed().formed("a", "s", static=("s",))
    return history.call("TXN_OFFSET_COMMIT", 3_000, error, **row)


@pytest.mark.parametrize(
    ("must", "row"),
    [
        (0, RIGHT),
        (0, {**RIGHT, "state": "PreparingRebalance"}),
        (0, {**RIGHT, **IN_COMPLETING}),  # where a plain commit is refused
        (0, {"member": "s", "instance_id": "S", "generation": 1, **IN_COMPLETING}),
        (22, {**RIGHT, "generation": 0}),
        (22, {**RIGHT, "generation": 2, **IN_COMPLETING}),
        (25, {"member": "b", "generation": 1}),
        (25, {"member": "s", "instance_id": "T", "generation": 1, **IN_COMPLETING}),
        (82, {"member": "b", "instance_id": "S", "generation": 1, **IN_COMPLETING}),
        (25, {"member": "b", "generation": -1}),  # it names a member, if no generation
        (0, {}),
        (0, {"generation": -1, **IN_COMPLETING}),
        (0, {"generation": -1, "state": "Stable", "after": "PreparingRebalance"}),
        (0, {"generation": -1, "state": "Dead", "after": "Empty"}),
        (0, {"member": "b", "generation": -1, "state": "Empty"}),
        (0, {"member": "b", "generation": -1, "state": "Dead", "after": "Empty"}),
        (22, {"member": "b", "generation": 0, "state": "Dead"}),
        (25, {"member": "b", "generation": 0, "state": "Empty"}),
    ],
)
def test_who_may_offer_positions_is_decided_by_what_it_says_it_is(
    judge: Judge, must: int, row: dict[str, Any]
) -> None:
    verdict = judge(offers(must, **row), "X29-wire")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"]), verdict["reason"]
    for other in {0, 22, 25, 27, 82} - {must}:
        assert "VIOLATED" == judge(offers(other, **row), "X29-wire")["verdict"]


def test_an_offer_while_the_group_changes_tells_nothing(judge: Judge) -> None:
    history = offers(27, **RIGHT, state="PreparingRebalance", after="CompletingRebalance")
    verdict = judge(history, "X29-wire")
    assert ("UNKNOWN", 1) == (verdict["verdict"], verdict["examined"])


def test_a_plain_commit_is_no_offer(judge: Judge) -> None:
    history = Probed().formed("a").call("OFFSET_COMMIT", 3_000, 27, **RIGHT, **IN_COMPLETING)
    assert "UNKNOWN" == judge(history, "X29-wire")["verdict"]


# X67


def put_forward(history: History, member: str, ms: float, committed: int, **row: Any) -> History:
    """A member offers a position of t-0 to a transaction of the producer orders-1."""
    position = {"topic": TOPIC, "partition": 0, "committed": committed, "error_code": 0}
    row = {"detail": '{"transactional_id": "orders-1"}', **row}
    return history.request("TXN_OFFSET_COMMIT", member, ms, positions=[position], **row)


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (2_300, {}, "HOLDS"),
        (2_301, {}, "VIOLATED"),
        (2_301, {"error_code": 90}, "HOLDS"),
        (2_301, {"detail": '{"transactional_id": "orders-2"}'}, "HOLDS"),
    ],
)
def test_the_older_of_two_producers_is_fenced(
    judge: Judge, ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = put_forward(History(), "member-1", 1_000, 10)
    put_forward(history, "member-2", 2_000, 20)
    put_forward(history, "member-2", 4_000, 30)
    put_forward(history, "member-1", ms, 25, **row)
    assert verdict == judge(history, "X67")["verdict"]


def test_of_two_that_begin_in_one_moment_either_may_be_the_older(judge: Judge) -> None:
    """Only member-1 goes on, so it was the second."""
    history = put_forward(put_forward(History(), "member-1", 1_000, 10), "member-2", 1_000, 10)
    assert "HOLDS" == judge(put_forward(history, "member-1", 2_000, 20), "X67")["verdict"]


def test_without_transactions_x67_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().join("member-1", 10), "X67")["verdict"]


# X68


def transacted() -> History:
    """member-1 has t-0 at 10 from 1,010 ms on, by a transaction, and offers 20 at 10 s."""
    history = put_forward(History(), "member-1", 1_000, 10)
    history.asked_commit("member-1", 1_000, 0, 10, how="transaction", answered_at=at(1_010))
    return put_forward(history, "member-1", 10_000, 20)


@pytest.mark.parametrize(
    ("ms", "position", "verdict"),
    [
        (5_000, 10, "HOLDS"),
        (5_000, 9, "VIOLATED"),
        (5_000, 11, "VIOLATED"),
        (5_000, -1, "VIOLATED"),
        (3_009, -1, "HOLDS"),  # its markers may not be written yet
        (3_010, -1, "VIOLATED"),
        (9_699, 20, "VIOLATED"),
        (9_700, 20, "HOLDS"),
    ],
)
def test_a_position_counts_when_its_transaction_is_committed(
    judge: Judge, ms: float, position: int, verdict: str
) -> None:
    history = transacted().told_position("observer", 0, position, ms)
    assert verdict == judge(history, "X68")["verdict"]


def test_of_two_transactions_the_later_one_counts(judge: Judge) -> None:
    history = transacted()
    history.asked_commit("member-1", 10_000, 0, 20, how="transaction", answered_at=at(10_010))
    assert "HOLDS" == judge(history.told_position("observer", 0, 20, 13_000), "X68")["verdict"]
    verdict = judge(history.told_position("observer", 0, 10, 13_100), "X68")
    assert "told 10 when 20 was committed and 20 offered" in verdict["reason"]


def test_a_transaction_that_was_refused_commits_nothing(judge: Judge) -> None:
    history = put_forward(transacted(), "member-1", 4_000, 15)
    history.asked_commit("member-1", 4_000, 0, 15, error=47, how="transaction")
    assert "HOLDS" == judge(history.told_position("observer", 0, 10, 8_000), "X68")["verdict"]


@pytest.mark.parametrize(("position", "verdict"), [(-1, "HOLDS"), (5, "VIOLATED")])
def test_before_the_first_transaction_there_is_no_position(
    judge: Judge, position: int, verdict: str
) -> None:
    judged = judge(transacted().told_position("observer", 0, position, 100), "X68")
    assert verdict == judged["verdict"]
    told = "1 answers" if position < 0 else "told 5 when -1 was committed and -1 offered"
    assert told in judged["rows"][0]["why"]


def test_the_moment_is_of_the_first_odd_answer_or_else_of_the_first(judge: Judge) -> None:
    history = transacted().told_position("observer", 0, 10, 5_000)
    history.told_position("observer", 0, 10, 5_100)
    assert [at(5_000)] == [row["at"] for row in judge(history, "X68")["rows"]]
    history.told_position("observer", 0, 9, 5_200).told_position("observer", 0, 9, 5_300)
    verdict = judge(history, "X68")
    assert [(at(5_200), 2)] == [(row["at"], row["measured"]) for row in verdict["rows"]]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [
        (3_998, "VIOLATED"),
        (3_999, "UNKNOWN"),
        (5_000, "UNKNOWN"),
        (12_000, "UNKNOWN"),
        (12_001, "VIOLATED"),
    ],
)
def test_nothing_is_said_of_positions_while_a_broker_is_broken_and_a_session_longer(
    judge: Judge, ms: float, verdict: str
) -> None:
    """It is told to go 1 ms before it is gone, and back at 6 s; a session is of 6 s."""
    history = transacted().told_position("observer", 0, 9, ms)
    history.fault("kill-broker", "broker-2", 4_000, 6_000)
    assert verdict == judge(history, "X68")["verdict"]


def test_nothing_is_said_of_positions_without_transactions(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().told_position("observer", 0, 9, 5_000), "X68")["verdict"]
