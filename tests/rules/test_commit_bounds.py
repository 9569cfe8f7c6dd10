from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, beat, parts

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


def reader() -> History:
    """member-1 holds t-0 from 0 s to 30 s, and was given records 0 to 9 at 1 s."""
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    history.told("member-1", "revoked", 30_000, [0])
    return history.delivered("member-1", 0, 0, 9, 1_000).end_offset(0, 100)


# X36


@pytest.mark.parametrize(
    ("committed", "ms", "verdict"),
    [(10, 950, "HOLDS"), (10, 949, "VIOLATED"), (11, 2_000, "VIOLATED"), (5, 2_000, "HOLDS")],
)
def test_no_more_is_committed_than_was_given(
    judge: Judge, committed: int, ms: float, verdict: str
) -> None:
    judged = judge(reader().commit_request("member-1", ms, 0, committed), "X36")
    assert verdict == judged["verdict"]
    assert 1 == judged["examined"]


@pytest.mark.parametrize(
    ("api", "row", "verdict"),
    [
        ("LIST_OFFSETS", {"group": None}, "HOLDS"),
        ("OFFSET_FETCH", {}, "HOLDS"),
        ("OFFSET_FETCH", OTHER, "VIOLATED"),
        ("DELETE_RECORDS", {"group": None}, "VIOLATED"),
    ],
)
def test_a_position_that_a_broker_told_it_may_be_committed(
    judge: Judge, api: str, row: dict[str, Any], verdict: str
) -> None:
    told = {"topic": "t", "partition": 0, "committed": 50, "error_code": 0}
    history = reader().request(api, "member-1", 1_500, positions=[told], **row)
    judged = judge(history.commit_request("member-1", 2_000, 0, 50), "X36")
    assert verdict == judged["verdict"]


@pytest.mark.parametrize(("committed", "verdict"), [(10, "HOLDS"), (11, "VIOLATED")])
def test_what_is_offered_to_a_transaction_is_a_commit(
    judge: Judge, committed: int, verdict: str
) -> None:
    history = reader().commit_request("member-1", 2_000, 0, committed)
    history.rows["requests"][-1]["api"] = "TXN_OFFSET_COMMIT"
    assert verdict == judge(history, "X36")["verdict"]


def test_what_another_was_given_does_not_count(judge: Judge) -> None:
    history = reader().delivered("member-2", 0, 10, 19, 1_500)
    assert "VIOLATED" == judge(history.commit_request("member-1", 2_000, 0, 20), "X36")["verdict"]


def test_a_position_that_it_was_told_may_be_committed(judge: Judge) -> None:
    history = reader().told_position("member-1", 0, 40, 1_500)
    assert "HOLDS" == judge(history.commit_request("member-1", 2_000, 0, 40), "X36")["verdict"]


def test_a_commit_beyond_the_end_of_the_partition_violates(judge: Judge) -> None:
    history = reader().delivered("member-1", 0, 10, 199, 1_500)
    judged = judge(history.commit_request("member-1", 2_000, 0, 101), "X36")
    assert "beyond the end of the partition, 100" in judged["reason"]
    history = reader().delivered("member-1", 0, 10, 199, 1_500)
    assert "HOLDS" == judge(history.commit_request("member-1", 2_000, 0, 100), "X36")["verdict"]


@pytest.mark.parametrize(
    ("partition", "ms", "verdict"),
    [
        (0, 32_000, "HOLDS"),
        (0, 32_001, "VIOLATED"),
        (1, 2_000, "VIOLATED"),
        (0, -2_000, "HOLDS"),
        (0, -2_001, "VIOLATED"),
    ],
)
def test_a_commit_of_a_partition_that_it_does_not_hold_violates(
    judge: Judge, partition: int, ms: float, verdict: str
) -> None:
    history = reader().commit_request("member-1", ms, partition, 0)
    judged = judge(history, "X36")
    assert verdict == judged["verdict"]
    assert ("did not hold" in judged["reason"]) == (verdict == "VIOLATED")


