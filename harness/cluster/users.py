"""The users of a secured cluster: created over the direct listeners, and known to every broker.

One may be deleted and created again, with the password that it had.
"""

from collections.abc import Iterable
from typing import Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from harness.base.wait import wait_until
from harness.cluster import wire
from harness.cluster.admin import answers
from harness.cluster.plan import Plan

_MECHANISM: Final = ScramMechanism.SCRAM_SHA_512
_ITERATIONS: Final = 4_096  # the least that Kafka takes: each login of a client costs as many
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
        lambda: all(set(passwords) <= known_by(node.port) for node in plan.brokers),
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


def known_by(port: int) -> set[str]:
    """The users that a broker knows. Raises OSError."""
    answer = wire.ask(port, wire.DESCRIBE_USERS, {"users": None}, _ASK_S)
    if code := answer["errorCode"]:
        raise ConnectionError(f"the broker does not list its users: error {code}")
    for each in answer["results"]:
        if code := each["errorCode"]:
            raise ConnectionError(f"the broker does not show a user: error {code}")
    return {each["user"] for each in answer["results"]}
