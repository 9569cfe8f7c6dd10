"""What `explain` makes of clients' logs, alone and beside those of brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from harness.history.foreign import client_words, events, log_files
from harness.report.incident.explain_view import IncidentView, view_of
from tests.report.sample_logs import Classic, member, write
from tests.unit.worded import cases

JAVA: Final = "[Consumer clientId=c-1, groupId=orders] "
STATIC: Final = "[Consumer instanceId=i-1, clientId=c-1, groupId=orders] "
WORKER: Final = "[Worker clientId=connect-1, groupId=connect-cluster] "
RDKAFKA: Final = "%7|1765000100.123|CGRP|c-1#consumer-1| [thrd:main]: "
PYTHON: Final = "MAXPOLL [c-1#consumer-1] [thrd:main]: "


def said(text: str) -> dict[str, object]:
    """What a client's message says, without its text."""
    marked = client_words.with_marks(text.encode()).decode()
    row = client_words.row_of(marked[marked.find(client_words.MARKED) :]) or {}
    return {name: value for name, value in row.items() if name not in ("text", "broker")}


C1: Final = {"client_id": "c-1", "group": "orders"}
HANDLE: Final = {"client_id": "c-1", "handle": "c-1#consumer-1"}
MEMBER: Final = "c-1-1364448b-d342-4f02-88b1-885ba4a7d072"


OF_JAVA: Final = """
# 2.0 to 2.5, and later
Successfully joined group with generation 5
=> joined | generation: 5
Successfully joined group with generation Generation{generationId=7, memberId='<member>',
    protocol='range'}
=> joined | generation: 7 | member_id: <member>
(Re-)joining group
=> asks
(Re-)joining group []
=> asks
Attempt to heartbeat failed since group is rebalancing
=> rejoins | reason: already rebalancing
Request joining group due to: group is already rebalancing
=> rejoins | reason: group is already rebalancing
Requesting to re-join the group and trigger rebalance since the subscription has changed from [a]
    to [b]
=> rejoins | reason: the subscription has changed
Need to revoke partitions [a-0] and re-join the group
=> rejoins | reason: need to revoke partitions
This member will leave the group because consumer poll timeout has expired. This
=> max_poll
consumer poll timeout has expired. This means the time
=> max_poll
Consumer poll timeout has expired. This means the time
=> max_poll
Sending LeaveGroup request to coordinator b:9092 (id: 2147483646)
=> left
Member <member> sending LeaveGroup request to coordinator b:9092 (id: 2)
=> left | member_id: <member>
Member <member> sending LeaveGroup request to coordinator b:9092 (id: 2) due to the consumer is
    being closed
=> left | member_id: <member> | reason: the consumer is being closed
Attempt to heartbeat failed for since member id <member> is not valid.
=> put_out | member_id: <member>
Attempt to heartbeat with Generation{generationId=3, memberId='<member>', protocol='range'} and
    group instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation
=> put_out | generation: 3 | member_id: <member> | reason: UNKNOWN_MEMBER_ID
Attempt to heartbeat with Generation{generationId=3, memberId='<member>', protocol='range'} and
    group instance id Optional[a] failed due to FENCED_INSTANCE_ID, resetting generation
=> fenced
Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause:
    session timed out without receiving a heartbeat response. isDisconnected: false. Rediscovery
    will be attempted.
=> session
Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause:
    null.isDisconnected: true. Rediscovery will be attempted.
=> coordinator_lost | reason: was disconnected
Group coordinator b:9092 (id: 3 rack: null) is unavailable or invalid, will attempt rediscovery
=> coordinator_lost
# KIP-848
Member wx3-yz with epoch 4 transitioned from JOINING to RECONCILING.
=> given | member_id: wx3-yz | generation: 4
ConsumerGroupHeartbeatRequest failed for member wx3-yz because epoch 4 is fenced.
=> put_out | member_id: wx3-yz | reason: FENCED_MEMBER_EPOCH
Member wx3-yz with epoch -1 generated the heartbeat to leave the group.
=> left | member_id: wx3-yz | generation: -1
ConsumerGroupHeartbeatRequest failed due to unreleased instance id i-1: Static member
=> taken | instance_id: i-1
"""


