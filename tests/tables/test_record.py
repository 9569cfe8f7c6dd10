"""Whether journals and logs are whole, and what each tells of the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.histories import TOPIC, History, at, member_id
from tests.tables.table_rows import Row, Rows


def group(history: History, rows: Rows, subject: str = "coordinator log") -> Row:
    (found,) = [row for row in rows(history, "record_of_group") if row["subject"] == subject]
    return found


def logs(history: History, rows: Rows, log: str = "request") -> Row:
    """Of broker-1."""
    named = f"{log} log of broker-1"
    (found,) = [row for row in rows(history, "record_of_logs") if row["subject"] == named]
    return found


@pytest.mark.parametrize(
    ("api", "row", "lacks"),
    [
        ("LEAVE_GROUP", {}, True),
        ("CONSUMER_GROUP_HEARTBEAT", {"generation": -1}, True),
        ("CONSUMER_GROUP_HEARTBEAT", {"generation": -2}, True),
        ("CONSUMER_GROUP_HEARTBEAT", {"generation": 0}, False),
        ("OFFSET_COMMIT", {"generation": -1}, False),
        ("LEAVE_GROUP", {"error_code": 25}, False),
    ],
)
def test_a_coordinator_tells_of_who_leaves(
    rows: Rows, api: str, row: dict[str, Any], lacks: bool
) -> None:
    """Of each of them."""
    history = History().says("left", 100, "member-2").request(api, "member-1", 90, **row)
    assert lacks == (group(history, rows)["unknown"] is not None)
    history.says("left_for_now", 100, "member-1")
    assert group(history, rows)["unknown"] is None


@pytest.mark.parametrize(
    ("api", "row", "told_of", "lacks"),
    [
        ("JOIN_GROUP", {"generation": 1}, None, "generation 1, nor of 0 others"),
        ("JOIN_GROUP", {"generation": 1}, "stabilized", None),
        ("JOIN_GROUP", {"generation": 1}, "rebalance_started", "generation 1, nor of 0 others"),
        ("JOIN_GROUP", {"generation": 1, "error_code": 79}, None, None),
        ("JOIN_GROUP", {"generation": 0}, None, None),
        ("HEARTBEAT", {"generation": 1}, None, None),
        ("CONSUMER_GROUP_HEARTBEAT", {"member_epoch": 1}, None, "generation 1, nor of 0 others"),
        ("CONSUMER_GROUP_HEARTBEAT", {"member_epoch": 1}, "target_computed", None),
        ("CONSUMER_GROUP_HEARTBEAT", {"member_epoch": 1}, "epoch_bumped", None),
        ("CONSUMER_GROUP_HEARTBEAT", {"member_epoch": 1, "error_code": 25}, None, None),
        ("HEARTBEAT", {"member_epoch": 1}, None, None),
    ],
)
def test_a_coordinator_tells_of_each_generation_that_members_were_given(
    rows: Rows, api: str, row: dict[str, Any], told_of: str | None, lacks: str | None
) -> None:
    row = {"generation": 5, **row}
    history = History().says("stabilized", 50, generation=5).request(api, "member-1", 100, **row)
    if told_of:
        history.says(told_of, 90, generation=1)
    found = group(history, rows)["unknown"]
    assert (lacks is None) == (found is None)
    assert lacks is None or lacks in found


def test_the_lowest_generation_that_is_lacking_is_named(rows: Rows) -> None:
    history = History().says("stabilized", 50, generation=5)
    for generation in (4, 2, 3):
        history.join("member-1", 100, generation)
    assert "generation 2, nor of 2 others" in group(history, rows)["unknown"]


def test_the_first_member_that_is_not_told_of_is_named(rows: Rows) -> None:
    history = History().says("left", 100, "member-3")
    for member in ("member-2", "member-1", "member-3"):
        history.request("LEAVE_GROUP", member, 90)
    found = group(history, rows)["unknown"]
    assert f"does not tell that {member_id('member-1')} left, as 2 members asked to" == found


def test_the_first_commit_without_a_request_is_named(rows: Rows) -> None:
    history = History().heartbeats("member-1", 100, 300)
    history.asked_commit("member-2", 200, 0, 20).asked_commit("member-1", 150, 0, 10)
    found = group(history, rows, "request log")
    assert (at(300), 2) == (found["at"], found["measured"])
    assert "lacks 2 commits that were accepted, the first of member-1" == found["unknown"]


@pytest.mark.parametrize(
    ("member", "row", "lacks"),
    [
        ("member-1", {}, False),
        ("member-2", {}, True),
        ("member-1", {"api": "OFFSET_FETCH"}, True),
        ("member-1", {"api": "TXN_OFFSET_COMMIT"}, False),
        ("member-1", {"partition": 1}, True),
        ("member-1", {"committed": 11}, True),
    ],
)
def test_an_accepted_commit_has_a_request(
    rows: Rows, member: str, row: dict[str, Any], lacks: bool
) -> None:
    history = History().asked_commit("member-1", 100, 0, 10)
    position = {"topic": TOPIC, "partition": 0, "committed": 10, "error_code": 0}
    position |= {name: row[name] for name in row if name != "api"}
    history.request(row.get("api", "OFFSET_COMMIT"), member, 101, positions=[position])
    assert lacks == (group(history, rows, "request log")["unknown"] is not None)


def asked(*times: float, broker: int = 1) -> History:
    """The observer looks at broker-1 from 0 to 20 s, asks it at these times, and has its log."""
    history = History().broker_seen(0, broker, alive=True).broker_seen(20_000, broker, alive=False)
    history.add("logs", broker=1, log="requests", lines=5, unread=0, last_at=at(20_000))
    for ms in times:
        history.request("FIND_COORDINATOR", "observer", ms, client_id="observer", broker=broker)
    return history


@pytest.mark.parametrize(
    ("times", "longest_s"),
    [
        ((5_000, 10_000, 15_000), None),
        ((5_000, 10_000, 15_001), "5.0"),
        ((5_000, 10_060, 15_000), "5.1"),
        ((5_500, 11_000, 20_000), "9.0"),
        ((4_000, 10_500, 15_000, 18_000), "6.5"),
        ((), "20.0"),
    ],
)
def test_the_observers_questions_are_in_the_request_log(
    rows: Rows, times: tuple[float, ...], longest_s: str | None
) -> None:
    found = logs(asked(*times), rows)["unknown"]
    assert (longest_s is None) == (found is None)
    assert found is None or f"for {longest_s} s in which its broker answered" in found


def test_only_its_own_questions_to_this_broker_count(rows: Rows) -> None:
    history = asked(5_000, 15_000).request("HEARTBEAT", "observer", 10_000, client_id="observer")
    history.request("FIND_COORDINATOR", "member-1", 10_000)
    for ms in range(0, 20_001, 1_000):
        history.request("FIND_COORDINATOR", "observer", ms, client_id="observer", broker=2)
    assert "for 10.0 s" in logs(history, rows)["unknown"]


@pytest.mark.parametrize(
    ("kind", "resolved", "injecting_ms", "healed_ms", "longest_s"),
    [
        ("pause-broker", "broker-1", 6_000, 14_000, None),
        ("pause-broker", "broker-1", 3_000, 10_000, None),
        ("pause-broker", "broker-1", 3_000, 9_999, "5.0"),
        ("pause-broker", "broker-1", 10_000, 20_000, None),
        ("pause-broker", "broker-1", 10_001, 20_000, "5.0"),
        ("pause-broker", "broker-1", 3_000, None, None),
        ("pause-broker", "broker-1", 9_000, 9_500, "9.5"),
        ("pause-broker", "broker-2", 6_000, 14_000, "10.0"),
        ("stall-consumer", "broker-1", 6_000, 14_000, "10.0"),
    ],
)
def test_a_fault_of_the_broker_explains_its_own_time_without_questions(
    rows: Rows,
    kind: str,
    resolved: str,
    injecting_ms: float,
    healed_ms: float | None,
    longest_s: str | None,
) -> None:
    """From 5 to 15 s."""
    history = asked(5_000, 15_000).fault(
        kind, resolved, injecting_ms + 0.5, healed_ms, injecting_ms=injecting_ms
    )
    found = logs(history, rows)["unknown"]
    assert (longest_s is None) == (found is None)
    assert found is None or f"for {longest_s} s in which its broker answered" in found


@pytest.mark.parametrize(
    ("to_ms", "again", "noted", "longest_s"),
    [
        (18_000, False, range(6_500, 14_001, 500), None),
        (18_001, False, range(6_500, 14_001, 500), "5.0"),
        (18_001, True, (), "5.0"),
        (18_501, False, (14_000, 14_250, 14_500), "5.0"),
        (18_500, True, (14_000, 14_250, 14_500), None),
    ],
)
def test_what_two_things_explain_counts_once(
    rows: Rows, to_ms: float, again: bool, noted: Iterable[int], longest_s: str | None
) -> None:
    """No question from 5 s on; a fault of the broker, which answers, is from 6 to 14 s."""
    history = asked(5_000, to_ms, 19_900)
    history.fault("isolate-broker", "broker-1", 6_000.5, 14_000, injecting_ms=6_000)
    if again:
        history.fault("isolate-broker", "broker-1", 8_000, 12_000)
    for ms in noted:
        history.add("topology", at=at(ms), what="unreachable", detail="look: timed out")
    found = logs(history, rows)["unknown"]
    assert (longest_s is None) == (found is None), found
    assert found is None or f"for {longest_s} s in which its broker answered" in found


@pytest.mark.parametrize(
    ("what", "to_ms", "details", "longest_s"),
    [
        ("unreachable", 10_500, {7_000: "broker-1: timed out"}, None),
        ("unreachable", 10_501, {7_000: "broker-1: timed out"}, "5.0"),
        ("unreachable", 10_500, {7_000: "positions of broker-2: timed out"}, None),
        ("unreachable", 10_500, {7_000: "look: 0 of 25 bytes of an answer came in time"}, None),
        ("unreachable", 10_500, {5_100: "broker-1: timed out"}, "5.4"),  # half of it before
        ("unreachable", 10_500, {10_501: "broker-1: timed out"}, "5.0"),
        ("unreachable", 10_500, {7_000: "broker-1: [Errno 111] Connection refused"}, "5.5"),
        ("unreachable", 11_000, {7_000: "broker-1: timed out", 7_200: "look: timed out"}, "5.3"),
        ("unreachable", 11_000, {7_000: "broker-1: timed out", 8_000: "look: timed out"}, None),
        ("group", 10_500, {7_000: "broker-1: timed out"}, "5.5"),
        # One note in a hole of half a minute excuses nothing.
        ("unreachable", 19_000, {9_000: "broker-1: timed out"}, "13.5"),
        ("unreachable", 19_000, {9_000: "look: timed out"}, "13.5"),
    ],
)
def test_a_note_of_the_observer_excuses_the_half_second_that_it_waited(
    rows: Rows, what: str, to_ms: float, details: dict[float, str], longest_s: str | None
) -> None:
    """There is no question from 5 s on."""
    history = asked(5_000, to_ms, 19_900)
    for asked_ms in range(int(to_ms), 19_900, 4_000):
        history.request("FIND_COORDINATOR", "observer", asked_ms, client_id="observer", broker=1)
    for ms, detail in details.items():
        history.add("topology", at=at(ms), what=what, detail=detail)
    found = logs(history, rows)["unknown"]
    assert (longest_s is None) == (found is None), found
    assert found is None or f"for {longest_s} s in which its broker answered" in found


@pytest.mark.parametrize(
    ("observer_ms", "others_ms", "longest_s"),
    [
        # It asked nobody, and the logs go on: of another broker, and of this one.
        ((), {2: range(5_500, 15_000, 500)}, None),
        ((), {1: range(5_500, 15_000, 500)}, None),
        ((), {2: (7_000, 12_000, 14_000)}, None),
        # A cut through all logs, and what is left of the time around it.
        ((), {2: (7_000, 12_001, 14_000)}, "5.0"),
        ((), {}, "10.0"),
        ((), {1: (6_000,), 2: (6_000, 14_000)}, "8.0"),
        # It asked another one, so this log is cut.
        (range(5_500, 15_000, 500), {2: range(5_100, 15_000, 100)}, "10.0"),
        (range(6_000, 15_000, 1_000), {2: range(5_100, 15_000, 100)}, "10.0"),
        (range(6_001, 15_000, 1_001), {2: range(5_100, 15_000, 100)}, None),
        # It asked nobody from 6 to 9 s; this log has no question from 5 to 15 s.
        ((*range(5_500, 6_001, 500), *range(9_000, 15_000, 500)), {2: range(5_500, 15_000, 100)},
         "7.0"),
    ],
)  # fmt: skip
def test_an_observer_that_asks_nobody_is_no_hole_of_a_log(
    rows: Rows,
    observer_ms: Iterable[int],
    others_ms: dict[int, Iterable[int]],
    longest_s: str | None,
) -> None:
    """It asks broker-1 until 5 s and again from 15 s on, and broker-2 at these times."""
    history = asked(*range(0, 5_001, 500), *range(15_000, 20_001, 500))
    for ms in observer_ms:
        history.request("FIND_COORDINATOR", "observer", ms, client_id="observer", broker=2)
    for broker, times in others_ms.items():
        for ms in times:
            history.request("HEARTBEAT", "member-1", ms, broker=broker)
    found = logs(history, rows)["unknown"]
    assert (longest_s is None) == (found is None), found
    assert found is None or f"for {longest_s} s in which its broker answered" in found


@pytest.mark.parametrize(
    ("row", "unknown"),
    [
        ({}, None),
        ({"lines": None}, "is missing"),
        ({"lines": 0}, "is empty"),
        ({"lines": 1}, None),
        (
            {"unread": 1, "example": "line 7"},
            "has 1 lines that cannot be read, the first at line 7",
        ),
    ],
)
def test_a_log_is_there_and_can_be_read(
    rows: Rows, row: dict[str, Any], unknown: str | None
) -> None:
    history = asked(5_000, 10_000, 15_000)
    history.rows["logs"][0].update(row)
    found = logs(history, rows)
    assert unknown == found["unknown"]
    assert (row.get("lines", 5) or 0, "requests fetches") == (found["measured"], found["files"])


def test_lines_of_unknown_texts_are_counted(rows: Rows) -> None:
    """Of this broker, in its server's log alone."""
    history = asked(5_000, 10_000, 15_000)
    history.add("logs", broker=1, log="server", lines=9, unread=0, last_at=at(20_000))
    for reason in ("b", "a", "b"):
        history.says("unknown", 100, reason=reason)
    history.says("unknown", 100, reason="c", broker=2).says("stabilized", 100, reason="b")
    found = logs(history, rows, "server")
    assert "has 3 lines of 2 kinds whose texts are not known, most of them b" == found["note"]
    assert logs(history, rows)["note"] is None


