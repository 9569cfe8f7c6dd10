"""What is refused before anything runs, though every part of the experiment is fine by itself."""

from collections.abc import Iterable
from typing import Final

from harness.base.errors import BadInput
from harness.base.words import plural
from harness.catalogue.kafka_settings import check_release
from harness.experiment import PLAINTEXT, UNSET, Experiment, Fault, Group, Need
from harness.experiment.value_checks import numbers_of
from harness.provision import wheels
from harness.provision.kafka import check_client_offered, check_offered
from harness.rules.rule_names import name_of
from harness.run.faults import KINDS, Needed, effects_of, state_of
from harness.run.roles import changes, headcount, lanes

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
    "security.protocol": "security of the cluster",
    "session.timeout.ms": "session_timeout_ms",
}


_PEM_SINCE: Final = (2, 7)  # KIP-651


def check_together(experiment: Experiment) -> None:
    """Refuse parts of an experiment that no run could have together.

    Raises BadInput naming both, and the remedy.
    """
    check_offered(experiment.cluster.kafka_version)
    check_release(experiment.cluster.settings, experiment.cluster.releases[0])
    if experiment.cluster.upgraded_from:
        _check_upgrade(experiment)
    _check_images(experiment)
    _check_security(experiment)
    _check_client_versions(experiment)
    _check_replicas(experiment)
    _check_members(experiment)
    lanes(experiment)  # which refuses more processes than there can be lanes for
    if not experiment.one_by_one:  # those are never there together
        _check_overlaps(experiment.faults)
    _check_settings(experiment.group)
    for member in sorts_of_members(experiment.group):
        _check_offered(experiment, member)


def check_exercised(experiment: Experiment, needed: Needed) -> None:
    """Refuse rules that nothing in the experiment can exercise, where that is certain.

    Probes and saboteurs do what no fault says, and slow members stall by themselves. Raises
    BadInput naming the rules and what they need.
    """
    group, effects = experiment.group, [effects_of(fault) for fault in experiment.faults]
    alone = any(not probe.beside for probe in experiment.probes)
    if alone or any(member.sabotage for member in sorts_of_members(group)):
        return
    silent = any(
        not each.below_limits
        and (each.disturbs_heartbeats or each.killed or each.ends_member or each.stalls)
        for each in effects
    )
    batch_ms = max(
        member.batch_records * member.process_us / 1_000 for member in sorts_of_members(group)
    )
    stalled = any(each.stalls for each in effects) or batch_ms > group.session_timeout_ms
    for need, there in (
        (Need.SESSION_END, silent),
        (Need.MAX_POLL_END, stalled),
        (Need.STALL_WITHIN_MAX_POLL, stalled),
    ):
        if not there and (rules := needed.get(need)):
            raise BadInput(
                f"no fault here causes {need}, which {', '.join(rules)} "
                f"{'needs' if len(rules) == 1 else 'need'}: add one that does, or leave "
                f"{'it' if len(rules) == 1 else 'them'} out"
            )


def sorts_of_members(group: Group) -> list[Group]:
    """The group as most of its members see it, and as each member that differs does."""
    return [group, *(group.of_member(number) for number in group.differing)]


def _check_images(experiment: Experiment) -> None:
    cluster = experiment.cluster
    if cluster.backend != "embedded" and cluster.kafka_version.startswith("3."):
        raise BadInput(
            f"Kafka {cluster.kafka_version} in containers cannot be judged, since its image logs "
            "through reload4j and has no log that the harness reads: choose --kafka 4.0.0 or newer"
            f"{', or --backend embedded' if 'embedded' in experiment.backends else ''}"
        )


def _check_security(experiment: Experiment) -> None:
    """A cluster that is up already is as it is, and old clients of Java cannot read PEM files."""
    cluster = experiment.cluster
    if cluster.security == PLAINTEXT:
        return
    if cluster.backend == "compose":
        raise BadInput(
            f"security of {cluster.security} with the cluster of docker-compose.yml, whose "
            "listeners are plain text: use --backend embedded or --backend docker"
        )
    for member in sorts_of_members(experiment.group):
        version = member.client_version
        if member.client == "java" and version and numbers_of(version) < _PEM_SINCE:
            raise BadInput(
                f"security of {cluster.security} with the Java client of Kafka "
                f"{version}, which cannot read PEM files: choose 2.7.0 or newer, or "
                "--security plaintext"
            )


