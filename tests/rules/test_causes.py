from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.consumer_histories import Group
from tests.histories import TOPIC, History, beat, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}
WHO = member_id("member-1")


def group(**row: Any) -> History:
    """member-1 joins, and is given t-0, at 0 s."""
    history = History(group=row or {}).member("member-1").member("member-2")
    history.says("member_added", 0, "member-1").join("member-1", -1, assignors=["range"])
    history.rebalance(1, 1, 1, f"Adding new member {WHO} with group instance id null")
    history.sync("member-1", 15, assigned=[{"topic": TOPIC, "partition": 0}])
    return history.told("member-1", "assigned", 20, [0]).heartbeats("member-1", 2_000, 4_000)


def wrong(judge: Judge, history: History) -> list[str]:
    """What R20f says of the rows that violate it."""
    return [row["why"] for row in judge(history, "R20f")["rows"] if row["ok"] is False]


# R20f


def test_a_join_that_was_asked_for_is_a_cause(judge: Judge) -> None:
    verdict = judge(group(), "R20f")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_a_rebalance_r20f_is_unknown(judge: Judge) -> None:
    history = History().says("rebalance_started", 0, generation=0, reason="x", **OTHER)
    assert "UNKNOWN" == judge(history, "R20f")["verdict"]


@pytest.mark.parametrize(
    ("event", "api", "reason"),
    [
        ("evicted", None, f"removing member {WHO} on heartbeat expiration."),
        ("left", "LEAVE_GROUP", f"explicit `LeaveGroup` request for ({WHO}) members."),
        ("left", "LEAVE_GROUP", f"Removing member {WHO} on LeaveGroup; client reason: x"),
    ],
)
def test_a_departure_is_a_cause_if_the_coordinator_noticed_it(
    judge: Judge, event: str, api: str | None, reason: str
) -> None:
    alone = group().rebalance(30_000, 2, 1, reason)
    assert "without a cause" in wrong(judge, alone)[0]
    near = group().says(event, 29_000, "member-1").rebalance(30_000, 2, 1, reason)
    if api:
        assert "no member had asked for" in wrong(judge, near)[0]
        near.request(api, "member-1", 29_050)
    assert not wrong(judge, near)
    just = group().says(event, 30_050, "member-1").rebalance(30_000, 2, 1, reason)
    if api:
        just.request(api, "member-1", 31_050)
    assert not wrong(judge, just)
    for ms, who in ((28_999, "member-1"), (30_051, "member-1"), (30_000, "member-2")):
        far = group().says(event, ms, who).rebalance(30_000, 2, 1, reason)
        assert "without a cause" in wrong(judge, far)[0]


def test_a_member_that_is_there_is_not_added(judge: Judge) -> None:
    reason = f"Adding new member {WHO} with group instance id null"
    history = group().says("member_added", 29_999, "member-1").rebalance(30_000, 2, 1, reason)
    assert "had joined already" in wrong(judge, history)[0]
    history.says("left", 20_000, "member-1")
    assert not wrong(judge, history)


@pytest.mark.parametrize(("protocol", "right"), [("classic", True), ("consumer", False)])
def test_a_classic_member_is_added_once_more_when_its_group_is_converted(
    judge: Judge, protocol: str, right: bool
) -> None:
    joins = f"Member {WHO} joins the consumer group using the {protocol} protocol"
    history = group().says("member_added", 29_999, "member-1", reason=joins)
    history.says("epoch_bumped", 30_000, generation=2, reason="metadata hash 1")
    assert right == (not wrong(judge, history))


@pytest.mark.parametrize(("epoch", "right"), [(0, True), (2, False)])
def test_who_joins_in_kip_848_says_so_with_epoch_0(judge: Judge, epoch: int, right: bool) -> None:
    history = group().says("member_added", 29_999, "member-2")
    history.says("epoch_bumped", 30_000, generation=2, reason="metadata hash 1")
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-2", 29_990, generation=epoch)
    assert right == (not wrong(judge, history))


@pytest.mark.parametrize(("epochs", "right"), [((0, 1), False), ((-1,), True), ((0, -1), True)])
def test_who_leaves_in_kip_848_says_so_with_an_epoch_below_0(
    judge: Judge, epochs: tuple[int, ...], right: bool
) -> None:
    history = group().says("left", 29_999, "member-1")
    history.says("epoch_bumped", 30_000, generation=2, reason="metadata hash 1")
    for epoch in epochs:
        history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 29_990, generation=epoch)
    assert right == (not wrong(judge, history))


