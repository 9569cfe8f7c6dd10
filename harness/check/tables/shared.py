"""What several tables and rules start from; not written to files."""

from __future__ import annotations

from pyspark.sql import DataFrame

from harness.check.tables.base import Tables


def signs_of_life(t: Tables) -> DataFrame:
    """Accepted requests that re-arm a member's session timer, one row each.

    `heard_at` ends the silence before it, `armed_at` starts the next. They differ for JOIN_GROUP
    and SYNC_GROUP: a member is safe while one of these is parked, and its timer starts anew when
    it is answered. An OFFSET_COMMIT re-arms when it is validated, long before a slow append lets
    it be answered, so its arrival counts. (GroupMetadataManager, OffsetMetadataManager 4.3.)
    """
    return t.sql(
        """
        SELECT member_id, client_id AS member, broker, api, error_code, generation,
               CASE WHEN api = 'HEARTBEAT' THEN processed_at ELSE arrived_at END AS heard_at,
               CASE WHEN api = 'OFFSET_COMMIT' THEN arrived_at ELSE processed_at END AS armed_at,
               answered_at, evidence
        FROM {requests}
        WHERE `group` = :group AND member_id IS NOT NULL
          AND (api = 'HEARTBEAT' AND error_code IN (0, 27)
               OR api IN ('JOIN_GROUP', 'SYNC_GROUP') AND error_code = 0
               OR api = 'OFFSET_COMMIT' AND error_code = 0 AND generation >= 0)
        """
    )


def memberships(t: Tables) -> DataFrame:
    """One row per member id: whose it was, when it joined, when and how it was removed."""
    return t.sql(
        """
        WITH told AS (
            SELECT member_id, at, event, evidence, broker
            FROM {coordinator_events}
            WHERE `group` = :group AND event IN ('member_added', 'evicted', 'left')
            UNION ALL
            SELECT trim(straggler), at, event, evidence, broker
            FROM {coordinator_events}
            LATERAL VIEW explode(split(regexp_replace(reason, '[^-_.\\\\w,]', ''), ','))
                AS straggler
            WHERE `group` = :group AND event = 'stragglers_removed'
        ),
        by_coordinator AS (
            SELECT member_id,
                   min(at) FILTER (WHERE event = 'member_added') AS added_at,
                   min(at) FILTER (WHERE event <> 'member_added') AS removed_at,
                   min_by(event, at) FILTER (WHERE event <> 'member_added') AS removed_by,
                   min_by(evidence, at) FILTER (WHERE event <> 'member_added') AS evidence
            FROM told WHERE member_id <> '' GROUP BY member_id
        ),
        by_requests AS (
            SELECT member_id, min(client_id) AS member,
                   min(processed_at) FILTER (WHERE api = 'JOIN_GROUP' AND error_code = 0)
                       AS joined_at,
                   max(session_timeout_ms) AS session_timeout_ms
            FROM {requests}
            WHERE `group` = :group AND member_id IS NOT NULL GROUP BY member_id
        )
        SELECT member_id,
               -- A member id is the client id, a dash and a UUID of 36 characters.
               coalesce(r.member, substr(member_id, 1, length(member_id) - 37)) AS member,
               coalesce(c.added_at, r.joined_at) AS joined_at,
               c.removed_at, c.removed_by,
               coalesce(r.session_timeout_ms, :session_ms) AS session_timeout_ms, c.evidence
        FROM by_coordinator c FULL OUTER JOIN by_requests r USING (member_id)
        """
    )


def tenures(t: Tables) -> DataFrame:
    """One row per stretch of time that one broker coordinated the group.

    A stretch starts when the broker loaded the group (the first: with the group). `to_at` is the
    last sign that it was at work: an answer other than "not me" (14, 15, 16), or a line of its log.
    """
    return t.sql(
        """
        WITH starts AS (
            SELECT broker, at, event = 'loaded' AS loaded, members
            FROM {coordinator_events} WHERE `group` = :group AND event = 'loaded'
            UNION ALL
            SELECT min_by(broker, at), min(at), false, NULL
            FROM {coordinator_events} WHERE `group` = :group
            HAVING min_by(event, at) <> 'loaded'
        ),
        numbered AS (
            SELECT *, row_number() OVER w AS tenure, lead(at) OVER w AS next_at
            FROM starts WINDOW w AS (PARTITION BY 1 ORDER BY at)
        ),
        worked AS (
            SELECT broker, at FROM {coordinator_events} WHERE `group` = :group
            UNION ALL
            SELECT broker, processed_at FROM {requests}
            WHERE `group` = :group AND error_code NOT IN (14, 15, 16)
              AND api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP')
        ),
        bounded AS (
            SELECT n.tenure, n.broker, n.at AS from_at, n.loaded, n.members, n.next_at,
                   greatest(n.at, max(w.at)) AS to_at
            FROM numbered n LEFT JOIN worked w
              ON w.broker = n.broker AND w.at >= n.at AND (n.next_at IS NULL OR w.at < n.next_at)
            GROUP BY ALL
        )
        SELECT *, lag(broker) OVER w AS broker_before, lag(to_at) OVER w AS to_at_before
        FROM bounded WINDOW w AS (PARTITION BY 1 ORDER BY tenure)
        """
    )


