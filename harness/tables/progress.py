"""How far partitions had been read, and when committed positions were gone."""


def progress() -> str:
    """Deliveries, each with how far its partition had been read and processed before it.

    A partition is busy with a batch for the time declared for its records at most: a member that
    takes longer stands still, and so does its partition, whatever the member believes.
    """
    return """
        WITH worked AS (
            SELECT d.*, least(coalesce(d.processed_at, d.polled_at),
                       after(m.process_us * d.count / 1e3, d.polled_at)) AS worked_to
            FROM {reads} d LEFT JOIN {members} m USING (member)
        )
        SELECT member, poll, topic, partition, first_offset, last_offset, polled_at, processed_at,
               member_id, max(last_offset) OVER before AS reached,
               max(worked_to) OVER before AS busy_until
        FROM worked
        WINDOW before AS (PARTITION BY topic, partition ORDER BY polled_at, poll {BEFORE})
    """


def forgotten() -> str:
    """When nothing was committed any more, one row per partition and time.

    Positions deleted on purpose, and those of a group that was empty for its retention, found to be
    gone by whoever asked.
    """
    return """
        SELECT p.topic, p.partition, processed_at AS at
        FROM {requests} LATERAL VIEW explode(positions) AS p
        WHERE `group` = :group AND api = 'OFFSET_DELETE' AND p.error_code = 0
        UNION ALL
        SELECT p.topic, p.partition, r.processed_at
        FROM (SELECT min(at) AS at FROM {coordinator_events}
              WHERE `group` = :group AND event = 'emptied') e
        JOIN {requests} r ON r.arrived_at >= after(:retention_ms, e.at)
        LATERAL VIEW explode(positions) AS p
        WHERE r.`group` = :group AND r.api = 'OFFSET_FETCH' AND p.error_code = 0
          AND p.committed = -1
    """
