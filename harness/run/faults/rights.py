"""Faults of what a member's user may do: an ACL that it loses, credentials that are deleted.

Each member that such a fault may hit has a lane, and so a user, to itself. Some clients take a
refusal for the end of all and give up. Then another process is started in the member's place once
its user has again what was taken, as a supervisor would that has tried in vain until then.
"""

import socket
from collections.abc import Iterator
from functools import partial
from typing import Final

from consumers.consumer import ClientGaveUp
from consumers.probes.admission import Admission, NotAdmitted
from harness.base.errors import BadInput, ClusterError
from harness.base.ports import LOOPBACK
from harness.base.wait import wait_until
from harness.cluster import admin, wire
from harness.cluster.plan import GROUP, TOPIC
from harness.experiment import SASL_SSL, UNSET, Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind, Needed, outlasts_session
from harness.run.faults.member_faults import JOIN_S
from harness.run.faults.network import ports_of
from harness.run.faults.targets import Target
from harness.run.scene import Scene

REAUTHENTICATION: Final = "connections.max.reauth.ms"
_KNOWN_S: Final = 10.0  # for every broker to have read it from the controller's log
_ASK_S: Final = 5.0
_CLIENT_ID: Final = "harness"
_LOGIN: Final = "login"  # what is refused without credentials
# Kafka's code for a refusal of each: GROUP_ and TOPIC_AUTHORIZATION_FAILED.
_REFUSED: Final = {"group": 30, "topic": 29}


def _what(fault: Fault) -> str:
    return _LOGIN if fault.kind == "delete-credentials" else fault.how or admin.RIGHTS[0]


def _user(scene: Scene, target: Target) -> str:
    return scene.fleet.lane_of(target.name)


def _take(scene: Scene, fault: Fault, target: Target) -> None:
    """Take it from the user, and wait until every broker refuses it. Its client may end by that."""
    plan, user = scene.cluster.plan, _user(scene, target)
    scene.fleet.members[target.name].expected_end = True
    if _what(fault) == _LOGIN:
        admin.delete_user(plan, user)
    else:
        admin.take(plan, user, _what(fault))
    _await_answers(scene, fault, target, refused=True)


def _give(scene: Scene, fault: Fault, target: Target) -> None:
    plan, user = scene.cluster.plan, _user(scene, target)
    if _what(fault) == _LOGIN:
        admin.restore_user(plan, user)
    else:
        admin.give(plan, user, _what(fault))


def _prove(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """Every broker refuses a request as the user, by the way that the member comes."""
    answers = list(_answers(scene, fault, target))
    text = "; ".join(f"{broker} {answer or 'refuses nothing'}" for broker, answer in answers)
    asked = f"asked as {_user(scene, target)} through its proxies"
    return Evidence(bool(answers) and all(answer for _, answer in answers), f"{asked}, {text}")


def _await_answers(scene: Scene, fault: Fault, target: Target, *, refused: bool) -> None:
    """Raises WaitTimeout."""
    seen: list[tuple[str, str]] = []

    def met() -> bool:
        seen[:] = _answers(scene, fault, target)
        return bool(seen) and all(bool(answer) == refused for _, answer in seen)

    wait_until(
        f"{'refusal' if refused else 'admittance'} of {_user(scene, target)} by every broker",
        met,
        timeout_s=_KNOWN_S,
        saw=lambda: str(seen),
    )


def _answers(scene: Scene, fault: Fault, target: Target) -> Iterator[tuple[str, str]]:
    """How each broker refuses the user what the fault takes, in words; empty where it does not."""
    user = Target("lane", _user(scene, target))
    for broker, _, port in ports_of(scene, user):
        yield f"broker-{broker}", _refusal(scene, user.link, port, _what(fault))


def _refusal(scene: Scene, lane: str, port: int, what: str) -> str:
    """Log in as the user of a lane and ask for the group or the topic. Raises OSError."""
    secured = scene.cluster.plan.secured
    assert secured is not None  # the experiment has been checked
    try:
        with (
            socket.create_connection((LOOPBACK, port), _ASK_S) as link,
            Admission(secured.of_lane(lane)).enter(link, LOOPBACK) as secure,
        ):
            if what == _LOGIN:
                return ""
            code = _code(secure, what)
    except NotAdmitted as error:
        return f"lets no client in: {error}"
    return f"refuses the {what} (error {code})" if code == _REFUSED[what] else ""


def _code(link: socket.socket, what: str) -> int:
    """The error code of a broker's answer to a question about the group, or a fetch of the topic.

    It need not lead the partition: whether one may read it is looked at first.
    """
    if what == "group":
        answer = wire.ask_over(link, wire.DESCRIBE_GROUPS, {"groups": [GROUP]}, _ASK_S, _CLIENT_ID)
        return int(answer["groups"][0]["errorCode"])
    first = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1}
    asked = {
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 1,
        "isolationLevel": 0,
        "topics": [{"topic": TOPIC, "partitions": [first]}],
    }
    answer = wire.ask_over(link, wire.FETCH, asked, _ASK_S, _CLIENT_ID)
    return int(answer["responses"][0]["partitions"][0]["errorCode"])


