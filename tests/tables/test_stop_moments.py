"""What caused each stop, and the moments of it that are on record."""

from __future__ import annotations

import pytest

from tests.histories import History, at, member_id, parts
from tests.tables.table_rows import Row, Rows


def handed_over(reason: str, **row: object) -> History:
    """t-0 goes from member-1 to member-2 by a rebalance of 5,000 ms, and is read from 6,000 on.

    A rebalance of 1,000 ms is an episode before it.
    """
    history = History().member("member-1").member("member-2").rebalance(1_000, 1, 2)
    for member in ("member-1", "member-2"):
        history.join(member, 1_005).sync(member, 1_020)
    history.event("member-1", "assigned", 1_030, [0])
    for number in range(20):
        history.delivered("member-1", 0, number * 10, number * 10 + 9, 2_000 + number * 150)
    history.rebalance(5_000, 2, 2, reason, **row)
    return history.event("member-2", "assigned", 5_500, [0]).delivered(
        "member-2", 0, 200, 209, 6_000
    )


def joins(member: str) -> str:
    return f"Adding new member {member_id(member)} with group instance id null"


def stop(history: History, rows: Rows, table: str = "stop_moments") -> Row:
    found = [row for row in rows(history, table) if row["to_at"] == at(6_000)]
    (row,) = found
    return row


@pytest.mark.parametrize(
    ("ms", "by", "cause"),
    [
        (5_000, "member-2", ("stall", at(5_000))),
        # Else it is its first join that did it.
        (5_001, "member-2", ("join", at(1_005))),
        (1_001, "member-2", ("stall", at(1_001))),
        (1_000, "member-2", ("join", at(1_005))),
        (4_000, "member-3", ("join", at(1_005))),
    ],
)
def test_the_subject_itself_may_have_stopped_since_the_episode_before(
    rows: Rows, ms: float, by: str, cause: tuple[str, object]
) -> None:
    """Before the coordinator noticed it."""
    history = handed_over(joins("member-2"))
    history.event(by, "stall_started", ms, duration_ms=10)
    found = stop(history, rows, "stop_subjects")
    assert ("member-2", at(5_000)) == (found["subject"], found["noticed_at"])
    assert cause == (found["cause"], found["cause_at"])


def test_a_fault_of_the_subject_counts_before_one_of_its_coordinator(rows: Rows) -> None:
    """Of several of the same the last counts."""
    history = handed_over(joins("member-2")).fault("pause-broker", "broker-1", 4_500, 4_600)
    assert "pause-broker" == stop(history, rows, "stop_subjects")["cause"]
    history.fault("stall-consumer", "member-2", 3_000).fault("stall-consumer", "member-2", 4_000)
    found = stop(history, rows, "stop_subjects")
    assert ("stall-consumer", at(3_999)) == (found["cause"], found["cause_at"])


@pytest.mark.parametrize(
    ("arrived_ms", "cause_ms"), [(5_000, 5_000), (5_001, None), (1_001, 1_001), (1_000, None)]
)
def test_a_join_has_arrived_before_it_is_noticed(
    rows: Rows, arrived_ms: float, cause_ms: float | None
) -> None:
    """Since the episode before. Of several the first counts."""
    history = handed_over(joins("member-3"))
    history.join("member-3", 5_400, 2, arrived_at=at(arrived_ms))
    history.join("member-3", 5_450, 2, arrived_at=at(5_000 if cause_ms else 5_300))
    expected = at(5_000) if cause_ms == 5_000 else None if cause_ms is None else at(cause_ms)
    assert expected == stop(history, rows, "stop_subjects")["cause_at"]


@pytest.mark.parametrize(
    ("removed_ms", "told"),
    [(5_010, "member-2"), (5_011, "member-1"), (1_001, "member-2"), (1_000, "member-1")],
)
def test_an_old_owner_that_was_removed_in_the_episode_is_its_subject(
    rows: Rows, removed_ms: float, told: str
) -> None:
    """Of its way nothing is told then, but of the new owner's."""
    history = handed_over(joins("member-3"))
    found = stop(history.says("evicted", removed_ms, "member-1"), rows, "stop_subjects")
    assert member_id(told) == found["followed_id"]
    assert (told == "member-1") == found["follows_old"]
    assert (told == "member-2") == (found["subject"] == "member-1")


