from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

Judge = Callable[[History, str], dict[str, Any]]
# Whom the commits of a client name that has dropped its id, its generation, or both.
NOBODY: list[dict[str, Any]] = [
    {"member_id": None},
    {"generation": -1},
    {"generation": None},
    {"member_id": None, "generation": -1},
]


def committing(commit: str, **last: Any) -> History:
    """member-1 commits at 1 s, and once more at 2 s as `last` says, which is refused."""
    history = History().member("member-1", commit=commit).commit_request("member-1", 1_000, 0, 5)
    return history.commit_request("member-1", 2_000, 0, 9, **{"error": 25, **last})


@pytest.mark.parametrize(("rule", "commit"), [("X41", "auto"), ("X41-asked", "sync")])
@pytest.mark.parametrize("whom", NOBODY)
def test_a_commit_in_nobodys_name_violates(
    judge: Judge, rule: str, commit: str, whom: dict[str, Any]
) -> None:
    judged = judge(committing(commit, **whom), rule)
    assert ("VIOLATED", 1) == (judged["verdict"], judged["violations"])
    assert "made commits without a valid member id and generation" in judged["reason"]
    assert "was answered 25" in judged["reason"]


@pytest.mark.parametrize("whom", NOBODY)
def test_one_that_is_accepted_violates_as_well(judge: Judge, whom: dict[str, Any]) -> None:
    assert "VIOLATED" == judge(committing("auto", error=0, **whom), "X41")["verdict"]


@pytest.mark.parametrize(("rule", "commit"), [("X41", "auto"), ("X41-asked", "revoke")])
def test_a_commit_that_is_refused_in_its_members_name_holds(
    judge: Judge, rule: str, commit: str
) -> None:
    for error in (22, 25, 82):
        judged = judge(committing(commit, error=error), rule)
        assert ("HOLDS", 1) == (judged["verdict"], judged["examined"])


def test_the_first_generation_that_a_member_can_have_is_0(judge: Judge) -> None:
    assert "HOLDS" == judge(committing("auto", generation=0), "X41")["verdict"]


@pytest.mark.parametrize(("rule", "commit"), [("X41", "sync"), ("X41-asked", "auto")])
def test_who_asks_for_commits_is_examined_by_one_of_both_rules(
    judge: Judge, rule: str, commit: str
) -> None:
    assert "UNKNOWN" == judge(committing(commit, member_id=None), rule)["verdict"]


@pytest.mark.parametrize("rule", ["X41", "X41-asked"])
def test_whoever_is_no_member_of_ours_may_commit_as_nobody(judge: Judge, rule: str) -> None:
    """An admin client commits as nobody on purpose, and so does a probe in a group of its own."""
    history = History().commit_request("admin", 1_000, 0, 5, member_id=None, generation=-1)
    history.member("member-1", commit=None).member("member-2", commit="auto")
    history.commit_request("member-1", 1_000, 0, 5, member_id=None)  # a program of somebody else's
    history.commit_request("member-2", 1_000, 0, 5, member_id=None, group="orders-probed")
    assert "UNKNOWN" == judge(history, rule)["verdict"]


def test_each_member_is_a_row_and_its_first_commit_of_nobody_is_shown(judge: Judge) -> None:
    history = committing("auto", member_id=None, generation=3).member("member-2", commit="auto")
    history.commit_request("member-1", 3_000, 0, 9, 25, member_id=None, generation=-1)
    history.commit_request("member-2", 1_000, 1, 5)

    judged = judge(history, "X41")

    assert (2, 1, 2.0) == (judged["examined"], judged["violations"], judged["measured_max"])
    assert "the first of them names no member and generation 3" in judged["reason"]


def test_a_commit_without_a_member_may_name_the_first_generation(judge: Judge) -> None:
    found = judge(committing("auto", member_id=None, generation=0), "X41")
    assert "the first of them names no member and generation 0" in found["reason"]


@pytest.mark.parametrize(("rule", "commit"), [("X41", "auto"), ("X41-asked", "sync")])
def test_only_commits_have_to_name_a_member(judge: Judge, rule: str, commit: str) -> None:
    """A first join has no member id, and neither has who asks for the coordinator."""
    history = committing(commit).join("member-1", 10, member_id=None, error_code=79)
    history.request("FIND_COORDINATOR", "member-1", 5, member_id=None, generation=None)
    found = judge(history, rule)
    assert ("HOLDS", "2 commits with its name") == (found["verdict"], found["rows"][0]["why"])


@pytest.mark.parametrize("whom", NOBODY)
def test_positions_in_a_transaction_name_their_member_too(
    judge: Judge, whom: dict[str, Any]
) -> None:
    history = committing("transaction").request("TXN_OFFSET_COMMIT", "member-1", 3_000)
    assert "HOLDS" == judge(history, "X41-asked")["verdict"]
    history.request("TXN_OFFSET_COMMIT", "member-1", 4_000, **whom)
    assert "VIOLATED" == judge(history, "X41-asked")["verdict"]
