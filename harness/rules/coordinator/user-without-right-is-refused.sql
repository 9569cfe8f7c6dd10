-- A user without a right is refused what it has no right to
-- A broker refuses each request about a group with GROUP_AUTHORIZATION_FAILED while the user has no
-- right to the group, and none with that error while the user has it. A member whose user has a
-- right to the group but not to the topic has its heartbeats accepted, and in a classic group each
-- of its commits refused with TOPIC_AUTHORIZATION_FAILED. A broker serves no connection for longer
-- than connections.max.reauth.ms after its last login, so a user without credentials is cut off
-- within that time.
-- why: A refused heartbeat does not keep its member alive: the member is evicted when its session
--   ends, whether or not its client reports the error. Without a right to the topic no member reads
--   its partitions, and no rebalance gives them to a member that may.
-- source: Kafka documentation, security, authorization and ACLs (READ and DESCRIBE on GROUP; READ
--   on TOPIC); connections.max.reauth.ms; KIP-368
-- id: X43 | was: X43-topic, X44 | rows: requests, and users whose credentials were deleted | unit:
--   ms | measured: from the deletion to the last request that was served | high: was still served
--   after each of its connections had to log in again | delayed by: member, toxiproxy, brokers,
--   controller | kind: broker
--
-- By the time that counts as the deletion of credentials every broker had refused a login of the
-- user, so no connection can have been logged in after it.
--
-- What each fault took from a member's user: the right that its way names, or, where it has no
-- ways, all of them at once. An older journal names the way only where its experiment does. Every
-- broker had refused the user by `gone_from_at`, and none let it in again before `gone_to_at`;
-- between these and the other two it depends.

WITH lost AS (
    SELECT fault, resolved AS member,
           coalesce(get_json_object(parameters, '$.way'),
                    get_json_object(parameters, '$.how')) AS lost,
           injecting_at AS from_at, injected_at, after(:slack_ms, injected_at) AS gone_from_at,
           coalesce(healing_at, :ended_at) AS gone_to_at,
           coalesce(healed_at, :ended_at) AS to_at
    FROM {fault_windows} WHERE breaks = 'rights' AND took_effect
), served AS (
    SELECT d.member, d.injected_at, count(r.arrived_at) AS requests,
           max(struct(r.arrived_at, r.evidence)) AS last
    FROM lost d LEFT JOIN {own_requests} r
      ON r.member = d.member AND r.arrived_at > d.injected_at AND r.arrived_at < d.gone_to_at
    WHERE d.lost IS NULL AND :reauth_ms > 0
    GROUP BY d.fault, d.member, d.injected_at
)
SELECT member AS subject, injected_at AS at,
       coalesce(ms_between(injected_at, last.arrived_at), 0) AS measured,
       :reauth_ms + :slack_ms AS bound_high, CAST(NULL AS STRING) AS wrong,
       concat(requests, ' requests were served after it') AS note, last.evidence AS evidence,
       after(:reauth_ms - :guard_ms, injected_at) AS guard_from,
       after(:reauth_ms + :slack_ms, injected_at) AS guard_to
FROM served
UNION ALL
SELECT concat(c.member, ' ', c.api), c.arrived_at, NULL, NULL,
       IF(c.error_code <> :GROUP_AUTHORIZATION_FAILED,
          clause('was answered with error ', c.error_code, ' while its user had no right ',
                 'to the group'), NULL), NULL, c.evidence, NULL, NULL
FROM {own_requests} c JOIN lost l
  ON l.member = c.member AND l.lost = 'group'
 -- A client may give up at the first refusal, before others have seen one.
 AND c.arrived_at >= IF(c.error_code = :GROUP_AUTHORIZATION_FAILED, l.from_at,
                        l.gone_from_at)
 AND c.processed_at <= IF(c.error_code = :GROUP_AUTHORIZATION_FAILED, l.to_at,
                          l.gone_to_at)
WHERE c.error_code IS NOT NULL
UNION ALL
SELECT concat(c.member, ' ', c.api), c.arrived_at, NULL, NULL,
       'was refused the group, to which its user had every right', NULL, c.evidence, NULL, NULL
FROM {own_requests} c LEFT ANTI JOIN lost l
  ON l.member = c.member AND l.lost = 'group'
 AND c.processed_at >= l.from_at AND c.arrived_at <= l.to_at
WHERE c.error_code = :GROUP_AUTHORIZATION_FAILED
UNION ALL
SELECT concat(c.member, ' ', c.api), c.arrived_at, NULL, NULL,
       CASE WHEN c.api = 'HEARTBEAT'
                 AND c.error_code IN (:GROUP_AUTHORIZATION_FAILED,
                                      :TOPIC_AUTHORIZATION_FAILED)
            THEN clause('was refused with error ', c.error_code, ', although its user had ',
                        'the right to the group')
            WHEN c.api = 'OFFSET_COMMIT' AND c.error_code <> :TOPIC_AUTHORIZATION_FAILED
            THEN clause('was answered with error ', c.error_code, ' while its user had no ',
                        'right to the topic') END,
       concat('was answered with error ', c.error_code), c.evidence, NULL, NULL
FROM {own_requests} c JOIN lost l
  ON l.member = c.member AND l.lost = 'topic'
 AND c.arrived_at >= l.gone_from_at AND c.processed_at <= l.gone_to_at
WHERE :protocol <> 'consumer' AND c.api IN ('HEARTBEAT', 'OFFSET_COMMIT')
  AND c.error_code IS NOT NULL
