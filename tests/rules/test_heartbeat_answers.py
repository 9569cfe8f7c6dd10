from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at
from tests.probe_histories import OWN, Probed

Judge = Callable[[History, str], dict[str, Any]]
Body = dict[str, Any]

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def parts(*numbers: int) -> list[Body]:
    return [{"topicId": TOPIC_ID, "partitions": list(numbers)}] if numbers else []


class Asked(Probed):
    """Heartbeats to a group of KIP-848, each 10 ms after the one before."""

    def beat(
        self,
        member: str,
        epoch: int,
        error: int = 0,
        told: int | None = None,
        assigned: list[Body] | None = None,
        expected: str | None = None,
        group: str | None = OWN,
        **fields: Any,
    ) -> Asked:
        body = {
            "version": 1,
            "groupId": group or "",
            "memberId": member,
            "memberEpoch": epoch,
            "instanceId": None,
            "rackId": None,
            "rebalanceTimeoutMs": -1,
            "subscribedTopicNames": None,
            "subscribedTopicRegex": None,
            "serverAssignor": None,
            "topicPartitions": None,
            **fields,
        }
        told = epoch if told is None else told
        answer: Body = {"memberId": member or "given", "memberEpoch": told, "assignment": None}
        if assigned is not None:
            answer["assignment"] = {"topicPartitions": assigned}
        self.call(
            "CONSUMER_GROUP_HEARTBEAT", 1_000 + 10 * len(self.rows["calls"]), error, request=body,
            answer=answer, group=group, state="Dead", expected=expected,
        )  # fmt: skip
        return self

    def comes(self, member: str, error: int = 0, told: int = 1, **fields: Any) -> Asked:
        whole = {"rebalanceTimeoutMs": 5_000, "subscribedTopicNames": ["t"], "topicPartitions": []}
        assigned = fields.pop("assigned", parts(0, 1))
        return self.beat(member, 0, error, told, assigned, **{**whole, **fields})


def asked() -> Asked:
    return Asked(group={"protocol": "consumer"}, cluster={"group.consumer.max.size": "2"})


def moved() -> Asked:
    """a was in epoch 1 and has just been told epoch 2, with partitions 0 and 1."""
    return asked().comes("a").beat("a", 1, told=2)


# X40


@pytest.mark.parametrize(
    ("fields", "answered", "verdict"),
    [
        ({"memberId": ""}, 42, "HOLDS"),
        ({"memberId": ""}, 25, "VIOLATED"),
        ({"instanceId": ""}, 42, "HOLDS"),
        ({"rackId": ""}, 42, "HOLDS"),
        ({"rackId": ""}, 0, "VIOLATED"),
        ({"rebalanceTimeoutMs": -1}, 42, "HOLDS"),
        ({"rebalanceTimeoutMs": -1}, 0, "VIOLATED"),
        ({"topicPartitions": None}, 42, "HOLDS"),
        ({"topicPartitions": None}, 0, "VIOLATED"),
        ({"topicPartitions": parts(0)}, 42, "HOLDS"),
        ({"topicPartitions": parts(0)}, 0, "VIOLATED"),
        ({"subscribedTopicNames": None}, 42, "HOLDS"),
        ({"subscribedTopicNames": None}, 0, "VIOLATED"),
        ({"memberId": "", "version": 0}, 0, "HOLDS"),
        ({"memberId": "", "version": 0}, 42, "VIOLATED"),
        ({}, 42, "UNKNOWN"),
        ({"subscribedTopicNames": None, "subscribedTopicRegex": ".*"}, 42, "UNKNOWN"),
    ],
)
def test_a_join_that_is_not_whole_is_refused(
    judge: Judge, fields: Body, answered: int, verdict: str
) -> None:
    assert verdict == judge(asked().comes("a", answered, **fields), "X40")["verdict"]


@pytest.mark.parametrize(
    ("epoch", "fields", "answered", "verdict"),
    [
        (-2, {}, 42, "HOLDS"),
        (-2, {}, 69, "VIOLATED"),
        (-2, {"instanceId": "i"}, 42, "UNKNOWN"),
        (-3, {}, 42, "HOLDS"),
        (-3, {"instanceId": "i"}, 0, "VIOLATED"),
        (-1, {"memberId": "", "version": 0}, 42, "HOLDS"),
        (1, {"memberId": "", "version": 0}, 42, "HOLDS"),
        (1, {"memberId": "", "version": 0}, 25, "VIOLATED"),
        (-1, {}, 42, "UNKNOWN"),
    ],
)
def test_a_heartbeat_that_is_not_whole_is_refused(
    judge: Judge, epoch: int, fields: Body, answered: int, verdict: str
) -> None:
    assert verdict == judge(asked().beat("a", epoch, answered, **fields), "X40")["verdict"]


