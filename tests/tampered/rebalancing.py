"""Changes of how a group rebalances: causes, generations, leaders, assignments, epochs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from tests.tampered.history import CALLS, Change, Kept, NotThere, Row, ms

CLASSIC: Final = (
    "baseline.",
    "connections-reset.",
    "consumer-crash.",
    "consumer-freeze.",
    "network-bandwidth.",
    "java-poll.",
    "auto-commit-crash.",
    "cooperative-join.",
    "coordinator-kill.",
)
MODERN: Final = (
    "consumer-join.librdkafka.consumer",
    "consumer-leave.java.consumer",
    "coordinator-isolated.",
    "static-epochs.",
)
_STAMPED: Final = {
    "requests": "arrived_at",
    "coordinator_events": "at",
    "client_events": "event_at",
    "deliveries": "polled_at",
    "commits": "answered_at",
}


def _shifted(kept: Kept, moment: datetime, by: int = 1) -> None:
    """Every generation after a moment is so many higher."""
    for file, column in _STAMPED.items():
        for row in kept[file]:
            if row[column] is not None and row[column] >= moment and (row["generation"] or 0) > 0:
                row["generation"] += by
                if row.get("member_epoch"):
                    row["member_epoch"] += by


def _standing(kept: Kept, moment: datetime) -> tuple[Row, list[Row], list[Row]]:
    """The last "stabilized" line before a moment, and the joins and syncs of that generation."""
    lines = [line for line in kept.lines("stabilized") if line["at"] < moment]
    if not lines:
        raise NotThere("no classic generation before the quiet time")
    last = lines[-1]
    here = [last["broker"], last["generation"]]
    joins = [row for row in kept.own("JOIN_GROUP") if [row["broker"], row["generation"]] == here]
    syncs = [row for row in kept.own("SYNC_GROUP") if [row["broker"], row["generation"]] == here]
    if len(syncs) < 2:
        raise NotThere("no generation with two members on record")
    return last, joins, syncs


def _again(kept: Kept, reason: str) -> None:
    """A whole rebalance in the longest quiet time, for this reason."""
    moment = kept.quiet()
    last, joins, syncs = _standing(kept, moment)
    leader = joins[0]["leader"]
    _shifted(kept, moment)
    made: list[Row] = []
    for event, late in (("rebalance_started", 0), ("stabilized", 40), ("assignment_received", 60)):
        line = next(row for row in kept.lines(event) if row["generation"] is not None)
        generation = last["generation"] + (event != "rebalance_started")
        row = {**line, "at": moment + ms(late), "generation": generation}
        row |= {"broker": last["broker"], "evidence": f"broker-{last['broker']}.server.log:9{late}"}
        if event == "rebalance_started":
            row["reason"] = reason.format(leader=leader)
        if event == "stabilized":
            row["members"] = last["members"]
        if event == "assignment_received":
            row["member_id"] = leader
        made.append(row)
    kept["coordinator_events"].extend(made)
    for old, at, to in ((joins, 5, 42), (syncs, 50, 62)):
        for row in old:
            if "{leader}" not in reason and row["api"] == "JOIN_GROUP" and at == 5:
                at = 8
            times = {"arrived_at": at, "processed_at": to, "answered_at": to + 1}
            kept["requests"].append(
                {**row, "generation": last["generation"] + 1}
                | {name: moment + ms(late) for name, late in times.items()}
            )


def rebalance_for_a_member_that_is_there(kept: Kept) -> None:
    _again(kept, "Adding new member {leader} with group instance id null; client reason: x")


def rebalance_for_an_expiry_that_never_was(kept: Kept) -> None:
    _again(kept, "removing member {leader} on heartbeat expiration.")


def rebalance_for_a_leave_that_never_was(kept: Kept) -> None:
    _again(kept, "explicit `LeaveGroup` request for ({leader}) members.")


def rebalance_for_a_leader_that_rejoins(kept: Kept) -> None:
    _again(kept, "Leader {leader} re-joining group during Stable; client reason: not provided")


def rebalance_for_an_update(kept: Kept) -> None:
    _again(kept, "Updating metadata for member {leader} during Stable; client reason: x")


def rebalance_for_no_reason(kept: Kept) -> None:
    _again(kept, "because")


def _bumped(kept: Kept, changes: dict[str, Any], *, computed: bool) -> None:
    moment = kept.quiet(400)
    lines = [row for row in kept.lines("epoch_bumped", "target_computed") if row["at"] < moment]
    bumps = [row for row in lines if row["event"] == "epoch_bumped"]
    if not bumps:
        raise NotThere("no epoch before the quiet time")
    _shifted(kept, moment)
    for number, event in enumerate(("epoch_bumped", "target_computed")):
        if event == "target_computed" and not computed:
            continue
        line = next(row for row in reversed(lines) if row["event"] == event)
        row = {**line, "at": moment + ms(number), "generation": bumps[-1]["generation"] + 1}
        if event == "epoch_bumped":
            row |= changes
        kept["coordinator_events"].append(row)


def epoch_without_a_cause(kept: Kept) -> None:
    _bumped(kept, {}, computed=True)


def epoch_passed_over_without_a_cause(kept: Kept) -> None:
    _bumped(kept, {}, computed=False)


def epoch_for_topics_that_did_not_change(kept: Kept) -> None:
    _bumped(kept, {"reason": "metadata hash 7"}, computed=True)


def _held(kept: Kept) -> tuple[Row, datetime]:
    moment = kept.quiet()
    held = [row for row in kept.told("assigned") if row["partitions"]]
    for row in held:
        later = [
            other
            for other in kept.told("assigned", "revoked", "lost", "closing")
            if other["member"] == row["member"] and other["event_at"] > row["event_at"]
        ]
        if row["event_at"] < moment and later and later[0]["event_at"] > moment:
            return row, moment
    raise NotThere("nobody holds a partition in the quiet time")


def _dropped(kept: Kept, event: str, *, all_of_it: bool, for_ms: float = 300) -> None:
    row, moment = _held(kept)
    parts = row["partitions"] if all_of_it else row["partitions"][:1]
    for name, at in ((event, moment), ("assigned", moment + ms(for_ms))):
        copied = copy.deepcopy(row) | {"event": name, "event_at": at, "observed_at": at}
        kept["client_events"].append(copied | {"partitions": parts})


def given_up_and_taken_back(kept: Kept) -> None:
    _dropped(kept, "revoked", all_of_it=True)


def one_given_up_and_taken_back(kept: Kept) -> None:
    _dropped(kept, "revoked", all_of_it=False, for_ms=20)


def lost_and_taken_back(kept: Kept) -> None:
    _dropped(kept, "lost", all_of_it=True)


def given_up_for_good(kept: Kept) -> None:
    row, moment = _held(kept)
    at = {"event": "revoked", "event_at": moment, "observed_at": moment}
    kept["client_events"].append(copy.deepcopy(row) | at)


def _overtaken(kept: Kept, line: str) -> list[Row]:
    """Lines of generations that another followed."""
    stable = kept.lines("stabilized")
    numbers = {row["generation"] for row in stable if (row["members"] or 0) > 0}
    followed = {number for number in numbers if number + 1 in numbers}
    answered = {
        number
        for number in followed
        if any(row["generation"] == number for row in kept.own("SYNC_GROUP"))
    }
    found = [row for row in kept.lines(line) if row["generation"] in answered]
    if not found:
        raise NotThere("no generation that was answered and followed")
    return found


def no_assignment_before_the_next(kept: Kept) -> None:
    kept["coordinator_events"].remove(_overtaken(kept, "assignment_received")[0])


def no_assignment_at_last(kept: Kept) -> None:
    lines = kept.lines("assignment_received")
    answered = {row["generation"] for row in kept.own("SYNC_GROUP")}
    lines = [line for line in lines if line["generation"] in answered]
    if not lines:
        raise NotThere("no assignment")
    kept["coordinator_events"].remove(lines[-1])


def assigned_twice(kept: Kept) -> None:
    line = kept.lines("assignment_received")[-1]
    kept["coordinator_events"].append({**line, "at": line["at"] + ms(3)})


def _by_generation(kept: Kept) -> Iterator[list[Row]]:
    joins = kept.own("JOIN_GROUP")
    for key in sorted({(row["generation"], row["broker"]) for row in joins}):
        group = [row for row in joins if (row["generation"], row["broker"]) == key]
        if len({row["member_id"] for row in group}) > 1:
            yield group


def two_leaders(kept: Kept) -> None:
    for group in _by_generation(kept):
        followers = [row for row in group if row["member_id"] != row["leader"]]
        if followers:
            followers[-1]["leader"] = followers[-1]["member_id"]
            return
    raise NotThere("no generation with two members")


def two_leaders_at_last(kept: Kept) -> None:
    for group in reversed(list(_by_generation(kept))):
        followers = [row for row in group if row["member_id"] != row["leader"]]
        if followers:
            followers[0]["leader"] = followers[0]["member_id"]
            return
    raise NotThere("no generation with two members")


def another_gives_the_assignment(kept: Kept) -> None:
    for group in _by_generation(kept):
        others = [row for row in group if row["member_id"] != row["leader"]]
        lines = [
            line
            for line in kept.lines("assignment_received")
            if line["generation"] == group[0]["generation"]
        ]
        if others and lines:
            lines[0]["member_id"] = others[0]["member_id"]
            return
    raise NotThere("no generation with two members")


def _unjoined(kept: Kept, groups: list[list[Row]]) -> None:
    lines = {row["member_id"]: row["at"] for row in kept.lines("member_added")}
    for group in groups:
        for row in group:
            others = [each for each in group if each["member_id"] == row["member_id"]]
            if row["member_id"] != row["leader"] and row["member_id"] in lines and len(others) == 1:
                kept["requests"].remove(row)
                return
    raise NotThere("no follower that joined once")


def in_a_generation_without_having_joined(kept: Kept) -> None:
    _unjoined(kept, list(_by_generation(kept)))


def in_the_last_generation_without_having_joined(kept: Kept) -> None:
    _unjoined(kept, list(reversed(list(_by_generation(kept)))))


def a_generation_comes_twice(kept: Kept) -> None:
    lines = kept.lines("stabilized")
    if len(lines) < 2:
        raise NotThere("a second generation")
    moment = lines[-1]["at"] - ms(1)
    start = [row for row in kept.lines("rebalance_started") if row["at"] < moment][-1]
    _shifted(kept, start["at"], -1)


def a_generation_is_left_out(kept: Kept) -> None:
    lines = kept.lines("stabilized", "emptied")
    if len(lines) < 2:
        raise NotThere("a second generation")
    for row in kept["coordinator_events"]:
        if row["at"] >= lines[-1]["at"] and row["generation"]:
            row["generation"] += 1


def syncs_are_swapped(kept: Kept) -> None:
    syncs = [row for row in kept.own("SYNC_GROUP") if row["assigned"]]
    for one in syncs:
        for other in syncs:
            same = one["generation"] == other["generation"]
            if same and one["member_id"] != other["member_id"]:
                one["assigned"], other["assigned"] = other["assigned"], one["assigned"]
                return
    raise NotThere("two members with partitions in a generation")


def two_owners(kept: Kept) -> None:
    for row in kept.own("SYNC_GROUP"):
        given = row["assignments"] or []
        members = sorted({each["member_id"] for each in given})
        if len(members) > 1:
            stolen = next(each for each in given if each["member_id"] == members[0])
            row["assignments"] = [*given, {**stolen, "member_id": members[1]}]
            return
    raise NotThere("an assignment for two")


def answered_before_its_leader(kept: Kept) -> None:
    for line in kept.lines("assignment_received"):
        for row in kept.own("SYNC_GROUP"):
            if (
                row["generation"] == line["generation"]
                and row["member_id"] != line["member_id"]
                and row["assigned"]
            ):
                row["processed_at"] = line["at"] - ms(120)
                row["answered_at"] = line["at"] - ms(119)
                row["arrived_at"] = min(row["arrived_at"], line["at"] - ms(130))
                return
    raise NotThere("a follower with partitions")


def _beats(kept: Kept) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in kept.own("CONSUMER_GROUP_HEARTBEAT"):
        if (row["member_epoch"] or 0) > 0:
            found.setdefault(row["member_id"], []).append(row)
    return found


def a_members_epoch_goes_back(kept: Kept) -> None:
    for rows in _beats(kept).values():
        for before, row in pairwise(rows):
            if row["member_epoch"] > 2 and before["member_epoch"] == row["member_epoch"]:
                row["member_epoch"] -= 1
                return
    raise NotThere("a member that keeps its epoch")


def a_member_names_an_epoch_before_its_own(kept: Kept) -> None:
    for rows in _beats(kept).values():
        for before, row in pairwise(rows):
            if before["member_epoch"] > 2 and row["generation"] == before["member_epoch"]:
                row["generation"] -= 1
                return
    raise NotThere("a member with an epoch above 2")


def a_group_epoch_is_left_out(kept: Kept) -> None:
    bumps = kept.lines("epoch_bumped")
    if len(bumps) < 3:
        raise NotThere("three epochs")
    _shifted(kept, bumps[-1]["at"])


def a_group_epoch_comes_twice(kept: Kept) -> None:
    bumps = kept.lines("epoch_bumped")
    if len(bumps) < 3:
        raise NotThere("three epochs")
    bumps[-1]["generation"] -= 1


def a_member_gets_an_epoch_that_the_group_has_not(kept: Kept) -> None:
    for rows in _beats(kept).values():
        for row in rows[1:]:
            row["member_epoch"] += 3
            return
    raise NotThere("a member that heartbeats")


CAUSES: Final = tuple(
    Change(edit.__name__, edit, ("R20f",), CLASSIC)
    for edit in (
        rebalance_for_a_member_that_is_there,
        rebalance_for_an_expiry_that_never_was,
        rebalance_for_a_leave_that_never_was,
        rebalance_for_a_leader_that_rejoins,
        rebalance_for_an_update,
        rebalance_for_no_reason,
    )
) + tuple(
    Change(edit.__name__, edit, ("R20f",), MODERN)
    for edit in (
        epoch_without_a_cause,
        epoch_passed_over_without_a_cause,
        epoch_for_topics_that_did_not_change,
    )
)
CALLBACKS: Final = tuple(
    Change(edit.__name__, edit, ("R20f",), (*CLASSIC, *MODERN))
    for edit in (
        given_up_and_taken_back,
        one_given_up_and_taken_back,
        lost_and_taken_back,
        given_up_for_good,
    )
)
_FOLLOWED: Final = ("consumer-crash.", "consumer-freeze.", "consumer-join.java", "add-partitions.")
GENERATIONS: Final = (
    *(
        Change(edit.__name__, edit, ("R12", "R33"), _FOLLOWED)
        for edit in (no_assignment_before_the_next, no_assignment_at_last, assigned_twice)
    ),
    *(
        Change(edit.__name__, edit, ("R12",), CLASSIC)
        for edit in (two_leaders, two_leaders_at_last, another_gives_the_assignment)
    ),
    *(
        Change(edit.__name__, edit, ("R12", "R33"), CLASSIC)
        for edit in (
            in_a_generation_without_having_joined,
            in_the_last_generation_without_having_joined,
        )
    ),
    Change("a generation comes twice", a_generation_comes_twice, ("R33",), _FOLLOWED),
    Change("a generation is left out", a_generation_is_left_out, ("R33",), _FOLLOWED),
    Change("syncs are swapped", syncs_are_swapped, ("R13",), CLASSIC[:5]),
    Change("two owners", two_owners, ("R21", "R13"), CLASSIC[:5]),
    Change("answered before its leader", answered_before_its_leader, ("R13",), CLASSIC[:5]),
)
EPOCHS: Final = tuple(
    Change(edit.__name__, edit, ("X35",), MODERN)
    for edit in (
        a_members_epoch_goes_back,
        a_member_names_an_epoch_before_its_own,
        a_group_epoch_is_left_out,
        a_group_epoch_comes_twice,
        a_member_gets_an_epoch_that_the_group_has_not,
    )
)
CHANGES: Final = (*CAUSES, *CALLBACKS, *GENERATIONS, *EPOCHS)

__all__ = ["CALLS", "CHANGES"]
