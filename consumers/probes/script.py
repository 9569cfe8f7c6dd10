"""What a probe's script asks with: every question, its answer and the group's state are recorded.

Many questions may be open at once, because a coordinator parks some; a script may also play
several scenes at once, each on a group of its own.

Kafka's own message classes speak the protocol, JSON objects in, JSON objects out. A request is a
dict with Kafka's field names; what it leaves out at the top level has Kafka's default. Bytes are
base64 in it, as they are in the brokers' request log. Only the classes that generate and parse
messages are used, which are alike in Kafka 3.9 to 4.3.
"""

import json
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import jpype

from consumers import jvm
from consumers.config import ProbeConfig, proven_by
from consumers.journal import Journal
from consumers.probes.admission import Admission
from harness.base.codec import answer_on
from harness.base.credentials import Credentials
from harness.base.errors import ClusterError
from harness.base.wait import wait_until

Scene = Callable[["Script"], None]

# Longer than any rebalance timeout of a script: a parked question is not given up before.
PATIENCE_S: Final = 45.0
GROUP_ID_NOT_FOUND: Final = 69
# Of a question, as they are.
_RECORDED: Final = ("step", "rule", "api", "group", "member_id", "instance_id", "generation")
Body = dict[str, Any]

# The newest version of each call that names topics by name (ids came later) and that both
# coordinators, the old and the new, answer; of CONSUMER_GROUP_DESCRIBE the new one alone.
_BY_VERSION: Final = {
    0: ("ALTER_PARTITION_REASSIGNMENTS", "CONSUMER_GROUP_DESCRIBE", "OFFSET_DELETE"),
    2: ("DELETE_GROUPS", "ELECT_LEADERS"),
    3: ("ADD_OFFSETS_TO_TXN", "CREATE_PARTITIONS", "END_TXN", "TXN_OFFSET_COMMIT"),
    4: (
        "FIND_COORDINATOR",
        "HEARTBEAT",
        "INIT_PRODUCER_ID",
        "LIST_GROUPS",
        "OFFSET_FOR_LEADER_EPOCH",
    ),
    5: ("DESCRIBE_GROUPS", "LEAVE_GROUP", "SYNC_GROUP"),
    7: ("CREATE_TOPICS", "LIST_OFFSETS"),
    8: ("OFFSET_COMMIT", "OFFSET_FETCH"),
    9: ("JOIN_GROUP", "METADATA"),
}
VERSIONS: Final = {api: version for version, apis in _BY_VERSION.items() for api in apis}


