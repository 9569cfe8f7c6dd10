from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.consumer_histories import Group, alone, measured
from tests.histories import History, at, in_another_group

Judge = Callable[[History, str], dict[str, Any]]


# X25


def migrating(*, up: bool = True, down: bool = True) -> Group:
    history = Group().member("member-1", protocol="eager").says("member_added", 0, "member-1")
    history.join("member-1", 5).member("member-3", protocol="consumer")
    assert isinstance(history, Group)
    if up:
        history.says("upgraded", 4_999, text="Converted the classic group to a consumer group.")
    history.says("member_added", 5_000, "member-3", reason="joins")
    history.says("left", 15_000, "member-3", reason="left")
    if down:
        history.says("downgraded", 15_001, text="Converted the consumer group to a classic group.")
    return history


def test_a_group_converted_and_converted_back_holds(judge: Judge) -> None:
    verdict = judge(migrating(), "X25")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_a_group_that_is_not_converted_violates(judge: Judge) -> None:
    assert "not upgraded" in judge(migrating(up=False), "X25")["reason"]


def test_a_group_that_is_not_converted_back_violates(judge: Judge) -> None:
    assert "not downgraded" in judge(migrating(down=False), "X25")["reason"]


def test_a_slow_conversion_is_part_of_its_request(judge: Judge) -> None:
    history = migrating(up=False).says("upgraded", 4_900, text="Converted the classic group.")
    history.beat("member-3", 4_890, 0, now=2, processed_at=at(5_100))
    assert "HOLDS" == judge(history, "X25")["verdict"]


def test_the_first_of_two_requests_under_way_may_have_converted_it(judge: Judge) -> None:
    history = migrating(up=False).says("upgraded", 4_900, text="Converted the classic group.")
    history.beat("member-3", 4_890, 0, now=2, processed_at=at(5_100))
    history.beat("member-3", 4_990, 0, now=2, processed_at=at(5_050))
    assert "HOLDS" == judge(history, "X25")["verdict"]


def test_the_last_of_two_requests_under_way_may_have_converted_it(judge: Judge) -> None:
    history = migrating(up=False).says("upgraded", 5_080, text="Converted the classic group.")
    history.beat("member-3", 4_990, 0, now=2, processed_at=at(5_010))
    history.beat("member-3", 4_995, 0, now=2, processed_at=at(5_100))
    assert "HOLDS" == judge(history, "X25")["verdict"]


@pytest.mark.parametrize(("ms", "verdict"), [(5_050, "HOLDS"), (5_051, "VIOLATED")])
def test_the_line_of_its_request_may_be_as_late_as_the_slack(
    judge: Judge, ms: float, verdict: str
) -> None:
    history = migrating(up=False).says("upgraded", 5_290, text="Converted the classic group.")
    history.beat("member-3", ms, 0, now=2, processed_at=at(5_300))
    assert verdict == judge(history, "X25")["verdict"]


def test_a_slow_conversion_back_is_part_of_its_request(judge: Judge) -> None:
    history = migrating(down=False).says("downgraded", 14_900, text="Converted back.")
    history.beat("member-3", 14_890, -1, processed_at=at(15_100))
    assert "HOLDS" == judge(history, "X25")["verdict"]


@pytest.mark.parametrize(
    ("upgraded_ms", "verdict"),
    [(4_939, "VIOLATED"), (4_940, "HOLDS"), (5_060, "HOLDS"), (5_061, "VIOLATED")],
)
def test_a_conversion_without_its_request_comes_at_once(
    judge: Judge, upgraded_ms: float, verdict: str
) -> None:
    assert verdict == judge(migrating(up=False).says("upgraded", upgraded_ms), "X25")["verdict"]


