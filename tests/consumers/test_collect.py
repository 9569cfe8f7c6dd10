from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from consumers import history_rows
from consumers.config import ConsumerConfig, ProducerConfig
from consumers.history_rows import ClientLogEvent
from consumers.journal import JournalContent
from harness.history.schema import HISTORY

T0 = 1_763_718_000_000_000
HEADER = {"kind": "header", "at": T0, "seq": 0, "format": 1, "member": "member-1", "pid": 77}
STARTED = {
    "kind": "started",
    "at": T0 + 1,
    "seq": 1,
    "versions": {"confluent-kafka": "2.16.1", "librdkafka": "2.16.0"},
    "config": {},
    "effective": {},
}


def consumer_rows(*heard: Any) -> dict[str, list[dict[str, Any]]]:
    """Rows of a consumer, all of them."""
    return {name: list(rows) for name, rows in history_rows.consumer_rows(*heard).items()}


def producer_rows(*heard: Any) -> dict[str, list[dict[str, Any]]]:
    """Rows of a producer, all of them."""
    return {name: list(rows) for name, rows in history_rows.producer_rows(*heard).items()}


def journal(*frames: dict[str, Any], torn: bool = False) -> JournalContent:
    heard = [HEADER, STARTED, *({"seq": n + 2} | frame for n, frame in enumerate(frames))]
    return JournalContent(heard, torn, 0)


def frame(kind: str, at: int, generation: int | None = None, **more: Any) -> dict[str, Any]:
    """A frame so many microseconds after T0, of a member in a generation."""
    if generation is not None:
        more = {"member_id": f"id-{generation}", "generation": generation, **more}
    return {"kind": kind, "at": T0 + at, **more}


def rebalance(kind: str, at: int, generation: int, *partitions: int) -> dict[str, Any]:
    return frame(kind, at, generation, partitions=[["t", p] for p in partitions])


def delivered(at: int, poll: int, *ranges: list[Any]) -> dict[str, Any]:
    return frame("delivered", at, 1, poll=poll, ranges=list(ranges), polled_at=T0 + at - 1)


def asked(at: int, number: int, *offsets: list[Any], how: str = "sync") -> dict[str, Any]:
    return frame("commit_asked", at, 1, id=number, how=how, offsets=list(offsets))


def answered(at: int, number: int | None, *results: list[Any]) -> dict[str, Any]:
    return frame("commit_answered", at, 2, id=number, results=list(results))


def stall(part: str, at: int) -> dict[str, Any]:
    return frame(f"stall_{part}", at, polled_at=T0 + 19, duration_ms=500.0)


@pytest.fixture
def config(consumer_settings: dict[str, Any]) -> ConsumerConfig:
    return ConsumerConfig.of({**consumer_settings, "lane": "lane-1"})


@pytest.fixture
def producer(producer_settings: dict[str, Any]) -> ProducerConfig:
    return ProducerConfig.of(producer_settings)


def assert_fits(rows: dict[str, list[dict[str, Any]]]) -> None:
    for name, found in rows.items():
        for row in found:
            assert set(HISTORY[name].names) == set(row), name
        assert len(found) == pa.Table.from_pylist(found, HISTORY[name]).num_rows


def picked(rows: Iterable[dict[str, Any]], names: str) -> list[tuple[Any, ...]]:
    """These columns of the rows."""
    return [tuple(row[name] for name in names.split()) for row in rows]


def events(frames: Sequence[dict[str, Any]], config: ConsumerConfig) -> list[dict[str, Any]]:
    return consumer_rows(journal(*frames), [], config)["client_events"]


def test_every_row_has_exactly_the_columns_of_the_schema(config: ConsumerConfig) -> None:
    rows = consumer_rows(
        journal(
            rebalance("assigned", 10, 1, 0, 1),
            delivered(20, 4, ["t", 0, 5, 9, 5], ["t", 1, 0, 0, 1]),
            stall("started", 22),
            stall("ended", 24),
            frame("processed", 25, poll=4),
            asked(26, 1, ["t", 0, 10], ["t", 1, 1]),
            answered(27, 1, ["t", 0, 10, 0, None], ["t", 1, 1, 25, "UNKNOWN_MEMBER_ID"]),
            {"kind": "error", "at": T0 + 28, "where": "library", "code": -195, "name": "_T",
             "text": "gone", "fatal": False},
            frame("dropped", 29, poll=5, ranges=[["t", 0, 1, 2, 2]]),
            rebalance("lost", 30, 1, 0, 1),
            frame("closing", 40, why="ordered"),
            frame("closed", 41),
        ),
        [ClientLogEvent("session_timed_out", T0 + 15, 6003.0, "timed out")],
        config,
    )  # fmt: skip
    assert_fits(rows)
    assert list(rows) == ["members", "client_events", "deliveries", "commits"]
    assert [
        *("assigned", "session_timed_out", "stall_started", "stall_ended", "error", "error"),
        *("lost", "closing", "closed"),
    ] == [row["event"] for row in rows["client_events"]]


