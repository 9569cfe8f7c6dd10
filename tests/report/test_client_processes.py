"""Which process a client's line is of, what stands around it, and what it means for its group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from harness.base.errors import NoData
from harness.history.foreign import events
from tests.report.sample_logs import printed
from tests.report.test_client_logs import GENERATION, JAVA, MEMBER, WORKER, java, kafkajs, read

JOINED: Final = (
    "Successfully joined group with generation Generation{{generationId={}, memberId='{}'}}"
)
RDKAFKA_POLL: Final = (
    "%4|{}.000|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval "
    "(300000ms) exceeded by 88ms (adjust max.poll.interval.ms)\n"
)
POLL: Final = "consumer poll timeout has expired. This means the time between"


@pytest.mark.parametrize("coat", ["svc-7d9f8-{} app ", "[pod/svc-7d9f8-{}/app] ", "svc-{}  | "])
def test_processes_that_share_a_client_id_are_set_apart_by_what_stands_before_their_lines(
    coat: str, tmp_path: Path
) -> None:
    pods = [coat.format(pod) for pod in ("abcde", "fghij", "klmno")]
    times = (1790848800, 1790849200)
    text = "".join(pod + RDKAFKA_POLL.format(at) for at in times for pod in pods)
    shown = read(tmp_path, text)
    [one] = shown.groups
    assert 6 == len(one.group.leaves)
    assert 3 == len(one.group.members)
    assert "3 processes that share the client.id rdkafka#consumer-1 left 6 times" in printed(shown)


def test_lines_of_processes_in_files_of_their_own_count_each(tmp_path: Path) -> None:
    """They have the same name, and one millisecond in common; but more that is not."""
    for pod in range(3):
        text = java(0, POLL) + java(9 + pod, "(Re-)joining group")
        (tmp_path / f"pod-{pod}.log").write_text(text)
    shown = read(tmp_path, java(0, POLL) + java(30, "(Re-)joining group"), "pod-3.log")
    [one] = shown.groups
    assert 4 == len(one.group.leaves)
    assert 0 == sum(log.twice for log in shown.read.logs)
    assert "4 processes that share the client.id c-1" in printed(shown)
    assert "c-1 in pod-0.log" in printed(shown)


def test_a_copy_of_a_client_s_log_or_a_part_of_it_counts_once(tmp_path: Path) -> None:
    lines = [java(at, POLL) + java(at + 9, "(Re-)joining group") for at in (0, 60, 120)]
    (tmp_path / "app.log").write_text("".join(lines))
    (tmp_path / "errors.log").write_text("".join(java(at, POLL) for at in (0, 60, 120)))
    shown = read(tmp_path, "".join(lines[1:]), "later.log")
    [one] = shown.groups
    assert 3 == len(one.group.leaves)
    assert {"c-1"} == one.group.members


def test_who_is_one_process_keeps_its_name_with_another_member_id(tmp_path: Path) -> None:
    text = [
        java(0, JOINED.format(1, MEMBER)),
        java(9, POLL),
        java(40, "(Re-)joining group"),
        java(41, JOINED.format(3, MEMBER[:-1] + "9")),
    ]
    shown = read(tmp_path, "".join(text))
    assert {"c-1"} == shown.groups[0].group.members
    assert "It joined again once" in printed(shown)


def test_members_that_join_a_generation_together_are_several_though_nothing_else_says(
    tmp_path: Path,
) -> None:
    leaves = "Member {} sending LeaveGroup request to coordinator c due to consumer poll timeout"
    members = [MEMBER[:-1] + str(number) for number in range(3)]
    text = "".join(java(0, JOINED.format(1, member)) for member in members)
    for at, member in zip((60, 61), members, strict=False):
        text += java(at, POLL) + java(at, leaves.format(member))
    [one] = read(tmp_path, text).groups
    assert 2 == len(one.group.leaves)
    assert 3 == len(one.group.members)


def test_a_deploy_of_pods_that_share_a_client_id_is_one(tmp_path: Path) -> None:
    text = []
    for number, (old, new) in enumerate((("a", "x"), ("b", "y"), ("c", "z"))):
        at = 60 * number
        closes = f"Member {MEMBER[:-1]}{number} sending LeaveGroup request to c due to the consumer"
        text.append(f"[pod/web-{old}/app] " + java(at, f"{closes} is being closed"))
        text.append(f"[pod/web-{new}/app] " + java(at + 9, "(Re-)joining group"))
        joined = GENERATION.format(number + 2)
        text.append(f"[pod/web-{new}/app] " + java(at + 12, joined))
    [one] = read(tmp_path, "".join(text)).groups
    assert "deploy" == one.findings[0].cause.name


def test_a_member_that_was_away_itself_makes_no_rebalance_slow(tmp_path: Path) -> None:
    text = [
        java(0, GENERATION.format(1)),
        java(9, "Request joining group due to: group is already rebalancing"),
        java(60, POLL),
        java(120, "(Re-)joining group"),
        java(123, GENERATION.format(3)),
        java(130, "Request joining group due to: group is already rebalancing"),
        java(131, GENERATION.format(4)),
    ]
    [one] = read(tmp_path, "".join(text)).groups
    assert "slow" not in {each.cause.name for each in one.findings}

    text[-1] = java(190, GENERATION.format(4))
    [one] = read(tmp_path, "".join(text)).groups
    assert "slow" in {each.cause.name for each in one.findings}


def kafkajs_at(second: int, message: str, number: int = 0) -> str:
    at = f"2026-10-01T10:{second // 60:02d}:{second % 60:02d}.000Z"
    return kafkajs(message, timestamp=at, memberId=f"{MEMBER[:-1]}{number}") + "\n"


@pytest.mark.parametrize("by", ["ConsumerGroup", "Runner"])  # since 2.0, and before
def test_each_time_that_a_member_of_kafkajs_joins_with_another_id_is_a_rebalance(
    by: str, tmp_path: Path
) -> None:
    text = ""
    for number in range(3):
        text += kafkajs_at(100 * number, f"[{by}] Consumer has joined the group", number)
        text += kafkajs_at(
            100 * number + 90,
            "[Runner] The coordinator is not aware of this member, re-joining the group",
            number,
        )
    [one] = read(tmp_path, text).groups
    assert [3, 3] == [len(one.group.rebalances), len(one.group.removals)]


def test_members_of_kafkajs_that_join_together_join_one_rebalance(tmp_path: Path) -> None:
    said = "[ConsumerGroup] Consumer has joined the group"
    text = "".join(kafkajs_at(at, said, number) for at in (0, 60) for number in (0, 1))
    [one] = read(tmp_path, text).groups
    assert 2 == len(one.group.rebalances)


def test_a_consumer_of_kafkajs_that_stops_since_it_crashed_has_not_left_too(tmp_path: Path) -> None:
    text = kafkajs_at(0, "[ConsumerGroup] Consumer has joined the group")
    text += kafkajs_at(30, "[Consumer] Crash: KafkaJSNumberOfRetriesExceeded: timeout")
    text += kafkajs_at(30, "[Consumer] Stopped")
    [one] = read(tmp_path, text).groups
    assert ["crashed"] == [each.cause for each in one.group.leaves]


CONFIG: Final = (
    "Current config state offset -1 does not match group assignment 4. Forcing rebalance."
)


@pytest.mark.parametrize("client", ["connect-1", "connect-10.0.3.7:8083"])
def test_a_worker_that_asks_for_a_rebalance_is_said_to(client: str, tmp_path: Path) -> None:
    worker = WORKER.replace("connect-1", client)
    text = [
        java(0, "Successfully joined group with generation 4", worker),
        java(9, CONFIG, worker),
        java(9, "Rebalance started", worker),
        java(9, "(Re-)joining group", worker),
        java(10, "Successfully joined group with generation 5", worker),
        java(20, "Rebalance started", worker),  # asked for at DEBUG
        java(21, "Successfully joined group with generation 6", worker),
        java(30, "Request joining group due to: group is already rebalancing", worker),
        java(30, "Rebalance started", worker),
        java(31, "Successfully joined group with generation 7", worker),
    ]
    shown = read(tmp_path, "".join(text))
    causes = [one.cause for one in shown.groups[0].group.rebalances]
    assert ["joined", "connect", "rejoined", "elsewhere"] == causes
    assert "connect-cluster (workers of Kafka Connect)" in printed(shown)
    assert f"{client} asked for a rebalance twice" in printed(shown)


RESPONSE: Final = (
    'GroupCoordinator/2: ConsumerGroupHeartbeat response received for member id "{}" with epoch {}'
)


def test_librdkafka_names_its_group_and_epochs_in_kip_848(tmp_path: Path) -> None:
    text = "".join(
        f"%7|{1790848800 + at}.000|CGRP|c-1#consumer-1| [thrd:main]: {said}\n"
        for at, said in (
            (0, 'ConsumerGroupHeartbeat of member id "m0", group id "orders", generation id 0'),
            (1, RESPONSE.format("m0", 3)),
            (2, 'Group "orders": new assignment of 3 partition(s) in join-state steady'),
            (5, RESPONSE.format("m0", 3)),
            (60, "ConsumerGroupHeartbeat failed due to: Broker: fenced: will rejoin the group"),
            (61, RESPONSE.format("m1", 5)),
        )
    )
    [one] = read(tmp_path, text).groups
    assert "orders" == one.group.name
    assert [3, 5] == [each.generation for each in one.group.rebalances]
    assert ["put_out"] == [each.cause for each in one.group.removals]


def test_lines_without_a_client_s_name_are_of_the_only_group_that_their_file_names(
    tmp_path: Path,
) -> None:
    coat = "2026-10-01T10:{:02d}:00.1Z  WARN librdkafka: librdkafka: {} [thrd:main]: {}\n"
    poll = "Application maximum poll interval (300000ms) exceeded by 88ms (adjust"
    text = [
        coat.format(0, "MAXPOLL", poll),
        coat.format(1, "LEAVE", 'Group "orders": leave (in state up)'),
        coat.format(9, "MAXPOLL", poll),
    ]
    [one] = read(tmp_path, "".join(text)).groups
    assert "orders" == one.group.name
    assert 3 == len(one.group.leaves)

    shown = read(tmp_path, text[0])
    assert "a client left once because it exceeded" in printed(shown)


LOST: Final = (
    "Group coordinator b:9092 (id: 2 rack: null) is unavailable or invalid due to cause: {}. "
    "isDisconnected: true. Rediscovery will be attempted."
)


def test_a_coordinator_that_was_lost_before_is_named_as_the_origin(tmp_path: Path) -> None:
    text = [
        java(0, GENERATION.format(3)),
        java(100, LOST.format("null")),
        java(110, LOST.format("error response NOT_COORDINATOR")),
        java(130, f"Attempt to heartbeat failed for since member id {MEMBER} is not valid."),
    ]
    shown = read(tmp_path, "".join(text))
    [one] = shown.groups
    assert "put_out_after_loss" == one.findings[0].cause.name
    assert ["was disconnected", "NOT_COORDINATOR"] == [row.said for row in one.group.others]
    assert "null" not in printed(shown)


POLLED: Final = "[thrd:main]: Application maximum poll interval (6000ms) exceeded by 8ms (adjust"
STAMP: Final = "2026-10-01 10:00:00.123"


@pytest.mark.parametrize(
    ("text", "client_id"),
    [
        (f"{STAMP} WARN rdkafka::client: librdkafka: MAXPOLL {POLLED}", None),
        (
            "2026.10.01 10:00:00.725868 [ 344 ] {} <Warning> StorageKafka (events): [rdk:MAXPOLL] "
            + POLLED,
            None,
        ),
        (
            f"{{\n  message: '{POLLED}',\n  time: 1790848800123,\n  name: 'c-1#consumer-1'\n}}",
            "c-1",
        ),
        (
            json.dumps(
                {"fac": "MAXPOLL", "message": POLLED, "name": "c-1#consumer-1", "time": STAMP}
            ),
            "c-1",
        ),
        (f"[{STAMP} WRN] Kafka log: c-1#consumer-1 MAXPOLL {POLLED}", "c-1"),
        (f"{STAMP} Handle: c-1#consumer-1\tLevel: Warning\tMessage:{POLLED}", "c-1"),
        (f"1790848800.364 RDKAFKA-4-MAXPOLL: c-1#consumer-1: {POLLED}", "c-1"),
    ],
)
def test_what_bindings_of_librdkafka_put_around_its_lines_is_read(
    text: str, client_id: str | None, tmp_path: Path
) -> None:
    (tmp_path / "client.log").write_text(text + "\n")
    [event] = events.read([tmp_path / "client.log"]).events
    assert ("client_max_poll", client_id) == (event.event, event.client_id)


AWARE: Final = "The coordinator is not aware of this member, re-joining the group"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(
            {
                "loglevel": "error",
                "msg": f"ERROR [Runner] {AWARE} "
                + json.dumps(
                    {
                        "timestamp": "2026-10-01T10:00:00.123Z",
                        "groupId": "orders",
                        "memberId": MEMBER,
                    }
                ),
            }
        ),
        (
            f'[2026-10-01 10:00:00.123 +0000] ERROR: {AWARE}\n    namespace: "Runner"\n'
            f'    groupId: "orders"\n    memberId: "{MEMBER}"'
        ),
    ],
    ids=["winston", "pino-pretty"],
)
def test_what_loggers_make_of_kafkajs_s_lines_is_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "client.log").write_text(text + "\n")
    [event] = events.read([tmp_path / "client.log"]).events
    assert ("client_put_out", "orders", MEMBER) == (event.event, event.group, event.member_id)
    assert 1790848800_123000 == event.at


def test_who_has_left_is_not_put_out_when_its_commit_fails(tmp_path: Path) -> None:
    refused = "Offset commit failed on partition t-0 at offset 7: The coordinator is not aware of "
    text = java(0, GENERATION.format(1)) + java(60, refused + "this member.")
    [one] = read(tmp_path, text).groups
    assert ["put_out"] == [each.cause for each in one.group.removals]

    text = java(0, GENERATION.format(1)) + java(30, POLL) + java(60, refused + "this member.")
    [one] = read(tmp_path, text).groups
    assert not one.group.removals


@pytest.mark.parametrize(
    ("text", "why", "remedy"),
    [
        (JAVA + POLL, "none of them has a time", "the times of its lines"),
        (
            f"{STAMP} - kafka.coordinator - INFO - (Re-)joining group orders",
            "is a log of kafka-python or aiokafka, and the words of that client are not known here",
            "report its lines",
        ),
        (
            f"{STAMP} {JAVA}Setting offset for partition t-0 to the committed offset",
            "is a client's log, and none of its lines is about its group",
            "librdkafka with debug=cgrp",
        ),
    ],
)
def test_a_client_s_log_that_is_of_no_use_says_why(
    text: str, why: str, remedy: str, tmp_path: Path
) -> None:
    (tmp_path / "client.log").write_text(text + "\n")
    found = events.read([tmp_path / "client.log"])
    with pytest.raises(NoData, match=why) as raised:
        events.check(found)
    assert remedy in str(raised.value)
    assert "GroupCoordinator" not in str(raised.value)
