-- Every fault took effect
-- Each declared fault was injected, and its effect was seen by another path than the one that
-- injected it, on the member that it names. Its phases are on record once each, and in their order.
-- why: A run whose fault had no effect shows only how the group works undisturbed.
-- source: kafka-chaos, evidence
-- id: E01 | rows: faults | needs: faults | kind: evidence, without journals
--
-- A fault is `unknown` where it did not take effect, or was seen by no other: then what the run
-- shows of it is no evidence. It is `wrong` where the other side saw the opposite, or where its
-- phases are out of order. What could not be injected or healed is tried again, and has phases
-- twice.

-- let SETTLE_MS = 1000
--   A frozen or isolated member's last requests may be on their way for a moment.
-- let START_LATE_MS = 10000
--   How long it may take from a fault that starts a member until its process runs. Measured: 0.8 s.

WITH active AS (
    SELECT f.*, after(:SETTLE_MS, injected_at) AS settled_at,
           coalesce(healing_at, healed_at, :drained_at) AS over_at,
           lead(injecting_at) OVER (PARTITION BY resolved ORDER BY injecting_at) AS next_at,
           m.member, m.instance_id, m.started_at, m.sabotage,
           -- What is seen of a member or its link names it; of two with one instance id, either.
           CASE WHEN f.proof <> 'fenced' AND f.resolved RLIKE '^member-[0-9]+$'
                     AND f.evidence RLIKE 'member-[0-9]'
                     AND NOT concat(f.evidence, ' ') RLIKE concat(f.resolved, '[^0-9]')
                THEN clause('what was seen of it is of another member: ', f.evidence)
                WHEN f.proof = 'join' AND m.started_at < after(-:slack_ms, f.injecting_at)
                THEN clause('the member ran already, ',
                            round(ms_between(m.started_at, f.injecting_at) / 1e3, 1),
                            ' s before the fault') END AS elsewhere
    FROM {fault_windows} f LEFT JOIN {members} m ON m.member = f.resolved
), phases AS (
    SELECT fault, phase, at, array_position(
               array('planned', 'injecting', 'injected', 'healing', 'healed'), phase) AS place
    FROM {faults} WHERE at IS NOT NULL
), marks AS (
    SELECT *, lag(phase) OVER w AS before, lag(place) OVER w AS place_before,
           lag(at) OVER w AS before_at
    FROM phases WINDOW w AS (PARTITION BY fault ORDER BY at, place)
), turned AS (
    -- A step of a deploy is not planned by itself.
    SELECT fault, min(struct(at, phase, before, before_at)) AS first,
           bool_or(coalesce(place < place_before, false)) AS back
    FROM marks m LEFT ANTI JOIN phases f ON f.fault = m.fault AND f.phase = 'failed'
    WHERE place <> place_before + 1 OR place_before IS NULL AND place > 2
    GROUP BY fault
), gone AS (
    -- One that is cut off from its peers still answers the observer.
    SELECT a.* FROM active a LEFT SEMI JOIN {broker_faults} b
      ON b.fault = a.fault AND b.proof = 'observer'
), seen AS (
    SELECT a.fault, count_if(NOT y.alive) AS down
    FROM gone a LEFT JOIN {topology} y
      ON y.what = 'broker' AND a.resolved = concat('broker-', y.broker)
     AND y.at >= a.injecting_at AND y.at <= after(30000, a.over_at)
    GROUP BY a.fault
), answered AS (
    SELECT a.fault, count(r.processed_at) AS requests, count(*) AS signs
    FROM gone a JOIN (SELECT broker, processed_at, processed_at AS at FROM {requests}
                      UNION ALL SELECT broker, NULL, at FROM {coordinator_events}) r
      ON a.resolved = concat('broker-', r.broker) AND r.at > a.settled_at AND r.at < a.over_at
    GROUP BY a.fault
), heard AS (
    SELECT a.fault,
           -- Cut off from one broker only, a member can still ask others for it.
           -- What a member says as it leaves may lie at a busy broker for seconds.
           count_if(r.arrived_at > a.settled_at AND r.arrived_at < a.over_at
               AND NOT (a.ends_member AND NOT a.killed AND (r.api = 'LEAVE_GROUP'
                    OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0))
               AND (r.api <> 'FIND_COORDINATOR'
                    OR get_json_object(a.parameters, '$.of_broker') IS NULL)) AS requests,
           count_if(r.error_code = :NONE AND (r.api = 'JOIN_GROUP'
               OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation = 0)) AS joins,
           -- All leave as the run ends.
           count_if(coalesce(r.arrived_at <= a.over_at, true) AND (r.api = 'LEAVE_GROUP'
                    OR r.api = 'CONSUMER_GROUP_HEARTBEAT' AND r.generation < 0)) AS leaves
    FROM active a LEFT JOIN {requests} r
      ON coalesce(r.program, r.client_id) = a.resolved AND r.arrived_at >= a.injecting_at
    GROUP BY a.fault
),
-- The older of two with one instance id, or in KIP-848 the newer.
fenced AS (
    SELECT a.fault, count(r.arrived_at) AS times
    FROM active a LEFT JOIN {requests} r
      ON r.instance_id = a.instance_id AND r.arrived_at >= a.injecting_at
     AND (r.error_code = :FENCED_INSTANCE_ID AND r.client_id = a.member
          OR r.error_code = :UNRELEASED_INSTANCE_ID AND r.client_id <> a.member)
    WHERE a.proof = 'fenced' GROUP BY a.fault
), polls AS (
    SELECT a.fault, count(d.polled_at) AS polls
    FROM active a JOIN {client_events} e
      ON e.member = a.resolved
     AND (a.proof = 'stall' AND e.event = 'stall_started'
          OR a.proof = 'callback stall' AND e.event = 'callback_stall_started')
     AND e.event_at >= after(-5000, a.injecting_at)
    LEFT JOIN {deliveries} d
      ON d.member = e.member AND d.polled_at > after(:slack_ms, e.event_at)
     AND d.polled_at < after(e.duration_ms - :slack_ms, e.event_at)
    GROUP BY a.fault
), went_on AS (
    SELECT a.fault, count(*) AS polls FROM active a JOIN {deliveries} d
      ON d.member = a.resolved AND d.polled_at > a.settled_at AND d.polled_at < a.over_at
    WHERE a.proof = 'silence' AND a.breaks = 'member' GROUP BY a.fault
),
-- Records a second of the member behind a narrow link, during and before it.
narrowed AS (
    SELECT a.fault,
           sum(d.count) FILTER (WHERE d.polled_at > settled_at AND d.polled_at < over_at)
               / ms_between(settled_at, over_at) * 1e3 AS during,
           sum(d.count) FILTER (WHERE d.polled_at >= :steady_at
                                  AND d.polled_at < injecting_at)
               / ms_between(:steady_at, injecting_at) * 1e3 AS before
    FROM active a JOIN {deliveries} d ON d.member = a.resolved
    WHERE a.proof = 'slower' AND over_at > settled_at AND injecting_at > :steady_at
    GROUP BY a.fault, settled_at, over_at, injecting_at
)
SELECT concat(fault, coalesce(concat(' of ', resolved), '')) AS subject,
       coalesce(injected_at, injecting_at, planned_at) AS at,
       CASE WHEN injected_at IS NULL AND failed_at IS NOT NULL
            THEN clause('could not be injected: ',
                        coalesce(a.evidence, 'no reason is on record'))
            WHEN injected_at IS NULL THEN 'was planned but never injected'
            WHEN took_effect IS NULL THEN 'was not proved to have taken effect'
            WHEN NOT took_effect
            THEN clause('took no effect: ', coalesce(a.evidence, 'no reason is on record'))
            WHEN elsewhere IS NOT NULL THEN NULL
            WHEN s.down = 0 THEN 'the observer never saw that the broker was gone'
            WHEN proof = 'join' AND h.joins = 0
            THEN 'no coordinator accepted a join of the member'
            -- One name may be started twice: its last start is on record.
            WHEN proof = 'join' AND next_at IS NULL
                 AND started_at > after(:START_LATE_MS, injecting_at)
            THEN clause('the member was started ',
                        round(ms_between(injecting_at, started_at) / 1e3, 1),
                        ' s after the fault')
            WHEN proof = 'leave' AND h.leaves = 0
                 AND a.instance_id IS NULL AND a.sabotage IS NULL
            THEN 'no leave of the member reached a coordinator'
            WHEN proof = 'fenced' AND coalesce(d.times, 0) = 0
            THEN 'no coordinator refused one of the two processes'
            WHEN stalls AND p.polls IS NULL THEN 'the member recorded no stall'
            WHEN n.during IS NOT NULL AND n.before IS NULL
            THEN 'the member had read nothing before' END AS unknown,
       CASE WHEN t.fault IS NOT NULL
            THEN clause('has its phases out of order: ', t.first.phase, ' after ',
                        coalesce(t.first.before, 'nothing'))
            WHEN elsewhere IS NOT NULL THEN elsewhere
            WHEN proof = 'silence' AND breaks = 'member' AND h.requests > 0
            THEN clause(h.requests, ' requests of the member arrived during the fault')
            WHEN b.requests > 0
            THEN clause('the broker processed ', b.requests, ' requests during the fault')
            WHEN b.signs > 0 THEN clause('the broker logged ', b.signs, ' lines during the fault')
            WHEN w.polls > 0
            THEN clause(w.polls, ' polls of the member returned records during the fault')
            WHEN stalls AND p.polls > 0
            THEN clause(p.polls, ' polls of the member returned records during its stall')
            WHEN proof = 'silence' AND h.requests > 0
            THEN clause(h.requests, ' requests came through the isolated link')
            WHEN n.during >= n.before
            THEN clause('the member read ', round(n.during), ' records a second through ',
                        'the narrow link, and ', round(n.before), ' before') END AS wrong,
       a.evidence AS note,
       -- Where the time of day was set, stamps are in no order; but none is missing.
       IF(t.back, t.first.before_at, NULL) AS guard_from, t.first.at AS guard_to
FROM active a JOIN heard h USING (fault) LEFT JOIN seen s USING (fault)
LEFT JOIN answered b USING (fault) LEFT JOIN polls p USING (fault)
LEFT JOIN narrowed n USING (fault) LEFT JOIN fenced d USING (fault) LEFT JOIN went_on w USING (fault)
LEFT JOIN turned t USING (fault)
UNION ALL
SELECT 'schedule', max(planned_at),
       concat(count(*), ' of ', :faults, ' declared faults are on record'), NULL, NULL,
       NULL, NULL
FROM {fault_windows} HAVING count(*) < :faults AND count(*) > 0
