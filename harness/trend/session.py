"""The Spark that a trend is computed on: one JVM here, a cluster, or a Spark Connect server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from harness.errors import BadInput, SetupError

_PORT: Final = 15_002  # a Connect server's, where its address names none
_CONNECT_S: Final = 5


@contextmanager
def spark_at(master: str | None) -> Iterator[SparkSession]:
    """A session for as long as the body runs. `master` is null for one JVM on this machine, a
    standalone cluster's `spark://host:port`, or `sc://host:port` of a Connect server.

    Raises BadInput for another address, SetupError where nobody answers.
    """
    if master is None or master.startswith("spark://"):
        from harness.check import session
        from harness.provision.java import find_java
        from harness.provision.tools import resolve_spark_aot

        java = find_java()
        spark = session.start(java.binary, resolve_spark_aot(java), master=master)
        try:
            yield spark
        finally:
            session.stop(spark)
    elif master.startswith("sc://"):
        try:
            # Spark itself would go on asking for minutes.
            at = urlsplit(master)
            socket.create_connection((at.hostname or "", at.port or _PORT), _CONNECT_S).close()
            spark = SparkSession.builder.remote(master).getOrCreate()
        except Exception as error:
            [said, *_] = [*str(error).splitlines(), type(error).__name__]
            raise SetupError(
                f"no Spark Connect server answers at {master} ({said}): say --spark sc://HOST:PORT "
                "of one"
            ) from error
        try:
            yield spark
        finally:
            spark.stop()
    else:
        raise BadInput(
            f"--spark {master!r} is no address of a Spark: use spark://HOST:PORT or sc://HOST:PORT"
        )
