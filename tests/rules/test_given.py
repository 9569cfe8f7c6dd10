from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.histories import TOPIC, History, beat

Judge = Callable[[History, str], dict[str, Any]]


def parts(*partitions: int) -> list[dict[str, Any]]:
    return [{"topic": TOPIC, "partition": number} for number in partitions]


def given(*partitions: int, **group: Any) -> History:
    """member-1 is given t-0 and t-1 in generation 1, and handed these at 100 ms."""
    history = History(group=group).member("member-1")
    history.join("member-1", 5).sync("member-1", 50, assigned=parts(0, 1))
    return history.told("member-1", "assigned", 100, partitions)


# X69


@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
@pytest.mark.parametrize(
    ("handed", "verdict"),
    [((0, 1), "HOLDS"), ((0, 1, 2), "VIOLATED"), ((0,), "VIOLATED"), ((), "VIOLATED")],
)
def test_a_callback_hands_over_the_part_that_was_given(
    judge: Judge, protocol: str, handed: Sequence[int], verdict: str
) -> None:
    assert verdict == judge(given(*handed, protocol=protocol), "X69")["verdict"]


@pytest.mark.parametrize(("synced_ms", "verdict"), [(5_150, "HOLDS"), (5_151, "VIOLATED")])
def test_a_client_that_was_put_out_may_name_the_generation_before(
    judge: Judge, synced_ms: float, verdict: str
) -> None:
    history = given(0, 1, protocol="cooperative")
    history.sync("member-1", synced_ms, 2, assigned=parts(0, 1, 2))
    history.told("member-1", "assigned", 5_100, [2])
    assert verdict == judge(history, "X69")["verdict"]


@pytest.mark.parametrize(
    ("handed", "gave_up_ms", "verdict"),
    [
        ([2], None, "HOLDS"),  # and it keeps the others
        ([], None, "VIOLATED"),
        ([2], 5_090, "VIOLATED"),  # t-0 is its own in this generation too
        ([0, 2], 5_090, "HOLDS"),
    ],
)
def test_what_a_member_keeps_is_not_handed_over_again(
    judge: Judge, handed: list[int], gave_up_ms: float | None, verdict: str
) -> None:
    history = given(0, 1, protocol="cooperative")
    history.sync("member-1", 5_050, 2, assigned=parts(0, 1, 2))
    if gave_up_ms is not None:
        history.told("member-1", "revoked", gave_up_ms, [0])
    history.told("member-1", "assigned", 5_100, handed, generation=2)
    assert verdict == judge(history, "X69")["verdict"]


def test_a_generation_without_a_part_on_record_says_nothing_of_a_missing_one(
    judge: Judge,
) -> None:
    history = given(0, 1).told("member-1", "assigned", 5_100, [], generation=2)
    assert "HOLDS" == judge(history, "X69")["verdict"]


def modern(*handed: int, ms: float = 100, owned: Sequence[int] | None = None) -> History:
    """A member of KIP-848 is given t-0 at 50 ms and t-1 as well at 5 s."""
    history = History(group={"protocol": "consumer"}).member("member-1")
    beat(history, "member-1", 50, 0, 1, 0)
    beat(history, "member-1", 5_000, 1, 2, 0, 1)
    history.told("member-1", "assigned", ms, handed)
    if owned is not None:
        history.request(
            "CONSUMER_GROUP_HEARTBEAT", "member-1", 7_000, generation=2, owned=parts(*owned)
        )
    return history


@pytest.mark.parametrize(
    ("handed", "ms", "verdict"),
    [
        ((0,), 100, "HOLDS"),
        ((1,), 100, "VIOLATED"),
        ((0,), 0, "HOLDS"),  # within the slack
        ((0,), -1, "VIOLATED"),
        ((0, 1), 5_100, "HOLDS"),
        ((2,), 5_100, "VIOLATED"),
    ],
)
def test_in_kip_848_a_member_is_handed_what_it_was_given_by_then(
    judge: Judge, handed: Sequence[int], ms: float, verdict: str
) -> None:
    assert verdict == judge(modern(*handed, ms=ms), "X69")["verdict"]


@pytest.mark.parametrize(
    ("owned", "verdict"),
    [((0, 1), "HOLDS"), ((0,), "VIOLATED"), ((0, 1, 2), "VIOLATED"), (None, "HOLDS")],
)
def test_in_kip_848_a_member_says_what_it_holds(
    judge: Judge, owned: Sequence[int] | None, verdict: str
) -> None:
    assert verdict == judge(modern(0, 1, ms=5_100, owned=owned), "X69")["verdict"]


def says_next(history: History, ms: float, *owned: int) -> History:
    return history.request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", ms, generation=2, owned=parts(*owned)
    )


@pytest.mark.parametrize(("ms", "verdict"), [(9_150, "HOLDS"), (9_151, "VIOLATED")])
def test_what_a_member_got_it_says_within_an_interval(
    judge: Judge, ms: float, verdict: str
) -> None:
    """It says at 7 s that it has t-0, gets t-1 100 ms later, and says that when it speaks next."""
    history = modern(0, ms=100, owned=(0,)).told("member-1", "assigned", 7_100, [1])
    assert verdict == judge(says_next(history, ms, 0, 1), "X69")["verdict"]


def test_a_member_that_is_cut_off_may_say_it_later(judge: Judge) -> None:
    history = modern(0, ms=100, owned=(0,)).told("member-1", "assigned", 7_100, [1])
    history.fault("isolate", "member-1", 8_000, 9_000)
    assert "HOLDS" == judge(says_next(history, 9_500, 0, 1), "X69")["verdict"]


@pytest.mark.parametrize(
    ("ms", "verdict"), [(7_949, "VIOLATED"), (7_950, "HOLDS"), (8_000, "HOLDS")]
)
def test_what_a_member_gave_up_it_does_not_say_any_more(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = modern(0, 1, ms=5_100, owned=(0, 1)).told("member-1", "revoked", ms, [1])
    says_next(history, 8_000, 0, 1)
    assert verdict == judge(says_next(history, 8_100, 0), "X69")["verdict"]


@pytest.mark.parametrize(
    ("partition", "ms", "verdict"),
    [(0, 110, "HOLDS"), (1, 0, "HOLDS"), (1, -1, "VIOLATED"), (2, 110, "VIOLATED")],
)
def test_a_member_asks_for_positions_of_what_it_was_given(
    judge: Judge, partition: int, ms: float, verdict: str
) -> None:
    """Its part is in an answer at 50 ms, within the slack of 0 ms."""
    history = given(0, 1).told_position("member-1", partition, 7, ms)
    history.told_position("observer", 5, 7, ms)
    assert verdict == judge(history, "X69")["verdict"]


def test_who_was_put_out_says_nothing(judge: Judge) -> None:
    history = modern(0, 1, ms=5_100, owned=()).says("fenced", 6_000, "member-1")
    assert "HOLDS" == judge(history, "X69")["verdict"]


def test_without_callbacks_x69_is_unknown(judge: Judge) -> None:
    history = History().join("member-1", 5).sync("member-1", 50, assigned=parts(0))
    assert "UNKNOWN" == judge(history, "X69")["verdict"]
