from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import TOPIC, History, answered, at

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


def handed_over(given_up_ms: float = 5_000, next_ms: float = 5_100, **group: Any) -> History:
    """member-1 read 0 to 9, gave the partition up, and member-2 was given it."""
    history = History(group=group).member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", "revoked", given_up_ms, [0])
    history.told("member-2", "assigned", next_ms, [0])
    return history.delivered("member-1", 0, 0, 9, 1_000)


# R15


def test_giving_up_and_committing_before_the_next_owner_holds(judge: Judge) -> None:
    history = handed_over(commit="revoke").rebalance(4_900, 2, 2)
    history.commit_request("member-1", 4_905, 0, 10)
    history.asked_commit("member-1", 4_904, 0, 10, how="revoke")
    verdict = judge(history, "R15")
    assert ("HOLDS", 1, 100) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip
    verdict = judge(history, "R15-commit")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert "while members rejoined" in verdict["rows"][0]["why"]


def test_a_hand_over_without_a_commit_in_the_callback_says_nothing_of_one(judge: Judge) -> None:
    history = handed_over().asked_commit("member-1", 4_904, 0, 10)
    assert "UNKNOWN" == judge(history, "R15-commit")["verdict"]


def test_a_commit_in_the_callback_of_kip_848_is_told_with_the_epoch(judge: Judge) -> None:
    history = handed_over().says("epoch_bumped", 4_800, generation=2)
    history.asked_commit("member-1", 4_904, 0, 10, how="revoke")
    told = "position 10 was accepted before the new target was computed"
    assert told == judge(history, "R15-commit")["rows"][0]["why"]
    history.says("target_computed", 4_850, generation=2)
    told = "position 10 was accepted when the new target was computed"
    assert told == judge(history, "R15-commit")["rows"][0]["why"]


def test_a_next_owner_before_the_callback_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(handed_over(5_200, 5_100), "R15")["verdict"]


@pytest.mark.parametrize(
    ("client", "protocol", "stalled_ms", "verdict"),
    [
        ("java", "consumer", -55_901, "HOLDS"),
        ("java", "consumer", -55_902, "VIOLATED"),
        ("java", "consumer", 5_100, "HOLDS"),
        ("java", "consumer", 5_101, "VIOLATED"),
        ("java", "eager", -55_901, "VIOLATED"),
        ("librdkafka", "consumer", -55_901, "VIOLATED"),
    ],
)
def test_what_is_left_over_from_a_stall_is_no_assignment(
    judge: Judge, client: str, protocol: str, stalled_ms: float, verdict: str
) -> None:
    history = handed_over(5_200, 5_100, client=client, protocol=protocol)
    history.told("member-2", "stall_started", stalled_ms, duration_ms=60_001)
    assert verdict == judge(history, "R15")["verdict"]


@pytest.mark.parametrize("rule", ["R15", "R15-repeats"])
def test_who_was_removed_before_its_callback_was_not_told_to_give_up(
    judge: Judge, rule: str
) -> None:
    history = handed_over(5_200, 5_100).delivered("member-2", 0, 0, 9, 5_300)
    history.says("member_added", 0, "member-1")
    assert "VIOLATED" == judge(history, rule)["verdict"]
    assert 0 == judge(history.says("evicted", 5_050, "member-1"), rule)["examined"]


def test_a_refused_commit_in_the_callback_violates(judge: Judge) -> None:
    history = handed_over().commit_request("member-1", 4_905, 0, 10, error=22)
    history.asked_commit("member-1", 4_904, 0, 10, error=22, how="revoke")
    assert "VIOLATED" == judge(history, "R15-commit")["verdict"]


@pytest.mark.parametrize("error", [29, 30])
def test_who_has_lost_its_rights_is_no_member_that_gives_up(judge: Judge, error: int) -> None:
    history = handed_over().commit_request("member-1", 4_905, 0, 10, error=error)
    history.asked_commit("member-1", 4_904, 0, 10, error=error, how="revoke")
    assert "UNKNOWN" == judge(history, "R15-commit")["verdict"]


