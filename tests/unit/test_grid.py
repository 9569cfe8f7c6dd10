"""The grid of a sweep: which runs it is made of, and what is refused before any of them begins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from harness.base.errors import BadInput
from harness.catalogue import kafka_settings, registry
from harness.catalogue.choice import Choice
from harness.catalogue.grid import Grid, grid_of
from harness.cli.asked import listed
from harness.cluster.plan import within_limits
from harness.experiment import UNSET, Verdict
from harness.experiment.limits import Limits
from harness.provision.kafka import kafka_versions
from harness.rules import RULES
from tests.unit.worded import pairs

RUNS = Path(__file__).resolve().parents[1] / "recorded" / "runs"
SESSIONS = "session_timeout_ms=45000,6000,10_000"


def grid(names: Sequence[str], *over: str, limits: Limits | None = None, **settings: str) -> Grid:
    return grid_of(names, over, Choice(settings, limits or Limits()))


def places(found: Grid) -> list[tuple[str, Mapping[str, str]]]:
    return [(point.name, point.settings) for point in found.points]


def test_a_grid_has_each_experiment_with_each_value_in_order() -> None:
    found = grid(["consumer-freeze", "consumer-crash"], SESSIONS)

    assert [
        (name, {"session_timeout_ms": session})
        for name in ("consumer-freeze", "consumer-crash")
        for session in ("6000", "10000", "45000")
    ] == places(found)
    assert [6_000, 10_000, 45_000] * 2 == [
        point.experiment.group.session_timeout_ms for point in found.points
    ]


def test_several_settings_are_combined() -> None:
    found = grid(["consumer-crash"], "members=5,3", "group.protocol=eager,consumer")

    assert [
        {"members": members, "protocol": protocol}
        for members in ("3", "5")
        for protocol in ("eager", "consumer")
    ] == [settings for _, settings in places(found)]


def test_a_setting_of_brokers_is_swept_by_kafkas_name() -> None:
    delay = "group.initial.rebalance.delay.ms"
    found = grid(["consumer-crash"], f"{delay}=3000,0", members="4")

    experiments = [point.experiment for point in found.points]
    assert ["0", "3000"] == [each.cluster.settings[delay] for each in experiments]
    assert [4, 4] == [each.group.members for each in experiments]
    assert [delay] == [axis.name for axis in found.axes]


def test_a_silence_may_be_shorter_than_the_session_that_is_swept() -> None:
    """What brings about an eviction with one value does not with another: that is the question."""
    freeze = registry.load("consumer-freeze")
    with pytest.raises(BadInput, match="ends before session_timeout_ms of 45 s"):
        registry.checked(registry.with_settings(freeze, {"session_timeout_ms": "45000"}))
    # Violated by a zombie, and a member that is never put out becomes none.
    declared = {expect.rule: expect.verdict for expect in freeze.rules}
    assert Verdict.VIOLATED is declared["R21-delivery"]
    assert RULES["R21-delivery"].is_contradicted("librdkafka", "eager")

    for point in grid(["consumer-freeze"], SESSIONS).points:
        assert all(expect.if_seen for expect in point.experiment.rules)
        rules = {expect.rule for expect in point.experiment.rules}
        assert "R21-delivery" not in rules
        assert {"R01", "R21"} <= rules


def test_a_point_whose_values_make_no_sense_together_is_left_out() -> None:
    found = grid(
        ["consumer-crash"], "session_timeout_ms=6000,45000", "heartbeat_interval_ms=2000,9000"
    )

    assert [("6000", "2000"), ("45000", "2000"), ("45000", "9000")] == [
        tuple(settings.values()) for _, settings in places(found)
    ]
    (sentence,) = found.left_out
    assert sentence.startswith(
        "consumer-crash with session_timeout_ms=6000, heartbeat_interval_ms=9000: "
        "heartbeat_interval_ms of 9000 is not below session_timeout_ms of 6000"
    )


def test_limits_are_held_in_every_run() -> None:
    found = grid(["consumer-crash"], SESSIONS, limits=Limits(standstill_s=20))

    assert {20} == {point.experiment.limits.standstill_s for point in found.points}


WRONG: Final = """
slow-sink session_timeout_ms=6000,9000 => needs a program of yours
consumer-crash members => not of the form NAME=VALUE,VALUE
consumer-crash =3,5 => not of the form NAME=VALUE,VALUE
consumer-crash members=5 => sweeps nothing: give two values or more
consumer-crash members=, => sweeps nothing
consumer-crash members=3,03 => has 3 twice
consumer-crash members=3,5 group.members=4,6 => is swept twice
consumer-crash session_timeout=6000,9000 => mean 'session_timeout_ms'?
consumer-crash members=3,many => takes a whole number, such as 3, not 'many'
consumer-crash session_timeout_ms=3000,6000 =>
    consumer-crash with session_timeout_ms=3000: session_timeout_ms of 3000 is outside
