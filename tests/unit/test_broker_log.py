"""The brokers' own lines become rows; what is cut off or foreign does not."""

import base64
import json
import struct
from pathlib import Path
from typing import Any, Final

import pytest

from harness.base.stamps import parse_stamp
from harness.history import coordinator_log, request_log
from tests.unit.request_rows import read_rows
from tests.unit.worded import cases, pairs

PREFIX = "[GroupCoordinator id=3 topic=__consumer_offsets partition=1] "


LINES: Final = """
Dynamic member with unknown member id joins group g in Empty state. Created a new member id m-1
    and requesting the member to rejoin with this id.
=> member_id_given | member_id: m-1
Pending dynamic member with id m-1 joins group g in Stable state. Adding to the group now.
=> member_added | member_id: m-1
Static member with groupInstanceId=i-1 and unknown member id joins group g in Empty state. Created
    a new member id i-1-1 for this member and added to the group.
=> member_added | member_id: i-1-1
Static member with groupInstanceId=i-1 and unknown member id joins group g in Stable state.
    Replacing previously mapped member i-1-1 with this groupInstanceId.
=> replaced | instance_id: i-1
Preparing to rebalance group g in state PreparingRebalance with old generation 4 (reason: removing
    member m-1 on heartbeat expiration.).
=> rebalance_started | reason: removing member m-1 on heartbeat expiration.
Stabilized group g generation 5 with 3 members.
=> stabilized | generation: 5
Dynamic member with unknown member id joins group g in state Empty. Created a new member id m-1
    and added the member to the group.
=> member_added | member_id: m-1
Assignment received from leader m-1 for group g for generation 5. The group has 3 members, 0 of
    which are static.
=> assignment_received | members: 3
Member m-1 in group g has failed, removing it from the group.
=> evicted | member_id: m-1
[Group g] Member m-1 has left group through explicit `LeaveGroup` request; client reason: not
    provided
=> left | member_id: m-1
Group g with generation 6 is now empty.
=> emptied | generation: 6
Loaded classic group g with 3 members.
=> loaded | members: 3
[GroupId=g] Unloading group metadata for generation 6.
=> unloaded | generation: 6
Loaded consumer group g with 3 members.
=> loaded | members: 3
[GroupId=g] Unloaded group metadata for group epoch 6.
=> unloaded | generation: 6
[GroupId g] Member m-1 joins the consumer group using the classic protocol.
=> member_added | member_id: m-1
[GroupId g] Static member with instance id i-1 re-joins the consumer group using the consumer
    protocol. Created a new member m-2 to replace the existing member m-1.
=> member_added | member_id: m-2
[GroupId g] Static member m-2 with instance id i-1 cannot join the group because the instance id
    is owned by member m-1.
=> replacing_failed | instance_id: i-1
[GroupId g] Bumped group epoch to 4 with metadata hash -7876781492312390877.
=> epoch_bumped | generation: 4
[GroupId g] Computed a new target assignment for epoch 4 with 'uniform' assignor in 1ms.
=> target_computed | reason: uniform
[GroupId g] Member m-1 fenced from the group because the member session expired.
=> evicted | member_id: m-1
[GroupId g] Member m-1 fenced from the group because it failed to transition from epoch 3 within
    9000ms.
=> fenced | generation: 3
[GroupId g] Member m-1 left the consumer group.
=> left | member_id: m-1
[GroupId g] Static member m-1 with instance id i-1 temporarily left the consumer group.
=> left_for_now | instance_id: i-1
[GroupId g] Converted the classic group to a consumer group.
=> upgraded | reason: Converted the classic group to a consumer group
[GroupId g] Converted the consumer group to a classic group.
=> downgraded | reason: Converted the consumer group to a classic group
"""


