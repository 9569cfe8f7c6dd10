from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at

Judge = Callable[[History, str], dict[str, Any]]
FENCED = "FENCED_INSTANCE_ID: Broker: Static consumer fenced"
# member-1 gives up at 20 s, and member-2 has the same instance id meanwhile, or had, or will have.
GAVE_UP_MS = 20_000


def ended(text: str = FENCED, **row: Any) -> History:
    """member-1, with the last word of its journal."""
    history = History().member("member-1", end="failed", **row)
    detail = f"process: ClientGaveUp: member-1 cannot go on: {text}"
    return history.told("member-1", "error", GAVE_UP_MS, detail=detail)


def with_twin(joins_ms: float, removed_ms: float | None, instance_id: str = "one") -> History:
    history = ended(instance_id="one").join("member-1", 1_000, instance_id="one")
    history.member("member-2", instance_id=instance_id)
    history.join("member-2", joins_ms, instance_id=instance_id)
    if removed_ms is not None:
        history.says("evicted", removed_ms, "member-2")
    return history


def test_a_client_that_gives_up_although_nobody_has_its_place_violates(judge: Judge) -> None:
    judged = judge(ended(instance_id="one").join("member-1", 1_000, instance_id="one"), "X42")
    assert ("VIOLATED", 1) == (judged["verdict"], judged["violations"])
    assert f"its client gave up for good: {FENCED}" in judged["reason"]


@pytest.mark.parametrize("commit", ["auto", "transaction"])
def test_so_does_one_of_a_dynamic_member(judge: Judge, commit: str) -> None:
    assert "VIOLATED" == judge(ended(commit=commit).member("member-2"), "X42")["verdict"]


@pytest.mark.parametrize(
    ("joins_ms", "removed_ms", "verdict"),
    [
        (5_000, None, "HOLDS"),
        (20_050, None, "HOLDS"),
        (20_051, None, "VIOLATED"),
        (5_000, 19_950, "HOLDS"),
        (5_000, 19_949, "VIOLATED"),
    ],
)
def test_another_process_with_its_instance_id_is_a_reason_while_it_is_a_member(
    judge: Judge, joins_ms: float, removed_ms: float | None, verdict: str
) -> None:
    assert verdict == judge(with_twin(joins_ms, removed_ms), "X42")["verdict"]


def test_another_instance_id_is_no_reason(judge: Judge) -> None:
    assert "VIOLATED" == judge(with_twin(5_000, None, "two"), "X42")["verdict"]


def test_its_own_next_membership_is_no_reason(judge: Judge) -> None:
    history = ended(instance_id="one").join("member-1", 1_000, instance_id="one")
    history.join("member-1", 9_000, life=2, instance_id="one")
    assert "VIOLATED" == judge(history, "X42")["verdict"]


def test_the_first_of_its_last_words_is_why_and_when_it_gave_up(judge: Judge) -> None:
    """It says so once more when it closes, and who had its place is gone by then."""
    again = "process: ClientGaveUp: member-1 cannot go on: closed by force"
    for history, verdict in ((with_twin(5_000, 25_000), "HOLDS"), (ended(), "VIOLATED")):
        found = judge(history.told("member-1", "error", 30_000, detail=again), "X42")
        assert verdict == found["verdict"]
        assert at(GAVE_UP_MS) in [row["at"] for row in found["rows"]]
    assert f"its client gave up for good: {FENCED}" in found["reason"]


def test_of_several_with_its_instance_id_one_is_named(judge: Judge) -> None:
    history = with_twin(5_000, None).member("member-3", instance_id="one")
    history.join("member-3", 6_000, instance_id="one")
    found = judge(history, "X42")
    said = "gave up for good: member-2 has its instance id"
    assert ("HOLDS", 3) == (found["verdict"], found["examined"])
    assert said in [row["why"] for row in found["rows"]]


@pytest.mark.parametrize(("error", "verdict"), [(81, "HOLDS"), (25, "VIOLATED")])
def test_a_full_group_is_a_reason(judge: Judge, error: int, verdict: str) -> None:
    history = ended("GROUP_MAX_SIZE_REACHED: full").join("member-1", 19_900, error_code=error)
    assert verdict == judge(history, "X42")["verdict"]


