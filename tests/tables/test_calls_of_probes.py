"""What probes asked, beside what the coordinator knew by then."""

from __future__ import annotations

from typing import Any

import pytest

from tests.histories import TOPIC, at
from tests.probe_histories import OWN, Probed
from tests.tables.table_rows import Row, Rows

COMMIT, TXN, DELETE = "OFFSET_COMMIT", "TXN_OFFSET_COMMIT", "OFFSET_DELETE"


def member(history: Probed, rows: Rows, name: str = "a") -> Row:
    (found,) = [row for row in rows(history, "probe_members") if row["member_id"] == name]
    return found


def test_a_member_is_there_from_its_first_join_to_its_first_removal(rows: Rows) -> None:
    """Joins of its later generations may name other limits: the largest counts."""
    history = Probed().joined("a", 1_000, session_ms=10_000, rebalance_ms=9_000, lasts_ms=500)
    history.joined("a", 3_000, 2, session_ms=30_000, rebalance_ms=40_000, metadata="bmV3")
    history.joined("a", 4_000, 3, session_ms=20_000, rebalance_ms=20_000, metadata="bGFzdA==")
    history.logged("left", 9_000, "a").logged("evicted", 9_500, "a").logged("evicted", 999, "a")
    history.logged("evicted", 8_000, "b")
    names = ("from_at", "joined_at", "to_at", "ended_by", "session_ms", "rebalance_ms", "metadata")
    assert (at(1_000), at(1_500), at(9_000), "left", 30_000, 40_000, "bGFzdA==") == tuple(
        member(history, rows)[name] for name in names
    )


@pytest.mark.parametrize(
    ("event", "reason", "removed"),
    [
        ("stragglers_removed", "[b, a]", True),
        ("stragglers_removed", "[b]", False),
        ("rebalance_started", "Removing [a] on pending sync request expiration", True),
        ("rebalance_started", "Adding new member a", False),
        ("member_added", "Removing [a]", False),
    ],
)
def test_a_line_that_names_a_member_among_others_removes_it(
    rows: Rows, event: str, reason: str, removed: bool
) -> None:
    history = Probed().joined("a", 1_000).logged(event, 1_000, reason=reason)
    found = member(history, rows)
    assert (at(1_000), event) == (found["to_at"], found["ended_by"]) if removed else (
        found["to_at"] is None
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sent_ms", "error", "turned_away"),
    [(1_000, 81, True), (999, 81, True), (998, 81, False), (2_000, 27, False)],
)
def test_who_is_refused_for_the_groups_size_is_no_member_any_more(
    rows: Rows, sent_ms: float, error: int, turned_away: bool
) -> None:
    history = Probed().joined("a", 1_000).call("JOIN_GROUP", sent_ms, error, member="a")
    history.call("JOIN_GROUP", 5_000, error, member="a")
    found = member(history, rows)
    to_at, ended_by = (at(sent_ms + 1 if turned_away else 5_001), "turned_away")
    expected = (to_at, ended_by) if error == 81 else (None, None)
    assert expected == (found["to_at"], found["ended_by"])


@pytest.mark.parametrize(
    ("left_ms", "refused_ms", "ended"),
    [
        (2_000, 3_000, (at(2_000), "left")),
        (4_000, 3_000, (at(3_001), "turned_away")),
        (6_000, 6_000, (at(5_001), "replaced")),
        (2_000, 6_000, (at(2_000), "left")),
        (6_000, 3_000, (at(3_001), "turned_away")),
    ],
)
def test_what_came_first_ended_it(
    rows: Rows, left_ms: float, refused_ms: float, ended: tuple[object, str]
) -> None:
    """Another has its instance id from 5,000 ms on."""
    history = Probed().joined("a", 1_000, instance_id="A").logged("left", left_ms, "a")
    history.call("JOIN_GROUP", refused_ms, 81, member="a").joined("b", 5_000, instance_id="A")
    found = member(history, rows)
    assert ended == (found["to_at"], found["ended_by"])
    assert "b" == found["replaced_by"]