def silences(t: Tables) -> DataFrame:
    """One row per time that a member id was not heard of while one coordinator worked.

    From the moment its session timer was armed to the next sign of life (`ended_by` "sign"), to
    its removal ("evicted", "left", "stragglers_removed"), or to the last sign that the coordinator
    was at work ("end").
    """
    return t.sql(
        """
        WITH armed AS (
            SELECT s.member_id, s.broker, s.heard_at, s.armed_at, t.tenure, t.to_at
            FROM {signs_of_life} s JOIN {tenures} t
              ON t.broker = s.broker AND (t.tenure = 1 OR s.armed_at >= t.from_at)
             AND (t.next_at IS NULL OR s.armed_at < t.next_at)
            UNION ALL
            -- A coordinator that loads the group gives every member a full session.
            SELECT m.member_id, t.broker, t.from_at, t.from_at, t.tenure, t.to_at
            FROM {tenures} t JOIN {memberships} m
              ON m.joined_at < t.from_at AND (m.removed_at IS NULL OR m.removed_at >= t.from_at)
            WHERE t.loaded
        ),
        followed AS (
            SELECT *, lead(heard_at) OVER (
                PARTITION BY member_id, tenure ORDER BY armed_at, heard_at) AS next_heard_at
            FROM armed
        ),
        ended AS (
            SELECT f.*, m.member, m.session_timeout_ms,
                   CASE WHEN next_heard_at IS NOT NULL THEN next_heard_at
                        WHEN m.removed_at <= greatest(f.to_at, f.armed_at) THEN m.removed_at
                        ELSE f.to_at END AS to,
                   CASE WHEN next_heard_at IS NOT NULL THEN 'sign'
                        WHEN m.removed_at <= greatest(f.to_at, f.armed_at) THEN m.removed_by
                        ELSE 'end' END AS ended_by
            FROM followed f JOIN {memberships} m USING (member_id)
        )
        SELECT member_id, member, broker, tenure, armed_at AS from_at, to AS to_at, ended_by,
               session_timeout_ms,
               greatest(0, timestampdiff(MICROSECOND, armed_at, to)) / 1e3 AS ms
        FROM ended
        """
    )


def group_steps(t: Tables) -> DataFrame:
    """The coordinator's lines in order, and where the group stood when each was written.

    `rebalancing`: members were being waited for, so that nothing needs to start a rebalance.
    `next_start_at`: when the next rebalance started or the group was empty; `next_reason` why.
    """
    return t.sql(
        """
        WITH ranked AS (
            SELECT *,
                   CASE WHEN event IN ('stabilized', 'emptied') THEN 3
                        WHEN event = 'rebalance_started' THEN 2
                        WHEN event IN ('loaded', 'unloaded') THEN 0
                        ELSE 1 END AS rank,
                   CASE WHEN event IN ('stabilized', 'emptied', 'loaded') THEN false
                        WHEN event = 'rebalance_started' THEN true END AS opens
            FROM {coordinator_events} WHERE `group` = :group
        )
        SELECT broker, at, event, generation, member_id, members, reason, evidence,
               coalesce(last_value(opens, true) OVER (
                   PARTITION BY `group` ORDER BY at, rank
                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS rebalancing,
               last_value(CASE WHEN event IN ('rebalance_started', 'emptied') THEN at END, true)
                   OVER onward AS next_start_at,
               last_value(CASE WHEN event IN ('rebalance_started', 'emptied')
                          THEN coalesce(reason, event) END, true) OVER onward AS next_reason
        FROM ranked
        -- Backwards in time: Spark computes a frame that ends at the last row anew for each row.
        WINDOW onward AS (PARTITION BY `group` ORDER BY at DESC, rank DESC
                          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
        """
    )


