"""Whose waiting for a processor withholds which row, and how much of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest

from harness.check import doubt
from harness.history.collect import _within_its_look
from harness.rules import RULES
from harness.rules.rule import COLUMNS, Party
from harness.tables.engines.contract import Engine
from harness.tables.source import run_of
from harness.tables.vocabulary import text_of
from tests.histories import History, at, judged

Row = dict[str, Any]
# From, to, and how long somebody waited meanwhile, in ms.
Wait = tuple[str, float, float, float]
TIMES: Final = ("ms", "intervals")


def row(measured: float, low: float | None, high: float | None, **changes: Any) -> Row:
    """A row of a rule that is outside its bounds, timed for the first ten seconds."""
    return {
        **dict.fromkeys(COLUMNS), "ok": False, "subject": "member-2 (longest commit)",
        "measured": measured, "bound_low": low, "bound_high": high,
        "evidence": "broker-3-requests.log:4711", "guard_from": at(0), "guard_to": at(10_000),
        **changes,
    }  # fmt: skip


def withheld(rule: str, given: Row, waits: Sequence[Wait], untold: set[str] | None = None) -> str:
    """Why the row is withheld, or nothing."""
    timings = doubt.timed({rule: [given]}, heartbeat_ms=2_000)
    rows = [
        {"process": process, "from_at": at(from_ms), "at": at(to_ms), "waited_ms": waited_ms}
        for process, from_ms, to_ms, waited_ms in waits
    ]
    return "".join(each.why for each in doubt.by_waits(timings, rows, unrecorded=untold or set()))


def test_every_rule_that_times_something_has_decided_who_can_delay_it() -> None:
    timed = {
        rule.id
        for rule in RULES.values()
        if rule.unit in TIMES and (rule.compares_clocks or "guard_from" in text_of(rule.examine))
    }
    decided = {rule.id for rule in RULES.values() if rule.delayed_by}
    assert timed == {each for each in decided if RULES[each].unit in TIMES}
    # And who has to keep up for what is seen to be right.
    assert decided - timed == {"R33-epochs", "X55", "X77", "X90", "X92"}
    assert all("guard_from" in text_of(RULES[each].examine) for each in decided - timed)


def test_a_rebalance_of_six_seconds_is_one_timing() -> None:
    given = row(3.06, None, 2.7, subject="join of member-2, generation 4", evidence=None)
    waits = [("broker-2", 1_000, 3_500, 2_200.0), ("broker-1", 1_000, 3_500, 2_000.0)]
    assert withheld("X34", given, waits) == (
        "this machine kept broker-2 waiting for a processor for 2,200 ms"
    )
    assert not withheld("X34", given, [("broker-2", 1_000, 3_500, 719.0)])
    assert withheld("X34", given, [("broker-2", 1_000, 3_500, 721.0)])


def test_a_commit_of_five_seconds_is_one_timing_which_its_replicas_may_delay() -> None:
    given = row(5_233, None, 5_150)
    waits = [("broker-3", 0, 2_000, 1_200), ("broker-3", 2_000, 4_000, 1_000)]
    assert "broker-3" in withheld("X61", given, [*waits, ("broker-3", 4_000, 6_000, 800)])
    assert "broker-1" in withheld("X61", given, [("broker-1", 0, 2_000, 83)])
    assert not withheld("X61", given, [("broker-1", 0, 2_000, 82)])


@pytest.mark.parametrize(
    ("process", "on_the_way"),
    [
        ("member-2", True),
        ("member-1", False),
        ("member-22", False),
        ("broker-3", True),
        ("broker-1", False),
        ("toxiproxy", True),
        ("producer-1", False),
        ("controller-101", False),
        ("probe-heartbeat-answers", False),
        ("observer", False),
    ],
)
def test_only_who_is_on_the_way_of_a_heartbeat_excuses_it(process: str, on_the_way: bool) -> None:
    """It was answered 4 s late."""
    waits = [(process, 1_000, 3_000, 2_000.0), (process, 3_000, 5_000, 2_000.0)]
    assert on_the_way == bool(withheld("X75", row(5_000, None, 1_050), waits))


@pytest.mark.parametrize(
    ("rule", "changes", "process", "on_the_way"),
    [
        ("R14", {"evidence": None, "on_the_way": "broker-1"}, "broker-1", True),
        ("R14", {"evidence": None, "on_the_way": "broker-1"}, "broker-3", False),
        ("R14", {"evidence": None}, "broker-1", True),  # it names none
        ("R14", {"subject": "3f6c (3f6c)"}, "member-1", True),
        ("R14", {"subject": "member-1-3f6c (eviction)"}, "member-1", True),
        ("X34", {}, "member-1", True),  # everybody has to join
        ("X07", {}, "member-2", False),  # it is timed from one line of a broker to the next
        ("R20c", {}, "controller-101", True),
        ("R29-wire", {}, "probe-group-apis", True),
        ("R29-wire", {}, "member-2", False),
    ],
)
def test_a_row_may_name_who_is_on_its_way(
    rule: str, changes: dict[str, Any], process: str, on_the_way: bool
) -> None:
    given = row(5_000, None, 4_500, **changes)
    if rule == "X34":
        given = row(3.06, None, 2.7)
    assert on_the_way == bool(withheld(rule, given, [(process, 1_000, 3_000, 1_000.0)]))


@pytest.mark.parametrize(
    ("rule", "waits", "is_withheld"),
    [
        ("X77", [("broker-3", 7_000, 9_000, 1_500.0)], True),  # of the guard's 3 s
        ("X77", [("broker-3", 7_000, 9_000, 1_499.0)], False),
        ("X77", [("broker-1", 7_000, 9_000, 2_000.0)], False),
        ("X77", [("producer-1", 7_000, 9_000, 2_000.0)], False),
        ("X77", [("broker-3", 4_000, 6_000, 2_000.0)], False),  # before
        ("X60", [("broker-3", 7_000, 9_000, 2_000.0)], False),  # no matter of time
    ],
)
def test_who_did_not_work_for_half_of_a_guard_was_not_seen_in_time(
    rule: str, waits: list[Wait], is_withheld: bool
) -> None:
    """A broker that had waited for a processor for 2 s of every 2 s was silent, and called dead."""
    given = row(1, None, 0, subject="broker-3 (seen)", wrong="was dead", evidence=None)
    given |= {"guard_from": at(7_000), "guard_to": at(10_000)}
    assert is_withheld == bool(withheld(rule, given, waits))


def test_what_is_wrong_whatever_was_measured_is_no_matter_of_time() -> None:
    given = row(5_000, None, 1_050, wrong="never came")
    assert not withheld("X75", given, [("broker-3", 1_000, 9_000, 8_000.0)])


@pytest.mark.parametrize(("timings", "within"), [(None, True), (1, True), (5, True), (6, False)])
def test_a_mean_has_a_delay_in_it_once(timings: int | None, within: bool) -> None:
    given = row(2_700, 1_920, 2_500, timings=timings)
    assert within == bool(withheld("R14", given, [("broker-3", 1_000, 3_000, 1_000.0)]))


@pytest.mark.parametrize(("measured", "within"), [(6_624, True), (6_625, False)])
def test_no_wait_is_longer_than_its_look(measured: float, within: bool) -> None:
    """A run of an older version has 30 s of waiting within 1.6 s."""
    given = row(measured, None, 5_000)
    assert within == bool(withheld("X61", given, [("broker-3", 1_000, 2_624, 30_014.0)]))


@pytest.mark.parametrize(
    ("rule", "untold", "excused"),
    [
        ("X75", {"broker", "controller", "toxiproxy"}, True),
        ("X75", {"member"}, True),
        ("X24", {"member"}, False),  # no member is on its way
        ("X75", set(), False),
    ],
)
def test_where_nobody_can_say_who_waited_the_machine_is_as_busy_as_anybody_tells(
    rule: str, untold: set[str], excused: bool
) -> None:
    """Processes in containers do not tell; what others waited counts for them."""
    waits = [("producer-1", 1_000, 3_000, 1_000.0)]
    assert excused == bool(withheld(rule, row(1_500, None, 1_050), waits, untold))


@pytest.mark.parametrize(
    ("cluster", "image", "untold"),
    [
        ("embedded", "", set()),
        ("compose", "", {"broker", "controller", "toxiproxy"}),
        ("docker", "orders:1", {"broker", "controller", "toxiproxy", "member"}),
        ("embedded", "orders:1", {"member"}),
    ],
)
def test_processes_in_containers_do_not_tell(cluster: str, image: str, untold: set[str]) -> None:
    content = History().manifest()
    content["declared"]["cluster"] = {"backend": cluster}
    content["declared"]["app"] = {"image": image}
    assert untold == run_of(content).contained


def test_a_party_is_known_by_what_its_processes_are_called() -> None:
    assert {"member", "broker", "controller", "toxiproxy", "probe"} == {
        party.kind for party in Party
    }


WAITED: Final = (
    "broker-2 waited for a processor for 2,000 of 2,000 ms, and broker-3 for 5% of the run"
)
COUNTED: Final = (
    "by the kernel's count somebody waited for one for 97% of the time, and all for 12%"
)


@pytest.mark.parametrize(
    ("waits", "shares", "said"),
    [
        (True, {"some": 0.971, "full": 0.12}, f"{WAITED}; {COUNTED}"),
        (True, {}, WAITED),
        (False, {"some": 0.971, "full": 0.12}, COUNTED),
        (False, {}, ""),
    ],
)
def test_how_busy_the_machine_was_is_said(waits: bool, shares: dict[str, float], said: str) -> None:
    looks = [("broker-2", 0, 2_000, 30_014), ("broker-3", 0, 2_000, 1_900)]
    looks.append(("broker-3", 2_000, 4_000, 1_100))
    rows = [
        {"process": process, "from_at": at(from_ms), "at": at(to_ms), "waited_ms": waited_ms}
        for process, from_ms, to_ms, waited_ms in looks
    ]
    assert said == doubt.pressure(rows if waits else [], 60_000, shares)


def test_a_clock_that_ticks_on_time_says_who_waited(duckdb_engine: Engine) -> None:
    history = History().tick(100).waited("broker-2", 4_000, 6_000, 1_980)
    found = judged(history, duckdb_engine, "E04")
    assert "HOLDS" == found["verdict"]
    assert "0 of 1 ticks came more than 50 ms late" in found["reason"]
    assert "; broker-2 waited for a processor for 1,980 of 2,000 ms, and " in found["reason"]


def test_what_is_made_into_history_waited_no_longer_than_it_was_looked_at() -> None:
    frame = {"at": 3_624_000, "from_us": 2_000_000, "waited_ms": 30_014.0}
    assert 1_624 == _within_its_look(frame)
    assert 1_000 == _within_its_look({**frame, "waited_ms": 1_000.0})
    assert 0 == _within_its_look({**frame, "at": 1_000_000})  # the time of day was set
