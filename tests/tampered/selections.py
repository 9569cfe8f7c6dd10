"""Rows of a kept run that several changes are about, by name, and changes that take a function.

Texts of changes call each of these without its first argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime
from itertools import pairwise

from tests.tampered.history import BEATS, Kept, NotThere, Row, Seen, json_of, ms

STAMPED = {
    "requests": "arrived_at",
    "coordinator_events": "at",
    "client_events": "event_at",
    "deliveries": "polled_at",
    "commits": "answered_at",
}


def _least(rows: list[Row], count: int, what: str) -> list[Row]:
    if len(rows) < count:
        raise NotThere(f"fewer than {count} {what}")
    return rows


def part(kept: Kept, topic: str, partition: int) -> Row:
    """A partition as callbacks name it."""
    return {"topic": topic, "partition": partition}


def swap(kept: Kept, one: Row, other: Row, *columns: str) -> None:
    """Values of these columns change places."""
    for name in columns:
        one[name], other[name] = other[name], one[name]


# Heartbeats.
def beats(kept: Kept) -> list[Row]:
    """Heartbeats that were accepted, of both protocols, in order."""
    return kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT")


def steady_beat(kept: Kept) -> Row:
    """A heartbeat that was accepted while nothing went on for 0.9 s."""
    quiet = kept.quiet(500)
    found = [row for row in beats(kept) if row["generation"] > 0]
    return min(found, key=lambda row: abs(row["arrived_at"] - quiet))


def stays(kept: Kept) -> list[list[Row]]:
    """Accepted heartbeats of each member id and generation, the longest first."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in beats(kept):
        if row["member_id"] and (row["generation"] or 0) > 0:
            found.setdefault((row["member_id"], row["generation"]), []).append(row)
    return sorted(found.values(), key=len, reverse=True)


def undisturbed(kept: Kept, count: int) -> list[Row]:
    """So many heartbeats of one member and generation that nothing stretches or calls for."""
    hit = {row["resolved"] for row in kept["faults"]}
    for rows in stays(kept):
        plain = [row for row in rows if row["owned"] is None and row["assigned"] is None]
        if len(plain) >= count and plain[0]["client_id"] not in hit:
            return plain
    raise NotThere(f"{count} undisturbed heartbeats in a generation")


def by_member(kept: Kept) -> list[list[Row]]:
    """Heartbeats of each member of KIP-848 that has an epoch."""
    found: dict[str, list[Row]] = {}
    for row in kept.own("CONSUMER_GROUP_HEARTBEAT"):
        if (row["member_epoch"] or 0) > 0:
            found.setdefault(row["member_id"], []).append(row)
    return list(found.values())


def other_broker(kept: Kept, broker: int) -> int:
    """The first broker that was asked and is not this one."""
    others = sorted({row["broker"] for row in kept["requests"]} - {broker})
    if not others:
        raise NotThere("a second broker")
    return int(others[0])


def calm(kept: Kept, *apis: str, for_ms: float = 2_500) -> list[Row]:
    """Calls that were accepted while nothing went on in the group for that long on both sides."""
    busy = [row["at"] for row in (*kept["coordinator_events"], *kept["faults"])]
    busy += [row["event_at"] for row in kept["client_events"] if row["event"] not in BEATS]
    joins = kept.own("JOIN_GROUP", "SYNC_GROUP", "LEAVE_GROUP", error=None)
    busy += [row["arrived_at"] for row in joins]
    calls = [row for row in kept.own(*apis) if (row["generation"] or 0) > 0]
    return [
        row for row in calls if all(abs(each - row["arrived_at"]) >= ms(for_ms) for each in busy)
    ]


# What members are given.
def given(kept: Kept) -> list[Row]:
    """Callbacks that handed partitions over, in order."""
    return [row for row in kept.notes("assigned") if row["partitions"]]


def held(kept: Kept, member: str) -> list[Row]:
    """All partitions that a member was ever given."""
    rows = [row for row in kept.notes("assigned") if row["member"] == member]
    return [each for row in rows for each in row["partitions"] or ()]


def holding(kept: Kept, moment: datetime) -> Row:
    """The callback by which a member holds partitions at this moment."""
    for row in given(kept):
        later = [
            other
            for other in kept.notes("assigned", "revoked", "lost", "closing")
            if other["member"] == row["member"] and other["event_at"] > row["event_at"]
        ]
        if row["event_at"] < moment and later and later[0]["event_at"] > moment:
            return row
    raise NotThere("no member holds a partition in the quiet time")