def test_times_become_utc_timestamps(config: ConsumerConfig) -> None:
    rows = consumer_rows(journal(frame("closed", 5)), [], config)
    table = pa.Table.from_pylist(rows["members"], HISTORY["members"])
    assert table["ended_at"][0].as_py().isoformat() == "2025-11-21T09:40:00.000005+00:00"


def test_a_member_that_closed(config: ConsumerConfig) -> None:
    (row,) = consumer_rows(journal(frame("closed", 5)), [], config)["members"]
    assert {
        "member": "member-1",
        "role": "consumer",
        "client": "librdkafka",
        "client_version": "confluent-kafka 2.16.1 librdkafka 2.16.0",
        "group": "orders",
        "lane": "lane-1",
        "pid": 77,
        "started_at": T0,
        "ended_at": T0 + 5,
        "end": "closed",
        "journal_frames": 3,
        "journal_torn": False,
    }.items() <= row.items()


def test_a_member_whose_client_gave_up_failed(config: ConsumerConfig) -> None:
    rows = consumer_rows(journal(frame("fatal", 5, text="fenced")), [], config)
    assert rows["members"][0]["end"] == "failed"
    assert rows["client_events"][0]["detail"] == "process: fenced"


def test_a_killed_member_has_no_end_and_its_last_work_is_not_done(config: ConsumerConfig) -> None:
    rows = consumer_rows(
        journal(
            delivered(10, 1, ["t", 0, 0, 4, 5]),
            frame("processed", 12, poll=1),
            asked(13, 1, ["t", 0, 5]),
            delivered(20, 2, ["t", 0, 5, 6, 2]),
            torn=True,
        ),
        [],
        config,
    )
    assert_fits(rows)
    assert [(None, None, True)] == picked(rows["members"], "end ended_at journal_torn")
    assert [row["processed_at"] for row in rows["deliveries"]] == [T0 + 12, None]
    (commit,) = rows["commits"]
    assert (commit["answered_at"], commit["error_code"]) == (None, None)


def test_a_killed_member_that_had_not_even_started(config: ConsumerConfig) -> None:
    rows = consumer_rows(JournalContent([], torn=False, whole_bytes=0), [], config)
    assert_fits(rows)
    assert rows["members"][0]["pid"] is rows["members"][0]["client_version"] is None


def test_a_stall_begins_when_the_last_poll_returned(config: ConsumerConfig) -> None:
    started, ended = events([stall("started", 22), stall("ended", 522)], config)
    assert (started["event_at"], started["observed_at"]) == (T0 + 19, T0 + 22)
    assert (ended["event_at"], ended["observed_at"]) == (T0 + 522, T0 + 522)
    assert started["duration_ms"] == 500.0


def test_events_carry_the_member_of_the_rebalance_before_them(config: ConsumerConfig) -> None:
    found = consumer_rows(
        journal(
            rebalance("assigned", 10, 1, 0),
            rebalance("assigned", 50, 2, 1),
            frame("closing", 60, why="SIGTERM"),
        ),
        [
            ClientLogEvent("max_poll_exceeded", T0 + 5, 8251.0, "before any"),
            ClientLogEvent("max_poll_exceeded", T0 + 20, 8251.0, "exceeded"),
        ],
        config,
    )["client_events"]
    known = [(None, None), ("id-1", 1), ("id-1", 1), ("id-2", 2), ("id-2", 2)]
    assert known == picked(found, "member_id generation")
    assert found[1]["partitions"] == [{"topic": "t", "partition": 0}]


def test_a_commit_has_the_member_that_asked_and_each_partitions_own_answer(
    config: ConsumerConfig,
) -> None:
    rows = consumer_rows(
        journal(
            asked(10, 1, ["t", 0, 5], ["t", 1, 7], how="async"),
            asked(11, 2, ["t", 0, 6], how="async"),
            answered(12, 2, ["t", 0, 6, 0, None]),
            answered(13, 1, ["t", 0, 5, 0, None], ["t", 1, 7, 22, "ILLEGAL_GENERATION"]),
        ),
        [],
        config,
    )["commits"]
    assert [
        ("async", 0, 6, "id-1", T0 + 11, T0 + 12, 0, None),
        ("async", 0, 5, "id-1", T0 + 10, T0 + 13, 0, None),
        ("async", 1, 7, "id-1", T0 + 10, T0 + 13, 22, "ILLEGAL_GENERATION"),
    ] == picked(rows, "how partition committed member_id asked_at answered_at error_code error")


def test_an_automatic_commit_has_an_answer_only(config: ConsumerConfig) -> None:
    rows = consumer_rows(journal(answered(12, None, ["t", 0, 6, 0, None])), [], config)
    assert_fits(rows)
    (row,) = rows["commits"]
    assert (row["asked_at"], row["answered_at"], row["committed"]) == (None, T0 + 12, 6)


# The producer


