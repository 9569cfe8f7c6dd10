"""Whom a coordinator put out of the group: who is back in time (P8), and works meanwhile (P9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, an_app, at

Judge = Callable[[History, str], dict[str, Any]]
END = 59_999  # when the members are told to end
BACK = 30_000  # a process has so long to come back


def evicted(ms: float = 16_000, **row: Any) -> History:
    """member-1 is put out at this moment, and its process may end."""
    history = an_app("member-1").holds("member-1", 0).says("evicted", ms, "member-1")
    history.rows["members"][0].update(row)
    return history


def comes_back(history: History, ms: float, generation: int = 2) -> History:
    """It has its part again at this moment, under a new id."""
    history.join("member-1", ms - 1, generation, life=2)
    return history.sync("member-1", ms, generation, life=2)


# P8


@pytest.mark.parametrize(("ms", "examined"), [(END - 1, 1), (END, 0)])
def test_who_is_put_out_as_the_run_ends_need_not_come_back(
    judge: Judge, ms: float, examined: int
) -> None:
    found = judge(evicted(ms), "P8")
    assert ("UNKNOWN", examined) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(
    ("ms", "verdict", "said"),
    [
        (END - BACK, "UNKNOWN", "the run ended before it had to be back"),
        (END - BACK - 10, "VIOLATED", "was not back after 30.0 s"),
    ],
)
def test_who_is_not_back_has_thirty_seconds(
    judge: Judge, ms: float, verdict: str, said: str
) -> None:
    found = judge(evicted(ms), "P8")
    assert verdict == found["verdict"]
    assert said in found["reason"]
    assert (verdict == "VIOLATED") == (found["rows"][0]["wrong"] is not None)


@pytest.mark.parametrize(("ended_ms", "examined"), [(16_000, 0), (16_001, 1)])
def test_a_process_that_ended_as_it_was_put_out_need_not_come_back(
    judge: Judge, ended_ms: float, examined: int
) -> None:
    found = judge(evicted(ended_at=at(ended_ms), exit_code=1), "P8")
    assert (examined, 0) == (found["examined"], found["violations"])


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_process_that_ends_with_the_run_has_not_gone(judge: Judge, exit_code: int) -> None:
    found = judge(evicted(40_000, ended_at=at(END), exit_code=exit_code), "P8")
    assert ("UNKNOWN", 1) == (found["verdict"], found["examined"])
    assert "the run ended before it had to be back" in found["reason"]


def test_whose_end_is_that_of_the_run_was_not_back_before(judge: Judge) -> None:
    found = judge(evicted(ended_at=at(END), exit_code=0), "P8")
    assert "was not back after 44.0 s" in found["reason"]


def test_it_is_back_when_it_has_its_part_for_the_first_time(judge: Judge) -> None:
    """Later generations, and the end of its process, come when it has been back for long."""
    history = comes_back(comes_back(evicted(), 25_000), 50_000, 3)
    history.rows["members"][0].update(ended_at=at(55_000), exit_code=1)
    assert 9_000 == judge(history, "P8")["measured_max"]


@pytest.mark.parametrize(("synced_ms", "verdict"), [(16_000, "VIOLATED"), (16_001, "HOLDS")])
def test_what_it_was_given_as_it_was_put_out_does_not_bring_it_back(
    judge: Judge, synced_ms: float, verdict: str
) -> None:
    assert verdict == judge(evicted().sync("member-1", synced_ms, 1), "P8")["verdict"]


@pytest.mark.parametrize(
    ("faults", "knows_ms"),
    [
        ([(10_000, 20_000), (12_000, 25_000)], 25_000),
        ([(10_000, 25_000), (12_000, 20_000)], 25_000),
        ([(16_001, 20_000)], 20_000),  # injecting began as it was put out
        ([(16_002, 20_000)], 16_000),
        ([(10_000, 15_999)], 16_000),
    ],
)
def test_it_can_know_when_the_last_fault_that_hits_it_is_over(
    judge: Judge, faults: list[tuple[float, float]], knows_ms: float
) -> None:
    history = comes_back(evicted(), 30_000)
    for injected_ms, healed_ms in faults:
        history.fault("freeze-consumer", "member-1", injected_ms, healed_ms)
    found = judge(history, "P8")
    assert ("HOLDS", 30_000 - knows_ms) == (found["verdict"], found["measured_max"])


def test_each_is_judged_by_its_own_removal(judge: Judge) -> None:
    """member-1 is put out and comes back; member-2 stays; a stranger is put out for ever."""
    history = comes_back(evicted(), 25_000).member("member-2", client="app", lane="member-2")
    history.says("member_added", 8, "member-2").join("member-2", 9)
    history.says("member_added", 8, "visitor").join("visitor", 9).says("evicted", 17_000, "visitor")
    found = judge(history, "P8")
    assert ("HOLDS", 1, 9_000) == (found["verdict"], found["examined"], found["measured_max"])


def test_a_producer_that_is_put_out_of_a_group_is_not_examined(judge: Judge) -> None:
    """It is no consumer, whatever group it may have joined by its name."""
    history = comes_back(evicted(), 25_000).member("producer-1", role="producer")
    history.says("member_added", 8, "producer-1").join("producer-1", 9)
    history.says("evicted", 17_000, "producer-1")
    assert 1 == judge(history, "P8")["examined"]


# P9


def heard(*refused_ms: float) -> History:
    """member-1 is put out at 16 s, refused, and back at 25 s."""
    history = evicted().heartbeats("member-1", *refused_ms, error_code=25)
    return comes_back(history, 25_000)


def test_it_has_heard_with_the_first_refusal(judge: Judge) -> None:
    history = heard(20_000, 23_000).fetch("member-1", 0, 0, 21_000, upto=100)
    assert "VIOLATED" == judge(history, "P9")["verdict"]


@pytest.mark.parametrize(
    ("refused_ms", "examined"), [(15_999, 0), (16_000, 1), (24_999, 1), (25_000, 0)]
)
def test_it_hears_from_its_removal_on_until_it_is_back(
    judge: Judge, refused_ms: float, examined: int
) -> None:
    assert examined == judge(heard(refused_ms), "P9")["examined"]


def test_a_fetch_when_it_is_back_is_one_of_a_member(judge: Judge) -> None:
    history = heard(20_000).fetch("member-1", 0, 0, 25_000, upto=100)
    found = judge(history, "P9")
    assert ("HOLDS", 0) == (found["verdict"], found["measured_max"])


def test_what_it_fetched_is_counted_from_its_first_offset(judge: Judge) -> None:
    history = heard(20_000).fetch("member-1", 0, 60, 22_000, upto=100)
    assert 40 == judge(history, "P9")["measured_max"]


def test_what_it_shows_when_it_is_back_is_of_a_member(judge: Judge) -> None:
    history = heard(20_000).fetch("member-1", 0, 0, 22_000, upto=100)
    history.shows("member-1", 0, 90, 109, 25_000)
    found = judge(history, "P9")
    assert ("HOLDS", 0) == (found["verdict"], found["measured_max"])


@pytest.mark.parametrize(
    ("commit_ms", "verdict"),
    [(20_000, "HOLDS"), (20_001, "VIOLATED"), (24_999, "VIOLATED"), (25_000, "HOLDS")],
)
def test_a_commit_between_hearing_and_coming_back_is_one_of_no_member(
    judge: Judge, commit_ms: float, verdict: str
) -> None:
    history = heard(20_000).commit_request("member-1", commit_ms, 0, 100)
    assert verdict == judge(history, "P9")["verdict"]
