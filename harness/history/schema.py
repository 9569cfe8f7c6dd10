"""Columns of every history file: the border between `run`, which writes them, and `check`.

All times are UTC with microseconds. `member` is the harness's name of one consumer process
("member-2", also its Kafka client id); `member_id` is the id that the coordinator gave it, and a
process that rejoins can have several. Positions follow Kafka: `committed` is the next record to
read, `last_offset` the last one read.

Changing a column means a new SCHEMA_VERSION and a reader for the old one. A file of an older
version lacks what has come since: its columns read as null (ADDED), whole files as without a row
(ADDED_FILES), for a run of that version could not do what they are about.
"""

from typing import Final

import pyarrow as pa

# How the `why` of a judgement begins that is withheld because the machine spoilt the timing.
STOOD_STILL: Final = "this machine stood still"

SCHEMA_VERSION: Final = 2
# Columns that older files do not have, by the version that brought them.
ADDED: Final[dict[int, dict[str, tuple[str, ...]]]] = {
    2: {
        "members": ("assignor", "instance_id", "settings"),
        "requests": ("instance_id", "owned", "member_epoch", "detail"),
        "coordinator_events": ("instance_id",),
    },
}
ADDED_FILES: Final[dict[int, tuple[str, ...]]] = {2: ("calls", "outputs")}


def _schema(columns: list[tuple[str, pa.DataType]]) -> pa.Schema:
    return pa.schema(columns)


_at = pa.timestamp("us", tz="UTC")
_text = pa.string()
_int = pa.int32()
_long = pa.int64()
_real = pa.float64()
_bool = pa.bool_()
_partitions = pa.list_(pa.struct([("topic", _text), ("partition", _int)]))
_positions = pa.list_(
    pa.struct([("topic", _text), ("partition", _int), ("committed", _long), ("error_code", _int)])
)
_assignments = pa.list_(pa.struct([("member_id", _text), ("topic", _text), ("partition", _int)]))

