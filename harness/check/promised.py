"""Limits: what a run is held to because its owner has promised it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.check.judge import Asked
from harness.rules import RULES
from harness.tables.source import Run


def asked_with_limits(asked: Sequence[Asked], run: Run) -> list[Asked]:
    """What is asked of a run, and first of all each limit that was promised.

    A limit that finds nothing to examine is UNKNOWN: that nothing was seen keeps no promise.
    """
    held = [rule.id for rule in RULES.values() if rule.holds_to(run.client, run.promised)]
    before = {each.rule: each for each in asked}
    limits = [replace(before.get(rule, Asked(rule)), if_seen=False) for rule in held]
    return [*limits, *(each for each in asked if each.rule not in held)]
