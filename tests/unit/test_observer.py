"""What the observer makes of answers that are not what it asked for."""

from __future__ import annotations

import json
import socketserver
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness import wire
from harness.ports import LOOPBACK

_PATIENCE_S: Final = 30


@contextmanager
def answering(body: bytes) -> Iterator[int]:
    """A port on which every request is answered with the same body, whatever it asks."""

    class Answers(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            (length,) = struct.unpack(">i", self.rfile.read(4))
            correlation_id = self.rfile.read(length)[4:8]
            self.wfile.write(struct.pack(">i", 4 + len(body)) + correlation_id + body)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server((LOOPBACK, 0), Answers) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            serving.join()


def offset_fetch_answer(topics: list[list[tuple[int, int, int]]], error_code: int) -> bytes:
    """OffsetFetch v2: per topic t its partitions with position and error; the whole error."""
    body = struct.pack(">i", len(topics))
    for partitions in topics:
        body += struct.pack(">h1si", 1, b"t", len(partitions))
        for number, position, code in partitions:
            body += struct.pack(">iqhh", number, position, -1, code)
    return body + struct.pack(">h", error_code)


def committed(body: bytes) -> dict[int, int]:
    with answering(body) as port:
        return wire.committed(port, "orders", "t", [0, 1], timeout_s=_PATIENCE_S)


def test_positions_are_those_of_partitions_without_an_error() -> None:
    assert {0: 7} == committed(offset_fetch_answer([[(0, 7, 0), (1, 9, 3)]], 0))


def test_a_coordinator_that_refuses_the_group_names_no_topic() -> None:
    not_coordinator = 16
    assert {} == committed(offset_fetch_answer([], not_coordinator))


def test_an_observer_that_cannot_read_what_it_is_told_ends(tmp_path: Path) -> None:
    with answering(b"") as port:
        config = {
            "journal": str(tmp_path / "observer.journal"),
            "group": "orders",
            "topic": "t",
            "broker_ports": {"1": port},
        }
        (tmp_path / "observer.json").write_text(json.dumps(config))
        # Its standard input stays open: nobody tells it to end.
        with subprocess.Popen(
            [sys.executable, "-m", "harness.observer", str(tmp_path / "observer.json")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as observer:
            try:
                assert observer.wait(_PATIENCE_S) == 1
            finally:
                observer.kill()
            assert observer.stderr is not None
            assert observer.stderr.read().strip().endswith("cannot look any longer")
