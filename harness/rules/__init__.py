"""Documented rules of consumer groups, each a query over a run's tables.

Importing this starts no Spark and needs none: the catalogue is for listing, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.rules.rule import Need, Rule

if TYPE_CHECKING:
    from harness.rules.catalogue import RULES

__all__ = ["RULES", "Need", "Rule"]


def __getattr__(name: str) -> Any:
    """`RULES` when it is first asked for: collecting it imports every module of this package."""
    if name == "RULES":
        from harness.rules.catalogue import RULES

        return RULES
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
