"""X07, X08, R03 and R08 with real members, and rejoining."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.histories import History, at, java, member_id

Judge = Callable[[History, str], dict[str, Any]]
OTHER: dict[str, Any] = {"group": "payments"}


# X07 (the default delay of 3,000 ms)


def first(joined_ms: float, *arrivals_ms: float, poll_ms: int = 60_000) -> History:
    """An empty group's first rebalance from 0 on; member-1 started it, others come later."""
    history = History().says("rebalance_started", 0, generation=0, reason="Adding new member")
    history.says("stabilized", joined_ms, generation=1, members=1 + len(arrivals_ms))
    history.join("member-1", -2, rebalance_timeout_ms=poll_ms)
    for number, ms in enumerate(arrivals_ms, start=2):
        history.join(f"member-{number}", ms, rebalance_timeout_ms=poll_ms)
    return history


@pytest.mark.parametrize(
    ("joined_ms", "arrivals_ms"),
    [
        (3_008, ()),
        (6_010, (1_000,)),  # somebody came in the first delay
        (9_010, (1_000, 4_000)),  # and in the second
        (6_010, (1_000, 2_000)),  # two in one count once
        (3_010, (3_005,)),  # too close to tell: both are allowed
        (6_010, (2_995,)),
        (3_008, (0.3, 0.5)),  # with the first: it may have been before the delay began
        (6_010, (0.3, 0.5)),
    ],
)
def test_the_first_rebalance_waits_one_delay_more_for_each_in_which_somebody_came(
    judge: Judge, joined_ms: float, arrivals_ms: tuple[float, ...]
) -> None:
    assert "HOLDS" == judge(first(joined_ms, *arrivals_ms), "X07")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "verdict"), [(2_857, "VIOLATED"), (2_858, "HOLDS"), (5_951, "VIOLATED")]
)
def test_a_line_that_comes_late_shortens_the_least_that_is_demanded_and_not_the_most(
    judge: Judge, joined_ms: float, verdict: str
) -> None:
    """The first member's request came 92 ms before the line that tells of the start."""
    history = first(joined_ms)
    history.rows["requests"][0]["arrived_at"] = at(-92)
    assert verdict == judge(history, "X07")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "arrivals_ms", "why"),
    [
        (2_900, (), "did not wait"),
        (6_010, (), "waited on"),
        (3_008, (1_000,), "did not wait"),  # not extended
        (9_010, (1_000,), "waited on"),
        (9_010, (1_000, 7_000), "waited on"),  # the one after the delays were over
    ],
)
def test_a_first_rebalance_shorter_or_longer_than_that_violates(
    judge: Judge, joined_ms: float, arrivals_ms: tuple[float, ...], why: str
) -> None:
    verdict = judge(first(joined_ms, *arrivals_ms), "X07")
    assert "VIOLATED" == verdict["verdict"]
    assert why in verdict["reason"]


def test_the_rebalance_timeout_caps_the_delays(judge: Judge) -> None:
    history = first(8_004, 1_000, 4_000, poll_ms=8_000)
    assert "HOLDS" == judge(history, "X07")["verdict"]
    assert "VIOLATED" == judge(first(11_004, 1_000, 4_000, poll_ms=8_000), "X07")["verdict"]


def later(joined_ms: float) -> History:
    """A rebalance of a working group, from 10 s on, that waits for member-1 until 11.5 s."""
    history = History().says("rebalance_started", 10_000, generation=1, reason="Adding")
    history.says("stabilized", joined_ms, generation=2, members=2)
    return history.join("member-2", 9_999, 2).join("member-1", 11_500, 2)


def test_another_rebalance_is_over_when_the_last_has_joined(judge: Judge) -> None:
    verdict = judge(later(11_502), "X07")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["measured_max"])


def test_a_delay_in_a_working_group_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(later(14_500), "X07")["verdict"]


