"""`trace.json` is what Chrome's trace event format says, and has every row of what it shows."""

import json
import shutil
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.check.check import check
from harness.report import report
from harness.report.run import trace as traces
from harness.tables.engines.duckdb import DuckDb
from tests.recorded.keep import RUNS

pytestmark = pytest.mark.long(1.5)

KEPT = ("bad-day.java.cooperative.4.3.1", "consumer-join.librdkafka.consumer.4.3.1")
Event = dict[str, Any]


@pytest.fixture(scope="module", params=KEPT)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "of-a-kind" / "run-1"
    shutil.copytree(RUNS / request.param, folder)
    with closing(DuckDb()) as engine:
        check(folder, engine)
    report(folder)
    return folder


@pytest.fixture(scope="module")
def events(run: Path) -> list[Event]:
    found: list[Event] = json.loads((run / "trace.json").read_text())["traceEvents"]
    return found


def rows(run: Path, name: str) -> list[dict[str, Any]]:
    (path,) = run.glob(f"*/{name}.parquet")
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def test_every_event_has_what_the_format_asks_for(events: list[Event]) -> None:
    for event in events:
        assert event["ph"] in ("X", "i", "M")
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] != "M":
            assert event["ts"] >= 0
            assert event["name"]
        if event["ph"] == "X":
            assert event["dur"] >= 0
    assert 0 == min(event["ts"] for event in events if "ts" in event)


def test_every_track_has_a_name_of_its_own(events: list[Event]) -> None:
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] != "M"}

    assert used == set(named)
    assert len({(pid, name) for (pid, _), name in named.items()}) == len(named)


def test_times_on_one_track_are_nested_or_apart(events: list[Event]) -> None:
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(
                (event["ts"], -(event["ts"] + event["dur"]), event["name"])
            )
    for found in tracks.values():
        around: list[int] = []
        for from_us, minus_to_us, name in sorted(found):
            while around and around[-1] <= from_us:
                around.pop()
            assert not around or -minus_to_us <= around[-1], name
            around.append(-minus_to_us)


def test_it_has_every_request_and_every_owner(run: Path, events: list[Event]) -> None:
    def shown(process: str) -> list[Event]:
        return [e for e in events if e.get("cat", "").startswith(process) and e["ph"] == "X"]

    requests = rows(run, "requests")
    assert sorted(row["evidence"] for row in requests) == sorted(
        event["args"]["evidence"] for event in shown("requests to broker-")
    )
    assert len(rows(run, "ownership")) == len(shown("partitions: held by"))
    assert len(rows(run, "rebalances")) == len(shown("group"))
    stood = [row for row in rows(run, "stops") if row["stopped"]]
    stops = [e for e in shown("partitions: stopped") if e["name"].startswith("stopped")]
    assert sorted(round(row["ms"]) for row in stood) == sorted(round(e["dur"] / 1e3) for e in stops)


def test_a_batch_is_one_poll(run: Path, events: list[Event]) -> None:
    polls = {(row["member"], row["poll"]) for row in rows(run, "deliveries")}
    batches = [e for e in events if e["name"].endswith(" records") and e["ph"] == "X"]

    assert len(polls) == len(batches)
    assert sum(row["count"] for row in rows(run, "deliveries")) == sum(
        int(event["name"].split()[0]) for event in batches
    )


def test_a_very_long_run_says_what_is_left_out(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST_ROWS", 10)
    found = json.loads(traces.trace(run))

    assert found["otherData"]["left_out"].endswith("more than 10")
    cats = {event.get("cat") for event in found["traceEvents"]}
    assert "group" in cats
    assert not any(str(cat).startswith("requests") for cat in cats)


def test_where_a_file_is_damaged_or_another_there_is_no_trace(run: Path, tmp_path: Path) -> None:
    for name in ("host", "faults"):
        folder = tmp_path / name
        shutil.copytree(run, folder)
        path = folder / "history" / f"{name}.parquet"
        if name == "host":
            path.write_bytes(b"PAR1 and no more")
        else:
            faults = pq.read_table(path)
            texts = pa.array(["yesterday"] * len(faults))
            pq.write_table(faults.set_column(faults.column_names.index("at"), "at", texts), path)

        report(folder)
        assert not (folder / "trace.json").exists()
        assert (folder / "report.html").exists()
