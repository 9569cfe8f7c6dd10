"""KIP-848: what a coordinator answers to heartbeats of static members, right and wrong."""

from typing import Final

from harness.rules.heartbeat_answers import ANOTHER, KIP_848, answers
from harness.rules.rule import Rule

# A join with the instance id of a member, by another process than its own, in a full group.
_BACK_IN_A_FULL_GROUP: Final = (
    "epoch = 0 AND size >= :consumer_max_size AND NOT known AND owner IS NOT NULL"
)


@Rule(
    "X40-full-static",
    title="A full group takes a static member back",
    statement="A full group answers a join with a member's instance id like any other group: the "
    "join takes the member's place once that member has left temporarily with epoch -2, because "
    "the group does not grow.",
    source="KIP-848, Static Membership; group.consumer.max.size; KAFKA-20601",
    unit="error code",
    things="joins with the instance id of a member of a full group",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A static member must not lose its place by a restart because the group is full.",
    broker=True,
    protocols=KIP_848,
)
def full_group_of_static_members() -> str:
    return answers(f"{_BACK_IN_A_FULL_GROUP} AND must <> :INVALID_REQUEST")


@Rule(
    "X40-rejoin-static",
    title="A static member may join anew at any time",
    statement="A heartbeat with epoch 0 of a static member of the group is accepted with its "
    "member id and instance id, whatever epoch that member is in.",
    source="KIP-848, Member epoch (a fenced member rejoins with epoch 0)",
    unit="error code",
    things="joins of static members with their own member id",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="Where this does not hold, a static member that never got the answer to its join is "
    "refused with UNRELEASED_INSTANCE_ID (111), because it holds the instance id itself.",
    broker=True,
    protocols=KIP_848,
)
def static_rejoins() -> str:
    return answers("found = 'a join anew of a static member'")


@Rule(
    "X40-instance",
    title="An instance id belongs to one member until it is released",
    statement="A join with a member's instance id is answered UNRELEASED_INSTANCE_ID (111) until "
    "that member has left temporarily with epoch -2, and then takes its place. Any other "
    "heartbeat with another member's instance id is answered FENCED_INSTANCE_ID (82).",
    source="KIP-848, Static Membership; GroupMetadataManager.throwIfInstanceIdIsUnreleased",
    unit="error code",
    things="uses of an instance id that a member has",
    measures="in the answer",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="The newer of two processes with one instance id has to stop, not the older.",
    broker=True,
    protocols=KIP_848,
)
def instances() -> str:
    return answers(
        "(must IN (:UNRELEASED_INSTANCE_ID, :FENCED_INSTANCE_ID)"
        " OR found = 'a join in the place of one that said goodbye')"
        f" AND NOT coalesce({_BACK_IN_A_FULL_GROUP}, false)"
    )