class Codec:
    """Requests to bytes and bytes to answers. The JVM has to run (`consumers.jvm`)."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        common = "org.apache.kafka.common"
        self._types = jpype.JClass(f"{common}.message.ApiMessageType")
        self._accessor = jpype.JClass(f"{common}.protocol.ByteBufferAccessor")
        self._cache = jpype.JClass(f"{common}.protocol.ObjectSerializationCache")
        self._request_header = jpype.JClass(f"{common}.message.RequestHeaderData")
        self._response_header = jpype.JClass(f"{common}.message.ResponseHeaderData")
        self._buffer = jpype.JClass("java.nio.ByteBuffer")
        self._mapper = jpype.JClass("com.fasterxml.jackson.databind.ObjectMapper")()

    def newest(self, api: str) -> int:
        """The newest version of a call that these jars know."""
        return int(self._types.valueOf(api).highestSupportedVersion(False))

    def encode(self, api: str, version: int, body: Body) -> bytes:
        kind = self._types.valueOf(api)
        header = {
            "requestApiKey": int(kind.apiKey()),
            "requestApiVersion": version,
            "correlationId": 1,
            "clientId": self._client_id,
        }
        header_version = int(kind.requestHeaderVersion(jpype.JShort(version)))
        whole = self._bytes(self._request_header(), header_version, header)
        whole += self._bytes(kind.newRequest(), version, body)
        return struct.pack(">i", len(whole)) + whole

    def decode(self, api: str, version: int, data: bytes) -> Body:
        """The answer in what came back, less its length."""
        kind = self._types.valueOf(api)
        readable = self._accessor(self._buffer.wrap(jpype.JArray(jpype.JByte)(data)))
        header_version = kind.responseHeaderVersion(jpype.JShort(version))
        self._response_header().read(readable, header_version)
        answer = kind.newResponse()
        answer.read(readable, jpype.JShort(version))
        return self._as_json(answer, version)

    def _bytes(self, empty: Any, version: int, fields: Body) -> bytes:
        short = jpype.JShort(version)
        tree = self._mapper.readTree(json.dumps({**self._as_json(empty, version), **fields}))
        message = self._converter(empty).read(tree, short)
        cache = self._cache()
        buffer = self._buffer.allocate(message.size(cache, short))
        message.write(self._accessor(buffer), cache, short)
        return bytes(buffer.array())

    def _as_json(self, message: Any, version: int) -> Body:
        tree = self._converter(message).write(message, jpype.JShort(version))
        found: Body = json.loads(str(tree.toString()))
        return found

    @staticmethod
    def _converter(message: Any) -> Any:
        return jpype.JClass(f"{message.getClass().getName()}JsonConverter")


class Link:
    """One connection to one broker, for one question."""

    def __init__(
        self, address: tuple[str, int], timeout_s: float, admission: Admission | None = None
    ) -> None:
        self._deadline = time.monotonic() + timeout_s
        self._socket = socket.create_connection(address, timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if admission is not None:
            self._socket = admission.enter(self._socket, address[0])

    def send(self, data: bytes) -> None:
        """Send a whole request. Raises OSError."""
        self._socket.sendall(data)

    def receive(self) -> bytes:
        """The answer, less its length. Raises OSError, TimeoutError when time is up included."""
        with self._socket:
            return answer_on(self._socket, self._deadline)


class Brokers:
    """The brokers of a cluster as one listener advertises them, and who leads what."""

    def __init__(
        self,
        codec: Codec,
        bootstrap: str,
        timeout_s: float = 10.0,
        credentials: Credentials | None = None,
    ) -> None:
        self._codec = codec
        self._timeout_s = timeout_s
        self._admission = None if credentials is None else Admission(credentials)
        host, _, port = bootstrap.split(",")[0].rpartition(":")
        self._first = (host, int(port))
        brokers = self._ask(self._first, "METADATA", {"topics": []})["brokers"]
        self.addresses: dict[int, tuple[str, int]] = {
            broker["nodeId"]: (broker["host"], broker["port"])
            for broker in sorted(brokers, key=lambda one: int(one["nodeId"]))
        }

    def link(self, broker: int) -> Link:
        return Link(self.addresses[broker], self._timeout_s, self._admission)

    def ask(self, broker: int, api: str, body: Body, version: int | None = None) -> Body:
        """One question on a connection of its own, in the usual version or another.

        Raises OSError.
        """
        return self._ask(self.addresses[broker], api, body, version)

    def coordinator(self, key: str, kind: int = 0) -> int:
        """The coordinator of a group (kind 0) or of a transactional id (kind 1).

        Raises ClusterError while there is none.
        """
        body = {"keyType": kind, "coordinatorKeys": [key]}
        (found,) = self._ask(self._first, "FIND_COORDINATOR", body)["coordinators"]
        if found["errorCode"]:
            raise ClusterError(f"no coordinator of {key!r} now (error {found['errorCode']})")
        return int(found["nodeId"])

    def partitions(self, topic: str) -> list[Body]:
        """Metadata of a topic's partitions, by number; empty while brokers do not know it."""
        body = {"topics": [{"name": topic}], "allowAutoTopicCreation": False}
        (found,) = self._ask(self._first, "METADATA", body)["topics"]
        return sorted(found["partitions"], key=lambda one: int(one["partitionIndex"]))

    def _ask(
        self, address: tuple[str, int], api: str, body: Body, version: int | None = None
    ) -> Body:
        version = VERSIONS[api] if version is None else version
        link = Link(address, self._timeout_s, self._admission)
        link.send(self._codec.encode(api, version, body))
        return self._codec.decode(api, version, link.receive())


@dataclass(frozen=True)
class Question:
    """One question, as it is recorded. `rule` is the one that it is asked for.

    `group` is null for a call about no group. `version` null is the usual one (`wire.VERSIONS`).
    """

    step: str
    rule: str
    api: str
    body: Body
    group: str | None = None
    member_id: str | None = None
    instance_id: str | None = None
    generation: int | None = None
    version: int | None = None
    expected: Body | None = None


