-- By default a poll returns 500 records at most
-- The default of max.poll.records is 500: a poll that leaves records behind returns 500.
-- why: A consumer with default settings has to process 500 records within max.poll.interval.ms.
-- source: document 002, max.poll.records; ConsumerConfig
-- id: R23-default | rows: polls that left records of a fetch behind | unit: records | measured:
--   from one poll | low: returned fewer records than the default allows, and left records behind |
--   high: returned more records than the default allows | clients: java | kind: in passing
--
-- Polls of members that leave the setting out, where the same fetch had more to hand out.

-- let POLL_RECORDS = 500
--   max.poll.records

WITH {FETCHES}, left_some AS (
    SELECT DISTINCT d.member, d.poll
    FROM fetches f JOIN {deliveries} d
      ON same(d, f, member, partition) AND d.polled_at >= f.at
     AND d.first_offset >= f.first AND d.last_offset < f.first + f.records - 1
    JOIN {members} m ON m.member = f.member
    WHERE from_json(m.settings, 'map<string, string>')['max.poll.records'] = 'unset'
)
SELECT concat(d.member, ', poll ', d.poll) AS subject, min(d.polled_at) AS at,
       sum(d.count) AS measured, :POLL_RECORDS AS bound_low, :POLL_RECORDS AS bound_high
FROM {deliveries} d JOIN left_some l ON same(l, d, member, poll)
GROUP BY d.member, d.poll
