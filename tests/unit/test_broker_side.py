"""What programs hold and how far they are follows from lines that brokers write."""

from __future__ import annotations

import base64
import json
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from harness.history.whose import SHARED
from harness.run.broker_side import BrokerSide
from harness.run.member import Member
from tests.unit.worded import pairs

BEGAN = datetime(2026, 11, 24, 4, 21, tzinfo=UTC)
TOPIC_ID = "MzytNYI7QJK6EccHhizcpQ"


def us(ms: float) -> int:
    return int(BEGAN.timestamp() * 1_000_000 + ms * 1_000)


def assignment(*partitions: int, topic: str = "t") -> str:
    body = struct.pack(f">hih{len(topic)}si", 0, 1, len(topic), topic.encode(), len(partitions))
    body += struct.pack(f">{len(partitions)}i", *partitions) + struct.pack(">i", 0)
    return base64.b64encode(body).decode()


class Brokers:
    """Three brokers' request logs, and who reads them."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self.members: list[Member] = []
        nodes = [SimpleNamespace(id=number) for number in (1, 2, 3)]
        plan = SimpleNamespace(brokers=nodes, settings={})
        self.side = BrokerSide(logs, cast("Any", plan))

    def member(self, name: str, lane: str = "", *, started_ms: float = 0) -> Member:
        process: Any = SimpleNamespace(code=None, pid=1)
        process.poll = lambda: process.code
        lane = lane or name
        self.members.append(Member(name, process, None, lane=lane, started_at=us(started_ms)))
        return self.members[-1]

    def write(self, text: str, broker: int = 1) -> None:
        with (self._logs / f"broker-{broker}.requests.log").open("a") as log:
            log.write(text)

    def line(
        self,
        lane: str,
        api: str,
        request: Any,
        response: Any,
        ms: float = 10,
        took_ms: float = 1,
        client_id: str = "any",
    ) -> str:
        call = {
            "requestHeader": {"requestApiKeyName": api, "clientId": client_id},
            "request": {"groupId": "orders", "memberId": "m", **request},
            "response": {"errorCode": 0, **response},
            "totalTimeMs": took_ms,
            "throttleTimeMs": 0,
            "responseQueueTimeMs": 0,
            "sendTimeMs": 0,
            "listener": "LANE_" + lane.upper().replace("-", "_"),
        }
        stamp = (BEGAN + timedelta(milliseconds=ms)).strftime("%Y-%m-%dT%H:%M:%S.%f")
        return f"{stamp} Completed request:{json.dumps(call, separators=(',', ':'))}\n"

    def says(self, lane: str, api: str, request: Any, response: Any, **more: Any) -> None:
        broker = more.pop("broker", 1)
        self.write(self.line(lane, api, request, response, **more), broker)
        self.follow()

    def synced(self, lane: str, generation: int, *partitions: int, **more: Any) -> None:
        member_id = more.pop("member_id", f"id-{lane}")
        given = assignment(*partitions, topic=more.pop("topic", "t"))
        asked = {"generationId": generation, "memberId": member_id}
        self.says(lane, "SYNC_GROUP", asked, {"assignment": given}, **more)

    def beat(self, lane: str, epoch: int, *partitions: int, **more: Any) -> None:
        """A heartbeat of KIP-848; without partitions its answer says nothing of them."""
        asked = {"memberId": more.pop("member_id", f"id-{lane}"), "memberEpoch": epoch}
        given = {"topicPartitions": [{"topicId": TOPIC_ID, "partitions": list(partitions)}]}
        answer = {
            "memberEpoch": more.pop("now", epoch),
            "errorCode": more.pop("error", 0),
            "assignment": given if partitions else None,
        }
        self.says(lane, "CONSUMER_GROUP_HEARTBEAT", asked, answer, **more)

    def follow(self) -> None:
        self.side.follow(self.members)


@pytest.fixture
def brokers(tmp_path: Path) -> Brokers:
    return Brokers(tmp_path)


def test_a_log_is_followed_through_its_rotation(brokers: Brokers, tmp_path: Path) -> None:
    """Also where it is rotated twice between two looks, and where the new file is not there yet."""
    member = brokers.member("member-1")
    log = tmp_path / "broker-1.requests.log"
    brokers.synced("member-1", 1, 0)
    assert {0} == set(member.assigned)
    brokers.write(brokers.line("member-1", "HEARTBEAT", {}, {}))
    log.rename(f"{log}.1")
    brokers.follow()
    brokers.write(brokers.line("member-1", "HEARTBEAT", {}, {}))
    log.rename(f"{log}.2")

    brokers.synced("member-1", 2, 3)

    assert {3} == set(member.assigned)
    assert 4 == brokers.side.requests["member-1"]
    brokers.follow()
    assert 4 == brokers.side.requests["member-1"]


def test_before_any_broker_has_written_no_one_has_anything(brokers: Brokers) -> None:
    member = brokers.member("member-1")

    brokers.follow()

    assert (False, set(), None) == (member.started, member.assigned, member.generation)


# Steps: `synced` has a generation and partitions, `beat` an epoch and partitions, any other call
# the error that it is answered with. What holds after them: the partitions of each member, and
# attributes that are not as usual.
HELD: Final = """
# An eager group holds what its answers say.
member-1 synced 1 0 1 2; member-2 synced 1 3 4 5 =>
    member-1 0 1 2 generation=1 started ever_assigned; member-2 3 4 5
