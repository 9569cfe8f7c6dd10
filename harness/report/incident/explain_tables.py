"""The tables of an incident as files: `rebalances` and `evictions`.

Columns that a run's tables of these names have too mean the same here.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

import pyarrow as pa

from harness.history import store
from harness.history.column_types import AT, INT, REAL, TEXT, schema_of
from harness.history.foreign.events import Read
from harness.report.incident.logged import LoggedGroup, LoggedRebalance, Removal
from harness.report.incident.names import Names

Row = dict[str, Any]

REBALANCES: Final = schema_of(
    [
        ("group", TEXT),
        ("generation", INT),  # or group epoch
        ("trigger", TEXT),  # join | leave | expiry | fenced | metadata | rejoin | other
        ("cause", TEXT),  # by the reason and what the client said, finer than trigger
        ("trigger_member_id", TEXT),
        ("trigger_client_id", TEXT),
        ("trigger_instance_id", TEXT),
        ("trigger_host", TEXT),
        ("trigger_library", TEXT),  # and its version; from request logs alone
        ("reason", TEXT),
        ("client_reason", TEXT),
        ("protocol", TEXT),  # classic | consumer
        ("coordinator", INT),
        ("members_before", INT),  # null in KIP-848: no line has it
        ("members_after", INT),
        ("leader_member_id", TEXT),
        ("started_at", AT),  # null: before these logs begin
        ("joined_at", AT),  # null: not completed in these logs
        ("synced_at", AT),  # the group leader's assignment came
        ("joining_ms", REAL),  # started to joined
        ("storm", INT),  # number of the group's storm that it belongs to
        ("evidence", TEXT),
    ]
)
EVICTIONS: Final = schema_of(
    [
        ("group", TEXT),
        # session_expired | rebalance_timeout | instance_fenced | sync_expired
        ("cause", TEXT),
        ("member_id", TEXT),
        ("client_id", TEXT),
        ("instance_id", TEXT),
        ("host", TEXT),
        ("library", TEXT),
        ("broker", INT),
        ("evicted_at", AT),
        ("reason", TEXT),
        ("other_member_id", TEXT),  # who has the instance id now
        ("evidence", TEXT),
    ]
)


def rebalance_row(one: LoggedRebalance, read: Read, names: Names) -> Row:
    member = one.named[0] if one.named else None
    return {
        **{each.name: getattr(one, each.name) for each in fields(one)},
        **_about(names, member, "trigger_"),
        "trigger_instance_id": names.instance(member) if member else None,
        "leader_member_id": one.leader,
        "joining_ms": one.joining_ms,
        "evidence": read.place(one.evidence),
    }


def eviction_row(one: Removal, read: Read, names: Names) -> Row:
    return {
        **{each.name: getattr(one, each.name) for each in fields(one)},
        **_about(names, one.member_id),
        "broker": one.coordinator,
        "evicted_at": one.at,
        "other_member_id": one.other_id,
        "evidence": read.place(one.evidence),
    }


def _about(names: Names, member: str | None, which: str = "") -> Row:
    """Who a member is, in columns whose names begin so."""
    about = ("client_id", "host", "library")
    found = {name: getattr(names, name)(member) if member else None for name in about}
    return {f"{which}{name}": value for name, value in {"member_id": member, **found}.items()}


def in_order(groups: Sequence[LoggedGroup]) -> tuple[list[LoggedRebalance], list[Removal]]:
    """The rebalances and the removals of all groups, by time."""
    rebalances = [one for group in groups for one in group.rebalances]
    removals = [one for group in groups for one in group.removals]
    return sorted(rebalances, key=lambda one: one.at), sorted(removals, key=lambda one: one.at)


def tables_of(groups: Sequence[LoggedGroup], read: Read, names: Names) -> dict[str, pa.Table]:
    rebalances, removals = in_order(groups)
    rebalanced = (rebalance_row(one, read, names) for one in rebalances)
    evicted = (eviction_row(one, read, names) for one in removals)
    return {
        "rebalances": store.table_of(rebalanced, REBALANCES),
        "evictions": store.table_of(evicted, EVICTIONS),
    }
