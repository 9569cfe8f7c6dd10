"""Logs as other people's brokers write them: what a line says, when, and which lines count.

Wordings are those of Kafka's sources: `core/src/main/scala/kafka/coordinator/group/
GroupCoordinator.scala` of the branches 3.6 to 3.9, `GroupMetadataManager.java` and
`classic/ClassicGroup.java` in `group-coordinator/src/main/java/org/apache/kafka/coordinator/group/`
of 3.7 to 4.1, and the texts in the classes of kafka-group-coordinator-4.4.0.jar.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from harness.base.errors import BadInput, NoData
from harness.history.foreign import events, log_files
from harness.history.foreign.lines import messages_in
from harness.history.foreign.log import Clock
from harness.history.foreign.wordings import row_of
from harness.report.incident.explain_page import page
from harness.report.incident.explain_terminal import print_view
from harness.report.incident.explain_view import view_of
from tests.foreign_logs import BY_NAME, NEW_LOGGER, Layout
from tests.unit.worded import cases

INFO: Final = "[2026-03-29 10:30:00,123] INFO "
NONE: Final = "has no INFO lines of the group coordinator"
STABILIZED: Final = "Stabilized group g generation 5 with 3 members."
OLD: Final = "[GroupCoordinator 1]: "
NEW: Final = "[GroupCoordinator id=3 topic=__consumer_offsets partition=1] "
AT: Final = datetime(2026, 3, 29, 10, 30, 0, 123456, UTC)
UUID: Final = "0f1e2d3c-d521-4fd4-ba65-9bc33c56d66e"
KEEPER: Final = "[GroupMetadataManager brokerId=1] "
KEEPERS: Final = "kafka.coordinator.group.GroupMetadataManager"
LEFT: Final = "has left group through explicit `LeaveGroup` request; client reason: "


WORDINGS: Final = """
# 3.6 to 3.9, GroupCoordinator.scala, validateCurrentMember
<old>Request memberId=i-1-a for static member with groupInstanceId=i-1 is fenced by current
    memberId=i-1-b during operation heartbeat
=> instance_fenced | member_id: i-1-a | instance_id: i-1 | other_id: i-1-b | reason: heartbeat
# 4.0 to 4.4, ClassicGroup.validateMember
<new>Request memberId=i-1-a for static member with groupInstanceId=i-1 is fenced by existing
    memberId=i-1-b during operation offset-commit
=> instance_fenced | member_id: i-1-a | instance_id: i-1 | other_id: i-1-b
# 3.6 to 3.9: where a member that leaves was, is only in this line
<old>Member MemberMetadata(memberId=m-1, groupInstanceId=Some(i-1), clientId=a, b,
    clientHost=/10.0.0.7, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000,
    supportedProtocols=List(range, cooperative-sticky)) has left group g through explicit
    `LeaveGroup`; client reason: consumer poll timeout has expired.
=> left | member_id: m-1 | instance_id: i-1 | client_id: a, b | host: 10.0.0.7 | reason: consumer
    poll timeout has expired.
# 3.6 to 3.9, of clients that ask for no member id first
<old>Dynamic Member with unknown member id joins group g in Empty state. Created a new member id m-1
    for this member and add to the group.
=> member_added | group: g | member_id: m-1
# 3.8 to 4.4, a member of the classic protocol in a group of KIP-848
<new>[GroupId g] Dynamic member with unknown member id joins the consumer group. Created a new
    member id m-1 and requesting the member to rejoin with this id.
=> member_id_given | group: g | member_id: m-1
# 3.9
<new>[Group g] Dynamic Member m-1 has left group through explicit `LeaveGroup` request; client
    reason: the consumer is being closed
=> left | group: g | member_id: m-1 | client_reason: the consumer is being closed
# 4.0
<new>[GroupId g] Static member m-1 with instance id i-1 has left group through explicit `LeaveGroup`
    request; client reason: not provided
=> left | member_id: m-1 | instance_id: i-1 | client_reason: not provided
<new>[GroupId g] Static member m-2 with instance id i-1 is fenced by existing member m-1.
=> instance_fenced | group: g | member_id: m-2 | other_id: m-1
# 3.7 to 3.9, with their slip
<new>[GroupId g] Static member m-2 with instance id i-1 cannot join the group because the instance
    id is is owned by member m-1.