@pytest.mark.parametrize(
    ("row", "unknown", "note"),
    [
        ({}, None, None),
        ({"frames": None}, "is missing", None),
        ({"frames": 0}, "has no whole frame", None),
        ({"frames": 1}, None, None),
        ({"torn": True}, "is torn behind frame 9", "SIGKILL cut off its last frame"),
        (
            {"torn": True, "ending": "killed"},
            "is torn behind frame 9",
            "SIGKILL cut off its last frame",
        ),
        (
            {"torn": True, "ending": "killed", "cut": True},
            None,
            "SIGKILL cut off its last frame",
        ),
        (
            {"torn": True, "ending": "closed", "cut": True},
            "is torn behind frame 9",
            "SIGKILL cut off its last frame",
        ),
        ({"gaps": 1}, "has frames missing, twice or out of order in 1 places", None),
        ({"ending": None}, "does not say how it ended: its last frames may be missing", None),
    ],
)
def test_a_journal_is_whole(
    rows: Rows, row: dict[str, Any], unknown: str | None, note: str | None
) -> None:
    journal = {
        "journal": "member-1", "role": "consumer", "frames": 9, "torn": False, "cut": False,
        "gaps": 0, "ending": "closed", "last_at": at(500), **row,
    }  # fmt: skip
    (found,) = rows(History().member("member-1").add("journals", **journal), "record_of_journals")
    assert ("journal of member-1", at(500), unknown, note) == tuple(
        found[name] for name in ("subject", "at", "unknown", "note")
    )
    assert (row.get("frames", 9) or 0) == found["measured"]


