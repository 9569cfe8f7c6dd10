"""Changes of what a group of KIP-848 is told, and of who comes back to it, and when."""

from __future__ import annotations

from typing import Final

from tests.tampered.history import TIMES, Change, Kept, NotThere, change, first, ms

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


def it_comes_back_under_another_member_id(kept: Kept) -> None:
    """A member whose heartbeat was refused, also where that was its leave."""
    refused = kept.own("CONSUMER_GROUP_HEARTBEAT", error=None)
    row = first([row for row in refused if row["error_code"] in (25, 110)], "refused heartbeat")
    old, since = row["member_id"], row["processed_at"]
    for file, moment in (
        ("requests", "arrived_at"), ("coordinator_events", "at"), ("client_events", "event_at"),
        ("deliveries", "polled_at"), ("commits", "answered_at"),
    ):  # fmt: skip
        for each in kept[file]:
            if each["member_id"] == old and each[moment] and each[moment] > since:
                each["member_id"] = "AAAAbbbbCCCCdddd000011"


def a_member_that_joins_is_told_of_no_part(kept: Kept) -> None:
    """And has none."""
    joins = [row for row in kept.own("CONSUMER_GROUP_HEARTBEAT") if row["generation"] == 0]
    first([row for row in joins if row["assigned"] == []], "join without a part")["assigned"] = None


def a_join_raises_no_epoch(kept: Kept) -> None:
    """Of the first members that join one right after another; all later epochs are one lower."""
    bump = kept.lines("epoch_bumped")[1]
    if bump["generation"] in {line["generation"] for line in kept.lines("target_computed")}:
        raise NotThere("an epoch without a target")
    kept["coordinator_events"].remove(bump)
    for file in ("requests", "coordinator_events", "client_events", "deliveries", "commits"):
        for row in kept[file]:
            for name in ("generation", "member_epoch"):
                if (row.get(name) or 0) >= bump["generation"]:
                    row[name] -= 1


def it_says_late_what_it_has_given_up(kept: Kept) -> None:
    """1.2 s after the callback; the next owner is given it at the same heartbeat as before."""
    later = ms(1_200)
    beats = kept.own("CONSUMER_GROUP_HEARTBEAT")
    for event in kept.told("revoked"):
        since = event["event_at"]
        gone = {each["partition"] for each in event["partitions"]}
        tells = [
            row
            for row in beats
            if row["client_id"] == event["member"] and row["owned"] is not None
            and row["arrived_at"] >= since and row["generation"] > 0
        ]  # fmt: skip
        given = [
            row["arrived_at"]
            for row in beats
            if row["client_id"] != event["member"] and row["arrived_at"] > since
            and gone & {each["partition"] for each in row["assigned"] or ()}
        ]  # fmt: skip
        soon = tells and tells[0]["arrived_at"] - since < ms(100)
        if soon and given and given[0] - tells[0]["arrived_at"] > later + ms(50):
            for name in TIMES:
                tells[0][name] += later
            return
    raise NotThere("a revocation that was told at once")


def a_group_without_a_target_is_stable(kept: Kept) -> None:
    """Where it was last seen to wait for one."""
    seen = [row for row in kept["topology"] if row["what"] == "group"]
    waits = [row for row in seen if row["state"] == "Assigning"]
    first(waits[::-1], "group that waited for a target")["state"] = "Stable"


CHANGES: Final[tuple[Change, ...]] = (
    change(
        a_moving_group_is_stable, "R33-epochs", (*JOIN, *LEAVE, *REMOVED, *STALLED)
    ),
    change(a_group_without_a_target_is_stable, "R33-epochs", JOIN),
    change(it_comes_back_under_another_member_id, "X20-alone", (*STALLED, *REMOVED)),
    change(a_member_that_joins_is_told_of_no_part, "X96", (*JOIN, *LEAVE, *REMOVED)),
    change(a_join_raises_no_epoch, "X35", (*JOIN, *LEAVE, *REMOVED)),
    change(it_says_late_what_it_has_given_up, "X105", (*JOIN, *STALLED)),
    change(
        it_joins_again_before_its_application_polls, "X104",
        ("bad-day.", "callback-stall-java.", "transactions.", *STALLED),
    ),
)  # fmt: skip
