from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.histories import History, beat

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
    [(10_000, 1, "HOLDS"), (None, 1, "VIOLATED"), (30_000, 1, "VIOLATED"), (10_000, 2, "VIOLATED")],
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
    assert verdict == judge(history, "X35")["verdict"]


def test_an_epoch_that_could_not_be_written_may_be_used_again(judge: Judge) -> None:
    history = epochs().says("epoch_bumped", 20_000, generation=4)
    history.says("epoch_bumped", 21_000, generation=4)
    history.fault("kill-broker", "broker-3", 15_000, 18_000)
    assert "HOLDS" == judge(history, "X35")["verdict"]


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
