from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]


def handover(given_up_ms: float, taken_ms: float, event: str = "revoked") -> History:
    """Partition 0 from member-1 to member-2."""
    history = History().member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", event, given_up_ms, [0])
    return history.told("member-2", "assigned", taken_ms, [0])


# R21


def test_one_owner_after_the_other_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(handover(5_000, 5_100), "R21")["verdict"]


def test_two_owners_at_once_violate(judge: Judge) -> None:
    verdict = judge(handover(5_000, 4_000), "R21")
    assert ("VIOLATED", 1_000) == (verdict["verdict"], verdict["measured_max"])


def test_a_generation_in_which_one_of_two_partitions_is_given_twice_violates(judge: Judge) -> None:
    history = History().join("member-1", 0).join("member-2", 1).rebalance(2, 1, 2)
    gives = [("member-1", 0), ("member-2", 0), ("member-2", 1)]
    verdict = judge(history.sync("member-1", 14, gives=gives), "R21")
    assert "VIOLATED" == verdict["verdict"]
    assert "t-0 was given to 2 members" in verdict["reason"]


def test_an_owner_that_the_coordinator_removed_does_not_count(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("evicted", 6_000, "member-1")
    assert "HOLDS" == judge(history, "R21")["verdict"]


def test_an_owner_removed_only_after_the_other_got_it_counts(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("evicted", 8_000, "member-1")
    assert "VIOLATED" == judge(history, "R21")["verdict"]


@pytest.mark.parametrize(("evicted_ms", "verdict"), [(7_052, "HOLDS"), (7_053, "VIOLATED")])
def test_the_line_about_a_removal_may_be_late(
    judge: Judge, evicted_ms: float, verdict: str
) -> None:
    """By 50 ms, and the two stamps are rounded."""
    history = handover(9_000, 7_000, "lost").join("member-1", 0)
    assert verdict == judge(history.says("evicted", evicted_ms, "member-1"), "R21")["verdict"]


@pytest.mark.parametrize(("taken_ms", "verdict"), [(4_998, "HOLDS"), (4_997, "VIOLATED")])
def test_two_owners_within_the_rounding_of_two_stamps_hold(
    judge: Judge, taken_ms: float, verdict: str
) -> None:
    assert verdict == judge(handover(5_000, taken_ms), "R21")["verdict"]


def test_the_longest_overlap_with_any_owner_before_counts(judge: Judge) -> None:
    """member-1 keeps what member-2 is given for a while, and then member-3, and later 4 and 5."""
    history = handover(9_000, 4_000).told("member-2", "revoked", 4_500, [0])
    history.told("member-3", "assigned", 8_200, [0]).told("member-3", "revoked", 9_500, [0])
    history.told("member-4", "assigned", 20_000, [0]).told("member-4", "revoked", 20_100, [0])
    history.told("member-5", "assigned", 20_050, [0]).told("member-6", "assigned", 4_000, [1])
    verdict = judge(history, "R21")
    assert ("VIOLATED", 2, 800) == (
        verdict["verdict"], verdict["examined"], verdict["measured_max"]
    )  # fmt: skip
    assert at(8_200) == next(row["at"] for row in verdict["rows"] if row["measured"])


@pytest.mark.parametrize("rule", ["R21", "R21-delivery"])
def test_an_overlap_lasts_until_the_first_of_both_has_ended(judge: Judge, rule: str) -> None:
    history = handover(9_000, 4_000).told("member-2", "revoked", 4_500, [0])
    assert 500 == judge(history, rule)["measured_max"]


@pytest.mark.parametrize("rule", ["R21", "R21-delivery"])
def test_who_never_gives_a_partition_up_holds_it_to_the_end(judge: Judge, rule: str) -> None:
    history = History().told("member-1", "assigned", 0, [0])
    assert 30_000 == judge(history.told("member-2", "assigned", 30_000, [0]), rule)["measured_max"]


def test_the_earliest_of_a_generations_assignments_is_its_time(judge: Judge) -> None:
    history = History().sync("member-1", 10, gives=[("member-1", 0), ("member-2", 1)])
    history.sync("member-1", 30, gives=[("member-1", 0)])
    history.sync("member-1", 40, 2, gives=[("member-2", 0)])
    verdict = judge(history, "R21")
    assert ("HOLDS", [at(10), at(40)]) == (
        verdict["verdict"], sorted(row["at"] for row in verdict["rows"])
    )  # fmt: skip
    history.sync("member-1", 50, 2, gives=[("member-1", 0)])
    assert 1 == judge(history, "R21")["violations"]


def test_a_leader_that_gives_a_partition_to_two_violates(judge: Judge) -> None:
    history = History().sync("member-1", 10, gives=[("member-1", 0), ("member-2", 0)])
    assert "given to 2 members" in judge(history, "R21")["reason"]


@pytest.mark.parametrize(("left_ms", "verdict"), [(6_050, "HOLDS"), (6_051, "VIOLATED")])
def test_in_kip_848_who_left_before_another_was_told_holds_nothing(
    judge: Judge, left_ms: float, verdict: str
) -> None:
    """member-1 closes after the target has been computed that moves its partition to member-2."""
    history = History(group={"protocol": "consumer"})
    for number, ms in ((1, 0), (2, 5_000)):
        history.says("member_added", ms, f"member-{number}")
        history.says("target_computed", ms, generation=number, reason="uniform")
        history.request(
            "CONSUMER_GROUP_HEARTBEAT", f"member-{number}", 6_000 if number == 2 else 100,
            generation=0, member_epoch=number, assigned=[{"topic": "t", "partition": 0}],
        )  # fmt: skip
    assert verdict == judge(history.says("left", left_ms, "member-1"), "R21")["verdict"]


def test_a_leader_that_gives_each_partition_once_holds(judge: Judge) -> None:
    history = History().sync("member-1", 10, gives=[("member-1", 0), ("member-2", 1)])
    assert "HOLDS" == judge(history, "R21")["verdict"]


def test_without_owners_r21_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R21")["verdict"]


def test_who_is_told_of_an_assignment_after_its_removal_holds_nothing(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0)
    assert "VIOLATED" == judge(history, "R21")["verdict"]
    assert "HOLDS" == judge(history.says("left", -10, "member-1"), "R21")["verdict"]
    history.says("member_added", 50, "member-1").says("left", 6_000, "member-1")
    assert ("HOLDS", 1) == (judge(history, "R21")["verdict"], judge(history, "R21")["examined"])


def test_who_is_back_with_its_id_before_it_is_told_holds_what_it_is_told(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("left", -10, "member-1")
    assert "VIOLATED" == judge(history.says("member_added", -5, "member-1"), "R21")["verdict"]


def test_who_was_removed_before_it_was_told_overlaps_with_nobody(judge: Judge) -> None:
    """member-2 is told of t-0 in the moment in which member-1 gives it up, and had left before."""
    history = handover(5_000, 5_000).join("member-2", 0).says("left", 4_000, "member-2")
    (row,) = judge(history, "R21")["rows"]
    assert (True, 0, at(5_000)) == (row["ok"], row["measured"], row["at"])


def test_the_earliest_of_its_partitions_is_the_time_of_a_generation(judge: Judge) -> None:
    history = History().sync("member-1", 10, gives=[("member-1", 0)])
    history.sync("member-1", 30, gives=[("member-2", 1)])
    assert [at(10)] == [row["at"] for row in judge(history, "R21")["rows"]]


def test_of_several_topics_the_one_that_was_given_twice_is_told(judge: Judge) -> None:
    history = History().sync("member-1", 10, gives=[("member-1", 4), ("member-2", 4)])
    for topic in ("s", "u"):
        history.rows["requests"][-1]["assignments"].append(
            {"member_id": member_id("member-1"), "topic": topic, "partition": 7}
        )
    assert "t-4 was given to 2 members" in judge(history, "R21")["reason"]


# R21-delivery


def test_a_zombie_that_holds_on_violates_the_literal_rule(judge: Judge) -> None:
    history = handover(9_000, 7_000, "lost").join("member-1", 0).says("evicted", 6_000, "member-1")
    verdict = judge(history, "R21-delivery")
    assert ("VIOLATED", 2_000) == (verdict["verdict"], verdict["measured_max"])


def test_a_hand_over_in_order_holds_literally_too(judge: Judge) -> None:
    assert "HOLDS" == judge(handover(5_000, 5_100), "R21-delivery")["verdict"]


def test_a_member_that_gets_its_own_partition_again_does_not_overlap(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    history.told("member-1", "revoked", 5_000, [0]).told("member-1", "assigned", 5_100, [0])
    assert "HOLDS" == judge(history, "R21-delivery")["verdict"]


@pytest.mark.parametrize(
    ("row", "records"),
    [
        (("member-1", 0, 0, 9, 5_500), 10),
        (("member-1", 0, 0, 9, 4_000, 5_500), 10),  # fetched before, and in work since
        (("member-1", 0, 0, 9, 4_000, 5_000), 10),
        (("member-1", 0, 0, 9, 4_000, 4_999), 0),
        (("member-1", 0, 0, 9, 7_000, 7_001), 10),
        (("member-1", 0, 0, 9, 7_001, 7_002), 0),
        (("member-1", 0, 0, 9, 5_500, None), 0),
        (("member-1", 1, 0, 9, 5_500), 0),
        (("member-2", 0, 0, 9, 5_500), 0),
    ],
)
def test_what_a_zombie_processes_is_told(judge: Judge, row: tuple[Any, ...], records: int) -> None:
    verdict = judge(handover(7_000, 5_000, "lost").delivered(*row), "R21-delivery")
    assert "VIOLATED" == verdict["verdict"]
    assert f"processed {records} records of it meanwhile" in verdict["reason"]


def test_without_owners_the_literal_rule_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "R21-delivery")["verdict"]


@pytest.mark.parametrize(("taken_ms", "verdict"), [(4_998, "HOLDS"), (4_997, "VIOLATED")])
def test_two_readers_within_the_rounding_of_two_stamps_hold(
    judge: Judge, taken_ms: float, verdict: str
) -> None:
    assert verdict == judge(handover(5_000, taken_ms), "R21-delivery")["verdict"]


def test_the_longest_of_several_overlaps_is_told_with_its_time(judge: Judge) -> None:
    history = handover(5_000, 4_900).told("member-2", "revoked", 9_000, [0])
    history.told("member-3", "assigned", 8_000, [0]).told("member-3", "revoked", 10_000, [0])
    verdict = judge(history.told("member-4", "assigned", 9_990, [0]), "R21-delivery")
    assert (1_000, at(8_000)) == (verdict["measured_max"], verdict["rows"][0]["at"])


@pytest.mark.parametrize("rule", ["R21", "R21-delivery"])
@pytest.mark.parametrize(("taken_ms", "verdict"), [(12_000, "HOLDS"), (5_990, "VIOLATED")])
def test_a_dead_member_holds_nothing(
    judge: Judge, rule: str, taken_ms: float, verdict: str
) -> None:
    """member-1 is killed at 6 s, and evicted at 11 s."""
    history = History().member("member-1", end="killed", ended_at=None).join("member-1", 0)
    history.told("member-1", "assigned", 0, [0]).fault("kill-consumer", "member-1", 6_000)
    history.says("evicted", 11_000, "member-1").told("member-2", "assigned", taken_ms, [0])
    found = judge(history, rule)
    assert (verdict, 10 if verdict == "VIOLATED" else 0) == (
        found["verdict"], found["measured_max"]
    )  # fmt: skip


def test_what_is_processed_in_an_overlap_of_a_millisecond_is_told(judge: Judge) -> None:
    history = handover(5_000, 4_999).delivered("member-1", 0, 0, 9, 4_990, 4_999.5)
    (row,) = judge(history, "R21-delivery")["rows"]
    assert (True, 1) == (row["ok"], row["measured"])
    assert "processed 10 records of it meanwhile" in row["why"]


# R21-stop


def told_to_stop(*, polled_ms: float, processed_ms: float) -> History:
    """member-1 has to give partition 0 up at 5 s."""
    history = History().told("member-1", "assigned", 0, [0]).told("member-1", "revoked", 5_000, [0])
    return history.delivered("member-1", 0, 0, 9, polled_ms, processed_ms)


def test_work_done_before_the_revocation_holds(judge: Judge) -> None:
    assert (
        "HOLDS" == judge(told_to_stop(polled_ms=4_900, processed_ms=4_990), "R21-stop")["verdict"]
    )


def test_work_finished_after_the_revocation_violates(judge: Judge) -> None:
    verdict = judge(told_to_stop(polled_ms=4_900, processed_ms=5_100), "R21-stop")
    assert ("VIOLATED", 10) == (verdict["verdict"], verdict["measured_max"])


def test_polls_after_the_revocation_violate(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    assert "VIOLATED" == judge(history, "R21-stop")["verdict"]


def test_every_poll_after_the_revocation_counts(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    history.delivered("member-1", 0, 10, 14, 5_700, 5_800)
    assert 15 == judge(history, "R21-stop")["measured_max"]


def test_polls_after_getting_the_partition_again_hold(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    history.told("member-1", "assigned", 5_400, [0])
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]


def test_without_records_or_a_revocation_r21_stop_is_unknown(judge: Judge) -> None:
    history = History().told("member-1", "assigned", 0, [0])
    assert "UNKNOWN" == judge(history, "R21-stop")["verdict"]
    history.delivered("member-1", 0, 0, 9, 100)
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]


@pytest.mark.parametrize(
    ("polled_ms", "row", "verdict"),
    [
        (100, {}, "HOLDS"),
        (0, {}, "HOLDS"),
        (-1, {}, "VIOLATED"),
        (100, {"topic": "u"}, "VIOLATED"),
        (100, {"partition": 1}, "VIOLATED"),
        (100, {"member": "member-2"}, "VIOLATED"),
    ],
)
def test_records_of_a_partition_that_it_was_not_given_violate(
    judge: Judge, polled_ms: float, row: dict[str, Any], verdict: str
) -> None:
    history = History().told("member-1", "assigned", 0, [0])
    where = {"member": "member-1", "partition": 0, **row}
    judged = judge(history.delivered(first=0, last=9, ms=polled_ms, **where), "R21-stop")
    assert verdict == judged["verdict"]
    assert ("had not been assigned" in judged["reason"]) == (verdict == "VIOLATED")


@pytest.mark.parametrize("event", ["revoked", "lost"])
@pytest.mark.parametrize(
    ("polled_ms", "processed_ms", "records"),
    [
        (5_000, 5_000, 0),
        (4_900, 5_050, 0),
        (4_900, 5_051, 10),
        (5_050, 5_050, 0),
        (5_051, 5_051, 10),
        (4_900, None, 0),
    ],
)
def test_work_may_go_on_within_slack_of_being_told_to_stop(
    judge: Judge, event: str, polled_ms: float, processed_ms: float | None, records: int
) -> None:
    history = History().told("member-1", "assigned", 0, [0]).told("member-1", event, 5_000, [0])
    history.delivered("member-1", 0, 0, 9, polled_ms, processed_ms)
    history.told("member-1", "closing", 5_200, [0])
    verdict = judge(history, "R21-stop")
    assert (1, records) == (verdict["examined"], verdict["measured_max"])


def test_the_next_time_it_is_told_to_stop_is_what_counts(judge: Judge) -> None:
    """Told at 2 s, given it again at 3 s, told at 5 s and at 7 s; polled at 4 s."""
    history = told_to_stop(polled_ms=4_000, processed_ms=5_040)
    history.told("member-1", "lost", 2_000, [0]).told("member-1", "assigned", 3_000, [0])
    history.told("member-1", "assigned", 6_000, [0]).told("member-1", "revoked", 7_000, [0])
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]
    history.delivered("member-1", 0, 10, 14, 4_100, 5_060).delivered("member-1", 0, 15, 16, 8_000)
    verdict = judge(history, "R21-stop")
    assert (7, at(5_000)) == (verdict["measured_max"], verdict["rows"][0]["at"])


def test_what_another_member_or_partition_is_delivered_is_another_matter(judge: Judge) -> None:
    history = told_to_stop(polled_ms=4_900, processed_ms=4_990)
    history.told("member-1", "assigned", 0, [1]).told("member-2", "assigned", 0, [0])
    history.told("member-1", "assigned", 0, [0])
    history.rows["client_events"][-1]["partitions"][0]["topic"] = "u"
    history.delivered("member-1", 1, 0, 9, 6_000).delivered("member-2", 0, 0, 9, 6_000)
    history.delivered("member-1", 0, 0, 9, 6_000, topic="u").told("member-3", "assigned", 0, [0])
    history.told("member-2", "revoked", 6_500, [1]).told("member-2", "revoked", 5_000, [2])
    verdict = judge(history, "R21-stop")
    assert ("HOLDS", 6) == (verdict["verdict"], verdict["examined"])


def test_a_poll_in_the_moment_it_is_given_a_partition_again_holds(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    history.told("member-1", "assigned", 5_500, [0])
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]


def test_being_told_and_given_it_in_one_moment_is_having_it(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    history.told("member-1", "assigned", 5_000, [0])
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]


def test_a_callback_counts_from_when_it_was_seen(judge: Judge) -> None:
    history = told_to_stop(polled_ms=4_900, processed_ms=5_100)
    history.rows["client_events"][1]["observed_at"] = at(5_090)
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]


def test_what_is_given_up_and_given_in_one_moment_was_given_up_first(judge: Judge) -> None:
    """Whichever of the two the journal has first."""
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    history.told("member-1", "assigned", 5_000, [0])
    history.rows["client_events"].reverse()
    assert "HOLDS" == judge(history, "R21-stop")["verdict"]


def test_records_that_were_never_its_own_are_told_before_those_that_were(judge: Judge) -> None:
    history = told_to_stop(polled_ms=5_500, processed_ms=5_600)
    history.delivered("member-1", 0, 10, 14, -1)
    verdict = judge(history, "R21-stop")
    assert ("VIOLATED", 15) == (verdict["verdict"], verdict["measured_max"])
    assert "had not been assigned" in verdict["reason"]
