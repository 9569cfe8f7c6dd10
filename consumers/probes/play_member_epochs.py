"""Commits with epochs that a member of KIP-848 has had, has, and never had; the group described.

A second member's join takes partitions from the first and moves it on to a later epoch; what it
keeps was given to it in the epoch before. When both have what they are to have, the group is
described by the call that knows such groups, and by the one that does not. In another group a
partition is committed that is being given up; of a third one an administrator deletes what is used
and what is not.
"""

from collections.abc import Sequence
from typing import Final

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.admin import create_topic, delete_group, delete_position
from consumers.probes.epoch_member import EpochMember
from consumers.probes.member import ProbeMember
from consumers.probes.script import Question, Script

_DESCRIBE_VERSION: Final = 0


def play(config: ProbeConfig, journal: Journal) -> None:
    script = Script(config, journal)
    script.play((later_epochs, to_be_given_up, used))


def later_epochs(script: Script) -> None:
    """Two members, of which the first gives partitions up for the second."""
    group = script.group("member-epochs", epochs=True)
    first, second = (EpochMember(script, group, "X22") for _ in range(2))
    first.heartbeat("join")
    first.heartbeat("acknowledge", owns=first.given)
    had, before = first.epoch, first.partitions()
    kept = min(before)
    _commit(first, "commit with the epoch it has", kept, first.epoch, had)
    second.heartbeat("join of the second member")

    def shrunk() -> bool:
        first.heartbeat("heartbeat until something is taken")
        return first.partitions() < before

    script.until("partitions taken from the first member", shrunk)

    def later() -> bool:
        first.heartbeat("acknowledge", owns=first.given)
        return first.epoch > had

    script.until("later epoch of the first member", later)
    kept, taken = min(first.partitions()), min(before - first.partitions())
    _commit(first, "commit of a kept partition, with the epoch it has", kept, first.epoch, had)
    _commit(first, "commit of a kept partition, with the epoch before", kept, had, had)
    _commit(first, "commit of a partition taken, with the epoch before", taken, had, None)
    _commit(first, "commit with an epoch to come", kept, first.epoch + 1, had)

    def settled() -> bool:
        for member in (first, second):
            member.heartbeat("heartbeat until both have theirs", owns=member.given)
        return first.epoch == second.epoch and second.partitions() == before - first.partitions()

    script.until("all partitions given to the two members", settled)
    second.heartbeat("acknowledge", owns=second.given)
    _describe(script, group, (first, second))


def to_be_given_up(script: Script) -> None:
    """Commits of a partition that its member has been told to give up, and has not yet.

    The member was given it in an epoch before its present one, which a change of what it subscribes
    to has raised.
    """
    group = script.group("to-be-given-up", epochs=True)
    first, second = (EpochMember(script, group, "X22") for _ in range(2))
    first.heartbeat("join")
    first.heartbeat("acknowledge", owns=first.given)
    since, before = first.epoch, first.partitions()
    topics = [script.config.topic, f"{script.config.topic}-not-there"]

    def later() -> bool:
        first.heartbeat("subscribe to one topic more", owns=first.given, topics=topics)
        return first.epoch > since

    script.until("later epoch of the member", later)
    second.heartbeat("join of the second member")

    def shrunk() -> bool:
        first.heartbeat("heartbeat until something is taken")
        return first.partitions() < before

    script.until("partitions taken from the first member", shrunk)
    taken = min(before - first.partitions())
    _commit(
        first, "commit of what is to be given up, with the epoch it has", taken, first.epoch, since
    )
    _commit(first, "commit of what is to be given up, with the epoch before", taken, since, since)


def _commit(member: EpochMember, step: str, number: int, epoch: int, since: int | None) -> None:
    """Commit one partition with an epoch; `since` is the one that it was given in, if it is."""
    expected = {"member_epoch": member.epoch, "assignment_epoch": since}
    position = {(member.script.config.topic, number): 0}
    member.commit(step, position, epoch=epoch, expected=expected)


def used(script: Script) -> None:
    """An administrator's deletes and commit: of no group, one with a member, and an empty one."""
    group, topic = script.group("used", epochs=True), script.config.topic
    other = script.group("used-not")
    create_topic(script, other, [[next(iter(script.brokers.addresses))]])
    nobody = ProbeMember(script, group, "X30")
    member = EpochMember(script, group, "X30")
    delete_group(script, group, "delete a group that does not exist")
    delete_position(script, group, "delete offsets of a group that does not exist", topic)
    member.heartbeat("join")
    member.settle("heartbeat until the group is stable")
    member.commit("commit", {(topic, 0): 5, (other, 0): 6})
    delete_group(script, group, "delete a group that has a member")
    nobody.commit("alter an active group", {(topic, 0): 1})
    delete_position(script, group, "delete offsets of a subscribed topic", topic)
    delete_position(script, group, "delete offsets of a topic that is not subscribed", other)
    member.heartbeat("subscribe to another topic", topics=[other])
    member.settle("heartbeat until the group is stable again")
    delete_position(script, group, "delete offsets of a topic that was subscribed", topic)
    delete_position(script, group, "delete offsets of the topic subscribed since", other)
    member.leave("leave")
    script.until_state(group, "Empty")
    nobody.commit("alter an empty group", {(other, 0): 1})
    delete_position(script, group, "delete offsets in an empty group", other)
    delete_group(script, group, "delete an empty group")
    script.until_state(group, "Dead")
    delete_group(script, group, "delete it again")


def _describe(script: Script, group: str, members: Sequence[EpochMember]) -> None:
    """Describe the group by both calls; `expected` is what its members were told."""
    expected = {
        member.member_id: {
            "epoch": member.epoch,
            "client": script.client_id,
            "partitions": sorted(member.partitions()),
        }
        for member in members
    }
    for api, groups, version in (
        ("CONSUMER_GROUP_DESCRIBE", "groupIds", _DESCRIBE_VERSION),
        ("DESCRIBE_GROUPS", "groups", script.codec.newest("DESCRIBE_GROUPS")),
    ):
        script.ask(
            Question(
                step=f"describe the group by {api}",
                rule="R28-epoch",
                api=api,
                body={groups: [group], "includeAuthorizedOperations": False},
                group=group,
                version=version,
                expected=expected,
            )
        )