=> replacing_failed | member_id: m-2 | other_id: m-1
# 3.7
<new>[GroupId g] Member m-1 joins the consumer group.
=> member_added | member_id: m-1
<new>[GroupId g] Member m-1 fenced from the group because its session expired.
=> evicted | member_id: m-1
<new>[GroupId g] Member m-1 fenced from the group because it failed to revoke partitions within
    300000ms.
=> fenced | member_id: m-1
# 3.8
<new>[GroupId g] Static member with unknown member id and instance id i-1 re-joins the consumer
    group. Created a new member m-2 to replace the existing member m-1.
=> member_added | member_id: m-2 | instance_id: i-1
# 3.9
<new>[GroupId g] Static Member m-1 with instance id i-1 temporarily left the consumer group.
=> left_for_now | instance_id: i-1
# 4.4
<new>[GroupId g] Member m-1 fenced from the group because the classic member failed to join within
    the rebalance timeout.
=> dropped | member_id: m-1
<new>[GroupId g] Bumped group epoch to 4.
=> epoch_bumped | generation: 4
# 4.0
<new>[GroupId g] Computed new subscription metadata: {t=TopicMetadata(name=t)}.
=> metadata_computed | group: g
# 4.0 to 4.4
<new>[GroupId g] Member m-1 updated its subscribed topics to: [a, b].
=> subscribed | member_id: m-1
# 4.1 to 4.4
<new>[GroupId g][MemberId m-1] Bumped streams group epoch to 4 with metadata hash 12.
=> epoch_bumped | group: g | generation: 4
<new>[GroupId g][MemberId m-1] Member joins the streams group.
=> member_added | group: g | member_id: m-1
<new>[GroupId g] Streams member m-1 fenced from the group because the member session expired.
=> evicted | group: g | member_id: m-1
# 4.4
<new>[GroupId g][MemberId m-2] Static member with instance id i-1 re-joins the streams group using
    the streams protocol. Created a new member m-2 to replace the existing member m-1.
=> member_added | group: g | member_id: m-2 | instance_id: i-1
# 4.1 to 4.4, the member is the one that asked
<new>[GroupId g][MemberId m-1] Computed new metadata hash: 7.
=> metadata_computed | group: g | member_id: None
# 2.0
<old>Preparing to rebalance group g with old generation 4 (__consumer_offsets-7)
=> rebalance_started | group: g | generation: 4
# 2.0 to 2.7
<old>Stabilized group g generation 15 (__consumer_offsets-7)
=> stabilized | group: g | generation: 15
<old>Assignment received from leader for group g for generation 15
=> assignment_received | group: g | generation: 15
# 2.4 to 2.8
<old>Member[group.instance.id Some(i-1), member.id m-1] in group g has left, removing it from the
    group
=> left | group: g | member_id: m-1 | instance_id: i-1
# 2.3 and 2.4, which name no group
<old>Static member Some(i-1) with unknown member id rejoins, assigning new member id m-2, while old
    member m-1 will be removed.
=> replaced | instance_id: i-1 | member_id: m-1 | other_id: m-2
# 2.5 to 2.8
<old>Static member Some(i-1) of group g with unknown member id rejoins, assigning new member id m-2,
    while old member id m-1 will be removed.