def test_who_goes_on_or_fails_otherwise_holds(judge: Judge) -> None:
    """An error that is not the last word of a process says nothing of its end."""
    history = History().member("member-1").member("member-2", end="failed")
    history.told("member-1", "error", 5_000, detail=f"library: {FENCED}")
    history.told("member-2", "error", 5_000, detail="process: ValueError: no such order")
    judged = judge(history, "X42")
    assert ("HOLDS", 2) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize("row", [{"role": "producer"}, {"client": "app"}])
def test_others_than_our_own_consumers_are_not_examined(judge: Judge, row: dict[str, Any]) -> None:
    assert "UNKNOWN" == judge(ended(**row), "X42")["verdict"]


@pytest.mark.parametrize(
    ("kind", "whose", "injected_ms", "healed_ms", "verdict"),
    [
        ("delete-credentials", "member-1", 15_000, 30_000, "HOLDS"),
        ("delete-acl", "member-1", 15_000, 30_000, "HOLDS"),
        ("delete-acl", "member-1", 20_001, 30_000, "HOLDS"),  # it was under way
        ("delete-acl", "member-1", 20_002, 30_000, "VIOLATED"),
        ("delete-acl", "member-1", 15_000, 19_950, "HOLDS"),
        ("delete-acl", "member-1", 15_000, 19_949, "VIOLATED"),  # it had it again
        ("delete-acl", "member-2", 15_000, 30_000, "VIOLATED"),
        ("latency", "member-1", 15_000, 30_000, "VIOLATED"),
    ],
)
def test_a_right_that_its_user_has_lost_is_a_reason_meanwhile(
    judge: Judge, kind: str, whose: str, injected_ms: float, healed_ms: float, verdict: str
) -> None:
    history = ended("SASL_AUTHENTICATION_FAILED: x").fault(kind, whose, injected_ms, healed_ms)
    assert verdict == judge(history, "X42")["verdict"]


# X80


def worked(end: str = "closed", started_ms: float = 0, **told: float) -> History:
    """member-1 asks a broker at 1 s, reads until 10 s, and is told, or tells, of its end."""
    history = History().member("member-1", end=end, started_at=at(started_ms))
    history.member("producer-1", role="producer")
    history.join("member-1", 1_000).delivered("member-1", 0, 0, 9, 2_000)
    history.delivered("member-1", 0, 10, 19, 10_000)
    for event, ms in told.items():
        detail = "process: ClientGaveUp: fenced" if event == "error" else None
        history.told("member-1", event, ms, detail=detail)
    return history


@pytest.mark.parametrize(
    ("end", "told", "verdict"),
    [
        ("closed", {"closing": 20_000}, "HOLDS"),
        ("closed", {}, "VIOLATED"),
        ("failed", {"error": 20_000}, "HOLDS"),
        ("failed", {"error": 9_950}, "HOLDS"),
        ("failed", {"error": 9_949}, "VIOLATED"),  # it read on
        ("failed", {"closing": 20_000}, "VIOLATED"),
        ("killed", {"closing": 20_000}, "VIOLATED"),
    ],
)
def test_a_process_ends_as_it_was_told(
    judge: Judge, end: str, told: dict[str, float], verdict: str
) -> None:
    assert verdict == judge(worked(end, **told), "X80")["verdict"]


@pytest.mark.parametrize(
    ("kind", "whose", "ms", "verdict"),
    [
        ("kill-consumer", "member-1", 20_000, "HOLDS"),
        ("kill-consumer", "member-1", 9_949, "VIOLATED"),  # it read on
        ("kill-consumer", "member-2", 20_000, "VIOLATED"),
        ("freeze-consumer", "member-1", 20_000, "VIOLATED"),
    ],
)
def test_a_process_is_killed_by_a_fault(
    judge: Judge, kind: str, whose: str, ms: float, verdict: str
) -> None:
    assert verdict == judge(worked("killed").fault(kind, whose, ms), "X80")["verdict"]


