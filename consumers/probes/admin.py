"""What is asked about a group by no member of it, and topics of a script's own."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from consumers.probes.member import ProbeMember
from consumers.probes.script import Question, Script, worst
from consumers.probes.wire import Body


@dataclass
class Admin:
    """An administrator of one group; each question is recorded for `rule`."""

    script: Script
    group: str
    rule: str

    def delete(self, step: str) -> None:
        self._ask(step, "DELETE_GROUPS", {"groupsNames": [self.group]})

    def delete_position(self, step: str, topic: str) -> None:
        """OffsetDelete of a topic's first partition."""
        topics = [{"name": topic, "partitions": [{"partitionIndex": 0}]}]
        self._ask(step, "OFFSET_DELETE", {"groupId": self.group, "topics": topics})

    def commit(self, step: str, positions: Mapping[str, int]) -> Body | None:
        return ProbeMember(self.script, self.group, self.rule).commit(step, positions)

    def fetch(
        self, what: str, named: Mapping[str, list[int]] | None = None, *, stable: bool = False
    ) -> int:
        """OffsetFetch; all partitions where none are named. The worst error code in the answer."""
        topics = named and [
            {"name": name, "partitionIndexes": some} for name, some in named.items()
        ]
        body = {"groups": [{"groupId": self.group, "topics": topics}], "requireStable": stable}
        step = f"fetch {what}{', require_stable' if stable else ''}"
        answer = self._ask(step, "OFFSET_FETCH", body)
        return -1 if answer is None else worst(answer)

    def create_topic(self, topic: str, replicas: list[list[int]]) -> None:
        create_topic(self.script, topic, replicas)

    def until(self, state: str) -> None:
        """Wait until the group is in a state. Raises WaitTimeout."""
        self.script.until_state(self.group, state)

    def sleep(self, s: float) -> None:
        time.sleep(s)

    def _ask(self, step: str, api: str, body: Body) -> Body | None:
        return self.script.ask(Question(step, self.rule, api, body, self.group))


def create_topic(script: Script, topic: str, replicas: list[list[int]]) -> None:
    """A topic of the script's own, known to every broker when this returns."""
    assignments = [{"partitionIndex": n, "brokerIds": ids} for n, ids in enumerate(replicas)]
    asked: Body = {"name": topic, "numPartitions": -1, "replicationFactor": -1, "configs": []}
    brokers = script.brokers
    body = {"topics": [asked | {"assignments": assignments}], "timeoutMs": 10_000}
    brokers.ask(next(iter(brokers.addresses)), "CREATE_TOPICS", body)

    def led() -> bool:
        found = brokers.partitions(topic)
        return len(found) == len(replicas) and all(one["leaderId"] > 0 for one in found)

    script.until(f"leaders of {topic}", led)
