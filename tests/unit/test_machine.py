"""The engine that the tests of containers bring: whatever ends its command ends it as well."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, UnixStreamServer
from typing import Final

import psutil
import pytest

from harness.base.paths import ROOT
from harness.base.wait import wait_until
from tests.machine import engine

pytestmark = pytest.mark.skipif(not psutil.LINUX, reason="the engine is Linux's")

SOON_S: Final = 20.0
# It answers as an engine does, and ends at a SIGTERM as one does.
DOCKERD: Final = f"""#!{sys.executable}
import socketserver, sys
class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        asked = self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        body = b"OK" if b"_ping" in asked else b'{{"ApiVersion": "1.44"}}'
        head = f"HTTP/1.1 200 OK\\r\\nContent-Length: {{len(body)}}\\r\\nConnection: close"
        self.wfile.write(head.encode() + b"\\r\\n\\r\\n" + body)
host = sys.argv[sys.argv.index("--host") + 1].removeprefix("unix://")
with socketserver.UnixStreamServer(host, Answer) as server:
    server.serve_forever()
"""
# As `python -m tests.machine run sleep 60`, with nothing to be fetched or built.
WRAPPER: Final = """
import sys
from tests.machine import __main__, browser, engine
browser.lacking = lambda: ()
engine._compose = lambda: ""
engine.images = lambda address: {}
sys.exit(__main__.main(["run", "sh", "-c", "echo $DOCKER_HOST; exec sleep 60"]))
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a command that brings an engine; all of both is ended."""
    # A socket's path has 107 characters at most, and those of pytest's workers are long.
    programs, temporary = tmp_path / "bin", Path(tempfile.mkdtemp(prefix="kc-"))
    (tmp_path / "tmp").symlink_to(temporary)
    programs.mkdir()
    (programs / "dockerd").write_text(DOCKERD)
    (programs / "dockerd").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KAFKA_CHAOS_CACHE": str(tmp_path / "cache"),
        "DOCKER_HOST": f"unix://{tmp_path}/none.sock",
        "TMPDIR": str(temporary),
    }
    started: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRAPPER]
        wrapper = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        started.append(wrapper)
        assert wrapper.stdout is not None
        assert wrapper.stdout.readline().startswith(f"unix://{temporary}/kafka-chaos-engine-")
        return wrapper

    yield begin
    for wrapper in started:
        wrapper.kill()
        with wrapper:
            wrapper.wait()
    for process in engines(tmp_path):
        process.kill()
    shutil.rmtree(temporary, ignore_errors=True)


def engines(tmp_path: Path) -> list[psutil.Process]:
    data = str(tmp_path / "cache" / "docker-engine" / "data")
    return [
        each
        for each in psutil.process_iter(["cmdline"])
        if data in (each.info["cmdline"] or ()) and each.is_running()
    ]


def folders(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "tmp").iterdir()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_command_ends_its_engine(
    start: Callable[[], subprocess.Popen[str]], tmp_path: Path, number: int
) -> None:
    wrapper = start()
    assert 1 == len(engines(tmp_path))

    wrapper.send_signal(number)

    assert 2 == wrapper.wait(timeout=SOON_S)
    assert [] == engines(tmp_path)
    assert [] == folders(tmp_path)


def test_the_engine_of_a_killed_command_ends_and_the_next_one_removes_its_folder(
    start: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    wrapper = start()
    wrapper.kill()
    wrapper.wait()

    wait_until("end of the engine", lambda: not engines(tmp_path), timeout_s=SOON_S)
    [left] = folders(tmp_path)
    start()
    [used] = folders(tmp_path)
    assert left != used


def test_an_engine_without_a_command_is_known_by_its_data(tmp_path: Path) -> None:
    named = ["dockerd", "-c", "import time; time.sleep(60)", str(tmp_path / "data")]
    with (
        subprocess.Popen(named, executable=sys.executable) as left,
        subprocess.Popen([*named[:3], str(tmp_path)], executable=sys.executable) as others,
    ):
        engine.end_left(tmp_path / "data")

        assert left.poll() is not None
        assert others.poll() is None
        others.kill()


class _Reset(StreamRequestHandler):
    def handle(self) -> None:
        """Close without a word."""


def test_an_engine_that_resets_connections_or_has_no_socket_does_not_answer(tmp_path: Path) -> None:
    assert not engine.answers(f"unix://{tmp_path}/none")
    with UnixStreamServer(str(tmp_path / "sock"), _Reset) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        assert not engine.answers(f"unix://{tmp_path}/sock")
        server.shutdown()