@pytest.mark.parametrize(
    ("broker", "from_ms", "to_ms", "verdict"),
    [
        (1, 12_000, 14_000, "HOLDS"),
        (1, 8_000, 9_000, "HOLDS"),  # it had to work off what had waited
        (1, 8_000, 8_999, "VIOLATED"),
        (1, 14_502, 16_000, "VIOLATED"),
        (2, 12_000, 14_000, "VIOLATED"),
    ],
)
def test_a_coordinator_that_is_stopped_meanwhile_looks_at_no_timer(
    judge: Judge, broker: int, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = later(14_500).fault("pause-broker", f"broker-{broker}", from_ms, to_ms)
    judged = judge(history, "X07")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


def test_the_join_that_completed_a_rebalance_may_be_stamped_after_it(judge: Judge) -> None:
    history = History().says("rebalance_started", 10_000, generation=1, reason="Adding")
    history.says("stabilized", 14_494, generation=2, members=2)
    history.join("member-2", 9_999, 2).join("member-1", 14_500, 2)
    verdict = judge(history, "X07")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_a_rebalance_that_ends_with_an_eviction_waited_for_that(judge: Judge) -> None:
    history = later(14_001).says("evicted", 14_000, "member-3")
    assert "HOLDS" == judge(history, "X07")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "static", "examined"),
    [(19_950, True, 0), (19_949, True, 1), (19_950, False, 1)],
)
def test_a_rebalance_that_ended_by_its_time_out_waited_for_whoever_it_keeps(
    judge: Judge, joined_ms: float, static: bool, examined: int
) -> None:
    """A static member: no line tells that it had been waited for."""
    history = later(joined_ms)
    for row in history.rows["requests"]:
        row["rebalance_timeout_ms"] = 10_000
        row["instance_id"] = "member-1" if static else None
    assert examined == judge(history, "X07")["violations"]
    assert examined == judge(history, "X07")["examined"]


def test_a_group_that_had_become_empty_waits_again(judge: Judge) -> None:
    history = History().says("emptied", 1_000, generation=1)
    history.says("rebalance_started", 5_000, generation=1, reason="Adding")
    history.says("stabilized", 8_003, generation=2, members=1).join("member-1", 4_999, 2)
    assert "HOLDS" == judge(history, "X07")["verdict"]


def test_a_wait_made_longer_by_the_machine_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(first(6_200).tick(5_200, late_ms=280), "X07")["verdict"]
    assert "HOLDS" == judge(first(3_010).tick(3_000, late_ms=80), "X07")["verdict"]


def test_without_a_rebalance_x07_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().join("member-1", 5), "X07")["verdict"]


def test_only_accepted_joins_of_this_generation_and_coordinator_prolong_it(judge: Judge) -> None:
    history = first(3_008)
    timeout = {"rebalance_timeout_ms": 2_000}  # which would also be a cap
    history.join("member-2", 1_000, **timeout, **OTHER).join("member-2", 1_000, 2, **timeout)
    history.join("member-2", 1_000, broker=2, **timeout)
    history.join("member-2", 1_000, error_code=79, **timeout)
    history.request("HEARTBEAT", "member-2", 1_000, **timeout)
    verdict = judge(history, "X07")
    assert ("HOLDS", 2_948, 5_950) == (
        verdict["verdict"], verdict["bound_low"], verdict["bound_high"]
    )  # fmt: skip


@pytest.mark.parametrize(("ms", "verdict"), [(-299, "HOLDS"), (-300, "VIOLATED")])
def test_who_came_before_the_start_prolongs_nothing(judge: Judge, ms: float, verdict: str) -> None:
    """But for one whose join may have waited to be worked on, or whose line was stamped late."""
    history = first(6_010, ms)
    history.rows["requests"][0]["arrived_at"] = at(-310)
    assert verdict == judge(history, "X07")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "arrivals_ms", "verdict"),
    [
        (3_008, (50,), "HOLDS"),  # within the slack of the start
        (3_008, (51,), "VIOLATED"),
        (6_010, (1_000, 4_000), "VIOLATED"),  # one delay too few
        (9_010, (1_000, 3_050), "HOLDS"),
        (9_010, (1_000, 2_949), "VIOLATED"),
        (2_948, (), "HOLDS"),
        (2_947, (), "VIOLATED"),
        (5_950, (), "HOLDS"),
        (5_951, (), "VIOLATED"),
    ],
)
def test_how_close_a_first_rebalance_is_held_to_its_delays(
    judge: Judge, joined_ms: float, arrivals_ms: tuple[float, ...], verdict: str
) -> None:
    assert verdict == judge(first(joined_ms, *arrivals_ms), "X07")["verdict"]


def test_any_of_several_rebalance_timeouts_may_be_the_cap(judge: Judge) -> None:
    history = first(8_004, 1_000, 4_000, poll_ms=8_000)
    history.rows["requests"][1]["rebalance_timeout_ms"] = 7_000
    verdict = judge(history, "X07")
    assert ("HOLDS", 6_948, 10_950) == (
        verdict["verdict"], verdict["bound_low"], verdict["bound_high"]
    )  # fmt: skip


