"""Whether each process of a program of somebody else's works when the run ends (P7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, an_app, at

Judge = Callable[[History, str], dict[str, Any]]
END = 59_999  # when the members are told to end
SESSION = 6_000
# Fifty records come in a second for each partition: so many more are not left to the next commit.
WAITING = 51


def working(*members: str) -> History:
    """Each has one partition, of its own number less one, and goes on fetching from it."""
    history = an_app(*members)
    for partition, member in enumerate(members):
        history.holds(member, partition).heartbeats(member, 58_000)
        history.fetch(member, partition, 0, 59_000, upto=100)
    return history


def waiting(history: History, partition: int, *, advanced_ms: float, upto: int = 100) -> History:
    """Records wait in a partition whose group came to `upto` at a moment, and no further."""
    history.end_offset(partition, upto + WAITING)
    return history.commit_request(f"member-{partition + 1}", advanced_ms, partition, upto)


# Who is examined.


@pytest.mark.parametrize(
    ("change", "examined"),
    [
        ({"started_at": at(END - SESSION)}, 1),
        ({"started_at": at(END - SESSION + 1)}, 0),
        ({"ended_at": at(END)}, 1),
        ({"ended_at": at(END - 1)}, 0),
        ({"told_at": at(END)}, 1),
        ({"told_at": at(END - 1)}, 0),
        ({"ended_at": None, "end": None}, 1),
    ],
)
def test_who_runs_when_the_run_ends_is_examined(
    judge: Judge, change: dict[str, Any], examined: int
) -> None:
    history = working("member-1")
    history.rows["members"][0].update(change)
    found = judge(history, "P7")
    assert (examined, 0) == (found["examined"], found["violations"])


# Who is a member.


@pytest.mark.parametrize(
    ("added_ms", "removed_ms", "verdict"),
    [
        (END, None, "HOLDS"),
        (END + 1, None, "VIOLATED"),
        (8, END, "HOLDS"),
        (8, END - 1, "UNKNOWN"),
        (8, END - SESSION + 1, "UNKNOWN"),
        (8, END - SESSION, "VIOLATED"),
    ],
)
def test_a_process_is_a_member_at_the_very_end(
    judge: Judge, added_ms: float, removed_ms: float | None, verdict: str
) -> None:
    history = working("member-1")
    history.rows["coordinator_events"][0]["at"] = at(added_ms)
    if removed_ms is not None:
        history.says("evicted", removed_ms, "member-1")
    assert verdict == judge(history, "P7")["verdict"]


def test_of_several_removals_the_last_says_whether_it_had_time_to_come_back(judge: Judge) -> None:
    history = working("member-1").says("evicted", 30_000, "member-1")
    history.says("member_added", 30_500, "member-1", life=2).join("member-1", 30_501, 2, life=2)
    history.says("evicted", 58_000, "member-1", life=2)
    found = judge(history, "P7")
    assert ("UNKNOWN", 1) == (found["verdict"], found["examined"])
    assert "put out of the group just before the end" in found["reason"]


@pytest.mark.parametrize(
    ("last_ms", "said"), [(END - 12_340, "12.3 s before"), (END, "0.0 s before")]
)
def test_when_its_coordinator_last_heard_of_it_is_said(
    judge: Judge, last_ms: float, said: str
) -> None:
    """member-2 is heard of to the end, and so is member-1 when nobody waits for it any more."""
    history = an_app("member-1", "member-2").holds("member-1", 0).holds("member-2", 1)
    history.says("evicted", 20_000, "member-1").fetch("member-2", 1, 0, 59_000, upto=100)
    history.heartbeats("member-1", last_ms, END + 1, error_code=25)
    history.heartbeats("member-2", 59_500)
    found = judge(history, "P7")
    assert ("VIOLATED", 2, 1) == (found["verdict"], found["examined"], found["violations"])
    assert f"its coordinator last heard of it {said}" in found["reason"]


def test_a_process_that_no_coordinator_heard_of_is_no_member(judge: Judge) -> None:
    history = working("member-1").member("member-2", client="app", ended_at=at(END + 100))
    found = judge(history, "P7")
    assert ("VIOLATED", 2, 1) == (found["verdict"], found["examined"], found["violations"])
    assert "no coordinator ever heard of it" in found["reason"]


# Who fetches.


def test_a_fetch_that_comes_at_the_very_end_is_one(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).heartbeats("member-1", 58_000)
    history.fetch("member-1", 0, 0, END, upto=100).fetch("member-1", 0, 100, END + 1)
    found = judge(history, "P7")
    assert ("HOLDS", 0) == (found["verdict"], found["measured_max"])


@pytest.mark.parametrize(("joins_ms", "verdict"), [(END, "VIOLATED"), (END - 1, "HOLDS")])
def test_what_it_gives_up_only_as_the_run_ends_it_had_to_fetch(
    judge: Judge, joins_ms: float, verdict: str
) -> None:
    history = an_app("member-1").holds("member-1", 0).heartbeats("member-1", 58_000)
    history.fetch("member-1", 0, 0, 20_000, upto=100).join("member-1", joins_ms, 2)
    assert verdict == judge(history, "P7")["verdict"]


# Who gets further.


def test_what_it_is_given_as_the_run_ends_it_holds(judge: Judge) -> None:
    """It came no further with what it had, and is given another partition at the last moment."""
    history = working("member-1")
    given = [{"topic": "t", "partition": partition} for partition in (0, 1)]
    history.sync("member-1", END, 2, assigned=given)
    assert "holds 2 partitions" == judge(history, "P7")["rows"][0]["why"]
    for partition in (0, 1):
        waiting(history, partition, advanced_ms=20_000)
    stuck = "holds 1 partitions in which 51 records wait"
    assert stuck in judge(history, "P7")["reason"]


def test_each_process_is_judged_by_records_that_wait_in_its_own_partitions(judge: Judge) -> None:
    """member-1 is at the end of what it has; member-2 came no further for 12.3 s."""
    history = waiting(working("member-1", "member-2"), 1, advanced_ms=END - 12_340)
    found = judge(history, "P7")
    assert ("VIOLATED", 2, 1) == (found["verdict"], found["examined"], found["violations"])
    stuck = "member-2, holds 1 partitions in which 51 records wait, and came no further for 12.3 s"
    assert stuck in found["reason"]


def test_who_gets_further_in_one_of_its_partitions_gets_further(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0, 1).heartbeats("member-1", 58_000)
    history.fetch("member-1", 0, 0, 59_000, upto=100)
    for partition, ms in ((0, 20_000), (1, 58_000)):
        history.end_offset(partition, 100 + WAITING)
        history.commit_request("member-1", ms, partition, 100)
    assert "HOLDS" == judge(history, "P7")["verdict"]


def test_how_far_it_got_is_by_its_last_commit(judge: Judge) -> None:
    """It has committed 100 of 151 records a second ago, and 10 of them long ago."""
    history = waiting(working("member-1"), 0, advanced_ms=58_000)
    history.commit_request("member-1", 20_000, 0, 10)
    assert "HOLDS" == judge(history, "P7")["verdict"]


def test_what_its_last_commit_left_is_no_work(judge: Judge) -> None:
    """Its first commit left more records than come in a second, and its last did not."""
    history = working("member-1").end_offset(0, 100 + WAITING)
    history.commit_request("member-1", 20_000, 0, 100).commit_request("member-1", 21_000, 0, 101)
    assert "HOLDS" == judge(history, "P7")["verdict"]


@pytest.mark.parametrize(("joins_ms", "verdict"), [(END, "VIOLATED"), (END - 1, "HOLDS")])
def test_records_wait_for_whoever_holds_their_partition_at_the_end(
    judge: Judge, joins_ms: float, verdict: str
) -> None:
    history = waiting(working("member-1"), 0, advanced_ms=20_000).join("member-1", joins_ms, 2)
    assert verdict == judge(history, "P7")["verdict"]


@pytest.mark.parametrize(("upto", "verdict"), [(100, "VIOLATED"), (151, "HOLDS")])
def test_who_never_ended_gets_further_too(judge: Judge, upto: int, verdict: str) -> None:
    """No end of its process is on record, so none of its partition's either."""
    history = waiting(working("member-1"), 0, advanced_ms=20_000)
    history.rows["members"][0].update(ended_at=None, end=None, exit_code=None)
    if upto > 100:
        history.commit_request("member-1", 21_000, 0, upto)
    assert verdict == judge(history, "P7")["verdict"]


