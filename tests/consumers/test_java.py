"""The adapter of Kafka's own client, with the real one but no broker, in processes of its own.

A process has one Java Virtual Machine at most, and it cannot be started twice: so what is tried
inside one runs in a program that prints what it saw.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from consumers.config import ConsumerConfig
from consumers.java_client import settings_of
from consumers.journal import read_journal, tail_journal
from harness.base.wait import wait_until
from harness.experiment import UNSET
from harness.provision.tools import resolve_tools
from tests.consumers.conftest import PASSED_ON

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def java_settings(consumer_settings: dict[str, Any]) -> dict[str, Any]:
    tools = resolve_tools()
    return {
        **consumer_settings,
        "client": "java",
        "java_home": str(tools.java.parent.parent),
        "class_path": tools.kafka_classpath,
    }


@pytest.mark.parametrize(
    ("protocol", "assignor", "strategy"),
    [
        ("eager", None, "RangeAssignor"),
        ("eager", "roundrobin", "RoundRobinAssignor"),
        ("cooperative", None, "CooperativeStickyAssignor"),
    ],
)
def test_a_classic_member_has_its_timers_and_its_assignor(
    java_settings: dict[str, Any], protocol: str, assignor: str | None, strategy: str
) -> None:
    config = ConsumerConfig.of({**java_settings, "protocol": protocol, "assignor": assignor})
    found = settings_of(config)
    assert f"org.apache.kafka.clients.consumer.{strategy}" == found["partition.assignment.strategy"]
    own = {"max.poll.records": 100, "fetch.max.wait.ms": 100, "enable.auto.commit": False}
    assert {**PASSED_ON, **own}.items() <= found.items()
    assert "group.protocol" not in found


def test_timers_of_the_consumer_protocol_are_left_to_the_broker(
    java_settings: dict[str, Any],
) -> None:
    config = ConsumerConfig.of({**java_settings, "protocol": "consumer", "assignor": "range"})
    found = settings_of(config)
    assert {"group.protocol": "consumer", "group.remote.assignor": "range"}.items() <= found.items()
    assert not {"session.timeout.ms", "heartbeat.interval.ms"} & set(found)


def test_settings_of_its_own_and_the_name_of_a_static_member_are_passed_on(
    java_settings: dict[str, Any],
) -> None:
    more = {"instance_id": "one", "settings": {"client.rack": "r"}, "commit": "auto"}
    found = settings_of(ConsumerConfig.of({**java_settings, **more}))
    assert {"group.instance.id": "one", "client.rack": "r"}.items() <= found.items()
    assert found["enable.auto.commit"] is True


def test_a_setting_that_is_unset_is_left_to_the_client(java_settings: dict[str, Any]) -> None:
    settings = {"session.timeout.ms": UNSET, "max.poll.records": UNSET, "client.rack": "r"}
    found = settings_of(ConsumerConfig.of({**java_settings, "settings": settings}))
    assert "r" == found["client.rack"]
    assert not set(found) & {"session.timeout.ms", "max.poll.records"}
    assert UNSET not in found.values()


def started(written: Callable[[object], Path], settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "consumers", "consumer", "--config", str(written(settings))],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_sigterm_ends_a_java_consumer_properly_and_sigint_does_nothing(
    java_settings: dict[str, Any], written: Callable[[object], Path]
) -> None:
    process = started(written, java_settings)
    journal = Path(java_settings["journal"])
    try:
        wait_until(
            "a started consumer",
            lambda: "started" in [frame["kind"] for frame in tail_journal(journal, 0)[0]],
            timeout_s=60,
        )
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        _, log = process.communicate()
    finally:
        process.kill()
    frames = {frame["kind"]: frame for frame in read_journal(journal).frames}
    assert "SIGTERM" == frames["closing"]["why"]
    assert ["header", "started", "closing", "closed"] == list(frames)
    assert "kafka-clients" in frames["started"]["versions"]
    assert "WARNING" not in log.decode()  # of Java, about native access or the like


def test_what_the_client_refuses_is_one_sentence(
    java_settings: dict[str, Any], written: Callable[[object], Path]
) -> None:
    java_settings["settings"] = {"max.poll.records": "0"}
    process = started(written, java_settings)
    _, heard = process.communicate(timeout=60)
    assert 4 == process.returncode
    sentence = heard.decode().strip().splitlines()[-1]
    assert sentence.startswith("the Java client refuses the configuration: ")
    assert "max.poll.records" in sentence


INSIDE = """
import json, sys
from collections.abc import Sequence
from consumers import java_client, jvm
from consumers.config import ConsumerConfig
from consumers.client import Position
from jpype import JClass