def last_syncs(kept: Kept) -> list[Row]:
    """SyncGroups of the last generation, its leader's first."""
    found = kept.own("SYNC_GROUP")
    last = [row for row in found if row["generation"] == found[-1]["generation"]]
    return sorted(last, key=lambda row: not row["assignments"])


def give_more(kept: Kept, topic: str, partition: int) -> None:
    """A follower of the last generation is given one more partition."""
    leader, other = last_syncs(kept)[:2]
    more = part(kept, topic, partition)
    other["assigned"].append(more)
    leader["assignments"].append({"member_id": other["member_id"], **more})
    for row in kept.notes("assigned"):
        if row["member_id"] == other["member_id"] and row["generation"] == other["generation"]:
            row["partitions"].append(more)


# What members read and commit.
def steady(kept: Kept) -> list[Row]:
    """Deliveries after the first assignments, in order."""
    since = kept.settled()
    found = [row for row in kept["deliveries"] if row["polled_at"] > since]
    return sorted(_least(found, 20, "deliveries"), key=lambda row: row["polled_at"])


def settled_commits(kept: Kept) -> list[Row]:
    """Commits of members after the first assignments."""
    since = kept.settled()
    own = [row for row in kept.own("OFFSET_COMMIT") if row["member_id"] and row["positions"]]
    return _least([row for row in own if row["arrived_at"] > since], 6, "commits")


def reported(kept: Kept, request: Row) -> list[Row]:
    """What a client reported of a commit, by its member and positions."""
    positions = {(each["partition"], each["committed"]) for each in request["positions"]}
    return [
        row
        for row in kept["commits"]
        if row["member"] == request["client_id"]
        and (row["partition"], row["committed"]) in positions
    ]


def observed(kept: Kept) -> list[Row]:
    """What the observer was answered with positions."""
    asked = [row for row in kept["requests"] if row["client_id"] == "observer"]
    return [row for row in asked if row["api"] == "OFFSET_FETCH" and row["positions"]]


def highest(kept: Kept, rows: Iterable[Row]) -> dict[int, int]:
    """The highest position of each partition."""
    known: dict[int, int] = {}
    for row in rows:
        known[row["partition"]] = max(known.get(row["partition"], -1), row["committed"])
    return known


def made_before_joins(kept: Kept, within_ms: float) -> list[Row]:
    """The last commit of each member before a join in a generation after the first."""
    made = []
    for join in kept.own("JOIN_GROUP"):
        before = [
            row
            for row in kept.own("OFFSET_COMMIT")
            if row["client_id"] == join["client_id"]
            and ms(0) < join["arrived_at"] - row["arrived_at"] < ms(within_ms)
        ]
        if join["generation"] > 1 and before:
            made.append(before[-1])
    return _least(made, 1, "commits before a join")


def made_at_the_end(kept: Kept) -> list[Row]:
    """What members commit as they close."""
    made = [
        row
        for closing in kept.notes("closing")
        for row in kept.own("OFFSET_COMMIT")
        if row["client_id"] == closing["member"]
        and row["arrived_at"] >= closing["event_at"] - ms(5)
    ]
    return _least(made, 1, "commits at the end")


def regular(kept: Kept) -> tuple[Row, Row, Row]:
    """Three commits of a member, an interval apart, with nothing else about it between them."""
    interval = ms(float(str(kept.run.settings["auto_commit_ms"])))
    session = ms(float(str(kept.run.settings["session_ms"])))
    if kept.run.settings["commit"] != "auto":
        raise NotThere("automatic commits")
    lines = [row["at"] for row in kept.lines("rebalance_started", "stabilized", "epoch_bumped")]
    faults = [row["at"] for row in kept["faults"]]
    for member in kept.members():
        mine = [row for row in kept.own("OFFSET_COMMIT") if row["client_id"] == member]
        events = [
            row["event_at"]
            for row in kept["client_events"]
            if row["member"] == member and row["event"] not in ("heartbeat_sent", "fetched")
        ]
        for a, b, c in zip(mine, mine[1:], mine[2:], strict=False):
            start, end = a["arrived_at"] - ms(1_000), c["arrived_at"] + ms(1_000)
            quiet = not any(start <= each <= end for each in (*lines, *events))
            far = not any(start - session <= each <= end for each in faults)
            steady = c["arrived_at"] - a["arrived_at"] < 2.1 * interval
            if steady and quiet and far and b["arrived_at"] - a["arrived_at"] > 0.9 * interval:
                return a, b, c
    raise NotThere("three commits in quiet time")


