"""What the observer makes of answers that are not what it asked for."""

from __future__ import annotations

import json
import socketserver
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from consumers.journal import Journal, read_journal
from harness.base.ports import LOOPBACK
from harness.cluster import wire
from harness.run import observer
from harness.run.observer import TICKS_PER_ROW, Observation

_PATIENCE_S: Final = 30


@contextmanager
def serving(answer: Callable[[bytes], bytes | None]) -> Iterator[int]:
    """A port on which each request has what `answer` makes of it, or no answer at all."""

    class Answers(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            (length,) = struct.unpack(">i", self.rfile.read(4))
            request = self.rfile.read(length)
            if (said := answer(request)) is not None:
                self.wfile.write(struct.pack(">i", 4 + len(said)) + request[4:8] + said)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server((LOOPBACK, 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def answering(
    body: bytes, asked: list[int] | None = None, **others: bytes
) -> AbstractContextManager[int]:
    """A port on which every request is answered with the same body, whatever it asks.

    But for `others`, by their API's number (`api_3`); an empty one is no answer at all. `asked`
    gets the numbers of all requests.
    """

    def answer(request: bytes) -> bytes | None:
        (api,) = struct.unpack(">h", request[:2])
        if asked is not None:
            asked.append(api)
        return others.get(f"api_{api}", body) or (None if f"api_{api}" in others else body)

    return serving(answer)


Watching = Callable[..., Observation]


@pytest.fixture
def watching(tmp_path: Path) -> Watching:
    """An observer of these brokers, by the ports at which they are asked."""

    def watch(ports: dict[int, int] | None = None) -> Observation:
        journal = Journal(tmp_path / "observer.journal", member="observer")
        return Observation(journal, "orders", ["t"], ports or {})

    return watch


@pytest.fixture
def unreachable(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """What an observer that looks three times at the broker at a port cannot reach."""

    def looked(port: int) -> list[str]:
        rows: list[tuple[str, dict[str, Any]]] = []
        watch = watching({1: port})
        monkeypatch.setattr(watch, "write", lambda kind, **row: rows.append((kind, row)))
        for _ in range(3):
            watch.look()
        return [row["detail"] for kind, row in rows if kind == "unreachable"]

    return looked


def offset_fetch_answer(topics: list[list[tuple[int, int, int]]], error_code: int) -> bytes:
    """OffsetFetch v2: per topic t its partitions with position and error; the whole error."""
    body = struct.pack(">i", len(topics))
    for partitions in topics:
        body += struct.pack(">h1si", 1, b"t", len(partitions))
        for number, position, code in partitions:
            body += struct.pack(">iqhh", number, position, -1, code)
    return body + struct.pack(">h", error_code)


def committed(body: bytes) -> wire.Places:
    with answering(body) as port:
        return wire.committed(port, "orders", {"t": [0, 1]}, timeout_s=_PATIENCE_S)


def test_positions_are_those_of_partitions_without_an_error() -> None:
    assert {("t", 0): 7} == committed(offset_fetch_answer([[(0, 7, 0), (1, 9, 3)]], 0))


def test_a_coordinator_that_refuses_the_group_names_no_topic() -> None:
    not_coordinator = 16
    assert {} == committed(offset_fetch_answer([], not_coordinator))


def test_an_observer_that_cannot_read_what_it_is_reported_ends(tmp_path: Path) -> None:
    with answering(b"") as port:
        config = {
            "journal": str(tmp_path / "observer.journal"),
            "run": "20261125T093000-0001",
            "group": "orders",
            "topic": "t",
            "broker_ports": {"1": port},
        }
        (tmp_path / "observer.json").write_text(json.dumps(config))
        # Its standard input stays open: it gets no order to end.
        with subprocess.Popen(
            [sys.executable, "-m", "harness.run.observer", str(tmp_path / "observer.json")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as observer:
            try:
                assert observer.stdin is not None
                observer.stdin.write("look\n")
                observer.stdin.flush()
                assert observer.wait(_PATIENCE_S) == 1
            finally:
                observer.kill()
            assert observer.stderr is not None
            assert observer.stderr.read().strip().endswith("cannot look any longer")


def metadata_answer(leader: int, epoch: int) -> bytes:
    """Metadata v7: no brokers, one partition of topic t."""
    head = struct.pack(">iihi", 0, 0, -1, 1)  # throttle time, brokers, cluster id, controller
    topic = struct.pack(">ih h1sb i", 1, 0, 1, b"t", 0, 1)
    return head + topic + struct.pack(">hiii ii ii i", 0, 0, leader, epoch, 1, 1, 1, 2, 0)


def test_an_observer_that_gets_no_order_to_look_ends_with_its_input(tmp_path: Path) -> None:
    (tmp_path / "observer.json").write_text("{}")
    ended = subprocess.run(
        [sys.executable, "-m", "harness.run.observer", str(tmp_path / "observer.json")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert (0, b"") == (ended.returncode, ended.stderr)


def test_a_broker_that_is_cut_off_is_asked_for_positions_and_not_believed(
    watching: Watching,
) -> None:
    """Both take themselves for the coordinator; the second knows of a later leader."""
    asked: dict[int, list[int]] = {1: [], 2: []}
    group = struct.pack(">ihh6sh6shhi", 1, 0, 6, b"orders", 6, b"Stable", 0, 0, 3) + bytes(3 * 14)
    positions = offset_fetch_answer([[(0, 7, 0)]], 0)
    with (
        answering(
            b"\0\0", asked[1], api_3=metadata_answer(1, 4), api_9=positions, api_15=group,
            api_10=struct.pack(">hihi", 0, 1, 0, 9),
        ) as stale,
        answering(
            b"\0\0", asked[2], api_3=metadata_answer(2, 5), api_9=positions, api_15=group,
            api_10=struct.pack(">hihi", 0, 2, 0, 9),
        ) as fresh,
    ):  # fmt: skip
        watch = watching({1: stale, 2: fresh})
        watch.look()

    assert 2 == watch.seen["partition", "t", 0]["leader"]
    assert [2] == watch.seen["partition", "t", 0]["isr"]
    assert (2, "Stable", 3) == tuple(
        watch.seen["group",][name] for name in ("coordinator", "state", "members")
    )
    offset_fetch = 9
    assert [1, 1] == [asked[broker].count(offset_fetch) for broker in (1, 2)]
    assert not [key for key in watch.seen if key[0] == "unreachable"]


def end_offset_answer(*partitions: tuple[int, int, int]) -> bytes:
    """ListOffsets v2: partitions of the topic t with the end and the error of each."""
    body = struct.pack(">iih1si", 0, 1, 1, b"t", len(partitions))
    for number, end, code in partitions:
        body += struct.pack(">ihqq", number, code, -1, end)
    return body


def test_a_leader_is_asked_for_all_its_ends_in_one_request(watching: Watching) -> None:
    """One each took an observer seconds where there were hundreds of partitions."""
    list_offsets, not_leader = 2, 6
    asked: dict[int, list[int]] = {1: [], 2: []}
    with (
        answering(b"", asked[1], api_2=end_offset_answer((0, 70, 0), (2, 90, 0))) as first,
        answering(b"", asked[2], api_2=end_offset_answer((1, 80, not_leader))) as second,
    ):
        watch = watching({1: first, 2: second})
        for number, leader in ((0, 1), (1, 2), (2, 1), (3, -1)):
            watch.note("partition", ("t", number), topic="t", partition=number, leader=leader)
        watch.note("partition", ("__offsets", 0), topic="__offsets", partition=0, leader=1)
        watch._look_at_ends()

    ends = {key[2]: row["end_offset"] for key, row in watch.seen.items() if key[0] == "end_offset"}
    assert {0: 70, 2: 90} == ends
    assert {1: [list_offsets], 2: [list_offsets]} == asked


@pytest.mark.parametrize(
    ("silent", "key"), [("api_3", "broker-1"), ("api_10", "positions of broker-1")]
)
def test_a_question_that_stays_without_an_answer_is_one_row(
    unreachable: Callable[[int], list[str]], silent: str, key: str
) -> None:
    """Whatever the same broker answers in between."""
    answers = {
        "api_3": metadata_answer(1, 4),
        "api_10": struct.pack(">hihi", 15, -1, 0, 9),
        silent: b"",
    }
    with answering(b"\0\0", None, **answers) as port:
        heard = unreachable(port)

    assert 1 == len([detail for detail in heard if detail.startswith(f"{key}: ")]), heard


@pytest.mark.parametrize(
    ("error", "times"),
    [(TimeoutError("timed out"), 3), (ConnectionRefusedError(111, "Connection refused"), 1)],
)
def test_a_question_is_a_row_each_time_it_was_waited_for_in_vain(
    unreachable: Callable[[int], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    error: OSError,
    times: int,
) -> None:
    """No other broker is asked anything during it."""

    def refuses(*_: object) -> None:
        raise error

    monkeypatch.setattr("harness.cluster.wire.metadata", refuses)
    with answering(b"\0\0", None, api_10=struct.pack(">hihi", 15, -1, 0, 9)) as port:
        heard = unreachable(port)

    assert [f"broker-1: {error}"] * times == heard


class Machine:
    """A clock that stands still for as long as given at each tick, in milliseconds."""

    def __init__(self, watch: Observation, stalls_ms: list[float]) -> None:
        self.watch, self.stalls_ms, self.now_ms = watch, stalls_ms, 0.0

    def monotonic(self) -> float:
        return self.now_ms / 1_000

    def select(self, *asked: Any) -> tuple[list[Any], list[Any], list[Any]]:
        *_, timeout_s = asked
        self.now_ms += timeout_s * 1_000 + self.stalls_ms.pop(0)
        if not self.stalls_ms:
            self.watch.stop.set()
        return [], [], []


@pytest.mark.parametrize(
    ("stalls_ms", "rows"),
    [
        ([0] * TICKS_PER_ROW, [(100, 0)]),
        ([0, 49, *[0] * (TICKS_PER_ROW - 2)], [(139, 49)]),
        # Due at 10 and 80 ms; ten more ticks end the next row as always.
        ([60, *[0] * TICKS_PER_ROW], [(70, 60), (160, 0)]),
        # Four shorter ones after it would have made the row end 220 ms later.
        ([60, 0, 45, 0, 45, 0, 45, 0, 45, 0, 0], [(70, 60), (300, 45)]),
        ([0, 0, 60, 70], [(90, 60), (160, 70)]),
    ],
)
def test_a_row_ends_with_the_tick_that_was_later_than_the_slack(
    watching: Watching,
    monkeypatch: pytest.MonkeyPatch,
    stalls_ms: list[float],
    rows: list[tuple[float, float]],
) -> None:
    written = []
    watch = watching()
    machine = Machine(watch, list(stalls_ms))
    monkeypatch.setattr(observer, "time", machine)
    monkeypatch.setattr(observer, "select", machine)

    def write(_kind: str, late_ms: float, clock_us: int) -> None:
        assert round(machine.now_ms * 1_000) == clock_us
        written.append((round(machine.now_ms), late_ms))

    monkeypatch.setattr(watch.journal, "write", write)

    assert not observer.tick(watch)

    assert rows == written


def test_the_clock_is_read_when_no_one_else_writes(
    watching: Watching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that looks may be kept from its processor in the midst of a row."""
    watch = watching()
    machine = Machine(watch, [])
    monkeypatch.setattr(observer, "time", machine)

    @contextmanager
    def writing() -> Iterator[None]:
        machine.now_ms += 80
        yield

    monkeypatch.setattr(watch, "writing", writing())
    watch.ticked(0.2)

    assert 80_000 == read_journal(tmp_path / "observer.journal").frames[-1]["clock_us"]
