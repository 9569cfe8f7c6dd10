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

from harness.history.column_types import (
    ASSIGNMENTS,
    AT,
    BOOL,
    INT,
    LONG,
    PARTITIONS,
    POSITIONS,
    REAL,
    TEXT,
    schema_of,
)

SCHEMA_VERSION: Final = 5

# Columns that older files do not have, by the version that brought them.
ADDED: Final[dict[int, dict[str, tuple[str, ...]]]] = {
    2: {
        "members": ("assignor", "instance_id", "settings"),
        "requests": ("instance_id", "owned", "member_epoch", "detail"),
        "coordinator_events": ("instance_id",),
    },
    3: {"members": ("told_at", "exit_code"), "requests": ("program",)},
    4: {"host": ("clock_us",)},
}

ADDED_FILES: Final[dict[int, tuple[str, ...]]] = {
    2: ("calls", "outputs"),
    3: ("fetches", "effects"),
    4: ("journals", "logs"),
    5: ("waits",),
}

HISTORY: Final[dict[str, pa.Schema]] = {
    # One row per consumer process (and the producer, role "producer").
    "members": schema_of(
        [
            ("member", TEXT),
            ("role", TEXT),  # consumer | producer
            ("client", TEXT),  # librdkafka | java | app (a program of somebody else's)
            ("client_version", TEXT),
            ("group", TEXT),
            ("protocol", TEXT),  # eager | cooperative | consumer
            ("lane", TEXT),
            ("pid", INT),
            ("session_timeout_ms", INT),
            ("heartbeat_interval_ms", INT),
            ("max_poll_interval_ms", INT),
            ("commit", TEXT),  # when it says it commits: as `how` of commits
            ("auto_commit_interval_ms", INT),
            ("batch_records", INT),  # most records of one poll
            ("process_us", INT),  # declared processing time of one record
            ("assignor", TEXT),  # null: the protocol's usual one
            ("instance_id", TEXT),  # of a static member; null for a dynamic one
            ("settings", TEXT),  # JSON: the client library's own, on top of the harness's
            ("sabotage", TEXT),  # null, or the rule-breaking behaviour built in
            ("started_at", AT),
            # Of an app, as the harness saw it, within 0.1 s: told to end (null: never), and ended.
            ("told_at", AT),
            ("ended_at", AT),  # null: did not end before the history was collected
            # closed | killed | failed | null. An app that was told to end has closed, whatever its
            # exit code, unless it had to be killed; one that ended by itself has failed.
            ("end", TEXT),
            ("exit_code", INT),  # of an app; negative: the number of the signal that ended it
            ("journal_frames", LONG),
            ("journal_torn", BOOL),  # the last frame was cut off (expected after SIGKILL)
        ]
    ),
    # What consumers noticed. event_at is when it happened, as far as the client knows; observed_at
    # is when the application saw it (librdkafka calls back from poll, so a stalled one is late).
    "client_events": schema_of(
        [
            ("member", TEXT),
            # assigned | revoked | lost | stall_started | stall_ended | closing | closed | error |
            # callback_stall_started | callback_stall_ended |
            # signal_dropped (of an app in a container: the kernel dropped the signal that told it
            # to end, which `detail` names, since as PID 1 it has no handler for it) |
            # session_timed_out | max_poll_exceeded; of the Java client also coordinator_lost |
            # coordinator_asked | coordinator_found | heartbeat_sent | heartbeat_failed | fetched
            # (these from the client library's own log, the last where max.partition.fetch.bytes
            # is set)
            ("event", TEXT),
            ("event_at", AT),
            ("observed_at", AT),
            ("member_id", TEXT),
            ("generation", INT),
            ("partitions", PARTITIONS),
            ("duration_ms", REAL),  # stall length asked for; silence told by session_timed_out
            ("detail", TEXT),
        ]
    ),
    # One row per run of consecutive offsets of one partition in one poll.
    "deliveries": schema_of(
        [
            ("member", TEXT),
            ("poll", LONG),  # number of the poll that returned the records, per member, from 1
            ("topic", TEXT),
            ("partition", INT),
            ("first_offset", LONG),
            ("last_offset", LONG),
            ("count", LONG),
            ("member_id", TEXT),
            ("generation", INT),
            ("polled_at", AT),
            ("processed_at", AT),  # null: the process ended before the work was done
        ]
    ),
    # Commits as the consumer asked for them, one row per partition.
    "commits": schema_of(
        [
            ("member", TEXT),
            # auto | sync | async | interval | revoke | external (to a store outside Kafka) |
            # transaction
            ("how", TEXT),
            ("topic", TEXT),
            ("partition", INT),
            ("committed", LONG),
            ("member_id", TEXT),
            ("generation", INT),
            ("asked_at", AT),  # null for auto: the library asks by itself
            ("answered_at", AT),  # null: never answered, so it may or may not have been made
            ("error_code", INT),  # 0 accepted; null: never answered; negative: client's own codes
            ("error", TEXT),
        ]
    ),
    # Ranges of records as the producer knows them.
    "sends": schema_of(
        [
            ("topic", TEXT),
            ("partition", INT),
            ("outcome", TEXT),  # acknowledged | failed | unanswered
            ("first_number", LONG),  # the producer's own running number, per partition
            ("last_number", LONG),
            ("first_offset", LONG),  # null unless acknowledged
            ("last_offset", LONG),
            ("count", LONG),
            ("first_sent_at", AT),
            ("last_answered_at", AT),
            ("error", TEXT),
        ]
    ),
    # What members with commit "transaction" wrote, as readers of either isolation find it at the
    # end: how often each record of the source topic is in the output, one row per run of offsets.
    "outputs": schema_of(
        [
            ("isolation", TEXT),  # read_committed | read_uncommitted
            ("topic", TEXT),  # the source's, as partition and offsets
            ("partition", INT),
            ("first_offset", LONG),
            ("last_offset", LONG),
            ("copies", INT),  # of each of these records
        ]
    ),
    # The coordinator's request log: one row per request of the group protocol.
    "requests": schema_of(
        [
            ("broker", INT),
            ("api", TEXT),  # JOIN_GROUP | SYNC_GROUP | HEARTBEAT | LEAVE_GROUP | OFFSET_COMMIT | …
            ("client_id", TEXT),
            ("program", TEXT),  # of an app: whose lane the request came through; else null
            ("member_id", TEXT),  # of the request; for a first JOIN_GROUP the one it was given
            ("group", TEXT),
            # Of the request, member epochs of KIP-848 too; for JOIN_GROUP of its answer.
            ("generation", INT),
            ("error_code", INT),  # of the answer; for OFFSET_COMMIT the worst of its partitions
            ("arrived_at", AT),  # taken off the wire
            ("processed_at", AT),  # answer ready: when its effect on the group was in force
            ("answered_at", AT),  # answer on the wire
            ("session_timeout_ms", INT),  # JOIN_GROUP only, as the next two
            ("rebalance_timeout_ms", INT),  # of a CONSUMER_GROUP_HEARTBEAT too, if it says it
            ("assignors", pa.list_(TEXT)),
            ("leader", TEXT),  # JOIN_GROUP's answer: member id of the group leader
            ("protocol_name", TEXT),  # JOIN_GROUP's answer: the assignor chosen
            (
                "positions",
                POSITIONS,
            ),  # OFFSET_COMMIT: what was asked and the answer, per partition. OFFSET_FETCH: what
            # was answered, -1 for none; LIST_OFFSETS: the end that was asked for; DELETE_RECORDS:
            # the first record left; OFFSET_DELETE: -1
            ("assignments", ASSIGNMENTS),  # SYNC_GROUP of the leader: what it gave to whom
            ("assigned", PARTITIONS),  # SYNC_GROUP's answer: what this member got
            ("instance_id", TEXT),  # of a static member
            # CONSUMER_GROUP_HEARTBEAT: what the member says it owns; null if it says nothing. What
            # it is given is in `assigned`.
            ("owned", PARTITIONS),
            ("member_epoch", INT),  # of its answer
            ("detail", TEXT),  # JSON: what else a request or its answer holds, by api
            ("listener", TEXT),
            ("client_software", TEXT),
            ("client_software_version", TEXT),
            ("evidence", TEXT),  # log file and line it was read from
        ]
    ),
    # What members of an app asked brokers for, from their request logs: one row per request and
    # partition that it, or its answer, is about. A client names a partition when its position has
    # changed, and a broker answers with those that have records, or an error. A request that names
    # none, and is answered with none, is a row without topic and partition.
    "fetches": schema_of(
        [
            ("broker", INT),
            ("client_id", TEXT),
            ("member", TEXT),  # whose lane it came through
            ("topic", TEXT),
            ("partition", INT),
            ("fetch_offset", LONG),  # the next record that it wants; null: not said again
            ("bytes", LONG),  # of records in the answer; null: the answer does not name it
            ("end_offset", LONG),  # high watermark in the answer; null as `bytes`
            ("error_code", INT),  # null as `bytes`
            ("arrived_at", AT),
            ("answered_at", AT),  # when the answer was ready
            ("evidence", TEXT),
        ]
    ),
    # Records that an app showed to have processed, in the order shown: one row per run of
    # consecutive offsets of one partition.
    "effects": schema_of(
        [
            ("member", TEXT),  # null: of an output topic, where no broker logged whose write it was
            # stdout | http | verifiable | output-N, which is partition N of its output topic
            ("shown_by", TEXT),
            ("topic", TEXT),
            ("partition", INT),
            ("first_offset", LONG),
            ("last_offset", LONG),
            ("count", LONG),
            # When it was posted or written; when the harness read a line, within 0.1 s. What was
            # seen at once is 1 us apart, in its order.
            ("at", AT),
        ]
    ),
    # The coordinator's own log: one row per line that tells of a group.
    "coordinator_events": schema_of(
        [
            ("broker", INT),
            ("at", AT),
            # member_id_given | member_added | rebalance_started | stabilized |
            # assignment_received | evicted | left | stragglers_removed | emptied | loaded |
            # unloaded | pending_evicted | replaced (member_id gives way to another process with
            # the same instance_id); in groups of KIP-848 also epoch_bumped | target_computed |
            # fenced (did not follow a rebalance in time) | left_for_now and replacing_failed
            # (static members) | upgraded | downgraded (of the whole group); and unknown, of a line
            # whose text no version is known to have: without a group, its kind as the reason
            ("event", TEXT),
            ("group", TEXT),
            ("generation", INT),
            ("member_id", TEXT),
            ("members", INT),
            ("instance_id", TEXT),
            ("reason", TEXT),
            ("text", TEXT),
            ("evidence", TEXT),
        ]
    ),
    # What was done to the system, and the proof by another path that it bit.
    "faults": schema_of(
        [
            ("fault", TEXT),  # "1-kill-broker": number in the schedule, then kind
            ("kind", TEXT),  # kill-broker | stop-broker | pause-broker | isolate-broker |
            # upgrade-broker | finalize-features |
            # kill-consumer | freeze-consumer | close-consumer | start-consumer | stall-consumer |
            # bounce-consumer | start-duplicate | stall-callback | delete-offsets |
            # delete-records | latency | bandwidth | isolate | add-partitions
            ("target", TEXT),  # role, as declared
            ("resolved", TEXT),  # what it was when the fault fired: broker-2, member-1
            ("phase", TEXT),  # planned | injecting | injected | healing | healed | failed
            ("at", AT),
            ("took_effect", BOOL),  # with phase injected: what the evidence says; else null
            ("evidence", TEXT),  # with phase injected or failed; with healed where it tells more
            ("parameters", TEXT),  # JSON
        ]
    ),
    # Observer, over a listener that no fault touches; a row where something changed.
    "topology": schema_of(
        [
            ("at", AT),
            ("what", TEXT),  # broker | partition | group | end_offset | unreachable
            ("broker", INT),
            ("alive", BOOL),
            ("topic", TEXT),
            ("partition", INT),
            ("leader", INT),
            ("isr", pa.list_(INT)),
            ("group", TEXT),
            ("state", TEXT),
            ("coordinator", INT),
            ("members", INT),
            ("end_offset", LONG),
            ("detail", TEXT),
        ]
    ),
    # What probes asked over the wire, one row per question, in the order asked.
    "calls": schema_of(
        [
            ("probe", TEXT),
            ("step", TEXT),  # what is exercised: "commit with a stale generation"
            ("rule", TEXT),  # that it is asked for
            ("api", TEXT),  # as in `requests`
            ("group", TEXT),
            ("member_id", TEXT),
            ("instance_id", TEXT),
            ("generation", INT),
            ("broker", INT),  # that was asked
            ("state_before", TEXT),  # of the group, by its coordinator, just before and after
            ("state_after", TEXT),
            ("sent_at", AT),
            ("answered_at", AT),  # null: no answer came
            ("error_code", INT),  # of the answer, the worst of its parts; null: no answer
            ("expected", TEXT),  # JSON: what the script knows that the answer should hold
            ("request", TEXT),  # JSON, Kafka's own field names
            ("answer", TEXT),  # JSON
        ]
    ),
    # The machine itself: the latest clock tick of each 100 ms, or since the row before up to one
    # that was later than the slack; by a process that does nothing else. `clock_us` is a clock that
    # nobody sets, in microseconds from some moment: where `at` runs away from it, the time of day
    # was set, or the machine slept.
    "host": schema_of([("at", AT), ("late_ms", REAL), ("clock_us", LONG)]),
    # Who waited for a processor for longer than the slack, of the processes that the kernel tells
    # of: one row per process and time of about 1 s.
    "waits": schema_of(
        [
            ("process", TEXT),  # broker-1 | controller-101 | toxiproxy | member-1 | producer-1 | …
            ("from_at", AT),
            ("at", AT),
            (
                "waited_ms",
                REAL,
            ),  # of the one of its threads that waited longest, its waits added up
        ]
    ),
    # What was made into history, and whether it is whole: one row per journal that the run has, or
    # should have.
    "journals": schema_of(
        [
            ("journal", TEXT),  # its file's name without the ending; of a client, the member's
            # consumer | producer | probe | observer | faults | watchdog | output | programs |
            # sink | written
            ("role", TEXT),
            ("frames", LONG),  # up to the first that is damaged; null: there is no such file
            ("torn", BOOL),  # bytes follow that are no whole frame
            ("cut", BOOL),  # they are what a SIGKILL leaves of a frame that was being written
            ("gaps", LONG),  # places where frames are missing, or stand twice or in another order
            # closed | failed | killed (by the harness) | untold (by a version whose writers did not
            # tell) | null: it does not say how it ended
            ("ending", TEXT),
            ("first_at", AT),
            ("last_at", AT),
            # Its file, or one that tells what it is about, is not as the run left it; null: nobody
            # noted how that was.
            ("changed", BOOL),
        ]
    ),
    # Likewise one row per log of a broker.
    "logs": schema_of(
        [
            ("broker", INT),
            ("log", TEXT),  # requests | server
            ("lines", LONG),  # null: there is no such file
            ("unread", LONG),  # lines that should tell something, and cannot be read
            ("first_at", AT),
            ("last_at", AT),
            ("changed", BOOL),  # as of journals
            ("example", TEXT),  # where the first unread line is, and why it cannot be read
        ]
    ),
}
