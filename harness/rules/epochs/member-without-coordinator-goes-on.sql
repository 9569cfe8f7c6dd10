-- A member without its coordinator goes on until it is fenced
-- A member that cannot reach its coordinator goes on fetching, even after it was evicted. None of
-- its commits is accepted, and the first answer fences it.
-- why: What it processes after its eviction is processed again by the next owner.
-- source: KIP-848; librdkafka INTRODUCTION.md, consumer group protocol
-- id: X27 | rows: members cut off from their coordinator | unit: records | measured: delivered
--   after the eviction | low: got no record after its eviction | needs: session end | protocols:
--   consumer
--
-- If its coordinator leads all partitions of a member, it cannot show whether it goes on.

WITH cut AS (
    SELECT f.fault, f.resolved AS member, coalesce(f.healed_at, :ended_at) AS healed_at,
           v.member_id, v.broker, v.evicted_at, v.evidence
    FROM {fault_windows} f JOIN {evictions} v
      ON v.member = f.resolved AND v.evicted_at >= f.injected_at
     AND v.evicted_at <= coalesce(f.healed_at, :ended_at)
    WHERE f.link_cut AND get_json_object(f.parameters, '$.of_broker') IS NOT NULL
), polled AS (
    SELECT c.*, coalesce(sum(d.count), 0) AS records
    FROM cut c LEFT JOIN {deliveries} d
      ON d.member = c.member AND d.polled_at > c.evicted_at AND d.polled_at < c.healed_at
    GROUP BY ALL
), committed AS (
    SELECT c.*, count(j.at) AS commits
    FROM polled c LEFT JOIN {accepted} j
      ON j.member_id = c.member_id AND j.removed_at = c.evicted_at
    GROUP BY ALL
), contact AS (
    SELECT c.*, min(struct(q.arrived_at, q.evidence, q.error_code)).error_code AS error_code
    FROM committed c LEFT JOIN {consumer_heartbeats} q
      ON q.member_id = c.member_id AND q.arrived_at > c.evicted_at
    GROUP BY ALL
), leaders AS (
    SELECT c.fault, c.member_id, c.broker, o.topic, o.partition,
           max(struct(p.at, p.leader)).leader AS leader
    FROM cut c JOIN {ownership} o
      ON o.member_id = c.member_id AND o.from_at <= c.evicted_at
     AND coalesce(o.to_at, :ended_at) >= c.evicted_at
    LEFT JOIN {topology} p ON same(p, o, topic, partition) AND p.at <= c.evicted_at
    GROUP BY ALL
), led AS (
    SELECT fault, member_id, bool_and(coalesce(leader = broker, false)) AS by_it
    FROM leaders GROUP BY fault, member_id
)
SELECT concat(member, ' without its coordinator') AS subject, evicted_at AS at,
       records AS measured, 1 AS bound_low,
       CASE WHEN records = 0 AND commits = 0 AND by_it IS NULL
            THEN 'it had no partition'
            WHEN records = 0 AND commits = 0 AND by_it
            THEN 'its coordinator leads all of its partitions' END AS unknown,
       CASE WHEN commits > 0
            THEN clause('had commits accepted after its eviction: ', commits)
            WHEN error_code IS NULL THEN 'never came back to the coordinator'
            WHEN error_code NOT IN (:UNKNOWN_MEMBER_ID, :FENCED_MEMBER_EPOCH)
            THEN clause('was first answered with error ', error_code) END AS wrong,
       concat('first answered with error ', error_code) AS note, evidence
FROM contact LEFT JOIN led USING (fault, member_id)