def _await_back(scene: Scene, fault: Fault, target: Target) -> str:
    """Wait until the member reads again, or another process that is started in its place."""
    _await_answers(scene, fault, target, refused=False)
    member = scene.fleet.members[target.name]
    before = member.records
    patience_s = JOIN_S + scene.experiment.group.session_timeout_ms / 1_000
    scene.wait(
        f"records for {target.name}, or its end",
        lambda: member.records > before or not member.running,
        patience_s,
    )
    if member.running:
        member.expected_end = False
        return f"{target.name} reads again"
    if member.exit_code != ClientGaveUp.exit_code:
        raise ClusterError(
            f"{target.name} ended with exit code {member.exit_code}: "
            f"{scene.fleet.last_words(member.name)}"
        )
    successor = scene.fleet.start_member(scene.fleet.next_name())
    scene.wait(
        f"partitions for {successor.name} in the place of {target.name}",
        lambda: successor.ever_assigned,
        patience_s,
    )
    return f"{target.name} had given up; {successor.name} came in its place"


def _check(fault: Fault, experiment: Experiment) -> None:
    security = experiment.cluster.security
    if security != SASL_SSL:
        raise BadInput(
            f"{fault.kind} of {fault.target} needs users, and with security of {security} there "
            f"are none: use --security {SASL_SSL}"
        )


def _check_login(fault: Fault, experiment: Experiment) -> None:
    """A connection that is never asked again who it is would not notice."""
    _check(fault, experiment)
    session = experiment.cluster.settings.get(REAUTHENTICATION, UNSET)
    session_ms = int(session) if session.isdecimal() else 0
    lasts_ms = (fault.lasts_s or 0) * 1_000
    if not 0 < session_ms < lasts_ms:
        raise BadInput(
            f"{fault.kind} of {fault.target} for {lasts_ms / 1_000:g} s ends before a connection "
            f"has to log in again, with {REAUTHENTICATION} of {session_ms} (0: never): set it lower"
        )


def _check_needs(fault: Fault, experiment: Experiment, needed: Needed) -> None:
    """Who may not read the topic stays in its group, with some clients."""
    if _what(fault) != "topic":
        outlasts_session(fault, experiment, needed)


_REFUSES: Final = Effects(breaks=Breaks.RIGHTS, disturbs_heartbeats=True, starts_process=True)
_OF_A_USER: Final = partial(
    Kind,
    targets=("member",),
    inject=_take,
    prove=_prove,
    heal=_give,
    settle=_await_back,
    check_needs=_check_needs,
)

KINDS: Final = (
    _OF_A_USER("delete-acl", check=_check, effects=dict.fromkeys(admin.RIGHTS, _REFUSES)),
    _OF_A_USER("delete-credentials", check=_check_login, effects=_REFUSES),
)