def test_a_join_that_nobody_asked_for_is_no_cause(judge: Judge) -> None:
    new = member_id("member-2")
    history = group().says("member_added", 29_999, "member-2")
    history.rebalance(30_000, 2, 2, f"Adding new member {new} with group instance id null")
    assert "no member had asked for" in wrong(judge, history)[0]
    history.join("member-2", 29_990, 2)
    assert not wrong(judge, history)


REJOIN = f"Leader {WHO} re-joining group during Stable; client reason: not provided"


def rejoined(history: History, **row: Any) -> History:
    history.join("member-1", 29_999, 2, **{"assignors": ["range"], **row})
    return history.rebalance(30_000, 2, 1, REJOIN)


def test_a_member_that_joins_again_needs_a_reason(judge: Judge) -> None:
    assert "no reason to join again" in wrong(judge, rejoined(group()))[0]
    assert not wrong(judge, rejoined(group(), assignors=["sticky"]))
    refused = group().heartbeats("member-1", 20_000, error_code=22)
    assert not wrong(judge, rejoined(refused))
    told = refused.heartbeats("member-1", 30_005, error_code=27)  # of the rebalance that it began
    assert not wrong(judge, rejoined(told))


@pytest.mark.parametrize(("ms", "refused"), [(30_000, True), (30_000.1, False)])
def test_a_refusal_is_a_reason_if_it_came_before_the_rebalance(
    judge: Judge, ms: float, refused: bool
) -> None:
    history = rejoined(group().heartbeats("member-1", ms, error_code=22))
    assert refused == (not wrong(judge, history))


def test_a_member_that_asks_twice_has_offered_something_else_once(judge: Judge) -> None:
    history = rejoined(group(), assignors=["sticky"])
    assert not wrong(judge, history.join("member-1", 30_020, 2, assignors=["sticky"]))


@pytest.mark.parametrize(
    ("ms", "heard"), [(29_949, False), (29_950, True), (30_300, True), (30_301, False)]
)
def test_a_join_is_heard_around_the_rebalance(judge: Judge, ms: float, heard: bool) -> None:
    """Its line may be stamped late."""
    history = group().join("member-1", ms, 2, assignors=["sticky"]).rebalance(30_000, 2, 1, REJOIN)
    assert heard == (not wrong(judge, history))


def test_a_member_that_was_never_given_anything_may_join_again_with_a_reason(judge: Judge) -> None:
    history = group()
    history.rows["requests"] = [
        row for row in history.rows["requests"] if row["api"] != "SYNC_GROUP"
    ]
    assert not wrong(judge, rejoined(history, assignors=["sticky"]))


def test_a_rejoin_of_a_member_that_did_not_join_violates(judge: Judge) -> None:
    assert "no member had asked" in wrong(judge, group().rebalance(30_000, 2, 1, REJOIN))[0]


def test_a_topic_that_grows_is_a_reason_within_the_refresh(judge: Judge) -> None:
    grown = group(metadata_refresh_ms=5_000).fault("add-partitions", TOPIC, 22_000)
    assert not wrong(judge, rejoined(grown))
    before = group(metadata_refresh_ms=5_000).fault("add-partitions", TOPIC, 21_999)
    assert wrong(judge, rejoined(before))
    just = group(metadata_refresh_ms=5_000).fault("add-partitions", TOPIC, 30_001)
    assert not wrong(judge, rejoined(just))  # it began 1 ms before it took effect
    later = group(metadata_refresh_ms=5_000).fault("add-partitions", TOPIC, 30_002)
    assert wrong(judge, rejoined(later))


def test_a_cooperative_member_that_gives_up_joins_again(judge: Judge) -> None:
    history = group().sync("member-1", 29_000, 1, assigned=[])
    assert not wrong(judge, rejoined(history))
    later = group().sync("member-1", 29_000, 2, assigned=[]).rebalance(30_000, 3, 1, REJOIN)
    assert not wrong(judge, later.join("member-1", 29_999, 3, assignors=["range"]))


def test_the_answer_that_took_something_may_be_stamped_after_the_rejoin(judge: Judge) -> None:
    assert not wrong(judge, rejoined(group().sync("member-1", 30_200, 1, assigned=[])))
    of_the_next = group().sync("member-1", 29_990, 2, assigned=[])
    assert "no reason to join again" in wrong(judge, rejoined(of_the_next))[0]


def test_a_member_without_a_heartbeat_may_have_lost_the_answer_in_a_fault(judge: Judge) -> None:
    again = isolated()
    assert not wrong(judge, again)
    again.heartbeats("member-1", 29_800, generation=3)
    assert "no reason" in wrong(judge, again)[0]


