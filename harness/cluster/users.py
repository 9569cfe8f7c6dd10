"""The users of a secured cluster, and what they may do: over the direct listeners, known to all.

A user may be deleted and created again, with the password that it had. Where an authorizer asks,
each member's user has the ACLs that a consumer needs, and no more: READ on the group and READ on
the topic, each with the DESCRIBE that it includes. Other users may do everything with both.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
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
from harness.cluster.admin import answers
from harness.cluster.plan import GROUP, TOPIC, Plan

_MECHANISM: Final = ScramMechanism.SCRAM_SHA_512
_ITERATIONS: Final = 4_096  # the least that Kafka takes: each login of a client costs as many
# What a right is to, by the words of an experiment.
_RESOURCES: Final = {"group": (ResourceType.GROUP, GROUP), "topic": (ResourceType.TOPIC, TOPIC)}
RIGHTS: Final = tuple(_RESOURCES)
_ANY: Final = 1  # kind of resource, pattern, operation or permission
_PATIENCE_S: Final = 30.0
_ASK_S: Final = 5.0


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
    """Delete the credentials of a user: nobody can log in as that one. Raises ClusterError."""
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
        raise ConnectionError(f"the ACLs are not told: error {code}")
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
