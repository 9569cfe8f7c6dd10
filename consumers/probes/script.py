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
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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
Body = dict[str, Any]
Answer = Future[Body | None]
# Wait for a named condition, usually for so long.
until: Final = partial(wait_until, timeout_s=15.0)

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
        self.addresses: dict[int, tuple[str, int]] = {}
        brokers = self.ask(None, "METADATA", {"topics": []})["brokers"]
        for each in sorted(brokers, key=lambda one: int(one["nodeId"])):
            self.addresses[each["nodeId"]] = (each["host"], each["port"])

    def send(
        self, broker: int | None, api: str, body: Body, version: int | None = None
    ) -> "SentCall":
        """Send a request, to the broker first known unless one is named. Raises OSError."""
        version = VERSIONS[api] if version is None else version
        data = self._codec.encode(api, version, body)
        deadline = time.monotonic() + self._timeout_s
        address = self._first if broker is None else self.addresses[broker]
        link = socket.create_connection(address, timeout=self._timeout_s)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._admission is not None:
            link = self._admission.enter(link, address[0])
        call = SentCall(
            version, link, deadline, partial(self._codec.decode, api, version), _now_us()
        )
        link.sendall(data)
        return call

    def ask(self, broker: int | None, api: str, body: Body, version: int | None = None) -> Body:
        """Send a request as `send` does, and wait for its answer. Raises OSError."""
        return self.send(broker, api, body, version).answer()

    @property
    def any(self) -> int:
        """The broker with the lowest number, for what each of them answers alike."""
        return next(iter(self.addresses))

    def coordinator(self, key: str, kind: int = 0) -> int:
        """The coordinator of a group (kind 0) or of a transactional id (kind 1).

        Raises ClusterError while there is none.
        """
        body = {"keyType": kind, "coordinatorKeys": [key]}
        (found,) = self.ask(None, "FIND_COORDINATOR", body)["coordinators"]
        if found["errorCode"]:
            raise ClusterError(f"no coordinator of {key!r} now (error {found['errorCode']})")
        return int(found["nodeId"])

    def partitions(self, topic: str) -> list[Body]:
        """Metadata of a topic's partitions, by number; empty while brokers do not know it."""
        body = {"topics": [{"name": topic}], "allowAutoTopicCreation": False}
        (found,) = self.ask(None, "METADATA", body)["topics"]
        return sorted(found["partitions"], key=lambda one: int(one["partitionIndex"]))


@dataclass
class SentCall:
    """A request on its way, over a connection of its own. Times are epoch microseconds."""

    version: int
    link: socket.socket
    deadline: float
    decode: Callable[[bytes], Body]
    sent_at: int
    answered_at: int | None = None

    def answer(self) -> Body:
        """Wait for the answer. Raises OSError, TimeoutError when time is up included."""
        with self.link:
            data = answer_on(self.link, self.deadline)
        self.answered_at = _now_us()
        return self.decode(data)


class Script:
    """Asks, and writes down. Safe to use from several threads."""

    def __init__(self, config: ProbeConfig, journal: Journal) -> None:
        jvm.start(config.java_home, config.class_path)
        self.config = config
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
        """The name of a group of the script's own; with `epochs` it is one of KIP-848."""
        group = f"{self.config.group}-{name}"
        if epochs:
            self._with_epochs.add(group)
        return group

    def ask(self, *question: Any, **more: Any) -> Body | None:
        """Ask as `begin` does, and wait for the answer; None if none came."""
        return self.begin(*question, **more).result()

    def begin(
        self,
        step: str,
        rule: str,
        api: str,
        body: Body,
        broker: int | None = None,
        *,
        group: str = "",
        version: int | None = None,
        expected: Body | None = None,
        **who: Any,
    ) -> Answer:
        """Ask, and go on when the question is on the wire: the answer comes when it comes.

        It is recorded for `rule`, with the group and `who` asks, if it is about any: `member_id`,
        `instance_id` and `generation`. The group's coordinator is asked unless a broker is named,
        in the usual version (`VERSIONS`) unless one is named.
        """
        broker = self.coordinator(group) if broker is None else broker
        asked = {"member_id": None, "instance_id": None, "generation": None, **who}
        asked |= {"step": step, "rule": rule, "api": api, "group": group or None, "broker": broker}
        asked |= {"expected": expected and json.dumps(expected)}
        asked |= {"state_before": self.state(group) or None}
        call = self.brokers.send(broker, api, body, version)
        asked |= {"request": json.dumps({"version": call.version, **body})}
        return self._waiting.submit(self._receive, call, group, asked)

    def _receive(self, call: SentCall, group: str, asked: Body) -> Body | None:
        answer: Body | None = None
        with suppress(OSError):  # recorded as a question without an answer
            answer = call.answer()
        with self._writing:
            self._journal.write(
                "call",
                probe=self.config.probe,
                **asked,
                state_after=self.state(group) or None,
                sent_at=call.sent_at,
                answered_at=call.answered_at,
                error_code=None if answer is None else worst(answer),
                answer=None if answer is None else json.dumps(answer),
            )
        return answer

    def state(self, group: str) -> str:
        """The group's state past all faults: "Dead" if there is none, empty for no group."""
        if not group:
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

    def until_state(self, group: str, *states: str) -> None:
        """Wait until a group is in one of some states. Raises WaitTimeout."""
        until(f"group {group} in state {' or '.join(states)}", lambda: self.state(group) in states)

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
