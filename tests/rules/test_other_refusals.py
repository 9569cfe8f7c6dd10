"""X70 at its edges: refusals that no other rule examines, of members, ids and full groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, beat

Judge = Callable[[History, str], dict[str, Any]]


def at_work() -> History:
    """broker-1 coordinates the group of member-1 from 10 ms on, and broker-2 from 30 s on."""
    history = History().member("member-1").says("member_id_given", 10, "member-1")
    history.says("member_added", 20, "member-1").join("member-1", 30, assignors=["range"])
    return history.says("loaded", 30_000, broker=2)


def test_the_observer_is_told_its_positions_before_the_first_member_began(judge: Judge) -> None:
    history = at_work().request("OFFSET_FETCH", "observer", 20_000, member_id=None, error_code=16)
    history.rows["members"] = []
    assert "VIOLATED" == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(
    ("epoch", "verdict"), [(-1, "VIOLATED"), (0, "VIOLATED"), (1, "HOLDS"), (2, "HOLDS")]
)
def test_a_heartbeat_that_joins_or_leaves_is_not_refused_to_a_member_of_the_group(
    judge: Judge, epoch: int, verdict: str
) -> None:
    history = at_work().request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", 20_000, generation=epoch, error_code=25
    )
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(
    ("from_ms", "healed_ms", "verdict"),
    [
        (13_000, 13_949, "VIOLATED"),
        (13_000, 13_950, "HOLDS"),
        (20_050, 22_000, "HOLDS"),
        (20_051, 22_000, "VIOLATED"),
    ],
)
def test_within_the_slack_of_a_brokers_trouble_any_error_may_come(
    judge: Judge, from_ms: float, healed_ms: float, verdict: str
) -> None:
    history = at_work().heartbeats("member-1", 20_000, error_code=-1)
    history.fault("pause-broker", "broker-1", from_ms + 1, healed_ms)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(20_050, "HOLDS"), (20_051, "VIOLATED")])
def test_an_instance_id_is_fenced_only_once_another_process_has_it(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = at_work().heartbeats("member-1", 20_000, error_code=82, instance_id="i")
    assert verdict == judge(history.heartbeats("member-2", ms, instance_id="i"), "X70")["verdict"]


def test_an_id_that_is_out_is_out_though_another_coordinator_evicts_it_again(
    judge: Judge,
) -> None:
    """What the first coordinator did with it was not written, so the second does it once more."""
    history = at_work().says("member_id_given", 10_000, "member-2").member("member-2")
    history.says("left", 15_000, "member-2").says("evicted", 35_000, "member-2", broker=2)
    history.request("JOIN_GROUP", "member-2", 20_000, error_code=25)
    assert "HOLDS" == judge(history, "X70")["verdict"]
    history.request("LEAVE_GROUP", "member-2", 15_001, error_code=25)
    assert "VIOLATED" == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(("group", "verdict"), [("orders", "VIOLATED"), ("payments", "HOLDS")])
def test_only_an_id_of_this_group_is_accepted(judge: Judge, group: str, verdict: str) -> None:
    history = at_work().says("member_id_given", 10_000, "member-2", group=group)
    history.member("member-2").request("JOIN_GROUP", "member-2", 20_000, error_code=25)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(9_999, "HOLDS"), (10_000, "VIOLATED")])
def test_an_id_is_known_from_when_it_is_given(judge: Judge, ms: float, verdict: str) -> None:
    history = at_work().says("member_id_given", 10_000, "member-2").member("member-2")
    history.request("JOIN_GROUP", "member-2", ms, error_code=25)
    assert verdict == judge(history, "X70")["verdict"]


@pytest.mark.parametrize(
    ("event", "api", "ms", "verdict"),
    [
        ("evicted", "JOIN_GROUP", 24_949, "VIOLATED"),
        ("evicted", "JOIN_GROUP", 24_950, "HOLDS"),  # its line may be stamped late
        ("left", "LEAVE_GROUP", 25_050, "VIOLATED"),
        ("left", "LEAVE_GROUP", 25_051, "HOLDS"),
        ("left", "JOIN_GROUP", 25_000, "HOLDS"),
        ("evicted", "LEAVE_GROUP", 25_000, "HOLDS"),
    ],
)
def test_a_member_is_known_until_it_is_out_and_its_leave_with_it(
    judge: Judge, event: str, api: str, ms: float, verdict: str
) -> None:
    history = at_work().says(event, 25_000, "member-1")
    assert verdict == judge(history.request(api, "member-1", ms, error_code=25), "X70")["verdict"]


@pytest.mark.parametrize(
    ("api", "setting", "size", "verdict"),
    [
        ("JOIN_GROUP", "group.max.size", 2, "HOLDS"),
        ("JOIN_GROUP", "group.max.size", 3, "VIOLATED"),
        ("JOIN_GROUP", "group.consumer.max.size", 2, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", "group.consumer.max.size", 2, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", "group.consumer.max.size", 3, "VIOLATED"),
        ("CONSUMER_GROUP_HEARTBEAT", "group.max.size", 2, "VIOLATED"),
    ],
)
def test_a_group_is_full_once_it_had_so_many_members(
    judge: Judge, api: str, setting: str, size: int, verdict: str
) -> None:
    """Two member ids were in the group, and the request of a third is refused."""
    history = at_work().join("member-2", 10_000, assignors=["range"])
    history.cluster = {"settings": {setting: str(size)}}
    history.request(api, "member-1", 20_000, member_id=None, generation=0, error_code=81)
    assert verdict == judge(history, "X70")["verdict"]


def test_the_first_of_the_other_refusals_is_told(judge: Judge) -> None:
    history = at_work().heartbeats("member-1", 15_000, error_code=27)
    history.request("OFFSET_FETCH", "member-1", 16_000, error_code=24)
    history.heartbeats("member-1", 17_000, error_code=42)
    (row,) = judge(history, "X70")["rows"]
    assert (at(16_000), 2, "broker-1-requests.log:3") == (
        row["at"], row["measured"], row["evidence"]
    )  # fmt: skip
    assert "was answered 24 to a OFFSET_FETCH" in row["why"]


def test_in_kip_848_who_left_already_may_be_refused_its_leave(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1")
    history.says("member_added", 20, "member-1")
    beat(history, "member-1", 20, 0, 1, 0)
    leave: dict[str, Any] = {"member": "member-1", "generation": -1}
    history.request("CONSUMER_GROUP_HEARTBEAT", ms=25_000, member_epoch=-1, **leave)
    history.says("left", 25_000, "member-1")
    history.request("CONSUMER_GROUP_HEARTBEAT", ms=25_020, error_code=25, **leave)
    assert "HOLDS" == judge(history, "X70")["verdict"]


def test_of_two_leaves_of_one_moment_the_second_is_refused(judge: Judge) -> None:
    history = at_work().says("left", 25_000, "member-1")
    history.request("LEAVE_GROUP", "member-1", 25_000)
    history.request("LEAVE_GROUP", "member-1", 25_000, error_code=25)
    assert "HOLDS" == judge(history, "X70")["verdict"]
