"""From journals and logs to the Parquet files of `history/`.

Everything here can be done again by anyone from the run's `journals/` and `logs/`:
`python -m harness collect RUN`.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from consumers.client_log import parse_client_log
from consumers.collect import consumer_rows, producer_rows
from consumers.config import ConsumerConfig, ProducerConfig
from consumers.journal import read_journal
from harness.base.errors import NoData
from harness.history import coordinator_log, programs, request_log, shown, store
from harness.history.schema import HISTORY

Row = dict[str, Any]

_BROKER_LOG: Final = re.compile(r"broker-(\d+)\.(requests|server)\.log")
_TOPOLOGY: Final = frozenset({"broker", "partition", "group", "end_offset", "unreachable"})


def collect(run_dir: Path, *, killed: Iterable[str] = ()) -> dict[str, Any]:
    """Write every file of `history/`, and return the clients' effective configurations.

    `killed` names the consumers that were ended by SIGKILL. Raises NoData where the run has no
    journals.
    """
    journals = run_dir / "journals"
    if not journals.is_dir():
        raise NoData(f"{run_dir} has no journals/, so there is no history to collect from it")
    rows: dict[str, list[Row]] = {name: [] for name in HISTORY}
    effective: dict[str, Any] = {}
    for config_path in sorted(journals.glob("*.json")):
        config = json.loads(config_path.read_text())
        if "role" in config:
            _collect_client(run_dir, config, frozenset(killed), rows, effective)
    _collect_observer(journals / "observer.journal", rows)
    if (journals / "output.journal").exists():
        rows["outputs"] = read_journal(journals / "output.journal").frames
    rows["faults"] = list(_faults(journals))
    topics: dict[str, str] = {}
    writes: list[Row] = []
    for log in sorted((run_dir / "logs").glob("controller-*.server.log")):
        topics |= request_log.read_topic_ids(log)
    for log in sorted((run_dir / "logs").iterdir()):
        match = _BROKER_LOG.fullmatch(log.name)
        if match and match[2] == "requests":
            rows["requests"] += request_log.read_requests(log, int(match[1]), topics)
            rows["fetches"] += request_log.read_fetches(log, int(match[1]), topics)
            writes += request_log.read_writes(log, topics)
        elif match:
            rows["coordinator_events"] += coordinator_log.read_coordinator_events(
                log, int(match[1])
            )
    if (journals / programs.JOURNAL).exists():
        others = [journals / name for name in (shown.JOURNAL, shown.WRITTEN)]
        frames = [frame for path in others if path.exists() for frame in read_journal(path).frames]
        programs.add_rows(read_journal(journals / programs.JOURNAL), rows, frames, writes)
    rows["requests"].sort(key=lambda row: row["processed_at"])
    rows["fetches"].sort(key=lambda row: row["answered_at"])
    rows["coordinator_events"].sort(key=lambda row: row["at"])
    (run_dir / "history").mkdir(exist_ok=True)
    for name, schema in HISTORY.items():
        table = store.table_of(rows[name], schema)
        store.write(run_dir / "history" / f"{name}.parquet", [table], schema)
    return effective


def _collect_client(
    run_dir: Path,
    config: Row,
    killed: frozenset[str],
    rows: dict[str, list[Row]],
    effective: dict[str, Any],
) -> None:
    name = config["member"]
    journal = run_dir / "journals" / f"{name}.journal"
    if not journal.exists():
        return  # it was interrupted before its process could open it
    content = read_journal(journal)
    log = run_dir / "logs" / f"{name}.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    if config["role"] == "probe":
        rows["calls"] += [frame for frame in content.frames if frame["kind"] == "call"]
        return
    if config["role"] == "producer":
        collected = producer_rows(content, ProducerConfig.of(config))
    else:
        logged = parse_client_log(config["client"], lines)
        collected = consumer_rows(content, logged, ConsumerConfig.of(config))
    for member in collected["members"]:
        if name in killed:
            member["end"] = "killed"
    for table, found in collected.items():
        rows[table] += found
    started = [frame for frame in content.frames if frame["kind"] == "started"]
    if started:
        effective[name] = started[0].get("effective")


def _collect_observer(journal: Path, rows: dict[str, list[Row]]) -> None:
    if not journal.exists():
        return
    for frame in read_journal(journal).frames:
        if frame["kind"] == "tick":
            rows["host"].append(frame)
        elif frame["kind"] in _TOPOLOGY:
            rows["topology"].append({**frame, "what": frame["kind"]})


def _faults(journals: Path) -> Iterable[Row]:
    for name in ("faults.journal", "watchdog.journal"):
        if (journals / name).exists():
            for frame in read_journal(journals / name).frames:
                if frame["kind"] == "fault":
                    at = frame.get("at_us", frame["at"])
                    yield {**frame, "at": at, "kind": frame["fault_kind"]}