def led(leader: int, *moves: tuple[float, int]) -> History:
    """t-0 is led by one broker, then by others; it stands still from 4,999 ms to 6,000.

    The broker that leads first is killed then, and nobody rebalances.
    """
    history = History().member("member-1").delivered("member-1", 0, 0, 9, 4_000)
    history.delivered("member-1", 0, 10, 19, 4_100).delivered("member-1", 0, 20, 29, 6_000)
    history.fault("kill-broker", f"broker-{leader}", 5_000)
    for when, who in ((0, leader), *moves):
        history.add("topology", at=at(when), what="partition", topic="t", partition=0, leader=who)
    return history


@pytest.mark.parametrize(
    ("ms", "leader", "moved"),
    [
        (4_999, 2, True),
        (4_998, 2, False),
        (6_000, 2, True),
        (6_001, 2, False),
        (5_500, 0, True),
        (5_500, -1, False),
        (5_500, 1, False),
    ],
)
def test_a_new_leader_of_the_partition_is_noticed_in_a_stop_without_a_rebalance(
    rows: Rows, ms: float, leader: int, moved: bool
) -> None:
    found = stop(led(1, (ms, leader)), rows, "stop_subjects")
    assert ("kill-broker", at(4_999)) == (found["cause"], found["cause_at"])
    assert (at(ms) if moved else None) == found["noticed_at"]


def test_the_first_leader_after_the_one_that_died_is_noticed(rows: Rows) -> None:
    history = led(1, (5_200, 2), (5_600, 0))
    assert at(5_200) == stop(history, rows, "stop_subjects")["noticed_at"]


@pytest.mark.parametrize(
    ("ms", "event", "member", "given_up"),
    [
        (5_500, "revoked", "member-1", True),
        (5_501, "revoked", "member-1", False),
        (5_000, "lost", "member-1", True),
        (4_999, "lost", "member-1", False),
        (5_200, "assigned", "member-1", False),
        (5_200, "revoked", "member-3", False),
    ],
)
def test_the_old_owner_gives_up_between_the_notice_and_the_assignment(
    rows: Rows, ms: float, event: str, member: str, given_up: bool
) -> None:
    """Of several times the last counts; another partition is another."""
    history = handed_over(joins("member-3")).event(member, event, ms, [0])
    history.event("member-1", "revoked", 5_300, [1])
    assert (at(ms) if given_up else None) == stop(history, rows)["given_up_at"]


@pytest.mark.parametrize(
    ("processed_ms", "arrived_ms", "heard_ms"),
    [
        (5_000, 4_990, 5_000),
        (4_999, 4_990, None),
        (5_400, 5_390, 5_400),
        (5_401, 5_390, None),
    ],
)
def test_the_old_owner_hears_of_it_by_a_heartbeat_before_it_lets_go(
    rows: Rows, processed_ms: float, arrived_ms: float, heard_ms: float | None
) -> None:
    history = handed_over(joins("member-3")).event("member-1", "revoked", 5_400, [0])
    history.request("HEARTBEAT", "member-1", processed_ms, arrived_at=at(arrived_ms), error_code=27)
    history.heartbeats("member-1", 5_200).heartbeats("member-3", 5_200, error_code=27)
    assert (None if heard_ms is None else at(heard_ms)) == stop(history, rows)["heard_at"]


def test_a_member_joins_again_and_the_last_is_waited_for(rows: Rows) -> None:
    """In the generation in which the partition went on; of several joins of one the last."""
    history = handed_over(joins("member-3")).join("member-1", 5_100, 2).join("member-1", 5_200, 2)
    history.join("member-1", 5_300, 3).join("member-3", 5_250, 2).join("member-2", 5_240, 2)
    found = stop(history, rows)
    assert (at(5_200), "member-3", 2, 1, 1) == tuple(
        found[name] for name in ("rejoined_at", "waited_for", "generation", "broker", "rounds")
    )
    assert at(5_200) == found["stopped_at"]


@pytest.mark.parametrize(("assigned_ms", "rounds"), [(5_508, 2), (5_507, 1)])
def test_the_rounds_until_the_partition_was_given_count(
    rows: Rows, assigned_ms: float, rounds: int
) -> None:
    """The second is complete at 5,510 ms, and stamps are rounded by 2 ms."""
    history = handed_over(joins("member-3")).join("member-1", 5_005, 2).sync("member-1", 5_505, 2)
    history.rebalance(5_500, 3, 2, joins("member-4"))
    history.rows["client_events"][-1].update(event_at=at(assigned_ms), observed_at=at(assigned_ms))
    found = stop(history, rows)
    assert (rounds, 1 + rounds) == (found["rounds"], found["generation"])