@pytest.mark.parametrize(
    ("kind", "resolved", "from_ms", "to_ms", "verdict"),
    [
        ("pause-broker", "broker-1", 29_000, 39_000, "HOLDS"),
        ("pause-broker", "broker-1", 32_001, 39_000, "HOLDS"),
        ("pause-broker", "broker-1", 32_002, 39_000, "VIOLATED"),  # it had given it up long before
        ("pause-broker", "broker-1", 29_000, 38_000, "HOLDS"),
        ("pause-broker", "broker-1", 29_000, 37_999, "VIOLATED"),
        ("isolate", "member-1", 29_000, 39_000, "HOLDS"),
        ("isolate", "member-2", 29_000, 39_000, "VIOLATED"),
        ("kill-consumer", "member-2", 29_000, None, "VIOLATED"),
    ],
)
def test_what_a_fault_held_up_was_sent_before(
    judge: Judge, kind: str, resolved: str, from_ms: float, to_ms: float | None, verdict: str
) -> None:
    history = reader().commit_request("member-1", 40_000, 0, 10).member("member-2")
    judged = judge(history.fault(kind, resolved, from_ms, to_ms), "X36")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_the_first_of_several_faults_may_have_held_it_up(judge: Judge) -> None:
    history = reader().commit_request("member-1", 40_000, 0, 10)
    history.fault("pause-broker", "broker-1", 35_000, 39_000)
    assert "VIOLATED" == judge(history, "X36")["verdict"]
    history.fault("isolate", "member-1", 29_000, 39_000)
    assert "HOLDS" == judge(history, "X36")["verdict"]


def test_a_partition_that_it_never_held_is_told_from_the_first_commit_on(judge: Judge) -> None:
    history = reader().commit_request("member-1", 2_000, 0, 10)
    for ms in (35_000, 33_000, 34_000):
        history.commit_request("member-1", ms, 0, 10)
    judged = judge(history, "X36")
    assert "committed a partition that it did not hold, 3 of 4 times" in judged["reason"]
    assert at(33_000) == judged["rows"][0]["at"]


def test_any_of_its_commits_may_be_beyond_the_end(judge: Judge) -> None:
    history = reader().delivered("member-1", 0, 10, 199, 1_500)
    for ms, committed in ((2_000, 10), (2_100, 101), (2_200, 20)):
        history.commit_request("member-1", ms, 0, committed)
    assert "committed 101, beyond the end of the partition" in judge(history, "X36")["reason"]


@pytest.mark.parametrize(
    "row", [{"error": 22}, {"member_id": None}, {"generation": -1}, {"group": "payments"}]
)
def test_commits_refused_or_of_nobody_or_of_others_are_not_examined(
    judge: Judge, row: dict[str, Any]
) -> None:
    history = reader().commit_request("member-1", 2_000, 0, 50, **row)
    assert "UNKNOWN" == judge(history, "X36")["verdict"]
    assert "UNKNOWN" == judge(history, "X37")["verdict"]


# X37


@pytest.mark.parametrize(
    ("ms", "row", "verdict"),
    [
        (6_051, {"generation": 1}, "VIOLATED"),
        (6_049, {"generation": 1}, "HOLDS"),
        (6_051, {"generation": 2}, "HOLDS"),
        (5_940, {"generation": 2}, "VIOLATED"),
        (5_949, {"generation": 2}, "VIOLATED"),
        (5_950, {"generation": 2}, "HOLDS"),
        (5_940, {"generation": 2, "processed_at": at(5_990)}, "HOLDS"),
        (7_100, {"generation": 1}, "HOLDS"),
        (6_051, {"generation": 1, "broker": 2}, "HOLDS"),
    ],
)
def test_a_commit_of_another_generation_is_not_accepted(
    judge: Judge, ms: float, row: dict[str, Any], verdict: str
) -> None:
    """The group is in generation 2 from 6 s on; its coordinator loads it anew at 7 s."""
    history = History().says("stabilized", 0, generation=1, members=1)
    history.says("stabilized", 6_000, generation=2, members=1).says("loaded", 7_000)
    assert verdict == judge(history.commit_request("member-1", ms, 0, 5, **row), "X37")["verdict"]


def test_the_generation_that_a_commit_was_late_for_first_is_told(judge: Judge) -> None:
    """A line that is on record twice changes nothing."""
    history = History().says("stabilized", 0, generation=1, members=1)
    history.says("stabilized", 6_000, generation=2, members=1)
    for _ in range(2):
        history.says("stabilized", 9_000, generation=3, members=1)
    history.commit_request("member-1", 10_000, 0, 6, evidence="second")
    judged = judge(history, "X37")
    assert "had 1 commits accepted when the group was in 3" in judged["reason"]
    judged = judge(history.commit_request("member-1", 7_000, 0, 5, evidence="first"), "X37")
    assert "had 2 commits accepted when the group was in 2" in judged["reason"]


