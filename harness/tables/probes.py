"""What probes asked, beside what the coordinator must have known when it was asked.

Not written to files. Who is a member, of what generation the group is and what has been committed
follows from answers given before and from the coordinator's own log, never from what a script
believes.
"""


def probe_joins() -> str:
    """One row per JoinGroup of a probe that was accepted, with the id that it was answered."""
    return """
        SELECT `group`, get_json_object(answer, '$.memberId') AS member_id, instance_id, broker,
               CAST(get_json_object(answer, '$.generationId') AS INT) AS generation,
               get_json_object(answer, '$.leader') AS leader,
               get_json_object(answer, '$.members[0].memberId') IS NOT NULL AS told_members,
               CAST(get_json_object(request, '$.sessionTimeoutMs') AS INT) AS session_ms,
               CAST(get_json_object(request, '$.rebalanceTimeoutMs') AS INT) AS rebalance_ms,
               get_json_object(request, '$.protocols[0].metadata') AS metadata,
               state_before, sent_at, answered_at, step
        FROM {calls} WHERE api = 'JOIN_GROUP' AND error_code = 0
    """


def probe_members() -> str:
    """One row per member that a probe played: from its first accepted JoinGroup to its removal.

    It counts from when that was sent: whoever is parked is a member already.
    """
    return """
        WITH joined AS (
            SELECT `group`, member_id, any_value(instance_id) AS instance_id,
                   min(sent_at) AS from_at, min(answered_at) AS joined_at,
                   max(session_ms) AS session_ms, max(rebalance_ms) AS rebalance_ms,
                   max_by(metadata, sent_at) AS metadata
            FROM {probe_joins} GROUP BY `group`, member_id
        ), removed AS (
            SELECT j.`group`, j.member_id, min(e.at) AS at, min_by(e.event, e.at) AS event
            FROM joined j JOIN {coordinator_events} e
              ON e.`group` = j.`group` AND e.at >= j.from_at
             AND (e.event IN ('evicted', 'left') AND e.member_id = j.member_id
                  OR e.event IN ('stragglers_removed', 'rebalance_started')
                     AND (e.event = 'stragglers_removed' OR e.reason LIKE 'Removing [%')
                     AND contains(e.reason, j.member_id))
            GROUP BY j.`group`, j.member_id
        ), turned_away AS (
            -- The coordinator drops whom it refuses for the group's size, and logs no line of it.
            SELECT j.`group`, j.member_id, min(c.answered_at) AS at
            FROM joined j JOIN {calls} c ON same(c, j, `group`, member_id) AND c.api = 'JOIN_GROUP'
             AND c.error_code = :GROUP_MAX_SIZE_REACHED AND c.answered_at >= j.from_at
            GROUP BY j.`group`, j.member_id
        ), followed AS (
            SELECT *, CASE WHEN instance_id IS NOT NULL THEN lead(joined_at) OVER w END
                          AS replaced_at,
                   CASE WHEN instance_id IS NOT NULL THEN lead(member_id) OVER w END
                          AS replaced_by
            FROM joined WINDOW w AS (PARTITION BY `group`, instance_id ORDER BY from_at)
        )
        SELECT f.*, least(r.at, t.at, f.replaced_at) AS to_at,
               CASE WHEN f.replaced_at <= coalesce(least(r.at, t.at), f.replaced_at) THEN 'replaced'
                    WHEN t.at <= coalesce(r.at, t.at) THEN 'turned_away'
                    ELSE r.event END AS ended_by
        FROM followed f LEFT JOIN removed r ON same(r, f, `group`, member_id)
        LEFT JOIN turned_away t ON same(t, f, `group`, member_id)
    """


def probed() -> str:
    """Calls about a group that were answered, one row each, with what was so when they were sent.

    `state` of the group, null where the call or another changed it meanwhile; its `generation_now`,
    whether the asker is a member (`known`), who has the asker's instance id (`owner`), how many
    members there are (`size`), and whether the asker is nobody: no member, instance or generation.
    """
    return """
        WITH asked AS (
            SELECT *, row_number() OVER (ORDER BY sent_at, api, step) AS call,
                   CASE WHEN state_before = state_after THEN state_before END AS state,
                   coalesce(generation, -1) < 0 AND member_id IS NULL AND instance_id IS NULL
                       AS nobody
            FROM {calls} WHERE `group` IS NOT NULL AND answered_at IS NOT NULL
        ), members_then AS (
            SELECT a.call, count(m.member_id) AS size,
                   coalesce(bool_or(m.member_id = a.member_id), false) AS known,
                   max(m.member_id) FILTER (WHERE m.instance_id = a.instance_id) AS owner
            FROM asked a LEFT JOIN {probe_members} m
              ON m.`group` = a.`group` AND m.from_at < a.sent_at
             AND (m.to_at IS NULL OR m.to_at > a.sent_at)
            GROUP BY a.call
        ), generation_then AS (
            SELECT a.call, max_by(e.generation, e.at) AS generation_now
            FROM asked a JOIN {coordinator_events} e
              ON e.`group` = a.`group` AND e.event IN ('stabilized', 'emptied') AND e.at < a.sent_at
            GROUP BY a.call
        )
        SELECT a.*, m.size, m.known, m.owner, g.generation_now,
               concat(a.step, ' (', a.`group`, ')') AS subject
        FROM asked a JOIN members_then m USING (call) LEFT JOIN generation_then g USING (call)
    """


