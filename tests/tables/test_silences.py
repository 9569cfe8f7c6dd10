"""Signs of life that re-arm a session timer, and the silences between them."""

from __future__ import annotations

import pytest

from tests.histories import History, at, member_id
from tests.tables.table_rows import Row, Rows, in_order

HEARTBEAT, MODERN = "HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT"


def silences(history: History, rows: Rows, member: str = "member-1") -> list[Row]:
    found = [row for row in rows(history, "silences") if row["member"] == member]
    return in_order(found, "from_at")


def times(found: list[Row]) -> list[tuple[object, ...]]:
    return [(row["from_at"], row["to_at"], row["ended_by"]) for row in found]


@pytest.mark.parametrize(
    ("api", "error", "generation", "counts"),
    [
        (HEARTBEAT, 0, 1, True),
        (HEARTBEAT, 27, 1, True),
        (HEARTBEAT, 25, 1, False),
        (HEARTBEAT, 26, 1, False),
        (HEARTBEAT, 28, 1, False),
        ("JOIN_GROUP", 0, 1, True),
        ("JOIN_GROUP", 27, 1, False),
        ("SYNC_GROUP", 0, 1, True),
        ("SYNC_GROUP", 27, 1, False),
        ("OFFSET_COMMIT", 0, 1, True),
        ("OFFSET_COMMIT", 0, 0, True),
        ("OFFSET_COMMIT", 0, -1, False),
        ("OFFSET_COMMIT", 27, 1, False),
        (MODERN, 0, 1, True),
        (MODERN, 0, 0, True),
        (MODERN, 0, -1, False),
        (MODERN, 0, -2, False),
        (MODERN, 27, 1, False),
        ("LEAVE_GROUP", 0, 1, False),
        ("OFFSET_FETCH", 0, 1, False),
    ],
)
def test_what_re_arms_a_session_timer(
    rows: Rows, api: str, error: int, generation: int, counts: bool
) -> None:
    history = History().request(api, "member-1", 100, error_code=error, generation=generation)
    history.request(HEARTBEAT, "member-1", 100, member_id=None)
    assert int(counts) == len(rows(history, "signs_of_life"))


def test_commits_of_a_member_of_kip_848_re_arm_nothing(rows: Rows) -> None:
    history = History().request(MODERN, "member-1", 100).request("OFFSET_COMMIT", "member-1", 200)
    history.request("OFFSET_COMMIT", "member-2", 300)
    found = rows(history, "signs_of_life")
    assert {(member_id("member-1"), MODERN), (member_id("member-2"), "OFFSET_COMMIT")} == {
        (row["member_id"], row["api"]) for row in found
    }


@pytest.mark.parametrize(
    ("api", "armed_ms", "from_ms", "by_ms"),
    [
        (HEARTBEAT, 120, 100, 120),
        ("JOIN_GROUP", 120, 120, 120),
        ("SYNC_GROUP", 120, 120, 120),
        ("OFFSET_COMMIT", 100, 100, 120),
        (MODERN, 100, 100, 100),
    ],
)
def test_when_a_request_armed_the_timer(
    rows: Rows, api: str, armed_ms: float, from_ms: float, by_ms: float
) -> None:
    """One that arrived at 100 ms, was worked on at 120 and answered at 150."""
    history = History().request(api, "member-1", 120, arrived_at=at(100), answered_at=at(150))
    (sign,) = rows(history, "signs_of_life")
    names = ("heard_at", "armed_at", "armed_from_at", "armed_by_at")
    assert (at(100), at(armed_ms), at(from_ms), at(by_ms)) == tuple(sign[name] for name in names)


def test_a_silence_is_from_one_sign_to_the_next(rows: Rows) -> None:
    """The last one ends with the last that the coordinator did."""
    history = History().says("rebalance_started", 0).heartbeats("member-1", 1_000)
    history.request(HEARTBEAT, "member-1", 3_000, arrived_at=at(2_900))
    history.heartbeats("member-2", 9_000)
    found = silences(history, rows)
    assert [(at(1_000), at(2_900), "sign"), (at(3_000), at(9_000), "end")] == times(found)
    assert [(1, 6_000, 1_900), (1, 6_000, 6_000)] == [
        tuple(row[name] for name in ("broker", "session_timeout_ms", "ms")) for row in found
    ]


@pytest.mark.parametrize(
    ("event", "removed_ms", "ended"),
    [
        ("evicted", 7_000, (at(7_000), "evicted")),
        ("left", 2_000, (at(2_000), "left")),
        # That of the moment of the coordinator's last sign is its own doing.
        ("fenced", 9_000, (at(9_000), "fenced")),
    ],
)
def test_a_silence_ends_with_the_member(
    rows: Rows, event: str, removed_ms: float, ended: tuple[object, str]
) -> None:
    history = History().says("rebalance_started", 0).heartbeats("member-1", 1_000)
    history.heartbeats("member-2", min(9_000, removed_ms)).says(event, removed_ms, "member-1")
    [row] = silences(history, rows)
    assert (at(1_000), *ended) == (row["from_at"], row["to_at"], row["ended_by"])


def test_a_removal_by_the_next_coordinator_ends_no_silence_of_this_one(rows: Rows) -> None:
    """That gives every member of the group a full session when it loads the group."""
    history = History().says("rebalance_started", 0).says("member_added", 500, "member-1")
    history.heartbeats("member-1", 1_000).heartbeats("member-2", 4_000)
    history.says("loaded", 5_000, broker=2).says("evicted", 11_000, "member-1", broker=2)
    found = silences(history, rows)
    assert [(at(1_000), at(4_000), "end"), (at(5_000), at(11_000), "evicted")] == times(found)
    assert [1, 2] == [row["broker"] for row in found]


