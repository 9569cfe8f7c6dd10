-- One row per eviction, with the sign of life that its deadline counts from.
--
-- A coordinator that loaded the group after that sign gave the member a full session again, so the
-- timer starts at the later of both. A sign armed it between `armed_from_at` and `armed_by_at`.
--
-- Law: a silence is as long as the record leaves it possible, from its least to its most.

WITH evicted AS (
    SELECT e.broker, e.at, e.member_id, e.evidence, max(l.at) AS loaded_at
    FROM {coordinator_events} e LEFT JOIN {coordinator_events} l
      ON l.`group` = :group AND l.event = 'loaded' AND l.broker = e.broker AND l.at <= e.at
    WHERE e.`group` = :group AND e.event = 'evicted'
    GROUP BY e.broker, e.at, e.member_id, e.evidence
), seen AS (
    -- The coordinator takes up what arrived later no sooner.
    SELECT e.member_id, e.at AS evicted_at,
           max(struct(s.armed_from_at, s.armed_by_at, s.armed_at, s.api)) AS sign,
           max(s.generation) AS generation
    FROM evicted e JOIN {signs_of_life} s
      ON s.member_id = e.member_id AND s.armed_at <= e.at
    GROUP BY e.member_id, e.at
), joined AS (
    SELECT e.*, s.sign.armed_at AS last_seen_at, s.sign.api AS last_seen_api, s.generation,
           coalesce(m.session_timeout_ms, :session_ms) AS session_timeout_ms, m.member,
           -- `greatest` passes over a null, and no sign of life is no deadline.
           CASE WHEN s.sign IS NOT NULL
                THEN greatest(s.sign.armed_from_at, e.loaded_at) END AS timer_started_at,
           -- An answer may be stamped later than what came of it.
           CASE WHEN s.sign IS NOT NULL
                THEN greatest(least(s.sign.armed_by_at, e.at), e.loaded_at) END AS started_by_at
    FROM evicted e
    LEFT JOIN seen s ON s.member_id = e.member_id AND s.evicted_at = e.at
    LEFT JOIN {identities} m ON m.member_id = e.member_id
)
SELECT :group AS `group`, member, member_id, broker, generation, at AS evicted_at,
       last_seen_at, last_seen_api, timer_started_at,
       ms_between(timer_started_at, at) AS silence_ms,
       ms_between(started_by_at, at) AS silence_least_ms,
       session_timeout_ms, evidence
FROM joined
ORDER BY evicted_at, member_id
