-- Of two producers with one transactional id the older is fenced
-- Once a member has offered positions under a transactional id that another had used, the other's
-- are refused.
-- why: A process that was taken for dead would write its output beside its successor's.
-- source: KIP-98, Fencing zombies; initTransactions
-- id: X67 | rows: transactional ids | unit: requests | measured: accepted of a producer that
--   another had replaced | high: was used by two producers in turn | kind: in passing

-- let SAYS
concat(count(*), ' offers of ', array_join(array_sort(collect_set(member)), ', ')) AS note

-- query
WITH offered AS (
    SELECT member, arrived_at, evidence,
           get_json_object(detail, '$.transactional_id') AS id
    FROM {own_requests} WHERE api = 'TXN_OFFSET_COMMIT' AND error_code = :NONE
), began AS (
    SELECT id, member, min(arrived_at) AS at FROM offered GROUP BY id, member
), judged AS (
    SELECT o.id AS subject, o.member, o.arrived_at AS at, o.evidence,
           min(b.member) AS odd
    FROM offered o JOIN began own ON same(own, o, id, member)
    LEFT JOIN began b
      ON b.id = o.id AND b.member <> o.member AND b.at > own.at
     AND o.arrived_at > after(:STAMP_LATE_MS, b.at)
    WHERE o.id IS NOT NULL GROUP BY o.id, o.member, o.arrived_at, o.evidence
)
{ODD_ONES} GROUP BY subject
