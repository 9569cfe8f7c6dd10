"""docs/rules.md is what the code says, and each rule has a page."""

from pathlib import Path

import pytest

from harness.base.errors import Exit
from harness.catalogue.rules_page import pages
from harness.cli.main import main
from harness.rules import RULES
from harness.rules.list_of_rules import index

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs" / "rules.md"


def test_the_list_of_rules_is_current() -> None:
    assert index() == WRITTEN.read_text(), "run `make docs`"


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


@pytest.mark.parametrize("given", ["X05", "static/older-is-fenced"])
def test_a_rule_is_described(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert Exit.AS_EXPECTED == main(["describe", given])

    shown = capsys.readouterr().out
    assert shown.startswith("static/older-is-fenced (X05): The older of two members")
    assert "\nWhy it matters: " in shown
    assert "\n- source: " in shown


@pytest.mark.parametrize(
    ("given", "near"), [("R20x", "R20"), ("static/older-is", "static/older-is-fenced")]
)
def test_a_rule_that_is_unknown_is_one_sentence(
    given: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Exit.BAD_ARGUMENTS == main(["describe", given])
    assert f"there is no rule {given!r}: did you mean {near}" in capsys.readouterr().err