@pytest.mark.parametrize(("text", "event", "columns"), cases(LINES))
def test_each_line_of_the_coordinator_is_understood(
    tmp_path: Path, text: str, event: str, columns: dict[str, Any]
) -> None:
    log = tmp_path / "broker-3.server.log"
    log.write_text(f"2026-11-21T10:07:52.554575 INFO GroupMetadataManager {PREFIX}{text}\n")

    (row,) = coordinator_log.read_coordinator_events(log, 3)

    assert {**columns, "event": event, "group": "g"}.items() <= row.items()
    assert "broker-3.server.log:1" == row["evidence"]


@pytest.mark.parametrize(
    ("text", "event"),
    pairs("""
        Pending dynamic member with id {} joins group g in Empty state. Adding => member_added
        Member {} in group g has failed, removing it from the group. => evicted
        [Group g] Member {} has left group through explicit `LeaveGroup` request; client reason: x
            => left
        Assignment received from leader {} for group g for generation 3. The group has 2 members, 0
            of which are static. => assignment_received
    """),
)
@pytest.mark.parametrize(
    "client_id", ["any name", "a b in group g has failed", "", "consumer-orders-1"]
)
def test_a_client_id_may_have_blanks(text: str, event: str, client_id: str) -> None:
    member_id = f"{client_id}-1364448b-d342-4f02-88b1-885ba4a7d072"
    row = coordinator_log.coordinator_row(text.format(member_id), coordinator_log.patterns())

    assert row is not None
    assert (event, "g", member_id) == (row["event"], row["group"], row["member_id"])


def events_of(tmp_path: Path, *messages: str, end: str = "\n") -> list[dict[str, Any]]:
    """The rows of a log with these messages of a coordinator of 4.x, or of 3.x after "3: "."""
    lines = []
    for second, message in enumerate(messages):
        mark = "[GroupCoordinator 3]: " if message.startswith("3: ") else PREFIX
        logger = "GroupCoordinator" if message.startswith("3: ") else "GroupMetadataManager"
        text = message.removeprefix("3: ")
        lines.append(f"2026-11-21T10:00:0{second}.000000 INFO {logger} {mark}{text}")
    log = tmp_path / "broker-3.server.log"
    log.write_text("\n".join(lines) + end)
    return list(coordinator_log.read_coordinator_events(log, 3))


@pytest.mark.parametrize(
    "message",
    [
        "Finished loading of metadata from __consumer_offsets-3 with epoch 1 in 2ms where 1ms was",
        "Ignored unloading metadata for __consumer_offsets-0 in epoch OptionalInt[0] since",
        "failAll(NotCoordinatorException): failing java.util.concurrent.CompletableFuture@1.",
        "Event processor closed.",
        "[GroupId g] Creating a simple consumer group via manual offset commit.",
        "[GroupId g] Member m-1 new assignment state: epoch=3, previousEpoch=2, state=STABLE, and",
        "[Group g] Pending member m-1 has left group through explicit `LeaveGroup` request; client",
        "Request memberId=m-1 for static member with groupInstanceId=i-1 is fenced by existing",
        "[GroupId g][MemberId m-1] Member joins the streams group.",
        "[GroupId g] Member m-1 joins the share group using the share protocol.",
        "3: Elected as the group coordinator for partition 3 in epoch 0",
        "3: Member m-1 has already been removed from the group.",
        "3: Group g removed members who haven't sent their sync request: Set(m-1)",
    ],
)
def test_lines_that_are_known_to_tell_nothing_of_a_member_are_passed_over(
    tmp_path: Path, message: str
) -> None:
    assert [] == events_of(tmp_path, message)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (
            "Preparing to balance group orders in state Stable with 3 members.",
            "GroupMetadataManager: Preparing to balance group … in state Stable with … members.",
        ),
        (
            "[GroupId g] Member a b-1c fenced from the group because of 'this' {a=1}.",
            "GroupMetadataManager: … Member a … fenced from the group because of … ….",
        ),
        ("3: Elected something else", "GroupCoordinator: Elected something else"),
    ],
)
def test_a_text_that_nothing_knows_is_kept_with_its_kind(
    tmp_path: Path, message: str, kind: str
) -> None:
    known = "Stabilized group g generation 5 with 3 members."

    unknown, row = events_of(tmp_path, message, known)

    assert {
        "event": "unknown",
        "reason": kind,
        "text": message.removeprefix("3: "),
        "broker": 3,
        "at": parse_stamp("2026-11-21T10:00:00.000000 "),
        "evidence": "broker-3.server.log:1",
    } == unknown
    assert ("stabilized", "g") == (row["event"], row["group"])


