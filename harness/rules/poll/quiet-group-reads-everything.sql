-- A quiet group reads all its partitions
-- The records of each partition reach its member within 2.5 s of their acknowledgement while
-- nothing changes in the group and nothing fails.
-- why: A partition that is not read shows in no rebalance and no error, only in its lag.
-- source: fetch.max.wait.ms; KafkaConsumer.poll
-- id: X38 | rows: partitions | unit: ms | measured: from the acknowledgement to the poll at most |
--   high: was not read, although the group was well | delayed by: members, toxiproxy, brokers |
--   kind: always
--
-- Per partition the longest time that a record waited in quiet time: from its acknowledgement, or
-- from the end of the work on what came before it, to its poll. Times near a fault, a rebalance, a
-- stall, or a commit that took long do not count. Neither do those in which the member got full
-- batches of other partitions: a partition of which nothing has been fetched yet waits its turn.

-- let BUSY_MS = 2000
--   How long before the end of a change of its own a member is still busy with it.
-- let LONG_COMMIT_MS = 1000
--   A commit that is waited for longer is what the partition waits for.
-- let STILL_MS = 2500
--   fetch.max.wait.ms is 500 by default and a poll of the consumer program takes 200 ms at most.
--   Measured over 68 runs: 995 ms at most, 1,190 ms on a machine that started JVMs, and 1,654 ms
--   where each batch is a transaction.

WITH loud AS (
    SELECT injecting_at AS from_at,
           after(:session_ms + :max_poll_ms,
                 coalesce(healed_at, IF(below_limits OR disturbs_heartbeats,
                                        :ended_at, injected_at))) AS to_at
    FROM {fault_windows} WHERE injecting_at IS NOT NULL
    UNION ALL
    SELECT first_at, last_at FROM {episodes}
    UNION ALL
    SELECT event_at, after(coalesce(duration_ms, 0) + :BUSY_MS, event_at)
    FROM {client_events} WHERE event IN ('assigned', 'revoked', 'lost', 'closing',
        'stall_started', 'callback_stall_started')
    UNION ALL
    SELECT asked_at, coalesce(answered_at, :ended_at) FROM {awaited_commits}
    WHERE coalesce(answered_at, :ended_at) > after(:LONG_COMMIT_MS, asked_at)
), polled AS (
    SELECT g.topic, g.partition, g.from_at, g.to_at, p.member, min(p.first_offset) AS first_offset
    FROM {gaps} g JOIN {progress} p
      ON same(p, g, topic, partition) AND p.polled_at = g.to_at
    WHERE g.to_at < :stopped_at
    GROUP BY g.topic, g.partition, g.from_at, g.to_at, p.member
), sent AS (
    -- A day has millions of both, so each poll is set behind the last range that begins no
    -- later: to join the two would look at every pair of them.
    SELECT topic, partition, first_offset AS place, from_at, to_at, member,
           max(send) OVER (PARTITION BY topic, partition ORDER BY first_offset) AS send
    FROM (
        SELECT topic, partition, first_offset, NULL AS from_at, NULL AS to_at, NULL AS member,
               struct(first_offset, last_offset, last_answered_at) AS send
        FROM {sends} WHERE outcome = 'acknowledged'
        UNION ALL
        SELECT topic, partition, first_offset, from_at, to_at, member, NULL FROM polled
    )
), after_noise AS (
    SELECT topic, partition, from_at, to_at, member,
           max(loud_to) OVER (PARTITION BY topic, partition ORDER BY at) AS loud_to
    FROM (
        SELECT topic, partition, to_at AS at, greatest(from_at, send.last_answered_at) AS from_at,
               to_at, member, NULL AS loud_to
        FROM sent WHERE to_at IS NOT NULL AND send.last_offset >= place
        UNION ALL
        SELECT p.topic, p.partition, l.from_at, NULL, NULL, NULL, l.to_at
        FROM loud l CROSS JOIN (SELECT DISTINCT topic, partition FROM polled) p
    )
), after_full AS (
    SELECT topic, partition, from_at, to_at,
           max(full_at) OVER (PARTITION BY member ORDER BY at, full_at NULLS FIRST) AS full_at
    FROM (
        SELECT topic, partition, member, to_at AS at, from_at, to_at, NULL AS full_at
        FROM after_noise
        WHERE to_at IS NOT NULL AND NOT coalesce(loud_to >= from_at, FALSE)
        UNION ALL
        SELECT NULL, NULL, d.member, d.polled_at, NULL, NULL, d.polled_at
        FROM {deliveries} d JOIN {members} m USING (member)
        GROUP BY d.member, d.polled_at, d.poll, m.batch_records
        HAVING sum(d.count) >= m.batch_records
    )
), longest AS (
    SELECT topic, partition, count(*) AS polls,
           max(struct(greatest(0D, ms_between(from_at, to_at)) AS ms, from_at, to_at))
               AS wait
    FROM after_full
    WHERE to_at IS NOT NULL AND NOT coalesce(full_at > from_at, FALSE)
    GROUP BY topic, partition
)
SELECT concat(topic, '-', partition) AS subject, wait.to_at AS at, wait.ms AS measured,
       :STILL_MS AS bound_high, concat(polls, ' polls') AS note,
       IF(wait.ms > :STILL_MS, wait.from_at, NULL) AS guard_from, wait.to_at AS guard_to
FROM longest
