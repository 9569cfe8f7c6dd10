"""What an experiment is: frozen values that refuse nonsense when they are built.

A module in `experiments/` builds one `Experiment` named `experiment`; the file name with dashes is
its NAME. Nothing here does I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import inf
from typing import Any, Final

from harness.base.errors import BadInput
from harness.experiment.app import App
from harness.experiment.enums import APP as APP
from harness.experiment.enums import CLASSIC as CLASSIC
from harness.experiment.enums import CLIENTS as CLIENTS
from harness.experiment.enums import COMMITS as COMMITS
from harness.experiment.enums import PROTOCOLS as PROTOCOLS
from harness.experiment.enums import Need as Need
from harness.experiment.enums import Verdict as Verdict
from harness.experiment.enums import protocol_named as protocol_named
from harness.experiment.enums import protocol_said as protocol_said
from harness.experiment.expect import Expect as Expect
from harness.experiment.expect import Within as Within
from harness.experiment.expect import at_times as at_times
from harness.experiment.expect import (
    commit_waits_for_the_rebalance as commit_waits_for_the_rebalance,
)
from harness.experiment.expect import handed_what_it_has_lost as handed_what_it_has_lost
from harness.experiment.expect import holds as holds
from harness.experiment.expect import late_commit_is_unnamed as late_commit_is_unnamed
from harness.experiment.expect import violated as violated
from harness.experiment.limits import Limits as Limits
from harness.experiment.value_checks import all_are
from harness.experiment.value_checks import at_least as at_least
from harness.experiment.value_checks import one_of as one_of

# librdkafka looks at its timers every 500 ms while subscribed, so what it does "every 700 ms" it
# does every 1,000 ms (rdkafka_cgrp.c, max-poll timer at 2 Hz; measured 0.5 s multiples ± 80 ms).
# Heartbeats of KIP-848 have a timer of their own, which keeps the interval (rkcg_serve_timer).
LIBRDKAFKA_TIMER_GRID_MS: Final = 500

# Java's heartbeat thread looks about every retry.backoff.ms (AbstractCoordinator, HeartbeatThread),
# so what is due is done up to that much later.
JAVA_TIMER_MS: Final = 100

# Added to every documented time bound, on both sides: what a healthy but busy machine takes on top.
# Measured for evictions on an idle one: 0.2 to 1.4 ms. A time may also seem too short: a request's
# times count back from when its line was stamped, and that was up to 8 ms late.
SLACK_MS: Final = 50

BACKENDS: Final = ("embedded", "docker", "compose")
PLAINTEXT: Final = "plaintext"
SASL_SSL: Final = "sasl_ssl"
SECURITIES: Final = (PLAINTEXT, "ssl", SASL_SSL)
ASSIGNORS: Final[dict[str, tuple[str, ...]]] = {
    "eager": ("range", "roundrobin"),
    "cooperative": ("cooperative-sticky",),
    "consumer": ("uniform", "range"),
}
# The value of a setting, of a client or a broker, that the harness leaves out: its default counts.
UNSET: Final = "unset"
# When probes begin: members that have just reached steady state still send what belongs to their
# join.
AT_S: Final = 2.0
LEAST_RECORD_BYTES: Final = 8  # the first 8 bytes of a record are its number


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The Kafka cluster that an experiment runs on.

    `backend` says what its nodes are: processes on this machine (embedded), containers of the
    run's own (docker), or those of docker-compose.yml that are up already (compose).
    With `upgraded_from` its nodes are of that release at first, and faults bring them to
    `kafka_version`, one by one.
    `settings` are broker settings on top of the harness's own; all of them land in the manifest.
    One whose value is `UNSET` is left to Kafka's default.
    `security` says what clients and brokers speak: nothing hidden (plaintext), TLS with a
    certificate authority of the run's own (ssl), or that and a user with a password for each lane
    as well (sasl_ssl, by SCRAM-SHA-512).
    """

    backend: str = "embedded"
    brokers: int = 3
    controllers: int = 1
    kafka_version: str = "4.4.0"
    upgraded_from: str = ""
    security: str = PLAINTEXT
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        one_of("backend", self.backend, BACKENDS)
        one_of("security", self.security, SECURITIES)
        if self.brokers < 1 or self.controllers < 1:
            raise BadInput(
                f"a cluster needs at least one broker and one controller, not {self.brokers} and "
                f"{self.controllers}: raise both to 1 or more"
            )

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases of Kafka that its nodes have, in the order in which they have them."""
        return (*filter(None, [self.upgraded_from]), self.kafka_version)


@dataclass(frozen=True, kw_only=True)
class Load:
    """What the producer writes: numbered records, spread evenly over the partitions."""

    partitions: int = 6
    replication: int = 3
    min_insync_replicas: int = 2
    records_per_s: int = 300
    record_bytes: int = 100
    acks: str = "all"
    idempotence: bool = True

    def __post_init__(self) -> None:
        at_least(
            1,
            partitions=self.partitions,
            replication=self.replication,
            records_per_s=self.records_per_s,
            min_insync_replicas=self.min_insync_replicas,
        )
        at_least(LEAST_RECORD_BYTES, record_bytes=self.record_bytes)
        if self.min_insync_replicas > self.replication:
            raise BadInput(
                f"min_insync_replicas of {self.min_insync_replicas} is more than the replication "
                f"of {self.replication}: no record would ever be acknowledged; lower it"
            )
        one_of("acks", self.acks, ("all", "1", "0"))
        if self.idempotence and self.acks != "all":
            raise BadInput(
                f"acks of {self.acks} with idempotence: librdkafka refuses that; use acks of all, "
                "or switch idempotence off"
            )


@dataclass(frozen=True, kw_only=True)
class Group:
    """The consumer group under test: its members are alike, but for what `differing` says.

    `protocol`: eager and cooperative are the classic protocol, consumer is KIP-848, in which the
    broker has the timers: `session_timeout_ms` and `heartbeat_interval_ms` are set there then.
    `assignor`: None is the protocol's first in ASSIGNORS.
    `static`: each member has a group.instance.id (KIP-345), its name.
    `commit`: auto (the library, every `auto_commit_interval_ms`), sync or async (after each batch),
    interval (the application, after the first batch past every `auto_commit_interval_ms`, and at
    no other time), revoke (in the revocation callback, and at close), external (positions go to a
    store outside Kafka after each batch, and the assignment callback seeks to them), transaction
    (each batch is copied to another topic, in one transaction with its positions).
    `sabotage` names a rule that the consumer program breaks on purpose
    (`consumers/sabotage.py`); null for an honest consumer.
    `arrive_every_ms`: members are started that far apart; 0 is all at once. `metadata_refresh_ms`
    is how often a client asks for metadata, and so how late it may hear of new partitions.
    `client_version` is the version of Kafka whose Java client is used, or that of confluent-kafka;
    empty is the brokers', or the one that the harness itself has.
    `settings` are the client library's own, on top of ours; one whose value is `UNSET` is left to
    the library's default, which the field of the group still has to name. `differing` gives single
    members, by number, other values of these fields: `{2: {"max_poll_interval_ms": 20_000}}`.
    """

    members: int = 3
    client: str = "librdkafka"
    protocol: str = "eager"
    session_timeout_ms: int = 6_000
    heartbeat_interval_ms: int = 2_000
    max_poll_interval_ms: int = 60_000
    commit: str = "sync"
    auto_commit_interval_ms: int = 5_000
    batch_records: int = 100
    process_us: int = 1_000
    assignor: str | None = None
    static: bool = False
    arrive_every_ms: int = 0
    metadata_refresh_ms: int = 300_000
    sabotage: str | None = None
    client_version: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    differing: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.client != APP:
            one_of("client", self.client, CLIENTS)
        one_of("protocol", self.protocol, PROTOCOLS)
        if self.assignor is not None:
            one_of(f"assignor of protocol {self.protocol}", self.assignor, ASSIGNORS[self.protocol])
        one_of("commit", self.commit, COMMITS)
        if self.client_version and self.client == APP:
            raise BadInput(
                f"client_version of {self.client_version} with a program of yours, which decides "
                "that by itself: leave it out"
            )
        if self.members < 1:
            raise BadInput(
                f"members is {self.members}, and a group needs at least one: use 1 or more"
            )
        at_least(
            1,
            batch_records=self.batch_records,
            heartbeat_interval_ms=self.heartbeat_interval_ms,
            auto_commit_interval_ms=self.auto_commit_interval_ms,
            metadata_refresh_ms=self.metadata_refresh_ms,
        )
        at_least(0, arrive_every_ms=self.arrive_every_ms, process_us=self.process_us)
        if not self.heartbeat_interval_ms < self.session_timeout_ms:
            raise BadInput(
                f"heartbeat_interval_ms of {self.heartbeat_interval_ms} is not below "
                f"session_timeout_ms of {self.session_timeout_ms}: every member would be evicted; "
                "a third of the session timeout is usual"
            )
        if not 6_000 <= self.session_timeout_ms <= 1_800_000:
            raise BadInput(
                f"session_timeout_ms of {self.session_timeout_ms} is outside the 6000 to 1800000 "
                "that brokers accept (group.min/max.session.timeout.ms): choose one inside"
            )
        if self.client == "librdkafka" and self.session_timeout_ms > self.max_poll_interval_ms:
            raise BadInput(
                f"max_poll_interval_ms of {self.max_poll_interval_ms} is below session_timeout_ms "
                f"of {self.session_timeout_ms}: librdkafka refuses that; raise the former"
            )
        for number in self.differing:
            self.of_member(number)

    def of_member(self, number: int) -> "Group":
        """The group as one member sees it: with what is different for that member.

        Raises BadInput where that makes no sense.
        """
        different = self.differing.get(number, {})
        if unknown := sorted(set(different) - set(self.__dataclass_fields__)):
            raise BadInput(
                f"differing of member {number} has {unknown[0]!r}, which is not a field of a "
                f"group: use one of {', '.join(self.__dataclass_fields__)}"
            )
        return replace(self, differing={}, **different) if self.differing else self

    @property
    def heartbeat_gap_ms(self) -> int:
        """Time between two heartbeats that this client really keeps, in milliseconds."""
        return effective_heartbeat_ms(self.heartbeat_interval_ms, self.client, self.protocol)


def effective_heartbeat_ms(
    heartbeat_interval_ms: int, client: str = "librdkafka", protocol: str = "eager"
) -> int:
    """The interval that a client really keeps, in milliseconds.

    librdkafka's is rounded up to its timer grid in a classic group, and kept in KIP-848: heartbeats
    every 20 ms came 20.1 to 21.1 ms apart. Java's is kept, and up to JAVA_TIMER_MS late.
    """
    if client == "java" or protocol not in CLASSIC:
        return heartbeat_interval_ms
    grid = LIBRDKAFKA_TIMER_GRID_MS
    return -(-heartbeat_interval_ms // grid) * grid


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is broken on schedule.

    `target` is a role resolved when the fault fires: "coordinator", "leader of t-3", "controller",
    "broker 2", "member 1", "any broker", "any member", "new member", "group", "producers", "topic",
    and of a user's program "dependency", "dependency DATABASE_URL", "sink";
    `not_target` excludes one ("a leader that is not the coordinator"). `at_s` counts from steady
    state, plus a jitter below `jitter_s` drawn from the seed so that results do not alias with
    timers. `of_broker` is a role too: a network fault then hits the links to that broker only.
    `lasts_s` is the time to the heal; None for what needs no healing (a leave, a join, a crash).
    `how` says in what way, where a kind of fault knows several ("close", "in a transaction").
    `by` is the number of processes that a group is scaled by.
    """

    kind: str
    target: str
    at_s: float = 3.0
    lasts_s: float | None = None
    jitter_s: float = 2.0
    not_target: str | None = None
    how: str | None = None
    latency_ms: int | None = None
    bandwidth_kb_per_s: int | None = None
    more_partitions: int | None = None
    of_broker: str | None = None
    by: int | None = None

    # The rest of the checks live beside each kind of fault (harness/run/faults).


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A script that asks brokers, over the wire, what no consumer would (`consumers/probes/`).

    `name` is the script's. It is played in a process and over a lane of its own, from `at_s` after
    steady state; the run goes on when it has ended. What it asked and was answered is in `calls`.
    Faults that one is played `beside` begin when it is ready, and its end is awaited after them.
    Raises BadInput for a time before steady state, or one that faults would not wait for.
    """

    name: str
    at_s: float = AT_S
    beside: bool = False

    def __post_init__(self) -> None:
        if self.at_s < 0:
            raise BadInput(f"probe {self.name} has at_s={self.at_s:g}: use 0 or more")
        if self.beside and self.at_s != AT_S:
            raise BadInput(
                f"probe {self.name} is played beside faults, which begin when it is ready: leave "
                "out at_s, or beside=True"
            )


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that an experiment is made from and that is not ours: its path in a run, its text."""

    path: str
    text: str

    @property
    def data(self) -> bytes:
        return self.text.encode(errors="surrogateescape")

    @property
    def digest(self) -> str:
        return sha256(self.data).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A claim, what to run, what to break, and which rules to judge.

    `clients`, `protocols` and `backends` name those that it means anything for; others are refused.
    `long` ones take minutes because a default does: the nightly set leaves them to a set of their
    own. With an `app` the members are processes of that program, and `group` has their number
    alone: what else a group declares is the program's own affair. `limits` are what is promised of
    the group, a verdict each; those of an app go before them. `sources` are filled in where
    experiments or rules are a user's own.

    `one_by_one`: each fault waits until the group is well after the one before. `at_random`: which
    one comes next is drawn from them by the seed, again and again, until `duration_s` has passed.
    """

    claim: str
    cluster: Cluster = field(default_factory=Cluster)
    load: Load = field(default_factory=Load)
    group: Group = field(default_factory=Group)
    faults: tuple[Fault, ...] = ()
    probes: tuple[Probe, ...] = ()
    rules: tuple[Expect, ...] = ()
    duration_s: float = 20.0
    clients: tuple[str, ...] = CLIENTS
    protocols: tuple[str, ...] = PROTOCOLS
    backends: tuple[str, ...] = BACKENDS
    long: bool = False
    one_by_one: bool = False
    at_random: bool = False
    limits: Limits = field(default_factory=Limits)
    app: App | None = None
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        kinds: dict[str, type] = {"faults": Fault, "probes": Probe, "rules": Expect}
        for name in (*kinds, "clients", "protocols", "backends"):
            all_are(kinds.get(name, str), name, getattr(self, name))
        if not self.claim.strip():
            raise BadInput("the claim is empty: say in a sentence what the experiment shows")
        if not 0 <= self.duration_s < inf:
            raise BadInput(f"duration_s is {self.duration_s}: use 0 or more")
        if self.at_random and not (self.faults and self.one_by_one):
            raise BadInput(
                "at_random draws one fault after the other from those that are declared: declare "
                "faults, and say one_by_one=True too"
            )
        if not isinstance(self.limits, Limits):
            raise BadInput(
                f"limits is a {type(self.limits).__name__}, not Limits: write "
                "limits=Limits(standstill_s=10)"
            )
        if self.faults and (alone := [probe.name for probe in self.probes if not probe.beside]):
            raise BadInput(
                f"faults would wait for the end of probe {alone[0]} and come late: leave out one "
                "of them, or set beside=True to play the probe beside the faults"
            )
        one_of("backend of this experiment", self.cluster.backend, self.backends)
        if (self.app is None) == (self.group.client == APP):
            raise BadInput(
                f"client {APP!r} is only for a program of yours: name one by --app, or leave out "
                "the client"
            )
        if self.app is None:
            one_of("client of this experiment", self.group.client, self.clients)
            one_of("protocol of this experiment", self.group.protocol, self.protocols)


def label(name: str, client: str, protocol: str) -> str:
    """An experiment as it is played, in one word: consumer-join:java/eager."""
    return f"{name}:{client}/{protocol}"
