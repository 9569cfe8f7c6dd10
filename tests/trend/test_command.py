"""`trend` as a person calls it, on a Spark cluster that runs in JVMs of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import pyarrow.parquet as pq
import pytest

from harness.trend import dataset
from tests.spark_servers import worked
from tests.trend.sample import write_series

LONGEST_S = 120
ROOT = Path(__file__).resolve().parents[2]


def trend(results: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", "trend", "--results", str(results), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Thirty nights; what R01 measures has moved half-way."""
    results = tmp_path / "results"
    up = [6_000.0 + number % 3 for number in range(15)] + [6_040.0 + n % 3 for n in range(15)]
    write_series(results / dataset.FOLDER, "R01", up, bound_high=6_050.0)
    write_series(results / dataset.FOLDER, "R14", up[:15] * 2, bound_high=6_050.0)
    return results


def both_find(results: Path, spark: str) -> list[dict[str, Any]]:
    """What is said and written here, and with `--spark` alike: the rows that were written."""
    here = trend(results)
    rows = pq.read_table(results / "trend" / "trend.parquet").to_pylist()
    there = trend(results, "--spark", spark)

    assert (1, 1) == (here.returncode, there.returncode), there.stderr
    assert "R01" in there.stdout
    assert here.stdout == there.stdout
    assert rows == pq.read_table(results / "trend" / "trend.parquet").to_pylist()
    return rows


@pytest.mark.spark
def test_a_connect_server_finds_what_one_machine_finds(results: Path, connect: str) -> None:
    assert both_find(results, connect)


@pytest.mark.spark
def test_a_cluster_finds_what_one_machine_finds(tmp_path: Path, results: Path, master: str) -> None:
    rows = both_find(results, master)
    assert [("R01", "worse"), ("R14", "steady")] == [(row["rule"], row["trend"]) for row in rows]
    # The work was done by executors in JVMs of the workers', not in the command's.
    assert any(worked(tmp_path))


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 5, "has no judged run: play some first"),
        (
            ("--spark", "yarn"),
            4,
            "is no address of a Spark: use spark://HOST:PORT or sc://HOST:PORT",
        ),
        (("--spark", "sc://127.0.0.1:9"), 3, "no Spark Connect server answers at sc://127.0.0.1:9"),
        (("--spark", "spark://127.0.0.1:9"), 3, "no Spark master answers at spark://127.0.0.1:9"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    if options:
        write_series(tmp_path / dataset.FOLDER, "R01", [1.0, 2.0])
    answer = trend(tmp_path, *options)

    assert code == answer.returncode
    assert said in answer.stderr
    assert 1 == len(answer.stderr.strip().splitlines())


@contextmanager
def silent() -> Iterator[int]:
    """A port where somebody listens, and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def http() -> Iterator[int]:
    """A port where a web server answers."""

    class Quiet(BaseHTTPRequestHandler):
        def log_message(self, *said: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def another_grpc() -> Iterator[int]:
    """A port where a gRPC server answers that is not Spark's."""
    with futures.ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield port
        finally:
            server.stop(None).wait()


@pytest.mark.parametrize(
    ("listens", "said"),
    [(silent, "Deadline Exceeded"), (http, "HTTP/2"), (another_grpc, "Method not found!")],
)
def test_what_listens_and_is_no_spark_is_one_sentence(
    tmp_path: Path, listens: Callable[[], AbstractContextManager[int]], said: str
) -> None:
    write_series(tmp_path / dataset.FOLDER, "R01", [1.0, 2.0])
    with listens() as port:
        answer = trend(tmp_path, "--spark", f"sc://127.0.0.1:{port}")

    assert 3 == answer.returncode
    assert f"no Spark Connect server answers at sc://127.0.0.1:{port} (" in answer.stderr
    assert said in answer.stderr
    assert 1 == len(answer.stderr.strip().splitlines())
