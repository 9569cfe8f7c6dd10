"""From journals and logs to the Parquet files of `history/`.

Everything here can be done again by anyone from the run's `journals/` and `logs/`:
`python -m harness collect RUN`.
"""

from collections.abc import Callable, Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from consumers.client_log import parse_client_log
from consumers.collect import consumer_rows, producer_rows
from consumers.config import ConsumerConfig, ProducerConfig
from consumers.journal import JournalContent
from harness.base.errors import BadInput, NoData
from harness.history import broker_logs, programs, seals, store
from harness.history.about import About, json_of
from harness.history.journals import (
    FAULTS,
    OBSERVER,
    OUTPUT,
    PROGRAMS,
    SINK,
    WATCHDOG,
    WRITTEN,
    Journals,
)
from harness.history.schema import HISTORY

Row = dict[str, Any]

# What is needed of each role's settings here, which raises where they are damaged.
_CONFIGS: Final[dict[str, Callable[[Row], object]]] = {
    "consumer": ConsumerConfig.of,
    "producer": ProducerConfig.of,
    "probe": itemgetter("member"),
}
_TOPOLOGY: Final = frozenset({"broker", "partition", "group", "end_offset", "unreachable"})


def collect(run_dir: Path, *, killed: Iterable[str] = ()) -> dict[str, Any]:
    """Write every file of `history/`, and return the clients' effective configurations.

    `killed` names the consumers that were ended by SIGKILL. Raises NoData where the run has no
    journals.
    """
    folder = run_dir / "journals"
    if not folder.is_dir():
        raise NoData(f"{run_dir} has no journals/, so there is no history to collect from it")
    rows: dict[str, list[Row]] = {name: [] for name in HISTORY}
    sealed = seals.kept(run_dir)
    journals = Journals(folder, frozenset(killed), sealed)
    about = About.of(run_dir)
    effective: dict[str, Any] = {}
    for config in _clients(journals):
        _collect_client(run_dir, config, journals, rows, effective)
    _collect_observer(journals, rows)
    rows["outputs"] = _of_kinds(journals.read(OUTPUT, there=about.transactions), "output")
    rows["faults"] = list(_faults(journals))
    app = about.app or (folder / programs.JOURNAL).exists()
    # Whose the requests of an app's members were is found out later, row by row.
    packed = {name: store.Packed(HISTORY[name]) for name in (() if app else broker_logs.TABLES)}
    kept: broker_logs.Kept = {**rows, **packed}
    writes = broker_logs.collect(run_dir / "logs", about, sealed, kept)
    if app:
        others = [
            journals.read(SINK, there=(folder / "sink.json").exists()),
            journals.read(WRITTEN, there=about.writes),
        ]
        frames = [frame for content in others for frame in content.frames]
        programs.add_rows(journals.read(PROGRAMS), rows, frames, writes)
    journals.note_others()
    rows["journals"] = journals.rows
    (run_dir / "history").mkdir(exist_ok=True)
    for name, schema in HISTORY.items():
        found = rows.pop(name)
        table = packed[name].table() if name in packed else store.table_of(found, schema)
        store.write(run_dir / "history" / f"{name}.parquet", [table], schema)
    return effective


def _clients(journals: Journals) -> Iterable[Row]:
    """What each client of the run was started with; one that cannot be read is on record."""
    for path in sorted(journals.folder.glob("*.json")):
        config = json_of(path)
        if path.stem in (OBSERVER, SINK):
            continue
        try:
            _CONFIGS[config["role"]](config)
        except (KeyError, TypeError, ValueError, AttributeError, BadInput):
            journals.unread(path.stem)
        else:
            yield config


def _of_kinds(content: JournalContent, *kinds: str) -> list[Row]:
    return [frame for frame in content.frames if frame["kind"] in kinds]


def _collect_client(
    run_dir: Path,
    config: Row,
    journals: Journals,
    rows: dict[str, list[Row]],
    effective: dict[str, Any],
) -> None:
    name = config["member"]
    content = journals.read(name, config["role"])
    if not (journals.folder / f"{name}.journal").exists():
        return  # it was interrupted before its process could open it
    log = run_dir / "logs" / f"{name}.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    if config["role"] == "probe":
        rows["calls"] += _of_kinds(content, "call")
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
        rows[table] += found
    started = [frame for frame in content.frames if frame["kind"] == "started"]
    if started:
        effective[name] = started[0].get("effective")


def _collect_observer(journals: Journals, rows: dict[str, list[Row]]) -> None:
    for frame in journals.read(OBSERVER).frames:
        if frame["kind"] == "tick":
            rows["host"].append(frame)
        elif frame["kind"] == "waited":
            rows["waits"].append({**frame, "from_at": frame["from_us"]})
        elif frame["kind"] in _TOPOLOGY:
            rows["topology"].append({**frame, "what": frame["kind"]})


def _faults(journals: Journals) -> Iterable[Row]:
    for content in (journals.read(FAULTS), journals.read(WATCHDOG, there=False)):
        for frame in _of_kinds(content, "fault"):
            at = frame.get("at_us", frame["at"])
            yield {**frame, "at": at, "kind": frame["fault_kind"]}
