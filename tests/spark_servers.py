"""A Spark cluster and a Spark Connect server, in JVMs of their own, as `--spark` names them.

`tests/conftest.py` makes the fixtures known.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from harness.base import processes
from harness.base.wait import wait_until
from harness.cluster import ping
from harness.provision.java import find_java
from tests.free_ports import free_ports

WORKERS = 2
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@contextmanager
def jvm(log: Path, home: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Spark daemon for as long as the body runs."""
    environment = {"JAVA_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable}
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
    # With a mark, so that `clean` and every start end what killed tests have left.
    process = processes.spawn(
        [home / "bin" / "java", *options, "-cp", f"{jars}/*", *command],
        run="spark-of-tests",
        log=log,
        environment=environment,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="session")
def java_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Java that starts executors: Spark demands a module of it that small runtimes lack.

    It compiles as that of a session does (harness/tables/session.py), for these live as briefly.
    """
    home = tmp_path_factory.mktemp("java")
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/bash\n"
        "args=()\n"
        'for each in "$@"; do [[ $each == --add-modules=jdk.incubator.vector ]] || '
        'args+=("$each"); done\n'
        f'exec "{find_java().binary}" {" ".join(QUICK)} "${{args[@]}}"\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return home


@pytest.fixture
def master(tmp_path: Path, java_home: Path) -> Iterator[str]:
    """The address of a cluster of one master and two workers."""
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
        for number in range(1, WORKERS + 1):
            command = (f"{deploy}.worker.Worker", *own, "--cores", "1", "--memory", "1g")
            work = ("--work-dir", str(tmp_path / "work" / str(number)), "--webui-port", "0")
            worker_log = tmp_path / f"worker-{number}.log"
            daemons.enter_context(jvm(worker_log, java_home, *command, *work, address))
        wait_until(
            "workers at the Spark master",
            lambda: log.read_text().count("Registering worker") == WORKERS,
            timeout_s=60,
            saw=log.read_text,
        )
        yield address


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory, java_home: Path) -> Iterator[str]:
    """The address of a Spark Connect server, whose sessions know nothing of each other."""
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
    log = tmp_path_factory.mktemp("connect") / "connect.log"
    with jvm(log, java_home, *command, "spark-internal"):
        wait_until(
            "Spark Connect server",
            lambda: ping.ask(port, timeout_s=1).outcome != "refused",
            timeout_s=60,
            saw=log.read_text,
        )
        yield f"sc://127.0.0.1:{port}"


def worked(folder: Path) -> list[int]:
    """How many tasks each worker of the cluster `master` has finished; `folder` is its tmp_path."""
    return [
        sum(
            log.read_text().count("Finished task")
            for log in (folder / "work" / str(number)).glob("app-*/*/stderr")
        )
        for number in range(1, WORKERS + 1)
    ]
