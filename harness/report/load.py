"""Reads a run folder into plain rows; everything else in this package works on them.

A complete run must have verdicts. Any other file may be missing or damaged, and what is made from
it is then left out: verdicts say what a lost file means, and must stay readable.
A void or interrupted run is read as far as it got: its page exists to say why there is no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base.errors import NoData
from harness.base.paths import COMMAND
from harness.experiment import PLAINTEXT
from harness.history import judged, store
from harness.history import manifest as manifest_file
from harness.history.derived import SPOILT, TABLES, VERDICTS, VERDICTS_FILE
from harness.history.manifest import client_of
from harness.history.schema import HISTORY

Row = Mapping[str, Any]

TABLES_READ: Final = ("rebalances", "stops", "ownership", "redeliveries", "evictions", "heartbeats")
# Of an older run there is none, and nothing was lost with it.
TABLES_SINCE: Final = ("other_rules", "answers")
_VERDICTS_SINCE: Final = frozenset({"left_out"})  # columns, of which the same is so
HISTORY_READ: Final = ("faults", "topology", "client_events", "coordinator_events")
# Heartbeats and commits are most of the request log; the page needs the steps of a rebalance only.
REBALANCE_APIS: Final = ("JOIN_GROUP", "SYNC_GROUP", "LEAVE_GROUP", "CONSUMER_GROUP_HEARTBEAT")


@dataclass(frozen=True)
class Phase:
    name: str
    from_at: datetime
    to_at: datetime | None


@dataclass(frozen=True)
class Manifest:
    """The part of `manifest.json` that the report shows."""

    run: str
    experiment: str
    claim: str
    status: str
    status_reason: str
    seed: str
    started_at: datetime | None
    ended_at: datetime | None
    group: str
    topic: str
    versions: Mapping[str, Any]
    host: Mapping[str, Any]
    declared: Mapping[str, Any]
    effective: Mapping[str, Any]
    observed: Mapping[str, Any]
    phases: tuple[Phase, ...]

    @property
    def steady_at(self) -> datetime | None:
        """When the group was in steady state; null where it never was."""
        return next((phase.from_at for phase in self.phases if phase.name == "steady"), None)

    @property
    def app(self) -> Mapping[str, Any] | None:
        """What was declared of the user's program that was tested, if one was."""
        return self.declared.get("app") or None

    @property
    def kafka(self) -> str:
        """The release of the brokers, and the one before it that they were upgraded from."""
        now, before = self.versions.get("kafka"), self.versions.get("kafka_before")
        return f"{before} to {now}" if before else str(now or "")

    @property
    def secured(self) -> str:
        """How clients and brokers spoke where that was not plain text; empty where it was."""
        security = _mapping(self.declared.get("cluster")).get("security", PLAINTEXT)
        return "" if security == PLAINTEXT else str(security)

    @property
    def client(self) -> str:
        if self.app is not None:
            return f"{self.app.get('name')} ({libraries_of(self.observed)})"
        name, version = client_of(self.declared, self.versions)
        return f"{name} {version or 'of an unknown version'}"

    @property
    def complete(self) -> bool:
        return self.status == "complete"


@dataclass(frozen=True)
class JudgedRun:
    path: Path
    manifest: Manifest
    verdicts: list[Row] | None  # null: the run was never judged
    tables: Mapping[str, list[Row]]
    history: Mapping[str, list[Row]]
    requests: list[Row]
    missing: frozenset[str]  # files that are not there or no use: "none recorded" is not "none"
    deliveries: pa.Table = field(repr=False)
    sends: pa.Table = field(repr=False)
    fetched_only: bool = False  # what was processed is unknown: `deliveries` are fetches
    problems: tuple[str, ...] = ()  # what is wrong with files that should be there, one by one

    def has(self, *names: str) -> bool:
        """True if all these files were read, by bare name: an empty table then means "none"."""
        return self.missing.isdisjoint(names)


NAMELESS: Final = "gives brokers neither name nor version"  # a client library


def libraries_of(observed: Mapping[str, Any]) -> str:
    """The client libraries of an app and their versions, as they name themselves to brokers."""
    return " and ".join(observed.get("clients") or ()) or NAMELESS


def load(run_dir: Path) -> JudgedRun:
    """Read `run_dir`.

    Raises:
        NoData: as `load_verdicts`.
    """
    manifest, verdicts = load_verdicts(run_dir)
    reader = _Reader(run_dir, whole=manifest.complete)
    later = [n for n in TABLES_SINCE if (run_dir / "tables" / f"{n}.parquet").exists()]
    tables = {n: reader.rows("tables", n) for n in (*TABLES_READ, *later)}
    history = {n: reader.rows("history", n) for n in HISTORY_READ}
    apis = [("api", "in", REBALANCE_APIS)]
    requests: list[Row] = list(reader.table("history", "requests", filters=apis).to_pylist())
    if manifest.app is None:
        fetched_only = False
        deliveries = reader.table("history", "deliveries", DELIVERY_COLUMNS)
    else:
        deliveries = reader.table("tables", "reads", DELIVERY_COLUMNS)
        fetched_only = reader.table("history", "effects", ("count",)).num_rows == 0
    return JudgedRun(
        path=run_dir,
        manifest=manifest,
        verdicts=verdicts,
        tables=tables,
        history=history,
        requests=requests,
        deliveries=deliveries,
        sends=reader.table("history", "sends", SEND_COLUMNS),
        missing=frozenset(reader.missing),
        fetched_only=fetched_only,
        problems=tuple(reader.problems),
    )