@pytest.mark.parametrize(("text", "event", "more"), cases(OF_JAVA, member=MEMBER))
def test_java_s_client_is_read_from_2_0_on(text: str, event: str, more: dict[str, object]) -> None:
    assert {**C1, "event": f"client_{event}", **more} == said(JAVA + text)
    assert {**C1, "instance_id": "i-1", "event": f"client_{event}", **more} == said(STATIC + text)


@pytest.mark.parametrize(
    "text",
    [
        JAVA + "Setting offset for partition t-0 to the committed offset",
        JAVA + "Notifying assignor about the new Assignment(partitions=[t-0])",
        JAVA + "Member wx3-yz with epoch 4 transitioned from RECONCILING to ACKNOWLEDGING.",
        JAVA.replace("orders", "null") + "Request joining group due to: x",
        RDKAFKA + 'Group "g" changed state up -> up (join-state steady)',
        "[Consumer clientId=c-1] (Re-)joining group",
        "we like our orders: partitions assigned: fairly",
    ],
)
def test_lines_that_say_nothing_of_a_group_say_nothing(text: str) -> None:
    assert not said(text)


OF_LIBRDKAFKA: Final = """
<rdkafka>Application maximum poll interval (300000ms) exceeded by 88ms (adjust
=> max_poll
<python>Application maximum poll interval (300000ms) exceeded by 88ms (adjust
=> max_poll
<rdkafka>Consumer group session timed out (in join-state steady) after 10001 ms without a
    successful response from the group coordinator (broker 1, last error was Success): revoking
    assignment and rejoining group
=> session
<rdkafka>JoinGroup response: GenerationId 3, Protocol range, LeaderId a b (me), my MemberId
    <member>, member metadata count 2: (no error)
=> joined | generation: 3 | member_id: <member>
<rdkafka>Group "orders" heartbeat error response in state up (join-state steady, 2 partition(s)
    assigned): Broker: Unknown member
=> put_out | group: orders | reason: Broker: Unknown member
<rdkafka>Group "orders" heartbeat error response in state up (join-state steady, 2 partition(s)
    assigned): Broker: Group rebalance in progress
=> rejoins | group: orders | reason: already rebalancing
<rdkafka>Group "orders": leave (in state up)
=> left | group: orders
<rdkafka>Group "orders" initiating rebalance (NONE) in state up (join-state steady) with 2
    assigned partition(s): metadata change
=> rejoins | group: orders | reason: metadata change
<rdkafka>Group "orders": marking the coordinator (2) dead: _TRANSPORT: broker down
=> coordinator_lost | group: orders | reason: _TRANSPORT: broker down
<rdkafka>Fatal error: Broker: Static consumer fenced by other consumer with same
    group.instance.id: Fatal consumer error
=> fenced
<rdkafka>Group "orders" initiating rebalance (EAGER) in state up (join-state steady) with 2
    assigned partition(s): consumer fenced by newer instance
=> fenced | group: orders
<rdkafka>ConsumerGroupHeartbeat fatal error: Broker: The instance ID is still used by another
    member in the consumer group
=> taken
"""


@pytest.mark.parametrize(
    ("text", "event", "more"), cases(OF_LIBRDKAFKA, member=MEMBER, rdkafka=RDKAFKA, python=PYTHON)
)
def test_librdkafka_is_read(text: str, event: str, more: dict[str, object]) -> None:
    assert {**HANDLE, **more, "event": f"client_{event}"} == said(text)


def kafkajs(message: str, **more: object) -> str:
    return json.dumps(
        {
            "level": "INFO",
            "timestamp": "2026-10-01T10:00:00.000Z",
            "logger": "kafkajs",
            "message": message,
            "groupId": "orders",
            "memberId": MEMBER,
            **more,
        }
    )


