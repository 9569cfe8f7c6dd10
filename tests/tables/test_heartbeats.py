"""Every heartbeat with the gap before it, and which of the gaps are steady."""

from __future__ import annotations

import pytest

from tests.histories import History, an_app, at, parts
from tests.tables.table_rows import Row, Rows, in_order

MODERN = "CONSUMER_GROUP_HEARTBEAT"
OWNED = parts(0)


def heartbeats(history: History, rows: Rows) -> list[Row]:
    return in_order(rows(history, "heartbeats"), "at")


def steady(history: History, rows: Rows) -> list[bool]:
    return [row["steady"] for row in heartbeats(history, rows)]


def test_a_gap_is_from_the_heartbeat_before_of_the_same_member(rows: Rows) -> None:
    history = History().heartbeats("member-1", 1_000, 3_000).heartbeats("member-2", 2_000)
    found = heartbeats(history.heartbeats("member-1", 5_500), rows)
    assert [("member-1", None), ("member-2", None), ("member-1", 2_000), ("member-1", 2_500)] == [
        (row["member"], row["gap_ms"]) for row in found
    ]
    assert [False, False, True, True] == [row["steady"] for row in found]


def test_a_heartbeat_of_kip_848_is_timed_by_its_arrival(rows: Rows) -> None:
    history = History()
    for api, ms in ((MODERN, 1_000), ("HEARTBEAT", 3_000)):
        history.request(api, "member-1", ms + 90, arrived_at=at(ms), program="orders")
    history.request(MODERN, "member-1", 4_000, generation=-1)
    history.request("HEARTBEAT", "member-1", 4_000, member_id=None)
    found = heartbeats(history.request("JOIN_GROUP", "member-1", 4_000), rows)
    assert [("orders", at(1_000)), ("orders", at(3_090))] == [
        (row["member"], row["at"]) for row in found
    ]


@pytest.mark.parametrize(
    ("second", "third", "found"),
    [
        ({}, {}, [True, True]),
        ({"error_code": 27}, {}, [False, False]),
        ({"broker": 2}, {"broker": 2}, [False, True]),
        ({"generation": 2}, {"generation": 2}, [False, True]),
    ],
)
def test_both_heartbeats_of_a_steady_gap_were_answered_alike(
    rows: Rows, second: dict[str, int], third: dict[str, int], found: list[bool]
) -> None:
    history = History().heartbeats("member-1", 1_000).heartbeats("member-1", 3_000, **second)
    assert found == steady(history.heartbeats("member-1", 5_000, **third), rows)[1:]


@pytest.mark.parametrize(
    ("place", "what", "found"),
    [
        # What it owns it tells at once, and so the next gap begins otherwise too.
        (1, {"owned": OWNED}, [False, False, True]),
        # What the answer changes it tells at once.
        (1, {"assigned": OWNED}, [True, False, True]),
        (0, {"assigned": OWNED}, [False, True, True]),
    ],
)
def test_a_heartbeat_that_is_sent_out_of_turn_is_beside_no_steady_gap(
    rows: Rows, place: int, what: dict[str, object], found: list[bool]
) -> None:
    history = History(group={"protocol": "consumer"})
    for number in range(4):
        row = what if number == place else {}
        history.request(MODERN, "member-1", 1_000 + 2_000 * number, **row)
    assert found == steady(history, rows)[1:]


@pytest.mark.parametrize(
    ("window", "resolved", "found"),
    [
        # In a gap, and in the one before it.
        ((5_500, 6_000), "broker-1", [True, True, False, False, True]),
        ((5_500, 6_000), "member-1", [True, True, False, False, True]),
        ((5_500, 6_000), "member-2", [True, True, True, True, True]),
        # From the heartbeat on, to the next but one.
        ((5_001, 5_001), "broker-1", [True, True, False, False, True]),
        ((5_000, 5_000), "broker-1", [True, False, False, False, True]),
        ((7_000, 7_000), "broker-1", [True, True, False, False, False]),
    ],
)
def test_a_fault_that_may_stretch_a_gap_makes_it_unsteady(
    rows: Rows, window: tuple[float, float], resolved: str, found: list[bool]
) -> None:
    """Of a broker, of the member's own process, but not of another's."""
    kind = "pause-broker" if resolved.startswith("broker") else "freeze-consumer"
    history = History().member("member-1").member("member-2")
    history.heartbeats("member-1", *(1_000 + 2_000 * number for number in range(6)))
    history.fault(kind, resolved, window[0] + 1, window[1], injecting_ms=window[0])
    assert found == steady(history, rows)[1:]


def test_a_fault_that_is_not_healed_lasts_to_the_end(rows: Rows) -> None:
    history = History().member("member-1").heartbeats("member-1", 1_000, 3_000, 5_000, 7_000)
    history.fault("pause-broker", "broker-1", 3_500)
    assert [True, False, False] == steady(history, rows)[1:]


@pytest.mark.parametrize(("second_ms", "third_ms"), [(9_051, 10_500), (9_050, 9_100)])
def test_heartbeats_that_were_held_up_together_count_as_one(
    rows: Rows, second_ms: float, third_ms: float
) -> None:
    """Two were read within 50 ms of the answers before them: the next gap is the one after."""
    history = History().member("member-1").heartbeats("member-1", 1_000, 3_000, 9_000)
    history.heartbeats("member-1", second_ms, third_ms, 12_000, 14_000)
    history.fault("pause-broker", "broker-1", 4_000, 8_000)
    held_up = [False, False, second_ms > 9_050, second_ms > 9_050]
    assert [True, *held_up, True] == steady(history, rows)[1:]


@pytest.mark.parametrize(
    ("arrived_ms", "answered_ms", "waited"),
    [
        (2_900, 5_000, True),
        # It was due at 3,000 ms, and librdkafka may be 550 ms later.
        (3_550, 5_000, True),
        (3_551, 5_000, False),
        (2_000, 3_551, True),
        (2_000, 3_550, False),
        (2_900, 5_001, False),
        # It came 900 ms later than that, and so long the commit has to have waited.
        (3_000, 3_900, True),
        (3_000, 3_899, False),
    ],
)
def test_a_heartbeat_waits_behind_a_commit_without_an_answer(
    rows: Rows, arrived_ms: float, answered_ms: float, waited: bool
) -> None:
    """The heartbeat after that of 1,000 ms came at 5,000."""
    history = History().heartbeats("member-1", 1_000, 5_000, 7_000, 9_000)
    history.request(
        "OFFSET_COMMIT", "member-1", answered_ms, arrived_at=at(arrived_ms),
        processed_at=at(arrived_ms),
    )  # fmt: skip
    assert [not waited, not waited, True] == steady(history, rows)[1:]


@pytest.mark.parametrize(
    ("api", "member", "broker"),
    [
        ("OFFSET_COMMIT", "member-1", 2),
        ("OFFSET_COMMIT", "member-2", 1),
        ("OFFSET_FETCH", "member-1", 1),
    ],
)
def test_it_does_not_wait_behind_anything_else(
    rows: Rows, api: str, member: str, broker: int
) -> None:
    history = History().heartbeats("member-1", 1_000, 5_000)
    history.request(api, member, 5_000, arrived_at=at(2_900), broker=broker)
    assert [True] == steady(history, rows)[1:]


def test_nobody_knows_when_a_heartbeat_of_a_program_was_due(rows: Rows) -> None:
    """So none waits behind a commit."""
    history = an_app("member-1").heartbeats("member-1", 1_000, 5_000)
    history.request("OFFSET_COMMIT", "member-1", 5_000, arrived_at=at(2_900))
    assert [False, True] == steady(history, rows)