@pytest.mark.parametrize(
    ("upgraded_ms", "verdict"),
    [(4_939, "VIOLATED"), (4_940, "HOLDS"), (5_010, "HOLDS"), (5_011, "VIOLATED")],
)
def test_only_the_joiners_own_request_spans_its_conversion(
    judge: Judge, upgraded_ms: float, verdict: str
) -> None:
    history = migrating(up=False).says("upgraded", upgraded_ms)
    history.beat("member-3", 4_990, 0, processed_at=at(5_010))
    late: dict[str, Any] = {"processed_at": at(5_300)}
    history.beat("member-1", 4_800, 0, **late).beat("member-3", 4_800, 2, **late)
    history.request("OFFSET_FETCH", "member-3", 4_800, generation=0, **late)
    history.beat("member-3", 4_800, 0, processed_at=at(4_999)).beat("member-3", 5_051, 0, **late)
    assert verdict == judge(history, "X25")["verdict"]


@pytest.mark.parametrize("span", [(4_990, 5_000), (5_000, 5_010)])
def test_a_request_that_ends_or_starts_with_the_join_is_the_joins(
    judge: Judge, span: tuple[float, float]
) -> None:
    history = migrating(up=False).says("upgraded", span[0] if span[0] < 5_000 else span[1])
    history.beat("member-3", span[0], 0, processed_at=at(span[1]))
    verdict = judge(history, "X25")
    assert ("HOLDS", [1, 10]) == (verdict["verdict"], measured(verdict))
    assert {None, at(15_000)} == {row["guard_from"] for row in verdict["rows"]}


def test_the_first_of_two_conversions_counts_and_one_of_another_group_does_not(
    judge: Judge,
) -> None:
    history = migrating().says("upgraded", 5_040, text="Converted again.")
    in_another_group(history, "upgraded", 4_990)
    verdict = judge(history.says("downgraded", 4_995), "X25")
    assert ("HOLDS", [1, 1]) == (verdict["verdict"], measured(verdict))
    assert all("Converted the" in row["why"] for row in verdict["rows"])


def test_only_the_first_and_the_last_member_convert_a_group(judge: Judge) -> None:
    history = migrating(down=False).member("member-4", protocol="consumer")
    assert isinstance(history, Group)
    history.says("member_added", 6_000, "member-4").says("left", 20_000, "member-4")
    history.says("downgraded", 20_001)
    verdict = judge(history, "X25")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    assert ["member-3 joins", "member-4 goes"] == sorted(row["subject"] for row in verdict["rows"])


def test_classic_members_that_go_convert_nothing(judge: Judge) -> None:
    history = migrating(up=False, down=False)
    history.rows["coordinator_events"] = history.rows["coordinator_events"][:1]
    history.rows["members"][1]["protocol"] = "eager"
    history.says("member_added", 2_000, "member-3").says("left", 3_000, "member-3")
    assert 0 == judge(history, "X25")["examined"]


@pytest.mark.parametrize(
    ("left_ms", "verdict", "examined"),
    [(10_000, "HOLDS", 1), (15_000, "HOLDS", 1), (15_001, "VIOLATED", 2)],
)
def test_a_group_whose_classic_members_had_gone_is_not_converted_back(
    judge: Judge, left_ms: float, verdict: str, examined: int
) -> None:
    """member-3 goes at 15 s; of two that go in one moment either may be the last."""
    history = migrating(down=False).says("left", left_ms, "member-1")
    judged = judge(history, "X25")
    assert (verdict, examined) == (judged["verdict"], judged["examined"])


@pytest.mark.parametrize(
    ("added_ms", "verdict", "examined"), [(4_999, "VIOLATED", 2), (5_000, "HOLDS", 1)]
)
def test_of_two_that_join_in_one_moment_the_classic_one_may_be_the_second(
    judge: Judge, added_ms: float, verdict: str, examined: int
) -> None:
    """Then there is no classic group that member-3 could convert."""
    history = migrating(up=False)
    history.rows["coordinator_events"][0]["at"] = at(added_ms)
    judged = judge(history, "X25")
    assert (verdict, examined) == (judged["verdict"], judged["examined"])


def test_a_group_of_one_protocol_leaves_x25_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(alone(), "X25")["verdict"]