def test_without_joins_on_record_the_cap_is_the_declared_poll_interval(judge: Judge) -> None:
    history = first(2_004)
    history.group["max_poll_interval_ms"] = 2_000
    history.rows["requests"].clear()
    verdict = judge(history, "X07")
    assert ("HOLDS", 1_950, 4_950) == (
        verdict["verdict"], verdict["bound_low"], verdict["bound_high"]
    )  # fmt: skip


def test_a_rebalance_that_nobody_was_seen_to_start_or_end_is_not_examined(judge: Judge) -> None:
    history = History().says("stabilized", 3_000, generation=1, members=1)
    history.says("rebalance_started", 5_000, generation=1).says("emptied", 5_100, generation=2)
    history.says("stabilized", 9_000, generation=7, members=1)
    assert "UNKNOWN" == judge(history, "X07")["verdict"]


@pytest.mark.parametrize(
    ("joined_ms", "verdict", "why"),
    [
        (12_999, "HOLDS", None),
        (13_000, "VIOLATED", "went on after the last member had joined"),
    ],
)
def test_a_rebalance_that_nobody_was_waited_for_counts_from_its_start(
    judge: Judge, joined_ms: float, verdict: str, why: str | None
) -> None:
    history = History().says("rebalance_started", 10_000, generation=1, reason="Adding")
    judged = judge(history.says("stabilized", joined_ms, generation=2, members=2), "X07")
    assert (verdict, why) == (judged["verdict"], judged["rows"][0]["why"])


@pytest.mark.parametrize(
    "event", ["left", "evicted", "stragglers_removed", "pending_evicted", "member_added"]
)
@pytest.mark.parametrize(("ms", "verdict"), [(14_500, "HOLDS"), (14_501, "VIOLATED")])
def test_a_rebalance_waits_for_every_change_of_its_members(
    judge: Judge, event: str, ms: float, verdict: str
) -> None:
    assert verdict == judge(later(14_500).says(event, ms, "member-3"), "X07")["verdict"]


def test_what_is_not_a_change_of_its_members_is_not_waited_for(judge: Judge) -> None:
    history = later(14_500).says("evicted", 14_400, "member-3", **OTHER)
    history.says("evicted", 14_400, "member-3", broker=2)
    history.says("member_id_given", 14_400, "member-3")
    history.join("member-3", 14_510, 3).join("member-3", 14_801, 2)
    verdict = judge(history, "X07")
    assert ("VIOLATED", 3_000) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(("ms", "verdict"), [(14_800, "HOLDS"), (14_801, "VIOLATED")])
def test_its_own_joins_may_be_stamped_after_it(judge: Judge, ms: float, verdict: str) -> None:
    assert verdict == judge(later(14_500).join("member-3", ms, 2), "X07")["verdict"]


@dataclass
class WithoutDelay(History):
    """By brokers whose group.initial.rebalance.delay.ms is 0."""

    def manifest(self, **changes: Any) -> dict[str, Any]:
        settings = {"group.initial.rebalance.delay.ms": "0"}
        return super().manifest(effective={"brokers": {"broker-1": settings}}, **changes)


@pytest.mark.parametrize(("joined_ms", "verdict"), [(50, "HOLDS"), (51, "VIOLATED")])
def test_without_a_delay_a_first_rebalance_is_over_at_once(
    judge: Judge, joined_ms: float, verdict: str
) -> None:
    history = WithoutDelay(rows=first(joined_ms, 20).rows)
    history.says("rebalance_started", 10_000, generation=1, reason="Adding")
    history.says("stabilized", 14_000, generation=2, members=2)
    judged = judge(history, "X07")
    assert (verdict, 1) == (judged["verdict"], judged["examined"])


# X08


def steps(*events: tuple[str, float]) -> History:
    history = History()
    for event, ms in events:
        history.says(event, ms, "member-1")
    return history


def test_an_id_and_then_a_join_hold(judge: Judge) -> None:
    verdict = judge(steps(("member_id_given", 0), ("member_added", 3)), "X08-members")
    assert ("HOLDS", 1, 3) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