def test_the_coordinator_of_the_last_round_gave_the_partition(rows: Rows) -> None:
    history = handed_over(joins("member-3")).join("member-1", 5_005, 2).sync("member-1", 5_605, 2)
    history.rebalance(5_400, 3, 2, joins("member-4"), broker=2)
    found = stop(history, rows)
    assert (2, 2) == (found["rounds"], found["broker"])


def handed_over_by_the_coordinator() -> History:
    """In KIP-848: from 5,000 ms on t-0 is to go from member-1 to member-2.

    member-1 gives it up at 5,300 ms; member-2 is handed it at 5,500, and reads it at 6,000.
    """
    history = History(group={"protocol": "consumer"}).member("member-1").member("member-2")
    for epoch, ms, member in ((1, 1_000, "member-1"), (2, 5_000, "member-3")):
        history.says("member_added", ms, member, reason="joins")
        history.says("epoch_bumped", ms, generation=epoch, reason="metadata hash 1")
        history.says("target_computed", ms + 10, generation=epoch, reason="uniform")
    beat(history, "member-1", 1_020, assigned=True, member_epoch=1)
    history.event("member-1", "assigned", 1_030, [0]).event("member-1", "revoked", 5_300, [0])
    for number in range(20):
        history.delivered("member-1", 0, number * 10, number * 10 + 9, 2_000 + number * 150)
    history.event("member-2", "assigned", 5_500, [0])
    return history.delivered("member-2", 0, 200, 209, 6_000)


def beat(history: History, member: str, ms: float, **row: object) -> None:
    """A heartbeat, by what it says of what the member owns and what its answer assigns."""
    row = {name: parts(0) if each is True else parts() if each is False else each
           for name, each in row.items()}  # fmt: skip
    history.request("CONSUMER_GROUP_HEARTBEAT", member, ms, generation=2, **row)


def test_the_old_owner_hears_of_it_and_says_that_it_has_let_go(rows: Rows) -> None:
    """By the last answer without the partition before it lets go, and the first such heartbeat."""
    history = handed_over_by_the_coordinator()
    for ms, row in (
        (5_100, {"assigned": False}),
        (5_200, {"assigned": False}),
        (5_250, {"assigned": True}),
        (5_260, {"owned": True}),
        (5_301, {"owned": False, "error_code": 25}),
        (5_302, {"assigned": False}),
        (5_303, {"owned": True}),
        (5_310, {"owned": False}),
        (5_400, {"owned": False}),
    ):
        beat(history, "member-1", ms, **row)
    beat(history, "member-2", 5_305, owned=False)
    found = stop(history, rows)
    assert (at(5_200), at(5_310)) == (found["heard_at"], found["revoked_at"])


@pytest.mark.parametrize(("arrived_ms", "told"), [(6_000, True), (6_001, False)])
def test_what_a_member_says_after_the_stop_is_not_of_it(
    rows: Rows, arrived_ms: float, told: bool
) -> None:
    history = handed_over_by_the_coordinator()
    beat(history, "member-1", arrived_ms, owned=False)
    assert (at(arrived_ms) if told else None) == stop(history, rows)["revoked_at"]


@pytest.mark.parametrize(
    ("times", "synced_ms"),
    [
        ((5_000,), 5_000),
        ((4_999,), None),
        ((5_500,), 5_500),
        ((5_501,), None),
        ((5_100, 5_400, 5_200), 5_400),
    ],
)
def test_the_last_answer_with_the_partition_gives_it_to_the_new_owner(
    rows: Rows, times: tuple[float, ...], synced_ms: float | None
) -> None:
    history = handed_over_by_the_coordinator()
    for ms in times:
        beat(history, "member-2", ms, assigned=True)
    beat(history, "member-2", 5_450, assigned=False)
    beat(history, "member-2", 5_460, owned=False)
    beat(history, "member-1", 5_470, assigned=True)
    assert (at(synced_ms) if synced_ms else None) == stop(history, rows)["synced_at"]
