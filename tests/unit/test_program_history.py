"""What is on record of an app: its members and their ends, whose requests are whose, effects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from consumers.journal import JournalContent
from harness.history import store
from harness.history.app_record import AppRecord, observed
from harness.history.schema import HISTORY
from harness.history.whose import SHARED
from tests.unit.request_rows import read_rows

Row = dict[str, Any]
APP = {"kind": "app", "at": 0, "group": "orders", "topic": "t", "partitions": 3}


def frame(kind: str, at: int, program: str, **more: Any) -> Row:
    return {"kind": kind, "at": at, "program": program, **more}


def started(name: str, at: int, lane: str = "") -> Row:
    known = {"pid": 7, "instance_id": None, "lane": lane or name, "started_at": at}
    return frame("program_started", at + 5, name, **known)


def asked(name: str, at: int, what: str = "SIGTERM", **more: Any) -> Row:
    return frame("program_told", at, name, what=what, **more)


def ended(name: str, at: int, exit_code: int = 0) -> Row:
    return frame("program_ended", at + 5, name, ended_at=at, exit_code=exit_code)


def shown(*ranges: list[Any]) -> Row:
    return frame("shown", 905, "member-1", shown_by="stdout", ranges=ranges, seen=900)


def request(lane: str, at: int, api: str = "HEARTBEAT", **more: Any) -> Row:
    row = {"api": api, "listener": lane, "arrived_at": at, "group": "orders", "broker": 1}
    row["client_id"] = "any"
    return {**row, "processed_at": at + 1, "answered_at": at + 2, **more}


def sent(partition: int, first: int, last: int, offset: int | None) -> Row:
    numbers = {"partition": partition, "first_number": first, "last_number": last}
    return {**numbers, "first_offset": offset, "last_offset": offset}


def rows_of(*frames: Row, **rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {name: [] for name in HISTORY} | rows
    programs = AppRecord(JournalContent([APP, *frames], torn=False, whole_bytes=0))
    for table in ("requests", "fetches"):
        for row in found[table]:
            programs.name(table, row)
    for row in found["sends"]:
        programs.sent.add(row)
    programs.add_rows(found)
    return found


def member(*frames: Row) -> Row:
    (row,) = rows_of(started("member-1", 100), *frames)["members"]
    return row


def test_a_member_has_every_column_and_what_is_known_of_it() -> None:
    row = member(asked("member-1", 200), ended("member-1", 300, 3))

    assert set(HISTORY["members"].names) == set(row)
    assert 1 == store.table_of([row], HISTORY["members"]).num_rows
    assert {
        "member": "member-1",
        "role": "consumer",
        "client": "app",
        "group": "orders",
        "lane": "member-1",
        "pid": 7,
        "started_at": 100,
        "told_at": 200,
        "ended_at": 300,
        "exit_code": 3,
        "journal_frames": 0,
        "journal_torn": False,
    }.items() <= row.items()


TOLD, KILLED = asked("member-1", 200), asked("member-1", 250, "SIGKILL")


@pytest.mark.parametrize(
    ("frames", "end"),
    [
        ([ended("member-1", 300)], "failed"),
        ([ended("member-1", 300, 1)], "failed"),
        ([TOLD, ended("member-1", 300)], "closed"),
        ([TOLD, ended("member-1", 300, 143)], "closed"),
        ([KILLED, ended("member-1", 300, -9)], "killed"),
        ([TOLD, KILLED, ended("member-1", 300, -9)], "killed"),
        # It had ended by itself when it was asked.
        ([ended("member-1", 300, 1), asked("member-1", 310)], "failed"),
        ([TOLD], None),
        ([], None),
    ],
)
def test_how_a_member_ended(frames: list[Row], end: str | None) -> None:
    assert end == member(*frames)["end"]


def test_a_member_is_asked_to_end_when_it_was_first_asked() -> None:
    assert 200 == member(TOLD, KILLED, ended("member-1", 300))["told_at"]


def test_a_signal_that_the_kernel_dropped_is_an_event_of_its_process() -> None:
    frames = [
        asked("member-1", 200, dropped=True),
        asked("member-1", 300, "SIGKILL", dropped=True),
        asked("member-2", 400, dropped=False),
        asked("member-3", 500),
    ]

    (event,) = rows_of(started("member-1", 100), *frames)["client_events"]

    assert set(HISTORY["client_events"].names) == event.keys()
    assert ("member-1", "signal_dropped", 200, "SIGTERM") == tuple(
        event[name] for name in ("member", "event", "event_at", "detail")
    )


def test_frames_of_nothing_are_passed_over() -> None:
    assert [] == rows_of(asked("member-9", 1), ended("member-9", 2))["members"]


def test_a_request_is_of_the_process_that_had_its_lane_to_itself() -> None:
    lane = "LANE_MEMBER_1"
    requests = [
        request(lane, 150),
        request("LANE_MEMBER_2", 150),
        request(lane, 450),
        request(lane, 99),
        request("LANE_PRODUCERS", 150),
        request("", 150, listener=None),
    ]
    frames = (
        *(started("member-1", 100), started("member-2", 100, "member-2")),
        *(ended("member-1", 300), started("member-4", 400, "member-1")),
    )

    found = rows_of(*frames, requests=requests)["requests"]

    assert ["member-1", "member-2", "member-4", None, None, None] == [
        row["program"] for row in found
    ]
    assert lane == found[0]["listener"]


def test_on_a_shared_lane_a_request_is_of_the_process_that_its_client_id_names() -> None:
    lane = "LANE_MEMBER_SHARED"
    requests = [
        request(lane, 150, client_id="member-1"),
        request(lane, 150, client_id="member-10-0"),  # as Spring does it
        request(lane, 150, client_id="consumer-orders-member-1"),
        request(lane, 150, client_id="remember-1"),
        request(lane, 150, client_id="member-100"),
        request(lane, 99, client_id="member-1"),  # before it was started
        request(lane, 150, client_id=None),
        request("LANE_MEMBERS", 150, client_id="member-1"),
    ]
    frames = (started("member-1", 100, SHARED), started("member-10", 100, SHARED))

    found = rows_of(*frames, requests=requests)["requests"]

    assert ["member-1", "member-10", "member-1", None, None, None, None, None] == [
        row["program"] for row in found
    ]


def test_what_a_process_had_sent_before_it_ended_stays_its_own() -> None:
    """A broker reads it when the next process has the lane: member-4 has that of member-3."""
    lane = "LANE_MEMBER_3"
    requests = [
        request(lane, 150, client_id="member-3"),
        request(lane, 250, client_id="member-3"),
        request(lane, 250, client_id="member-4"),
        request(lane, 250, client_id="member-1"),  # whose lane is another one
        request(lane, 250, client_id="sarama"),
    ]
    frames = (
        started("member-3", 100, "member-3"),
        started("member-4", 200, "member-3"),
        started("member-1", 100, "member-1"),
    )
    found = rows_of(*frames, requests=requests)["requests"]

    assert ["member-3", "member-3", "member-4", "member-4", "member-4"] == [
        row["program"] for row in found
    ]


def fetch_log(folder: Path, request: Row, responses: list[Row], **more: Any) -> Path:
    call = {
        "requestHeader": {"requestApiKeyName": "FETCH", "clientId": "any"},
        "request": request,
        "response": {"responses": responses},
        "totalTimeMs": 500.0,
        "listener": "LANE_MEMBER_1",
        **more,
    }
    log = folder / "broker-1.requests.log"
    log.write_text(f"2026-11-24T04:21:11.000000 Completed request:{json.dumps(call)}\n")
    return log


def test_fetches_are_attributed_the_same_way(tmp_path: Path) -> None:
    partitions = [{"partition": number, "fetchOffset": 10 + number} for number in (0, 1)]
    answered = [
        {"partitionIndex": 1, "errorCode": 0, "highWatermark": 20, "recordsSizeInBytes": 99},
        {"partitionIndex": 2, "errorCode": 6, "highWatermark": -1, "recordsSizeInBytes": 0},
    ]
    topics, responses = (
        [{"topicId": "id-of-t", "partitions": each}] for each in (partitions, answered)
    )
    waited = {"responseQueueTimeMs": 40.0, "sendTimeMs": 110.0}
    log = fetch_log(tmp_path, {"topics": topics}, responses, **waited)
    asked_at = 1_795_494_070_500_000

    fetches = read_rows("fetches", log, {"id-of-t": "t"})
    found = rows_of(started("member-1", asked_at), fetches=fetches)["fetches"]

    assert [] == read_rows("requests", log)
    assert len(found) == store.table_of(found, HISTORY["fetches"]).num_rows
    assert all(set(HISTORY["fetches"].names) == set(row) for row in found)
    columns = ("member", "topic", "partition", "fetch_offset", "bytes", "end_offset", "error_code")
    assert [
        ("member-1", "t", 0, 10, None, None, None),
        ("member-1", "t", 1, 11, 99, 20, 0),
        ("member-1", "t", 2, None, 0, -1, 6),
    ] == [tuple(row[name] for name in columns) for row in found]
    assert {(asked_at, asked_at + 350_000)} == {
        (row["arrived_at"], row["answered_at"]) for row in found
    }


@pytest.mark.parametrize(("epoch", "rows"), [(7, 1), (0, 0), (-1, 0), (None, 0)])
def test_a_fetch_that_goes_on_with_its_session_names_no_partition(
    tmp_path: Path, epoch: int | None, rows: int
) -> None:
    """A session begins with epoch 0, and is closed by -1; old clients have none."""
    request = {"topics": []} if epoch is None else {"topics": [], "sessionEpoch": epoch}

    found = read_rows("fetches", fetch_log(tmp_path, request, []))

    assert [(None, None, None)] * rows == [
        (row["topic"], row["partition"], row["fetch_offset"]) for row in found
    ]


def test_brokers_tell_library_protocol_and_timers_of_a_process() -> None:
    lane = "LANE_MEMBER_1"
    software = {"client_software": "apache-kafka-java", "client_software_version": "4.1.0"}
    joined = {
        "protocol_name": "cooperative-sticky",
        "session_timeout_ms": 45_000,
        "rebalance_timeout_ms": 300_000,
    }
    # Of another group that it is in as well.
    other = {"group": "others", "protocol_name": "range", "session_timeout_ms": 6_000}
    requests = [
        request(lane, 150, "FIND_COORDINATOR", group=None, **software),
        request(lane, 160, "JOIN_GROUP", **joined),
        request(lane, 170, "JOIN_GROUP", **other),
    ]

    (row,) = rows_of(started("member-1", 100), requests=requests)["members"]

    assert {
        "client_version": "apache-kafka-java 4.1.0",
        "protocol": "cooperative",
        "session_timeout_ms": 45_000,
        "max_poll_interval_ms": 300_000,
        "assignor": "cooperative-sticky",
    }.items() <= row.items()


@pytest.mark.parametrize(
    ("request_row", "protocol"),
    [
        (request("LANE_MEMBER_1", 150, "JOIN_GROUP", protocol_name="range"), "eager"),
        (request("LANE_MEMBER_1", 150, "JOIN_GROUP", protocol_name="stream"), "cooperative"),
        (request("LANE_MEMBER_1", 150, "CONSUMER_GROUP_HEARTBEAT"), "consumer"),
        (request("LANE_MEMBER_1", 150, "HEARTBEAT"), None),
    ],
)
def test_a_protocol_is_known_by_its_calls(request_row: Row, protocol: str | None) -> None:
    (row,) = rows_of(started("member-1", 100), requests=[request_row])["members"]

    assert protocol == row["protocol"]


@pytest.mark.parametrize(("protocol", "session_ms"), [("eager", 10_000), ("consumer", 45_000)])
def test_what_an_app_turned_out_to_be(tmp_path: Path, protocol: str, session_ms: int) -> None:
    """The session of KIP-848 is the brokers', and no request has it."""
    empty = dict.fromkeys(HISTORY["members"].names)
    own = {**empty, "client": "app", "client_version": "x 1", "protocol": protocol}
    own["session_timeout_ms"] = 10_000 if protocol == "eager" else None
    producer = {**empty, "client": "librdkafka", "client_version": "y 2"}
    (tmp_path / "history").mkdir()
    schema = HISTORY["members"]
    table = store.table_of([own, producer], schema)
    store.write(tmp_path / "history" / "members.parquet", [table], schema)

    found = observed(tmp_path, {"group.consumer.session.timeout.ms": "45000"})

    assert {"clients": ["x 1"], "protocol": protocol, "assignors": []}.items() <= found.items()
    assert session_ms == found["session_timeout_ms"]
    if protocol == "consumer":
        assert observed(tmp_path, {})["session_timeout_ms"] is None


