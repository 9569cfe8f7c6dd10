"""What one run of a program shows of each situation."""

from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import NoData
from harness.report.load import load
from harness.report.parts.faults import stories
from harness.report.parts.situations import SignFound, in_order, sample, situation_of
from tests.report.sample_matrix import (
    EVERYDAY,
    STOP_S,
    again,
    fault,
    fine,
    judgement,
    read,
    stood,
    write_app_run,
)
from tests.report.sample_run import TOPIC, Row, at


def shown(tmp_path: Path, **changes: Any) -> Row:
    return sample(load(write_app_run(tmp_path / "everyday" / "run", **changes)))


def standstills(found: Row) -> dict[str, float | None]:
    return {name: each["standstill_ms"] for name, each in found["situations"].items()}


def test_every_fault_has_its_word(tmp_path: Path) -> None:
    found = shown(tmp_path)

    assert {"crash", "a new member", "orderly end", "coordinator dies", "own link dead"} == set(
        found["situations"]
    )


@pytest.mark.parametrize(
    ("kind", "target", "how", "word"),
    [
        ("slow-dependency", "dependency DB", None, "slow dependency"),
        ("cut-dependency", "dependency", "refused", "dependency gone"),
        ("slow-sink", "sink", "503", "slow sink"),
        ("cut-dependency", "member 2", None, "cut-dependency of member 2"),
        ("cut-dependency", "any member", None, "cut-dependency of any member"),
        ("isolate", "member 2", None, "own link dead"),
        ("isolate", "any member", None, "own link dead"),
        ("isolate", "producers", None, "isolate of producers"),
        ("freeze-consumer", "member 1", None, "frozen"),
        ("kill-broker", "any leader", None, "a broker dies"),
        ("kill-broker", "leader of t-3", None, "a broker dies"),
        ("kill-broker", "coordinator", None, "coordinator dies"),
        ("kill-broker", "broker 2", None, "kill-broker of broker 2"),
        ("kill-consumer", "member 1", "in a way", "kill-consumer of member 1, in a way"),
        ("deploy", "group", "at once", "deploy, at once"),
        ("scale", "group", "up", "scale, up"),
    ],
)
def test_a_fault_has_its_word_or_else_its_own_name(
    kind: str, target: str, how: str | None, word: str
) -> None:
    rows = fault("1", kind, target, 5.0, how=how)
    (story,) = stories({"evidence": "", "took_effect": None, **row} for row in rows)

    assert word == situation_of(story)


def test_what_says_that_a_fault_is_over_stands_behind_what_says_that_it_was_there() -> None:
    rows = fault("1", "upgrade-broker", "broker 1", 5.0)
    rows.append({**rows[0], "phase": "healed", "at": at(9.0)})
    evidence = {"injected": "it is gone", "healed": "it is Kafka 4.3.1"}
    (story,) = stories(
        {**row, "took_effect": True, "evidence": evidence.get(row["phase"])} for row in rows
    )

    assert "it is gone; then it is Kafka 4.3.1" == story.evidence


def test_known_situations_come_first_and_in_the_order_of_a_day() -> None:
    found = ["latency of leader of t-3", "deploy", "own link dead", "crash", "deploy"]

    assert ["crash", "own link dead", "deploy", "latency of leader of t-3"] == in_order(found)


def test_a_standstill_belongs_to_the_fault_after_which_it_began(tmp_path: Path) -> None:
    stops = [
        stood(0, 5.5, 9.0),
        stood(1, 6.0, 14.0),
        stood(0, 26.0, 28.0),
        stood(2, 42.0, 45.0),
        stood(3, 31.0, 39.0, stopped=False),
    ]
    found = standstills(shown(tmp_path, stops=stops))

    assert {
        "crash": 8_000.0,
        "a new member": 2_000.0,
        "orderly end": 0.0,
        "coordinator dies": 0.0,
        "own link dead": 3_000.0,
    } == found


@pytest.mark.parametrize(
    ("stop", "whose", "ms", "other"),
    [
        # What a partition waited before the fault is not the fault's.
        (stood(0, 37.0, 45.0, cause_at=at(40.0)), "own link dead", 5_000.0, "coordinator dies"),
        # One that outlasts the next fault is whole.
        (stood(0, 14.0, 18.0), "crash", 4_000.0, "a new member"),
        # What began late for an early reason is of when it began.
        (stood(0, 41.0, 43.0, cause_at=at(30.0)), "own link dead", 2_000.0, "coordinator dies"),
    ],
)
def test_a_standstill_is_of_one_situation(
    tmp_path: Path, stop: Row, whose: str, ms: float, other: str
) -> None:
    found = standstills(shown(tmp_path, stops=[stop]))

    assert (ms, 0.0) == (found[whose], found[other])


def test_records_that_came_again_are_of_the_time_in_which_they_came(tmp_path: Path) -> None:
    rows = [again(2.0, 9), again(6.0, 10), again(14.0, 5), again(16.0, 3), again(59.0, 100)]
    found = shown(tmp_path, redeliveries=rows)["situations"]

    assert (15, 3) == (found["crash"]["again"], found["a new member"]["again"])
    assert 0 == found["own link dead"]["again"]


