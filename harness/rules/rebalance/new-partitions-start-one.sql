-- New partitions start a rebalance
-- Partitions that are added to a subscribed topic are assigned within the clients' metadata refresh
-- interval, one heartbeat interval and one second. In KIP-848 the brokers know of them, and two
-- heartbeat intervals and one second are enough.
-- why: Until then what producers already write to the new partitions is not read.
-- source: document 002, rebalance conditions; metadata.max.age.ms
-- id: R20c | was: X16 | rows: new partitions | unit: ms | measured: until a member had it | high:
--   was given to a member too late | delayed by: members, toxiproxy, brokers, controller
--
-- In a classic group the leader has to ask for metadata first; in a KIP-848 group the broker knows,
-- and has to hear from one member and then from the partition's new owner.

WITH {GROWTH},
owned AS (
    SELECT g.at, f.partition, min(o.from_at) AS owned_at,
           min(struct(o.from_at, o.member)).member AS owner,
           CASE WHEN :protocol = 'consumer' THEN 2 * :heartbeat_ms
                ELSE :metadata_refresh_ms + :heartbeat_ms END + 1000 + :slack_ms AS high
    FROM grown g CROSS JOIN fresh f
    LEFT JOIN {ownership} o ON o.topic = :topic AND o.partition = f.partition
    GROUP BY g.at, f.partition
), timed AS (
    SELECT *, ms_between(at, owned_at) AS ms, after(high, at) > :stopped_at AS early
    FROM owned
)
SELECT concat(:topic, '-', partition) AS subject, at, ms AS measured, high AS bound_high,
       IF(ms IS NULL AND early, 'the run ended before it was due', NULL) AS unknown,
       IF(ms IS NULL AND NOT early, 'no member ever had it', NULL) AS wrong,
       concat('given to ', owner) AS note,
       IF(ms > high, after(-:guard_ms, at), NULL) AS guard_from, owned_at AS guard_to
FROM timed
