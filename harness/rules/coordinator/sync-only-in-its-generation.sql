-- A sync is accepted only in its own generation
-- The coordinator answers a SyncGroup with a part only if it names the group's generation; one of
-- an earlier generation is refused with ILLEGAL_GENERATION (22).
-- why: A member with the part of an earlier generation reads partitions of others.
-- source: GroupMetadataManager.classicGroupSync; ClassicGroup.validateSyncGroup
-- id: X71 | rows: members | unit: requests | measured: accepted in another generation | high: had a
--   sync accepted in another generation than the group's | protocols: classic | kind: broker, in
--   passing, compares clocks
--
-- Accepted SyncGroups beside where the group stood from their arrival to their answer.

WITH {STANDS}, judged AS (
    SELECT r.member, r.arrived_at, r.generation, r.evidence, max(s.stands) AS stands
    FROM {own_requests} r LEFT JOIN stands s
      ON s.broker = r.broker AND s.at <= after(-:slack_ms, r.arrived_at)
     AND (s.until IS NULL OR s.until > after(:slack_ms, r.processed_at))
     AND s.stands <> r.generation
    WHERE r.api = 'SYNC_GROUP' AND r.error_code = :NONE
    GROUP BY r.member, r.arrived_at, r.generation, r.evidence
), worst AS (
    SELECT member, min(arrived_at) AS at, count(*) AS syncs, count(stands) AS times,
           min(struct(arrived_at, evidence, generation, stands))
               FILTER (WHERE stands IS NOT NULL) AS first,
           min_by(evidence, struct(arrived_at, evidence)) AS evidence
    FROM judged GROUP BY member
)
SELECT concat(member, ' (syncs)') AS subject, coalesce(first.arrived_at, at) AS at,
       times AS measured, 0 AS bound_high,
       IF(times > 0, clause('had a sync of generation ', first.generation,
                            ' accepted when the group was in ', first.stands), NULL)
           AS wrong,
       concat(syncs, ' syncs') AS note, coalesce(first.evidence, evidence) AS evidence
FROM worst
