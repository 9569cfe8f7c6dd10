"""Which of the places that tell what brokers were given counts."""

from __future__ import annotations

from typing import Any

import pytest

from harness.tables.settings import of_brokers

NAME = "offsets.commit.timeout.ms"


def told(**content: Any) -> int:
    return of_brokers({"declared": {}, **content})["commit_timeout_ms"]


@pytest.mark.parametrize(
    ("given", "unset", "declared", "counts"),
    [
        ({}, {}, {}, 5_000),
        ({}, {}, {NAME: "1"}, 1),
        ({}, {NAME: "2"}, {NAME: "1"}, 2),
        ({NAME: "3"}, {NAME: "2"}, {NAME: "1"}, 3),
    ],
)
def test_what_a_broker_was_given_counts_before_defaults_and_what_is_declared(
    given: dict[str, str], unset: dict[str, str], declared: dict[str, str], counts: int
) -> None:
    effective = {
        "brokers": {"broker-1": given, "controller-101": {NAME: "9"}},
        "broker_defaults": unset,
    }
    assert counts == told(effective=effective, declared={"cluster": {"settings": declared}})


def test_the_largest_counts_where_brokers_differ() -> None:
    brokers = {f"broker-{number}": {NAME: str(number)} for number in (1, 3, 2)}
    assert 3 == told(effective={"brokers": brokers})


def test_the_largest_counts_where_an_upgrade_has_changed_it() -> None:
    effective = {
        "broker_defaults": {NAME: "4"},
        "upgraded": {"broker_defaults": {NAME: "7"}, "features": {"group.version": 1}},
    }
    assert 7 == told(effective=effective)


def test_a_manifest_without_what_was_in_effect_is_read() -> None:
    assert 5_000 == told(effective=None, declared={"cluster": None})
