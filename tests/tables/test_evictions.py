from __future__ import annotations

from tests.histories import History, at, in_another_group, member_id
from tests.tables.table_rows import Row, Rows


def eviction(history: History, rows: Rows) -> Row:
    (row,) = rows(history, "evictions")
    return row


def test_an_eviction_counts_from_the_last_sign_of_life(rows: Rows) -> None:
    history = History().heartbeats("member-1", 1_000).heartbeats("member-1", 2_000, generation=2)
    history.says("evicted", 8_000, "member-1").heartbeats("member-1", 8_001, generation=3)
    row = eviction(history.heartbeats("member-2", 7_000, generation=4), rows)
    assert ("member-1", member_id("member-1"), 1, 2, at(8_000), at(2_000), "HEARTBEAT") == tuple(
        row[name]
        for name in (
            "member", "member_id", "broker", "generation", "evicted_at", "last_seen_at",
            "last_seen_api",
        )
    )  # fmt: skip
    assert (at(2_000), 6_000, 6_000) == tuple(
        row[name] for name in ("timer_started_at", "silence_ms", "session_timeout_ms")
    )


def test_a_sign_of_the_moment_of_the_eviction_came_before_it(rows: Rows) -> None:
    history = History().heartbeats("member-1", 1_000, 8_000)
    row = eviction(history.says("evicted", 8_000, "member-1"), rows)
    assert (at(8_000), 0) == (row["last_seen_at"], row["silence_ms"])


def test_a_silence_is_as_long_as_from_the_arrival_or_the_answer_of_its_last_sign(
    rows: Rows,
) -> None:
    """A heartbeat that arrived at 1,990 and was worked on at 2,000."""
    history = History().request("HEARTBEAT", "member-1", 2_000, arrived_at=at(1_990))
    row = eviction(history.says("evicted", 7_993, "member-1"), rows)
    assert (at(1_990), at(2_000), 6_003, 5_993) == tuple(
        row[name] for name in ("timer_started_at", "last_seen_at", "silence_ms", "silence_least_ms")
    )


def test_what_arrived_last_was_taken_up_last(rows: Rows) -> None:
    """A commit is answered after what came later, and had its effect before."""
    history = History().heartbeats("member-1", 2_000)
    history.request("OFFSET_COMMIT", "member-1", 2_700, arrived_at=at(1_900))
    row = eviction(history.says("evicted", 8_000, "member-1"), rows)
    assert ("HEARTBEAT", 6_000, 6_000) == tuple(
        row[name] for name in ("last_seen_api", "silence_ms", "silence_least_ms")
    )


def test_an_answer_after_the_eviction_is_not_before_nothing(rows: Rows) -> None:
    history = History().request("OFFSET_COMMIT", "member-1", 9_000, arrived_at=at(2_000))
    row = eviction(history.says("evicted", 8_000, "member-1"), rows)
    assert (6_000, 0) == (row["silence_ms"], row["silence_least_ms"])


def test_a_coordinator_that_loads_a_group_gives_a_full_session(rows: Rows) -> None:
    """Its last load counts, and neither another broker's nor that of another group."""
    history = History().heartbeats("member-1", 1_000).says("loaded", 2_000).says("loaded", 3_000)
    history.says("loaded", 4_000, broker=2).says("evicted", 9_000, "member-1")
    in_another_group(history, "loaded", 5_000)
    row = eviction(history.says("loaded", 9_001), rows)
    assert (at(1_000), at(3_000), 6_000, 6_000) == tuple(
        row[name] for name in ("last_seen_at", "timer_started_at", "silence_ms", "silence_least_ms")
    )


def test_a_load_of_the_moment_of_the_eviction_came_before_it(rows: Rows) -> None:
    history = History().heartbeats("member-1", 1_000).says("loaded", 9_000)
    assert at(9_000) == eviction(history.says("evicted", 9_000, "member-1"), rows)[
        "timer_started_at"
    ]  # fmt: skip


def test_without_a_sign_of_life_there_is_no_deadline(rows: Rows) -> None:
    history = History().says("loaded", 2_000).says("evicted", 9_000, "member-1")
    row = eviction(history, rows)
    assert ("member-1", None, None, None) == tuple(
        row[name] for name in ("member", "last_seen_at", "timer_started_at", "silence_ms")
    )


def test_each_eviction_of_a_member_id_has_its_own_sign(rows: Rows) -> None:
    history = History().says("member_added", 0, "member-1").heartbeats("member-1", 1_000)
    history.says("evicted", 7_000, "member-1").says("loaded", 8_000)
    history.says("member_added", 9_000, "member-1").heartbeats("member-1", 10_000, generation=2)
    history.says("evicted", 16_500, "member-1")
    found = rows(history, "evictions")
    assert {(at(7_000), at(1_000), 1, 6_000), (at(16_500), at(10_000), 2, 6_500)} == {
        tuple(row[name] for name in ("evicted_at", "timer_started_at", "generation", "silence_ms"))
        for row in found
    }
