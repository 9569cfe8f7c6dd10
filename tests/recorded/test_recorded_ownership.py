"""What brokers show of who held what is what the members' own callbacks said, in every run.

Method: both tables are made of each recorded run. Every interval of one has to have exactly one of
the other, of the same member, member id, generation and partition, whose start and end lie within
what a client may need between a callback and the call that shows it. Where an end does not, the
member's journal has to say why, in one of the ways that are listed here; how often is pinned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from harness.experiment import SLACK_MS
from harness.tables.many_runs import One
from harness.tables.settings import POLL_MS
from harness.tables.source import read_run
from tests.recorded.keep import RUNS
from tests.recorded.recorded_tables import Row, rows_of

KEPT: Final = sorted(RUNS.iterdir())
TABLES: Final = ("ownership", "ownership_by_brokers", "client_events")

# Callbacks are served from poll, whose time-out is POLL_MS: so long a client may take to serve one
# after the answer, and to go on to its next call after one. Both clocks are the machine's.
NEAR: Final = timedelta(milliseconds=POLL_MS + SLACK_MS)

# Ends that lie further apart, by the runs that have them.
EXPLAINED: Final = Counter(
    {
        ("callback-stall", "its callback took long"): 4,
        ("callback-stall-java", "its callback took long"): 4,
        ("coordinator-silent", "it gave up at the end of its session"): 6,
        ("acl-revoked", "it gave up at the end of its session"): 2,
        ("bad-day", "the client left for an application that did not poll"): 2,
        ("transactions", "the client left for an application that did not poll"): 2,
    }
)
# How an interval ended, by callbacks and by brokers, where these do not say the same.
ENDED_OTHERWISE: Final = Counter(
    {
        # A classic static member closes without leaving: only its process shows it.
        ("static-day", "revoked", "closed"): 8,
        ("static-duplicate", "revoked", "closed"): 6,
        # It was fenced, and its application gave up at once, without a callback.
        ("static-duplicate", "failed", "lost"): 2,
        # It was told to give up one partition, and left before it heard that it had lost all.
        ("revocation-stalled", "lost", "revoked"): 2,
        # Of the ends that lie apart.
        ("callback-stall", "revoked", "lost"): 4,
        ("bad-day", "lost", "revoked"): 2,
    }
)


@dataclass(frozen=True)
class Compared:
    """One run: pairs of intervals (callbacks, brokers), those without, and what members noted."""

    experiment: str
    sort: tuple[str, str]
    pairs: list[tuple[Row, Row]]
    alone: list[Row]
    noted: list[Row]


@pytest.fixture(scope="module")
def runs(kept: Callable[[str], One]) -> dict[str, Compared]:
    """Every recorded run."""
    return {run.name: compared(run, rows_of(kept(run.name), *TABLES)) for run in KEPT}


def compared(path: Path, tables: dict[str, list[Row]]) -> Compared:
    run = read_run(path)
    by_callbacks, by_brokers, noted = (tables[name] for name in TABLES)
    pairs, alone = [], list(by_brokers)
    for told in by_callbacks:
        same = [shown for shown in alone if overlap(told, shown)]
        if len(same) == 1:
            pairs.append((told, same[0]))
            alone.remove(same[0])
        else:
            alone.append(told)
    return Compared(run.experiment, (run.client, run.protocol), pairs, alone, noted)


def overlap(told: Row, shown: Row) -> bool:
    """Whether two intervals are about the same partition in the same hands at the same time."""
    names = ("topic", "partition", "member", "member_id", "generation")
    return (
        all(told[name] == shown[name] for name in names)
        and (shown["to_at"] is None or told["from_at"] < shown["to_at"])
        and (told["to_at"] is None or shown["from_at"] < told["to_at"])
    )


def near(one: datetime | None, other: datetime | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= NEAR


def explanation(run: Compared, told: Row, shown: Row) -> str | None:
    """Why the member's end and the brokers' lie apart, by what the member noted."""

    def noted(event: str, when: datetime) -> bool:
        return any(
            row["event"] == event
            and row["member"] == told["member"]
            and near(row["event_at"], when)
            for row in run.noted
        )

    if shown["to_at"] > told["to_at"]:
        if noted("callback_stall_started", told["to_at"]):
            return "its callback took long"
        if noted("session_timed_out", told["to_at"]):
            return "it gave up at the end of its session"
    elif noted("max_poll_exceeded", shown["to_at"]):
        return "the client left for an application that did not poll"
    return None


@pytest.mark.parametrize("run", KEPT, ids=lambda run: run.name)
def test_every_interval_has_its_one_counterpart(run: Path, runs: dict[str, Compared]) -> None:
    found = runs[run.name]
    assert [] == found.alone
    assert found.pairs


def test_they_are_many_and_of_both_clients_and_all_protocols(runs: dict[str, Compared]) -> None:
    assert len(runs) >= 20
    assert {
        (client, protocol)
        for client in ("librdkafka", "java")
        for protocol in ("eager", "cooperative", "consumer")
    } == {run.sort for run in runs.values()}


def test_every_start_is_near_its_callback(runs: dict[str, Compared]) -> None:
    assert [] == [
        (run.experiment, told, shown)
        for run in runs.values()
        for told, shown in run.pairs
        if not near(told["from_at"], shown["from_at"])
    ]


def test_every_end_is_near_its_callback_or_explained(runs: dict[str, Compared]) -> None:
    apart = Counter(
        (run.experiment, explanation(run, told, shown))
        for run in runs.values()
        for told, shown in run.pairs
        if not near(told["to_at"], shown["to_at"])
    )
    assert apart == EXPLAINED


def test_zombies_are_the_same(runs: dict[str, Compared]) -> None:
    """But for ends that lie apart: who has given up, or is thought to have, is no zombie then."""
    assert [] == [
        (run.experiment, told, shown)
        for run in runs.values()
        for told, shown in run.pairs
        if told["removed_at"] != shown["removed_at"] and near(told["to_at"], shown["to_at"])
    ]


def test_what_ended_them_is_the_same_where_brokers_can_know(runs: dict[str, Compared]) -> None:
    otherwise = Counter(
        (run.experiment, told["ended_by"], shown["ended_by"])
        for run in runs.values()
        for told, shown in run.pairs
        if told["ended_by"] != shown["ended_by"]
    )
    assert otherwise == ENDED_OTHERWISE
