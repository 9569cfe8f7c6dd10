"""Derived tables: one module each, by queries over the history and over each other."""

from __future__ import annotations

from typing import Final

from harness.check.tables import shared
from harness.check.tables.base import Recipe, Tables
from harness.check.tables.commits_judged import commits_judged
from harness.check.tables.evictions import evictions
from harness.check.tables.heartbeats import heartbeats
from harness.check.tables.ownership import ownership
from harness.check.tables.rebalances import epochs, generations, rebalances, standstills
from harness.check.tables.redeliveries import redeliveries

# Written to files, in this order: each may start from those above it.
WRITTEN: Final[dict[str, Recipe]] = {
    "evictions": evictions,
    "heartbeats": heartbeats,
    "commits_judged": commits_judged,
    "ownership": ownership,
    "redeliveries": redeliveries,
    "rebalances": rebalances,
}
# Named by other queries only; kept in memory while a run is judged.
SHARED: Final[dict[str, Recipe]] = {
    "signs_of_life": shared.signs_of_life,
    "memberships": shared.memberships,
    "identities": shared.identities,
    "removals": shared.removals,
    "tenures": shared.tenures,
    "silences": shared.silences,
    "group_steps": shared.group_steps,
    "fault_windows": shared.fault_windows,
    "late_ticks": shared.late_ticks,
    "assignments": shared.assignments,
    "progress": shared.progress,
    "accepted": shared.accepted,
    "epochs": epochs,
    "generations": generations,
    "standstills": standstills,
}
RECIPES: Final[dict[str, Recipe]] = {**SHARED, **WRITTEN}

__all__ = ["RECIPES", "SHARED", "WRITTEN", "Tables"]
