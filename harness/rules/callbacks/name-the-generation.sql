-- A member names the generation that it has
-- In its callbacks, with each record and each commit, a member names a generation, or an epoch,
-- that its coordinator has given it under that member id, and none from before its last assignment.
-- why: Who writes positions to a transaction, or to a store of its own, fences former owners by
--   this number; a wrong one lets them in, or shuts the owner out.
-- source: KIP-447, ConsumerGroupMetadata; ConsumerGroupMetadata.generationId
-- id: X51 | rows: member ids | unit: generations | measured: that it had not | kind: in passing,
--   compares clocks
--
-- An answer's line is stamped late, so it counts from its request's arrival. A librdkafka that
-- joins anew has its next member id already when it says what it lost as the one before.

WITH given AS (
    SELECT member, member_id, generation, min(arrived_at) AS at FROM (
        SELECT member, member_id, generation, arrived_at FROM {joins}
        UNION ALL
        SELECT member, member_id, member_epoch, arrived_at FROM {consumer_heartbeats}
        WHERE error_code = :NONE AND member_epoch > 0
    ) GROUP BY member, member_id, generation
), named AS (
    SELECT member, member_id, generation, event_at AS at, event AS what,
           event = 'assigned' AS anew, event = 'assigned' AND size(partitions) > 0 AS given
    FROM {client_events} WHERE event IN ('assigned', 'revoked', 'lost')
    UNION ALL
    SELECT member, member_id, generation, polled_at, 'record', false, false FROM {deliveries}
    UNION ALL
    SELECT member, member_id, generation, asked_at, 'commit', false, false FROM {commits}
    WHERE asked_at IS NOT NULL
), ordered AS (
    SELECT *, max(IF(anew, generation, NULL)) OVER (
        PARTITION BY member, member_id ORDER BY at, IF(anew, 0, 1) {SO_FAR}) AS has
    FROM named WHERE generation > 0 OR given AND generation = 0
), times AS (
    SELECT member, member_id, generation, what, has, min(at) AS at, count(*) AS times
    FROM ordered GROUP BY member, member_id, generation, what, has
), judged AS (
    SELECT t.*, CASE WHEN coalesce(min(g.at) > after(:STAMP_LATE_MS, t.at), true)
                     THEN 'that it was not given'
                     WHEN t.generation < t.has THEN 'from before its last assignment' END AS odd
    FROM times t LEFT JOIN given g ON same(g, t, member, generation)
     AND (g.member_id = t.member_id OR t.what IN ('revoked', 'lost'))
    GROUP BY ALL
), worst AS (
    SELECT member, member_id, min(at) AS at, sum(times) AS named,
           coalesce(sum(times) FILTER (WHERE odd IS NOT NULL), 0) AS wrongly,
           min(struct(at, what, generation, odd)) FILTER (WHERE odd IS NOT NULL) AS first
    FROM judged GROUP BY member, member_id
)
SELECT concat(member, ' (', member_id, ')') AS subject, coalesce(first.at, at) AS at,
       wrongly AS measured, 0 AS bound_high,
       IF(wrongly > 0, clause('named generation ', first.generation, ' with ',
                              IF(first.what IN ('record', 'commit'), 'a ', 'partitions '),
                              first.what, ', one ', first.odd), NULL) AS wrong,
       concat(named, ' times that it named one') AS note
FROM worst
