"""docs/rules.md is what the code says."""

from pathlib import Path

from harness.catalogue.rules_page import examples_in, page
from harness.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
PINS = Path(__file__).with_name("__snapshots__")
WRITTEN = ROOT / "docs" / "rules.md"


def test_the_page_of_rules_is_current() -> None:
    assert page(examples_in(PINS)) == WRITTEN.read_text(), "run `make docs`"


def test_rules_of_every_run_say_so() -> None:
    sections = dict(zip(RULES, page({}).split("\n## ")[1:], strict=True))

    for name, section in sections.items():
        always = "- judged in every run in which it can be examined\n" in section
        assert RULES[name].always == always, name
        if RULES[name].in_passing and not (RULES[name].always or RULES[name].contradicted):
            assert "- judged in every run of our own members" in section, name
        assert RULES[name].evidence == ("- judged in every run: " in section), name
    assert "`bad-day`" in sections["R30"]
