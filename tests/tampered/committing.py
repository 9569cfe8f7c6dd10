"""Changes of what members commit, of what they are told of it, and of what readers find."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tests.tampered.history import Change, Kept, Row, change, first, later, ms

COOPERATIVE: Final = ("cooperative-join.librdkafka",)
AUTOMATIC: Final = ("auto-commit-crash.", *COOPERATIVE, "coordinator-isolated.")


def _reported(kept: Kept, request: Row) -> list[Row]:
    """What a client reported of a commit, by its member and positions."""
    positions = {(each["partition"], each["committed"]) for each in request["positions"]}
    return [
        row
        for row in kept["commits"]
        if row["member"] == request["client_id"]
        and (row["partition"], row["committed"]) in positions
    ]


def _never_made(kept: Kept, request: Row) -> None:
    """Takes a commit away, on both sides."""
    for row in _reported(kept, request):
        kept["commits"].remove(row)
    kept["requests"].remove(request)


def _observed(kept: Kept, since: datetime | None = None) -> list[Row]:
    """Answers to the observer that have positions."""
    return [
        row
        for row in kept["requests"]
        if row["api"] == "OFFSET_FETCH"
        and row["client_id"] == "observer"
        and row["error_code"] == 0
        and row["positions"]
        and (since is None or row["arrived_at"] > since)
    ]


def _farther(kept: Kept, records: int) -> None:
    """The observer is told a position that is so far above the one that was committed."""
    rows = [
        row for row in _observed(kept) if max(each["committed"] for each in row["positions"]) > 60
    ]
    row = rows[len(rows) // 2]
    max(row["positions"], key=lambda each: each["committed"])["committed"] += records


def more_than_anybody_committed_is_told(kept: Kept) -> None:
    _farther(kept, 40)


def a_position_beyond_the_end_is_told(kept: Kept) -> None:
    _farther(kept, 5_000)


def a_new_coordinator_goes_back_ten_seconds(kept: Kept) -> None:
    """In its first answer after it loaded the group, and before it has written a commit."""
    line = kept.lines("loaded")[-1]
    made = [
        row for row in kept["commits"] if row["error_code"] == 0 and row["answered_at"] < line["at"]
    ]
    until = max(row["answered_at"] for row in made) - ms(9_000)
    known: dict[int, int] = {}
    for row in made:
        if row["answered_at"] < until:
            known[row["partition"]] = max(known.get(row["partition"], 0), row["committed"])
    asked = first(_observed(kept, line["at"]), "answer to the observer after that")
    moved = later(asked, (line["at"] + ms(3) - asked["arrived_at"]) / ms(1))
    positions = [
        {**each, "committed": known.get(each["partition"], 0)} for each in asked["positions"]
    ]
    log = f"broker-{line['broker']}-requests.log:900000"
    kept["requests"].append(
        {**moved, "broker": line["broker"], "evidence": log, "positions": positions}
    )


CHANGES: Final[tuple[Change, ...]] = (
    change(more_than_anybody_committed_is_told, "R30", AUTOMATIC),
    change(a_position_beyond_the_end_is_told, "R30", AUTOMATIC),
    change(a_new_coordinator_goes_back_ten_seconds, "R30", ("rolling-restart.",)),
)
