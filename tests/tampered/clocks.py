"""Changes of when things are said to have happened: clocks that are off, and times that moved."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from tests.tampered.history import MOMENTS, Change, Kept, NotThere, ms

RUNS: Final = (
    "baseline.",
    "consumer-crash.librdkafka",
    "consumer-freeze.",
    "consumer-join.librdkafka.consumer",
    "java-poll.",
    "network-bandwidth.",
)
NEUTRAL: Final = (
    "baseline.",
    "consumer-crash.java",
    "consumer-join.java",
    "consumer-leave.java",
    "coordinator-kill.",
    "static-day.",
    "static-epochs.",
    "cooperative-join.",
)


def _off(kept: Kept, by: float) -> None:
    """The clock of the broker that coordinates is off."""
    lines = kept.lines("member_added")
    if not lines:
        raise NotThere("a coordinator")
    broker = lines[0]["broker"]
    for file in ("requests", "coordinator_events"):
        for row in kept[file]:
            if row["broker"] == broker:
                for column in MOMENTS[file]:
                    row[column] += ms(by)


def a_brokers_clock_is_ahead(kept: Kept) -> None:
    _off(kept, 300)


def a_brokers_clock_is_behind(kept: Kept) -> None:
    _off(kept, -300)


def a_brokers_clock_is_an_hour_ahead(kept: Kept) -> None:
    _off(kept, 3_600_000)


def clocks_that_tick_by_a_millisecond(kept: Kept) -> None:
    """Much that happened one after the other has one time now."""
    _turn(kept, lambda at: at.replace(microsecond=at.microsecond // 1_000 * 1_000))


def _turn(kept: Kept, into: Callable[[datetime], datetime]) -> None:
    """Every moment of the history into another one."""
    for file, columns in MOMENTS.items():
        for row in kept[file]:
            for column in columns:
                if row[column] is not None:
                    row[column] = into(row[column])


def everything_a_day_later(kept: Kept) -> None:
    _turn(kept, lambda at: at + timedelta(days=1))
    text = json.dumps(kept.manifest)
    days = sorted({text[i - 10 : i] for i in range(10, len(text)) if text[i : i + 1] == "T"})
    for name in reversed([each for each in days if each[4:5] == "-" and each[7:8] == "-"]):
        number = int(name[8:]) + 1
        text = text.replace(f"{name}T", f"{name[:8]}{number:02d}T")
    kept.manifest = json.loads(text)


def rows_in_another_order(kept: Kept) -> None:
    for rows in kept.files.values():
        rows.reverse()


def _renamed(kept: Kept, names: dict[str, str]) -> None:
    """The same text everywhere, in rows of any depth and in the manifest."""

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            for old, new in names.items():
                value = value.replace(old, new)
            return value
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if isinstance(value, dict):
            return {name: renamed(each) for name, each in value.items()}
        return value

    kept.files = {file: renamed(rows) for file, rows in kept.files.items()}


def other_member_ids(kept: Kept) -> None:
    """The last four letters of each the other way round."""
    ids = {row["member_id"] for row in kept["requests"] if row["member_id"]}
    _renamed(kept, {each: f"{each[:-4]}{each[-4:][::-1]}" for each in ids})


def another_groups_calls_beside_it(kept: Kept) -> None:
    """All that brokers logged, once more of a group that is nobody's."""
    group = kept.run.settings["group"]
    for file in ("requests", "coordinator_events"):
        more = [
            {**row, "group": "payments", "client_id": "stranger"}
            if file == "requests"
            else {**row, "group": "payments"}
            for row in kept[file]
            if row["group"] == group
        ]
        kept[file].extend(more)


def other_log_lines(kept: Kept) -> None:
    for file in ("requests", "coordinator_events"):
        for row in kept[file]:
            name, _, line = (row["evidence"] or "x:0").rpartition(":")
            row["evidence"] = f"{name}:{int(line) + 100_000}"


def more_of_the_machines_ticks(kept: Kept) -> None:
    kept["host"].extend([{**row, "late_ms": 0.1} for row in kept["host"]])


VIOLATIONS: Final = tuple(
    Change(edit.__name__, edit, ("E10",), RUNS, or_withholds=True)
    for edit in (
        a_brokers_clock_is_ahead,
        a_brokers_clock_is_behind,
        a_brokers_clock_is_an_hour_ahead,
    )
)
CHANGES: Final = tuple(
    Change(edit.__name__, edit, (), runs)
    for edit, runs in (
        (everything_a_day_later, NEUTRAL),
        (rows_in_another_order, NEUTRAL),
        (other_member_ids, NEUTRAL),
        (another_groups_calls_beside_it, NEUTRAL),
        (other_log_lines, NEUTRAL),
        (more_of_the_machines_ticks, NEUTRAL),
        (clocks_that_tick_by_a_millisecond, ("",)),  # in every run
    )
)
