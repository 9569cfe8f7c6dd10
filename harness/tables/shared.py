"""What several tables and rules start from; not written to files."""

from __future__ import annotations

from pyspark.sql import DataFrame

from harness.tables.base import Tables


def signs_of_life(t: Tables) -> DataFrame:
    """Accepted requests that re-arm a member's session timer, one row each.

    `heard_at` ends the silence before it, `armed_at` starts the next. They differ for JOIN_GROUP
    and SYNC_GROUP: a member is safe while one of these is parked, and its timer starts anew when
    it is answered. An OFFSET_COMMIT re-arms when it is validated, long before a slow append lets
    it be answered, so its arrival counts. (GroupMetadataManager, OffsetMetadataManager 4.3.)
    `armed_from_at` is the earliest that it can have been: a heartbeat's answer is ready some time
    after the heartbeat has had its effect (measured: 70 ms on a busy broker, and 4.7 s where it
    waited for a replica), so a silence ends with its arrival.

    Of a member of KIP-848 only its heartbeats count, and those by their arrival too: an answer
    waits until whatever the coordinator has written before it is replicated.
    """
    return t.sql(
        """
        WITH modern AS (
            SELECT DISTINCT member_id FROM {requests}
            WHERE `group` = :group AND api = 'CONSUMER_GROUP_HEARTBEAT'
        )
        SELECT r.member_id, client_id AS member, broker, api, error_code, generation,
               arrived_at AS heard_at,
               CASE WHEN api IN ('OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT') THEN arrived_at
                    ELSE processed_at END AS armed_at,
               CASE WHEN api IN ('OFFSET_COMMIT', 'HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT')
                    THEN arrived_at ELSE processed_at END AS armed_from_at,
               answered_at, evidence
        FROM {requests} r LEFT JOIN modern m ON m.member_id = r.member_id
        WHERE `group` = :group AND r.member_id IS NOT NULL
          AND (api = 'HEARTBEAT' AND error_code IN (0, 27)
               OR api IN ('JOIN_GROUP', 'SYNC_GROUP') AND error_code = 0
               OR api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = 0 AND generation >= 0
               OR api = 'OFFSET_COMMIT' AND error_code = 0 AND generation >= 0
                  AND m.member_id IS NULL)
        """
    )


def memberships(t: Tables) -> DataFrame:
    """One row per `stay` of a member id in the group: whose, when it joined, when and how removed.

    A classic member that comes back has another id. A member of KIP-848 keeps its own, so its id
    can have several stays: `since_at` is when the one before ended, `until_at` when this one did,
    both null where there is no other. What bears the id between them belongs to this stay.
    A static member's id is `replaced` when another process joins under its instance id.
    """
    return t.sql(
        """
        WITH told AS (
            SELECT member_id, at, event, evidence
            FROM {coordinator_events}
            WHERE `group` = :group
              AND event IN ('member_added', 'evicted', 'left', 'replaced', 'fenced')
            UNION ALL
            SELECT trim(straggler), at, event, evidence
            FROM {coordinator_events}
            LATERAL VIEW explode(split(regexp_replace(reason, '[^-_.\\\\w,]', ''), ','))
                AS straggler
            WHERE `group` = :group AND event = 'stragglers_removed'
            UNION ALL
            -- A static member of KIP-848 that came back takes the place of the one it was.
            SELECT regexp_extract(text, 'existing member (\\\\S+)\\\\.$', 1), at, 'replaced',
                   evidence
            FROM {coordinator_events}
            WHERE `group` = :group AND event = 'member_added'
              AND text LIKE '%to replace the existing member %'
        ),
        numbered AS (
            SELECT *, count_if(event <> 'member_added') OVER (
                PARTITION BY member_id ORDER BY at, IF(event = 'member_added', 1, 0)
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS stay
            FROM told WHERE member_id <> ''
        ),
        by_coordinator AS (
            SELECT member_id, stay,
                   min(at) FILTER (WHERE event = 'member_added') AS added_at,
                   min(at) FILTER (WHERE event <> 'member_added') AS removed_at,
                   min_by(event, at) FILTER (WHERE event <> 'member_added') AS removed_by,
                   min_by(evidence, at) FILTER (WHERE event <> 'member_added') AS evidence
            FROM numbered GROUP BY member_id, stay
            HAVING stay = 0 OR count_if(event = 'member_added') > 0
        ),
        by_requests AS (
            SELECT member_id, min(client_id) AS member,
                   min(processed_at) FILTER (WHERE error_code = 0 AND (api = 'JOIN_GROUP'
                       OR api = 'CONSUMER_GROUP_HEARTBEAT' AND generation = 0)) AS joined_at,
                   max(session_timeout_ms) AS session_timeout_ms,
                   max(instance_id) AS instance_id
            FROM {requests}
            WHERE `group` = :group AND member_id IS NOT NULL GROUP BY member_id
        )
        SELECT member_id,
               -- A classic member id is the client id, a dash and a UUID of 36 characters.
               coalesce(r.member, substr(member_id, 1, length(member_id) - 37)) AS member,
               coalesce(c.added_at, CASE WHEN coalesce(c.stay, 0) = 0 THEN r.joined_at END)
                   AS joined_at,
               c.removed_at, c.removed_by, r.instance_id,
               concat_ws(' ', member_id, c.stay) AS stay,
               coalesce(r.session_timeout_ms, :session_ms) AS session_timeout_ms, c.evidence,
               lag(c.removed_at) OVER w AS since_at,
               CASE WHEN lead(c.stay) OVER w IS NOT NULL THEN c.removed_at END AS until_at
        FROM by_coordinator c FULL OUTER JOIN by_requests r USING (member_id)
        WINDOW w AS (PARTITION BY member_id ORDER BY c.stay)
        """
    )


