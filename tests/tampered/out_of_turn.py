"""Changes by which commits, heartbeats and answers come where a group's state allows no such."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from tests.tampered.answering import CRASH, LEAVE, refuse_commit
from tests.tampered.history import Change, Kept, NotThere, change, copy, first, ms
from tests.tampered.naming import CLASSIC, MODERN

REMOVED: Final = ("coordinator-isolated.",)


def a_commit_is_refused_while_members_are_waited_for(kept: Kept) -> None:
    for start in kept.lines("rebalance_started"):
        ends = [line["at"] for line in kept.lines("stabilized") if line["at"] > start["at"]]
        for row in kept.own("OFFSET_COMMIT"):
            meanwhile = ends and start["at"] + ms(2) < row["arrived_at"] < ends[0] - ms(60)
            if meanwhile and row["generation"] == start["generation"]:
                refuse_commit(kept, row, 27)
                return
    raise NotThere("no commit while members were waited for")


def a_commit_is_accepted_between_join_and_assignment(kept: Kept) -> None:
    """In the longest such phase, by a member that has joined by then."""
    phases = []
    for line in kept.lines("stabilized"):
        for end in kept.lines("assignment_received"):
            if (end["broker"], end["generation"]) == (line["broker"], line["generation"]):
                phases.append((end["at"] - line["at"], line["at"], line))
    lasted, begin, line = max(phases, key=lambda phase: phase[0])
    if lasted < ms(110):
        raise NotThere("no phase that is long enough")
    joined = {
        row["member_id"]
        for row in kept.own("JOIN_GROUP")
        if row["generation"] == line["generation"]
    }
    commits = [row for row in kept.own("OFFSET_COMMIT") if row["member_id"] in joined]
    row = first([row for row in commits if row["arrived_at"] < begin][::-1], "commit before")
    later_ms = (begin + lasted / 2 - row["arrived_at"]) / ms(1)
    made = copy(row, later_ms, generation=line["generation"])
    made.update(processed_at=made["arrived_at"], answered_at=made["arrived_at"])
    kept["requests"].append(made)


def a_removed_members_commit_is_answered_with_an_epoch(kept: Kept) -> None:
    rows = kept.own("OFFSET_COMMIT", error=25)
    refuse_commit(kept, first(rows, "commit of a removed member"), 113)


def a_removed_member_is_fenced(kept: Kept) -> None:
    rows = kept.own("CONSUMER_GROUP_HEARTBEAT", error=25)
    first([row for row in rows if row["generation"] > 0], "such heartbeat")["error_code"] = 110


def two_leaves_name_each_other(kept: Kept) -> None:
    """And so do the coordinator's lines."""
    one, other = kept.own("LEAVE_GROUP")[:2]
    ids = {one["member_id"]: other["member_id"], other["member_id"]: one["member_id"]}
    for row in (one, other, *kept.lines("left")):
        row["member_id"] = ids.get(row["member_id"], row["member_id"])
    for line in kept.lines("rebalance_started"):
        for old, new in ids.items():
            if line["reason"] and old in line["reason"]:
                line["reason"] = line["reason"].replace(old, new)
                break


def the_first_heartbeats_never_come(kept: Kept) -> None:
    """Of a generation that has at least four."""
    for sync in kept.own("SYNC_GROUP"):
        beats = [
            row
            for row in kept.own("HEARTBEAT")
            if (row["member_id"], row["generation"]) == (sync["member_id"], sync["generation"])
            and row["arrived_at"] > sync["arrived_at"]
        ]
        if len(beats) >= 4 and not kept.faulty(beats[0]["arrived_at"], 5_000):
            gone = beats[: 3 if kept.client == "librdkafka" else 2]
            for row in gone:
                kept["requests"].remove(row)
            until = gone[-1]["arrived_at"]
            kept.files["client_events"] = [
                row
                for row in kept["client_events"]
                if row["event"] != "heartbeat_sent" or row["member"] != sync["client_id"]
                or not sync["arrived_at"] < row["event_at"] <= until
            ]  # fmt: skip
            return
    raise NotThere("no generation of four heartbeats")


