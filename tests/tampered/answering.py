"""Changes of what brokers answer, and of what clients make of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from tests.tampered.history import Change, Edit, Kept, NotThere, Row, later, ms
from tests.tampered.naming import CLASSIC, MODERN, steady_beat

LEAVE: Final = ("consumer-leave.java",)
CRASH: Final = ("consumer-crash.java",)
TRANSACTIONS: Final = ("transactions.",)


def _commit(kept: Kept) -> Row:
    rows = kept.own("OFFSET_COMMIT")
    return rows[len(rows) // 2]


def _refuse(row: Row, error: int) -> None:
    row["error_code"] = error
    for position in row["positions"] or ():
        position["error_code"] = error


def a_heartbeat_is_refused(error: int) -> Edit:
    def edit(kept: Kept) -> None:
        _refuse(steady_beat(kept), error)

    return edit


def a_commit_is_refused(error: int) -> Edit:
    """Its client says so as well."""

    def edit(kept: Kept) -> None:
        refuse_commit(kept, _commit(kept), error)

    return edit


def refuse_commit(kept: Kept, row: Row, error: int) -> None:
    """For all its partitions, and its client says so as well."""
    _refuse(row, error)
    for told in kept["commits"]:
        if told["member"] == row["client_id"] and any(
            (told["partition"], told["committed"]) == (each["partition"], each["committed"])
            for each in row["positions"]
        ):
            told["error_code"] = error


def _after_removal(kept: Kept, event: str, by_ms: float) -> None:
    gone = kept.lines(event)
    for line in gone:
        beats = [
            row
            for row in kept.own("HEARTBEAT", "CONSUMER_GROUP_HEARTBEAT")
            if row["member_id"] == line["member_id"] and row["generation"] > 0
            and row["arrived_at"] < line["at"]
        ]  # fmt: skip
        if beats:
            late = (line["at"] - beats[-1]["arrived_at"]) / ms(1) + by_ms
            kept["requests"].append(later(beats[-1], late))
            return
    raise NotThere(f"no member that {event}")


def a_member_that_left_is_accepted(kept: Kept) -> None:
    _after_removal(kept, "left", 310)


def a_member_that_was_evicted_is_accepted(kept: Kept) -> None:
    _after_removal(kept, "evicted", 400)


# What clients make of an answer.
def a_refusal_is_reported_as_made(kept: Kept) -> None:
    _refuse(_commit(kept), 22)


def a_commit_that_was_made_is_reported_as_refused(kept: Kept) -> None:
    rows = [row for row in kept["commits"] if row["asked_at"]]
    rows[len(rows) // 2] |= {"error_code": 25, "error": "UNKNOWN_MEMBER_ID"}


def one_partition_of_a_commit_is_refused_unheard(kept: Kept) -> None:
    rows = [row for row in kept.own("OFFSET_COMMIT") if len(row["positions"]) > 1]
    rows[len(rows) // 2]["positions"][0]["error_code"] = 12


def a_commit_is_answered_after_7_s(kept: Kept) -> None:
    row = kept.own("OFFSET_COMMIT")[3]
    row |= {name: row[name] + ms(7_000) for name in ("processed_at", "answered_at")}


def a_heartbeat_was_sent_and_did_not_arrive(kept: Kept) -> None:
    kept["requests"].remove(steady_beat(kept))


def a_broker_names_another_coordinator(kept: Kept) -> None:
    quiet = kept.quiet(500)
    for row in kept["requests"]:
        if row["api"] == "FIND_COORDINATOR" and abs(row["arrived_at"] - quiet) < ms(1_000):
            named = json.loads(row["detail"])["coordinator"]
            row["detail"] = json.dumps({"coordinator": named % 3 + 1})


def the_coordinator_leads_no_partition_of_offsets(kept: Kept) -> None:
    broker = kept.lines("member_added")[0]["broker"]
    for row in kept["topology"]:
        if row["topic"] == "__consumer_offsets" and row["leader"] == broker:
            row["leader"] = broker % 3 + 1


# Positions.
def a_position_is_not_told(kept: Kept) -> None:
    rows = [row for row in kept.own("OFFSET_FETCH") if len(row["positions"]) > 1]
    rows[-1]["positions"].pop()


def _first_after_assignment(kept: Kept, least: int) -> Row:
    for event in kept.told("assigned"):
        for part in event["partitions"] or ():
            rows = [
                row
                for row in kept["deliveries"]
                if (row["member"], row["partition"]) == (event["member"], part["partition"])
                and row["polled_at"] > event["event_at"]
            ]
            first = min(rows, key=lambda row: row["polled_at"], default=None)
            if first and first["first_offset"] > least and first["count"] > 3:
                return first
    raise NotThere("no partition that is read on")


def a_new_owner_skips_records(kept: Kept) -> None:
    row = _first_after_assignment(kept, 0)
    row["first_offset"] += 3
    row["count"] -= 3


def a_new_owner_reads_again_what_was_committed(kept: Kept) -> None:
    row = _first_after_assignment(kept, 60)
    row["first_offset"] -= 40
    row["count"] += 40


# Transactions.
def a_transaction_takes_the_generation_before(kept: Kept) -> None:
    [row for row in kept.own("TXN_OFFSET_COMMIT") if row["generation"] > 1][-1]["generation"] -= 1


def two_members_have_one_transactional_id(kept: Kept) -> None:
    for row in kept.own("TXN_OFFSET_COMMIT"):
        if row["client_id"] == "member-2":
            row["detail"] = '{"transactional_id": "orders-member-3"}'


def _told_positions(kept: Kept) -> list[Row]:
    return [
        row
        for row in kept["requests"]
        if row["api"] == "OFFSET_FETCH" and row["client_id"] == "observer"
        and row["positions"][0]["committed"] > 20
    ]  # fmt: skip


def positions_stay_where_they_were(kept: Kept) -> None:
    rows = _told_positions(kept)
    first = {each["partition"]: each["committed"] for each in rows[0]["positions"]}
    for row in rows:
        row["positions"] = [
            {**each, "committed": first[3]} if each["partition"] == 3 else each
            for each in row["positions"]
        ]


def positions_run_ahead(kept: Kept) -> None:
    for each in _told_positions(kept)[2]["positions"]:
        each["committed"] += 30


# Descriptions of the group.
def described(state: str, members: int) -> Edit:
    def edit(kept: Kept) -> None:
        stable = next(
            row for row in kept["topology"] if row["what"] == "group" and row["state"] == "Stable"
        )
        told = {"at": kept.quiet(400), "state": state, "members": members}
        kept["topology"].append({**stable, **told})

    return edit


# Epochs of KIP-848.
def a_target_of_an_epoch_to_come(kept: Kept) -> None:
    kept.lines("target_computed")[-1]["generation"] += 4


def a_target_before_its_epoch(kept: Kept) -> None:
    line = kept.lines("target_computed")[-1]
    bumps = kept.lines("epoch_bumped")
    line["at"] = next(row["at"] for row in bumps if row["generation"] == line["generation"]) - ms(
        400
    )


def an_interval_of_7_s_is_named(kept: Kept) -> None:
    for row in kept.own("CONSUMER_GROUP_HEARTBEAT"):
        if row["detail"]:
            row["detail"] = json.dumps(
                {**json.loads(row["detail"]), "heartbeat_interval_ms": 7_000}
            )


# In time.
def processed_before_it_was_handed_over(kept: Kept) -> None:
    row = kept["deliveries"][len(kept["deliveries"]) // 2]
    row["processed_at"] = row["polled_at"] - ms(40)


def read_before_it_was_sent(kept: Kept) -> None:
    rows = sorted(kept["deliveries"], key=lambda row: row["polled_at"])
    row = rows[len(rows) // 2]
    for sent in kept["sends"]:
        same = sent["outcome"] == "acknowledged" and sent["partition"] == row["partition"]
        if same and sent["first_offset"] <= row["first_offset"] <= sent["last_offset"]:
            sent["first_sent_at"] = row["polled_at"] + ms(300)
            return
    raise NotThere("no record that was sent")


def polls_count_back(kept: Kept) -> None:
    rows = [row for row in kept["deliveries"] if row["member"] == kept.members()[0]]
    sorted(rows, key=lambda row: row["polled_at"])[-2]["poll"] = 3


def two_ranges_at_one_offset(kept: Kept) -> None:
    rows = [row for row in kept["sends"] if row["partition"] == 1]
    rows[5] |= {
        "first_offset": rows[4]["first_offset"],
        "last_offset": rows[4]["first_offset"] + rows[5]["count"] - 1,
    }


def records_are_not_accounted_for(kept: Kept) -> None:
    row = [row for row in kept["sends"] if row["partition"] == 1 and row["count"] > 2][3]
    row["first_number"] += 2
    row["count"] -= 2


def a_heartbeat_is_left_out(kept: Kept) -> None:
    kept["requests"].remove(steady_beat(kept))


def _change(
    edit: Callable[[Kept], None], notices: tuple[str, ...], runs: tuple[str, ...]
) -> Change:
    return Change(edit.__name__.replace("_", " "), edit, notices, runs)


CHANGES: Final = (
    *(
        Change(f"a heartbeat is answered {error}", a_heartbeat_is_refused(error), ("X56",), runs)
        for error, runs in ((22, CLASSIC), (25, CLASSIC), (27, CLASSIC), (110, MODERN), (25, LEAVE))
    ),
    *(
        Change(f"a commit is answered {error}", a_commit_is_refused(error), ("X56",), runs)
        for error, runs in ((22, CLASSIC), (25, LEAVE), (113, LEAVE))
    ),
    _change(a_member_that_left_is_accepted, ("X62",), CRASH),
    _change(a_member_that_was_evicted_is_accepted, ("X62",), ("consumer-freeze.",)),
    _change(a_refusal_is_reported_as_made, ("X59",), CLASSIC),
    _change(a_commit_that_was_made_is_reported_as_refused, ("X59",), CLASSIC),
    _change(one_partition_of_a_commit_is_refused_unheard, ("X59",), ("consumer-join.java",)),
    _change(a_commit_is_answered_after_7_s, ("X61",), CLASSIC),
    _change(a_heartbeat_was_sent_and_did_not_arrive, ("X64",), CRASH),
    _change(a_heartbeat_is_left_out, ("R14",), CLASSIC),
    _change(a_broker_names_another_coordinator, ("X66",), (*CLASSIC, *LEAVE)),
    _change(the_coordinator_leads_no_partition_of_offsets, ("X13",), CLASSIC),
    _change(a_position_is_not_told, ("X58",), CLASSIC),
    _change(a_new_owner_skips_records, ("X58",), CRASH),
    _change(a_new_owner_reads_again_what_was_committed, ("X58",), LEAVE),
    _change(a_transaction_takes_the_generation_before, ("X37",), TRANSACTIONS),
    _change(two_members_have_one_transactional_id, ("X67",), TRANSACTIONS),
    _change(positions_stay_where_they_were, ("X68",), TRANSACTIONS),
    _change(positions_run_ahead, ("X68",), TRANSACTIONS),
    Change("described with two more", described("Stable", 5), ("X55",), CLASSIC),
    Change("described as empty", described("Empty", 0), ("X55", "X55-state"), CLASSIC),
    Change("described as dead", described("Dead", 0), ("X55",), MODERN),
    Change("described as rebalancing", described("PreparingRebalance", 3), ("X55-state",), CLASSIC),
    _change(a_target_of_an_epoch_to_come, ("X35",), MODERN),
    _change(a_target_before_its_epoch, ("X35",), MODERN),
    _change(an_interval_of_7_s_is_named, ("X57",), MODERN),
    _change(processed_before_it_was_handed_over, ("X60",), CLASSIC),
    _change(read_before_it_was_sent, ("X60",), CLASSIC),
    _change(polls_count_back, ("X60",), CLASSIC),
    _change(two_ranges_at_one_offset, ("X63",), CLASSIC),
    _change(records_are_not_accounted_for, ("X63",), CLASSIC),
)
