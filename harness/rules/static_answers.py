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
    statement=(
        "A join with the instance id of a member is answered alike whether the group is full or "
        "not: it takes that member's place, once that has said goodbye with epoch -2, and is none "
        "more."
    ),
    source="KIP-848, Static Membership; group.consumer.max.size; KAFKA-20601",
    unit="error code",
    things="joins with the instance id of a member of a full group",
    measures="answered",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="A restart of a static member must not cost it its place because nobody else has room.",
    broker=True,
    protocols=KIP_848,
)
def full_group_of_static_members() -> str:
    return answers(f"{_BACK_IN_A_FULL_GROUP} AND must <> :INVALID_REQUEST")


@Rule(
    "X40-rejoin-static",
    title="A static member may join anew at any time",
    statement=(
        "A heartbeat with epoch 0 of a static member that the group has is accepted, with its "
        "member id and its instance id, in whatever epoch that member is."
    ),
    source="KIP-848, Member epoch (a fenced member rejoins with epoch 0)",
    unit="error code",
    things="joins of static members with their own member id",
    measures="answered",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters=(
        "A static member whose join was answered into the void is told UNRELEASED_INSTANCE_ID "
        "(111) when it asks again: its own instance id is in use, by itself."
    ),
    broker=True,
    protocols=KIP_848,
)
def static_rejoins() -> str:
    return answers("found = 'a join anew of a static member'")


@Rule(
    "X40-instance",
    title="An instance id belongs to one member until it is let go",
    statement=(
        "A join with the instance id of a member is answered UNRELEASED_INSTANCE_ID (111) until "
        "that member has said goodbye with epoch -2; then it has its place. Whoever else uses the "
        "instance id of a member is answered FENCED_INSTANCE_ID (82)."
    ),
    source="KIP-848, Static Membership; GroupMetadataManager.throwIfInstanceIdIsUnreleased",
    unit="error code",
    things="uses of an instance id that a member has",
    measures="answered",
    too_low=ANOTHER,
    too_high=ANOTHER,
    matters="Of two processes with one instance id the newer has to stop, not the older.",
    broker=True,
    protocols=KIP_848,
)
def instances() -> str:
    return answers(
        "(must IN (:UNRELEASED_INSTANCE_ID, :FENCED_INSTANCE_ID)"
        " OR found = 'a join in the place of one that said goodbye')"
        f" AND NOT coalesce({_BACK_IN_A_FULL_GROUP}, false)"
    )
