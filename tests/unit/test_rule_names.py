"""Which code knows rules by their names: theirs alone."""

from __future__ import annotations

import re

from harness.base.paths import ROOT
from harness.rules import RULES

HARNESS = ROOT / "harness"
# Made-up runs declare rules, as an experiment does.
DECLARING = {HARNESS / "rules", HARNESS / "bench"}


def test_nothing_outside_the_rules_knows_a_rule_by_its_name() -> None:
    quoted = re.compile(rf"[\"']({'|'.join(map(re.escape, RULES))})[\"']")
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in HARNESS.rglob("*.py")
        if path.parent not in DECLARING
        for name in quoted.findall(path.read_text())
    }

    assert not found