def acknowledged(partition: int, first: int, last: int, **changes: Any) -> dict[str, Any]:
    found = frame(
        "acknowledged",
        50,
        partition=partition,
        first_number=first,
        last_number=last,
        first_offset=first + 100,
        last_offset=last + 100,
        first_sent_at=T0 + 10,
        last_answered_at=T0 + 40,
        error_code=0,
        error=None,
    )
    return found | changes


def test_sends_by_outcome(producer: ProducerConfig) -> None:
    failed = acknowledged(
        0, 5, 6, kind="failed", first_offset=None, last_offset=None, error="_MSG_TIMED_OUT"
    )
    rows = producer_rows(
        journal(
            frame("sending", 9, sent=[8, 2, 0]),
            acknowledged(0, 0, 4),
            failed,
            {"kind": "unanswered", "at": T0 + 60, "partition": 0, "first_number": 7,
             "last_number": 7},
            frame("closed", 61),
        ),
        producer,
    )  # fmt: skip
    assert_fits(rows)
    columns = "outcome first_number last_number first_offset last_offset count error"
    assert [
        ("acknowledged", 0, 4, 100, 104, 5, None),
        ("failed", 5, 6, None, None, 2, "_MSG_TIMED_OUT"),
        ("unanswered", 7, 7, None, None, 1, None),
    ] == picked(rows["sends"], columns)
    assert [("producer", "closed", None)] == picked(rows["members"], "role end group")


def test_what_was_sent_before_a_topic_grew_is_accounted_too(producer: ProducerConfig) -> None:
    rows = producer_rows(
        journal(
            frame("sending", 9, sent=[3, 3]),
            frame("sending", 19, sent=[3, 3, 2]),
        ),
        producer,
    )
    sends = [(0, 3, T0 + 9), (1, 3, T0 + 9), (2, 2, T0 + 19)]
    assert sends == picked(rows["sends"], "partition count first_sent_at")


def test_what_a_killed_producer_may_have_sent_is_unanswered(producer: ProducerConfig) -> None:
    rows = producer_rows(
        journal(
            frame("sending", 9, sent=[3, 3, 0]),
            acknowledged(0, 0, 2),
            frame("sending", 19, sent=[6, 5, 0]),
            acknowledged(1, 3, 3),
        ),
        producer,
    )
    assert_fits(rows)
    unanswered = [row for row in rows["sends"] if row["outcome"] == "unanswered"]
    assert [(0, 3, 5, T0 + 19), (1, 0, 2, T0 + 9), (1, 4, 4, T0 + 19)] == picked(
        unanswered, "partition first_number last_number first_sent_at"
    )


def test_many_holes_are_looked_up_in_one_reading(producer: ProducerConfig) -> None:
    """A day's journal has four million frames; none is read again for each hole in it."""

    class Counted(list[Any]):
        readings = 0

        def __iter__(self) -> Iterator[Any]:
            self.readings += 1
            return super().__iter__()

    frames = Counted()
    for number in range(0, 600, 2):  # every other record is answered
        frames.append(frame("sending", number, sent=[number + 2, 0, 0]))
        frames.append(acknowledged(0, number, number))
    content = journal()._replace(frames=frames)

    found = [
        (row["first_number"], row["first_sent_at"])
        for row in producer_rows(content, producer)["sends"]
        if row["outcome"] == "unanswered"
    ]

    assert [(number + 1, T0 + number) for number in range(0, 600, 2)] == found
    assert frames.readings < 10


def test_what_the_library_logs_is_of_the_last_rebalance_before_it(
    config: ConsumerConfig,
) -> None:
    """The last in the journal, also where the clock was set back between two."""
    times = (100, 300, 200, 400)
    frames = [frame("assigned", at, member_id="m", generation=at, partitions=[]) for at in times]
    logged = [ClientLogEvent("heartbeat_sent", T0 + at, None, "") for at in range(50, 450, 50)]

    rows = consumer_rows(journal(*frames), logged, config)["client_events"]

    found = [row["generation"] for row in rows if row["event"] == "heartbeat_sent"]
    assert [None, 100, 100, 200, 200, 200, 200, 400] == found


def test_what_many_rebalances_and_lines_cost_grows_with_their_number_and_no_faster(
    config: ConsumerConfig,
) -> None:
    """A day of rebalances: to look at each for each line would take hours."""

    class Time(int):
        """A moment that counts how often it is compared."""

        looks = 0

        def __lt__(self, other: int) -> bool:
            Time.looks += 1
            return int(self) < int(other)

        def __le__(self, other: int) -> bool:
            Time.looks += 1
            return int(self) <= int(other)

    many = 2_000
    frames = [
        {"kind": "lost", "at": Time(T0 + n), "member_id": "m", "generation": n, "partitions": []}
        for n in range(many)
    ]
    logged = [ClientLogEvent("heartbeat_sent", Time(T0 + n), None, "") for n in range(many)]

    consumer_rows(journal(*frames), logged, config)

    assert Time.looks < 20 * many
