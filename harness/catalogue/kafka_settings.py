"""Brokers' own settings that can be set like ours, by Kafka's names.

Known are those of Kafka 3.9 to 4.4 by which brokers behave; where they listen, who may connect and
what this harness decides for a run are left out. A value of the wrong sort is refused here, for a
broker would end over it only when it starts.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Final

from harness.base.errors import BadInput
from harness.experiment import UNSET
from harness.experiment.value_checks import numbers_of

FIELD: Final = "cluster.settings"  # of an experiment, where they are declared

_WHOLE: Final = """
    add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms
    background.threads broker.heartbeat.interval.ms broker.session.timeout.ms
    connections.max.idle.ms connections.max.reauth.ms controlled.shutdown.max.retries
    controlled.shutdown.retry.backoff.ms
    controller.quorum.append.linger.ms controller.quorum.election.backoff.max.ms
    controller.quorum.election.timeout.ms controller.quorum.fetch.max.bytes
    controller.quorum.fetch.snapshot.max.bytes controller.quorum.fetch.timeout.ms
    controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
    controller.socket.timeout.ms default.replication.factor fetch.max.bytes
    group.consumer.assignment.interval.ms group.consumer.max.assignment.interval.ms
    group.consumer.max.size group.consumer.min.assignment.interval.ms
    group.consumer.regex.refresh.interval.ms group.coordinator.append.linger.ms
    group.coordinator.background.threads group.coordinator.cached.buffer.max.bytes
    group.coordinator.threads group.initial.rebalance.delay.ms group.max.session.timeout.ms
    group.max.size group.min.session.timeout.ms leader.imbalance.check.interval.seconds
    leader.imbalance.per.broker.percentage log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
    log.cleaner.delete.retention.ms log.cleaner.io.buffer.size log.cleaner.max.compaction.lag.ms
    log.cleaner.min.compaction.lag.ms log.cleaner.threads log.flush.interval.messages
    log.flush.interval.ms log.flush.offset.checkpoint.interval.ms log.flush.scheduler.interval.ms
    log.flush.start.offset.checkpoint.interval.ms log.index.interval.bytes
    log.index.size.max.bytes log.message.timestamp.after.max.ms
    log.message.timestamp.before.max.ms log.message.timestamp.difference.max.ms
    log.retention.bytes log.retention.check.interval.ms log.retention.hours log.retention.minutes
    log.retention.ms log.roll.hours log.roll.jitter.hours log.roll.jitter.ms log.roll.ms
    log.segment.bytes log.segment.delete.delay.ms max.connection.creation.rate max.connections
    max.connections.per.ip max.decompressed.message.bytes max.incremental.fetch.session.cache.slots
    max.request.partition.size.limit message.max.bytes min.insync.replicas num.io.threads
    num.network.threads num.partitions num.recovery.threads.per.data.dir num.replica.fetchers
    offset.metadata.max.bytes offsets.commit.required.acks offsets.commit.timeout.ms
    offsets.load.buffer.size offsets.retention.check.interval.ms offsets.retention.minutes
    offsets.topic.num.partitions offsets.topic.replication.factor offsets.topic.segment.bytes
    producer.id.expiration.check.interval.ms producer.id.expiration.ms queued.max.request.bytes
    queued.max.requests replica.fetch.backoff.ms replica.fetch.max.bytes replica.fetch.min.bytes
    replica.fetch.response.max.bytes replica.fetch.wait.max.ms
    replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms
    replica.socket.receive.buffer.bytes replica.socket.timeout.ms request.timeout.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
    socket.listen.backlog.size socket.receive.buffer.bytes socket.request.max.bytes
    socket.send.buffer.bytes transaction.abort.timed.out.transaction.cleanup.interval.ms
    transaction.max.timeout.ms transaction.remove.expired.transaction.cleanup.interval.ms
    transaction.state.log.load.buffer.size transaction.state.log.min.isr
    transaction.state.log.num.partitions transaction.state.log.replication.factor
    transaction.state.log.segment.bytes transactional.id.expiration.ms
    unclean.leader.election.interval.ms
    group.share.assignment.interval.ms group.share.delivery.count.limit
    group.share.heartbeat.interval.ms group.share.max.assignment.interval.ms
    group.share.max.delivery.count.limit group.share.max.heartbeat.interval.ms
    group.share.max.partition.max.record.locks group.share.max.record.lock.duration.ms
    group.share.max.session.timeout.ms group.share.max.share.sessions group.share.max.size
    group.share.min.assignment.interval.ms group.share.min.delivery.count.limit
    group.share.min.heartbeat.interval.ms group.share.min.partition.max.record.locks
    group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
    group.share.partition.max.record.locks group.share.record.lock.duration.ms
    group.share.session.timeout.ms group.streams.assignment.interval.ms
    group.streams.heartbeat.interval.ms group.streams.initial.rebalance.delay.ms
    group.streams.max.assignment.interval.ms group.streams.max.heartbeat.interval.ms
    group.streams.max.session.timeout.ms group.streams.max.size
    group.streams.max.standby.replicas group.streams.min.assignment.interval.ms
    group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms
    group.streams.num.standby.replicas group.streams.session.timeout.ms
    share.coordinator.append.linger.ms share.coordinator.cached.buffer.max.bytes
    share.coordinator.load.buffer.size share.coordinator.snapshot.update.records.per.snapshot
    share.coordinator.state.topic.compression.codec share.coordinator.state.topic.min.isr
    share.coordinator.state.topic.num.partitions share.coordinator.state.topic.replication.factor
    share.coordinator.state.topic.segment.bytes share.coordinator.threads
    share.coordinator.write.timeout.ms share.fetch.purgatory.purge.interval.requests