client = java_client.JavaClient(ConsumerConfig.of(json.loads(sys.argv[1])))
seen, failed = [], []

class Listener:
    def assigned(self, partitions): seen.append(["assigned", partitions])
    def revoked(self, partitions): seen.append(["revoked", partitions])
    def lost(self, partitions): raise ValueError("no")
    def committed(self, answers): seen.append(["committed", answers])
    def error(self, error): seen.append(["error", error])
    def callback_failed(self, where, error): failed.append([where, str(error)])

client.subscribe("t", Listener())
part = JClass("org.apache.kafka.common.TopicPartition")
record = JClass("org.apache.kafka.clients.consumer.ConsumerRecord")
lists, maps = JClass("java.util.ArrayList"), JClass("java.util.HashMap")

def polled(*offsets):
    found = lists()
    for offset in offsets:
        found.add(record("t", 3, offset, None, None))
    by_part = maps()
    by_part.put(part("t", 3), found)
    records = JClass("org.apache.kafka.clients.consumer.ConsumerRecords")(by_part, maps())
    return java_client._ranges(part("t", 3), records)

both = lists()
both.add(part("t", 1)); both.add(part("t", 0))
# As Java calls them: through the proxies.
consumer = "org.apache.kafka.clients.consumer."
listener = JClass(consumer + "ConsumerRebalanceListener") @ client._on_rebalance
callback = JClass(consumer + "OffsetCommitCallback") @ client._on_commit
listener.onPartitionsAssigned(both)
listener.onPartitionsLost(both)
offsets = maps()
offsets.put(part("t", 0), JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")(7))
callback.onComplete(offsets, None)
errors = "org.apache.kafka.common.errors."
callback.onComplete(offsets, JClass(errors + "RebalanceInProgressException")("busy"))
out = JClass("org.apache.kafka.clients.consumer.CommitFailedException")()
print(json.dumps({
    "seen": seen,
    "failed": failed,
    "plain": polled(5, 6, 7),
    "gaps": polled(5, 6, 9, 10, 12),
    "refused": jvm.code_of(out),
    "fenced": client._error(JClass(errors + "FencedInstanceIdException")("other")),
    "not yet": client._error(JClass(errors + "TimeoutException")("late")),
    "who": client.member(),
}))
"""


def test_records_callbacks_and_errors_come_in_the_harness_s_words(
    java_settings: dict[str, Any],
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INSIDE, json.dumps(java_settings)],
        cwd=REPOSITORY,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert 0 == done.returncode, done.stderr.decode()[-2_000:]
    found = json.loads(done.stdout)
    assert [["t", 3, 5, 7, 3]] == found["plain"]
    assert [["t", 3, 5, 6, 2], ["t", 3, 9, 10, 2], ["t", 3, 12, 12, 1]] == found["gaps"]
    assert [["lost", "no"]] == found["failed"]
    assert [
        ["assigned", [["t", 0], ["t", 1]]],
        ["committed", [["t", 0, 7, 0, None]]],
        ["committed", [["t", 0, 7, 27, "REBALANCE_IN_PROGRESS"]]],
    ] == found["seen"]
    assert [-1, "CommitFailedException"] == found["refused"]
    assert [82, "FENCED_INSTANCE_ID", "other", True] == found["fenced"]
    assert [7, "REQUEST_TIMED_OUT", "late", False] == found["not yet"]
    assert [None, None] == found["who"]
