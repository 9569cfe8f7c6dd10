"""Faults of group members: kill, freeze, close, start one more, stall its processing."""

import time
from contextlib import suppress
from typing import Final

from harness.base.errors import BadInput, WaitTimeout
from harness.base.wait import wait_until
from harness.experiment import Experiment, Fault, Need
from harness.history.effects import Breaks, Effects, Proof
from harness.run import joining
from harness.run.faults.kind import Evidence, Kind, Needed, outlasts_session
from harness.run.faults.targets import Target
from harness.run.member import Member
from harness.run.scene import Scene
from harness.run.why import SAY_START

_SOON_S: Final = 5.0
JOIN_S: Final = 30.0
_IN_TRANSACTION: Final = "in a transaction"


def _check_kill(fault: Fault, experiment: Experiment) -> None:
    if fault.how == _IN_TRANSACTION and experiment.group.commit != "transaction":
        raise BadInput(
            f"{fault.target} cannot be killed in a transaction, since its group commits by "
            f"{experiment.group.commit!r}: use commit='transaction', or leave how out"
        )


def kill(scene: Scene, fault: Fault, target: Target) -> None:
    member = scene.fleet.members[target.name]
    if fault.how == _IN_TRANSACTION:
        member.send("hold-transaction")
        scene.wait(f"open transaction of {target.name}", lambda: member.in_transaction, JOIN_S)
    scene.fleet.note(member, "SIGKILL")
    member.kill()