def read(folder: Path, text: str, name: str = "client.log") -> IncidentView:
    (folder / name).write_text(text)
    return view_of(events.read(log_files.files_of([folder])))


def nested(line: str) -> str:
    return json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-10-01T10:00:00.1Z"})


@pytest.mark.parametrize("coat", [str, nested, "web-1  | {}".format])
def test_kafkajs_is_read_with_the_fields_beside_its_message(
    coat: Callable[[str], str], tmp_path: Path
) -> None:
    lines = [
        kafkajs("[ConsumerGroup] Consumer has joined the group", duration=3017),
        kafkajs("[Runner] The coordinator is not aware of this member, re-joining the group"),
        kafkajs("[ConsumerGroup] Consumer has joined the group", duration=3017),
    ]
    shown = read(tmp_path, "".join(f"{coat(line)}\n" for line in lines))
    [one] = shown.groups
    assert "orders" == one.group.name
    assert 2 == len(one.group.rebalances)
    assert ["put_out"] == [each.cause for each in one.group.removals]
    assert "no longer a member" in one.findings[0].sentence


def test_spring_says_who_got_partitions_and_lost_them(tmp_path: Path) -> None:
    logger = "INFO 1 --- [app] [ntainer#0-0-C-1] o.s.k.l.KafkaMessageListenerContainer    : "
    shown = read(
        tmp_path,
        f"2026-10-01 10:00:00.000  {logger}orders: partitions assigned: [t-0]\n"
        f"2026-10-01 10:01:00.000  {logger}orders: partitions lost: [t-0]\n",
    )
    assert ["orders"] == [one.group.name for one in shown.groups]
    assert ["put_out"] == [one.cause for one in shown.groups[0].group.removals]


def java(at: int, text: str, whose: str = JAVA) -> str:
    return f"2026-10-01 10:{at // 60:02d}:{at % 60:02d},123 INFO {whose}{text}\n"


GENERATION: Final = "Successfully joined group with generation {}"


def test_a_generation_counts_once_however_many_clients_joined_it(tmp_path: Path) -> None:
    other = JAVA.replace("c-1", "c-2")
    text = [
        java(0, "(Re-)joining group"),
        java(1, GENERATION.format(1)),
        java(10, "(Re-)joining group", other),
        java(11, "Request joining group due to: group is already rebalancing"),
        java(12, GENERATION.format(2)),
        java(12, GENERATION.format(2), other),
        java(20, "Request joining group due to: cached metadata has changed from a to b"),
        java(21, GENERATION.format(5)),
    ]
    shown = read(tmp_path, "".join(text))
    [one] = shown.groups
    assert [(1, "joined"), (2, "joined"), (5, "metadata")] == [
        (each.generation, each.cause) for each in one.group.rebalances
    ]
    assert [3, 4] == one.group.unseen
    assert any("none of these clients was in generations 3 and 4" in note for note in shown.notes)
    assert any("known from clients' logs alone" in note for note in shown.notes)
    assert "1 log of clients" in shown.detail


def test_an_epoch_of_kip_848_counts_once_and_the_next_may_be_any(tmp_path: Path) -> None:
    member = "Member wx3-yz with epoch {} transitioned from {} to RECONCILING."
    text = [
        java(0, member.format(2, "JOINING")),
        java(1, member.format(2, "STABLE")),
        java(9, member.format(4, "STABLE")),
    ]
    [one] = read(tmp_path, "".join(text)).groups
    assert [(2, "joined"), (4, "elsewhere")] == [
        (each.generation, each.cause) for each in one.group.rebalances
    ]
    assert not one.group.unseen


def test_a_generation_that_a_client_joins_twice_is_of_another_life(tmp_path: Path) -> None:
    text = "".join(java(number, GENERATION.format(1 + number % 2)) for number in range(3))
    [one] = read(tmp_path, text).groups
    assert [1, 2, 1] == [each.generation for each in one.group.rebalances]