def _check_upgrade(experiment: Experiment) -> None:
    """A cluster whose nodes have an older release at first, which faults bring to the newer one."""
    cluster = experiment.cluster
    before, after = cluster.upgraded_from, cluster.kafka_version
    check_offered(before)
    if cluster.backend != "embedded":
        raise BadInput(
            f"upgraded_from of {before} with nodes that are containers, each of one image: choose "
            "--backend embedded, or leave it out"
        )
    if numbers_of(before) >= numbers_of(after):
        raise BadInput(
            f"upgraded_from of {before} is not older than Kafka {after}, and a cluster's metadata "
            f"cannot be downgraded: choose a release before {after}, or a newer one by --kafka"
        )
    if not any(KINDS[fault.kind].upgrades for fault in experiment.faults):
        raise BadInput(
            f"upgraded_from of {before} without a fault that upgrades a node, so that no node "
            f"would ever be Kafka {after}: add one of kind upgrade-broker, or leave it out"
        )
    for expect in experiment.rules:
        fitting = [each for each in cluster.releases if each.startswith(expect.kafka or "")]
        if len(fitting) == 1:
            raise BadInput(
                f"{name_of(expect.rule)} is expected of Kafka {fitting[0]} alone, and this cluster "
                f"is upgraded from {before} to {after}: leave that expectation out"
            )
    if experiment.probes:
        raise BadInput(
            f"what brokers answer to probe {experiment.probes[0].name} depends on their release, "
            f"which changes from {before} to {after} during the run: leave the probe out"
        )


def check_client_version(client: str, version: str) -> None:
    """Refuse what is no version of this client that members could have. Raises BadInput."""
    if client == "java":
        check_client_offered(version)
    else:
        wheels.check_offered(version)


def _check_client_versions(experiment: Experiment) -> None:
    for member in sorts_of_members(experiment.group):
        version = member.client_version
        if not version:
            continue
        check_client_version(member.client, version)
        if member.protocol != "consumer":
            continue
        numbers = numbers_of(version)
        if member.client == "java" and numbers < (4,):
            raise BadInput(
                f"the Java client of Kafka {version} has a preview of protocol consumer only, "
                "which brokers of today do not speak: choose 4.0.0 or newer, or a classic protocol"
            )
        if member.client == "librdkafka" and numbers < (2, 4):
            raise BadInput(
                f"confluent-kafka {version} does not speak protocol consumer: choose 2.4.0 or "
                "newer, or a classic protocol"
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
    group, changed, count = experiment.group, changes(experiment), headcount(experiment)
    if count.left < 1:
        started = sum(change.started for _, _, change in changed)
        ended = sum(change.ended for _, _, change in changed)
        raise BadInput(
            f"{plural(group.members, 'member')}, {started} started and {ended} ended by faults: "
            "no member is left to show that the group recovers; raise members"
        )
    for fault, members, change in changed:
        if change.ended > members:
            raise BadInput(
                f"{fault.kind} of {fault.target} ends {plural(change.ended, 'member')} when there "
                f"are only {members}: end fewer, or raise members"
            )
    for number in group.differing:
        if not 1 <= number <= count.ever:
            raise BadInput(
                f"differing names member {number}, and there are members 1 to {count.ever}: name "
                "one of those"
            )


def _check_overlaps(faults: Iterable[Fault]) -> None:
    """The heal of one would end the other as well, and each would be judged as if alone.

    A role such as "any member" may be another one each time, and what two roles mean is known only
    when they are resolved: the nemesis sees to those.
    """
    ends_s: dict[tuple[str, str, str | None], tuple[float, Fault]] = {}
    for fault in sorted(faults, key=lambda each: each.at_s):
        what = (state_of(fault), fault.target, fault.of_broker)
        if not fault.lasts_s or fault.target.startswith("any "):
            continue
        end_s, before = ends_s.get(what, (0.0, fault))
        if fault.at_s < end_s:
            other = "the one" if before.kind == fault.kind else before.kind
            raise BadInput(
                f"{fault.kind} of {fault.target} at {fault.at_s:g} s may begin before {other} at "
                f"{before.at_s:g} s has ended, at {end_s:g} s: move them apart, or declare one"
            )
        ends_s[what] = (fault.at_s + fault.jitter_s + fault.lasts_s, fault)


def _check_settings(group: Group) -> None:
    """A single member may be meant to be refused by its own library; all of them are not."""
    for name, value in group.settings.items():
        if name in _DECLARED and value != UNSET:
            raise BadInput(
                f"settings of the group have {name!r}, which has a field of its own: use "
                f"{_DECLARED[name]} instead"
            )


def _check_offered(experiment: Experiment, member: Group) -> None:
    """The brokers are set to offer what the group speaks, unless the experiment says otherwise.

    Kafka 3 has a preview of KIP-848 (measured with 3.9.2): librdkafka's members never get into a
    group, and its log does not tell of the epoch that begins with a leave.
    """
    kafka = experiment.cluster.releases[0]
    if member.protocol == "consumer" and kafka.startswith("3."):
        raise BadInput(
            f"Kafka {kafka} has a preview of protocol consumer only, which librdkafka does not "
            "speak and which could not be judged: choose --kafka 4.0.0 or newer, or a classic "
            "protocol"
        )
    setting = "group.coordinator.rebalance.protocols"
    offered = experiment.cluster.settings.get(setting)
    needed = "consumer" if member.protocol == "consumer" else "classic"
    if offered is not None and needed not in offered.replace(" ", "").split(","):
        raise BadInput(
            f"protocol {member.protocol} with brokers whose {setting} is {offered!r}: offer "
            f"{needed!r} there, or leave the setting out"
        )
