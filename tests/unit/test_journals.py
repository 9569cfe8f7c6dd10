"""What the history says of a run's journals and of its brokers' logs being whole."""

from __future__ import annotations

import json
import random
import struct
import zlib
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from consumers.journal import MAGIC, Journal, read_journal
from harness.history import broker_logs, seals, store
from harness.history.broker_logs import About
from harness.history.collect import Journals, collect
from harness.history.schema import HISTORY

PAGE: Final = 4096


def written(path: Path, *kinds: str, **fields: Any) -> Path:
    """A journal with one frame of each kind behind its header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = Journal(path, path.stem)
    for kind in kinds:
        journal.write(kind, **fields)
    journal.close()
    return path


def frames_of(path: Path) -> list[bytes]:
    """Its frames as they are in the file."""
    data, at, found = path.read_bytes(), len(MAGIC), []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        found.append(data[at : at + 8 + length])
        at += 8 + length
    return found


def about(folder: Path, name: str = "member-1", killed: tuple[str, ...] = ()) -> dict[str, Any]:
    """The row of `journals` of a consumer's journal."""
    journals = Journals(folder, frozenset(killed))
    journals.read(name, "consumer")
    (row,) = journals.rows
    return {column: row.get(column) for column in ("frames", "torn", "cut", "gaps", "ending")}


def test_a_whole_journal_says_how_it_ended(tmp_path: Path) -> None:
    whole = {"frames": 3, "torn": False, "cut": False, "gaps": 0, "ending": "closed"}
    path = written(tmp_path / "member-1.journal", "started", "closed")
    written(tmp_path / "member-2.journal", "started", "fatal")

    assert whole == about(tmp_path)
    assert "failed" == about(tmp_path, "member-2")["ending"]
    # One that ends at a frame's border does not.
    path.write_bytes(MAGIC + b"".join(frames_of(path)[:-1]))
    assert {**whole, "frames": 2, "ending": None} == about(tmp_path)
    assert "killed" == about(tmp_path, killed=("member-1",))["ending"]


def test_one_of_an_older_version_did_not_have_to(tmp_path: Path) -> None:
    for name in ("observer", "member-1"):
        path = written(tmp_path / f"{name}.journal", "tick")
        header, *others = frames_of(path)
        payload = header[8:].replace(b'"format":2', b'"format":1')
        older = struct.pack("<II", len(payload), zlib.crc32(payload)) + payload
        path.write_bytes(MAGIC + older + b"".join(others))
    journals = Journals(tmp_path)
    journals.read("observer")
    journals.read("member-1", "consumer")

    assert ["untold", None] == [row["ending"] for row in journals.rows]


@pytest.mark.parametrize(
    ("order", "gaps"),
    [((0, 1, 2, 3), 0), ((0, 2, 3), 1), ((0, 1, 1, 2, 3), 1), ((0, 2, 1, 3), 3), ((1, 2, 3), 1)],
    ids=["whole", "missing", "doubled", "swapped", "without its header"],
)
def test_frames_that_are_missing_doubled_or_swapped_are_noticed(
    tmp_path: Path, order: tuple[int, ...], gaps: int
) -> None:
    path = written(tmp_path / "j", "a", "b", "c")
    frames = frames_of(path)
    path.write_bytes(MAGIC + b"".join(frames[number] for number in order))

    assert gaps == read_journal(path).gaps


def test_a_sigkill_cuts_a_frame_at_the_end_of_a_page_only(tmp_path: Path) -> None:
    path = written(tmp_path / "j", "started", "closed", text="x" * 3 * PAGE)
    data = path.read_bytes()
    cuts = {}
    for length in (PAGE, 2 * PAGE, PAGE - 1, PAGE + 1, PAGE + 100):
        path.write_bytes(data[:length])
        cuts[length] = read_journal(path).cut

    assert {PAGE: True, 2 * PAGE: True, PAGE - 1: False, PAGE + 1: False, PAGE + 100: False} == cuts


