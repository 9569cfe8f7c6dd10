"""A comparison says the same on the terminal, in Markdown, on its page and in Parquet."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import BadInput, Exit, SetupError
from harness.experiment import Experiment
from harness.provision.kafka import kafka_versions
from harness.report.many.comparison import (
    Compared,
    compared,
    lines,
    markdown,
    read_comparison,
    write_comparison,
)
from harness.run.interrupts import Interrupted
from harness.run.screen import Screen
from harness.suite.compare_protocols import Combination, combinations, compare, declared
from tests.report.sample_run import stop, verdict, write_run

ROWS = (
    Compared(
        "librdkafka", "eager", 3, "consumer-crash/1", True, 6, 6_789.0, 8_000.0, 1, 23, 0.22,
        idle_ms=126.0, detection_ms=5_895.0, notice_ms=434.0, first_fetch_ms=334.0,
    ),
    Compared("librdkafka", "consumer", 3, could_not="protocol <consumer> is not offered"),
)  # fmt: skip


def test_the_table_has_a_line_per_run_and_says_which_could_not() -> None:
    head, eager, missing = lines(ROWS, Path("results"))
    assert head.startswith("client      protocol")
    assert "6.79 s" in eager
    assert eager.endswith("detection 5.89 s, notice 434 ms, first fetch 334 ms")
    assert (
        "could not: librdkafka, consumer, 3 members: protocol <consumer> is not offered" == missing
    )


def test_a_run_whose_verdicts_differ_is_named_with_its_page() -> None:
    rows = (replace(ROWS[0], as_expected=False), *ROWS[1:])
    _, _, differs, missing = lines(rows, Path("results"))
    told = "a verdict is not the expected one, see "
    assert (
        f"differs: librdkafka, eager, 3 members: {told}results/consumer-crash/1/report.html"
        == differs
    )
    assert missing.startswith("could not: ")
    line = f"- differs: librdkafka, eager, 3 members: {told}"
    assert f"{line}[report.html](../../consumer-crash/1/report.html)" in markdown("x", rows)
    assert "differs" not in markdown("x", ROWS)


def test_what_a_run_says_is_escaped(tmp_path: Path) -> None:
    write_comparison(tmp_path, "consumer-crash", ROWS)
    assert "<consumer>" not in (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert "<consumer>" not in markdown("consumer-crash", ROWS)


def test_parquet_gives_the_rows_back(tmp_path: Path) -> None:
    write_comparison(tmp_path, "consumer-crash", ROWS)
    assert list(ROWS) == read_comparison(tmp_path)


def test_a_run_is_compared_by_its_stops(tmp_path: Path) -> None:
    rows = [stop(0, 6_000, 4_000), stop(1, 9_000, 5_000), stop(2, 100, 0, stopped=False)]
    row = compared(write_run(tmp_path / "a" / "run", stops=rows), "librdkafka", "eager", 3)
    assert (2, 9_000, 15_000, 5_000) == (
        row.partitions_stopped, row.longest_ms, row.sum_ms, row.detection_ms
    )  # fmt: skip
    assert ("a/run", 173) == (row.run, row.redelivered)


def test_what_was_not_derived_is_not_compared(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "a" / "run", stops=None, redeliveries=None)
    row = compared(run_dir, "librdkafka", "eager", 3)
    assert (None, None, None, None) == (
        row.partitions_stopped, row.longest_ms, row.sum_ms, row.redelivered
    )  # fmt: skip
    assert 4 == row.generations
    assert row.as_expected is False


def test_every_size_is_compared_under_every_protocol() -> None:
    wanted = combinations(["librdkafka"], ["eager", "cooperative"], [1, 10])
    assert [("eager", 1), ("cooperative", 1), ("eager", 10), ("cooperative", 10)] == [
        (each.protocol, each.members) for each in wanted
    ]


def test_a_larger_group_gets_a_partition_for_each_and_the_join_rule() -> None:
    experiment = declared("consumer-join", {}, Combination("librdkafka", "eager", 10))
    assert (10, 11) == (experiment.group.members, experiment.load.partitions)
    assert "X34" in {expect.rule for expect in experiment.rules}


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadInput, match="protocol 'lazy' is not offered"):
        declared("consumer-join", {}, Combination("librdkafka", "lazy"))


def test_a_version_of_the_client_is_for_java_alone() -> None:
    knobs = {"group.client_version": kafka_versions()[-1]}
    librdkafka = declared("consumer-crash", knobs, Combination("librdkafka", "eager"))
    java = declared("consumer-crash", knobs, Combination("java", "eager"))
    assert ("", kafka_versions()[-1]) == (
        librdkafka.group.client_version, java.group.client_version
    )  # fmt: skip

    eager = Combination("librdkafka", "eager")
    own = declared("consumer-crash", {"group.client_version": "2.8.2"}, eager, "librdkafka")
    assert "2.8.2" == own.group.client_version


def test_what_is_judged_besides_is_not_demanded() -> None:
    """Nobody comes or goes in it, so there is no join whose cost could be told."""
    rules = declared("network-latency", {}, Combination("librdkafka", "eager")).rules
    assert [True] == [each.if_seen for each in rules if each.rule == "X34"]


@pytest.mark.parametrize("end", [Interrupted(), SetupError("the disk is full"), OSError("no Java")])
def test_what_was_measured_before_a_comparison_ended_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException
) -> None:
    def play(_name: str, experiment: Experiment, *_arguments: object, **_more: object) -> Path:
        if experiment.group.protocol == "consumer":
            raise end
        return write_run(tmp_path / "consumer-crash" / "run-1", verdicts=[verdict("R01")])

    monkeypatch.setattr("harness.suite.compare_protocols._play", play)
    wanted = combinations(["librdkafka"], ["eager", "consumer", "cooperative"], [])
    if isinstance(end, SetupError):
        folder, code = compare("consumer-crash", wanted, {}, tmp_path, seed=1, screen=Screen())
        assert Exit.FAILED == code
        missing = [None, "the disk is full", None]
    else:
        with pytest.raises(type(end)):
            compare("consumer-crash", wanted, {}, tmp_path, seed=1, screen=Screen())
        folder = tmp_path / "compare-protocols" / "latest"
        missing = [None, *["the comparison ended before it was whole"] * 2]

    assert missing == [row.could_not for row in read_comparison(folder)]


def test_why_none_could_run_is_said_before_what_makes_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(*_arguments: object, **_more: object) -> Path:
        raise SetupError("the disk is full")

    monkeypatch.setattr("harness.suite.compare_protocols._play", play)
    wanted = combinations(["java"], ["eager", "consumer"], [])

    with pytest.raises(SetupError, match="the disk is full"):
        compare("auto-commit-race", wanted, {}, tmp_path, seed=1, screen=Screen())
