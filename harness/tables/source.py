"""Reading one run's folder: the manifest, and the history files, each verified before use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from harness.base import processes
from harness.base.errors import NoData
from harness.base.paths import COMMAND
from harness.experiment import APP
from harness.history import manifest, seals, store
from harness.history.schema import ADDED, ADDED_FILES, HISTORY, SCHEMA_VERSION
from harness.tables.engines.contract import Engine, Frame, Setting
from harness.tables.settings import settings_of

FILES: Final = tuple(HISTORY)  # of a run's history, by name


@dataclass(frozen=True)
class Run:
    """What the manifest says that judging needs."""

    name: str
    experiment: str
    status: str
    status_reason: str
    settings: Mapping[str, Setting]
    expected: tuple[Mapping[str, str], ...] = ()
    client: str = "librdkafka"
    protocol: str = "eager"
    sabotaged: bool = False  # a member breaks a rule on purpose
    static: bool = False  # members keep an instance id (KIP-345)
    promised: Mapping[str, float] = field(default_factory=dict)  # limits that were given
    own: Mapping[str, str] = field(default_factory=dict)  # digests of its owner's files, by path
    releases: tuple[str, ...] = ()  # of Kafka that its brokers had
    cpu_pressure: Mapping[str, float] = field(default_factory=dict)  # shares of the measured time
    contained: frozenset[str] = frozenset()  # what the names of processes in containers begin with

    @property
    def complete(self) -> bool:
        """Whether the run went through all its phases, so that its history can be judged."""
        return self.status == "complete"


def read_run(run_dir: Path, limits: Mapping[str, float] | None = None) -> Run:
    """The run in this folder, with other limits than its own where some are given.

    Raises NoData where there is no run, no readable manifest, or nothing recorded, and where it
    still goes on.
    """
    if not run_dir.is_dir():
        raise NoData(f"there is no run folder {run_dir}: name one below results/<experiment>/")
    run = run_of(manifest.read(run_dir), limits)
    if run.status == "running" and _goes_on(run.name):
        raise NoData(f"the run {run_dir} still goes on: wait for its end, and check it then")
    history = run_dir / "history"
    if not history.is_dir() or not any(history.glob("*.parquet")):
        said = f"{history} holds no history, and the run is {run.status or 'without a status'}"
        if any((run_dir / "journals").glob("*.journal")):
            raise NoData(
                f"{said}: `{COMMAND} collect {run_dir}` makes it from the journals, then "
                "check again"
            )
        raise NoData(f"{said}: there are no journals to make it from, so run the experiment again")
    return run


def _goes_on(run: str) -> bool:
    """Whether the harness of a run lives; its watchdog has its mark as long as the run goes on.

    A manifest says "running" until another end is written, and a machine that went down wrote none.
    """
    return any(processes.owner_alive(owner) for _, _, owner in processes.marked(run))


def run_of(content: Mapping[str, Any], limits: Mapping[str, float] | None = None) -> Run:
    """The run that a manifest is of, with other limits than its own where some are given.

    Raises NoData naming what the manifest lacks.
    """
    try:
        declared = content["declared"]
        promised = _promised(declared) if limits is None else limits
        settings = settings_of(content, promised)
        expected = tuple(declared.get("rules") or ())
        cluster = declared.get("cluster") or {}
        kafka = (cluster.get("upgraded_from"), cluster.get("kafka_version"))
        if not all(each["rule"] for each in expected):
            raise ValueError("an expectation of no rule")
        return Run(
            name=str(content["run"]),
            experiment=str(content["experiment"]),
            status=str(content["status"]),
            status_reason=str(content.get("status_reason") or ""),
            settings=settings,
            expected=expected,
            client=declared["group"]["client"],
            protocol=str(settings["protocol"]),
            sabotaged=manifest.is_sabotaged(declared["group"]),
            static=bool(declared["group"].get("static")),
            promised=promised,
            own=dict(content.get("own") or {}),
            releases=tuple(str(each) for each in kafka if each),
            cpu_pressure=dict((content.get("host") or {}).get("cpu_pressure") or {}),
            contained=_contained(declared),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoData(
            f"the manifest cannot be read ({type(error).__name__}: {error}): "
            "the run cannot be judged; check it with the version that wrote it"
        ) from error


def _contained(declared: Mapping[str, Any]) -> frozenset[str]:
    """Of a cluster in containers all, and of a program from an image its members.

    It is not known how long any of these waited for a processor.
    """
    cluster = (declared.get("cluster") or {}).get("backend", "embedded") != "embedded"
    program = bool((declared.get("app") or {}).get("image"))
    return frozenset(
        ({"broker", "controller", "toxiproxy"} if cluster else set())
        | ({"member"} if program else set())
    )


def _promised(declared: Mapping[str, Any]) -> dict[str, float]:
    """The limits of a run; a run of a version that knew none has none."""
    of = declared["app"] if declared["group"]["client"] == APP else declared
    return {name: value for name, value in (of.get("limits") or {}).items() if value is not None}


class Unreadable(Exception):
    """A history file cannot be used; the message names the file and says why.

    It never leaves `check`: it becomes the reason of a verdict.
    """


@dataclass
class Sources:
    """The history files of one run: frames, or why a file cannot be used."""

    frames: dict[str, Frame] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)


def load(run_dir: Path, engine: Engine) -> Sources:
    """Every history file of the run, its checksums verified.

    An engine that works with files reads them when a query needs them.
    """
    sources = Sources()
    sealed = seals.kept(run_dir)
    versions: set[int] = set()
    for name, schema in HISTORY.items():
        try:
            path = run_dir / "history" / f"{name}.parquet"
            sources.rows[name], version = verify(path, schema, sealed.get(f"history/{path.name}"))
            versions.add(version)
        except Unreadable as reason:
            sources.unreadable[name] = str(reason)
    version = max(versions, default=SCHEMA_VERSION)
    later = [name for number, files in ADDED_FILES.items() if number > version for name in files]
    for name in later:
        if not (run_dir / "history" / f"{name}.parquet").exists():
            del sources.unreadable[name]
            sources.frames[name] = engine.rows(HISTORY[name].empty_table())
    for name in list(sources.rows):
        path = run_dir / "history" / f"{name}.parquet"
        try:
            sources.frames[name] = _frame(path, HISTORY[name], engine)
        except Unreadable as reason:
            del sources.rows[name]
            sources.unreadable[name] = str(reason)
    return sources


def _frame(path: Path, schema: pa.Schema, engine: Engine) -> Frame:
    if engine.files is not None:
        return engine.files.parquet(path, schema)
    with _damage(f"history/{path.name}"):
        rows = pq.read_table(path, page_checksum_verification=True)
        rows.validate(full=True)
    return engine.rows(store.as_current(rows, schema))


@contextmanager
def _damage(where: str) -> Iterator[None]:
    """Raises Unreadable for what a library makes of a file that is damaged."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Unreadable(f"{where} is damaged ({first_line})") from error


