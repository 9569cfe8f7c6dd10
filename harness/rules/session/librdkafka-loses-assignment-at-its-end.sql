-- librdkafka declares its assignment lost when its session ends
-- librdkafka ends its session within 500 ms after a session timeout without an answer to a
-- heartbeat. Its application hears within a second, or when it polls next, that its assignment is
-- lost.
-- why: From then on the application knows that another member may process its partitions.
-- source: librdkafka rdkafka_cgrp.c (SESSTMOUT); session.timeout.ms
-- id: R06-librdkafka | rows: client session time-outs | unit: ms | measured: after the last answer
--   | low: declared its assignment lost too early | high: declared its assignment lost too late |
--   clients: librdkafka | protocols: classic | delayed by: member, toxiproxy, broker
--
-- The client's own time-out, from the last accepted request whose answer can have arrived.

{SESSION_ANSWERS}{TIME_OUTS}
heard AS (
    SELECT t.member, t.at, t.duration_ms, t.lost_at, max(a.answered_at) AS heard_at
    FROM time_outs t LEFT JOIN answers a
      ON a.member = t.member AND a.answered_at <= after(-:slack_ms, t.at)
     AND a.api <> 'OFFSET_COMMIT'
     AND (a.error_code = :NONE
          OR a.api = 'HEARTBEAT' AND a.error_code = :REBALANCE_IN_PROGRESS)
    GROUP BY t.member, t.at, t.duration_ms, t.lost_at
), {EXCUSES}
SELECT h.member AS subject, h.at, ms_between(heard_at, h.at) AS measured,
       :session_ms - :slack_ms AS bound_low,
       greatest(:session_ms + e.doubt_ms, e.stopped_ms) + 500 + :slack_ms AS bound_high,
       CASE WHEN heard_at IS NULL THEN 'no answer to it is on record' END AS unknown,
       CASE WHEN lost_at IS NULL THEN 'did not declare its assignment lost' END AS wrong,
       concat('its own log says ', CAST(round(duration_ms) AS INT), ' ms') AS note,
       guard_from(after(:session_ms, heard_at), h.at) AS guard_from,
       guard_to(h.at) AS guard_to
FROM heard h JOIN excuses e ON same(e, h, member, at)