@pytest.mark.parametrize(("answered", "verdict"), [(42, "HOLDS"), (24, "VIOLATED")])
def test_a_group_needs_a_name(judge: Judge, answered: int, verdict: str) -> None:
    history = asked().comes("a", answered, group=None)
    assert verdict == judge(history, "X40")["verdict"]


# X40-assignor, X40-regex


@pytest.mark.parametrize(
    ("assignor", "answered", "verdict"),
    [
        ("sticky", 112, "HOLDS"),
        ("sticky", 0, "VIOLATED"),
        ("range", 0, "HOLDS"),
        ("uniform", 112, "VIOLATED"),
        (None, 112, "UNKNOWN"),
    ],
)
def test_only_the_brokers_assignors_are_known(
    judge: Judge, assignor: str | None, answered: int, verdict: str
) -> None:
    history = asked().comes("a", answered, serverAssignor=assignor)
    assert verdict == judge(history, "X40-assignor")["verdict"]


@pytest.mark.parametrize(
    ("broken", "answered", "verdict"),
    [
        ('{"regex": "broken"}', 128, "HOLDS"),
        ('{"regex": "broken"}', 0, "VIOLATED"),
        (None, 0, "HOLDS"),
        (None, 128, "VIOLATED"),
    ],
)
def test_expressions_are_checked(
    judge: Judge, broken: str | None, answered: int, verdict: str
) -> None:
    fields: Body = {"subscribedTopicNames": None, "subscribedTopicRegex": "t-.*"}
    joins = asked().comes("a", answered, expected=broken, **fields)
    assert verdict == judge(joins, "X40-regex")["verdict"]
    later = asked().comes("a").beat("a", 1, answered, expected=broken, subscribedTopicRegex="t-.*")
    assert verdict == judge(later, "X40-regex")["verdict"]


def test_of_a_stranger_no_expression_is_looked_at(judge: Judge) -> None:
    history = asked().beat("a", 1, 69, expected='{"regex": "broken"}', subscribedTopicRegex="(")
    assert "UNKNOWN" == judge(history, "X40-regex")["verdict"]
    assert "HOLDS" == judge(history, "X40-group")["verdict"]


# X40-group


@pytest.mark.parametrize("epoch", [1, -1])
@pytest.mark.parametrize(("answered", "verdict"), [(69, "HOLDS"), (25, "VIOLATED")])
def test_without_a_group_nobody_is_a_member(
    judge: Judge, epoch: int, answered: int, verdict: str
) -> None:
    assert verdict == judge(asked().beat("a", epoch, answered), "X40-group")["verdict"]


def test_a_join_makes_a_group_and_a_refused_one_does_not(judge: Judge) -> None:
    refused = asked().comes("a", 42, topicPartitions=None).beat("a", 1, 69)
    assert "HOLDS" == judge(refused, "X40-group")["verdict"]
    assert "UNKNOWN" == judge(asked().comes("a").beat("b", 1, 25), "X40-group")["verdict"]
    left = asked().comes("a").beat("a", -1).beat("a", 1, 25)
    assert "UNKNOWN" == judge(left, "X40-group")["verdict"]


@pytest.mark.parametrize(
    ("of_type", "answered", "verdict"),
    [("connect", 69, "HOLDS"), ("connect", 0, "VIOLATED"), ("consumer", 0, "UNKNOWN")],
)
def test_a_group_of_another_type_is_no_group_of_consumers(
    judge: Judge, of_type: str, answered: int, verdict: str
) -> None:
    history = asked()
    history.call("JOIN_GROUP", 500, request={"protocolType": of_type}, lasts_ms=3_000)
    assert verdict == judge(history.comes("a", answered), "X40-group")["verdict"]


