"""Trains the brokers' AOT cache: one node, a little real work, an orderly end.

Run by the environment's Python as `-m harness.bench.train_brokers JAVA VERSION KAFKA CLASSPATH
CHECKPOINT OUTPUT`. It is a process of its own so that a killed set-up leaves no broker behind: this
one goes on, ends the broker, and goes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.cluster.backend import LOGGING, properties_text
from harness.cluster.plan import Node, Plan, broker_settings, random_id, share_replicas
from harness.experiment import Cluster
from harness.provision.java import broker_options

TOPIC, RECORDS = "training", 600
_NODE: Final = "node"
START_TIMEOUT_S = 60
WORK_TIMEOUT_S = 30
STOP_TIMEOUT_S = 90  # the JVM writes the cache after Kafka has stopped


def main(args: list[str]) -> int:
    """Train, and return 0; what went wrong is on stderr, the node's own log among it."""
    address, (java, *options) = write_node(args)
    with node([java, f"-XX:AOTCacheOutput={args[-1]}", *options]):
        work(address, kafka=args[2])
    return 0


def write_node(args: list[str]) -> tuple[str, list[str]]:
    """Write a formatted cluster of one node; its address, and the command that starts it.

    `args` are those of the command line. The node is broker and controller at once, so that one JVM
    loads what both need; settings and logging are those of a run.
    """
    java, version, kafka, classpath, template, output = args
    folder = Path(output).parent / _NODE
    with Ports() as free:
        controller, direct, peers = (free.take() for _ in range(3))
    broker = Node(1, "broker", direct, peers)
    cluster = Cluster(brokers=1)
    settings = broker_settings(cluster)
    if not kafka.startswith("3."):
        settings |= share_replicas(cluster)
    nodes = (Node(1, "controller", controller), broker)
    plan = Plan("training", random_id(), nodes, (), 0, settings)
    data = folder / "data"
    properties = plan.properties(broker, data)
    properties["process.roles"] = "broker,controller"
    properties["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
    meta = {"version": "1", "cluster.id": plan.cluster_id, "node.id": "1"}
    meta["directory.id"] = random_id()
    shutil.copytree(template, data)
    (data / "meta.properties").write_text(properties_text(meta))
    (folder / "node.properties").write_text(properties_text(properties))
    options = [f"-Dharness.logs={folder / _NODE}", f"-Dlog4j2.configurationFile={LOGGING}"]
    options += [*plan.logging, "-cp", classpath, "kafka.Kafka", str(folder / "node.properties")]
    return plan.direct(), [java, *broker_options(version), *options]


@contextmanager
def node(command: list[str]) -> Iterator[None]:
    """A node for as long as the body runs, then ended in order, as a JVM writes its cache then."""
    process = subprocess.Popen(command)
    try:
        yield
        process.terminate()
        code = process.wait(STOP_TIMEOUT_S)
        if code not in (0, 143):  # 143: ended by the SIGTERM it was sent
            raise RuntimeError(f"the training node ended with {code}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def work(address: str, kafka: str) -> None:
    """What a run does, once: a topic, records, a group that reads, commits and leaves."""
    admin = make_topics(address, TOPIC)
    produce(address)
    for protocol in protocols("classic", kafka):
        consume(address, protocol)
    admin.list_consumer_groups().result(WORK_TIMEOUT_S)


def protocols(classic: str, kafka: str) -> tuple[str, ...]:
    """The protocols to train: Kafka 3 has a preview of KIP-848 that no client speaks."""
    return (classic,) if kafka.startswith("3.") else (classic, "consumer")


def make_topics(address: str, *topics: str) -> AdminClient:
    """Wait for the node, and create topics of six partitions."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    wait_until("answer of the training node", lambda: _is_up(admin), timeout_s=START_TIMEOUT_S)
    for made in admin.create_topics([NewTopic(topic, 6, 1) for topic in topics]).values():
        made.result(WORK_TIMEOUT_S)
    return admin


def _is_up(admin: AdminClient) -> bool:
    try:
        return len(admin.list_topics(timeout=1).brokers) == 1
    except KafkaException:
        return False


def produce(address: str) -> None:
    producer = Producer({"bootstrap.servers": address, "acks": "all", "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(TOPIC, b"x" * 100, partition=number % 6)
    if producer.flush(WORK_TIMEOUT_S):
        raise TimeoutError("the training node did not acknowledge all records")


def consume(address: str, protocol: str) -> None:
    """Read all records in a group of this protocol, committing each batch, then leave it."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"training-{protocol}",
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([TOPIC])
        seen: list[Message] = []

        def all_read() -> bool:
            batch = consumer.consume(500, 0.5)
            if batch:
                consumer.commit(asynchronous=False)
            seen.extend(batch)
            return len(seen) >= RECORDS

        wait_until(f"end of a {protocol} group", all_read, timeout_s=WORK_TIMEOUT_S)
    finally:
        consumer.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