consumer-crash,coordinator-kill session_timeout_ms=6000,90000 =>
    consumer-crash with session_timeout_ms=90000: max_poll_interval_ms of 60000 is below
consumer-crash group.initial.rebalance.delay=0,3000 =>
    did you mean 'group.initial.rebalance.delay.ms'?
consumer-crash group.initial.rebalance.delay.ms=0,x =>
    group.initial.rebalance.delay.ms takes a whole number, not 'x'
consumer-crash unclean.leader.election.enable=true,yes =>
    unclean.leader.election.enable takes true or false, not 'yes'
consumer-crash group.consumer.session.timeout.ms=6000,9000 =>
    group.consumer.session.timeout.ms follows from session_timeout_ms: set that
"""


@pytest.mark.parametrize(("asked", "says"), pairs(WRONG))
def test_what_makes_no_sense_gets_a_sentence(asked: str, says: str) -> None:
    names, *over = asked.split()
    with pytest.raises(BadInput) as refused:
        grid(listed(names), *over)

    assert says in str(refused.value)


def test_what_is_swept_cannot_be_set_as_well() -> None:
    with pytest.raises(BadInput, match="is swept, and set to '4' for all runs as well"):
        grid(["consumer-crash"], "group.members=3,5", members="4")


def test_a_setting_of_brokers_is_set_once() -> None:
    settings = {"group.max.size": "4", "cluster.settings.group.max.size": "5"}

    with pytest.raises(BadInput, match=r"group\.max\.size is set twice"):
        registry.with_settings(registry.load("baseline"), settings)


def test_what_an_experiment_sets_of_its_brokers_stays() -> None:
    declared = registry.load("transactions")
    turned = registry.with_settings(declared, {"group.max.size": "4", "brokers": "5"})

    assert {**declared.cluster.settings, "group.max.size": "4"} == turned.cluster.settings
    assert 5 == turned.cluster.brokers


def test_every_setting_that_an_experiment_declares_of_brokers_can_be_turned() -> None:
    for name in registry.names():
        for setting, value in registry.load(name).cluster.settings.items():
            if setting != "group.coordinator.rebalance.protocols" and value != UNSET:
                assert setting in kafka_settings.KNOWN, f"{setting} of {name}"


def test_the_settings_of_brokers_are_those_that_brokers_have() -> None:
    """Recorded runs have all defaults of their brokers, and what they were given."""
    known: set[str] = set()
    for path in RUNS.glob("*/manifest.json"):
        effective = json.loads(path.read_text())["effective"]
        known |= set(effective.get("broker_defaults") or {})
        known |= {name for given in effective["brokers"].values() for name in given}
    newer = {  # of versions of which no run is kept
        "group.consumer.assignor.offload.enable",
        "group.consumer.regex.refresh.interval.ms",
        "max.decompressed.message.bytes",
        "producer.id.expiration.check.interval.ms",
        "unclean.leader.election.interval.ms",
        "transaction.partition.verification.enable",
    }

    assert set(kafka_settings.KNOWN) - known <= newer


@pytest.mark.parametrize(
    ("kafka", "setting", "oldest"),
    [
        ("4.1.2", "group.share.record.lock.duration.ms", "4.2.0"),
        ("3.9.2", "group.streams.num.standby.replicas", "4.2.0"),
        ("4.2.1", "group.streams.assignment.interval.ms", "4.3.0"),
        ("4.2.1", "group.share.max.delivery.count.limit", "4.3.0"),
        ("4.3.1", "group.streams.assignors", "4.4.0"),
        ("3.9.2", "group.consumer.max.size", "4.0.0"),
    ],
)
def test_what_a_release_does_not_have_is_refused(kafka: str, setting: str, oldest: str) -> None:
    """A broker would pass over it without a word."""
    value = "sticky" if setting.endswith("assignors") else "4"
    changed = {setting: value, "kafka_version": kafka}
    turned = registry.with_settings(registry.load("baseline"), changed)

    with pytest.raises(BadInput, match=f"Kafka {kafka} does not offer {setting}: choose Kafka"):
        registry.checked(turned)
    registry.checked(registry.with_settings(turned, {"kafka_version": oldest}))


def test_a_programs_group_has_its_timers_from_the_brokers() -> None:
    """Of our own members they follow from what the group declares."""
    session = {"group.consumer.session.timeout.ms": "9000"}
    declared = registry.load("baseline")

    with pytest.raises(BadInput, match="follows from session_timeout_ms: set that"):
        registry.with_settings(declared, session)
    turned = registry.with_settings(declared, session, of_app=True)
    assert session == turned.cluster.settings


@pytest.mark.parametrize(
    ("setting", "value", "moved"),
    [
        ("group.consumer.session.timeout.ms", "44999", "group.consumer.min.session.timeout.ms"),
        ("group.streams.session.timeout.ms", "60001", "group.streams.max.session.timeout.ms"),
        ("group.share.delivery.count.limit", "11", "group.share.max.delivery.count.limit"),
    ],
)
def test_a_limit_of_kafkas_is_moved_only_by_what_is_beyond_it(
    setting: str, value: str, moved: str
) -> None:
    assert {setting: value, moved: value} == within_limits({setting: value})
    nearer = str(int(value) + (1 if ".min." in moved else -1))
    assert {setting: nearer} == within_limits({setting: nearer})
    assert {setting: value, moved: "7"} == within_limits({setting: value, moved: "7"})


def test_protocols_are_judged_by_what_the_experiment_expects_of_each() -> None:
    declared = registry.resolved(registry.load("consumer-freeze"))
    first, *_ = grid(["consumer-freeze"], "protocol=eager,consumer").points

    assert set(declared.rules) <= set(first.experiment.rules)
    assert Verdict.VIOLATED in {expect.verdict for expect in first.experiment.rules}


def test_what_a_join_costs_is_judged_where_one_is_seen() -> None:
    """No member comes or goes in it, so there may be no join."""
    rules = grid(["network-latency"], "protocol=eager,cooperative").points[0].experiment.rules
    assert [True] == [each.if_seen for each in rules if each.rule == "X34"]


def test_a_larger_group_gets_a_partition_for_each_member_and_one_that_joins() -> None:
    found = grid(["consumer-join"], "members=3,10")
    declared = registry.load("consumer-join").load.partitions
    assert [declared, 11] == [point.experiment.load.partitions for point in found.points]

    fixed = grid(["consumer-join"], "members=3,10", partitions="7")
    assert [7, 7] == [point.experiment.load.partitions for point in fixed.points]


def test_a_protocol_that_an_experiment_is_not_for_is_left_out() -> None:
    found = grid(["auto-commit-race"], "client=java,librdkafka", "protocol=eager,consumer")

    assert found.points
    assert found.left_out
    with pytest.raises(BadInput):
        grid(["auto-commit-race"], "protocol=eager,cooperative", client="java")


def test_a_version_is_for_java_alone_where_clients_are_swept() -> None:
    version = kafka_versions()[-1]
    found = grid(["consumer-crash"], "client=librdkafka,java", client_version=version)

    assert ["", version] == [point.experiment.group.client_version for point in found.points]
