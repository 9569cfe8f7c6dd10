"""Documented rules of consumer groups, each a query over a run's tables.

Importing this starts no Spark and needs none: the catalogue is for listing, too.
"""

from __future__ import annotations

from harness.rules.catalogue import RULES
from harness.rules.rule import Rule

__all__ = ["RULES", "Rule", "listing"]


def listing() -> list[dict[str, str]]:
    """What `list --json` and the documentation tell of every rule, in the catalogue's order."""
    return [
        {
            "id": rule.id,
            "title": rule.title,
            "statement": rule.statement,
            "source": rule.source,
            "unit": rule.unit,
            "kind": "evidence" if rule.evidence else "rule",
        }
        for rule in RULES.values()
    ]
