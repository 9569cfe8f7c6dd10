"""When a client library may end for good."""

from harness.rules.rule import Rule
from harness.rules.stamps import STAMP_LATE_MS  # noqa: F401 (a query names it)


@Rule(
    "X42",
    title="A client gives up only if it cannot be a member",
    statement="A client library reports a fatal error, after which the consumer can do nothing "
    "any more, only if another process has the member's instance id, the group is full, or the "
    "user has lost a right.",
    source="KIP-345, FENCED_INSTANCE_ID; KIP-848, UNRELEASED_INSTANCE_ID; group.max.size",
    unit="",
    things="consumers",
    matters="A consumer that gave up comes back only when somebody starts it again, and a static "
    "member's partitions wait for its session to end as well.",
    always=True,
    in_passing=True,
)
def gives_up_for_a_reason() -> str:
    """Our own consumers; P14 is about how programs of somebody else's end.

    Whether another process has an instance id is known by the coordinator, from its join to its
    removal.
    """
    return """
        WITH gave_up AS (
            SELECT member, min(event_at) AS at,
                   min_by(regexp_extract(detail, 'cannot go on: (.*)', 1), event_at) AS what
            FROM {client_events}
            WHERE event = 'error' AND detail LIKE 'process: ClientGaveUp: %' GROUP BY member
        ), refused AS (
            SELECT g.member, max(r.error_code) AS error_code
            FROM gave_up g JOIN {own_requests} r
              ON r.member = g.member AND r.error_code = :GROUP_MAX_SIZE_REACHED
            GROUP BY g.member
        ), twins AS (
            SELECT g.member, min(s.member) AS other
            FROM gave_up g JOIN {members} m ON m.member = g.member
            JOIN {memberships} s
              ON s.instance_id = m.instance_id AND s.member <> m.member
             AND s.joined_at <= after(:slack_ms, g.at)
             AND (s.removed_at IS NULL OR s.removed_at >= after(-:slack_ms, g.at))
            GROUP BY g.member
        ), barred AS (
            SELECT DISTINCT g.member FROM gave_up g JOIN {fault_windows} f
              ON f.resolved = g.member AND f.breaks = 'rights' AND f.injecting_at <= g.at
             AND coalesce(f.healed_at, :ended_at) >= after(-:slack_ms, g.at)
        )
        SELECT m.member AS subject, coalesce(g.at, m.ended_at, :stopped_at) AS at,
               IF(g.at IS NOT NULL AND t.other IS NULL AND r.error_code IS NULL
                  AND b.member IS NULL,
                  clause('its client gave up for good: ', g.what), NULL) AS wrong,
               CASE WHEN t.other IS NOT NULL
                    THEN concat('gave up for good: ', t.other, ' has its instance id')
                    WHEN r.error_code IS NOT NULL THEN 'gave up for good: the group was full'
                    WHEN b.member IS NOT NULL
                    THEN 'gave up for good: its user had lost a right' END AS note
        FROM {members} m LEFT JOIN gave_up g USING (member) LEFT JOIN twins t USING (member)
        LEFT JOIN refused r USING (member) LEFT JOIN barred b USING (member)
        WHERE m.role = 'consumer' AND m.client <> 'app'
    """


@Rule(
    "X80",
    title="A process works from its start to its end",
    statement="A member asks nothing of a broker before its process has started, and reads nothing "
    "after it was killed, or after its client gave up. It is killed by a fault alone, fails only "
    "if its client gave up, and closes only when it is told to.",
    source="kafka-chaos, record of the fleet",
    unit="",
    things="processes",
    matters="A process that ends, or works, when it should not makes every other measurement one "
    "of something else.",
    in_passing=True,
    compares_clocks=True,
)
def works_from_start_to_end() -> str:
    """Our own members: their record, journal and requests beside what was done to them.

    A run that is broken off ends its producer by force, and its members too. What a member asked a
    broker that was stopped, or over a disturbed link, may arrive after its process has ended.
    """
    return """
        WITH asked AS (
            SELECT member, min(arrived_at) AS at, max(struct(arrived_at, broker)) AS last
            FROM {own_requests} GROUP BY member
        ), last_asked AS (
            SELECT a.member, a.last.arrived_at AS at
            FROM asked a
            LEFT ANTI JOIN {stopped_brokers} s
              ON s.broker = a.last.broker AND s.from_at <= a.last.arrived_at
             AND s.to_at >= a.last.arrived_at
            LEFT ANTI JOIN {disturbances} d
              ON coalesce(d.member = a.member, true) AND d.from_at <= a.last.arrived_at
             AND after(:slack_ms, d.to_at) >= a.last.arrived_at
        ), polled AS (
            SELECT member, max(polled_at) AS at FROM {deliveries} GROUP BY member
        ), told AS (
            SELECT member, min(event_at) FILTER (WHERE event = 'error') AS gave_up_at,
                   min(event_at) FILTER (WHERE event = 'closing') AS closing_at
            FROM {client_events}
            WHERE event = 'closing' OR event = 'error' AND detail LIKE 'process: %'
            GROUP BY member
        ), killed AS (
            SELECT resolved AS member, min(coalesce(injected_at, injecting_at)) AS at
            FROM {fault_windows} WHERE killed GROUP BY resolved
        ), run AS (
            SELECT count_if(`end` IS NULL) AS broken_off FROM {members} WHERE role = 'producer'
        )
        SELECT concat(m.member, ' (process)') AS subject,
               IF(a.at < after(-:slack_ms, m.started_at), m.started_at,
                  coalesce(m.ended_at, m.started_at)) AS at,
               CASE WHEN a.at < after(-:slack_ms, m.started_at)
                    THEN clause('had asked a broker ',
                                CAST(round(ms_between(a.at, m.started_at)) AS INT),
                                ' ms before its process started')
                    WHEN m.`end` = 'killed' AND k.at IS NULL AND b.broken_off = 0
                    THEN 'was killed by no fault'
                    WHEN m.`end` = 'failed' AND t.gave_up_at IS NULL
                    THEN 'failed, and its client had not given up'
                    WHEN m.`end` = 'closed' AND t.closing_at IS NULL
                    THEN 'closed, and was not told to'
                    WHEN l.at > after(:STAMP_LATE_MS, m.ended_at)
                    THEN clause('asked a broker ',
                                CAST(round(ms_between(m.ended_at, l.at)) AS INT),
                                ' ms after its process ended')
                    WHEN p.at > after(:slack_ms, IF(m.`end` = 'killed', k.at, t.gave_up_at))
                    THEN clause('read records ', CAST(round(ms_between(
                             IF(m.`end` = 'killed', k.at, t.gave_up_at), p.at)) AS INT),
                                ' ms after its end') END AS wrong,
               m.`end` AS note
        FROM {members} m LEFT JOIN asked a USING (member)
        LEFT JOIN last_asked l USING (member) LEFT JOIN polled p USING (member)
        LEFT JOIN told t USING (member) LEFT JOIN killed k USING (member)
        CROSS JOIN run b
        WHERE m.role = 'consumer' AND m.client <> 'app'
    """
