"""That one broker at a time coordinates a group."""

from harness.rules.rule import Rule


@Rule(
    "X39",
    title="One coordinator at a time",
    statement=(
        "Only the broker that coordinates the group accepts what its members ask for; every other "
        "one refuses it."
    ),
    source="GroupCoordinatorService (NOT_COORDINATOR); KIP-848, ConsumerGroupHeartbeat",
    unit="calls",
    things="brokers",
    measures="accepted",
    matters=(
        "Two coordinators keep two lists of members and of positions: each believes that its own "
        "members hold the partitions."
    ),
    always=True,
)
def one_coordinator() -> str:
    """Per broker the calls of members that it accepted, and those outside its time in office.

    Its time begins with its first line about the group, or when it has loaded it, and ends when
    another has. A coordinator that was paused or cut off may answer heartbeats that it had been
    sent before it knows that another took over; it cannot write, so nothing else is excused.
    """
    return """
        WITH accepted AS (
            SELECT broker, api, member, arrived_at, processed_at, evidence FROM {own_requests}
            WHERE api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP', 'OFFSET_COMMIT',
                          'CONSUMER_GROUP_HEARTBEAT')
              AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
              AND (api <> 'OFFSET_COMMIT' OR error_code = :NONE AND member_id IS NOT NULL)
        ), placed AS (
            SELECT a.broker, a.api, a.member, a.arrived_at, a.evidence,
                   count(t.tenure) AS tenures,
                   a.api IN ('HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT')
                       AND count(f.fault) > 0 AS behind
            FROM accepted a LEFT JOIN {tenures} t
              ON t.broker = a.broker AND a.processed_at >= after(-:slack_ms, t.from_at)
             AND (t.next_at IS NULL OR a.arrived_at <= after(:slack_ms, t.next_at))
            LEFT JOIN {broker_faults} f
              ON f.resolved = concat('broker-', a.broker) AND f.injecting_at <= a.processed_at
            GROUP BY a.broker, a.api, a.member, a.arrived_at, a.evidence
        )
        SELECT concat('broker-', broker) AS subject, min(arrived_at) AS at, count(*) AS measured,
               CASE WHEN count_if(tenures = 0 AND NOT behind) > 0
                    THEN clause('accepted ', count_if(tenures = 0 AND NOT behind),
                                ' calls while it did not coordinate the group, the first: ',
                                min(CASE WHEN tenures = 0 AND NOT behind
                                         THEN struct(arrived_at, api, member) END).api) END
                   AS wrong,
               IF(count_if(tenures = 0 AND behind) > 0,
                  concat(count_if(tenures = 0 AND behind),
                         ' heartbeats were answered before it knew of its successor'), NULL)
                   AS note,
               min(CASE WHEN tenures = 0 AND NOT behind
                        THEN struct(arrived_at, evidence) END).evidence AS evidence
        FROM placed GROUP BY broker
    """