def test_a_group_is_of_the_type_that_was_asked_for_in_it_before(judge: Judge) -> None:
    """Where it began again, of the new one; later, or elsewhere, others may ask for another."""
    again = asked()
    again.call("JOIN_GROUP", 400, request={"protocolType": "connect"})
    again.call("JOIN_GROUP", 500, request={"protocolType": "consumer"})
    assert "UNKNOWN" == judge(again.comes("a"), "X40-group")["verdict"]
    other = asked()
    other.call("JOIN_GROUP", 500, request={"protocolType": "connect"}, group="else")
    other.comes("a").call("JOIN_GROUP", 2_000, 23, request={"protocolType": "connect"})
    assert "UNKNOWN" == judge(other, "X40-group")["verdict"]
    assert "HOLDS" == judge(other, "X40-classic")["verdict"]


# X40-full


@pytest.mark.parametrize(
    ("size", "answered", "verdict"),
    [(2, 81, "HOLDS"), (2, 0, "VIOLATED"), (1, 0, "UNKNOWN"), (1, 81, "UNKNOWN")],
)
def test_a_full_group_takes_nobody_more(
    judge: Judge, size: int, answered: int, verdict: str
) -> None:
    history = asked()
    for number in range(size):
        history.comes(f"member-{number}")
    assert verdict == judge(history.comes("z", answered), "X40-full")["verdict"]


def test_members_of_a_full_group_go_on(judge: Judge) -> None:
    history = asked().comes("a").comes("b").beat("c", 1, 81).beat("a", 1).comes("b")
    verdict = judge(history, "X40-full")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])
    assert "VIOLATED" == judge(history.beat("a", 1, 81), "X40-full")["verdict"]


def test_who_left_or_was_evicted_makes_room(judge: Judge) -> None:
    left = asked().comes("a").comes("b").beat("a", -1).comes("c")
    assert "UNKNOWN" == judge(left, "X40-full")["verdict"]
    gone = asked().comes("a").comes("b").logged("evicted", 1_015, "a")
    assert isinstance(gone, Asked)
    assert "UNKNOWN" == judge(gone.comes("c"), "X40-full")["verdict"]


# X40-full-static


@pytest.mark.parametrize(
    ("goodbye", "answered", "verdict"),
    [
        (True, 0, "HOLDS"),
        (True, 81, "VIOLATED"),
        (True, 111, "VIOLATED"),
        (False, 111, "HOLDS"),
        (False, 81, "VIOLATED"),
        (False, 0, "VIOLATED"),
    ],
)
def test_a_full_group_takes_a_static_member_back(
    judge: Judge, goodbye: bool, answered: int, verdict: str
) -> None:
    history = asked().comes("a", instanceId="i").comes("b")
    if goodbye:
        history.beat("a", -2, instanceId="i")
    history.comes("c", answered, instanceId="i")
    assert verdict == judge(history, "X40-full-static")["verdict"]
    assert "UNKNOWN" == judge(history, "X40-full")["verdict"]
    assert "UNKNOWN" == judge(history, "X40-instance")["verdict"]


def test_with_room_or_another_instance_id_it_is_no_full_group_that_takes_it_back(
    judge: Judge,
) -> None:
    room = asked().comes("a", instanceId="i").beat("a", -2, instanceId="i")
    assert "UNKNOWN" == judge(room.comes("c", instanceId="i"), "X40-full-static")["verdict"]
    other = asked().comes("a", instanceId="i").comes("b").comes("c", 81, instanceId="j")
    assert "UNKNOWN" == judge(other, "X40-full-static")["verdict"]
    assert "HOLDS" == judge(other, "X40-full")["verdict"]


# X40-member


@pytest.mark.parametrize(
    ("member", "epoch", "fields", "answered", "verdict"),
    [
        ("b", 1, {}, 25, "HOLDS"),
        ("b", 1, {}, 110, "VIOLATED"),
        ("b", -1, {}, 25, "HOLDS"),
        ("b", -1, {}, 0, "VIOLATED"),
        ("b", 1, {"instanceId": "i"}, 25, "HOLDS"),
        ("b", -2, {"instanceId": "i"}, 25, "HOLDS"),
        ("b", -2, {"instanceId": "i"}, 82, "VIOLATED"),
        ("a", -1, {}, 0, "HOLDS"),
        ("a", -1, {}, 25, "VIOLATED"),
        ("a", 1, {}, 25, "UNKNOWN"),
    ],
)
def test_only_members_are_known(
    judge: Judge, member: str, epoch: int, fields: Body, answered: int, verdict: str
) -> None:
    history = asked().comes("a").beat(member, epoch, answered, **fields)
    assert verdict == judge(history, "X40-member")["verdict"]


