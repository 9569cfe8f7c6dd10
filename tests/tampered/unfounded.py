"""Changes that give no reason for what they show: refusals, acceptances, callbacks and lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from tests.tampered.answering import CRASH, LEAVE, a_heartbeat_is_refused
from tests.tampered.history import Change, Edit, Kept, NotThere, Row, change, copy, first, ms
from tests.tampered.naming import CLASSIC, MODERN

STATIC: Final = ("static-day.",)
KILL: Final = ("coordinator-kill.",)


def a_join_is_refused(error: int) -> Edit:
    def edit(kept: Kept) -> None:
        row = first(kept.own("JOIN_GROUP"), "accepted join")
        kept["requests"].append(copy(row, -20, error_code=error))

    return edit


def a_leave_is_refused(kept: Kept) -> None:
    first(kept.own("LEAVE_GROUP"), "leave")["error_code"] = 25


def a_member_leaves_twice(kept: Kept) -> None:
    kept["requests"].append(copy(first(kept.own("LEAVE_GROUP"), "leave"), 400))


def a_sync_of_the_generation_before_is_accepted(kept: Kept) -> None:
    syncs = kept.own("SYNC_GROUP")
    last = max(row["generation"] for row in syncs)
    old = [row for row in syncs if row["generation"] == last - 1]
    new = [row for row in syncs if row["generation"] == last]
    later = new[0]["arrived_at"] - first(old, "earlier generation")["arrived_at"]
    kept["requests"].append(copy(old[0], later.total_seconds() * 1e3 + 300))


def positions_come_from_another_broker(kept: Kept) -> None:
    row = kept.own("OFFSET_FETCH")[-1]
    row["broker"] = row["broker"] % 3 + 1


def _handed(kept: Kept) -> Row:
    return next(row for row in kept.told("assigned") if row["partitions"])


def a_member_is_handed_another_ones_partition(kept: Kept) -> None:
    row = _handed(kept)
    row["partitions"][0]["partition"] = max(
        each["partition"]
        for other in kept.told("assigned")
        if other["member"] != row["member"]
        for each in other["partitions"] or ()
    )


def a_member_is_handed_one_partition_fewer(kept: Kept) -> None:
    del _handed(kept)["partitions"][0]


def _owned(kept: Kept) -> Row:
    rows = [row for row in kept.own("CONSUMER_GROUP_HEARTBEAT") if row["owned"]]
    return first(rows, "heartbeat that says what its member owns")


def a_member_says_that_it_owns_more(kept: Kept) -> None:
    row = _owned(kept)
    row["owned"].append({**row["owned"][0], "partition": 99})


def two_polls_in_the_wrong_order(kept: Kept) -> None:
    rows = sorted(kept["deliveries"], key=lambda row: (row["polled_at"], row["first_offset"]))
    for index, row in enumerate(rows):
        for later in rows[index + 1 :]:
            one = [(each["member"], each["topic"], each["partition"]) for each in (row, later)]
            if one[0] == one[1] and later["poll"] == row["poll"] + 1:
                for name in ("first_offset", "last_offset", "count"):
                    row[name], later[name] = later[name], row[name]
                return
    raise NotThere("no two polls of one partition")


def a_commit_runs_ahead_of_the_work(kept: Kept) -> None:
    commits = [row for row in kept["commits"] if row["how"] == "sync" and row["answered_at"]]
    commit = commits[len(commits) // 2]
    for row in kept["deliveries"]:
        same = all(row[name] == commit[name] for name in ("member", "topic", "partition"))
        if same and row["last_offset"] < commit["committed"] <= row["last_offset"] + 1:
            row["processed_at"] = commit["answered_at"] + ms(1)
            return
    raise NotThere("no work that a commit is about")


def a_batch_is_worked_on_through_the_next_poll(kept: Kept) -> None:
    rows = sorted(kept["deliveries"], key=lambda row: (row["member"], row["poll"]))
    for row, later in pairwise(rows):
        if row["member"] == later["member"] and later["poll"] == row["poll"] + 1:
            row["processed_at"] = later["polled_at"] + ms(5)
            return
    raise NotThere("no two polls of one member")


def a_member_polls_while_it_waits_for_a_commit(kept: Kept) -> None:
    row = first([row for row in kept["commits"] if row["how"] == "sync"], "synchronous commit")
    row["answered_at"] = row["asked_at"] + ms(3_000)


def more_records_than_offsets(kept: Kept) -> None:
    kept["deliveries"][0]["count"] += 1_000


def acknowledged_before_it_was_sent(kept: Kept) -> None:
    row = kept["sends"][0]
    row["last_answered_at"] = row["first_sent_at"] - ms(1)


def revoked_partitions_are_lost(kept: Kept) -> None:
    rows = [row for row in kept.told("revoked") if row["partitions"]]
    first(rows, "revoked partitions")["event"] = "lost"


def a_heartbeat_waits(kept: Kept) -> None:
    beats = kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT", error=0)
    row = beats[len(beats) // 2]
    row["processed_at"] += ms(1_500)
    row["answered_at"] = row["processed_at"]


def a_member_is_removed_twice(kept: Kept) -> None:
    row = first(kept.lines("left", "evicted"), "member that was removed")
    kept["coordinator_events"].append({**row, "at": row["at"] + ms(500)})


def a_member_is_taken_for_one_that_never_joined(kept: Kept) -> None:
    row = first(kept.lines("member_added"), "line of a new member")
    kept["coordinator_events"].append(
        {**row, "event": "pending_evicted", "at": row["at"] + ms(3_000)}
    )


def a_dead_broker_writes_on(kept: Kept) -> None:
    kill = next(row for row in kept["faults"] if row["phase"] == "injected")
    broker = int(kill["resolved"].removeprefix("broker-"))
    line = next(row for row in kept.lines("stabilized") if row["broker"] == broker)
    kept["coordinator_events"].append({**line, "at": kill["at"] + ms(3_000)})


def _quiet(kept: Kept) -> Row:
    """A row of the observer's, in the middle of quiet time."""
    row = next(row for row in kept["topology"] if row["what"] == "partition")
    return {**row, "at": kept.quiet()}


