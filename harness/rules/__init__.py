"""Documented rules of consumer groups, each a query over a run's tables.

Importing this starts no Spark and needs none: the catalogue is for listing, too.
"""

from __future__ import annotations

from harness.rules.catalogue import RULES
from harness.rules.rule import Rule

__all__ = ["RULES", "Rule"]