@pytest.mark.parametrize(
    ("row", "unknown"),
    [
        ({}, None),
        ({"journal_frames": 1}, None),
        ({"journal_frames": 0}, "is empty"),
        ({"journal_frames": None}, "is empty"),
        ({"journal_torn": True}, "is torn, although its process was not killed"),
        ({"journal_torn": True, "end": "killed"}, None),
        ({"journal_torn": None}, "may be torn: nothing on record says whether"),
    ],
)
def test_older_runs_say_less_of_their_journals(
    rows: Rows, row: dict[str, Any], unknown: str | None
) -> None:
    (found,) = rows(History().member("member-1", **row), "record_of_journals")
    assert unknown == found["unknown"]
    assert "client_events deliveries commits" == found["files"]


def killed(commit: str = "sync", **row: Any) -> History:
    """A member that was killed at 20 s; the last that its journal tells is of 10 s."""
    history = History().member("member-1", **{"end": "killed", "commit": commit, **row})
    history.event("member-1", "assigned", 15, [0]).given_position("member-1", 0, 0, 20).delivered(
        "member-1", 0, 0, 9, 9_990
    )
    if commit != "auto":
        history.asked_commit("member-1", 9_998, 0, 10)
    return history.commit_request("member-1", 9_999, 0, 10)


