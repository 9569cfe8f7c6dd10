-- A client gives up only when its poll limit is over
-- A client says that max.poll.interval.ms was exceeded only if its application has not polled for
-- that long.
-- why: A member that gives up too early stops a group that works.
-- source: max.poll.interval.ms; rd_kafka_max_poll_exceeded; AbstractCoordinator
-- id: X78 | rows: times that a client gave up | unit: ms | measured: after the last poll on record
--   | low: gave up before its poll limit was over | delayed by: member, toxiproxy, broker | kind:
--   in passing, compares clocks
--
-- By the last poll that returned records: a later one that returned none is on no record.
--
-- Java counts from the call of a poll, which may have waited for its records (R07, R36).

SELECT concat(e.member, ' (poll limit)') AS subject, e.event_at AS at,
       ms_between(max(d.polled_at), e.event_at) AS measured,
       m.max_poll_interval_ms - :poll_ms - :slack_ms AS bound_low
FROM {client_events} e JOIN {members} m USING (member)
JOIN {deliveries} d ON d.member = e.member AND d.polled_at < e.event_at
WHERE e.event = 'max_poll_exceeded' GROUP BY e.member, e.event_at, m.max_poll_interval_ms