=> replaced | group: g | instance_id: i-1 | member_id: m-1 | other_id: m-2
# 2.7
<old>Group g remove dynamic members who haven't joined: Set(m-1, m-2)
=> stragglers_removed | group: g | reason: [m-1, m-2]
# a group and a client.id with blanks and brackets
<old>Member my [old] app-<uuid> in group Order Service has failed, removing it from the group
=> evicted | group: Order Service | member_id: my [old] app-<uuid>
<new>[GroupId a [b] c] Member m-1 left the consumer group.
=> left | group: a [b] c | member_id: m-1
<new>Loaded streams group g with 3 members.
=> loaded | group: g | members: 3
[GroupCoordinator id=3] Startup complete.
=> broker_started | broker: 3
<old>Shutting down.
=> broker_stopping | broker: 1
"""


@pytest.mark.parametrize(
    ("message", "event", "columns"), cases(WORDINGS, new=NEW, old=OLD, uuid=UUID)
)
def test_wordings_of_every_version_are_understood(
    message: str, event: str, columns: dict[str, Any]
) -> None:
    row = row_of(message)

    assert row is not None
    assert event == row["event"]
    assert columns == {name: row.get(name) for name in columns}


@pytest.mark.parametrize(
    "message",
    [
        NEW + "Finished loading of metadata from __consumer_offsets-3 with epoch 5 in 2ms",
        OLD + "Elected as the group coordinator for partition 3 in epoch 5",
        "[GroupCoordinator x] Startup complete.",
        "[GroupMetadataManager brokerId=1] Group g transitioned to Dead in generation 3",
    ],
)
def test_lines_that_tell_of_no_group_are_none(message: str) -> None:
    assert row_of(message) is None


@pytest.mark.parametrize("layout", BY_NAME.values(), ids=BY_NAME)
def test_every_layout_gives_the_time_and_the_message(layout: Layout) -> None:
    message = NEW + STABILIZED
    line = next(messages_in(layout(AT, NEW_LOGGER, message)), None)

    assert line is not None
    assert message == line.message
    assert _us(AT) == Clock().at(line)


def _us(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)


BERLIN: Final = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("head", "zone", "hours"),
    [
        ("[2026-03-29 10:30:00,123] INFO ", None, 0),  # as it is written
        ("[2026-03-29 10:30:00,123] INFO ", BERLIN, -2),  # summer time
        ("[2026-03-28 10:30:00,123] INFO ", BERLIN, -1),
        ("[2026-03-29 10:30:00,123] INFO ", timezone(timedelta(hours=-5)), 5),
        ("2026-03-29T10:30:00.123+02:00 INFO ", None, -2),
        ("2026-03-29T10:30:00.123-0530 INFO ", None, 5.5),
        ("2026-03-29T10:30:00.123Z INFO ", BERLIN, 0),  # what is said goes before what is given
        ("2026-03-29 10:30:00,123 UTC INFO ", BERLIN, 0),
        ("29 Mar 2026 10:30:00,123 [x] INFO a.b.C - ", None, 0),
        ("2026/03/29 10:30:00.123 INFO ", None, 0),
        ("20260329T103000,123 INFO ", None, 0),
        ("kafka-1  | [2026-03-29 10:30:00,123] INFO ", None, 0),
        # A container's stamp is UTC, and shows what Kafka's own is.
        ("2026-03-29T08:30:00.200Z stdout F [2026-03-29 10:30:00,123] INFO ", None, -2),
        ("2026-03-29T10:30:00.123Z stdout F ", None, 0),
        ("\x1b[32m[2026-03-29 10:30:00,123]\x1b[0m INFO ", None, 0),
    ],
)
def test_time_zones_are_kept_apart(head: str, zone: Any, hours: float) -> None:
    line = next(messages_in(head + NEW + STABILIZED), None)

    assert line is not None
    at = Clock(zone).at(line)
    assert at is not None
    day = 28 if "03-28" in head else 29
    written = datetime(2026, 3, day, 10, 30, 0, 123000, UTC)
    assert _us(written + timedelta(hours=hours)) == at


@pytest.mark.parametrize(
    "line",
    [
        '{"timestamp": "2026-03-29T10:30:00Z", "message": "[GroupCoordinator 1]: Stabilized gro',
        f'{{"x": {{"y": 1}}}} {OLD}',
        f"[2026-03-29 10:30:00,123] WARN the client of a user said so and so and then said: {OLD}x",
    ],
)
def test_what_only_looks_like_a_line_of_the_coordinator_is_none(line: str) -> None:
    found = next(messages_in(line), None)

    assert found is None or found.stamp is None


def lines(*messages: str, at: datetime = AT, logger: str = NEW_LOGGER) -> str:
    """A log in Kafka's default layout, a line each 100 ms."""
    return "".join(
        f"[{at + number * timedelta(milliseconds=100):%Y-%m-%d %H:%M:%S,%f}] INFO {NEW}{message} "
        f"({logger})\n"
        for number, message in enumerate(messages)
    )