@pytest.mark.parametrize(("removed_ms", "armed"), [(None, True), (5_000, True), (4_999, False)])
def test_a_load_arms_the_timers_of_who_is_in_the_group(
    rows: Rows, removed_ms: float | None, armed: bool
) -> None:
    history = History().says("rebalance_started", 0).says("member_added", 500, "member-1")
    history.heartbeats("member-1", 1_000).heartbeats("member-2", 4_000)
    if removed_ms:
        history.says("left", removed_ms, "member-1", broker=2)
    history.says("loaded", 5_000, broker=2).says("member_added", 5_000, "member-3", broker=2)
    assert armed == (at(5_000) in [row["from_at"] for row in silences(history, rows)])
    assert [] == silences(history, rows, "member-3")


def test_a_silence_is_surely_as_long_and_before_an_eviction_surely_no_longer(rows: Rows) -> None:
    """Heartbeats of 1,990 and 3,990 that were worked on at 2,000 and 4,000."""
    history = History().says("rebalance_started", 0).says("stabilized", 1, members=1)
    for ms in (2_000, 4_000):
        history.request(HEARTBEAT, "member-1", ms, arrived_at=at(ms - 10))
    history.says("evicted", 9_995, "member-1")
    assert [(at(2_000), 1_990), (at(3_990), 6_005)] == [
        (row["from_at"], row["ms"]) for row in silences(history, rows)
    ]


def test_two_stays_of_a_member_id_have_no_silence_between_them(rows: Rows) -> None:
    """What bears the id between them belongs to the later, and of the moment of the end not."""
    history = History().says("member_added", 0, "member-1").request(MODERN, "member-1", 1_000)
    history.says("evicted", 7_000, "member-1").says("member_added", 9_000, "member-1")
    history.request(MODERN, "member-1", 9_001).request(MODERN, "member-1", 11_000)
    found = silences(history, rows)
    assert [
        (at(1_000), at(7_000), "evicted"),
        (at(9_001), at(11_000), "sign"),
        (at(11_000), at(11_000), "end"),
    ] == times(found)


@pytest.mark.parametrize(
    ("next_ms", "kept"),
    [(7_000, True), (7_001, False)],
)
def test_a_silence_that_outlasts_its_session_while_the_broker_is_stopped_is_none(
    rows: Rows, next_ms: float, kept: bool
) -> None:
    """It is, where a member is evicted all the same; of another broker's stop it is as well."""
    history = History().says("rebalance_started", 0).heartbeats("member-1", 1_000, next_ms)
    history.heartbeats("member-2", 1_500).says("evicted", 9_000, "member-2")
    stopped = history.fault("pause-broker", "broker-1", 2_000, 3_000)
    assert kept == ((at(1_000), at(next_ms), "sign") in times(silences(stopped, rows)))
    assert [(at(1_500), at(9_000), "evicted")] == times(silences(stopped, rows, "member-2"))


@pytest.mark.parametrize(
    ("broker", "from_ms", "to_ms", "kept"),
    [
        (1, 2_000, 3_000, False),
        (2, 2_000, 3_000, True),
        # A second is left for what waited.
        (1, 500, 900, False),
        (1, 8_001, 8_500, False),
        (1, 8_002, 8_500, True),
    ],
)
def test_the_broker_has_to_be_stopped_during_the_silence(
    rows: Rows, broker: int, from_ms: float, to_ms: float, kept: bool
) -> None:
    """From 1,000 to 8,001 ms. A fault begins 1 ms before it took effect."""
    history = History().says("rebalance_started", 0).heartbeats("member-1", 1_000, 8_001)
    history.fault("pause-broker", f"broker-{broker}", from_ms + 1, to_ms)
    assert kept == ((at(1_000), at(8_001), "sign") in times(silences(history, rows)))


def test_a_silence_is_never_shorter_than_nothing(rows: Rows) -> None:
    """A sync that arrived before the join was worked on."""
    history = History().says("rebalance_started", 0).join("member-1", 1_000)
    history.sync("member-1", 1_100, arrived_at=at(990))
    assert [0, 0] == [row["ms"] for row in silences(history, rows)]
    assert member_id("member-1") == silences(history, rows)[0]["member_id"]


def test_a_sign_of_the_moment_of_a_load_is_of_the_new_coordinator(rows: Rows) -> None:
    """And one that the old one heard then is of none."""
    history = History().says("rebalance_started", 0).says("loaded", 5_000, broker=2)
    history.heartbeats("member-1", 5_000, broker=2).heartbeats("member-2", 5_000, broker=1)
    history.says("stabilized", 8_000, broker=2)
    assert [(at(5_000), at(8_000), "end")] == times(silences(history, rows))
    assert [] == silences(history, rows, "member-2")


def test_a_sign_of_the_moment_of_a_removal_is_of_the_stay_that_it_ended(rows: Rows) -> None:
    history = History().says("member_added", 0, "member-1").request(MODERN, "member-1", 7_000)
    history.says("evicted", 7_000, "member-1").says("member_added", 9_000, "member-1")
    history.request(MODERN, "member-1", 9_500)
    assert [(at(7_000), at(7_000), "evicted"), (at(9_500), at(9_500), "end")] == times(
        silences(history, rows)
    )


@pytest.mark.parametrize(("healed_ms", "kept"), [(999, True), (1_000, False)])
def test_a_stop_that_ends_as_the_silence_begins_is_within_it(
    rows: Rows, healed_ms: float, kept: bool
) -> None:
    """It ends a second after the fault was healed."""
    history = History().says("rebalance_started", 0).heartbeats("member-1", 2_000, 9_000)
    history.fault("pause-broker", "broker-1", 500, healed_ms)
    assert kept == ((at(2_000), at(9_000), "sign") in times(silences(history, rows)))
