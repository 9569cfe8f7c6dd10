-- Callbacks follow on each other
-- A member is handed a partition only when it has not got it, and gives up, or loses, only what it
-- was handed.
-- why: An application that opens a store for each partition it is handed, and closes it for each
--   that it gives up, opens one twice or closes what it never had.
-- source: ConsumerRebalanceListener; KIP-429; librdkafka INTRODUCTION, Incremental assign
-- id: X50 | rows: members | unit: partitions | measured: out of turn | kind: in passing
--
-- What comes at one moment is one rebalance: partitions are taken before others are handed over. A
-- Java member of KIP-848 that closes gives up what it was about to be handed, too.

-- let SAYS
min(struct(at, odd)) FILTER (WHERE odd IS NOT NULL AND NOT left_over).odd AS wrong,
IF(count(odd) > 0 AND bool_and(odd IS NULL OR left_over), '{LEFT_OVER}', NULL) AS excused,
concat(count(*), ' partitions in its callbacks') AS note

-- query
WITH {WOKEN}, ordered AS (
    SELECT member, event, event_at, at, topic, partition,
           lag(event) OVER w AS event_before, lag(event_at) OVER w AS before_at
    FROM {callbacks} b
    LEFT ANTI JOIN {client_events} c
      ON :client = 'java' AND :protocol = 'consumer' AND b.event = 'revoked'
     AND c.member = b.member AND c.event = 'closing' AND c.event_at <= b.event_at
    WINDOW w AS (PARTITION BY member, topic, partition
                 ORDER BY event_at, IF(event = 'assigned', 1, 0))
), judged AS (
    SELECT concat(o.member, ' (callbacks)') AS subject, o.event_at AS at,
           CAST(NULL AS STRING) AS evidence,
           concat(CASE WHEN o.at < o.event_at
                       THEN concat('heard before it was so that it was ', o.event, ' ')
                       WHEN o.event = 'assigned' AND o.event_before = 'assigned'
                       THEN 'was handed what it had already: '
                       WHEN o.event <> 'assigned' AND coalesce(o.event_before, '') <> 'assigned'
                       THEN concat(IF(o.event = 'lost', 'lost', 'gave up'),
                                   ' what it had not got: ') END,
                  o.topic, '-', o.partition) AS odd,
           count(w.from_at) > 0 AS left_over
    FROM ordered o LEFT JOIN woken w
      ON w.member = o.member AND w.to_at > o.before_at AND w.from_at < o.event_at
    GROUP BY o.member, o.event_at, o.at, o.topic, o.partition, o.event, o.event_before
)
{ODD_ONES} GROUP BY subject
