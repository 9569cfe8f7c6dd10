-- A commit or a sync is accepted only in its own generation
-- The coordinator accepts a commit or a SyncGroup only with the group's current generation, and no
-- commit between join and assignment. In KIP-848 it accepts only an epoch that the member was given
-- since it last joined, and since it was assigned the partition.
-- why: A former owner whose commits are accepted moves the position under the new owner.
-- source: ClassicGroup.validateOffsetCommit; ConsumerGroup.validateOffsetCommit; KIP-1251
-- id: X37 | was: X71 | rows: member ids and generations | unit: requests | measured: accepted |
--   kind: always
--
-- A request can be handled at any moment from its arrival until its answer is ready, and what was
-- so within the slack of that counts too. A member of KIP-848 may name its epoch, or one before for
-- as long as it has had the partition since then. For commits of transactions it does not matter
-- where the rebalance stands.

{BOUNDED_COMMITS}, given AS (
    SELECT member_id, processed_at AS at, member_epoch AS epoch, generation = 0 AS joins
    FROM {own_requests}
    WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE AND member_epoch > 0
    UNION ALL
    -- A classic member of such a group joins to have its epoch; the one before still counts until
    -- it has its new part.
    SELECT member_id, processed_at, generation,
           processed_at = min(processed_at) OVER (PARTITION BY member_id)
    FROM {joins}
), newest AS (
    SELECT c.member_id, c.generation, c.arrived_at, max(t.epoch) AS newest,
           -- A join that came a moment later says nothing of it.
           coalesce(max(CASE WHEN t.joins AND t.at <= after(-:slack_ms, c.arrived_at)
                             THEN t.at END), min(t.at)) AS joined_at
    FROM commits c JOIN given t
      ON t.member_id = c.member_id AND t.at <= after(:slack_ms, c.processed_at)
    GROUP BY c.member_id, c.generation, c.arrived_at
), oldest AS (
    SELECT m.*, min(t.epoch) AS oldest
    FROM newest m JOIN given t ON t.member_id = m.member_id AND t.at >= m.joined_at
    GROUP BY ALL
), answers AS (
    SELECT member_id, processed_at AS at, member_epoch AS epoch, assigned,
           row_number() OVER w AS number, lead(arrived_at) OVER w AS next_at
    FROM {own_requests}
    WHERE api = 'CONSUMER_GROUP_HEARTBEAT' AND error_code = :NONE AND assigned IS NOT NULL
    WINDOW w AS (PARTITION BY member_id ORDER BY processed_at)
), parts AS (
    -- Answers in a row that have a partition have the same `stretch`.
    SELECT member_id, at, epoch, number, next_at, p.topic, p.partition,
           number - row_number() OVER (
               PARTITION BY member_id, p.topic, p.partition ORDER BY number) AS stretch
    FROM answers LATERAL VIEW explode(assigned) AS p
), held AS (
    SELECT member_id, topic, partition, min_by(epoch, number) AS epoch, min(at) AS from_at,
           max_by(struct(next_at AS at), number).at AS to_at
    FROM parts GROUP BY member_id, topic, partition, stretch
), early AS (
    SELECT c.member_id, c.generation, c.arrived_at, max(h.epoch) AS epoch
    FROM commits c JOIN held h
      ON same(h, c, member_id, topic, partition) AND h.epoch > c.generation
     AND h.from_at <= after(-:slack_ms, c.arrived_at)
     AND (h.to_at IS NULL OR h.to_at > after(:slack_ms, c.processed_at))
    GROUP BY c.member_id, c.generation, c.arrived_at
), asked AS (
    SELECT DISTINCT member, member_id, api, generation, broker, arrived_at, processed_at,
           evidence, :NONE AS error_code
    FROM commits
    UNION ALL
    SELECT member, member_id, api, generation, broker, arrived_at, processed_at, evidence,
           error_code
    FROM {own_requests}
    WHERE api = 'SYNC_GROUP' AND error_code = :NONE
       OR api = 'HEARTBEAT' AND error_code IN (:NONE, :REBALANCE_IN_PROGRESS)
), timed AS (
    -- Each request behind the last change of its group: a day has too many of both to join.
    SELECT *, max(stand) OVER (PARTITION BY broker ORDER BY at) AS s
    FROM (SELECT *, after(-:slack_ms, arrived_at) AS at, NULL AS stand FROM asked
          UNION ALL
          SELECT NULL, NULL, NULL, NULL, broker, NULL, NULL, NULL, NULL, at,
                 struct(at, until IS NULL AS lasts, until, generation_until, generation, state)
          FROM {stages})
), judged AS (
    SELECT DISTINCT c.member, c.member_id, c.api, c.generation, c.arrived_at, c.evidence,
           CASE WHEN c.s.generation <> c.generation
                     AND coalesce(c.s.generation_until > after(:slack_ms, c.processed_at), true)
                THEN concat('when the group was in ', c.s.generation)
                WHEN c.s.generation IS NULL AND c.generation > o.newest
                THEN concat('when it had been given ', o.newest, ' at most')
                WHEN c.s.generation IS NULL AND c.generation < o.oldest
                THEN concat('when it had joined anew with ', o.oldest)
                WHEN e.epoch IS NOT NULL
                THEN concat('when it had been given the partition in ', e.epoch)
                WHEN coalesce(c.s.until < after(:slack_ms, c.processed_at), false)
                THEN NULL
                WHEN c.api = 'OFFSET_COMMIT' AND c.s.state = 'CompletingRebalance'
                THEN 'between join and assignment'
                WHEN c.api = 'HEARTBEAT' AND c.error_code = :NONE
                     AND c.s.state = 'PreparingRebalance'
                THEN 'while members were waited for' END AS stale
    FROM timed c LEFT JOIN oldest o ON same(o, c, member_id, generation, arrived_at)
    LEFT JOIN early e ON same(e, c, member_id, generation, arrived_at)
    WHERE c.arrived_at IS NOT NULL
)
SELECT concat(min(member), ' in generation ', generation) AS subject,
       min(arrived_at) AS at, count(*) AS measured,
       CASE WHEN count(stale) > 0
            THEN clause('had ', count(stale), ' requests accepted ',
                        min_by(stale, struct(arrived_at, evidence))
                            FILTER (WHERE stale IS NOT NULL)) END AS wrong,
       min_by(evidence, struct(arrived_at, evidence)) AS evidence
FROM judged WHERE api NOT IN ('SYNC_GROUP', 'HEARTBEAT') OR stale IS NOT NULL
GROUP BY member_id, generation