FIVE: Final = lines(
    *(f"Stabilized group g generation {number} with 3 members." for number in range(5))
)


def read(*paths: Path) -> events.Read:
    return events.read(log_files.files_of(list(paths)))


def generations(found: events.Read) -> list[int | None]:
    return [event.generation for event in found.events]


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda data: pa.compress(data, "zstd", asbytes=True),
        lambda data: data.decode().encode("utf-16"),  # as PowerShell redirects
        lambda data: gzip.compress(data[:300]) + gzip.compress(data[300:]),
        lambda data: data.replace(b"\n", b"\r\n"),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "utf-16", "two gzips", "Windows"],
)
def test_files_are_known_by_what_is_in_them(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    log = tmp_path / "server.log.2026-03-29-10"
    log.write_bytes(pack(FIVE.encode()))

    found = read(log)

    assert [0, 1, 2, 3, 4] == generations(found)
    assert "server.log.2026-03-29-10:5" == found.place(found.events[-1])
    assert [] == found.logs[0].damage


def test_of_a_file_that_is_damaged_what_comes_before_is_read(tmp_path: Path) -> None:
    many = "".join(FIVE for _ in range(4_000))
    packed = gzip.compress(many.encode())
    log = tmp_path / "server.log.gz"
    log.write_bytes(packed[: len(packed) // 2])

    found = read(log)

    assert len(found.events) > 1_000
    assert found.logs[0].damage[0].startswith("is damaged from somewhere on (")


def test_what_several_files_have_counts_once_and_what_one_has_twice_twice(tmp_path: Path) -> None:
    rows = FIVE.splitlines(keepends=True)
    (tmp_path / "server.log").write_text("".join(rows[2:]))
    (tmp_path / "server.log.1").write_text("".join(rows[:4]))
    (tmp_path / "copy.json").write_text(
        json.dumps({"log": rows[3], "time": "2026-03-29T10:30:01Z"})
    )

    found = read(tmp_path, tmp_path / "server.log")

    assert [0, 1, 2, 3, 4] == generations(found)
    assert 3 == sum(log.twice for log in found.logs)
    assert "3 lines stood in several files and counted once" in view_of(found).notes
    (tmp_path / "server.log").write_text(rows[3] * 2)
    assert [0, 1, 2, 3, 3] == generations(read(tmp_path))


def test_lines_that_are_cut_off_are_counted_and_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    first = FIVE.index(NEW)
    log.write_text(FIVE[first:] + FIVE[: FIVE.index(" (org")])

    found = read(log)

    assert [0, 1, 2, 3, 4] == generations(found)  # the last line says all but its logger
    assert 1 == found.logs[0].unread  # the first has no time
    log.write_text(FIVE[first:] + FIVE[: FIVE.index("bers.")])
    assert [1, 2, 3, 4] == generations(read(log))
    assert 2 == read(log).logs[0].unread


def test_a_line_may_begin_within_another(tmp_path: Path) -> None:
    """A broker that is killed while it writes, and started again, goes on behind its half."""
    first, second, *_ = FIVE.splitlines(keepends=True)
    (tmp_path / "server.log").write_text(first[:100] + second)

    assert [1] == generations(read(tmp_path))


def test_brokers_are_set_apart_by_their_lines(tmp_path: Path) -> None:
    other = FIVE.replace("id=3", "id=4").replace("group g", "group h")
    (tmp_path / "all.log").write_text(FIVE + other)

    found = read(tmp_path)

    assert {3, 4} == found.logs[0].brokers
    assert {("g", 3), ("h", 4)} == {(event.group, event.broker) for event in found.events}


def test_a_request_log_says_where_members_are(tmp_path: Path) -> None:
    call = {
        "requestHeader": {"requestApiKeyName": "JOIN_GROUP", "clientId": "orders"},
        "request": {"groupId": "g", "memberId": "orders-1", "groupInstanceId": None},
        "response": {"errorCode": 0, "memberId": "orders-1"},
        "connection": "10.0.0.1:9092-10.0.0.7:51234-3",
        "clientInformation": {"softwareName": "librdkafka", "softwareVersion": "2.6.0"},
    }
    text = "[2026-03-29 10:30:00,000] DEBUG Completed request:" + json.dumps(
        call, separators=(",", ":")
    )
    (tmp_path / "kafka-request.log").write_text(f"{text} (kafka.request.logger)\n{text[:90]}\n")
    escaped = json.dumps({"log": text.replace("orders-1", "orders-2"), "time": ""})
    (tmp_path / "container.json").write_text(escaped)

    clients = read(tmp_path).clients

    for name in ("orders-1", "orders-2"):
        assert ("orders", "10.0.0.7") == (clients[name].client_id, clients[name].host)
        assert "librdkafka 2.6.0" == clients[name].library


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("\0\1\2" * 500, "is no broker's log: name"),
        (f"{INFO}[KafkaServer id=1] started (kafka.server.X)\n", f"{NONE}: name the logs of all"),
        (f"{INFO.replace('INFO', 'WARN')}{NEW}Failed to load x (kafka.x.Y)\n", NONE),
        (f"{INFO}[QuorumController id=1] x (org.apache.kafka.x.Y)\n", "but a controller's or cli"),
        (f"INFO {NEW}{STABILIZED}\n", "has lines of a coordinator without a time"),
        # Of requests, of a broker that coordinates nothing.
        (f'{INFO}Completed request:{{"requestApiKeyName":"FETCH"}} (a)\n', NONE),
    ],
)
def test_a_log_that_says_nothing_is_one_sentence(tmp_path: Path, content: str, says: str) -> None:
    log = tmp_path / "some.log"
    log.write_text(content)

    with pytest.raises(NoData) as found_in:
        events.check(read(log))

    assert says in str(found_in.value)
    assert "\n" not in str(found_in.value)


def test_lines_in_words_that_are_not_known_are_counted_and_shown(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    version = "[2026-03-29 10:29:59,000] INFO Kafka version: 5.0.0 (org.apache.kafka.x.Y)\n"
    odd = "Member m-1 was sent to the moon"
    log.write_text(version + lines(*[odd] * 5, "Cannot load coordinator x in state y."))

    found = read(log)

    assert [5, 3] == [found.logs[0].unknown, len(found.logs[0].examples)]
    with pytest.raises(NoData, match=r"words that are not known here \(Kafka 5\.0\.0\): report"):
        events.check(found)
    log.write_text(version + lines(odd) + FIVE)
    [note] = [note for note in view_of(read(log)).notes if "not known here" in note]
    assert "1 line of the coordinator in words that are not known here (Kafka 5.0.0)" in note
    assert f"such as “{NEW}{odd}”" in note


def test_the_old_coordinator_s_other_lines_are_read(tmp_path: Path) -> None:
    """Of its offsets, which have another mark, and before 3.0 of a fenced member, with none."""
    (tmp_path / "server.log").write_text(
        f"{INFO}{OLD}Member m-1 in group g has failed, removing it from the group\n"
        f"{INFO}{KEEPER}Group g transitioned to Dead in generation 3 ({KEEPERS})\n"
        f"{INFO}{KEEPER}Removed 6 expired offsets in 2 milliseconds. ({KEEPERS})\n"
        f"{INFO.replace('INFO', 'ERROR')}given member.id m-1 is identified as a known static "
        "member i-1,but not matching the expected member.id m-2 (kafka.coordinator.x.Y)\n"
    )

    found = read(tmp_path)

    assert ["evicted", "dead", "offsets_expired", "instance_fenced"] == [
        event.event for event in found.events
    ]
    assert {1} == {event.broker for event in found.events}
    assert ("i-1", "m-2") == (found.events[-1].instance_id, found.events[-1].other_id)


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no file to read"):
        log_files.files_of([tmp_path])


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(pipe.write_bytes, gzip.compress(FIVE.encode()))
        found = read(pipe)
        writing.result()

    assert [0, 1, 2, 3, 4] == generations(found)


def test_a_group_that_no_line_names_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(FIVE.replace("group g", "group orders"))

    with pytest.raises(NoData, match="group 'order': did you mean 'orders'"):
        events.check(read(tmp_path), "order")


TEXTS: Final = (
    STABILIZED,
    "Preparing to rebalance group g in state Stable with old generation 4 (reason: x).",
    "Member m-1 in group g has failed, removing it from the group.",
    "[GroupId g] Bumped group epoch to 99999999999999999999 with metadata hash 1.",
    "[GroupId g] Computed a new target assignment for epoch 3 with 'uniform' assignor in 1ms.",
    "Group g with generation 6 is now empty.",
)
ODD: Final = (
    f"{OLD}Member MemberMetadata(memberId=m-1, groupInstanceId=None, clientId=m, clientHost=/1, ",
    '{"requestApiKeyName":"JOIN_GROUP"}',
    '{"requestApiKeyName":"JOIN_GROUP",Completed request:{"request":null}',
    "[9999-12-31 23:59:59,999] INFO ",
    "[0001-01-01 00:00:00,000] INFO ",
    "Kafka version: 3.9.1 ",
    '{"@timestamp": 1e308, "message": "',
    '{"a":' * 50,
)
WHOLE: Final = [layout(AT, NEW_LOGGER, NEW + text) for layout in BY_NAME.values() for text in TEXTS]
PIECES: Final = st.one_of(st.sampled_from(WHOLE), st.sampled_from(ODD), st.text(max_size=30))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pieces=st.lists(
        st.tuples(PIECES, st.integers(0, 400), st.booleans(), st.sampled_from(["\n", "", "\r\n"])),
        max_size=25,
    ),
    tail=st.binary(max_size=40),
    cut=st.integers(0, 600),
    packed=st.booleans(),
)
def test_nothing_that_a_file_may_hold_ends_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory,
    pieces: list[tuple[str, int, bool, str]],
    tail: bytes,
    cut: int,
    packed: bool,
) -> None:
    """Lines of all layouts, cut anywhere, mixed, in a file that may be cut as well."""
    folder = tmp_path_factory.mktemp("fuzz")
    text = "".join(
        (piece[:place] if first else piece[place:]) + end for piece, place, first, end in pieces
    )
    data = text.encode("utf-8", "surrogatepass") + tail
    if packed:
        data = gzip.compress(data)
        data = data[: len(data) - cut % len(data)]
    (folder / "server.log").write_bytes(data)

    found = events.read(log_files.files_of([folder]), BERLIN)

    with suppress(NoData):
        events.check(found)
        assert page(view_of(found)).startswith("<!doctype html>")
        print_view(view_of(found), Console(file=io.StringIO()))
    if found.events:
        assert found.logs[0].first_at is not None