def load_verdicts(run_dir: Path) -> tuple[Manifest, list[Row] | None]:
    """Read how a run ended and its verdicts; null if it did not end well and was never judged.

    Raises:
        NoData: the manifest is missing, damaged or of another schema, or the verdicts are: those
            of a complete run have to be there.

    `withheld` of a row says whether it is unknown because of this machine alone.
    """
    manifest = load_manifest(run_dir)
    judged.settle(run_dir)
    path = run_dir / VERDICTS_FILE
    if not path.exists():
        if manifest.complete:
            raise NoData(f"{path} is missing: {again(run_dir)}")
        return manifest, None
    try:
        there = {*VERDICTS.names} - _VERDICTS_SINCE | {*pq.read_schema(path).names}
        columns = [name for name in VERDICTS.names if name in there]
        rows = _read(path, VERDICTS, columns).to_pylist()
        return manifest, [{**row, "withheld": _withheld(run_dir, row)} for row in rows]
    except _UNREADABLE as problem:
        raise NoData(f"{path} cannot be read ({_why(problem)}): {again(run_dir)}") from problem


def _withheld(run_dir: Path, verdict: Row) -> bool:
    """Whether all that is unknown of a verdict is withheld because of this machine."""
    if not verdict["unknowns"] or not any(words in (verdict["reason"] or "") for words in SPOILT):
        return False
    try:
        rows = pq.read_table(run_dir / str(verdict["evidence"]), columns=["ok", "why"]).to_pylist()
    except (pa.ArrowException, OSError):
        return False  # unknown
    return all(str(row["why"]).startswith(SPOILT) for row in rows if row["ok"] is None)


def judgements(run: JudgedRun, rules: Sequence[str]) -> list[Row]:
    """What rules, given by their ids, looked at. Raises NoData where the record of it is lost."""
    columns = ["rule", "subject", "at", "ok", "measured", "why"]
    schema = pa.schema([TABLES["judgements"].field(name) for name in columns])
    of_rules = [("rule", "in", list(rules))]
    try:
        found = _read(run.path / "tables" / "judgements.parquet", schema, columns, of_rules)
    except _UNREADABLE as problem:
        raise NoData(f"its judgements cannot be read ({_why(problem)})") from problem
    return list(found.to_pylist())


def again(run_dir: Path) -> str:
    """What to do about a run whose tables are damaged."""
    return f"judge the run again with `{COMMAND} check {run_dir}`"


_RANGE: Final = ("topic", "partition", "first_offset", "last_offset", "count")
DELIVERY_COLUMNS: Final = (*_RANGE, "polled_at", "processed_at")
SEND_COLUMNS: Final = (*_RANGE, "outcome")


@dataclass(frozen=True)
class _Reader:
    run_dir: Path
    whole: bool  # the run came to its end, so that a file which is not there has been lost
    missing: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def rows(self, folder: str, name: str) -> list[Row]:
        return list(self.table(folder, name).to_pylist())

    def table(
        self,
        folder: str,
        name: str,
        columns: Sequence[str] = (),
        filters: list[Any] | None = None,
    ) -> pa.Table:
        """These columns of a file, or all; no row where there is none that can be read."""
        whole = (HISTORY if folder == "history" else TABLES)[name]
        schema = pa.schema([whole.field(column) for column in columns or whole.names])
        path = self.run_dir / folder / f"{name}.parquet"
        try:
            if path.exists():
                known = schema.names
                if folder == "history":
                    known = [column for column in known if column in pq.read_schema(path).names]
                return _read(path, schema, known, filters)
            if self.whole:
                self.problems.append(f"{folder}/{path.name} is missing")
        except _UNREADABLE as problem:
            why = _why(problem).replace(f"{self.run_dir}/", "")
            self.problems.append(f"{folder}/{path.name} cannot be read ({why})")
        self.missing.add(name)
        return schema.empty_table()


_UNREADABLE: Final = (pa.ArrowException, OSError, KeyError, ValueError)


def _read(
    path: Path, schema: pa.Schema, columns: list[str], filters: list[Any] | None = None
) -> pa.Table:
    """Read a file's columns as those of `schema`. Raises one of _UNREADABLE."""
    table = pq.read_table(path, columns=columns, filters=filters, page_checksum_verification=True)
    return store.as_current(table, schema).cast(schema)


def _why(problem: Exception) -> str:
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__


def load_manifest(run_dir: Path) -> Manifest:
    """Read how a run ended. Raises NoData as `harness.history.manifest.read` does."""
    raw = manifest_file.read(run_dir)
    parts = ("versions", "host", "declared", "effective", "observed")
    known: dict[str, Any] = {name: _mapping(raw.get(name)) for name in parts}
    known["effective"] = manifest_file.as_json(known["effective"])  # older runs have such texts
    for name in ("claim", "status_reason", "group", "topic"):
        known[name] = str(raw.get(name) or "")
    phases = raw.get("phases")
    return Manifest(
        run=str(raw.get("run") or run_dir.name),
        experiment=str(raw.get("experiment") or run_dir.parent.name),
        status=str(raw.get("status") or "running"),
        seed="–" if raw.get("seed") is None else str(raw["seed"]),
        started_at=moment(raw.get("started_at")),
        ended_at=moment(raw.get("ended_at")),
        phases=tuple(
            Phase(str(each.get("name")), from_at, moment(each.get("to")))
            for each in (phases if isinstance(phases, list) else ())
            if (from_at := moment(each.get("from"))) is not None
        ),
        **known,
    )


def _mapping(raw: object) -> Mapping[str, Any]:
    return raw if isinstance(raw, dict) else {}


def moment(text: object) -> datetime | None:
    """Parse an ISO 8601 time of the manifest; null if it is absent or unreadable."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
