-- A new member starts a rebalance
-- A member that joins a group starts a rebalance, unless one is in progress.
-- why: A new member gets partitions only in a rebalance; until then it adds no capacity.
-- source: document 002, rebalance conditions; document 001, triggers
-- id: R20a | rows: new members | unit: ms | measured: until the rebalance started | high: was
--   followed by a rebalance too late | delayed by: broker

-- let NEWCOMERS
--   Lines of a new member: not of one that a group of another protocol takes over, nor of a static
--   member of KIP-848 in the place of the one that it was.
SELECT concat(event, ' ', member_id) AS subject, at, at AS cause_at, rebalancing,
       next_start_at AS started_at, next_reason AS reason, false AS silent, broker, evidence
FROM (
    SELECT *, lag(event) OVER (PARTITION BY member_id ORDER BY at) AS event_before
    FROM {group_steps}
    WHERE event IN ('member_added', 'evicted', 'left', 'replaced', 'fenced')
) LEFT ANTI JOIN (
    SELECT evidence AS replacing FROM {coordinator_events}
    WHERE event = 'member_added' AND text LIKE '%to replace the existing member %'
) ON replacing = evidence
WHERE event = 'member_added' AND event_before IS DISTINCT FROM 'member_added'

-- let CAUSES = {NEWCOMERS}

-- query
{STARTS_A_REBALANCE}
