"""What became of each record that was sent, and of each heartbeat."""

from typing import Final

from harness.experiment import CLASSIC
from harness.rules.rule import Rule

# How long a heartbeat may be on its way. Over the kept runs it was 0.2 s at most, and 0.9 s behind
# a commit that waited at the broker, on the same connection.
ON_ITS_WAY_MS: Final = 2_000


@Rule(
    "X63",
    title="Each record has an offset of its own",
    statement="A partition's leader acknowledges each record with an offset that no other has, in "
    "the order in which they were sent, and no offset between records that were all acknowledged "
    "is left out; of a producer without idempotence, until the first fault. The producer hears of "
    "each record that it sent: acknowledged, failed or unanswered.",
    source="KIP-98, Idempotent Producer Guarantees; ProduceResponse, base_offset",
    unit="records",
    things="partitions",
    measures="at offsets of others or of nobody, out of order, or not accounted for",
    too_high="has records at offsets of others, offsets of no record, or records out of order or "
    "not accounted for",
    matters="Two records at one offset are one record: the other is lost, though acknowledged.",
    in_passing=True,
)
def an_offset_each() -> str:
    """Per partition the ranges that were acknowledged, by offset, and all that were sent.

    A producer without idempotence sends again what failed: others may overtake that, and what was
    stored twice has offsets that nobody was told. So order and gaps of its records are examined up
    to the first fault. What was not acknowledged may have offsets too, whoever sent it, but none
    below one that was acknowledged before it was sent: gaps are examined up to then.

    Law: records that an idempotent producer had acknowledged have offsets in the order in which
    they were sent, whatever breaks meanwhile, and none is stored twice.
    """
    return """
        WITH first_fault AS (SELECT min(injecting_at) AS at FROM {fault_windows}),
        unsure AS (
            SELECT topic, partition, min(first_sent_at) AS from_at FROM {sends}
            WHERE outcome <> 'acknowledged' OR first_offset IS NULL GROUP BY topic, partition
        ), offsets AS (
            SELECT s.topic, s.partition, s.first_offset, s.last_offset, s.count,
                   s.last_answered_at,
                   :idempotent = 1 OR coalesce(s.last_answered_at < f.at, true) AS in_order,
                   max(s.last_offset) OVER (
                       PARTITION BY s.topic, s.partition ORDER BY s.first_offset, s.last_offset
                       {BEFORE}) AS used,
                   max(s.last_offset) OVER (
                       PARTITION BY s.topic, s.partition ORDER BY s.first_number, s.last_number
                       {BEFORE}) AS sent_before
            FROM {sends} s CROSS JOIN first_fault f
            WHERE s.outcome = 'acknowledged' AND s.first_offset IS NOT NULL
        ), compared AS (
            SELECT o.*, coalesce(o.in_order AND o.sent_before > o.last_offset, false) AS overtaken,
                   IF(o.in_order AND o.first_offset > o.used + 1
                          AND (u.topic IS NULL OR o.last_answered_at < u.from_at),
                      o.first_offset - o.used - 1, 0) AS left_out
            FROM offsets o LEFT JOIN unsure u ON same(u, o, topic, partition)
        ), shared AS (
            SELECT topic, partition,
                   sum(greatest(0, least(last_offset, coalesce(used, -1)) - first_offset + 1)
                       + abs(last_offset - first_offset + 1 - count)
                       + IF(overtaken, count, 0) + left_out) AS records,
                   min(first_offset) FILTER (
                       WHERE used >= first_offset OR last_offset - first_offset + 1 <> count
                             OR overtaken OR left_out > 0) AS first
            FROM compared GROUP BY topic, partition
        ), numbers AS (
            SELECT topic, partition, min(first_sent_at) AS at, sum(count) AS sent,
                   max(last_number) - min(first_number) + 1 - sum(count) AS missing
            FROM {sends} WHERE first_number IS NOT NULL GROUP BY topic, partition
        )
        SELECT concat(n.topic, '-', n.partition) AS subject, n.at,
               coalesce(s.records, 0) + abs(n.missing) AS measured, 0 AS bound_high,
               coalesce(concat('the first at offset ', s.first), concat(n.sent, ' records'))
                   AS note
        FROM numbers n LEFT JOIN shared s ON same(s, n, topic, partition)
    """


