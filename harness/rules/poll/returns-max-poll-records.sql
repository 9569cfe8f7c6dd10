-- One poll returns at most max.poll.records
-- One poll returns at most max.poll.records records, counted over all partitions.
-- why: The setting bounds the work between two polls, and so the time that it may take.
-- source: document 002, poll and max.poll.records
-- id: R23 | rows: members | unit: records | measured: from one poll at most | high: got more than
--   max.poll.records from one poll | clients: java
--
-- The largest poll of each member; one of several partitions counts as a whole.

WITH polls AS (
    SELECT member, poll, min(polled_at) AS at, sum(count) AS records,
           count(DISTINCT partition) AS partitions
    FROM {deliveries} GROUP BY member, poll
)
SELECT p.member AS subject, max(struct(p.records, p.at)).at AS at,
       max(p.records) AS measured, m.batch_records AS bound_high,
       concat('of ', count(*), ' polls, of ', max(p.partitions), ' partitions at most')
           AS note
FROM polls p JOIN {members} m USING (member) WHERE m.client = 'java'
GROUP BY p.member, m.batch_records
