"""The Spark that a trend is computed on: one JVM here, a cluster, or a Spark Connect server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from harness.errors import BadInput, SetupError


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
            spark = SparkSession.builder.remote(master).getOrCreate()
        except Exception as error:  # the library is not there, or nobody answers
            raise SetupError(f"no Spark Connect server answers at {master}: {error}") from error
        try:
            yield spark
        finally:
            spark.stop()
    else:
        raise BadInput(
            f"--spark {master!r} is no address of a Spark: use spark://HOST:PORT or sc://HOST:PORT"
        )