def test_a_stamp_without_its_leading_zeros_is_refused() -> None:
    """Log4j 2.25 writes 10:08:19.065629374 as "19.65629374" if asked for n: half a second off."""
    with pytest.raises(ValueError, match="no stamp in microseconds"):
        parse_stamp("2026-11-21T10:08:19.65629374 INFO")


def call(api: str, request: object, response: object) -> str:
    return "2026-11-21T10:00:00.500000 Completed request:" + json.dumps(
        {
            "requestHeader": {"requestApiKeyName": api, "clientId": "member-1"},
            "request": request,
            "response": response,
            "totalTimeMs": 12.5,
            "requestQueueTimeMs": 1.0,
            "localTimeMs": 2.0,
            "remoteTimeMs": 7.5,
            "throttleTimeMs": 0,
            "responseQueueTimeMs": 1.5,
            "sendTimeMs": 0.5,
        }
    )


def test_times_count_back_from_the_answer(tmp_path: Path) -> None:
    log = tmp_path / "broker-1.requests.log"
    log.write_text(
        call("HEARTBEAT", {"groupId": "g", "memberId": "m", "generationId": 2}, {"errorCode": 27})
    )

    (row,) = read_rows("requests", log)

    assert 12_500 == row["answered_at"] - row["arrived_at"]
    assert 2_000 == row["answered_at"] - row["processed_at"]
    assert ("g", "m", 2, 27) == tuple(
        row[name] for name in ("group", "member_id", "generation", "error_code")
    )


def test_what_is_logged_for_messages_is_no_history(tmp_path: Path) -> None:
    log = tmp_path / "broker-1.requests.log"
    heartbeat = call("SHARE_GROUP_HEARTBEAT", {"groupId": "g", "memberId": "m"}, {"errorCode": 0})
    log.write_text(
        call("METADATA", {"topics": [{"name": "t"}]}, {"errorCode": 0})
        + f"\n{heartbeat}\n"
        + heartbeat.replace("SHARE", "STREAMS")
    )

    assert [] == read_rows("requests", log)
    assert [] == read_rows("fetches", log)


def asked(*committed: int, **topic: str) -> dict[str, Any]:
    """A commit of a position for each partition of a topic."""
    partitions = [{"partitionIndex": n, "committedOffset": at} for n, at in enumerate(committed)]
    return {"groupId": "g", "memberId": "m", "topics": [{**topic, "partitions": partitions}]}


def answered(*codes: int, **more: Any) -> dict[str, Any]:
    """An answer with an error for each partition of a topic."""
    partitions = [{"partitionIndex": n, "errorCode": code, **more} for n, code in enumerate(codes)]
    return {"topics": [{"name": "t", "topicId": "id-of-t", "partitions": partitions}]}


def beat(**more: Any) -> dict[str, Any]:
    given = [{"topicId": "id-of-t", "partitions": [0, 1]}]
    usual = {"groupId": "g", "memberId": "m", "memberEpoch": 2, "rebalanceTimeoutMs": -1}
    return {**usual, "topicPartitions": given, **more}


LISTED: Final = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -2}]}]}
OTHERS: Final = {"topicPartitions": [{"topicId": "of-another", "partitions": [3]}]}


