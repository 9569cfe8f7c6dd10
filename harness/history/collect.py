"""From journals and logs to the Parquet files of `history/`.

Everything here can be done again by anyone from the run's `journals/` and `logs/`:
`python -m harness collect RUN`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from consumers.config import ConsumerConfig, ProducerConfig
from consumers.history_rows import consumer_rows, parse_client_log, producer_rows
from consumers.journal import FORMAT_VERSION, JournalContent, of_kinds, read_journal
from harness.base import processes
from harness.base.errors import BadInput, NoData
from harness.history import app_record, broker_logs, seals, shown, store
from harness.history.broker_logs import About
from harness.history.schema import HISTORY

Row = dict[str, Any]
OBSERVER: Final = "observer"
SINK: Final = Path(shown.JOURNAL).stem
WRITTEN: Final = Path(shown.WRITTEN).stem

_SUFFIX: Final = ".journal"
_NOTHING: Final = JournalContent([], torn=False, whole_bytes=0)
_ENDINGS: Final = {"closed": "closed", "fatal": "failed"}

# What is needed of each role's settings here, which raises where they are damaged.
_CONFIGS: Final[dict[str, Callable[[Row], object]]] = {
    "consumer": ConsumerConfig.of,
    "producer": ProducerConfig.of,
    "probe": itemgetter("member"),
}
_TOPOLOGY: Final = frozenset({"broker", "partition", "group", "end_offset", "unreachable"})


@dataclass
class Journals:
    """The journals in a folder; `rows` has one for each that was asked for.

    `killed` names the processes that the harness ended by SIGKILL: these cannot close theirs.
    `sealed` are the seals of the run's files.
    """

    folder: Path
    killed: frozenset[str] = frozenset()
    sealed: Mapping[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def read(self, name: str, role: str | None = None, *, there: bool = True) -> JournalContent:
        """The journal of this name; without a frame where it is not there.

        `role` is that of the table; the name, where it is left out. `there` says whether the run
        must have it: one that it need not have gives no row where there is none.
        """
        path = self.folder / f"{name}.journal"
        beside = f"journals/{name}.journal", f"journals/{name}.json", f"logs/{name}.log"
        row: Row = {
            "journal": name,
            "role": role or name,
            "changed": seals.changed(self.folder.parent, self.sealed, *beside),
        }
        if not path.exists():
            self.rows += [row] if there else []
            return _NOTHING
        self.rows.append(row)
        try:
            content = read_journal(path)
        except NoData:  # it is no journal of this version
            row |= {"frames": 0, "torn": True, "cut": False, "gaps": 0}
            return _NOTHING
        first, last = (content.frames[0], content.frames[-1]) if content.frames else ({}, {})
        row |= {
            "frames": len(content.frames),
            "torn": content.torn,
            "cut": content.cut,
            "gaps": content.gaps,
            "ending": self._ending(row, content),
            "first_at": first.get("at"),
            "last_at": last.get("at"),
        }
        return content

    def unread(self, name: str) -> None:
        """Put on record that it is not known what wrote this journal: its settings are damaged."""
        self.rows.append({"journal": name, "frames": 0, "changed": True})

    def note_others(self) -> None:
        """Put on record each journal that is there, or was sealed, and was not asked for."""
        known = {row["journal"] for row in self.rows}
        there = [path.name for path in self.folder.glob(f"*{_SUFFIX}")]
        sealed = [Path(name).name for name in self.sealed if name.startswith("journals/")]
        for name in sorted({*there, *sealed}):
            if name.endswith(_SUFFIX) and name.removesuffix(_SUFFIX) not in known:
                self.unread(name.removesuffix(_SUFFIX))

    def _ending(self, row: Row, content: JournalContent) -> str | None:
        if row["journal"] in self.killed:
            return "killed"
        endings = [_ENDINGS[frame["kind"]] for frame in of_kinds(content.frames, *_ENDINGS)]
        if endings:
            return endings[-1]
        ours = row["role"] in ("consumer", "producer")
        header: Mapping[str, Any] = content.frames[0] if content.frames else {}
        older = header.get("format", FORMAT_VERSION) < FORMAT_VERSION
        return "untold" if older and not ours else None


def collect(run_dir: Path, *, killed: Iterable[str] = ()) -> dict[str, Any]:
    """Write every file of `history/`, and return the clients' effective configurations.

    `killed` names the consumers that were ended by SIGKILL. Raises NoData where the run has no
    journals.
    """
    folder = run_dir / "journals"
    if not folder.is_dir():
        raise NoData(f"{run_dir} has no journals/, so there is no history to collect from it")
    with processes.scratch("collect") as scratch:
        return _collect(run_dir, frozenset(killed), scratch)


def _collect(run_dir: Path, killed: frozenset[str], scratch: Path) -> dict[str, Any]:
    folder = run_dir / "journals"
    sealed = seals.kept(run_dir)
    journals = Journals(folder, killed, sealed)
    about = About.of(run_dir)
    app, of_programs = None, list[Row]()
    if about.app or (folder / app_record.JOURNAL).exists():
        app = app_record.AppRecord(journals.read("programs"))
        of_programs = [journals.rows.pop()]  # which comes last, as it always did
    rows = {
        name: store.Packed(schema, scratch / name, broker_logs.ORDER.get(name))
        for name, schema in HISTORY.items()
    }
    effective: dict[str, Any] = {}
    for config in _clients(journals):
        _collect_client(run_dir, config, journals, rows, effective, app)
    _collect_observer(journals, rows)
    outputs = journals.read("output", there=about.transactions)
    rows["outputs"].extend(map(dict, of_kinds(outputs.frames, "output")))
    rows["faults"].extend(_faults(journals))
    broker_logs.collect(run_dir / "logs", about, sealed, rows, app.name if app else None)
    if app:
        others = [
            journals.read(SINK, there=(folder / "sink.json").exists()),
            journals.read(WRITTEN, there=about.writes),
        ]
        app.add_rows(rows, others)
        journals.rows += of_programs
    journals.note_others()
    rows["journals"].extend(journals.rows)
    (run_dir / "history").mkdir(exist_ok=True)
    for name, schema in HISTORY.items():
        store.write(run_dir / "history" / f"{name}.parquet", rows.pop(name).tables(), schema)
    return effective


def _clients(journals: Journals) -> Iterable[Row]:
    """What each client of the run was started with; one that cannot be read is on record."""
    for path in sorted(journals.folder.glob("*.json")):
        config = seals.json_of(path)
        if path.stem in (OBSERVER, SINK):
            continue
        try:
            _CONFIGS[config["role"]](config)
        except (KeyError, TypeError, ValueError, AttributeError, BadInput):
            journals.unread(path.stem)
        else:
            yield config


def _collect_client(
    run_dir: Path,
    config: Row,
    journals: Journals,
    rows: store.Kept,
    effective: dict[str, Any],
    app: app_record.AppRecord | None,
) -> None:
    name = config["member"]
    content = journals.read(name, config["role"])
    if not (journals.folder / f"{name}.journal").exists():
        return  # it was interrupted before its process could open it
    log = run_dir / "logs" / f"{name}.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    if config["role"] == "probe":
        rows["calls"].extend(map(dict, of_kinds(content.frames, "call")))
        return
    if config["role"] == "producer":
        collected = producer_rows(content, ProducerConfig.of(config))
    else:
        logged = parse_client_log(config["client"], lines)
        collected = consumer_rows(content, logged, ConsumerConfig.of(config))
    for member in collected["members"]:
        if name in journals.killed:
            member["end"] = "killed"
    for table, found in collected.items():
        rows[table].extend(app.sent.noted(found) if app and table == "sends" else found)
    started = next(of_kinds(content.frames, "started"), None)
    if started:
        effective[name] = started.get("effective")


def _collect_observer(journals: Journals, rows: store.Kept) -> None:
    frames = journals.read(OBSERVER).frames
    rows["host"].extend(dict(frame) for frame in of_kinds(frames, "tick"))
    rows["waits"].extend(
        {**frame, "from_at": frame["from_us"], "waited_ms": _within_its_look(frame)}
        for frame in of_kinds(frames, "waited")
    )
    rows["topology"].extend(
        {**frame, "what": frame["kind"]} for frame in of_kinds(frames, *_TOPOLOGY)
    )


def _within_its_look(waited: Mapping[str, Any]) -> float:
    """How long a process waited, in ms; not longer than it was looked at.

    Observers of older versions took a thread for a new one that they had missed once.
    """
    looked_ms = (int(waited["at"]) - int(waited["from_us"])) / 1e3
    return min(float(waited["waited_ms"]), max(0.0, looked_ms))


def _faults(journals: Journals) -> Iterable[Row]:
    for content in (journals.read("faults"), journals.read("watchdog", there=False)):
        for frame in of_kinds(content.frames, "fault"):
            at = frame.get("at_us", frame["at"])
            yield {**frame, "at": at, "kind": frame["fault_kind"]}
