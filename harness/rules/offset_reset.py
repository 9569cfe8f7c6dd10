"""Where a member begins to read a partition that it is given, and that it is told where."""

from typing import Final

from harness.rules.group_admin import NOTICED_MS as SEEN_LATE_MS  # noqa: F401 (a query names it)
from harness.rules.one_coordinator import LEARNS_MS  # noqa: F401 (a query names it)
from harness.rules.rights import TOPIC_AUTHORIZATION_FAILED  # noqa: F401 (a query names it)
from harness.rules.rule import Rule

# How much later than the observer sees the leader of a new partition its brokers may know of it.
# Measured: members ask 0.6 s after it, and are answered.
NEW_MS: Final = 1_000
# How long an application that polls may take until it hears that a partition has no position.
# Measured: 0.04 s.
HEARD_MS: Final = 2_000


@Rule(
    "X18",
    title="auto.offset.reset counts only without a usable position",
    statement="A member begins at its committed position. It begins at what auto.offset.reset "
    "says if there is none, or if the log no longer has it. Where that is to begin nowhere, its "
    "application hears of it.",
    source="auto.offset.reset; KafkaConsumer, Offsets and Consumer Position",
    unit="records",
    things="assignments",
    measures="after the right position",
    too_low="began before the right position",
    too_high="began after the right position",
    matters="Without a position, earliest repeats all records and latest skips those it missed.",
)
def reset() -> str:
    """Where each member began to read a partition it was given, and what it should have been.

    The committed position, as its coordinator answered it, if there is one and the log still has
    it. If not: what the policy names, which the member looks up at the leader (earliest, latest,
    by_duration of Java), or nothing at all (none; in librdkafka error). That it looks nothing up as
    long as it has a position is seen for all the time that it holds the partition.

    librdkafka keeps the start of the log that its last fetch of the partition was answered with,
    and goes there without another lookup (rdkafka_offset.c, rd_kafka_offset_reset).

    What a leader answers that has no record of that time or later is no position, and where the
    client goes from there is not on record.

    An error that an application is to hear of comes with a poll: one that cannot poll, or whose
    heartbeats a fault holds up, hears of it later.
    """
    return """
        WITH named AS (
            SELECT api, client_id AS member, p.topic, p.partition, p.committed AS position,
                   get_json_object(detail, '$.timestamp') AS which, processed_at AS at
            FROM {requests} LATERAL VIEW explode(positions) AS p
            WHERE api IN ('OFFSET_FETCH', 'LIST_OFFSETS', 'DELETE_RECORDS') AND p.error_code = 0
        ), started AS (
            SELECT o.topic, o.partition, o.member, o.from_at, coalesce(o.to_at, :ended_at) AS to_at,
                   coalesce(get_json_object(max(m.settings), "$['auto.offset.reset']"), 'earliest')
                       AS policy,
                   max(m.client) <> 'java' AND coalesce(min(r.at) < o.from_at, false)
                       AS knows_start
            FROM {ownership} o JOIN {members} m USING (member)
            LEFT JOIN (
                -- By what it has read of it, or was told.
                SELECT member, topic, partition, min(at) AS at
                FROM (SELECT member, topic, partition, polled_at AS at FROM {deliveries}
                      UNION ALL
                      SELECT member, topic, partition, at FROM named
                      WHERE api = 'LIST_OFFSETS' AND which = '-2')
                GROUP BY member, topic, partition
            ) r USING (member, topic, partition)
            GROUP BY o.topic, o.partition, o.member, o.from_at, o.to_at
        ), placed AS (
            -- Each question and each poll with the beginning of the stay that it belongs to.
            SELECT *, max(IF(api IS NULL, at, NULL)) OVER (
                       PARTITION BY topic, partition, member ORDER BY at, api NULLS FIRST)
                       AS from_at
            FROM (SELECT topic, partition, member, api, at, position, which FROM named
                  WHERE api <> 'DELETE_RECORDS'
                  UNION ALL
                  SELECT topic, partition, member, 'READ', polled_at, first_offset, NULL
                  FROM {deliveries}
                  UNION ALL
                  SELECT topic, partition, member, NULL, from_at, NULL, NULL FROM started)
        ), seen AS (
            SELECT s.*,
                   min_by(p.position, struct(p.at, p.position))
                       FILTER (WHERE p.api = 'OFFSET_FETCH') AS committed,
                   min_by(struct(p.position, p.which), struct(p.at, p.which, p.position))
                       FILTER (WHERE p.api = 'LIST_OFFSETS') AS lookup,
                   min_by(p.position, struct(p.at, p.position)) FILTER (WHERE p.api = 'READ')
                       AS first
            FROM started s JOIN placed p
              ON same(p, s, topic, partition, member, from_at) AND p.at <= s.to_at
            GROUP BY ALL
        ), answered AS (
            SELECT s.*, coalesce(max(d.position), 0) AS log_start
            FROM seen s LEFT JOIN named d
              ON same(d, s, topic, partition) AND d.api = 'DELETE_RECORDS' AND d.at < s.from_at
            WHERE s.committed IS NOT NULL
            GROUP BY ALL
        ), read AS (
            SELECT *, CASE WHEN committed >= log_start THEN 'the committed position'
                           WHEN policy IN ('none', 'error') THEN 'nothing'
                           WHEN policy LIKE 'by_duration:%' THEN 'the time asked for'
                           WHEN policy IN ('latest', 'largest', 'end') THEN 'the end of the log'
                           ELSE 'the start of the log' END AS begin
            FROM answered
        ), unheard AS (
            SELECT r.topic, r.partition, r.member, r.from_at FROM read r
            LEFT SEMI JOIN {members} m ON m.member = r.member AND m.client <> 'app'
            LEFT ANTI JOIN {client_events} e
              ON e.member = r.member AND e.event IN ('error', 'closing')
             AND e.event_at BETWEEN after(-:slack_ms, r.from_at) AND after(:HEARD_MS, r.from_at)
            LEFT ANTI JOIN {busy} b
              ON b.member = r.member AND b.from_at <= after(:HEARD_MS, r.from_at)
             AND coalesce(b.to_at >= r.from_at, true)
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = r.member, true) AND d.from_at <= after(:HEARD_MS, r.from_at)
             AND d.to_at >= r.from_at
            WHERE r.begin = 'nothing' AND r.committed < 0
              AND r.to_at >= after(:HEARD_MS, r.from_at)
        )
        SELECT concat(r.topic, '-', r.partition, ' to ', r.member) AS subject, r.from_at AS at,
               first - CASE begin WHEN 'the committed position' THEN committed
                                  WHEN 'the start of the log' THEN log_start
                                  WHEN 'the end of the log' THEN lookup.position
                                  WHEN 'the time asked for' THEN nullif(lookup.position, -1)
                                  END AS measured,
               IF(begin = 'nothing', NULL, 0) AS bound_low,
               IF(begin = 'nothing', NULL, 0) AS bound_high,
               CASE WHEN begin = 'nothing' AND first IS NOT NULL
                    THEN clause('began at ', first, ', though auto.offset.reset is ', policy)
                    WHEN u.member IS NOT NULL
                    THEN 'has nowhere to begin, and its application heard nothing of it'
                    WHEN begin = 'the committed position' AND lookup IS NOT NULL
                    THEN clause('looked up an end of the log, though ', committed,
                                ' was committed')
                    WHEN begin = 'the start of the log' AND NOT coalesce(lookup.which = '-2', false)
                         AND NOT (knows_start AND lookup IS NULL)
                      OR begin = 'the end of the log' AND NOT coalesce(lookup.which = '-1', false)
                      OR begin = 'the time asked for'
                         AND NOT coalesce(CAST(lookup.which AS BIGINT) >= 0, false)
                    THEN clause('began at ', first, ' and never looked up ', begin) END AS wrong,
               concat(begin, ' was due (committed ',
                      IF(committed < 0, 'nothing', string(committed)), ', the log starts at ',
                      log_start, ', auto.offset.reset is ', policy,
                      CASE WHEN knows_start AND begin = 'the start of the log' AND lookup IS NULL
                           THEN '; known from an earlier fetch' ELSE '' END, ')') AS note,
               u.from_at AS guard_from, after(:HEARD_MS + :guard_ms, u.from_at) AS guard_to
        FROM read r LEFT JOIN unheard u ON same(u, r, topic, partition, member, from_at)
        WHERE begin = 'nothing' OR first IS NOT NULL
    """


