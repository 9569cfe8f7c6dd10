"""Changes by which members, processes and brokers appear as something else than they are."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Final

from tests.tampered.answering import CRASH, LEAVE, TRANSACTIONS
from tests.tampered.history import Change, Edit, Kept, NotThere, Row, change, copy, first, ms
from tests.tampered.naming import CLASSIC, MODERN

STATIC: Final = ("static-day.",)
FREEZE: Final = ("consumer-freeze.",)
STALLED: Final = (*STATIC, "revocation-stalled.")
ADDED: Final = ("add-partitions.",)


def _consumer(kept: Kept) -> Row:
    return first([row for row in kept["members"] if row["end"] == "closed"], "closed member")


def _answered_to_observer(kept: Kept) -> list[Row]:
    """What the observer was answered with positions."""
    asked = [row for row in kept["requests"] if row["client_id"] == "observer"]
    return [row for row in asked if row["api"] == "OFFSET_FETCH" and row["positions"]]


def _leave(kept: Kept) -> Row:
    """The first leave of a member of KIP-848."""
    beats = kept.own("CONSUMER_GROUP_HEARTBEAT")
    return first([row for row in beats if row["generation"] < 0], "leave")


# Of one member, or of its client.
def requests_name_another_client(kept: Kept) -> None:
    for row in kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT")[::2]:
        row.update(client_software="kafka-go", client_software_version="9.9")


def a_member_offers_another_assignor(kept: Kept) -> None:
    for row in kept.own("JOIN_GROUP"):
        row.update(assignors=["sticky"], protocol_name="sticky")


def a_member_subscribes_to_another_topic(kept: Kept) -> None:
    row = [row for row in kept.own("CONSUMER_GROUP_HEARTBEAT") if row["generation"] > 0][-1]
    row["detail"] = json.dumps({**json.loads(row["detail"] or "{}"), "topics": ["payments"]})


def a_member_says_that_it_owns_what_it_gave_up(kept: Kept) -> None:
    """Of KIP-848, of a member that had more at first."""
    said = [row for row in kept.own("CONSUMER_GROUP_HEARTBEAT") if row["owned"]]
    for row in reversed(said):
        before = [each for each in said if each["member_id"] == row["member_id"]]
        most = max(before, key=lambda each: len(each["owned"]))["owned"]
        if len(most) > len(row["owned"]):
            row["owned"] = most
            return
    raise NotThere("no member that gave something up")


def a_callback_leaves_a_partition_out(kept: Kept) -> None:
    last = [row for row in kept.told("assigned") if row["partitions"]][-1]
    left_out = last["partitions"].pop()
    for row in kept.told("revoked"):
        if row["member"] == last["member"] and row["event_at"] > last["event_at"]:
            row["partitions"] = [each for each in row["partitions"] if each != left_out]


def lost_partitions_are_given_up(kept: Kept) -> None:
    lost = [row for row in kept.told("lost") if row["partitions"]]
    first(lost, "lost partitions")["event"] = "revoked"


def nothing_is_said_of_a_poll_limit(kept: Kept) -> None:
    kept["client_events"].remove(first(kept.told("max_poll_exceeded"), "poll limit"))


def a_commit_in_a_stall(kept: Kept) -> None:
    stall = first(kept.told("stall_started"), "stall")
    mine = [row for row in kept["commits"] if row["member"] == stall["member"]]
    at = stall["event_at"] + ms(1_000)
    row = first([row for row in mine if row["asked_at"]], "commit of the stalled member")
    kept["commits"].append({**row, "asked_at": at, "answered_at": at + ms(2)})


def positions_in_a_transaction_name_nobody(kept: Kept) -> None:
    row = first(kept.own("TXN_OFFSET_COMMIT"), "positions in a transaction")
    row.update(member_id=None, generation=-1)


def java_finds_another_coordinator(kept: Kept) -> None:
    for row in kept.told("coordinator_found"):
        text = re.sub(r"(nodeId=|id: \+)\d", r"\g<1>9", row["detail"])
        if text == row["detail"]:  # the classic client up to 4.3
            text = re.sub(r"id: \d+", f"id: {2_147_483_647 - 9}", text)
        row["detail"] = text
        return
    raise NotThere("no note of a coordinator")


def java_gives_its_coordinator_up(kept: Kept) -> None:
    found = first(kept.told("coordinator_found"), "note of a coordinator")
    at = kept.quiet(300)
    detail = "is unavailable due to cause: session timed out without receiving a response."
    kept["client_events"].append(
        {**found, "event": "coordinator_lost", "event_at": at, "observed_at": at, "detail": detail}
    )


def java_leaves_for_a_poll_limit_that_was_not_over(kept: Kept) -> None:
    first(kept.lines("left"), "leave")["reason"] = "consumer poll timeout has expired."


# Of one process.
def a_process_ends_as(end: str) -> Edit:
    def edit(kept: Kept) -> None:
        _consumer(kept)["end"] = end

    return edit


def a_process_starts_after_its_first_request(kept: Kept) -> None:
    _consumer(kept)["started_at"] += ms(20_000)


def a_member_that_gave_up_reads_on(kept: Kept) -> None:
    told = [row for row in kept.told("error") if (row["detail"] or "").startswith("process: ")]
    last = first(told, "client that gave up")
    mine = [row for row in kept["deliveries"] if row["member"] == last["member"]]
    at = last["event_at"] + ms(1_000)
    offset = mine[-1]["last_offset"] + 1
    kept["deliveries"].append(
        {
            **mine[-1], "poll": mine[-1]["poll"] + 1, "first_offset": offset, "last_offset": offset,
            "count": 1, "polled_at": at, "processed_at": at + ms(1),
        }
    )  # fmt: skip


# Of a coordinator, or of the cluster.
def a_member_joins_without_a_line(kept: Kept) -> None:
    kept["coordinator_events"].remove(kept.lines("member_added")[-1])


def an_id_is_given_to_nobody(kept: Kept) -> None:
    row = first(kept.lines("member_id_given"), "line of an id")
    stranger = "member-1-00000000-0000-4000-8000-000000000000"
    kept["coordinator_events"].append({**row, "at": kept.quiet(300), "member_id": stranger})


def a_stranger_is_accepted(kept: Kept) -> None:
    row = kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT")[-1]
    row["member_id"] = "AAAAAAAAAAAAAAAAAAAAAA"


def positions_leave_a_partition_out(kept: Kept) -> None:
    rows = _answered_to_observer(kept)
    rows[len(rows) // 2]["positions"].pop(0)


def a_target_by_another_assignor(kept: Kept) -> None:
    kept.lines("target_computed")[-1]["reason"] = "range"


def partitions_are_there_after_they_were_given(kept: Kept) -> None:
    for row in kept["topology"]:
        new = row["what"] == "partition" and row["topic"] == "t"
        if new and row["at"] > kept.settled():
            row["at"] += ms(12_000)


def another_broker_describes_the_group(kept: Kept) -> None:
    rows = [row for row in kept["topology"] if row["what"] == "group" and row["coordinator"]]
    row = first(rows, "description of the group")
    other = row["coordinator"] % 3 + 1
    kept["topology"].append({**row, "at": kept.quiet(300), "coordinator": other})


def a_leader_moves_by_itself(kept: Kept) -> None:
    row = next(row for row in kept["topology"] if row["what"] == "partition")
    kept["topology"].append({**row, "at": kept.quiet(), "leader": row["leader"] % 3 + 1})


# What is answered late, twice, or in another order.
def an_answer_waits(*apis: str) -> Edit:
    def edit(kept: Kept) -> None:
        row = first(kept.own(*apis), f"request of {apis}")
        row["processed_at"] += ms(3_000)
        row["answered_at"] = row["processed_at"]

    return edit


def the_observer_is_refused(kept: Kept) -> None:
    at = kept.quiet()
    rows = [row for row in _answered_to_observer(kept) if row["arrived_at"] > at]
    first(rows, "question of the observer").update(error_code=16, positions=[])


def a_member_asks_for_a_position_of_anothers(kept: Kept) -> None:
    row = first([row for row in kept.own("OFFSET_FETCH") if row["positions"]], "positions")
    row["positions"].append({**row["positions"][0], "partition": 99})


def a_commit_is_reported_as_timed_out(kept: Kept) -> None:
    mine = [row for row in kept["commits"] if row["how"] == "sync" and row["answered_at"]]
    row = mine[len(mine) // 2]
    row.update(error_code=-185, error="_TIMED_OUT", answered_at=row["answered_at"] + ms(500))


def a_commit_is_never_reported(kept: Kept) -> None:
    mine = [row for row in kept["commits"] if row["how"] == "sync"]
    earliest = min(mine, key=lambda row: row["asked_at"])
    earliest.update(error_code=None, error=None, answered_at=None)


def an_assignment_for_fewer_members(kept: Kept) -> None:
    first(kept.lines("assignment_received"), "assignment")["members"] -= 1


def a_group_is_loaded_twice(kept: Kept) -> None:
    row = first(kept.lines("loaded"), "takeover")
    kept["coordinator_events"].append({**row, "at": row["at"] + ms(800)})


def a_replica_is_on_no_broker(kept: Kept) -> None:
    row = next(row for row in kept["topology"] if row["what"] == "partition")
    kept["topology"].append({**row, "at": kept.quiet(), "isr": [*row["isr"], 9]})


def an_end_goes_back(kept: Kept) -> None:
    rows = [row for row in kept["topology"] if row["what"] == "end_offset" and row["topic"] == "t"]
    last = max(rows, key=lambda row: row["at"])
    kept["topology"].append({**last, "at": last["at"] + ms(300), "end_offset": 1})


def work_is_done_too_soon(kept: Kept) -> None:
    row = max(kept["deliveries"], key=lambda row: row["count"])
    row["processed_at"] = row["polled_at"] + ms(1)


def a_later_batch_is_stored_first(kept: Kept) -> None:
    rows = [row for row in kept["sends"] if row["outcome"] == "acknowledged"]
    for row, later in pairwise(
        sorted(rows, key=lambda each: (each["partition"], each["first_number"]))
    ):
        if row["partition"] == later["partition"]:
            for name in ("first_number", "last_number"):
                row[name], later[name] = later[name], row[name]
            return
    raise NotThere("no two ranges of one partition")


def a_member_leaves_before_it_gives_up(kept: Kept) -> None:
    closing = first(kept.told("closing"), "member that closes")
    for row in kept.told("revoked"):
        if row["member"] == closing["member"] and row["event_at"] >= closing["event_at"]:
            for name in ("event_at", "observed_at"):
                row[name] += ms(400)


def a_member_joins_while_its_join_waits(kept: Kept) -> None:
    joins = [
        row for row in kept.own("JOIN_GROUP") if row["processed_at"] - row["arrived_at"] > ms(150)
    ]
    row = first(joins, "join that waits")
    again = {name: row[name] + ms(60) for name in ("arrived_at",)}
    kept["requests"].append({**row, **again, "evidence": f"{row['evidence']}0"})


def a_leave_is_answered_with_an_epoch(kept: Kept) -> None:
    _leave(kept)["member_epoch"] = 5


def a_member_id_of_another_name(kept: Kept) -> None:
    old = first(kept.lines("member_added"), "member")["member_id"]
    new = f"orders-{old[-36:]}"
    for rows in kept.files.values():
        for row in rows:
            if row.get("member_id") == old:
                row["member_id"] = new


def a_poll_of_too_many(kept: Kept) -> None:
    kept["deliveries"][5].update(count=400, last_offset=kept["deliveries"][5]["first_offset"] + 399)


def a_stall_ends_too_soon(kept: Kept) -> None:
    first(kept.told("stall_ended"), "end of a stall")["event_at"] -= ms(3_000)


def records_fail_for_nothing(kept: Kept) -> None:
    rows = [row for row in kept["sends"] if row["outcome"] == "acknowledged"]
    quiet = [row for row in rows if not kept.faulty(row["first_sent_at"])]
    first(quiet, "range in quiet time").update(
        outcome="failed", first_offset=None, last_offset=None, error="_MSG_TIMED_OUT"
    )


def a_member_asks_for_another_group(kept: Kept) -> None:
    row = kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT")[-1]
    kept["requests"].append(copy(row, 0, group="payments"))


def a_stranger(api: str) -> Edit:
    def edit(kept: Kept) -> None:
        rows = kept.own("OFFSET_COMMIT")
        row = rows[len(rows) // 2]
        nobody = {"client_id": "payer", "member_id": None, "generation": -1, "api": api}
        kept["requests"].append(copy(row, 0, **nobody))

    return edit


def a_partition_of_an_answer_has_an_error(kept: Kept) -> None:
    rows = _answered_to_observer(kept)
    rows[len(rows) // 2]["positions"][0]["error_code"] = 3


def a_rebalance_starts_twice(kept: Kept) -> None:
    row = kept.lines("rebalance_started")[-1]
    kept["coordinator_events"].append(
        {**row, "at": row["at"] + ms(5), "evidence": f"{row['evidence']}0"}
    )


def an_eager_member_joins_before_it_gives_up(kept: Kept) -> None:
    joins = kept.own("JOIN_GROUP")
    for row in kept.told("revoked"):
        mine = [each for each in joins if each["client_id"] == row["member"]]
        later = [each for each in mine if each["arrived_at"] > row["event_at"]]
        if row["partitions"] and later and later[0]["processed_at"] - row["event_at"] > ms(200):
            for name in ("event_at", "observed_at"):
                row[name] = later[0]["arrived_at"] + ms(120)
            return
    raise NotThere("no member that joins again")


def a_leave_of_a_member_is_refused(kept: Kept) -> None:
    _leave(kept)["error_code"] = 25


def positions_of_a_member_are_refused(kept: Kept) -> None:
    row = kept.own("OFFSET_FETCH")[-1]
    if not row["member_id"]:
        raise NotThere("no member that names itself as it asks for positions")
    row.update(error_code=25, positions=[])


def a_heartbeat_is_told_to_join_again_in_vain(kept: Kept) -> None:
    line = kept.lines("stabilized")[-1]
    row = next(row for row in kept.own("HEARTBEAT") if row["generation"] == line["generation"])
    moved = {name: line["at"] + ms(80) for name in ("arrived_at", "processed_at", "answered_at")}
    kept["requests"].append({**row, **moved, "error_code": 27, "evidence": f"{row['evidence']}0"})


def an_answer_is_stuck(kept: Kept) -> None:
    rows = kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT")
    rows[len(rows) // 2]["answered_at"] += ms(2_000)


def a_process_asks_after_its_end(kept: Kept) -> None:
    ended = _consumer(kept)
    mine = [row for row in kept.own("FIND_COORDINATOR") if row["client_id"] == ended["member"]]
    row = first(mine, "lookup")
    after = {name: ended["ended_at"] + ms(700) for name in ("arrived_at", "processed_at")}
    kept["requests"].append(
        {**row, **after, "answered_at": after["processed_at"], "evidence": f"{row['evidence']}0"}
    )


def a_range_with_a_hole(kept: Kept) -> None:
    max(kept["deliveries"], key=lambda row: row["count"])["count"] -= 1


def a_loss_leaves_one_out(kept: Kept) -> None:
    rows = [row for row in kept.told("lost") if len(row["partitions"] or ()) > 1]
    row = first(rows, "loss of more than one partition")
    left_out = row["partitions"].pop()
    late = {name: row[name] + ms(900) for name in ("event_at", "observed_at")}
    kept["client_events"].append({**row, **late, "partitions": [left_out]})


CHANGES: Final = (
    change(requests_name_another_client, "X79", (*CLASSIC, *LEAVE)),
    change(a_member_offers_another_assignor, "X79", (*CLASSIC, *CRASH)),
    change(a_member_subscribes_to_another_topic, "X79", (*MODERN, *LEAVE)),
    change(a_member_says_that_it_owns_what_it_gave_up, "X69", (*MODERN, *LEAVE)),
    change(a_callback_leaves_a_partition_out, "X69", MODERN),
    change(lost_partitions_are_given_up, "X84", FREEZE),
    change(nothing_is_said_of_a_poll_limit, "X85", (*STALLED, *TRANSACTIONS)),
    change(a_commit_in_a_stall, "X60", STATIC),
    change(positions_in_a_transaction_name_nobody, "X41-asked", TRANSACTIONS),
    change(java_finds_another_coordinator, "X86", (*CRASH, *LEAVE)),
    change(java_gives_its_coordinator_up, "X86", CRASH),
    change(java_leaves_for_a_poll_limit_that_was_not_over, "R07-reason", CRASH),
    Change("a process is killed by nobody", a_process_ends_as("killed"), ("X80",), CLASSIC),
    Change("a process fails by itself", a_process_ends_as("failed"), ("X80",), CRASH),
    change(a_process_starts_after_its_first_request, "X80", (*CLASSIC, *CRASH)),
    change(a_member_that_gave_up_reads_on, "X80", STATIC),
    change(a_member_joins_without_a_line, "X81", (*MODERN, *LEAVE)),
    change(an_id_is_given_to_nobody, "X81", (*CLASSIC, *CRASH)),
    change(a_stranger_is_accepted, "X81", (*CLASSIC, *LEAVE)),
    change(positions_leave_a_partition_out, "X82", (*CLASSIC, *LEAVE)),
    change(a_target_by_another_assignor, "X83", (*MODERN, *LEAVE)),
    change(partitions_are_there_after_they_were_given, "X54", ADDED),
    change(another_broker_describes_the_group, "X66", (*CLASSIC, *CRASH)),
    change(a_leader_moves_by_itself, "X77", (*CLASSIC, *LEAVE)),
    Change("a leave waits", an_answer_waits("LEAVE_GROUP"), ("X75",), CLASSIC),
    Change("positions wait", an_answer_waits("OFFSET_FETCH"), ("X75",), (*CLASSIC, *MODERN)),
    change(the_observer_is_refused, "X70", (*CLASSIC, *LEAVE)),
    change(a_member_asks_for_a_position_of_anothers, "X69", (*CLASSIC, *LEAVE)),
    change(a_commit_is_reported_as_timed_out, "X59", (*CLASSIC, *CRASH)),
    change(a_commit_is_never_reported, "X59", (*CLASSIC, *LEAVE)),
    change(an_assignment_for_fewer_members, "X76", (*CLASSIC, *CRASH)),
    change(a_group_is_loaded_twice, "X76", ("coordinator-kill.",)),
    change(a_replica_is_on_no_broker, "X77", (*CLASSIC, *LEAVE)),
    change(an_end_goes_back, "X87", (*CLASSIC, *CRASH)),
    change(work_is_done_too_soon, "X60", (*CLASSIC, *LEAVE)),
    change(a_later_batch_is_stored_first, "X63", (*CLASSIC, *CRASH)),
    change(a_member_leaves_before_it_gives_up, "X88", (*CLASSIC, *LEAVE)),
    change(a_member_joins_while_its_join_waits, "R34-silent", (*CLASSIC, *FREEZE)),
    change(a_leave_is_answered_with_an_epoch, "X35", LEAVE),
    change(a_member_id_of_another_name, "X52", (*CLASSIC, *CRASH)),
    change(a_leave_of_a_member_is_refused, "X70", LEAVE),
    change(positions_of_a_member_are_refused, "X70", LEAVE),
    change(a_heartbeat_is_told_to_join_again_in_vain, "X56", (*CLASSIC, *CRASH)),
    change(an_answer_is_stuck, "X75", (*CLASSIC, *MODERN)),
    change(a_process_asks_after_its_end, "X80", (*CLASSIC, *CRASH)),
    change(a_range_with_a_hole, "X60", (*CLASSIC, *LEAVE)),
    change(a_loss_leaves_one_out, "X84", (*FREEZE, "coordinator-isolated.")),
    change(a_poll_of_too_many, "X60", (*CLASSIC, *LEAVE)),
    change(a_stall_ends_too_soon, "X60", STATIC),
    change(records_fail_for_nothing, "X89", (*CLASSIC, *CRASH)),
    change(a_member_asks_for_another_group, "X79", (*CLASSIC, *LEAVE)),
    *(
        Change(f"a stranger's {api}", a_stranger(api), ("X62",), CLASSIC)
        for api in ("OFFSET_COMMIT", "OFFSET_DELETE")
    ),
    change(a_partition_of_an_answer_has_an_error, "X82", (*CLASSIC, *LEAVE)),
    change(a_rebalance_starts_twice, "X76", (*CLASSIC, *CRASH)),
    change(an_eager_member_joins_before_it_gives_up, "X88", (*CRASH, *FREEZE)),
)