@pytest.mark.parametrize(
    "events",
    [
        [("member_added", 3)],
        [("member_id_given", 0), ("member_id_given", 1), ("member_added", 3)],
        [("member_id_given", 0), ("member_added", 3), ("member_added", 4)],
        [("member_added", 3), ("member_id_given", 5)],
    ],
)
def test_any_other_number_or_order_of_steps_violates(
    judge: Judge, events: list[tuple[str, float]]
) -> None:
    assert "VIOLATED" == judge(steps(*events), "X08-members")["verdict"]


def test_who_joins_a_group_of_kip_848_is_not_examined(judge: Judge) -> None:
    history = steps(("member_id_given", 0), ("member_added", 3))
    for member, protocol in (("member-1", "classic"), ("member-2", "consumer")):
        reason = (
            f"Member {member_id(member)} joins the consumer group using the {protocol} protocol"
        )
        history.says("member_added", 9, member, reason=reason)
    verdict = judge(history, "X08-members")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_an_id_that_never_came_back_is_no_join(judge: Judge) -> None:
    assert "UNKNOWN" == judge(steps(("member_id_given", 0)), "X08-members")["verdict"]


@pytest.mark.parametrize(
    ("ms", "life", "verdict"),
    [(5_999, 2, "VIOLATED"), (6_000, 2, "HOLDS"), (5_999, 1, "HOLDS")],
)
def test_who_was_given_an_id_uses_it(judge: Judge, ms: float, life: int, verdict: str) -> None:
    history = steps(("member_id_given", 0), ("member_added", 3)).join("member-2", 0, error_code=79)
    history.join("member-2", ms, error_code=79, life=life)
    assert verdict == judge(history, "X08-members")["verdict"]


@pytest.mark.parametrize(
    ("removed_ms", "verdict"), [(None, "VIOLATED"), (551, "VIOLATED"), (550, "HOLDS")]
)
def test_who_is_in_the_group_is_given_no_other_id(
    judge: Judge, removed_ms: float | None, verdict: str
) -> None:
    history = steps(("member_id_given", 0), ("member_added", 3)).join("member-1", 0, error_code=79)
    history.join("member-1", 3).join("member-1", 500, error_code=79, life=2)
    if removed_ms is not None:
        history.says("left", removed_ms, "member-1")
    assert verdict == judge(history, "X08-members")["verdict"]


def test_an_id_whose_answer_was_lost_is_not_used(judge: Judge) -> None:
    history = steps(("member_id_given", 0), ("member_added", 3)).join("member-1", 0, error_code=79)
    history.join("member-1", 500, error_code=79, life=2).fault("isolate", "member-1", 100, 400)
    assert "HOLDS" == judge(history, "X08-members")["verdict"]


def test_a_static_member_joins_in_one_step(judge: Judge) -> None:
    history = History().join("member-1", 5, instance_id="member-1")
    history.says("member_added", 4, "member-1", instance_id="member-1")
    verdict = judge(history, "X08-members")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    history.join("member-2", 5, instance_id="member-2", error_code=79)
    assert "VIOLATED" == judge(history, "X08-members")["verdict"]


def test_an_id_and_a_join_in_the_same_moment_hold(judge: Judge) -> None:
    history = steps(("member_id_given", 3), ("member_added", 3))
    assert "HOLDS" == judge(history, "X08-members")["verdict"]


def test_what_another_group_says_of_the_id_is_no_step(judge: Judge) -> None:
    history = steps(("member_id_given", 0), ("member_added", 3), ("left", 9))
    for event in ("member_id_given", "member_added"):
        history.says(event, 1, "member-1", **OTHER)
    history.join("member-1", 3).join("member-2", 5, instance_id="member-2")
    verdict = judge(history, "X08-members")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_whose_line_or_request_has_an_instance_id_is_no_dynamic_member(judge: Judge) -> None:
    history = History().says("member_added", 3, "member-1", instance_id="member-1")
    history.says("member_added", 3, "member-2").sync("member-2", 9, instance_id="member-2")
    assert "UNKNOWN" == judge(history, "X08-members")["verdict"]


def test_only_joins_of_the_group_are_steps_of_a_static_member(judge: Judge) -> None:
    static: dict[str, Any] = {"instance_id": "member-1"}
    history = History().join("member-1", 5, **static).join("member-1", 9, 2, **static)
    history.join("member-1", 1, error_code=79, **static, **OTHER)
    history.sync("member-1", 1, error_code=79, **static)
    history.join("member-2", 1, error_code=79)
    verdict = judge(history, "X08-members")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    assert at(5) == verdict["rows"][0]["at"]
    history.join("member-1", 7, error_code=79, **static)
    assert "was sent back for an id 1 times" in judge(history, "X08-members")["reason"]


