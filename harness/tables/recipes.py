"""Derived tables: one module each, by queries over the history and over each other."""

from __future__ import annotations

from typing import Final

from harness.tables import probes, shared
from harness.tables.base import Recipe
from harness.tables.commits_judged import commits_judged
from harness.tables.evictions import evictions
from harness.tables.heartbeats import heartbeats
from harness.tables.ownership import ownership
from harness.tables.rebalances import epochs, generations, rebalances, standstills
from harness.tables.redeliveries import redeliveries
from harness.tables.stops import (
    disturbed_gaps,
    episodes,
    gaps,
    stop_gaps,
    stop_moments,
    stop_subjects,
    stops,
)

# Written to files, in this order: each may start from those above it.
WRITTEN: Final[dict[str, Recipe]] = {
    "evictions": evictions,
    "heartbeats": heartbeats,
    "commits_judged": commits_judged,
    "ownership": ownership,
    "redeliveries": redeliveries,
    "rebalances": rebalances,
    "stops": stops,
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
    "broker_faults": shared.broker_faults,
    "forgotten": shared.forgotten,
    "late_ticks": shared.late_ticks,
    "assignments": shared.assignments,
    "probe_joins": probes.probe_joins,
    "probe_members": probes.probe_members,
    "probed": probes.probed,
    "probe_positions": probes.probe_positions,
    "probe_fetches": probes.probe_fetches,
    "progress": shared.progress,
    "epochs": epochs,
    "generations": generations,
    "episodes": episodes,
    "gaps": gaps,
    "disturbed_gaps": disturbed_gaps,
    "stop_gaps": stop_gaps,
    "stop_subjects": stop_subjects,
    "stop_moments": stop_moments,
    "standstills": standstills,
}
RECIPES: Final[dict[str, Recipe]] = {**SHARED, **WRITTEN}

__all__ = ["RECIPES", "SHARED", "WRITTEN"]
