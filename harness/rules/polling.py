"""What one poll of the Java client returns, and from where: its buffer, filled by fetches."""

from typing import Final

from harness.rules.rule import A_PROBE, Groups, Rule

# Kafka's defaults (ConsumerConfig).
FETCH_BYTES: Final = 1_048_576  # max.partition.fetch.bytes
POLL_RECORDS: Final = 500  # max.poll.records
# The largest batch that our producer makes: librdkafka's batch.size unless set.
BATCH_BYTES: Final = 1_000_000
# How much later than its time-out a poll with nothing to return comes back (measured on a busy
# machine: 3 ms by the classic client, 117 ms by that of KIP-848).
POLL_LATE_MS: Final = 250

# What one fetch brought of one partition, by the client's own log, and the polls that handed it
# out. Up to where it went is told by the next fetch of the partition whose records were not handed
# out already: the client of KIP-848 may ask again while it has records left, and drops the answer
# if these were handed out meanwhile (seen after the first fetch in 2 of 4 runs).
FETCHES = """
    told AS (
        SELECT e.member, e.event_at AS at, m.batch_records,
               CAST(coalesce(nullif(from_json(m.settings, 'map<string, string>')[
                        'max.partition.fetch.bytes'], 'unset'), string(:FETCH_BYTES)) AS BIGINT)
                   AS limit_bytes,
               CAST(regexp_extract(e.detail, 'at offset (\\\\d+) for', 1) AS BIGINT) AS first,
               CAST(regexp_extract(e.detail, 'for partition \\\\S+-(\\\\d+) returned', 1) AS INT)
                   AS partition,
               CAST(regexp_extract(e.detail, 'size=(\\\\d+)', 1) AS BIGINT) AS bytes,
               CAST(nullif(regexp_extract(e.detail, 'highWatermark=(\\\\d+)', 1), '') AS BIGINT)
                   AS upto
        FROM {client_events} e JOIN {members} m USING (member) WHERE e.event = 'fetched'
    ), followed AS (
        -- What is behind the high watermark another member has read meanwhile.
        SELECT *, lead(at) OVER w AS next_at,
               (lead(first) OVER w) - first - greatest((lead(first) OVER w) - upto, 0) AS records
        FROM told t
        WHERE NOT EXISTS (
            SELECT 1 FROM {deliveries} d
            WHERE same(d, t, member, partition) AND d.polled_at < t.at
              AND d.first_offset <= t.first AND d.last_offset >= t.first
        ) OR EXISTS (
            SELECT 1 FROM {deliveries} d
            WHERE same(d, t, member, partition) AND d.polled_at >= t.at
              AND d.first_offset <= t.first AND d.last_offset >= t.first
        )
        WINDOW w AS (PARTITION BY member, partition ORDER BY at, first)
    ), fetches AS (
        SELECT f.member, f.partition, f.at, f.first, f.next_at, f.records, f.bytes, f.limit_bytes,
               f.upto, f.batch_records, count(DISTINCT d.poll) AS polls,
               sort_array(collect_set(d.polled_at), false) AS polled
        FROM followed f JOIN {deliveries} d ON same(d, f, member, partition)
         AND d.first_offset < f.first + f.records AND d.last_offset >= f.first
         AND d.polled_at >= f.at
        WHERE f.bytes > 0 AND f.records > 0
        GROUP BY ALL
    )
"""


@Rule(
    "R23",
    title="One poll returns at most max.poll.records",
    statement="One poll returns at most max.poll.records records, counted over all partitions.",
    source="document 002, poll and max.poll.records",
    unit="records",
    things="members",
    measures="from one poll at most",
    too_high="got more than max.poll.records from one poll",
    matters="The setting bounds the work between two polls, and so the time that it may take.",
    clients=("java",),
)
def at_most() -> str:
    """The largest poll of each member; one of several partitions counts as a whole."""
    return """
        WITH polls AS (
            SELECT member, poll, min(polled_at) AS at, sum(count) AS records,
                   count(DISTINCT partition) AS partitions
            FROM {deliveries} GROUP BY member, poll
        )
        SELECT p.member AS subject, max(struct(p.records, p.at)).at AS at,
               max(p.records) AS measured, m.batch_records AS bound_high,
               concat('of ', count(*), ' polls, of ', max(p.partitions), ' partitions at most')
                   AS note
        FROM polls p JOIN {members} m USING (member) WHERE m.client = 'java'
        GROUP BY p.member, m.batch_records
    """


