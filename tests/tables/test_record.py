"""Whether journals and logs are whole, and what each tells of the other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.histories import TOPIC, History, at, member_id
from tests.tables.rows import Row, Rows


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
    history.request("FIND_COORDINATOR", "observer", 10_000, client_id="observer", broker=2)
    assert "for 10.0 s" in logs(history, rows)["unknown"]


@pytest.mark.parametrize(
    ("kind", "resolved", "injecting_ms", "healed_ms", "excused"),
    [
        ("pause-broker", "broker-1", 9_000, 9_500, True),
        ("pause-broker", "broker-1", 3_000, 5_000, True),
        ("pause-broker", "broker-1", 3_000, 4_999, False),
        ("pause-broker", "broker-1", 15_000, 15_500, True),
        ("pause-broker", "broker-1", 15_001, 15_500, False),
        ("pause-broker", "broker-1", 3_000, None, True),
        ("pause-broker", "broker-2", 9_000, 9_500, False),
        ("stall-consumer", "broker-1", 9_000, 9_500, False),
    ],
)
def test_a_fault_of_the_broker_explains_that_it_was_not_asked(
    rows: Rows,
    kind: str,
    resolved: str,
    injecting_ms: float,
    healed_ms: float | None,
    excused: bool,
) -> None:
    """From 5 to 15 s."""
    history = asked(5_000, 15_000).fault(
        kind, resolved, injecting_ms + 0.5, healed_ms, injecting_ms=injecting_ms
    )
    assert excused == (logs(history, rows)["unknown"] is None)


@pytest.mark.parametrize(
    ("what", "ms", "detail", "excused"),
    [
        ("unreachable", 9_000, "at broker-1: timed out", True),
        ("unreachable", 5_000, "at broker-1: timed out", True),
        ("unreachable", 4_999, "at broker-1: timed out", False),
        ("unreachable", 15_000, "at broker-1: timed out", True),
        ("unreachable", 15_001, "at broker-1: timed out", False),
        ("unreachable", 9_000, "at broker-2: timed out", False),
        ("unreachable", 9_000, "look: nobody answered", True),
        ("group", 9_000, "at broker-1: timed out", False),
    ],
)
def test_the_observer_notes_that_it_got_no_answer(
    rows: Rows, what: str, ms: float, detail: str, excused: bool
) -> None:
    history = asked(5_000, 15_000).add("topology", at=at(ms), what=what, detail=detail)
    assert excused == (logs(history, rows)["unknown"] is None)


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