def ending(history: History, rows: Rows) -> str | None:
    """What is missing at the end of a journal, if anything is."""
    found = [row for row in rows(history, "record_of_group") if row["subject"].startswith("end of")]
    assert all("client_events deliveries commits" == row["files"] for row in found)
    return found[0]["unknown"] if found else None


@pytest.mark.parametrize(
    ("commit", "committed", "row", "lacks"),
    [
        ("sync", 10, {}, None),
        ("sync", 20, {}, "lacks 1 commits that brokers got from its member"),
        ("sync", 20, {"end": "closed"}, None),  # it would say so itself
        ("sync", 20, {"sabotage": "commits-ahead"}, None),
        ("sync", 20, {"client": "app"}, None),
        ("auto", 10, {}, None),
        ("auto", 9, {}, None),
        ("auto", 11, {}, "lacks the records of 1 commits that brokers got from its member"),
    ],
)
def test_a_killed_members_journal_has_what_it_committed(
    rows: Rows, commit: str, committed: int, row: dict[str, Any], lacks: str | None
) -> None:
    history = killed(commit, **row).commit_request("member-1", 10_100, 0, committed)
    assert lacks == ending(history, rows)


def test_what_was_committed_before_the_end_of_a_journal_is_judged_by_other_rules(
    rows: Rows,
) -> None:
    for commit in ("sync", "auto"):
        assert ending(killed(commit).commit_request("member-1", 9_900, 0, 20), rows) is None