def effects(frame: Row, *sends: Row) -> list[tuple[int, int, int, int]]:
    found = rows_of(started("member-1", 100), frame, sends=list(sends))["effects"]
    assert all(set(HISTORY["effects"].names) == set(row) for row in found)
    assert [("member-1", "stdout", "t", 900 + number) for number in range(len(found))] == [
        (row["member"], row["shown_by"], row["topic"], row["at"]) for row in found
    ]
    return [
        (row["partition"], row["first_offset"], row["last_offset"], row["count"]) for row in found
    ]


def test_numbers_become_the_offsets_that_their_records_got() -> None:
    sends = (sent(0, 0, 9, 100), sent(0, 10, 19, 200), sent(1, 0, 9, 0))

    assert [(0, 105, 109, 5), (0, 200, 201, 2)] == effects(shown(["number", 0, 5, 11]), *sends)
    assert [(0, 209, 209, 1)] == effects(shown(["number", 0, 19, 19]), *sends)
    assert [] == effects(shown(["number", 0, 20, 30], ["number", 2, 0, 0]), *sends)


def test_a_gap_between_offsets_is_no_record() -> None:
    """Transactions' markers and failed sends leave offsets that no record has."""
    sends = (sent(0, 0, 4, 0), sent(0, 7, 9, 20))

    assert [(0, 3, 4, 2), (0, 20, 21, 2)] == effects(shown(["number", 0, 3, 8]), *sends)


def test_a_record_that_no_broker_acknowledged_has_no_offset() -> None:
    sends = (sent(0, 0, 4, 0), sent(0, 5, 6, None), sent(0, 7, 9, 5))

    assert [(0, 4, 4, 1), (0, 5, 5, 1)] == effects(shown(["number", 0, 4, 7]), *sends)
    assert [] == effects(shown(["number", 0, 5, 6]), *sends)


def test_effects_stay_in_the_order_shown() -> None:
    """Of two runs of numbers the first may have got the later offsets; sends come in any order."""
    sends = (sent(0, 5, 9, 0), sent(0, 0, 4, 50))

    assert [(0, 53, 54, 2), (0, 0, 1, 2)] == effects(shown(["number", 0, 3, 6]), *sends)
    twice = shown(["number", 0, 6, 6], ["number", 0, 5, 5], ["number", 0, 5, 5])
    assert [(0, 1, 1, 1), (0, 0, 0, 1), (0, 0, 0, 1)] == effects(twice, *sends)


def test_offsets_that_a_program_shows_are_taken_as_they_are() -> None:
    assert [(4, 7, 9, 3)] == effects(shown(["offset", 4, 7, 9]))
