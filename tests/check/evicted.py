"""The history of a run whose member is evicted, for tests of what is made of verdicts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.histories import History

# In ms: a member whose last heartbeat came at 4,000 and whose session lasts 6,000 is evicted then.
ON_TIME: Final = 10_001
TOO_EARLY: Final = 6_001


def write_evicted(
    folder: Path, at_ms: float, rules: Sequence[dict[str, Any]], **changes: Any
) -> Path:
    """Write that run, evicted at this time and with these rules declared; its folder."""
    return evicted(at_ms).write(folder, list(rules), **changes)


def evicted(at_ms: float) -> History:
    """The history of that run."""
    history = History().member("member-1").says("member_added", 0, "member-1").rebalance(1, 1, 1)
    history.join("member-1", 5).heartbeats("member-1", 2_000, 4_000)
    history.says("evicted", at_ms, "member-1").says("rebalance_started", at_ms + 1, generation=1)
    history.says("emptied", at_ms + 2, generation=2).event("member-1", "assigned", 30, [0])
    history.delivered("member-1", 0, 0, 9, 100).commit_request("member-1", 110, 0, 10)
    return history.acknowledged(0, 0, 9).end_offset(0, 10).tick(100)
