"""Positions in questions to a coordinator: committed by whatever member, and fetched by anybody."""

from collections.abc import Mapping

from consumers.probes.script import Question, Script, worst
from consumers.probes.wire import Body


def commit_of(
    group: str, member_id: str, generation: int, topics: list[Body], instance_id: str | None = None
) -> Body:
    """An OffsetCommit of a member, of its generation or, in KIP-848, its epoch."""
    return {
        "groupId": group,
        "generationIdOrMemberEpoch": generation,
        "memberId": member_id,
        "groupInstanceId": instance_id,
        "topics": topics,
    }


def commit_topics(positions: Mapping[tuple[str, int], int], metadata: str = "") -> list[Body]:
    """The topics of an OffsetCommit or a TxnOffsetCommit."""
    topics: dict[str, list[Body]] = {}
    for (topic, number), committed in positions.items():
        topics.setdefault(topic, []).append(
            {
                "partitionIndex": number,
                "committedOffset": committed,
                "committedLeaderEpoch": -1,
                "committedMetadata": metadata,
            }
        )
    return [{"name": name, "partitions": parts} for name, parts in topics.items()]


def fetch(
    script: Script,
    rule: str,
    group: str,
    what: str,
    named: Mapping[str, list[int]] | None,
    *,
    stable: bool = False,
) -> int:
    """OffsetFetch; all partitions where none are named. The worst error code in the answer."""
    topics = (
        None
        if named is None
        else [{"name": topic, "partitionIndexes": numbers} for topic, numbers in named.items()]
    )
    answer = script.ask(
        Question(
            step=f"fetch {what}{', require_stable' if stable else ''}",
            rule=rule,
            api="OFFSET_FETCH",
            body={"groups": [{"groupId": group, "topics": topics}], "requireStable": stable},
            group=group,
        )
    )
    return -1 if answer is None else worst(answer)