def test_what_it_read_after_the_first_of_its_ends_is_read_too_late(judge: Judge) -> None:
    """Another error, or another fault that kills it, comes when it has ended long ago."""
    failed = worked("failed", error=9_949)
    failed.told("member-1", "error", 20_000, detail="process: ClientGaveUp: once more")
    killed = worked("killed").fault("kill-consumer", "member-1", 9_949)
    for history in (failed, killed.fault("kill-consumer", "member-1", 20_000)):
        assert "read records 51 ms after its end" in judge(history, "X80")["reason"]


def test_an_error_that_a_client_survives_is_no_reason_to_fail(judge: Judge) -> None:
    history = worked("failed").told("member-1", "error", 20_000, detail="library: all brokers down")
    assert "failed, and its client had not given up" in judge(history, "X80")["reason"]


def test_who_asked_and_read_nothing_is_examined_as_well(judge: Judge) -> None:
    history = worked(closing=20_000).member("member-2", end="closed")
    found = judge(history, "X80")
    assert ("VIOLATED", 2, 1) == (found["verdict"], found["examined"], found["violations"])
    assert "member-2 (process), closed, and was not told to" in found["reason"]


def test_who_asked_and_read_nothing_is_killed_by_a_fault_alone(judge: Judge) -> None:
    """member-2 asked a broker for its group, and was never given a record."""
    history = worked(closing=20_000).member("member-2", end="killed").join("member-2", 1_000)
    assert "member-2 (process), was killed by no fault" in judge(history, "X80")["reason"]


def test_a_run_that_is_broken_off_kills_its_members(judge: Judge) -> None:
    history = worked("killed")
    history.rows["members"][1]["end"] = None
    assert "HOLDS" == judge(history, "X80")["verdict"]


@pytest.mark.parametrize(("started_ms", "verdict"), [(1_050, "HOLDS"), (1_051, "VIOLATED")])
def test_a_process_asks_nothing_before_its_start(
    judge: Judge, started_ms: float, verdict: str
) -> None:
    history = worked(started_ms=started_ms, closing=20_000).heartbeats("member-1", 5_000)
    assert verdict == judge(history, "X80")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(60_300, "HOLDS"), (60_301, "VIOLATED")])
def test_a_process_asks_nothing_after_its_end(judge: Judge, ms: float, verdict: str) -> None:
    history = worked(closing=20_000).request("FIND_COORDINATOR", "member-1", ms)
    assert verdict == judge(history, "X80")["verdict"]


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (("pause-broker", "broker-1", 50_000, 60_500), "HOLDS"),
        (("pause-broker", "broker-1", 61_501, 62_500), "HOLDS"),  # it arrives as that begins
        (("pause-broker", "broker-1", 61_502, 62_500), "VIOLATED"),
        (("pause-broker", "broker-2", 50_000, 60_500), "VIOLATED"),
        (("pause-broker", "broker-1", 50_000, 59_000), "VIOLATED"),
        (("latency", "member-1", 50_000, 61_450), "HOLDS"),
        (("latency", "member-1", 50_000, 61_449), "VIOLATED"),
        (("latency", "member-1", 61_501, 62_500), "HOLDS"),
        (("latency", "member-1", 61_502, 62_500), "VIOLATED"),
        (("latency", "all members", 50_000, 61_450), "HOLDS"),
        (("latency", "all members", 50_000, 61_449), "VIOLATED"),
        (("latency", "member-2", 50_000, 61_450), "VIOLATED"),
    ],
)
def test_what_was_held_up_arrives_after_the_end_of_its_process(
    judge: Judge, fault: tuple[str, str, float, float], verdict: str
) -> None:
    history = worked(closing=20_000).request("FIND_COORDINATOR", "member-1", 61_500)
    history.member("member-2", client="app")  # has faults, and is not examined
    assert verdict == judge(history.fault(*fault), "X80")["verdict"]


@pytest.mark.parametrize("row", [{"role": "producer"}, {"client": "app"}])
def test_others_are_not_examined_by_x80(judge: Judge, row: dict[str, Any]) -> None:
    assert "UNKNOWN" == judge(History().member("member-1", **row), "X80")["verdict"]
