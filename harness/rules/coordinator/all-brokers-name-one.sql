-- All brokers name one coordinator
-- Whichever broker is asked for the group's coordinator names the one that coordinates it, or says
-- that there is none yet. The same broker describes the group.
-- why: A member that is sent to the wrong broker is refused there, and asks again, for ever.
-- source: document 000, FindCoordinator; KafkaApis.handleFindCoordinatorRequest
-- id: X66 | rows: brokers | unit: answers | measured: that named another | high: named brokers that
--   did not coordinate the group | kind: broker, in passing, compares clocks
--
-- A broker learns of a change from the controller, as its peers do. So nothing is asked of answers
-- while a broker is broken and until a session after it, within some seconds of another's taking
-- over, nor of those long before the group's first line. Of a coordinator whose process ended all
-- is known once another has loaded the group.

-- let BEFORE_MS = 1000
--   How long before its first line a group's first coordinator has been it: who looked it up joined
--   at once. What was so earlier is on no log (a cluster that starts on a busy machine changed it).

-- let SAYS
concat(count(*), ' answers; named ', array_join(array_sort(collect_set(named)), ', ')) AS note

-- query
WITH answers AS (
    SELECT broker, member AS asker, arrived_at, processed_at, evidence,
           CAST(get_json_object(detail, '$.coordinator') AS INT) AS named
    FROM {own_requests} WHERE api = 'FIND_COORDINATOR' AND error_code = :NONE
    UNION ALL
    SELECT NULL, 'observer', at, at, NULL, coordinator
    FROM {topology} WHERE what = 'group' AND `group` = :group AND coordinator IS NOT NULL
), changes AS (
    SELECT f.injecting_at AS from_at,
           IF({ENDS_PROCESS} AND f.resolved LIKE 'broker-%',
              after(:LEARNS_MS, least(coalesce(f.healed_at, :ended_at),
                                      coalesce(min(t.from_at), :ended_at))),
              after(:session_ms, coalesce(f.healed_at, :ended_at))) AS to_at
    FROM {fault_windows} f LEFT JOIN {tenures} t
      ON t.loaded AND t.from_at > f.injecting_at AND t.broker <> t.broker_before
     AND f.resolved = concat('broker-', t.broker_before)
    WHERE f.breaks = 'broker' OR f.broker_gone
    GROUP BY f.fault, f.evidence, f.killed, f.resolved, f.injecting_at, f.healed_at
    UNION ALL
    SELECT after(-:LEARNS_MS, from_at), after(:LEARNS_MS, from_at) FROM {tenures}
    WHERE loaded
), judged AS (
    SELECT coalesce(concat('answers of broker-', a.broker), 'descriptions') AS subject, a.asker,
           a.arrived_at AS at, a.evidence, a.named,
           IF(count(t.tenure) = 0, 'named another', NULL) AS odd
    FROM answers a
    LEFT SEMI JOIN {tenures} f
      ON f.tenure = 1 AND a.processed_at >= after(-:BEFORE_MS, f.from_at)
    LEFT ANTI JOIN changes c ON c.from_at <= a.processed_at AND c.to_at >= a.arrived_at
    LEFT JOIN {tenures} t
      ON t.broker = a.named AND (t.next_at IS NULL OR a.arrived_at < t.next_at)
     -- The first one coordinated the group before there was anything to log of it.
     AND (t.tenure = 1 OR a.processed_at >= t.from_at)
    GROUP BY a.broker, a.asker, a.arrived_at, a.evidence, a.named
)
{ODD_ONES} GROUP BY subject
