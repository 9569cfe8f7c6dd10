from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.consumer_histories import Group, alone
from tests.histories import History, at, beat

Judge = Callable[[History, str], dict[str, Any]]


def epochs() -> History:
    """The group is in epoch 2 from 0 s and in epoch 3 from 5 s on; member-1 follows."""
    history = History(group={"protocol": "consumer"})
    history.says("epoch_bumped", 0, generation=2).says("epoch_bumped", 5_000, generation=3)
    beat(history, "member-1", 10, 0, 2)
    beat(history, "member-1", 4_000, 2, 2)
    beat(history, "member-1", 6_000, 2, 3)
    return history


# X35


def test_epochs_that_count_up_hold(judge: Judge) -> None:
    verdict = judge(epochs(), "X35")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("generation", "broker", "verdict"),
    [
        (4, 1, "HOLDS"),
        (5, 1, "VIOLATED"),
        (3, 1, "VIOLATED"),
        (2, 1, "VIOLATED"),
        (3, 2, "VIOLATED"),
        (2, 2, "VIOLATED"),
    ],
)
def test_a_group_epoch_is_neither_left_out_nor_used_again(
    judge: Judge, generation: int, broker: int, verdict: str
) -> None:
    history = epochs().says("epoch_bumped", 20_000, generation=generation, broker=broker)
    assert verdict == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(
    ("removed_ms", "generation", "verdict"),
    [
        (10_000, 1, "HOLDS"),
        (10_050, 1, "HOLDS"),
        (10_051, 1, "VIOLATED"),
        (None, 1, "VIOLATED"),
        (30_000, 1, "VIOLATED"),
        (10_000, 2, "VIOLATED"),
    ],
)
def test_a_group_that_was_empty_and_was_forgotten_begins_anew(
    judge: Judge, removed_ms: float | None, generation: int, verdict: str
) -> None:
    history = epochs().says("member_added", 0, "member-1")
    if removed_ms is not None:
        history.says("left", removed_ms, "member-1")
    history.says("epoch_bumped", 10_000, generation=4).says("member_added", 20_000, "member-2")
    history.says("epoch_bumped", 20_000, generation=generation)
    beat(history, "member-2", 20_010, 0, generation)
    (epoch,) = (
        row
        for row in judge(history, "X35")["rows"]
        if row["subject"] == f"epoch {generation}" and row["at"] == at(20_000)
    )
    assert (verdict == "HOLDS") == epoch["ok"]


def moved(event: str, ms: float = 5_000, *, bumped: bool = True, **row: Any) -> Group:
    """member-2 comes or goes by this line, and the epoch is raised next, or only for member-3."""
    history = alone().joins("member-2", 1_000, 3).says(event, ms, "member-2", **row)
    if bumped:
        history.bumped(ms + 0.1, 4)
    return history.joins("member-3", ms + 1, 5 if bumped else 4)


@pytest.mark.parametrize("event", ["left", "evicted", "fenced"])
def test_who_goes_raises_the_epoch(judge: Judge, event: str) -> None:
    assert "HOLDS" == judge(moved(event), "X35")["verdict"]
    verdict = judge(moved(event, bumped=False, evidence="gone"), "X35")
    (row,) = (row for row in verdict["rows"] if row["ok"] is False)
    assert (at(5_000), "gone") == (row["at"], row["evidence"])
    assert "was followed by no new epoch" in verdict["reason"]


@pytest.mark.parametrize("event", ["left_for_now", "replacing_failed", "member_id_given"])
def test_who_only_seems_to_come_or_go_raises_none(judge: Judge, event: str) -> None:
    assert "HOLDS" == judge(moved(event, bumped=False), "X35")["verdict"]


