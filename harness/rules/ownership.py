"""Who may hold a partition, and what a member may still do once it may not."""

from harness.rules.rule import Groups, Rule

# Overlaps are found in one pass in order of time: the latest end of what other members held before
# is kept beside each row, so two rows are never compared with each other.
OVERLAPS = """
    WITH held AS (
        SELECT topic, partition, member, from_at, removed_at, coalesce(to_at, :ended_at) AS to_at
        FROM {ownership}
    ), ends AS (
        -- The line about a removal may be stamped late.
        SELECT *, CASE WHEN :zombies THEN to_at
                       ELSE least(to_at, after(-:slack_ms, removed_at)) END AS end_at
        FROM held
    ), ordered AS (
        SELECT *, max(struct(end_at, member)) OVER w AS latest
        FROM ends
        WINDOW w AS (PARTITION BY topic, partition ORDER BY from_at {BEFORE})
    ), overlaps AS (
        SELECT *, CASE WHEN latest.member <> member AND latest.end_at > from_at
                       THEN ms_between(from_at, least(latest.end_at, end_at))
                       ELSE 0D END AS ms
        FROM ordered
    ),
    -- Of several overlaps that are equally long, the last.
    longest AS (
        SELECT topic, partition, found.*, times
        FROM (SELECT topic, partition, count(*) AS times,
                     max(struct(ms, from_at, member, latest.member AS before)) AS found
              FROM overlaps GROUP BY topic, partition)
    )
"""


@Rule(
    "R21",
    title="A partition belongs to one member",
    statement="Each partition is assigned to at most one member of a group at a time; a member "
    "that the coordinator has removed no longer counts.",
    source="document 002, partition exclusivity; document 001, SyncGroup phase",
    unit="ms",
    things="generations and partitions",
    measures="held by two",
    too_high="was held by two members at once",
    matters="Two members that own one partition process its records twice and overwrite each "
    "other's commits.",
)
def one_owner() -> str:
    """Per generation what the leader gave, and per partition what the callbacks say.

    Zombies that the coordinator had removed hold nothing any more, though they do not know it yet.
    """
    return (
        OVERLAPS.replace(":zombies", "false")
        + """, given AS (
            SELECT a.*, coalesce(g.number, 0) AS number
            FROM {assignments} a LEFT JOIN {generations} g
              ON same(g, a, broker, generation) AND in_time_of(g, a.at)
        ), owners AS (
            -- Who had left before another was told holds nothing any more.
            SELECT broker, generation, number, topic, partition, min(at) AS at,
                   count(DISTINCT IF(removed_at <= after(:slack_ms, told_at), NULL, member_id))
                       AS owners,
                   min(evidence) AS evidence
            FROM (SELECT *, max(at) OVER (PARTITION BY broker, generation, number, topic, partition)
                                AS told_at FROM given)
            GROUP BY broker, generation, number, topic, partition
        )
        SELECT concat(topic, '-', partition) AS subject, from_at AS at, ms AS measured,
               CAST(NULL AS DOUBLE) AS bound_low, :rounding_ms AS bound_high,
               CAST(NULL AS STRING) AS wrong,
               IF(ms > 0, concat('by ', before, ' and ', member),
                  concat(times, ' times held, one after the other')) AS note,
               CAST(NULL AS STRING) AS evidence
        FROM longest
        UNION ALL
        SELECT concat('generation ', generation) AS subject, min(at) AS at,
               NULL AS measured, NULL AS bound_low, NULL AS bound_high,
               CASE WHEN max(owners) > 1
                    THEN clause(max(struct(owners, topic, partition)).topic, '-',
                                max(struct(owners, topic, partition)).partition,
                                ' was given to ', max(owners), ' members') END AS wrong,
               'each partition was given to one member' AS note, min(evidence) AS evidence
        FROM owners GROUP BY broker, generation, number
    """
    )