def test_who_left_or_was_evicted_is_unknown(judge: Judge) -> None:
    left = asked().comes("a").comes("b").beat("a", -1).beat("a", 1, 25)
    assert ("HOLDS", 2) == (
        (verdict := judge(left, "X40-member"))["verdict"], verdict["examined"]
    )  # fmt: skip
    gone = asked().comes("a").logged("evicted", 1_005, "a").logged("evicted", 1_050, "b")
    assert isinstance(gone, Asked)
    assert "HOLDS" == judge(gone.beat("a", 1, 25), "X40-member")["verdict"]
    again = asked().comes("a").beat("a", -1).comes("a").beat("a", 1, 25)
    assert "VIOLATED" == judge(again, "X40-epoch")["verdict"]


def test_an_answer_counts_for_what_is_sent_in_the_same_moment(judge: Judge) -> None:
    """A script waits for each answer, and a millisecond is long."""
    history = asked().comes("a").beat("a", 1)
    history.rows["calls"][1]["sent_at"] = at(1_001)
    verdict = judge(history, "X40-epoch")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])
    history = asked().comes("a", instanceId="i").beat("a", -2, instanceId="i")
    history.comes("b", instanceId="i").beat("a", 1, 25)
    history.rows["calls"][3]["sent_at"] = history.rows["calls"][2]["answered_at"]
    verdict = judge(history, "X40-member")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(
    ("evicted_ms", "known"), [(1_000, True), (1_001, False), (1_010, False), (1_011, True)]
)
def test_who_is_evicted_between_two_heartbeats_is_unknown_to_the_second(
    judge: Judge, evicted_ms: float, known: bool
) -> None:
    """It is answered at 1,001 ms, and asks again at 1,010 ms."""
    history = asked().comes("a").beat("a", 1, 0 if known else 25)
    history.logged("evicted", evicted_ms, "a")
    assert ("HOLDS" if known else "UNKNOWN") == judge(history, "X40-epoch")["verdict"]
    assert ("UNKNOWN" if known else "HOLDS") == judge(history, "X40-member")["verdict"]


def test_only_its_own_eviction_since_it_joined_ends_a_member(judge: Judge) -> None:
    history = asked().comes("a").comes("b").beat("a", 1)
    history.logged("evicted", 900, "a").logged("evicted", 1_030, "a")  # before and afterwards
    history.logged("member_added", 1_001, "a").logged("evicted", 1_015, "b")
    history.add(
        "coordinator_events", event="evicted", at=at(1_015), group="else", member_id="a", broker=1
    )
    verdict = judge(history, "X40-epoch")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


# X40-epoch, X40-rejoin


@pytest.mark.parametrize(
    ("epoch", "owned", "answered", "verdict"),
    [
        (2, None, 0, "HOLDS"),
        (2, None, 110, "VIOLATED"),
        (2, parts(7), 0, "HOLDS"),
        (3, None, 110, "HOLDS"),
        (3, None, 0, "VIOLATED"),
        (1, parts(0), 0, "HOLDS"),
        (1, parts(0, 1), 110, "VIOLATED"),
        (1, [], 0, "HOLDS"),
        (1, parts(0, 2), 110, "HOLDS"),
        (1, parts(0, 2), 0, "VIOLATED"),
        (1, parts(2), 110, "HOLDS"),
        (1, parts(2), 0, "VIOLATED"),
        (1, None, 110, "HOLDS"),
        (1, None, 0, "VIOLATED"),
    ],
)
def test_which_epochs_a_heartbeat_may_carry(
    judge: Judge, epoch: int, owned: list[Body] | None, answered: int, verdict: str
) -> None:
    history = moved().beat("a", epoch, answered, told=2, topicPartitions=owned)
    assert verdict == judge(history, "X40-epoch")["verdict"]


