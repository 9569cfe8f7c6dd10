"""Commits with epochs that a member of KIP-848 has had, has, and never had; the group described.

A second member's join takes partitions from the first and moves it on to a later epoch; what it
keeps was given to it in the epoch before. When both have what they are to have, the group is
described by the call that knows such groups, and by the one that does not. In another group a
partition is committed that is being given up; of a third one an administrator deletes what is used
and what is not.
"""

from functools import partial
from typing import Final

from consumers.probes.epoch_member import EpochMember
from consumers.probes.scene_tables import tables
from consumers.probes.script import Script, until

_DESCRIBE_VERSION: Final = 0

_TABLES: Final = tables(
    """
used X30 epochs: an administrator's deletes and commit: of no group, one with a member, an empty one
    group: create_topic topic=GROUP-used-not replicas=[[1]]
    group: delete | delete a group that does not exist
    group: delete_position topic=TOPIC | delete offsets of a group that does not exist
    member: accepted | join
    member: until_stable | heartbeat until the group is stable
    member: commit positions={"TOPIC-0":5,"GROUP-used-not-0":6} | commit
    group: delete | delete a group that has a member
    group: commit positions={"TOPIC-0":1} | alter an active group
    group: delete_position topic=TOPIC | delete offsets of a subscribed topic
    group: delete_position topic=GROUP-used-not | delete offsets of a topic that is not subscribed
    member: accepted subscribedTopicNames=["GROUP-used-not"] | subscribe to another topic
    member: until_stable | heartbeat until the group is stable again
    group: delete_position topic=TOPIC | delete offsets of a topic that was subscribed
    group: delete_position topic=GROUP-used-not | delete offsets of the topic subscribed since
    member: leave | leave
    group: until state=Empty
    group: commit positions={"GROUP-used-not-0":1} | alter an empty group
    group: delete_position topic=GROUP-used-not | delete offsets in an empty group
    group: delete | delete an empty group
    group: until state=Dead
    group: delete | delete it again
""",
    EpochMember,
)


def later_epochs(script: Script) -> None:
    """Two members, of which the first gives partitions up for the second."""
    first, second = _members(script, "member-epochs")
    had, before = first.epoch, first.partitions()
    _commit(first, "commit with the epoch it has", min(before), had, had)
    _take_some(first, second)
    until("later epoch of the first member", lambda: first.acknowledge().epoch > had)
    kept, taken = min(first.partitions()), min(before - first.partitions())
    _commit(first, "commit of a kept partition, with the epoch it has", kept, first.epoch, had)
    _commit(first, "commit of a kept partition, with the epoch before", kept, had, had)
    _commit(first, "commit of a partition taken, with the epoch before", taken, had, None)
    _commit(first, "commit with an epoch to come", kept, first.epoch + 1, had)

    def settled() -> bool:
        for member in (first, second):
            member.acknowledge("heartbeat until both have theirs")
        return first.epoch == second.epoch and second.partitions() == before - first.partitions()

    until("all partitions given to the two members", settled)
    second.acknowledge()
    _describe(script, first, second)


def to_be_given_up(script: Script) -> None:
    """Commits of a partition that its member has been asked to give up, and has not yet.

    The member was given it in an epoch before its present one, which a change of what it subscribes
    to has raised.
    """
    first, second = _members(script, "to-be-given-up")
    since, before = first.epoch, first.partitions()
    topics = [script.config.topic, f"{script.config.topic}-not-there"]
    subscribed = partial(
        first.acknowledge, "subscribe to one topic more", subscribedTopicNames=topics
    )
    until("later epoch of the member", lambda: subscribed().epoch > since)
    _take_some(first, second)
    taken, now = min(before - first.partitions()), first.epoch
    _commit(first, "commit of what is to be given up, with the epoch it has", taken, now, since)
    _commit(first, "commit of what is to be given up, with the epoch before", taken, since, since)


def _members(script: Script, name: str) -> tuple[EpochMember, EpochMember]:
    """Two members of a group, of which the first has joined and has everything."""
    group = script.group(name, epochs=True)
    first, second = (EpochMember(script, group, "X22") for _ in range(2))
    first.accepted("join")
    first.acknowledge()
    return first, second


def _take_some(first: EpochMember, second: EpochMember) -> None:
    """Let the second member join, until the first is asked to give something up."""
    before = first.partitions()
    second.accepted("join of the second member")
    step = "heartbeat until something is taken"
    until(
        "partitions taken from the first member",
        lambda: first.accepted(step).partitions() < before,
    )


def _commit(member: EpochMember, step: str, number: int, epoch: int, since: int | None) -> None:
    """Commit one partition with an epoch; `since` is the one that it was given in, if it is."""
    expected = {"member_epoch": member.epoch, "assignment_epoch": since}
    position = {f"{member.script.config.topic}-{number}": 0}
    member.commit(step, position, epoch=epoch, expected=expected)


def _describe(script: Script, *members: EpochMember) -> None:
    """Describe the group by both calls; `expected` is what its members were answered."""
    group = members[0].group
    expected = {
        member.member_id: {
            "epoch": member.epoch,
            "client": script.config.member,
            "partitions": sorted(member.partitions()),
        }
        for member in members
    }
    for api, groups, version in (
        ("CONSUMER_GROUP_DESCRIBE", "groupIds", _DESCRIBE_VERSION),
        ("DESCRIBE_GROUPS", "groups", script.codec.newest("DESCRIBE_GROUPS")),
    ):
        body = {groups: [group], "includeAuthorizedOperations": False}
        asked = f"describe the group by {api}", "R28-epoch", api, body
        script.ask(*asked, group=group, version=version, expected=expected)


SCENES: Final = (later_epochs, to_be_given_up, *_TABLES)
