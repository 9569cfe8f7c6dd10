from __future__ import annotations

import subprocess
import sys

import pytest

from harness.catalogue import listing
from harness.rules import RULES, Rule
from harness.run.faults import KINDS
from harness.tables.vocabulary import text_of


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_every_rule_says_what_it_is(rule: Rule) -> None:
    assert rule is RULES[rule.id]
    assert rule.statement.endswith(".")
    assert "RULES" not in rule.source
    assert rule.title
    assert rule.things


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_no_rule_names_a_kind_of_fault(rule: Rule) -> None:
    """It asks for what a fault breaks (history/effects.py), so that a new kind is no gap."""
    query = text_of(rule.examine)
    assert [] == [kind for kind in KINDS if f"'{kind}'" in query]


def test_the_listing_has_every_rule_once() -> None:
    assert list(RULES) == [row["id"] for row in listing.rules()]


def test_listing_rules_needs_no_spark() -> None:
    code = "import sys, harness.rules; sys.exit('pyspark' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
