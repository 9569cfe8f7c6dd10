"""ConsumerGroupHeartbeats, right and wrong in every way that KIP-848 names, each in a small group.

Epochs and instance ids, requests that are not whole, assignors and expressions that the broker has
not, groups that are full, are not there or are of the other protocol.
"""

from typing import Final

from consumers.probes.classic_member import ProbeMember, form
from consumers.probes.epoch_member import EpochMember
from consumers.probes.scene_tables import tables
from consumers.probes.script import Script

# What is refused in full-static must not cost the others their places: all leave as they came.
_TABLES: Final = tables(
    """
not-whole X40: requests that lack something; none of them makes a group, as the last one shows
    m: join memberId= | join without a member id
    m: join groupId= | join with an empty group id
    m: join instanceId= | join with an empty instance id
    m: join rackId= | join with an empty rack id
    m: join rebalanceTimeoutMs=-1 | join without a rebalance time-out
    m: join topicPartitions=null | join that owns partitions unknown
    m: join topicPartitions=[{"topicId":"AAAAAAAAAAAAAAAAAAAAAQ","partitions":[0]}] | join that owns a partition
    m: join subscribedTopicNames=null | join without a subscription
    m: goodbye | goodbye of a static member without an instance id
    m: beat epoch=-3 | epoch -3
    m: beat epoch=1 memberId= | heartbeat without a member id
    m: be rule=X40-assignor
    m: join serverAssignor=sticky | join with the assignor sticky
    m: beat epoch=1 serverAssignor=sticky | heartbeat with the assignor sticky
    m: be rule=X40-regex
    m: join subscribedTopicNames=null subscribedTopicRegex=orders-( | join with a broken regular expression
    m: be rule=X40-group
    m: beat epoch=1 | heartbeat to the group that was not made
    m: be rule=X40
    m: join version=0 memberId= | join in version 0 without a member id
    m: leave | leave

absent X40-group: heartbeats and goodbyes to a group that is not there
    m: beat epoch=1 | heartbeat to no group
    m: leave | leave of no group
    m: be instance_id=absent-1
    m: goodbye | goodbye to no group

instances X40-instance: one instance id, and three members that want it
    owner next third: be instance_id=instance-1
    owner: join | join
    next: join | join with an instance id in use
    owner: be rule=X40-rejoin-static
    owner: join | join again of its owner
    owner: be rule=X40-instance
    owner: beat | heartbeat of its owner
    third: beat epoch=@owner | heartbeat with the instance id of another
    third: leave | leave with the instance id of another
    third: goodbye | goodbye with the instance id of another
    lost: be instance_id=instance-2 rule=X40-member
    lost: beat epoch=@owner | heartbeat with an instance id that no member has
    lost: goodbye | goodbye with an instance id that no member has
    owner: goodbye | goodbye
    owner: beat epoch=@owner | heartbeat after its goodbye
    next: join | join with an instance id that was let go
    owner: beat epoch=@owner | heartbeat of the one before
    owner: be instance_id=null
    owner: beat epoch=@owner | heartbeat of the one before, without the instance id
    next: beat | heartbeat of the new owner
    next: leave | leave

full X40-full: two members where no more are allowed, and a third one
    a: join | join of the first
    b: join | join of the second
    c: join | join of one too many
    c: beat epoch=1 | heartbeat of one too many
    a: beat | heartbeat of a member
    a: join | join of a member again
    a: leave | leave
    c: join | join in the place of one that left
    b c: leave | leave

full-static X40-full-static: two static members in a full group, and a process in the place of one
    a again: be instance_id=full-1
    b: be instance_id=full-2
    a: join | join of the first
    b: join | join of the second
    again: join | join in the place of a member of a full group
    a: goodbye | goodbye in a full group
    again: join | join in the place of one that said goodbye, in a full group
    again a b: leave | leave of a full group

subscriptions X40-empty: joins that subscribe to nothing, to what is not there, and by expressions
    a: join subscribedTopicNames=[] | join to nothing
    a: beat | heartbeat after a join to nothing
    a: leave | leave after a join to nothing
    b: join subscribedTopicNames=["TOPIC-not-there"] | join to a topic that is not there
    b: beat | heartbeat after a join to a topic that is not there
    b: leave | leave after a join to a topic that is not there
    c d: be rule=X40-assignor
    c: join serverAssignor=range | join with the assignor range
    c: beat | heartbeat after a join with the assignor range
    c: leave | leave after a join with the assignor range
    d: join serverAssignor=uniform | join with the assignor uniform
    d: beat | heartbeat after a join with the assignor uniform
    d: leave | leave after a join with the assignor uniform
    e: be rule=X40-regex
    e: join subscribedTopicNames=null subscribedTopicRegex=TOPIC-not-.* | join by an expression
    e: beat | heartbeat after a join by an expression
    e: beat subscribedTopicRegex=orders-( | heartbeat with a broken expression
    e: leave | leave after a join by an expression
""",  # noqa: E501 (a step is one line)
    EpochMember,
)