def probe_positions() -> str:
    """What probes changed of committed positions, one row per change and partition.

    `committed` is -1 for a deletion. What a transaction holds counts from when it was ended.
    """
    return """
        WITH asked AS (
            SELECT `group`, api, sent_at, answered_at, step,
                   from_json(get_json_object(request, '$.topics'),
                             'array<struct<name:string,partitions:array<struct<'
                             || 'partitionIndex:int,committedOffset:bigint,'
                             || 'committedMetadata:string>>>>') AS topics,
                   from_json(get_json_object(answer, '$.topics'),
                             'array<struct<name:string,partitions:array<struct<'
                             || 'partitionIndex:int,errorCode:int>>>>') AS answers,
                   coalesce(CAST(get_json_object(answer, '$.errorCode') AS INT), 0) AS whole
            FROM {calls} WHERE api IN ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT', 'OFFSET_DELETE')
        ), wanted AS (
            SELECT a.* EXCEPT (topics, answers), topic.name AS topic, part.*
            FROM asked a LATERAL VIEW explode(topics) AS topic
            LATERAL VIEW explode(topic.partitions) AS part
        ), got AS (
            SELECT `group`, api, sent_at, step, topic.name AS topic,
                   part.partitionIndex AS partition, part.errorCode AS error_code
            FROM asked LATERAL VIEW explode(answers) AS topic
            LATERAL VIEW explode(topic.partitions) AS part
        ), ended AS (
            SELECT `group`, min(answered_at) AS at FROM {calls}
            WHERE api = 'END_TXN' AND error_code = 0
              AND get_json_object(request, '$.committed') = 'true'
            GROUP BY `group`
        )
        SELECT w.`group`, w.api, w.topic, w.partitionIndex AS partition, w.step, w.sent_at,
               w.answered_at, w.committedMetadata AS metadata, w.committedOffset AS wanted,
               CASE WHEN w.api = 'OFFSET_DELETE' THEN -1 ELSE w.committedOffset END AS committed,
               coalesce(g.error_code, nullif(w.whole, 0)) AS error_code,
               CASE WHEN w.api = 'TXN_OFFSET_COMMIT' THEN e.at ELSE w.answered_at END AS at
        FROM wanted w
        LEFT JOIN got g ON same(g, w, `group`, api, sent_at, topic)
          AND g.partition = w.partitionIndex
        LEFT JOIN ended e ON e.`group` = w.`group`
    """


def probe_fetches() -> str:
    """Positions that probes fetched, one row per answer and partition, and what they should be.

    `committed` is what was answered, `wanted` the last position accepted before it was asked, -1 if
    there was none or it was deleted; `in_flight` are those that were being committed meanwhile, and
    those that failed for want of a replica, which may be made after all.
    `held`: an open transaction holds the partition; `ending`: one was told to end, and nobody can
    say when that is in force.
    """
    return """
        WITH asked AS (
            SELECT `group`, step, sent_at, answered_at,
                   get_json_object(request, '$.requireStable') = 'true' AS stable,
                   get_json_object(request, '$.groups[0].topics') IS NULL AS everything,
                   from_json(get_json_object(answer, '$.groups[0].topics'),
                             'array<struct<name:string,partitions:array<struct<partitionIndex:int,'
                             || 'committedOffset:bigint,errorCode:int>>>>') AS topics
            FROM {calls} WHERE api = 'OFFSET_FETCH' AND answered_at IS NOT NULL
        ), got AS (
            SELECT a.* EXCEPT (topics), topic.name AS topic, part.partitionIndex AS partition,
                   part.committedOffset AS committed, part.errorCode AS error_code
            FROM asked a LATERAL VIEW explode(topics) AS topic
            LATERAL VIEW explode(topic.partitions) AS part
        ), ending AS (
            SELECT `group`, min(sent_at) AS at FROM {calls} WHERE api = 'END_TXN' GROUP BY `group`
        )
        SELECT g.`group`, g.topic, g.partition, g.step, g.sent_at, g.answered_at, g.stable,
               g.everything, g.committed, g.error_code,
               coalesce(max_by(p.committed, p.at) FILTER (
                   WHERE p.at <= g.sent_at AND p.error_code = 0), -1) AS wanted,
               coalesce(collect_set(p.committed) FILTER (
                   WHERE p.api = 'OFFSET_COMMIT' AND p.sent_at <= g.answered_at
                     AND (p.error_code = 0 AND p.at > g.sent_at
                          OR p.error_code IN (:COORDINATOR_NOT_AVAILABLE, :REQUEST_TIMED_OUT))),
                   array()) AS in_flight,
               coalesce(bool_or(p.api = 'TXN_OFFSET_COMMIT' AND p.error_code = 0
                                AND p.answered_at <= g.sent_at
                                AND (e.at IS NULL OR e.at > g.answered_at)), false) AS held,
               coalesce(bool_or(p.api = 'TXN_OFFSET_COMMIT' AND e.at <= g.answered_at), false)
                   AS ending
        FROM got g LEFT JOIN {probe_positions} p ON same(p, g, `group`, topic, partition)
        LEFT JOIN ending e ON e.`group` = g.`group`
        GROUP BY ALL
    """
