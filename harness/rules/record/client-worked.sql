-- Every client worked
-- The producer had records acknowledged, and each member was given records.
-- why: A client that did nothing proves nothing: rules hold for it because nothing happened.
-- source: kafka-chaos, evidence
-- id: E02 | rows: clients | unit: records | measured: each | low: was given no record | kind:
--   evidence, without journals
--
-- A consumer that never owned a partition had nothing to work on: one too many, one that came just
-- before the end, one that was refused because its instance id was in use, or one that begins
-- nowhere.

-- let JOINED_LATE_MS = 10000
--   A member that joined this short before the drain may have found nothing to read.

WITH read AS (
    SELECT member, sum(count) AS records FROM {reads} GROUP BY member
), owned AS (
    SELECT DISTINCT member FROM {ownership}
), refused AS (
    SELECT DISTINCT coalesce(program, client_id) AS member FROM {requests}
    WHERE error_code = :UNRELEASED_INSTANCE_ID
)
SELECT m.member AS subject, m.started_at AS at, coalesce(r.records, 0) AS measured,
       1 AS bound_low,
       CASE WHEN r.records IS NULL AND m.started_at IS NULL
            THEN 'recorded nothing, not even its start' END AS unknown,
       CASE WHEN (SELECT count(*) FROM {members} WHERE role = 'consumer') > :partitions
            THEN 'was idle: there were more members than partitions'
            WHEN o.member IS NULL AND x.member IS NOT NULL
            THEN 'was refused: its instance id was in use'
            WHEN get_json_object(m.settings, "$['auto.offset.reset']") IN ('none', 'error')
            THEN clause('had no position to begin at: its auto.offset.reset is ',
                        get_json_object(m.settings, "$['auto.offset.reset']"))
            WHEN m.started_at > after(-:JOINED_LATE_MS, :drained_at)
            THEN 'started just before the end' END AS excused,
       CAST(NULL AS STRING) AS too_low
FROM {members} m LEFT JOIN read r USING (member) LEFT JOIN owned o USING (member)
LEFT JOIN refused x USING (member) WHERE m.role = 'consumer'
UNION ALL
SELECT 'producer', min(first_sent_at),
       coalesce(sum(count) FILTER (WHERE outcome = 'acknowledged'), 0), 1, NULL, NULL,
       'had no record acknowledged'
FROM {sends}
