"""The fault journal as one story per fault: planned, injected, healed, and proof that it bit."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from harness.report.load import Row


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