@Rule(
    "R24",
    title="A fetch returns at most max.partition.fetch.bytes",
    statement="A fetch returns at most max.partition.fetch.bytes of one partition, or one batch "
    "that is larger. Its records are handed out over as many polls as max.poll.records requires.",
    source="document 002, max.partition.fetch.bytes; KIP-74",
    unit="bytes",
    things="fetches of a partition",
    measures="from one fetch",
    too_high="returned more than max.partition.fetch.bytes",
    matters="The setting bounds the memory that a consumer needs for each of its partitions.",
    clients=("java",),
)
def fetch_is_bounded() -> str:
    """Fetches, each with its size by the client's log, which does not tell its batches apart.

    So one that is above a limit that a single batch may exceed cannot be judged.
    """
    return """
        WITH {FETCHES}
        SELECT concat(member, ', t-', partition, ' from ', first) AS subject, at,
               bytes AS measured, limit_bytes AS bound_high,
               IF(bytes > limit_bytes AND bytes <= :BATCH_BYTES,
                  'may be a single batch that is larger than max.partition.fetch.bytes', NULL)
                   AS unknown,
               CASE WHEN polls < ceil(records / batch_records)
                    THEN clause(records, ' records handed out by ', polls, ' polls') END
                   AS wrong,
               concat(records, ' records handed out by ', polls, ' polls') AS note
        FROM fetches
    """


@Rule(
    "R23-default",
    title="By default a poll returns 500 records at most",
    statement="The default of max.poll.records is 500: a poll that leaves records behind returns "
    "500.",
    source="document 002, max.poll.records; ConsumerConfig",
    unit="records",
    things="polls that left records of a fetch behind",
    measures="from one poll",
    too_low="returned fewer records than the default allows, and left records behind",
    too_high="returned more records than the default allows",
    matters="A consumer with default settings has to process 500 records within "
    "max.poll.interval.ms.",
    clients=("java",),
    in_passing=True,
)
def default_records() -> str:
    """Polls of members that leave the setting out, where the same fetch had more to hand out."""
    return """
        WITH {FETCHES}, left_some AS (
            SELECT DISTINCT d.member, d.poll
            FROM fetches f JOIN {deliveries} d
              ON same(d, f, member, partition) AND d.polled_at >= f.at
             AND d.first_offset >= f.first AND d.last_offset < f.first + f.records - 1
            JOIN {members} m ON m.member = f.member
            WHERE from_json(m.settings, 'map<string, string>')['max.poll.records'] = 'unset'
        )
        SELECT concat(d.member, ', poll ', d.poll) AS subject, min(d.polled_at) AS at,
               sum(d.count) AS measured, :POLL_RECORDS AS bound_low, :POLL_RECORDS AS bound_high
        FROM {deliveries} d JOIN left_some l ON same(l, d, member, poll)
        GROUP BY d.member, d.poll
    """


