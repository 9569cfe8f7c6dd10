-- A fetch returns at most max.partition.fetch.bytes
-- A fetch returns at most max.partition.fetch.bytes of one partition, or one batch that is larger.
-- Its records are handed out over as many polls as max.poll.records requires. The
-- default is 1,048,576 bytes: a fetch of a partition that has more data returns as much.
-- why: The setting bounds the memory that a consumer needs for each of its partitions.
-- source: document 002, max.partition.fetch.bytes; KIP-74; ConsumerConfig
-- id: R24 | was: R24-default | rows: fetches of a partition | unit: bytes | measured: from one
--   fetch | low: returned less than the default allows, and left records behind | high: returned
--   more than max.partition.fetch.bytes | clients: java
--
-- The client's log does not name the batches of a fetch, so a size above a limit that a single
-- batch may exceed cannot be judged.

-- let BATCH_BYTES = 1000000
--   The largest batch that our producer makes: librdkafka's batch.size unless set.

WITH {FETCHES}
SELECT concat(f.member, ', t-', partition, ' from ', first) AS subject, at, bytes AS measured,
       IF(upto > first + records AND from_json(
              m.settings, 'map<string, string>')['max.partition.fetch.bytes'] = 'unset',
          limit_bytes, NULL) AS bound_low, limit_bytes AS bound_high,
       IF(bytes > limit_bytes AND bytes <= :BATCH_BYTES,
          'may be a single batch that is larger than max.partition.fetch.bytes', NULL)
           AS unknown,
       IF(polls < ceil(records / f.batch_records),
          clause(records, ' records handed out by ', polls, ' polls'), NULL) AS wrong,
       concat(records, ' records handed out by ', polls, ' polls') AS note
FROM fetches f JOIN {members} m USING (member)
