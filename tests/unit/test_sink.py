"""The sink: real posts over real connections, answered once they are on record."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from consumers.journal import read_journal
from harness.base import processes
from harness.base.errors import VoidRun
from harness.base.ports import LOOPBACK, Ports
from harness.base.wait import wait_until
from harness.run.named import Naming
from harness.run.sink import Sink

SOON_S = 10.0
NAMING = Naming(('{"id": {n}}',), 3)


@pytest.fixture
def ports() -> Iterator[Ports]:
    with Ports() as held:
        yield held


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    for name in ("journals", "logs"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Iterator[str]:
    mark = f"test-sink-{os.getpid()}-{id(request)}"
    yield mark
    processes.end_run(mark)


@pytest.fixture
def sink(run: str, run_dir: Path, ports: Ports) -> Iterator[Sink]:
    made = Sink(run, run_dir, ports.take(), NAMING)
    made.start()
    yield made
    made.stop()


class Poster:
    """One connection that stays open."""

    def __init__(self, sink: Sink, member: str = "member-1") -> None:
        host, _, self.path = sink.url(member).removeprefix("http://").partition("/")
        self._connection = http.client.HTTPConnection(host, timeout=SOON_S)

    def post(self, body: Any, path: str = "", method: str = "POST", **headers: str) -> int:
        text = body if isinstance(body, str) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, f"/{self.path}{path}", text, named)
        answer = self._connection.getresponse()
        self.said = answer.read().decode()
        return answer.status

    def close(self) -> None:
        self._connection.close()


def frames(run_dir: Path, kind: str = "shown") -> list[dict[str, Any]]:
    journal = read_journal(run_dir / "journals" / "sink.journal")
    return [frame for frame in journal.frames if frame["kind"] == kind]


def shown(run_dir: Path) -> list[tuple[str, int]]:
    return [
        (frame["program"], partition + 3 * place)
        for frame in frames(run_dir)
        for _, partition, first, last in frame["ranges"]
        for place in range(first, last + 1)
    ]


def test_what_is_acknowledged_is_on_record_by_then(sink: Sink, run_dir: Path) -> None:
    with closing(Poster(sink)) as one, closing(Poster(sink, "member-2")) as other:
        for n in range(5):
            assert 204 == one.post({"id": n})
            assert ("member-1", n) == shown(run_dir)[-1]
        assert 204 == other.post({"id": 3}, path="/orders", method="PUT")
        assert 204 == other.post("", path="?n=7")
        assert 204 == other.post("anything", kafka_chaos_n="8")
    assert [("member-2", 3), ("member-2", 7), ("member-2", 8)] == shown(run_dir)[5:]
    seen = [frame["seen"] for frame in frames(run_dir)]
    assert sorted(seen) == seen
    assert {"http"} == {frame["shown_by"] for frame in frames(run_dir)}


def test_it_survives_the_sinks_own_sigkill(sink: Sink, run_dir: Path) -> None:
    with closing(Poster(sink)) as poster:
        assert 204 == poster.post({"id": 1})
    assert sink._process is not None
    sink._process.kill()
    sink._process.wait()

    assert [("member-1", 1)] == shown(run_dir)
    with pytest.raises(VoidRun, match="the sink ended with exit code -9"):
        sink.check()


def test_a_body_may_come_in_chunks(sink: Sink, run_dir: Path) -> None:
    url = sink.url("member-1")
    host, _, path = url.removeprefix("http://").partition("/")
    with closing(http.client.HTTPConnection(host, timeout=SOON_S)) as connection:
        for n in (1, 2):
            pieces = [b'{"i', b'd": %d}' % n]
            connection.request("POST", f"/{path}", iter(pieces), encode_chunked=True)
            answer = connection.getresponse()
            answer.read()
            assert 204 == answer.status
    assert [1, 2] == [n for _, n in shown(run_dir)]


def test_what_names_no_record_is_refused_and_remembered(sink: Sink, run_dir: Path) -> None:
    with closing(Poster(sink)) as poster:
        assert 400 == poster.post({"hello": 1})
        assert "no record is named in" in poster.said
        assert "hello" in poster.said
        assert 204 == poster.post({"id": 1})
    (unread,) = frames(run_dir, "unread")
    assert ("member-1", 1, True) == (unread["program"], unread["count"], "hello" in unread["text"])


@pytest.mark.parametrize("path", ["/", "/member", "/member-x", "/member-1x", "/elsewhere/member-1"])
def test_a_path_of_free_is_refused(sink: Sink, run_dir: Path, path: str) -> None:
    with closing(Poster(sink)) as poster:
        poster.path = ""
        assert 404 == poster.post({"id": 1}, path=path.removeprefix("/"))
    assert [] == shown(run_dir)


@pytest.mark.parametrize("length", ["x", "-1", str(2**40)])
def test_a_body_without_a_sensible_length_is_refused(sink: Sink, length: str) -> None:
    port = int(sink.url("x").split(":")[2].partition("/")[0])
    with closing(socket.create_connection((LOOPBACK, port), timeout=SOON_S)) as raw:
        raw.sendall(f"POST /member-1 HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
        assert b" 413 " in raw.recv(4_096)


def test_it_answers_late_and_keeps_what_is_posted_before_that(sink: Sink, run_dir: Path) -> None:
    sink.order("member-1", delay_ms=60_000)
    with closing(Poster(sink)) as slow, closing(Poster(sink, "member-2")) as other:
        wait_until(
            "slow sink",
            lambda: sink.ask("member-1", patience_s=0.2).status is None,
            timeout_s=SOON_S,
        )
        waiting = threading.Thread(target=slow.post, args=({"id": 1},))
        waiting.start()
        wait_until("record", lambda: shown(run_dir), timeout_s=SOON_S)
        assert waiting.is_alive()
        assert 204 == other.post({"id": 2})

        sink.order("member-1")
        waiting.join(SOON_S)
        assert not waiting.is_alive()
        assert 204 == slow.post({"id": 3})
    assert [1, 2, 3] == [n for _, n in shown(run_dir)]


def test_a_short_delay_is_as_long_as_was_said(sink: Sink) -> None:
    sink.order(delay_ms=150)
    answer = wait_until(
        "slow sink",
        lambda: found if (found := sink.ask(patience_s=SOON_S)).after_ms >= 150 else None,
        timeout_s=SOON_S,
    )
    assert 204 == answer.status


def test_it_refuses_one_process_or_all_and_keeps_nothing_of_theirs(
    sink: Sink, run_dir: Path
) -> None:
    sink.order("member-1", refuses=True)

    def refused(member: str) -> bool:
        return sink.ask(member, patience_s=SOON_S).status == 503

    wait_until("refusal", lambda: refused("member-1"), timeout_s=SOON_S)
    with closing(Poster(sink)) as one, closing(Poster(sink, "member-2")) as other:
        assert (503, 204) == (one.post({"id": 1}), other.post({"id": 2}))
        sink.order(refuses=True)
        wait_until("refusal", lambda: refused("member-2"), timeout_s=SOON_S)
        assert (503, 503) == (one.post({"id": 3}), other.post({"id": 4}))
        sink.order()
        wait_until("healed", lambda: not refused("member-1"), timeout_s=SOON_S)
        assert (204, 204) == (one.post({"id": 5}), other.post({"id": 6}))
    assert [("member-2", 2), ("member-1", 5), ("member-2", 6)] == shown(run_dir)


def test_a_question_of_the_harness_leaves_nothing_on_record(sink: Sink, run_dir: Path) -> None:
    assert 204 == sink.ask("member-1", patience_s=SOON_S).status
    assert ([], []) == (frames(run_dir), frames(run_dir, "unread"))


def test_a_program_that_is_killed_in_a_post_disturbs_no_one(sink: Sink, run_dir: Path) -> None:
    port = int(sink.url("x").split(":")[2].partition("/")[0])
    with closing(socket.create_connection((LOOPBACK, port), timeout=SOON_S)) as raw:
        raw.sendall(b'POST /member-1 HTTP/1.1\r\nContent-Length: 50\r\n\r\n{"id": 1')
    with closing(Poster(sink)) as poster:
        assert 204 == poster.post({"id": 2})
    sink.check()
    assert ("member-1", 2) in shown(run_dir)


def test_a_port_that_is_taken_is_said_with_its_last_words(
    run: str, run_dir: Path, ports: Ports
) -> None:
    with closing(socket.socket()) as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        sink = Sink(run, run_dir, taken.getsockname()[1], NAMING)
        with pytest.raises(VoidRun, match="Address already in use"):
            sink.start()
    sink.stop()


def test_nothing_is_left_when_the_harness_is_killed(run: str, run_dir: Path, ports: Ports) -> None:
    lines = f"""
