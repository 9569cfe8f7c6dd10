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


@pytest.mark.parametrize(("synced_ms", "verdict"), [(5_400, "HOLDS"), (5_401, "VIOLATED")])
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
        ([2], 5_100, "HOLDS"),  # it had t-0 when it was handed the rest
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


@pytest.mark.parametrize(("ms", "verdict"), [(150, "HOLDS"), (151, "VIOLATED")])
def test_a_part_may_be_handed_over_in_two_callbacks_within_the_slack(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = given(0).told("member-1", "assigned", ms, [1])
    assert verdict == judge(history, "X69")["verdict"]


def test_only_as_it_is_handed_its_part_a_member_must_have_it(judge: Judge) -> None:
    history = given(0, 1).told("member-1", "revoked", 5_000, [0, 1])
    assert "HOLDS" == judge(history.told("member-1", "closing", 5_100), "X69")["verdict"]


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
        ((0,), -250, "HOLDS"),  # the line of the answer may be stamped late
        ((0,), -251, "VIOLATED"),
        ((0, 1), 5_100, "HOLDS"),
        ((2,), 5_100, "VIOLATED"),
    ],
)
def test_in_kip_848_a_member_is_handed_what_it_was_given_by_then(
    judge: Judge, handed: Sequence[int], ms: float, verdict: str
) -> None:
    assert verdict == judge(modern(*handed, ms=ms), "X69")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(21_000, "HOLDS"), (21_001, "VIOLATED")])
def test_in_kip_848_a_member_may_be_as_late_as_the_poll_limit_and_a_session(
    judge: Judge, ms: float, verdict: str
) -> None:
    """t-0 is in its part until 5 s. A heartbeat that is answered without a part changes none."""
    history = History(group={"protocol": "consumer", "max_poll_interval_ms": 10_000})
    beat(history.member("member-1"), "member-1", 50, 0, 1, 0)
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 1_000, member_epoch=1)
    beat(history, "member-1", 5_000, 1, 2, 1)
    history.told("member-1", "assigned", ms, [0])
    assert verdict == judge(history, "X69")["verdict"]


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


@pytest.mark.parametrize(
    ("kind", "whose", "from_ms", "to_ms", "verdict"),
    [
        ("isolate", "member-1", 8_000, 9_000, "HOLDS"),
        ("isolate", "member-2", 8_000, 9_000, "VIOLATED"),
        ("pause-broker", "broker-1", 8_000, 9_000, "HOLDS"),
        ("isolate", "member-1", 9_501, 9_800, "HOLDS"),  # being injected as it says it at last
        ("isolate", "member-1", 9_502, 9_800, "VIOLATED"),
        ("isolate", "member-1", 6_000, 7_100, "HOLDS"),
        ("isolate", "member-1", 6_000, 7_099, "VIOLATED"),
    ],
)
def test_a_member_that_is_cut_off_may_say_it_later(
    judge: Judge, kind: str, whose: str, from_ms: float, to_ms: float, verdict: str
) -> None:
    history = modern(0, ms=100, owned=(0,)).told("member-1", "assigned", 7_100, [1])
    history.member("member-2").fault(kind, whose, from_ms, to_ms)
    assert verdict == judge(says_next(history, 9_500, 0, 1), "X69")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(7_050, "HOLDS"), (7_051, "VIOLATED")])
def test_what_a_member_says_its_application_may_note_a_moment_later(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = modern(0, owned=(0, 1)).told("member-1", "assigned", ms, [1])
    assert verdict == judge(history, "X69")["verdict"]


def test_who_was_never_handed_anything_has_nothing_to_say(judge: Judge) -> None:
    history = modern(0, 1, ms=5_100, owned=(0, 1)).member("member-2")
    for ms in (1_000, 9_000):
        history.request("CONSUMER_GROUP_HEARTBEAT", "member-2", ms, owned=[])
    verdict = judge(history, "X69")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("handed", "owned", "why"),
    [
        ((0,), (0,), None),
        ((), (0,), "said that it owned what no callback gave it: t-0"),
        ((0,), (), "did not say that it owned: t-0"),
    ],
)
def test_a_member_that_joins_anew_says_what_it_holds_as_well(
    judge: Judge, handed: Sequence[int], owned: Sequence[int], why: str | None
) -> None:
    """At 5 s, with epoch 0; it speaks again 5 s later."""
    history = History(group={"protocol": "consumer"}).member("member-1")
    beat(history, "member-1", 50, 0, 1, 0)
    history.told("member-1", "assigned", 100, handed)
    for ms, epoch in ((5_000, 0), (10_000, 1)):
        says = parts(*(owned if epoch == 0 else handed))
        history.request(
            "CONSUMER_GROUP_HEARTBEAT", "member-1", ms, generation=epoch, member_epoch=1, owned=says
        )
    verdict = judge(history, "X69")
    assert ("VIOLATED" if why else "HOLDS") == verdict["verdict"]
    assert why is None or why in verdict["reason"]


@pytest.mark.parametrize(
    ("ms", "verdict"), [(7_699, "VIOLATED"), (7_700, "HOLDS"), (8_000, "HOLDS")]
)
def test_what_a_member_gave_up_it_does_not_say_any_more(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = modern(0, 1, ms=5_100, owned=(0, 1)).told("member-1", "revoked", ms, [1])
    says_next(history, 8_000, 0, 1)
    assert verdict == judge(says_next(history, 8_100, 0), "X69")["verdict"]


@pytest.mark.parametrize(
    ("partition", "ms", "verdict"),
    [(0, 110, "HOLDS"), (1, -250, "HOLDS"), (1, -251, "VIOLATED"), (2, 110, "VIOLATED")],
)
def test_a_member_asks_for_positions_of_what_it_was_given(
    judge: Judge, partition: int, ms: float, verdict: str
) -> None:
    """Its part is in an answer at 50 ms."""
    history = given(0, 1).told_position("member-1", partition, 7, ms)
    history.told_position("observer", 5, 7, ms)
    assert verdict == judge(history, "X69")["verdict"]


def test_who_was_put_out_says_nothing(judge: Judge) -> None:
    history = modern(0, 1, ms=5_100, owned=()).says("fenced", 6_000, "member-1")
    assert "HOLDS" == judge(history, "X69")["verdict"]


def test_without_callbacks_x69_is_unknown(judge: Judge) -> None:
    history = History().join("member-1", 5).sync("member-1", 50, assigned=parts(0))
    assert "UNKNOWN" == judge(history, "X69")["verdict"]
