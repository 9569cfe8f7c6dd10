"""The Spark that does the work: one JVM here, a cluster, or a Spark Connect server."""

import logging
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from harness.base.errors import BadInput, SetupError

_ANSWER_S: Final = 10
# What queries mean depends on these, and a server has its own.
_OURS: Final = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}
# As many partitions as a stage turns out to need: here two are as many as there are cores.
_OF_A_CLUSTER: Final = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
}


@contextmanager
def spark_at(master: str | None) -> Iterator[SparkSession]:
    """A session for as long as the body runs. `master` is null for one JVM on this machine, a
    standalone cluster's `spark://host:port`, or `sc://host:port` of a Connect server.

    Raises BadInput for another address, SetupError for one that does not answer.
    """
    logging.getLogger().addFilter(_is_news)  # once, however often it is added
    if master is None or master.startswith("spark://"):
        from harness.provision import aot, kafka
        from harness.provision.java import find_java
        from harness.tables import session

        java = find_java()
        cache = aot.made(aot.SPARK, kafka.DEFAULT_VERSION, java)
        spark = session.start(java.binary, cache, master=master)
        if master is not None:
            _set(spark, _OF_A_CLUSTER)
        try:
            yield spark
        finally:
            session.stop(spark)
    elif master.startswith("sc://"):
        try:
            _ask(master)
            spark = SparkSession.builder.remote(master).getOrCreate()
        except Exception as error:
            # What gRPC raises has many lines, and what happened in its details.
            details = error.details() if hasattr(error, "details") else error
            [said, *_] = [*str(details).splitlines(), type(error).__name__]
            raise SetupError(
                f"no Spark Connect server answers at {master} ({said}): say --spark sc://HOST:PORT "
                "of one"
            ) from error
        _set(spark, _OF_A_CLUSTER | _OURS)
        try:
            yield spark
        finally:
            spark.stop()
    else:
        raise BadInput(
            f"--spark {master!r} is no address of a Spark: use spark://HOST:PORT or sc://HOST:PORT"
        )


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line for the root logger says something new.

    The bridge to Spark logs Ctrl-C and the end of the JVM there, and raises them as well.
    """
    return " while sending command" not in record.getMessage()


def _set(spark: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value)


def _ask(master: str) -> None:
    """Ask a Connect server for what changes nothing there: the end of an unknown session.

    Spark itself would go on asking for minutes, of whatever listens there. Raises what gRPC raises
    where no such server answers within 10 s, and what Spark raises for an address of another form.
    """
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.proto import ReleaseSessionRequest, SparkConnectServiceStub

    request = ReleaseSessionRequest(session_id=str(uuid.uuid4()))
    server = DefaultChannelBuilder(master)
    with server.toChannel() as channel:
        stub = SparkConnectServiceStub(channel)  # type: ignore[no-untyped-call]
        stub.ReleaseSession(request, timeout=_ANSWER_S, metadata=list(server.metadata()))