HISTORY: Final[dict[str, pa.Schema]] = {
    # One row per consumer process (and the producer, role "producer").
    "members": _schema(
        [
            ("member", _text),
            ("role", _text),  # consumer | producer
            ("client", _text),  # librdkafka | java
            ("client_version", _text),
            ("group", _text),
            ("protocol", _text),  # eager | cooperative | consumer
            ("lane", _text),
            ("pid", _int),
            ("session_timeout_ms", _int),
            ("heartbeat_interval_ms", _int),
            ("max_poll_interval_ms", _int),
            ("commit", _text),  # when it says it commits: as `how` of commits
            ("auto_commit_interval_ms", _int),
            ("batch_records", _int),  # most records of one poll
            ("process_us", _int),  # declared processing time of one record
            ("assignor", _text),  # null: the protocol's usual one
            ("instance_id", _text),  # of a static member; null for a dynamic one
            ("settings", _text),  # JSON: the client library's own, on top of the harness's
            ("sabotage", _text),  # null, or the rule-breaking behaviour built in
            ("started_at", _at),
            ("ended_at", _at),  # null: did not end before the history was collected
            ("end", _text),  # closed | killed | failed | null
            ("journal_frames", _long),
            ("journal_torn", _bool),  # the last frame was cut off (expected after SIGKILL)
        ]
    ),
    # What consumers noticed. event_at is when it happened, as far as the client knows; observed_at
    # is when the application saw it (librdkafka calls back from poll, so a stalled one is late).
    "client_events": _schema(
        [
            ("member", _text),
            # assigned | revoked | lost | stall_started | stall_ended | closing | closed | error |
            # callback_stall_started | callback_stall_ended |
            # session_timed_out | max_poll_exceeded; of the Java client also coordinator_lost |
            # coordinator_asked | coordinator_found | heartbeat_sent | heartbeat_failed | fetched
            # (these from the client library's own log, the last where max.partition.fetch.bytes
            # is set)
            ("event", _text),
            ("event_at", _at),
            ("observed_at", _at),
            ("member_id", _text),
            ("generation", _int),
            ("partitions", _partitions),
            ("duration_ms", _real),  # stall length asked for; silence told by session_timed_out
            ("detail", _text),
        ]
    ),
    # One row per run of consecutive offsets of one partition in one poll.
    "deliveries": _schema(
        [
            ("member", _text),
            ("poll", _long),  # number of the poll that returned the records, per member, from 1
            ("topic", _text),
            ("partition", _int),
            ("first_offset", _long),
            ("last_offset", _long),
            ("count", _long),
            ("member_id", _text),
            ("generation", _int),
            ("polled_at", _at),
            ("processed_at", _at),  # null: the process ended before the work was done
        ]
    ),
    # Commits as the consumer asked for them, one row per partition.
    "commits": _schema(
        [
            ("member", _text),
            # auto | sync | async | interval | revoke | external (to a store outside Kafka) |
            # transaction
            ("how", _text),
            ("topic", _text),
            ("partition", _int),
            ("committed", _long),
            ("member_id", _text),
            ("generation", _int),
            ("asked_at", _at),  # null for auto: the library asks by itself
            ("answered_at", _at),  # null: never answered, so it may or may not have been made
            ("error_code", _int),  # 0 accepted; null: never answered; negative: client's own codes
            ("error", _text),
        ]
    ),
    # Ranges of records as the producer knows them.
    "sends": _schema(
        [
            ("topic", _text),
            ("partition", _int),
            ("outcome", _text),  # acknowledged | failed | unanswered
            ("first_number", _long),  # the producer's own running number, per partition
            ("last_number", _long),
            ("first_offset", _long),  # null unless acknowledged
            ("last_offset", _long),
            ("count", _long),
            ("first_sent_at", _at),
            ("last_answered_at", _at),
            ("error", _text),
        ]
    ),
    # What members with commit "transaction" wrote, as readers of either isolation find it at the
    # end: how often each record of the source topic is in the output, one row per run of offsets.
    "outputs": _schema(
        [
            ("isolation", _text),  # read_committed | read_uncommitted
            ("topic", _text),  # the source's, as partition and offsets
            ("partition", _int),
            ("first_offset", _long),
            ("last_offset", _long),
            ("copies", _int),  # of each of these records
        ]
    ),
    # The coordinator's request log: one row per request of the group protocol.
    "requests": _schema(
        [
            ("broker", _int),
            ("api", _text),  # JOIN_GROUP | SYNC_GROUP | HEARTBEAT | LEAVE_GROUP | OFFSET_COMMIT | …
            ("client_id", _text),
            ("member_id", _text),  # of the request; for a first JOIN_GROUP the one it was given
            ("group", _text),
            # Of the request, member epochs of KIP-848 too; for JOIN_GROUP of its answer.
            ("generation", _int),
            ("error_code", _int),  # of the answer; for OFFSET_COMMIT the worst of its partitions
            ("arrived_at", _at),  # taken off the wire
            ("processed_at", _at),  # answer ready: when its effect on the group was in force
            ("answered_at", _at),  # answer on the wire
            ("session_timeout_ms", _int),  # JOIN_GROUP only, as the next two
            ("rebalance_timeout_ms", _int),  # of a CONSUMER_GROUP_HEARTBEAT too, if it says it
            ("assignors", pa.list_(_text)),
            ("leader", _text),  # JOIN_GROUP's answer: member id of the group leader
            ("protocol_name", _text),  # JOIN_GROUP's answer: the assignor chosen
            (
                "positions",
                _positions,
            ),  # OFFSET_COMMIT: what was asked and the answer, per partition. OFFSET_FETCH: what
            # was answered, -1 for none; LIST_OFFSETS: the end that was asked for; DELETE_RECORDS:
            # the first record left; OFFSET_DELETE: -1
            ("assignments", _assignments),  # SYNC_GROUP of the leader: what it gave to whom
            ("assigned", _partitions),  # SYNC_GROUP's answer: what this member got
            ("instance_id", _text),  # of a static member
            # CONSUMER_GROUP_HEARTBEAT: what the member says it owns; null if it says nothing. What
            # it is given is in `assigned`.
            ("owned", _partitions),
            ("member_epoch", _int),  # of its answer
            ("detail", _text),  # JSON: what else a request or its answer holds, by api
            ("listener", _text),
            ("client_software", _text),
            ("client_software_version", _text),
            ("evidence", _text),  # log file and line it was read from
        ]
    ),
    # The coordinator's own log: one row per line that tells of a group.
    "coordinator_events": _schema(
        [
            ("broker", _int),
            ("at", _at),
            # member_id_given | member_added | rebalance_started | stabilized |
            # assignment_received | evicted | left | stragglers_removed | emptied | loaded |
            # unloaded | pending_evicted | replaced (member_id gives way to another process with
            # the same instance_id); in groups of KIP-848 also epoch_bumped | target_computed |
            # fenced (did not follow a rebalance in time) | left_for_now and replacing_failed
            # (static members) | upgraded | downgraded (of the whole group)
            ("event", _text),
            ("group", _text),
            ("generation", _int),
            ("member_id", _text),
            ("members", _int),
            ("instance_id", _text),
            ("reason", _text),
            ("text", _text),
            ("evidence", _text),
        ]
    ),
    # What was done to the system, and the proof by another path that it bit.
    "faults": _schema(
        [
            ("fault", _text),  # "1-kill-broker": number in the schedule, then kind
            ("kind", _text),  # kill-broker | stop-broker | pause-broker | isolate-broker |
            # kill-consumer | freeze-consumer | close-consumer | start-consumer | stall-consumer |
            # bounce-consumer | start-duplicate | stall-callback | delete-offsets |
            # delete-records | latency | bandwidth | isolate | add-partitions
            ("target", _text),  # role, as declared
            ("resolved", _text),  # what it was when the fault fired: broker-2, member-1
            ("phase", _text),  # planned | injecting | injected | healing | healed | failed
            ("at", _at),
            ("took_effect", _bool),  # with phase injected: what the evidence says; else null
            ("evidence", _text),
            ("parameters", _text),  # JSON
        ]
    ),
    # Observer, over a listener that no fault touches; a row where something changed.
    "topology": _schema(
        [
            ("at", _at),
            ("what", _text),  # broker | partition | group | end_offset | unreachable
            ("broker", _int),
            ("alive", _bool),
            ("topic", _text),
            ("partition", _int),
            ("leader", _int),
            ("isr", pa.list_(_int)),
            ("group", _text),
            ("state", _text),
            ("coordinator", _int),
            ("members", _int),
            ("end_offset", _long),
            ("detail", _text),
        ]
    ),
    # What probes asked over the wire, one row per question, in the order asked.
    "calls": _schema(
        [
            ("probe", _text),
            ("step", _text),  # what is exercised: "commit with a stale generation"
            ("rule", _text),  # that it is asked for
            ("api", _text),  # as in `requests`
            ("group", _text),
            ("member_id", _text),
            ("instance_id", _text),
            ("generation", _int),
            ("broker", _int),  # that was asked
            ("state_before", _text),  # of the group, by its coordinator, just before and after
            ("state_after", _text),
            ("sent_at", _at),
            ("answered_at", _at),  # null: no answer came
            ("error_code", _int),  # of the answer, the worst of its parts; null: no answer
            ("expected", _text),  # JSON: what the script knows that the answer should hold
            ("request", _text),  # JSON, Kafka's own field names
            ("answer", _text),  # JSON
        ]
    ),
    # The machine itself: the latest clock tick of each 100 ms, or since the row before up to one
    # that was later than the slack; by a process that does nothing else.
    "host": _schema([("at", _at), ("late_ms", _real)]),
}

