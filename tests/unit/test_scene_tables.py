"""Scenes of probes as tables: each line is asked as it is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from consumers.probes.epoch_member import EpochMember
from consumers.probes.scene_tables import tables
from consumers.probes.script import Body, Script


class Answering:
    """Stands in for a script: every question is accepted, and kept."""

    config = SimpleNamespace(topic="t", group="g")
    group = staticmethod(lambda name, **_: f"g-{name}")
    coordinator = staticmethod(lambda _: 1)

    def __init__(self) -> None:
        self.asked: list[SimpleNamespace] = []

    def ask(self, step: str, rule: str, api: str, body: Body, *_: Any, **more: Any) -> Body:
        self.asked.append(SimpleNamespace(step=step, rule=rule, api=api, body=body, **more))
        return {"errorCode": 0, "memberId": "", "memberEpoch": 7, "assignment": None}


TABLE = """
left X40: a member that joins, and another
    a b: be instance_id=one
    a: join subscribedTopicNames=["TOPIC-x"] | join of a
    b: beat epoch=@a | beat of b
    group: delete | delete
"""


def test_a_table_is_asked_line_by_line() -> None:
    script = Answering()
    for scene in tables(TABLE, EpochMember):
        scene(cast("Script", script))

    join, beat, delete = script.asked
    assert ("join of a", ["t-x"]) == (join.step, join.body["subscribedTopicNames"])
    assert (7, "one", "X40", "g-left") == (beat.generation, beat.instance_id, beat.rule, beat.group)
    assert ("DELETE_GROUPS", "delete") == (delete.api, delete.step)
