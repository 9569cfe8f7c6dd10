-- By default a fetch returns 1 MiB of a partition at most
-- The default of max.partition.fetch.bytes is 1,048,576: a fetch of a partition that has more data
-- returns as much as that.
-- why: Records that are larger in total need several fetches.
-- source: document 002, max.partition.fetch.bytes; ConsumerConfig
-- id: R24-default | rows: fetches that left records of the partition behind | unit: bytes |
--   measured: from one fetch | low: returned less than the default allows, and left records behind
--   | high: returned more than the default allows | clients: java | kind: in passing
--
-- Fetches of members that leave the setting out, of partitions that had more to be read.

WITH {FETCHES}
SELECT concat(f.member, ', t-', f.partition, ' from ', f.first) AS subject, f.at,
       f.bytes AS measured, :FETCH_BYTES AS bound_low, :FETCH_BYTES AS bound_high,
       concat(f.records, ' of ', f.upto - f.first, ' records') AS note
FROM fetches f JOIN {members} m USING (member)
WHERE f.upto > f.first + f.records
  AND from_json(m.settings, 'map<string, string>')['max.partition.fetch.bytes'] = 'unset'