@pytest.mark.parametrize(
    ("api", "request_", "answer", "expected"),
    [
        (
            "JOIN_GROUP",
            {"memberId": ""},
            {"errorCode": 79, "memberId": "m-7"},
            {"member_id": "m-7"},
        ),
        *(
            (
                "FIND_COORDINATOR",
                {"coordinatorKeys": ["g"]},
                answer,
                {"group": "g", "error_code": 0, "detail": {"coordinator": 2}},
            )
            for answer in (
                {"errorCode": 0, "nodeId": 2},  # of version 3, and of version 4
                {"coordinators": [{"key": "g", "errorCode": 0, "nodeId": 2}]},
            )
        ),
        (
            "OFFSET_COMMIT",
            asked(5, 9, name="t"),
            answered(0, 12),
            {"positions": [("t", 0, 5, 0), ("t", 1, 9, 12)], "error_code": 12},
        ),
        (
            "OFFSET_COMMIT",
            asked(5, topicId="id-of-t"),
            answered(113),
            {"positions": [("t", 0, 5, 113)]},
        ),
        *(
            (
                "TXN_OFFSET_COMMIT",
                {**asked(5, name="t"), "transactionalId": "x", named: 3},
                answered(25),
                {"generation": 3, "error_code": 25, "detail": {"transactional_id": "x"}},
            )
            for named in ("generationId", "generationIdOrMemberEpoch")  # since 4.4
        ),
        *(
            (
                api,
                LISTED,
                answered(0, 3, **{field: 7}),
                {"positions": [("t", 0, 7, 0), ("t", 1, 7, 3)]},
            )
            for api, field in (
                ("OFFSET_FETCH", "committedOffset"),
                ("LIST_OFFSETS", "offset"),
                ("DELETE_RECORDS", "lowWatermark"),
            )
        ),
        ("LIST_OFFSETS", LISTED, answered(0, offset=7), {"detail": {"timestamp": -2}}),
        (
            "OFFSET_DELETE",
            LISTED,
            answered(0, 3),
            {"positions": [("t", 0, -1, 0), ("t", 1, -1, 3)]},
        ),
        (  # of several groups the first
            "OFFSET_FETCH",
            {"groups": [{"groupId": "g"}]},
            {"groups": [{"groupId": "g", **answered(0, committedOffset=-1)}]},
            {"positions": [("t", 0, -1, 0)]},
        ),
        (
            "CONSUMER_GROUP_HEARTBEAT",
            beat(),
            {"errorCode": 0, "memberEpoch": 4, "heartbeatIntervalMs": 2000, "assignment": OTHERS},
            {
                "generation": 2,
                "member_epoch": 4,
                "owned": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}],
                "assigned": [{"topic": "of-another", "partition": 3}],
                "rebalance_timeout_ms": None,
            },
        ),
        (
            "CONSUMER_GROUP_HEARTBEAT",
            beat(topicPartitions=None),
            {"errorCode": 25},
            {"owned": None, "assigned": None, "error_code": 25},
        ),
    ],
)
def test_what_a_call_says_is_in_its_columns(
    tmp_path: Path, api: str, request_: Any, answer: Any, expected: dict[str, Any]
) -> None:
    log = tmp_path / "broker-1.requests.log"
    log.write_text(call(api, {"groupId": "g", **request_}, answer))

    (row,) = read_rows("requests", log, {"id-of-t": "t"})

    positions = row.get("positions") or ()
    found = {
        **row,
        "detail": json.loads(row.get("detail") or "null"),
        "positions": [
            (each["topic"], each["partition"], each["committed"], each["error_code"])
            for each in positions
        ],
    }
    assert expected == {name: found.get(name) for name in expected}


def test_an_assignment_is_decoded_topic_by_topic() -> None:
    topics = b"".join(
        struct.pack(">h", len(name))
        + name
        + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for name, numbers in ((b"orders", (0, 3)), (b"t", (7,)))
    )
    encoded = base64.b64encode(struct.pack(">hi", 0, 2) + topics + struct.pack(">i", 0)).decode()

    assert [("orders", 0), ("orders", 3), ("t", 7)] == [
        (item["topic"], item["partition"]) for item in request_log.decode_assignment(encoded)
    ]
    assert [] == request_log.decode_assignment("")