def test_what_a_client_says_is_no_line_of_the_coordinator(tmp_path: Path) -> None:
    """A line feed in the reason of a leave; the log of requests has it as well."""
    line = f"[2026-03-29 10:30:0{{}},123] INFO {NEW}[Group {{}}] Member {{}} {LEFT}{{}} (x.y.Z)"
    line = line.replace("(x.y.Z)", "(org.apache.kafka.coordinator.group.GroupMetadataManager)")
    forged = line.format(5, "payments", "p-1", "I was never here")
    log, requests = tmp_path / "server.log", tmp_path / "kafka-request.log"
    log.write_text(
        line.format(1, "orders", "m-1", f"bye\n{forged}") + "\n"
        f"{line.format(2, 'payments', 'p-2', 'bye')}\n"
    )
    call = {
        "requestHeader": {"requestApiKeyName": "LEAVE_GROUP", "clientId": "m"},
        "request": {"groupId": "orders", "members": [{"reason": f"bye\n{forged}"}]},
    }
    requests.write_text(f"[2026-03-29 10:30:01,125] DEBUG Completed request:{json.dumps(call)}\n")

    def found_in(*paths: Path) -> set[tuple[str | None, str | None]]:
        return {(event.group, event.member_id) for event in events.read(list(paths)).events}

    genuine = {("orders", "m-1"), ("payments", "p-2")}
    assert genuine == found_in(log, requests)
    assert genuine == found_in(requests, log)
    assert set() == found_in(requests)
    assert genuine | {("payments", "p-1")} == found_in(log)  # nothing sets it apart from a line
