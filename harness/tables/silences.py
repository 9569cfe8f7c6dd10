"""Signs of life that re-arm a member's session timer, and the silences between them."""


def join_waits() -> str:
    """Join phases that a member got through, one row each: its JoinGroup waited for their end.

    A client may give that up: it closes the connection, and a request that is never answered has no
    line. The coordinator shows it. When a phase ends it removes the dynamic members that have not
    joined; so where the generation has as many members as the group, each of them had joined,
    answered or not. Nothing tells since when. A phase that its coordinator did not live to end, or
    that the record does not see end, has no `generation`, and removed nobody. A static member
    (`instance_id`) stays until its session ends, so it may have joined.

    Law: who has joined is alive until the join phase ends, and has a full session from then on.
    """
    return """
        WITH phases AS (
            SELECT broker, generation, members, started_at AS from_at, joined_at AS to_at, evidence
            FROM {generations} WHERE event = 'stabilized' AND started_at IS NOT NULL
            UNION ALL
            SELECT s.broker, NULL, NULL, s.at, t.to_at, s.evidence
            FROM {coordinator_events} s JOIN {tenures} t
              ON t.broker = s.broker AND s.at >= t.from_at
             AND (t.next_at IS NULL OR s.at < t.next_at)
            LEFT ANTI JOIN {coordinator_events} d
              ON d.`group` = :group AND d.broker = s.broker AND d.at >= s.at
             AND (t.next_at IS NULL OR d.at < t.next_at)
             AND d.event IN ('stabilized', 'emptied')
            WHERE s.`group` = :group AND s.event = 'rebalance_started'
        ), present AS (
            SELECT p.*, m.member_id, m.member, m.instance_id,
                   count(*) OVER (PARTITION BY p.broker, p.from_at, p.to_at) AS present
            FROM phases p JOIN {memberships} m
              ON m.joined_at <= p.to_at AND (m.removed_at IS NULL OR m.removed_at > p.to_at)
        )
        SELECT member_id, member, instance_id, broker, generation, from_at, to_at, evidence
        FROM present WHERE coalesce(present = members, true)
    """


def signs_of_life() -> str:
    """Accepted requests that re-arm a member's session timer, one row each.

    `heard_at` ends the silence before it, `armed_at` starts the next. They differ for JOIN_GROUP
    and SYNC_GROUP: a member is safe while one of these is parked, and its timer starts anew when
    it is answered. An OFFSET_COMMIT re-arms when it is validated, long before a slow append lets
    it be answered, so its arrival counts. (GroupMetadataManager, OffsetMetadataManager 4.3.)
    `armed_from_at` is the earliest that it can have been: a heartbeat's answer is ready some time
    after the heartbeat has had its effect (measured: 70 ms on a busy broker, and 4.7 s where it
    waited for a replica), so a silence ends with its arrival. `armed_by_at` is the latest: a
    commit waits for a thread of the broker and in the coordinator's own queue first, and no line
    tells for how long (39 ms on a busy machine, and about 160 ms where a program sent 60
    commits a second), so that it can have been at any moment until its answer was ready.

    Of a member of KIP-848 only its heartbeats count, and those by their arrival too: an answer
    waits until whatever the coordinator has written before it is replicated.

    A JoinGroup that was never answered has no line, but where its member is one of the generation
    (`join_waits`) it is a sign of life as that forms; of a static member it may be one, so it can
    have armed its timer at any moment since the sign before.
    """
    return """
        WITH modern AS (
            SELECT DISTINCT member_id FROM {requests}
            WHERE `group` = :group AND api = 'CONSUMER_GROUP_HEARTBEAT'
        ), heard AS (
            SELECT r.member_id, coalesce(program, client_id) AS member, broker, api, error_code,
                   generation, arrived_at AS heard_at,
                   CASE WHEN api IN ('OFFSET_COMMIT', 'CONSUMER_GROUP_HEARTBEAT') THEN arrived_at
                        ELSE processed_at END AS armed_at,
                   CASE WHEN api IN ('OFFSET_COMMIT', 'HEARTBEAT', 'CONSUMER_GROUP_HEARTBEAT')
                        THEN arrived_at ELSE processed_at END AS armed_from_at,
                   CASE api WHEN 'CONSUMER_GROUP_HEARTBEAT' THEN arrived_at
                            ELSE processed_at END AS armed_by_at,
                   answered_at, evidence
            FROM {requests} r LEFT JOIN modern m ON m.member_id = r.member_id
            WHERE `group` = :group AND r.member_id IS NOT NULL
              AND (api = 'HEARTBEAT' AND error_code IN (0, 27)
                   OR api IN ('JOIN_GROUP', 'SYNC_GROUP') AND error_code = 0
                   OR api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = 0 AND generation >= 0
                   OR api = 'OFFSET_COMMIT' AND error_code = 0 AND generation >= 0
                      AND m.member_id IS NULL)
        ), unheard AS (
            SELECT w.member_id, w.member, w.broker, w.generation, w.to_at, w.evidence,
                   coalesce(max(h.armed_from_at), w.to_at) AS from_at
            FROM {join_waits} w
            LEFT ANTI JOIN {joins} j ON same(j, w, member_id, broker, generation)
            -- Of whom no request is on record, nothing is known.
            LEFT SEMI JOIN {own_requests} r ON r.member_id = w.member_id
            LEFT JOIN heard h
              ON w.instance_id IS NOT NULL AND h.member_id = w.member_id AND h.armed_at <= w.to_at
            WHERE w.generation IS NOT NULL
            GROUP BY w.member_id, w.member, w.broker, w.generation, w.to_at, w.evidence
        )
        SELECT * FROM heard
        UNION ALL
        SELECT member_id, member, broker, 'JOIN_GROUP', 0, generation, to_at, to_at, from_at, to_at,
               NULL, evidence
        FROM unheard
    """


