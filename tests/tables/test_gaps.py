"""Times in which nobody processed a partition, and which of them a stop is about."""

from __future__ import annotations

import pytest

from tests.histories import History, at
from tests.tables.table_rows import Row, Rows, in_order


def read(history: History, *polls: tuple[str, float], partition: int = 0) -> History:
    """Each poll has ten records, which are worked off at once; first the quiet gap of 200 ms."""
    for number, (member, ms) in enumerate((("member-1", 0), ("member-1", 200), *polls)):
        history.delivered(member, partition, number * 10, number * 10 + 9, ms, ms)
    return history


def stop_gaps(history: History, rows: Rows) -> list[Row]:
    return in_order(rows(history, "stop_gaps"), "from_at")


def about(found: list[Row]) -> list[tuple[int | None, str | None, float]]:
    """The episode, the fault, and the length of each."""
    return [(row["episode"], row["fault"], round(row["ms"], 3)) for row in found]


def test_a_gap_is_from_the_end_of_the_work_to_the_next_poll(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100, 150)
    history.delivered("member-2", 0, 10, 19, 400, 450).delivered("member-2", 0, 20, 29, 450, 460)
    (gap,) = rows(history, "gaps")
    names = ("from_at", "to_at", "old_member", "new_member", "ms")
    assert (at(150), at(400), "member-1", "member-2", 250) == tuple(gap[name] for name in names)


def sent(history: History, first: int, last: int, ms: float, partition: int = 0) -> History:
    """A range whose first record is sent then, and whose last is acknowledged much later."""
    return history.acknowledged(
        partition, first, last, first_sent_at=at(ms), last_answered_at=at(ms + 30_000)
    )


@pytest.mark.parametrize(
    ("sent_ms", "from_ms"), [(0, 150), (400, 150), (400.001, 400.001), (9_999, 9_999)]
)
def test_a_gap_begins_no_earlier_than_the_next_record_was_sent(
    rows: Rows, sent_ms: float, from_ms: float
) -> None:
    """What was there 250 ms after the end of the work had been there all the time."""
    history = History().delivered("member-1", 0, 0, 9, 100, 150)
    history.delivered("member-2", 0, 10, 19, 10_000, 10_001)
    sent(history, 0, 9, 0)
    sent(history, 10, 19, sent_ms)
    sent(history, 20, 29, 20_000)
    (gap,) = rows(history, "gaps")
    assert (at(from_ms), round(10_000 - from_ms, 3)) == (gap["from_at"], gap["ms"])


@pytest.mark.parametrize(
    ("reached", "from_ms"),
    [
        (8, 150),  # 9 waits
        (9, 5_000),
    ],
)
def test_a_range_with_a_record_that_nobody_has_read_waits(
    rows: Rows, reached: int, from_ms: float
) -> None:
    history = History().delivered("member-1", 0, 0, reached, 100, 150)
    history.delivered("member-2", 0, reached + 1, 19, 10_000, 10_001)
    (gap,) = rows(sent(sent(history, 0, 9, 0), 10, 19, 5_000), "gaps")
    assert at(from_ms) == gap["from_at"]


def test_where_the_next_record_came_after_the_poll_nobody_waited(rows: Rows) -> None:
    """The new owner is given what was read before."""
    history = History().delivered("member-1", 0, 0, 9, 100, 150)
    history.delivered("member-2", 0, 5, 9, 10_000, 10_001)
    assert [] == rows(sent(sent(history, 0, 9, 0), 10, 19, 20_000), "gaps")


@pytest.mark.parametrize("other", [{"partition": 1}, {"outcome": "failed"}])
def test_only_what_its_own_partition_has_waits(rows: Rows, other: dict[str, object]) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100, 150)
    history.delivered("member-2", 0, 10, 19, 10_000, 10_001)
    sent(sent(history, 10, 19, 0), 10, 19, 5_000)
    history.rows["sends"][0].update(other)
    (gap,) = rows(history, "gaps")
    assert at(5_000) == gap["from_at"]


@pytest.mark.parametrize(("sent_ms", "stops"), [(300, [9_650]), (9_000, [])])
def test_a_rebalance_while_the_producer_pauses_stops_nothing(
    rows: Rows, sent_ms: float, stops: list[float]
) -> None:
    """The next record comes when the rebalance is long over."""
    history = History().delivered("member-1", 0, 0, 9, 100, 350).rebalance(500, 1, 1)
    history.event("member-2", "assigned", 600, [0]).delivered("member-2", 0, 10, 19, 10_000)
    sent(sent(history, 0, 9, 0), 10, 19, sent_ms)
    assert stops == [row["ms"] for row in rows(history, "stops")]