# R03


def parked(
    ms: float, *, api: str = "JOIN_GROUP", evicted_ms: float | None = None, **row: Any
) -> History:
    """A member has joined at 0 s, and its next request arrives at 1 s and waits."""
    history = History().says("member_added", 0, "member-2").join("member-2", 0.5)
    history.request(api, "member-2", 1_000 + ms, arrived_at=at(1_000), generation=2, **row)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, "member-2")
    return history


@pytest.mark.parametrize("api", ["JOIN_GROUP", "SYNC_GROUP"])
def test_a_request_that_waits_longer_than_a_session_holds(judge: Judge, api: str) -> None:
    verdict = judge(parked(9_000, api=api), "R03-members")
    assert ("HOLDS", 1, 9_000) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_an_eviction_while_the_request_waits_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(parked(9_000, evicted_ms=7_000), "R03-members")["verdict"]
    assert "VIOLATED" == judge(parked(4_000, evicted_ms=4_500), "R03-members")["verdict"]


def test_an_eviction_after_the_answer_is_no_matter(judge: Judge) -> None:
    assert "HOLDS" == judge(parked(9_000, evicted_ms=16_001), "R03-members")["verdict"]


def new(
    ms: float, *, evicted_ms: float | None = None, added_ms: float = 1_000.2, **row: Any
) -> History:
    """The first JoinGroup of a member arrives at 1 s and waits."""
    history = History().says("member_added", added_ms, "member-2")
    history.join("member-2", 1_000 + ms, arrived_at=at(1_000), **row)
    return history if evicted_ms is None else history.says("evicted", evicted_ms, "member-2")


def test_a_new_member_may_be_dropped_after_five_minutes(judge: Judge) -> None:
    history = new(300_000.4, evicted_ms=301_000.3, error_code=25)
    assert "HOLDS" == judge(history, "R03-members")["verdict"]


def test_a_member_that_is_not_new_has_no_such_limit(judge: Judge) -> None:
    assert "HOLDS" == judge(parked(600_000), "R03-members")["verdict"]
    for api in ("JOIN_GROUP", "SYNC_GROUP"):
        history = parked(300_010, api=api, evicted_ms=301_001, error_code=25)
        assert "was evicted while" in judge(history, "R03-members")["reason"]


@pytest.mark.parametrize(("ms", "verdict"), [(300_050.2, "HOLDS"), (300_050.3, "VIOLATED")])
def test_a_new_member_is_not_kept_for_longer_than_five_minutes(
    judge: Judge, ms: float, verdict: str
) -> None:
    found = judge(new(ms), "R03-members")
    assert (verdict, 300_050.2) == (found["verdict"], found["bound_high"])


def test_a_member_is_new_until_a_join_of_its_is_accepted(judge: Judge) -> None:
    """Asking once more does not lengthen its time."""
    history = new(100_000, added_ms=500, error_code=16)
    history.join("member-2", 300_500, arrived_at=at(150_000), error_code=25)
    history.says("evicted", 300_500, "member-2")
    assert "HOLDS" == judge(history, "R03-members")["verdict"]


def test_who_takes_a_static_members_place_is_not_new(judge: Judge) -> None:
    history = History().says("replaced", 1_000.2, "member-2", instance_id="member-2")
    history.join("member-2", 601_000, arrived_at=at(1_000), instance_id="member-2", life=2)
    assert "HOLDS" == judge(history, "R03-members")["verdict"]


@pytest.mark.parametrize(
    ("broker", "to_ms", "verdict"),
    [(1, 300_999, "HOLDS"), (2, 300_999, "VIOLATED"), (1, 300_000, "VIOLATED")],
)
def test_a_coordinator_that_is_stopped_drops_nobody(
    judge: Judge, broker: int, to_ms: float, verdict: str
) -> None:
    """Until it has worked off what waited: a second."""
    history = new(300_900).fault("pause-broker", f"broker-{broker}", 299_000, to_ms)
    assert verdict == judge(history, "R03-members")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(300_800, "HOLDS"), (301_000.1, "UNKNOWN")])