OLD = "2026-11-21T13:51:11.{us:06d} INFO GroupCoordinator [GroupCoordinator 1]: {text}\n"
OLD_MEMBER = (
    "MemberMetadata(memberId=m-1, groupInstanceId=None, clientId=m, clientHost=/127.0.0.1, "
    "sessionTimeoutMs=6000, rebalanceTimeoutMs=60000, supportedProtocols=List(range))"
)


OLD_LINES: Final = """
Preparing to rebalance group g in state PreparingRebalance with old generation 4
    (__consumer_offsets-1) (reason: removing member m-1 on heartbeat expiration)
=> rebalance_started | reason: removing member m-1 on heartbeat expiration
Stabilized group g generation 5 (__consumer_offsets-1) with 3 members
=> stabilized | members: 3
Member m-1 in group g has failed, removing it from the group
=> evicted | member_id: m-1
Member <member> has left group g through explicit `LeaveGroup`; client reason: x
=> left | member_id: m-1
Group g with generation 3 is now empty (__consumer_offsets-1)
=> emptied | generation: 3
Group g removed dynamic members who haven't joined: Set(m-1, m-2)
=> stragglers_removed | reason: [m-1, m-2]
Preparing to rebalance group g in state PreparingRebalance with old generation 4
    (__consumer_offsets-1) (reason: Removing HashSet(m-1) on pending sync request expiration)
=> rebalance_started | reason: Removing [m-1] on pending sync request expiration
Loading group metadata for g with generation 7
=> loaded | generation: 7
Unloading group metadata for g with generation 7
=> unloaded | generation: 7
"""


@pytest.mark.parametrize(("text", "event", "columns"), cases(OLD_LINES, member=OLD_MEMBER))
def test_lines_of_the_old_coordinator_are_read(
    tmp_path: Path, text: str, event: str, columns: dict[str, Any]
) -> None:
    log = tmp_path / "broker-1.server.log"
    log.write_text(OLD.format(us=1, text=text))

    [row] = coordinator_log.read_coordinator_events(log, 1)

    assert {**columns, "event": event, "group": "g"}.items() <= row.items()


def test_the_old_coordinator_says_of_a_departure_after_what_it_caused(tmp_path: Path) -> None:
    left = f"Member {OLD_MEMBER} has left group g through explicit `LeaveGroup`; client reason: x"
    log = tmp_path / "broker-1.server.log"
    log.write_text(
        OLD.format(us=100, text="Group g with generation 3 is now empty (__consumer_offsets-1)")
        + OLD.format(us=7_100, text=left)
        + OLD.format(us=90_000, text=left)
    )

    at = [row["at"] % 1_000_000 for row in coordinator_log.read_coordinator_events(log, 1)]

    assert [100, 100, 90_000] == at


def test_a_departure_that_empties_the_group_is_before_the_rebalance_that_it_started(
    tmp_path: Path,
) -> None:
    """As Kafka 3.7.2 writes it when the last member leaves."""
    log = tmp_path / "broker-1.server.log"
    started = (
        "Preparing to rebalance group g in state PreparingRebalance with old generation 2 "
        "(__consumer_offsets-1) (reason: Removing member {} on LeaveGroup; client reason: x)"
    )
    lines = (
        started.format("m-1"),
        "Group g with generation 3 is now empty (__consumer_offsets-1)",
        f"Member {OLD_MEMBER} has left group g through explicit `LeaveGroup`; client reason: x",
    )
    log.write_text("".join(OLD.format(us=100 + n, text=text) for n, text in enumerate(lines)))
    others = log.with_name("broker-2.server.log")
    others.write_text(log.read_text().replace("Removing member m-1", "Removing member m-2"))

    found = [
        [row["at"] % 1_000_000 for row in coordinator_log.read_coordinator_events(each, 1)]
        for each in (log, others)
    ]

    assert [[100, 101, 100], [100, 101, 101]] == found
