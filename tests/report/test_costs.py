"""What each fault cost a program, in words: on its page, on the terminal and in the summary."""

from pathlib import Path
from typing import Any

from harness.report.headline import of_run
from harness.report.load import load
from harness.report.parts.story import costs
from harness.report.run.page import page
from harness.report.text.summary import summary
from harness.rules.rule_names import NAMES
from tests.report.sample_matrix import fault, fine, judgement, read, write_app_run
from tests.report.sample_run import TOPIC, write_manifest, write_run


def costs_of(tmp_path: Path, **changes: Any) -> list[str]:
    return costs(load(write_app_run(tmp_path / "everyday" / "run", **changes)))


def test_each_fault_has_a_sentence_in_the_order_of_the_run(tmp_path: Path) -> None:
    coordinator = "Death of the coordinator (coordinator)"
    quiet = "no partition stopped; no record was redelivered"
    assert [
        f"Crash of member-1 at 5.00 s: {TOPIC}-0 stopped for 7.50 s; 40 records were redelivered.",
        f"Start of new-member at 15.0 s: {quiet}.",
        f"Orderly end of member-2 at 20.0 s: {quiet}; it left in order.",
        f"Start of new-member at 25.0 s: {quiet}.",
        f"{coordinator} at 30.0 s: {TOPIC}-1 stopped for 4.00 s; no record was redelivered.",
        f"Dead link of member-3 at 40.0 s: {quiet}.",
    ] == costs_of(tmp_path)


def test_what_went_wrong_is_in_the_sentence_of_its_fault(tmp_path: Path) -> None:
    wrong = [judgement("P6", 20.01, ok=False), judgement("P8", 41.0, ok=False), *fine()[1:]]

    found = costs_of(tmp_path, judgements=wrong, shows=False)

    assert found[2].endswith("no record was fetched again; it did not leave in order.")
    assert found[5].endswith("it did not come back.")


def test_a_partition_that_never_came_back_stood_still_at_least_so_long(tmp_path: Path) -> None:
    behind = [judgement("P1", 52, ok=False, subject=f"{TOPIC}-0"), judgement("P10", 58)]
    reads = [read(0, 10, 40.02)]

    found = costs_of(tmp_path, judgements=behind, reads=reads, stops=[])

    assert f"{TOPIC}-0 was stopped until the end of the run, 18.0 s at least" in found[-1]


def test_a_fault_without_a_word_of_its_own_goes_by_its_name(tmp_path: Path) -> None:
    (one,) = costs_of(tmp_path, faults=fault("1", "latency", "member 1", 5.0))

    assert one.startswith("Latency of member 1 at 5.00 s: ")


def test_our_own_members_and_a_run_that_shows_nothing_have_none(tmp_path: Path) -> None:
    ours = write_run(tmp_path / "ours")
    spoilt = write_app_run(tmp_path / "everyday" / "run")
    write_manifest(spoilt, status="void", status_reason="a broker died")

    assert [] == costs(load(ours))
    assert [] == costs(load(spoilt))
    assert [] == costs_of(tmp_path / "lost", judgements=None)


def test_they_are_on_the_page_and_in_the_summary_and_rules_left_out_are_folded(
    tmp_path: Path,
) -> None:
    run = load(write_app_run(tmp_path / "everyday" / "run", observed={"clients": []}))
    found = of_run(run)
    text, short = page(run, found), summary(run, found)

    assert "After steady state came" not in text  # each is named below
    assert "kafka-chaos experiment with kafkajs (gives brokers neither name nor version)" in text
    for each in costs(run):
        assert f"<li>{each}</li>" in text
        assert f"- {each}" in short
    folds = [part.partition("</summary>") for part in text.split("<details")]
    folded = next(inside for said, end, inside in folds if end and "rules are left out" in said)
    assert NAMES["R21-stop"] in folded.partition("</details>")[0]
    assert "gives brokers neither name nor version" in text
    assert NAMES["R21-stop"] not in short
    assert "rules are left out" in short
