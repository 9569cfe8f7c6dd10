"""docs/rules.md is what the code says."""

from pathlib import Path

from harness.rules.page import page

WRITTEN = Path(__file__).resolve().parents[2] / "docs" / "rules.md"


def test_the_page_of_rules_is_current() -> None:
    assert page() == WRITTEN.read_text(), "run `make docs`"