def coming(
    answered_ms: float = 5_001, arrived_ms: float = 4_999, text: str | None = None, **row: Any
) -> Group:
    """member-2 joins at 5 s, and no epoch is raised before member-3 joins."""
    history = alone().says("member_added", 5_000, "member-2", text=text)
    history.member("member-2", protocol="consumer", **row.pop("process", {}))
    answered = {"processed_at": at(answered_ms), "answered_at": at(answered_ms)}
    history.beat("member-2", arrived_ms, row.pop("epoch", 0), now=2, gets=(), **{**answered, **row})
    return history.joins("member-3", 5_500, 3)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({}, "VIOLATED"),
        ({"arrived_ms": 5_300, "answered_ms": 5_301}, "VIOLATED"),
        ({"arrived_ms": 5_301, "answered_ms": 5_302}, "HOLDS"),  # another heartbeat
        ({"answered_ms": 4_950, "arrived_ms": 4_949}, "VIOLATED"),
        ({"answered_ms": 4_949, "arrived_ms": 4_948}, "HOLDS"),
        ({"error_code": 111}, "HOLDS"),
        ({"epoch": 2}, "HOLDS"),
        ({"process": {"client": "app"}}, "HOLDS"),  # it may ask for topics by a pattern
        ({"text": "Created a new member m to replace the existing member o."}, "HOLDS"),
        ({"text": "Member m joins the consumer group."}, "VIOLATED"),
    ],
)
def test_who_joins_raises_the_epoch(judge: Judge, row: dict[str, Any], verdict: str) -> None:
    judged = judge(coming(**row), "X35")
    assert verdict == judged["verdict"]
    if verdict == "VIOLATED":
        assert "was followed by no new epoch" in judged["reason"]


def test_who_asks_again_is_in_the_group_already(judge: Judge) -> None:
    """The answer to its join was lost."""
    history = alone().joins("member-2", 1_000, 3).says("member_added", 2_000, "member-2")
    history.beat("member-2", 1_999, 0, now=3, gets=(), owns=()).joins("member-3", 5_000, 4)
    assert "HOLDS" == judge(history, "X35")["verdict"]


def test_who_comes_back_raises_the_epoch(judge: Judge) -> None:
    history = moved("evicted").says("member_added", 8_000, "member-2")
    history.beat("member-2", 7_999, 0, now=5, gets=(), owns=()).joins("member-4", 9_000, 6)
    assert "VIOLATED" == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(
    ("after", "row", "verdict"),
    [
        (("loaded", 5_000.5), {}, "HOLDS"),
        (("unloaded", 5_000.5), {}, "HOLDS"),
        (("emptied", 5_000.5), {}, "VIOLATED"),
        (("loaded", 5_000.5), {"broker": 2}, "VIOLATED"),
        (("loaded", 5_000.5), {"group": "payments"}, "VIOLATED"),
        (("upgraded", 9_000), {}, "HOLDS"),
        (("downgraded", 9_000), {}, "HOLDS"),
    ],
)
def test_a_coordinator_that_changes_and_another_protocol_are_not_examined(
    judge: Judge, after: tuple[str, float], row: dict[str, Any], verdict: str
) -> None:
    history = moved("left", bumped=False).says(*after, **row)
    assert verdict == judge(history, "X35")["verdict"]


def test_lines_of_one_moment_are_in_the_order_of_the_log(judge: Judge) -> None:
    history = alone().joins("member-2", 1_000, 3)
    history.says("epoch_bumped", 5_000, generation=4, evidence="broker-1-server.log:100")
    history.says("left", 5_000, "member-2", evidence="broker-1-server.log:99")
    history.says("target_computed", 6_000, generation=4, evidence="broker-1-server.log:101")
    assert "HOLDS" == judge(history, "X35")["verdict"]


def test_the_last_line_of_a_coordinator_and_who_was_in_by_the_old_protocol_show_nothing(
    judge: Judge,
) -> None:
    history = alone().joins("member-2", 1_000, 3).says("left", 5_000, "member-2")
    assert "HOLDS" == judge(history, "X35")["verdict"]
    history.says("left", 4_000, "member-9", broker=2).says("left", 4_001, "member-8", broker=2)
    assert "HOLDS" == judge(history, "X35")["verdict"]


def test_a_group_that_somebody_has_just_joined_is_not_empty(judge: Judge) -> None:
    """Its join and the epoch that it brought are of one moment."""
    history = History(group={"protocol": "consumer"})
    history.says("member_added", 0, "member-1").says("epoch_bumped", 0, generation=2)
    history.says("epoch_bumped", 20_000, generation=1)
    assert "VIOLATED" == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(
    ("kind", "injecting_ms", "healed_ms", "verdict"),
    [
        ("kill-broker", 14_999, 18_000, "HOLDS"),
        ("kill-broker", 21_000, 30_000, "HOLDS"),
        ("kill-broker", 21_001, 30_000, "VIOLATED"),
        ("kill-broker", 9_999, 15_000, "HOLDS"),  # a session after it is healed
        ("kill-broker", 9_999, 14_999, "VIOLATED"),
        ("isolate", 14_999, 18_000, "HOLDS"),
        ("close-consumer", 14_999, None, "VIOLATED"),
    ],
)
def test_an_epoch_that_could_not_be_written_may_be_used_again(
    judge: Judge, kind: str, injecting_ms: float, healed_ms: float | None, verdict: str
) -> None:
    """Epoch 4 is bumped at 20 s, and by the same coordinator once more at 21 s."""
    history = epochs().says("epoch_bumped", 20_000, generation=4)
    history.says("epoch_bumped", 21_000, generation=4)
    history.fault(kind, "broker-3", injecting_ms + 1, healed_ms)
    assert verdict == judge(history, "X35")["verdict"]


