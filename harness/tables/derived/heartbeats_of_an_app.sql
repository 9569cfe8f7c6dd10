-- The same of programs, of which nobody knows when a heartbeat was due: none counts as late.

{FOLLOWED}SELECT member_id, at, count(*) AS commits FROM followed WHERE false GROUP BY ALL{JUDGED}