@pytest.mark.parametrize(("number", "answered"), [(2, 0), (0, 110)])
def test_a_member_has_the_partitions_that_it_was_told_last(
    judge: Judge, number: int, answered: int
) -> None:
    history = asked().comes("a").beat("a", 1, told=2, assigned=parts(2))
    history.beat("a", 1, answered, told=2, topicPartitions=parts(number))
    verdict = judge(history, "X40-epoch")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize(("answered", "verdict"), [(110, "HOLDS"), (0, "VIOLATED")])
def test_an_older_epoch_is_fenced(judge: Judge, answered: int, verdict: str) -> None:
    older = moved().beat("a", 2, told=5).beat("a", 1, answered, told=5, topicPartitions=parts(0))
    assert verdict == judge(older, "X40-epoch")["verdict"]
    first = asked().comes("a", told=4).beat("a", 3, answered, told=4, topicPartitions=parts(0))
    assert verdict == judge(first, "X40-epoch")["verdict"]


def test_an_epoch_that_may_be_remembered_is_not_examined(judge: Judge) -> None:
    history = moved().beat("a", 2).beat("a", 1, 110, topicPartitions=parts(0))
    verdict = judge(history, "X40-epoch")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


def test_after_its_goodbye_a_member_is_fenced(judge: Judge) -> None:
    history = asked().comes("a", instanceId="i").beat("a", -2, instanceId="i")
    assert "HOLDS" == judge(history.beat("a", 1, 110, instanceId="i"), "X40-epoch")["verdict"]


def test_without_members_no_epoch_is_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(asked().comes("a").beat("b", 1, 25), "X40-epoch")["verdict"]


@pytest.mark.parametrize(("answered", "verdict"), [(0, "HOLDS"), (110, "VIOLATED")])
def test_a_member_may_join_anew(judge: Judge, answered: int, verdict: str) -> None:
    assert verdict == judge(moved().comes("a", answered), "X40-rejoin")["verdict"]


def test_a_first_join_is_none_anew(judge: Judge) -> None:
    assert "UNKNOWN" == judge(asked().comes("a"), "X40-rejoin")["verdict"]
    left = asked().comes("a").beat("a", -1).comes("a")
    assert "UNKNOWN" == judge(left, "X40-rejoin")["verdict"]


@pytest.mark.parametrize(("answered", "verdict"), [(0, "HOLDS"), (111, "VIOLATED")])
def test_a_static_member_may_join_anew(judge: Judge, answered: int, verdict: str) -> None:
    history = asked().comes("a", instanceId="i").comes("a", answered, instanceId="i")
    assert verdict == judge(history, "X40-rejoin-static")["verdict"]
    assert "UNKNOWN" == judge(history, "X40-rejoin")["verdict"]
    assert "UNKNOWN" == judge(history, "X40-instance")["verdict"]


@pytest.mark.parametrize("member", ["a", "b"])
def test_who_said_goodbye_or_is_another_does_not_join_anew(judge: Judge, member: str) -> None:
    history = asked().comes("a", instanceId="i").beat("a", -2, instanceId="i")
    history.comes(member, instanceId="i")
    assert "UNKNOWN" == judge(history, "X40-rejoin-static")["verdict"]


# X40-instance


@pytest.mark.parametrize(
    ("member", "epoch", "answered", "verdict"),
    [
        ("b", 0, 111, "HOLDS"),
        ("b", 0, 0, "VIOLATED"),
        ("b", 0, 82, "VIOLATED"),
        ("b", 1, 82, "HOLDS"),
        ("b", 1, 25, "VIOLATED"),
        ("b", -2, 82, "HOLDS"),
        ("b", -1, 0, "VIOLATED"),
        ("a", 1, 82, "UNKNOWN"),
    ],
)
def test_an_instance_id_in_use_is_its_owners(
    judge: Judge, member: str, epoch: int, answered: int, verdict: str
) -> None:
    history = asked().comes("a", instanceId="i")
    if epoch:
        history.beat(member, epoch, answered, instanceId="i")
    else:
        history.comes(member, answered, instanceId="i")
    assert verdict == judge(history, "X40-instance")["verdict"]


@pytest.mark.parametrize(("answered", "verdict"), [(0, "HOLDS"), (111, "VIOLATED")])
def test_an_instance_id_that_was_let_go_is_free(judge: Judge, answered: int, verdict: str) -> None:
    history = asked().comes("a", instanceId="i").beat("a", -2, instanceId="i")
    assert verdict == judge(history.comes("b", answered, instanceId="i"), "X40-instance")["verdict"]


