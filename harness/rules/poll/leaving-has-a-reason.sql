-- A Java member gives the reason why it leaves
-- A LeaveGroup of the Java client carries its reason, and the coordinator logs it: the consumer is
-- being closed, or its poll timeout has expired.
-- why: The coordinator's log alone then shows a deploy, or a consumer that is too slow.
-- source: KIP-800 (since 3.2); AbstractCoordinator.maybeLeaveGroup
-- id: R07-reason | rows: members that left | clients: java | protocols: classic | kind: in passing,
--   compares clocks
--
-- Members that left, by whether their application had begun to close them; one that begins just as
-- its member leaves may have come first or second.

-- let CLOSED = 'the consumer is being closed'
--   What Java's AbstractCoordinator says when its application closes it, and when it does not poll.
-- let NOT_POLLED = 'consumer poll timeout has expired.'

WITH gone AS (
    SELECT e.member_id, m.member, e.at, e.reason, e.evidence,
           count(c.event_at) AS closed, count(l.member) AS limits,
           count_if(c.event_at <= after(-:slack_ms, e.at)) AS closed_before
    FROM {coordinator_events} e JOIN {memberships} m
      ON m.member_id = e.member_id AND m.joined_at <= e.at
    LEFT JOIN {client_events} c
      ON c.member = m.member AND c.event = 'closing' AND c.event_at >= m.joined_at
     AND c.event_at <= after(:slack_ms, e.at)
    LEFT JOIN {client_events} l
      ON l.member = m.member AND l.event = 'max_poll_exceeded'
     AND l.event_at >= m.joined_at AND l.event_at <= after(:slack_ms, e.at)
    WHERE e.`group` = :group AND e.event = 'left'
      AND e.reason NOT LIKE 'Member % left the %'  -- of KIP-848, which names none
    GROUP BY e.member_id, m.member, e.at, e.reason, e.evidence
)
SELECT concat(member, ' leaves') AS subject, at,
       CASE WHEN reason NOT IN (:CLOSED, :NOT_POLLED)
            THEN clause('left for another reason: ', reason)
            WHEN reason = :NOT_POLLED AND closed_before > 0
              OR reason = :CLOSED AND closed = 0
            THEN clause(IF(closed > 0, 'was closed', 'was not closed'), ', and left as: ',
                        reason)
            WHEN reason = :NOT_POLLED AND limits = 0
            THEN clause('had said nothing of its poll limit, and left as: ', reason)
            END AS wrong,
       concat('left as: ', reason) AS note, evidence
FROM gone
