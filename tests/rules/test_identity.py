from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History, at, member_id

Judge = Callable[[History, str], dict[str, Any]]


# X52


def members() -> History:
    """member-1 is static, by the name of i-1, and member-2 is not."""
    history = History().member("member-1", instance_id="i-1").member("member-2")
    history.join("member-1", 10, instance_id="i-1").join("member-2", 10)
    return history


def test_members_that_say_who_they_are_hold(judge: Judge) -> None:
    history = members().heartbeats("member-1", 2_000, instance_id="i-1")
    verdict = judge(history.heartbeats("member-2", 2_000), "X52")
    assert ("HOLDS", 2) == (verdict["verdict"], verdict["examined"])


@pytest.mark.parametrize("api", ["JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "OFFSET_COMMIT"])
@pytest.mark.parametrize(
    ("member", "instance", "verdict"),
    [
        ("member-1", "i-1", "HOLDS"),
        ("member-1", None, "VIOLATED"),
        ("member-1", "i-2", "VIOLATED"),
        ("member-2", None, "HOLDS"),
        ("member-2", "i-1", "VIOLATED"),
    ],
)
def test_each_request_names_the_instance_and_no_other(
    judge: Judge, api: str, member: str, instance: str | None, verdict: str
) -> None:
    history = members().request(api, member, 5_000, instance_id=instance)
    assert verdict == judge(history, "X52")["verdict"]


@pytest.mark.parametrize(("epoch", "verdict"), [(0, "VIOLATED"), (2, "HOLDS")])
def test_in_kip_848_a_join_has_to_name_it(judge: Judge, epoch: int, verdict: str) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1", instance_id="i-1")
    history.request("CONSUMER_GROUP_HEARTBEAT", "member-1", 100, generation=epoch)
    assert verdict == judge(history, "X52")["verdict"]


@pytest.mark.parametrize(
    ("api", "named", "verdict"),
    [
        ("HEARTBEAT", "member-2-x", "HOLDS"),
        ("HEARTBEAT", "orders-x", "VIOLATED"),
        ("HEARTBEAT", None, "HOLDS"),
        ("CONSUMER_GROUP_HEARTBEAT", "q3BAcHOORyesnhXtnRPXVw", "HOLDS"),
    ],
)
def test_the_id_of_a_classic_member_begins_with_its_name(
    judge: Judge, api: str, named: str | None, verdict: str
) -> None:
    history = members().request(api, "member-2", 5_000, member_id=named)
    assert verdict == judge(history, "X52")["verdict"]


def test_nobody_names_the_member_id_of_another(judge: Judge) -> None:
    history = members().heartbeats("member-2", 5_000, member_id=member_id("member-1"))
    verdict = judge(history, "X52")
    assert "VIOLATED" == verdict["verdict"]
    assert "named the member id of member-1 in a HEARTBEAT" in verdict["reason"]


def test_a_member_id_is_that_of_whoever_bore_it_first(judge: Judge) -> None:
    """member-1 goes on with it after another has named it; of two such calls the first is said."""
    history = members().heartbeats("member-2", 5_000, member_id=member_id("member-1"))
    history.sync("member-2", 6_000, member_id=member_id("member-1"))
    history.heartbeats("member-1", 9_000, instance_id="i-1")

    found = judge(history, "X52")

    assert ("VIOLATED", 2, 1) == (found["verdict"], found["examined"], found["violations"])
    assert "member-2 (identity), named the member id of member-1 in a HEARTBEAT" in found["reason"]
    assert at(5_000) in [row["at"] for row in found["rows"] if row["ok"] is False]


@pytest.mark.parametrize(("instance", "verdict"), [("i-1", "HOLDS"), ("i-2", "VIOLATED")])
def test_a_first_join_names_the_instance_and_no_member_id(
    judge: Judge, instance: str, verdict: str
) -> None:
    history = History().member("member-1", instance_id="i-1")
    history.join("member-1", 10, member_id=None, instance_id=instance)
    found = judge(history, "X52")
    assert (verdict, 1) == (found["verdict"], found["examined"])


def test_calls_that_name_nobody_are_unknown_to_x52(judge: Judge) -> None:
    history = History().member("member-1").request("OFFSET_FETCH", "member-1", 10)
    assert "UNKNOWN" == judge(history, "X52")["verdict"]


# X53


@pytest.mark.parametrize(
    ("offers", "told", "verdict"),
    [
        ((["range"], ["range"]), ("range", "range"), "HOLDS"),
        ((["range", "roundrobin"], ["roundrobin"]), ("roundrobin", "roundrobin"), "HOLDS"),
        ((["range", "roundrobin"], ["roundrobin"]), ("range", "range"), "VIOLATED"),
        ((["range"], ["range"]), ("sticky", "sticky"), "VIOLATED"),
        (
            (["range", "roundrobin"], ["range", "roundrobin"]),
            ("range", "roundrobin"),
            "VIOLATED",
        ),
    ],
)
def test_the_assignor_is_one_that_all_offer(
    judge: Judge, offers: tuple[list[str], ...], told: tuple[str, ...], verdict: str
) -> None:
    history = History()
    for number, (offered, name) in enumerate(zip(offers, told, strict=True), 1):
        history.join(f"member-{number}", 10, assignors=offered, protocol_name=name)
    assert verdict == judge(history, "X53")["verdict"]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"assignors": ["range"]},
        {"protocol_name": "range"},
        {"assignors": ["range"], "protocol_name": "sticky", "generation": 0},  # of no generation
    ],
)
def test_joins_that_are_told_no_assignor_are_unknown_to_x53(
    judge: Judge, row: dict[str, Any]
) -> None:
    assert "UNKNOWN" == judge(History().join("member-1", 10, **row), "X53")["verdict"]