# Who has not come into the new generation was evicted unheard: no request of it says so.
member-1 synced 1 0 1; member-2 synced 1 2 3; member-2 synced 2 2 3 => member-1; member-2 2 3
# A cooperative member keeps what its next answer names again.
member-1 synced 1 0 1; member-1 synced 2 0; member-2 synced 2 =>
    member-1 0; member-2 started ever_assigned=0
member-1 synced 1 0 1; member-1 synced 2 0; member-2 synced 2; member-2 synced 3 1;
    member-1 synced 3 0 => member-1 0; member-2 1
# In KIP-848 an answer without an assignment changes nothing.
member-1 beat 0 now=3 => member-1 started generation=3
member-1 beat 3 0 1; member-1 beat 3 now=4 => member-1 0 1 generation=4
# Its epochs differ, and all hold what they have, but for what another has been given.
member-1 beat 3 0 1; member-2 beat 4 2 => member-1 0 1; member-2 2
member-1 beat 3 0 1; member-2 beat 5 1 2 => member-1 0; member-2 1 2
# An evicted member holds nothing once it is answered so.
member-1 synced 1 0; member-1 HEARTBEAT 22 => member-1
member-1 synced 1 0; member-1 HEARTBEAT 25 => member-1
member-1 synced 1 0; member-1 SYNC_GROUP 22 => member-1
member-1 synced 1 0; member-1 SYNC_GROUP 25 => member-1
member-1 beat 3 0; member-1 beat 3 error=25 => member-1
member-1 beat 3 0; member-1 beat 3 error=110 => member-1
# A rebalance in progress takes nothing away.
member-1 synced 1 0; member-1 HEARTBEAT 27 => member-1 0
# One that leaves is closed, until another member has its lane.
member-1 synced 1 0; member-1 left id-member-1 => member-1 closed
member-1 synced 1 0; member-1 left id-member-1; member-1 synced 2 0 member_id=b => member-1 0
member-1 beat 3 0; member-1 beat -1 => member-1 closed
member-1 beat 3 0; member-1 beat -2 => member-1 closed
# Two members in one process hold both their shares.
member-1 synced 1 0 1 member_id=a; member-1 synced 1 2 member_id=b; member-2 synced 1 3 =>
    member-1 0 1 2; member-2 3
member-1 synced 1 0 1 member_id=a; member-1 synced 1 2 member_id=b; member-1 left a => member-1 2
member-1 synced 1 0 1 member_id=a; member-1 synced 1 2 member_id=b; member-1 left a;
    member-1 left b => member-1 closed
