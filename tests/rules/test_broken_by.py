"""Which rules a client or a fault can break, and that an experiment does; and which nothing can."""

from __future__ import annotations

import pytest

from harness import registry
from harness.experiment import Verdict
from harness.rules import RULES

# Rules, and the experiment that breaks each on a real cluster.
BROKEN_BY = {
    "R06": "member-isolated",
    "R07": "saboteur-stopped",
    "R10": "saboteur-stopped",
    "R11": "broker-kill",
    "R14": "saboteur-members",
    "R18": "processing-slow",
    "R20d": "broker-kill-short-session",
    "R21-delivery": "processing-stall",
    "R21-stop": "saboteur-keep-processing",
    "R32": "saboteur-deaf",
    "R34": "saboteur-deaf",
    "X12": "coordinator-kill-short-session",
    "X14": "saboteur-members",
    "X32a": "saboteur-commit-first",
    "X32b": "saboteur-members",
    "X32c": "saboteur-members",
    "X32d": "saboteur-never-commit",
}
_COORDINATOR = "the coordinator alone decides it, and brokers are not sabotaged"
# Rules that only hand-written histories break, and why no client or fault does.
ONLY_BY_HAND = {
    "R01": _COORDINATOR,
    "R02": _COORDINATOR,
    "R03-members": _COORDINATOR,
    "R08-members": _COORDINATOR,
    "R12": _COORDINATOR,
    "R19": _COORDINATOR,
    "R20a": _COORDINATOR,
    "R20b": _COORDINATOR,
    "R20e": _COORDINATOR,
    "R21": "the coordinator gives each partition once; a zombie is told apart by R21-delivery",
    "R27-growth": "brokers refuse to take partitions away",
    "R33": _COORDINATOR,
    "X07": _COORDINATOR,
    "X08-members": _COORDINATOR,
    "X11": _COORDINATOR,
    "X16": "the library's own thread does it, whatever the application does",
    "R06-librdkafka": "the library's own thread does it, whatever the application does",
    "R20c": "as long as there is a live member that polls",
    "R32-rejoin": "the library's own poll does it; who does not poll is not examined",
}


@pytest.mark.parametrize(("rule", "name"), BROKEN_BY.items())
def test_the_experiment_expects_the_rule_to_be_broken(rule: str, name: str) -> None:
    expected = [expect.verdict for expect in registry.load(name).rules if expect.rule == rule]

    assert Verdict.VIOLATED in expected


def test_no_rule_is_said_to_be_both() -> None:
    assert set(BROKEN_BY).isdisjoint(ONLY_BY_HAND)
    assert {*BROKEN_BY, *ONLY_BY_HAND} <= set(RULES)
