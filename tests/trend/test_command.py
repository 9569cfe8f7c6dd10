"""`trend` as a person calls it, on a Spark cluster that runs in JVMs of its own."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import pyarrow.parquet as pq
import pyspark
import pytest

from harness.base.wait import wait_until
from harness.bench.train_brokers import free_ports
from harness.cluster import ping
from harness.provision.java import find_java
from harness.trend import dataset
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


@contextmanager
def jvm(log: Path, home: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Spark daemon for as long as the body runs."""
    environment = {**os.environ, "JAVA_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    # What a distribution of Spark finds in its own folders.
    environment |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_SCALA_VERSION": "2.13"}
    jars = Path(pyspark.__file__).parent / "jars"
    opened = (
        "java.base/java.lang",
        "java.base/java.nio",
        "java.base/sun.nio.ch",
        "java.base/java.util",
    )
    options = ["-Xmx512m", *(f"--add-opens={each}=ALL-UNNAMED" for each in opened)]
    options += [  # for Arrow and Netty in Java 25
        "-XX:+IgnoreUnrecognizedVMOptions",
        "--sun-misc-unsafe-memory-access=allow",
        "-Dio.netty.tryReflectionSetAccessible=true",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [home / "bin" / "java", *options, "-cp", f"{jars}/*", *command],
            stdout=output,
            stderr=output,
            env=environment,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    """A Java that starts executors: Spark demands a module of it that small runtimes lack."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/bash\n"
        "args=()\n"
        'for each in "$@"; do [[ $each == --add-modules=jdk.incubator.vector ]] || '
        'args+=("$each"); done\n'
        f'exec "{find_java().binary}" "${{args[@]}}"\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return tmp_path / "java"


@pytest.fixture
def master(tmp_path: Path, java_home: Path) -> Iterator[str]:
    """The address of a cluster of one master and one worker."""
    port, web = free_ports(2)
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    own = ("--host", "127.0.0.1")
    with ExitStack() as daemons:
        log = tmp_path / "master.log"
        command = (f"{deploy}.master.Master", *own, "--port", str(port), "--webui-port", str(web))
        daemons.enter_context(jvm(log, java_home, *command))
        wait_until(
            "Spark master",
            lambda: ping.ask(port, timeout_s=1).outcome != "refused",
            timeout_s=60,
            saw=log.read_text,
        )
        command = (f"{deploy}.worker.Worker", *own, "--cores", "2", "--memory", "1g")
        work = ("--work-dir", str(tmp_path / "work"), "--webui-port", "0", address)
        daemons.enter_context(jvm(tmp_path / "worker.log", java_home, *command, *work))
        wait_until(
            "worker at the Spark master",
            lambda: "Registering worker" in log.read_text(),
            timeout_s=60,
            saw=log.read_text,
        )
        yield address


@pytest.fixture
def connect(tmp_path: Path, java_home: Path) -> Iterator[str]:
    """The address of a Spark Connect server."""
    [port] = free_ports(1)
    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    command = ["org.apache.spark.deploy.SparkSubmit"]
    command += [f"--conf={name}={value}" for name, value in settings.items()]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    log = tmp_path / "connect.log"
    with jvm(log, java_home, *command, "spark-internal"):
        wait_until(
            "Spark Connect server",
            lambda: ping.ask(port, timeout_s=1).outcome != "refused",
            timeout_s=60,
            saw=log.read_text,
        )
        yield f"sc://127.0.0.1:{port}"


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
    # The work was done by an executor in a JVM of the worker's, not in the command's.
    executors = list((tmp_path / "work").glob("app-*/*/stderr"))
    assert any("Finished task" in each.read_text() for each in executors), executors


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
