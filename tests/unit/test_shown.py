"""What an app showed, made from real journals: whose writes, and what is said where it is odd."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from consumers.journal import Journal
from harness.history.schema import HISTORY
from harness.history.shown import JOURNAL, WRITTEN, Write, summary, written
from tests.unit.request_rows import read_rows

Row = dict[str, Any]
TOPIC = {"kind": "topic", "topic": "done"}


def pieces(*found: list[Any], partition: int = 0) -> Row:
    return {"kind": "written", "partition": partition, "pieces": list(found)}


def write(offset: int, member: str | None, partition: int = 0, topic: str = "done") -> Write:
    return topic, partition, offset, member


def shown(*frames: Row, writes: list[Write]) -> list[tuple[Any, ...]]:
    return [
        (frame["program"], frame["shown_by"], *frame["ranges"], frame["seen"])
        for frame in written([TOPIC, *frames], writes)
    ]


def test_a_written_record_is_that_processs_whose_write_it_is_in() -> None:
    writes = [write(10, "member-2"), write(0, "member-1"), write(13, "member-1")]
    found = pieces([0, "number", 2, 5, 9, 700], [8, "number", 2, 20, 27, 900])

    assert [
        ("member-1", "output-0", ["number", 2, 5, 9], 700),
        ("member-1", "output-0", ["number", 2, 20, 21], 900),
        ("member-2", "output-0", ["number", 2, 22, 24], 900),
        ("member-1", "output-0", ["number", 2, 25, 27], 900),
    ] == shown(found, writes=writes)


def test_a_write_that_goes_on_with_its_own_is_no_cut() -> None:
    writes = [write(0, "member-1"), write(4, "member-1"), write(2, "x", 1), write(1, "x", 0, "t")]
    found = shown(pieces([0, "offset", 1, 5, 9, 700]), writes=writes)
    assert [("member-1", "output-0", ["offset", 1, 5, 9], 700)] == found


def test_a_record_before_every_write_on_record_is_nothings() -> None:
    found = shown(pieces([0, "number", 0, 0, 4, 700]), writes=[write(3, "member-1")])
    assert [(None, ["number", 0, 0, 2]), ("member-1", ["number", 0, 3, 4])] == [
        (row[0], row[2]) for row in found
    ]


def test_what_was_written_is_in_the_order_of_time() -> None:
    first = pieces([0, "number", 0, 0, 4, 900])
    second = pieces([0, "number", 1, 0, 4, 700], partition=1)
    assert [700, 900] == [row[-1] for row in shown(first, second, writes=[])]


def test_writes_are_read_from_a_request_log(tmp_path: Path) -> None:
    def line(**answer: Any) -> str:
        call = {
            "requestHeader": {"requestApiKeyName": "PRODUCE", "clientId": "x"},
            "request": {},
            "response": {
                "responses": [
                    {
                        **answer.pop("topic", {"name": "done"}),
                        "partitionResponses": [
                            {"index": 4, "errorCode": 0, "baseOffset": 17, **answer}
                        ],
                    }
                ]
            },
            "listener": "LANE_MEMBER_1",
            "totalTimeMs": 2.5,
        }
        return f"2026-11-24T10:21:55.866126 Completed request:{json.dumps(call)}\n"

    log = tmp_path / "broker-1.requests.log"
    ids = line(baseOffset=20, topic={"topicId": "abc"})
    log.write_text(line() + line(errorCode=7, baseOffset=-1) + ids + "torn")

    found = read_rows("writes", log, {"abc": "other"})
    assert [("done", 4, 17, "LANE_MEMBER_1"), ("other", 4, 20, "LANE_MEMBER_1")] == [
        (row["topic"], row["partition"], row["base_offset"], row["listener"]) for row in found
    ]
    assert [] == read_rows("requests", log)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """Ten records were acknowledged in each of three partitions, and five more never answered."""
    for name in ("journals", "logs", "history"):
        (tmp_path / name).mkdir()
    rows = [
        {
            **dict.fromkeys(HISTORY["sends"].names),
            "partition": partition,
            "first_number": 10 * open_ends,
            "last_number": 14 if open_ends else 9,
            "first_offset": None if open_ends else 0,
            "last_offset": None if open_ends else 9,
            "count": 5 if open_ends else 10,
        }
        for partition in range(3)
        for open_ends in (False, True)
    ]
    table = pa.Table.from_pylist(rows, schema=HISTORY["sends"])
    pq.write_table(table, tmp_path / "history" / "sends.parquet")
    (tmp_path / "logs" / "member-1.log").write_text("starting\ncannot parse record\n")
    return tmp_path


def said(run_dir: Path, way: str, asked: str, *frames: Row, journal: str = JOURNAL) -> Row:
    about = Journal(run_dir / "journals" / "programs.journal", member="harness")
    about.write("app", group="orders", topic="t", partitions=3, way=way, asked=asked)
    other = Journal(run_dir / "journals" / journal, member="sink")
    for frame in frames:
        other.write(**frame)
    return summary(run_dir)


def ranges(*found: list[Any]) -> Row:
    return {"kind": "shown", "program": "member-1", "shown_by": "x", "ranges": list(found)}


def unread(count: int, text: str) -> Row:
    return {"kind": "unread", "program": "member-1", "count": count, "text": text}


GOOD = ranges(["number", 1, 0, 14], ["offset", 2, 0, 14])


PRINTS = "stdout", "done (?P<n>.)"
WRITES = "output_topic", "done"
NO_LINE = "no line matched done (?P<n>.); "
LAST = "its last words: starting | cannot parse record"
A, B, X = unread(1, "'a'"), unread(1, "'b'"), unread(2, "'x'")


@pytest.mark.parametrize(
    ("way", "asked", "frames", "lacks"),
    [
        (*PRINTS, [], NO_LINE + "it printed nothing"),
        (*PRINTS, [A, unread(9, "'so 17'")], NO_LINE + "one line it printed: 'so 17'"),
        (*PRINTS, [GOOD, unread(9, "'other'")], ""),
        (
            *("verifiable", "", [X]),
            "no line is a records_consumed of Kafka's tool; one line it printed: 'x'",
        ),
        ("http", "", [], f"there was no post to the sink; {LAST}"),
        ("http", "", [A, B], "2 posts to the sink named no record, such as 'a'"),
        ("http", "", [GOOD, A], "1 post to the sink named no record, such as 'a'"),
        ("http", "", [GOOD], ""),
        (*WRITES, [], f"there was no record in done; {LAST}"),
        (*WRITES, [unread(7, "'a'")], "7 records in done named no record, such as 'a'"),
        (*WRITES, [pieces([0, "number", 1, 0, 14, 5])], ""),
    ],
)
def test_what_was_there_instead_of_records(
    run_dir: Path, way: str, asked: str, frames: list[Row], lacks: str
) -> None:
    found = said(run_dir, way, asked, *frames, journal=WRITTEN)
    by = f"{way} {asked}" if asked else way
    assert {"by": by, "lacks": lacks, "oddly": ""} == found


@pytest.mark.parametrize(
    ("frame", "oddly"),
    [
        (ranges(["number", 1, 10, 16]), "shows 2 records never produced, such as number"),
        (ranges(["number", 1, 15, 15]), "such as number 46 by member-1"),
        (ranges(["offset", 1, 10, 15]), "shows 1 record never produced"),
        (ranges(["offset", 1, 15, 15]), "such as offset 15 of partition 1 by member-1"),
        (ranges(["offset", 7, 0, 3]), "shows 4 records never produced"),
        (ranges(["number", 1, -2, -1]), "shows 2 records never produced"),
        (pieces([0, "number", 1, 15, 15, 5]), "such as number 46"),
    ],
)
def test_records_that_nothing_sent_are_named(run_dir: Path, frame: Row, oddly: str) -> None:
    assert oddly in said(run_dir, "http", "", GOOD, frame)["oddly"]


def test_a_program_that_is_not_said_to_show_its_work_has_no_such_record(run_dir: Path) -> None:
    assert {} == said(run_dir, "", "", unread(1, "x"))
