"""Faults of static members: end one and start another in its place, or start another beside it."""

import signal
from dataclasses import replace
from typing import Final

from consumers.consumer import ClientGaveUp
from harness.base.errors import BadInput, ClusterError
from harness.experiment import Experiment, Fault, one_of
from harness.history.effects import Breaks, Effects, Proof
from harness.run import joining
from harness.run.faults.kind import Evidence, Kind
from harness.run.faults.member_faults import JOIN_S, await_gone, close, ended_with, kill, terminate
from harness.run.faults.targets import Target
from harness.run.member import Member
from harness.run.scene import Scene

# From the start of a process to the answer to its first JoinGroup, on a busy machine.
_START_MS: Final = 1_500


def _check_static(fault: Fault, experiment: Experiment) -> None:
    if not experiment.group.static:
        raise BadInput(
            f"{fault.kind} of {fault.target} is about a group.instance.id that two processes "
            "share: give the group static=True"
        )


def _check_bounce(fault: Fault, experiment: Experiment) -> None:
    """It must be back well before the coordinator stops waiting for it."""
    _check_static(fault, experiment)
    one_of(f"how of {fault.kind}", fault.how or "nothing", ("close", "kill"))
    group = experiment.group
    silent_ms = (fault.lasts_s or 0) * 1_000 + group.heartbeat_gap_ms + _START_MS
    if silent_ms >= group.session_timeout_ms:
        raise BadInput(
            f"{fault.target} may be silent for {silent_ms / 1_000:g} s ({fault.lasts_s:g} s away, "
            "and a heartbeat interval and its start), and session_timeout_ms is "
            f"{group.session_timeout_ms / 1_000:g} s: it would be evicted; shorten lasts_s"
        )


def _end(scene: Scene, fault: Fault, target: Target) -> None:
    """End it one way or the other, and wait for that: from then on it is away."""
    member = scene.fleet.members[target.name]
    if fault.how == "kill":
        kill(scene, fault, target)
    elif member.foreign:
        terminate(scene, fault, target)
    else:
        close(scene, fault, target)
    scene.wait(f"end of {target.name}", lambda: not member.running, JOIN_S)


def _prove_ended(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """No process of it exists, and it ended in the way that was meant."""
    member = scene.fleet.members[target.name]
    meant = -signal.SIGKILL if fault.how == "kill" else 0
    await_gone(member)
    return Evidence(
        member.foreign or member.exit_code == meant,
        f"{member.instance}, exit code {member.exit_code}",
    )


def _start_in_its_place(scene: Scene, fault: Fault, target: Target) -> None:
    before = scene.fleet.members[target.name]
    successor = scene.fleet.start_member(scene.fleet.next_name(), before.instance_id)
    successor.expected_end = _is_refused(scene, fault)


def _is_refused(scene: Scene, fault: Fault) -> bool:
    """In KIP-848 an instance id is free only when its owner said so, as one that closes does."""
    return scene.experiment.group.protocol == "consumer" and fault.how != "close"


def _await_successor(scene: Scene, fault: Fault, target: Target) -> None:
    """The new process has been given partitions, or has given up where it is to be refused."""
    successor = _successor(scene, target)
    if not _is_refused(scene, fault):
        scene.wait(
            f"partitions for {successor.name} in the place of {target.name}",
            lambda: successor.ever_assigned,
            (lambda: joining.join_s(scene)) if successor.foreign else JOIN_S,
        )
        return
    scene.wait(
        f"end of {successor.name}, refused in the place of {target.name}",
        lambda: successor.ever_assigned or not successor.running,
        JOIN_S,
    )
    if successor.ever_assigned:
        raise ClusterError(
            f"{successor.name} was given partitions in the place of {target.name}, whose session "
            "had ended before it came: make the fault shorter, or the session longer"
        )


def _successor(scene: Scene, target: Target) -> Member:
    instance_id = scene.fleet.members[target.name].instance_id
    return [each for each in scene.fleet.members.values() if each.instance_id == instance_id][-1]


def _duplicate(scene: Scene, fault: Fault, target: Target) -> None:
    """The end of one of both is expected from now on: the older is fenced, or the newer refused."""
    if not _is_refused(scene, fault):
        scene.fleet.members[target.name].expected_end = True
    _start_in_its_place(scene, fault, target)


def _prove_one_gone(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """One of both processes ended as a program does whose client library gave up."""
    older = scene.fleet.members[target.name]
    gone = _successor(scene, target) if _is_refused(scene, fault) else older
    return ended_with(scene, gone, ClientGaveUp.exit_code)


_BOUNCE: Final = Effects(breaks=Breaks.MEMBER, starts_process=True, proof=Proof.SILENCE)

KINDS: Final = (
    Kind(
        "bounce-consumer",
        ("member",),
        _end,
        _prove_ended,
        _start_in_its_place,
        _await_successor,
        _check_bounce,
        effects={"close": _BOUNCE, "kill": replace(_BOUNCE, killed=True)},
    ),
    Kind(
        "start-duplicate",
        ("member",),
        _duplicate,
        _prove_one_gone,
        check=_check_static,
        effects=Effects(breaks=Breaks.MEMBER, starts_process=True, proof=Proof.FENCED),
    ),
)