def test_a_call_is_told_what_the_group_was_when_it_was_sent(rows: Rows) -> None:
    """What comes in the moment of a call is not known yet, and neither is a member of it."""
    history = Probed().joined("a", 1_000, instance_id="A").joined("b", 2_000)
    history.logged("stabilized", 3_000, generation=4).logged(
        "rebalance_started", 3_100, generation=5
    )
    history.logged("left", 6_000, "b")
    for ms, asker, instance in ((500, "a", "A"), (1_000, "a", "A"), (2_500, "a", "A")):
        history.call("HEARTBEAT", ms, member=asker, instance_id=instance, generation=1)
    for ms in (3_000, 3_001, 5_999, 6_000):
        history.call("HEARTBEAT", ms, member="b", generation=4)
    history.call("HEARTBEAT", 7_000, None, member="b").call("HEARTBEAT", 8_000, group=None)
    found = {row["sent_at"]: row for row in rows(history, "probed") if row["api"] == "HEARTBEAT"}
    names = ("size", "known", "owner", "generation_now")
    assert {
        500: (0, False, None, None),
        1_000: (0, False, None, None),
        2_500: (2, True, "a", None),
        3_000: (2, True, None, None),
        3_001: (2, True, None, 4),
        5_999: (2, True, None, 4),
        6_000: (1, False, None, 4),
    } == {
        round((moment - at(0)).total_seconds() * 1_000): tuple(row[name] for name in names)
        for moment, row in found.items()
    }


@pytest.mark.parametrize(
    ("row", "nobody"),
    [
        ({}, True),
        ({"generation": -1}, True),
        ({"generation": 0}, False),
        ({"member": "a"}, False),
        ({"instance_id": "A"}, False),
    ],
)
def test_nobody_asks_without_a_member_an_instance_and_a_generation(
    rows: Rows, row: dict[str, Any], nobody: bool
) -> None:
    (found,) = rows(Probed().call(COMMIT, 1_000, **row), "probed")
    assert nobody == found["nobody"]
    assert ("Stable", f"step 1 ({OWN})") == (found["state"], found["subject"])


def test_a_state_that_changed_meanwhile_is_not_known(rows: Rows) -> None:
    (found,) = rows(Probed().call(COMMIT, 1_000, after="Empty"), "probed")
    assert found["state"] is None


def changes(
    history: Probed, api: str, ms: float, committed: int, error: int = 0, **row: Any
) -> None:
    """A call that changes the position of one partition."""
    part = {"partitionIndex": 0, "committedOffset": committed, "committedMetadata": "why"}
    answer = {
        "topics": [{"name": TOPIC, "partitions": [{"partitionIndex": 0, "errorCode": error}]}]
    }
    request = {"topics": [{"name": TOPIC, "partitions": [part]}]}
    history.call(api, ms, request=request, answer=answer, **row)


def fetches(history: Probed, ms: float, committed: int, **row: Any) -> None:
    part = {"partitionIndex": 0, "committedOffset": committed, "errorCode": 0}
    answer = {"groups": [{"topics": [{"name": TOPIC, "partitions": [part]}]}]}
    request = {"groups": [{"topics": [{"name": TOPIC}]}], "requireStable": True}
    history.call("OFFSET_FETCH", ms, request=request, answer=answer, **row)


@pytest.mark.parametrize(
    ("api", "committed", "error", "found"),
    [
        (COMMIT, 5, 0, (5, 0, at(1_001))),
        (COMMIT, 5, 16, (5, 16, at(1_001))),
        (DELETE, 5, 0, (-1, 0, at(1_001))),
        # It counts from the end of its transaction.
        (TXN, 5, 0, (5, 0, at(3_001))),
    ],
)
def test_what_a_probe_changed(
    rows: Rows, api: str, committed: int, error: int, found: tuple[object, ...]
) -> None:
    history = Probed()
    changes(history, api, 1_000, committed, error)
    history.call("END_TXN", 2_000, 51, request={"committed": True})
    history.call("END_TXN", 2_500, request={"committed": False})
    history.call("END_TXN", 3_000, request={"committed": True})
    history.call("END_TXN", 4_000, request={"committed": True})
    history.call("HEARTBEAT", 500, request={"committed": True})
    (row,) = rows(history, "probe_positions")
    assert found == (row["committed"], row["error_code"], row["at"])
    assert ("why", committed) == (row["metadata"], row["wanted"])