@pytest.mark.parametrize(
    ("generation", "ms", "verdict"),
    [
        (3, 3_950, "HOLDS"),
        (3, 3_949, "VIOLATED"),
        (3, 6_000, "HOLDS"),
        (2, 6_000, "HOLDS"),
        (4, 6_000, "VIOLATED"),
        (3, 9_000, "VIOLATED"),
        (5, 9_000, "HOLDS"),
    ],
)
def test_a_member_of_kip_848_commits_in_an_epoch_that_it_was_told(
    judge: Judge, generation: int, ms: float, verdict: str
) -> None:
    """It joins in epoch 2, is told 3 at 4 s, and joins anew in epoch 5 at 8 s."""
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 0, 0, 2, 0)
    beat(history, "member-1", 4_000, 2, 3, 0)
    beat(history, "member-1", 8_000, 0, 5, 0)
    history.commit_request("member-1", ms, 0, 5, generation=generation)
    assert verdict == judge(history, "X37")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [(7_960, "HOLDS"), (8_040, "HOLDS"), (8_049, "HOLDS"), (8_050, "VIOLATED")],
)
def test_a_commit_that_comes_just_before_its_member_joins_anew_is_of_its_old_epoch(
    judge: Judge, ms: float, verdict: str
) -> None:
    """As librdkafka commits, leaves and joins within 50 ms when it was too slow."""
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 0, 0, 2, 0)
    beat(history, "member-1", 8_000, 0, 5, 0)
    history.commit_request("member-1", ms, 0, 5, generation=2)
    assert verdict == judge(history, "X37")["verdict"]


@pytest.mark.parametrize("told", [-1, 0])
def test_an_answer_that_names_no_epoch_tells_none(judge: Judge, told: int) -> None:
    """It joins in epoch 2, anew in epoch 5, and leaves."""
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 0, 0, 2, 0)
    beat(history, "member-1", 8_000, 0, 5, 0)
    beat(history, "member-1", 10_000, -1, told)
    history.commit_request("member-1", 9_000, 0, 5, generation=2)
    assert "when it had joined anew with 5" in judge(history, "X37")["reason"]


def test_a_join_that_is_refused_is_none(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 0, 0, 2, 0)
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 4_000, generation=0, error_code=14)
    beat(history, "member-1", 5_000, 2, 3, 0)
    history.commit_request("member-1", 9_000, 0, 5, generation=2)
    assert "HOLDS" == judge(history, "X37")["verdict"]


@pytest.mark.parametrize(("generation", "verdict"), [(1, "HOLDS"), (2, "VIOLATED")])
def test_the_first_epoch_of_a_group_is_1(judge: Judge, generation: int, verdict: str) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 0, 0, 1, 0)
    history.commit_request("member-1", 1_000, 0, 5, generation=generation)
    assert verdict == judge(history, "X37")["verdict"]


def test_of_a_member_whose_join_is_on_no_record_every_epoch_counts(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 1_000, 2, 2, 0)
    beat(history, "member-1", 4_000, 2, 3, 0)
    history.commit_request("member-1", 5_000, 0, 5, generation=2)
    assert "HOLDS" == judge(history, "X37")["verdict"]


def test_what_a_classic_member_of_such_a_group_was_told_before_still_counts(judge: Judge) -> None:
    """It joins in epoch 2, and again in 4; it commits in 2 until it has its new part."""
    history = History(group={"protocol": "consumer"}).join("member-1", 1_000, 2)
    history.join("member-1", 5_000, 4).commit_request("member-1", 6_000, 0, 5, generation=2)
    assert "HOLDS" == judge(history, "X37")["verdict"]


@pytest.mark.parametrize(
    ("partition", "generation", "ms", "processed_ms", "verdict"),
    [
        (0, 2, 6_000, 6_000, "HOLDS"),
        (1, 3, 6_000, 6_000, "HOLDS"),
        (1, 2, 6_000, 6_000, "VIOLATED"),
        # Within the slack it may have been handled before it was told, or after.
        (1, 2, 4_049, 4_049, "HOLDS"),
        (1, 2, 4_050, 4_050, "VIOLATED"),
        (1, 2, 7_949, 7_949, "VIOLATED"),
        (1, 2, 7_900, 7_950, "HOLDS"),
        # Whose partition it is, is for another rule.
        (1, 2, 9_000, 9_000, "HOLDS"),
        (1, 3, 11_000, 11_000, "VIOLATED"),
        (1, 5, 11_000, 11_000, "HOLDS"),
        (0, 2, 11_000, 11_000, "HOLDS"),
        (1, 3, 99_000, 99_000, "VIOLATED"),
    ],
)
def test_a_member_of_kip_848_commits_in_an_epoch_since_it_has_the_partition(
    judge: Judge, partition: int, generation: int, ms: float, processed_ms: float, verdict: str
) -> None:
    """It is given t-1 in epoch 3 at 4 s, has it taken at 8 s, and given back in epoch 5 at 10 s."""
    history = History(group={"protocol": "consumer"})
    for at_ms, before, now, given in (
        (0, 0, 2, (0,)),
        (4_000, 2, 3, (0, 1)),
        (5_000, 3, 3, (1, 0)),
        (8_000, 3, 4, (0,)),
        (10_000, 4, 5, (0, 1)),
    ):
        beat(history, "member-1", at_ms, before, now, *given)
    beat(history, "member-2", 9_500, 8, 9, 1)
    history.commit_request(
        "member-1", processed_ms, partition, 5, generation=generation, arrived_at=at(ms)
    )
    found = judge(history, "X37")
    assert verdict == found["verdict"]
    if verdict == "VIOLATED":
        since = 3 if ms < 8_000 else 5
        assert f"when it had been given the partition in {since}" in found["reason"]


