"""Changes after a coordinator has taken over, of epochs in answers, and of single commits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tests.tampered.history import Change, Kept, NotThere, Row, change, copy, first, ms

KILLED: Final = ("coordinator-kill.", "bad-day.", "static-day.", "coordinator-silent.")
ISOLATED: Final = ("coordinator-isolated.",)
MOVED: Final = ("consumer-join.librdkafka.consumer", "consumer-leave.", "revocation-stalled.")
AUTO: Final = ("auto-commit-crash.", "coordinator-isolated.", "cooperative-join.")


def _taken_over(kept: Kept) -> Row:
    """The line by which another broker loaded the group in a generation that members had."""
    synced = {(row["broker"], row["generation"]) for row in kept.own("SYNC_GROUP")}
    found = None
    for line in kept.lines("stabilized", "emptied", "loaded"):
        if line["event"] != "loaded":
            found = line
        elif (
            found
            and found["event"] == "stabilized"
            and line["members"]
            and (found["broker"], found["generation"]) in synced
        ):
            return {**line, "generation": found["generation"]}
    raise NotThere("a takeover of a stored generation")


def _stands(kept: Kept, *apis: str) -> list[Row]:
    """Accepted requests that came to the new coordinator before its next generation."""
    line = _taken_over(kept)
    ends = [each["at"] for each in kept.lines("stabilized", "emptied") if each["at"] > line["at"]]
    return [
        row
        for row in kept.own(*apis)
        if row["broker"] == line["broker"]
        and row["arrived_at"] > line["at"] + ms(60)
        and row["generation"] == line["generation"]
        and (not ends or row["processed_at"] < min(ends) - ms(60))
    ]


# Of a coordinator that takes over.
def the_next_generation_is_prepared_from_an_older_one(kept: Kept) -> None:
    line = _taken_over(kept)
    starts = [
        row
        for row in kept.lines("rebalance_started")
        if row["at"] > line["at"] and row["broker"] == line["broker"]
    ]
    first(starts, "rebalance after a takeover")["generation"] -= 1


def the_stored_generation_is_refused(kept: Kept) -> None:
    first(_stands(kept, "HEARTBEAT"), "heartbeat after a takeover")["error_code"] = 22


def a_commit_in_the_stored_generation_is_refused(kept: Kept) -> None:
    first(_stands(kept, "OFFSET_COMMIT"), "commit after a takeover")["error_code"] = 22


def an_older_generation_is_accepted(kept: Kept) -> None:
    first(_stands(kept, "HEARTBEAT"), "heartbeat after a takeover")["generation"] -= 1


def a_commit_in_an_older_generation_is_accepted(kept: Kept) -> None:
    first(_stands(kept, "OFFSET_COMMIT"), "commit after a takeover")["generation"] -= 1


def an_epoch_is_used_again_after_a_takeover(kept: Kept) -> None:
    told = {row["member_epoch"] for row in kept.own("CONSUMER_GROUP_HEARTBEAT")}
    for before, line in pairwise(kept.lines("epoch_bumped")):
        if before["broker"] != line["broker"] and before["generation"] in told:
            for row in kept["coordinator_events"]:
                if row["at"] >= line["at"] and row["generation"]:
                    row["generation"] -= 1
            return
    raise NotThere("an epoch after a takeover")


# Of the epochs that members are told.
def _taken(kept: Kept) -> Iterator[tuple[Row, list[Row]]]:
    """Answers that took something from a member, each with its later heartbeats."""
    beats = [row for row in kept.own("CONSUMER_GROUP_HEARTBEAT") if row["generation"] > 0]
    for member in sorted({row["member_id"] for row in beats}):
        mine = [row for row in beats if row["member_id"] == member]
        given = [row for row in mine if row["assigned"] is not None]
        for before, row in pairwise(given):
            if any(part not in row["assigned"] for part in before["assigned"]):
                yield row, [each for each in mine if each["arrived_at"] > row["arrived_at"]]


def _first_taken(kept: Kept) -> tuple[Row, list[Row]]:
    for found in _taken(kept):
        return found
    raise NotThere("a partition that was taken")


def a_member_is_raised_with_what_is_taken(kept: Kept) -> None:
    row, _ = _first_taken(kept)
    row["member_epoch"] += 1


def a_member_is_never_brought_up(kept: Kept) -> None:
    _, rest = _first_taken(kept)
    raised = [row for row in rest if row["member_epoch"] > row["generation"]]
    start = first(raised, "member that was raised")
    epoch = start["generation"]
    for row in rest:
        if row["arrived_at"] >= start["arrived_at"]:
            row.update(generation=epoch, member_epoch=epoch)


def a_taken_partition_comes_back(kept: Kept) -> None:
    row, rest = _first_taken(kept)
    beats = kept.own("CONSUMER_GROUP_HEARTBEAT")
    had = [
        each
        for each in beats
        if each["member_id"] == row["member_id"]
        and each["assigned"] is not None
        and each["arrived_at"] < row["arrived_at"]
    ][-1]["assigned"]
    raised = [each for each in rest if each["generation"] > row["generation"]]
    back = first(raised, "heartbeat in the next epoch")
    targets = [line["at"] for line in kept.lines("target_computed")]
    if any(row["arrived_at"] < at < back["arrived_at"] for at in targets):
        raise NotThere("a later target")
    back["assigned"] = had


# Of single automatic commits.
def _regular(kept: Kept) -> tuple[Row, Row, Row]:
    """Three commits of a member, an interval apart, with nothing else about it meanwhile."""
    interval = ms(float(str(kept.run.settings["auto_commit_ms"])))
    session = ms(float(str(kept.run.settings["session_ms"])))
    if kept.run.settings["commit"] != "auto":
        raise NotThere("automatic commits")
    lines = [row["at"] for row in kept.lines("rebalance_started", "stabilized", "epoch_bumped")]
    faults = [row["at"] for row in kept["faults"]]
    commits = kept.own("OFFSET_COMMIT")
    for member in kept.members():
        mine = [row for row in commits if row["client_id"] == member]
        events = [
            row["event_at"]
            for row in kept["client_events"]
            if row["member"] == member and row["event"] not in ("heartbeat_sent", "fetched")
        ]
        for a, b, c in zip(mine, mine[1:], mine[2:], strict=False):
            start, end = a["arrived_at"] - ms(1_000), c["arrived_at"] + ms(1_000)
            regular = c["arrived_at"] - a["arrived_at"] < 2.1 * interval
            quiet = not any(start <= each <= end for each in (*lines, *events))
            far = not any(start - session <= each <= end for each in faults)
            if regular and quiet and far and b["arrived_at"] - a["arrived_at"] > 0.9 * interval:
                return a, b, c
    raise NotThere("three commits in quiet time")


def an_automatic_commit_is_left_out(kept: Kept) -> None:
    _, between, _ = _regular(kept)
    kept["requests"].remove(between)


def an_automatic_commit_is_made_between(kept: Kept) -> None:
    former, _, _ = _regular(kept)
    half = float(str(kept.run.settings["auto_commit_ms"])) / 2
    kept["requests"].append(copy(former, half))


CHANGES: Final = (
    change(the_next_generation_is_prepared_from_an_older_one, "X95", KILLED),
    change(the_stored_generation_is_refused, "X95", KILLED),
    change(a_commit_in_the_stored_generation_is_refused, "X95", KILLED),
    change(an_older_generation_is_accepted, "R35", KILLED),
    change(a_commit_in_an_older_generation_is_accepted, "X37", KILLED),
    Change("an epoch comes twice", an_epoch_is_used_again_after_a_takeover, ("X35",), ISOLATED),
    change(a_member_is_raised_with_what_is_taken, "X96", MOVED),
    change(a_member_is_never_brought_up, "X96", MOVED),
    change(a_taken_partition_comes_back, "X96", MOVED),
    change(an_automatic_commit_is_left_out, "X97", AUTO),
    change(an_automatic_commit_is_made_between, "X97", AUTO),
)
