"""What the brokers of a run were really told, by its manifest: bounds follow from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.experiment import UNSET

# Settings of brokers that queries name, by the name they have there, each with Kafka's default for
# a run whose manifest does not tell what the brokers had. Times are in milliseconds but for the
# retention, which Kafka takes in minutes.
_NAMED: Final[Mapping[str, tuple[str, int]]] = {
    "assignment_interval_ms": ("group.consumer.assignment.interval.ms", 1_000),
    "commit_timeout_ms": ("offsets.commit.timeout.ms", 5_000),
    "consumer_max_size": ("group.consumer.max.size", 2**31 - 1),
    "group_max_size": ("group.max.size", 2**31 - 1),
    "initial_delay_ms": ("group.initial.rebalance.delay.ms", 3_000),
    "metadata_max": ("offset.metadata.max.bytes", 4_096),
    "reauth_ms": ("connections.max.reauth.ms", 0),
    "retention_check_ms": ("offsets.retention.check.interval.ms", 600_000),
    "retention_minutes": ("offsets.retention.minutes", 10_080),
    "session_least_ms": ("group.min.session.timeout.ms", 6_000),
    "session_most_ms": ("group.max.session.timeout.ms", 1_800_000),
}
NAMES: Final = frozenset(_NAMED)


def of(content: Mapping[str, Any]) -> dict[str, int]:
    """The brokers' settings that queries name, from a manifest.

    What a broker was given counts before what all brokers have unset, and that before what the
    experiment declares. Where brokers differ, or the releases that they had, it is the largest.
    """
    return {name: _value(content, *named) for name, named in _NAMED.items()}


def _value(content: Mapping[str, Any], name: str, default: int) -> int:
    effective = content.get("effective") or {}
    brokers = effective.get("brokers") or {}
    given = [
        int(settings[name])
        for broker, settings in brokers.items()
        if broker.startswith("broker") and name in settings
    ]
    if given:
        return max(given)
    told = (effective, effective.get("upgraded") or {})
    unset = _known(name, (each.get("broker_defaults") or {} for each in told))
    cluster = content["declared"].get("cluster") or {}
    declared = _known(name, [cluster.get("settings") or {}])
    return max(unset or declared or [default])


def _known(name: str, told: Iterable[Mapping[str, str]]) -> list[int]:
    return [int(each[name]) for each in told if each.get(name, UNSET) != UNSET]