class Script:
    """Asks, and writes down. Safe to use from several threads."""

    def __init__(self, config: ProbeConfig, journal: Journal) -> None:
        jvm.start(config.java_home, config.class_path)
        self.config = config
        self.client_id = config.member
        self.codec = Codec(config.member)
        self.brokers = Brokers(self.codec, config.bootstrap, PATIENCE_S, config.proven())
        direct = proven_by(config.direct_credentials)
        self._direct = Brokers(self.codec, config.direct, credentials=direct)
        self._coordinators: dict[str, int] = {}
        self._with_epochs: set[str] = set()
        self._journal = journal
        self._writing = Lock()
        self._waiting = ThreadPoolExecutor(max_workers=64, thread_name_prefix="answer")

    def group(self, name: str, *, epochs: bool = False) -> str:
        """The name of a group of the script's own, after the group under test.

        `epochs`: it is to be one of KIP-848, whose state only a call of its own shows.
        """
        group = f"{self.config.group}-{name}"
        if epochs:
            self._with_epochs.add(group)
        return group

    def ask(self, question: Question, broker: int | None = None) -> Body | None:
        """Ask and wait for the answer; None if none came."""
        return self.begin(question, broker).result()

    def begin(self, question: Question, broker: int | None = None) -> "Future[Body | None]":
        """Ask, and go on when the question is on the wire: the answer comes when it comes.

        The broker is the group's coordinator unless one is named.
        """
        if broker is None:
            assert question.group is not None, question
            broker = self.coordinator(question.group)
        before = self.state(question.group)
        version = VERSIONS[question.api] if question.version is None else question.version
        data = self.codec.encode(question.api, version, question.body)
        link = self.brokers.link(broker)
        sent_at = _now_us()
        link.send(data)
        return self._waiting.submit(self._receive, question, version, link, broker, before, sent_at)

    def _receive(
        self, question: Question, version: int, link: Link, broker: int, before: str, sent_at: int
    ) -> Body | None:
        answer: Body | None = None
        answered_at = None
        try:
            data = link.receive()
            answered_at = _now_us()
            answer = self.codec.decode(question.api, version, data)
        except OSError:
            pass  # recorded as a question without an answer
        said = {name: getattr(question, name) for name in _RECORDED}
        with self._writing:
            self._journal.write(
                "call",
                probe=self.config.probe,
                **said,
                broker=broker,
                state_before=before or None,
                state_after=self.state(question.group) or None,
                sent_at=sent_at,
                answered_at=answered_at,
                error_code=None if answer is None else worst(answer),
                expected=None if question.expected is None else json.dumps(question.expected),
                request=json.dumps({"version": version, **question.body}),
                answer=None if answer is None else json.dumps(answer),
            )
        return answer

    def state(self, group: str | None) -> str:
        """The group's state by its coordinator, over the listener that no fault touches.

        "Dead" for a group that does not exist; empty for no group.
        """
        if group is None:
            return ""
        broker = self.coordinator(group)
        if group in self._with_epochs:
            body = {"groupIds": [group]}
            (found,) = self._direct.ask(broker, "CONSUMER_GROUP_DESCRIBE", body)["groups"]
            missing = found["errorCode"] == GROUP_ID_NOT_FOUND
            return "Dead" if missing else str(found["groupState"])
        (found,) = self._direct.ask(broker, "DESCRIBE_GROUPS", {"groups": [group]})["groups"]
        return str(found["groupState"])

    def coordinator(self, group: str) -> int:
        """The broker that coordinates a group, looked up once: no fault moves it."""
        if group not in self._coordinators:
            self._coordinators[group] = self._direct.coordinator(group)
        return self._coordinators[group]

    def until(
        self,
        what: str,
        condition: Callable[[], bool],
        timeout_s: float = 15.0,
        every_s: float = 0.05,
    ) -> None:
        """Wait for a named condition. Raises WaitTimeout."""
        wait_until(what, condition, timeout_s=timeout_s, every_s=every_s)

    def until_state(self, group: str, *states: str) -> None:
        """Wait until a group is in one of some states. Raises WaitTimeout."""
        what = f"group {group} in state {' or '.join(states)}"
        self.until(what, lambda: self.state(group) in states)

    def ready(self) -> None:
        """Have the faults begin beside which this is played: all is as they are to find it."""
        with self._writing:
            self._journal.write("ready")

    def play(self, scenes: Iterable[Scene]) -> None:
        """Play scenes at once; the first failure is raised when all have ended."""
        scenes = list(scenes)
        with ThreadPoolExecutor(max_workers=len(scenes), thread_name_prefix="scene") as stage:
            played = [stage.submit(scene, self) for scene in scenes]
        for scene in played:
            scene.result()


def worst(answer: Any) -> int:
    """The largest error code anywhere in an answer (an unknown one is -1), 0 if there is none."""
    return max(_errors(answer), default=0)


def _errors(answer: Any) -> Iterator[int]:
    if isinstance(answer, dict):
        if code := int(answer.get("errorCode", 0)):
            yield code
        answer = list(answer.values())
    if isinstance(answer, list):
        for value in answer:
            yield from _errors(value)


def _now_us() -> int:
    return time.time_ns() // 1_000


def ask_library(config: ProbeConfig, journal: Journal, ask: Callable[[], Body], **row: Any) -> None:
    """Ask a client library, whose refusal is `said` in the answer, and write that down."""
    sent_at = _now_us()
    answer = ask()
    journal.write(
        "call",
        probe=config.probe,
        sent_at=sent_at,
        answered_at=_now_us(),
        error_code=1 if answer["said"] else 0,
        answer=json.dumps(answer),
        **row,
    )
