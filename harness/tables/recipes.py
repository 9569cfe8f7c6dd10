"""The derived tables, by name: each is a query over the history and over other tables."""

from typing import Final

from harness.experiment import APP
from harness.tables import probes
from harness.tables.assignments import assignments
from harness.tables.commits_judged import commits_judged
from harness.tables.coordinators import group_steps, tenures
from harness.tables.episodes import episodes
from harness.tables.evictions import evictions
from harness.tables.fault_windows import broker_faults, fault_windows
from harness.tables.gaps import disturbed_gaps, gaps, never_again, stop_gaps
from harness.tables.heartbeats import heartbeats
from harness.tables.machine import late_ticks
from harness.tables.memberships import identities, memberships, removals
from harness.tables.of_an_app import OF_AN_APP
from harness.tables.ownership import ownership
from harness.tables.ownership_by_brokers import ownership_by_brokers
from harness.tables.progress import forgotten, progress
from harness.tables.rebalances import epochs, generations, rebalances, standstills
from harness.tables.record import record_of_group, record_of_journals, record_of_logs
from harness.tables.redeliveries import redeliveries
from harness.tables.silences import join_waits, signs_of_life, silences
from harness.tables.stop_moments import stop_moments, stop_subjects
from harness.tables.stops import stops
from harness.tables.vocabulary import Query

# Written to files, in this order: each may start from those above it.
WRITTEN: Final[dict[str, Query]] = {
    "evictions": evictions,
    "heartbeats": heartbeats,
    "commits_judged": commits_judged,
    "ownership": ownership,
    "redeliveries": redeliveries,
    "rebalances": rebalances,
    "stops": stops,
}
# Named by other queries only; kept in memory while a run is judged.
SHARED: Final[dict[str, Query]] = {
    "join_waits": join_waits,
    "signs_of_life": signs_of_life,
    "memberships": memberships,
    "identities": identities,
    "removals": removals,
    "tenures": tenures,
    "silences": silences,
    "group_steps": group_steps,
    "fault_windows": fault_windows,
    "broker_faults": broker_faults,
    "forgotten": forgotten,
    "late_ticks": late_ticks,
    "record_of_journals": record_of_journals,
    "record_of_logs": record_of_logs,
    "record_of_group": record_of_group,
    "ownership_by_brokers": ownership_by_brokers,
    "assignments": assignments,
    "probe_joins": probes.probe_joins,
    "probe_members": probes.probe_members,
    "probed": probes.probed,
    "probe_positions": probes.probe_positions,
    "probe_fetches": probes.probe_fetches,
    "progress": progress,
    "epochs": epochs,
    "generations": generations,
    "episodes": episodes,
    "gaps": gaps,
    "never_again": never_again,
    "disturbed_gaps": disturbed_gaps,
    "stop_gaps": stop_gaps,
    "stop_subjects": stop_subjects,
    "stop_moments": stop_moments,
    "standstills": standstills,
}
RECIPES: Final[dict[str, Query]] = {**SHARED, **WRITTEN}


def recipes_of(client: str) -> dict[str, Query]:
    """The derived tables of a run, by the client of its members."""
    return {**RECIPES, **OF_AN_APP} if client == APP else RECIPES


def written_of(client: str) -> tuple[str, ...]:
    """The tables of a run that are written to files, in order, by the client of its members."""
    return (*WRITTEN, "reads") if client == APP else tuple(WRITTEN)


__all__ = ["RECIPES", "SHARED", "WRITTEN", "recipes_of", "written_of"]