def identities(t: Tables) -> DataFrame:
    """One row per member id: whose it was, its instance id, and its session timeout."""
    return t.sql(
        """
        SELECT member_id, any_value(member) AS member, max(instance_id) AS instance_id,
               max(session_timeout_ms) AS session_timeout_ms
        FROM {memberships} GROUP BY member_id
        """
    )


def removals(t: Tables) -> DataFrame:
    """One row per removal of a member id, and when the same id was back, if it ever was."""
    return t.sql(
        """
        SELECT * FROM (
            SELECT *, lead(joined_at) OVER (
                PARTITION BY member_id ORDER BY removed_at NULLS LAST) AS back_at
            FROM {memberships})
        WHERE removed_at IS NOT NULL
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
              AND api IN ('HEARTBEAT', 'JOIN_GROUP', 'SYNC_GROUP', 'LEAVE_GROUP',
                          'CONSUMER_GROUP_HEARTBEAT')
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
    its removal ("evicted", "left", "fenced", "stragglers_removed", "replaced"), or to the last
    sign that the coordinator was at work ("end"). Where an eviction shows that the timer was armed
    before the last heartbeat's answer was ready, it counts from then.
    """
    return t.sql(
        """
        WITH armed AS (
            SELECT s.member_id, s.broker, s.heard_at, s.armed_at, s.armed_from_at, t.tenure,
                   t.to_at
            FROM {signs_of_life} s JOIN {tenures} t
              ON t.broker = s.broker AND (t.tenure = 1 OR s.armed_at >= t.from_at)
             AND (t.next_at IS NULL OR s.armed_at < t.next_at)
            UNION ALL
            -- A coordinator that loads the group gives every member a full session.
            SELECT m.member_id, t.broker, t.from_at, t.from_at, t.from_at, t.tenure, t.to_at
            FROM {tenures} t JOIN {memberships} m
              ON m.joined_at < t.from_at AND (m.removed_at IS NULL OR m.removed_at >= t.from_at)
            WHERE t.loaded
        ),
        followed AS (
            SELECT a.*, m.member, m.session_timeout_ms, m.removed_at, m.removed_by,
                   lead(a.heard_at) OVER (PARTITION BY a.member_id, m.since_at, a.tenure
                                          ORDER BY a.armed_at, a.heard_at) AS next_heard_at
            FROM armed a JOIN {memberships} m
              ON m.member_id = a.member_id AND (m.since_at IS NULL OR a.armed_at > m.since_at)
             AND (m.until_at IS NULL OR a.armed_at <= m.until_at)
        ),
        ended AS (
            SELECT *,
                   CASE WHEN next_heard_at IS NOT NULL THEN next_heard_at
                        WHEN removed_at <= greatest(to_at, armed_at) THEN removed_at
                        ELSE to_at END AS to,
                   CASE WHEN next_heard_at IS NOT NULL THEN 'sign'
                        WHEN removed_at <= greatest(to_at, armed_at) THEN removed_by
                        ELSE 'end' END AS ended_by
            FROM followed
        ),
        timed AS (
            SELECT *, CASE WHEN ended_by = 'evicted'
                           THEN least(armed_at, greatest(armed_from_at,
                                timestampadd(MILLISECOND, -session_timeout_ms, to)))
                           ELSE armed_at END AS from_at
            FROM ended
        )
        SELECT member_id, member, broker, tenure, from_at, to AS to_at, ended_by,
               session_timeout_ms,
               greatest(0, timestampdiff(MICROSECOND, from_at, to)) / 1e3 AS ms
        FROM timed
        """
    )


def group_steps(t: Tables) -> DataFrame:
    """The coordinator's lines in order, and where the group stood when each was written.

    `rebalancing`: members were being waited for, so that nothing needs to start a rebalance.
    `next_start_at`: when the next rebalance started or the group was empty; `next_reason` why. In
    a group of KIP-848 it is the next group epoch, and no member is waited for.
    """
    return t.sql(
        """
        WITH ranked AS (
            SELECT *,
                   CASE WHEN event IN ('stabilized', 'emptied') THEN 3
                        WHEN event IN ('rebalance_started', 'epoch_bumped') THEN 2
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
               last_value(CASE WHEN event IN ('rebalance_started', 'emptied', 'epoch_bumped')
                          THEN at END, true)
                   OVER onward AS next_start_at,
               last_value(CASE WHEN event IN ('rebalance_started', 'emptied', 'epoch_bumped')
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


def broker_faults(t: Tables) -> DataFrame:
    """The fault windows in which a broker was gone for the others: dead, paused, or cut off."""
    return t.sql(
        """
        SELECT * FROM {fault_windows}
        WHERE resolved LIKE 'broker-%'
          AND (kind IN ('kill-broker', 'pause-broker', 'stop-broker')
               OR kind = 'isolate-broker'
                  AND coalesce(get_json_object(parameters, '$.how'), 'peers') = 'peers')
        """
    )


def assignments(t: Tables) -> DataFrame:
    """What was given to whom, one row per generation and partition.

    By the group leader; or, in a group of KIP-848, by the coordinator, as the members had last been
    told when the next target was computed; classic members of such a group by SYNC_GROUP. There,
    `removed_at` is when a member's stay ended in which it was told.
    """
    return t.sql(
        """
        WITH led AS (
            SELECT broker, generation, processed_at AS at, evidence, explode(assignments) AS part
            FROM {requests}
            WHERE `group` = :group AND api = 'SYNC_GROUP' AND error_code = 0
        ),
        targets AS (
            SELECT broker, generation, at, lead(at) OVER (PARTITION BY 1 ORDER BY at) AS next_at
            FROM {coordinator_events} WHERE `group` = :group AND event = 'target_computed'
        ),
        told AS (
            SELECT x.broker, x.generation, r.member_id,
                   greatest(max(r.processed_at), max(x.at)) AS at,
                   max_by(r.evidence, r.processed_at) AS evidence,
                   max_by(r.assigned, r.processed_at) AS assigned,
                   max(m.removed_at) AS removed_at
            FROM targets x JOIN {requests} r
              ON r.`group` = :group AND r.error_code = 0 AND r.assigned IS NOT NULL
             AND r.api IN ('CONSUMER_GROUP_HEARTBEAT', 'SYNC_GROUP')
             AND coalesce(r.member_epoch, r.generation) <= x.generation
             AND (x.next_at IS NULL OR r.arrived_at < x.next_at)
            JOIN {memberships} m
              ON m.member_id = r.member_id AND (m.since_at IS NULL OR r.arrived_at > m.since_at)
             AND (m.until_at IS NULL OR r.arrived_at <= m.until_at)
             AND (m.removed_at IS NULL OR m.removed_at > x.at)
            GROUP BY x.broker, x.generation, r.member_id
        ),
        given AS (
            SELECT broker, generation, at, evidence, part.member_id, part.topic, part.partition,
                   CAST(NULL AS TIMESTAMP) AS removed_at
            FROM led
            UNION ALL
            SELECT broker, generation, at, evidence, member_id, part.topic, part.partition,
                   removed_at
            FROM (SELECT *, explode(assigned) AS part FROM told)
        )
        SELECT g.broker, g.generation, g.at, g.removed_at, g.evidence, g.member_id,
               coalesce(m.member, g.member_id) AS member, m.instance_id, g.topic, g.partition
        FROM given g LEFT JOIN {identities} m ON m.member_id = g.member_id
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

    A row of `host` ends with the tick that it tells. In older runs that may be any of its ten, and
    these took 100 ms and as long as each of them was late: it reaches back to the row before.
    """
    return t.sql(
        """
        WITH told AS (SELECT at, late_ms, lag(at) OVER (PARTITION BY 1 ORDER BY at) AS before_at
                      FROM {host})
        SELECT least(timestampadd(MICROSECOND, -CAST((100 + late_ms) * 1e3 AS BIGINT), at),
                     before_at) AS from_at,
               at AS to_at, late_ms
        FROM told WHERE late_ms > :slack_ms
        """
    )
