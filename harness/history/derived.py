"""Columns of what is made from a history: the derived tables, and the verdicts."""

from typing import Final

import pyarrow as pa

from harness.history.column_types import AT, BOOL, INT, LONG, REAL, TEXT, schema_of

# How the `why` of a judgement begins that is withheld because the machine spoilt the timing: one of
# SPOILT.
STOOD_STILL: Final = "this machine stood still"
CLOCK_SET: Final = "this machine's time of day was set"
UNWATCHED: Final = "nobody watched this machine"
KEPT: Final = "this machine kept"  # a process waiting for a processor
SPOILT: Final = (STOOD_STILL, CLOCK_SET, UNWATCHED, KEPT)

# Derived by `check` (PySpark); read by `report` and by users.
TABLES: Final[dict[str, pa.Schema]] = {
    # One row per generation of a group, or per group epoch that got a target assignment (KIP-848):
    # the table this product exists for.
    "rebalances": schema_of(
        [
            ("group", TEXT),
            ("generation", INT),  # the one that the rebalance ended in
            # join | leave | expiry | rejoin | fenced | metadata | other (the last three: KIP-848)
            ("trigger", TEXT),
            ("trigger_member", TEXT),
            ("trigger_member_id", TEXT),
            ("reason", TEXT),  # the coordinator's own words
            ("protocol", TEXT),
            ("assignor", TEXT),
            ("coordinator", INT),  # broker
            ("members_before", INT),
            ("members_after", INT),
            ("leader", TEXT),  # member that led the group
            ("leader_member_id", TEXT),
            ("started_at", AT),  # Preparing to rebalance; KIP-848: group epoch bumped
            ("joined_at", AT),  # Stabilized: every member has joined; KIP-848: target computed
            # Assignment received from the group leader; KIP-848: every member is at the epoch.
            ("synced_at", AT),
            ("completed_at", AT),  # last member got its assignment; null: not completed
            ("duration_ms", REAL),  # started to completed
            ("partitions_moved", INT),
            ("partitions_kept", INT),
            ("partitions_revoked", INT),
            ("longest_standstill_ms", REAL),
            (
                "standstills",  # per partition: how long it was not processed around the rebalance
                pa.list_(pa.struct([("topic", TEXT), ("partition", INT), ("ms", REAL)])),
            ),
            ("evidence", TEXT),
        ]
    ),
    # Where the time went: per change of the group and partition, how long no member processed
    # the partition; and per fault that stopped one without a rebalance. The parts, `idle_ms` to
    # `other_ms`, add up to `ms`. A part is null where the protocol has none or where its beginning
    # or end is not on record; its time is in `other_ms` then.
    "stops": schema_of(
        [
            ("group", TEXT),
            ("episode", INT),  # one change of the group and all rebalances it led to; null: none
            ("generation", INT),  # in which the partition got its new owner; null: no rebalance
            ("rounds", INT),  # generations of the episode until then
            ("protocol", TEXT),
            ("trigger", TEXT),  # of the first rebalance, as in `rebalances`
            ("cause", TEXT),  # kind of fault | stall | close | the trigger
            ("subject", TEXT),  # the member (or broker) that it happened to
            ("topic", TEXT),
            ("partition", INT),
            ("old_member", TEXT),  # that processed it last before
            ("new_member", TEXT),  # that processed it first after; the same: it was kept
            ("waited_for", TEXT),  # member whose JoinGroup came last
            ("from_at", AT),  # all that had been delivered was worked off
            ("cause_at", AT),
            ("noticed_at", AT),  # by the coordinator: removal, or start of the rebalance
            # Of the old owner; of the new one where the old one is gone.
            ("heard_at", AT),
            ("given_up_at", AT),  # the old owner's callback
            ("revoked_at", AT),  # given up or rejoined; KIP-848: the coordinator heard of it
            ("rejoined_at", AT),  # JoinGroup for `generation` arrived
            ("joined_at", AT),  # Stabilized: every member has joined
            ("synced_at", AT),  # the answer that gives it to the new owner
            ("assigned_at", AT),  # the new owner's callback; null: it was not taken away
            ("to_at", AT),  # first records delivered
            ("ms", REAL),
            ("usual_ms", REAL),  # longest of any partition with no rebalance and no fault
            ("stopped", BOOL),  # given to a member anew, or longer than usual
            ("idle_ms", REAL),  # before the cause: it waited for records anyway
            # Kept, and its member waited for the answer to a synchronous commit: it comes after
            # that to the member's JoinGroup, or when an in-sync replica is given up; null: not so.
            ("commit_ms", REAL),
            ("detection_ms", REAL),  # cause to noticed; without a rebalance: to a new leader
            ("notice_ms", REAL),  # noticed to heard
            ("revoke_ms", REAL),  # heard to revoked: the work in hand until the next poll
            ("join_ms", REAL),  # revoked to joined: the others
            ("sync_ms", REAL),  # joined (KIP-848: revoked) to assigned
            ("first_fetch_ms", REAL),  # assigned (no rebalance: new leader) to records
            ("other_ms", REAL),
            ("redelivered", LONG),  # records delivered again after it, before the next stop
        ]
    ),
    # Who held which partition from when to when, by the members' own callbacks.
    "ownership": schema_of(
        [
            ("topic", TEXT),
            ("partition", INT),
            ("member", TEXT),
            ("member_id", TEXT),
            ("generation", INT),
            ("from_at", AT),
            ("to_at", AT),  # null: still held when the history ends
            ("ended_by", TEXT),  # revoked | lost | closed | killed | failed | null
            # When the coordinator removed the holder (evicted, left or replaced), if it did: from
            # then to to_at the holder is a zombie that does not know it yet.
            ("removed_at", AT),
        ]
    ),
    "redeliveries": schema_of(
        [
            ("topic", TEXT),
            ("partition", INT),
            ("first_offset", LONG),
            ("last_offset", LONG),
            ("count", LONG),  # of the records that came again; there may be others between them
            ("first_member", TEXT),  # delivered before to
            ("first_polled_at", AT),
            ("member", TEXT),  # delivered again to
            ("polled_at", AT),
            ("committed", LONG),  # last position accepted before the second delivery
            ("zombie", BOOL),  # to a member that the coordinator had removed by then
            ("explained", BOOL),  # to a zombie, or every record at or after that position
            # The first commit by its first member that would have covered it; null: there was none.
            ("try_committed", LONG),
            ("try_at", AT),  # answered by the coordinator, or asked for if that has no record
            ("try_error_code", INT),  # null: never answered
            ("why", TEXT),  # one clause: what became of that commit
        ]
    ),
    # Members that the coordinator removed because their session ran out.
    "evictions": schema_of(
        [
            ("group", TEXT),
            ("member", TEXT),
            ("member_id", TEXT),
            ("broker", INT),
            ("generation", INT),
            ("evicted_at", AT),
            ("last_seen_at", AT),  # last accepted request that re-arms the session timer
            ("last_seen_api", TEXT),
            # The later of that and the load of a new coordinator, and the earliest that it can be.
            ("timer_started_at", AT),
            ("silence_ms", REAL),  # from then to the eviction: the most that it can have been
            ("silence_least_ms", REAL),  # the least: no line says when a request had its effect
            ("session_timeout_ms", INT),
            ("evidence", TEXT),
        ]
    ),
    "heartbeats": schema_of(
        [
            ("group", TEXT),
            ("member", TEXT),
            ("member_id", TEXT),
            ("generation", INT),
            ("broker", INT),
            ("at", AT),  # processed
            ("gap_ms", REAL),  # since the same member id's heartbeat before; null for the first
            ("error_code", INT),
            ("steady", BOOL),  # no rebalance, coordinator change or fault on its link in the gap
        ]
    ),
    "commits_judged": schema_of(
        [
            ("group", TEXT),
            ("member", TEXT),
            ("member_id", TEXT),
            ("generation", INT),
            ("topic", TEXT),
            ("partition", INT),
            ("committed", LONG),
            ("at", AT),
            ("error_code", INT),
            ("removed_at", AT),  # when the coordinator had removed this member id, if before `at`
            ("group_generation", INT),  # of the group at that moment
            ("previous_committed", LONG),  # last accepted before it
        ]
    ),
    # Of an app only, what it read: by what it showed to have processed, or else by what it fetched.
    "reads": schema_of(
        [
            ("member", TEXT),
            ("poll", LONG),  # number of the row, per member
            ("topic", TEXT),
            ("partition", INT),
            ("first_offset", LONG),
            ("last_offset", LONG),
            ("count", LONG),
            ("member_id", TEXT),
            ("generation", INT),
            ("polled_at", AT),
            ("processed_at", AT),  # the same
        ]
    ),
    # What each rule looked at: one row per thing examined. `ok` null means "cannot tell".
    "judgements": schema_of(
        [
            ("rule", TEXT),
            ("subject", TEXT),  # "member-2 (eviction)", "t-3", "generation 4"
            ("at", AT),
            ("ok", BOOL),
            ("measured", REAL),
            ("bound_low", REAL),
            ("bound_high", REAL),
            ("why", TEXT),  # one clause; for ok = null why it cannot be judged
            ("evidence", TEXT),
            # Why a row outside its bounds, or without a measurement, holds all the same; else null.
            ("excused", TEXT),
        ]
    ),
    # One row per rule that the experiment does not declare and that the run exercises. What holds
    # or could not be judged is as DuckDB found it; what is violated has a verdict of Spark as well.
    "other_rules": schema_of(
        [
            ("rule", TEXT),
            ("verdict", TEXT),  # HOLDS | VIOLATED | UNKNOWN
            ("examined", LONG),
            ("violations", LONG),
            ("unknowns", LONG),
            ("reason", TEXT),  # one sentence, as in the verdicts
        ]
    ),
    # How many answers members were given, and how many of them the rules about answers judge; one
    # row for all requests and one for those that were refused. Of an app there is none.
    "answers": schema_of(
        [
            ("what", TEXT),  # requests | refusals
            ("answered", LONG),
            ("judged", LONG),
        ]
    ),
}

VERDICTS_FILE: Final = "verdicts.parquet"  # of a run, and of a suite

# One row per rule of the experiment, plus the evidence rules that every run is judged by, plus
# those that the experiment does not declare and the run violates.
VERDICTS: Final = schema_of(
    [
        ("rule", TEXT),
        ("source", TEXT),  # document and section
        ("statement", TEXT),
        ("protocol", TEXT),
        ("client", TEXT),
        # HOLDS | VIOLATED | UNKNOWN; HOLDS where a violation went beyond what was expected of it
        ("expected", TEXT),
        ("verdict", TEXT),
        ("examined", LONG),
        ("violations", LONG),
        ("unknowns", LONG),
        # Of the examined, those that are unknown or excused; null where an older version judged.
        ("left_out", LONG),
        ("measured_min", REAL),
        ("measured_p50", REAL),
        ("measured_p99", REAL),
        ("measured_max", REAL),
        ("bound_low", REAL),
        ("bound_high", REAL),
        ("unit", TEXT),
        ("reason", TEXT),  # one sentence: why this verdict; for UNKNOWN what was missing
        ("because", TEXT),  # why another verdict than HOLDS was expected
        ("evidence", TEXT),  # path in the run folder of the rows behind it
    ]
)
