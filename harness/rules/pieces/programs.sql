-- What is asked of a program of somebody else's: what it reads, commits and repeats.

-- let WHERE_IT_WENT
--   Where the time of a stop went, as far as the record tells. What took less than 5 ms is left
--   out, because it would read 0.0 s.
concat_ws(', ',
CASE WHEN detection_ms >= 5
     THEN concat(round(detection_ms / 1e3, 2), ' s until it was noticed') END,
CASE WHEN coalesce(notice_ms, 0) + coalesce(revoke_ms, 0)
          + coalesce(join_ms, 0) + coalesce(sync_ms, 0) >= 5
     THEN concat(round((coalesce(notice_ms, 0) + coalesce(revoke_ms, 0)
                        + coalesce(join_ms, 0) + coalesce(sync_ms, 0)) / 1e3, 2),
                 ' s for the rebalance') END,
CASE WHEN first_fetch_ms >= 5
     THEN concat(round(first_fetch_ms / 1e3, 2), ' s to the first records')
     END,
CASE WHEN redelivered > 0
     THEN concat(redelivered, IF(redelivered = 1, ' record', ' records'),
                 ' came again') END)
