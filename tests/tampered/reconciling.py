"""Changes of what a group of KIP-848 is told, and of who comes back to it, and when."""

from __future__ import annotations

from typing import Final

from tests.tampered.history import Change, Kept, change, first

JOIN: Final = ("consumer-join.librdkafka",)
LEAVE: Final = ("consumer-leave.",)
REMOVED: Final = ("coordinator-isolated.",)
STALLED: Final = ("revocation-stalled.",)
STATIC: Final = ("static-epochs.",)


def a_moving_group_is_stable(kept: Kept) -> None:
    """Each time that the group was seen Reconciling, it is Stable."""
    seen = [row for row in kept["topology"] if row["what"] == "group"]
    moving = [row for row in seen if row["state"] == "Reconciling"]
    first(moving, "moving group")
    for row in moving:
        row["state"] = "Stable"


CHANGES: Final[tuple[Change, ...]] = (
    change(
        a_moving_group_is_stable, "R33-epochs", (*JOIN, *LEAVE, *REMOVED, *STALLED)
    ),
)  # fmt: skip