# Generations and epochs.
def shift(kept: Kept, moment: datetime, by: int = 1) -> None:
    """Every generation after a moment is so many higher."""
    for file, column in STAMPED.items():
        for row in kept[file]:
            if row[column] is not None and row[column] >= moment and (row["generation"] or 0) > 0:
                row["generation"] += by
                if row.get("member_epoch"):
                    row["member_epoch"] += by


def rename(kept: Kept, old: str, since: datetime, new: str) -> None:
    """A member has another id after a moment."""
    for file, column in STAMPED.items():
        for row in kept[file]:
            if row["member_id"] == old and row[column] and row[column] > since:
                row["member_id"] = new


def lower(kept: Kept, since: int) -> None:
    """Each generation and epoch from this one on is one lower."""
    for row in [row for file in STAMPED for row in kept[file]]:
        for name in ("generation", "member_epoch"):
            if (row.get(name) or 0) >= since:
                row[name] -= 1


def rebalance(kept: Kept, reason: str) -> None:
    """A whole rebalance in the longest quiet time, for this reason."""
    moment = kept.quiet()
    lines = [line for line in kept.lines("stabilized") if line["at"] < moment]
    last = _least(lines, 1, "classic generations before the quiet time")[-1]
    here, generation = [last["broker"], last["generation"]], last["generation"]
    joins, syncs = (
        [row for row in kept.own(api) if [row["broker"], row["generation"]] == here]
        for api in ("JOIN_GROUP", "SYNC_GROUP")
    )
    leader = _least(syncs, 2, "members on record") and joins[0]["leader"]
    shift(kept, moment)
    for event, late, changes in (
        ("rebalance_started", 0, {"reason": reason.format(leader=leader)}),
        ("stabilized", 40, {"members": last["members"]}),
        ("assignment_received", 60, {"member_id": leader}),
    ):
        line = next(row for row in kept.lines(event) if row["generation"] is not None)
        number = generation + (event != "rebalance_started")
        log = f"broker-{last['broker']}.server.log:9{late}"
        about = {"at": moment + ms(late), "broker": last["broker"], "evidence": log}
        kept["coordinator_events"].append({**line, **about, "generation": number, **changes})
    joins_at = 5 if "{leader}" in reason else 8
    for row, at, to in (*((row, joins_at, 42) for row in joins), *((row, 50, 62) for row in syncs)):
        times = {"arrived_at": at, "processed_at": to, "answered_at": to + 1}
        moved = {name: moment + ms(late) for name, late in times.items()}
        kept["requests"].append({**row, "generation": generation + 1, **moved})


def bump(kept: Kept, *, computed: bool = True, **changes: object) -> None:
    """An epoch more in quiet time, and its target if that is computed."""
    moment = kept.quiet(400)
    lines = [row for row in kept.lines("epoch_bumped", "target_computed") if row["at"] < moment]
    bumps = [row for row in lines if row["event"] == "epoch_bumped"]
    epoch = _least(bumps, 1, "epochs before the quiet time")[-1]["generation"] + 1
    shift(kept, moment)
    line = {**bumps[-1], "at": moment, "generation": epoch, **changes}
    kept["coordinator_events"].append(line)
    if computed:
        target = [row for row in lines if row["event"] == "target_computed"][-1]
        kept["coordinator_events"].append({**target, "at": moment + ms(1), "generation": epoch})


def drop(kept: Kept, event: str, *, all_of_it: bool = True, for_ms: float = 300) -> None:
    """A member says in quiet time that it gives partitions up, and soon that it has them again."""
    moment = kept.quiet()
    row = deepcopy(holding(kept, moment))
    parts = row["partitions"] if all_of_it else row["partitions"][:1]
    for name, at in ((event, moment), ("assigned", moment + ms(for_ms))):
        noted = {"event": name, "event_at": at, "observed_at": at, "partitions": parts}
        kept["client_events"].append({**row, **noted})


