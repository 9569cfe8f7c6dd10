"""What the size of a group costs: runs of `large-group`, read into one record of numbers.

    python3 -m harness.bench.group_sizes docs RESULTS…   (add the runs below RESULTS to the record)
    python3 -m harness.bench.group_sizes docs            (write the table and the plot of it anew)

The record is `group-sizes.json` of the folder `docs`. A run that is in it already is read again
where it is still there; the record outlives the runs.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from harness.base.errors import NoData
from harness.bench import group_sizes_page
from harness.check.check import check
from harness.check.judge import Outcome
from harness.experiment import SLACK_MS
from harness.history import manifest
from harness.provision.cache import translations
from harness.tables.engines.duckdb import DuckDb

RECORD: Final = "group-sizes.json"
_JOIN, _CRASH, _DEPLOY = "start-consumer", "kill-consumer", "deploy"
_COST: Final = "X34"  # rebalance time, in heartbeat intervals
_CAUSES: Final = "R20f"  # every rebalance, and whether it had a cause

Row = Mapping[str, Any]


@dataclass(frozen=True)
class GroupSize:
    """One run: how large its group was, and what a join, a crash and a deploy cost it.

    `join` and `crash` are from the coordinator's notice to the last member's join, in heartbeat
    intervals (X34), `bound` what X34 allows a join; `join_why` is empty where the join was judged,
    and says why not, or what was wrong. `deploy_s` is from the first process that is told to end to
    the last new one in the group, `fleet_s` from the first process to a group that consumes. Of the
    rebalances of the whole run `unexplained` had no cause on record (R20f). Ticks are late that
    came more than 50 ms after their time.
    """

    run: str
    protocol: str
    members: int
    kafka: str
    client_version: str
    cores: int
    join: float | None
    bound: float | None
    join_why: str
    crash: float | None
    deploy_s: float | None
    fleet_s: float
    rebalances: int
    unexplained: int
    late_ticks: int
    latest_tick_ms: float


def measured(run_dir: Path, engine: DuckDb) -> GroupSize:
    """Read one run; raises NoData where it is not complete, or its record not whole."""
    told = manifest.read(run_dir)
    if told.get("status") != "complete":
        raise NoData(f"{run_dir} is not complete: {told.get('status_reason')}")
    rows: dict[str, list[dict[str, Any]]] = {}
    unknown: dict[str, str] = {}

    def judged(outcome: Outcome) -> None:
        rows.update(outcome.rows)
        unknown.update(outcome.unknown)

    check(run_dir, engine, keep=False, rules=(_COST, _CAUSES), judged=judged)
    if unknown:  # no rows, which would look as if nothing had happened
        why = "; ".join(f"{rule}: {each}" for rule, each in sorted(unknown.items()))
        raise NoData(f"{run_dir} cannot be measured ({why}): play it again")
    faults = _history(run_dir, "faults")
    join = _during(rows.get(_COST, ()), faults, _JOIN)
    crash = _during(rows.get(_COST, ()), faults, _CRASH)
    starts = [row for row in rows.get(_CAUSES, ()) if row["subject"].startswith(("epoch ", "reb"))]
    phases = {phase["name"]: phase for phase in told["phases"]}
    from_at, to_at = (_at(phases["steady"]["from"]), _at(phases["drain"]["from"]))
    late = [row["late_ms"] for row in _history(run_dir, "host") if from_at <= row["at"] <= to_at]
    group = told["declared"]["group"]
    return GroupSize(
        run=run_dir.name,
        protocol=group["protocol"],
        members=group["members"],
        kafka=told["versions"]["kafka"],
        client_version=str(told["versions"].get(group["client"], "")),
        cores=told["host"]["cores"],
        join=join["measured"] if join else None,
        bound=join["bound_high"] if join else None,
        join_why="" if join is None or join["ok"] else str(join["why"]),
        crash=crash["measured"] if crash else None,
        deploy_s=_lasted_s(faults, _DEPLOY),
        fleet_s=_seconds(phases["start fleet"]["from"], phases["start fleet"]["to"]),
        rebalances=len(starts),
        unexplained=sum(row["ok"] is False for row in rows.get(_CAUSES, ())),
        late_ticks=sum(each > SLACK_MS for each in late),
        latest_tick_ms=round(max(late, default=0.0), 1),
    )


def _history(run_dir: Path, name: str) -> list[dict[str, Any]]:
    path = run_dir / "history" / f"{name}.parquet"
    if not path.is_file():
        return []  # a run of before there were such files
    rows: list[dict[str, Any]] = pq.read_table(path, page_checksum_verification=True).to_pylist()
    return rows


def _during(rows: Iterable[Row], faults: Sequence[Row], kind: str) -> Row | None:
    """The first change of the group since a fault of this kind, and before the next fault."""
    times = sorted(row["at"] for row in faults if row["phase"] == "injecting" and _declared(row))
    begins = [
        row["at"]
        for row in faults
        if row["kind"] == kind and row["phase"] == "injecting" and _declared(row)
    ]
    if not begins:
        return None
    ends = next((at for at in times if at > begins[0]), None)
    found = [row for row in rows if row["at"] >= begins[0] and (ends is None or row["at"] < ends)]
    return min(found, key=lambda row: row["at"], default=None)


def _declared(row: Row) -> bool:
    """Whether it is a fault of the schedule, and no step of another."""
    return "." not in str(row["fault"])


def _lasted_s(faults: Sequence[Row], kind: str) -> float | None:
    at: dict[str, datetime] = {
        row["phase"]: row["at"] for row in faults if row["kind"] == kind and _declared(row)
    }
    if "injecting" not in at or "injected" not in at:
        return None
    return round((at["injected"] - at["injecting"]).total_seconds(), 1)


def _at(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


def _seconds(begin: str, end: str) -> float:
    return round((_at(end) - _at(begin)).total_seconds(), 1)


def load(folder: Path) -> list[GroupSize]:
    """The record of a folder; raises NoData where there is none."""
    path = folder / RECORD
    if not path.is_file():
        raise NoData(f"{path} is not there: measure runs of large-group first")
    return [GroupSize(**each) for each in json.loads(path.read_text(encoding="utf-8"))]


def add(folder: Path, results: Sequence[Path]) -> None:
    """Add every run below `results` to the record. Raises NoData for a run that is not complete."""
    had = {each.run: each for each in load(folder)} if (folder / RECORD).is_file() else {}
    engine = DuckDb(translations())
    try:
        for place in results:
            had |= {run.name: measured(run, engine) for run in manifest.runs_in(place)}
    finally:
        engine.close()
    found = sorted(had.values(), key=lambda each: (each.protocol, each.members, each.run))
    text = json.dumps([asdict(each) for each in found], indent=1) + "\n"
    (folder / RECORD).write_text(text, encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Add what is named to the record of the first folder, and write its table and its plot."""
    folder, *results = map(Path, arguments)
    if results:
        add(folder, results)
    group_sizes_page.write(folder, [asdict(each) for each in load(folder)])


if __name__ == "__main__":
    main(sys.argv[1:])