def test_a_machine_that_stands_still_as_the_five_minutes_end_tells_nothing(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = new(ms - 1_000, error_code=25).tick(301_000, 60)
    assert verdict == judge(history, "R03-members")["verdict"]


def test_a_request_that_waits_less_than_a_session_says_nothing(judge: Judge) -> None:
    assert "UNKNOWN" == judge(parked(5_000), "R03-members")["verdict"]


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"),
    [(999, "HOLDS"), (1_000, "VIOLATED"), (10_000, "VIOLATED"), (10_001, "HOLDS")],
)
def test_a_request_waits_from_its_arrival_to_its_answer(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    assert verdict == judge(parked(9_000, evicted_ms=evicted_ms), "R03-members")["verdict"]


def test_a_member_that_leaves_while_its_request_waits_was_not_evicted(judge: Judge) -> None:
    history = parked(9_000).says("left", 7_000, "member-2")
    assert "HOLDS" == judge(history, "R03-members")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(300_950.2, "HOLDS"), (300_950.1, "VIOLATED")])
def test_a_new_member_has_five_minutes(judge: Judge, ms: float, verdict: str) -> None:
    history = new(300_000.4, evicted_ms=ms, error_code=25)
    assert verdict == judge(history, "R03-members")["verdict"]


@pytest.mark.parametrize(("ms", "examined"), [(6_000, 0), (6_001, 1)])
def test_only_requests_of_the_group_that_wait_longer_than_a_session_are_examined(
    judge: Judge, ms: float, examined: int
) -> None:
    history = parked(ms)
    history.heartbeats("member-2", 20_000, arrived_at=at(10_000))
    history.join("member-2", 20_000, arrived_at=at(10_000), **OTHER)
    assert examined == judge(history, "R03-members")["examined"]


# R08


def told(*times: float, evicted_ms: float | None = None, joins_ms: float | None = None) -> History:
    """member-1 heartbeats at 1 s; from then on its heartbeats are answered 27."""
    history = History().says("member_added", 0, "member-1").join("member-1", 5)
    history.heartbeats("member-1", 1_000).heartbeats("member-1", *times, error_code=27)
    if joins_ms is not None:
        history.join("member-1", joins_ms, 2)
    if evicted_ms is not None:
        history.says("evicted", evicted_ms, "member-1")
    return history


def test_living_on_heartbeats_answered_27_holds(judge: Judge) -> None:
    verdict = judge(told(3_000, 5_000, 7_000, 9_000, joins_ms=9_500), "R08-members")
    assert ("HOLDS", 8_500) == (verdict["verdict"], verdict["measured_max"])


def test_being_evicted_in_spite_of_them_violates(judge: Judge) -> None:
    history = told(3_000, 5_000, evicted_ms=7_001)
    assert "VIOLATED" == judge(history, "R08-members")["verdict"]


def test_being_evicted_a_session_after_the_last_of_them_holds(judge: Judge) -> None:
    history = told(3_000, 5_000, evicted_ms=11_001)
    assert "HOLDS" == judge(history, "R08-members")["verdict"]


def test_a_short_stretch_of_them_says_nothing(judge: Judge) -> None:
    assert "UNKNOWN" == judge(told(3_000, joins_ms=3_100), "R08-members")["verdict"]


