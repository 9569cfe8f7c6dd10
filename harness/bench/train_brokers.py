"""Trains the brokers' AOT cache: one node, a little real work, an orderly end.

Run by the environment's Python as `-m harness.bench.train_brokers JAVA VERSION KAFKA CLASSPATH
CHECKPOINT OUTPUT`. It is a process of its own so that a killed set-up leaves no broker behind: this
one goes on, ends the broker, and goes.
"""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from harness.provision.jvm import broker_options

TOPIC, RECORDS = "training", 600
START_TIMEOUT_S = 60
WORK_TIMEOUT_S = 30
STOP_TIMEOUT_S = 90  # the JVM writes the cache after Kafka has stopped

NODE_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=CONTROLLER://127.0.0.1:{controller},DIRECT://127.0.0.1:{direct}
advertised.listeners=DIRECT://127.0.0.1:{direct}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,DIRECT:PLAINTEXT
inter.broker.listener.name=DIRECT
offsets.topic.num.partitions=5
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=100
auto.create.topics.enable=false
log.dirs={data}
"""

# Logging is set up as in a run (two files, the request logger open), so that what the JVM loads
# for it is in the cache too.
LOGGING = """<Configuration status="warn"><Appenders>
<RollingFile name="server" fileName="{folder}/server.log" filePattern="{folder}/server.log.%i">
<PatternLayout pattern="%d{{yyyy-MM-dd'T'HH:mm:ss.nnnnnn'Z'}}{{UTC}} %p %c{{1}} %m%n"/>
<SizeBasedTriggeringPolicy size="1 TB"/><DefaultRolloverStrategy fileIndex="nomax"/>
</RollingFile>
<RollingFile name="requests" fileName="{folder}/requests.log"
 filePattern="{folder}/requests.log.%i">
<RegexFilter regex=".*(JOIN_GROUP|HEARTBEAT).*" onMatch="ACCEPT" onMismatch="DENY"/>
<PatternLayout pattern="%d{{yyyy-MM-dd'T'HH:mm:ss.nnnnnn'Z'}}{{UTC}} %p %m%n"/>
<SizeBasedTriggeringPolicy size="1 TB"/><DefaultRolloverStrategy fileIndex="nomax"/>
</RollingFile>
</Appenders><Loggers><Root level="info"><AppenderRef ref="server"/></Root>
<Logger name="kafka.request.logger" level="debug" additivity="false">
<AppenderRef ref="requests"/></Logger></Loggers></Configuration>
"""


def main(args: list[str]) -> int:
    """Train, and return 0; what went wrong is on stderr, the node's own log among it."""
    java, version, kafka, classpath, template, output = args
    folder = Path(output).parent / "node"
    address = write_node(folder, Path(template))
    options = [*broker_options(version), f"-XX:AOTCacheOutput={output}"]
    options.append(f"-Dlog4j2.configurationFile={folder / 'log4j2.xml'}")
    command = [java, *options, "-cp", classpath, "kafka.Kafka", str(folder / "node.properties")]
    with node(command):
        work(address, kafka)
    return 0


def write_node(folder: Path, template: Path) -> str:
    """Write a formatted one-node cluster into `folder`; the address clients reach it at."""
    data = folder / "data"
    shutil.copytree(template, data)
    meta = f"version=1\ncluster.id={_identity()}\ndirectory.id={_identity()}\nnode.id=1\n"
    (data / "meta.properties").write_text(meta, encoding="utf-8")
    controller, direct = free_ports(2)
    properties = NODE_PROPERTIES.format(controller=controller, direct=direct, data=data)
    (folder / "node.properties").write_text(properties, encoding="utf-8")
    (folder / "log4j2.xml").write_text(LOGGING.format(folder=folder), encoding="utf-8")
    return f"127.0.0.1:{direct}"


def _identity() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def free_ports(count: int) -> list[int]:
    """Loopback ports nobody listens on; all differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


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
    until(lambda: _is_up(admin), START_TIMEOUT_S, "the training node to serve")
    for made in admin.create_topics([NewTopic(topic, 6, 1) for topic in topics]).values():
        made.result(WORK_TIMEOUT_S)
    return admin


def _is_up(admin: AdminClient) -> bool:
    try:
        return len(admin.list_topics(timeout=1).brokers) == 1
    except KafkaException:
        return False


def until(condition: Callable[[], bool], timeout_s: float, what: str) -> None:
    """Try `condition` until it holds; TimeoutError names `what` was waited for."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {timeout_s} s for {what}")


def produce(address: str) -> None:
    """Send RECORDS records, all acknowledged."""
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

        until(all_read, WORK_TIMEOUT_S, f"a {protocol} group to read {RECORDS} records")
    finally:
        consumer.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
