-- No acknowledged record is lost
-- Every record that was acknowledged to the producer is processed by a member, and no member is
-- given a record that its partition does not have.
-- why: At-least-once delivery promises this, whatever happens to members or brokers.
-- source: Kafka documentation, Message Delivery Semantics (at least once)
-- id: X32a | was: X87 | rows: partitions | unit: records | measured: missing | high: has
--   acknowledged records that no member processed
--
-- What lies past the last position read may only not have been polled yet: unseen, not lost, unless
-- the reads reached the partition's end.

WITH {COUNTED}
SELECT concat(topic, '-', partition) AS subject, missing AS measured, 0 AS bound_high,
       IF(missing > 0 AND skipped <= 0 AND NOT read_all,
          clause(missing, ' records lie past the last position read: unseen, not lost'),
          NULL) AS unknown,
       IF(beyond > 0, clause('was read ', beyond, ' records beyond its end'), NULL) AS wrong,
       concat(missing, ' of ', acknowledged, ' acknowledged records missing') AS note
FROM counted
