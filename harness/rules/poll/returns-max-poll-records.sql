-- One poll returns at most max.poll.records
-- One poll returns at most max.poll.records records, counted over all partitions. The default is
-- 500: a poll that leaves records of a fetch behind returns 500.
-- why: The setting bounds the work between two polls, and so the time that it may take.
-- source: document 002, poll and max.poll.records; ConsumerConfig
-- id: R23 | was: R23-default | rows: members, and polls that left records of a fetch behind | unit:
--   records | measured: from one poll at most | low: returned fewer records than the default
--   allows, and left records behind | high: got more than max.poll.records from one poll | clients:
--   java
--
-- The largest poll of each member, over all partitions. And polls of members that leave the setting
-- out, where the same fetch had more to hand out.

-- let POLL_RECORDS = 500
--   max.poll.records

WITH {FETCHES}, left_some AS (
    SELECT DISTINCT d.member, d.poll
    FROM fetches f JOIN {deliveries} d
      ON same(d, f, member, partition) AND d.polled_at >= f.at
     AND d.first_offset >= f.first AND d.last_offset < f.first + f.records - 1
    JOIN {members} m ON m.member = f.member
    WHERE from_json(m.settings, 'map<string, string>')['max.poll.records'] = 'unset'
), polls AS (
    SELECT member, poll, min(polled_at) AS at, sum(count) AS records,
           count(DISTINCT partition) AS partitions
    FROM {deliveries} GROUP BY member, poll
)
SELECT p.member AS subject, max(struct(p.records, p.at)).at AS at,
       max(p.records) AS measured, CAST(NULL AS INT) AS bound_low,
       m.batch_records AS bound_high,
       concat('of ', count(*), ' polls, of ', max(p.partitions), ' partitions at most')
           AS note
FROM polls p JOIN {members} m USING (member) WHERE m.client = 'java'
GROUP BY p.member, m.batch_records
UNION ALL
SELECT concat(member, ', poll ', poll), at, records, :POLL_RECORDS, :POLL_RECORDS,
       'by default'
FROM polls JOIN left_some USING (member, poll)