def test_who_leaves_after_its_polls_were_too_far_apart_has_one_reason(tmp_path: Path) -> None:
    text = [
        java(1, GENERATION.format(1)),
        java(10, "consumer poll timeout has expired. This means the time between"),
        java(10, f"Member {MEMBER} sending LeaveGroup request to c due to consumer poll timeout"),
        java(10, "Request joining group due to: consumer pro-actively leaving the group"),
        java(30, "(Re-)joining group"),
        java(31, GENERATION.format(3)),
    ]
    [one] = read(tmp_path, "".join(text)).groups
    assert ["max_poll"] == [each.cause for each in one.group.leaves]
    assert ["joined", "max_poll"] == [each.cause for each in one.group.rebalances]


def test_beside_a_broker_s_log_a_client_s_says_why_it_left(tmp_path: Path) -> None:
    group = Classic(group="orders")
    group.joins(0, member("c-1"), 1)
    group.leaves(40, member("c-1"), 0, member("c-1"), "not provided")
    write(tmp_path, group.said)
    line = "%4|{}|MAXPOLL|c-1#consumer-1| [thrd:main]: Application maximum poll interval (30000ms) "
    at = 1790848840  # 2026-10-01 10:00:40 UTC
    shown = read(tmp_path, line.format(f"{at + 1}.000") + "exceeded by 88ms\n")
    [one] = shown.groups
    assert ["max_poll"] == [each.cause for each in one.group.leaves]
    assert not one.group.by_clients

    shown = read(tmp_path, line.format(f"{at + 100}.000") + "exceeded by 88ms\n")
    assert ["left"] == [each.cause for each in shown.groups[0].group.leaves]


def test_a_worker_of_connect_is_read_as_java_s_client_is(tmp_path: Path) -> None:
    shown = read(
        tmp_path, java(0, "Rebalance started", WORKER) + java(1, GENERATION.format(4), WORKER)
    )
    assert ["connect-cluster"] == [one.group.name for one in shown.groups]


def test_times_without_a_date_are_said_to_have_none(tmp_path: Path) -> None:
    text = f"10:00:00.123 INFO {JAVA}(Re-)joining group\n"
    assert any("say no date" in note for note in read(tmp_path, text).notes)
    text = java(0, "(Re-)joining group")
    assert not any("say no date" in note for note in read(tmp_path, text).notes)


RUNS: Final = Path(__file__).parents[1] / "data" / "logs" / "runs"


@pytest.mark.parametrize("run", sorted(RUNS.iterdir()), ids=lambda run: run.name)
def test_clients_of_a_run_tell_of_each_rebalance_that_its_brokers_tell_of(run: Path) -> None:
    """All but the last, in which no member is left: no client joins it."""
    by_clients, by_brokers = (
        view_of(events.read(sorted(run.glob(logs)))).groups[0].group
        for logs in ("member-*", "broker-*")
    )
    generations = [one.generation for one in by_brokers.rebalances if one.members_after != 0]
    assert generations == [one.generation for one in by_clients.rebalances]
    assert not by_clients.unseen

    times = {one.generation: one.joined_at or 0 for one in by_brokers.rebalances}
    for one in by_clients.rebalances:  # by one clock; in KIP-848 by the next heartbeat, of 5 s
        assert one.protocol == by_brokers.rebalances[0].protocol
        late_s = 6 if one.protocol == "consumer" else 3
        assert abs((one.joined_at or 0) - times[one.generation]) < late_s * 1e6


@pytest.mark.parametrize("lacking", ["member-1", "member-2"])
def test_what_no_log_of_a_client_says_is_said_to_be_unseen(lacking: str) -> None:
    run = RUNS / "consumer-leave.java.eager"
    logs = [path for path in sorted(run.glob("member-*")) if lacking not in path.name]
    group = view_of(events.read(logs)).groups[0].group
    assert [1, 2] == sorted({*(one.generation or 0 for one in group.rebalances), *group.unseen})