def a_leader_is_out_of_sync(kept: Kept) -> None:
    row = _quiet(kept)
    kept["topology"].append({**row, "isr": [each for each in row["isr"] if each != row["leader"]]})


def a_partition_has_no_leader(kept: Kept) -> None:
    kept["topology"].append({**_quiet(kept), "leader": -1})


def a_broker_dies_by_itself(kept: Kept) -> None:
    row = next(row for row in kept["topology"] if row["what"] == "broker" and row["alive"])
    at = kept.quiet()
    kept["topology"].append({**row, "at": at, "alive": False})
    kept["topology"].append({**row, "at": at + ms(1_500), "alive": True})


def a_client_gives_up_although_it_polls(kept: Kept) -> None:
    row = kept["deliveries"][len(kept["deliveries"]) // 2]
    told = next(each for each in kept["client_events"] if each["member"] == row["member"])
    at = row["polled_at"] + ms(500)
    kept["client_events"].append(
        {**told, "event": "max_poll_exceeded", "event_at": at, "observed_at": at, "partitions": []}
    )


def an_epoch_comes_before_its_target(kept: Kept) -> None:
    for row in kept.lines("target_computed"):
        row["at"] += ms(2_000)


CHANGES: Final = (
    *(
        Change(f"a heartbeat is answered {error}", a_heartbeat_is_refused(error), ("X70",), runs)
        for error, runs in (
            *((14, CLASSIC), (15, CRASH), (16, LEAVE), (82, CLASSIC), (-1, LEAVE)),
            *((111, LEAVE), (112, MODERN), (42, CRASH), (69, LEAVE), (113, MODERN)),
        )
    ),
    *(
        Change(f"a join is answered {error}", a_join_is_refused(error), ("X70",), CRASH)
        for error in (23, 24, 81)
    ),
    change(a_leave_is_refused, "X70", (*CLASSIC, *CRASH)),
    change(a_member_leaves_twice, "X62", (*CLASSIC, *CRASH)),
    change(a_sync_of_the_generation_before_is_accepted, "X71", CRASH),
    change(positions_come_from_another_broker, "X39", (*CLASSIC, *LEAVE)),
    change(a_member_is_handed_another_ones_partition, "X69", (*CLASSIC, *CRASH)),
    change(a_member_is_handed_one_partition_fewer, "X69", CRASH),
    change(a_member_says_that_it_owns_more, "X69", LEAVE),
    change(two_polls_in_the_wrong_order, "X72", (*CLASSIC, *LEAVE)),
    change(a_commit_runs_ahead_of_the_work, "X73", (*CLASSIC, *LEAVE)),
    change(a_batch_is_worked_on_through_the_next_poll, "X60", CRASH),
    change(a_member_polls_while_it_waits_for_a_commit, "X60", (*CLASSIC, *CRASH)),
    change(more_records_than_offsets, "X60", LEAVE),
    change(acknowledged_before_it_was_sent, "X60", CLASSIC),
    change(revoked_partitions_are_lost, "X74", (*CRASH, *LEAVE)),
    change(a_heartbeat_waits, "X75", (*CLASSIC, *LEAVE)),
    change(a_member_is_removed_twice, "X76", CRASH),
    change(a_member_is_taken_for_one_that_never_joined, "X76", CLASSIC),
    change(a_dead_broker_writes_on, "X76", KILL),
    change(a_leader_is_out_of_sync, "X77", (*CLASSIC, *LEAVE)),
    change(a_partition_has_no_leader, "X77", CRASH),
    change(a_broker_dies_by_itself, "X77", (*CLASSIC, *LEAVE)),
    change(a_client_gives_up_although_it_polls, "X78", (*CLASSIC, *STATIC)),
    change(an_epoch_comes_before_its_target, "X35", LEAVE),
)