def silences() -> str:
    """One row per time that a member id was not heard of while one coordinator worked.

    From the moment its session timer was armed to the next sign of life (`ended_by` "sign"), to
    its removal ("evicted", "left", "fenced", "stragglers_removed", "replaced"), or to the last
    sign that the coordinator was at work ("end"). One that outlasted its session while the
    coordinator was stopped is none: its timers stood still as well. Nor is one of which no more
    than a session was before or after a join phase that the member got through, for a JoinGroup
    may have waited meanwhile. It counts from the latest moment at which its timer can have been
    armed, so that it was surely as long; one that ended in an eviction from the earliest, so that
    it was surely no longer.

    Law: a silence is held against nobody for longer than the record shows that it was.
    """
    return """
        WITH armed AS (
            SELECT s.member_id, s.broker, s.heard_at, s.armed_at, s.armed_from_at,
                   s.armed_by_at, t.tenure, t.to_at
            FROM {signs_of_life} s JOIN {tenures} t
              ON t.broker = s.broker AND (t.tenure = 1 OR s.armed_at >= t.from_at)
             AND (t.next_at IS NULL OR s.armed_at < t.next_at)
            UNION ALL
            -- A coordinator that loads the group gives every member a full session.
            SELECT m.member_id, t.broker, t.from_at, t.from_at, t.from_at, t.from_at, t.tenure,
                   t.to_at
            FROM {tenures} t JOIN {memberships} m
              ON m.joined_at < t.from_at AND (m.removed_at IS NULL OR m.removed_at >= t.from_at)
            WHERE t.loaded
        ), followed AS (
            SELECT a.*, m.member, m.session_timeout_ms, m.removed_at, m.removed_by,
                   lead(a.heard_at) OVER (PARTITION BY a.member_id, m.since_at, a.tenure
                                          ORDER BY a.armed_at, a.heard_at) AS next_heard_at
            FROM armed a JOIN {memberships} m
              ON m.member_id = a.member_id AND (m.since_at IS NULL OR a.armed_at > m.since_at)
             AND (m.until_at IS NULL OR a.armed_at <= m.until_at)
        ), ended AS (
            SELECT *,
                   CASE WHEN next_heard_at IS NOT NULL THEN next_heard_at
                        WHEN removed_at <= greatest(to_at, armed_at) THEN removed_at
                        ELSE to_at END AS to,
                   CASE WHEN next_heard_at IS NOT NULL THEN 'sign'
                        WHEN removed_at <= greatest(to_at, armed_at) THEN removed_by
                        ELSE 'end' END AS ended_by
            FROM followed
        ), timed AS (
            SELECT *, IF(ended_by = 'evicted', armed_from_at, armed_by_at) AS from_at FROM ended
        )
        SELECT member_id, member, t.broker, tenure, t.from_at, to AS to_at, ended_by,
               session_timeout_ms,
               greatest(0, ms_between(t.from_at, to)) AS ms
        FROM timed t LEFT ANTI JOIN {stopped_brokers} b
          ON b.broker = t.broker AND b.from_at <= t.to AND b.to_at >= t.from_at
         AND t.ended_by IN ('sign', 'end')
         AND t.to > after(t.session_timeout_ms, t.from_at)
        LEFT ANTI JOIN {join_waits} w
          ON same(w, t, member_id, broker) AND w.from_at < t.to AND w.to_at > t.from_at
         AND w.from_at <= after(t.session_timeout_ms + :slack_ms, t.from_at)
         AND w.to_at >= after(-t.session_timeout_ms - :slack_ms, t.to)
         AND t.ended_by IN ('sign', 'end')
         AND t.to > after(t.session_timeout_ms, t.from_at)
    """