def test_a_commit_in_the_callback_that_nobody_answered_cannot_be_told(judge: Judge) -> None:
    history = handed_over().asked_commit("member-1", 4_904, 0, 10, error=None, how="revoke")
    assert "UNKNOWN" == judge(history, "R15-commit")["verdict"]


def test_a_lost_partition_is_not_handed_over(judge: Judge) -> None:
    history = History().member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", "lost", 5_200, [0])
    assert "UNKNOWN" == judge(history.told("member-2", "assigned", 5_100, [0]), "R15")["verdict"]


def test_giving_up_at_the_very_moment_the_next_owner_is_given_it_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(handed_over(5_100, 5_100), "R15")["verdict"]


@pytest.mark.parametrize(
    ("ms", "found"),
    [
        (4_899, "before any rebalance"),
        (4_900, "while members rejoined"),
        (4_905, "while members rejoined"),
        (4_911, "after all had rejoined"),
    ],
)
def test_a_commit_in_the_callback_is_told_with_where_its_own_group_stood(
    judge: Judge, ms: float, found: str
) -> None:
    history = handed_over().rebalance(4_900, 2, 2).commit_request("member-1", ms, 0, 10)
    history.says("stabilized", 4_880, **OTHER).says("stabilized", 4_903, **OTHER)
    history.says("rebalance_started", 4_910.5, **OTHER)
    history.asked_commit("member-1", ms - 1, 0, 10, how="revoke")
    verdict = judge(history, "R15-commit")
    assert f"position 10 was accepted {found}" == verdict["rows"][0]["why"]


def test_a_commit_in_the_callback_that_is_accepted_when_sent_again_holds(judge: Judge) -> None:
    history = handed_over().asked_commit("member-1", 4_904, 0, 10, error=None, how="revoke")
    history.commit_request("member-1", 4_905, 0, 10, error=16)
    history.commit_request("member-1", 4_950, 0, 10)
    # Neither of these is that commit, nor was the last one made in the callback.
    history.commit_request("member-1", 4_890, 0, 10, **OTHER)
    answered(history, 4_880, 10, client_id="member-1")
    history.asked_commit("member-1", 4_800, 0, 9, error=22)
    verdict = judge(history, "R15-commit")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert at(4_905) == verdict["rows"][0]["at"]


@pytest.mark.parametrize(
    ("error", "why"), [(22, "was refused with error 22"), (None, "was never answered")]
)
def test_what_became_of_a_commit_in_the_callback_is_told(
    judge: Judge, error: int | None, why: str
) -> None:
    history = handed_over().asked_commit("member-1", 4_904, 0, 10, error=error, how="revoke")
    assert why == judge(history, "R15-commit")["rows"][0]["why"]


# R15-assigned


@pytest.mark.parametrize(
    ("ms", "generation", "verdict"),
    [
        (5_000, 2, "HOLDS"),
        (4_700, 2, "HOLDS"),  # the line of the request may be late
        (4_699, 2, "VIOLATED"),
        (9_000, 2, "HOLDS"),
        (5_000, 3, "UNKNOWN"),
    ],
)
def test_a_member_hears_of_its_part_when_it_has_it(
    judge: Judge, ms: float, generation: int, verdict: str
) -> None:
    history = History().sync("member-1", 5_000, 2).sync("member-1", 8_000, 2)
    history.sync("member-1", 1_000, 2, error_code=27).sync("member-2", 1_000, 2)
    history.told("member-1", "assigned", ms, [0], generation=generation)
    history.told("member-1", "revoked", 1_000, [0], generation=generation)
    assert verdict == judge(history, "R15-assigned")["verdict"]