# Partitions of other topics are not counted.
member-1 synced 1 0 1 topic=others => member-1 started
"""


def words_of(text: str) -> list[tuple[str, list[int], dict[str, Any]]]:
    """Each part: its words before the numbers, the numbers, and what is named."""
    found = []
    for part in text.split(";"):
        words = part.split()
        named = dict(word.split("=") for word in words if "=" in word)
        numbers = [int(word) for word in words if word.lstrip("-").isdigit()]
        plain = [word for word in words if "=" not in word and not word.lstrip("-").isdigit()]
        values = {name: int(each) if each.isdigit() else each for name, each in named.items()}
        found.append((" ".join(plain), numbers, values))
    return found


@pytest.mark.parametrize(("steps", "held"), pairs(HELD))
def test_members_hold_what_their_answers_say(brokers: Brokers, steps: str, held: str) -> None:
    lanes = sorted({text.split()[0] for text in steps.split(";")})
    members = {lane: brokers.member(lane) for lane in lanes}

    for words, numbers, named in words_of(steps):
        lane, api, *who = words.split()
        if api == "left":
            left = {"memberId": "", "members": [{"memberId": who[0]}]}
            brokers.says(lane, "LEAVE_GROUP", left, {"members": [{"errorCode": 0}]})
        elif api in ("synced", "beat"):
            getattr(brokers, api)(lane, *numbers, **named)
        else:
            asked = {"memberId": f"id-{lane}", "generationId": 1}
            brokers.says(lane, api, asked, {"errorCode": numbers[0]})

    for words, partitions, named in words_of(held):
        lane, *flags = words.split()
        expected = {"closed": False, "running": True, **dict.fromkeys(flags, True), **named}
        assert set(partitions) == members[lane].assigned
        assert expected == {name: getattr(members[lane], name) for name in expected}


def test_on_a_shared_lane_the_client_id_says_who_it_is(brokers: Brokers) -> None:
    one, ten = brokers.member("member-1", SHARED), brokers.member("member-10", SHARED)

    brokers.synced(SHARED, 1, 0, client_id="member-1-0", member_id="a")
    brokers.synced(SHARED, 1, 1, 2, client_id="orders-member-10", member_id="b")
    brokers.synced(SHARED, 1, 3, client_id="rdkafka", member_id="c")

    assert ({0}, {1, 2}) == (one.assigned, ten.assigned)
    assert {"rdkafka"} == brokers.side.nameless


def test_a_line_cut_in_the_middle_is_read_when_the_rest_is_there(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    asked = {"generationId": 1, "memberId": "m"}
    line = brokers.line("member-1", "SYNC_GROUP", asked, {"assignment": assignment(0)})

    for piece in (line[:40], line[40:-1], line[-1:]):
        assert set() == member.assigned
        brokers.write(piece)
        brokers.follow()

    assert {0} == member.assigned


def test_a_line_cut_off_for_good_spoils_none_but_the_one_it_runs_into(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    beat = brokers.line("member-1", "HEARTBEAT", {}, {})

    brokers.write(beat[:200] + "\n" + beat[:-50] + beat)
    brokers.synced("member-1", 1, 0)

    assert {0} == member.assigned


def test_lines_of_several_brokers_are_taken_in_the_order_of_time(brokers: Brokers) -> None:
    """The group has moved to a coordinator whose log is read first."""
    member = brokers.member("member-1")
    asked = {"memberId": "id", "generationId": 2}
    late = brokers.line("member-1", "SYNC_GROUP", asked, {"assignment": assignment(0, 1)}, ms=2_000)
    early = brokers.line(
        "member-1", "SYNC_GROUP", {**asked, "generationId": 1}, {"assignment": assignment(0)}, ms=20
    )

    brokers.write(late, broker=1)
    brokers.write(early, broker=3)
    brokers.follow()

    assert ({0, 1}, 2) == (member.assigned, member.generation)


def commits(
    brokers: Brokers, lane: str, *positions: int, codes: tuple[int, ...], **of: str
) -> None:
    """A commit of a position in each partition of a topic, and how each is answered."""
    asked = [{"partitionIndex": n, "committedOffset": at} for n, at in enumerate(positions)]
    answered = [{"partitionIndex": n, "errorCode": code} for n, code in enumerate(codes)]
    request, answer = ({"topics": [{**of, "partitions": each}]} for each in (asked, answered))
    brokers.says(lane, "OFFSET_COMMIT", request, answer)


def test_commits_say_how_far_a_process_is_and_the_last_one_counts_after_its_end(
    brokers: Brokers,
) -> None:
    member = brokers.member("member-1")

    commits(brokers, "member-1", 5, 9, codes=(0, 25), name="t")
    assert {0: 5} == member.position
    commits(brokers, "member-1", 6, 9, codes=(0, 25), topicId=TOPIC_ID)
    commits(brokers, "member-1", 7, 9, codes=(0, 25), name="others")
    assert {0: 6} == member.position
    member.instance.code = 0  # type: ignore[union-attr]
    commits(brokers, "member-1", 7, codes=(0,), name="t")
    assert {0: 7} == member.position


def test_what_comes_late_is_of_the_process_that_had_the_lane_when_it_asked(
    brokers: Brokers,
) -> None:
    """Its join was answered 3 s after it was killed, when another came through its lane."""
    dead = brokers.member("member-1")
    brokers.says("member-1", "JOIN_GROUP", {}, {"memberId": "m", "errorCode": 79})
    dead.instance.code = -9  # type: ignore[union-attr]
    new = brokers.member("member-4", "member-1", started_ms=1_000)

    brokers.says("member-1", "JOIN_GROUP", {}, {"generationId": 2}, ms=4_000, took_ms=3_500)
    brokers.beat("member-1", 2, 0, 1, ms=4_010, took_ms=3_500, member_id="m")

    assert (False, set(), {}) == (new.started, new.assigned, new.position)
    assert {"member-1": 3} == brokers.side.requests
    brokers.synced("member-1", 3, 0, ms=4_020)
    assert {0} == new.assigned
    assert 1 == brokers.side.requests["member-4"]


def test_fetches_and_the_lanes_of_others_are_passed_over(brokers: Brokers) -> None:
    brokers.member("member-1")

    brokers.says("member-1", "FETCH", {}, {})
    brokers.says("producers", "FIND_COORDINATOR", {"key": "orders"}, {"nodeId": 1})
    brokers.says("member-7", "HEARTBEAT", {}, {})

    assert {} == brokers.side.requests


def test_topics_are_noted_that_a_process_asks_for_by_name(brokers: Brokers) -> None:
    brokers.member("member-1")
    named, by_id = {"name": "orders"}, {"name": None, "topicId": TOPIC_ID}
    brokers.says("member-1", "METADATA", {"topics": [named, by_id]}, {})
    brokers.says("member-1", "METADATA", {"topics": None}, {})
    brokers.says("member-1", "METADATA", {"topics": []}, {})
    brokers.follow()

    assert {"member-1": {"orders"}} == brokers.side.topics
    assert {"member-1": 3} == brokers.side.requests


def test_another_group_is_noted_and_not_followed(brokers: Brokers) -> None:
    member = brokers.member("member-1")

    asked = {"groupId": "theirs", "generationId": 1}
    brokers.says("member-1", "JOIN_GROUP", asked, {"generationId": 1})
    brokers.says("member-1", "SYNC_GROUP", asked, {"assignment": assignment(0)})

    assert {"member-1": {"theirs"}} == brokers.side.groups
    assert (False, set()) == (member.started, member.assigned)


def joins(brokers: Brokers, lane: str, error: int = 0, **asked: Any) -> None:
    timers = {"sessionTimeoutMs": 30_000, "rebalanceTimeoutMs": 60_000, "memberId": ""}
    brokers.says(lane, "JOIN_GROUP", timers | asked, {"memberId": "m", "errorCode": error})


def test_who_asked_to_join_has_said_how_long_it_may_be_missed(brokers: Brokers) -> None:
    """A first JoinGroup is sent on with an id, and is on record long before anybody is let in."""
    member = brokers.member("member-1")
    assert (None, 0.0) == (brokers.side.session_s("member-1"), brokers.side.held_up_s())
    joins(brokers, "member-1", 23)  # one that is refused is none
    assert (0, {"member-1": 23}) == (member.asked_at, brokers.side.refused)

    joins(brokers, "member-1", 79)

    assert ({}, us(9), False) == (brokers.side.refused, member.asked_at, member.started)
    assert (30.0, 60.0) == (brokers.side.session_s("member-1"), brokers.side.held_up_s())
    joins(brokers, "member-1", sessionTimeoutMs=90_000, rebalanceTimeoutMs=None)
    assert us(9) == member.asked_at
    assert (90.0, 90.0) == (brokers.side.session_s("member-1"), brokers.side.held_up_s())


def test_in_kip_848_the_first_heartbeat_is_the_join_and_brokers_have_the_session(
    brokers: Brokers,
) -> None:
    member = brokers.member("member-1")

    def beats(epoch: int, **answer: int) -> None:
        asked = {"memberId": "m", "memberEpoch": epoch, "rebalanceTimeoutMs": 300_000}
        brokers.says("member-1", "CONSUMER_GROUP_HEARTBEAT", asked, answer)

    beats(0, errorCode=112)
    assert (0, {"member-1": 112}) == (member.asked_at, brokers.side.refused)
    brokers.side.refused.clear()
    beats(3, errorCode=110)
    assert {} == brokers.side.refused
    beats(0, memberEpoch=1)

    assert ({}, True) == (brokers.side.refused, member.asked_at > 0)
    assert (45.0, 300.0) == (brokers.side.session_s("member-1"), brokers.side.held_up_s())
    brokers.side.plan.settings["group.consumer.session.timeout.ms"] = "7000"
    assert 7.0 == brokers.side.session_s("member-1")


def test_no_one_waits_longer_for_who_reads_another_topic(brokers: Brokers) -> None:
    brokers.member("member-1")
    joins(brokers, "member-1")

    brokers.says("member-1", "METADATA", {"topics": [{"name": "theirs"}]}, {})
    assert (True, 0.0) == (brokers.side.astray("member-1"), brokers.side.held_up_s())
    brokers.says("member-1", "METADATA", {"topics": [{"name": "t"}]}, {})
    assert (False, 60.0) == (brokers.side.astray("member-1"), brokers.side.held_up_s())


def test_groups_of_other_types_are_noted_with_what_they_are(brokers: Brokers) -> None:
    member = brokers.member("member-1")

    brokers.says("member-1", "SHARE_GROUP_HEARTBEAT", {"groupId": "orders"}, {})
    brokers.says("member-1", "STREAMS_GROUP_HEARTBEAT", {"groupId": "s"}, {"errorCode": 35})

    assert {"member-1": {"orders": "share"}} == brokers.side.others
    assert not member.started
