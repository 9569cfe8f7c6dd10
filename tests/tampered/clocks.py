"""Changes of all moments, names or log lines of a history at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.tampered.history import MOMENTS, Kept, NotThere, Seen, ms


def put_off(kept: Kept, by_ms: float) -> None:
    """The clock of the broker that coordinates is off."""
    lines = kept.lines("member_added")
    if not lines:
        raise NotThere("a coordinator")
    broker = lines[0]["broker"]
    for file in ("requests", "coordinator_events"):
        for row in kept[file]:
            if row["broker"] == broker:
                for column in MOMENTS[file]:
                    row[column] += ms(by_ms)


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
    """Also the moments in the manifest."""
    _turn(kept, lambda at: at + timedelta(days=1))
    text = json.dumps(kept.manifest)
    days = sorted({text[i - 10 : i] for i in range(10, len(text)) if text[i : i + 1] == "T"})
    for name in reversed([each for each in days if each[4:5] == "-" and each[7:8] == "-"]):
        number = int(name[8:]) + 1
        text = text.replace(f"{name}T", f"{name[:8]}{number:02d}T")
    kept.manifest = json.loads(text)


def other_member_ids(kept: Kept) -> None:
    """The last four letters of each the other way round, wherever it is named."""
    ids = {row["member_id"] for row in kept["requests"] if row["member_id"]}
    names = {each: f"{each[:-4]}{each[-4:][::-1]}" for each in ids}

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            for old, new in names.items():
                value = value.replace(old, new)
            return value
        if isinstance(value, dict):
            return Seen({name: renamed(each) for name, each in value.items()})
        return [renamed(each) for each in value] if isinstance(value, list) else value

    kept.files = {file: renamed(rows) for file, rows in kept.files.items()}


def other_log_lines(kept: Kept) -> None:
    """Each 100,000 lines further on."""
    for file in ("requests", "coordinator_events"):
        for row in kept[file]:
            name, _, line = (row["evidence"] or "x:0").rpartition(":")
            row["evidence"] = f"{name}:{int(line) + 100_000}"