def test_who_is_given_its_first_partition_just_before_the_end_has_time(judge: Judge) -> None:
    history = working("member-1").member(
        "member-2",
        client="app",
        lane="member-2",
        commit=None,
        ended_at=at(60_100),
        exit_code=0,
    )
    history.says("member_added", 8, "member-2").join("member-2", 9)
    history.sync("member-2", 10, assigned=[]).heartbeats("member-2", 58_000)
    history.join("member-2", 59_700, 2)
    history.sync("member-2", 59_800, 2, assigned=[{"topic": "t", "partition": 1}])
    assert 0 == judge(history, "P7")["violations"]


def test_who_takes_over_a_partition_just_before_the_end_has_time(judge: Judge) -> None:
    """Its owner had come no further for long, and was killed."""
    history = waiting(working("member-1"), 0, advanced_ms=58_000).end_offset(1, 151)
    history.member(
        "member-2",
        client="app",
        lane="member-2",
        commit=None,
        ended_at=at(50_000),
        exit_code=-9,
        end="killed",
    )
    history.holds("member-2", 1).commit_request("member-2", 45_000, 1, 100)
    history.commit_request("member-1", 58_500, 0, 151)
    given = [{"topic": "t", "partition": number} for number in (0, 1)]
    history.sync("member-1", 59_500, 2, assigned=given)
    assert 0 == judge(history, "P7")["violations"]
