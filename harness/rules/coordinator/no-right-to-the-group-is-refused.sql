-- A user without a right to the group is refused
-- A broker refuses each request about a group with GROUP_AUTHORIZATION_FAILED while the user has no
-- right to the group, and none with that error while the user has it.
-- why: A refused heartbeat does not keep its member alive: the member is evicted when its session
--   ends, whether or not its client reports the error.
-- source: Kafka documentation, security, authorization and ACLs (READ and DESCRIBE on GROUP)
-- id: X43 | rows: requests | kind: broker

{LOST}
SELECT concat(c.member, ' ', c.api) AS subject, c.arrived_at AS at,
       IF(c.error_code <> :GROUP_AUTHORIZATION_FAILED,
          clause('was answered with error ', c.error_code, ' while its user had no right ',
                 'to the group'), NULL) AS wrong, c.evidence
FROM {own_requests} c JOIN lost l
  ON l.member = c.member AND l.lost = 'group'
 -- A client may give up at the first refusal, before others have seen one.
 AND c.arrived_at >= IF(c.error_code = :GROUP_AUTHORIZATION_FAILED, l.from_at,
                        l.gone_from_at)
 AND c.processed_at <= IF(c.error_code = :GROUP_AUTHORIZATION_FAILED, l.to_at,
                          l.gone_to_at)
WHERE c.error_code IS NOT NULL
UNION ALL
SELECT concat(c.member, ' ', c.api), c.arrived_at,
       'was refused the group, to which its user had every right', c.evidence
FROM {own_requests} c LEFT ANTI JOIN lost l
  ON l.member = c.member AND l.lost = 'group'
 AND c.processed_at >= l.from_at AND c.arrived_at <= l.to_at
WHERE c.error_code = :GROUP_AUTHORIZATION_FAILED