def test_a_generation_begins_with_the_first_that_is_told_its_assignor(judge: Judge) -> None:
    history = History()
    for member, ms in (("member-1", 10), ("member-2", 30)):
        history.join(member, ms, 1, assignors=["range"], protocol_name="range")
    history.join("member-1", 50, 2, assignors=["range"], protocol_name="sticky")
    found = judge(history, "X53")
    assert [(at(10), True), (at(50), False)] == [(row["at"], row["ok"]) for row in found["rows"]]


# X54


def given(*partitions: int, **row: Any) -> History:
    """The leader gives these to member-2."""
    history = History().join("member-1", 10).join("member-2", 10)
    return history.sync("member-1", 20, gives=[("member-2", each) for each in partitions], **row)


@pytest.mark.parametrize(
    ("partitions", "verdict"), [((0, 5), "HOLDS"), ((0, 6), "VIOLATED"), ((17,), "VIOLATED")]
)
def test_only_partitions_that_there_are_are_given(
    judge: Judge, partitions: tuple[int, ...], verdict: str
) -> None:
    assert verdict == judge(given(*partitions), "X54")["verdict"]


@pytest.mark.parametrize(
    ("seen_ms", "topic", "verdict"),
    [
        (0, "t", "HOLDS"),
        (2_020, "t", "HOLDS"),
        (2_021, "t", "VIOLATED"),
        (0, "u", "VIOLATED"),
    ],
)
def test_a_topic_may_have_got_more_partitions_by_then(
    judge: Judge, seen_ms: float, topic: str, verdict: str
) -> None:
    history = given(6).add(
        "topology", at=at(seen_ms), what="partition", topic=topic, partition=6, leader=1
    )
    assert verdict == judge(history, "X54")["verdict"]


def test_a_partition_is_there_from_when_it_was_first_seen(judge: Judge) -> None:
    """An observer sees it again with each change of its leader."""
    history = given(6)
    for ms, leader in ((0, 1), (40_000, 2)):
        history.add("topology", at=at(ms), what="partition", topic="t", partition=6, leader=leader)
    assert "HOLDS" == judge(history, "X54")["verdict"]


def test_an_assignment_that_is_sent_again_is_of_the_first_time(judge: Judge) -> None:
    history = given(0).sync("member-1", 25, gives=[("member-2", 0)])
    found = judge(history, "X54")
    assert ("HOLDS", [at(20)]) == (found["verdict"], [row["at"] for row in found["rows"]])


def test_a_topic_that_nobody_subscribed_to_is_strange(judge: Judge) -> None:
    history = given(0)
    history.rows["requests"][-1]["assignments"][0]["topic"] = "u"
    assert "VIOLATED" == judge(history, "X54")["verdict"]


def test_without_assignments_x54_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().join("member-1", 10), "X54")["verdict"]


# X79

LIBRDKAFKA: dict[str, Any] = {"client_version": "confluent-kafka 2.16.1 librdkafka 2.16.0"}
JAVA: dict[str, Any] = {"client": "java", "client_version": "kafka-clients 4.4.0"}