def test_who_was_replaced_is_fenced_by_the_instance_id_and_unknown_without(judge: Judge) -> None:
    history = asked().comes("a", instanceId="i").beat("a", -2, instanceId="i")
    history.comes("b", instanceId="i").beat("a", 1, 82, instanceId="i").beat("a", 1, 25)
    verdict = judge(history, "X40-instance")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])
    assert "HOLDS" == judge(history, "X40-member")["verdict"]


def test_who_comes_back_with_another_instance_id_has_that(judge: Judge) -> None:
    history = asked().comes("a", instanceId="i").beat("a", -1, instanceId="i")
    history.comes("a", instanceId="j").comes("b", 111, instanceId="j")
    verdict = judge(history, "X40-instance")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_other_instance_ids_are_no_instance_in_use(judge: Judge) -> None:
    history = asked().comes("a", instanceId="i").comes("b", instanceId="j")
    assert "UNKNOWN" == judge(history, "X40-instance")["verdict"]


# X40-empty


@pytest.mark.parametrize("names", [[], ["t-not-there"]])
@pytest.mark.parametrize(
    ("answered", "given", "verdict"),
    [(0, (), "HOLDS"), (0, (1,), "VIOLATED"), (42, (), "VIOLATED")],
)
def test_who_subscribes_to_nothing_gets_nothing(
    judge: Judge, names: list[str], answered: int, given: tuple[int, ...], verdict: str
) -> None:
    history = asked().comes("a", answered, assigned=parts(*given), subscribedTopicNames=names)
    assert verdict == judge(history, "X40-empty")["verdict"]


def test_who_is_told_of_no_assignment_gets_nothing(judge: Judge) -> None:
    history = asked().comes("a", assigned=None, subscribedTopicNames=[])
    verdict = judge(history, "X40-empty")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_who_subscribes_to_the_topic_is_not_examined(judge: Judge) -> None:
    assert "UNKNOWN" == judge(asked().comes("a"), "X40-empty")["verdict"]


# X40-classic


@pytest.mark.parametrize(
    ("api", "member", "answered", "verdict"),
    [
        ("HEARTBEAT", "a", 25, "HOLDS"),
        ("HEARTBEAT", "a", 0, "VIOLATED"),
        ("SYNC_GROUP", "a", 25, "HOLDS"),
        ("SYNC_GROUP", "a", 22, "VIOLATED"),
        ("SYNC_GROUP", "b", 0, "UNKNOWN"),
    ],
)
def test_classic_calls_as_a_member_of_kip_848_are_refused(
    judge: Judge, api: str, member: str, answered: int, verdict: str
) -> None:
    history = asked().comes("a")
    history.call(api, 2_000, answered, request={"memberId": member})
    assert verdict == judge(history, "X40-classic")["verdict"]


@pytest.mark.parametrize(
    ("of_type", "joined", "answered", "verdict"),
    [
        ("connect", True, 23, "HOLDS"),
        ("connect", True, 79, "VIOLATED"),
        ("consumer", True, 79, "UNKNOWN"),
        ("connect", False, 79, "UNKNOWN"),
    ],
)
def test_a_join_of_another_type_is_refused(
    judge: Judge, of_type: str, joined: bool, answered: int, verdict: str
) -> None:
    history = asked().comes("a") if joined else asked()
    history.call("JOIN_GROUP", 2_000, answered, request={"protocolType": of_type})
    assert verdict == judge(history, "X40-classic")["verdict"]


def test_the_instance_id_that_a_member_came_back_with_counts(judge: Judge) -> None:
    history = asked().comes("a", instanceId="j").beat("a", -1, instanceId="j")
    history.comes("a", instanceId="i").beat("a", 1, instanceId="i")
    assert "HOLDS" == judge(history, "X40-member")["verdict"]


def test_a_refused_join_does_not_change_the_type_of_a_group(judge: Judge) -> None:
    history = asked()
    history.call("JOIN_GROUP", 400, request={"protocolType": "connect"})
    history.call("JOIN_GROUP", 500, 23, request={"protocolType": "consumer"})
    history.comes("a", 69, subscribedTopicNames=[])
    assert "HOLDS" == judge(history, "X40-group")["verdict"]
    assert "UNKNOWN" == judge(history, "X40-empty")["verdict"]