def epochs(script: Script) -> None:
    """A member alone, whose epoch is raised twice by what it subscribes to."""
    group, topic = script.group("epochs"), script.config.topic
    member, stranger = (EpochMember(script, group, "X40-epoch") for _ in range(2))
    member.join("join")
    first = member.epoch
    member.beat("heartbeat with its epoch")
    member.beat("heartbeat with an epoch to come", first + 1)
    member.moves_on("subscribe to another topic too", [topic, f"{topic}-not-there"])
    second = member.epoch
    member.beat("the epoch before, as if an answer was lost", first, topicPartitions=member.given)
    member.beat("the epoch before, without what it owns", first)
    foreign = [{**topic_part, "partitions": [99]} for topic_part in member.given]
    member.beat(
        "the epoch before, with a partition that does not exist", first, topicPartitions=foreign
    )
    member.beat("heartbeat with an epoch to come", second + 1)
    member.moves_on("subscribe to one topic again", [topic])
    member.beat("an older epoch", first, topicPartitions=member.given)
    member.rule = "X40-rejoin"
    member.join("join again")
    member.beat("heartbeat after it joined again")
    stranger.rule = member.rule = "X40-member"
    stranger.beat("heartbeat of a stranger", member.epoch)
    stranger.leave("leave of a stranger")
    member.leave("leave")
    member.beat("heartbeat after it left", member.epoch or second)
    member.leave("leave again")


def classic_group(script: Script) -> None:
    """Heartbeats of KIP-848 to classic groups: of consumers, and of another type."""
    group, connect = script.group("classic"), script.group("connect")
    old = ProbeMember(script, group, "X40-group", topics=(script.config.topic,))
    form([old], "form the group")
    new = EpochMember(script, group, "X40-group")
    new.beat("heartbeat to a classic group", 1)
    new.leave("leave of a classic group")
    old.leave("leave of the classic member")
    joining = _worker(script, connect, "worker-1").begin_join("classic join of type connect")
    script.until_state(connect, "PreparingRebalance")
    worker = EpochMember(script, connect, "X40-group")
    worker.join("join to a group of another type")
    worker.beat("heartbeat to a group of another type", 1)
    joining.result()


def modern_group(script: Script) -> None:
    """Classic calls to a group of KIP-848, as its member and as one of another type."""
    group = script.group("modern")
    new = EpochMember(script, group, "X40-classic")
    new.join("join")
    old = ProbeMember(script, group, "X40-classic", member_id=new.member_id, generation=new.epoch)
    old.heartbeat("classic heartbeat as a member of KIP-848")
    old.sync("classic sync as a member of KIP-848")
    _worker(script, group, "worker-2").try_join("classic join of type connect")
    new.beat("heartbeat after that")
    new.leave("leave")


def _worker(script: Script, group: str, instance: str) -> ProbeMember:
    """A static member of another type, which joins in one step."""
    worker = ProbeMember(script, group, "X40-classic", instance, 10_000, 10_000)
    worker.protocol_type, worker.protocol = "connect", "default"
    return worker


SCENES: Final = (epochs, classic_group, modern_group, *_TABLES)
