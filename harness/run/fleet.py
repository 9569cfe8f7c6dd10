"""The fleet: producer and consumers of a run, as processes, followed through their journals.

The harness learns what a member does from the journal that the member writes anyway, so watching
costs the member nothing.
"""

import json
import signal
import subprocess
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from consumers.journal import tail_journal
from harness.base import processes
from harness.base.errors import WaitTimeout
from harness.base.wait import wait_until
from harness.cluster.plan import OUTPUT, Plan
from harness.experiment import Experiment
from harness.provision import kafka
from harness.provision.jvm import aot_options
from harness.provision.tools import Tools
from harness.run.folder import SCRATCH

Partition = int
# What each client library calls the interval at which it asks for metadata.
_METADATA_REFRESH: Final = {
    "librdkafka": "topic.metadata.refresh.interval.ms",
    "java": "metadata.max.age.ms",
}
_END_S: Final = 10.0  # for a process to end that has nothing left to do


@dataclass
class Member:
    """One consumer process, and what its journal has told so far."""

    name: str
    process: subprocess.Popen[bytes]
    journal: Path
    instance_id: str | None = None  # of a static member: kept by the process that takes its place
    journal_read: int = 0
    started: bool = False
    assigned: set[Partition] = field(default_factory=set)
    ever_assigned: bool = False
    generation: int | None = None
    polls: int = 0
    records: int = 0
    position: dict[Partition, int] = field(default_factory=dict)  # next offset to process
    in_hand: dict[int, list[Any]] = field(default_factory=dict)  # poll to ranges, not processed yet
    stalls_ended: int = 0
    in_transaction: bool = False  # and stays there until it is killed
    closed: bool = False  # it has left its group, and only its process has still to end
    expected_end: bool = False  # a fault or the harness told it to end

    @property
    def running(self) -> bool:
        """Whether its process exists, frozen or not."""
        return self.process.poll() is None

    def send(self, command: str) -> None:
        """Give the consumer program a command on its standard input."""
        processes.tell(self.process, command)

    def follow(self) -> None:
        """Read what its journal has got since the last time."""
        frames, self.journal_read = tail_journal(self.journal, self.journal_read)
        for frame in frames:
            self._take(frame)

    def _take(self, frame: dict[str, Any]) -> None:
        match frame["kind"]:
            case "started":
                self.started = True
            case "assigned":
                self.assigned |= {number for _, number in frame["partitions"]}
                self.ever_assigned = True
                self.generation = frame["generation"]
            case "revoked":
                self.assigned -= {number for _, number in frame["partitions"]}
            case "lost" | "closed":  # all of it: Java in KIP-848 may leave one out when it says so
                self.assigned = set()
                self.closed = frame["kind"] == "closed"
            case "delivered":
                self.polls += 1
                self.in_hand[frame["poll"]] = frame["ranges"]
            case "processed":
                for _, number, _first, last, count in self.in_hand.pop(frame["poll"], ()):
                    self.position[number] = max(self.position.get(number, 0), last + 1)
                    self.records += count
            case "transaction_held":
                self.in_transaction = True
            case "stall_ended" | "callback_stall_ended":
                self.stalls_ended += 1


