"""How processes of a program of somebody else's come, go and come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, an_app, at, beat, member_id, parts

Judge = Callable[[History, str], dict[str, Any]]
END = 59_999  # when the members are told to end


# P5


def rebalanced(ms: float, *, fault_ms: float | None = None) -> History:
    history = an_app("member-1", "member-2").rebalance(-10, 1, 2).holds("member-1", 0)
    if fault_ms is not None:
        history.fault("kill-consumer", "member-2", fault_ms)
    return history.rebalance(ms, 2, 1, reason="preparing for fun")


@pytest.mark.parametrize(
    ("ms", "fault_ms", "verdict"),
    [
        (20_000, None, "VIOLATED"),
        (20_000, 19_000, "HOLDS"),
        (26_000, 19_000, "HOLDS"),
        (26_001, 19_000, "VIOLATED"),
        (18_000, 19_000, "VIOLATED"),
        (7_000, None, "HOLDS"),  # member-1 joined at 9, a session before
        (56_999, None, "VIOLATED"),
        (57_000, None, "UNKNOWN"),  # the producer had stopped
    ],
)
def test_a_rebalance_has_a_cause(
    judge: Judge, ms: float, fault_ms: float | None, verdict: str
) -> None:
    assert verdict == judge(rebalanced(ms, fault_ms=fault_ms), "P5")["verdict"]


@pytest.mark.parametrize(("steady_ms", "verdict"), [(19_999, "VIOLATED"), (20_000, "UNKNOWN")])
def test_no_rebalance_before_the_group_was_well_is_examined(
    judge: Judge, steady_ms: float, verdict: str
) -> None:
    history = rebalanced(20_000)
    history.steady_ms = steady_ms
    assert verdict == judge(history, "P5")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"),
    [
        (20_000, "HOLDS"),
        (26_500, "HOLDS"),  # a session and a second later
        (26_501, "VIOLATED"),
    ],
)
def test_a_process_that_ends_is_a_cause(judge: Judge, ms: float, verdict: str) -> None:
    history = rebalanced(ms)
    history.rows["members"][1]["ended_at"] = at(19_500)
    assert verdict == judge(history, "P5")["verdict"]


def test_the_last_thing_that_happened_before_a_rebalance_is_said(judge: Judge) -> None:
    history = rebalanced(20_000, fault_ms=16_000).fault("latency", "member-1", 18_000, 19_000)
    history.rows["members"][1]["ended_at"] = at(17_000)
    assert "other, after latency of member-1" == judge(history, "P5")["rows"][0]["why"]


@pytest.mark.parametrize(
    ("leaves_ms", "ended_ms", "verdict"),
    [
        (19_990, 22_000, "HOLDS"),
        (20_050, 22_000, "HOLDS"),  # a line is stamped late
        (20_051, 22_000, "VIOLATED"),
        (19_990, 49_990, "HOLDS"),
        (19_990, 49_991, "VIOLATED"),  # it had left for another reason
    ],
)
def test_a_process_that_ends_leaves_before_it_is_gone(
    judge: Judge, leaves_ms: float, ended_ms: float, verdict: str
) -> None:
    history = rebalanced(20_000).request("LEAVE_GROUP", "member-2", leaves_ms)
    history.request("LEAVE_GROUP", "member-1", 19_990)
    history.rows["members"][1]["ended_at"] = at(ended_ms)
    assert verdict == judge(history, "P5")["verdict"]


@pytest.mark.parametrize(
    ("api", "epoch", "verdict"),
    [
        ("CONSUMER_GROUP_HEARTBEAT", -1, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", -2, "HOLDS"),  # a static member that comes back
        ("CONSUMER_GROUP_HEARTBEAT", 0, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", 3, "VIOLATED"),
        ("OFFSET_COMMIT", -1, "VIOLATED"),
    ],
)
def test_in_kip_848_a_process_that_ends_leaves_by_a_heartbeat(
    judge: Judge, api: str, epoch: int, verdict: str
) -> None:
    error = 25 if epoch == 0 else 0  # else it joins for the first time
    history = rebalanced(20_000).request(
        api, "member-2", 19_990, generation=epoch, error_code=error
    )
    history.rows["members"][1]["ended_at"] = at(22_000)
    assert verdict == judge(history, "P5")["verdict"]


def test_the_end_of_the_producer_is_no_cause(judge: Judge) -> None:
    history = rebalanced(20_000)
    history.member("producer-1", role="producer", ended_at=at(19_990))
    assert "VIOLATED" == judge(history, "P5")["verdict"]


def test_a_process_that_joins_for_the_first_time_is_a_cause(judge: Judge) -> None:
    history = rebalanced(20_000).says("member_added", 19_990, "member-2")
    assert "HOLDS" == judge(history, "P5")["verdict"]


def test_of_two_consumers_in_one_process_the_first_to_leave_is_a_cause(judge: Judge) -> None:
    history = rebalanced(20_000)
    for ms, life in ((19_990, 1), (21_990, 2)):
        history.request("LEAVE_GROUP", "member-2", ms, life=life)
    history.rows["members"][1]["ended_at"] = at(22_000)
    assert "HOLDS" == judge(history, "P5")["verdict"]


def test_a_process_that_joins_once_more_is_no_cause(judge: Judge) -> None:
    """It joins at 9 ms, and under another id at 30 s, which no fault had made it do."""
    history = rebalanced(5_000).join("member-1", 29_999, 3, life=2)
    history.rebalance(30_000, 3, 1, reason="preparing for more fun")

    found = judge(history, "P5")

    assert ("VIOLATED", 2, 1) == (found["verdict"], found["examined"], found["violations"])
    assert "generation 3" in found["reason"]


def test_what_follows_from_a_rebalance_has_its_cause(judge: Judge) -> None:
    history = rebalanced(25_995, fault_ms=19_000)
    history.says("rebalance_started", 26_005, generation=2, reason="again")
    history.says("stabilized", 26_015, generation=3, members=2)
    history.sync("member-1", 26_008, 2).sync("member-1", 26_020, 3)
    assert ("HOLDS", 2) == tuple(judge(history, "P5")[name] for name in ("verdict", "examined"))


NEEDS_TO_REVOKE = "Leader member-1 re-joining; client reason: need to revoke partitions and re-join"
FOLLOWS_UP = "Updating metadata; client reason: triggered followup rebalance scheduled for"
AT_HALF_A_MINUTE = round(1e3 * at(30_000).timestamp())


def stepped(
    reason: str, *, before: tuple[int, ...] = (0, 1), after: tuple[int, ...] = (0,),
    assignor: str = "cooperative-sticky", cause_ms: float | None = 18_000,
    protocol: str = "eager",
) -> History:  # fmt: skip
    """Generation 2 gives member-1 something else than generation 1; generation 3 comes at 30 s."""
    history = an_app("member-1", "member-2", protocol=protocol).rebalance(-10, 1, 2)
    history.holds("member-1", *before)
    if cause_ms is not None:
        history.fault("kill-consumer", "member-2", cause_ms)
    history.rebalance(20_000, 2, 1, reason="preparing for fun")
    for generation, ms in ((2, 20_001), (3, 30_001)):
        history.join("member-1", ms, generation, assignors=[assignor], protocol_name=assignor)
    history.sync("member-1", 20_012, 2, assigned=parts(*after))
    return history.rebalance(30_000, 3, 1, reason=reason)


@pytest.mark.parametrize(
    ("history", "violations"),
    [
        (stepped(NEEDS_TO_REVOKE), 0),
        (stepped(NEEDS_TO_REVOKE, protocol="cooperative"), 0),
        (stepped(NEEDS_TO_REVOKE, assignor="of-its-own"), 0),
        (stepped(NEEDS_TO_REVOKE, assignor="stream"), 0),
        (stepped("Updating metadata for member", assignor="stream"), 0),
        (stepped("Updating metadata for member"), 0),
        (stepped("Updating metadata for member", assignor="range"), 1),
        (stepped("Updating metadata for member", after=(0, 1, 2)), 1),
        (stepped(NEEDS_TO_REVOKE, after=(0, 1, 2)), 1),
        (stepped(NEEDS_TO_REVOKE, cause_ms=None), 2),
        (stepped("Adding new member"), 1),
        (stepped(f"{FOLLOWS_UP} 0"), 0),
        (stepped(f"{FOLLOWS_UP} 0", after=(0, 1)), 1),
        (stepped(f"{FOLLOWS_UP} {AT_HALF_A_MINUTE}", after=(0, 1)), 0),
        (stepped(f"{FOLLOWS_UP} {AT_HALF_A_MINUTE + 50}", after=(0, 1)), 0),
        (stepped(f"{FOLLOWS_UP} {AT_HALF_A_MINUTE + 51}", after=(0, 1)), 1),
        (stepped(f"{FOLLOWS_UP} {AT_HALF_A_MINUTE}", after=(0, 1), cause_ms=None), 2),
    ],
)
def test_a_rebalance_that_the_assignment_before_it_asks_for_has_its_cause(
    judge: Judge, history: History, violations: int
) -> None:
    found = judge(history, "P5")
    assert (2, violations) == (found["examined"], found["violations"])


@pytest.mark.parametrize(
    ("reason", "violations"),
    [(NEEDS_TO_REVOKE, 0), (f"{FOLLOWS_UP} 0", 0), ("Updating metadata for member", 1)],
)
def test_where_no_assignment_is_on_record_the_members_reason_counts(
    judge: Judge, reason: str, violations: int
) -> None:
    history = rebalanced(20_000, fault_ms=19_000).rebalance(30_000, 3, 1, reason=reason)
    assert violations == judge(history, "P5")["violations"]


@pytest.mark.parametrize(("kept", "violations"), [(2, 0), (0, 1)])
def test_what_a_step_took_is_no_reason_for_a_later_one(
    judge: Judge, kept: int, violations: int
) -> None:
    """2 is taken by generation 2, given back by the next, and taken again or kept by the last."""
    history = stepped(NEEDS_TO_REVOKE, before=(0, 1, 2), after=(0, 1))
    history.sync("member-1", 30_012, 3, assigned=parts(0, 2))
    history.rebalance(40_000, 4, 1, reason=NEEDS_TO_REVOKE)
    history.sync("member-1", 40_012, 4, assigned=parts(kept))
    found = judge(history.rebalance(50_000, 5, 1, reason=NEEDS_TO_REVOKE), "P5")
    assert violations == found["violations"]


# P6


class Patient(History):
    """Its processes have 30.26 s to end."""

    def manifest(self, **changes: Any) -> dict[str, Any]:
        content = super().manifest(**changes)
        content["declared"]["app"]["stop"]["grace_s"] = 30.26
        return content


def told(
    *, ended_ms: float | None, leaves_ms: float | None = None, protocol: str = "eager", **row: Any
) -> History:
    history = an_app("member-1", protocol=protocol).holds("member-1", 0)
    ended = None if ended_ms is None else at(ended_ms)
    history.rows["members"][0].update(
        **{"told_at": at(20_000), "ended_at": ended, "end": "closed", "exit_code": 0, **row}
    )
    if leaves_ms is not None:
        history.request("LEAVE_GROUP", "member-1", leaves_ms)
    return history


@pytest.mark.parametrize(
    ("history", "verdict"),
    [
        (told(ended_ms=20_100, leaves_ms=20_050), "HOLDS"),
        (told(ended_ms=50_000, leaves_ms=20_050), "HOLDS"),
        (told(ended_ms=50_001, leaves_ms=20_050), "VIOLATED"),
        (told(ended_ms=20_100), "VIOLATED"),
        (told(ended_ms=20_100, instance_id="member-1"), "HOLDS"),
        (told(ended_ms=50_010, leaves_ms=20_050, end="killed", exit_code=-9), "VIOLATED"),
        (told(ended_ms=None, leaves_ms=20_050, end=None), "VIOLATED"),
        (told(ended_ms=20_100, leaves_ms=20_000), "HOLDS"),
        (told(ended_ms=20_100, leaves_ms=19_999), "VIOLATED"),
    ],
    ids=[
        "left", "in time", "late", "without leaving", "static", "killed", "never", "at once",
        "before",
    ],
)  # fmt: skip
def test_a_process_leaves_and_ends_in_its_grace(
    judge: Judge, history: History, verdict: str
) -> None:
    assert verdict == judge(history, "P6")["verdict"]


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({}, False),
        ({"protocol_name": "range"}, False),
        ({"protocol_name": "stream"}, True),
        ({"client_id": "member-1-StreamThread-2-consumer"}, True),
        ({"client_id": "member-1-StreamThread-2-restore-consumer"}, False),
    ],
)
def test_a_program_of_kafka_streams_is_told_what_helps(
    judge: Judge, row: dict[str, Any], *, named: bool
) -> None:
    history = told(ended_ms=20_100).join("member-1", 5_000, 2, **{"program": "member-1", **row})
    found = judge(history, "P6")
    assert (
        "ended without leaving the group, which waits for its session of 6.0 s" in found["reason"]
    )
    assert named == ("new CloseOptions().leaveGroup(true)" in found["reason"])


def test_where_no_number_decides_none_is_shown(judge: Judge) -> None:
    """It ended within its grace of 30 s, and did not leave."""
    found = judge(told(ended_ms=20_100), "P6")
    numbers = [found[name] for name in ("measured_min", "measured_max", "bound_high")]
    assert ("VIOLATED", [None] * 3) == (found["verdict"], numbers)


@pytest.mark.parametrize("dropped", [True, False])
def test_who_could_not_hear_its_signal_is_told_from_who_was_slow(
    judge: Judge, *, dropped: bool
) -> None:
    history = told(ended_ms=50_010, end="killed", exit_code=-9)
    if dropped:
        history.told("member-1", "signal_dropped", 20_000, detail="SIGTERM")

    row = judge(history, "P6")

    plainly = "member-1, ran as PID 1 and did not react to SIGTERM"
    assert ("VIOLATED", dropped) == (row["verdict"], plainly in row["reason"])


@pytest.mark.parametrize(("member", "event"), [("member-2", "signal_dropped"), ("member-1", "x")])
def test_only_its_own_dropped_signal_explains_it(judge: Judge, member: str, event: str) -> None:
    history = told(ended_ms=50_010, end="killed", exit_code=-9)
    history.told(member, event, 20_000, detail="SIGTERM")
    assert "still ran 30.0 s after it was told to end" in judge(history, "P6")["reason"]
    assert "SIGTERM" not in judge(history, "P6")["reason"]


def test_a_dropped_signal_is_nothing_of_who_ended_all_the_same(judge: Judge) -> None:
    history = told(ended_ms=20_100, leaves_ms=20_050)
    history.told("member-1", "signal_dropped", 20_000, detail="SIGTERM")

    assert "HOLDS" == judge(history, "P6")["verdict"]


def test_a_member_of_kip_848_leaves_by_a_heartbeat(judge: Judge) -> None:
    for epoch, verdict in ((-1, "HOLDS"), (3, "VIOLATED"), (0, "VIOLATED")):
        history = told(ended_ms=20_100, protocol="consumer")
        beat(history, "member-1", 20_050, epoch, epoch)
        assert verdict == judge(history, "P6")["verdict"]


@pytest.mark.parametrize(
    ("removed_ms", "verdict"), [(15_000, "HOLDS"), (20_000, "HOLDS"), (20_001, "VIOLATED")]
)
def test_who_is_no_member_need_not_leave(judge: Judge, removed_ms: float, verdict: str) -> None:
    history = told(ended_ms=20_100).says("evicted", removed_ms, "member-1")
    assert verdict == judge(history, "P6")["verdict"]


@pytest.mark.parametrize(("joined_ms", "verdict"), [(20_000, "VIOLATED"), (20_001, "HOLDS")])
def test_who_was_not_yet_a_member_need_not_leave(
    judge: Judge, joined_ms: float, verdict: str
) -> None:
    history = told(ended_ms=20_100)
    history.rows["coordinator_events"][0]["at"] = at(joined_ms)
    assert verdict == judge(history, "P6")["verdict"]


def test_when_the_first_of_its_consumers_left_is_said(judge: Judge) -> None:
    history = told(ended_ms=20_100, leaves_ms=20_050).request("LEAVE_GROUP", "member-1", 20_080)
    assert "left after 50" in judge(history, "P6")["rows"][0]["why"]


def test_times_are_said_to_a_tenth_of_a_second(judge: Judge) -> None:
    silent = told(ended_ms=20_100, session_timeout_ms=6_040)
    assert "which waits for its session of 6.0 s" in judge(silent, "P6")["reason"]
    for dropped in (False, True):
        killed = told(ended_ms=50_300, end="killed", exit_code=-9)
        if dropped:
            killed.told("member-1", "signal_dropped", 20_000, detail="SIGTERM")
        assert "still ran 30.3 s after" in judge(Patient(**vars(killed)), "P6")["reason"]


def test_who_was_not_told_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(an_app("member-1"), "P6")["verdict"]


# P7


def running(*, last_fetch_ms: float = 59_000) -> History:
    history = an_app("member-1").holds("member-1", 0, 1)
    history.heartbeats("member-1", 58_000)
    return history.fetch("member-1", 0, 0, last_fetch_ms, upto=100)


@pytest.mark.parametrize(("ms", "verdict"), [(END - 6_000, "HOLDS"), (END - 6_001, "VIOLATED")])
def test_whoever_holds_partitions_fetches(judge: Judge, ms: float, verdict: str) -> None:
    assert verdict == judge(running(last_fetch_ms=ms), "P7")["verdict"]


def test_who_goes_on_with_a_fetch_session_fetches(judge: Judge) -> None:
    """Where nothing is new, neither the request nor its answer names a partition."""
    history = running(last_fetch_ms=20_000)
    history.fetch("member-1", None, None, END - 500, topic=None, bytes=None)
    assert "HOLDS" == judge(history, "P7")["verdict"]


def test_whoever_holds_nothing_need_not_fetch(judge: Judge) -> None:
    history = an_app("member-1").says("member_added", 8, "member-1").join("member-1", 9)
    history.sync("member-1", 10, assigned=[]).heartbeats("member-1", 58_000)
    assert "HOLDS" == judge(history, "P7")["verdict"]


def test_each_process_is_judged_by_what_it_holds_and_fetches_itself(judge: Judge) -> None:
    """member-1 has one partition and fetches nothing; member-2 fetches; member-3 has none."""
    history = an_app("member-1", "member-2", "member-3")
    history.holds("member-1", 0).holds("member-2", 1, 2).holds("member-3")
    for member in ("member-1", "member-2", "member-3"):
        history.heartbeats(member, 58_000)
    history.fetch("member-1", 0, 0, 20_000, upto=100).fetch("member-2", 1, 0, 59_000, upto=100)
    found = judge(history, "P7")
    assert ("VIOLATED", 3, 1) == (found["verdict"], found["examined"], found["violations"])
    assert "member-1" in found["reason"]


def test_what_a_process_has_given_up_it_need_not_fetch(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0)
    history.fetch("member-1", 0, 0, 20_000, upto=100).heartbeats("member-1", 58_000)
    history.rebalance(25_000, 2, 1).join("member-1", 25_005, 2)
    history.sync("member-1", 25_010, 2, assigned=[])
    assert "HOLDS" == judge(history, "P7")["verdict"]


@pytest.mark.parametrize(("end_offset", "verdict"), [(51, "VIOLATED"), (50, "HOLDS")])
def test_whoever_never_committed_has_all_records_to_read(
    judge: Judge, end_offset: int, verdict: str
) -> None:
    assert verdict == judge(running().end_offset(0, end_offset), "P7")["verdict"]


@pytest.mark.parametrize(
    ("removed_ms", "verdict"), [(53_000, "VIOLATED"), (54_000, "UNKNOWN"), (60_000, "HOLDS")]
)
def test_a_process_that_runs_is_a_member(judge: Judge, removed_ms: float, verdict: str) -> None:
    history = running().says("evicted", removed_ms, "member-1")
    assert verdict == judge(history, "P7")["verdict"]


@pytest.mark.parametrize(
    ("committed_ms", "waiting", "verdict"),
    [(53_999, 51, "HOLDS"), (53_998, 51, "VIOLATED"), (53_998, 50, "HOLDS")],
)
def test_whoever_has_records_to_read_gets_further(
    judge: Judge, committed_ms: float, waiting: int, verdict: str
) -> None:
    """Fifty records come in a second for each partition."""
    history = running().end_offset(0, 100 + waiting)
    history.commit_request("member-1", committed_ms, 0, 100)
    assert verdict == judge(history, "P7")["verdict"]


def test_a_process_that_ended_or_came_late_is_not_examined(judge: Judge) -> None:
    for change in ({"ended_at": at(50_000)}, {"started_at": at(55_000)}, {"told_at": at(50_000)}):
        history = running()
        history.rows["members"][0].update(change)
        assert "UNKNOWN" == judge(history, "P7")["verdict"]


# P8


def put_out(
    *,
    back_ms: float | None = None,
    fault: tuple[str, str] = ("freeze-consumer", "member-1"),
    **row: Any,
) -> History:
    """member-1 is frozen from 10,000 to 20,000, and evicted at 16,000."""
    history = an_app("member-1").holds("member-1", 0)
    history.rows["members"][0].update(row)
    history.fault(*fault, 10_000, 20_000)
    history.says("evicted", 16_000, "member-1")
    if back_ms is not None:
        history.join("member-1", back_ms - 1, 2, life=2).sync("member-1", back_ms, 2, life=2)
    return history


@pytest.mark.parametrize(
    ("history", "verdict"),
    [
        (put_out(back_ms=50_000), "HOLDS"),
        (put_out(back_ms=50_001), "VIOLATED"),
        (put_out(), "VIOLATED"),
        (put_out(ended_at=at(30_000), exit_code=1), "HOLDS"),
        (put_out(ended_at=at(30_000), exit_code=0), "VIOLATED"),
        (put_out(ended_at=at(15_000), exit_code=1), "UNKNOWN"),
    ],
    ids=["back", "late", "never", "gone", "gone without a word", "gone before"],
)
def test_who_is_put_out_comes_back_or_goes(judge: Judge, history: History, verdict: str) -> None:
    assert verdict == judge(history, "P8")["verdict"]


@pytest.mark.parametrize(
    ("kind", "hit", "back_ms", "verdict"),
    [
        ("cut-dependency", "member-1", 50_000, "HOLDS"),
        ("cut-dependency", "member-1", 50_001, "VIOLATED"),
        ("cut-dependency", "member-2", 46_000, "HOLDS"),  # another's
        ("cut-dependency", "member-2", 46_001, "VIOLATED"),
        ("slow-dependency", "dependency", 50_000, "HOLDS"),
        ("slow-dependency", "dependency DB", 50_001, "VIOLATED"),
        ("slow-sink", "sink", 50_000, "HOLDS"),
    ],
)
def test_who_waits_for_what_it_uses_need_not_be_back_before_it_answers(
    judge: Judge, kind: str, hit: str, back_ms: float, verdict: str
) -> None:
    assert verdict == judge(put_out(back_ms=back_ms, fault=(kind, hit)), "P8")["verdict"]


def test_a_run_may_end_before_it_is_back(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).says("evicted", 40_000, "member-1")
    assert ("UNKNOWN", 1) == tuple(judge(history, "P8")[name] for name in ("verdict", "examined"))


@pytest.mark.parametrize(
    ("back_ms", "row"), [(45_000, {}), (None, {"ended_at": at(45_000), "exit_code": 1})]
)
def test_who_is_back_or_gone_before_the_run_ended_is_judged(
    judge: Judge, back_ms: float | None, row: dict[str, Any]
) -> None:
    history = an_app("member-1").holds("member-1", 0).says("evicted", 40_000, "member-1")
    history.rows["members"][0].update(row)
    if back_ms is not None:
        history.join("member-1", back_ms - 1, 2, life=2).sync("member-1", back_ms, 2, life=2)
    assert ("HOLDS", 1) == tuple(judge(history, "P8")[name] for name in ("verdict", "examined"))


@pytest.mark.parametrize(
    ("epoch", "now", "verdict"),
    [
        (0, 4, "HOLDS"),
        (0, 1, "HOLDS"),
        (0, 0, "VIOLATED"),
        (3, 4, "VIOLATED"),
        (1, 4, "VIOLATED"),
    ],
)
@pytest.mark.parametrize("removed", ["evicted", "fenced"])
def test_in_kip_848_who_is_put_out_comes_back_by_a_heartbeat_with_epoch_0(
    judge: Judge, removed: str, epoch: int, now: int, verdict: str
) -> None:
    history = an_app("member-1", protocol="consumer").says("member_added", 8, "member-1")
    beat(history, "member-1", 9, 0, 2, 0)
    history.says(removed, 10_000, "member-1")
    beat(history, "member-1", 12_000, epoch, now)
    history.request("OFFSET_FETCH", "member-1", 12_500, member_epoch=now, generation=0)
    assert verdict == judge(history, "P8")["verdict"]


def test_who_left_was_not_put_out(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).says("left", 16_000, "member-1")
    assert "UNKNOWN" == judge(history, "P8")["verdict"]


# P9


def heard(*, fetch_ms: float | None = None, commit_ms: float | None = None) -> History:
    """member-1 is evicted at 16,000, hears of it at 20,000 and is back at 25,000."""
    history = an_app("member-1").holds("member-1", 0).says("evicted", 16_000, "member-1")
    history.heartbeats("member-1", 20_000, error_code=25)
    history.join("member-1", 24_999, 2, life=2).sync("member-1", 25_000, 2, life=2)
    if fetch_ms is not None:
        history.fetch("member-1", 0, 0, fetch_ms, upto=100)
    if commit_ms is not None:
        history.commit_request("member-1", commit_ms, 0, 100)
    return history


@pytest.mark.parametrize(
    ("fetch_ms", "verdict"),
    [
        (None, "HOLDS"),
        (18_000, "HOLDS"),
        (20_300, "HOLDS"),
        (20_301, "VIOLATED"),
        (25_010, "HOLDS"),
    ],
)
def test_who_has_heard_fetches_nothing(judge: Judge, fetch_ms: float | None, verdict: str) -> None:
    assert verdict == judge(heard(fetch_ms=fetch_ms), "P9")["verdict"]


def test_what_it_fetched_is_counted(judge: Judge) -> None:
    assert 100 == judge(heard(fetch_ms=22_000), "P9")["measured_max"]


@pytest.mark.parametrize("fetch_ms", [18_000, 19_000])
def test_a_refusal_before_its_removal_says_nothing_of_that(judge: Judge, fetch_ms: float) -> None:
    history = heard(fetch_ms=fetch_ms).heartbeats("member-1", 12_000, error_code=25)
    assert "HOLDS" == judge(history, "P9")["verdict"]


def test_a_refusal_after_it_was_back_says_nothing_of_its_removal(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).says("evicted", 16_000, "member-1")
    history.join("member-1", 24_999, 2, life=2).sync("member-1", 25_000, 2, life=2)
    history.heartbeats("member-1", 30_000, error_code=25)
    assert "UNKNOWN" == judge(history, "P9")["verdict"]


def test_who_never_comes_back_stops_all_the_same(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0).says("evicted", 16_000, "member-1")
    history.heartbeats("member-1", 20_000, error_code=25).fetch("member-1", 0, 0, 22_000, upto=100)
    assert "VIOLATED" == judge(history, "P9")["verdict"]


@pytest.mark.parametrize(
    ("first", "last", "measured"), [(99, 120, 1), (100, 120, 0), (0, 0, 1), (40, 59, 20)]
)
def test_what_it_used_is_where_fetch_and_effects_overlap(
    judge: Judge, first: int, last: int, measured: int
) -> None:
    history = heard(fetch_ms=22_000).shows("member-1", 0, first, last, 22_010)
    assert measured == judge(history, "P9")["rows"][0]["measured"]


@pytest.mark.parametrize(
    ("first", "ms", "verdict", "measured"),
    [
        (90, 22_010, "VIOLATED", 10),
        (100, 22_010, "HOLDS", 0),  # of an earlier fetch
        (90, 22_000, "VIOLATED", 10),  # a line is stamped late, so the fetch had come before
        (90, 21_990, "HOLDS", 0),  # before it fetched them, so of an earlier fetch too
        (90, 25_010, "HOLDS", 0),  # it is in the group again
    ],
)
def test_what_it_fetched_and_threw_away_does_no_harm(
    judge: Judge, first: int, ms: float, verdict: str, measured: float
) -> None:
    history = heard(fetch_ms=22_000).shows("member-1", 0, first, 109, ms)
    found = judge(history, "P9")
    assert (verdict, measured) == (found["verdict"], found["rows"][0]["measured"])


@pytest.mark.parametrize(("commit_ms", "verdict"), [(19_000, "HOLDS"), (21_000, "VIOLATED")])
def test_no_commit_of_it_is_accepted(judge: Judge, commit_ms: float, verdict: str) -> None:
    assert verdict == judge(heard(commit_ms=commit_ms), "P9")["verdict"]


def test_who_never_hears_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(put_out(), "P9")["verdict"]


# P14


def gone(*, fault_ms: float | None = None, ms: float = 30_000, **row: Any) -> History:
    """member-1 has ended by itself; member-2 may have been frozen for two seconds."""
    history = an_app("member-1", "member-2")
    history.rows["members"][0].update({"ended_at": at(ms), "end": "failed", **row})
    if fault_ms is not None:
        history.fault("freeze-consumer", "member-2", fault_ms, fault_ms + 2_000)
    return history


@pytest.mark.parametrize(
    ("history", "verdict"),
    [
        (an_app("member-1"), "HOLDS"),
        (gone(exit_code=1), "VIOLATED"),
        (gone(exit_code=0), "VIOLATED"),
        (gone(exit_code=0, fault_ms=29_000), "VIOLATED"),
        (gone(exit_code=1, fault_ms=29_000), "HOLDS"),
        (gone(exit_code=1, fault_ms=21_000), "HOLDS"),  # healed 7 s before: a session, and a second
        (gone(exit_code=1, fault_ms=20_999), "VIOLATED"),
        (gone(exit_code=1, fault_ms=30_001), "HOLDS"),  # it was under way
        (gone(exit_code=1, fault_ms=30_002), "VIOLATED"),
        (gone(exit_code=-9, end="killed"), "HOLDS"),
        (gone(exit_code=1, end="closed"), "HOLDS"),  # P6 judges how
        (gone(exit_code=0, ms=END), "HOLDS"),
        (gone(exit_code=0, ms=END - 1), "VIOLATED"),
    ],
)
def test_who_is_told_nothing_goes_on(judge: Judge, history: History, verdict: str) -> None:
    assert verdict == judge(history, "P14")["verdict"]


def test_who_never_ended_goes_on(judge: Judge) -> None:
    history = an_app("member-1")
    history.rows["members"][0].update(end=None, ended_at=None, exit_code=None)
    found = judge(history, "P14")
    assert ("HOLDS", 1) == (found["verdict"], found["examined"])


def test_the_last_fault_before_its_end_is_said(judge: Judge) -> None:
    history = gone(exit_code=1, fault_ms=27_000).fault("latency", "member-1", 26_000, 28_500)
    ended = "ended by itself after freeze-consumer of member-2"
    assert ended in [row["why"] for row in judge(history, "P14")["rows"]]


def test_why_it_is_wrong_is_said(judge: Judge) -> None:
    assert "no supervisor starts it again" in judge(gone(exit_code=0), "P14")["reason"]
    assert "exit code 3 while nothing" in judge(gone(exit_code=3), "P14")["reason"]


@pytest.mark.parametrize("rule", ["P5", "P6", "P7", "P8", "P9", "P14"])
def test_an_empty_history_shows_nothing(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(an_app(), rule)["verdict"]


def test_a_member_id_is_the_processs_whatever_its_client_is_called(judge: Judge) -> None:
    history = told(ended_ms=20_100, leaves_ms=20_050)
    for row in history.rows["requests"]:
        row.update(program="member-1", client_id="sarama", member_id=member_id("member-1"))
    assert "HOLDS" == judge(history, "P6")["verdict"]
