"""A slip in a module of an experiment is one sentence with its file, and the others go on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import experiments
from harness.base.errors import BadInput, Exit
from harness.catalogue import registry
from harness.cli.main import main
from harness.rules.rule_names import NAMES

HEAD = '"""A slip."""\n\nfrom harness.experiment import Expect, Experiment, Fault, holds\n\n'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The module `slip` beside the experiments."""
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(tmp_path)])
    yield tmp_path / "slip.py"
    sys.modules.pop("experiments.slip", None)


E = "experiment = Experiment("
X = E + 'claim="x.", '


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (E + 'rules=holds("R21"))', r"slip\.py:5: Experiment lacks claim"),
        (
            E + '\n    claim="x.",\n    faults=(Fault(last_s=9),))',
            r"slip\.py:7: Fault has no field 'last_s': did you mean 'lasts_s'\?",
        ),
        (
            X + 'rules=(\n    *holds("R21")\n    *holds("R33"),))',
            r"slip\.py:6: .*: a comma may be missing",
        ),
        (
            X + 'faults=(Fault(kind="kill-consumer", target="x")))',
            r"slip\.py:5: faults is a Fault, not a tuple: write a comma after",
        ),
        (
            X + 'rules=(holds("R21"), Expect(rule="R33")))',
            r"slip\.py:5: rules has a tuple in it.*write a star before holds",
        ),
        (X + 'rules=holds("R21", clients=("java")))', r"slip\.py:5: clients is a str, not a tuple"),
        ('trial = Experiment(claim="x.", rules=holds("R21"))', "has no value `experiment`"),
        (X + 'rules=holds("R21")),', "`experiment` is a tuple, not an Experiment"),
        (E, r"slip\.py:5: '\(' was never closed"),
        (E + 'claim=" ", rules=holds("R21"))', r"slip\.py:5: the claim is empty"),
        (X + 'rules=holds("R21b"))', r"slip\.py: there is no rule 'R21b': did you mean R21"),
        ("experiment = Experimant()", r"slip\.py:5: NameError: name 'Experimant' is not defined"),
    ],
)
def test_a_slip_is_one_sentence_with_its_file_and_line(write: Path, text: str, says: str) -> None:
    write.write_text(HEAD + text + "\n")

    with pytest.raises(BadInput, match=says) as refused:
        registry.load("slip")

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "shows"),
    [
        (["list"], "baseline"),
        (["list", "--rules"], "judged by: "),
        (["nightly", "--list", "--only", "baseline"], "baseline:librdkafka/eager"),
    ],
)
def test_the_other_experiments_go_on(
    write: Path, arguments: list[str], shows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write.write_text(HEAD + 'experiment = Experiment(rules=holds("R21"))\n')

    assert Exit.AS_EXPECTED == main(arguments)

    said = capsys.readouterr()
    assert shows in said.out
    assert "slip" not in said.out
    assert said.err.startswith("kafka-chaos: left out: ")
    assert 1 == said.err.count("\n")


def test_what_cannot_be_read_cannot_be_played(
    write: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write.write_text(HEAD + 'experiment = Experiment(rules=holds("R21"))\n')

    assert Exit.BAD_ARGUMENTS == main(["describe", "slip"])
    assert "slip.py:5: Experiment lacks claim" in capsys.readouterr().err


def test_describe_shows_all_that_is_declared(capsys: pytest.CaptureFixture[str]) -> None:
    assert Exit.AS_EXPECTED == main(["describe", "coordinator-isolated"])

    said = capsys.readouterr().out
    assert (
        "isolate of any member, 2 to 4 s after steady state, for 12 s, of_broker=coordinator"
        in said
    )
    assert f"rule   {NAMES['X27']} HOLDS: A member without its coordinator goes on until" in said