def a_commit_names_an_epoch_from_before_its_partition(kept: Kept) -> None:
    """Of a member that had another epoch before it was given the partition."""
    beats = kept.own("CONSUMER_GROUP_HEARTBEAT")
    for commit in kept.own("OFFSET_COMMIT"):
        part = commit["positions"][0]["partition"]
        own = [
            row
            for row in beats
            if row["client_id"] == commit["client_id"]
            and row["answered_at"] < commit["arrived_at"] - ms(60)
        ]
        given = [
            row for row in own if part in {each["partition"] for each in row["assigned"] or ()}
        ]
        before = [row for row in own if given and row["arrived_at"] < given[0]["arrived_at"]]
        epochs = [row["member_epoch"] for row in before if row["member_epoch"] > 0]
        if epochs and epochs[-1] < given[0]["member_epoch"] <= commit["generation"]:
            commit["generation"] = epochs[-1]
            return
    raise NotThere("no member with an epoch before its partition's")


def a_group_whose_members_have_followed_is_reconciling(kept: Kept) -> None:
    """Where for more than 4 s nothing but heartbeats, records and commits was to be seen."""
    seen = [row for row in kept["topology"] if row["what"] == "group"]
    row = first([row for row in seen if row["state"] == "Stable"], "stable group")
    marks = [line["at"] for line in kept["coordinator_events"]]
    marks += [each["event_at"] for each in kept.told("assigned", "revoked", "lost", "closing")]
    marks += [fault["at"] for fault in kept["faults"]]
    begin, end = max(pairwise(sorted(marks)), key=lambda pair: pair[1] - pair[0])
    if end - begin < ms(4_000):
        raise NotThere("no such time")
    kept["topology"].append({**row, "at": end - ms(300), "state": "Reconciling"})


def a_commit_that_nobody_asked_for(kept: Kept) -> None:
    commits = kept.own("OFFSET_COMMIT")
    row = commits[len(commits) // 2]
    positions = [{**each, "committed": each["committed"] + 1} for each in row["positions"]]
    kept["requests"].append(copy(row, 3, positions=positions))


def a_follower_never_asks_for_its_part(kept: Kept) -> None:
    """In a generation in which it goes on, and that changes nothing for it."""
    leaders = {(row["generation"], row["leader"]) for row in kept.own("JOIN_GROUP")}
    for sync in kept.own("SYNC_GROUP"):
        mine = (sync["member_id"], sync["generation"])
        told = [row for row in kept.told("assigned") if row["generation"] == sync["generation"]]
        beats = [
            row
            for row in kept.own("HEARTBEAT")
            if (row["member_id"], row["generation"]) == mine
            and row["arrived_at"] > sync["answered_at"] + ms(60)
        ]
        if mine[::-1] in leaders or not beats:
            continue
        kept["requests"].remove(sync)
        for row in told:
            if row["member_id"] == sync["member_id"]:
                kept["client_events"].remove(row)
        return
    raise NotThere("no follower that went on")


def a_member_that_was_put_out_is_told_nothing(kept: Kept) -> None:
    """And joins anew as another one."""
    lost = first(
        [row for row in kept.told("lost") if row["partitions"] and any(
            join["client_id"] == row["member"] and join["arrived_at"] > row["event_at"]
            for join in kept.own("JOIN_GROUP"))],
        "member that lost its partitions and joined again",
    )  # fmt: skip
    kept["client_events"].remove(lost)


CHANGES: Final[tuple[Change, ...]] = (
    change(
        a_commit_is_refused_while_members_are_waited_for, "X56",
        ("consumer-crash.", "consumer-join.java", "bad-day."),
    ),
    change(a_commit_is_accepted_between_join_and_assignment, "X37", ("consumer-join.java",)),
    change(a_removed_members_commit_is_answered_with_an_epoch, "X56", REMOVED),
    change(a_removed_member_is_fenced, "X56", REMOVED),
    change(two_leaves_name_each_other, "X52", (*CLASSIC, *CRASH, "cooperative-join.")),
    change(the_first_heartbeats_never_come, "R14", (*CLASSIC, "network-bandwidth.")),
    change(
        a_commit_names_an_epoch_from_before_its_partition, "X37",
        (*LEAVE, "revocation-stalled."),
    ),
    change(a_group_whose_members_have_followed_is_reconciling, "R33-epochs", (*MODERN, *LEAVE)),
    change(a_commit_that_nobody_asked_for, "X100", (*CLASSIC, *CRASH, *LEAVE)),
    change(a_follower_never_asks_for_its_part, "X101", (*CLASSIC, *CRASH)),
    change(
        a_member_that_was_put_out_is_told_nothing, "X88",
        ("bad-day.", "coordinator-silent.java"),
    ),
)  # fmt: skip