@pytest.mark.parametrize("bit", [3, 7 * 8 + 1, 40 * 8])
def test_a_flipped_bit_is_no_cut_wherever_the_file_ends(tmp_path: Path, bit: int) -> None:
    path = written(tmp_path / "j", "a", "b", text="x" * 1_000)
    frames = frames_of(path)
    left = PAGE - len(MAGIC) - sum(map(len, frames)) - 8
    payload = b'{"kind":"c","text":"' + b"x" * (left - 22) + b'"}'
    whole = path.read_bytes() + struct.pack("<II", left, zlib.crc32(payload)) + payload
    assert PAGE == len(whole)
    damaged = bytearray(whole)
    damaged[len(MAGIC) + len(frames[0]) + bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)

    content = read_journal(path)
    assert (True, False) == (content.torn, content.cut)


def test_a_journal_that_is_not_there_or_is_none_is_on_record(tmp_path: Path) -> None:
    assert {None} == set(about(tmp_path).values())
    (tmp_path / "member-1.journal").write_bytes(b"something else")
    row = about(tmp_path)
    assert (0, True) == (row["frames"], row["torn"])

    journals = Journals(tmp_path)
    journals.read("output", there=False)
    assert [] == journals.rows


# Brokers' logs.

BEAT: Final = {"requestApiKeyName": "HEARTBEAT", "clientId": "member-1"}
TIMES: Final = (
    "totalTimeMs", "responseQueueTimeMs", "sendTimeMs", "throttleTimeMs",
)  # fmt: skip


def line_of(api: str, request: dict[str, Any], second: int = 0, **answer: Any) -> str:
    """A line of a request log."""
    body = {
        "requestHeader": {**BEAT, "requestApiKeyName": api}, "request": request,
        "response": {"errorCode": 0, **answer}, **dict.fromkeys(TIMES, 0.1),
    }  # fmt: skip
    return f"2026-11-21T10:00:{second:02d}.500000 Completed request:{json.dumps(body)}\n"


def collected(logs: Path, *brokers: int) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in HISTORY}
    broker_logs.collect(logs, About("orders", "t", brokers), {}, rows)
    return rows


def beat(second: int = 0) -> str:
    return line_of("HEARTBEAT", {"groupId": "orders", "memberId": "m"}, second)


@pytest.mark.parametrize("most_rows", [500_000, 3, 1])  # in memory; some, or all, in a file
def test_many_rows_are_held_packed_and_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int
) -> None:
    """Some of two brokers, and of two batches, at the same moment; one that fits no table."""
    monkeypatch.setattr(broker_logs, "BATCH", 2)
    monkeypatch.setattr(store, "MOST_ROWS", most_rows)
    monkeypatch.setattr(store, "PIECE", 2)
    unfit = line_of("HEARTBEAT", {"groupId": "orders", "memberId": 7}, 3)
    (tmp_path / "broker-1.requests.log").write_text(beat(5) + beat(3) + beat(5) + unfit + beat(4))
    (tmp_path / "broker-2.requests.log").write_text("".join(map(beat, (3, 5, 5, 1, 5))))
    lists = collected(tmp_path, 1, 2)
    packed: dict[str, list[dict[str, Any]] | store.Packed] = {
        name: store.Packed(schema, tmp_path / name, broker_logs.ORDER.get(name))
        for name, schema in HISTORY.items()
    }
    packed["logs"] = []

    broker_logs.collect(tmp_path, About("orders", "t", (1, 2)), {}, packed)

    for table, column in broker_logs.ORDER.items():
        kept = packed[table]
        assert isinstance(kept, store.Packed)
        lists[table].sort(key=lambda row, column=column: row[column])  # type: ignore[misc]
        found = pa.concat_tables(kept.tables()).cast(HISTORY[table])
        assert store.table_of(lists[table], HISTORY[table]).equals(found), table
    assert 9 == len(lists["requests"])
    assert lists["logs"] == packed["logs"]
    assert [1, 0] == [row["unread"] for row in lists["logs"] if row["log"] == "requests"]


