-- One row per generation: the episode it belongs to, which is one change and all it led to.
--
-- A rebalance goes on with the episode before it if it began before that was over, or if a member
-- caused it that had just given something up, as the second round of a cooperative rebalance.
-- `first_at` and `last_at` are the episode's; what the harness does to end a run is none. An epoch
-- of KIP-848 that was overtaken before all members knew it is not over before the next.

WITH ordered AS (
    SELECT generation, coordinator, trigger, trigger_member, trigger_member_id, protocol,
           members_before, members_after, started_at, joined_at,
           coalesce(completed_at, IF(protocol = 'consumer', lead(started_at) OVER w, NULL),
                    joined_at, started_at) AS ended_at,
           row_number() OVER w AS number, lag(started_at) OVER w AS started_before,
           lag(coordinator) OVER w AS coordinator_before
    FROM {rebalances} WHERE started_at IS NOT NULL AND started_at < :stopped_at
    WINDOW w AS (PARTITION BY 1 ORDER BY started_at, generation)
), gave_up AS (
    SELECT o.number, count(*) AS times
    FROM ordered o JOIN {callbacks} e
      ON e.member = o.trigger_member AND e.event <> 'assigned'
     AND e.event_at BETWEEN o.started_before AND o.started_at
    WHERE o.trigger = 'rejoin' AND o.protocol <> 'eager'
    GROUP BY o.number
), marked AS (
    SELECT o.*,
           CASE WHEN g.times > 0 OR o.started_at <= max(o.ended_at) OVER (
                    PARTITION BY 1 ORDER BY o.number {BEFORE})
                THEN 0 ELSE 1 END AS opens
    FROM ordered o LEFT JOIN gave_up g USING (number)
), grouped AS (
    SELECT *, sum(opens) OVER (PARTITION BY 1 ORDER BY number) AS episode FROM marked
)
SELECT * EXCEPT (protocol, started_before, opens), min(started_at) OVER w AS first_at,
       max(ended_at) OVER w AS last_at,
       row_number() OVER (PARTITION BY episode ORDER BY number) AS round
FROM grouped WINDOW w AS (PARTITION BY episode)
