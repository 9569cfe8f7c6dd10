"""What the users of a cluster may do with the group and the topic, where an authorizer asks.

Each member's user has the ACLs that a consumer needs, and no more: READ on the group and READ on
the topic, each with the DESCRIBE that it includes. Other users may do everything with both. ACLs
are changed over the direct listeners, by the owner of a certificate who needs none.
"""

from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from harness.base.errors import ClusterError
from harness.base.wait import wait_until
from harness.cluster import wire
from harness.cluster.admin import answers
from harness.cluster.plan import GROUP, TOPIC, Plan

# What a right is to, by the words of an experiment.
_RESOURCES: Final = {
    "group": (ResourceType.GROUP, GROUP),
    "topic": (ResourceType.TOPIC, TOPIC),
}
RIGHTS: Final = tuple(_RESOURCES)
_ANY: Final = 1  # kind of resource, pattern, operation or permission
_PATIENCE_S: Final = 30.0
_ASK_S: Final = 5.0


def grant_all(plan: Plan) -> None:
    """Create every user's ACLs, if there is an authorizer, and wait until every broker knows them.

    A broker that knew only some would refuse the other users. Raises ClusterError, WaitTimeout.
    """
    if plan.secured is None or not plan.secured.trusted:
        return
    wanted = [_acl(user, to) for user in plan.secured.passwords for to in RIGHTS]
    _create(plan, wanted)
    wait_until(
        f"{len(wanted)} ACLs on every broker",
        lambda: all(known_by(node.port) >= len(wanted) for node in plan.brokers),
        timeout_s=_PATIENCE_S,
    )


def known_by(port: int) -> int:
    """How many ACLs a broker knows. Raises OSError."""
    kinds = ("resourceTypeFilter", "patternTypeFilter", "operation", "permissionType")
    texts = ("resourceNameFilter", "principalFilter", "hostFilter")
    every = {**dict.fromkeys(kinds, _ANY), **dict.fromkeys(texts)}
    answer = wire.ask(port, wire.DESCRIBE_ACLS, every, _ASK_S)
    if code := answer["errorCode"]:
        raise ConnectionError(f"the ACLs are not told: error {code}")
    return sum(len(resource["acls"]) for resource in answer["resources"])


def give(plan: Plan, user: str, to: str) -> None:
    """Create the ACL that lets a user use the group or the topic. Raises ClusterError."""
    _create(plan, [_acl(user, to)])


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


def _create(plan: Plan, wanted: Sequence[AclBinding]) -> None:
    answers(
        plan,
        lambda admin: admin.create_acls(list(wanted), request_timeout=_PATIENCE_S),
        "the ACLs could not be created",
    )


def _acl(user: str, to: str) -> AclBinding:
    return AclBinding(*_words(user, to))


def _words(user: str, to: str) -> tuple[Any, ...]:
    resource = _RESOURCES[to]
    operation = AclOperation.READ if user.startswith("member") else AclOperation.ALL
    pattern = ResourcePatternType.LITERAL
    return (*resource, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
