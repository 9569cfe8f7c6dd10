-- A group's name decides its coordinator
-- The coordinator of a group is the leader of one partition of __consumer_offsets, whose number is
-- the absolute Java hash of the group's name modulo the number of partitions. A lookup is answered
-- for each group that it names.
-- why: The groups that the loss of a broker affects are known beforehand.
-- source: GroupCoordinatorService.partitionFor; Utils.abs
-- id: X13 | rows: groups | unit: groups | protocols: classic | kind: broker
--
-- A broker that coordinates the group under test is one that leads: the observer may see that a
-- little later than it has loaded the group.

WITH asked AS (
    SELECT sent_at, get_json_object(request, '$.coordinatorKeys') AS keys,
           from_json(get_json_object(answer, '$.coordinators'),
                     'array<struct<key:string,nodeId:int,errorCode:int>>') AS told
    FROM {calls}
    WHERE api = 'FIND_COORDINATOR' AND get_json_object(answer, '$.coordinators') IS NOT NULL
      AND coalesce(get_json_object(request, '$.keyType'), '0') = '0'
), found AS (
    SELECT from_at AS sent_at, :group AS key, broker AS nodeId, 0 AS errorCode, true AS own
    FROM {tenures}
    UNION ALL
    SELECT sent_at, key, get(filter(told, t -> t.key = key), 0).nodeId,
           get(filter(told, t -> t.key = key), 0).errorCode, false
    FROM asked LATERAL VIEW explode(coalesce(from_json(keys, 'array<string>'),
                                             transform(told, t -> t.key))) AS key
), sized AS (
    SELECT count(DISTINCT partition) AS partitions FROM {topology}
    WHERE what = 'partition' AND topic = '__consumer_offsets'
), placed AS (
    SELECT f.*, aggregate(transform(sequence(1, length(key)), n -> ascii(substr(key, n, 1))),
                          0L, (hash, unit) -> pmod(hash * 31 + unit, 4294967296L)) AS bits,
           CASE WHEN bits = 2147483648L THEN 0
                WHEN bits > 2147483648L THEN 4294967296L - bits
                ELSE bits END % s.partitions AS partition
    FROM found f CROSS JOIN sized s WHERE s.partitions > 0
), led AS (
    SELECT p.*, max(struct(l.at, l.leader)).leader AS leader,
           count_if(l.leader = p.nodeId) AS times
    FROM placed p JOIN {topology} l
      ON l.what = 'partition' AND l.topic = '__consumer_offsets'
     AND l.partition = p.partition
     AND l.at <= IF(p.own, after(:NOTICED_MS, p.sent_at), p.sent_at)
    GROUP BY ALL
)
SELECT key AS subject, sent_at AS at,
       IF(errorCode = :NONE AND coalesce(leader < 0, true),
          clause('partition ', partition, ' had no leader'), NULL) AS unknown,
       CASE WHEN errorCode IS NULL THEN 'was left out of the answer'
            WHEN errorCode <> :NONE THEN clause('was answered ', errorCode)
            WHEN nodeId <> leader AND leader >= 0 AND NOT (own AND times > 0)
            THEN clause('has coordinator ', nodeId, ', but partition ', partition,
                        ' has leader ', leader) END AS wrong,
       concat('belongs to partition ', partition) AS note
FROM led
