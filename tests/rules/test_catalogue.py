from __future__ import annotations

import subprocess
import sys

import pytest

from harness.catalogue import listing
from harness.rules import RULES, Rule


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
def test_every_rule_says_what_it_is(rule: Rule) -> None:
    assert rule is RULES[rule.id]
    assert rule.statement.endswith(".")
    assert "RULES" not in rule.source
    assert rule.title
    assert rule.things


def test_the_listing_has_every_rule_once() -> None:
    assert list(RULES) == [row["id"] for row in listing.rules()]


def test_listing_rules_needs_no_spark() -> None:
    code = "import sys, harness.rules; sys.exit('pyspark' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