def isolated() -> History:
    """member-1 joins again at 30 s; its link was cut as it was given its part of generation 3."""
    history = group().rebalance(29_000, 3, 1, REJOIN).fault("isolate", "member-1", 28_000, 29_500)
    history.rebalance(30_000, 4, 1, REJOIN).join("member-1", 28_995, 3)
    return history.join("member-1", 29_995, 4)


def test_an_answer_that_was_lost_is_on_the_brokers_log_all_the_same(judge: Judge) -> None:
    history = isolated().sync("member-1", 29_015, 3, assigned=[{"topic": TOPIC, "partition": 0}])
    assert not wrong(judge, history)


@pytest.mark.parametrize(
    ("times", "settled"),
    [((29_800, 30_001), True), ((30_000,), True), ((30_000.1,), False)],
)
def test_a_heartbeat_that_was_accepted_before_the_rebalance_shows_that_nothing_was_lost(
    judge: Judge, times: tuple[float, ...], settled: bool
) -> None:
    history = isolated().heartbeats("member-1", *times, generation=3)
    assert settled == bool(wrong(judge, history))


def test_a_request_that_may_be_on_no_log_leaves_it_open(judge: Judge) -> None:
    history = group().says("left", 29_999, "member-1")
    history.rebalance(30_000, 2, 1, f"explicit `LeaveGroup` request for ({WHO}) members.")
    stopped = history.fault("stop-broker", "broker-1", 29_500)
    assert "UNKNOWN" == judge(stopped, "R20f")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "verdict"),
    [
        (20_000, 23_999, "VIOLATED"),
        (20_000, 24_000, "UNKNOWN"),  # a session before
        (30_000, 40_000, "UNKNOWN"),
        (30_000.1, 40_000, "VIOLATED"),
    ],
)
def test_a_request_may_be_on_no_log_from_a_disturbance_to_a_session_after_it(
    judge: Judge, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = group().says("left", 29_999, "member-1")
    history.rebalance(30_000, 2, 1, f"explicit `LeaveGroup` request for ({WHO}) members.")
    history.fault("isolate", "member-1", from_ms, to_ms, injecting_ms=from_ms)
    assert verdict == judge(history, "R20f")["verdict"]


def test_an_epoch_needs_a_cause(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"})
    beat(history, "member-1", 0, 0, 2, 0)
    history.says("member_added", 1, "member-1")
    history.says("epoch_bumped", 2, generation=2, reason="metadata hash 1")
    assert "HOLDS" == judge(history, "R20f")["verdict"]
    history.says("epoch_bumped", 10_000, generation=3, reason="metadata hash 1")
    assert "without a cause" in wrong(judge, history)[0]
    history.says("fenced", 9_999, "member-1")
    assert not wrong(judge, history)


@pytest.mark.parametrize(("grows", "reason"), [(True, 2), (False, 2), (True, 1)])
def test_an_epoch_for_new_metadata_needs_a_topic_that_grew(
    judge: Judge, grows: bool, reason: int
) -> None:
    history = History(group={"protocol": "consumer", "metadata_refresh_ms": 5_000})
    beat(history, "member-1", 0, 0, 2, 0)
    history.says("member_added", 1, "member-1")
    history.says("epoch_bumped", 2, generation=2, reason="metadata hash 1")
    history.says("epoch_bumped", 10_000, generation=3, reason=f"metadata hash {reason}")
    if grows:
        history.fault("add-partitions", TOPIC, 9_000)
    assert bool(wrong(judge, history)) == (not grows or reason == 1)


def test_nobody_has_to_ask_for_an_epoch_of_new_metadata(judge: Judge) -> None:
    history = History(group={"protocol": "consumer", "metadata_refresh_ms": 5_000})
    for ms, epoch in ((2, 2), (10_000, 3)):
        history.says("epoch_bumped", ms, generation=epoch, reason=f"metadata hash {epoch}")
    history.says("member_added", 1, "member-1").fault("add-partitions", TOPIC, 9_000)
    beat(history, "member-1", 0, 0, 2, 0)
    history.member("member-1").fault("isolate", "member-1", 8_000, 12_000)
    assert "HOLDS" == judge(history, "R20f")["verdict"]


@pytest.mark.parametrize("event", ["revoked", "lost"])
def test_what_is_given_up_follows_from_something_that_was_told(judge: Judge, event: str) -> None:
    history = group().told("member-1", event, 30_000, [0])
    assert ["gave up 1 partition although nothing had told it to"] == wrong(judge, history)
    elsewhere = history.heartbeats("member-2", 29_000, error_code=27)
    assert wrong(judge, elsewhere)
    assert not wrong(judge, elsewhere.heartbeats("member-1", 29_000, error_code=27))


@pytest.mark.parametrize(
    ("ms", "code", "explains"),
    [(15, 27, False), (16, 27, True), (30_300, 27, True), (30_301, 27, False), (29_000, 16, False)],
)
def test_what_was_told_before_it_was_given_its_partitions_explains_nothing(
    judge: Judge, ms: float, code: int, explains: bool
) -> None:
    history = group().told("member-1", "revoked", 30_000, [0])
    history.heartbeats("member-1", ms, error_code=code)
    assert bool(wrong(judge, history)) != explains


@pytest.mark.parametrize(
    ("epoch", "row", "explains"),
    [
        (0, {}, True),
        (1, {}, False),
        (-1, {}, True),
        (3, {"error_code": 110}, True),
        (3, {"assigned": []}, True),
    ],
)
def test_an_answer_to_a_heartbeat_of_kip_848_explains_it_unless_it_is_a_plain_stay(
    judge: Judge, epoch: int, row: dict[str, Any], explains: bool
) -> None:
    history = group().told("member-1", "revoked", 30_000, [0])
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 29_900, generation=epoch, **row)
    assert explains == (not wrong(judge, history))


def test_what_was_told_before_it_was_given_them_again_explains_nothing(judge: Judge) -> None:
    history = group().heartbeats("member-1", 10_000, error_code=27)
    history.told("member-1", "assigned", 20_000, [0]).told("member-1", "revoked", 30_000, [0])
    assert wrong(judge, history)


def late_to_hear(took: Sequence[int] = (1,)) -> Group:
    """member-1 is given t-0 and t-1 at 100 ms, which its application hears at 300, and loses."""
    history = Group().joins("member-1", 0, 2).beat("member-1", 50).beat("member-1", 60, gets=(0,))
    history.beat("member-1", 100, gets=(0, 1)).told("member-1", "assigned", 300, [0, 1])
    return history.told("member-1", "revoked", 310, took)


@pytest.mark.parametrize(
    ("ms", "row", "explains"),
    [
        (200, {"gets": (0,)}, True),
        (101, {"gets": (0,)}, True),
        (99, {"gets": (0,)}, False),
        (200, {}, False),
        (200, {"error_code": 110}, True),
        (200, {"error_code": 110, "group": "payments"}, False),
        (301, {"gets": (0,)}, True),
    ],
)
def test_what_it_was_told_before_its_application_heard_of_its_partitions_explains_it(
    judge: Judge, ms: float, row: dict[str, Any], explains: bool
) -> None:
    assert ["gave up 1 partition although nothing had told it to"] == wrong(judge, late_to_hear())
    assert explains == (not wrong(judge, late_to_hear().beat("member-1", ms, **row)))


def test_another_member_is_told_nothing_for_it(judge: Judge) -> None:
    assert wrong(judge, late_to_hear().joins("member-2", 200, 3, gets=(5,)))


def test_each_callback_has_the_answer_that_gave_what_it_names(judge: Judge) -> None:
    history = late_to_hear().beat("member-1", 200, gets=(0, 1, 2))
    history.told("member-1", "assigned", 320, [2]).told("member-1", "revoked", 330, [2])
    why = ["gave up 1 partition although nothing had told it to"]
    assert why == wrong(judge, history)
    assert not wrong(judge, history.beat("member-1", 250, gets=(0, 1)))


def test_an_answer_gives_once(judge: Judge) -> None:
    history = late_to_hear().beat("member-1", 200, gets=(0,))
    history.told("member-1", "assigned", 20_000, [1]).told("member-1", "revoked", 30_000, [1])
    assert ["gave up 1 partition although nothing had told it to"] == wrong(judge, history)


@pytest.mark.parametrize(("epoch", "explains"), [(0, True), (2, False)])
def test_who_joins_again_is_given_all_of_its_part(judge: Judge, epoch: int, explains: bool) -> None:
    history = late_to_hear(()).beat("member-1", 1_000, error_code=110)
    history.told("member-1", "lost", 1_010, [0, 1]).beat("member-1", 1_100, epoch, gets=(0, 1))
    history.told("member-1", "assigned", 1_200, [0, 1]).beat("member-1", 1_150, gets=(0,))
    assert explains == (not wrong(judge, history.told("member-1", "revoked", 1_210, [1])))


def test_a_callback_without_partitions_counts_from_itself(judge: Judge) -> None:
    history = late_to_hear().beat("member-1", 200, gets=(0,)).told("member-1", "assigned", 315)
    history.told("member-1", "revoked", 320, [0])
    assert ["gave up 1 partition although nothing had told it to"] == wrong(judge, history)


def test_what_is_given_in_the_moment_that_something_else_is_taken_comes_after_it(
    judge: Judge,
) -> None:
    history = group().told("member-1", "assigned", 30_000, [1])
    history.told("member-1", "revoked", 30_000, [0]).heartbeats("member-1", 29_990, error_code=27)
    assert not wrong(judge, history)


@pytest.mark.parametrize("event", ["closing", "session_timed_out", "max_poll_exceeded"])
def test_an_end_of_its_own_explains_what_it_gives_up(judge: Judge, event: str) -> None:
    history = group().told("member-1", "revoked", 30_000, [0]).told("member-1", event, 29_900)
    assert not wrong(judge, history)


def test_one_that_stalled_hears_of_its_partitions_late(judge: Judge) -> None:
    history = group().told("member-1", "revoked", 300, [0])
    assert wrong(judge, history)
    stalled = history.told("member-1", "stall_started", 19, duration_ms=1.0)
    assert not wrong(judge, stalled)


@pytest.mark.parametrize(
    ("from_ms", "duration_ms", "excused"),
    [
        (12_000, 7_001.0, True),
        (12_000, 7_000.0, False),  # it was over a second before
        (19_001, None, True),
        (19_000, None, False),
    ],
)
def test_it_hears_of_them_within_a_second_of_the_end_of_its_stall(
    judge: Judge, from_ms: float, duration_ms: float | None, excused: bool
) -> None:
    history = group().told("member-1", "assigned", 20_000, [0])
    history.told("member-1", "revoked", 20_300, [0])
    history.told("member-1", "stall_started", from_ms, duration_ms=duration_ms)
    assert excused == (not wrong(judge, history))


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "excused"),
    [
        (-1_985, 18, True),
        (-1_982, 18, False),  # for no longer than an interval of heartbeats
        (-3_000, -979, True),
        (-3_000, -980, False),  # more than a second before
        (20, 2_100, True),
        (21, 2_100, False),  # only after it had heard
    ],
)
def test_so_does_one_that_is_busy(
    judge: Judge, from_ms: float, to_ms: float, excused: bool
) -> None:
    history = group().told("member-1", "revoked", 300, [0])
    history.delivered("member-1", 0, 0, 9, from_ms, to_ms)
    assert excused == (not wrong(judge, history))


