"""Changes of what a group of KIP-848 is told, and of who comes back to it, and when."""

from __future__ import annotations

from typing import Final

from tests.tampered.history import TIMES, Change, Kept, change, first, ms

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


def it_joins_again_before_its_application_polls(kept: Kept) -> None:
    """800 ms before the end of the stall by which its member was too slow."""
    limits = kept.told("max_poll_exceeded")
    member, limit = (first(limits, "poll limit")[key] for key in ("member", "event_at"))
    ends = [
        row["event_at"]
        for row in kept.told("stall_ended", "callback_stall_ended")
        if row["member"] == member and row["event_at"] > limit
    ]
    asked = [
        row
        for row in kept.own("JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT", error=None)
        if row["client_id"] == member
        and row["arrived_at"] > limit
        and (row["api"] == "JOIN_GROUP" or row["generation"] == 0)
    ]
    join = first(asked, "join after the limit")
    sooner = join["arrived_at"] - (ends[0] - ms(800))
    rows = [join, *(each for each in kept.lines("member_id_given", "member_added")
                    if each["member_id"] == join["member_id"])]  # fmt: skip
    for row in rows:
        for name in ("at", *TIMES):
            if row.get(name) is not None:
                row[name] -= sooner


CHANGES: Final[tuple[Change, ...]] = (
    change(
        a_moving_group_is_stable, "R33-epochs", (*JOIN, *LEAVE, *REMOVED, *STALLED)
    ),
    change(
        it_joins_again_before_its_application_polls, "X104",
        ("bad-day.", "callback-stall-java.", "transactions.", *STALLED),
    ),
)  # fmt: skip