@Rule(
    "R24-default",
    title="By default a fetch returns 1 MiB of a partition at most",
    statement="The default of max.partition.fetch.bytes is 1,048,576: a fetch of a partition that "
    "has more data returns as much as that.",
    source="document 002, max.partition.fetch.bytes; ConsumerConfig",
    unit="bytes",
    things="fetches that left records of the partition behind",
    measures="from one fetch",
    too_low="returned less than the default allows, and left records behind",
    too_high="returned more than the default allows",
    matters="Records that are larger in total need several fetches.",
    clients=("java",),
    in_passing=True,
)
def default_bytes() -> str:
    """Fetches of members that leave the setting out, of partitions that had more to be read."""
    return """
        WITH {FETCHES}
        SELECT concat(f.member, ', t-', f.partition, ' from ', f.first) AS subject, f.at,
               f.bytes AS measured, :FETCH_BYTES AS bound_low, :FETCH_BYTES AS bound_high,
               concat(f.records, ' of ', f.upto - f.first, ' records') AS note
        FROM fetches f JOIN {members} m USING (member)
        WHERE f.upto > f.first + f.records
          AND from_json(m.settings, 'map<string, string>')['max.partition.fetch.bytes'] = 'unset'
    """


@Rule(
    "R25",
    title="Poll hands out buffered records before it fetches again",
    statement="The records of one fetch are handed out, poll by poll, before the next fetch of "
    "their partition.",
    source="document 002, poll (pollForFetches)",
    unit="polls",
    things="fetches handed out by several polls",
    measures="for one fetch",
    matters="A small max.poll.records costs more polls, but no more fetches.",
    clients=("java",),
)
def buffer_first() -> str:
    """The next fetch of a partition comes when its last records are handed out, not before.

    `polled` is stamped when a poll has returned, and the fetch is sent just before that: so it may
    be answered from the last but one poll on.
    """
    return """
        WITH {FETCHES}
        SELECT concat(member, ', t-', partition, ' from ', first) AS subject, at,
               polls AS measured, 2 AS bound_low,
               CASE WHEN next_at < polled[1]
                    THEN 'the partition was fetched again before its last records were handed out'
                    END AS wrong,
               concat(records, ' records handed out before the next fetch') AS note
        FROM fetches WHERE polls >= 2
    """


@Rule(
    "R25-arguments",
    title="Poll refuses invalid calls, and returns within its timeout",
    statement="Java's poll throws if its timeout is negative, if the consumer has no "
    "subscription, or if a second thread is in poll. If there are no records, it returns when its "
    "timeout is over.",
    source="document 002, poll; KafkaConsumer.poll",
    unit="ms",
    things="polls of a probe",
    measures="until it returned with nothing",
    too_low="returned before its timeout was over",
    too_high="returned too late",
    matters="A consumer is for one thread: a second thread gets an exception, and no records.",
    clients=("java",),
    in_passing=True,
    delayed_by=A_PROBE,
)
def arguments_of_poll() -> str:
    """What became of each poll of a probe, by what was wrong with it."""
    return """
        WITH polls AS (
            SELECT step, sent_at, get_json_object(request, '$.what') AS what,
                   CAST(get_json_object(request, '$.timeout_ms') AS DOUBLE) AS timeout_ms,
                   coalesce(get_json_object(answer, '$.said'), '') AS said,
                   CAST(get_json_object(answer, '$.records') AS INT) AS records,
                   CAST(get_json_object(answer, '$.took_ms') AS DOUBLE) AS took_ms
            FROM {calls} WHERE rule = 'R25-arguments'
        ), due AS (
            SELECT *, CASE what WHEN 'negative time-out' THEN 'java.lang.IllegalArgumentException'
                                WHEN 'no subscription' THEN 'java.lang.IllegalStateException'
                                WHEN 'second thread'
                                THEN 'java.util.ConcurrentModificationException'
                                ELSE '' END AS must
            FROM polls
        )
        SELECT step AS subject, sent_at AS at, IF(must = '', took_ms, NULL) AS measured,
               IF(must = '', timeout_ms - 1, NULL) AS bound_low,
               IF(must = '', timeout_ms + :POLL_LATE_MS, NULL) AS bound_high,
               CASE WHEN said <> must
                    THEN clause('raised ', IF(said = '', 'nothing', said))
                    WHEN records > 0 THEN clause('returned ', records, ' records') END AS wrong,
               IF(must = '', 'returned with nothing', concat('raised ', said)) AS note,
               IF(must = '', sent_at, NULL) AS guard_from,
               after(timeout_ms + :POLL_LATE_MS, sent_at) AS guard_to
        FROM due
    """