def test_callbacks_without_partitions_and_of_what_grew_are_no_matter(judge: Judge) -> None:
    history = group(metadata_refresh_ms=5_000).told("member-1", "revoked", 30_000, [])
    assert not wrong(judge, history)
    history.told("member-1", "revoked", 30_100, [0])
    assert not wrong(judge, history.fault("add-partitions", TOPIC, 25_000))


@pytest.mark.parametrize(
    ("ms", "explains"), [(21_999, False), (22_000, True), (30_001, True), (30_002, False)]
)
def test_a_topic_that_grows_explains_what_is_given_up_within_the_refresh(
    judge: Judge, ms: float, explains: bool
) -> None:
    history = group(metadata_refresh_ms=5_000).told("member-1", "revoked", 30_000, [0])
    history.fault("add-partitions", TOPIC, ms)
    assert explains == (not wrong(judge, history))


@pytest.mark.parametrize(
    ("replaced_ms", "assigned_ms", "right"),
    [
        (30_000, None, True),
        (30_000, 30_002, True),
        (30_000, 30_001, False),  # the group was stable
        (29_001, None, True),
        (29_000, None, False),
        (30_051, None, True),
        (30_052, None, False),
    ],
)
def test_who_takes_a_place_before_the_leader_has_assigned_starts_a_rebalance(
    judge: Judge, replaced_ms: float, assigned_ms: float | None, right: bool
) -> None:
    history = group().says("stabilized", 29_000, generation=2, members=1)
    history.join("member-1", 30_000, assignors=["range"])
    history.rebalance(30_001, 3, 1, f"Updating metadata for static member {WHO}; client reason: x")
    assert "no reason to join again" in wrong(judge, history)[0]

    history.says("replaced", replaced_ms, "member-2")
    if assigned_ms is not None:
        history.says("assignment_received", assigned_ms, "member-1", generation=2)
    assert right == (not wrong(judge, history))