def test_of_a_situation_that_comes_twice_the_worse_counts(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        stops=[stood(0, 16.0, 17.0), stood(0, 26.0, 29.0)],
        redeliveries=[again(16.5, 7), again(26.5, 2)],
        judgements=[*fine(), judgement("P8", 16.0, ok=None), judgement("P8", 26.0)],
    )["situations"]["a new member"]

    assert (3_000.0, 7) == (found["standstill_ms"], found["again"])
    assert SignFound.UNKNOWN == found["signs"]["P8"]


def test_a_violation_is_worse_than_what_is_unknown(tmp_path: Path) -> None:
    rows = [judgement("P8", 16.0, ok=None), judgement("P8", 26.0, ok=False)]
    found = shown(tmp_path, judgements=[*fine(), *rows])

    assert SignFound.VIOLATED == found["situations"]["a new member"]["signs"]["P8"]


def test_steps_of_a_deploy_are_part_of_it(tmp_path: Path) -> None:
    faults = [
        *fault("1", "deploy", "group", 5.0, how="rolling"),
        *fault("1.1", "start-consumer", "group", 5.0),
        *fault("1.2", "terminate-consumer", "group", 7.0),
    ]
    found = shown(
        tmp_path,
        faults=faults,
        stops=[stood(0, 8.0, 11.0, cause_at=at(7.0))],
        judgements=[judgement("P6", 7.0, ok=False)],
    )

    assert ["deploy"] == list(found["situations"])
    assert 3_000.0 == found["situations"]["deploy"]["standstill_ms"]
    assert SignFound.VIOLATED == found["situations"]["deploy"]["signs"]["P6"]


def test_a_fault_that_did_not_take_effect_shows_nothing_and_ends_the_one_before(
    tmp_path: Path,
) -> None:
    faults = [*EVERYDAY[:3], *fault("2", "isolate", "member 3", 10.0, took_effect=False)]
    found = shown(tmp_path, faults=faults, stops=[stood(0, 11.0, 14.0)])

    assert {"crash": 0.0} == standstills(found)


def test_a_partition_that_never_goes_on_stands_still_until_the_run_ends(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        stops=[],
        reads=[read(0, 1_000, 41.0)],
        judgements=[judgement("P1", 52, ok=False, subject=f"{TOPIC}-0")],
    )
    one = found["situations"]["own link dead"]

    assert ((STOP_S - 41.0) * 1e3, True) == (one["standstill_ms"], one["never_again"])
    assert not found["situations"]["crash"]["never_again"]
    assert SignFound.VIOLATED == found["at_the_end"]["P1"]


@pytest.mark.parametrize(
    ("usual_ms", "situation"), [(400, "a new member"), (600, "coordinator dies")]
)
def test_what_was_read_last_just_before_a_fault_stopped_with_it(
    tmp_path: Path, usual_ms: float, situation: str
) -> None:
    """The broker is killed at 30 s: until the usual pause is over nothing had stopped."""
    found = shown(
        tmp_path,
        stops=[stood(1, 5.1, 12.6, cause_at=at(5.0), usual_ms=usual_ms)],
        reads=[read(0, 1_000, 29.5)],
        judgements=[judgement("P1", 52, ok=False, subject=f"{TOPIC}-0")],
    )
    assert [situation] == [
        name for name, each in found["situations"].items() if each["never_again"]
    ]


def test_a_partition_that_was_committed_to_its_end_has_not_stopped(tmp_path: Path) -> None:
    """A broker that is killed may not have logged the last fetch that it answered."""
    found = shown(tmp_path, stops=[], reads=[read(0, 1_000, 41.0)])

    assert 0.0 == found["situations"]["own link dead"]["standstill_ms"]


def test_ends_are_of_their_situation_or_of_the_end(tmp_path: Path) -> None:
    rows = [judgement("P6", 20.01), judgement("P6", STOP_S + 0.1, ok=False)]
    found = shown(tmp_path, judgements=rows)

    assert SignFound.FINE == found["situations"]["orderly end"]["signs"]["P6"]
    assert SignFound.NOTHING == found["situations"]["crash"]["signs"]["P6"]
    assert SignFound.VIOLATED == found["at_the_end"]["P6"]


def test_an_end_of_which_nothing_is_known_is_not_fine(tmp_path: Path) -> None:
    found = shown(tmp_path, judgements=[])

    assert SignFound.UNKNOWN == found["situations"]["orderly end"]["signs"]["P6"]
    assert SignFound.NOTHING == found["situations"]["orderly end"]["signs"]["P8"]
    assert {
        "P1": "unknown",
        "P7": "nothing to judge",
        "P10": "unknown",
        "P6": "nothing to judge",
    } == {rule: str(found) for rule, found in found["at_the_end"].items()}


def test_what_is_not_on_record_is_null_and_not_nothing(tmp_path: Path) -> None:
    one = shown(tmp_path, stops=None, redeliveries=None)["situations"]["crash"]

    assert (None, None) == (one["standstill_ms"], one["again"])


@pytest.mark.parametrize("lost", ["judgements", "faults"])
def test_without_what_would_tell_a_run_shows_nothing(tmp_path: Path, lost: str) -> None:
    with pytest.raises(NoData, match=r"judgements cannot be read|what was done is lost"):
        shown(tmp_path, **{lost: None})