# From when to when a rebalance of a member is pending. An eager member has nothing to hand out from
# its callback on, so that is the time until its next assignment; others count if they keep some.
PENDING = """
    eager AS (
        SELECT e.member, e.event_at AS from_at, min(a.event_at) AS to_at
        FROM {client_events} e JOIN {client_events} a
          ON a.member = e.member AND a.event = 'assigned' AND a.event_at >= e.event_at
        WHERE :protocol = 'eager' AND e.event IN ('revoked', 'lost')
        GROUP BY e.member, e.event_at
    ), joined AS (
        SELECT j.member, j.arrived_at AS from_at, min(s.answered_at) AS to_at
        FROM {joins} j JOIN {own_requests} s ON same(s, j, member_id, generation, broker)
         AND s.api = 'SYNC_GROUP' AND s.error_code = :NONE AND s.arrived_at >= j.arrived_at
        WHERE :protocol = 'cooperative'
        GROUP BY j.member, j.arrived_at
    ), reconciled AS (
        SELECT m.member, g.started_at AS from_at, g.completed_at AS to_at
        FROM {generations} g CROSS JOIN {members} m
        WHERE :protocol = 'consumer' AND m.role = 'consumer' AND g.completed_at IS NOT NULL
          AND g.started_at IS NOT NULL
    ), kept AS (
        SELECT DISTINCT p.* FROM (SELECT * FROM joined UNION ALL SELECT * FROM reconciled) p
        JOIN {ownership} o
          ON o.member = p.member AND o.from_at < p.from_at
         AND (o.to_at IS NULL OR o.to_at > p.to_at) AND o.removed_at IS NULL
    ), pending AS (SELECT * FROM eager UNION ALL SELECT * FROM kept)
"""


@Rule(
    "R25-rebalance",
    title="Poll returns nothing in a rebalance (documented, outdated since 2.5)",
    statement="A poll returns no records while a rebalance is pending, whatever is buffered. For "
    "an eager member that is from giving up its partitions to its next assignment, for a "
    "cooperative one from its JoinGroup to its assignment, for one of KIP-848 until its group has "
    "reconciled a change.",
    source="document 002, poll (rebalance pending); KafkaConsumer.poll until Kafka 2.4 "
    "(KAFKA-8421)",
    unit="records",
    things="rebalances of a member",
    measures="polled during the rebalance",
    too_high="polled records while its rebalance was pending",
    matters="A member that goes on with its kept partitions loses no throughput to a rebalance. "
    "An eager member would process records that another member may have already.",
    clients=("java",),
    contradicted=(Groups(protocol="cooperative"), Groups(protocol="consumer")),
    in_passing=True,
)
def nothing_while_rebalancing() -> str:
    """Pending rebalances of members, and the records that their polls returned meanwhile.

    A cooperative or a KIP-848 member counts where it keeps a partition throughout. Where it takes
    less than the time of two polls that returned nothing, that says nothing.
    """
    return """
        WITH {PENDING}, polled AS (
            SELECT p.member, p.from_at, p.to_at, coalesce(sum(d.count), 0) AS records
            FROM pending p LEFT JOIN {deliveries} d
              ON d.member = p.member AND d.polled_at > p.from_at AND d.polled_at < p.to_at
            GROUP BY p.member, p.from_at, p.to_at
        )
        SELECT concat(member, ' (rebalance)') AS subject, from_at AS at,
               records AS measured, 0 AS bound_high,
               concat('in ', CAST(round(ms_between(from_at, to_at)) AS INT), ' ms ',
                      IF(:protocol = 'eager', 'without an assignment', 'of a pending rebalance'))
                   AS note
        FROM polled
        WHERE :protocol = 'eager' OR records > 0 OR ms_between(from_at, to_at) >= 2 * :poll_ms
    """