def fault_windows(t: Tables) -> DataFrame:
    """One row per fault: when each of its phases began, and whether it took effect."""
    return t.sql(
        """
        SELECT fault, any_value(kind) AS kind, any_value(target) AS target,
               max(resolved) AS resolved, max(parameters) AS parameters,
               min(at) FILTER (WHERE phase = 'planned') AS planned_at,
               min(at) FILTER (WHERE phase = 'injecting') AS injecting_at,
               min(at) FILTER (WHERE phase = 'injected') AS injected_at,
               min(at) FILTER (WHERE phase = 'healing') AS healing_at,
               min(at) FILTER (WHERE phase = 'healed') AS healed_at,
               min(at) FILTER (WHERE phase = 'failed') AS failed_at,
               bool_and(took_effect) FILTER (WHERE phase = 'injected') AS took_effect,
               max(evidence) FILTER (WHERE phase IN ('injected', 'failed')) AS evidence
        FROM {faults} GROUP BY fault
        """
    )


def assignments(t: Tables) -> DataFrame:
    """What the group leader gave to whom, one row per generation and partition."""
    return t.sql(
        """
        WITH given AS (
            SELECT broker, generation, processed_at AS at, evidence, explode(assignments) AS part
            FROM {requests}
            WHERE `group` = :group AND api = 'SYNC_GROUP' AND error_code = 0
        )
        SELECT g.broker, g.generation, g.at, g.evidence, part.member_id,
               coalesce(m.member, part.member_id) AS member, part.topic, part.partition
        FROM given g LEFT JOIN {memberships} m ON m.member_id = part.member_id
        """
    )


def progress(t: Tables) -> DataFrame:
    """Deliveries, each with how far its partition had been read and processed before it.

    A partition is busy with a batch for the time declared for its records at most: a member that
    takes longer stands still, and so does its partition, whatever the member believes.
    """
    return t.sql(
        """
        WITH worked AS (
            SELECT d.*, least(coalesce(d.processed_at, d.polled_at),
                       timestampadd(MICROSECOND, m.process_us * d.count, d.polled_at)) AS worked_to
            FROM {deliveries} d LEFT JOIN {members} m USING (member)
        )
        SELECT member, poll, topic, partition, first_offset, last_offset, polled_at, processed_at,
               member_id, max(last_offset) OVER before AS reached,
               max(worked_to) OVER before AS busy_until
        FROM worked
        WINDOW before AS (PARTITION BY topic, partition ORDER BY polled_at, poll
                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        """
    )


def accepted(t: Tables) -> DataFrame:
    """Positions that the coordinator accepted, one row per commit and partition."""
    return t.sql("SELECT * FROM {commits_judged} WHERE error_code = 0")


def forgotten(t: Tables) -> DataFrame:
    """When nothing was committed any more, one row per partition and time.

    Positions deleted on purpose, and those of a group that was empty for its retention, found to be
    gone by whoever asked.
    """
    return t.sql(
        """
        SELECT p.topic, p.partition, processed_at AS at
        FROM {requests} LATERAL VIEW explode(positions) AS p
        WHERE `group` = :group AND api = 'OFFSET_DELETE' AND p.error_code = 0
        UNION ALL
        SELECT p.topic, p.partition, r.processed_at
        FROM (SELECT min(at) AS at FROM {coordinator_events}
              WHERE `group` = :group AND event = 'emptied') e
        JOIN {requests} r ON r.arrived_at >= timestampadd(MILLISECOND, :retention_ms, e.at)
        LATERAL VIEW explode(positions) AS p
        WHERE r.`group` = :group AND r.api = 'OFFSET_FETCH' AND p.error_code = 0
          AND p.committed = -1
        """
    )


def late_ticks(t: Tables) -> DataFrame:
    """Times in which this machine stood still for longer than the slack, one row each.

    A row of `host` tells the latest tick of the 100 ms before it.
    """
    return t.sql(
        """
        SELECT timestampadd(MICROSECOND, -CAST((100 + late_ms) * 1e3 AS BIGINT), at) AS from_at,
               at AS to_at, late_ms
        FROM {host} WHERE late_ms > :slack_ms
        """
    )