@pytest.mark.parametrize(("sent_ms", "from_ms"), [(0, 150), (400, 150), (401, 401)])
def test_what_was_never_read_waits_from_when_it_was_sent(
    rows: Rows, sent_ms: float, from_ms: float
) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100, 150).end_offset(0, 20)
    sent(sent(sent(history, 0, 9, 0), 10, 14, sent_ms), 15, 19, 5_000)
    (row,) = rows(history, "never_again")
    assert (10, at(from_ms)) == (row["position"], row["from_at"])


def test_a_stop_is_the_gap_that_an_episode_touches(rows: Rows) -> None:
    """The usual gap is the longest of those that nothing touches."""
    history = read(History(), ("member-1", 500), ("member-2", 1_900), ("member-2", 2_000))
    history.rebalance(1_000, 1, 1).event("member-2", "assigned", 1_800, [0])
    history.event("member-2", "assigned", 1_700, [0])
    (row,) = stop_gaps(history, rows)
    names = ("episode", "fault", "began_at", "from_at", "to_at", "ms", "old_member", "new_member")
    assert (1, None, at(1_000), at(500), at(1_900), 1_400, "member-1", "member-2") == tuple(
        row[name] for name in names
    )
    assert (at(1_800), 300) == (row["assigned_at"], row["usual_ms"])


@pytest.mark.parametrize(
    ("started_ms", "touched"), [(490, True), (489, False), (900, True), (901, False)]
)
def test_a_gap_that_begins_or_ends_with_an_episode_is_touched_by_it(
    rows: Rows, started_ms: float, touched: bool
) -> None:
    """The gap is from 500 to 900 ms, and a rebalance takes 10 ms."""
    history = read(History(), ("member-1", 490.5), ("member-1", 500), ("member-1", 900))
    history.delivered("member-1", 0, 90, 99, 901.5, 5_000)
    found = stop_gaps(history.rebalance(started_ms, 1, 1), rows)
    assert touched == (400 in [row["ms"] for row in found])


@pytest.mark.parametrize(
    ("told_ms", "assigned"),
    [(499, False), (500, True), (900, True), (901, False)],
)
def test_a_partition_was_given_to_the_new_owner_within_the_gap(
    rows: Rows, told_ms: float, assigned: bool
) -> None:
    """Neither another partition to it, nor this one to another member, nor taken from it."""
    history = read(History(), ("member-1", 500), ("member-2", 900)).rebalance(495, 1, 1)
    history.event("member-2", "assigned", told_ms, [0]).event("member-2", "assigned", 700, [1])
    history.event("member-1", "assigned", 700, [0]).event("member-2", "revoked", 700, [0])
    (row,) = stop_gaps(history, rows)
    assert (at(told_ms) if assigned else None) == row["assigned_at"]


def test_of_the_gaps_of_an_episode_the_longest_counts_in_which_somebody_got_it(
    rows: Rows,
) -> None:
    history = read(History(), ("member-1", 2_000), ("member-2", 2_600), ("member-2", 3_000))
    history.rebalance(1_900, 1, 1).join("member-1", 1_905).sync("member-1", 2_900)
    assert [(1, None, 1_800)] == about(stop_gaps(history, rows))
    history.event("member-2", "assigned", 2_500, [0])
    assert [(1, None, 600)] == about(stop_gaps(history, rows))
    history.event("member-2", "assigned", 2_700, [0])
    assert [(1, None, 600)] == about(stop_gaps(history, rows))


@pytest.mark.parametrize(
    ("assigned_ms", "episode"), [(None, 2), (1_999, 1), (2_000, 2), (2_400, 2)]
)
def test_a_gap_of_two_episodes_belongs_to_the_last_that_had_begun_by_then(
    rows: Rows, assigned_ms: float | None, episode: int
) -> None:
    history = read(History(), ("member-2", 2_500)).rebalance(1_000, 1, 1).rebalance(2_000, 2, 1)
    if assigned_ms:
        history.event("member-2", "assigned", assigned_ms, [0])
    assert [(episode, None, 2_300)] == about(stop_gaps(history, rows))


@pytest.mark.parametrize(("to_ms", "stops"), [(450, False), (450.001, True)])
def test_a_gap_that_a_fault_touches_is_a_stop_where_it_is_longer_than_usual(
    rows: Rows, to_ms: float, stops: bool
) -> None:
    """By more than 50 ms."""
    history = read(History(), ("member-1", to_ms)).fault("stall-consumer", "member-1", 300, 400)
    found = about(stop_gaps(history, rows))
    assert ([(None, "1-stall-consumer", 250.001)] if stops else []) == found