def test_a_rotated_log_is_read_in_the_order_of_its_files(tmp_path: Path) -> None:
    for name, second in (("log.2", 2), ("log.10", 3), ("log.1", 1), ("log", 4)):
        (tmp_path / f"broker-1.requests.{name}").write_text(beat(second))
    for name in ("log.gz", "log.1.gz", "logs.1"):
        (tmp_path / f"broker-1.requests.{name}").write_text(beat(9))

    rows = collected(tmp_path, 1)
    [row] = [row for row in rows["logs"] if row["log"] == "requests"]

    assert (4, 0) == (row["lines"], row["unread"])
    assert [1, 2, 3, 4] == [each["answered_at"] // 1_000_000 % 60 for each in rows["requests"]]
    assert "broker-1.requests.log.1:1" == rows["requests"][0]["evidence"]
    (tmp_path / "broker-1.requests.log").unlink()
    assert 3 == len(collected(tmp_path, 1)["requests"])


@pytest.mark.parametrize("change", ["other", "gone", "added", ""])
def test_a_change_of_a_rotated_file_is_noticed(tmp_path: Path, change: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    older = logs / "broker-1.requests.log.1"
    for path in (older, older.with_suffix(".2"), older.with_suffix("")):
        path.write_text(beat())
    sealed = seals.made(tmp_path)
    match change:
        case "other":
            older.write_text(beat() + beat())
        case "gone":
            older.unlink()
        case "added":
            older.with_suffix(".3").write_text(beat())
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in HISTORY}

    broker_logs.collect(logs, About("orders", "t", (1,)), sealed, rows)
    [row] = [row for row in rows["logs"] if row["log"] == "requests"]

    assert bool(change) == row["changed"]


def test_a_log_that_is_not_there_is_on_record(tmp_path: Path) -> None:
    (tmp_path / "broker-1.requests.log").write_text(beat())
    (tmp_path / "broker-1.server.log").write_text("")
    logs = collected(tmp_path, 1, 2)["logs"]

    assert [
        (1, "requests", 1), (1, "server", 0), (2, "requests", None), (2, "server", None),
    ] == [(row["broker"], row["log"], row["lines"]) for row in logs]  # fmt: skip
    assert {0} == {row["unread"] for row in logs}


@pytest.mark.parametrize(
    ("request_log", "rows", "unread"),
    [
        (beat() + beat(1), 2, 0),
        (beat() + beat(1)[:100], 1, 1),
        # The half of a line, and what the broker wrote when it was started again.
        (beat() + beat(1)[:100] + beat(2) + beat(3), 3, 1),
        (beat() + beat(1).replace('"totalTimeMs"', '"totalTimeMt"'), 1, 1),
        (beat() + beat(1).replace('"memberId": "m"', '"generationId": 99999999999'), 1, 1),
        (beat() + beat(1).replace('"request": {', '"request": 1, "x": {'), 1, 1),
    ],
    ids=["whole", "cut off", "begun anew", "a name", "a number", "a shape"],
)
def test_lines_that_cannot_be_read_are_counted(
    tmp_path: Path, request_log: str, rows: int, unread: int
) -> None:
    (tmp_path / "broker-1.requests.log").write_text(request_log)
    found = collected(tmp_path, 1)
    (row, _) = found["logs"]

    assert (rows, unread) == (len(found["requests"]), row["unread"])
    assert (unread > 0) == ("broker-1.requests.log:2" in str(row["example"]))


@pytest.mark.parametrize(
    ("request_", "answer", "unread"),
    [
        ({"groupId": "connect", "protocolType": "connect"}, {"assignment": "AAEAAAAB"}, 0),
        # Older calls do not say what they are about; another group's are its own matter.
        ({"groupId": "connect"}, {"assignment": "eyJlcnJvciI6MH0="}, 0),
        ({"groupId": "orders"}, {"assignment": "eyJlcnJvciI6MH0="}, 1),
    ],
    ids=["another type", "another group", "the run's own"],
)
def test_what_others_agree_on_is_no_damage(
    tmp_path: Path, request_: dict[str, Any], answer: dict[str, Any], unread: int
) -> None:
    (tmp_path / "broker-1.requests.log").write_text(
        line_of("SYNC_GROUP", {"memberId": "m", **request_}, **answer) + beat(1)
    )
    found = collected(tmp_path, 1)

    assert unread == found["logs"][0]["unread"]
    assert "HEARTBEAT" == found["requests"][-1]["api"]


EMPTIED: Final = (
    "2026-11-21T10:07:52.55457{} INFO GroupMetadataManager [GroupCoordinator id=1 topic=x] "
    "Group g with generation {} is now empty.\n"
)


@pytest.mark.parametrize(
    ("server_log", "generations", "unread"),
    [
        # Half a line does not swallow the next.
        (EMPTIED.format(1, 1) + EMPTIED.format(2, 2)[:50] + EMPTIED.format(3, 3), [1, 3], 1),
        (EMPTIED.format(1, 1) + EMPTIED.format(2, 2)[:90], [1], 1),
        (EMPTIED.format(1, 7).replace("GroupMetadataManager", "SomeLogger it said"), [], 0),
    ],
    ids=["begun anew", "cut off", "another program"],
)
def test_lines_of_the_coordinator_that_cannot_be_read_are_counted(
    tmp_path: Path, server_log: str, generations: list[int], unread: int
) -> None:
    (tmp_path / "broker-1.server.log").write_text(server_log)
    found = collected(tmp_path, 1)

    assert generations == [row["generation"] for row in found["coordinator_events"]]
    assert unread == found["logs"][1]["unread"]


def test_a_run_has_a_row_for_each_of_its_journals_and_logs(tmp_path: Path) -> None:
    journals = tmp_path / "journals"
    written(journals / "observer.journal", "closed")
    written(journals / "faults.journal", "closed")
    config = {"member": "probe-a", "role": "probe"}
    (journals / "probe-a.json").write_text(json.dumps(config))
    observer = {"broker_ports": {"1": 9, "2": 9}, "group": "orders"}
    (journals / "observer.json").write_text(json.dumps(observer))
    (tmp_path / "logs").mkdir()
    declared = {"group": {"commit": "transaction"}}
    (tmp_path / "manifest.json").write_text(json.dumps({"declared": declared}))
    collect(tmp_path)

    rows = pq.read_table(tmp_path / "history" / "journals.parquet").to_pylist()
    assert {"probe-a": None, "observer": "closed", "output": None, "faults": "closed"} == {
        row["journal"]: row["ending"] for row in rows
    }
    logs = pq.read_table(tmp_path / "history" / "logs.parquet").to_pylist()
    assert [1, 1, 2, 2] == [row["broker"] for row in logs]


def a_run(folder: Path) -> Path:
    """A small run as it is left: three journals, and the logs of one broker."""
    journals, logs = folder / "journals", folder / "logs"
    kinds = ("tick", "call", "fault", "closed")
    for name in ("observer", "faults", "probe-a"):
        written(journals / f"{name}.journal", *kinds, late_ms=1, fault_kind="x")
    (journals / "probe-a.json").write_text(json.dumps({"member": "probe-a", "role": "probe"}))
    observer = {"broker_ports": {"1": 9}, "group": "orders", "topic": "t"}
    (journals / "observer.json").write_text(json.dumps(observer))
    logs.mkdir()
    (logs / "broker-1.requests.log").write_text("".join(beat(second) for second in range(20)))
    (logs / "broker-1.server.log").write_text("".join(EMPTIED.format(n, n) for n in range(9)))
    (folder / "manifest.json").write_text(json.dumps({"schema_version": 1}))
    return folder


def history_of(run_dir: Path) -> dict[str, list[dict[str, Any]]]:
    collect(run_dir)
    return {
        name: pq.read_table(run_dir / "history" / f"{name}.parquet").to_pylist() for name in HISTORY
    }


def is_noted(history: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether something is said not to be whole."""
    return any(
        row["changed"] or not row["frames"] or row["torn"] or row["gaps"] or not row["ending"]
        for row in history["journals"]
    ) or any(row["changed"] or not row["lines"] or row["unread"] for row in history["logs"])


def test_a_small_run_is_whole(tmp_path: Path) -> None:
    history = history_of(a_run(tmp_path))

    assert not is_noted(history)
    assert (20, 9, 1, 1) == tuple(
        len(history[name]) for name in ("requests", "coordinator_events", "calls", "host")
    )


def damaged(data: bytes, randomness: random.Random) -> bytes | None:
    """With one bit flipped, or cut anywhere or behind a line; null: gone."""
    kind, at = randomness.randrange(5), randomness.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[: data.rfind(b"\n", 0, at) + 1]
    if kind == 2:
        return None
    return data[:at] + bytes([data[at] ^ 1 << randomness.randrange(8)]) + data[at + 1 :]


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_shown_and_never_a_traceback(tmp_path: Path, seed: int) -> None:
    """Once without seals, as a run collects; and with them, when all that changes rows is noted."""
    randomness = random.Random(seed)
    run_dir = a_run(tmp_path)
    whole = history_of(run_dir)
    sealed = json.dumps({"schema_version": 1, seals.FIELD: seals.made(run_dir)})
    files = [path for name in ("journals", "logs") for path in sorted((run_dir / name).iterdir())]
    for _ in range(15):
        path = randomness.choice(files)
        data = path.read_bytes()
        found = damaged(data, randomness)
        path.unlink()
        if found is not None:
            path.write_bytes(found)
        (run_dir / "manifest.json").write_text(json.dumps({"schema_version": 1}))
        history_of(run_dir)
        (run_dir / "manifest.json").write_text(sealed)
        history = history_of(run_dir)
        assert history == whole or is_noted(history), path.name
        path.write_bytes(data)


def test_a_journal_whose_settings_are_gone_is_shown(tmp_path: Path) -> None:
    run_dir = a_run(tmp_path)
    for content in ("", '{"role": "probe"}', "[1]", None):
        path = run_dir / "journals" / "probe-a.json"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_text(content)
        (row,) = (row for row in history_of(run_dir)["journals"] if row["journal"] == "probe-a")
        assert (0, True, None) == (row["frames"], row["changed"], row["role"])


def test_topics_that_only_a_missing_controller_names_are_shown(tmp_path: Path) -> None:
    topic = {"topicId": "abcdefghijklmnopqrst-_", "partitions": [
        {"partitionIndex": 0, "committedOffset": 1}
    ]}  # fmt: skip
    asked = {"groupId": "orders", "memberId": "m", "topics": [topic]}
    (tmp_path / "broker-1.requests.log").write_text(line_of("OFFSET_COMMIT", asked, topics=[]))
    assert 1 == collected(tmp_path, 1)["logs"][0]["unread"]

    (tmp_path / "controller-101.server.log").write_text(
        "x Replayed TopicRecord for topic t with topic ID abcdefghijklmnopqrst-_.\n"
    )
    assert 0 == collected(tmp_path, 1)["logs"][0]["unread"]


LEFT: Final = (
    "2026-11-21T10:00:0{}.100000 INFO GroupMetadataManager [GroupCoordinator id=1 topic=x] "
    "[Group {}] Member {} has left group through explicit `LeaveGroup` request; client reason: {}\n"
)


@pytest.mark.parametrize("asked", [True, False])
def test_a_line_that_a_client_has_said_is_none_of_the_coordinator(
    tmp_path: Path, asked: bool
) -> None:
    """A line feed in the reason of a leave; the request has it as well."""
    reason = f"bye\n{LEFT.format(5, 'payments', 'p-1', 'I was never here')}and so on"
    (tmp_path / "broker-1.server.log").write_text(
        LEFT.format(1, "orders", "m-1", reason) + LEFT.format(2, "payments", "p-2", "bye")
    )
    request = {"groupId": "orders", "members": [{"memberId": "m-1", "reason": reason}]}
    line = line_of("LEAVE_GROUP", request, 1) if asked else beat(1)
    (tmp_path / "broker-1.requests.log").write_text(line)
    found = collected(tmp_path, 1)

    about = [(row["group"], row["member_id"]) for row in found["coordinator_events"]]
    forged = [] if asked else [("payments", "p-1")]  # nothing sets it apart from a line
    assert [("orders", "m-1"), *forged, ("payments", "p-2")] == about
    assert (4, 0) == (found["logs"][1]["lines"], found["logs"][1]["unread"])


def test_a_line_within_the_name_of_a_group_is_none_of_the_coordinator(tmp_path: Path) -> None:
    """Brokers of a run escape line feeds; a stamp within a line begins another where it is cut."""
    name = "a group\\n" + LEFT.format(5, "payments", "p-1", "bye").strip()
    (tmp_path / "broker-1.server.log").write_text(LEFT.format(1, name, "m-1", "bye"))
    request = {"groupId": name, "members": [{"memberId": "m-1"}]}
    (tmp_path / "broker-1.requests.log").write_text(line_of("LEAVE_GROUP", request, 1))
    found = collected(tmp_path, 1)

    assert [] == [row for row in found["coordinator_events"] if row["event"] != "unknown"]
    assert 0 == found["logs"][1]["unread"]