@Rule(
    "X106",
    title="No partition of a request is refused without a reason",
    statement="A coordinator answers a member's OffsetFetch, and a leader its ListOffsets, without "
    "an error for any partition of the topic, unless a broker is in trouble, the partition is new, "
    "its leader changes, a transaction is open, or the member is out of the group or lacks a "
    "right.",
    source="document 003, OFFSET_FETCH; OffsetMetadataManager, fetchOffsets; ReplicaManager, "
    "fetchOffset",
    unit="answers",
    things="members",
    measures="with an error for a partition",
    too_high="was not told of a partition",
    matters="A member that is not told where to begin does not read its partition, and its client "
    "asks again in silence.",
    broker=True,
    in_passing=True,
    compares_clocks=True,
)
def told_of_each_partition() -> str:
    """Answers by member, and those with an error that nothing on record explains.

    What refuses an OffsetFetch as a whole is for X70; older versions say it of each partition. A
    client that does not read a partition may ask its former leader long after that has changed.
    """
    return """
        WITH moved AS (
            -- The observer sees a change late, and other brokers learn of it late.
            SELECT partition, after(-:SEEN_LATE_MS, at) AS from_at,
                   after(IF(before IS NULL, :NEW_MS, :LEARNS_MS),
                         IF(leader >= 0, at, coalesce(next_at, :ended_at))) AS to_at,
                   before IS NOT NULL AS changed
            FROM (SELECT *, lag(leader) OVER w AS before, lead(at) OVER w AS next_at
                  FROM {topology} WHERE what = 'partition' AND topic = :topic
                  WINDOW w AS (PARTITION BY partition ORDER BY at))
            WHERE leader IS DISTINCT FROM before OR coalesce(leader, -1) < 0
        ), answers AS (
            SELECT coalesce(r.program, r.client_id) AS member, r.api, r.arrived_at, r.evidence,
                   p.partition, p.error_code, after(-:slack_ms, r.arrived_at) AS from_at,
                   after(:slack_ms, r.processed_at) AS to_at
            FROM {requests} r LATERAL VIEW explode(positions) AS p
            WHERE p.topic = :topic
              AND (r.api = 'LIST_OFFSETS' OR r.api = 'OFFSET_FETCH' AND r.`group` = :group
                                             AND coalesce(r.error_code, 0) = 0)
        ), odd AS (
            SELECT a.member, a.arrived_at, a.evidence, a.api, a.error_code, a.partition
            FROM answers a
            LEFT ANTI JOIN {unsettled} u ON u.from_at <= a.to_at AND u.to_at >= a.from_at
            LEFT ANTI JOIN {fault_windows} f
              ON f.breaks = 'rights' AND f.resolved = a.member AND f.injecting_at <= a.to_at
             AND coalesce(f.healed_at >= a.from_at, true)
            LEFT ANTI JOIN moved m
              ON m.partition = a.partition AND m.from_at <= a.to_at
             AND (m.to_at >= a.from_at
                  OR m.changed AND a.error_code IN (:NOT_LEADER_OR_FOLLOWER, :FENCED_LEADER_EPOCH,
                                                    :UNKNOWN_LEADER_EPOCH))
            WHERE a.error_code NOT IN (:NONE, :GROUP_AUTHORIZATION_FAILED,
                                       :TOPIC_AUTHORIZATION_FAILED)
              AND (a.api <> 'OFFSET_FETCH' OR a.error_code NOT IN (
                       :COORDINATOR_LOAD_IN_PROGRESS, :COORDINATOR_NOT_AVAILABLE,
                       :NOT_COORDINATOR, :ILLEGAL_GENERATION, :UNKNOWN_MEMBER_ID,
                       :FENCED_MEMBER_EPOCH, :STALE_MEMBER_EPOCH))
              AND (a.error_code <> :UNSTABLE_OFFSET_COMMIT OR :commit <> 'transaction')
        ), worst AS (
            SELECT member, count(DISTINCT evidence) AS times,
                   min(struct(arrived_at, evidence, partition, api, error_code)) AS first
            FROM odd GROUP BY member
        ), asked AS (
            SELECT member, min(arrived_at) AS at, count(DISTINCT evidence) AS answers,
                   min_by(evidence, struct(arrived_at, evidence)) AS evidence
            FROM answers LEFT SEMI JOIN {members} USING (member) GROUP BY member
        )
        SELECT concat(a.member, ' (answers)') AS subject, coalesce(w.first.arrived_at, a.at) AS at,
               coalesce(w.times, 0) AS measured, 0 AS bound_high,
               IF(w.times > 0, clause('was answered ', w.first.error_code, ' of partition ',
                                      w.first.partition, ' to a ', w.first.api), NULL) AS wrong,
               concat(a.answers, ' answers') AS note,
               coalesce(w.first.evidence, a.evidence) AS evidence
        FROM asked a LEFT JOIN worst w ON w.member = a.member
    """
