-- Poll refuses invalid calls, and returns within its timeout
-- Java's poll throws if its timeout is negative, if the consumer has no subscription, or if a
-- second thread is in poll. If there are no records, it returns when its timeout is over.
-- why: A consumer is for one thread: a second thread gets an exception, and no records.
-- source: document 002, poll; KafkaConsumer.poll
-- id: R25-arguments | rows: polls of a probe | unit: ms | measured: until it returned with nothing
--   | low: returned before its timeout was over | high: returned too late | clients: java | delayed
--   by: probe, toxiproxy, broker | kind: in passing

-- let POLL_LATE_MS = 250
--   How much later than its time-out a poll with nothing to return comes back (measured on a busy
--   machine: 3 ms by the classic client, 117 ms by that of KIP-848).

WITH polls AS (
    SELECT step, sent_at,
           CASE get_json_object(request, '$.what')
                WHEN 'negative time-out' THEN 'java.lang.IllegalArgumentException'
                WHEN 'no subscription' THEN 'java.lang.IllegalStateException'
                WHEN 'second thread' THEN 'java.util.ConcurrentModificationException'
                ELSE '' END AS must,
           CAST(get_json_object(request, '$.timeout_ms') AS DOUBLE) AS timeout_ms,
           coalesce(get_json_object(answer, '$.said'), '') AS said,
           CAST(get_json_object(answer, '$.records') AS INT) AS records,
           CAST(get_json_object(answer, '$.took_ms') AS DOUBLE) AS took_ms
    FROM {calls} WHERE rule = 'R25-arguments'
)
SELECT step AS subject, sent_at AS at, IF(must = '', took_ms, NULL) AS measured,
       IF(must = '', timeout_ms - 1, NULL) AS bound_low,
       IF(must = '', timeout_ms + :POLL_LATE_MS, NULL) AS bound_high,
       CASE WHEN said <> must
            THEN clause('raised ', IF(said = '', 'nothing', said))
            WHEN records > 0 THEN clause('returned ', records, ' records') END AS wrong,
       IF(must = '', 'returned with nothing', concat('raised ', said)) AS note,
       IF(must = '', sent_at, NULL) AS guard_from,
       after(timeout_ms + :POLL_LATE_MS, sent_at) AS guard_to
FROM polls
