"""A short form of the campaign: the same rounds each time. `make torture` plays many."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from consumers.journal import read_journal
from tests.torture import campaign, clock_jumps, damaging, kept
from tests.torture.damage import Damage
from tests.torture.kinds import CHECKS, CLOCKS, DAMAGE, KILLS, KINDS, Outcome, Round

SEED: Final = 1
DAMAGED: Final = 150


@pytest.mark.long(34)
def test_damaged_records_get_no_wrong_verdict_and_no_traceback(tmp_path: Path) -> None:
    damage = Damage(tmp_path)
    try:
        outcomes = [damage.play(Round(SEED, DAMAGE, number)) for number in range(DAMAGED)]
    finally:
        damage.close()

    assert [] == [f"{each.round.name}: {each.what}: {each.problems}" for each in found(outcomes)]
    assert 7 == len({each.where for each in outcomes})
    assert any("judged" in each.ended for each in outcomes)


# Each is another victim: harness, harness without its watchdog, and a member.
@pytest.mark.cluster
@pytest.mark.parametrize(
    "number", [1, *(pytest.param(number, marks=pytest.mark.long(13)) for number in (2, 6))]
)
def test_nothing_is_left_of_a_run_that_was_killed(tmp_path: Path, number: int) -> None:
    assert 0 == campaign.play([Round(SEED, KILLS, number)], tmp_path)


@pytest.mark.cluster
@pytest.mark.long(13)
def test_no_one_is_accused_where_the_clock_went_back(tmp_path: Path) -> None:
    if shutil.which(clock_jumps.COMPILER) is None:
        pytest.skip("there is no C compiler")
    this = Round(SEED, CLOCKS, 5)
    assert "the clock jumps by -3 s 0.56 s into recover" == clock_jumps.drawn(this)[0]
    assert 0 == campaign.play([this], tmp_path)


# SIGKILL while files are put into place, SIGTERM early on, and a disk that is full.
@pytest.mark.parametrize(
    "number", [27, *(pytest.param(number, marks=pytest.mark.long(20)) for number in (1, 44))]
)
def test_a_judged_run_stays_judged_whatever_ends_check(tmp_path: Path, number: int) -> None:
    assert 0 == campaign.play([Round(SEED, CHECKS, number)], tmp_path)


@pytest.mark.long(60)
def test_a_judged_run_stays_judged_whatever_ends_check_with_spark(tmp_path: Path) -> None:
    assert 0 == campaign.play([Round(SEED, CHECKS, 2)], tmp_path)


def test_a_round_is_the_same_each_time() -> None:
    def drawn(this: Round) -> float:
        return this.randomness.random()

    assert drawn(Round(1, DAMAGE, 7)) == drawn(Round(1, DAMAGE, 7))
    others = [Round(2, DAMAGE, 7), Round(1, DAMAGE, 8), *(Round(1, kind, 7) for kind in KINDS)]
    assert len(KINDS) + 2 == len({drawn(this) for this in others})


def test_the_summary_says_how_to_play_a_round_again() -> None:
    whole = Outcome(Round(3, DAMAGE, 1), "a bit", "journals", "reported", took_s=0.5)
    bad = Outcome(Round(3, KILLS, 2), "a kill", "a member", "exit code 0", ["it is left"], 8.0)
    lines = campaign.summary([whole, bad]).splitlines()

    assert "damage: 1 rounds in 0 s (2.00 a second), 0 found something" in lines
    assert "again: make torture SEED=3 ROUND=kills-2" == lines[-1]
    assert [bad] == found([whole, bad])


def test_each_way_of_damaging_gives_bytes_whatever_the_file(tmp_path: Path) -> None:
    journal = kept.unpacked(tmp_path)[kept.RAW] / "journals" / "faults.journal"
    data, randomness = journal.read_bytes(), random.Random(SEED)
    frames = len(read_journal(journal).frames)
    seen = set()
    for _ in range(300):
        what, after = damaging.of_a_journal(data, randomness)
        seen.add(what.split()[0])
        if "missing" in what:
            journal.write_bytes(after)
            assert len(read_journal(journal).frames) < frames
        damaging.of_lines(b"", randomness)
        damaging.of_json(b"no number", randomness)

    assert {"bit", "cut", "zeros", "without", "bytes", "frame", "frames"} <= seen


def found(outcomes: list[Outcome]) -> list[Outcome]:
    return [each for each in outcomes if each.problems]
