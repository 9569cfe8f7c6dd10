-- Poll hands out buffered records before it fetches again
-- The records of one fetch are handed out, poll by poll, before the next fetch of their partition.
-- why: A small max.poll.records costs more polls, but no more fetches.
-- source: document 002, poll (pollForFetches)
-- id: R25 | rows: fetches handed out by several polls | unit: polls | measured: for one fetch |
--   clients: java
--
-- `polled` is stamped when a poll has returned, and the fetch is sent just before that: so it may
-- be answered from the last but one poll on.

WITH {FETCHES}
SELECT concat(member, ', t-', partition, ' from ', first) AS subject, at,
       polls AS measured, 2 AS bound_low,
       CASE WHEN next_at < polled[1]
            THEN 'the partition was fetched again before its last records were handed out'
            END AS wrong,
       concat(records, ' records handed out before the next fetch') AS note
FROM fetches WHERE polls >= 2