def _prove_killed(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """No process of it exists, in the kernel's words, or the engine's of its container."""
    member = scene.fleet.members[target.name]
    await_gone(member)
    return Evidence(True, str(member.instance))


def await_gone(member: Member) -> None:
    """Wait until nothing of it is left. Raises WaitTimeout."""
    wait_until(f"end of {member.name}", lambda: member.gone, timeout_s=_SOON_S, every_s=0.005)


def _prove_frozen(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """The kernel says stopped, or the engine paused of its container."""
    member = scene.fleet.members[target.name]
    frozen = wait_until(
        f"stop of {target.name}", lambda: member.instance.frozen, timeout_s=_SOON_S, every_s=0.005
    )
    return Evidence(frozen, str(member.instance))


def close(scene: Scene, _fault: Fault, target: Target) -> None:
    scene.fleet.members[target.name].close()


def ended_with(scene: Scene, member: Member, code: int) -> Evidence:
    """Wait for its end, which is to be with this exit code."""
    try:
        scene.wait(f"end of {member.name}", lambda: not member.running, JOIN_S)
    except WaitTimeout as timeout:
        return Evidence(False, str(timeout))
    words = f": {scene.fleet.last_words(member.name)}" if code else ""
    found = f"{member.name} ended with exit code {member.exit_code}{words}"
    return Evidence(member.exit_code == code, found)


def terminate(scene: Scene, _fault: Fault, target: Target) -> None:
    """From its signal to its end, so that no request of it may come after that."""
    member = scene.fleet.members[target.name]
    scene.fleet.end_in_order(member, follow=scene.follow)


def terminated(member: Member) -> Evidence:
    """Nothing of it is left, and ours ended with 0: how a program ends is for the judge."""
    if member.ending is None or not member.gone:
        return Evidence(False, f"{member.name} still runs, SIGKILL notwithstanding")
    in_order = not member.ending.killed and member.ending.exit_code == 0
    return Evidence(member.foreign or in_order, f"{member.name} ended {member.ending}")


def is_in_group(scene: Scene, member: Member) -> bool:
    """Whether the group is stable with this member in it.

    One of ours knows by its own callback. A member too many may never be called: then the
    coordinator's count shows it.
    """
    if scene.view.group.get("state") != "Stable":
        return False
    if member.foreign:
        return member.started and not member.closed
    if member.ever_assigned:
        return True
    # First what costs nothing: a deploy asks this of hundreds at each look.
    counted = int(scene.view.group.get("members", 0))
    return counted > scene.partitions and counted == len(scene.fleet.live())


def is_lost(scene: Scene, member: Member, started_at: float) -> bool:
    """Whether a process will not come; `started_at` is in monotonic seconds."""
    if not member.running:
        return True
    late = member.foreign and time.monotonic() >= started_at + joining.start_s(scene)
    return late and not scene.fleet.brokers.requests.get(member.name)


def how_it_came(scene: Scene, member: Member) -> Evidence:
    """What there is of a program that was started: a JoinGroup on record is proof enough."""
    name, refused = member.name, scene.fleet.brokers.refused.get(member.name)
    if member.started:  # whether or not the group is stable just now
        left = ", and it has left again" if member.closed else ""
        return Evidence(True, f"a coordinator let {name} into the group{left}")
    if member.asked_at:
        after_s = (member.asked_at - member.started_at) / 1e6
        became = "is not in the group" if refused is None else f"was refused with error {refused}"
        return Evidence(True, f"{name} asked to join {after_s:.1f} s after its start, and {became}")
    ended = "" if member.running else f"ended with exit code {member.exit_code}"
    if refused is not None:
        after = f", and {ended}" if ended else ""
        text = f"{name} asked to join, was refused with error {refused}{after}"
    elif ended:
        text = f"{name} {ended} before it asked to join"
    elif not scene.fleet.brokers.requests.get(name):
        waited = f"{joining.start_s(scene):g} s"
        text = f"{name} has asked these brokers for nothing within {waited} of its start: if "
        text += f"it takes longer, {SAY_START}"
    else:
        text = f"{name} has spoken to the brokers, and no JoinGroup of it was answered"
    return Evidence(False, text)


def _prove_started(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """The coordinator counts one member more, or let one of the program's into the group."""
    member = scene.fleet.members[target.name]
    if member.foreign:
        return _prove_program_started(scene, member)
    before = len(scene.fleet.live()) - 1
    try:
        scene.wait(
            f"group with {before + 1} members",
            lambda: bool(scene.view.group.get("members") == before + 1),
            JOIN_S,
        )
    except WaitTimeout as timeout:
        return Evidence(False, str(timeout))
    return Evidence(True, f"the coordinator counts {before + 1} members, {before} before")


def _prove_program_started(scene: Scene, member: Member) -> Evidence:
    """Wait for its JoinGroup as long as for ours: what is to be healed next would be late."""
    started_at = time.monotonic()

    def enough() -> bool:
        asked = bool(member.asked_at) and time.monotonic() >= started_at + JOIN_S
        return asked or is_in_group(scene, member) or is_lost(scene, member, started_at)

    with suppress(WaitTimeout):
        scene.wait(f"{member.name} in the group", enough, lambda: joining.join_s(scene))
    return how_it_came(scene, member)


# Closer than this to max.poll.interval.ms it is unknown which side a stall fell on: librdkafka
# looks at it twice a second.
_TELLABLE_MS: Final = 1_000


def _check_stall(fault: Fault, experiment: Experiment, needed: Needed) -> None:
    """A stall must lie clearly past a limit; one of all, on the side that each rule is about."""
    group = experiment.group
    stall_ms = (fault.lasts_s or 0) * 1_000
    past = {
        (each.lasts_s or 0) * 1_000 > group.max_poll_interval_ms
        for each in experiment.faults
        if each.kind == fault.kind
    }
    poll_end = Need.MAX_POLL_END in needed
    if stall_ms <= group.session_timeout_ms or (poll_end and True not in past):
        name = "max_poll_interval_ms" if poll_end else "session_timeout_ms"
        raise BadInput(
            f"the stall of {stall_ms / 1_000:g} s ends before {name} of "
            f"{getattr(group, name) / 1_000:g} s: nothing would be exercised; make the stall "
            "longer or the limit shorter"
        )
    if Need.STALL_WITHIN_MAX_POLL in needed and False not in past:
        raise BadInput(
            f"the stall of {stall_ms / 1_000:g} s passes max_poll_interval_ms of "
            f"{group.max_poll_interval_ms / 1_000:g} s, so it shows nothing about the session "
            "timeout alone: make it shorter or the limit longer"
        )
    if abs(stall_ms - group.max_poll_interval_ms) < _TELLABLE_MS:
        raise BadInput(
            f"the stall of {stall_ms / 1_000:g} s is too close to max_poll_interval_ms of "
            f"{group.max_poll_interval_ms / 1_000:g} s to tell on which side it fell: keep them "
            f"{_TELLABLE_MS / 1_000:g} s apart"
        )


def _stall(scene: Scene, fault: Fault, target: Target) -> None:
    assert fault.lasts_s is not None
    order = "stall" if fault.kind == "stall-consumer" else fault.kind
    scene.fleet.members[target.name].send(f"{order} {round(fault.lasts_s * 1_000)}")


def _prove_stalled(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """Seen from outside: records wait on its partitions, and its journal shows no poll for 1 s."""
    member = scene.fleet.members[target.name]
    polls_seen = {"polls": -1, "since": 0.0}

    def quiet() -> bool:
        now = time.monotonic()
        if member.polls != polls_seen["polls"]:
            polls_seen.update(polls=member.polls, since=now)
        return now - polls_seen["since"] >= 1.0

    try:
        scene.wait(f"{target.name} without a poll for 1 s", quiet, _SOON_S)
    except WaitTimeout as timeout:
        return Evidence(False, str(timeout))
    return Evidence(True, f"{target.name} has not polled for 1 s; its last poll was {member.polls}")


def _await_stall_end(scene: Scene, _fault: Fault, target: Target) -> None:
    """The stall ends by itself, or a later fault has ended the member during it."""
    member = scene.fleet.members[target.name]
    scene.wait(
        f"end of the stall of {target.name}",
        lambda: member.stalls_ended > 0 or not member.running,
        10,
    )


def _check_callback_stall(fault: Fault, experiment: Experiment) -> None:
    """It needs a rebalance to happen in, and a limit that it passes."""
    stall_ms = (fault.lasts_s or 0) * 1_000
    limit_ms = experiment.group.max_poll_interval_ms
    if stall_ms < limit_ms + _TELLABLE_MS:
        raise BadInput(
            f"the stall of {stall_ms / 1_000:g} s in a callback does not pass max_poll_interval_ms "
            f"of {limit_ms / 1_000:g} s clearly: keep it {_TELLABLE_MS / 1_000:g} s above"
        )
    starting_one = {
        kind.name
        for kind in KINDS
        for each in kind.ways.values()
        if each.adds_member or each.ends_member
    }
    if not any(other.kind in starting_one for other in experiment.faults):
        raise BadInput(
            f"{fault.kind} of {fault.target} waits for a rebalance, and nothing in the experiment "
            "starts one: add a start-consumer after it"
        )


def _prove_ordered(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """The stall comes in the next rebalance only: the record of the run shows it."""
    running = scene.fleet.members[target.name].running
    return Evidence(running, f"{target.name} is to stall in its next rebalance")


_CRASH: Final = Effects(breaks=Breaks.MEMBER, killed=True, ends_member=True, proof=Proof.SILENCE)

KINDS: Final = (
    Kind(
        "kill-consumer",
        ("member",),
        kill,
        _prove_killed,
        check=_check_kill,
        effects={"at once": _CRASH, _IN_TRANSACTION: _CRASH},
    ),
    Kind(
        "freeze-consumer",
        ("member",),
        lambda scene, _fault, target: scene.fleet.members[target.name].instance.freeze(),
        _prove_frozen,
        lambda scene, _fault, target: scene.fleet.members[target.name].instance.thaw(),
        check_needs=outlasts_session,
        effects=Effects(breaks=Breaks.MEMBER, disturbs_heartbeats=True, proof=Proof.SILENCE),
    ),
    Kind(
        "close-consumer",
        ("member",),
        close,
        lambda scene, _fault, target: ended_with(scene, scene.fleet.members[target.name], 0),
        effects=Effects(breaks=Breaks.MEMBER, ends_member=True, proof=Proof.LEAVE),
        by_order=True,
    ),
    Kind(
        "terminate-consumer",
        ("member",),
        terminate,
        lambda scene, _fault, target: terminated(scene.fleet.members[target.name]),
        # That it leaves is what a program should do, and not what shows that it was ended.
        effects=Effects(breaks=Breaks.MEMBER, ends_member=True, proof=Proof.SILENCE),
    ),
    Kind(
        "start-consumer",
        ("new member",),
        lambda scene, _fault, target: scene.fleet.start_member(target.name),
        _prove_started,
        effects=Effects(
            breaks=Breaks.MEMBER, adds_member=True, starts_process=True, proof=Proof.JOIN
        ),
    ),
    Kind(
        "stall-consumer",
        ("member",),
        _stall,
        _prove_stalled,
        settle=_await_stall_end,
        check_needs=_check_stall,
        effects=Effects(breaks=Breaks.MEMBER, stalls=True, proof=Proof.STALL),
        by_order=True,
    ),
    Kind(
        "stall-callback",
        ("member",),
        _stall,
        _prove_ordered,
        settle=_await_stall_end,
        check=_check_callback_stall,
        effects=Effects(breaks=Breaks.MEMBER, stalls=True, proof=Proof.CALLBACK_STALL),
        by_order=True,
    ),
)