@Rule(
    "X64",
    title="A heartbeat that was sent arrives",
    statement="While no link and no broker is disturbed, each heartbeat that a member sends is in "
    "the coordinator's request log.",
    source="document 004, sendHeartbeatRequest; kafka.request.logger",
    unit="heartbeats",
    things="members",
    measures="that did not arrive",
    too_high="sent heartbeats that did not arrive",
    matters="A heartbeat that a proxy or a broker swallows does not renew the session.",
    clients=("java",),
    protocols=CLASSIC,
    in_passing=True,
    compares_clocks=True,
)
def heartbeats_arrive() -> str:
    """Heartbeats that Java's log has, but for those sent as the member, or its run, ended."""
    return """
        WITH sent AS (
            SELECT s.member, s.event_at AS at FROM {client_events} s
            JOIN {members} m ON m.member = s.member
            LEFT ANTI JOIN {fault_windows} f
              ON f.injecting_at <= after(:ON_ITS_WAY_MS, s.event_at)
             AND after(:session_ms, coalesce(f.healed_at, f.injected_at)) >= s.event_at
             AND (f.disturbs_heartbeats OR f.resolved = s.member)
            WHERE s.event = 'heartbeat_sent'
              AND s.event_at < after(-:ON_ITS_WAY_MS, coalesce(m.ended_at, :stopped_at))
              AND s.event_at < after(-:ON_ITS_WAY_MS, :stopped_at)
        ), matched AS (
            SELECT s.member, s.at, count(r.arrived_at) AS times
            FROM sent s LEFT JOIN {own_requests} r
              ON r.member = s.member AND r.api = 'HEARTBEAT'
             AND r.arrived_at >= after(-:slack_ms, s.at)
             AND r.arrived_at <= after(:ON_ITS_WAY_MS, s.at)
            GROUP BY s.member, s.at
        )
        SELECT concat(member, ' (sent)') AS subject,
               coalesce(min(IF(times = 0, at, NULL)), min(at)) AS at,
               count_if(times = 0) AS measured, 0 AS bound_high,
               concat(count(*), ' heartbeats sent') AS note
        FROM matched GROUP BY member
    """


@Rule(
    "X87",
    title="The end of a partition never goes back",
    statement="The end of a partition that its leader answers with never goes back, not even "
    "after the leader has changed.",
    source="KIP-207; KIP-101",
    unit="records",
    things="partitions",
    measures="behind an earlier end",
    too_high="ended before an offset that it had reached",
    matters="Either records at the end were lost, or a reader is told that nothing is left where "
    "records are.",
    broker=True,
    in_passing=True,
)
def ends_onwards() -> str:
    """What the observer was told of each partition of the topic, in the order of its questions."""
    return """
        WITH ends AS (
            SELECT topic, partition, at, end_offset,
                   max(end_offset) OVER (
                       PARTITION BY topic, partition ORDER BY at, end_offset {BEFORE}) AS before
            FROM {topology} WHERE what = 'end_offset' AND topic = :topic
        )
        SELECT concat(topic, '-', partition, ' (end)') AS subject,
               coalesce(min(IF(end_offset < before, at, NULL)), min(at)) AS at,
               max(greatest(0, coalesce(before, 0) - end_offset)) AS measured, 0 AS bound_high,
               concat('told ', count(*), ' times, ', max(end_offset), ' at last') AS note
        FROM ends GROUP BY topic, partition
    """


@Rule(
    "X89",
    title="Records are stored where nothing is broken",
    statement="While nothing is broken, every record that the producer sends is acknowledged.",
    source="KafkaProducer, delivery.timeout.ms; acks",
    unit="records",
    things="partitions",
    measures="failed",
    too_high="has records that failed while nothing was broken",
    matters="A producer that fails in quiet times loses records for another reason than the fault "
    "that was meant.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def stored_in_quiet() -> str:
    """What failed outside all faults, and the session after each; it may have been stored."""
    return """
        WITH broken AS (
            SELECT injecting_at AS from_at, after(:session_ms, coalesce(healed_at, :ended_at))
                       AS to_at
            FROM {fault_windows} WHERE injecting_at IS NOT NULL
        ), failed AS (
            SELECT s.topic, s.partition, min(s.first_sent_at) AS at, sum(s.count) AS records
            FROM {sends} s LEFT ANTI JOIN broken b
              ON b.from_at <= coalesce(s.last_answered_at, s.first_sent_at)
             AND b.to_at >= s.first_sent_at
            WHERE s.outcome = 'failed' GROUP BY s.topic, s.partition
        )
        SELECT concat(s.topic, '-', s.partition, ' (failed)') AS subject,
               coalesce(f.at, s.at) AS at, coalesce(f.records, 0) AS measured, 0 AS bound_high,
               concat(s.records, ' records') AS note
        FROM (SELECT topic, partition, min(first_sent_at) AS at, sum(count) AS records
              FROM {sends} GROUP BY topic, partition) s
        LEFT JOIN failed f ON same(f, s, topic, partition)
    """
