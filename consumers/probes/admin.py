"""What an administrator asks of a cluster: to make topics, and to delete groups and positions."""

from consumers.probes.script import Question, Script


def delete_group(script: Script, group: str, step: str, rule: str = "X30") -> None:
    body = {"groupsNames": [group]}
    script.ask(Question(step=step, rule=rule, api="DELETE_GROUPS", body=body, group=group))


def delete_position(script: Script, group: str, step: str, topic: str, rule: str = "X30") -> None:
    """OffsetDelete of a topic's first partition."""
    topics = [{"name": topic, "partitions": [{"partitionIndex": 0}]}]
    body = {"groupId": group, "topics": topics}
    script.ask(Question(step=step, rule=rule, api="OFFSET_DELETE", body=body, group=group))


def create_topic(script: Script, topic: str, replicas: list[list[int]]) -> None:
    """A topic of the script's own, known to every broker when this returns."""
    assignments = [
        {"partitionIndex": number, "brokerIds": brokers} for number, brokers in enumerate(replicas)
    ]
    asked = {
        "name": topic,
        "numPartitions": -1,
        "replicationFactor": -1,
        "assignments": assignments,
        "configs": [],
    }
    brokers = script.brokers
    broker = next(iter(brokers.addresses))
    brokers.ask(broker, "CREATE_TOPICS", {"topics": [asked], "timeoutMs": 10_000})
    script.until(
        f"leaders of {topic}",
        lambda: (
            len(found := brokers.partitions(topic)) == len(replicas)
            and all(one["leaderId"] > 0 for one in found)
        ),
    )
