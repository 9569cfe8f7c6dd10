-- A leader knows where each leader epoch ended
-- OffsetForLeaderEpoch returns the end of the requested epoch, the partition's end for the current
-- epoch, and -1 for a future one. A client whose own epoch is older is answered FENCED_LEADER_EPOCH
-- (74), one whose epoch is newer UNKNOWN_LEADER_EPOCH (75), and a broker that is not the leader
-- answers NOT_LEADER_OR_FOLLOWER (6).
-- why: A consumer learns by it that records which it has read were lost with a leader.
-- source: KIP-101; KIP-320; document 003, OFFSET_FOR_LEADER_EPOCH
-- id: X33 | rows: requested epochs | unit: offsets | protocols: classic | kind: broker
--
-- The end of an epoch is what the partition's end was found to be when it was the epoch.

WITH looked AS (
    SELECT c.sent_at, t.name AS topic, p.partitionIndex AS partition, p.leaderId AS leader,
           p.leaderEpoch AS epoch
    FROM {calls} c LATERAL VIEW explode(from_json(get_json_object(c.answer, '$.topics'),
        'array<struct<name:string,partitions:array<struct<partitionIndex:int,leaderId:int,'
        || 'leaderEpoch:int>>>>')) AS t
    LATERAL VIEW explode(t.partitions) AS p
    WHERE c.api = 'METADATA'
), ends AS (
    SELECT c.sent_at, get_json_object(c.answer, '$.topics[0].name') AS topic,
           CAST(get_json_object(c.answer, '$.topics[0].partitions[0].offset') AS BIGINT)
               AS end_offset,
           CAST(get_json_object(c.answer, '$.topics[0].partitions[0].leaderEpoch') AS INT) AS epoch
    FROM {calls} c WHERE c.api = 'LIST_OFFSETS' AND c.error_code = 0
), asked AS (
    SELECT c.step, c.sent_at, c.broker, c.error_code, t.topic,
           t.partitions[0].partition AS partition,
           t.partitions[0].currentLeaderEpoch AS known, t.partitions[0].leaderEpoch AS asked,
           CAST(get_json_object(c.answer, '$.topics[0].partitions[0].leaderEpoch') AS INT) AS epoch,
           CAST(get_json_object(c.answer, '$.topics[0].partitions[0].endOffset') AS BIGINT)
               AS end_offset
    FROM {calls} c LATERAL VIEW explode(from_json(
        get_json_object(c.request, '$.topics'),
        'array<struct<topic:string,partitions:array<struct<partition:int,'
        || 'currentLeaderEpoch:int,leaderEpoch:int>>>>')) AS t
    WHERE c.api = 'OFFSET_FOR_LEADER_EPOCH' AND c.answered_at IS NOT NULL
), placed AS (
    SELECT a.*, max_by(l.leader, struct(l.sent_at, l.epoch)) AS leader,
           max_by(l.epoch, struct(l.sent_at, l.epoch)) AS epoch_now
    FROM asked a JOIN looked l ON same(l, a, topic, partition) AND l.sent_at < a.sent_at
    GROUP BY ALL
), judged AS (
    SELECT p.*,
           CASE WHEN p.broker <> p.leader AND p.known < 0 THEN :NOT_LEADER_OR_FOLLOWER
                WHEN p.known >= 0 AND p.known < p.epoch_now THEN :FENCED_LEADER_EPOCH
                WHEN p.known > p.epoch_now THEN :UNKNOWN_LEADER_EPOCH
                WHEN p.broker <> p.leader THEN :NOT_LEADER_OR_FOLLOWER
                ELSE :NONE END AS must,
           IF(p.asked > p.epoch_now, -1, max(e.epoch)) AS must_epoch,
           IF(p.asked > p.epoch_now, -1,
              max_by(e.end_offset, struct(e.sent_at, e.end_offset))) AS must_end
    FROM placed p LEFT JOIN ends e
      ON e.topic = p.topic AND e.sent_at < p.sent_at AND e.epoch <= p.asked
    GROUP BY ALL
)
SELECT concat('epoch ', asked, ': ', step, ' (', topic, '-', partition, ')') AS subject,
       sent_at AS at,
       CASE WHEN error_code <> must
            THEN clause('was answered ', error_code, ' and not ', must, ' in epoch ',
                        epoch_now)
            WHEN must = :NONE AND (epoch <> must_epoch OR end_offset <> must_end)
            THEN clause('was answered that epoch ', epoch, ' ends at ', end_offset,
                        ', and epoch ', must_epoch, ' ended at ', must_end) END AS wrong,
       IF(error_code = must AND must = :NONE
              AND (epoch = must_epoch AND end_offset = must_end) IS NULL,
          'has an end that was not looked up before', NULL) AS unknown,
       concat('answered ', error_code, ', epoch ', epoch, ' ends at ', end_offset,
              '; the leader has epoch ', epoch_now) AS note
FROM judged
