-- A member without an existing topic gets no partitions
-- A join that names no topic, or one that does not exist, is accepted and gets no partitions.
-- why: A consumer of a topic that is misspelt looks healthy and reads nothing.
-- source: KIP-848, ConsumerGroupHeartbeat; throwIfConsumerGroupHeartbeatRequestIsInvalid
-- id: X40-empty | rows: joins that name no existing topic | unit: partitions | measured: given |
--   high: was given partitions | protocols: consumer | kind: broker

{HEARTBEATS}
SELECT subject, sent_at AS at, coalesce(size(told), 0) AS measured,
       0 AS bound_high,
       IF(error_code <> :NONE, clause('was answered ', error_code), NULL) AS wrong,
       concat('answered ', error_code, ' to a subscription to ', names) AS note
FROM judged
WHERE epoch = 0 AND must = :NONE AND regex IS NULL
  AND NOT contains(names, concat('"', :topic, '"'))
