"""docs/rules.md is what the code says, and each rule has a page."""

from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.catalogue.rules_page import index, pages
from harness.cli.main import main
from harness.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs" / "rules.md"


def test_the_list_of_rules_is_current() -> None:
    assert index() == WRITTEN.read_text(), "run `make docs`"
    assert all(f"`{rule.id}` {rule.title}" in WRITTEN.read_text() for rule in RULES.values())


def test_rules_of_every_run_say_so() -> None:
    found = pages(RULES)
    for name, rule in RULES.items():
        section = found[name]
        always = "- judged in every run in which it can be examined\n" in section
        assert rule.always == always, name
        if rule.in_passing and not (rule.always or rule.contradicted):
            assert "- judged in every run of our own members" in section, name
        assert rule.evidence == ("- judged in every run: " in section), name
    assert "`bad-day`" in found["R30"]


def test_a_rule_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert Exit.AS_EXPECTED == main(["describe", "R20a-return"])

    shown = capsys.readouterr().out
    assert shown.startswith("R20a-return: A returning member starts a rebalance")
    assert "\nWhy it matters: " in shown
    assert "\n- source: " in shown


def test_a_rule_that_is_unknown_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert Exit.BAD_ARGUMENTS == main(["describe", "R20x"])
    assert "there is no rule 'R20x': " in capsys.readouterr().err
