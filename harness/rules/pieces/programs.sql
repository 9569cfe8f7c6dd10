-- What is promised of a group: how long it stands still, and how soon it has caught up.

-- let REBALANCE_MS
(coalesce(notice_ms, 0) + coalesce(revoke_ms, 0) + coalesce(join_ms, 0) + coalesce(sync_ms, 0))

-- let WHERE_IT_WENT
--   Where the time of a stop went, as far as it is on record, but for less than 5 ms, which would
--   read 0.0 s.
concat_ws(', ',
CASE WHEN detection_ms >= 5
     THEN concat(round(detection_ms / 1e3, 2), ' s until it was noticed') END,
CASE WHEN {REBALANCE_MS} >= 5
     THEN concat(round({REBALANCE_MS} / 1e3, 2), ' s for the rebalance') END,
CASE WHEN first_fetch_ms >= 5
     THEN concat(round(first_fetch_ms / 1e3, 2), ' s to the first records') END,
CASE WHEN redelivered > 0
     THEN concat(redelivered, IF(redelivered = 1, ' record', ' records'),
                 ' came again') END)

-- let STOOD
--   Stops of partitions, and the time of those that no member came back to. A stop is on record
--   only once it is over.
stood AS (
    SELECT topic, partition, ms, from_at, coalesce(cause_at, from_at) AS since_at, to_at,
           clause('after ', coalesce(cause, trigger, 'a change'),
                  coalesce(concat(' of ', subject), '')) AS after_what, {WHERE_IT_WENT} AS note
    FROM {stops} WHERE stopped
    UNION ALL
    SELECT topic, partition, ms, from_at, from_at, :stopped_at, 'until the end',
           clause(end_offset - position, ' records from ', position, ' on were never read')
    FROM {never_again} WHERE from_at IS NOT NULL
)

-- let CAUGHT_UP
--   When each partition was `reached` to its end. What was reached before the producer stopped took
--   no time.
SELECT concat(topic, '-', partition) AS subject, coalesce(done_at, :drain_at) AS at,
       -- `greatest` passes over a null.
       IF(done_at IS NULL, NULL, greatest(0, ms_between(:drain_at, done_at))) AS measured,
       :limit_drained_ms AS bound_high,
       CASE WHEN end_offset = 0 THEN NULL
            WHEN position IS NULL THEN 'was never committed'
            WHEN done_at IS NULL
            THEN clause('was ', how, ' to ', position, ' of ', end_offset,
                        ' when the run ended') END AS wrong,
       IF(end_offset = 0, 'holds no record', NULL) AS excused