"""
_NUMBERS: Final = """
    log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second
    log.cleaner.min.cleanable.ratio
"""
_SWITCHES: Final = """
    auto.create.topics.enable auto.leader.rebalance.enable controlled.shutdown.enable
    delete.topic.enable errors.deadletterqueue.auto.create.topics.enable
    group.consumer.assignor.offload.enable log.cleaner.enable log.preallocate
    transaction.partition.verification.enable unclean.leader.election.enable
"""
_TEXTS: Final = """
    errors.deadletterqueue.topic.name.prefix group.share.assignors group.streams.assignors
    group.streams.rack.aware.assignment.tags log.cleanup.policy log.message.timestamp.type
"""
_LEAST: Final = -1  # where there is no limit, and such
_MOST: Final = 2**63 - 1
# Timers of a group of KIP-848, with our setting that each follows from.
_TIMERS: Final = {
    f"group.consumer.{which}{timer}.ms": ours
    for which in ("", "min.", "max.")
    for timer, ours in (
        ("session.timeout", "session_timeout_ms"),
        ("heartbeat.interval", "heartbeat_interval_ms"),
    )
}

# Each with the sort of its values.
KNOWN: Final = dict.fromkeys(_TIMERS, int) | {
    name: sort
    for names, sort in ((_WHOLE, int), (_NUMBERS, float), (_SWITCHES, bool), (_TEXTS, str))
    for name in names.split()
}

# Since when brokers have what is set; the first that fits counts. By Kafka's own definitions of
# 4.0.1 to 4.4.0; what was for early adopters before 4.2 is not offered here (KIP-932, KIP-1071).
_SINCE: Final = (
    (r"errors\.deadletterqueue\..*|group\.streams\.(assignors|rack\.aware.*)", (4, 4)),
    (r"group\.(share|streams)\.((min|max)\.)?assignment\.interval\.ms", (4, 3)),
    (r"group\.share\.(min|max)\.(delivery\.count\.limit|partition\..*)", (4, 3)),
    (r"group\.(share|streams)\..*|share\..*", (4, 2)),
    (r"group\.consumer\..*", (4, 0)),
)

# Set by the harness to what a group declares: of two values for one thing, the rules would be
# judged by one and the brokers would keep the other.
_DECLARED: Final = {"group.coordinator.rebalance.protocols": "protocol", **_TIMERS}


def named(text: str, *, of_app: bool = False) -> str | None:
    """The broker's setting of this name, with or without that of its field; null if there is none.

    Raises BadInput for one that follows from ours; of a program's group no timer does.
    """
    name = text.removeprefix(f"{FIELD}.")
    if name in _DECLARED and not (of_app and name in _TIMERS):
        raise BadInput(f"{name} follows from {_DECLARED[name]}: set that")
    return name if name in KNOWN else None


def check_release(settings: Iterable[str], version: str) -> None:
    """Refuse what brokers of this version do not have, and would pass over without a word.

    Raises BadInput with the oldest version that has it.
    """
    for name in settings:
        since = next((since for pattern, since in _SINCE if re.fullmatch(pattern, name)), ())
        if numbers_of(version) < since:
            raise BadInput(
                f"Kafka {version} does not offer {name}: choose Kafka "
                f"{'.'.join(map(str, since))}.0 or newer, or leave it out"
            )


def nearest(text: str, ours: Iterable[str]) -> str | None:
    """The setting, a broker's or ours, whose name is most like this; null if none is."""
    known = [*ours, *KNOWN]
    near = difflib.get_close_matches(text.removeprefix(f"{FIELD}."), known, n=1)
    return near[0] if near else None


def checked(name: str, text: str) -> str:
    """The value as brokers take it. Raises BadInput for one of another sort, or that none takes."""
    sort = KNOWN[name]
    if text == UNSET:
        return text
    try:
        if sort is bool:
            return {"true": "true", "false": "false"}[text.lower()]
        if sort is str:
            return text
        value = int(text) if sort is int else float(text)
    except (ValueError, KeyError):
        wanted = {int: "a whole number", float: "a number", bool: "true or false"}[sort]
        raise BadInput(f"{name} takes {wanted}, not {text!r}") from None
    if not _LEAST <= value <= _MOST:
        raise BadInput(
            f"{name} is {value}, which no broker takes: use a number from {_LEAST} to {_MOST}"
        )
    return str(value)
