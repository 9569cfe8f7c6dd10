"""What programs hold and how far they are follows from lines that brokers write."""

from __future__ import annotations

import base64
import json
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.history.whose import SHARED
from harness.run.broker_side import BrokerSide
from harness.run.member import Member

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


def test_an_eager_group_holds_what_its_answers_say(brokers: Brokers) -> None:
    one, two = brokers.member("member-1"), brokers.member("member-2")

    brokers.synced("member-1", 1, 0, 1, 2)
    brokers.synced("member-2", 1, 3, 4, 5)

    assert ({0, 1, 2}, {3, 4, 5}) == (one.assigned, two.assigned)
    assert (1, True, True, False) == (one.generation, one.started, one.ever_assigned, one.closed)


def test_on_a_shared_lane_the_client_id_says_who_it_is(brokers: Brokers) -> None:
    one, ten = brokers.member("member-1", SHARED), brokers.member("member-10", SHARED)

    brokers.synced(SHARED, 1, 0, client_id="member-1-0", member_id="a")
    brokers.synced(SHARED, 1, 1, 2, client_id="orders-member-10", member_id="b")
    brokers.synced(SHARED, 1, 3, client_id="rdkafka", member_id="c")

    assert ({0}, {1, 2}) == (one.assigned, ten.assigned)
    assert {"rdkafka"} == brokers.side.nameless


def test_who_has_not_come_into_the_new_generation_holds_nothing(brokers: Brokers) -> None:
    """It was evicted unheard: no request of it says so."""
    silent, two = brokers.member("member-1"), brokers.member("member-2")
    brokers.synced("member-1", 1, 0, 1)
    brokers.synced("member-2", 1, 2, 3)

    brokers.synced("member-2", 2, 2, 3)

    assert (set(), {2, 3}) == (silent.assigned, two.assigned)
    assert silent.running
    assert not silent.closed


def test_a_cooperative_member_keeps_what_its_next_answer_names_again(brokers: Brokers) -> None:
    one, two = brokers.member("member-1"), brokers.member("member-2")
    brokers.synced("member-1", 1, 0, 1)

    brokers.synced("member-1", 2, 0)
    brokers.synced("member-2", 2)

    assert ({0}, set()) == (one.assigned, two.assigned)
    assert (True, False) == (two.started, two.ever_assigned)

    brokers.synced("member-2", 3, 1)
    brokers.synced("member-1", 3, 0)

    assert ({0}, {1}) == (one.assigned, two.assigned)


def test_in_kip_848_an_answer_without_an_assignment_changes_nothing(brokers: Brokers) -> None:
    member = brokers.member("member-1")

    brokers.beat("member-1", 0, now=3)
    assert (True, set(), 3) == (member.started, member.assigned, member.generation)
    brokers.beat("member-1", 3, 0, 1)
    brokers.beat("member-1", 3, now=4)

    assert ({0, 1}, 4) == (member.assigned, member.generation)


def test_in_kip_848_epochs_differ_and_all_hold_what_they_have(brokers: Brokers) -> None:
    one, two = brokers.member("member-1"), brokers.member("member-2")

    brokers.beat("member-1", 3, 0, 1)
    brokers.beat("member-2", 4, 2)

    assert ({0, 1}, {2}) == (one.assigned, two.assigned)


def test_in_kip_848_what_another_is_given_a_silent_member_has_lost(brokers: Brokers) -> None:
    silent, two = brokers.member("member-1"), brokers.member("member-2")
    brokers.beat("member-1", 3, 0, 1)

    brokers.beat("member-2", 5, 1, 2)

    assert ({0}, {1, 2}) == (silent.assigned, two.assigned)


@pytest.mark.parametrize("error", [22, 25])
@pytest.mark.parametrize("api", ["HEARTBEAT", "SYNC_GROUP"])
def test_an_evicted_member_holds_nothing_once_it_is_reported(
    brokers: Brokers, api: str, error: int
) -> None:
    member = brokers.member("member-1")
    brokers.synced("member-1", 1, 0)

    asked = {"memberId": "id-member-1", "generationId": 1}
    brokers.says("member-1", api, asked, {"errorCode": error})

    assert set() == member.assigned
    assert not member.closed


@pytest.mark.parametrize("error", [25, 110])
def test_a_member_of_kip_848_is_fenced(brokers: Brokers, error: int) -> None:
    member = brokers.member("member-1")
    brokers.beat("member-1", 3, 0)

    brokers.beat("member-1", 3, error=error)

    assert set() == member.assigned