# Derived by `check` (PySpark); read by `report` and by users.
TABLES: Final[dict[str, pa.Schema]] = {
    # One row per generation of a group, or per group epoch that got a target assignment (KIP-848):
    # the table this product exists for.
    "rebalances": _schema(
        [
            ("group", _text),
            ("generation", _int),  # the one that the rebalance ended in
            # join | leave | expiry | rejoin | fenced | metadata | other (the last three: KIP-848)
            ("trigger", _text),
            ("trigger_member", _text),
            ("trigger_member_id", _text),
            ("reason", _text),  # the coordinator's own words
            ("protocol", _text),
            ("assignor", _text),
            ("coordinator", _int),  # broker
            ("members_before", _int),
            ("members_after", _int),
            ("leader", _text),  # member that led the group
            ("leader_member_id", _text),
            ("started_at", _at),  # Preparing to rebalance; KIP-848: group epoch bumped
            ("joined_at", _at),  # Stabilized: every member has joined; KIP-848: target computed
            # Assignment received from the group leader; KIP-848: every member is at the epoch.
            ("synced_at", _at),
            ("completed_at", _at),  # last member got its assignment; null: not completed
            ("duration_ms", _real),  # started to completed
            ("partitions_moved", _int),
            ("partitions_kept", _int),
            ("partitions_revoked", _int),
            ("longest_standstill_ms", _real),
            (
                "standstills",  # per partition: how long nobody processed it around the rebalance
                pa.list_(pa.struct([("topic", _text), ("partition", _int), ("ms", _real)])),
            ),
            ("evidence", _text),
        ]
    ),
    # Where the time went: per change of the group and partition, how long nobody processed the
    # partition; and per fault that stopped one without a rebalance. The parts, `idle_ms` to
    # `other_ms`, add up to `ms`. A part is null where the protocol has none or where its beginning
    # or end is not on record; its time is in `other_ms` then.
    "stops": _schema(
        [
            ("group", _text),
            ("episode", _int),  # one change of the group and all rebalances it led to; null: none
            ("generation", _int),  # in which the partition got its new owner; null: no rebalance
            ("rounds", _int),  # generations of the episode until then
            ("protocol", _text),
            ("trigger", _text),  # of the first rebalance, as in `rebalances`
            ("cause", _text),  # kind of fault | stall | close | the trigger
            ("subject", _text),  # the member (or broker) that it happened to
            ("topic", _text),
            ("partition", _int),
            ("old_member", _text),  # that processed it last before
            ("new_member", _text),  # that processed it first after; the same: it was kept
            ("waited_for", _text),  # member whose JoinGroup came last
            ("from_at", _at),  # all that had been delivered was worked off
            ("cause_at", _at),
            ("noticed_at", _at),  # by the coordinator: removal, or start of the rebalance
            # Of the old owner; of the new one where the old one is gone.
            ("heard_at", _at),
            ("given_up_at", _at),  # the old owner's callback
            ("revoked_at", _at),  # given up or rejoined; KIP-848: the coordinator heard of it
            ("rejoined_at", _at),  # JoinGroup for `generation` arrived
            ("joined_at", _at),  # Stabilized: every member has joined
            ("synced_at", _at),  # the answer that gives it to the new owner
            ("assigned_at", _at),  # the new owner's callback; null: nobody took it away
            ("to_at", _at),  # first records delivered
            ("ms", _real),
            ("usual_ms", _real),  # longest of any partition with no rebalance and no fault
            ("stopped", _bool),  # given to somebody anew, or longer than usual
            ("idle_ms", _real),  # before the cause: it waited for records anyway
            # Kept, and its member waited for the answer to a synchronous commit: it comes after
            # that to the member's JoinGroup, or when an in-sync replica is given up; null: not so.
            ("commit_ms", _real),
            ("detection_ms", _real),  # cause to noticed; without a rebalance: to a new leader
            ("notice_ms", _real),  # noticed to heard
            ("revoke_ms", _real),  # heard to revoked: the work in hand until the next poll
            ("join_ms", _real),  # revoked to joined: the others
            ("sync_ms", _real),  # joined (KIP-848: revoked) to assigned
            ("first_fetch_ms", _real),  # assigned (no rebalance: new leader) to records
            ("other_ms", _real),
            ("redelivered", _long),  # records delivered again after it, before the next stop
        ]
    ),
    # Who held which partition from when to when, by the members' own callbacks.
    "ownership": _schema(
        [
            ("topic", _text),
            ("partition", _int),
            ("member", _text),
            ("member_id", _text),
            ("generation", _int),
            ("from_at", _at),
            ("to_at", _at),  # null: still held when the history ends
            ("ended_by", _text),  # revoked | lost | closed | killed | failed | null
            # When the coordinator removed the holder (evicted, left or replaced), if it did: from
            # then to to_at the holder is a zombie that does not know it yet.
            ("removed_at", _at),
        ]
    ),
    "redeliveries": _schema(
        [
            ("topic", _text),
            ("partition", _int),
            ("first_offset", _long),
            ("last_offset", _long),
            ("count", _long),
            ("first_member", _text),  # delivered before to
            ("first_polled_at", _at),
            ("member", _text),  # delivered again to
            ("polled_at", _at),
            ("committed", _long),  # last position accepted before the second delivery
            ("zombie", _bool),  # to a member that the coordinator had removed by then
            ("explained", _bool),  # to a zombie, or every record at or after that position
            # The first commit by its first member that would have covered it; null: there was none.
            ("try_committed", _long),
            ("try_at", _at),  # answered by the coordinator, or asked for if that has no record
            ("try_error_code", _int),  # null: never answered
            ("why", _text),  # one clause: what became of that commit
        ]
    ),
    # Members that the coordinator removed because their session ran out.
    "evictions": _schema(
        [
            ("group", _text),
            ("member", _text),
            ("member_id", _text),
            ("broker", _int),
            ("generation", _int),
            ("evicted_at", _at),
            ("last_seen_at", _at),  # last accepted request that re-arms the session timer
            ("last_seen_api", _text),
            ("timer_started_at", _at),  # the later of that and the load of a new coordinator
            ("silence_ms", _real),  # timer start to eviction
            ("session_timeout_ms", _int),
            ("evidence", _text),
        ]
    ),
    "heartbeats": _schema(
        [
            ("group", _text),
            ("member", _text),
            ("member_id", _text),
            ("generation", _int),
            ("broker", _int),
            ("at", _at),  # processed
            ("gap_ms", _real),  # since the same member id's heartbeat before; null for the first
            ("error_code", _int),
            ("steady", _bool),  # no rebalance, coordinator change or fault on its link in the gap
        ]
    ),
    "commits_judged": _schema(
        [
            ("group", _text),
            ("member", _text),
            ("member_id", _text),
            ("generation", _int),
            ("topic", _text),
            ("partition", _int),
            ("committed", _long),
            ("at", _at),
            ("error_code", _int),
            ("removed_at", _at),  # when the coordinator had removed this member id, if before `at`
            ("group_generation", _int),  # of the group at that moment
            ("previous_committed", _long),  # last accepted before it
        ]
    ),
    # What each rule looked at: one row per thing examined. `ok` null means "cannot tell".
    "judgements": _schema(
        [
            ("rule", _text),
            ("subject", _text),  # "member-2 (eviction)", "t-3", "generation 4"
            ("at", _at),
            ("ok", _bool),
            ("measured", _real),
            ("bound_low", _real),
            ("bound_high", _real),
            ("why", _text),  # one clause; for ok = null why it cannot be judged
            ("evidence", _text),
            # Why a row outside its bounds, or without a measurement, holds all the same; else null.
            ("excused", _text),
        ]
    ),
}

VERDICTS_FILE: Final = "verdicts.parquet"  # of a run, and of a suite
# One row per rule of the experiment, plus the evidence rules that every run is judged by.
VERDICTS: Final = _schema(
    [
        ("rule", _text),
        ("source", _text),  # document and section
        ("statement", _text),
        ("protocol", _text),
        ("client", _text),
        ("expected", _text),  # HOLDS | VIOLATED | UNKNOWN
        ("verdict", _text),
        ("examined", _long),
        ("violations", _long),
        ("unknowns", _long),
        ("measured_min", _real),
        ("measured_p50", _real),
        ("measured_p99", _real),
        ("measured_max", _real),
        ("bound_low", _real),
        ("bound_high", _real),
        ("unit", _text),
        ("reason", _text),  # one sentence: why this verdict; for UNKNOWN what was missing
        ("because", _text),  # why another verdict than HOLDS was expected
        ("evidence", _text),  # path in the run folder of the rows behind it
    ]
)