def verify(path: Path, schema: pa.Schema, seal: Any = None) -> tuple[int, int]:
    """Read the whole file once with its page checksums; its rows, and its schema's version.

    `seal` is that of the manifest, where it has one. Raises Unreadable for a missing, damaged or
    foreign file. Spark would read some of these without a word: bit flips pass Parquet's own
    checks, which footers and headers do not have.
    """
    where = f"history/{path.name}"
    if not path.is_file():
        raise Unreadable(f"{where} is missing")
    with _damage(where):
        if seal is not None and seals.seal_of(path) != seal:
            raise Unreadable(
                f"{where} is not the file that was recorded: its checksum is not that of "
                f"manifest.json; `{COMMAND} collect {path.parent.parent}` makes it anew"
            )
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            version = (file.schema_arrow.metadata or {}).get(b"schema_version")
            if version is None:
                raise Unreadable(f"{where} is not a history file: it carries no schema version")
            number = version.decode(errors="replace")
            if not number.isdecimal() or not 1 <= int(number) <= SCHEMA_VERSION:
                raise Unreadable(
                    f"{where} has schema version {number}, and this version reads 1 to "
                    f"{SCHEMA_VERSION}"
                )
            _compare(where, file.schema_arrow, _schema_at(path.stem, schema, int(number)))
            rows = sum(batch.num_rows for batch in file.iter_batches(batch_size=2**17))
            if {rows} != store.row_counts(file.metadata):
                raise Unreadable(f"{where} is damaged (it says of itself that it has other rows)")
            return rows, int(number)


def _schema_at(name: str, schema: pa.Schema, version: int) -> pa.Schema:
    """The columns that a file had in an older version of the schema."""
    later = {
        column
        for number, files in ADDED.items()
        if number > version
        for column in files.get(name, ())
    }
    return pa.schema([column for column in schema if column.name not in later])


def _compare(where: str, found: pa.Schema, wanted: pa.Schema) -> None:
    missing = [name for name in wanted.names if name not in found.names]
    if missing:
        raise Unreadable(f"{where} lacks the columns {', '.join(missing)}")
    for column in wanted:
        actual = found.field(column.name).type
        if not actual.equals(column.type) and not _same_lists(actual, column.type):
            raise Unreadable(f"{where}: column {column.name} is {actual}, not {column.type}")


def _same_lists(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Lists are equal if their values are: writers name the element differently."""
    if not (pa.types.is_list(found) and pa.types.is_list(wanted)):
        return False
    return bool(found.value_type.equals(wanted.value_type))