def test_a_callback_that_seems_early_is_not_judged_where_the_machine_stood_still(
    judge: Judge,
) -> None:
    history = History().sync("member-1", 5_000, 2).tick(4_990, 90)
    history.told("member-1", "assigned", 4_650, [0], generation=2)
    assert "UNKNOWN" == judge(history, "R15-assigned")["verdict"]


# R15-repeats


def test_a_hand_over_without_repeats_holds(judge: Judge) -> None:
    history = handed_over().delivered("member-2", 0, 10, 19, 5_200)
    assert "HOLDS" == judge(history, "R15-repeats")["verdict"]


def test_a_hand_over_that_repeats_a_record_violates(judge: Judge) -> None:
    verdict = judge(handed_over().delivered("member-2", 0, 9, 19, 5_200), "R15-repeats")
    assert ("VIOLATED", 1) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("first", "verdict", "repeated"), [(10, "HOLDS", 0), (9, "VIOLATED", 1), (0, "VIOLATED", 10)]
)
def test_a_partition_that_comes_back_to_its_owner_repeats_nothing(
    judge: Judge, first: int, verdict: str, repeated: int
) -> None:
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    history.delivered("member-1", 0, 0, 9, 1_000).told("member-1", "revoked", 5_000, [0])
    history.told("member-1", "assigned", 5_100, [0]).delivered("member-1", 0, first, 19, 5_200)
    found = judge(history, "R15-repeats")
    assert (verdict, 1, repeated) == (found["verdict"], found["examined"], found["measured_max"])
    assert 0 == judge(history, "R15")["examined"]  # it did not move