@Rule(
    "R21-delivery",
    title="One member consumes a partition, by its own view too",
    statement="No two members hold one partition at the same time by their own view. A member "
    "that does not know yet that it was removed counts too.",
    source="document 002, partition exclusivity",
    unit="ms",
    things="partitions",
    measures="held by two members, by their own view",
    too_high="was held by two members at once, by their own view",
    matters="A member that was removed while it stalled goes on with its batch, so the work has "
    "to be idempotent.",
    of_applications=True,
    contradicted=(Groups(),),
)
def one_reader() -> str:
    """Per partition the longest time that two held it, and what the former one processed in it.

    Holding counts, and not what is processed: whether a member that was stopped has records left
    when it goes on is chance.
    """
    return (
        OVERLAPS.replace(":zombies", "true")
        + """, processed AS (
            SELECT l.topic, l.partition, coalesce(sum(d.count), 0) AS records
            FROM longest l LEFT JOIN {deliveries} d
              ON same(d, l, topic, partition) AND d.member = l.before
             AND l.ms > 0 AND d.processed_at >= l.from_at AND d.polled_at <= after(l.ms, l.from_at)
            GROUP BY l.topic, l.partition
        )
        SELECT concat(l.topic, '-', l.partition) AS subject, l.from_at AS at,
               l.ms AS measured, :rounding_ms AS bound_high,
               IF(l.ms > 0, concat(l.before, ' still held it when ', l.member, ' got it, and ',
                                   'processed ', p.records, ' records of it meanwhile'),
                  'held by one after the other') AS note
        FROM longest l JOIN processed p ON same(p, l, topic, partition)
    """
    )


@Rule(
    "R21-stop",
    title="A member processes only partitions that it holds",
    statement="A member processes records only of partitions that are assigned to it. Once it was "
    "told that a partition is revoked or lost, it processes no record of it until the partition "
    "is assigned to it again.",
    source="KIP-429; ConsumerRebalanceListener",
    unit="records",
    things="members per partition",
    measures="processed without holding it",
    too_high="processed records after it was told that the partition is revoked or lost",
    matters="The next owner begins at the committed position, so what the former owner still "
    "processes is processed twice.",
    in_passing=True,
)
def stops_when_told() -> str:
    """Per member and partition: the records processed before it was given, or after it had to go.

    Callbacks and polls are put into one order per member and partition, so each delivery knows
    whether the partition was the member's when polled, and when it was told to stop after that.
    """
    return """
        WITH told AS (
            SELECT member, p.topic, p.partition, coalesce(observed_at, event_at) AS at, event
            FROM {client_events} LATERAL VIEW explode(partitions) AS p
            WHERE event IN ('assigned', 'revoked', 'lost')
        ), examined AS (
            SELECT member, topic, partition FROM told WHERE event IN ('revoked', 'lost')
            UNION SELECT member, topic, partition FROM {deliveries}
        ), mixed AS (
            SELECT member, topic, partition, at, event, 0L AS records,
                   CAST(NULL AS TIMESTAMP) AS processed_at,
                   IF(event = 'assigned', 1, 0) AS rank
            FROM told
            UNION ALL
            SELECT d.member, d.topic, d.partition, d.polled_at, NULL, d.count, d.processed_at, 2
            FROM {deliveries} d JOIN examined USING (member, topic, partition)
        ), ordered AS (
            SELECT *,
                   last_value(CASE WHEN event IS NOT NULL THEN struct(event, at) END, true)
                       OVER (PARTITION BY member, topic, partition ORDER BY at, rank
                             {BEFORE}) AS before,
                   -- Backwards in time: Spark computes a frame that ends at the last row anew for
                   -- each row.
                   min(CASE WHEN event IN ('revoked', 'lost') THEN at END)
                       OVER (PARTITION BY member, topic, partition ORDER BY at DESC, rank DESC
                             {BEFORE}) AS told_at
            FROM mixed
        ), late AS (
            SELECT member, topic, partition, at, records, before.event IS NULL AS stray,
                   CASE WHEN before.event IS NULL THEN at
                        WHEN before.event IN ('revoked', 'lost')
                             AND at > after(:slack_ms, before.at)
                        THEN before.at
                        WHEN processed_at > after(:slack_ms, told_at)
                        THEN told_at END AS told_at,
                   processed_at
            FROM ordered WHERE event IS NULL
        ), totals AS (
            SELECT e.member, e.topic, e.partition,
                   coalesce(sum(l.records), 0) AS records, min(l.told_at) AS told_at,
                   coalesce(bool_or(l.stray), false) AS stray
            FROM examined e LEFT JOIN late l ON same(l, e, member, topic, partition)
             AND l.told_at IS NOT NULL
            GROUP BY e.member, e.topic, e.partition
        )
        SELECT concat(member, ' on ', topic, '-', partition) AS subject, told_at AS at,
               records AS measured, 0 AS bound_high,
               IF(stray, 'was given records of a partition that it had not been assigned', NULL)
                   AS too_high
        FROM totals
    """