def test_where_every_gap_is_touched_no_time_is_usual(rows: Rows) -> None:
    history = History().delivered("member-1", 0, 0, 9, 0, 0)
    history.delivered("member-1", 0, 10, 19, 50.5, 50.5).fault("stall-consumer", "member-1", 10, 40)
    (row,) = stop_gaps(history, rows)
    assert (None, 50.5) == (row["usual_ms"], row["ms"])


def test_a_fault_explains_a_gap_in_which_nobody_got_the_partition(rows: Rows) -> None:
    history = read(History(), ("member-1", 2_000)).rebalance(1_500, 1, 1)
    history.fault("stall-consumer", "member-1", 300, 1_900)
    assert [(None, "1-stall-consumer", 1_800)] == about(stop_gaps(history, rows))
    history.event("member-1", "assigned", 1_600, [0])
    assert [(1, None, 1_800)] == about(stop_gaps(history, rows))


def test_without_an_episode_a_fault_explains_it_whoever_got_the_partition(rows: Rows) -> None:
    history = read(History(), ("member-1", 2_000)).event("member-1", "assigned", 1_600, [0])
    history.fault("stall-consumer", "member-1", 300, 1_900)
    assert [(None, "1-stall-consumer", 1_800)] == about(stop_gaps(history, rows))


@pytest.mark.parametrize(
    ("resolved", "which"),
    [
        (("member-1", "member-2"), "1-stall-consumer"),
        (("member-2", "member-1"), "2-stall-consumer"),
        (("member-2", "member-3"), "2-stall-consumer"),
        (("member-1", "member-1"), "2-stall-consumer"),
    ],
)
def test_of_several_faults_that_of_the_old_owner_counts_or_the_last(
    rows: Rows, resolved: tuple[str, str], which: str
) -> None:
    history = read(History(), ("member-1", 2_000))
    for ms, member in zip((300, 600), resolved, strict=True):
        history.fault("stall-consumer", member, ms, 1_900)
    assert [(None, which, 1_800)] == about(stop_gaps(history, rows))


def test_the_fault_of_the_old_owner_counts_before_one_of_nobody(rows: Rows) -> None:
    history = read(History(), ("member-1", 2_000))
    history.fault("stall-consumer", "member-1", 300, 1_900).fault("kill-broker", "broker-1", 600)
    for row in history.rows["faults"]:
        row["resolved"] = row["resolved"] if row["kind"] == "stall-consumer" else None
    assert [(None, "1-stall-consumer", 1_800)] == about(stop_gaps(history, rows))


def test_what_another_partitions_new_owner_was_given_is_of_that_one(rows: Rows) -> None:
    """Both go to member-2 at the same time, which is told of one of them alone."""
    history = read(History(), ("member-1", 500), ("member-2", 900)).rebalance(495, 1, 1)
    read(history, ("member-1", 500), ("member-2", 900), partition=1)
    history.event("member-2", "assigned", 700, [1]).event("member-1", "assigned", 800, [0])
    assert {0: None, 1: at(700)} == {
        row["partition"]: row["assigned_at"] for row in stop_gaps(history, rows)
    }


def test_each_partition_and_each_gap_of_a_fault_has_its_own_stop(rows: Rows) -> None:
    history = read(History(), ("member-1", 1_000), ("member-1", 2_000))
    read(history, ("member-1", 1_500), partition=1)
    history.fault("stall-consumer", "member-1", 300, 1_900)
    assert [(0, 800), (0, 1_000), (1, 1_300)] == sorted(
        (row["partition"], row["ms"]) for row in stop_gaps(history, rows)
    )


def test_what_nobody_read_before_the_end_was_not_read_again(rows: Rows) -> None:
    """The members are told to end at 59,999 ms."""
    history = History().delivered("member-1", 0, 0, 9, 1_000, 2_000)
    history.delivered("member-2", 0, 10, 19, 1_000, 1_500).end_offset(0, 25)
    history.delivered("member-1", 1, 0, 9, 1_000).end_offset(1, 10).end_offset(2, 5)
    history.end_offset(3, 0).delivered("member-1", 4, 0, 9, 59_000, 59_999).end_offset(4, 20)
    found = {row["partition"]: row for row in rows(history, "never_again")}
    names = ("end_offset", "position", "member", "from_at", "ms")
    assert {
        0: (25, 20, "member-2", at(2_000), 57_999),
        2: (5, None, None, None, None),
    } == {number: tuple(row[name] for name in names) for number, row in found.items()}