def test_answers_without_an_assignment_or_refused_give_nothing(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 0, 0, 2, 0)
    both = parts(0, 1)
    api = "CONSUMER_GROUP_HEARTBEAT"
    history.request(api, "member-1", 3_000, generation=2, member_epoch=3)
    history.request(
        api, "member-1", 4_000, generation=3, member_epoch=4, assigned=both, error_code=14
    )
    history.request("SYNC_GROUP", "member-1", 4_500, generation=4, member_epoch=4, assigned=both)
    history.commit_request("member-1", 6_000, 1, 5, generation=2)
    assert "HOLDS" == judge(history, "X37")["verdict"]


@pytest.mark.parametrize(
    ("arrived_ms", "processed_ms", "row", "verdict"),
    [
        (6_050, 6_250, {}, "VIOLATED"),
        (6_049, 6_250, {}, "HOLDS"),
        (6_050, 6_251, {}, "HOLDS"),
        (6_050, 6_250, {"api": "TXN_OFFSET_COMMIT"}, "HOLDS"),
        (6_050, 6_250, {"error_code": 27}, "UNKNOWN"),
        (9_000, 9_000, {"generation": 3}, "HOLDS"),
    ],
)
def test_a_commit_is_not_accepted_between_join_and_assignment(
    judge: Judge, arrived_ms: float, processed_ms: float, row: dict[str, Any], verdict: str
) -> None:
    """All have joined at 6 s, and the leader's assignment is there 300 ms later."""
    history = History().says("stabilized", 0, generation=1, members=1)
    history.says("stabilized", 6_000, generation=2, members=1)
    history.says("assignment_received", 6_300, "member-1", generation=2)
    history.says("stabilized", 8_000, generation=3, members=1)
    history.commit_request("member-1", processed_ms, 0, 5, generation=2, arrived_at=at(arrived_ms))
    history.rows["requests"][-1].update(row)
    found = judge(history, "X37")
    assert verdict == found["verdict"]
    assert (verdict == "VIOLATED") == ("between join and assignment" in found["reason"])


# X73


@pytest.mark.parametrize(
    ("committed", "ms", "verdict"),
    [(10, 1_001, "HOLDS"), (10, 1_000, "VIOLATED"), (11, 2_000, "VIOLATED"), (5, 2_000, "HOLDS")],
)
def test_no_more_is_committed_than_was_processed(
    judge: Judge, committed: int, ms: float, verdict: str
) -> None:
    judged = judge(reader().asked_commit("member-1", ms, 0, committed), "X73")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize("how", ["auto", "external", "transaction"])
def test_what_follows_what_was_given_is_unknown_to_x73(judge: Judge, how: str) -> None:
    history = reader().asked_commit("member-1", 2_000, 0, 50, how=how)
    assert "UNKNOWN" == judge(history, "X73")["verdict"]


def test_what_was_never_processed_may_not_be_committed(judge: Judge) -> None:
    history = reader().asked_commit("member-1", 2_000, 0, 10)
    history.rows["deliveries"][-1]["processed_at"] = None
    assert "VIOLATED" == judge(history, "X73")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(1_500, "HOLDS"), (2_001, "VIOLATED")])
def test_a_position_that_a_broker_told_may_be_committed_again(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = reader().told_position("member-1", 0, 50, ms)
    assert verdict == judge(history.asked_commit("member-1", 2_000, 0, 50), "X73")["verdict"]


def test_commits_of_a_process_that_is_none_of_its_members_are_not_examined(judge: Judge) -> None:
    history = reader().asked_commit("member-1", 2_000, 0, 10)
    judged = judge(history.asked_commit("observer", 2_000, 0, 50), "X73")
    assert ("HOLDS", 1) == (judged["verdict"], judged["examined"])


def test_without_commits_x73_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(reader(), "X73")["verdict"]