@pytest.mark.parametrize(
    ("evicted_ms", "verdict"), [(9_500, "VIOLATED"), (10_949, "VIOLATED"), (10_950, "HOLDS")]
)
def test_an_eviction_counts_from_the_last_of_them(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    history = told(3_000, 5_000, evicted_ms=evicted_ms)
    assert verdict == judge(history, "R08-members")["verdict"]


@pytest.mark.parametrize(("evicted_ms", "verdict"), [(10_949, "VIOLATED"), (10_950, "HOLDS")])
def test_the_last_of_them_counts_from_its_arrival(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    """Its answer waits until what was written before it is replicated; its effect does not."""
    history = told(3_000).heartbeats("member-1", 5_000, error_code=27, processed_at=at(5_217))
    history.says("evicted", evicted_ms, "member-1")
    assert verdict == judge(history, "R08-members")["verdict"]


def test_leaving_in_spite_of_them_holds(judge: Judge) -> None:
    history = told(3_000, 5_000).says("left", 7_001, "member-1")
    assert "HOLDS" == judge(history, "R08-members")["verdict"]


def test_an_eviction_after_the_next_sign_of_life_is_no_matter(judge: Judge) -> None:
    history = told(3_000, 5_000, joins_ms=7_000, evicted_ms=7_500)
    verdict = judge(history, "R08-members")
    assert ("HOLDS", 6_000) == (verdict["verdict"], verdict["measured_max"])


def test_without_an_end_a_stretch_lasts_to_the_last_of_them(judge: Judge) -> None:
    verdict = judge(told(3_000, 5_000, 7_000, 9_000), "R08-members")
    assert ("HOLDS", 8_000) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("times", "joins_ms", "examined"),
    [((6_000,), 6_951, 1), ((6_000,), 6_950, 0), ((), 9_000, 0)],
)
def test_a_stretch_with_one_of_them_and_longer_than_a_session_is_examined(
    judge: Judge, times: tuple[float, ...], joins_ms: float, examined: int
) -> None:
    assert examined == judge(told(*times, joins_ms=joins_ms), "R08-members")["examined"]


def test_a_stretch_whose_beginning_nobody_saw_is_not_examined(judge: Judge) -> None:
    history = History().heartbeats("member-1", 1_000, 9_000, error_code=27)
    assert "UNKNOWN" == judge(history, "R08-members")["verdict"]


@pytest.mark.parametrize(("loaded_ms", "examined"), [(999, 1), (1_000, 0), (9_500, 0), (9_501, 1)])
def test_a_stretch_in_which_another_coordinator_took_over_is_not_examined(
    judge: Judge, loaded_ms: float, examined: int
) -> None:
    history = told(3_000, 5_000, 7_000, 9_000, joins_ms=9_500).says("loaded", loaded_ms)
    assert examined == judge(history, "R08-members")["examined"]


# R32-rejoin


def rejoin(joins_ms: float | None, *, busy_to_ms: float = 0) -> History:
    """member-1 is told at 5 s, maybe in the midst of a batch."""
    history = History().member("member-1").join("member-1", 5)
    history.heartbeats("member-1", 5_000, error_code=27)
    if busy_to_ms:
        history.delivered("member-1", 0, 0, 9, 4_000, busy_to_ms)
    if joins_ms is not None:
        history.join("member-1", joins_ms, 2)
    return history


def test_rejoining_with_the_next_poll_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(rejoin(5_900), "R32-rejoin")["verdict"]
    verdict = judge(rejoin(15_300, busy_to_ms=15_000), "R32-rejoin")
    assert ("HOLDS", 300) == (verdict["verdict"], verdict["measured_max"])


def test_rejoining_late_or_never_violates(judge: Judge) -> None:
    assert "VIOLATED" == judge(rejoin(6_600), "R32-rejoin")["verdict"]
    assert "VIOLATED" == judge(rejoin(16_600, busy_to_ms=15_000), "R32-rejoin")["verdict"]
    assert "never joined again" in judge(rejoin(None), "R32-rejoin")["reason"]


def test_being_told_before_its_assignment_has_reached_the_member_does_not_count(
    judge: Judge,
) -> None:
    history = rejoin(9_100).told("member-1", "assigned", 7_500)
    assert "VIOLATED" == judge(rejoin(9_100), "R32-rejoin")["verdict"]
    assert "UNKNOWN" == judge(history, "R32-rejoin")["verdict"]
    history.heartbeats("member-1", 9_000, error_code=27)
    verdict = judge(history, "R32-rejoin")
    assert ("HOLDS", 100) == (verdict["verdict"], verdict["measured_max"])


@pytest.mark.parametrize(
    ("lost_ms", "verdict", "measured"),
    [(8_000, "HOLDS", 100), (8_951, "VIOLATED", 2_100), (4_000, "VIOLATED", 2_100)],
)
def test_an_answer_on_a_connection_that_was_given_up_tells_nobody(
    judge: Judge, lost_ms: float, verdict: str, measured: float
) -> None:
    """The coordinator answers a heartbeat after 4 s, and the next one, sent anew, 2 s later."""
    history = java().member("member-1").join("member-1", 500)
    history.heartbeats("member-1", 9_000, error_code=27, arrived_at=at(5_000))
    history.told("member-1", "coordinator_lost", lost_ms)
    history.heartbeats("member-1", 11_000, error_code=27).join("member-1", 11_100, 2)
    found = judge(history, "R32-rejoin")
    assert (verdict, measured) == (found["verdict"], found["measured_max"])


def test_who_left_instead_is_not_examined(judge: Judge) -> None:
    history = rejoin(None).says("left", 5_500, "member-1")
    assert "UNKNOWN" == judge(history, "R32-rejoin")["verdict"]


@pytest.mark.parametrize(
    ("loaded_ms", "examined"), [(5_000, 1), (5_001, 0), (9_000, 0), (9_001, 1)]
)
def test_a_join_that_waits_at_a_coordinator_that_dies_is_on_no_record(
    judge: Judge, loaded_ms: float, examined: int
) -> None:
    history = rejoin(9_000).says("member_added", 1, "member-1").says("loaded", loaded_ms, broker=2)
    assert examined == judge(history, "R32-rejoin")["examined"]


@pytest.mark.parametrize(("joins_ms", "verdict"), [(6_550, "HOLDS"), (6_551, "VIOLATED")])
def test_rejoining_has_a_second_and_a_tick(judge: Judge, joins_ms: float, verdict: str) -> None:
    assert verdict == judge(rejoin(joins_ms), "R32-rejoin")["verdict"]


def test_a_member_is_told_by_a_heartbeat_of_the_group_answered_27(judge: Judge) -> None:
    """The first such; and rejoins with its own next JoinGroup."""
    history = rejoin(5_900).join("member-1", 7_000, 3).heartbeats("member-1", 5_500, error_code=27)
    history.heartbeats("member-1", 4_000, error_code=27, **OTHER).heartbeats("member-1", 4_100)
    history.sync("member-1", 4_200, error_code=27).sync("member-1", 5_100)
    history.join("member-1", 4_300, 2).join("member-1", 4_999, 2).join("member-2", 5_050, 2)
    verdict = judge(history, "R32-rejoin")
    assert ("HOLDS", 1, 900) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])


