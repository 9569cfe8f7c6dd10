"""False evictions: members that were put out of their group although their processes lived.

A member is put out by its coordinator, which heard nothing from it for a session, or for which it
was too late in a rebalance; or by its own client library, as the application did not poll for
max.poll.interval.ms. That is right of a process that has crashed. It is false of one that was
frozen, slow, or cut off, and that would have gone on.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from harness.report.load import JudgedRun
from harness.report.parts.faults import FaultStory, stories
from harness.report.parts.member_names import members_of


@dataclass(frozen=True)
class PutOut:
    """One time that a member lost its place. `by` is session, rebalance or max poll."""

    member: str
    member_id: str
    at: datetime
    by: str


def false_evictions(run: JudgedRun) -> list[PutOut] | None:
    """Those from steady state on, in order of time; null where the record of it is missing.

    A process that was killed, or had begun to close, was not there any more. One that is put out
    by both sides, before it is given partitions again, is put out once.
    """
    if not run.has("evictions", "coordinator_events", "client_events", "faults"):
        return None
    gone_at = _ends(run)
    steady = run.manifest.steady_at
    found = [
        each
        for each in _once_each(run, _every(run))
        if (steady is None or each.at >= steady)
        and not any(at <= each.at for at in gone_at[each.member] + gone_at[each.member_id])
    ]
    return sorted(found, key=lambda each: each.at)


def _every(run: JudgedRun) -> Iterator[PutOut]:
    events = run.history["client_events"]
    names = members_of(run).by_id
    for row in run.tables["evictions"]:
        if row["evicted_at"]:
            yield PutOut(row["member"] or "", row["member_id"], row["evicted_at"], "session")
    for row in run.history["coordinator_events"]:
        ids = {
            "fenced": [row["member_id"]],
            "stragglers_removed": [id_.strip(" []") for id_ in (row["reason"] or "").split(",")],
        }
        if row["group"] != run.manifest.group or not row["at"]:
            continue
        for id_ in ids.get(row["event"], ()):
            yield PutOut(names.get(id_, ""), id_, row["at"], "rebalance")
    for row in events:
        if row["event"] == "max_poll_exceeded":
            yield PutOut(row["member"], row["member_id"] or "", row["event_at"], "max poll")


def _once_each(run: JudgedRun, found: Iterable[PutOut]) -> Iterator[PutOut]:
    """The first of several of one member id, until its member is given partitions again."""
    back = defaultdict(list)
    for row in run.history["client_events"]:
        if row["event"] == "assigned":
            back[row["member_id"]].append(row["event_at"])
    last: dict[str, datetime] = {}
    for each in sorted(found, key=lambda each: (each.at, each.by)):
        before = last.get(each.member_id)
        if before is None or any(before < at <= each.at for at in back[each.member_id]):
            last[each.member_id] = each.at
            yield each


def _ends(run: JudgedRun) -> dict[str, list[datetime]]:
    """When processes were killed, by member, and when they began to close, by member id."""
    found: dict[str, list[datetime]] = defaultdict(list)
    for fault in stories(run.history["faults"]):
        if fault.injecting_at is not None and _kills(fault):
            found[fault.resolved].append(fault.injecting_at)
    for row in run.history["client_events"]:
        if row["event"] == "closing" and row["member_id"]:
            found[row["member_id"]].append(row["event_at"])
    return found


def _kills(fault: FaultStory) -> bool:
    """Whether it gives a process no chance of a last word; the oldest journals do not say so."""
    effects = fault.parameters.get("effects")
    if isinstance(effects, dict):
        return bool(effects.get("killed"))
    if fault.kind == "bounce-consumer":
        return fault.parameters.get("how") == "kill"
    return fault.kind in ("kill-broker", "kill-consumer")