def test_an_epoch_was_written_when_a_member_was_first_told_of_it(judge: Judge) -> None:
    """It is told at 20.5 s and again at 22 s; another coordinator repeats it at 21 s."""
    history = epochs().says("epoch_bumped", 20_000, generation=4)
    history.says("epoch_bumped", 21_000, generation=4, broker=2)
    beat(history, "member-1", 20_500, 3, 4)
    beat(history, "member-1", 22_000, 4, 4)
    assert "VIOLATED" == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(
    ("told_ms", "row", "verdict"),
    [
        (20_949, {}, "VIOLATED"),
        (20_950, {}, "HOLDS"),
        (20_500, {"error_code": 110}, "HOLDS"),
        (20_500, {"group": "payments"}, "HOLDS"),
    ],
)
def test_a_coordinator_that_takes_over_has_the_epoch_that_a_member_was_told(
    judge: Judge, told_ms: float, row: dict[str, Any], verdict: str
) -> None:
    """Epoch 4 is bumped at 20 s, and by another coordinator once more at 21 s."""
    history = epochs().says("epoch_bumped", 20_000, generation=4)
    history.says("epoch_bumped", 21_000, generation=4, broker=2)
    history.request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", told_ms, generation=3, member_epoch=4, **row
    )
    assert verdict == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(
    ("names", "told", "verdict"),
    [
        (3, 3, "HOLDS"),
        (2, 3, "VIOLATED"),
        (3, 2, "VIOLATED"),
        (3, 4, "VIOLATED"),
        (0, 3, "HOLDS"),
        (0, 2, "HOLDS"),
        (-1, -1, "HOLDS"),
    ],
)
def test_a_member_names_what_it_was_told_and_is_told_no_less(
    judge: Judge, names: int, told: int, verdict: str
) -> None:
    history = epochs()
    beat(history, "member-1", 8_000, names, told)
    assert verdict == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(8_050, "HOLDS"), (8_051, "VIOLATED")])
