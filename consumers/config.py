"""What the harness gives to a consumer, the producer or a probe, as JSON.

The values are those of an experiment, which has been checked.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from harness.base.credentials import Credentials
from harness.base.errors import BadInput
from harness.experiment import ASSIGNORS

# Settings of clients that hold a secret, and those that hold a path of this machine.
_SECRET: Final = ("sasl.password", "sasl.jaas.config")
_PATHS: Final = (
    *("ssl.ca.location", "ssl.truststore.location"),
    *("ssl.certificate.location", "ssl.key.location", "ssl.keystore.location"),
)
_HIDDEN: Final = "[hidden]"  # as Kafka's own clients write it
_NOTHING: Final = "null"  # as these write what is not set
# Less than Kafka's own minute: what a crashed member leaves open hides later records for so long.
_TRANSACTION_TIMEOUT_MS: Final = 10_000


def proven_by(path: str | None) -> Credentials | None:
    """What a file of credentials has, if there is one. Raises BadInput where it cannot be read."""
    try:
        return Credentials.load(path) if path else None
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(f"cannot read the credentials {path}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class _Config:
    """Common to all programs.

    `credentials` is the file with what is needed to be let in, null where everybody is.
    """

    member: str
    bootstrap: str
    topic: str
    journal: str
    credentials: str | None = None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file. Raises BadInput where it cannot be read, or holds other settings."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadInput(f"cannot read the configuration {path}: {error}") from None
        try:
            return cls.of(found)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from None

    @classmethod
    def of(cls, found: dict[str, Any]) -> Self:
        """Build from a dict. Raises BadInput for a setting that is missing or unknown."""
        try:
            return cls(**found)
        except TypeError as error:
            raise BadInput(f"these are not the settings of a program: {error}") from None

    def proven(self) -> Credentials | None:
        """What its clients prove themselves by. Raises BadInput where that cannot be read."""
        return proven_by(self.credentials)

    def admission_of_librdkafka(self) -> dict[str, str]:
        """Settings by which its clients of librdkafka are let in. Raises BadInput as `proven`."""
        proven = self.proven()
        return proven.of_librdkafka() if proven else {}

    def admission_of_java(self) -> dict[str, str]:
        """Settings by which its clients of Kafka's own are let in. Raises BadInput as `proven`."""
        proven = self.proven()
        return proven.of_java() if proven else {}


@dataclass(frozen=True, kw_only=True)
class ConsumerConfig(_Config):
    """One member of the group under test. Times as their names say; `process_us` is per record.

    `assignor` null is the protocol's usual one; `instance_id` makes the member static. `settings`
    are passed to the client library as they are, but for those that are UNSET: they are left out.
    `store` is the folder for positions that are kept outside Kafka, `output` the topic that batches
    are copied to in transactions. `java_home` and `class_path` are where the Java client comes
    from, `jvm_options` what its machine is started with. One that `joins_when_told` joins its group
    by the order `join`, not at once. `lane` is only passed on to the history.
    """

    role: str
    run: str
    group: str
    client: str
    protocol: str
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    commit: str
    auto_commit_interval_ms: int
    batch_records: int
    process_us: int
    sabotage: str | None = None
    fetch_wait_max_ms: int = 500
    lane: str | None = None
    assignor: str | None = None
    instance_id: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    store: str | None = None
    output: str | None = None
    java_home: str | None = None
    class_path: str | None = None
    jvm_options: list[str] = field(default_factory=list)
    joins_when_told: bool = False

    def shared(self, assignors: Mapping[str, str]) -> dict[str, object]:
        """Settings that both client libraries have; `assignors` are the library's names of some.

        In a group of the consumer protocol the broker has the timers and the assignor, and
        clients refuse them as settings of their own.
        """
        found: dict[str, object] = {
            "bootstrap.servers": self.bootstrap,
            "client.id": self.member,
            "group.id": self.group,
            "enable.auto.commit": self.commit == "auto" and self.sabotage != "never-commit",
            "auto.commit.interval.ms": self.auto_commit_interval_ms,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "max.poll.interval.ms": self.max_poll_interval_ms,
        }
        if self.protocol == "consumer":
            found["group.protocol"] = "consumer"
            if self.assignor:
                found["group.remote.assignor"] = self.assignor
        else:
            assignor = self.assignor or ASSIGNORS[self.protocol][0]
            found |= {
                "session.timeout.ms": self.session_timeout_ms,
                "heartbeat.interval.ms": self.heartbeat_interval_ms,
                "partition.assignment.strategy": assignors.get(assignor, assignor),
            }
        if self.instance_id:
            found["group.instance.id"] = self.instance_id
        return found

    def transacting(self) -> dict[str, object]:
        """Settings of the producer that copies its batches, as both client libraries have them."""
        return {
            "bootstrap.servers": self.bootstrap,
            "client.id": self.member,
            "transactional.id": f"{self.group}-{self.member}",
            "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS,
            "linger.ms": 5,
        }


@dataclass(frozen=True, kw_only=True)
class ProbeConfig(_Config):
    """A script of `consumers/probes/`, by name; `lane` is the one that its links run through.

    `group` is the group under test; scripts may make groups of their own, named after it.
    `direct` are bootstrap servers that no fault touches, and `direct_credentials` what is needed
    there. `coordinator` and the like are looked up.
    """

    role: str
    run: str
    group: str
    probe: str
    direct: str
    java_home: str
    class_path: str
    protocol: str
    lane: str | None = None
    direct_credentials: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProducerConfig(_Config):
    """The producer: `records_per_s` in all, round robin over `partitions`.

    `values` are templates of records' values, taken in turn, with `{n}` for a record's number: that
    in its partition times `rounds`, the partitions there will ever be (0: `partitions`), plus the
    partition's. Without any, a record is `record_bytes` long, and only its first bytes matter.
    """

    partitions: int
    records_per_s: int
    record_bytes: int
    acks: str
    idempotence: bool
    values: list[str] = field(default_factory=list)
    rounds: int = 0
    message_timeout_ms: int = 120_000
    role: str = "producer"
    run: str = ""
    lane: str | None = None


def shown(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings of a client without secrets, and with files by their names alone."""
    found = dict(settings)
    for name, value in settings.items():
        if name in _SECRET and value != _NOTHING:
            found[name] = _HIDDEN
        if name in _PATHS:
            found[name] = Path(str(value)).name
    return found