import time
from pathlib import Path
from harness.run.named import Naming
from harness.run.sink import Sink
sink = Sink({run!r}, Path({str(run_dir)!r}), {ports.take()}, Naming((), 3))
sink.start()
print("started", flush=True)
time.sleep(600)
"""
    harness = subprocess.Popen([sys.executable, "-c", lines], stdout=subprocess.PIPE)
    assert harness.stdout is not None
    with harness.stdout:
        assert b"started\n" == harness.stdout.readline()
    assert 1 == len(processes.marked(run))
    os.kill(harness.pid, signal.SIGKILL)
    harness.wait()
    wait_until("end of the sink", lambda: not processes.marked(run), timeout_s=SOON_S)


def test_many_small_posts_of_several_connections_are_all_kept(sink: Sink, run_dir: Path) -> None:
    each, connections = 250, 4

    def post_all(number: int) -> None:
        with closing(Poster(sink, f"member-{number + 1}")) as poster:
            for n in range(each):
                assert 204 == poster.post({"id": number * each + n})

    threads = [threading.Thread(target=post_all, args=(n,)) for n in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert list(range(each * connections)) == sorted(n for _, n in shown(run_dir))


def test_a_sink_that_died_with_an_order_unread_is_ended_without_a_word(sink: Sink) -> None:
    assert sink._process is not None
    sink._process.kill()
    sink._process.wait(SOON_S)
    with pytest.raises(BrokenPipeError):
        sink.order(refuses=True)

    sink.stop()
