"""The sink: a program under test posts to it what it has processed.

A process of its own, so that answering costs the harness no time; it ends when its standard input
is closed, and it carries the run's mark. A post is answered once the record is in the sink's
journal, so what was acknowledged is never lost. Orders are lines of JSON on standard input:

    {"member": "member-2", "delay_ms": 2000, "refuses": false}       (member null: all of them)

    python -m harness.run.sink_server CONFIG.json
"""

import json
import os
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from consumers.journal import Journal, JournalError
from harness.base.ports import LOOPBACK
from harness.experiment.app import NUMBER_HEADER
from harness.run.named import Naming, Unnamed, runs

LISTENS: Final = "listens"  # the line that it prints once it does
_LONGEST_BODY: Final = 8 * 1024 * 1024
_MEMBER: Final = re.compile(r"/(member-\d+)(?:/[^?]*)?(?:\?(.*))?")


@dataclass(frozen=True)
class Mood:
    """How posts are answered: so late, and 503 instead of being taken."""

    delay_ms: float = 0
    refuses: bool = False


AT_ONCE: Final = Mood()


@dataclass
class PostTaker:
    journal: Journal
    naming: Naming
    moods: dict[str | None, Mood] = field(default_factory=dict)  # by process; null: of all others
    changed: threading.Condition = field(default_factory=threading.Condition)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def take(self, member: str, header: str | None, query: str, body: str) -> None:
        """Put on record what a post says. Raises Unnamed where it names no record."""
        try:
            ranges = runs(self.naming.in_post(header, query, body))
        except Unnamed as found:
            self._write("unread", program=member, count=1, text=str(found))
            raise
        self._write("shown", program=member, shown_by="http", ranges=ranges)

    def _write(self, kind: str, **frame: Any) -> None:
        with self._writing:  # `seen` in the order of the frames
            self.journal.write(kind, **frame, seen=time.time_ns() // 1_000)

    def end(self) -> None:
        self._write("closed")

    def mood_of(self, member: str) -> Mood:
        with self.changed:
            return self.moods.get(member, self.moods.get(None, AT_ONCE))

    def order(self, member: str | None, mood: Mood) -> None:
        """Answer a process so from now on, or all of them; posts that wait for an answer too."""
        with self.changed:
            if member is None:
                self.moods.clear()
            self.moods[member] = mood
            self.changed.notify_all()

    def wait(self, member: str) -> None:
        """Return when an answer is due, which may be earlier than it was when this began."""
        began = time.monotonic()
        with self.changed:
            while True:
                mood = self.moods.get(member, self.moods.get(None, AT_ONCE))
                left_s = began + mood.delay_ms / 1_000 - time.monotonic()
                if left_s <= 0:
                    return
                self.changed.wait(left_s)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open
    disable_nagle_algorithm = True
    sink: PostTaker  # of the class that is made for one

    def do_POST(self) -> None:
        """Put on record what comes, but for a GET, and answer in the mood of now."""
        found = _MEMBER.fullmatch(self.path)
        body = self._body()
        if body is None:
            return
        if found is None:
            self._say(
                HTTPStatus.NOT_FOUND,
                f"{self.path} names no process: use KAFKA_CHAOS_SINK as it is given",
            )
            return
        member, query = found[1], found[2] or ""
        if self.sink.mood_of(member).refuses:
            self.sink.wait(member)
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, "out of order, as a fault has it")
            return
        try:
            if self.command != "GET":
                header = self.headers.get(NUMBER_HEADER)
                self.sink.take(member, header, query, body.decode(errors="replace"))
        except Unnamed as unnamed:
            self._say(HTTPStatus.BAD_REQUEST, f"no record is named in {unnamed}")
            return
        self.sink.wait(member)
        self._say(HTTPStatus.NO_CONTENT)

    do_PUT = do_GET = do_POST  # noqa: N815 (names by which they are called)

    def _body(self) -> bytes | None:
        """What was sent; null where it cannot be read, and that has been answered."""
        try:
            if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
                return self._chunks()
            length = int(self.headers.get("Content-Length") or 0)
            if not 0 <= length <= _LONGEST_BODY:
                raise ValueError
        except ValueError:
            self.close_connection = True
            self._say(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"no length of a body, or more than {_LONGEST_BODY} bytes",
            )
            return None
        return self.rfile.read(length)

    def _chunks(self) -> bytes:
        """A body in chunks. Raises ValueError where it is none, or too long."""
        body = b""
        while size := int(self.rfile.readline(1_000).partition(b";")[0], 16):
            if size < 0 or len(body) + size > _LONGEST_BODY:
                raise ValueError
            body += self.rfile.read(size)
            self.rfile.readline(10)
        while self.rfile.readline(10_000).strip():
            pass  # trailers
        return body

    def _say(self, status: HTTPStatus, text: str = "") -> None:
        self.send_response(status)
        if status is not HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(text.encode())))
            self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.end_headers()
        if text:
            self.wfile.write(text.encode())

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (its name)
        """Nothing: the journal has it."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a program may open many connections at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A program that is killed leaves its connections as they are; other errors are logged.

        A sink that can keep nothing more ends: the harness sees that.
        """
        error = sys.exc_info()[1]
        if isinstance(error, JournalError):
            _print(str(error))
            os._exit(error.exit_code)
        if not isinstance(error, ConnectionError):
            super().handle_error(request, client_address)


def serve(sink: PostTaker, port: int) -> _Server:
    """A sink that listens on loopback. Raises OSError where the port is taken."""
    handler = type("Handler", (_Handler,), {"sink": sink})
    server = _Server((LOOPBACK, port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main(config_path: str) -> None:
    config = json.loads(Path(config_path).read_text())
    sink = PostTaker(Journal(config["journal"], member="sink"), Naming(**config["naming"]))
    serve(sink, config["port"])
    _print(LISTENS)
    for line in sys.stdin:
        order = json.loads(line)
        sink.order(order["member"], Mood(order["delay_ms"], order["refuses"]))
    sink.end()


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
