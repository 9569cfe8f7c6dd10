"""Trains the Java client's AOT cache: the real adapter against one node, then an orderly end.

Run by the environment's Python as `-m harness.bench.train_client JAVA VERSION KAFKA CLASSPATH
CHECKPOINT OUTPUT`. The machine of the client is in this process, started as that of a member is,
because a cache fits only the options and the class path that it was trained with.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import jpype

from consumers.client import Answer, ClientError, Partition, Position
from consumers.config import ConsumerConfig
from consumers.java_client import JavaClient, transactions
from harness.base.wait import wait_until
from harness.bench import train_brokers

_COPY = "training-copy"


class _Quiet:
    """A listener for which every error is a failure of the training."""

    def assigned(self, partitions: Sequence[Partition]) -> None:
        """Nothing to do."""

    revoked = lost = assigned

    def committed(self, answers: Sequence[Answer]) -> None:
        """Nothing to do."""

    def error(self, error: ClientError) -> None:
        raise RuntimeError(f"the client in training reports {error}")

    def callback_failed(self, where: str, error: Exception) -> None:
        raise RuntimeError(f"{where} failed in training: {error}") from error


def main(args: list[str]) -> int:
    """Train, and return 0; what went wrong is on stderr, the node's own log among it."""
    java, _, kafka, classpath, _, output = args
    address, command = train_brokers.write_node(args)
    with train_brokers.node(command):
        train_brokers.make_topics(address, train_brokers.TOPIC, _COPY)
        train_brokers.produce(address)
        for protocol in train_brokers.protocols("cooperative", kafka):
            consume(
                ConsumerConfig(
                    role="consumer",
                    run="training",
                    member=f"training-{protocol}",
                    group=f"training-{protocol}",
                    topic=train_brokers.TOPIC,
                    bootstrap=address,
                    journal="",
                    client="java",
                    protocol=protocol,
                    session_timeout_ms=10_000,
                    heartbeat_interval_ms=500,
                    max_poll_interval_ms=60_000,
                    commit="transaction",
                    auto_commit_interval_ms=5_000,
                    batch_records=100,
                    process_us=0,
                    output=_COPY,
                    java_home=str(Path(java).parent.parent),
                    class_path=classpath,
                    jvm_options=[f"-XX:AOTCacheOutput={output}"],
                )
            )
        jpype.shutdownJVM()  # writes the cache
    return 0


def consume(config: ConsumerConfig) -> None:
    """Read all records, copying and committing each batch, then leave the group."""
    client = JavaClient(config)
    copy = transactions(config).copy
    client.subscribe(config.topic, _Quiet())
    seen = 0

    def all_read() -> bool:
        nonlocal seen
        ranges = client.poll_batch(config.batch_records, 0.5).ranges
        if ranges:
            positions = [Position(each.topic, each.partition, each.last + 1) for each in ranges]
            client.commit(positions, wait=False)
            refused = [
                each for each in client.commit(positions, wait=True) or () if each.error_code
            ]
            answers, error = copy(ranges, positions, client.group_metadata(), lambda: None)
            if error or refused or any(answer.error_code for answer in answers):
                raise RuntimeError(f"a commit was refused in training: {refused or answers}")
        seen += sum(each.records for each in ranges)
        return seen >= train_brokers.RECORDS

    wait_until(
        f"end of a {config.protocol} member", all_read, timeout_s=train_brokers.WORK_TIMEOUT_S
    )
    client.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
