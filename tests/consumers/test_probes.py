"""Probes without a cluster: what they say in bytes, and what they make of an answer."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from consumers import probes
from consumers.config import ProbeConfig
from consumers.probes.classic_member import (
    ProbeMember,
    assignment,
    commit_topics,
    join_all,
    subscription,
)
from consumers.probes.epoch_member import EpochMember
from consumers.probes.scene_tables import tables
from consumers.probes.script import Body, Script, worst
from harness.base.errors import BadInput
from harness.history.request_log import decode_assignment

# In a process of its own: a JVM in the tests' process would take its signals.
CODEC = """
import sys
from consumers import jvm
from consumers.probes.script import VERSIONS, Codec
from harness.provision.tools import resolve_tools

tools = resolve_tools()
jvm.start(str(tools.java.parent.parent), tools.kafka_classpath)
codec = Codec("probe-test")
for api, version in VERSIONS.items():
    assert version <= codec.newest(api), api
    data = codec.encode(api, version, {})
    assert int.from_bytes(data[:4], "big") == len(data) - 4, api
    assert b"probe-test" in data, api
heartbeat = codec.encode("HEARTBEAT", 4, {"groupId": "g", "memberId": "m", "generationId": 7})
assert heartbeat.endswith(b"\\x02g\\x00\\x00\\x00\\x07\\x02m\\x00\\x00"), heartbeat
answer = b"\\x00\\x00\\x00\\x01\\x00" + b"\\x00\\x00\\x00\\x00\\x00\\x16\\x00"
assert codec.decode("HEARTBEAT", 4, answer) == {"throttleTimeMs": 0, "errorCode": 22}
"""


def run(program: str) -> list[str]:
    """The lines that a program prints."""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == ended.returncode, ended.stderr
    return ended.stdout.splitlines()


def test_every_call_that_scripts_make_can_be_said_with_kafkas_own_classes() -> None:
    run(CODEC)


# What Java's poll refuses needs no broker: nothing listens at this address.
POLLS = """
import json
from consumers.config import ProbeConfig
from consumers.probes.play_poll_arguments import play
from harness.provision.tools import resolve_tools

class Journal:
    def write(self, kind, **row):
        print(json.dumps([kind, row["step"], json.loads(row["answer"])]))

tools = resolve_tools()
play(
    ProbeConfig(
        member="probe-test", bootstrap="127.0.0.1:1", topic="t", journal="", role="probe", run="r",
        group="g", probe="poll-arguments", direct="127.0.0.1:1", protocol="eager",
        java_home=str(tools.java.parent.parent), class_path=tools.kafka_classpath,
    ),
    Journal(),
)
"""


def test_poll_refuses_what_makes_no_sense_in_both_protocols() -> None:
    lines = [json.loads(line) for line in run(POLLS) if line.startswith("[")]
    said = {step: answer for _, step, answer in lines}
    for protocol in ("classic", "consumer"):
        for what, error in (
            ("negative time-out", "IllegalArgumentException"),
            ("no subscription", "IllegalStateException"),
            ("second thread", "ConcurrentModificationException"),
        ):
            assert said[f"{what}, group.protocol {protocol}"]["said"].endswith(f".{error}")
        empty = said[f"nothing to return, group.protocol {protocol}"]
        assert ("", 0) == (empty["said"], empty["records"])
        assert 499 <= empty["took_ms"]


class Coordinator:
    """Stands in for a script: the first to join is answered before anybody else has asked."""

    def __init__(self) -> None:
        self.rejoined: list[str] = []
        self._open: list[tuple[str, Future[Body | None]]] = []

    def until_state(self, group: str, *states: str) -> None:
        assert "CompletingRebalance" in states, "the first one has been answered already"

    def begin(self, *_: Any, instance_id: str, member_id: str, **__: Any) -> Future[Body | None]:
        answer: Future[Body | None] = Future()
        if member_id:
            self.rejoined.append(instance_id)
        self._open.append((instance_id, answer))
        if len(self._open) == 3 or (instance_id == "a" and not member_id):
            joined, self._open = self._open, []
            generation = 1 if len(joined) == 1 else 2
            for each, parked in joined:
                listed = [{"memberId": other} for other, _ in joined] if each == "a" else []
                parked.set_result(
                    {"errorCode": 0, "memberId": each, "generationId": generation, "leader": "a"}
                    | {"members": listed}
                )
        return answer


def test_who_was_answered_before_the_others_had_come_joins_again() -> None:
    coordinator = Coordinator()
    members = [ProbeMember(cast("Script", coordinator), "g", "R13", name) for name in "abc"]

    join_all(members, "form")

    assert ["a"] == coordinator.rejoined
    assert [2, 2, 2] == [member.generation for member in members]


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


@pytest.mark.parametrize("line", ["    a: jump | over it", "    group: join", "a leave", "    a:"])
def test_a_line_of_a_table_that_is_no_step_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is neither a scene nor a step"):
        tables(f"left X40: a member that leaves\n{line}")


@pytest.mark.parametrize("name", probes.names())
def test_tables_of_a_script_have_steps_only(name: str) -> None:
    importlib.import_module(f"consumers.probes.play_{name.replace('-', '_')}")


def test_an_assignment_reads_back_as_it_was_given() -> None:
    given = [("t", 0), ("t", 2), ("u", 1)]
    read = [(part["topic"], part["partition"]) for part in decode_assignment(assignment(given))]
    assert given == read


def test_a_subscription_changes_with_its_note_only() -> None:
    assert subscription(["t"]) == subscription(["t"])
    assert subscription(["t"]) != subscription(["t"], "news")


def test_positions_are_grouped_by_topic() -> None:
    topics = commit_topics({"t-0": 5, "u-0": 6, "t-1": 7})
    assert [("t", 2), ("u", 1)] == [(one["name"], len(one["partitions"])) for one in topics]


def test_the_worst_error_is_found_wherever_it_is() -> None:
    assert 0 == worst({"groups": []})
    assert 22 == worst({"errorCode": 22})
    answer = {"errorCode": 0, "topics": [{"partitions": [{"errorCode": 12}, {"errorCode": 0}]}]}
    assert 12 == worst(answer)
    assert -1 == worst({"throttleTimeMs": 0, "errorCode": -1, "topics": [{"errorCode": 0}]})


def test_an_unknown_probe_is_answered_with_those_there_are() -> None:
    config = ProbeConfig(
        member="probe-x", bootstrap="", topic="t", journal="", role="probe", run="", group="g",
        probe="x", direct="", java_home="", class_path="", protocol="eager",
    )  # fmt: skip
    with pytest.raises(BadInput, match="no probe 'x': choose group-apis or group-states or"):
        probes.run(config)
