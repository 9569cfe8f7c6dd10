from __future__ import annotations

import re
import subprocess
import sys

import pytest

from harness.catalogue import listing
from harness.rules import RULES, Rule
from harness.rules.rule_names import NAMES, id_of, name_of
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


def test_every_rule_has_a_name_of_its_own() -> None:
    assert set(RULES) == set(NAMES)
    assert len(NAMES) == len(set(NAMES.values()))
    for rule, name in NAMES.items():
        assert re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)+", name) or name == "record/is-complete"
        assert rule == id_of(name) == id_of(rule)
        assert name == name_of(rule)
    assert "orders-in-time" == id_of("orders-in-time") == name_of("orders-in-time")
