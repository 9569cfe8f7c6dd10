-- A client says that its poll limit is over
-- A client whose application has not polled for max.poll.interval.ms says so: librdkafka by an
-- error, Java in its log. No other client says so, nor does Java give it as the reason why it
-- leaves.
-- why: Users do not find a consumer that is too slow if its client leaves the group in silence.
-- source: max.poll.interval.ms; rd_kafka_max_poll_exceeded; KIP-800;
--   AbstractCoordinator.maybeLeaveGroup
-- id: X85 | was: R07-reason, X78 | rows: stalls longer than max.poll.interval.ms, and times that a
--   client said so | kind: in passing, compares clocks
--
-- Stalls that outlast the limit, unless the process ended before. librdkafka's application hears of
-- it when it polls again. Java looks at the limit only while it has a coordinator.
--
-- And what a client says, beside its last poll with records: one without is on no record.

-- let NOT_POLLED = 'consumer poll timeout has expired.'
--   What Java's AbstractCoordinator gives as its reason.

SELECT concat(e.member, ' (limit)') AS subject, e.event_at AS at,
       IF(count(n.member) = 0, 'said nothing of its poll limit', NULL) AS wrong,
       concat('said so ', CAST(round(ms_between(e.event_at, min(n.event_at))) AS INT),
              ' ms after its last poll') AS note
FROM {client_events} e JOIN {members} m ON m.member = e.member
LEFT ANTI JOIN {disturbances} d
  ON :client = 'java' AND coalesce(d.member = e.member, true) AND d.to_at >= e.event_at
 AND d.from_at <= after(:timer_late_ms, after(m.max_poll_interval_ms, e.event_at))
{NOT_JOINING}
LEFT ANTI JOIN {fault_windows} f
  ON f.resolved = e.member AND (f.ends_member OR f.killed)
 AND f.injecting_at BETWEEN e.event_at AND after(e.duration_ms + :slack_ms, e.event_at)
LEFT JOIN {client_events} n
  ON n.member = e.member AND n.event = 'max_poll_exceeded'
 AND n.event_at BETWEEN e.event_at AND after(e.duration_ms + :slack_ms, e.event_at)
WHERE e.event = 'stall_started'
  AND e.duration_ms - :timer_late_ms - :slack_ms > m.max_poll_interval_ms
GROUP BY e.member, e.event_at
UNION ALL
SELECT concat(e.member, ' (poll limit)'), e.event_at,
       IF(ms_between(max(d.polled_at), e.event_at)
              < m.max_poll_interval_ms - :poll_ms - :slack_ms,
          'gave up before its poll limit was over', NULL), NULL
FROM {client_events} e JOIN {members} m ON m.member = e.member
JOIN {deliveries} d ON d.member = e.member AND d.polled_at < e.event_at
WHERE e.event = 'max_poll_exceeded' GROUP BY e.member, e.event_at, m.max_poll_interval_ms
UNION ALL
SELECT concat(m.member, ' leaves'), l.at,
       'left for its poll limit, of which it had said nothing', NULL
FROM {coordinator_events} l JOIN {memberships} m
  ON m.member_id = l.member_id AND m.joined_at <= l.at
LEFT JOIN {client_events} n
  ON n.member = m.member AND n.event = 'max_poll_exceeded'
 AND n.event_at BETWEEN m.joined_at AND after(:slack_ms, l.at)
WHERE l.`group` = :group AND l.event = 'left' AND l.reason = :NOT_POLLED
GROUP BY m.member, m.member_id, l.at HAVING count(n.member) = 0