class Fleet:
    """Starts, follows and ends the producer and the consumers."""

    def __init__(
        self,
        experiment: Experiment,
        plan: Plan,
        tools: Tools,
        run_dir: Path,
        group: str,
        topic: str,
    ) -> None:
        self._experiment = experiment
        self._plan = plan
        self._tools = tools
        self._run_dir = run_dir
        self._group = group
        self._topic = topic
        self.members: dict[str, Member] = {}
        self.producer: subprocess.Popen[bytes] | None = None
        self._producer_ended_on_purpose = False
        self._probes: list[subprocess.Popen[bytes]] = []

    def lane_of(self, member: str) -> str:
        """The lane a member's links run through: its own where a network fault may hit it."""
        return member if member in self._plan.lanes else "members"

    def start_member(
        self, name: str, instance_id: str | None = None, *, joins_when_told: bool = False
    ) -> Member:
        """Start one more consumer.

        A static one has its name for an instance id, unless it comes in the place of another
        member: then it is like that one, and has that one's.
        """
        group = self._experiment.group.of_member(_number(instance_id or name))
        if group.static:
            instance_id = instance_id or name
        lane = self.lane_of(name)
        config = ConsumerConfig(
            role="consumer",
            member=name,
            run=self._plan.run,
            group=self._group,
            topic=self._topic,
            journal=str(self._journal(name)),
            bootstrap=self._plan.bootstrap(lane),
            lane=lane,
            client=group.client,
            protocol=group.protocol,
            session_timeout_ms=group.session_timeout_ms,
            heartbeat_interval_ms=group.heartbeat_interval_ms,
            max_poll_interval_ms=group.max_poll_interval_ms,
            commit=group.commit,
            auto_commit_interval_ms=group.auto_commit_interval_ms,
            batch_records=group.batch_records,
            process_us=group.process_us,
            sabotage=group.sabotage,
            fetch_wait_max_ms=100,
            assignor=group.assignor,
            instance_id=instance_id,
            settings={
                _METADATA_REFRESH[group.client]: str(group.metadata_refresh_ms),
                **group.settings,
            },
            store=str(self._run_dir / SCRATCH / "store") if group.commit == "external" else None,
            output=OUTPUT if group.commit == "transaction" else None,
            java_home=self._java_home,
            class_path=(
                kafka.classpath(group.client_version)
                if group.client_version
                else self._tools.kafka_classpath
            ),
            # Ignored with another version's class path, which it does not fit.
            jvm_options=list(aot_options(self._tools.client_aot)),
            joins_when_told=joins_when_told,
        )
        process = self._start(config)
        self.members[name] = Member(name, process, self._journal(name), instance_id)
        return self.members[name]

    def start_producer(self) -> None:
        """Start the producer."""
        load = self._experiment.load
        config = ProducerConfig(
            member="producer-1",
            run=self._plan.run,
            topic=self._topic,
            journal=str(self._journal("producer-1")),
            bootstrap=self._plan.bootstrap("producers"),
            lane="producers",
            partitions=load.partitions,
            records_per_s=load.records_per_s,
            record_bytes=load.record_bytes,
            acks=load.acks,
            idempotence=load.idempotence,
            message_timeout_ms=120_000,
        )
        self.producer = self._start(config)

    def tell_producer(self, command: str) -> None:
        """Give the producer an order on its standard input."""
        assert self.producer is not None
        processes.tell(self.producer, command)

    def start_probe(self, name: str) -> subprocess.Popen[bytes]:
        """Start a script that asks brokers over the wire; it ends by itself."""
        group = self._experiment.group
        config = ProbeConfig(
            role="probe",
            member=f"probe-{name}",
            probe=name,
            run=self._plan.run,
            group=self._group,
            topic=self._topic,
            journal=str(self._journal(f"probe-{name}")),
            bootstrap=self._plan.bootstrap("probes"),
            direct=self._plan.direct(),
            lane="probes",
            java_home=self._java_home,
            class_path=self._tools.kafka_classpath,
            partitions=self._experiment.load.partitions,
            session_timeout_ms=group.session_timeout_ms,
            max_poll_interval_ms=group.max_poll_interval_ms,
            protocol=group.protocol,
        )
        process = self._start(config)
        self._probes.append(process)
        return process

    def probe_tail(self, name: str) -> str:
        """The last words of a probe, for a message."""
        return self._tail(f"probe-{name}")

    @property
    def _java_home(self) -> str:
        return str(self._tools.java.parent.parent)

    def _journal(self, name: str) -> Path:
        return self._run_dir / "journals" / f"{name}.journal"

    def _start(
        self, config: ConsumerConfig | ProducerConfig | ProbeConfig
    ) -> subprocess.Popen[bytes]:
        """Start the program that `config` is for, with its configuration in a file."""
        path = self._run_dir / "journals" / f"{config.member}.json"
        path.write_text(json.dumps(asdict(config), indent=2))
        return processes.spawn(
            processes.python_module("consumers", config.role, "--config", str(path)),
            run=self._plan.run,
            log=self._run_dir / "logs" / f"{config.member}.log",
            stdin=subprocess.PIPE,
        )

    def follow(self) -> None:
        """Read every journal on."""
        for member in self.members.values():
            member.follow()

    def live(self) -> list[Member]:
        """Members whose process exists and that nobody told to end."""
        return [
            member for member in self.members.values() if member.running and not member.expected_end
        ]

    def processed(self) -> dict[Partition, int]:
        """Per partition the next offset that nobody has processed yet."""
        positions: dict[Partition, int] = {}
        for member in self.members.values():
            for number, position in member.position.items():
                positions[number] = max(positions.get(number, 0), position)
        return positions

    def stop_producer(self, timeout_s: float = 70) -> str:
        """Tell the producer to stop, and wait for its last answers; in words how it did not end."""
        if self.producer is None:
            return ""
        self._producer_ended_on_purpose = True
        processes.tell_last(self.producer, "stop")
        return self._ended_badly("producer-1", self.producer, timeout_s)

    def close_members(self, timeout_s: float = 30) -> list[str]:
        """Close every live member in order, one after the other; in words how some did not end.

        The next is told once one has left its group: how long its process takes to end after that,
        a Java Virtual Machine's the longest, is nobody's concern.
        """
        closing = self.live()
        for member in closing:
            member.expected_end = True
            processes.tell_last(member.process, "close")
            with suppress(WaitTimeout):  # it is among the stuck, then
                wait_until(
                    f"{member.name} to leave", partial(_has_left, member), timeout_s=timeout_s
                )
        ends = [self._ended_badly(member.name, member.process, _END_S) for member in closing]
        return [end for end in ends if end]

    def _ended_badly(self, name: str, process: subprocess.Popen[bytes], timeout_s: float) -> str:
        """How a process did not end in order, in words; empty if it did."""
        code = processes.wait_exit(process, timeout_s)
        if code is None:
            return f"{name} did not end within {timeout_s:g} s"
        return f"{name} ended with exit code {code}: {self._tail(name)}" if code else ""

    def unplanned_ends(self) -> list[str]:
        """Consumers and producers that ended without having been told to, in words."""
        ended = [
            f"{member.name} (exit code {member.process.poll()}: {self._tail(member.name)})"
            for member in self.members.values()
            if not member.running and not member.expected_end
        ]
        producer = self.producer
        if (
            producer is not None
            and producer.poll() is not None
            and not self._producer_ended_on_purpose
        ):
            ended.append(f"the producer (exit code {producer.poll()}: {self._tail('producer-1')})")
        return ended

    def next_name(self) -> str:
        """The name of the next process to be started as a member."""
        return f"member-{len(self.members) + 1}"

    def last_words(self, member: Member) -> str:
        """The last lines that a member wrote to its log."""
        return self._tail(member.name)

    def _tail(self, name: str) -> str:
        return processes.last_lines(self._run_dir / "logs" / f"{name}.log", 2)

    def kill_all(self) -> None:
        """End whatever still runs, at once."""
        children = [member.process for member in self.members.values()] + self._probes
        if self.producer is not None:
            children.append(self.producer)
        for child in children:
            if child.poll() is None:
                child.kill()
        for child in children:
            child.wait(timeout=10)


def _has_left(member: Member) -> bool:
    member.follow()
    return member.closed or not member.running


def _number(name: str) -> int:
    """The number of a member: 2 for "member-2"."""
    return int(name.rpartition("-")[2])


def freeze(member: Member) -> None:
    """SIGSTOP a member."""
    member.process.send_signal(signal.SIGSTOP)


def thaw(member: Member) -> None:
    """SIGCONT a member."""
    member.process.send_signal(signal.SIGCONT)


def state_of(member: Member) -> str:
    """What the kernel says of a member's process: "running", "stopped", "gone", …"""
    try:
        return psutil.Process(member.process.pid).status() if member.running else "gone"
    except psutil.NoSuchProcess:
        return "gone"
