"""In which order a program shows what it processes, and whether what it shows is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, an_app

Judge = Callable[[History, str], dict[str, Any]]


# P12


def reads_on() -> History:
    """member-1 is given t-0, and fetches the first hundred records."""
    history = an_app("member-1", "member-2").holds("member-1", 0)
    return history.fetch("member-1", 0, 0, 1_000, upto=50).fetch("member-1", 0, 50, 1_100, upto=100)


def shown(history: History, *ranges: tuple[int, int], ms: float = 1_200, by: str = "") -> History:
    for number, (first, last) in enumerate(ranges):
        history.shows("member-1", 0, first, last, ms + number, by or "stdout")
    return history


@pytest.mark.parametrize(
    ("ranges", "late"),
    [
        ([(0, 9), (10, 19)], 0),
        ([(0, 9), (20, 29), (10, 19)], 10),
        ([(0, 9), (11, 11), (10, 10), (12, 12)], 1),
        ([(1, 1), (0, 0)], 1),
        ([(0, 9), (20, 29)], 0),  # what was left out is for P10
        ([(0, 9), (0, 9), (10, 19)], 0),  # what comes again is for P11
        ([(0, 9), (5, 14)], 0),
        ([(5, 9), (0, 14)], 5),
    ],
)
def test_a_record_is_shown_before_those_after_it(
    judge: Judge, ranges: list[tuple[int, int]], late: int
) -> None:
    found = judge(shown(reads_on(), *ranges), "P12")
    assert ("VIOLATED" if late else "HOLDS", late) == (found["verdict"], found["measured_max"])


def test_the_first_record_out_of_order_is_named(judge: Judge) -> None:
    found = judge(shown(reads_on(), (0, 9), (20, 29), (15, 19), (10, 14)), "P12")
    assert "the first is 15, which was shown after 29" in found["rows"][0]["why"]


def test_a_partition_that_is_given_again_begins_anew(judge: Judge) -> None:
    """It had shown 59, and goes on with 40, which was committed: nobody had shown 40 to 44."""
    history = shown(reads_on(), (0, 39), (45, 59)).holds("member-1", 0, ms=5_000, generation=2)
    history.fetch("member-1", 0, 40, 5_020, upto=120)
    assert "HOLDS" == judge(shown(history, (40, 119), ms=5_100), "P12")["verdict"]


def test_what_was_in_hand_at_a_rebalance_is_held_against_nobody(judge: Judge) -> None:
    """A line of record 99, fetched before, may be read after the rebalance."""
    history = shown(reads_on(), (0, 98)).holds("member-1", 0, ms=5_000, generation=2)
    history.fetch("member-1", 0, 40, 5_020, upto=120)
    assert "HOLDS" == judge(shown(history, (99, 99), (40, 98), ms=5_100), "P12")["verdict"]


@pytest.mark.parametrize(("last", "verdict"), [(109, "VIOLATED"), (99, "HOLDS")])
def test_after_a_rebalance_what_is_fetched_only_then_counts(
    judge: Judge, last: int, verdict: str
) -> None:
    history = shown(reads_on(), (0, 39)).holds("member-1", 0, ms=5_000, generation=2)
    history.fetch("member-1", 0, 40, 5_020, upto=120)
    assert verdict == judge(shown(history, (50, last), (40, 49), ms=5_100), "P12")["verdict"]


def test_a_record_from_before_the_rebalance_is_not_of_this_one(judge: Judge) -> None:
    """Somebody else has read on to 200, and member-1 shows what it still had in hand."""
    history = shown(reads_on(), (0, 39)).holds("member-1", 0, ms=5_000, generation=2)
    history.fetch("member-1", 0, 200, 5_020, upto=250)
    assert "HOLDS" == judge(shown(history, (200, 249), (40, 49), ms=5_100), "P12")["verdict"]


@pytest.mark.parametrize("fetch_ms", [5_000, 5_020], ids=["in the same moment", "later"])
def test_a_partition_that_is_given_again_further_on_begins_anew_too(
    judge: Judge, fetch_ms: float
) -> None:
    """Somebody else has read on to 200; what it had fetched before may be in hand still."""
    history = shown(reads_on(), (0, 39)).holds("member-1", 0, ms=5_000, generation=2)
    history.fetch("member-1", 0, 200, fetch_ms, upto=250)
    found = judge(shown(history, (200, 249), (60, 69), ms=5_100), "P12")
    assert ("HOLDS", 0) == (found["verdict"], found["measured_max"])


def test_who_goes_back_by_a_single_record_begins_anew(judge: Judge) -> None:
    """An empty answer was the last one before that. Of 40 to 44 it only shows what it had."""
    history = an_app("member-1").holds("member-1", 0).fetch("member-1", 0, 0, 1_000, upto=60)
    history = shown(history.fetch("member-1", 0, 60, 1_100), (0, 39), (45, 59))
    history.fetch("member-1", 0, 59, 2_000, upto=70)
    found = judge(shown(history, (40, 44), (59, 69), ms=2_100), "P12")
    assert ("HOLDS", 0) == (found["verdict"], found["measured_max"])


def test_who_fetches_again_from_further_back_begins_anew(judge: Judge) -> None:
    history = shown(reads_on(), (0, 39), (45, 99)).fetch("member-1", 0, 40, 2_000, upto=100)
    assert "HOLDS" == judge(shown(history, (40, 99), ms=2_100), "P12")["verdict"]


def test_another_processs_records_are_its_own(judge: Judge) -> None:
    history = shown(reads_on(), (50, 99)).holds("member-2", 0, ms=5_000, generation=2)
    history.fetch("member-2", 0, 0, 5_020, upto=100).shows("member-2", 0, 0, 49, 5_100)
    found = judge(history, "P12")
    assert ("HOLDS", 2) == (found["verdict"], found["examined"])


@pytest.mark.parametrize(
    ("ways", "verdict"), [(("output-1", "output-2"), "HOLDS"), (("output-1",) * 2, "VIOLATED")]
)
def test_partitions_of_an_output_topic_have_no_common_order(
    judge: Judge, ways: tuple[str, str], verdict: str
) -> None:
    history = shown(reads_on(), (10, 19), by=ways[0])
    assert verdict == judge(shown(history, (0, 9), ms=1_300, by=ways[1]), "P12")["verdict"]


@pytest.mark.parametrize(("promised", "verdict"), [(10, "HOLDS"), (9, "VIOLATED")])
def test_disorder_may_be_promised(judge: Judge, promised: int, verdict: str) -> None:
    history = shown(reads_on(), (10, 19), (0, 9))
    history.limits["out_of_order"] = promised
    assert verdict == judge(history, "P12")["verdict"]


def test_a_broker_that_was_killed_may_have_answered_a_fetch_that_it_did_not_log(
    judge: Judge,
) -> None:
    history = shown(reads_on(), (10, 19)).fault("kill-broker", "broker-2", 1_250, 9_000)
    assert "UNKNOWN" == judge(shown(history, (0, 9), ms=1_300), "P12")["verdict"]


@pytest.mark.parametrize(
    ("kind", "ms", "verdict"),
    [
        ("kill-broker", 999, "VIOLATED"),
        ("kill-broker", 1_000, "UNKNOWN"),  # when it began to read
        ("pause-broker", 1_250, "VIOLATED"),
        ("kill-broker", 1_300, "UNKNOWN"),  # when it showed what was late
        ("kill-broker", 1_301, "VIOLATED"),
    ],
)
def test_only_a_broker_that_was_killed_while_it_read_may_have_answered(
    judge: Judge, kind: str, ms: float, verdict: str
) -> None:
    history = shown(reads_on(), (10, 19)).fault(kind, "broker-2", ms + 5, 9_000, injecting_ms=ms)
    assert verdict == judge(shown(history, (0, 9), ms=1_300), "P12")["verdict"]


def test_what_may_be_late_for_a_killed_broker_may_be_what_breaks_the_promise(judge: Judge) -> None:
    """Ten records are late, and ten more after a rebalance: as many as ten are promised."""
    history = shown(reads_on(), (10, 19), (0, 9)).fault("kill-broker", "broker-2", 1_150, 9_000)
    history.limits["out_of_order"] = 10
    history.holds("member-1", 0, ms=5_000, generation=2).fetch("member-1", 0, 100, 5_020, upto=120)
    found = judge(shown(history, (110, 119), (100, 109), ms=5_100), "P12")
    assert ("UNKNOWN", 20) == (found["verdict"], found["rows"][0]["measured"])


def test_of_several_that_are_late_the_first_is_named_with_what_came_before_it(
    judge: Judge,
) -> None:
    history = shown(reads_on(), (0, 9), (20, 29), (15, 19), (30, 39), (10, 14))
    (row,) = judge(history, "P12")["rows"]
    assert "the first is 15, which was shown after 29" in row["why"]


def test_what_is_in_order_is_counted(judge: Judge) -> None:
    (row,) = judge(shown(reads_on(), (0, 9), (10, 34)), "P12")["rows"]
    assert (True, "35 records shown") == (row["ok"], row["why"])


@pytest.mark.parametrize("fetches", [True, False])
def test_without_effects_or_fetches_no_order_is_known(judge: Judge, fetches: bool) -> None:
    history = reads_on() if fetches else shown(an_app("member-1").holds("member-1", 0), (0, 9))
    found = judge(history, "P12")
    assert ("UNKNOWN", 0) == (found["verdict"], found["examined"])


# P13


def told(**shown: str) -> History:
    history = an_app("member-1").holds("member-1", 0)
    history.way_shown = {"by": "stdout done (?P<n>.)", "lacks": "", "oddly": "", **shown}
    history.fetch("member-1", 0, 0, 1_000, upto=100)
    return history.commit_request("member-1", 9_000, 0, 100)


def test_a_program_shows_what_it_is_said_to_show(judge: Judge) -> None:
    found = judge(told().shows("member-1", 0, 0, 9, 2_000), "P13")
    assert ("HOLDS", 10) == (found["verdict"], found["measured_max"])


def test_a_pattern_that_never_matched_is_said_with_what_was_printed(judge: Judge) -> None:
    lacks = "no line matched done (?P<n>.); one line it printed: 'finished 17'"
    found = judge(told(lacks=lacks), "P13")
    assert "UNKNOWN" == found["verdict"]
    assert f"100 records were committed, and {lacks}" in found["reason"]


def test_what_a_silent_program_committed_is_counted(judge: Judge) -> None:
    """To 100 of one partition, and to 60 of another one."""
    history = told().commit_request("member-1", 5_000, 0, 50)
    found = judge(history.commit_request("member-1", 9_100, 1, 60), "P13")
    assert "UNKNOWN" == found["verdict"]
    assert "160 records were committed, and nothing was shown" in found["reason"]


def test_what_it_committed_of_a_topic_of_its_own_is_not_counted(judge: Judge) -> None:
    position = {"topic": "counts-repartition", "partition": 0, "committed": 7, "error_code": 0}
    history = told().request("OFFSET_COMMIT", "member-1", 9_000, positions=[position])
    assert "100 records were committed, a" in judge(history, "P13")["reason"]


def test_a_silent_program_may_have_committed_nothing(judge: Judge) -> None:
    history = an_app("member-1").holds("member-1", 0)
    history.way_shown = {"by": "stdout", "lacks": "", "oddly": ""}
    assert "0 records were committed, and nothing was shown" in judge(history, "P13")["reason"]


def test_records_that_were_never_produced_are_named(judge: Judge) -> None:
    oddly = "shows 3 records that nobody had produced, such as number 700 by member-1"
    found = judge(told(oddly=oddly), "P13")
    assert ("UNKNOWN", True) == (found["verdict"], oddly in found["reason"])
    some = judge(told(oddly=oddly).shows("member-1", 0, 0, 9, 2_000), "P13")
    assert ("UNKNOWN", True) == (some["verdict"], oddly in some["reason"])


def test_what_names_no_record_is_a_note_where_others_do(judge: Judge) -> None:
    lacks = "3 posts to the sink named no record, such as 'hello'"
    found = judge(told(lacks=lacks).shows("member-1", 0, 0, 9, 2_000), "P13")
    assert ("HOLDS", lacks) == (found["verdict"], found["rows"][0]["why"])


def test_a_program_that_is_not_said_to_show_its_work_is_not_examined(judge: Judge) -> None:
    assert 0 == judge(told(by=""), "P13")["examined"]


@pytest.mark.parametrize("rule", ["P10", "P11"])
def test_what_a_silent_program_fetched_does_not_stand_for_what_it_processed(
    judge: Judge, rule: str
) -> None:
    history = told(lacks="no line matched")
    history.limits["repeats"] = 100
    found = judge(history, rule)
    assert ("UNKNOWN", True) == (found["verdict"], "it showed nothing" in found["reason"])
    history.shows("member-1", 0, 0, 99, 2_000)
    assert "HOLDS" == judge(history, rule)["verdict"]


@pytest.mark.parametrize("rule", ["P12", "P13"])
def test_an_empty_history_shows_nothing(judge: Judge, rule: str) -> None:
    assert "UNKNOWN" == judge(an_app(), rule)["verdict"]


def test_a_killed_broker_casts_doubt_on_its_own_stretch_alone(judge: Judge) -> None:
    """Ten records came too late before it was killed, and ten after."""
    history = shown(reads_on(), (10, 19), (0, 9)).fault("kill-broker", "broker-2", 5_050, 9_000)
    history.holds("member-1", 0, ms=5_000, generation=2).fetch("member-1", 0, 100, 5_020, upto=120)
    history = shown(history, (110, 119), (100, 109), ms=5_100)
    for most, verdict in ((9, "VIOLATED"), (10, "UNKNOWN"), (19, "UNKNOWN"), (20, "HOLDS")):
        history.limits["out_of_order"] = most
        assert verdict == judge(history, "P12")["verdict"]