def overtaken(kept: Kept) -> set[int]:
    """Generations with members that were answered, and that another followed."""
    numbers = {row["generation"] for row in kept.lines("stabilized") if (row["members"] or 0) > 0}
    answered = {row["generation"] for row in kept.own("SYNC_GROUP")}
    return {number for number in numbers if number + 1 in numbers and number in answered}


def joins_by_generation(kept: Kept) -> list[list[Row]]:
    """JoinGroups of each generation that has more than one member."""
    joins = kept.own("JOIN_GROUP")
    keys = sorted({(row["generation"], row["broker"]) for row in joins})
    found = [[row for row in joins if (row["generation"], row["broker"]) == key] for key in keys]
    return [rows for rows in found if len({row["member_id"] for row in rows}) > 1]


def taken_over(kept: Kept) -> Seen:
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
            return Seen({**line, "generation": found["generation"]})
    raise NotThere("a takeover of a stored generation")


def after_takeover(kept: Kept, api: str) -> list[Row]:
    """Accepted requests that came to the new coordinator before its next generation."""
    line = taken_over(kept)
    ends = [each["at"] for each in kept.lines("stabilized", "emptied") if each["at"] > line["at"]]
    return [
        row
        for row in kept.own(api)
        if row["broker"] == line["broker"]
        and row["arrived_at"] > line["at"] + ms(60)
        and row["generation"] == line["generation"]
        and (not ends or row["processed_at"] < min(ends) - ms(60))
    ]


def taken(kept: Kept) -> tuple[Row, list[Row], Row]:
    """The first answer that took something from a member, its later heartbeats, and what it had."""
    found = [row for row in kept.own("CONSUMER_GROUP_HEARTBEAT") if row["generation"] > 0]
    for member in sorted({row["member_id"] for row in found}):
        mine = [row for row in found if row["member_id"] == member]
        for before, row in pairwise([row for row in mine if row["assigned"] is not None]):
            if any(each not in row["assigned"] for each in before["assigned"]):
                return (
                    row,
                    [each for each in mine if each["arrived_at"] > row["arrived_at"]],
                    before,
                )
    raise NotThere("a partition that was taken")


# Notes of clients, faults, and what probes were answered.
def another_node(kept: Kept, detail: str) -> str:
    """What Java notes of a coordinator, of another broker."""
    text = re.sub(r"(nodeId=|id: \+)\d", r"\g<1>9", detail)
    if text == detail:  # the classic client up to 4.3
        text = re.sub(r"id: \d+", f"id: {2_147_483_647 - 9}", text)
    return text


def rename_fault(kept: Kept, *kinds: str) -> None:
    """A fault of these kinds names another of the members that the run began with."""
    rows = [row for row in kept["faults"] if row["kind"] in kinds and row["phase"] == "injected"]
    fault = _least(rows, 1, "such faults")[0]
    others = [each for each in kept.members() if each != fault["resolved"]]
    for row in kept["faults"]:
        if row["fault"] == fault["fault"] and row["resolved"]:
            if not others:
                raise NotThere("no other member")
            row["resolved"] = others[0]


def phases(kept: Kept, *names: str) -> list[Row]:
    """These phases of the first fault that has them all."""
    for fault in sorted({row["fault"] for row in kept["faults"]}):
        rows = [row for row in kept["faults"] if row["fault"] == fault]
        found = [row for name in names for row in rows if row["phase"] == name]
        if len(found) == len(names):
            return found
    raise NotThere(f"no fault with {names}")


def calls(kept: Kept, api: str, step: str = "") -> list[Row]:
    """Calls by probes that were answered without an error, in order, whose step begins so."""
    found = [row for row in kept["calls"] if row["api"] == api and row["error_code"] == 0]
    found = [row for row in found if row["step"].startswith(step)]
    return sorted(found, key=lambda row: row["sent_at"])


def leader_join(kept: Kept) -> Row:
    """A JoinGroup of a leader that is given two members at least."""
    joins = calls(kept, "JOIN_GROUP")
    return _least([row for row in joins if len(json_of(row["answer"]).members) > 1], 1, "leaders")[
        0
    ]


def described(kept: Kept, api: str) -> Row:
    """The last description by a probe that names more than one member."""
    for row in reversed([row for row in kept["calls"] if row["api"] == api]):
        group = json_of(row["answer"] or "{}").groups[0]
        own = group.groupId != kept.run.settings["group"]
        if len(group.members) > 1 and group.groupState == "Stable" and own:
            return row
    raise NotThere("no description of several members")