@pytest.mark.parametrize(
    ("member", "software", "version", "verdict"),
    [
        (LIBRDKAFKA, "confluent-kafka-python", "2.16.1-rdkafka-2.16.0", "HOLDS"),
        (LIBRDKAFKA, "confluent-kafka-python", "2.16.1-rdkafka-2.15.1", "VIOLATED"),
        (LIBRDKAFKA, "apache-kafka-java", "4.4.0", "VIOLATED"),
        (LIBRDKAFKA, "unknown", "unknown", "HOLDS"),
        (JAVA, "apache-kafka-java", "4.4.0", "HOLDS"),
        (JAVA, "apache-kafka-java", "4.3.1", "VIOLATED"),
        (JAVA, "librdkafka", "4.4.0", "VIOLATED"),
    ],
)
def test_a_member_names_its_own_client(
    judge: Judge, member: dict[str, Any], software: str, version: str, verdict: str
) -> None:
    history = History().member("member-1", **member)
    history.heartbeats("member-1", 2_000, client_software=software, client_software_version=version)
    assert verdict == judge(history, "X79")["verdict"]


@pytest.mark.parametrize(
    ("member", "offers", "verdict"),
    [
        ({"protocol": "eager"}, ["range"], "HOLDS"),
        ({"protocol": "eager"}, ["cooperative-sticky"], "VIOLATED"),
        ({"protocol": "eager"}, ["range", "roundrobin"], "VIOLATED"),
        ({"protocol": "eager", "assignor": "roundrobin"}, ["roundrobin"], "HOLDS"),
        ({"protocol": "eager", "assignor": "roundrobin"}, ["range"], "VIOLATED"),
        ({"protocol": "cooperative"}, ["cooperative-sticky"], "HOLDS"),
        ({"protocol": "cooperative"}, ["range"], "VIOLATED"),
        (
            {"protocol": "eager", "settings": '{"partition.assignment.strategy": "own"}'},
            ["own"],
            "HOLDS",
        ),
    ],
)
def test_a_member_offers_its_own_assignor(
    judge: Judge, member: dict[str, Any], offers: list[str], verdict: str
) -> None:
    history = History().member("member-1", **member).join("member-1", 10, assignors=offers)
    assert verdict == judge(history, "X79")["verdict"]


@pytest.mark.parametrize(
    ("epoch", "topics", "verdict"),
    [
        (0, '["t"]', "HOLDS"),
        (0, '["u"]', "VIOLATED"),
        (2, '["u"]', "VIOLATED"),
        (2, '["t","u"]', "VIOLATED"),
        (-1, "[]", "HOLDS"),  # it leaves
    ],
)
def test_in_kip_848_a_member_subscribes_to_its_topic(
    judge: Judge, epoch: int, topics: str, verdict: str
) -> None:
    history = History(group={"protocol": "consumer"}).member("member-1", protocol="consumer")
    history.request(
        "CONSUMER_GROUP_HEARTBEAT", "member-1", 10, generation=epoch,
        detail=f'{{"topics": {topics}}}',
    )  # fmt: skip
    assert verdict == judge(history, "X79")["verdict"]


@pytest.mark.parametrize(
    ("api", "group", "verdict"),
    [
        ("HEARTBEAT", "payments", "VIOLATED"),
        ("HEARTBEAT", "orders", "HOLDS"),
        ("LIST_OFFSETS", None, "HOLDS"),
        ("FIND_COORDINATOR", "orders-member-1", "HOLDS"),  # of its transactions
    ],
)
def test_a_member_asks_for_its_own_group(
    judge: Judge, api: str, group: str | None, verdict: str
) -> None:
    history = History().member("member-1").join("member-1", 10)
    assert verdict == judge(history.request(api, "member-1", 20, group=group), "X79")["verdict"]


def test_the_first_of_what_it_was_not_configured_with_is_said(judge: Judge) -> None:
    history = History().member("member-1", protocol="eager", **LIBRDKAFKA)
    history.join("member-1", 10, assignors=["range"])
    for ms, assignor in ((20, "sticky"), (30, "roundrobin")):
        history.join("member-1", ms, assignors=[assignor])
    found = judge(history, "X79")
    assert (2, [at(20)]) == (found["measured_max"], [row["at"] for row in found["rows"]])
    assert "offered the assignor sticky" in found["reason"]


def test_only_consumers_are_examined_by_x79(judge: Judge) -> None:
    history = History().member("producer-1", role="producer", **LIBRDKAFKA)
    named = {"client_software": "apache-kafka-java", "client_software_version": "4.4.0"}
    history.heartbeats("producer-1", 2_000, **named)
    assert "UNKNOWN" == judge(history, "X79")["verdict"]


def test_without_requests_x79_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().member("member-1"), "X79")["verdict"]