def test_only_its_own_first_assignment_must_have_reached_the_member(judge: Judge) -> None:
    history = rejoin(9_100).told("member-1", "assigned", 4_999).told("member-1", "assigned", 7_500)
    history.told("member-1", "revoked", 7_600).told("member-2", "assigned", 7_500)
    history.told("member-1", "assigned", 7_500, generation=2)
    verdict = judge(history, "R32-rejoin")
    assert ("VIOLATED", 4_100) == (verdict["verdict"], verdict["measured_max"])


def test_what_comes_in_the_moment_of_being_told_may_have_come_after_it(judge: Judge) -> None:
    """Brokers whose clocks tick by a millisecond stamp the answer and the JoinGroup alike."""
    history = rejoin(9_100).join("member-1", 5_000, 2)
    verdict = judge(history, "R32-rejoin")
    assert ("HOLDS", 1, 0) == (verdict["verdict"], verdict["examined"], verdict["measured_max"])

    history = rejoin(9_100).told("member-1", "assigned", 5_000)
    assert 0 == judge(history, "R32-rejoin")["examined"]


@pytest.mark.parametrize(
    ("how", "asked_ms", "member", "verdict"),
    [
        ("sync", 4_900, "member-1", "HOLDS"),
        ("revoke", 5_000, "member-1", "HOLDS"),
        ("async", 4_900, "member-1", "VIOLATED"),
        ("sync", 5_001, "member-1", "VIOLATED"),
        ("sync", 4_900, "member-2", "VIOLATED"),
    ],
)
def test_a_member_that_waits_for_the_answer_to_a_commit_cannot_poll(
    judge: Judge, how: str, asked_ms: float, member: str, verdict: str
) -> None:
    history = rejoin(9_000, busy_to_ms=7_000)
    history.asked_commit(member, asked_ms, 0, 10, how=how, answered_at=at(8_000))
    assert verdict == judge(history, "R32-rejoin")["verdict"]


@pytest.mark.parametrize(
    ("event", "verdict"), [("stall_started", "HOLDS"), ("closing", "VIOLATED")]
)
def test_a_member_that_stalls_cannot_poll(judge: Judge, event: str, verdict: str) -> None:
    history = rejoin(8_500).told("member-1", event, 4_900, duration_ms=3_000)
    assert verdict == judge(history, "R32-rejoin")["verdict"]


def test_who_rejoined_late_and_was_removed_afterwards_is_examined(judge: Judge) -> None:
    history = rejoin(6_600).says("evicted", 20_000, "member-1")
    assert "VIOLATED" == judge(history, "R32-rejoin")["verdict"]


@pytest.mark.parametrize(("told_ms", "verdict"), [(58_448, "VIOLATED"), (58_449, "UNKNOWN")])
def test_who_is_told_as_the_run_is_stopped_is_not_examined(
    judge: Judge, told_ms: float, verdict: str
) -> None:
    history = History().member("member-1").heartbeats("member-1", told_ms, error_code=27)
    assert verdict == judge(history, "R32-rejoin")["verdict"]
