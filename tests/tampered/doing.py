"""What a change can do to a row of a history, by names that its text uses without the row."""

from __future__ import annotations

from tests.tampered.history import TIMES, Kept, Row, Seen, ms
from tests.tampered.selections import reported


def again(kept: Kept, row: Row, late_ms: float = 0, /, **changes: object) -> None:
    """The same row once more, that much later if it is a request, and with these changes."""
    times = {name: row[name] + ms(late_ms) for name in TIMES if late_ms}
    kept.file_of(row).append(Seen({**row, **times, **changes}))


def copy(kept: Kept, row: Row, late_ms: float = 0, /, **changes: object) -> None:
    """The same on another line of the log."""
    again(kept, row, late_ms, **{"evidence": f"{row['evidence']}0", **changes})


def noted(kept: Kept, row: Row, moment: object, /, **changes: object) -> None:
    """The same note of a client, at that moment."""
    again(kept, row, event_at=moment, observed_at=moment, **changes)


def move(kept: Kept, row: Row, by_ms: float) -> None:
    """The row itself so much later: a request, or a note of a client."""
    for name in (*TIMES, "event_at", "observed_at"):
        if name in row:
            row[name] += ms(by_ms)


def remove(kept: Kept, row: Row) -> None:
    """Take the row away."""
    kept.file_of(row).remove(row)


def refuse(kept: Kept, row: Row, error: int) -> None:
    """Answer a request with an error, and so each of its positions."""
    row["error_code"] = error
    for position in row["positions"] or ():
        position["error_code"] = error


def refuse_commit(kept: Kept, row: Row, error: int) -> None:
    """The same, and its client says so as well."""
    refuse(kept, row, error)
    for each in reported(kept, row):
        each["error_code"] = error


def unmake(kept: Kept, row: Row) -> None:
    """Take a commit away, and what its client reported of it."""
    for each in reported(kept, row):
        kept["commits"].remove(each)
    remove(kept, row)