def test_a_rebalance_in_progress_takes_nothing_away(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    brokers.synced("member-1", 1, 0)

    brokers.says("member-1", "HEARTBEAT", {"memberId": "id-member-1"}, {"errorCode": 27})

    assert {0} == member.assigned


def test_a_member_that_leaves_is_closed(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    brokers.synced("member-1", 1, 0)

    asked = {"memberId": "", "members": [{"memberId": "id-member-1"}]}
    brokers.says("member-1", "LEAVE_GROUP", asked, {"members": [{"errorCode": 0}]})

    assert (set(), True) == (member.assigned, member.closed)
    brokers.synced("member-1", 2, 0, member_id="another")
    assert ({0}, False) == (member.assigned, member.closed)


@pytest.mark.parametrize("epoch", [-1, -2])
def test_a_member_of_kip_848_leaves_by_its_epoch(brokers: Brokers, epoch: int) -> None:
    member = brokers.member("member-1")
    brokers.beat("member-1", 3, 0)

    brokers.beat("member-1", epoch)

    assert (set(), True) == (member.assigned, member.closed)


def test_two_members_in_one_process_hold_both_their_shares(brokers: Brokers) -> None:
    both, other = brokers.member("member-1"), brokers.member("member-2")

    brokers.synced("member-1", 1, 0, 1, member_id="thread-1")
    brokers.synced("member-1", 1, 2, member_id="thread-2")
    brokers.synced("member-2", 1, 3)
    assert ({0, 1, 2}, {3}) == (both.assigned, other.assigned)

    brokers.says("member-1", "LEAVE_GROUP", {"memberId": "thread-1"}, {})
    assert ({2}, False) == (both.assigned, both.closed)
    brokers.says("member-1", "LEAVE_GROUP", {"memberId": "thread-2"}, {})
    assert (set(), True) == (both.assigned, both.closed)


def test_partitions_of_other_topics_are_not_counted(brokers: Brokers) -> None:
    member = brokers.member("member-1")

    brokers.synced("member-1", 1, 0, 1, topic="others")

    assert (True, set()) == (member.started, member.assigned)


def test_a_line_cut_in_the_middle_is_read_when_the_rest_is_there(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    asked = {"generationId": 1, "memberId": "m"}
    line = brokers.line("member-1", "SYNC_GROUP", asked, {"assignment": assignment(0)})
    pieces = line[:40], line[40:-1], line[-1:]

    for piece in pieces:
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


def test_a_log_is_read_on_where_it_was_left(brokers: Brokers) -> None:
    brokers.member("member-1")
    brokers.synced("member-1", 1, 0)
    brokers.follow()
    brokers.synced("member-1", 2, 0)

    assert {"member-1": 2} == brokers.side.requests


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


def test_commits_say_how_far_a_process_is(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    asked = [
        {"partitionIndex": 0, "committedOffset": 5},
        {"partitionIndex": 1, "committedOffset": 9},
    ]
    codes = [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 1, "errorCode": 25}]

    for named in ({"name": "t"}, {"topicId": TOPIC_ID}, {"name": "others"}):
        brokers.says(
            "member-1",
            "OFFSET_COMMIT",
            {"topics": [{**named, "partitions": asked}]},
            {"topics": [{**named, "partitions": codes}]},
        )
        asked[0]["committedOffset"] += 1

    assert {0: 6} == member.position


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


def test_the_last_commit_of_a_process_that_has_ended_counts(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    brokers.synced("member-1", 1, 0)
    member.instance.code = 0  # type: ignore[union-attr]

    heard = {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 7}]}
    brokers.says(
        "member-1",
        "OFFSET_COMMIT",
        {"topics": [heard]},
        {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}]},
    )

    assert {0: 7} == member.position


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

    joins(brokers, "member-1", 79)

    assert (us(9), False) == (member.asked_at, member.started)
    assert (30.0, 60.0) == (brokers.side.session_s("member-1"), brokers.side.held_up_s())
    joins(brokers, "member-1", sessionTimeoutMs=90_000, rebalanceTimeoutMs=None)
    assert us(9) == member.asked_at
    assert (90.0, 90.0) == (brokers.side.session_s("member-1"), brokers.side.held_up_s())


def test_a_join_that_is_refused_is_none(brokers: Brokers) -> None:
    member = brokers.member("member-1")

    joins(brokers, "member-1", 23)
    assert (0, {"member-1": 23}) == (member.asked_at, brokers.side.refused)
    joins(brokers, "member-1")

    assert ({}, True) == (brokers.side.refused, member.asked_at > 0)


def test_in_kip_848_the_first_heartbeat_is_the_join_that_may_be_refused(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    asked = {"memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 300_000}

    brokers.says("member-1", "CONSUMER_GROUP_HEARTBEAT", asked, {"errorCode": 112})
    assert (0, {"member-1": 112}) == (member.asked_at, brokers.side.refused)
    later = asked | {"memberEpoch": 3}
    brokers.side.refused.clear()
    brokers.says("member-1", "CONSUMER_GROUP_HEARTBEAT", later, {"errorCode": 110})
    assert {} == brokers.side.refused
    brokers.says("member-1", "CONSUMER_GROUP_HEARTBEAT", asked, {"memberEpoch": 1})

    assert ({}, True) == (brokers.side.refused, member.asked_at > 0)


def test_in_kip_848_the_brokers_have_the_session(brokers: Brokers) -> None:
    member = brokers.member("member-1")
    asked = {"memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 300_000}
    brokers.says("member-1", "CONSUMER_GROUP_HEARTBEAT", asked, {"memberEpoch": 1})

    assert (45.0, 300.0) == (brokers.side.session_s("member-1"), brokers.side.held_up_s())
    assert member.asked_at
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
