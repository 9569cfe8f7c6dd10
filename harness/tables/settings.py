"""What queries may name with a colon (`:session_ms`): the settings of a run, from its manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from harness.experiment import (
    APP,
    JAVA_TIMER_MS,
    LIBRDKAFKA_TIMER_GRID_MS,
    SLACK_MS,
    UNSET,
    effective_heartbeat_ms,
)
from harness.tables.engines.contract import Setting

# Two stamps may each be rounded to 1 ms, so what follows may seem to come 2 ms before.
ROUNDING_MS: Final = 2
# Java's retry.backoff.max.ms (1 s) with its jitter of 20 % (KIP-580).
JAVA_RETRY_MS: Final = 1_200
# How much earlier and later than its interval a client's heartbeats come. Both look for a heartbeat
# that is due when something wakes them, and at least at each tick of their timer
# (rd_kafka_cgrp_serve; AbstractCoordinator, HeartbeatThread). One is early by the way of the one
# before, measured for librdkafka's within its grid: 80 ms.
CADENCE_MS: Final = {
    "librdkafka": (80, LIBRDKAFKA_TIMER_GRID_MS + SLACK_MS),
    "java": (SLACK_MS, JAVA_TIMER_MS + SLACK_MS),
}
# Likewise for automatic commits: librdkafka's have a timer of their own (measured: within 66 ms),
# Java looks at the clock in each poll.
AUTO_COMMIT_LATE_MS: Final = {"librdkafka": 80, "java": JAVA_TIMER_MS + SLACK_MS}
# How long a client that has lost its coordinator waits at most before it asks again: Java's
# retry.backoff.max.ms with jitter and its timer, librdkafka's 1,000 ms and its timer
# (rd_kafka_cgrp_serve).
LOOKUP_MS: Final = {
    "librdkafka": 1_000 + LIBRDKAFKA_TIMER_GRID_MS,
    "java": JAVA_RETRY_MS + JAVA_TIMER_MS,
}
# Time-out of one poll of the consumer program.
POLL_MS: Final = 200
# How late a client does what a timer of its own is for.
TIMER_LATE_MS: Final = {"librdkafka": LIBRDKAFKA_TIMER_GRID_MS, "java": JAVA_TIMER_MS}
# How early before a deadline the machine must have been on time for a timing to count.
GUARD_MS: Final = 100
# Settings of brokers that queries name, by the name they have there, each with Kafka's default for
# a run whose manifest lacks what the brokers had. Times are in milliseconds but for the
# retention, which Kafka takes in minutes.
_OF_BROKERS: Final[Mapping[str, tuple[str, int]]] = {
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
# Settings that follow from what an experiment declares of its clients, or from how ours work.
DECLARED_OF_CLIENTS: Final = frozenset(
    {
        "auto_commit_late_ms",
        "auto_commit_ms",
        "batch_records",
        "cadence_early_ms",
        "cadence_ms",
        "client",
        "commit",
        "heartbeat_ms",
        "lookup_ms",
        "max_poll_ms",
        "metadata_refresh_ms",
        "poll_ms",
        "retry_ms",
        "timer_late_ms",
    }
)


def settings_of(content: Mapping[str, Any], promised: Mapping[str, float]) -> dict[str, Setting]:
    """Each setting's value, by this manifest and with these limits.

    Raises KeyError, TypeError or ValueError where the manifest lacks something.
    """
    group, load = content["declared"]["group"], content["declared"]["load"]
    cluster = content["declared"].get("cluster") or {}
    broker = cluster.get("settings") or {}
    phases = {phase["name"]: phase for phase in content.get("phases") or ()}
    started = _time(content["started_at"])
    ended = _time(content["ended_at"]) if content.get("ended_at") else started + timedelta(days=1)
    stop = phases.get("stop") or {}
    drain = phases.get("drain") or {}
    steady = phases.get("steady") or {}
    of_an_app = group["client"] == APP
    ours = _of_an_app(content, promised) if of_an_app else _of_clients(group, promised)
    observed = content.get("observed") or {}
    brokers = of_brokers(content)
    return {
        **ours,
        **brokers,
        "group": content["group"],
        "topic": content["topic"],
        "protocol": observed.get("protocol") or group["protocol"],
        "session_ms": int(observed.get("session_timeout_ms") or group["session_timeout_ms"]),
        "members": int(group["members"]),
        "partitions": int(load["partitions"]),
        "records_per_s": int(load["records_per_s"]),
        # Of a run that does not say so nothing is known.
        "idempotent": int(load.get("idempotence") is True),
        "faults": _due(content["declared"]),
        "slack_ms": SLACK_MS,
        "rounding_ms": ROUNDING_MS,
        "guard_ms": GUARD_MS,
        "started_at": started,
        "ended_at": ended,
        "brokers": int(cluster.get("brokers", 3)),
        "offsets_min_isr": int(
            broker.get("min.insync.replicas", min(2, int(cluster.get("brokers", 3))))
        ),
        "retention_ms": 60_000 * brokers["retention_minutes"],
        "kafka_major": int(str(cluster.get("kafka_version") or "4").partition(".")[0]),
        "steady_at": _time(steady["from"]) if steady.get("from") else ended,
        "drain_at": _time(drain["from"]) if drain.get("from") else ended,
        "drained_at": _time(drain["to"]) if drain.get("to") else ended,
        "stopped_at": _time(stop["from"]) if stop.get("from") else ended,
    }


def _due(declared: Mapping[str, Any]) -> int:
    """How many faults have to be on record: where they are drawn, as many as time allowed."""
    faults = len(declared.get("faults") or ())
    return min(faults, 1) if declared.get("at_random") else faults


# Of each limit its setting, and what one of it is there.
_LIMITS: Final = {
    "drained_s": ("limit_drained_ms", 1_000),
    "standstill_s": ("limit_standstill_ms", 1_000),
    "repeats": ("limit_repeats", 1),
    "lost": ("limit_lost", 1),
    "out_of_order": ("limit_out_of_order", 1),
}
# What a program is held to without a promise; -1 is nothing.
_UNPROMISED: Final[Mapping[str, Setting]] = {
    "limit_drained_ms": 60_000,
    "limit_standstill_ms": -1,
    "limit_repeats": -1,
    "limit_lost": 0,
    "limit_out_of_order": 0,
}


def _limits(promised: Mapping[str, float]) -> dict[str, Setting]:
    """What is promised, in milliseconds and records."""
    return {
        setting: round(promised[name] * scale)
        for name, (setting, scale) in _LIMITS.items()
        if name in promised
    }


def _of_an_app(content: Mapping[str, Any], promised: Mapping[str, float]) -> dict[str, Setting]:
    app = content["declared"]["app"]
    effects = app.get("effects") or {}
    shown = (content.get("observed") or {}).get("shown") or {}
    return {
        "grace_ms": round(app["stop"]["grace_s"] * 1_000),
        **_UNPROMISED,
        **_limits(promised),
        # The way in which it is said to show its work; empty where it is not.
        "shown_by": str(shown.get("by") or next((way for way, on in effects.items() if on), "")),
        "shown_lacks": str(shown.get("lacks") or ""),
        "shown_oddly": str(shown.get("oddly") or ""),
    }


def _of_clients(group: Mapping[str, Any], promised: Mapping[str, float]) -> dict[str, Setting]:
    """The settings in DECLARED_OF_CLIENTS, and what is promised."""
    client = str(group["client"])
    return {
        **_limits(promised),
        "client": client,
        "heartbeat_ms": effective_heartbeat_ms(
            int(group["heartbeat_interval_ms"]), client, str(group["protocol"])
        ),
        "max_poll_ms": int(group["max_poll_interval_ms"]),
        "commit": group["commit"],
        "auto_commit_ms": int(group["auto_commit_interval_ms"]),
        "batch_records": int(group["batch_records"]),
        "metadata_refresh_ms": int(group.get("metadata_refresh_ms", 300_000)),
        "cadence_early_ms": CADENCE_MS[client][0],
        "cadence_ms": CADENCE_MS[client][1],
        "auto_commit_late_ms": AUTO_COMMIT_LATE_MS[client],
        "lookup_ms": LOOKUP_MS[client],
        "poll_ms": POLL_MS,
        "retry_ms": JAVA_RETRY_MS,
        "timer_late_ms": _timer_late_ms(group),
    }


def _timer_late_ms(group: Mapping[str, Any]) -> int:
    """In KIP-848 Java's network thread sleeps until its next heartbeat (ConsumerNetworkThread)."""
    if group["client"] == "java" and group["protocol"] == "consumer":
        return int(group["heartbeat_interval_ms"])
    return TIMER_LATE_MS[group["client"]]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def of_brokers(content: Mapping[str, Any]) -> dict[str, int]:
    """The brokers' settings that queries name, from a manifest.

    What a broker was given counts before what all brokers have unset, and that before what the
    experiment declares. Where brokers differ, or the releases that they had, it is the largest.
    """
    return {name: _value(content, *named) for name, named in _OF_BROKERS.items()}


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
    releases = (effective, effective.get("upgraded") or {})
    unset = _known(name, (each.get("broker_defaults") or {} for each in releases))
    cluster = content["declared"].get("cluster") or {}
    declared = _known(name, [cluster.get("settings") or {}])
    return max(unset or declared or [default])


def _known(name: str, settings: Iterable[Mapping[str, str]]) -> list[int]:
    return [int(each[name]) for each in settings if each.get(name, UNSET) != UNSET]
