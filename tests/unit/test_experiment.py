"""Values of an experiment refuse nonsense, in a sentence with both numbers and the remedy."""

from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from harness.base.errors import BadInput
from harness.experiment import (
    Cluster,
    Expect,
    Experiment,
    Fault,
    Group,
    Load,
    Probe,
    Verdict,
    effective_heartbeat_ms,
)


def _violated(**limits: Any) -> Expect:
    return Expect(rule="R35", verdict=Verdict.VIOLATED, because="it is so", **limits)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Cluster(brokers=0), "at least one broker"),
        (lambda: Load(min_insync_replicas=4), "min_insync_replicas of 4 is more than the replicat"),
        (lambda: Load(acks="1"), "acks of 1 with idempotence"),
        (lambda: Load(partitions=0), "partitions of 0 is below 1"),
        (
            lambda: Group(heartbeat_interval_ms=6_000),
            "6000 is not below session_timeout_ms of 6000",
        ),
        (lambda: Group(session_timeout_ms=5_999), "5999 is outside the 6000 to 1800000"),
        (lambda: Group(max_poll_interval_ms=5_000), "5000 is below session_timeout_ms of 6000"),
        (lambda: Group(members=0), "members is 0, and a group needs at least one"),
        (lambda: Group(arrive_every_ms=-1), "arrive_every_ms of -1"),
        (lambda: Expect(rule="R30", sometimes=True), "only a violation can be"),
        (lambda: Expect(rule="R35", by="member-1"), "limit a violation: say verdict=Verdict.VIOL"),
        (lambda: _violated(at_most=0), "at_most=0 times: use 1 or more, or expect it to hold"),
        (lambda: _violated(at_most=1.5), "has at_most=1.5, which is no such limit: write at_most"),
        (lambda: _violated(at_most=True), "has at_most=True, which is no such limit"),
        (lambda: _violated(up_to=0), "up_to=0: use more than 0, in the unit of the rule"),
        (lambda: _violated(up_to=inf), "up_to=inf: use more than 0"),
        (lambda: _violated(by=("member-1",)), 'no such limit: write by="member-1"'),
        (lambda: _violated(by=" "), "begins no sentence: leave out blanks at"),
        (lambda: _violated(by="{freeze-consumer"), "write kinds of faults as in {freeze-consumer}"),
        (lambda: Group(client="sarama"), "client 'sarama' is not offered"),
        (
            lambda: Group(client="app", client_version="4.2.1"),
            "decides that by itself: leave it out",
        ),
        (lambda: Group(protocol="lazy"), "choose eager, cooperative or consumer"),
        (lambda: Expect(rule="R01", verdict=Verdict.VIOLATED), "without a reason"),
        (
            lambda: Experiment(
                claim="x.",
                probes=(Probe(name="one", beside=True), Probe(name="other")),
                faults=(Fault(kind="kill-broker", target="broker 1"),),
            ),
            "wait for the end of probe other and come late",
        ),
        (lambda: Probe(name="one", at_s=-1), "probe one has at_s=-1: use 0 or more"),
        (
            lambda: Probe(name="one", at_s=5, beside=True),
            "probe one is played beside faults, which begin when it is ready: leave out at_s",
        ),
    ],
)
def test_nonsense_is_refused_with_both_numbers(build: Callable[[], object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        build()


@pytest.mark.parametrize(
    ("declared_ms", "kept_ms"), [(300, 500), (700, 1_000), (1_300, 1_500), (3_000, 3_000)]
)
def test_heartbeats_keep_librdkafkas_grid_of_half_a_second(declared_ms: int, kept_ms: int) -> None:
    assert kept_ms == effective_heartbeat_ms(declared_ms)
    assert kept_ms == Group(heartbeat_interval_ms=declared_ms).heartbeat_gap_ms


@pytest.mark.parametrize(("client", "protocol"), [("librdkafka", "consumer"), ("java", "eager")])
def test_others_keep_the_interval_that_they_have(client: str, protocol: str) -> None:
    group = Group(client=client, protocol=protocol, heartbeat_interval_ms=700)
    assert 700 == group.heartbeat_gap_ms