def test_an_answer_without_partitions_has_one_error_for_all(rows: Rows) -> None:
    """Without any of both nobody knows."""
    part = {"partitionIndex": 0, "committedOffset": 7}
    request = {"topics": [{"name": TOPIC, "partitions": [part]}]}
    history = Probed().call(DELETE, 1_000, 68, request=request)
    history.call(COMMIT, 2_000, None, request=request)
    found = {row["api"]: row["error_code"] for row in rows(history, "probe_positions")}
    assert {DELETE: 68, COMMIT: None} == found


@pytest.mark.parametrize(
    ("answered_ms", "wanted", "in_flight"),
    [
        # By when the commit of 20 was sent at 1,500 ms was answered; it is asked at 2,000.
        (1_900, 20, []),
        (2_000, 20, []),
        (2_001, 10, [20]),
        (9_000, 10, [20]),
    ],
)
def test_a_position_is_the_last_that_was_accepted_before_it_was_asked(
    rows: Rows, answered_ms: float, wanted: int, in_flight: list[int]
) -> None:
    history = Probed()
    changes(history, COMMIT, 1_000, 10)
    changes(history, COMMIT, 1_100, 15, 25)
    changes(history, COMMIT, 1_500, 20, lasts_ms=answered_ms - 1_500)
    fetches(history, 2_000, 10, lasts_ms=500)
    (row,) = rows(history, "probe_fetches")
    assert (10, wanted, in_flight) == (row["committed"], row["wanted"], list(row["in_flight"]))
    assert (True, False, 0) == (row["stable"], row["everything"], row["error_code"])


@pytest.mark.parametrize(
    ("sent_ms", "error", "counts"),
    [(2_500, 0, True), (2_501, 0, False), (1_000, 15, True), (1_000, 7, True), (1_000, 25, False)],
)
def test_what_is_being_committed_meanwhile_may_be_there(
    rows: Rows, sent_ms: float, error: int, counts: bool
) -> None:
    """It is asked from 2,000 to 2,500 ms. What failed for want of a replica may be made yet."""
    history = Probed()
    changes(history, COMMIT, sent_ms, 20, error)
    fetches(history, 2_000, -1, lasts_ms=500)
    (row,) = rows(history, "probe_fetches")
    assert (-1, [20] if counts else []) == (row["wanted"], list(row["in_flight"]))


@pytest.mark.parametrize(
    ("answered_ms", "ended_ms", "held", "ending"),
    [
        (1_500, None, True, False),
        (2_000, None, True, False),
        (2_001, None, False, False),
        (1_500, 2_501, True, False),
        (1_500, 2_500, False, True),
        (1_500, 1_900, False, True),
    ],
)
def test_an_open_transaction_holds_its_partitions(
    rows: Rows, answered_ms: float, ended_ms: float | None, held: bool, ending: bool
) -> None:
    """It is asked from 2,000 to 2,500 ms."""
    history = Probed()
    changes(history, TXN, 1_000, 20, lasts_ms=answered_ms - 1_000)
    fetches(history, 2_000, -1, lasts_ms=500)
    if ended_ms:
        history.call("END_TXN", ended_ms, request={"committed": True})
        history.call("END_TXN", ended_ms + 5_000, request={"committed": True})
    (row,) = rows(history, "probe_fetches")
    assert (held, ending) == (row["held"], row["ending"])


def test_a_fetch_without_an_answer_tells_nothing(rows: Rows) -> None:
    history = Probed()
    fetches(history, 2_000, 5, error=None)
    history.rows["calls"][0]["answer"] = '{"groups": [{"topics": []}]}'
    changes(history, COMMIT, 3_000, 5)
    assert [] == rows(history, "probe_fetches")
