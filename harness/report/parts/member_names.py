"""Names and colours of members, the same in every chart and table."""

from dataclasses import dataclass
from itertools import chain
from typing import Final

from harness.report.formats import NOTHING
from harness.report.load import JudgedRun

COLOURS: Final = 10


@dataclass(frozen=True)
class Members:
    """Members in natural order, and which of them a coordinator's member id belongs to."""

    names: tuple[str, ...]
    by_id: dict[str, str]

    def colour(self, member: str | None) -> str:
        """CSS class of a member's colour; more than ten members share colours."""
        if member not in self.names:
            return "m-none"
        return f"m{self.names.index(member) % COLOURS}"

    def of_id(self, member_id: str | None) -> str:
        """Name the member behind an id; an unknown id is shown cut off."""
        if not member_id:
            return NOTHING
        return self.by_id.get(member_id) or f"{member_id[:20]}…"


def members_of(run: JudgedRun) -> Members:
    tables = (run.tables[name] for name in ("ownership", "evictions", "heartbeats"))
    by_id: dict[str, str] = {}
    names = set()
    for row in chain(*tables, run.history["client_events"], run.requests):
        name = row.get("member") or row.get("client_id")
        if not name:
            continue
        if "client_id" not in row:
            names.add(name)
        if row["member_id"]:
            by_id.setdefault(row["member_id"], name)
    return Members(tuple(sorted(names, key=_natural)), by_id)


def _natural(name: str) -> tuple[str, int, str]:
    head, _, tail = name.rpartition("-")
    return (head, int(tail), "") if tail.isdigit() else (name, -1, "")
