"""Commits, joins and leaves while the offsets topic lacks a replica, and the answers afterwards.

Played beside a fault that takes a broker away and brings it back. Members commit again and again,
so that a commit that failed and was made after all looks like the next one. Here nothing follows
it: that the log can be written to again is found out by commits of another partition. Members of
another group join and leave, or join and sync, again and again until one of these fails, and once
more: by then there is just time to see the second one fail as well.
"""

import time
from typing import Final

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.classic_member import Admin, ProbeMember, form
from consumers.probes.epoch_member import EpochMember
from consumers.probes.script import Scene, Script, until, worst
from harness.base.errors import ClusterError

_RULE: Final = "R31-withdrawn"
# Longer than until any fault begins, and than any broker is away.
_PATIENCE_S: Final = 60.0
_EVERY_S: Final = 0.25  # between two changes of a group
_WAITING_S: Final = 5.5  # longer than offsets.commit.timeout.ms
_UNKNOWN_MEMBER_ID: Final = 25
_NAMES: Final = 60  # groups to choose from: of three brokers, each coordinates a third of them


def play(config: ProbeConfig, journal: Journal) -> None:
    """Play both scenes at once, the second one in the protocol of the group under test.

    What is formed or committed first would wait for the replica, so no fault begins before.
    """
    script = Script(config, journal)
    changes = joins_and_leaves if config.protocol == "consumer" else joins_and_syncs
    scenes = [one_failed_commit(script), changes(script)]
    script.ready()
    script.play(scenes)


def one_failed_commit(script: Script) -> Scene:
    """Commit a position after the other until one is refused, and leave it at that."""
    group, topic = _group_of_a_broker_that_stays(script, "withdrawn"), script.config.topic
    admin = Admin(script, group, _RULE)
    admin.commit("commit of 0", {f"{topic}-0": 0})
    position = 0

    def refused() -> bool:
        nonlocal position
        position += 1
        answer = admin.commit(f"commit of {position}", {f"{topic}-0": position})
        return answer is None or worst(answer) != 0

    def written() -> bool:
        answer = admin.commit("commit of another partition", {f"{topic}-1": position})
        return answer is not None and worst(answer) == 0

    def scene(script: Script) -> None:
        until("commit that is refused", refused, timeout_s=_PATIENCE_S)
        admin.fetch("while nothing can be written", {topic: [0]})
        until("commit that is accepted again", written, timeout_s=_PATIENCE_S)
        for when in ("once the log can be written to", "and again"):
            admin.fetch(when, {topic: [0]})

    return scene


def joins_and_leaves(script: Script) -> Scene:
    """A member of KIP-848 comes and goes: each is a record.

    What it asks is in the brokers' logs alone: rules about answers to what scripts ask take it for
    granted that what is asked can be written.
    """
    group = _group_of_a_broker_that_stays(script, "changes")
    member = EpochMember(script, group, rule=None)

    def refused() -> bool:
        if member.join("join"):
            member.leave("leave after a join that was refused")
            return True
        if member.leave("leave"):
            member.epoch = 0
            member.join("join after a leave that was refused")
            return True
        return False

    def gone() -> bool:
        return member.leave("leave at the end") in (0, _UNKNOWN_MEMBER_ID)

    def scene(script: Script) -> None:
        until("join or leave that is refused", refused, timeout_s=_PATIENCE_S, every_s=_EVERY_S)
        until("leave that is accepted again", gone, timeout_s=_PATIENCE_S, every_s=_EVERY_S)

    return scene


def joins_and_syncs(script: Script) -> Scene:
    """A classic leader starts one rebalance after the other; then another has to wait for it."""
    group = _group_of_a_broker_that_stays(script, "joins")
    leader = ProbeMember(script, group, "X28-joins")
    other = ProbeMember(script, group, "X28-joins", "other")
    form([leader], "form the group")

    def refused() -> bool:
        leader.join("rejoin of the leader")
        given = {leader.member_id: [(script.config.topic, 0)]}
        answer = leader.begin_sync("sync of the leader", given).result()
        return answer is None or worst(answer) != 0

    def scene(script: Script) -> None:
        until("sync that is refused", refused, timeout_s=_PATIENCE_S, every_s=_EVERY_S)
        waiting = other.begin_join("join that has to wait for the leader")
        over_at = time.monotonic() + _WAITING_S
        until(
            "answer, or the time that one would take",
            lambda: waiting.done() or time.monotonic() > over_at,
        )
        leader.try_join("rejoin of the leader at last")
        leader.leave("leave at the end")
        answer = waiting.result()
        if answer is not None and not answer["errorCode"]:
            other.take()
            other.leave("leave at the end")

    return scene


def _group_of_a_broker_that_stays(script: Script, name: str) -> str:
    """A group with the coordinator of the group under test, which the fault spares."""
    spared = script.coordinator(script.config.group)
    for number in range(_NAMES):
        group = script.group(f"{name}-{number}")
        if script.coordinator(group) == spared:
            return group
    raise ClusterError(f"no group of {_NAMES} has broker {spared} for its coordinator")