def test_what_nobody_is_given_again_is_not_handed_over(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    history.delivered("member-1", 0, 0, 9, 1_000).told("member-1", "revoked", 5_000, [0])
    assert "UNKNOWN" == judge(history, "R15-repeats")["verdict"]


def test_only_what_the_next_owner_is_given_again_while_it_has_the_partition_counts(
    judge: Judge,
) -> None:
    history = handed_over().told("member-2", "revoked", 8_000, [0])
    history.delivered("member-1", 0, 10, 39, 1_100).delivered("member-1", 0, 50, 50, 5_000)
    # From its callback to its callback, of what the owner before had until its own: 3, 1, and 1.
    history.delivered("member-2", 0, 0, 2, 5_100).delivered("member-2", 0, 3, 3, 8_000)
    history.delivered("member-2", 0, 50, 50, 6_200)
    # Just before, just after, to another member, and first delivered after it was given up.
    history.delivered("member-2", 0, 10, 10, 5_099).delivered("member-2", 0, 11, 11, 8_001)
    history.delivered("member-3", 0, 12, 12, 6_000)
    history.delivered("member-1", 0, 40, 49, 5_001).delivered("member-2", 0, 40, 49, 6_100)
    for partition, topic in ((1, TOPIC), (0, "u")):
        history.delivered("member-1", partition, 0, 9, 1_000, topic=topic)
        history.delivered("member-2", partition, 0, 9, 6_000, topic=topic)
    verdict = judge(history, "R15-repeats")
    assert ("VIOLATED", 1, 5) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip


def test_what_a_next_owner_is_given_that_never_gives_it_up_counts(judge: Judge) -> None:
    history = handed_over().delivered("member-2", 0, 9, 19, 59_000)
    history.rows["members"][1].update(ended_at=None, end=None)
    assert "VIOLATED" == judge(history, "R15-repeats")["verdict"]


# R15-seek


def kept(first: int) -> History:
    history = handed_over().asked_commit("member-1", 1_100, 0, 10, how="external")
    return history.delivered("member-2", 0, first, 19, 5_200)


def test_starting_where_the_store_says_holds(judge: Judge) -> None:
    verdict = judge(kept(10), "R15-seek")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("first", [9, 11])
def test_starting_anywhere_else_violates(judge: Judge, first: int) -> None:
    assert "VIOLATED" == judge(kept(first), "R15-seek")["verdict"]


def test_positions_kept_in_kafka_are_not_sought(judge: Judge) -> None:
    history = handed_over().asked_commit("member-1", 1_100, 0, 10)
    assert "UNKNOWN" == judge(history.delivered("member-2", 0, 0, 9, 5_200), "R15-seek")["verdict"]


def test_the_position_kept_last_before_the_assignment_counts(judge: Judge) -> None:
    """And what is read first from the assignment on; anything else has nothing to say."""
    history = handed_over()
    for ms, position in ((1_100, 5), (5_100, 10), (5_101, 11)):
        history.asked_commit("member-1", ms, 0, position, how="external")
    history.asked_commit("member-1", 5_100.1, 0, 12, error=1, how="external", asked_at=at(5_099))
    history.asked_commit("member-1", 5_100.1, 0, 13, asked_at=at(5_099))
    history.asked_commit("member-1", 5_100, 1, 14, how="external")
    history.asked_commit("member-1", 5_100, 0, 15, how="external", topic="u")
    history.delivered("member-2", 0, 3, 4, 5_099).delivered("member-3", 0, 6, 7, 5_100)
    history.delivered("member-2", 1, 30, 39, 5_100).delivered(
        "member-2", 0, 40, 49, 5_100, topic="u"
    )
    history.delivered("member-2", 0, 10, 19, 5_100).delivered("member-2", 0, 20, 29, 5_300)
    verdict = judge(history, "R15-seek")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_a_position_that_was_not_kept_does_not_count(judge: Judge) -> None:
    history = kept(10).asked_commit("member-1", 1_200, 0, 12, error=1, how="external")
    history.asked_commit("member-1", 1_300, 0, 13)
    assert "HOLDS" == judge(history, "R15-seek")["verdict"]


@pytest.mark.parametrize(
    ("first", "verdict"),
    [(10, "HOLDS"), (11, "VIOLATED"), (12, "HOLDS"), (13, "HOLDS")]
    + [(first, "VIOLATED") for first in range(14, 21)],
)
def test_a_position_that_was_being_kept_when_its_member_died_may_be_there(
    judge: Judge, first: int, verdict: str
) -> None:
    history = kept(first)
    asked: dict[str, Any] = {"error": None, "how": "external"}
    history.asked_commit("member-1", 1_200, 0, 12, **asked)
    history.asked_commit("member-3", 5_100, 0, 13, **asked)
    # Before what was kept last, after the assignment, of others, in Kafka, and refused.
    history.asked_commit("member-1", 900, 0, 5, how="external")
    history.asked_commit("member-1", 950, 0, 20, **asked)
    history.asked_commit("member-1", 1_000, 0, 14, **asked)
    history.asked_commit("member-1", 5_100.1, 0, 15, **asked)
    history.asked_commit("member-1", 1_200, 1, 16, **asked)
    history.asked_commit("member-1", 1_200, 0, 17, **asked, topic="u")
    history.asked_commit("member-1", 1_200, 0, 18, error=None)
    history.asked_commit("member-1", 1_200, 0, 19, error=1, how="external")
    verdict_row = judge(history, "R15-seek")
    assert (verdict, 0 if verdict == "HOLDS" else first - 10) == (
        verdict_row["verdict"], verdict_row["measured_max"]
    )  # fmt: skip


@pytest.mark.parametrize(("ms", "examined"), [(8_000, 1), (8_001, 0)])
def test_what_is_read_after_giving_up_is_not_examined(
    judge: Judge, ms: float, examined: int
) -> None:
    history = handed_over().asked_commit("member-1", 1_100, 0, 10, how="external")
    history.told("member-2", "revoked", 8_000, [0]).delivered("member-2", 0, 10, 19, ms)
    assert examined == judge(history, "R15-seek")["examined"]


def test_a_partition_that_is_never_given_up_is_examined(judge: Judge) -> None:
    history = kept(11)
    history.rows["members"][1].update(ended_at=None, end=None)
    assert "VIOLATED" == judge(history, "R15-seek")["verdict"]
