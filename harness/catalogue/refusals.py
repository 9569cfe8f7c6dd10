"""What is refused before anything runs, though every part of the experiment is fine by itself."""

from typing import Final

from harness.base.errors import BadInput
from harness.experiment import Experiment, Group
from harness.provision.kafka import kafka_versions

# Faults after which the group has one member less, for good.
_ENDING: Final = frozenset({"kill-consumer", "close-consumer"})
# Settings of a client library that follow from what the group declares: of two values for one
# thing, the rules would be judged by one and the client would keep the other.
_DECLARED: Final = {
    "auto.commit.interval.ms": "auto_commit_interval_ms",
    "enable.auto.commit": "commit",
    "group.instance.id": "static",
    "group.protocol": "protocol",
    "group.remote.assignor": "assignor",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "max.poll.interval.ms": "max_poll_interval_ms",
    "max.poll.records": "batch_records",
    "partition.assignment.strategy": "assignor",
    "session.timeout.ms": "session_timeout_ms",
}


def check_together(experiment: Experiment) -> None:
    """Refuse parts of an experiment that no run could have together.

    Raises BadInput naming both, and the remedy.
    """
    _check_images(experiment)
    _check_client_version(experiment)
    _check_replicas(experiment)
    _check_members(experiment)
    _check_settings(experiment.group)
    for member in sorts_of_members(experiment.group):
        _check_offered(experiment, member)


def sorts_of_members(group: Group) -> list[Group]:
    """The group as most of its members see it, and as each member that differs does."""
    return [group, *(group.of_member(number) for number in group.differing)]


def _check_images(experiment: Experiment) -> None:
    cluster = experiment.cluster
    if cluster.backend != "embedded" and cluster.kafka_version.startswith("3."):
        raise BadInput(
            f"Kafka {cluster.kafka_version} in containers cannot be judged, since its image logs "
            "through reload4j and has no log that the harness reads: choose KAFKA=4.0 or newer, or "
            "BACKEND=embedded"
        )


def _check_client_version(experiment: Experiment) -> None:
    group = experiment.group
    for version in {member.client_version for member in sorts_of_members(group)} - {""}:
        if version not in kafka_versions():
            raise BadInput(
                f"the Java client of Kafka {version} is not offered: choose "
                f"{' or '.join(kafka_versions())}"
            )
        if group.protocol == "consumer" and int(version.partition(".")[0]) < 4:
            raise BadInput(
                f"the Java client of Kafka {version} has a preview of protocol consumer only, "
                "which brokers of today do not speak: choose 4.0 or newer, or a classic protocol"
            )


def _check_replicas(experiment: Experiment) -> None:
    """Where fewer brokers are than replicas are wanted, there are as many replicas as brokers."""
    brokers, wanted = experiment.cluster.brokers, experiment.load.min_insync_replicas
    if wanted > brokers:
        raise BadInput(
            f"min_insync_replicas of {wanted} is more than brokers of {brokers} can hold, so no "
            f"record would ever be acknowledged: set min_insync_replicas={brokers}, or have more "
            "brokers"
        )


def _check_members(experiment: Experiment) -> None:
    group, faults = experiment.group, experiment.faults
    started = sum(fault.kind == "start-consumer" for fault in faults)
    ended = sum(fault.kind in _ENDING for fault in faults)
    if group.members + started <= ended:
        raise BadInput(
            f"of members of {group.members}, {started} more to be started and {ended} to be ended "
            "nobody is left who could show that the group recovers: have more members"
        )
    for number in group.differing:
        if not 1 <= number <= group.members + started:
            raise BadInput(
                f"member {number} differs, and there are members 1 to {group.members + started}: "
                "name one of those"
            )


def _check_settings(group: Group) -> None:
    """A single member may be meant to be refused by its own library; all of them are not."""
    for name in group.settings:
        if name in _DECLARED:
            raise BadInput(
                f"settings of the group have {name!r}, which is declared as {_DECLARED[name]}: say "
                f"{_DECLARED[name]} instead"
            )


def _check_offered(experiment: Experiment, member: Group) -> None:
    """The brokers are told to offer what the group speaks, unless the experiment says otherwise.

    Kafka 3 has a preview of KIP-848 (measured with 3.9.2): librdkafka's members never get into a
    group, and its log does not tell of the epoch that begins with a leave.
    """
    kafka = experiment.cluster.kafka_version
    if member.protocol == "consumer" and kafka.startswith("3."):
        raise BadInput(
            f"Kafka {kafka} has a preview of protocol consumer only, which librdkafka does not "
            "speak and which could not be judged: choose KAFKA=4.0 or newer, or a classic protocol"
        )
    setting = "group.coordinator.rebalance.protocols"
    offered = experiment.cluster.settings.get(setting)
    needed = "consumer" if member.protocol == "consumer" else "classic"
    if offered is not None and needed not in offered.replace(" ", "").split(","):
        raise BadInput(
            f"protocol {member.protocol} with brokers whose {setting} is {offered!r}: offer "
            f"{needed!r} there, or leave the setting out"
        )
