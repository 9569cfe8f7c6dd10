"""The Spark session of `check`: one JVM on this machine, started by hand.

Spark's launcher scripts demand the module jdk.incubator.vector, which small Java runtimes lack, so
the gateway JVM is started here. It dies with this process (it reads a pipe that this process holds
open), never gets the terminal's Ctrl-C, and talks to a file, never to the terminal.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import pyspark
from pyspark.sql import SparkSession

from harness.base import processes
from harness.base.errors import SetupError
from harness.base.ports import LOOPBACK
from harness.base.priority import SHARES
from harness.tables.engines.spark import SETTINGS

# A night judges on an idle processor alone (SCHED_IDLE). Where 40 processes waited for two
# processors, eight starts in a row took more than two minutes.
START_TIMEOUT_S: Final = 900
_CONNECT_S: Final = 5
# What Spark reaches into (org.apache.spark.launcher.JavaModuleOptions), less the vector module.
_OPENED: Final = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_JVM: Final = ("-Xms512m", "-Xmx1536m", "-Xss4m", "-XX:+UseSerialGC")
# The quick compiler only: the thorough one costs a judgement by Spark's queries more than it gains
# (measured for 10^7 records: 57 s of processor time instead of 42), but for many of them.
_QUICKLY: Final = "-XX:TieredStopAtLevel=1"
_LOG4J: Final = """rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{ISO8601}{UTC} %p %c{1}: %m%n
"""


def start(
    tools_java: Path,
    spark_aot: Path | None,
    log: Path | None = None,
    aot_output: Path | None = None,
    master: str | None = None,
    *,
    for_many: bool = False,
) -> SparkSession:
    """A Spark session on this machine, in a JVM of its own that ends with this process.

    `log` gets what the JVM says (a temporary file if null); `aot_output` has the JVM write an AOT
    cache when it ends. The work is done in that JVM too, or by the cluster that `master` names.
    A session `for_many` queries makes the later ones quicker and the first ones slower.
    Raises SetupError where the JVM does not come up, or nobody answers at `master`.
    """
    address = _address_towards(master) if master else LOOPBACK
    scratch = processes.scratch_folder("spark")
    log = log or scratch / "spark.log"
    info = scratch / "gateway"
    (scratch / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
    command = _command(tools_java, spark_aot, aot_output, scratch, master, address)
    if not for_many:
        command.insert(1, _QUICKLY)
    process = _launch(command, info, log, address)
    port, secret = _await_gateway(process, info, log)
    with _environment(
        PYSPARK_GATEWAY_PORT=str(port),
        PYSPARK_GATEWAY_SECRET=secret,
        PYSPARK_PYTHON=sys.executable,
    ):
        spark = SparkSession.builder.getOrCreate()
    # A JVM that dies is an error where its answer is awaited, not a traceback of this server too.
    cast(Any, spark.sparkContext)._accumulatorServer.handle_error = lambda *_: None
    _JVMS[id(spark)] = (process, scratch)
    return spark


# The JVM and the scratch folder of each session, for `stop`.
_JVMS: Final[dict[int, tuple[subprocess.Popen[bytes], Path]]] = {}


def stop(spark: SparkSession) -> None:
    """End the session and its JVM, and wait until the JVM is gone."""
    process, scratch = _JVMS.pop(id(spark))
    gateway = spark.sparkContext._gateway
    spark.stop()
    if gateway is not None:
        gateway.shutdown()
    pyspark.SparkContext._gateway = None
    pyspark.SparkContext._jvm = None
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(START_TIMEOUT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(scratch, ignore_errors=True)


def lives(spark: SparkSession) -> bool:
    """Whether this is a session that `start` made, and its JVM still answers."""
    if id(spark) not in _JVMS:
        return False
    try:  # a killed process is gone some time after it answers no more
        cast(Any, spark)._jvm.System.currentTimeMillis()
    except Exception:  # noqa: BLE001 (whatever it is, this is no answer)
        return False
    return True


def process_of(spark: SparkSession) -> subprocess.Popen[bytes]:
    """The JVM of a session that `start` made."""
    return _JVMS[id(spark)][0]


def _command(
    java: Path,
    spark_aot: Path | None,
    aot_output: Path | None,
    scratch: Path,
    master: str | None,
    address: str,
) -> list[str]:
    home = Path(pyspark.__file__).parent
    command = [str(java), *_JVM]
    command += [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    command += [
        "-XX:+IgnoreUnrecognizedVMOptions",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Duser.timezone=UTC",
        f"-Dlog4j2.configurationFile={scratch / 'log4j2.properties'}",
        f"-Dderby.system.home={scratch}",
    ]
    if spark_aot is not None:
        command.append(f"-XX:AOTCache={spark_aot}")
    if aot_output is not None:
        command.append(f"-XX:AOTCacheOutput={aot_output}")
    settings = {
        **SETTINGS,
        **({"spark.master": master} if master else {}),
        "spark.driver.host": address,
        "spark.driver.bindAddress": address,
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    command += ["-cp", f"{home / 'jars'}/*", "org.apache.spark.deploy.SparkSubmit"]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    return [*command, "pyspark-shell"]


def _address_towards(master: str) -> str:
    """This machine's address by which the executors of a `spark://HOST:PORT` reach it."""
    first = master.removeprefix("spark://").partition(",")[0]
    host, _, port = first.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_CONNECT_S) as link:
            return str(link.getsockname()[0])
    except (OSError, ValueError) as error:
        raise SetupError(
            f"no Spark master answers at {master} ({error}): say --spark spark://HOST:PORT of one"
        ) from error


def _launch(command: list[str], info: Path, log: Path, address: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": address,
        "SPARK_CONNECT_MODE": "0",
    }
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # never written to: its end tells the JVM to go
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise SetupError(
                f"Spark cannot be started: {command[0]} does not run ({error.strerror}); "
                "run `make setup`"
            ) from error
    SHARES.started(process.pid)
    return process


def _await_gateway(process: subprocess.Popen[bytes], info: Path, log: Path) -> tuple[int, str]:
    end = time.monotonic() + START_TIMEOUT_S
    while not info.exists():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
            lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
            said = next((line for line in reversed(lines) if line.strip()), "it said nothing")
            within = "" if time.monotonic() < end else f" within {START_TIMEOUT_S} s"
            raise SetupError(f"Spark did not start{within}: {said} (whole output in {log})")
        time.sleep(0.02)
    return _connection(info.read_bytes())


def _connection(content: bytes) -> tuple[int, str]:
    """Port and secret, as Spark's gateway writes them: an integer, then a text with its length."""
    port, length = struct.unpack_from(">ii", content)
    return port, content[8 : 8 + length].decode()


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
