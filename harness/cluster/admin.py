"""The brokers of a plan, asked by the library's admin client on listeners that no fault touches."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from harness.base.errors import ClusterError
from harness.base.wait import wait_until
from harness.cluster import wire
from harness.cluster.plan import OUTPUT, TOPIC, Plan
from harness.experiment import Experiment

_CREATION_S: Final = 30
_PATIENCE_S: Final = 40  # longer than a broker takes for anything: its own answer says more


def admin_of(plan: Plan) -> AdminClient:
    return AdminClient(plan.harness())


def answers(
    plan: Plan, ask: Callable[[AdminClient], Mapping[Any, Future[Any]]], failed: str
) -> list[Any]:
    """Ask something for several things, and wait for what came of each.

    Raises ClusterError, with what has `failed` and why.
    """
    admin = admin_of(plan)  # kept until it has answered
    try:
        return [each.result(timeout=_PATIENCE_S) for each in ask(admin).values()]
    except (KafkaException, TimeoutError) as error:
        raise ClusterError(f"{failed}: {error}") from error


def described(plan: Plan) -> dict[str, ConfigEntry]:
    """Every setting of the first broker, asked on its direct listener.

    Raises ClusterError where it does not tell.
    """
    asked = ConfigResource(ResourceType.BROKER, str(plan.brokers[0].id))
    found: dict[str, ConfigEntry]
    [found] = answers(
        plan,
        lambda admin: admin.describe_configs([asked]),
        "the brokers did not answer with their settings",
    )
    return found


def defaults(plan: Plan) -> dict[str, str]:
    """What brokers are set to by nobody but their version. Raises ClusterError."""
    return {
        name: str(entry.value)
        for name, entry in sorted(described(plan).items())
        if entry.is_default and not entry.is_sensitive
    }


def create_topic(plan: Plan, experiment: Experiment) -> None:
    """Create the topic over the direct listeners, once enough brokers are registered.

    Raises WaitTimeout or ClusterError.
    """
    load = experiment.load
    settings: dict[str, dict[str, str]] = {TOPIC: {}}
    if experiment.group.commit == "transaction":
        settings[OUTPUT] = {}
    if (app := experiment.app) is not None and app.effects.output_topic:
        # By the clock of the brokers it is known when a record was written.
        settings[app.effects.output_topic] = {"message.timestamp.type": "LogAppendTime"}
    topics = [
        NewTopic(
            name,
            num_partitions=load.partitions,
            replication_factor=min(load.replication, len(plan.brokers)),
            config={"min.insync.replicas": str(load.min_insync_replicas), **more},
        )
        for name, more in settings.items()
    ]
    _create(plan, topics)


def create_topics(plan: Plan, topics: Mapping[str, int]) -> None:
    """Create topics with so many partitions each, and as many replicas as the brokers' default.

    Raises as `create_topic` does.
    """
    replicas = int(plan.settings["default.replication.factor"])
    _create(
        plan,
        [
            NewTopic(name, num_partitions=count, replication_factor=replicas)
            for name, count in topics.items()
        ],
    )


def _create(plan: Plan, topics: list[NewTopic]) -> None:
    wait_until(
        f"{len(plan.brokers)} registered brokers",
        lambda: all(
            len(wire.metadata(node.port, [], 5).brokers) == len(plan.brokers)
            for node in plan.brokers
        ),
        timeout_s=60,
    )
    answers(
        plan,
        lambda admin: admin.create_topics(topics, operation_timeout=_CREATION_S),
        "the topic could not be created",
    )
