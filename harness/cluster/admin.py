"""The brokers of a plan, asked by the library's admin client on listeners that no fault touches.

Of a secured cluster also its users, and what they may do. Where an authorizer asks, each member's
user has the ACLs that a consumer needs, and no more: READ on the group and READ on the topic, each
with the DESCRIBE that it includes. Other users may do everything with both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from harness.base.errors import ClusterError
from harness.base.wait import wait_until
from harness.cluster import wire
from harness.cluster.plan import GROUP, OUTPUT, TOPIC, Plan
from harness.experiment import Experiment

_CREATION_S: Final = 30
_ANSWER_S: Final = 40  # longer than a broker takes for anything: its own answer says more
_MECHANISM: Final = ScramMechanism.SCRAM_SHA_512
_ITERATIONS: Final = 4_096  # the least that Kafka takes: each login of a client costs as many
# What a right is to, by the words of an experiment.
_RESOURCES: Final = {"group": (ResourceType.GROUP, GROUP), "topic": (ResourceType.TOPIC, TOPIC)}
RIGHTS: Final = tuple(_RESOURCES)
_ANY: Final = 1  # kind of resource, pattern, operation or permission
_PATIENCE_S: Final = 30.0
_ASK_S: Final = 5.0


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
        return [each.result(timeout=_ANSWER_S) for each in ask(admin).values()]
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
    """What brokers are set to by their version alone. Raises ClusterError."""
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


def create_users(plan: Plan) -> None:
    """Create the user of each lane, if there are any, and wait until every broker knows them all.

    A broker that did not yet would refuse a client for good. Raises ClusterError, WaitTimeout.
    """
    passwords = plan.secured.passwords if plan.secured is not None else {}
    if not passwords:
        return
    _alter(plan, [_credentials(user, password) for user, password in passwords.items()])
    wait_until(
        f"{len(passwords)} users on every broker",
        lambda: all(set(passwords) <= users_known_by(node.port) for node in plan.brokers),
        timeout_s=_PATIENCE_S,
    )


def delete_user(plan: Plan, user: str) -> None:
    """Delete the credentials of a user: no login as that one works. Raises ClusterError."""
    _alter(plan, [UserScramCredentialDeletion(user, _MECHANISM)])


def restore_user(plan: Plan, user: str) -> None:
    """Give a user its password again. Raises ClusterError."""
    assert plan.secured is not None
    _alter(plan, [_credentials(user, plan.secured.passwords[user])])


def _credentials(user: str, password: str) -> UserScramCredentialAlteration:
    way = ScramCredentialInfo(_MECHANISM, _ITERATIONS)
    return UserScramCredentialUpsertion(user, way, password.encode())


def _alter(plan: Plan, wanted: Iterable[UserScramCredentialAlteration]) -> None:
    answers(
        plan,
        lambda admin: admin.alter_user_scram_credentials(list(wanted), request_timeout=_PATIENCE_S),
        "the users could not be changed",
    )


def users_known_by(port: int) -> set[str]:
    """The users that a broker knows. Raises OSError."""
    answer = wire.ask(port, wire.DESCRIBE_USERS, {"users": None}, _ASK_S)
    if code := answer["errorCode"]:
        raise ConnectionError(f"the broker does not list its users: error {code}")
    for each in answer["results"]:
        if code := each["errorCode"]:
            raise ConnectionError(f"the broker does not show a user: error {code}")
    return {each["user"] for each in answer["results"]}


def grant_all(plan: Plan) -> None:
    """Create every user's ACLs, if there is an authorizer, and wait until every broker knows them.

    A broker that knew only some would refuse the other users. Raises ClusterError, WaitTimeout.
    """
    if plan.secured is None or not plan.secured.trusted:
        return
    wanted = [AclBinding(*_words(user, to)) for user in plan.secured.passwords for to in RIGHTS]
    _create_acls(plan, wanted)
    wait_until(
        f"{len(wanted)} ACLs on every broker",
        lambda: all(acls_known_by(node.port) >= len(wanted) for node in plan.brokers),
        timeout_s=_PATIENCE_S,
    )


def acls_known_by(port: int) -> int:
    """How many ACLs a broker knows. Raises OSError."""
    kinds = ("resourceTypeFilter", "patternTypeFilter", "operation", "permissionType")
    texts = ("resourceNameFilter", "principalFilter", "hostFilter")
    every = {**dict.fromkeys(kinds, _ANY), **dict.fromkeys(texts)}
    answer = wire.ask(port, wire.DESCRIBE_ACLS, every, _ASK_S)
    if code := answer["errorCode"]:
        raise ConnectionError(f"the broker does not list its ACLs: error {code}")
    return sum(len(resource["acls"]) for resource in answer["resources"])


def give(plan: Plan, user: str, to: str) -> None:
    _create_acls(plan, [AclBinding(*_words(user, to))])


def take(plan: Plan, user: str, to: str) -> None:
    """Delete that ACL. Raises ClusterError, also where there was none."""
    wanted = AclBindingFilter(*_words(user, to))
    [deleted] = answers(
        plan,
        lambda admin: admin.delete_acls([wanted], request_timeout=_PATIENCE_S),
        f"the ACL of {user} could not be deleted",
    )
    if not deleted:
        raise ClusterError(f"{user} had no ACL on the {to} that could be deleted")


def _create_acls(plan: Plan, wanted: Sequence[AclBinding]) -> None:
    answers(
        plan,
        lambda admin: admin.create_acls(list(wanted), request_timeout=_PATIENCE_S),
        "the ACLs could not be created",
    )


def _words(user: str, to: str) -> tuple[Any, ...]:
    resource = _RESOURCES[to]
    operation = AclOperation.READ if user.startswith("member") else AclOperation.ALL
    pattern = ResourcePatternType.LITERAL
    return (*resource, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
