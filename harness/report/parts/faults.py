"""The fault journal as one story per fault: planned, injected, healed, and proof that it bit."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from harness.report.load import JudgedRun, Row

# What was done to whom, by the kind of fault, or by what a standstill came from.
# fmt: off
_DONE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("close", "close-consumer", "terminate-consumer", "leave"), "the end of {}"),
    "start-consumer": "the start of {}", "join": "the join of {}", "expiry": "the eviction of {}",
    "kill-consumer": "the crash of {}", "bounce-consumer": "the restart of {}",
    "freeze-consumer": "the freeze of {}", "stall-callback": "a slow callback of {}",
    "stall-consumer": "slow work of {}", "stall": "slow work of {}",
    "start-duplicate": "a second process in the place of {}", "kill-broker": "the death of {}",
    "stop-broker": "the stop of {}", "pause-broker": "the freeze of {}",
    "upgrade-broker": "the upgrade of {}", "isolate-broker": "the isolation of {}",
    "isolate": "the cut link of {}", "connections-reset": "the end of connections of {}",
    "latency": "slow links of {}", "bandwidth": "narrow links of {}", "deploy": "the deploy",
    "delete-acl": "a right taken from {}", "delete-credentials": "credentials taken from {}",
    "scale": "another number of processes", "add-partitions": "new partitions",
    "slow-sink": "slow or refused posts", "slow-dependency": "a slow dependency",
    "cut-dependency": "a dependency that was gone",
}
# fmt: on


@dataclass(frozen=True)
class FaultStory:
    """One fault from intent to heal; a time is null if that phase was never reached."""

    fault: str
    kind: str
    target: str
    resolved: str
    planned_at: datetime | None
    injecting_at: datetime | None
    injected_at: datetime | None
    healed_at: datetime | None
    failed_at: datetime | None
    took_effect: bool | None
    evidence: str
    parameters: Mapping[str, object]

    @property
    def lasts(self) -> bool:
        """True if the fault has an end to wait for; a kill for good or a leave has none."""
        return self.healed_at is not None or self.parameters.get("lasts_s", 0) is not None

    @property
    def label(self) -> str:
        return f"{self.kind} {self.resolved or self.target}".strip()


def stories(faults: Iterable[Row]) -> list[FaultStory]:
    """Gather the journal's rows per fault, in the order of injection."""
    journal: dict[str, list[Row]] = defaultdict(list)
    for row in faults:
        journal[row["fault"] or "?"].append(row)

    def when(story: FaultStory) -> tuple[float, str]:
        at = story.injected_at or story.injecting_at or story.failed_at or story.planned_at
        return (at.timestamp() if at else float("inf"), story.fault)

    return sorted((_story(name, rows) for name, rows in journal.items()), key=when)


def done(fault: FaultStory | None = None, *, kind: str = "", whom: str = "") -> str:
    """A fault in words, or what a standstill came from: "the crash of member-3"."""
    if fault is not None:
        kind, whom = fault.kind, fault.resolved or fault.target
    return _DONE.get(kind, f"{kind} of {{}}").format(whom or "the group")


def span(run: JudgedRun) -> tuple[datetime, datetime]:
    """From when on what a run shows may come from its faults, until its processes are to end.

    Without a fault it begins in steady state; what is not on record bounds nothing.
    """
    begun = [each.injecting_at for each in whole(run.history["faults"])]
    first, zone = next(iter(begun), run.manifest.steady_at), UTC
    ends = (each.from_at for each in run.manifest.phases if each.name == "stop")
    return first or datetime.min.replace(tzinfo=zone), next(ends, datetime.max.replace(tzinfo=zone))


def whole(faults: Iterable[Row]) -> list[FaultStory]:
    """Those that were begun, in that order, without the steps of others, as 1.2-kill-consumer."""
    found = [
        (each.injecting_at, each.fault, each)
        for each in stories(faults)
        if each.injecting_at is not None and "." not in each.fault.partition("-")[0]
    ]
    return [each for _, _, each in sorted(found, key=lambda one: one[:2])]


def _story(name: str, rows: list[Row]) -> FaultStory:
    by_phase = {row["phase"]: row for row in rows}
    injected = by_phase.get("injected") or by_phase.get("failed")

    def last(column: str) -> str:
        return next((str(row[column]) for row in reversed(rows) if row[column]), "")

    known: dict[str, Any] = {name: last(name) for name in ("kind", "target", "resolved")}
    for phase in ("planned", "injecting", "injected", "healed", "failed"):
        known[f"{phase}_at"] = by_phase.get(phase, {}).get("at")
    proofs = [row["evidence"] for row in (injected, by_phase.get("healed")) if row]
    said = "; then ".join(dict.fromkeys(filter(None, proofs)))  # some heals have a proof as well
    return FaultStory(
        fault=name,
        took_effect=injected["took_effect"] if injected else None,
        evidence=said if injected else last("evidence"),
        parameters=_parameters(last("parameters")),
        **known,
    )


def _parameters(text: str) -> dict[str, object]:
    """Parse the JSON; text that is none is shown as it is."""
    try:
        parsed = json.loads(text) if text else {}
    except ValueError:
        return {"": text}
    return parsed if isinstance(parsed, dict) else {"": parsed}