def test_a_library_may_commit_where_it_began_to_read(rows: Rows) -> None:
    """What it was told of, or, where nobody knew a position, wherever it was sent."""
    history = killed("auto").given_position("member-1", 1, 70, 10_010)
    history.given_position("member-1", 2, -1, 10_010)
    history.commit_request("member-1", 10_100, 1, 70).commit_request("member-1", 10_100, 2, 30)
    assert ending(history, rows) is None
    history.commit_request("member-1", 10_200, 1, 71)
    assert "lacks the records of 1 commits that brokers got from its member" == ending(
        history, rows
    )


@pytest.mark.parametrize(
    ("lived_ms", "acknowledged_ms", "fault", "lacks_s"),
    [
        (15_001, 9_999, None, None),
        (15_000, 9_995, None, None),
        (15_003, 10_001, None, "5.0"),
        (15_003, 10_003, None, None),  # it may just have been about to read it
        (19_000, 12_000, None, "9.0"),
        (19_000, 12_000, ("stall-consumer", "member-1", 11_000, 18_000), None),
        (19_000, 12_000, ("kill-broker", "broker-1", 3_000, 9_999), "9.0"),
        (19_000, 12_000, ("kill-broker", "broker-1", 3_000, 10_001), None),
        (19_000, 12_000, ("kill-consumer", "member-1", 19_001, None), "9.0"),
    ],
)
def test_a_killed_member_that_lived_on_had_records_to_read(
    rows: Rows,
    lived_ms: float,
    acknowledged_ms: float,
    fault: tuple[str, str, float, float | None] | None,
    lacks_s: str | None,
) -> None:
    """Its journal tells of nothing after 10 s."""
    history = killed("revoke").heartbeats("member-1", 10_500, lived_ms)
    history.acknowledged(0, 10, 19, last_answered_at=at(acknowledged_ms))
    if fault is not None:
        history.fault(*fault)
    found = ending(history, rows)
    said = f"lacks the last {lacks_s} s of its member, which had records to read"
    assert (None if lacks_s is None else said) == found


def test_a_killed_member_without_partitions_reads_nothing(rows: Rows) -> None:
    history = killed("revoke").heartbeats("member-1", 19_000)
    history.acknowledged(1, 10, 19, last_answered_at=at(12_000))
    assert ending(history, rows) is None
    history.acknowledged(0, 10, 19, last_answered_at=at(12_000)).event(
        "member-1", "lost", 11_000, [0]
    )
    assert ending(history, rows) is None
