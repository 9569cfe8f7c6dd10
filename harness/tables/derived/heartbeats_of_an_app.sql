-- The same of programs: no due time is known, so no heartbeat is late.

{FOLLOWED}
SELECT member_id, at, count(*) AS commits FROM followed WHERE false GROUP BY ALL
{JUDGED}