def test_nobody_is_told_of_an_epoch_before_there_is_a_target_for_it(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = epochs().says("target_computed", 10, generation=2, reason="uniform")
    history.says("target_computed", 5_000, generation=3, reason="uniform")
    history.says("epoch_bumped", 7_900, generation=4)
    history.says("target_computed", ms, generation=4, reason="uniform")
    beat(history, "member-1", 8_000, 3, 4)
    assert verdict == judge(history, "X35")["verdict"]


def test_an_answer_that_was_lost_leaves_the_epoch_before(judge: Judge) -> None:
    history = epochs().member("member-1")
    beat(history, "member-1", 8_000, 2, 3)
    lost = history.fault("isolate", "member-1", 6_500, 7_000)
    assert "HOLDS" == judge(lost, "X35")["verdict"]


@pytest.mark.parametrize(
    ("injecting_ms", "healed_ms", "verdict"),
    [
        (18_000, 20_000, "HOLDS"),
        (18_001, 20_000, "VIOLATED"),  # that came later
        (1_000, 10_000, "HOLDS"),  # until a session after it was healed
        (1_000, 9_999, "VIOLATED"),  # that was over before
    ],
)
def test_an_answer_is_lost_between_the_heartbeat_that_it_was_to_and_the_next(
    judge: Judge, injecting_ms: float, healed_ms: float, verdict: str
) -> None:
    """At 16 s member-1 is told epoch 4, and at 18 s it names epoch 3."""
    history = epochs().says("epoch_bumped", 15_000, generation=4).member("member-1")
    beat(history, "member-1", 16_000, 3, 4)
    beat(history, "member-1", 18_000, 3, 4)
    history.fault("isolate", "member-1", injecting_ms + 1, healed_ms)
    assert verdict == judge(history, "X35")["verdict"]


@pytest.mark.parametrize(
    ("first", "second", "why", "line"),
    [
        ((1, 2), (2, 2), "3 heartbeats", 1),
        ((1, 0), (0, 2), "was told epoch 0 when it was in 1", 2),
        ((1, 2), (1, 2), "named epoch 1 when it had been told 2", 3),
        ((2, 2), (2, 2), "named epoch 2 when it had been told 1", 2),
        ((2, 2), (1, 2), "named epoch 2 when it had been told 1", 2),  # the first of two
    ],
)
def test_the_first_epochs_are_followed_as_well(
    judge: Judge, first: tuple[int, int], second: tuple[int, int], why: str, line: int
) -> None:
    """What a member names, and is told, in its first two heartbeats after it was told epoch 1."""
    history = History(group={"protocol": "consumer"})
    history.says("epoch_bumped", 0, generation=1).says("epoch_bumped", 5_000, generation=2)
    beat(history, "member-1", 10, 0, 1)
    beat(history, "member-1", 6_000, *first)
    beat(history, "member-1", 8_000, *second)
    (row,) = (row for row in judge(history, "X35")["rows"] if row["subject"].startswith("member"))
    assert (why, f"broker-1-requests.log:{line}") == (row["why"], row["evidence"])


def test_a_member_id_that_two_programs_bear_is_one_member(judge: Judge) -> None:
    history = epochs()
    beat(history, "member-1", 8_000, 3, 3)
    history.rows["requests"][-1]["client_id"] = "member-0"
    subjects = [row["subject"] for row in judge(history, "X35")["rows"]]
    assert ["member-0 (member-1-00000000-0000-4000-8000-000000000001)"] == [
        subject for subject in subjects if subject.startswith("member")
    ]


def test_epochs_of_another_group_are_not_this_ones(judge: Judge) -> None:
    history = epochs().says("epoch_bumped", 6_000, generation=9, group="payments")
    history.says("target_computed", 6_000, generation=9, group="payments", reason="uniform")
    beat(history, "member-1", 8_000, 3, 4)
    (row,) = (row for row in judge(history, "X35")["rows"] if row["ok"] is False)
    assert "was told epoch 4 when the newest target was for 3" == row["why"]


def test_a_group_that_changes_its_protocol_is_not_judged_by_its_epochs(judge: Judge) -> None:
    history = epochs().says("epoch_bumped", 20_000, generation=7).says("upgraded", 19_000)
    verdict = judge(history, "X35")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_epochs_or_members_x35_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(group={"protocol": "consumer"}), "X35")["verdict"]


@pytest.mark.parametrize(
    ("generation", "ms", "verdict"),
    [
        (2, 10, "HOLDS"),
        (3, 6_000, "HOLDS"),
        (3, 4_950, "HOLDS"),
        (3, 4_949, "VIOLATED"),
        (4, 6_000, "VIOLATED"),
    ],
)
def test_a_target_is_computed_for_an_epoch_that_the_group_has(
    judge: Judge, generation: int, ms: float, verdict: str
) -> None:
    history = epochs().says("target_computed", ms, generation=generation, reason="uniform")
    history.says("target_computed", 5_000, generation=3, reason="uniform")
    assert verdict == judge(history, "X35")["verdict"]


def test_a_target_needs_an_epoch(judge: Judge) -> None:
    history = History(group={"protocol": "consumer"})
    history.says("target_computed", 10, generation=2, reason="uniform")
    (row,) = judge(history, "X35")["rows"]
    assert "was computed when the group was in none" == row["why"]


# X57


@pytest.mark.parametrize(
    ("ms", "verdict"), [(2_000, "HOLDS"), (1_999, "VIOLATED"), (7_000, "VIOLATED")]
)
def test_the_broker_names_the_interval_of_the_group(judge: Judge, ms: int, verdict: str) -> None:
    history = epochs()
    for row in history.rows["requests"]:
        row["detail"] = '{"heartbeat_interval_ms": 2000}'
    history.rows["requests"][-1]["detail"] = f'{{"heartbeat_interval_ms": {ms}}}'
    assert verdict == judge(history, "X57")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(1_700, "HOLDS"), (2_000, "VIOLATED")])
def test_the_interval_is_the_one_that_was_set_though_a_client_rounds_it(
    judge: Judge, ms: int, verdict: str
) -> None:
    """librdkafka sends every 2 s; another member has an interval of its own, which counts not."""
    history = epochs().member("member-1", heartbeat_interval_ms=1_700)
    history.member("member-2", heartbeat_interval_ms=1_500)
    for row in history.rows["requests"]:
        row["detail"] = f'{{"heartbeat_interval_ms": {ms}}}'
    assert verdict == judge(history, "X57")["verdict"]


@pytest.mark.parametrize("intervals", [(2_000, 7_000), (2_000, 1_700), (1_500,), ()])
def test_members_with_intervals_of_their_own_do_not_change_the_groups(
    judge: Judge, intervals: tuple[int, ...]
) -> None:
    history = epochs()
    for number, ms in enumerate(intervals, 1):
        history.member(f"member-{number}", heartbeat_interval_ms=ms)
    for row in history.rows["requests"]:
        row["detail"] = '{"heartbeat_interval_ms": 2000}'
    assert "HOLDS" == judge(history, "X57")["verdict"]


def test_an_error_and_the_answer_to_a_leave_name_no_interval(judge: Judge) -> None:
    """Brokers leave the field at 0 in both."""
    history = epochs().heartbeats("member-1", 9_000)
    beat(history, "member-1", 7_000, 3, 3)
    beat(history, "member-1", 8_000, -1, -1)
    history.rows["requests"][-2]["error_code"] = 110
    for row, ms in zip(history.rows["requests"], (2_000, 2_000, 2_000, 0, 0, 0), strict=True):
        row["detail"] = f'{{"heartbeat_interval_ms": {ms}}}'
    verdict = judge(history, "X57")
    assert ("HOLDS", "3 answers") == (verdict["verdict"], verdict["rows"][0]["note"])


def test_answers_without_an_interval_are_unknown_to_x57(judge: Judge) -> None:
    assert "UNKNOWN" == judge(epochs(), "X57")["verdict"]


@pytest.mark.parametrize(
    ("epoch", "told", "verdict"),
    [(-1, -1, "HOLDS"), (-2, -2, "HOLDS"), (-1, 3, "VIOLATED"), (-2, -1, "VIOLATED")],
)
def test_who_leaves_is_told_the_epoch_by_which_it_left(
    judge: Judge, epoch: int, told: int, verdict: str
) -> None:
    history = epochs()
    beat(history, "member-1", 9_000, epoch, told)
    assert verdict == judge(history, "X35")["verdict"]


# X83


def targets(*assignors: str, wants: Sequence[str | None] = (None, None)) -> History:
    """Targets by these assignors, of members that ask for these."""
    history = History(group={"protocol": "consumer"})
    for number, wanted in enumerate(wants, 1):
        history.member(f"member-{number}", protocol="consumer", assignor=wanted)
    for number, assignor in enumerate(assignors, 2):
        history.says("target_computed", 1_000 * number, generation=number, reason=assignor)
    return history


@pytest.mark.parametrize(
    ("assignors", "wants", "verdict"),
    [
        (["uniform", "uniform"], (None, None), "HOLDS"),
        (["range", "range"], (None, None), "HOLDS"),  # the broker's default
        (["uniform", "range"], (None, None), "VIOLATED"),
        (["range", "range"], ("range", "range"), "HOLDS"),
        (["uniform", "uniform"], ("range", "range"), "VIOLATED"),
        (["uniform", "range"], ("range", None), "UNKNOWN"),  # whichever most ask for
        ([], (None, None), "UNKNOWN"),
    ],
)
def test_a_target_is_computed_as_asked(
    judge: Judge, assignors: list[str], wants: Sequence[str | None], verdict: str
) -> None:
    assert verdict == judge(targets(*assignors, wants=wants), "X83")["verdict"]


def test_targets_of_another_group_are_of_other_members(judge: Judge) -> None:
    history = targets("uniform")
    history.says("target_computed", 9_000, generation=9, reason="range", group="payments")
    assert ("HOLDS", 1) == (judge(history, "X83")["verdict"], judge(history, "X83")["examined"])


def test_classic_members_of_a_group_ask_for_no_assignor_of_the_broker(judge: Judge) -> None:
    """A group that is being moved to KIP-848 has both."""
    history = targets("uniform", "uniform", wants=("uniform", "uniform"))
    history.member("member-3", protocol="cooperative", assignor="cooperative-sticky")
    history.member("producer-1", role="producer", protocol=None)
    assert "HOLDS" == judge(history, "X83")["verdict"]
